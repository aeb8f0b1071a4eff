"""Part 4, backward: what gradients cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradescope_utils.autograder_utils.decorators import number, weight
from hypothesis import strategies as st

from autograder.agree import Agree
from autograder.checks import forbids
from autograder.checks.cases import (
    Base,
    Draw,
    Shape,
    call,
    draw_numbers,
    pick,
    shuffled,
    sometimes,
    write_base,
)
from autograder.checks.layouts import Steps, draw_layout, write_steps
from autograder.judge import Case, Closeness, close, exact
from autograder.wire import Value

# What would compute the gradients that 4.1 and 4.3 ask for. Not all of torch.autograd, where torch.no_grad() lives, nor
# of its `functional`, which would be torch.nn.functional too. The names with _ are where the others are defined.
AUTOGRAD = (
    "torch.autograd.grad",
    "torch.autograd.backward",
    "torch.autograd.functional.vjp",
    "torch.autograd.functional.jacobian",
    "torch.func",
    "torch._functorch",
    "torch.ops",
    "torch._ops",
)
LIBRARIES = ("torch", "numpy")  # 4.2 is about the arithmetic behind what their counters count
SIZES = (2, 3, 4, 5, 6)
SIZES_FOR_PIECES = (3, 4, 5, 6, 7)  # of at least 3 samples each, so that adding the pieces up takes little beside them
# Only where nothing is needed does a needless sum over the samples show.
NEEDS = (
    *((True, False, False), (False, True, False), (False, False, True), (False, False, False)),
    *((False, True, True), (True, False, True), (True, True, False), (False, False, False)),
)

# All numbers are small multiples of 1/8, and what is averaged is a power of two of them: every product, sum and
# quotient is exact in every order and dtype used here, so answers may not differ at all. -0.0 is 0.0.
exactly = close(0.0)


def named(*names: str) -> Closeness:
    """Return a closeness like `exactly` for a tuple, whose parts have names by which a difference is told."""

    def differ(expected: Value, got: Value, case: Case) -> str | None:
        if not all(isinstance(answer, tuple) and len(answer) == len(names) for answer in (expected, got)):
            return exactly(expected, got, case)
        return exactly(*(dict(zip(names, answer, strict=True)) for answer in (expected, got)), case)  # type: ignore

    return differ


def draw_strided(draw: Draw, shape: Shape, dtype: str) -> tuple[Base, Steps]:
    """Draw a tensor of a shape: as it is made, permuted and sliced, or with an axis that repeats one element."""
    kind = pick(draw, ["dense", "strided", "repeated", "strided"])
    if kind == "strided":
        base_shape, steps = draw_layout(draw, shape)
        return draw_numbers(draw, base_shape, dtype), steps
    if kind == "repeated":
        dim = pick(draw, range(len(shape)))
        return draw_numbers(draw, (*shape[:dim], 1, *shape[dim + 1 :]), dtype), (("expand", (shape,)),)
    return draw_numbers(draw, shape, dtype), ()


def call_on(function: str, tensors: Mapping[str, tuple[Base, Steps]], *more: Value, **args: Value) -> Case:
    """Return the case of one call on some tensors, by name, and on plain values behind them."""
    lines = ["import torch", *(write_base(name, base) for name, (base, _) in tensors.items())]
    arguments = [*(name + write_steps(steps) for name, (_, steps) in tensors.items()), *map(str, more)]
    return call(
        "backward",
        function,
        "\n".join([*lines, f"{function}({', '.join(arguments)})"]),
        (),
        bases=tuple(base for base, _ in tensors.values()),
        tensors=tuple((place, steps) for place, (_, steps) in enumerate(tensors.values())),
        **args,
    )


def linear_shapes(width: int, out: int, lead: Sequence[int]) -> dict[str, Shape]:
    """Return the shapes of a linear layer's input, weight and gradient of its output."""
    return {"x": (*lead, width), "weight": (out, width), "grad_output": (*lead, out)}


@st.composite
def linear_layers(draw: Draw) -> Case:
    """Draw a linear layer's input, weight and gradient of its output in some layouts."""
    rank, sizes = pick(draw, [1, 2, 0, 3, 1, 2]), shuffled(draw, SIZES)
    lead, width, out = sizes[:rank], sizes[rank], sizes[rank + 1]
    size = pick(draw, [None, None, None, None, 1, 0])
    if size is not None and lead:
        lead[pick(draw, range(len(lead)))] = size
    if sometimes(draw, 8):
        width, out = pick(draw, [(1, out), (width, 1)])
    dtype = pick(draw, ["float64", "float32"])
    shapes = linear_shapes(width, out, lead)
    tensors = {name: draw_strided(draw, shape, dtype) for name, shape in shapes.items()}
    return call_on("linear_backward", tensors, (True, True, True))


@number("4.1a")
@weight(2)
@forbids(*AUTOGRAD, within=["linear_backward"])
def test_linear_gradients(agree: Agree) -> None:
    """The gradients of a linear layer by input, weight and bias, with any leading axes and in any layout."""
    agree("backward.linear_backward", linear_layers(), named("dx", "dw", "db"))


def same_form(expected: Any, got: Any) -> bool:
    """Return whether both are what one probe has put together, and nothing forged."""
    if not (isinstance(expected, dict) and isinstance(got, dict) and expected.keys() == got.keys()):
        return False
    plain = expected.keys() & {"flops", "changed", "samples_held"}
    whole = all(type(samples) is int for samples in got.get("samples_held", ()))
    return whole and all(type(got[name]) is type(expected[name]) for name in plain)


def enough_flops(expected: Any, got: Any, case: Case) -> str | None:
    """Compare which gradients there are exactly, and let the FLOPs be half as many again as needed.

    The same product takes more when it is written as a multiplication and a sum (3 FLOPs for 2), or as one product for
    each of some pieces, added up axis after axis (3 for 2 at most: see SIZES_FOR_PIECES). One that isn't needed makes
    it 7 for 4 or more. What takes less than half has not computed the gradients.
    """
    if not same_form(expected, got):
        return exact(expected, got, case)
    asked, seen = expected["gradients"], got["gradients"]
    names = ("dx", "dw", "db")
    if not all(isinstance(made, tuple) and len(made) == len(names) for made in (asked, seen)):
        return exact(expected, got, case)
    for name, one, other in zip(names, asked, seen, strict=True):
        if one != other:
            return f"{name}: {'None' if one is None else 'a tensor'} is asked for"
    needed, spent = expected["flops"], got["flops"]
    if needed <= 2 * spent <= 3 * needed:
        return None
    return f"{spent} FLOPs were spent, and what is needed takes {needed}"


@st.composite
def needs_of_linear_layers(draw: Draw) -> Case:
    """Draw a linear layer of which some gradients are needed and others are not."""
    rank, sizes = pick(draw, [1, 2, 3]), shuffled(draw, SIZES_FOR_PIECES)
    shapes = linear_shapes(sizes[rank], sizes[rank + 1], sizes[:rank])
    needs = pick(draw, NEEDS)
    tensors: dict[str, tuple[Base, Steps]] = {name: (draw_numbers(draw, shape), ()) for name, shape in shapes.items()}
    return call_on("linear_backward", tensors, needs, needs=needs)


@number("4.1b")
@weight(1)
@forbids(*AUTOGRAD, within=["linear_backward"])
def test_needed_gradients(agree: Agree) -> None:
    """A gradient that isn't needed is None and takes no FLOPs."""
    agree("backward.linear_backward_flops", needs_of_linear_layers(), enough_flops)


@st.composite
def stacks(draw: Draw) -> Case:
    """Draw a stack of layers with some frozen, now and then one that cannot be."""
    dims = tuple(shuffled(draw, [3, 5, 2, 7, 11, 4, 13])[: pick(draw, [3, 2, 4, 5, 6])])
    batch = pick(draw, [2, 1, 6, 64, 10**9])
    layers = len(dims) - 1
    chosen = pick(draw, ["none", "first", "any", "any", "all"])
    first = pick(draw, range(1, layers + 1)) if chosen == "first" else layers if chosen == "all" else 0
    frozen = list(range(first))
    if chosen == "any":
        frozen = shuffled(draw, range(layers))[: pick(draw, range(1, layers + 1))]
    names: tuple[object, ...] = ()
    if sometimes(draw, 7):
        wrong = pick(draw, [layers, -1, layers + 3])
        frozen, names = [*frozen[:-1], wrong], (wrong,)
    elif sometimes(draw, 7):
        dims, frozen = pick(draw, [dims[:1], ()]), []
        names = (dims,)
    more: dict[str, Value] = {}
    if sometimes(draw, 2):
        more["input_grad"] = True
    if frozen:
        more["frozen"] = tuple(frozen)
    arguments = [str(batch), str(dims), *(f"{name}={value!r}" for name, value in more.items())]
    code = f"mlp_flops({', '.join(arguments)})"
    return call("backward", "mlp_flops", code, names, batch=batch, dims=dims, more=more)


@number("4.2")
@weight(2)
@forbids(*LIBRARIES, within=["mlp_flops"])
def test_mlp_flops(agree: Agree) -> None:
    """The FLOPs of both passes through a stack of layers, some of them frozen, with the input's gradient or without."""
    agree("backward.mlp_flops", stacks(), named("forward", "backward"))


def same_gradients(expected: Any, got: Any, case: Case) -> str | None:
    """Compare loss and gradients without a tolerance, and which arguments were changed on the way."""
    if not same_form(expected, got):
        return exact(expected, got, case)
    if (difference := named("loss", "dw1", "dw2")(expected["answer"], got["answer"], case)) is not None:
        return difference
    if expected["changed"] != got["changed"]:
        return f"{' and '.join(map(str, got['changed']))} was changed on the way, and belongs to the caller"
    return None


@st.composite
def two_layers(draw: Draw) -> Case:
    """Draw a network of two layers and a batch, often with numbers that are 0 before the ReLU."""
    batch, out = pick(draw, [(2, 1), (4, 2), (2, 4), (1, 2), (4, 1), (8, 2), (1, 1)])  # powers of two: see `exactly`
    width, hidden = pick(draw, [(1, 3), (3, 5), (5, 3), (3, 1), (3, 5), (5, 3)])
    shapes = {"x": (batch, width), "w1": (width, hidden), "w2": (hidden, out), "y": (batch, out)}
    zeros = sometimes(draw, 2)
    strided = sometimes(draw, 3)
    tensors: dict[str, tuple[Base, Steps]] = {}
    for name, shape in shapes.items():
        base_shape, steps = draw_layout(draw, shape) if strided else (shape, ())
        if name == "w1" and zeros:
            steps = (*steps, ("triu", (1,)))  # the first unit's weights are 0, so is what it hands to the ReLU
        tensors[name] = draw_numbers(draw, base_shape), steps
    return call_on("two_layer_gradients", tensors)


@number("4.3")
@weight(3)
@forbids(*AUTOGRAD, within=["two_layer_gradients"])
def test_two_layer_gradients(agree: Agree) -> None:
    """Loss and gradients of two layers with a ReLU and a mean squared error, by hand."""
    agree("backward.two_layer_gradients", two_layers(), same_gradients)


def same_growth(expected: Any, got: Any, case: Case) -> str | None:
    """Compare all without a tolerance, and let activations be held at once that make no more than one micro-batch."""
    if not same_form(expected, got):
        return exact(expected, got, case)
    sizes: Any = case.args["sizes"]
    largest = max(sizes)
    asked, seen = (sum(one["samples_held"]) for one in (expected, got))
    if max(asked, seen) > largest and expected["samples_held"] != got["samples_held"]:
        return f"the activations of {seen} samples were held at once; the largest micro-batch has {largest}"
    return exactly(expected, got | {"samples_held": expected["samples_held"]}, case)


@st.composite
def micro_batches(draw: Draw) -> Case:
    """Draw a network, a batch in pieces, and whether there are gradients already."""
    # Powers of two, each size and their sum: see `exactly`.
    sizes = pick(draw, [(2, 1, 1), (4, 2, 2), (1, 1), (2, 2), (4,), (1, 1, 2), (2, 2, 2, 1, 1), (8, 4, 4)])
    width, out = pick(draw, [(2, 1), (1, 2), (2, 1), (3, 2)])
    bases = draw_numbers(draw, (sum(sizes), width)), draw_numbers(draw, (sum(sizes), out))
    frozen = pick(draw, [None, None, "0.weight", "0.bias", "2.weight", "2.bias"])
    held, seed = sometimes(draw, 2), pick(draw, range(1, 38))
    code = [
        "import torch",
        "from torch import nn",
        *(write_base(name, base) for name, base in zip("xy", bases, strict=True)),
        f"model = nn.Sequential(nn.Linear({width}, {width + 1}), nn.ReLU(), nn.Linear({width + 1}, {out})).double()",
        "for i, p in enumerate(model.parameters()):",
        f"    p.data = ((torch.arange(p.numel()) * 37 + {seed} + i) % 41 - 20).reshape(p.shape).double() / 8",
        "",
    ]
    if frozen:
        layer, _, name = frozen.partition(".")
        code.append(f"_ = model[{layer}].{name}.requires_grad_(False)")
    if held:
        code += ["for p in model.parameters():", "    p.grad = torch.ones_like(p) if p.requires_grad else None", ""]
    code += [
        f"micro_batches = list(zip(x.split({sizes}), y.split({sizes})))",
        "accumulate_gradients(model, nn.functional.mse_loss, micro_batches)",
        "{name: p.grad for name, p in model.named_parameters()}",
    ]
    return call(
        "backward",
        "accumulate_gradients",
        "\n".join(code),
        bases=bases,
        sizes=sizes,
        seed=seed,
        frozen=frozen,
        held=held,
    )


@number("4.4")
@weight(2)
def test_accumulate_gradients(agree: Agree) -> None:
    """Micro-batches of any sizes give the gradients of the whole batch, and only one is held at a time."""
    agree("backward.accumulate_gradients", micro_batches(), same_growth)
