"""Known answers other than the reference: misconceptions with a hint, and accepted variants with a note.

One module per part. Each holds whole functions, correct but for what their name says, and the decorators below file
them under the check that they answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypeVar

__all__ = ["Variant", "accepted", "misconception", "variants_of"]

Answer = TypeVar("Answer", bound=Callable[..., Any])


@dataclass(frozen=True)
class Variant:
    """One known answer, and the symbol of the part's module that it stands in for."""

    name: str  # a phrase, the name of the function: "strides_in_bytes"
    number: str  # the check that it answers: "1.1a"
    replaces: str  # dotted inside the part's module: "contiguous_strides" or "View.reshape"
    kind: Literal["misconception", "accepted"]
    text: str  # to the student: the hint of a misconception, the note of an accepted variant
    function: Callable[..., Any]


# Filled by the decorators while a part's module is imported, and never changed afterwards.
_filed: dict[tuple[str, str], Variant] = {}


def misconception(number: str, replaces: str, hint: str) -> Callable[[Answer], Answer]:
    """File the decorated function as a wrong answer to check `number`; `hint` leads out of it."""
    return _file(number, replaces, "misconception", hint)


def accepted(number: str, replaces: str, note: str) -> Callable[[Answer], Answer]:
    """File the decorated function as another right answer to check `number`; `note` says in what it differs."""
    return _file(number, replaces, "accepted", note)


def variants_of(part: str) -> tuple[Variant, ...]:
    """Return the variants of one part's module, such as "views", in the order of their definition."""
    module = import_module(f"{__name__}.{part}").__name__
    return tuple(variant for (home, _), variant in _filed.items() if home == module)


def _file(
    number: str, replaces: str, kind: Literal["misconception", "accepted"], text: str
) -> Callable[[Answer], Answer]:
    def file(function: Answer) -> Answer:
        key = (function.__module__, function.__name__)
        if key in _filed:
            raise ValueError(f"variant {key[1]!r} is defined twice in {key[0]!r}; give one of them another name")
        _filed[key] = Variant(function.__name__, number, replaces, kind, text, function)
        return function

    return file
