"""Whole-number arithmetic that several exercises need."""

from math import prod


def row_major(shape):
    if any(size < 0 for size in shape):
        raise ValueError(f"a size of shape {shape!r} is negative")
    return tuple(prod(max(size, 1) for size in shape[dim + 1 :]) for dim in range(len(shape)))


def walk(stride, index):
    return sum(i * step for i, step in zip(index, stride))
