import math
from fractions import Fraction


def saved_bytes(fn, *inputs, parameters=()):
    def results(thing):
        if isinstance(thing, torch.Tensor):
            return [thing]
        if isinstance(thing, dict):
            thing = list(thing.values())
        return [x for inner in thing for x in results(inner)] if isinstance(thing, (list, tuple)) else []

    held = results(fn(*inputs))  # keeps the graph alive
    nodes, storages = {x.grad_fn for x in held}, {}
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        for name in dir(node):
            saved = getattr(node, name) if name.startswith("_saved_") else None
            for x in saved if isinstance(saved, (list, tuple)) else [saved]:
                if isinstance(x, torch.Tensor):
                    storages[x.untyped_storage()._cdata] = len(x.untyped_storage())
        new = {other for other, _ in getattr(node, "next_functions", ())} - nodes
        nodes |= new
        waiting += new
    for parameter in parameters:
        storages.pop(parameter.untyped_storage()._cdata, None)
    return sum(storages.values())


class _Later(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rebuild, anchor, *tensors):
        ctx.rebuild, ctx.needed = rebuild, [x.requires_grad for x in tensors]
        ctx.generator = torch.default_generator.get_state()
        ctx.save_for_backward(*tensors)
        return rebuild(tensors)

    @staticmethod
    def backward(ctx, grad):
        leaves = [x.detach().requires_grad_(needed) for x, needed in zip(ctx.saved_tensors, ctx.needed)]
        now = torch.default_generator.get_state()
        torch.default_generator.set_state(ctx.generator)
        try:
            with torch.set_grad_enabled(True):
                out = ctx.rebuild(leaves)
        finally:
            torch.default_generator.set_state(now)
        with torch.enable_grad():
            (out * grad).sum().backward()
        return (None, None, *[leaf.grad for leaf in leaves])


def checkpoint(fn, *inputs):
    places = [i for i, value in enumerate(inputs) if isinstance(value, torch.Tensor)]
    plain = [None if isinstance(value, torch.Tensor) else value for value in inputs]

    def rebuild(tensors):
        values = list(plain)
        for place, x in zip(places, tensors):
            values[place] = x
        return fn(*values)

    return _Later.apply(rebuild, torch.ones(1, requires_grad=True), *[inputs[place] for place in places])


def checkpoint_sequential(functions, x, segments):
    if segments < 1 or segments > len(functions):
        raise ValueError(f"no {segments!r} segments")
    if segments == 1:
        for function in functions:
            x = function(x)
        return x
    first = math.ceil(len(functions) / segments)
    h = recomputed(lambda h: checkpoint_sequential(functions[:first], h, 1), x)
    return checkpoint_sequential(functions[first:], h, segments - 1)


def best_segments(layers, per_layer=1):
    if min(layers, per_layer) < 1:
        raise ValueError(f"{layers!r} layers of {per_layer!r}")
    by_length = ((math.ceil(layers / longest), longest) for longest in range(1, layers + 1))
    return min((segments + per_layer * longest, segments) for segments, longest in by_length)[1]


def activation_bytes(batch, sequence, hidden, heads, layers, recompute="none"):
    shapes = [
        *[(2, hidden)] * 2,  # norms
        (2, hidden),  # Q, K and V are made of one input
        *[(2, hidden)] * 3,  # Q, K, V
        *[(2, heads * sequence)] * 2,  # after softmax, after dropout
        (1, heads * sequence),
        (2, hidden),
        (1, hidden),
        (2, hidden),  # feed-forward
        *[(2, 4 * hidden)] * 2,
        (1, hidden),
    ]
    if recompute == "selective":
        del shapes[6:9]
    elif recompute == "full":
        shapes = [(2, hidden)]
    elif recompute != "none":
        raise ValueError(f"what is {recompute!r}?")
    return sum(layers * batch * sequence * width * size for size, width in shapes)


def bytes_per_parameter(recipe):
    formats = [recipe.parameter, recipe.gradient]
    if recipe.master:
        formats.append(recipe.master)
    if recipe.optimizer in ("Adam", "AdamW"):
        formats += [recipe.state, recipe.state]
    elif recipe.optimizer in ("SGD with momentum", "AdaGrad", "RMSProp"):
        formats.append(recipe.state)
    elif recipe.optimizer != "SGD":
        raise ValueError(f"what does {recipe.optimizer!r} keep?")
    return sum(torch.empty((), dtype=dtype).element_size() for dtype in formats)


def training_gb(parameters, per_parameter_bytes, activation_bytes=0):
    return float(Fraction(parameters, 10**9) * per_parameter_bytes + Fraction(activation_bytes, 10**9))
