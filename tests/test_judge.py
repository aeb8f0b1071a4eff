"""Whether only what was asked for passes, and what a student reads where it was not."""

from __future__ import annotations

import math
import struct
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.checks.test_views import same_view
from autograder.judge import MAX_SHOWN, Case, close, compare, exact, show, show_observation
from autograder.wire import (
    ITEM_BYTES,
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

CASE = Case("f()", {})
NAN = float("nan")


def tensor(elements: Any, dtype: str = "float32") -> Tensor:
    array = np.asarray(elements).astype(getattr(ml_dtypes, dtype, None) or np.dtype(dtype))
    return Tensor(dtype, array.shape, array.tobytes())


def view(shape: Value, offset: Value = 0) -> Record:
    return Record("View", {"shape": shape, "offset": offset})


def raised(*bases: str, message: str = "") -> Raised:
    return Raised(bases[0], bases, message)


# --- values ----------------------------------------------------------------------------------------------------------

SAME: list[Value] = [
    None,
    True,
    7,
    -0.5,
    math.inf,
    NAN,
    "a",
    b"a",
    (),
    [],
    {},
    (1, [2.0, {"a": None}]),
    view((2, 3)),
    Opaque("set"),
    tensor([1.0, NAN, -0.0]),
    tensor([], "bfloat16"),
    tensor(3, "int64"),
]


@pytest.mark.parametrize("value", SAME, ids=show)
def test_a_value_agrees_with_itself(value: Value) -> None:
    assert exact(value, value, CASE) is None


def test_every_nan_is_nan() -> None:
    (other,) = struct.unpack("!d", bytes.fromhex("fff8000000000001"))
    assert exact(NAN, other, CASE) is None


@pytest.mark.parametrize("value", SAME, ids=show)
@pytest.mark.parametrize("other", [*SAME, 1, 0.0, False, "", (1,), [1], {"a": 1}], ids=show)
def test_a_value_agrees_with_no_other(value: Value, other: Value) -> None:
    assert (exact(value, other, CASE) is None) == (repr(value) == repr(other))


DIFFERENT: list[tuple[Value, Value, str]] = [
    (7, 8, ""),
    ("a", "b", ""),
    (1.0, NAN, ""),
    (NAN, 1.0, ""),
    (1, True, "the type: an int is asked for, not a bool"),
    (True, 1, "the type: a bool is asked for, not an int"),
    (0, False, "the type: an int is asked for, not a bool"),
    (2, 2.0, "the type: an int is asked for, not a float"),
    (2.0, 2, "the type: a float is asked for, not an int"),
    ((1, 2), [1, 2], "the type: a tuple is asked for, not a list"),
    ([1, 2], (1, 2), "the type: a list is asked for, not a tuple"),
    (None, 0, "the type: None is asked for, not an int"),
    (0, None, "the type: an int is asked for, not None"),
    (1, tensor(1, "int64"), "the type: an int is asked for, not a torch.Tensor"),
    (tensor(1, "int64"), 1, "the type: a torch.Tensor is asked for, not an int"),
    (1, Opaque("numpy.int64"), "the type: an int is asked for, not a numpy.int64"),
    ((), Opaque("generator"), "the type: a tuple is asked for, not a generator"),
    (Opaque("set"), Opaque("generator"), "the type: a set is asked for, not a generator"),
    (view((2,)), {"shape": (2,)}, "the type: a View is asked for, not a dict"),
    (view((2,)), Record("Shape", {}), "the type: View is asked for, not Shape"),
    ((1, 2), (1, 2, 3), "the length: 2 is asked for, not 3"),
    ((1, 2), (1, 3), "at [1]: 2 is asked for, not 3"),
    ((1, (2, 3)), (1, (2, 4)), "at [1][1]: 3 is asked for, not 4"),
    ((1, (2,)), (1, [2]), "at [1]: the type: a tuple is asked for, not a list"),
    ((1, (2,)), (1, (2, 3)), "at [1]: the length: 1 is asked for, not 2"),
    ((1, 2), (1, True), "at [1]: the type: an int is asked for, not a bool"),
    ((1.0,), (NAN,), "at [0]: 1.0 is asked for, not nan"),
    ({"a": 1}, {"a": 2}, "at ['a']: 1 is asked for, not 2"),
    ({"a": 1}, {"b": 1}, "the names: a are asked for, not b"),
    ({"a": 1, "b": 2}, {"a": 1}, "the names: a, b are asked for, not a"),
    ({"a": {"b": 1}}, {"a": {"c": 1}}, "at ['a']: the names: b are asked for, not c"),
    (view((2, 3)), view((2, 3.0)), "at shape[1]: the type: an int is asked for, not a float"),
    ({"a": tensor([1.0])}, {"a": tensor([2.0])}, "at ['a']: 1 of 1 elements, first [0]: 1.0, not 2.0"),
]


@pytest.mark.parametrize(("expected", "got", "message"), DIFFERENT)
def test_a_difference_is_told_where_it_is(expected: Value, got: Value, message: str) -> None:
    assert exact(expected, got, CASE) == message


def test_a_difference_in_a_field_is_told_by_its_name() -> None:
    assert exact(view((2, 3)), view((2, 4)), CASE) == "at shape[1]: 3 is asked for, not 4"


TENSORS: list[tuple[Tensor, Tensor, str]] = [
    (tensor([1.0]), tensor([1.0], "float64"), "the dtype: float32 is asked for, not float64"),
    (tensor([1.0]), tensor([1], "int32"), "the dtype: float32 is asked for, not int32"),
    (tensor([0]), tensor([0], "bool"), "the dtype: float32 is asked for, not bool"),
    (tensor([1.0, 1.0]), tensor(1.0), "the shape: (2,) is asked for, not ()"),
    (tensor(1.0), tensor([1.0]), "the shape: () is asked for, not (1,)"),
    (tensor([[1.0, 1.0]]), tensor([1.0, 1.0]), "the shape: (1, 2) is asked for, not (2,)"),
    (tensor([[1.0], [1.0]]), tensor([[1.0, 1.0]]), "the shape: (2, 1) is asked for, not (1, 2)"),
    (tensor([]), tensor([[]]), "the shape: (0,) is asked for, not (1, 0)"),
    (tensor(1.0), tensor(2.0), "1 of 1 elements, first []: 1.0, not 2.0"),
    (tensor([[1, 2], [3, 4]]), tensor([[1, 2], [5, 6]]), "2 of 4 elements, first [1, 0]: 3.0, not 5.0"),
    (tensor([1.0, 2.0]), tensor([1.0, NAN]), "1 of 2 elements, first [1]: 2.0, not nan"),
    (tensor([0.0]), tensor([-0.0]), "1 of 1 elements, first [0]: 0.0, not -0.0"),
    (tensor([True, False], "bool"), tensor([True, True], "bool"), "1 of 2 elements, first [1]: False, not True"),
    (tensor([1.0], "bfloat16"), tensor([1.5], "bfloat16"), "1 of 1 elements, first [0]: 1.0, not 1.5"),
    (tensor([1.0], "float8_e5m2"), tensor([2.0], "float8_e5m2"), "1 of 1 elements, first [0]: 1.0, not 2.0"),
    (tensor([1j], "complex64"), tensor([2j], "complex64"), "1 of 1 elements, first [0]: 1j, not 2j"),
]


@pytest.mark.parametrize(("expected", "got", "message"), TENSORS)
def test_a_difference_between_tensors_is_told_where_it_is(expected: Tensor, got: Tensor, message: str) -> None:
    assert exact(expected, got, CASE) == message


@pytest.mark.parametrize("dtype", sorted(ITEM_BYTES))
def test_any_one_bit_of_any_dtype_is_a_difference(dtype: str) -> None:
    size = ITEM_BYTES[dtype]
    expected, got = Tensor(dtype, (2,), bytes(2 * size)), Tensor(dtype, (2,), bytes(2 * size - 1) + b"\1")
    assert (exact(expected, got, CASE) or "").startswith("1 of 2 elements, first [1]: ")


@given(st.floats(allow_nan=False), st.lists(st.integers(1, 3), max_size=3))
def test_a_broadcast_scalar_never_passes(number: float, shape: list[int]) -> None:
    full, scalar = tensor(np.full(shape or (1,), number), "float64"), tensor(number, "float64")
    assert exact(full, scalar, CASE) is not None
    assert exact(scalar, full, CASE) is not None


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=3)
elements = st.lists(st.integers(0, 1), max_size=3)
leaves = plain | st.builds(Opaque, st.just("set")) | st.builds(tensor, elements, st.sampled_from(sorted(ITEM_BYTES)))
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(["shape", "stride", "offset"]), inner)
        | st.builds(Record, st.just("View"), st.dictionaries(st.sampled_from(["shape", "stride", "offset"]), inner))
    ),
    max_leaves=8,
)


@given(values, values)
def test_any_two_values_can_be_compared_and_shown(expected: Value, got: Value) -> None:
    difference = exact(expected, got, CASE)
    assert difference is None or show(expected) != show(got)


def whole_view(shape: tuple[int, ...]) -> Record:
    return Record("View", {"shape": shape, "stride": tuple(range(1, len(shape) + 1)), "offset": 0})


@pytest.mark.parametrize("fields", [{}, {"shape": (2,)}, {"shape": (2,), "offset": 0}], ids=len)
def test_a_view_without_its_fields_is_a_difference(fields: dict[str, Value]) -> None:
    assert same_view(whole_view((2,)), Record("View", fields), Case("", {"shape": (2,)})) is not None


# --- observations ----------------------------------------------------------------------------------------------------

INDEX_ERROR = raised("IndexError", "LookupError", "Exception", "BaseException", message="index 7 is out of range")
OWN_ERROR = raised("napkin.views.ShapeError", "ValueError", "Exception", "BaseException", message="shape (2, -1)")


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (Returned(1), Returned(1)),
        (INDEX_ERROR, INDEX_ERROR),
        (raised("IndexError"), INDEX_ERROR),
        (raised("LookupError"), INDEX_ERROR),
        (raised("ValueError"), OWN_ERROR),
        (Died("SIGSEGV"), Died("SIGSEGV")),
        (TimedOut(4.0), TimedOut(4.0)),
    ],
)
def test_observations_agree(expected: Observation, got: Observation) -> None:
    assert compare(expected, got, exact, CASE) is None


@pytest.mark.parametrize(
    ("expected", "got", "message"),
    [
        (Returned(1), Returned(2), ""),
        (Returned((1,)), Returned((2,)), "at [0]: 1 is asked for, not 2"),
        (Returned(None), INDEX_ERROR, ""),
        (INDEX_ERROR, Returned(None), ""),
        (INDEX_ERROR, raised("LookupError"), "the type of the error: IndexError is asked for, not LookupError"),
        (raised("ValueError"), INDEX_ERROR, "the type of the error: ValueError is asked for, not IndexError"),
        (Returned(1), TimedOut(1.0), ""),
        (Died("SIGSEGV"), Died("SIGABRT"), ""),
        (Returned(1), OverLimit("memory", "512 MB"), ""),
    ],
)
def test_observations_differ(expected: Observation, got: Observation, message: str) -> None:
    assert compare(expected, got, exact, CASE) == message


@pytest.mark.parametrize("names", [("7",), ("8", "7"), ()])
def test_an_error_that_names_what_is_refused_agrees(names: tuple[str, ...]) -> None:
    assert compare(raised("IndexError"), INDEX_ERROR, exact, Case("", {}, names)) is None


def test_an_error_that_names_nothing_of_what_is_refused_differs() -> None:
    message = compare(raised("IndexError"), INDEX_ERROR, exact, Case("", {}, ("(2, 3)", "-8")))
    assert message == "the message: it must name the value that is refused, (2, 3) or -8"


def test_names_bind_no_value() -> None:
    assert compare(Returned(1), Returned(1), exact, Case("", {}, ("7",))) is None


def test_the_closeness_is_handed_both_values_and_the_case() -> None:
    seen = []
    case = Case("f(2)", {"x": 2})
    assert compare(Returned(1), Returned(2), lambda *given: seen.append(given) or "far", case) == "far"  # type: ignore
    assert seen == [(1, 2, case)]


# --- what a student reads --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (10**30, "1" + "0" * 30),
        (-0.0, "-0.0"),
        ("it's\n\ud800", '"it\'s\\n\\ud800"'),
        ((), "()"),
        ((1,), "(1,)"),
        ((1, 2), "(1, 2)"),
        ([1, [2]], "[1, [2]]"),
        ({"a": 1, "b": (2,)}, "{'a': 1, 'b': (2,)}"),
        (view((2, 3), 4), "View(shape=(2, 3), offset=4)"),
        (Opaque("generator"), "an object of type generator"),
        ([Opaque("set")], "[an object of type set]"),
        (tensor([1.0, 2.5]), "tensor([1. , 2.5], shape=(2,), dtype=float32)"),
        (tensor(3, "int64"), "tensor(3, shape=(), dtype=int64)"),
        (tensor([], "bfloat16"), "tensor([], shape=(0,), dtype=bfloat16)"),
        (tensor([[1, 2], [3, 4]], "int8"), "tensor([[1, 2], [3, 4]], shape=(2, 2), dtype=int8)"),
        (tensor([1.5], "float8_e4m3fn"), "tensor([1.5], shape=(1,), dtype=float8_e4m3fn)"),
        (tensor(np.zeros(10**4)), "tensor of shape (10000,), dtype=float32"),
    ],
    ids=lambda given: "" if not isinstance(given, str) else given[:20],
)
def test_a_value_is_shown_as_a_student_would_write_it(value: Value, text: str) -> None:
    assert show(value) == text


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        (Returned((1,)), "(1,)"),
        (INDEX_ERROR, "raises IndexError: index 7 is out of range"),
        (raised("KeyError"), "raises KeyError"),
        (TimedOut(4.0), "no answer after 4 s"),
        (Died("SIGSEGV"), "the process ended without an answer (SIGSEGV)"),
        (OverLimit("memory", "512 MB"), "over the memory limit (512 MB)"),
        (UsedForbidden("torch.empty", "views.py:3 in f"), "torch.empty is called at views.py:3 in f"),
    ],
)
def test_an_observation_is_shown_on_one_line(seen: Observation, text: str) -> None:
    assert show_observation(seen) == text


@pytest.mark.parametrize("value", ["x" * 10**5, list(range(10**4)), 10**900], ids=["text", "list", "int"])
def test_a_long_value_is_shown_at_its_head_and_its_tail(value: Value) -> None:
    text, whole = show_observation(Returned(value)), show(value)
    assert len(text) <= MAX_SHOWN
    assert text.startswith(whole[:400])
    assert text.endswith(whole[-80:])


@pytest.mark.parametrize("shape", [(10**900, 0), (2**62, 4, 0), (2**40, 2**40, 0)], ids=lambda shape: str(shape)[:20])
def test_an_empty_tensor_of_any_shape_is_shown(shape: tuple[int, ...]) -> None:
    assert "dtype=float32" in show(Tensor("float32", shape, b""))


def test_tensors_of_the_most_axes_are_compared() -> None:
    ones, twos = (Tensor("uint8", (1,) * 32, data) for data in (b"\1", b"\2"))
    assert exact(ones, twos, CASE) is not None


# --- close ------------------------------------------------------------------------------------------------------------

CLOSE = close(1e-6)


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        (3.0, 3.0 + 2e-6),
        (0.0, -0.0),
        (math.inf, math.inf),
        (NAN, NAN),
        ({"a": (1.0, 2)}, {"a": (1.0 - 5e-7, 2)}),
        (tensor([1.0, 1000.0], "float64"), tensor([1.0005, 1000.0], "float64")),
        (tensor([0.0, 1.0], "float64"), tensor([-0.0, 1.0], "float64")),
        (tensor([NAN, math.inf]), tensor([NAN, math.inf])),
        (tensor([]), tensor([])),
        (tensor([1.0, 2.0], "bfloat16"), tensor([1.0, 2.0], "bfloat16")),
    ],
    ids=repr,
)
def test_close_lets_numbers_differ_by_so_much_of_the_largest(asked: Value, got: Value) -> None:
    assert CLOSE(asked, got, CASE) is None


@pytest.mark.parametrize(
    ("asked", "got", "where"),
    [
        (3.0, 3.0 + 4e-6, ""),
        (3.0, 3, "the type"),
        (3, 4, ""),
        (3.0, NAN, ""),
        (3.0, math.inf, ""),
        (math.inf, -math.inf, ""),
        (math.inf, 1e308, ""),
        (0.0, 1e-300, ""),
        ({"a": (1.0, 2)}, {"a": (1.0, 3)}, "at ['a'][1]"),
        (tensor([1.0, 1000.0], "float64"), tensor([1.01, 1000.0], "float64"), "1 of 2 elements, first [0]"),
        (tensor([1.0, 1000.0]), tensor([1.0, NAN]), "1 of 2 elements, first [1]"),
        (tensor([1.0, math.inf]), tensor([1.0, 1e30]), "1 of 2 elements, first [1]"),
        (tensor([NAN]), tensor([1.0]), "1 of 1 elements"),
        (tensor([1.0, 2.0]), tensor([1.0, 2.0], "float64"), "the dtype"),
        (tensor([1.0, 2.0]), tensor(1.0), "the shape"),
        (tensor([1, 2], "int64"), tensor([1, 3], "int64"), "1 of 2 elements"),
    ],
    ids=repr,
)
def test_close_is_exact_about_everything_else(asked: Value, got: Value, where: str) -> None:
    difference = CLOSE(asked, got, CASE)
    assert difference is not None
    assert where in difference


@pytest.mark.filterwarnings("error")
def test_close_compares_what_is_not_finite_without_a_warning() -> None:
    assert CLOSE(tensor([math.inf, NAN, 1.0]), tensor([math.inf, NAN, 1.0 + 1e-7]), CASE) is None
