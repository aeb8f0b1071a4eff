"""Makes the tensors that a case describes, with torch alone. Its twin in text is `checks/cases.py`: `write_base`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch

from autograder.wire import Record


def make_tensors(bases: Any, tensors: Any) -> list[torch.Tensor]:
    """Return views of base tensors: each is the place of its base and the operations that lead to it."""
    made = [make(*base) for base in bases]
    return [apply(made[place], steps) for place, steps in tensors]


def make(kind: str, shape: Any, dtype: str, seed: int = 0) -> torch.Tensor:
    """Return a tensor of zeros, of its own positions ("arange"), or of multiples of 1/8 from -2.5 to 2.5 ("numbers").

    Products and sums of the last are exact, so that no order of summation is right or wrong.
    """
    if kind == "zeros":
        return torch.zeros(shape, dtype=getattr(torch, dtype))
    count = torch.Size(shape).numel()
    if kind == "arange":
        return torch.arange(count, dtype=getattr(torch, dtype)).reshape(shape)
    return ((torch.arange(count) * 37 + seed) % 41 - 20).reshape(shape).to(getattr(torch, dtype)) / 8


def apply(x: torch.Tensor, steps: Any) -> torch.Tensor:
    """Return a tensor after some operations, (name, arguments) each."""
    for name, arguments in steps:
        if name == "slice":
            dim, start, stop, step = arguments
            x = x[(slice(None),) * dim + (slice(start, stop, step),)]
        else:
            x = getattr(x, name)(*arguments)
    return x


def to_record(thing: Any, kind: type[Any]) -> Any:
    """Return an object of a dataclass that the student's module is given as what can cross; anything else as it is."""
    if not isinstance(thing, kind):
        return thing
    return Record(kind.__name__, {field.name: getattr(thing, field.name) for field in fields(kind)})
