"""Looks at part 1: what the student's strides, views and tensors turn out to be.

A probe holds no expected value. What it makes for the student it makes with torch alone, never with other exercises.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.wire import Record


def contiguous_strides(views: Any, shape: Any) -> Any:
    """See the strides of a shape."""
    return views.contiguous_strides(shape)


def storage_index(views: Any, stride: Any, offset: Any, index: Any) -> Any:
    """See an element's place."""
    return views.storage_index(stride, offset, index)


def is_contiguous(views: Any, shape: Any, stride: Any) -> Any:
    """See whether strides are taken to be contiguous."""
    return views.is_contiguous(shape, stride)


def operations(views: Any, view: Any, steps: Any) -> Any:
    """See the view at the end of a chain of operations: (name, arguments) each."""
    at = views.View(**view)
    for name, arguments in steps:
        at = getattr(at, name)(*arguments)
    return _seen(at, views)


def reshape(views: Any, view: Any, shape: Any) -> Any:
    """See a reshaped view, or None."""
    return _seen(views.View(**view).reshape(shape), views)


def same_storage(views: Any, bases: Any, tensors: Any) -> Any:
    """See whether two tensors are taken to share their storage."""
    return views.same_storage(*_tensors(bases, tensors))


def logical_bytes(views: Any, bases: Any, tensors: Any) -> Any:
    """See the bytes that a tensor's shape promises."""
    return views.logical_bytes(*_tensors(bases, tensors))


def storage_bytes(views: Any, bases: Any, tensors: Any) -> Any:
    """See the bytes that some tensors keep alive."""
    return views.storage_bytes(*_tensors(bases, tensors))


def diagonal(views: Any, bases: Any, tensors: Any) -> Any:
    """See the elements of a diagonal, and whether they are the input's own."""
    (x,) = _tensors(bases, tensors)
    return _values_and_sharing(views.diagonal(x), x)


def sliding_windows(views: Any, bases: Any, tensors: Any, size: Any, step: Any) -> Any:
    """See the elements of all windows, and whether they are the input's own."""
    (x,) = _tensors(bases, tensors)
    return _values_and_sharing(views.sliding_windows(x, size, step), x)


def split_heads(views: Any, bases: Any, tensors: Any, heads: Any) -> Any:
    """See the elements of all heads, and whether they are the input's own."""
    (x,) = _tensors(bases, tensors)
    return _values_and_sharing(views.split_heads(x, heads), x)


def merge_heads(views: Any, bases: Any, tensors: Any) -> Any:
    """See the merged elements."""
    return views.merge_heads(*_tensors(bases, tensors))


def _seen(view: Any, views: Any) -> Any:
    if not isinstance(view, views.View):
        return view
    return Record("View", {"shape": view.shape, "stride": view.stride, "offset": view.offset})


def _values_and_sharing(made: Any, x: torch.Tensor) -> Any:
    if type(made) is not torch.Tensor or made.layout is not torch.strided or made.device != x.device:
        return {"values": made, "copied": None}
    return {"values": made, "copied": made.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()}


def _tensors(bases: Any, tensors: Any) -> list[torch.Tensor]:
    """Return tensors made from bases, (kind, shape, dtype) each, by (place of the base, steps) each."""
    made = [_base(*base) for base in bases]
    return [_apply(made[place], steps) for place, steps in tensors]


def _base(kind: str, shape: Any, dtype: str) -> torch.Tensor:
    if kind == "zeros":
        return torch.zeros(shape, dtype=getattr(torch, dtype))
    return torch.arange(torch.Size(shape).numel(), dtype=getattr(torch, dtype)).reshape(shape)


def _apply(x: torch.Tensor, steps: Any) -> torch.Tensor:
    for name, arguments in steps:
        if name == "slice":
            dim, start, stop, step = arguments
            x = x[(slice(None),) * dim + (slice(start, stop, step),)]
        else:
            x = getattr(x, name)(*arguments)
    return x
