"""Whether what was seen is what should be seen, and if not, where they first differ.

A closeness compares two values and returns None, or where they differ in words. Each states its bound; there is no
default. `compare` puts observations around it. Nothing here runs anybody's code: both sides are plain data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.wire import (
    Died,
    Observation,
    Opaque,
    OverLimit,
    Raised,
    Record,
    Returned,
    Tensor,
    TimedOut,
    UsedForbidden,
    Value,
)

MAX_SHOWN = 600  # characters of a value


@dataclass(frozen=True)
class Case:
    """The inputs of one probe call."""

    code: str  # the same call as Python that can be pasted where the student's package can be imported
    args: dict[str, Value]
    names: tuple[str, ...] = ()  # of which the message of an error must name one, where the reference raises one


Closeness = Callable[[Value, Value, Case], "str | None"]


def exact(expected: Value, got: Value, case: Case) -> str | None:
    """Find the first difference of any kind: in type, in length, in value, in any bit of a tensor."""
    return _differ(expected, got, "")


def close(relative: float) -> Closeness:
    """Return a closeness that lets floating-point numbers differ, by so much of the largest asked for.

    The largest in one tensor, for a number by itself that number; -0.0 is 0.0. All else, NaN and the infinities are
    compared exactly. Where it is used stands why this bound.
    """

    def differ(expected: Value, got: Value, case: Case) -> str | None:
        return _differ(expected, got, "", relative)

    return differ


def compare(expected: Observation, got: Observation, closeness: Closeness, case: Case) -> str | None:
    """Return None where the observations agree, else where they differ ("" where that is plain to see)."""
    if isinstance(expected, Raised) and isinstance(got, Raised):
        if expected.type not in got.bases:
            return f"the type of the error: {expected.type} is asked for, not {got.type}"
        if case.names and not any(name in got.message for name in case.names):
            return f"the message: it must name the value that is refused, {' or '.join(case.names)}"
        return None
    if isinstance(expected, Returned) and isinstance(got, Returned):
        return closeness(expected.value, got.value, case)
    return None if expected == got else ""


def show(value: Value) -> str:
    """Return a value as a student would write it, shortened."""
    if isinstance(value, Tensor):
        dtype = f"dtype={value.dtype}"
        if not value.data:  # numpy knows no shape such as (2**62, 4, 0)
            return f"tensor([], shape={value.shape}, {dtype})"
        if len(value.data) > 2048:
            return f"tensor of shape {value.shape}, {dtype}"
        text = np.array2string(value.numpy(), separator=", ", threshold=100).replace("\n", "")
        return f"tensor({' '.join(text.split())}, shape={value.shape}, {dtype})"
    if isinstance(value, Opaque):
        return f"an object of type {value.type}"
    if isinstance(value, Record):
        return f"{value.name}({', '.join(f'{name}={show(v)}' for name, v in value.fields.items())})"
    if isinstance(value, list | tuple):
        inside = ", ".join(map(show, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {show(item)}' for key, item in value.items())}}}"
    return repr(value)


def show_observation(seen: Observation) -> str:
    """Return an observation as one line for a student."""
    match seen:
        case Returned(value):
            text = show(value)
        case Raised():
            text = f"raises {seen.type}: {seen.message}" if seen.message else f"raises {seen.type}"
        case TimedOut(seconds):
            text = f"no answer after {seconds:.3g} s"
        case Died(how):
            text = f"the process ended without an answer ({how})"
        case OverLimit(what, limit):
            text = f"over the {what} limit ({limit})"
        case UsedForbidden(name, where):
            text = f"{name} is called at {where}"
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 100]} … {text[-90:]}"


def _differ(expected: Value, got: Value, at: str, relative: float | None = None) -> str | None:
    """Find the first difference; floating-point numbers may differ by `relative`, None asks for the same bits."""
    if type(expected) is not type(got) or (isinstance(expected, Opaque) and expected != got):
        return f"{_place(at)}the type: {_kind(expected)} is asked for, not {_kind(got)}"
    if isinstance(expected, Tensor):
        assert isinstance(got, Tensor)
        return _tensors_differ(expected, got, at, relative)
    if isinstance(expected, Record):
        assert isinstance(got, Record)
        if expected.name != got.name:
            return f"{_place(at)}the type: {expected.name} is asked for, not {got.name}"
        return _dicts_differ(expected.fields, got.fields, at, "{}.{}", relative)
    if isinstance(expected, dict):
        assert isinstance(got, dict)
        return _dicts_differ(expected, got, at, "{}[{!r}]", relative)
    if isinstance(expected, list | tuple):
        assert isinstance(got, list | tuple)
        if len(expected) != len(got):
            return f"{_place(at)}the length: {len(expected)} is asked for, not {len(got)}"
        pairs = enumerate(zip(expected, got, strict=True))
        differences = (_differ(e, g, f"{at}[{i}]", relative) for i, (e, g) in pairs)
        return next((d for d in differences if d is not None), None)
    same = expected == got or (expected != expected and got != got)  # noqa: PLR0124  a NaN is equal to no NaN
    if relative is not None and isinstance(expected, float):
        assert isinstance(got, float)
        same = same or abs(got - expected) <= relative * abs(expected) < math.inf
    return None if same else f"{_place(at)}{show(expected)} is asked for, not {show(got)}" if at else ""


def _dicts_differ(
    expected: dict[str, Any], got: dict[str, Any], at: str, form: str, relative: float | None
) -> str | None:
    if expected.keys() != got.keys():
        return f"{_place(at)}the names: {', '.join(expected)} are asked for, not {', '.join(got)}"
    differences = (_differ(expected[key], got[key], form.format(at, key), relative) for key in expected)
    return next((d for d in differences if d is not None), None)


def _tensors_differ(expected: Tensor, got: Tensor, at: str, relative: float | None) -> str | None:
    for what in ("dtype", "shape"):
        if getattr(expected, what) != getattr(got, what):
            return f"{_place(at)}the {what}: {getattr(expected, what)} is asked for, not {getattr(got, what)}"
    if expected.data == got.data:
        return None
    if relative is not None and "float" in expected.dtype:
        wrong = _far_apart(expected, got, relative)
    else:
        raw = (np.frombuffer(t.data, np.uint8).reshape(math.prod(t.shape), -1) for t in (expected, got))
        wrong = np.flatnonzero(np.not_equal(*raw).any(axis=1))
    if not len(wrong):
        return None
    index = tuple(map(int, np.unravel_index(wrong[0], expected.shape)))
    asked, seen = (show(t.numpy()[index].item()) for t in (expected, got))
    total = math.prod(expected.shape)
    return f"{_place(at)}{len(wrong)} of {total} elements, first [{', '.join(map(str, index))}]: {asked}, not {seen}"


def _far_apart(expected: Tensor, got: Tensor, relative: float) -> np.ndarray[Any, np.dtype[Any]]:
    """Return where numbers of two tensors are further apart than `relative` of the largest one asked for."""
    asked, seen = (tensor.numpy().astype(np.float64).reshape(-1) for tensor in (expected, got))
    finite = np.isfinite(asked) & np.isfinite(seen)
    bound = relative * np.abs(asked, where=finite, out=np.zeros_like(asked)).max(initial=0.0)
    near = np.abs(np.subtract(seen, asked, where=finite, out=np.zeros_like(asked))) <= bound
    same = (asked == seen) | (np.isnan(asked) & np.isnan(seen))
    return np.flatnonzero(~np.where(finite, near, same))


def _place(at: str) -> str:
    return f"at {at.lstrip('.')}: " if at else ""


def _kind(value: Value) -> str:
    if isinstance(value, Opaque):
        return f"a {value.type}"
    names: dict[type, str] = {type(None): "None", Tensor: "a torch.Tensor"}
    if isinstance(value, Record):
        return f"a {value.name}"
    kind = type(value)
    return names.get(kind) or f"{'an' if kind.__name__[0] in 'aeiou' else 'a'} {kind.__name__}"
