"""The checks, one module per part, and the one decorator that gradescope-utils has not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


def forbids(*names: str, within: Sequence[str]) -> Callable[[Function], Function]:
    """Forbid an exercise the use of some names, by calling or mentioning them.

    Args:
        names: "torch" forbids all of a module, "torch.diagonal" a function however it is reached.
        within: the student's functions that are read for them; what those reach is read too.

    Read from the source by the catalogue, like a check's number and weight; it changes nothing about the function.
    """
    return lambda function: function
