"""Draws what every part's cases are made of, and writes down the code that makes the same.

Sizes of a shape are pairwise distinct, so that a swapped axis shows; now and then one is 1 or 0. Everything is drawn as
a place in a list, and Hypothesis shrinks towards the first: there stands the plainest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

from autograder.judge import Case
from autograder.wire import Value

Draw = st.DrawFn
Option = TypeVar("Option")
Shape = tuple[int, ...]
Base = tuple[Any, ...]  # a tensor to be made: (kind, shape, dtype), and a seed for numbers; see probes/inputs.py

# What one size of a shape may be instead of what was drawn; None leaves it.
SPECIAL = (None, None, None, 1, 1, 1, 0, 0)

_PLACES = [st.integers(0, last) for last in range(64)]  # made once: to make a strategy takes longer than to draw


def pick(draw: Draw, options: Sequence[Option]) -> Option:
    """Draw one of some options."""
    return options[draw(_PLACES[len(options) - 1])]


def sometimes(draw: Draw, one_in: int) -> bool:
    """Draw whether something happens that does once in so many times."""
    return draw(_PLACES[one_in - 1]) == one_in - 1


def shuffled(draw: Draw, items: Sequence[Option]) -> list[Option]:
    """Draw an order; the plainest is the one given."""
    left = list(items)
    return [left.pop(draw(_PLACES[len(left) - 1])) for _ in items]


def call(part: str, imports: str, expression: str, names: Sequence[object] = (), **args: Value) -> Case:
    """Return the case of one call; where it is illegal, its error must name one of `names`, as repr shows it.

    Args:
        part: the student's module, such as "views".
        imports: what the code takes from it.
    """
    return Case(f"from napkin.{part} import {imports}\n{expression}", args, tuple(map(repr, names)))


def draw_shape(draw: Draw, min_rank: int = 0, max_rank: int = 4, special: Sequence[int | None] = SPECIAL) -> Shape:
    """Draw a shape; of rank 2 and 3 most often, since smaller ones hide most mistakes."""
    rank = pick(draw, [rank for rank in (2, 3, 1, 0, 2, 3, 3, 4) if min_rank <= rank <= max_rank])
    sizes = shuffled(draw, [2, 3, 4, 5, 7])[:rank]
    size = pick(draw, special)
    if size is not None and rank:
        sizes[pick(draw, range(rank))] = size
    return tuple(sizes)


def draw_numbers(draw: Draw, shape: Shape, dtype: str = "float64") -> Base:
    """Draw a tensor of small multiples of 1/8: their products and sums are exact, in whatever order they are taken."""
    return ("numbers", shape, dtype, pick(draw, range(1, 41)))


def write_bases(bases: Sequence[Base]) -> str:
    """Return the code that makes base tensors x, y, z."""
    return "\n".join(["import torch", *(write_base(name, base) for name, base in zip("xyz", bases, strict=False))])


def write_base(name: str, base: Base) -> str:
    """Return the line of code that makes a tensor as `probes.inputs` does."""
    kind, shape, dtype, *seed = base
    count = math.prod(shape)
    if kind == "zeros":
        return f"{name} = torch.zeros({shape}, dtype=torch.{dtype})"
    if kind == "arange":
        return f"{name} = torch.arange({count}, dtype=torch.{dtype}).reshape({shape})"
    return f"{name} = ((torch.arange({count}) * 37 + {seed[0]}) % 41 - 20).reshape({shape}).to(torch.{dtype}) / 8"
