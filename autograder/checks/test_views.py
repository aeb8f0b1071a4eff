"""Part 1, views: a tensor is a storage plus shape, stride and offset."""

from __future__ import annotations

from typing import Any

from gradescope_utils.autograder_utils.decorators import number, weight
from hypothesis import strategies as st

from autograder.agree import Agree
from autograder.checks import forbids
from autograder.checks.cases import Draw, Shape, call, draw_shape, pick, shuffled, sometimes, write_bases
from autograder.checks.layouts import (
    FEW_EMPTY,
    HUGE,
    draw_chain,
    draw_illegal_step,
    draw_layout,
    draw_strides,
    draw_target,
    draw_view,
    write_steps,
)
from autograder.judge import Case, exact
from autograder.wire import Record, Value

LIBRARIES = ("torch", "numpy")  # 1.1 to 1.4 are about the arithmetic that these would do
DIAGONALS = (
    "torch.diagonal",
    "torch.diag",
    "torch.einsum",
    "torch.unfold",
    "torch.unfold_copy",
    "torch.diagonal_copy",
    "numpy",
)
DTYPES = (
    "float32",
    "float64",
    "bfloat16",
    "int64",
    "int8",
    "float16",
    "bool",
    "float8_e4m3fn",
    "float8_e5m2",
    "complex64",
)


def same_strides(expected: Value, got: Value, case: Case) -> str | None:
    """Compare strides exactly, but those of dimensions of size 1, along which nobody steps."""
    shape = case.args["shape"]
    if not (isinstance(shape, tuple) and isinstance(expected, tuple) and isinstance(got, tuple)):
        return exact(expected, got, case)
    if len(expected) == len(got) == len(shape):
        got = tuple(e if size == 1 and type(g) is int else g for e, g, size in zip(expected, got, shape, strict=True))
    return exact(expected, got, case)


def same_view(expected: Value, got: Value, case: Case) -> str | None:
    """Compare views exactly, but strides of dimensions of size 1; of a view without elements only the shape."""
    if not (isinstance(expected, Record) and isinstance(got, Record) and got.fields.keys() == expected.fields.keys()):
        return exact(expected, got, case)
    for field in ("shape", "offset", "stride"):
        if (difference := _same_field(field, expected.fields, got.fields, case)) is not None:
            return f"{field} differs" + (f": {difference}" if difference else "")
    return None


def same_elements(expected: Value, got: Value, case: Case) -> str | None:
    """Compare values exactly, and whether they are the input's own elements or copies."""
    if not (isinstance(expected, dict) and isinstance(got, dict) and expected.keys() == got.keys()):
        return exact(expected, got, case)
    if (difference := exact(expected["values"], got["values"], case)) is not None:
        return difference
    if expected["copied"] != got["copied"]:
        return "the elements are right, but they are copies: a view of x is asked for"
    return None


def _same_field(field: str, expected: dict[str, Any], got: dict[str, Any], case: Case) -> str | None:
    if field == "shape":
        return exact(expected["shape"], got["shape"], case)
    if 0 in expected["shape"]:
        return None
    if field == "offset":
        return exact(expected["offset"], got["offset"], case)
    return same_strides(expected["stride"], got["stride"], Case("", {"shape": expected["shape"]}))


@st.composite
def strides_of(draw: Draw) -> Case:
    """Draw a shape, now and then with a negative size."""
    shape = draw_shape(draw, special=HUGE)
    names: tuple[object, ...] = ()
    if shape and sometimes(draw, 8):
        shape, names = (*shape[:-1], -2), (-2,)
    return call("views", "contiguous_strides", f"contiguous_strides({shape})", names, shape=shape)


@number("1.1a")
@weight(1)
@forbids(*LIBRARIES, within=["contiguous_strides"])
def test_contiguous_strides(agree: Agree) -> None:
    """The row-major strides of a shape, in elements; an empty dimension leaves the others alone."""
    agree("views.contiguous_strides", strides_of(), same_strides)


@st.composite
def elements(draw: Draw) -> Case:
    """Draw strides, an offset and an index, now and then of another length."""
    shape = draw_shape(draw, special=HUGE)
    stride, offset = draw_strides(draw, shape), pick(draw, [0, 1, 6])
    index = tuple(pick(draw, range(max(1, min(size, 9)))) for size in shape)
    names: tuple[object, ...] = ()
    if sometimes(draw, 8):
        index = (*index, 1)
        names = (index, stride)
    code = f"storage_index({stride}, {offset}, {index})"
    return call("views", "storage_index", code, names, stride=stride, offset=offset, index=index)


@number("1.1b")
@weight(1)
@forbids(*LIBRARIES, within=["storage_index"])
def test_storage_index(agree: Agree) -> None:
    """Where an element stands in the storage, from strides, offset and index."""
    agree("views.storage_index", elements(), exact)


@st.composite
def strided_shapes(draw: Draw) -> Case:
    """Draw a shape with strides: contiguous, so but for a dimension, without elements, or any."""
    shape = draw_shape(draw, special=HUGE)
    kind = pick(draw, ["any", "permuted", "dense", "size 1", "empty", "padded", "illegal"])
    if kind in ("size 1", "empty"):
        dim = pick(draw, range(len(shape) + 1))
        shape = (*shape[:dim], 1 if kind == "size 1" else 0, *shape[dim:])
    order = shuffled(draw, range(len(shape))) if kind == "permuted" else range(len(shape))
    padded = pick(draw, range(max(1, len(shape)))) if kind == "padded" else -1
    steps, apart = [0] * len(shape), 1
    for dim in reversed(order):
        steps[dim] = pick(draw, [apart, 17, 0]) if shape[dim] == 1 else apart
        apart *= 2 * shape[dim] if dim == padded else shape[dim]
    if kind == "any":
        steps = list(draw_strides(draw, shape))
    names: tuple[object, ...] = ()
    if kind == "illegal":
        steps = steps[1:] if steps else [1]
        names = (tuple(steps), shape)
    stride = tuple(steps)
    return call("views", "is_contiguous", f"is_contiguous({shape}, {stride})", names, shape=shape, stride=stride)


@number("1.2")
@weight(1)
@forbids(*LIBRARIES, within=["is_contiguous"])
def test_is_contiguous(agree: Agree) -> None:
    """Whether walking all elements in order never jumps, for sizes 0 and 1 too."""
    agree("views.is_contiguous", strided_shapes(), exact)


def _view(view: dict[str, Any]) -> str:
    return repr(Record("View", view))


@st.composite
def operations(draw: Draw) -> Case:
    """Draw a view and up to five operations, the last now and then illegal."""
    view = draw_view(draw, FEW_EMPTY)  # of a view without elements only the shape could be compared
    illegal = sometimes(draw, 3)
    steps, shape = draw_chain(draw, view["shape"], max_steps=1 if illegal else 4)
    names: tuple[object, ...] = ()
    if illegal:
        last, names = draw_illegal_step(draw, shape)
        steps = (*steps, last)
    written = "".join(f".{name}({', '.join(map(repr, arguments))})" for name, arguments in steps)
    return call("views", "View", _view(view) + written, names, view=view, steps=steps)


@number("1.3")
@weight(2)
@forbids(*LIBRARIES, within=["View.permute", "View.slice", "View.select", "View.expand"])
def test_view_operations(agree: Agree) -> None:
    """Permute, slice, select and expand change metadata only, and each works on the result of another."""
    agree("views.operations", operations(), same_view, times=2)


@st.composite
def reshapes(draw: Draw) -> Case:
    """Draw a view and a shape for it, now and then one that cannot be."""
    view = draw_view(draw)
    shape = draw_target(draw, view["shape"])
    names: tuple[object, ...] = ()
    old = view["shape"]
    if sometimes(draw, 2 if 0 in old else 5):
        unsolvable = [(0, -1), (-1, 2, 0)] if 0 in old else [(*old, 2, 0, -1), (11, *old, 13), (13, 11, -1)]
        shape = pick(draw, [*unsolvable, (*shape, -1, -1), (*shape, -2)])
        names = (shape,)
    return call("views", "View", f"{_view(view)}.reshape({shape})", names, view=view, shape=shape)


@number("1.4")
@weight(3)
@forbids(*LIBRARIES, within=["View.reshape"])
def test_reshape(agree: Agree) -> None:
    """Reshape gives the new strides where a view can, and None where only a copy could."""
    agree("views.reshape", reshapes(), same_view)


@st.composite
def stored(draw: Draw, function: str, count: int) -> Case:
    """Draw up to two bases and some tensors that are views or copies of them."""
    # A storage without bytes is nobody's: whether two of them are the same has no answer worth a point.
    sizes = [tuple(size or 6 for size in draw_shape(draw, max_rank=3)) for _ in range(pick(draw, [1, 2]))]
    bases = [("zeros", shape, pick(draw, DTYPES)) for shape in sizes]
    tensors, written = [], []
    for _ in range(count if function != "storage_bytes" else pick(draw, range(count + 1))):
        place = pick(draw, range(len(bases)))
        steps, shape = draw_chain(draw, bases[place][1], max_steps=2, negative_dims=False)
        if 0 not in shape and sometimes(draw, 4):
            steps = (*steps, ("clone", ()))
        tensors.append((place, steps))
        written.append("xyz"[place] + write_steps(steps))
    code = f"{write_bases(bases)}\n{function}({', '.join(written)})"
    return call("views", function, code, bases=tuple(bases), tensors=tuple(tensors))


@number("1.5a")
@weight(1)
def test_same_storage(agree: Agree) -> None:
    """Whether two tensors keep their elements in the same storage."""
    agree("views.same_storage", stored("same_storage", 2), exact)


@number("1.5b")
@weight(1)
def test_logical_bytes(agree: Agree) -> None:
    """The bytes that a tensor's shape promises, in any dtype."""
    agree("views.logical_bytes", stored("logical_bytes", 1), exact)


@number("1.5c")
@weight(1)
def test_storage_bytes(agree: Agree) -> None:
    """The bytes that tensors keep alive together, each storage once and whole."""
    agree("views.storage_bytes", stored("storage_bytes", 3), exact)


def draw_tensor(draw: Draw) -> tuple[dict[str, Any], str, str, Shape]:
    """Draw a tensor of distinct numbers in some layout: its making, the code for it, its name there, and its shape."""
    base = ("arange", draw_shape(draw), pick(draw, ["float32", "float64", "int64"]))
    steps, shape = draw_chain(draw, base[1], max_steps=3, negative_dims=False)
    return {"bases": (base,), "tensors": ((0, steps),)}, write_bases([base]), "x" + write_steps(steps), shape


@st.composite
def matrices(draw: Draw) -> Case:
    """Draw a tensor to take the diagonal of."""
    made, bases, x, shape = draw_tensor(draw)
    return call("views", "diagonal", f"{bases}\ndiagonal({x})", (shape,) if len(shape) < 2 else (), **made)


@number("1.6a")
@weight(1)
@forbids(*DIAGONALS, within=["diagonal"])
def test_diagonal(agree: Agree) -> None:
    """The diagonal of the last two axes by strides alone, on any strided input, without a copy."""
    agree("views.diagonal", matrices(), same_elements)


@st.composite
def windowed(draw: Draw) -> Case:
    """Draw a tensor and windows for it, now and then impossible ones."""
    made, bases, x, shape = draw_tensor(draw)
    length = shape[-1] if shape else 1
    size, step = pick(draw, range(1, max(2, length + 1))), pick(draw, [1, 2, 3, 4])
    names: tuple[object, ...] = () if shape else (shape,)
    if length == 0:
        names = (size,)
    elif shape and sometimes(draw, 6):
        size, step, wrong = pick(draw, [(0, 1, 0), (length + 1, 1, length + 1), (1, 0, 0), (-1, 1, -1)])
        names = (wrong,)
    return call(
        "views",
        "sliding_windows",
        f"{bases}\nsliding_windows({x}, {size}, {step})",
        names,
        **made,
        size=size,
        step=step,
    )


@number("1.6b")
@weight(1)
@forbids(*DIAGONALS, within=["sliding_windows"])
def test_sliding_windows(agree: Agree) -> None:
    """All whole windows of the last axis by strides alone, on any strided input, without a copy."""
    agree("views.sliding_windows", windowed(), same_elements)


@st.composite
def headed(draw: Draw, function: str) -> Case:
    """Draw a tensor with heads to split or to merge, in some layout."""
    front = draw_shape(draw, min_rank=1, max_rank=2)
    heads, width = pick(draw, [(2, 3), (3, 2), (1, 4), (2, 1), (4, 3), (3, 0)])
    shape = (*front, heads * width) if function == "split_heads" else (*front[:-1], heads, front[-1], width)
    names: tuple[object, ...] = ()
    asked = heads
    if function == "split_heads" and width and sometimes(draw, 6):
        asked = pick(draw, [heads * width + 1, 0, -1])
        names = (asked,)
    base_shape, steps = draw_layout(draw, shape)
    base = ("arange", base_shape, pick(draw, ["float32", "int64"]))
    x = "x" + write_steps(steps)
    code = f"{write_bases([base])}\n" + (
        f"split_heads({x}, {asked})" if function == "split_heads" else f"merge_heads({x})"
    )
    extra = {"heads": asked} if function == "split_heads" else {}
    return call("views", function, code, names, bases=(base,), tensors=((0, steps),), **extra)


@number("1.7")
@weight(1)
def test_heads(agree: Agree) -> None:
    """Splitting the last axis into heads is a view, and merging undoes it, in any layout."""
    agree("views.split_heads", headed("split_heads"), same_elements)
    agree("views.merge_heads", headed("merge_heads"), exact)
