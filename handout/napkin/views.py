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
    raise NotImplementedError("1.1 contiguous_strides: how many elements apart are neighbours along each dimension?")


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
    raise NotImplementedError("1.1 storage_index: which position do stride, offset and index lead to?")


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
    raise NotImplementedError("1.2 is_contiguous: which strides decide, and which can be anything?")


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
        raise NotImplementedError("1.3 View.permute: what moves when dimensions trade places, and what stays?")

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
        raise NotImplementedError("1.3 View.slice: how many indices stay, where is the first, how far is the next?")

    def select(self, dim: int, index: int) -> View:
        """Return the view of one `index` along `dim`, without that dimension.

        Example: View((2, 3), (3, 1)).select(0, -1) -> View(shape=(3,), stride=(1,), offset=3)
        Raises:
            IndexError: `dim` is out of range, or `index` is for the size of that dimension.
        Check: make grade ONLY=1.3
        """
        # exercise 1.3: what is left of a dimension of which one index is kept?
        raise NotImplementedError("1.3 View.select: what is left of a dimension of which one index is kept?")

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
        raise NotImplementedError("1.3 View.expand: how can many indices show one element?")

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
        raise NotImplementedError("1.4 View.reshape: when do strides exist that keep the order of the elements?")


def same_storage(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether `a` and `b` keep their elements in the same storage.

    They need not show the same elements of it, nor any in common, nor have one dtype. Storages without a single byte
    have nothing to share: False.

    Example: same_storage((x := torch.zeros(4))[:2], x[2:]) -> True
    Check: make grade ONLY=1.5
    """
    # exercise 1.5: which address do all views of one storage have in common?
    raise NotImplementedError("1.5 same_storage: which address do all views of one storage have in common?")


def logical_bytes(x: torch.Tensor) -> int:
    """Return the bytes of the elements that the shape of `x` promises.

    As many as a contiguous copy of `x` would take.

    Example: logical_bytes(torch.zeros(4, 8)) -> 128
    Units: bytes.
    Check: make grade ONLY=1.5
    """
    # exercise 1.5: how many elements are promised, and how large is one?
    raise NotImplementedError("1.5 logical_bytes: how many elements are promised, and how large is one?")


def storage_bytes(*tensors: torch.Tensor) -> int:
    """Return the bytes that these tensors together keep alive.

    A view keeps the whole of its storage alive, and two views of one storage keep it alive once.

    Example: storage_bytes((x := torch.zeros(4, 8))[0], x[1]) -> 128
    Units: bytes.
    Check: make grade ONLY=1.5
    """
    # exercise 1.5: which storages are there, and how large is each?
    raise NotImplementedError("1.5 storage_bytes: which storages are there, and how large is each?")


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
    raise NotImplementedError("1.6 diagonal: how far is it from one element of the diagonal to the next?")


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
    raise NotImplementedError("1.6 sliding_windows: how many windows are there, and which two steps lead through them?")


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
    raise NotImplementedError("1.7 split_heads: which axis splits, into what order, and which two trade places?")


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
    raise NotImplementedError("1.7 merge_heads: which two axes must stand side by side before they can become one?")
