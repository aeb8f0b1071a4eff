"""Draws strides, views and operations on tensors, and writes down the code that makes the same ones.

Some shapes are so large that nobody could visit every element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograder.checks.cases import SPECIAL, Draw, Shape, draw_shape, pick, shuffled, sometimes

Steps = tuple[tuple[str, tuple[Any, ...]], ...]  # operations, (name, arguments) each

OPERATIONS = ("slice", "select", "permute", "expand")
HUGE = (*SPECIAL, 10**6)  # for metadata alone
FEW_EMPTY = (None, None, None, None, 1, 1, 1, 1, 1, 0, 10**6)


def draw_strides(draw: Draw, shape: Shape) -> Shape:
    """Draw strides for a shape: of its dimensions in some order, now and then with gaps or repeated elements."""
    stride, apart = [0] * len(shape), 1
    dims = range(len(shape))
    for dim in reversed(shuffled(draw, dims) if sometimes(draw, 2) else dims):
        if shape[dim] == 1:  # nobody steps along it, so its stride can be anything
            stride[dim] = pick(draw, [apart, 17, 0])
            continue
        kind = pick(draw, ["dense", "dense", "dense", "dense", "gap", "repeated"])
        stride[dim] = 0 if kind == "repeated" else apart
        apart *= 1 if kind == "repeated" else max(1, shape[dim]) * (2 if kind == "gap" else 1)
    return tuple(stride)


def draw_view(draw: Draw, special: Sequence[int | None] = HUGE) -> dict[str, Any]:
    """Draw the three fields of a view."""
    shape = draw_shape(draw, special=special)
    return {"shape": shape, "stride": draw_strides(draw, shape), "offset": pick(draw, [0, 0, 1, 6])}


def draw_chain(draw: Draw, shape: Shape, max_steps: int, negative_dims: bool = True) -> tuple[Steps, Shape]:
    """Draw operations that are legal one after the other, and the shape after the last."""
    steps = []
    for _ in range(pick(draw, range(max_steps + 1))):
        names = [name for name in OPERATIONS if shape or name in ("permute", "expand")]
        name = pick(draw, [name for name in names if name != "select" or 0 not in shape])
        arguments, after = _STEPS[name](draw, shape)
        if name in ("slice", "select") and negative_dims and sometimes(draw, 2):
            arguments = (arguments[0] - len(shape), *arguments[1:])
        steps.append((name, arguments))
        shape = after
    return tuple(steps), shape


def _slice(draw: Draw, shape: Shape) -> tuple[tuple[Any, ...], Shape]:
    dim = pick(draw, range(len(shape)))
    size, step = shape[dim], pick(draw, [1, 2, 2, 3])
    most = min(7, (size + step - 1) // step)
    # Known first; the bounds are made to give it. Seldom 0: a view without elements shows nothing of what follows.
    length = pick(draw, [length for length in (2, 3, 1, 7, 4, 2, 3, 2, 3, 0) if length <= most])
    start = pick(draw, range(min(8, max(1, size - (length - 1) * step))))
    stop = start + (length - 1) * step + 1 + pick(draw, range(step)) if length else pick(draw, range(start + 1))
    stops: list[int | None] = [stop, stop - size] if stop < size else [stop]
    if length and start + length * step >= size:
        stops += [None, size + 3]
    starts: list[int | None] = [start, start - size] if start < size else [start]
    starts += [None] if start == 0 else []
    arguments = (dim, pick(draw, starts), pick(draw, stops), step)
    return arguments, (*shape[:dim], length, *shape[dim + 1 :])


def _select(draw: Draw, shape: Shape) -> tuple[tuple[Any, ...], Shape]:
    dim = pick(draw, range(len(shape)))
    most = min(5, shape[dim])
    return (dim, pick(draw, [*range(most), *range(-1, -most - 1, -1)])), shape[:dim] + shape[dim + 1 :]


def _permute(draw: Draw, shape: Shape) -> tuple[tuple[Any, ...], Shape]:
    order = shuffled(draw, range(len(shape)))
    dims = tuple(dim - len(shape) if sometimes(draw, 3) else dim for dim in order)
    return (dims,), tuple(shape[dim] for dim in order)


def _expand(draw: Draw, shape: Shape) -> tuple[tuple[Any, ...], Shape]:
    grown = tuple(pick(draw, [4, 1, 6, 8, 4, 6, 0]) if size == 1 else size for size in shape)
    front = pick(draw, [(), (6,), (1,)]) if len(shape) < 5 else ()
    return ((*front, *grown),), (*front, *grown)


_STEPS = {"slice": _slice, "select": _select, "permute": _permute, "expand": _expand}


def draw_illegal_step(draw: Draw, shape: Shape) -> tuple[tuple[str, tuple[Any, ...]], tuple[object, ...]]:
    """Draw an operation that this shape does not allow, and what its error may name."""
    rank = len(shape)
    beyond = pick(draw, [rank, -rank - 1, rank + 2])
    name = pick(draw, OPERATIONS)
    options: list[tuple[tuple[Any, ...], tuple[object, ...]]]  # arguments, and what the error may name
    if name == "slice":
        options = [((beyond, 0, 1, 1), (beyond,))]
        options += [((dim, None, None, step), (step,)) for dim in range(rank) for step in (0, -1)]
    elif name == "select":
        options = [((beyond, 0), (beyond,))]
        options += [((dim, index), (index,)) for dim in range(rank) for index in (shape[dim], -shape[dim] - 1)]
    elif name == "permute":
        wrong = [(0, *range(1, rank - 1), 0)] if rank > 1 else []
        wrong += [tuple(range(rank - 1))] if rank else []
        options = [((dims,), (dims,)) for dims in wrong] + [
            (((*range(rank), beyond),), (beyond, (*range(rank), beyond)))
        ]
    else:
        wrong = [(*shape[:dim], size + 3, *shape[dim + 1 :]) for dim, size in enumerate(shape) if size != 1]
        wrong += [shape[1:]] if rank else []
        options = [((bad,), (bad,)) for bad in [*wrong, *wrong, (*shape[:-1], -2)]]
    arguments, names = pick(draw, options)
    return (name, arguments), names


def draw_target(draw: Draw, shape: Shape) -> Shape:
    """Draw a shape of as many elements: neighbours merged, a size split, regrouped; now and then with 1s or a -1."""
    target = list(shape)
    for _ in range(pick(draw, [1, 2, 0])):
        dim = pick(draw, range(max(1, len(target))))
        if sometimes(draw, 2) and len(target) > 1:
            dim = min(dim, len(target) - 2)
            target[dim : dim + 2] = [target[dim] * target[dim + 1]]
        elif target and (factors := _primes(target[dim])):
            cut = pick(draw, range(len(factors) + 1))
            target[dim : dim + 1] = [math.prod(factors[:cut]), math.prod(factors[cut:])]
    rest = pick(draw, ["as it is", "no 1s", "flat", "another 1", "regrouped"])
    if rest == "no 1s":
        target = [size for size in target if size != 1]
    elif rest == "flat":
        target = [math.prod(target)]
    elif rest == "another 1":
        target.insert(pick(draw, range(len(target) + 1)), 1)
    elif rest == "regrouped":
        target = shuffled(draw, target)
    if target and sometimes(draw, 3):
        dim = pick(draw, range(len(target)))
        if math.prod(target[:dim] + target[dim + 1 :]) > 0:
            target[dim] = -1
    return tuple(target)


def _primes(size: int) -> list[int]:
    """Return the prime factors of a size; shapes here have none above 7."""
    factors = []
    for prime in (2, 3, 5, 7):
        while size > 0 and size % prime == 0:
            factors.append(prime)
            size //= prime
    return factors


def draw_layout(draw: Draw, shape: Shape) -> tuple[Shape, Steps]:
    """Draw a shape and the operations that lead from a tensor of it to one of the shape wanted."""
    order = shuffled(draw, range(len(shape)))
    wide, steps = list(shape), []
    for dim, size in enumerate(shape):
        start, step = pick(draw, [(0, 1), (0, 1), (0, 1), (1, 1), (0, 2), (1, 2)])
        if (start, step) != (0, 1):
            wide[dim] = start + size * step
            steps.append(("slice", (dim, start, None, step)))
    back = tuple(order.index(dim) for dim in range(len(shape)))
    moved = [("permute", (back,))] if back != tuple(range(len(shape))) else []
    return tuple(wide[dim] for dim in order), (*moved, *steps)


def write_steps(steps: Steps) -> str:
    """Return the code of operations on a tensor, as it follows the tensor's name."""
    written = []
    for name, arguments in steps:
        if name == "slice":
            dim, start, stop, step = arguments
            bounds = f"{'' if start is None else start}:{'' if stop is None else stop}" + (
                f":{step}" if step != 1 else ""
            )
            written.append(f"[{', '.join([':'] * dim + [bounds])}]")
        else:
            written.append(f".{name}({', '.join(map(repr, arguments))})")
    return "".join(written)
