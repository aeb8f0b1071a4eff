"""Cases and observations as bytes and back: the only language between the grader and a worker.

A frame is a fixed prefix, a JSON header and the raw bytes of its tensors. Whatever a worker writes is data: decoding
imports nothing, evaluates nothing and ends in a value or in `WireError`.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import fields
from typing import Any

from autograder.observation import (
    ITEM_BYTES,
    MAX_RANK,
    Ask,
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
    WireError,
)

__all__ = [
    "ITEM_BYTES", "MAX_RANK", "Ask", "Died", "Message", "Observation", "Opaque", "OverLimit", "Raised", "Record",
    "Returned", "Tensor", "TimedOut", "UsedForbidden", "Value", "WireError", "decode", "decode_frame", "encode",
    "frame_sizes", "missing_bytes", "take_frame",
]  # fmt: skip

MAX_HEADER_BYTES = 64 * 1024
MAX_BLOB_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 32
MAX_TENSORS = 64
MAX_INT_DIGITS = 1000  # int() on decimal text is quadratic
MAX_INT_BITS = 3321  # of which no integer has more digits

PREFIX = struct.Struct("!4sIQ")  # magic and version, header bytes, blob bytes
MAGIC = b"NPK1"

_MESSAGES: dict[str, type[Any]] = {
    cls.__name__: cls for cls in (Ask, Returned, Raised, UsedForbidden, OverLimit, TimedOut, Died)
}
_FIELD_TYPES: dict[str, Any] = {
    "str": str, "float": float, "Value": object, "tuple[str, ...]": tuple, "dict[str, Value]": dict,
}  # fmt: skip

Message = Ask | Observation


def encode(message: Message, max_header_bytes: int = MAX_HEADER_BYTES) -> bytes:
    """Return the frame of a message.

    Raises: WireError for a value of another kind than `Value`, or one that is too large, deep or many.
    """
    blobs: list[bytes] = []
    name = type(message).__name__
    parts = [_flatten(getattr(message, field.name), blobs, 0, [max_header_bytes]) for field in fields(message)]
    header = json.dumps([name, *parts], separators=(",", ":"), allow_nan=False).encode("ascii")
    blob_bytes = sum(map(len, blobs))
    _check_sizes(len(header), blob_bytes, max_header_bytes)
    return b"".join([PREFIX.pack(MAGIC, len(header), blob_bytes), header, *blobs])


def frame_sizes(prefix: bytes, max_header_bytes: int = MAX_HEADER_BYTES) -> tuple[int, int]:
    """Return the header's and the blob's length in bytes, as a frame's first `PREFIX.size` bytes claim them.

    Raises: WireError before anything is read or reserved for a length over the bounds.
    """
    if len(prefix) != PREFIX.size:
        raise WireError(f"a frame begins with {PREFIX.size} bytes, not {len(prefix)}")
    magic, header_bytes, blob_bytes = PREFIX.unpack(prefix)
    if magic != MAGIC:
        raise WireError(f"a frame begins with {MAGIC!r}, not {magic!r}")
    _check_sizes(header_bytes, blob_bytes, max_header_bytes)
    return header_bytes, blob_bytes


def missing_bytes(received: bytes | bytearray, max_header_bytes: int = MAX_HEADER_BYTES) -> int:
    """Return how many bytes of a frame are still to come, at least; 0 when it is whole.

    Raises: WireError for a length over the bounds.
    """
    if len(received) < PREFIX.size:
        return PREFIX.size - len(received)
    sizes = frame_sizes(bytes(received[: PREFIX.size]), max_header_bytes)
    return max(0, PREFIX.size + sum(sizes) - len(received))


def take_frame(received: bytearray) -> bytes:
    """Remove the frame at the head of what was received, which must be whole, and return it."""
    size = PREFIX.size + sum(PREFIX.unpack(received[: PREFIX.size])[1:])
    frame = bytes(received[:size])
    del received[:size]
    return frame


def decode(header: bytes, blob: bytes) -> Message:
    """Return the message of a frame whose parts have been read.

    Raises: WireError for anything that `encode` would not have written.
    """
    try:
        # Floats are tagged and objects never written, so both are refused at the parser's door.
        parsed = json.loads(header.decode("ascii"), parse_int=_parse_int, parse_float=_refuse,
                            parse_constant=_refuse, object_pairs_hook=_refuse)  # fmt: skip
    except (ValueError, RecursionError) as error:
        raise WireError(f"the header is not what encode writes: {type(error).__name__}") from None
    if not (isinstance(parsed, list) and parsed and isinstance(parsed[0], str) and parsed[0] in _MESSAGES):
        raise WireError("the header names no message")
    cls, source = _MESSAGES[parsed[0]], _Blob(blob)
    if len(parsed) != 1 + len(fields(cls)):
        raise WireError(f"{parsed[0]} has {len(fields(cls))} fields, not {len(parsed) - 1}")
    values = []
    for field, part in zip(fields(cls), parsed[1:], strict=True):
        value = _rebuild(part, source, 0)
        if not isinstance(value, _FIELD_TYPES[str(field.type)]):
            raise WireError(f"{parsed[0]}.{field.name} is {type(value).__name__}, not {field.type}")
        if field.type == "tuple[str, ...]" and not all(isinstance(item, str) for item in value):
            raise WireError(f"{parsed[0]}.{field.name} holds something other than text")
        values.append(value)
    source.finish()
    message: Message = cls(*values)
    return message


def decode_frame(frame: bytes, max_header_bytes: int = MAX_HEADER_BYTES) -> Message:
    """Return the message of a whole frame held in memory."""
    header_bytes, blob_bytes = frame_sizes(frame[: PREFIX.size], max_header_bytes)
    if len(frame) != PREFIX.size + header_bytes + blob_bytes:
        raise WireError(f"a frame of {len(frame)} bytes claims {PREFIX.size + header_bytes + blob_bytes}")
    body = PREFIX.size + header_bytes
    return decode(frame[PREFIX.size : body], frame[body:])


def _check_sizes(header_bytes: int, blob_bytes: int, max_header_bytes: int) -> None:
    if header_bytes > max_header_bytes:
        raise WireError(f"a header of {header_bytes} bytes is over {max_header_bytes}")
    if blob_bytes > MAX_BLOB_BYTES:
        raise WireError(f"tensors of {blob_bytes} bytes are over {MAX_BLOB_BYTES}")


def _refuse(_: object) -> Any:
    raise ValueError("not written by encode")


def _parse_int(digits: str) -> int:
    if len(digits) > MAX_INT_DIGITS + 1:
        raise ValueError("an integer of too many digits")
    return int(digits)


def _flatten(value: object, blobs: list[bytes], depth: int, room: list[int]) -> Any:
    """Return the JSON form of a value; containers are lists that begin with a tag. `room` bounds their number."""
    room[0] -= 1
    if depth > MAX_DEPTH or room[0] < 0:
        raise WireError(f"nested deeper than {MAX_DEPTH}" if depth > MAX_DEPTH else "too many values")
    kind = type(value)  # exact: a subclass brings methods of its own
    if value is None or kind is bool:
        return value
    if kind is int:
        if value.bit_length() > MAX_INT_BITS:  # type: ignore[attr-defined]
            raise WireError(f"an integer of more than {MAX_INT_DIGITS} digits")
        return value
    if kind is str:
        if len(value) > room[0]:  # type: ignore[arg-type]
            raise WireError(f"a text of {len(value)} characters")  # type: ignore[arg-type]
        return value if _is_unicode(value) else ["s", value.encode("utf-8", "surrogatepass").hex()]  # type: ignore
    if kind is float:
        return ["f", struct.pack("!d", value).hex()]  # bits, so that a NaN keeps its payload
    if kind is bytes:
        if len(value) > room[0]:  # type: ignore[arg-type]
            raise WireError(f"{len(value)} bytes")  # type: ignore[arg-type]
        return ["b", value.hex()]  # type: ignore[attr-defined]
    if kind is list or kind is tuple:
        return ["l" if kind is list else "t", *(_flatten(v, blobs, depth + 1, room) for v in value)]  # type: ignore
    if kind is dict:
        return ["d", *_pairs(value, blobs, depth, room)]  # type: ignore[arg-type]
    if isinstance(value, Record):
        return ["r", _text(value.name), *_pairs(value.fields, blobs, depth, room)]
    if isinstance(value, Opaque):
        return ["o", _text(value.type)]
    if isinstance(value, Tensor):
        if len(blobs) >= MAX_TENSORS:
            raise WireError(f"more than {MAX_TENSORS} tensors")
        blobs.append(value.data)
        return ["T", value.dtype, *value.shape]
    raise WireError(f"a {kind.__name__} cannot cross")


def _is_unicode(text: Any) -> bool:
    """Return whether there are no lone surrogates: JSON would take a pair of them for one character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _text(name: object) -> str:
    if type(name) is not str:
        raise WireError(f"a name that is a {type(name).__name__}")
    return name


def _pairs(pairs: dict[str, Value], blobs: list[bytes], depth: int, room: list[int]) -> list[Any]:
    if not all(type(key) is str for key in pairs):
        raise WireError("a dict whose keys are not text cannot cross")
    return [part for key, v in pairs.items() for part in (key, _flatten(v, blobs, depth + 1, room))]


class _Blob:
    """Hands out the blob's bytes in order, and never more than there are."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at, self._tensors = data, 0, 0

    def tensor(self, dtype: str, shape: tuple[int, ...]) -> Tensor:
        self._tensors += 1
        if self._tensors > MAX_TENSORS or dtype not in ITEM_BYTES or len(shape) > MAX_RANK or min(shape, default=0) < 0:
            raise WireError("no such tensor can cross")
        size = math.prod(shape) * ITEM_BYTES[dtype]
        if size > len(self._data) - self._at:
            raise WireError("a tensor claims more bytes than there are")
        self._at += size
        return Tensor(dtype, shape, bytes(self._data[self._at - size : self._at]))

    def finish(self) -> None:
        if self._at != len(self._data):
            raise WireError(f"{len(self._data) - self._at} bytes belong to no tensor")


def _rebuild(part: Any, source: _Blob, depth: int) -> Value:
    if depth > MAX_DEPTH:
        raise WireError(f"nested deeper than {MAX_DEPTH}")
    if part is None or isinstance(part, bool | int | str):
        return part
    if not (part and isinstance(part[0], str)):
        raise WireError("a list without a tag")
    tag, items = part[0], part[1:]
    if tag in ("l", "t"):
        inner = [_rebuild(item, source, depth + 1) for item in items]
        return inner if tag == "l" else tuple(inner)
    if tag == "d":
        return _rebuild_pairs(items, source, depth)
    if not (items and isinstance(items[0], str)):
        raise WireError(f"tag {tag!r} is followed by no text")
    text, rest = items[0], items[1:]
    if tag == "r":
        return Record(text, _rebuild_pairs(rest, source, depth))
    if tag == "T" and all(type(size) is int for size in rest):
        return source.tensor(text, tuple(rest))
    if tag in ("f", "b", "s", "o") and not rest:
        return Opaque(text) if tag == "o" else _rebuild_hex(tag, text)
    raise WireError(f"no value has tag {tag!r} and {len(rest)} more parts")


def _rebuild_hex(tag: str, text: str) -> float | bytes | str:
    try:
        raw = bytes.fromhex(text)
        if tag == "f":
            return float(struct.unpack("!d", raw)[0])
        return raw.decode("utf-8", "surrogatepass") if tag == "s" else raw
    except (ValueError, struct.error):
        raise WireError(f"no value has tag {tag!r} and {len(text)} characters") from None


def _rebuild_pairs(items: list[Any], source: _Blob, depth: int) -> dict[str, Value]:
    keys = items[::2]
    if len(items) % 2 or not all(isinstance(key, str) for key in keys) or len(set(keys)) != len(keys):
        raise WireError("a dict of other than distinct texts and values")
    return {key: _rebuild(value, source, depth + 1) for key, value in zip(keys, items[1::2], strict=True)}
