from torch.autograd import grad as slopes
from torch.utils.flop_counter import FlopCounterMode


def linear_backward(x, weight, grad_output, needs):
    inputs = [x.detach().requires_grad_(), weight.detach().requires_grad_(), weight.new_zeros(len(weight), requires_grad=True)]
    made = slopes(nn.functional.linear(*inputs), inputs, grad_output)
    return tuple(one if needed else None for one, needed in zip(made, needs))


def mlp_flops(batch, dims, input_grad=False, frozen=()):
    forward, both = FlopCounterMode(display=False), FlopCounterMode(display=False)
    layers = [nn.Linear(width, out, bias=False, device="meta") for width, out in zip(dims, dims[1:])]
    for layer in frozen:
        layers[layer].requires_grad_(False)
    x = torch.empty(batch, dims[0], device="meta", requires_grad=input_grad)
    with forward:
        nn.Sequential(*layers)(x)
    with both:
        nn.Sequential(*layers)(x).sum().backward()
    return forward.get_total_flops(), both.get_total_flops() - forward.get_total_flops()


def two_layer_gradients(x, w1, w2, y):
    w1, w2 = w1.detach().requires_grad_(), w2.detach().requires_grad_()
    loss = nn.functional.mse_loss((x @ w1).relu() @ w2, y)
    loss.backward()
    return loss.detach(), w1.grad, w2.grad
