"""The reference of part 1 against what PyTorch really does, and its variants against the reference.

Addresses are seen, not computed: the tensors show a storage that counts 0, 1, 2, ..., so that an element's value is its
position. `meta` tensors answer for shapes that no memory could hold.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import random
import sys
import textwrap

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.solutions.loading import SOLUTIONS, load_solutions

views, VARIANTS = load_solutions("views")
View = views.View

SYMBOLS = (
    "contiguous_strides",
    "storage_index",
    "is_contiguous",
    "View.permute",
    "View.slice",
    "View.select",
    "View.expand",
    "View.reshape",
    "same_storage",
    "logical_bytes",
    "storage_bytes",
    "diagonal",
    "sliding_windows",
    "split_heads",
    "merge_heads",
)
DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.int8,
    torch.int64,
    torch.bool,
    torch.complex64,
)

# Numbers the storage whose elements are their own positions; no view that is drawn below reaches further.
POSITIONS = torch.arange(100_000)

shapes = st.lists(st.integers(0, 5), max_size=4).map(tuple)
huge_shapes = st.lists(st.sampled_from((0, 1, 3, 10**3, 10**6)), max_size=3).map(tuple)


@st.composite
def layouts(draw):
    """Draw (shape, stride) with arbitrary strides: 0, permuted, with gaps, overlapping."""
    shape = draw(shapes)
    stride = draw(st.lists(st.integers(0, 30), min_size=len(shape), max_size=len(shape)))
    return shape, tuple(stride)


@st.composite
def operations(draw, view):
    """Draw one legal call on `view`, as (method, arguments)."""
    rank = len(view.shape)
    methods = ["permute", "expand"] + ["slice", "select"] * (rank > 0 and view.numel > 0) + ["slice"] * (rank > 0)
    method = draw(st.sampled_from(methods))
    dim = draw(st.integers(-rank, rank - 1)) if rank else 0
    bound = st.none() | st.integers(-7, 7)
    if method == "permute":
        dims = draw(st.permutations(range(rank)))
        return method, (tuple(d - rank * draw(st.integers(0, 1)) for d in dims),)
    if method == "slice":
        return method, (dim, draw(bound), draw(bound), draw(st.integers(1, 4)))
    if method == "select":
        return method, (dim, draw(st.integers(-view.shape[dim], view.shape[dim] - 1)))
    grown = [draw(st.integers(0, 3)) if size == 1 else size for size in view.shape]
    return method, ((*draw(st.lists(st.integers(0, 3), max_size=max(0, 4 - rank))), *grown),)


def apply(x, method, arguments):
    """Do to a tensor what PyTorch calls by the name of a View's method."""
    if method == "permute":
        return x.permute(*arguments[0]) if arguments[0] else x.permute(())
    if method == "expand":
        return x.expand(arguments[0])
    if method == "reshape":
        return x.view(arguments[0])
    if method == "select":
        return x.select(*arguments)
    dim, start, stop, step = arguments
    return x[(slice(None),) * (dim % x.dim()) + (slice(start, stop, step),)]


def tensor_of(view):
    return POSITIONS.as_strided(view.shape, view.stride, view.offset)


def assert_shows(view, x):
    """Assert that a View describes tensor `x`, in all that is looked at."""
    assert view.shape == tuple(x.shape)
    if x.numel():
        assert tensor_of(view).tolist() == x.tolist()
        assert view.offset == x.storage_offset()
        assert significant(view.shape, view.stride) == significant(view.shape, x.stride())


def significant(shape, stride):
    """The strides along which somebody steps."""
    return [step for size, step in zip(shape, stride, strict=True) if size != 1]


# 1.1


@given(shapes | huge_shapes)
def test_contiguous_strides_are_those_of_a_fresh_tensor(shape):
    assert views.contiguous_strides(shape) == torch.empty(shape, device="meta").stride()


@given(layouts(), st.integers(0, 50), st.data())
def test_storage_index_is_where_pytorch_finds_the_element(layout, offset, data):
    shape, stride = layout
    assume(0 not in shape)
    index = tuple(data.draw(st.integers(0, size - 1)) for size in shape)
    found = POSITIONS.as_strided(shape, stride, offset)[index].item()
    assert views.storage_index(stride, offset, index) == found


# 1.2


@settings(max_examples=500)
@given(layouts())
def test_is_contiguous_agrees_with_pytorch_on_arbitrary_strides(layout):
    shape, stride = layout
    assert views.is_contiguous(shape, stride) is torch.empty_strided(shape, stride, device="meta").is_contiguous()


@given(shapes | huge_shapes, st.data())
def test_is_contiguous_agrees_with_pytorch_on_permuted_and_spoilt_contiguous_strides(shape, data):
    stride = list(torch.empty(shape, device="meta").stride())
    order = data.draw(st.permutations(range(len(shape))))
    if shape and data.draw(st.booleans()):
        stride[data.draw(st.integers(0, len(shape) - 1))] += 1
    x = torch.empty_strided(shape, stride, device="meta").permute(order)
    assert views.is_contiguous(tuple(x.shape), x.stride()) is x.is_contiguous()


# 1.3


@settings(max_examples=400, deadline=None)
@given(layouts(), st.integers(0, 50), st.integers(1, 5), st.data())
def test_a_chain_of_operations_shows_what_pytorch_shows(layout, offset, length, data):
    view = View(*layout, offset)
    x = tensor_of(view)
    for _ in range(length):
        method, arguments = data.draw(operations(view))
        view = getattr(view, method)(*arguments)
        x = apply(x, method, arguments)
        assert_shows(view, x)


# 1.4


def a_strided_tensor(rng):
    """Return a tensor that was permuted, narrowed, stepped, expanded, or given arbitrary strides altogether."""
    sizes = rng.choices((0, 1, 2, 3, 4, 6), weights=(1, 8, 10, 8, 6, 4), k=rng.choice((0, 1, 2, 3, 3, 4)))
    if rng.random() < 0.2:
        return POSITIONS.as_strided(sizes, rng.choices((0, 1, 2, 3, 4, 6, 12), k=len(sizes)), rng.randint(0, 9))
    x = POSITIONS[rng.randint(0, 9) :][: math.prod(sizes)].view(sizes)
    for dim, size in enumerate(sizes):
        if size == 1 and rng.random() < 0.3:
            x = x.expand([rng.randint(1, 4) if d == dim else -1 for d in range(len(sizes))])
        elif size > 1 and rng.random() < 0.3:
            x = x[(slice(None),) * dim + (slice(rng.randint(0, 1), None, rng.randint(1, 2)),)]
    if rng.random() < 0.5:
        x = x.permute(rng.sample(range(x.dim()), x.dim()))
    return x.unsqueeze(rng.randint(0, x.dim())) if rng.random() < 0.2 else x


def a_target(rng, shape):
    """Return a shape to ask for: merged, split and sprinkled with ones; now and then one that doesn't fit."""
    sizes = list(shape)
    for _ in range(rng.randint(0, 4)):
        d = rng.randrange(len(sizes) + 1)
        if d + 1 < len(sizes) and rng.random() < 0.7:
            sizes[d : d + 2] = [sizes[d] * sizes[d + 1]]
        elif d < len(sizes) and sizes[d] > 1:
            part = rng.choice([k for k in range(1, sizes[d] + 1) if sizes[d] % k == 0])
            sizes[d : d + 1] = [part, sizes[d] // part]
        else:
            sizes.insert(d, 1)
    for chance, size in ((0.3, -1), (0.05, -1), (0.05, 0), (0.05, 5), (0.03, -2)):
        if sizes and rng.random() < chance:
            sizes[rng.randrange(len(sizes))] = size
    return tuple(sizes)


@pytest.mark.parametrize("seed", range(5))
def test_reshape_is_a_view_where_pytorch_has_one_and_none_where_it_refuses(seed):
    rng = random.Random(seed)
    seen = {"view": 0, "copy": 0, "illegal": 0}
    for _ in range(2_000):
        x = a_strided_tensor(rng)
        shape = a_target(rng, x.shape)
        asked = View(tuple(x.shape), x.stride(), x.storage_offset())
        try:
            x.reshape(shape)
        except RuntimeError:
            seen["illegal"] += 1
            with pytest.raises(ValueError, match=r"does not fit") as caught:
                asked.reshape(shape)
            assert repr(shape) in str(caught.value)
            continue
        try:
            expected = x.view(shape)
        except RuntimeError:
            seen["copy"] += 1
            assert asked.reshape(shape) is None, (asked, shape)
        else:
            seen["view"] += 1
            answer = asked.reshape(shape)
            assert answer is not None, (asked, shape)
            assert_shows(answer, expected)
    assert min(seen.values()) > 100, seen  # none of the three kinds of answer went untested


@given(huge_shapes, st.data())
def test_reshape_of_shapes_that_no_memory_holds_agrees_with_pytorch(shape, data):
    x = torch.empty(shape, device="meta").permute(data.draw(st.permutations(range(len(shape)))))
    answer = View(tuple(x.shape), x.stride()).reshape((x.numel(),))
    try:
        expected = x.view(x.numel())
    except RuntimeError:
        assert answer is None
    else:
        assert answer is not None
        assert x.numel() < 2 or answer.stride == expected.stride()


def test_metadata_of_a_shape_with_1e27_elements_takes_no_longer_than_of_a_small_one():
    size = 10**9
    stride = views.contiguous_strides((size, size, size))
    assert stride == (size**2, size, 1)
    assert views.storage_index(stride, 5, (size - 1,) * 3) == size**3 + 4
    assert views.is_contiguous((size, size, size), stride)
    view = View((size, size, size), stride).slice(1, 1, None, 3).select(0, -1)
    assert view == View(((size + 1) // 3, size), (3 * size, 1), (size - 1) * size**2 + size)
    assert view.expand((size, *view.shape)).permute((2, 0, 1)).stride == (1, 0, 3 * size)
    assert view.reshape((-1, 10, size // 10)) == View(
        (*view.shape[:1], 10, size // 10), (3 * size, 10**8, 1), view.offset
    )
    assert view.reshape((-1,)) is None


# 1.5


def a_tensor(rng):
    """Return (a view of a new storage, the bytes of that storage), of any dtype."""
    dtype = rng.choice(DTYPES)
    sizes = [rng.randint(1, 5) for _ in range(rng.randint(1, 3))]
    base = torch.zeros(sizes, dtype=dtype)
    size_bytes = math.prod(sizes) * torch.empty((), dtype=dtype).element_size()
    return a_view(rng, base), size_bytes


def a_view(rng, x):
    for _ in range(rng.randint(0, 3)):
        dim = rng.randrange(x.dim()) if x.dim() else None
        kind = rng.choice(("transpose", "narrow", "step", "select", "expand", "detach"))
        if dim is None or kind == "expand":
            x = x.expand(3, *x.shape)
        elif kind == "transpose":
            x = x.transpose(dim, -1)
        elif kind == "narrow":
            x = x.narrow(dim, x.shape[dim] // 2, x.shape[dim] - x.shape[dim] // 2)
        elif kind == "step":
            x = x[(slice(None),) * dim + (slice(None, None, 2),)]
        elif kind == "select":
            x = x.select(dim, x.shape[dim] - 1)
        else:
            x = x.detach()
    return x


def writing_shows(a, b):
    """Return whether bytes written anywhere in the storage of `a` turn up in the storage of `b`."""
    if b.untyped_storage().nbytes() == 0:
        return False
    a.untyped_storage().fill_(1)
    b.untyped_storage().fill_(0)
    return 1 not in torch.empty(0, dtype=torch.uint8).set_(a.untyped_storage()).tolist()


@pytest.mark.parametrize("seed", range(200))
def test_same_storage_is_true_exactly_where_writing_shows_through(seed):
    rng = random.Random(seed)
    a, _ = a_tensor(rng)
    other, _ = a_tensor(rng)
    for b in (a_view(rng, a), a.clone(), other, a_view(rng, a.clone())):
        assert views.same_storage(a, b) is writing_shows(a, b)
        assert views.same_storage(b, a) is writing_shows(a, b)


def test_same_storage_sees_through_empty_views_and_other_dtypes():
    x = torch.zeros(4, 6)
    assert views.same_storage(x, x[2:2])
    assert views.same_storage(x[:2], x[2:].view(torch.uint8))
    assert not views.same_storage(torch.empty(0), torch.empty(0))


@pytest.mark.parametrize("seed", range(100))
def test_logical_bytes_are_those_of_a_contiguous_copy(seed):
    x, _ = a_tensor(random.Random(seed))
    copy = x.clone(memory_format=torch.contiguous_format)
    assert views.logical_bytes(x) == copy.untyped_storage().nbytes()


@pytest.mark.parametrize("seed", range(100))
def test_storage_bytes_add_up_the_storages_that_were_allocated(seed):
    rng = random.Random(seed)
    bases = [a_tensor(rng) for _ in range(3)]
    shown = [rng.randrange(3) for _ in range(rng.randint(0, 6))]
    tensors = [a_view(rng, bases[i][0]) for i in shown]
    assert views.storage_bytes(*tensors) == sum(bases[i][1] for i in set(shown))


# 1.6


@st.composite
def strided_tensors(draw, min_rank):
    """Draw a view of POSITIONS with arbitrary shape, strides and offset."""
    shape = draw(st.lists(st.integers(0, 5), min_size=min_rank, max_size=4))
    stride = draw(st.lists(st.integers(0, 30), min_size=len(shape), max_size=len(shape)))
    return POSITIONS.as_strided(shape, stride, draw(st.integers(0, 50)))


def assert_same_view(got, expected):
    assert got.shape == expected.shape
    assert got.tolist() == expected.tolist()
    assert got.untyped_storage().data_ptr() == expected.untyped_storage().data_ptr()


@settings(max_examples=300)
@given(strided_tensors(2))
def test_diagonal_is_the_view_that_pytorch_gives(x):
    assert_same_view(views.diagonal(x), torch.diagonal(x, 0, -2, -1))


@settings(max_examples=300)
@given(strided_tensors(1), st.data())
def test_sliding_windows_are_the_view_that_unfold_gives(x, data):
    assume(x.shape[-1] > 0)
    size = data.draw(st.integers(1, x.shape[-1]))
    step = data.draw(st.integers(1, 6))
    assert_same_view(views.sliding_windows(x, size, step), x.unfold(-1, size, step))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_views_of_1_6_and_1_7_exist_for_every_dtype(dtype):
    x = torch.zeros(3, 4, 6, dtype=dtype).transpose(0, 1)[:, :, 1:5]
    for y in (views.diagonal(x), views.sliding_windows(x, 2), views.split_heads(x, 2)):
        assert y.dtype == dtype
        assert y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert views.merge_heads(x).dtype == dtype


def test_gradients_flow_through_the_views_of_1_6_and_1_7():
    x = torch.zeros(2, 3, 4, dtype=torch.float64, requires_grad=True)
    for function in (
        views.diagonal,
        lambda x: views.sliding_windows(x, 3),
        lambda x: views.split_heads(x, 2),
        views.merge_heads,
    ):
        torch.autograd.gradcheck(function, x)


# 1.7


@settings(max_examples=150)
@given(st.data())
def test_split_heads_puts_each_number_where_the_index_formula_says(data):
    lead = data.draw(st.lists(st.integers(0, 3), max_size=2))
    length, heads, size = (data.draw(st.integers(low, 4)) for low in (0, 1, 0))
    shape = (*lead, length, heads * size)
    x = POSITIONS.as_strided(shape, data.draw(st.tuples(*(st.integers(0, 20) for _ in shape))), 7)
    got = views.split_heads(x, heads)
    assert tuple(got.shape) == (*lead, heads, length, size)
    assert got.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    for *b, h, s, d in itertools.product(*map(range, got.shape)):
        assert got[(*b, h, s, d)] == x[(*b, s, h * size + d)]


@settings(max_examples=150)
@given(st.data())
def test_merge_heads_puts_each_number_where_the_index_formula_says(data):
    lead = data.draw(st.lists(st.integers(0, 3), max_size=2))
    heads, length, size = (data.draw(st.integers(0, 4)) for _ in range(3))
    shape = (*lead, heads, length, size)
    x = POSITIONS.as_strided(shape, data.draw(st.tuples(*(st.integers(0, 20) for _ in shape))), 7)
    got = views.merge_heads(x)
    assert tuple(got.shape) == (*lead, length, heads * size)
    for *b, h, s, d in itertools.product(*map(range, shape)):
        assert got[(*b, s, h * size + d)] == x[(*b, h, s, d)]


# Errors, documented and raised

V = View((2, 3), (3, 1))
ILLEGAL = [
    ("contiguous_strides", ((2, -3),), ValueError, -3),
    ("storage_index", ((3, 1), 0, (1,)), ValueError, (1,)),
    ("is_contiguous", ((2, 3), (1,)), ValueError, (1,)),
    ("View.permute", (V, (0, 2)), IndexError, 2),
    ("View.permute", (V, (0, -3)), IndexError, -3),
    ("View.permute", (V, (0,)), ValueError, (0,)),
    ("View.permute", (V, (1, -1)), ValueError, (1, -1)),
    ("View.permute", (V, (0, 1, 0)), ValueError, (0, 1, 0)),
    ("View.slice", (V, 2, None, None), IndexError, 2),
    ("View.slice", (View((), ()), -1, None, None), IndexError, -1),
    ("View.slice", (V, 0, None, None, 0), ValueError, 0),
    ("View.slice", (V, 0, None, None, -2), ValueError, -2),
    ("View.select", (V, -3, 0), IndexError, -3),
    ("View.select", (V, 1, 3), IndexError, 3),
    ("View.select", (V, 1, -4), IndexError, -4),
    ("View.select", (View((0,), (1,)), 0, 0), IndexError, 0),
    ("View.expand", (V, (3,)), ValueError, (3,)),
    ("View.expand", (V, (4, 3)), ValueError, (4, 3)),
    ("View.expand", (V, (-1, 3)), ValueError, (-1, 3)),
    ("View.expand", (View((1,), (1,)), (-1,)), ValueError, (-1,)),
    ("View.expand", (View((0,), (1,)), (1,)), ValueError, (1,)),
    ("View.expand", (V, (-2, 2, 3)), ValueError, (-2, 2, 3)),
    ("View.reshape", (V, (5,)), ValueError, (5,)),
    ("View.reshape", (V, (4, -1)), ValueError, (4, -1)),
    ("View.reshape", (V, (-1, -1)), ValueError, (-1, -1)),
    ("View.reshape", (V, (-2, -3)), ValueError, (-2, -3)),
    ("View.reshape", (V, (0, -1)), ValueError, (0, -1)),
    ("View.reshape", (View((0, 3), (3, 1)), (0, -1)), ValueError, (0, -1)),
    ("diagonal", (torch.zeros(3),), ValueError, (3,)),
    ("diagonal", (torch.zeros(()),), ValueError, ()),
    ("sliding_windows", (torch.zeros(()), 1), ValueError, ()),
    ("sliding_windows", (torch.zeros(2, 3), 0), ValueError, 0),
    ("sliding_windows", (torch.zeros(2, 3), 4), ValueError, 4),
    ("sliding_windows", (torch.zeros(2, 3), 2, 0), ValueError, 0),
    ("split_heads", (torch.zeros(6), 2), ValueError, (6,)),
    ("split_heads", (torch.zeros(2, 6), 0), ValueError, 0),
    ("split_heads", (torch.zeros(2, 6), -2), ValueError, -2),
    ("split_heads", (torch.zeros(2, 6), 4), ValueError, 4),
    ("merge_heads", (torch.zeros(2, 6),), ValueError, (2, 6)),
]
# Whose misconception is that the illegal is legal.
LENIENT = {"expand_grows_any_size", "reshape_guesses_beside_zero"}


def reference(symbol):
    found = views
    for name in symbol.split("."):
        found = getattr(found, name)
    return found


@pytest.mark.parametrize(("symbol", "arguments", "error", "culprit"), ILLEGAL)
def test_an_illegal_argument_is_named_in_the_error(symbol, arguments, error, culprit):
    with pytest.raises(error) as caught:
        reference(symbol)(*arguments)
    assert caught.type is error
    assert repr(culprit) in str(caught.value)


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_a_function_raises_exactly_where_its_docstring_says_so(symbol):
    documented = "Raises:" in inspect.getdoc(reference(symbol))
    assert documented is any(symbol == illegal[0] for illegal in ILLEGAL)


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_each_example_in_a_docstring_is_true(symbol):
    lines = [line for line in inspect.getdoc(reference(symbol)).splitlines() if line.startswith("Example: ")]
    assert lines
    for line in lines:
        call, _, answer = line.removeprefix("Example: ").partition(" -> ")
        call = f"View.{call}" if symbol == "View" else call
        assert repr(eval(call, vars(views).copy())) == answer


# Exercises stand alone


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_no_answer_calls_another_exercise(symbol):
    source = ast.parse(textwrap.dedent(inspect.getsource(reference(symbol))))
    called = {node.func for node in ast.walk(source) if isinstance(node, ast.Call)}
    names = {f.id if isinstance(f, ast.Name) else f.attr for f in called if isinstance(f, ast.Name | ast.Attribute)}
    asked = {name for name in SYMBOLS if "." not in name} | {"permute", "select", "expand", "reshape"}
    assert not names & asked


@pytest.mark.parametrize("symbol", SYMBOLS[:8])
def test_answers_about_metadata_know_neither_torch_nor_numpy(symbol):
    body = inspect.getsource(reference(symbol)).rpartition("# exercise")[2]
    assert "torch" not in body
    assert "numpy" not in body


# Variants


def observe(function, arguments):
    """Return what can be seen of a call, without what nobody looks at."""
    try:
        answer = function(*arguments)
    except (ValueError, IndexError, RuntimeError) as error:
        return type(error).__name__
    if isinstance(answer, View):
        seen = 0 in answer.shape or (significant(answer.shape, answer.stride), answer.offset)
        return "View", answer.shape, str(seen)
    if isinstance(answer, torch.Tensor):
        shared = answer.untyped_storage().data_ptr() == arguments[0].untyped_storage().data_ptr()
        return "Tensor", tuple(answer.shape), str(answer.tolist()), shared
    return repr(answer)


def a_view_record(rng):
    x = a_strided_tensor(rng)
    return View(tuple(x.shape), x.stride(), x.storage_offset())


def with_view(arguments):
    """Return a drawing of (view, *arguments(rng, the view's shape))."""

    def draw(rng):
        view = a_view_record(rng)
        return view, *arguments(rng, view.shape)

    return draw


def some_views(rng):
    """Return two or three tensors, some of one storage."""
    x, _ = a_tensor(rng)
    return a_view(rng, x), a_view(rng, x if rng.random() < 0.7 else x.clone()), a_tensor(rng)[0]


def a_layout(rng):
    view = a_view_record(rng)
    return view.shape, view.stride


def a_position(rng):
    view = a_view_record(rng)
    return view.stride, view.offset, tuple(rng.randint(0, max(size - 1, 0)) for size in view.shape)


# How the arguments of each symbol are drawn, from the kinds of inputs that the checks draw.
DRAW = {
    "contiguous_strides": lambda rng: (tuple(rng.randint(0, 5) for _ in range(rng.randint(0, 4))),),
    "storage_index": a_position,
    "is_contiguous": a_layout,
    "View.permute": with_view(lambda rng, shape: [tuple(rng.sample(range(len(shape)), len(shape)))]),
    "View.slice": with_view(
        lambda rng, shape: (
            rng.randrange(max(len(shape), 1)),
            rng.choice((None, -3, 0, 1, 2)),
            rng.choice((None, -1, 3, 9)),
            rng.randint(1, 3),
        )
    ),
    "View.select": with_view(lambda rng, shape: (rng.randrange(max(len(shape), 1)), rng.randint(-1, 2))),
    "View.expand": with_view(
        lambda rng, shape: [(*rng.sample((2, 3), rng.randint(0, 2)), *(rng.choice((size, size, 4)) for size in shape))]
    ),
    "View.reshape": with_view(lambda rng, shape: [a_target(rng, shape)]),
    "same_storage": lambda rng: some_views(rng)[:2],
    "logical_bytes": lambda rng: some_views(rng)[:1],
    "storage_bytes": lambda rng: some_views(rng)[: rng.randint(0, 3)],
    "diagonal": lambda rng: (a_strided_tensor(rng),),
    "sliding_windows": lambda rng: (a_strided_tensor(rng), rng.randint(1, 3), rng.randint(1, 3)),
    "split_heads": lambda rng: (a_strided_tensor(rng), rng.randint(1, 3)),
    "merge_heads": lambda rng: (a_strided_tensor(rng),),
}


def cases_of(symbol, count=400):
    """Return arguments as the checks draw them, the same in every run."""
    rng = random.Random(symbol)
    return [DRAW[symbol](rng) for _ in range(count)] + [case[1] for case in ILLEGAL if case[0] == symbol]


@pytest.fixture(scope="module")
def observations():
    """What the reference and every variant answer to the same cases: symbol -> name -> observations."""
    seen = {}
    for symbol in SYMBOLS:
        cases = cases_of(symbol)
        answers = {"reference": reference(symbol)} | {v.name: v.function for v in VARIANTS if v.replaces == symbol}
        seen[symbol] = {name: [observe(function, case) for case in cases] for name, function in answers.items()}
    return seen


def by_name(variants):
    return [pytest.param(variant, id=variant.name) for variant in variants]


@pytest.mark.parametrize("variant", by_name(VARIANTS))
def test_a_variant_differs_from_the_reference_and_from_every_other_variant(variant, observations):
    others = dict(observations[variant.replaces])
    own = others.pop(variant.name)
    assert [name for name, seen in others.items() if seen == own] == []


@pytest.mark.parametrize("variant", by_name(VARIANTS))
def test_a_variant_has_only_its_one_misconception(variant, observations):
    seen = observations[variant.replaces]
    right = sum(own == expected for own, expected in zip(seen[variant.name], seen["reference"], strict=True))
    assert right > len(seen["reference"]) / 50


@pytest.mark.parametrize("variant", by_name(v for v in VARIANTS if v.name not in LENIENT))
def test_a_variant_refuses_what_the_reference_refuses(variant):
    for symbol, arguments, error, culprit in ILLEGAL:
        if symbol == variant.replaces:
            with pytest.raises(error) as caught:
                variant.function(*arguments)
            assert repr(culprit) in str(caught.value)


@pytest.mark.parametrize("variant", by_name(v for v in VARIANTS if v.kind == "accepted"))
def test_an_accepted_variant_shows_the_same_values(variant, observations):
    def values(seen):
        return [answer[:-1] if isinstance(answer, tuple) else answer for answer in seen]

    seen = observations[variant.replaces]
    assert values(seen[variant.name]) == values(seen["reference"])


@pytest.mark.parametrize("variant", by_name(VARIANTS))
def test_a_hint_asks_and_a_note_explains(variant):
    if variant.kind == "misconception":
        assert variant.text.endswith("?")
        assert variant.text.count("?") == 1
    else:
        assert variant.text.endswith(".")


@pytest.mark.parametrize("exercise", ["1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"])
def test_every_exercise_has_at_least_three_misconceptions(exercise):
    numbers = [variant.number for variant in VARIANTS if variant.kind == "misconception"]
    assert sum(number.startswith(exercise) for number in numbers) >= 3


def test_loading_the_solutions_leaves_no_napkin_behind():
    assert "napkin" not in sys.modules or sys.modules["napkin"].__file__ != views.__file__
    assert str(SOLUTIONS) not in sys.path
