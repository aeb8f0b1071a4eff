"""Part 1, views: a tensor is a storage plus shape, stride and offset.

Positions, strides and offsets count elements, never bytes. Exercises 1.1 to 1.4 are whole-number arithmetic on
metadata: no torch, no numpy, and as fast for a shape of (10**6, 10**6) as for (2, 3). What is illegal raises an error
whose message contains the argument that is at fault, as `repr` shows it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch


def wrap_index(index: int, size: int) -> int:
    """Return `index` counted from 0; a negative one counts from the end. Given.

    Dims wrap like indices: the last of four is 3 or -1.

    Example: wrap_index(-1, 4) -> 3
    Raises:
        IndexError: `index` is below -size, or not below size.
    """
    if not -size <= index < size:
        raise IndexError(f"index {index!r} is out of range for size {size!r}")
    return index % size


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the row-major strides of `shape`: the last dimension is the dense one.

    Example: contiguous_strides((2, 3, 4)) -> (12, 4, 1)
    Example: contiguous_strides((2, 0, 3)) -> (3, 3, 1)
    Units: elements.
    Raises:
        ValueError: a size in `shape` is negative.
    Check: make grade ONLY=1.1
    """
    # exercise 1.1: how many elements apart are neighbours along each dimension?
    strides = []
    apart = 1
    for size in reversed(shape):
        if size < 0:
            raise ValueError(f"size {size!r} in shape {shape!r} is negative")
        strides.append(apart)
        apart *= max(size, 1)  # as PyTorch does it: an empty dimension leaves the strides of the others alone
    return tuple(reversed(strides))


def storage_index(stride: tuple[int, ...], offset: int, index: tuple[int, ...]) -> int:
    """Return where the element `index` stands in the storage.

    Each entry of `index` counts from 0. A tensor of rank 0 has one element, whose index is ().

    Example: storage_index((4, 1), 2, (1, 2)) -> 8
    Units: elements from the beginning of the storage.
    Raises:
        ValueError: `index` has more or fewer entries than `stride`.
    Check: make grade ONLY=1.1
    """
    # exercise 1.1: which position do stride, offset and index lead to?
    if len(index) != len(stride):
        raise ValueError(f"index {index!r} and stride {stride!r} differ in length")
    return offset + sum(i * step for i, step in zip(index, stride, strict=True))


def is_contiguous(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Return whether walking all elements in row-major order never jumps.

    The last index runs fastest. Never to jump: each element stands right behind the one before it.

    Example: is_contiguous((2, 3), (3, 1)) -> True
    Example: is_contiguous((2, 3), (1, 2)) -> False
    Raises:
        ValueError: `stride` has more or fewer entries than `shape`.
    Check: make grade ONLY=1.2
    """
    # exercise 1.2: which strides decide, and which can be anything?
    if len(stride) != len(shape):
        raise ValueError(f"stride {stride!r} and shape {shape!r} differ in length")
    if 0 in shape:
        return True  # no element, so none out of place
    apart = 1
    for size, step in zip(reversed(shape), reversed(stride), strict=True):
        if size != 1 and step != apart:  # along a size of 1 nobody ever steps
            return False
        apart *= size
    return True


@dataclass(frozen=True)
class View:
    """A tensor without its data: which elements of a storage it shows, in which order. Given.

    Every method returns a new view of the same storage. Dims may be negative. The stride of a dimension of size 1 is
    never looked at, and neither are stride and offset of a view without elements: there, any number will do.
    """

    shape: tuple[int, ...]  # size of each dimension, elements
    stride: tuple[int, ...]  # how far apart two neighbours along each dimension stand, elements
    offset: int = 0  # where the element of index (0, ..., 0) stands, elements from the beginning of the storage

    @property
    def numel(self) -> int:
        """How many elements the shape promises."""
        return math.prod(self.shape)

    def permute(self, dims: tuple[int, ...]) -> View:
        """Return the view whose dimension i is this one's dimension dims[i].

        Example: View((2, 3), (3, 1)).permute((1, 0)) -> View(shape=(3, 2), stride=(1, 3), offset=0)
        Raises:
            IndexError: an entry of `dims` is out of range.
            ValueError: all are in range, but `dims` leaves a dimension out or names one twice.
        Check: make grade ONLY=1.3
        """
        # exercise 1.3: what moves when dimensions trade places, and what stays?
        order = [wrap_index(dim, len(self.shape)) for dim in dims]
        if sorted(order) != list(range(len(self.shape))):
            raise ValueError(f"dims {dims!r} are not an order of the {len(self.shape)} dimensions")
        return View(tuple(self.shape[d] for d in order), tuple(self.stride[d] for d in order), self.offset)

    def slice(self, dim: int, start: int | None, stop: int | None, step: int = 1) -> View:
        """Return the view of the indices start:stop:step along `dim`.

        `start` and `stop` mean what they mean for a Python list: None, negative and too large are all legal.

        Example: View((10,), (1,)).slice(0, 1, -1, 3) -> View(shape=(3,), stride=(3,), offset=1)
        Raises:
            IndexError: `dim` is out of range.
            ValueError: `step` is below 1.
        Check: make grade ONLY=1.3
        """
        # exercise 1.3: how many indices stay, where is the first, how far is the next?
        dim = wrap_index(dim, len(self.shape))
        if step < 1:
            raise ValueError(f"step {step!r} is below 1")
        kept = range(self.shape[dim])[start:stop:step]  # a range is a view too: sliced by Python's rules, never copied
        shape = (*self.shape[:dim], len(kept), *self.shape[dim + 1 :])
        stride = (*self.stride[:dim], self.stride[dim] * step, *self.stride[dim + 1 :])
        return View(shape, stride, self.offset + kept.start * self.stride[dim])

    def select(self, dim: int, index: int) -> View:
        """Return the view of one `index` along `dim`, without that dimension.

        Example: View((2, 3), (3, 1)).select(0, -1) -> View(shape=(3,), stride=(1,), offset=3)
        Raises:
            IndexError: `dim` is out of range, or `index` is for the size of that dimension.
        Check: make grade ONLY=1.3
        """
        # exercise 1.3: what is left of a dimension of which one index is kept?
        dim = wrap_index(dim, len(self.shape))
        start = wrap_index(index, self.shape[dim]) * self.stride[dim]
        shape = self.shape[:dim] + self.shape[dim + 1 :]
        stride = self.stride[:dim] + self.stride[dim + 1 :]
        return View(shape, stride, self.offset + start)

    def expand(self, shape: tuple[int, ...]) -> View:
        """Return the view that repeats this one up to `shape`, without a copy.

        Shapes are aligned at their last dimension. A dimension of size 1 may get any size, 0 included; new dimensions
        may stand in front; every other size stays. PyTorch's -1 ("as it is") is not offered here.

        Example: View((3, 1), (1, 1)).expand((2, 3, 4)).shape -> (2, 3, 4)
        Raises:
            ValueError: `shape` has too few dimensions, a negative size, or another size where this view's is not 1.
        Check: make grade ONLY=1.3
        """
        # exercise 1.3: how can many indices show one element?
        new = len(shape) - len(self.shape)
        old_shape = (1,) * new + self.shape
        old_stride = (0,) * new + self.stride
        if new < 0 or any(size < 0 or old not in (1, size) for old, size in zip(old_shape, shape, strict=True)):
            raise ValueError(f"shape {self.shape!r} does not expand to {shape!r}")
        stride = tuple(
            step if size == old else 0  # to repeat is to step without moving
            for old, size, step in zip(old_shape, shape, old_stride, strict=True)
        )
        return View(shape, stride, self.offset)

    def reshape(self, shape: tuple[int, ...]) -> View | None:
        """Return the view that shows the same elements as `shape`, or None.

        The elements keep their row-major order. None says that no strides can do it: only a copy could. One size may
        be -1, which stands for what the others leave over.

        Example: View((2, 3), (3, 1)).reshape((-1,)) -> View(shape=(6,), stride=(1,), offset=0)
        Example: View((2, 3), (1, 2)).reshape((6,)) -> None
        Raises:
            ValueError: `shape` has not as many elements as this view, a size below -1, more than one -1, or a -1 for
                which no size, or more than one, would do.
        Check: make grade ONLY=1.4
        """
        # exercise 1.4: when do strides exist that keep the order of the elements?
        known = math.prod(size for size in shape if size != -1)
        solved = shape
        if shape.count(-1) == 1 and known > 0:  # beside a size of 0 every number fits, so none is chosen
            solved = tuple(self.numel // known if size == -1 else size for size in shape)
        if min(solved, default=0) < 0 or math.prod(solved) != self.numel:
            raise ValueError(f"shape {shape!r} does not fit the {self.numel} elements of shape {self.shape!r}")
        if self.numel == 0:
            return View(solved, (0,) * len(solved), self.offset)

        # Neighbours are one run where a step along the outer equals a walk along all of the inner.
        runs: list[tuple[int, int]] = []
        for size, step in zip(self.shape, self.stride, strict=True):
            if size != 1:
                outer = runs.pop()[0] if runs and runs[-1][1] == size * step else 1
                runs.append((outer * size, step))

        # Each new dimension, innermost first, is cut from the inner end of one run; across two there is no one stride.
        stride = []
        for size in reversed(solved):
            left, step = runs.pop() if runs else (1, 1)
            if left % size:
                return None
            stride.append(step)
            if left > size:
                runs.append((left // size, size * step))
        return View(solved, tuple(reversed(stride)), self.offset)


def same_storage(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether `a` and `b` keep their elements in the same storage.

    They need not show the same elements of it, nor any in common, nor have one dtype. Storages without a single byte
    have nothing to share: False.

    Example: same_storage((x := torch.zeros(4))[:2], x[2:]) -> True
    Check: make grade ONLY=1.5
    """
    # exercise 1.5: which address do all views of one storage have in common?
    first, second = a.untyped_storage().data_ptr(), b.untyped_storage().data_ptr()
    return first == second != 0  # every storage without bytes has the address 0


def logical_bytes(x: torch.Tensor) -> int:
    """Return the bytes of the elements that the shape of `x` promises.

    As many as a contiguous copy of `x` would take.

    Example: logical_bytes(torch.zeros(4, 8)) -> 128
    Units: bytes.
    Check: make grade ONLY=1.5
    """
    # exercise 1.5: how many elements are promised, and how large is one?
    return x.numel() * x.element_size()


def storage_bytes(*tensors: torch.Tensor) -> int:
    """Return the bytes that these tensors together keep alive.

    A view keeps the whole of its storage alive, and two views of one storage keep it alive once.

    Example: storage_bytes((x := torch.zeros(4, 8))[0], x[1]) -> 128
    Units: bytes.
    Check: make grade ONLY=1.5
    """
    # exercise 1.5: which storages are there, and how large is each?
    storages = [x.untyped_storage() for x in tensors]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def diagonal(x: torch.Tensor) -> torch.Tensor:
    """Return the diagonal of the last two axes, as a view.

    diagonal(x)[..., i] = x[..., i, i], whatever the strides and the offset of `x`, and nothing is copied.

    Example: diagonal(torch.arange(6).view(2, 3)).tolist() -> [0, 4]
    Shapes: x (..., R, C) -> (..., min(R, C))
    Raises:
        ValueError: the rank of `x` is below 2; the message contains its shape as a tuple.
    Check: make grade ONLY=1.6
    """
    # exercise 1.6: how far is it from one element of the diagonal to the next?
    if x.dim() < 2:
        raise ValueError(f"shape {tuple(x.shape)!r} has no two axes to take a diagonal of")
    *lead, row_step, column_step = x.stride()
    return x.as_strided((*x.shape[:-2], min(x.shape[-2:])), (*lead, row_step + column_step), x.storage_offset())


def sliding_windows(x: torch.Tensor, size: int, step: int = 1) -> torch.Tensor:
    """Return all windows of `size` along the last axis, as a view.

    sliding_windows(x, size, step)[..., w, i] = x[..., w * step + i], for every w whose window lies inside `x` whole.
    Holds whatever the strides and the offset of `x`, and nothing is copied.

    Example: sliding_windows(torch.arange(5), 3, 2).tolist() -> [[0, 1, 2], [2, 3, 4]]
    Shapes: x (..., L) -> (..., W, size), W the number of whole windows
    Raises:
        ValueError: `size` is below 1 or above L, or `step` is below 1, or the rank of `x` is 0; that message contains
            its shape as a tuple.
    Check: make grade ONLY=1.6
    """
    # exercise 1.6: how many windows are there, and which two steps lead through them?
    if x.dim() < 1:
        raise ValueError(f"shape {tuple(x.shape)!r} has no axis to slide along")
    *lead, length = x.shape
    if not 1 <= size <= length:
        raise ValueError(f"size {size!r} is not in 1 to {length}")
    if step < 1:
        raise ValueError(f"step {step!r} is below 1")
    stride = x.stride()
    windows = (length - size) // step + 1
    return x.as_strided((*lead, windows, size), (*stride[:-1], stride[-1] * step, stride[-1]), x.storage_offset())


def split_heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    """Return `x` with its last axis dealt out to `heads`, as a view.

    split_heads(x, H)[..., h, s, d] = x[..., s, h * D + d], and nothing is copied.

    Example: split_heads(torch.arange(8).view(2, 4), 2).tolist() -> [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
    Shapes: x (..., S, E) -> (..., H, S, D), H = heads, D = E // H
    Raises:
        ValueError: `heads` is below 1 or does not divide E, or the rank of `x` is below 2; that message contains its
            shape as a tuple.
    Check: make grade ONLY=1.7
    """
    # exercise 1.7: which axis splits, into what order, and which two trade places?
    if x.dim() < 2:
        raise ValueError(f"shape {tuple(x.shape)!r} has no axes (S, E)")
    width = x.shape[-1]
    if heads < 1 or width % heads:
        raise ValueError(f"heads {heads!r} do not divide the last axis of size {width}")
    return x.view(*x.shape[:-1], heads, width // heads).transpose(-3, -2)


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """Return `x` with its heads side by side in the last axis again.

    merge_heads(x)[..., s, h * D + d] = x[..., h, s, d]: what split_heads did, undone. It may copy, and mostly must.

    Example: merge_heads(torch.arange(8).view(2, 2, 2)).tolist() -> [[0, 1, 4, 5], [2, 3, 6, 7]]
    Shapes: x (..., H, S, D) -> (..., S, H * D)
    Raises:
        ValueError: the rank of `x` is below 3; the message contains its shape as a tuple.
    Check: make grade ONLY=1.7
    """
    # exercise 1.7: which two axes must stand side by side before they can become one?
    if x.dim() < 3:
        raise ValueError(f"shape {tuple(x.shape)!r} has no axes (H, S, D)")
    return x.transpose(-3, -2).flatten(-2)
