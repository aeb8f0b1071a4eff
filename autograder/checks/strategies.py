"""Draws shapes, strides, views and tensors, and writes down the code that makes the same ones.

Sizes of a shape are pairwise distinct, so that a swapped axis shows; now and then one is 1 or 0, or so large that
nobody could visit every element. Hypothesis shrinks towards what stands first in a list: there stands the plainest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from autograder.judge import Case

HUGE = (*[None] * 3, 1, 1, 1, 0, 0, 10**6)  # for metadata alone
FEW_EMPTY = (*[None] * 4, 1, 1, 1, 1, 1, 0, 10**6)
OPERATIONS = ("slice", "select", "permute", "expand")

Shape = tuple[int, ...]
Steps = tuple[tuple[str, tuple[Any, ...]], ...]  # (name, arguments) each


def call(imports: str, expression: str, names: Sequence[object] = (), **args: Any) -> Case:
    """Return the case of one call; where it is illegal, its error must name one of `names`, as repr shows it."""
    return Case(f"from napkin.views import {imports}\n{expression}", args, tuple(map(repr, names)))


@st.composite
def shapes(
    draw: st.DrawFn, min_rank: int = 0, max_rank: int = 4, special: Sequence[int | None] = (*[None] * 3, 1, 1, 1, 0, 0)
) -> Shape:
    """Draw a shape; of rank 2 and 3 most often, since smaller ones hide most mistakes.

    Args:
        special: what one of its sizes may be instead of what was drawn; None leaves it.
    """
    rank = draw(st.sampled_from([rank for rank in (2, 3, 1, 0, 2, 3, 3, 4) if min_rank <= rank <= max_rank]))
    sizes = draw(st.permutations([2, 3, 4, 5, 7]))[:rank]
    size = draw(st.sampled_from(special))
    if size is not None and rank:
        sizes[draw(st.integers(0, rank - 1))] = size
    return tuple(sizes)


@st.composite
def strides(draw: st.DrawFn, shape: Shape) -> Shape:
    """Draw strides for a shape: of its dimensions in some order, now and then with gaps or repeated elements."""
    stride, apart = [0] * len(shape), 1
    order = draw(st.permutations(range(len(shape)))) if draw(st.booleans()) else range(len(shape))
    for dim in reversed(order):
        if shape[dim] == 1:  # nobody steps along it, so its stride can be anything
            stride[dim] = draw(st.sampled_from([apart, 17, 0]))
            continue
        kind = draw(st.sampled_from(["dense", "dense", "dense", "dense", "gap", "repeated"]))
        stride[dim] = 0 if kind == "repeated" else apart
        apart *= 1 if kind == "repeated" else max(1, shape[dim]) * (2 if kind == "gap" else 1)
    return tuple(stride)


@st.composite
def views(draw: st.DrawFn, special: Sequence[int | None] = HUGE) -> dict[str, Any]:
    """Draw the three fields of a view."""
    shape = draw(shapes(special=special))
    return {"shape": shape, "stride": draw(strides(shape)), "offset": draw(st.sampled_from([0, 0, 1, 6]))}


@st.composite
def chains(draw: st.DrawFn, shape: Shape, max_steps: int = 5, negative_dims: bool = True) -> tuple[Steps, Shape]:
    """Draw operations that are legal one after the other, and the shape after the last."""
    steps = []
    for _ in range(draw(st.integers(0, max_steps))):
        legal = [name for name in OPERATIONS if shape or name in ("permute", "expand")]
        name = draw(st.sampled_from([name for name in legal if name != "select" or 0 not in shape]))
        arguments, shape = draw(_STEPS[name](shape))
        if name in ("slice", "select") and negative_dims and draw(st.booleans()):
            arguments = (arguments[0] - len(shape) - (name == "select"), *arguments[1:])
        steps.append((name, arguments))
    return tuple(steps), shape


@st.composite
def _slices(draw: st.DrawFn, shape: Shape) -> tuple[tuple[Any, ...], Shape]:
    dim = draw(st.integers(0, len(shape) - 1))
    size, step = shape[dim], draw(st.sampled_from([1, 2, 2, 3]))
    most = min(7, (size + step - 1) // step)
    # Known first; the bounds are made to give it. Seldom 0: a view without elements shows nothing of what follows.
    length = draw(st.sampled_from([length for length in (2, 3, 1, 7, 4, 2, 3, 2, 3, 0) if length <= most]))
    start = draw(st.integers(0, max(0, size - 1 - (length - 1) * step)))
    stop = start + (length - 1) * step + 1 + draw(st.integers(0, step - 1)) if length else draw(st.integers(0, start))
    stops: list[int | None] = [stop, stop - size] if stop < size else [stop]
    if length and start + length * step >= size:
        stops += [None, size + 3]
    starts: list[int | None] = [start, start - size, None] if start == 0 < size else [start]
    if 0 < start < size:
        starts.append(start - size)
    arguments = (dim, draw(st.sampled_from(starts)), draw(st.sampled_from(stops)), step)
    return arguments, (*shape[:dim], length, *shape[dim + 1 :])


@st.composite
def _selects(draw: st.DrawFn, shape: Shape) -> tuple[tuple[Any, ...], Shape]:
    dim = draw(st.integers(0, len(shape) - 1))
    index = draw(st.integers(-min(5, shape[dim]), min(5, shape[dim]) - 1))
    return (dim, index), shape[:dim] + shape[dim + 1 :]


@st.composite
def _permutes(draw: st.DrawFn, shape: Shape) -> tuple[tuple[Any, ...], Shape]:
    order = draw(st.permutations(range(len(shape))))
    dims = tuple(dim - len(shape) if draw(st.sampled_from([False, False, True])) else dim for dim in order)
    return (dims,), tuple(shape[dim] for dim in order)


@st.composite
def _expands(draw: st.DrawFn, shape: Shape) -> tuple[tuple[Any, ...], Shape]:
    grown = tuple(draw(st.sampled_from([4, 1, 6, 8, 4, 6, 0])) if size == 1 else size for size in shape)
    front = draw(st.lists(st.sampled_from([6, 1, 8]), max_size=1 if len(shape) < 5 else 0))
    return ((*front, *grown),), (*front, *grown)


_STEPS = {"slice": _slices, "select": _selects, "permute": _permutes, "expand": _expands}


@st.composite
def illegal_steps(draw: st.DrawFn, shape: Shape) -> tuple[tuple[str, tuple[Any, ...]], tuple[object, ...]]:
    """Draw an operation that this shape does not allow, and what its error may name."""
    rank = len(shape)
    beyond = draw(st.sampled_from([rank, -rank - 1, rank + 2]))
    name = draw(st.sampled_from(OPERATIONS))
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
    arguments, names = draw(st.sampled_from(options))
    return (name, arguments), names


@st.composite
def targets(draw: st.DrawFn, shape: Shape) -> Shape:
    """Draw a shape of as many elements: neighbours merged, a size split, regrouped; now and then with 1s or a -1."""
    target = list(shape)
    for _ in range(draw(st.sampled_from([1, 2, 0]))):
        dim = draw(st.integers(0, max(0, len(target) - 1)))
        if draw(st.booleans()) and len(target) > 1:
            dim = min(dim, len(target) - 2)
            target[dim : dim + 2] = [target[dim] * target[dim + 1]]
        elif target and (factors := _primes(target[dim])):
            cut = draw(st.integers(0, len(factors)))
            target[dim : dim + 1] = [math.prod(factors[:cut]), math.prod(factors[cut:])]
    rest = draw(st.sampled_from(["as it is", "no 1s", "flat", "another 1", "regrouped"]))
    if rest == "no 1s":
        target = [size for size in target if size != 1]
    elif rest == "flat":
        target = [math.prod(target)]
    elif rest == "another 1":
        target.insert(draw(st.integers(0, len(target))), 1)
    elif rest == "regrouped":
        target = draw(st.permutations(target))
    if target and draw(st.sampled_from([False, False, True])):
        dim = draw(st.integers(0, len(target) - 1))
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


@st.composite
def layouts(draw: st.DrawFn, shape: Shape) -> tuple[Shape, Steps]:
    """Draw a shape and the operations that lead from a tensor of it to one of the shape wanted."""
    order = draw(st.permutations(range(len(shape))))
    wide, steps = list(shape), []
    for dim, size in enumerate(shape):
        gap = draw(st.sampled_from([None, None, None, (1, 1), (0, 2), (1, 2)]))
        if gap is not None:
            start, step = gap
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
            bounds = [
                f"{'' if start is None else start}:{'' if stop is None else stop}" + (f":{step}" if step != 1 else "")
            ]
            written.append(f"[{', '.join([':'] * dim + bounds)}]")
        else:
            written.append(f".{name}({', '.join(map(repr, arguments))})")
    return "".join(written)


def write_bases(bases: Sequence[tuple[str, Shape, str]]) -> str:
    """Return the code that makes base tensors x, y, z: (kind, shape, dtype) each."""
    lines = ["import torch"]
    for name, (kind, shape, dtype) in zip("xyz", bases, strict=False):
        made = (
            f"zeros({shape}, dtype=torch.{dtype})"
            if kind == "zeros"
            else f"arange({math.prod(shape)}, dtype=torch.{dtype})"
        )
        lines.append(f"{name} = torch.{made}" + (f".reshape({shape})" if kind == "arange" else ""))
    return "\n".join(lines)
