"""torch's tensors and the student's objects as the wire's values, and back. Used beside the student's code only."""

from __future__ import annotations

import builtins
import ctypes
from typing import Any

import torch

from autograder.wire import (
    ITEM_BYTES,
    MAX_BLOB_BYTES,
    MAX_DEPTH,
    MAX_HEADER_BYTES,
    Opaque,
    Record,
    Tensor,
    Value,
    WireError,
)

_PLAIN = frozenset({type(None), bool, int, float, str, bytes, Opaque, Tensor})


def to_value(thing: object) -> Value:
    """Return what may cross of an object: itself if plain, its bytes if a tensor, else only its type's name.

    Types are compared exactly, so no method of a student's subclass is ever called.

    Raises: WireError when it is nested too deeply or has too many parts.
    """
    return _to_value(thing, 0, [MAX_HEADER_BYTES])


def _to_value(thing: object, depth: int, room: list[int]) -> Value:
    kind = type(thing)
    if kind in _PLAIN:
        return thing  # type: ignore[return-value]
    if depth > MAX_DEPTH:
        raise WireError(f"it is nested deeper than {MAX_DEPTH}")
    if kind in (list, tuple, torch.Size, dict):
        room[0] -= len(thing)  # type: ignore[arg-type]
        if room[0] < 0:
            raise WireError("it has too many parts")
    if kind is list:
        return [_to_value(item, depth + 1, room) for item in thing]  # type: ignore[attr-defined]
    if kind in (tuple, torch.Size):
        return tuple(_to_value(item, depth + 1, room) for item in thing)  # type: ignore[attr-defined]
    if kind is dict and all(type(key) is str for key in thing):  # type: ignore[attr-defined]
        return {key: _to_value(item, depth + 1, room) for key, item in thing.items()}  # type: ignore[attr-defined]
    if kind is Record:
        return Record(thing.name, {k: _to_value(v, depth + 1, room) for k, v in thing.fields.items()})  # type: ignore[attr-defined]
    if kind in (torch.Tensor, torch.nn.Parameter):
        return _from_torch(thing)  # type: ignore[arg-type]
    return Opaque(type_name(kind))


def type_name(kind: type[Any]) -> str:
    """Return a type's name as a student would write it: generator, numpy.int64, torch.Tensor."""
    try:
        module, name = str(getattr(kind, "__module__", "")), str(getattr(kind, "__qualname__", "?"))
    except BaseException:  # noqa: BLE001  a metaclass is the student's code
        return "?"
    if module == "builtins" and getattr(builtins, name, kind) is kind:  # a student's class can call itself anything
        return name
    return f"{module}.{name}"[-200:]


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
    if tensor.is_nested or tensor.layout is not torch.strided or tensor.device.type == "meta" or _is_hollow(tensor):
        return Opaque("torch.Tensor without plain elements in memory")
    if dtype not in ITEM_BYTES:
        return Opaque(f"torch.Tensor of {tensor.dtype}")
    size = tensor.numel() * ITEM_BYTES[dtype]
    if size > MAX_BLOB_BYTES:  # before the copy: an expanded tensor promises more than there is
        raise WireError(f"a tensor of {size} bytes")
    flat = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    # By address: .numpy() knows neither bfloat16 nor fp8, and .view(uint8) not every dtype.
    return Tensor(dtype, tuple(flat.shape), ctypes.string_at(flat.data_ptr(), size) if size else b"")


def _is_hollow(tensor: torch.Tensor) -> bool:
    """Return whether the storage does not hold what the shape promises: to read it would be to read anything."""
    if tensor._is_zerotensor() or not tensor.numel():
        return bool(tensor.numel())
    last = tensor.storage_offset() + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.element_size() > tensor.untyped_storage().nbytes()
