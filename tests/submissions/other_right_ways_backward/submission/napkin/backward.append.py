import torch.nn.functional as F


def linear_backward(x, weight, grad_output, needs):
    products = ("...k,kd->...d", "...k,...d->kd", "...k->k")
    operands = ((grad_output, weight), (grad_output, x), (grad_output,))
    return tuple(torch.einsum(p, *o) if needed else None for p, o, needed in zip(products, operands, needs))


def mlp_flops(batch, dims, input_grad=False, frozen=()):
    if len(dims) < 2 or not set(frozen) <= set(range(len(dims) - 1)):
        raise ValueError(f"dims {dims} and frozen {[layer for layer in frozen]}")
    if len(dims) == 2:
        product = 2 * batch * dims[0] * dims[1]
        return product, product * (bool(input_grad) + (0 not in frozen))
    first = mlp_flops(batch, dims[:2], input_grad, frozen=(0,) if 0 in frozen else ())
    wanted = input_grad or 0 not in frozen
    rest = mlp_flops(batch, dims[1:], wanted, tuple(layer - 1 for layer in frozen if layer))
    return first[0] + rest[0], first[1] + rest[1]


def two_layer_gradients(x, w1, w2, y):
    loss = F.mse_loss(F.relu(x @ w1) @ w2, y)
    dw1, dw2 = torch.zeros_like(w1), torch.zeros_like(w2)
    with torch.no_grad():
        for sample, target in zip(x, y):
            h = torch.einsum("d,dh->h", sample, w1)
            on = torch.where(h > 0, 1.0, 0.0).to(x.dtype)
            slope = (on * h) @ w2 - target
            dw2 += torch.outer(on * h, slope)
            dw1 += torch.outer(sample, on * (w2 @ slope))
    return loss, dw1 * (2 / y.numel()), 2 * dw2 / y.numel()


def accumulate_gradients(model, loss_fn, micro_batches):
    samples = [(x[i : i + 1], y[i : i + 1]) for x, y in micro_batches for i in range(len(x))]
    trained = [p for p in model.parameters() if p.requires_grad]
    total = 0.0
    for x, y in samples:
        loss = loss_fn(model.forward(x), y)
        total += float(loss.detach())
        for p, slope in zip(trained, torch.autograd.grad(loss, trained)):
            p.grad = slope / len(samples) if p.grad is None else p.grad + slope / len(samples)
    return total / len(samples)
