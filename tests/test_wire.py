"""Whether every value comes back bit for bit, and whatever else arrives ends in WireError and nothing else."""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys
import time
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autograder import wire
from autograder.wire import (
    ITEM_BYTES,
    MAGIC,
    MAX_BLOB_BYTES,
    MAX_DEPTH,
    MAX_HEADER_BYTES,
    MAX_INT_BITS,
    MAX_INT_DIGITS,
    MAX_RANK,
    MAX_TENSORS,
    PREFIX,
    Ask,
    Died,
    Message,
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
    decode,
    decode_frame,
    encode,
    frame_sizes,
    missing_bytes,
)

QUICK_S = 1.0  # a hostile frame takes milliseconds; a bound that fails takes minutes or all memory
MESSAGES: list[Message] = [
    Ask("views.reshape", {"view": Record("View", {"shape": (2, 3)}), "shape": (-1,)}, ("torch", "numpy.reshape")),
    Ask("views.diagonal", {}),
    Returned({"values": Tensor("int16", (2,), b"\1\2\3\4"), "copied": False}),
    Raised("IndexError", ("IndexError", "LookupError"), "index 7", "import", ("views.py:31 in reshape",)),
    UsedForbidden("torch.empty", "views.py:31 in reshape"),
    OverLimit("memory", "512 MB"),
    TimedOut(4.0),
    Died("SIGSEGV"),
]


# --- what crosses ----------------------------------------------------------------------------------------------------


def bits(value: Value) -> Any:
    """Return a value with each float as its bits and each container with its type: equal only if nothing differs."""
    if isinstance(value, float):
        return ("float", struct.pack("!d", value))
    if isinstance(value, list | tuple):
        return (type(value).__name__, [bits(item) for item in value])
    if isinstance(value, dict):
        return ("dict", [(key, bits(item)) for key, item in value.items()])
    if isinstance(value, Record):
        return ("Record", value.name, bits(value.fields))
    return (type(value).__name__, value)


def arrived(value: Value) -> Value:
    """Return a value after its way through a frame."""
    message = decode_frame(encode(Returned(value)))
    assert isinstance(message, Returned)
    return message.value


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    dtype = draw(st.sampled_from(sorted(ITEM_BYTES)))
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    size = math.prod(shape) * ITEM_BYTES[dtype]
    return Tensor(dtype, shape, draw(st.binary(min_size=size, max_size=size)))


floats = st.integers(0, 2**64 - 1).map(lambda raw: struct.unpack("!d", raw.to_bytes(8, "big"))[0])  # each NaN too
nans = st.integers(1, 2**52 - 1).map(lambda payload: struct.unpack("!d", (0x7FF << 52 | payload).to_bytes(8, "big"))[0])
# Two surrogates that make a pair are one character to JSON, and arrive as that.
texts = st.text(st.characters()) | st.text("ab\ud800\ud912é\n") | st.text("\udfff\udc00\0\u2028")
integers = st.integers() | st.integers(-(10**900), 10**900)
plain = (
    st.none() | st.booleans() | integers | floats | nans | texts | st.binary() | st.builds(Opaque, texts) | tensors()
)
values = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(texts, inner, max_size=4)
        | st.builds(Record, texts, st.dictionaries(texts, inner, max_size=4))
    ),
    max_leaves=12,
)


@given(values)
@settings(max_examples=300, deadline=None)
@example([])
@example(())
@example({})
@example({"": {"": ()}})
@example(Record("", {}))
@example(-0.0)
@example(["f", "0" * 16])  # as a value, what is a tag on the wire
@example(("T", "float32", 2))
@example(10**900)
@example(-(10**900))
@example("\ud800 \udfff \0")
def test_a_value_comes_back_bit_for_bit(value: Value) -> None:
    assert bits(arrived(value)) == bits(value)


def test_a_pair_of_surrogates_stays_two_characters() -> None:
    assert arrived("\ud800\udc00") == "\ud800\udc00"


@pytest.mark.parametrize("dtype", sorted(ITEM_BYTES))
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 1, 3)], ids=str)
def test_a_tensor_comes_back_bit_for_bit(dtype: str, shape: tuple[int, ...]) -> None:
    size = math.prod(shape) * ITEM_BYTES[dtype]
    tensor = Tensor(dtype, shape, bytes(range(255, 255 - size, -1)))
    assert arrived(tensor) == tensor


def test_tensors_anywhere_in_a_value_keep_their_own_bytes() -> None:
    tensors_ = [Tensor("uint8", (size,), bytes([size] * size)) for size in range(4)]
    value: Value = {"a": tensors_[3], "b": (tensors_[0], [tensors_[1]]), "c": Record("R", {"x": tensors_[2]})}
    assert arrived(value) == value


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_each_message_comes_back(message: Message) -> None:
    assert decode_frame(encode(message)) == message


def test_the_names_of_a_dict_come_back_in_their_order() -> None:
    value = arrived({"b": 1, "a": 2})
    assert isinstance(value, dict)
    assert list(value) == ["b", "a"]


@pytest.mark.parametrize("dtype", sorted(ITEM_BYTES))
def test_numpy_sees_the_elements_of_each_dtype(dtype: str) -> None:
    there = getattr(ml_dtypes, dtype, None) or np.dtype(dtype)
    elements = np.array([[0, 1, 1], [1, 0, 1]]).astype(there)
    seen = Tensor(dtype, (2, 3), elements.tobytes()).numpy()
    assert seen.dtype == elements.dtype
    assert np.array_equal(seen, elements)


# --- bounds ----------------------------------------------------------------------------------------------------------


def nested(depth: int, form: str) -> Value:
    """Return a value that holds a value, so many times over."""
    inner: Value = 1
    for _ in range(depth):
        inner = {"list": [inner], "tuple": (inner,), "dict": {"a": inner}, "record": Record("R", {"a": inner})}[form]
    return inner


def empty_tensors(count: int) -> list[Value]:
    return [Tensor("uint8", (0,), b"")] * count


SCALAR = Tensor("uint8", (1,), b"x")
AT_THE_BOUND: dict[str, tuple[Value, Value]] = {  # what just crosses, and what just does not
    "depth of lists": (nested(MAX_DEPTH, "list"), nested(MAX_DEPTH + 1, "list")),
    "depth of tuples": (nested(MAX_DEPTH, "tuple"), nested(MAX_DEPTH + 1, "tuple")),
    "depth of dicts": (nested(MAX_DEPTH, "dict"), nested(MAX_DEPTH + 1, "dict")),
    "depth of records": (nested(MAX_DEPTH, "record"), nested(MAX_DEPTH + 1, "record")),
    "number of tensors": (empty_tensors(MAX_TENSORS), empty_tensors(MAX_TENSORS + 1)),
    "digits": (2**MAX_INT_BITS - 1, 10 ** (MAX_INT_DIGITS + 1)),
    "negative digits": (1 - 2**MAX_INT_BITS, -(10 ** (MAX_INT_DIGITS + 1))),
    "header, in text": ("a" * (MAX_HEADER_BYTES - 30), "a" * MAX_HEADER_BYTES),
    "header, in escapes": ("é" * (MAX_HEADER_BYTES // 6 - 20), "é" * (MAX_HEADER_BYTES // 6)),
    "header, in numbers": ([1] * (MAX_HEADER_BYTES // 2 - 20), [1] * (MAX_HEADER_BYTES // 2)),
    "header, in bytes": (b"a" * (MAX_HEADER_BYTES // 2 - 20), b"a" * (MAX_HEADER_BYTES // 2)),
    "header, in a name": ({"a" * (MAX_HEADER_BYTES - 30): 1}, {"a" * MAX_HEADER_BYTES: 1}),
    "header, in a type": (Opaque("a" * (MAX_HEADER_BYTES - 30)), Opaque("a" * MAX_HEADER_BYTES)),
}
bounds = pytest.mark.parametrize("bound", AT_THE_BOUND)


@bounds
def test_a_value_at_a_bound_crosses(bound: str) -> None:
    within, _ = AT_THE_BOUND[bound]
    assert arrived(within) == within


@bounds
def test_encode_refuses_a_value_over_a_bound(bound: str) -> None:
    _, over = AT_THE_BOUND[bound]
    with pytest.raises(WireError):
        encode(Returned(over))


@bounds
def test_decode_refuses_a_value_over_a_bound(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, over = AT_THE_BOUND[bound]
    for name in ("MAX_DEPTH", "MAX_TENSORS", "MAX_HEADER_BYTES", "MAX_INT_BITS"):
        monkeypatch.setattr(wire, name, 10**6)
    frame = encode(Returned(over), max_header_bytes=10**6)  # by a writer that keeps to no bound
    monkeypatch.undo()
    with pytest.raises(WireError):
        decode_frame(frame)


def test_tensors_of_too_many_bytes_are_refused_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_BLOB_BYTES", 10)
    frame = encode(Returned([Tensor("uint8", (10,), b"x" * 10)]))
    over = [Tensor("uint8", (10,), b"x" * 10), SCALAR]
    with pytest.raises(WireError, match="11 bytes"):
        encode(Returned(list(over)))
    monkeypatch.setattr(wire, "MAX_BLOB_BYTES", 9)
    with pytest.raises(WireError, match="10 bytes"):
        decode_frame(frame)


def test_a_smaller_header_may_be_asked_for() -> None:
    frame = encode(Returned("a" * 100))
    with pytest.raises(WireError, match="header"):
        decode_frame(frame, max_header_bytes=100)


def test_many_values_are_refused_before_they_are_written() -> None:
    start = time.monotonic()
    with pytest.raises(WireError):
        encode(Returned([[1] * 10**5] * 10**5))  # type: ignore[list-item]
    assert time.monotonic() - start < QUICK_S


class Shouting(str):
    """A subclass, which brings methods of its own."""


@pytest.mark.parametrize(
    "value",
    [
        Shouting("a"),
        object(),
        {1, 2},
        1j,
        range(3),
        {1: 2},
        {Shouting("a"): 1},
        np.int64(1),
        np.float64(1.0),
        bytearray(b"a"),
        Ellipsis,
    ],
    ids=lambda value: type(value).__name__,
)
def test_another_kind_of_value_does_not_cross(value: Any) -> None:
    with pytest.raises(WireError):
        encode(Returned(value))


@pytest.mark.parametrize("value", [Opaque(object()), Record(object(), {})], ids=["Opaque", "Record"])  # type: ignore[arg-type]
def test_a_name_that_is_no_text_does_not_cross(value: Value) -> None:
    with pytest.raises(WireError):
        encode(Returned(value))


@pytest.mark.parametrize(
    ("dtype", "shape", "data"),
    [
        ("float31", (1,), b"1234"),
        ("object", (1,), b"12345678"),
        ("float32", (2,), b"1234"),
        ("float32", (), b""),
        ("float32", (0,), b"1234"),
        ("uint8", (-1,), b""),
        ("uint8", (-1, -1), b"x"),
        ("uint8", (True,), b"x"),
        ("uint8", (1.0,), b"x"),
        ("uint8", (1,) * (MAX_RANK + 1), b"x"),
        ("uint8", (2**62, 2**62), b""),
    ],
)
def test_a_tensor_that_cannot_be_is_refused(dtype: str, shape: Any, data: bytes) -> None:
    with pytest.raises(WireError):
        Tensor(dtype, shape, data)


# --- what is no frame ------------------------------------------------------------------------------------------------


def framed(header: bytes, blob: bytes = b"") -> bytes:
    """Return a frame of any header and blob, with the lengths that they have."""
    return PREFIX.pack(MAGIC, len(header), len(blob)) + header + blob


HOSTILE_HEADERS = {
    "nothing": "",
    "no JSON": "Returned",
    "not ASCII": '["Returned","é"]',
    "cut JSON": '["Returned",1',
    "two values": '["Returned",1]["Returned",1]',
    "open lists": "[" * 60_000,
    "deep lists": "[" * 30_000 + "]" * 30_000,
    "deep values": '["Returned",' + '["l",' * 10_000 + "1" + "]" * 10_001,
    "open objects": '{"a":' * 12_000,
    "a number": "1",
    "null": "null",
    "text": '"Returned"',
    "an object": "{}",
    "an object inside": '["Returned",{}]',
    "an object with two equal names": '["Returned",{"a":1,"a":2}]',
    "NaN": '["Returned",NaN]',
    "Infinity": '["Returned",-Infinity]',
    "a float": '["Returned",1.0]',
    "an overflowing float": '["Returned",1e999]',
    "an exponent": '["Returned",1E5]',
    "many digits": '["Returned",' + "9" * 5000 + "]",
    "negative digits": '["Returned",-' + "9" * 5000 + "]",
    "no message": "[]",
    "a message of no name": "[1]",
    "a message that is a list": "[[]]",
    "an unknown message": '["Granted",100]',
    "a message that is no observation's": '["Tensor","uint8",[],""]',
    "a method's name": '["__init__",1]',
    "too few fields": '["Returned"]',
    "too many fields": '["Returned",1,2]',
    "fields of another message": '["Died",1]',
    "bases that are text": '["Raised","E","E","m","call",["t"]]',
    "bases that are a list": '["Raised","E",["l","E"],"m","call",["t"]]',
    "bases that hold a number": '["Raised","E",["t",1],"m","call",["t"]]',
    "a message's text that is None": '["Raised","E",["t"],null,"call",["t"]]',
    "seconds that are whole": '["TimedOut",4]',
    "seconds that are true": '["TimedOut",true]',
    "a case that is a list": '["Ask","p",["l"],["t"]]',
    "an empty list": '["Returned",[]]',
    "a tag that is a number": '["Returned",[1]]',
    "a tag that is a list": '["Returned",[["l"]]]',
    "an unknown tag": '["Returned",["x","y"]]',
    "a tag without its text": '["Returned",["f"]]',
    "a float of few digits": '["Returned",["f","00"]]',
    "a float of many digits": '["Returned",["f","000000000000000000"]]',
    "a float that is no hex": '["Returned",["f","zzzzzzzzzzzzzzzz"]]',
    "a float with more parts": '["Returned",["f","0000000000000000",1]]',
    "bytes of half a digit": '["Returned",["b","0"]]',
    "an opaque thing with a part": '["Returned",["o","x",1]]',
    "an opaque thing of no name": '["Returned",["o",1]]',
    "a dict of an odd number of parts": '["Returned",["d","a"]]',
    "a dict with two equal names": '["Returned",["d","a",1,"a",2]]',
    "a dict whose name is a number": '["Returned",["d",1,1]]',
    "a dict whose name is a list": '["Returned",["d",["l"],1]]',
    "a record of no name": '["Returned",["r"]]',
    "a record with two equal names": '["Returned",["r","R","a",1,"a",2]]',
    "a tensor without bytes": '["Returned",["T","uint8",3]]',
    "a tensor of an unknown dtype": '["Returned",["T","object",0]]',
    "a tensor of no dtype": '["Returned",["T",1]]',
    "a negative size": '["Returned",["T","uint8",-1]]',
    "two negative sizes": '["Returned",["T","uint8",-1,-1]]',
    "a size that is true": '["Returned",["T","uint8",true]]',
    "a size that is text": '["Returned",["T","uint8","1"]]',
    "a size that is a list": '["Returned",["T","uint8",["l"]]]',
    "sizes that overflow 64 bits": f'["Returned",["T","uint8",{2**32},{2**32}]]',
    "sizes that overflow to nothing": f'["Returned",["T","uint8",{2**63},2]]',
    "sizes of many digits": '["Returned",["T","uint8"' + ("," + "9" * 900) * 60 + "]]",
    "too many axes": '["Returned",["T","uint8"' + ",1" * 65 + "]]",
    "too many tensors": '["Returned",["l"' + ',["T","uint8",0]' * 65 + "]]",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_HEADERS)
def test_a_hostile_header_is_refused_quickly(name: str) -> None:
    frame = framed(HOSTILE_HEADERS[name].encode("utf-8"))
    start = time.monotonic()
    with pytest.raises(WireError):
        decode_frame(frame)
    assert time.monotonic() - start < QUICK_S


@pytest.mark.parametrize(
    "prefix",
    [
        b"",
        MAGIC,
        PREFIX.pack(b"NPK2", 0, 0),
        PREFIX.pack(b"HTTP", 0, 0),
        PREFIX.pack(MAGIC, MAX_HEADER_BYTES + 1, 0),
        PREFIX.pack(MAGIC, 2**31, 0),
        PREFIX.pack(MAGIC, 10, MAX_BLOB_BYTES + 1),
        PREFIX.pack(MAGIC, 10, 2**62),
        PREFIX.pack(MAGIC, 2**32 - 1, 2**64 - 1),
    ],
)
def test_a_claimed_length_is_refused_before_anything_is_read(prefix: bytes) -> None:
    with pytest.raises(WireError):
        frame_sizes(prefix)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_frame_that_is_still_arriving_says_what_is_missing(message: Message) -> None:
    frame = encode(message)
    beginnings = [frame[:size] for size in range(len(frame) + 1)]
    missing = [len(frame) - size if size >= PREFIX.size else PREFIX.size - size for size in range(len(frame) + 1)]
    assert [missing_bytes(beginning) for beginning in beginnings] == missing


def test_bytes_behind_a_whole_frame_are_not_missing() -> None:
    assert missing_bytes(encode(Returned(1)) + b"more") == 0


@pytest.mark.parametrize("prefix", [b"HTTP" + bytes(12), PREFIX.pack(MAGIC, 10, 2**62), PREFIX.pack(MAGIC, 2**31, 0)])
def test_a_frame_over_the_bounds_is_refused_before_the_rest_arrives(prefix: bytes) -> None:
    with pytest.raises(WireError):
        missing_bytes(bytearray(prefix))


def test_lengths_within_the_bounds_are_told() -> None:
    assert frame_sizes(PREFIX.pack(MAGIC, MAX_HEADER_BYTES, MAX_BLOB_BYTES)) == (MAX_HEADER_BYTES, MAX_BLOB_BYTES)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_every_beginning_of_a_frame_is_refused(message: Message) -> None:
    frame = encode(message)
    for size in range(len(frame)):
        with pytest.raises(WireError):
            decode_frame(frame[:size])


def test_bytes_behind_a_frame_are_refused() -> None:
    with pytest.raises(WireError, match="claims"):
        decode_frame(encode(Returned(1)) + b"x")


def test_bytes_that_belong_to_no_tensor_are_refused() -> None:
    with pytest.raises(WireError, match="2 bytes belong to no tensor"):
        decode_frame(framed(b'["Returned",["T","uint8",1]]', b"xyz"))


def test_a_tensor_cannot_reach_into_the_next_ones_bytes() -> None:
    header = b'["Returned",["l",["T","uint8",3],["T","uint8",1]]]'
    with pytest.raises(WireError, match="more bytes than there are"):
        decode_frame(framed(header, b"xyz"))


def decoded_or_refused(frame: bytes) -> None:
    """Decode: it ends in a message that encodes again, or in WireError; every other exception is a failure."""
    try:
        message = decode_frame(frame)
    except WireError:
        return
    assert type(message) in {type(known) for known in MESSAGES}


WHOLE = encode(
    Returned({"a": (1, -2.5, None, "é\ud800"), "b": [Tensor("bfloat16", (1, 2), b"abcd"), Opaque("x")], "c": b"xy"})
)


def test_any_one_flipped_bit_gives_a_message_or_a_wire_error() -> None:
    for place in range(8 * len(WHOLE)):
        flipped = bytearray(WHOLE)
        flipped[place // 8] ^= 1 << place % 8
        decoded_or_refused(bytes(flipped))


@given(st.binary(max_size=200), st.binary(max_size=50))
@settings(max_examples=300, deadline=None)
def test_any_bytes_give_a_message_or_a_wire_error(header: bytes, blob: bytes) -> None:
    decoded_or_refused(framed(header, blob))


tags = st.sampled_from(["l", "t", "d", "r", "T", "o", "f", "b", "x", *ITEM_BYTES, "0" * 16])
names = st.sampled_from([type(message).__name__ for message in MESSAGES])
trees = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.integers() | tags | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=5) | st.builds(lambda tag, rest: [tag, *rest], tags, st.lists(inner, max_size=4))
    ),
    max_leaves=20,
)


@given(names, st.lists(trees, max_size=6), st.binary(max_size=32))
@settings(max_examples=250, deadline=None)
def test_any_json_gives_a_message_or_a_wire_error(name: str, parts: list[Any], blob: bytes) -> None:
    decoded_or_refused(framed(json.dumps([name, *parts]).encode(), blob))


@given(values)
@settings(max_examples=100, deadline=None)
def test_what_was_decoded_encodes_to_the_same_bytes(value: Value) -> None:
    frame = encode(Returned(value))
    assert encode(decode_frame(frame)) == frame


def test_decode_takes_the_parts_as_they_were_read() -> None:
    frame = encode(MESSAGES[2])
    header_bytes, blob_bytes = frame_sizes(frame[: PREFIX.size])
    body = frame[PREFIX.size :]
    assert decode(body[:header_bytes], body[header_bytes : header_bytes + blob_bytes]) == MESSAGES[2]


# --- what it costs the process ---------------------------------------------------------------------------------------


def printed_by_a_fresh_interpreter(code: str) -> str:
    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return run.stdout.strip()


def test_wire_imports_neither_numpy_nor_torch() -> None:
    code = "import sys, autograder.wire; print(sorted({'numpy', 'torch', 'ml_dtypes'} & set(sys.modules)))"
    assert printed_by_a_fresh_interpreter(code) == "[]"


def test_decoding_imports_nothing() -> None:
    code = f"""
import sys
from autograder.wire import *
from autograder.wire import decode_frame
frames = {[encode(message) for message in MESSAGES]!r}
before = set(sys.modules)
for frame in [*frames, b"", frames[0][:-1]]:
    try:
        decode_frame(frame)
    except WireError:
        pass
print(sorted(set(sys.modules) - before))
"""
    assert printed_by_a_fresh_interpreter(code) == "[]"


# --- what it shows ---------------------------------------------------------------------------------------------------


def test_a_records_repr_is_the_call_that_makes_one() -> None:
    view = Record("View", {"shape": (2, 3), "stride": (3, 1), "offset": 0})
    assert repr(view) == "View(shape=(2, 3), stride=(3, 1), offset=0)"
