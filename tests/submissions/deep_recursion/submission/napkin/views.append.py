import sys


def contiguous_strides(shape):
    return contiguous_strides(shape)


def storage_index(stride, offset, index):
    sys.setrecursionlimit(10**9)
    return storage_index(stride, offset, index) + 1
