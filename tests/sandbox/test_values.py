"""Whether torch's tensors cross bit for bit, and everything that cannot cross is named and never touched."""

from __future__ import annotations

import collections
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from autograder.sandbox.values import to_torch, to_value
from autograder.wire import ITEM_BYTES, MAX_DEPTH, Opaque, Record, Returned, Tensor, WireError, decode_frame, encode

DTYPES = sorted(ITEM_BYTES)
SHAPES = [(), (0,), (7,), (2, 0, 3), (2, 1, 3)]


def random_tensor(dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Return a tensor of random bytes: with every kind of NaN, infinity and subnormal; a bool's are 0 or 1."""
    size = math.prod(shape) * ITEM_BYTES[dtype]
    raw = torch.randint(0, 2 if dtype == "bool" else 256, (size,), generator=torch.Generator().manual_seed(1))
    return to_torch(Tensor(dtype, shape, bytes(raw.tolist())))


def raw_bytes(tensor: torch.Tensor) -> bytes:
    """Return the elements' bytes in row-major order, one element at a time, as torch copies them."""
    flat = torch.empty(tensor.shape, dtype=tensor.dtype)
    flat.copy_(tensor.detach())
    return bytes(flat.untyped_storage().tolist())


def arrived(thing: Any) -> Any:
    """Return a thing after its way through a frame, as torch's."""
    message = decode_frame(encode(Returned(to_value(thing))))
    assert isinstance(message, Returned)
    return to_torch(message.value)


# --- tensors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_tensor_comes_back_bit_for_bit(dtype: str, shape: tuple[int, ...]) -> None:
    tensor = random_tensor(dtype, shape)
    back = arrived(tensor)
    assert (back.dtype, back.shape) == (tensor.dtype, tensor.shape)
    assert raw_bytes(back) == raw_bytes(tensor)


LAYOUTS: dict[str, Callable[[], torch.Tensor]] = {
    "transposed": lambda: random_tensor("float32", (2, 3)).t(),
    "sliced": lambda: random_tensor("float32", (5, 7))[1::2, ::3],
    "from the middle of a storage": lambda: random_tensor("int16", (12,))[5:9],
    "flipped": lambda: random_tensor("float32", (2, 3)).flip(1),
    "expanded": lambda: random_tensor("float32", (2, 1)).expand(4, 2, 3),
    "expanded from one element": lambda: random_tensor("float64", ()).expand(3),
    "overlapping": lambda: random_tensor("float32", (6,)).as_strided((3, 4), (1, 1)),
    "conjugated lazily": lambda: random_tensor("complex64", (2, 3)).conj(),
    "negated lazily": lambda: random_tensor("complex64", (2, 3)).conj().imag,
    "real part": lambda: random_tensor("complex64", (2, 3)).real,
    "channels last": lambda: random_tensor("float32", (2, 3, 2, 2)).to(memory_format=torch.channels_last),
    "one of rank 32": lambda: torch.ones((1,) * 32),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_tensor_of_any_layout_crosses_in_row_major_order(layout: str) -> None:
    tensor = LAYOUTS[layout]()
    back = arrived(tensor)
    assert back.shape == tensor.shape
    assert raw_bytes(back) == raw_bytes(tensor)


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        ("float32", 0x7F800001),
        ("float32", 0xFFC12345),
        ("float64", 0x7FF0000000000001),
        ("bfloat16", 0x7F81),
        ("float16", 0xFC01),
    ],
)
def test_a_nan_keeps_its_payload(dtype: str, bits: int) -> None:
    data = bits.to_bytes(ITEM_BYTES[dtype], "little")
    assert to_value(to_torch(Tensor(dtype, (1,), data))) == Tensor(dtype, (1,), data)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(3.0, requires_grad=True),
        torch.nn.Parameter(torch.arange(3.0)),
        torch.nn.Parameter(torch.arange(3.0), requires_grad=False),
        torch.arange(3.0, requires_grad=True) * 1,
    ],
    ids=["leaf", "parameter", "frozen parameter", "result"],
)
def test_a_tensor_with_a_gradient_crosses_as_its_elements(tensor: torch.Tensor) -> None:
    assert arrived(tensor).tolist() == [0.0, 1.0, 2.0]


def test_what_crosses_is_a_copy() -> None:
    tensor = torch.zeros(2)
    value = to_value(tensor)
    tensor.fill_(1)
    assert value == Tensor("float32", (2,), bytes(8))


def test_a_cases_tensor_can_be_written_to() -> None:
    value = Tensor("float32", (2,), bytes(8))
    to_torch(value).fill_(1)
    assert value.data == bytes(8)


class Subclass(torch.Tensor):
    """A subclass, which brings methods of its own."""


class Untouchable:
    """Fails when anything of it is looked up."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"{name} was looked up")


@pytest.mark.filterwarnings("ignore")  # of formats that torch is about to give up
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.eye(2).to_sparse(),
        lambda: torch.eye(2).to_sparse_csr(),
        lambda: torch.eye(2).to_mkldnn(),
        lambda: torch.empty(2, device="meta"),
        lambda: torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.quint8),
        lambda: torch.zeros(2, dtype=torch.complex32),
    ],
    ids=["sparse", "sparse by rows", "mkldnn", "meta", "quantised", "complex32"],
)
def test_a_tensor_without_plain_elements_is_opaque(make: Callable[[], torch.Tensor]) -> None:
    seen = to_value(make())
    assert isinstance(seen, Opaque)
    assert seen.type.startswith("torch.Tensor ")


@pytest.mark.filterwarnings("ignore")
def test_a_nested_tensor_is_opaque() -> None:
    assert isinstance(to_value(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])), Opaque)


# --- other values ----------------------------------------------------------------------------------------------------

Pair = collections.namedtuple("Pair", "first second")
Triple = type("Triple", (tuple,), {"__module__": "napkin.shapes"})
Text = type("Text", (str,), {"__module__": "napkin.shapes"})
Count = type("Count", (int,), {"__module__": "napkin.shapes", "__qualname__": "Layer.Count"})


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        (np.int64(1), "numpy.int64"),
        (np.float32(1), "numpy.float32"),
        (np.zeros(2), "numpy.ndarray"),
        ((i for i in range(3)), "generator"),
        (range(3), "range"),
        (map(abs, []), "map"),
        ({1, 2}, "set"),
        (1j, "complex"),
        ({1: 2}, "dict"),
        ({"a": 1, (): 2}, "dict"),
        (Pair(1, 2), f"{__name__}.Pair"),
        (Triple((1, 2)), "napkin.shapes.Triple"),
        (Text("a"), "napkin.shapes.Text"),
        (Count(1), "napkin.shapes.Layer.Count"),
        (collections.OrderedDict(a=1), "collections.OrderedDict"),
        (torch.ones(2).as_subclass(Subclass), f"{__name__}.Subclass"),
        (torch.float32, "torch.dtype"),
        (len, "builtin_function_or_method"),
        (int, "type"),
        (torch, "module"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_any_other_thing_is_opaque_with_a_name_that_can_be_read(thing: Any, name: str) -> None:
    assert to_value(thing) == Opaque(name)


def test_nothing_of_a_students_object_is_looked_up() -> None:
    assert to_value([Untouchable()]) == [Opaque(f"{__name__}.Untouchable")]


@pytest.mark.parametrize(
    "thing",
    [None, True, 10**900, -0.5, "é\ud800", b"\0", [], (), {}, [1, (2, [3.0])], {"a": {"b": ()}}],
    ids=repr,
)
def test_plain_things_cross_as_they_are(thing: Any) -> None:
    seen = to_value(thing)
    assert (seen, type(seen)) == (thing, type(thing))


def test_a_size_of_torchs_crosses_as_a_tuple() -> None:
    seen = to_value(torch.ones(2, 3).shape)
    assert (seen, type(seen)) == ((2, 3), tuple)


def test_things_inside_others_cross_as_they_would_alone() -> None:
    seen = to_value({"a": [torch.zeros(1), {2, 3}], "b": Record("View", {"shape": torch.Size((2,)), "x": {4}})})
    zero = Tensor("float32", (1,), bytes(4))
    assert seen == {"a": [zero, Opaque("set")], "b": Record("View", {"shape": (2,), "x": Opaque("set")})}


def test_a_cases_containers_keep_their_types() -> None:
    case = {"a": [(1, Tensor("int8", (1,), b"\2"))]}
    assert to_torch(case) == {"a": [(1, torch.tensor([2], dtype=torch.int8))]}


@pytest.mark.parametrize("kind", [list, tuple])
def test_very_many_values_are_refused(kind: type) -> None:
    with pytest.raises(WireError, match="too many"):
        to_value(kind([0]) * 10**6)


def test_a_dict_of_very_many_values_is_refused() -> None:
    with pytest.raises(WireError, match="too many"):
        to_value(dict.fromkeys(map(str, range(10**5))))


def holding_itself() -> list[Any]:
    endless: list[Any] = []
    endless += [endless, endless]
    return endless


def dict_holding_itself() -> dict[str, Any]:
    endless: dict[str, Any] = {}
    endless["a"] = endless
    return endless


def nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.mark.parametrize("make", [holding_itself, dict_holding_itself, lambda: nested(MAX_DEPTH + 1)])
def test_what_is_nested_without_end_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(WireError, match="nested"):
        to_value(make())


def test_what_is_nested_to_the_bound_crosses() -> None:
    assert arrived(nested(MAX_DEPTH)) == nested(MAX_DEPTH)


def test_lists_that_hold_one_list_twice_over_are_refused_before_they_are_written_out() -> None:
    doubled: list[Any] = []
    for _ in range(18):  # half a million lists, from eighteen
        doubled = [doubled, doubled]
    with pytest.raises(WireError, match="too many"):
        to_value(doubled)
