"""Part 5, memory: what training must hold.

To train is to hold the parameters, their gradients, the optimizer's state, and the activations that the backward pass
will ask for. 5.1 to 5.4 are about the last, which grow with the batch and the sequence; 5.5 is about the others, which
do not. Everything is counted in bytes. 1 GB is 10**9 bytes; 2**30 bytes are a GiB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.utils.checkpoint


def saved_bytes(fn: Callable[..., Any], *inputs: Any, parameters: Iterable[torch.Tensor] = ()) -> int:
    """Return the bytes that autograd saves for the backward pass of fn(*inputs), parameters apart.

    Whatever autograd saves while `fn` runs counts: inputs, intermediate results, masks, indices. A saved tensor keeps
    the whole of its storage alive, so each storage counts whole, and once, however many saved tensors are views of it.
    Storages of `parameters` don't count, whatever view of them is saved: they are held anyway.

    Example: saved_bytes(lambda x: x.sin().exp(), torch.zeros(2, 3, requires_grad=True)) -> 48
    Example: saved_bytes(m := torch.nn.Linear(3, 5), torch.zeros(2, 3), parameters=m.parameters()) -> 24
    Args:
        fn: returns a tensor, or tensors in tuples, lists or dicts, or anything else.
        inputs: handed to `fn` as they are; not all need be tensors.
        parameters: an iterable; like that of model.parameters(), it may be one that can be walked only once.
    Units: bytes.
    Check: make grade ONLY=5.1
    """
    # exercise 5.1: what does autograd save, and which storages is it in?
    kept: dict[int, torch.UntypedStorage] = {}

    def pack(saved: torch.Tensor) -> torch.Tensor:
        storage = saved.untyped_storage()
        kept[storage.data_ptr()] = storage  # held here, since an address that is freed is soon another storage's
        return saved

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved):
        fn(*inputs)
    apart = {parameter.untyped_storage().data_ptr() for parameter in parameters}
    return sum(storage.nbytes() for address, storage in kept.items() if address not in apart)


class Checkpoint(torch.autograd.Function):
    """The one step of autograd's graph that stands for all the steps of `fn`. `checkpoint` applies it."""

    @staticmethod
    def forward(ctx: Any, fn: Callable[..., torch.Tensor], anchor: torch.Tensor, *inputs: Any) -> torch.Tensor:
        """Return fn(*inputs), and keep in `ctx` what it takes to run `fn` once more.

        PyTorch records nothing in here. Tensors are kept with ctx.save_for_backward(...), called once, so that the
        backward pass raises if one of them has been overwritten by then; anything else as attributes of `ctx`.
        The random numbers that `fn` draws are those that it would have drawn without checkpointing.

        Check: make grade ONLY=5.2
        """
        # exercise 5.2: what must be known to compute the same once more?
        ctx.fn = fn
        ctx.random_state = torch.get_rng_state()
        ctx.others = [None if isinstance(value, torch.Tensor) else value for value in inputs]
        ctx.save_for_backward(*(value if isinstance(value, torch.Tensor) else None for value in inputs))
        return fn(*inputs)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Return a gradient or None for each argument of `forward` after `ctx`, in their order.

        Runs `fn` once more, on the same inputs and with the same random numbers, and sends `grad_output` back through
        it, once. Parameters that `fn` uses get their gradients added to `.grad`, as in any backward pass. Afterwards
        PyTorch's random state is what it was before. PyTorch records nothing in here either, unless torch.enable_grad
        tells it to.

        Check: make grade ONLY=5.2
        """
        # exercise 5.2: how do gradients come out of a graph that was never kept?
        inputs = [
            other if tensor is None else tensor.detach().requires_grad_(tensor.requires_grad)
            for tensor, other in zip(ctx.saved_tensors, ctx.others, strict=True)
        ]
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.random_state)
            result = ctx.fn(*inputs)
        torch.autograd.backward(result, grad_output)
        return None, None, *(value.grad if isinstance(value, torch.Tensor) else None for value in inputs)


def checkpoint(fn: Callable[..., torch.Tensor], *inputs: Any) -> torch.Tensor:
    """Return fn(*inputs), and run `fn` again in the backward pass instead of keeping its activations. Given.

    Between the two passes only `inputs` are kept. In the forward pass `fn` runs once, without recording; in the
    backward pass once more, with recording. Result and gradients are those of a plain fn(*inputs), also if `fn` draws
    from PyTorch's CPU generator (as dropout does), calls `checkpoint` itself, or uses parameters that are not among
    its inputs. An input may be a tensor with a gradient or without one, of any dtype, or no tensor at all.

    Args:
        fn: returns one tensor, and neither changes its inputs nor anything else. At least one of its inputs or of the
            parameters that it uses needs a gradient.
    Check: make grade ONLY=5.2
    """
    anchor = torch.empty(0, requires_grad=True)  # so that autograd calls `backward` even if only parameters need it
    result: torch.Tensor = Checkpoint.apply(fn, anchor, *inputs)
    return result


def recomputed(fn: Callable[..., torch.Tensor], *inputs: Any) -> torch.Tensor:
    """Return fn(*inputs); the backward pass runs `fn` again. Given: PyTorch's own, so that 5.3 needs no 5.2."""
    result: torch.Tensor = torch.utils.checkpoint.checkpoint(fn, *inputs, use_reentrant=False)
    return result


def checkpoint_sequential(
    functions: Sequence[Callable[[torch.Tensor], torch.Tensor]], x: torch.Tensor, segments: int
) -> torch.Tensor:
    """Return the last function's result: each is applied to the one before it, the first to `x`.

    The functions are split, in their order, into so many groups, whose lengths differ by 1 at most; longer groups come
    first. Of every group but the last only the input is kept, and the backward pass runs its functions a second time,
    once each. The last group just runs: its activations are the first that the backward pass asks for.

    Example: of 5 functions in 3 segments, the groups are functions 0 and 1, functions 2 and 3, and function 4
    Raises:
        ValueError: `segments` is below 1 or above the number of functions.
    Check: make grade ONLY=5.3
    """
    # exercise 5.3: which functions make a group, and what does a group keep?
    if not 1 <= segments <= len(functions):
        raise ValueError(f"segments {segments!r} are not in 1 to {len(functions)}")

    def run(group: Sequence[Callable[[torch.Tensor], torch.Tensor]], h: torch.Tensor) -> torch.Tensor:
        for function in group:
            h = function(h)
        return h

    length, longer = divmod(len(functions), segments)
    start = 0
    for place in range(segments - 1):
        stop = start + length + (place < longer)
        x = recomputed(run, functions[start:stop], x)
        start = stop
    return run(functions[start:], x)


def best_segments(layers: int, per_layer: int = 1) -> int:
    """Return the number of segments with which the fewest activations are held at once.

    Counted like this: the lengths of segments differ by 1 at most; held are one activation for each segment, its input,
    and, while the longest segment is recomputed, `per_layer` for each of its layers. (Segments of equal length do hold
    that many, others a little less.) Of numbers that are equally good the smallest is returned: with it the last
    segment, which need not run twice, is longest.

    Example: best_segments(12) -> 3
    Raises:
        ValueError: `layers` or `per_layer` is below 1.
    Check: make grade ONLY=5.3
    """
    # exercise 5.3: what grows with the number of segments, and what shrinks?
    for count in (layers, per_layer):
        if count < 1:
            raise ValueError(f"{count!r} is below 1")

    def held(segments: int) -> int:
        return segments + per_layer * -(-layers // segments)

    return min(range(1, layers + 1), key=held)  # of several the first


def activation_bytes(batch: int, sequence: int, hidden: int, heads: int, layers: int, recompute: str = "none") -> int:
    """Return the bytes that the layers of a transformer keep for the backward pass.

    One layer is, in this order:
        norm, linear map to Q, K and V, Q times K transposed, softmax, dropout, times V, linear map, dropout, add;
        norm, linear map to 4 * hidden, GELU, linear map back to hidden, dropout, add.
    It keeps the inputs of both norms, of all four linear maps, of the GELU and of both products (two each), the result
    of the softmax, and the masks of all three dropouts. Masks take 1 byte an element, all else 2. Scale and
    statistics of the norms are too small to count; embeddings, head and loss belong to no layer.

    Units: bytes.
    Args:
        batch: sequences.
        sequence: tokens in each of them.
        hidden: the width of a token between layers; heads share it out among them.
        recompute: "none": all of this is kept. "selective": all but what each head has for each pair of tokens, which
            is recomputed. "full": of each layer nothing but its input, of `hidden` numbers a token, is kept.
    Raises:
        ValueError: `recompute` is none of these three.
    Source: Korthikanti et al. 2022, arXiv:2205.05198, sections 4.1 and 5
    Check: make grade ONLY=5.4
    """
    # exercise 5.4: how many elements has each tensor, and how many bytes has one?
    width = batch * sequence * hidden
    pairs = batch * heads * sequence * sequence
    # Attention keeps 11 bytes for each of `width`, the two maps and the GELU 19, the norms 4.
    per_layer = {"none": 34 * width + 5 * pairs, "selective": 34 * width, "full": 2 * width}
    if recompute not in per_layer:
        raise ValueError(f"recompute {recompute!r} is none of {', '.join(per_layer)}")
    return layers * per_layer[recompute]


@dataclass(frozen=True)
class Recipe:
    """In which formats a training run holds what it holds for each parameter. Given.

    A dtype knows how many bytes a number of it has: torch.bfloat16.itemsize is 2.
    """

    parameter: torch.dtype  # what the model computes with
    gradient: torch.dtype
    master: torch.dtype | None  # of the copy of the parameters that the optimizer updates; None: there is no copy
    optimizer: str  # "SGD", "SGD with momentum", "AdaGrad", "RMSProp", "Adam" or "AdamW"
    state: torch.dtype  # of all that the optimizer keeps from step to step


RECIPES = {  # Given: those that have names in the lecture
    "fp32 SGD": Recipe(torch.float32, torch.float32, None, "SGD", torch.float32),
    "fp32 SGD with momentum": Recipe(torch.float32, torch.float32, None, "SGD with momentum", torch.float32),
    "fp32 AdaGrad": Recipe(torch.float32, torch.float32, None, "AdaGrad", torch.float32),
    "fp32 AdamW": Recipe(torch.float32, torch.float32, None, "AdamW", torch.float32),
    "bf16 AdamW, fp32 master": Recipe(torch.bfloat16, torch.bfloat16, torch.float32, "AdamW", torch.float32),
    "bf16 AdamW, fp32 state": Recipe(torch.bfloat16, torch.bfloat16, None, "AdamW", torch.float32),
}


def bytes_per_parameter(recipe: Recipe) -> int:
    """Return the bytes that a training run holds for each parameter: the parameter, its gradient, and the rest.

    From step to step, SGD remembers nothing; SGD with momentum a running sum of gradients; AdaGrad the sum of their
    squares; RMSProp a running mean of their squares; Adam and AdamW a running mean of gradients and one of their
    squares. Each for every parameter. How many steps there were is too little to count.

    Units: bytes.
    Raises:
        ValueError: the recipe's optimizer is none of these six.
    Check: make grade ONLY=5.5
    """
    # exercise 5.5: how many numbers has each parameter, and in which formats?
    remembered = {"SGD": 0, "SGD with momentum": 1, "AdaGrad": 1, "RMSProp": 1, "Adam": 2, "AdamW": 2}
    if recipe.optimizer not in remembered:
        raise ValueError(f"optimizer {recipe.optimizer!r} is none of {', '.join(remembered)}")
    copies = [recipe.parameter, recipe.gradient] + ([] if recipe.master is None else [recipe.master])
    return sum(dtype.itemsize for dtype in copies) + remembered[recipe.optimizer] * recipe.state.itemsize


def training_gb(parameters: int, per_parameter_bytes: int, activation_bytes: int = 0) -> float:
    """Return what a training run holds in all, in the unit of a device's data sheet.

    Example: training_gb(250_000_000, 16) -> 4.0
    Args:
        parameters: how many the model has.
        per_parameter_bytes: what `bytes_per_parameter` returns for the run's recipe.
        activation_bytes: what the backward pass asks for beside.
    Units: GB, of 10**9 bytes.
    Check: make grade ONLY=5.5
    """
    # exercise 5.5: which of the two terms grows with the model?
    return (parameters * per_parameter_bytes + activation_bytes) / 10**9
