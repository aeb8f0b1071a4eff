"""torch's tensors and the student's objects as the wire's values, and back. Used beside the student's code only."""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from autograder.wire import ITEM_BYTES, MAX_DEPTH, MAX_HEADER_BYTES, Opaque, Record, Tensor, Value, WireError

_PLAIN = frozenset({type(None), bool, int, float, str, bytes, Opaque, Tensor})


def to_value(thing: object, depth: int = 0) -> Value:
    """Return what may cross of an object: itself if plain, its bytes if a tensor, else only its type's name.

    Types are compared exactly, so no method of a student's subclass is ever called.

    Raises: WireError when it is nested too deeply or has too many parts.
    """
    kind = type(thing)
    if kind in _PLAIN:
        return thing  # type: ignore[return-value]
    if depth > MAX_DEPTH:
        raise WireError(f"nested deeper than {MAX_DEPTH}")
    if kind in (list, tuple, torch.Size, dict) and len(thing) > MAX_HEADER_BYTES:  # type: ignore[arg-type]
        raise WireError("too many values")
    if kind is list:
        return [to_value(item, depth + 1) for item in thing]  # type: ignore[attr-defined]
    if kind in (tuple, torch.Size):
        return tuple(to_value(item, depth + 1) for item in thing)  # type: ignore[attr-defined]
    if kind is dict and all(type(key) is str for key in thing):  # type: ignore[attr-defined]
        return {key: to_value(item, depth + 1) for key, item in thing.items()}  # type: ignore[attr-defined]
    if kind is Record:
        return Record(thing.name, {k: to_value(v, depth + 1) for k, v in thing.fields.items()})  # type: ignore[attr-defined]
    if kind in (torch.Tensor, torch.nn.Parameter):
        return _from_torch(thing)  # type: ignore[arg-type]
    return Opaque(type_name(kind))


def type_name(kind: type[Any]) -> str:
    """Return a type's name as a student would write it: generator, numpy.int64, torch.Tensor."""
    module = getattr(kind, "__module__", "builtins")
    name = str(getattr(kind, "__qualname__", "?"))
    return name if not isinstance(module, str) or module == "builtins" else f"{module}.{name}"[-200:]


def to_torch(value: Value) -> Any:
    """Return a case's value with its tensors as torch's."""
    if isinstance(value, Tensor):
        dtype = getattr(torch, value.dtype)
        if not value.data:
            return torch.empty(value.shape, dtype=dtype)
        return torch.frombuffer(bytearray(value.data), dtype=dtype).reshape(value.shape)
    if isinstance(value, list | tuple):
        return type(value)(map(to_torch, value))
    if isinstance(value, dict):
        return {key: to_torch(item) for key, item in value.items()}
    return value


def _from_torch(tensor: torch.Tensor) -> Value:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in ITEM_BYTES or tensor.layout is not torch.strided or tensor.device.type == "meta":
        return Opaque(f"torch.Tensor ({tensor.layout}, {tensor.dtype}, {tensor.device.type})")
    flat = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    # By address: .numpy() knows neither bfloat16 nor fp8, and .view(uint8) not every dtype.
    size = flat.numel() * ITEM_BYTES[dtype]
    return Tensor(dtype, tuple(flat.shape), ctypes.string_at(flat.data_ptr(), size) if size else b"")
