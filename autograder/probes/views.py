"""Looks at part 1: what the student's strides, views and tensors turn out to be.

A probe holds no expected value. What it makes for the student it makes with torch alone, never with other exercises.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.probes.inputs import make_tensors, to_record


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
    return to_record(at, views.View)


def reshape(views: Any, view: Any, shape: Any) -> Any:
    """See a reshaped view, or None."""
    return to_record(views.View(**view).reshape(shape), views.View)


def same_storage(views: Any, bases: Any, tensors: Any) -> Any:
    """See whether two tensors are taken to share their storage."""
    return views.same_storage(*make_tensors(bases, tensors))


def logical_bytes(views: Any, bases: Any, tensors: Any) -> Any:
    """See the bytes that a tensor's shape promises."""
    return views.logical_bytes(*make_tensors(bases, tensors))


def storage_bytes(views: Any, bases: Any, tensors: Any) -> Any:
    """See the bytes that some tensors keep alive."""
    return views.storage_bytes(*make_tensors(bases, tensors))


def diagonal(views: Any, bases: Any, tensors: Any) -> Any:
    """See the elements of a diagonal, and whether they are the input's own."""
    (x,) = make_tensors(bases, tensors)
    return _values_and_sharing(views.diagonal(x), x)


def sliding_windows(views: Any, bases: Any, tensors: Any, size: Any, step: Any) -> Any:
    """See the elements of all windows, and whether they are the input's own."""
    (x,) = make_tensors(bases, tensors)
    return _values_and_sharing(views.sliding_windows(x, size, step), x)


def split_heads(views: Any, bases: Any, tensors: Any, heads: Any) -> Any:
    """See the elements of all heads, and whether they are the input's own."""
    (x,) = make_tensors(bases, tensors)
    return _values_and_sharing(views.split_heads(x, heads), x)


def merge_heads(views: Any, bases: Any, tensors: Any) -> Any:
    """See the merged elements."""
    return views.merge_heads(*make_tensors(bases, tensors))


def _values_and_sharing(made: Any, x: torch.Tensor) -> Any:
    if type(made) is not torch.Tensor or made.layout is not torch.strided or made.device != x.device:
        return {"values": made, "copied": None}
    return {"values": made, "copied": made.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()}
