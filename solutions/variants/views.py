"""Part 1, views: what students get wrong about strides, offsets and copies."""

from __future__ import annotations

import math

import torch
from napkin.views import View, wrap_index

from variants import accepted, misconception

# 1.1a contiguous_strides


@misconception(
    "1.1a",
    "contiguous_strides",
    "Every stride is four times too large. Do strides count bytes or elements, and would they change with the dtype?",
)
def strides_in_bytes(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = []
    apart = 4
    for size in reversed(shape):
        if size < 0:
            raise ValueError(f"size {size!r} in shape {shape!r} is negative")
        strides.append(apart)
        apart *= max(size, 1)
    return tuple(reversed(strides))


@misconception(
    "1.1a",
    "contiguous_strides",
    "One size of 0 wipes out the strides of all dimensions in front of it. What does the second example say?",
)
def stride_zero_for_an_empty_dimension(shape: tuple[int, ...]) -> tuple[int, ...]:
    if any(size < 0 for size in shape):
        raise ValueError(f"shape {shape!r} has a negative size")
    return tuple(math.prod(shape[dim + 1 :]) for dim in range(len(shape)))


@misconception(
    "1.1a",
    "contiguous_strides",
    "Here the first dimension is the dense one, as in Fortran. Which index runs fastest in row-major order?",
)
def column_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = []
    apart = 1
    for size in shape:
        if size < 0:
            raise ValueError(f"size {size!r} in shape {shape!r} is negative")
        strides.append(apart)
        apart *= max(size, 1)
    return tuple(strides)


@misconception(
    "1.1a",
    "contiguous_strides",
    "Each stride looks at the next dimension only. In shape (2, 3, 4), what lies between x[0, 0, 0] and x[1, 0, 0]?",
)
def stride_is_the_next_size(shape: tuple[int, ...]) -> tuple[int, ...]:
    if any(size < 0 for size in shape):
        raise ValueError(f"shape {shape!r} has a negative size")
    return (*(max(size, 1) for size in shape[1:]), 1)[: len(shape)]


# 1.1b storage_index


@misconception(
    "1.1b",
    "storage_index",
    "This counts from the first element of the view. Where does the storage begin?",
)
def offset_dropped(stride: tuple[int, ...], offset: int, index: tuple[int, ...]) -> int:
    if len(index) != len(stride):
        raise ValueError(f"index {index!r} and stride {stride!r} differ in length")
    return sum(i * step for i, step in zip(index, stride, strict=True))


@misconception(
    "1.1b",
    "storage_index",
    "The position is four times too large. In which unit are stride and offset given, and in which is the answer?",
)
def address_in_bytes(stride: tuple[int, ...], offset: int, index: tuple[int, ...]) -> int:
    if len(index) != len(stride):
        raise ValueError(f"index {index!r} and stride {stride!r} differ in length")
    return 4 * (offset + sum(i * step for i, step in zip(index, stride, strict=True)))


# 1.2 is_contiguous


@misconception(
    "1.2",
    "is_contiguous",
    "Falling strides give the order. Does anything yet say that nothing lies in between?",
)
def descending_strides_suffice(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    if len(stride) != len(shape):
        raise ValueError(f"stride {stride!r} and shape {shape!r} differ in length")
    steps = [step for size, step in zip(shape, stride, strict=True) if size != 1]
    return 0 in shape or steps == sorted(steps, reverse=True)


@misconception(
    "1.2",
    "is_contiguous",
    "A stride says how far the next index is. How often is it used along a dimension of size 1?",
)
def size_one_strides_matter(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    if len(stride) != len(shape):
        raise ValueError(f"stride {stride!r} and shape {shape!r} differ in length")
    return 0 in shape or stride == tuple(math.prod(shape[dim + 1 :]) for dim in range(len(shape)))


@misconception(
    "1.2",
    "is_contiguous",
    "Which element of an empty tensor stands in the wrong place?",
)
def empty_tensor_refused(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    if len(stride) != len(shape):
        raise ValueError(f"stride {stride!r} and shape {shape!r} differ in length")
    apart = 1
    for size, step in zip(reversed(shape), reversed(stride), strict=True):
        if size != 1 and step != apart:
            return False
        apart *= size
    return True


@misconception(
    "1.2",
    "is_contiguous",
    "Each row is dense. Where does the next row begin?",
)
def last_stride_one_suffices(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    if len(stride) != len(shape):
        raise ValueError(f"stride {stride!r} and shape {shape!r} differ in length")
    steps = [step for size, step in zip(shape, stride, strict=True) if size != 1]
    return 0 in shape or steps[-1:] in ([], [1])


@misconception(
    "1.2",
    "is_contiguous",
    "No gaps, that is true of a transposed matrix too. What happens when you walk it row by row?",
)
def dense_in_any_order(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    if len(stride) != len(shape):
        raise ValueError(f"stride {stride!r} and shape {shape!r} differ in length")
    if 0 in shape:
        return True
    apart = 1
    for step, size in sorted(zip(stride, shape, strict=True)):
        if size != 1 and step != apart:
            return False
        apart *= size
    return True


# 1.3 View.permute, slice, select, expand


@misconception(
    "1.3",
    "View.permute",
    "Dimension i goes to place dims[i] here. Read the first sentence again: which of the two is the old place?",
)
def permute_inverted(self: View, dims: tuple[int, ...]) -> View:
    order = [wrap_index(dim, len(self.shape)) for dim in dims]
    if sorted(order) != list(range(len(self.shape))):
        raise ValueError(f"dims {dims!r} are not an order of the {len(self.shape)} dimensions")
    return View(
        tuple(self.shape[order.index(d)] for d in range(len(order))),
        tuple(self.stride[order.index(d)] for d in range(len(order))),
        self.offset,
    )


@misconception(
    "1.3",
    "View.permute",
    "The sizes trade places, the strides stay. With which step are the new rows read, and with which should they be?",
)
def permute_moves_the_sizes_only(self: View, dims: tuple[int, ...]) -> View:
    order = [wrap_index(dim, len(self.shape)) for dim in dims]
    if sorted(order) != list(range(len(self.shape))):
        raise ValueError(f"dims {dims!r} are not an order of the {len(self.shape)} dimensions")
    return View(tuple(self.shape[d] for d in order), self.stride, self.offset)


@misconception(
    "1.3",
    "View.slice",
    "The first slice of a tensor is right, a slice of a slice isn't. From where is the new offset counted?",
)
def slice_forgets_the_offset(self: View, dim: int, start: int | None, stop: int | None, step: int = 1) -> View:
    dim = wrap_index(dim, len(self.shape))
    if step < 1:
        raise ValueError(f"step {step!r} is below 1")
    kept = range(self.shape[dim])[start:stop:step]
    shape = (*self.shape[:dim], len(kept), *self.shape[dim + 1 :])
    stride = (*self.stride[:dim], self.stride[dim] * step, *self.stride[dim + 1 :])
    return View(shape, stride, kept.start * self.stride[dim])


@misconception(
    "1.3",
    "View.slice",
    "Write down the indices of list(range(5))[0:5:2]. How many are there, and how many does your division give?",
)
def slice_length_floored(self: View, dim: int, start: int | None, stop: int | None, step: int = 1) -> View:
    dim = wrap_index(dim, len(self.shape))
    if step < 1:
        raise ValueError(f"step {step!r} is below 1")
    first, end, _ = slice(start, stop).indices(self.shape[dim])
    shape = (*self.shape[:dim], max(end - first, 0) // step, *self.shape[dim + 1 :])
    stride = (*self.stride[:dim], self.stride[dim] * step, *self.stride[dim + 1 :])
    return View(shape, stride, self.offset + first * self.stride[dim])


@misconception(
    "1.3",
    "View.slice",
    "As many elements as asked, but neighbours instead of every other one. What does the step change besides the size?",
)
def slice_keeps_the_stride(self: View, dim: int, start: int | None, stop: int | None, step: int = 1) -> View:
    dim = wrap_index(dim, len(self.shape))
    if step < 1:
        raise ValueError(f"step {step!r} is below 1")
    kept = range(self.shape[dim])[start:stop:step]
    shape = (*self.shape[:dim], len(kept), *self.shape[dim + 1 :])
    return View(shape, self.stride, self.offset + kept.start * self.stride[dim])


@misconception(
    "1.3",
    "View.slice",
    "The view starts `start` elements further. How far in the storage are `start` steps along this dimension?",
)
def slice_offset_without_the_stride(self: View, dim: int, start: int | None, stop: int | None, step: int = 1) -> View:
    dim = wrap_index(dim, len(self.shape))
    if step < 1:
        raise ValueError(f"step {step!r} is below 1")
    kept = range(self.shape[dim])[start:stop:step]
    shape = (*self.shape[:dim], len(kept), *self.shape[dim + 1 :])
    stride = (*self.stride[:dim], self.stride[dim] * step, *self.stride[dim + 1 :])
    return View(shape, stride, self.offset + kept.start)


@misconception(
    "1.3",
    "View.select",
    "Selecting from a whole tensor is right, selecting from a view isn't. Where did that view begin?",
)
def select_forgets_the_offset(self: View, dim: int, index: int) -> View:
    dim = wrap_index(dim, len(self.shape))
    start = wrap_index(index, self.shape[dim]) * self.stride[dim]
    return View(self.shape[:dim] + self.shape[dim + 1 :], self.stride[:dim] + self.stride[dim + 1 :], start)


@misconception(
    "1.3",
    "View.select",
    "This is x[2:3]. What is the rank of x[2]?",
)
def select_keeps_the_dimension(self: View, dim: int, index: int) -> View:
    dim = wrap_index(dim, len(self.shape))
    start = wrap_index(index, self.shape[dim]) * self.stride[dim]
    return View((*self.shape[:dim], 1, *self.shape[dim + 1 :]), self.stride, self.offset + start)


@misconception(
    "1.3",
    "View.expand",
    "The next index lands on the next element, which may belong to somebody else. On which should it land?",
)
def expand_keeps_the_old_stride(self: View, shape: tuple[int, ...]) -> View:
    new = len(shape) - len(self.shape)
    old_shape = (1,) * new + self.shape
    if new < 0 or any(size < 0 or old not in (1, size) for old, size in zip(old_shape, shape, strict=True)):
        raise ValueError(f"shape {self.shape!r} does not expand to {shape!r}")
    return View(shape, (0,) * new + self.stride, self.offset)


@misconception(
    "1.3",
    "View.expand",
    "With stride 0 only the first of several elements is seen, the others are lost. Which sizes may grow, then?",
)
def expand_grows_any_size(self: View, shape: tuple[int, ...]) -> View:
    new = len(shape) - len(self.shape)
    if new < 0 or any(size < 0 for size in shape):
        raise ValueError(f"shape {self.shape!r} does not expand to {shape!r}")
    old_shape = (1,) * new + self.shape
    old_stride = (0,) * new + self.stride
    stride = tuple(step if size == old else 0 for old, size, step in zip(old_shape, shape, old_stride, strict=True))
    return View(shape, stride, self.offset)


# 1.4 View.reshape


@misconception(
    "1.4",
    "View.reshape",
    "Every second row of a matrix: not contiguous, and yet each row splits in two without a copy. What must be dense?",
)
def reshape_only_if_contiguous(self: View, shape: tuple[int, ...]) -> View | None:
    solved = _solved(self, shape)
    apart = 1
    for size, step in zip(reversed(self.shape), reversed(self.stride), strict=True):
        if self.numel and size != 1 and step != apart:
            return None
        apart *= size
    return View(solved, _row_major(solved), self.offset)


@misconception(
    "1.4",
    "View.reshape",
    "Every view is treated as contiguous. Which neighbouring dims can merge here?",
)
def reshape_compares_numel_only(self: View, shape: tuple[int, ...]) -> View | None:
    solved = _solved(self, shape)
    return View(solved, _row_major(solved), self.offset)


@misconception(
    "1.4",
    "View.reshape",
    "A dimension of size 1 stands between two others here. Must its stride fit theirs?",
)
def reshape_broken_by_size_one(self: View, shape: tuple[int, ...]) -> View | None:
    solved = _solved(self, shape)
    runs: list[tuple[int, int]] = []
    for size, step in zip(self.shape, self.stride, strict=True):
        outer = runs.pop()[0] if runs and runs[-1][1] == size * step else 1
        runs.append((outer * size, step))
    return _cut(runs, solved, self.offset)


@misconception(
    "1.4",
    "View.reshape",
    "A repeated dimension is merged with one that holds data. Which single stride shows 0 1 2 0 1 2?",
)
def reshape_merges_stride_zero(self: View, shape: tuple[int, ...]) -> View | None:
    solved = _solved(self, shape)
    runs: list[tuple[int, int]] = []
    for size, step in zip(self.shape, self.stride, strict=True):
        if size != 1:
            outer = runs.pop()[0] if runs and runs[-1][1] in (0, size * step) else 1
            runs.append((outer * size, step))
    return _cut(runs, solved, self.offset)


@misconception(
    "1.4",
    "View.reshape",
    "A view with a size of -1 came back. What does it stand for?",
)
def reshape_leaves_minus_one(self: View, shape: tuple[int, ...]) -> View | None:
    solved = _solved(self, shape)
    answer = _cut(_runs(self), solved, self.offset)
    return answer and View(shape, answer.stride, answer.offset)


@misconception(
    "1.4",
    "View.reshape",
    "Beside a size of 0, which numbers could stand for the -1, and which is the right one?",
)
def reshape_guesses_beside_zero(self: View, shape: tuple[int, ...]) -> View | None:
    if self.numel == 0 and shape.count(-1) == 1 and 0 in shape and min(shape) == -1:
        shape = tuple(max(size, 0) for size in shape)
    return _cut(_runs(self), _solved(self, shape), self.offset)


@misconception(
    "1.4",
    "View.reshape",
    "Shape and strides are right. Where does this view begin, and where the one it came from?",
)
def reshape_forgets_the_offset(self: View, shape: tuple[int, ...]) -> View | None:
    return _cut(_runs(self), _solved(self, shape), 0)


def _solved(view: View, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return `shape` with its -1 solved for `view`; ValueError where it doesn't fit."""
    known = math.prod(size for size in shape if size != -1)
    solved = shape
    if shape.count(-1) == 1 and known > 0:
        solved = tuple(view.numel // known if size == -1 else size for size in shape)
    if min(solved, default=0) < 0 or math.prod(solved) != view.numel:
        raise ValueError(f"shape {shape!r} does not fit the {view.numel} elements of shape {view.shape!r}")
    return solved


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[dim + 1 :]) for dim in range(len(shape)))


def _runs(view: View) -> list[tuple[int, int]]:
    """Return (size, stride) of `view` with neighbours merged where one stride serves both."""
    runs: list[tuple[int, int]] = []
    for size, step in zip(view.shape, view.stride, strict=True):
        if size != 1:
            outer = runs.pop()[0] if runs and runs[-1][1] == size * step else 1
            runs.append((outer * size, step))
    return runs


def _cut(runs: list[tuple[int, int]], shape: tuple[int, ...], offset: int) -> View | None:
    """Return the view of `shape` whose dimensions are cut from `runs`, or None where one would cross a border."""
    if 0 in shape:
        return View(shape, (0,) * len(shape), offset)
    stride = []
    for size in reversed(shape):
        left, step = runs.pop() if runs else (1, 1)
        if left % size:
            return None
        stride.append(step)
        if left > size:
            runs.append((left // size, size * step))
    return View(shape, tuple(reversed(stride)), offset)


# 1.5a same_storage


@misconception(
    "1.5a",
    "same_storage",
    "x.data_ptr() is the address of the first element that x shows. Do x[:2] and x[2:] begin at the same one?",
)
def data_ptr_compared(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.data_ptr() == b.data_ptr() != 0


@misconception(
    "1.5a",
    "same_storage",
    "x[:2] and x[2:] have no byte in common. When x and one of them are gone, is the memory of the other freed?",
)
def overlap_asked_for(a: torch.Tensor, b: torch.Tensor) -> bool:
    def span(x: torch.Tensor) -> tuple[int, int]:
        last = sum((size - 1) * step for size, step in zip(x.shape, x.stride(), strict=True))
        return x.data_ptr(), x.data_ptr() + (last + 1) * x.element_size()

    if a.numel() == 0 or b.numel() == 0:
        return False
    (a_first, a_end), (b_first, b_end) = span(a), span(b)
    return a_first < b_end and b_first < a_end


# 1.5b logical_bytes


@misconception(
    "1.5b",
    "logical_bytes",
    "Every element counts as 4 bytes. Which dtypes are that wide, and who knows the width of the others?",
)
def four_bytes_for_every_dtype(x: torch.Tensor) -> int:
    return x.numel() * 4


@misconception(
    "1.5b",
    "logical_bytes",
    "This is the size of the storage, which x may show in part or many times over. How many elements does x have?",
)
def slice_counted_as_its_base(x: torch.Tensor) -> int:
    return x.untyped_storage().nbytes()


@misconception(
    "1.5b",
    "logical_bytes",
    "These are elements. How many bytes has one of them?",
)
def elements_for_bytes(x: torch.Tensor) -> int:
    return x.numel()


# 1.5c storage_bytes


@misconception(
    "1.5c",
    "storage_bytes",
    "This adds up what the shapes promise. How much memory does torch.zeros(1).expand(1000) take, and how much does "
    "one row of a large matrix keep alive?",
)
def expanded_tensor_counted_in_full(*tensors: torch.Tensor) -> int:
    return sum(x.numel() * x.element_size() for x in tensors)


@misconception(
    "1.5c",
    "storage_bytes",
    "Two views of one storage are counted as two. How can you tell that a storage has been counted?",
)
def storage_counted_twice(*tensors: torch.Tensor) -> int:
    return sum(x.untyped_storage().nbytes() for x in tensors)


@misconception(
    "1.5c",
    "storage_bytes",
    "Two views that begin at different elements are counted as two storages. What do they have in common?",
)
def storages_told_apart_by_first_element(*tensors: torch.Tensor) -> int:
    return sum({x.data_ptr(): x.untyped_storage().nbytes() for x in tensors}.values())


# 1.6a diagonal


@misconception(
    "1.6a",
    "diagonal",
    "A step of C + 1 is right for a contiguous matrix. What are the steps to the next row and the next column here?",
)
def diagonal_of_a_contiguous_matrix(x: torch.Tensor) -> torch.Tensor:
    if x.dim() < 2:
        raise ValueError(f"shape {tuple(x.shape)!r} has no two axes to take a diagonal of")
    stride = (*x.stride()[:-2], x.shape[-1] + 1)
    return x.as_strided((*x.shape[:-2], min(x.shape[-2:])), stride, x.storage_offset())


@misconception(
    "1.6a",
    "diagonal",
    "The step to the next column is taken to be 1. What is it after a transpose?",
)
def diagonal_of_dense_rows(x: torch.Tensor) -> torch.Tensor:
    if x.dim() < 2:
        raise ValueError(f"shape {tuple(x.shape)!r} has no two axes to take a diagonal of")
    stride = (*x.stride()[:-2], x.stride(-2) + 1)
    return x.as_strided((*x.shape[:-2], min(x.shape[-2:])), stride, x.storage_offset())


@misconception(
    "1.6a",
    "diagonal",
    "This diagonal begins where the storage begins. Does x?",
)
def diagonal_forgets_the_offset(x: torch.Tensor) -> torch.Tensor:
    if x.dim() < 2:
        raise ValueError(f"shape {tuple(x.shape)!r} has no two axes to take a diagonal of")
    stride = (*x.stride()[:-2], x.stride(-2) + x.stride(-1))
    return x.as_strided((*x.shape[:-2], min(x.shape[-2:])), stride, 0)


@misconception(
    "1.6a",
    "diagonal",
    "The numbers are right, but they stand in a new storage. Which stride would show them where they are?",
)
def diagonal_copied(x: torch.Tensor) -> torch.Tensor:
    if x.dim() < 2:
        raise ValueError(f"shape {tuple(x.shape)!r} has no two axes to take a diagonal of")
    along = torch.arange(min(x.shape[-2:]))
    return x[..., along, along]


# 1.6b sliding_windows


@misconception(
    "1.6b",
    "sliding_windows",
    "Neighbours along the last axis are taken to lie side by side. How far apart are they in x.T, or in x[..., ::2]?",
)
def windows_of_a_dense_axis(x: torch.Tensor, size: int, step: int = 1) -> torch.Tensor:
    windows = _windows(x, size, step)
    return x.as_strided((*x.shape[:-1], windows, size), (*x.stride()[:-1], step, 1), x.storage_offset())


@misconception(
    "1.6b",
    "sliding_windows",
    "The first window begins where the storage begins. Where does x begin?",
)
def windows_forget_the_offset(x: torch.Tensor, size: int, step: int = 1) -> torch.Tensor:
    windows = _windows(x, size, step)
    stride = (*x.stride()[:-1], x.stride(-1) * step, x.stride(-1))
    return x.as_strided((*x.shape[:-1], windows, size), stride, 0)


@misconception(
    "1.6b",
    "sliding_windows",
    "The numbers are right, but each is stored again for every window that it is in. Which two strides would show them "
    "without that?",
)
def windows_copied(x: torch.Tensor, size: int, step: int = 1) -> torch.Tensor:
    windows = _windows(x, size, step)
    return torch.stack([x[..., w * step : w * step + size] for w in range(windows)], dim=-2)


@misconception(
    "1.6b",
    "sliding_windows",
    "The last window is missing. How many windows of size L has an axis of length L?",
)
def windows_without_the_last(x: torch.Tensor, size: int, step: int = 1) -> torch.Tensor:
    windows = _windows(x, size, step) - 1
    stride = (*x.stride()[:-1], x.stride(-1) * step, x.stride(-1))
    return x.as_strided((*x.shape[:-1], windows, size), stride, x.storage_offset())


def _windows(x: torch.Tensor, size: int, step: int) -> int:
    """Return the number of whole windows; ValueError where the arguments allow none."""
    if x.dim() < 1:
        raise ValueError(f"shape {tuple(x.shape)!r} has no axis to slide along")
    if not 1 <= size <= x.shape[-1]:
        raise ValueError(f"size {size!r} is not in 1 to {x.shape[-1]}")
    if step < 1:
        raise ValueError(f"step {step!r} is below 1")
    return (x.shape[-1] - size) // step + 1


# 1.7 split_heads, merge_heads


@misconception(
    "1.7",
    "split_heads",
    "Each head gets every H-th number. Which of h and d runs fastest in h * D + d?",
)
def heads_run_fastest(x: torch.Tensor, heads: int) -> torch.Tensor:
    return x.view(*x.shape[:-1], _head_size(x, heads), heads).movedim(-1, -3)


@misconception(
    "1.7",
    "split_heads",
    "The shape is right, the numbers are not: a head now holds whole rows. What does a reshape never change?",
)
def split_without_a_permute(x: torch.Tensor, heads: int) -> torch.Tensor:
    size = _head_size(x, heads)
    return x.reshape(*x.shape[:-2], heads, x.shape[-2], size)


@misconception(
    "1.7",
    "split_heads",
    "Axes 1 and 2 are the right pair for x of shape (B, S, E) only. From which end does their place not depend on x?",
)
def split_counts_axes_from_the_front(x: torch.Tensor, heads: int) -> torch.Tensor:
    return x.view(*x.shape[:-1], heads, _head_size(x, heads)).transpose(1, 2)


@misconception(
    "1.7",
    "merge_heads",
    "The shape is right, the numbers are not. Which two axes stand side by side when they become one?",
)
def merge_without_a_permute(x: torch.Tensor) -> torch.Tensor:
    if x.dim() < 3:
        raise ValueError(f"shape {tuple(x.shape)!r} has no axes (H, S, D)")
    *lead, heads, length, size = x.shape
    return x.reshape(*lead, length, heads * size)


@misconception(
    "1.7",
    "merge_heads",
    "S and D trade places here. Which axis must stand next to D?",
)
def merge_transposes_the_wrong_pair(x: torch.Tensor) -> torch.Tensor:
    if x.dim() < 3:
        raise ValueError(f"shape {tuple(x.shape)!r} has no axes (H, S, D)")
    *lead, heads, length, size = x.shape
    return x.transpose(-2, -1).reshape(*lead, length, heads * size)


@misconception(
    "1.7",
    "merge_heads",
    "Right only where S equals H: the sizes were read before the axes traded places. What is the shape afterwards?",
)
def merge_takes_heads_for_positions(x: torch.Tensor) -> torch.Tensor:
    if x.dim() < 3:
        raise ValueError(f"shape {tuple(x.shape)!r} has no axes (H, S, D)")
    *lead, heads, length, size = x.shape
    return x.transpose(-3, -2).reshape(*lead, heads, length * size)


@accepted(
    "1.7",
    "split_heads",
    "All numbers are right. Your last step copied the whole tensor, S * E elements for each batch; the transposed view "
    "before it shows the same and was free.",
)
def split_heads_copied(x: torch.Tensor, heads: int) -> torch.Tensor:
    return x.view(*x.shape[:-1], heads, _head_size(x, heads)).transpose(-3, -2).contiguous()


def _head_size(x: torch.Tensor, heads: int) -> int:
    """Return the size of one head; ValueError where `heads` don't fit `x`."""
    if x.dim() < 2:
        raise ValueError(f"shape {tuple(x.shape)!r} has no axes (S, E)")
    if heads < 1 or x.shape[-1] % heads:
        raise ValueError(f"heads {heads!r} do not divide the last axis of size {x.shape[-1]}")
    return x.shape[-1] // heads
