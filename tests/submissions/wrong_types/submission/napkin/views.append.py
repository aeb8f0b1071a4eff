import numpy

_strides, _place, _dense, _view = contiguous_strides, storage_index, is_contiguous, View
_same, _logical, _stored = same_storage, logical_bytes, storage_bytes
_diagonal, _windows, _split = diagonal, sliding_windows, split_heads


def contiguous_strides(shape):
    return list(_strides(shape))


def storage_index(stride, offset, index):
    return _place(stride, offset, index) / 1


def is_contiguous(shape, stride):
    return int(_dense(shape, stride))


class View(_view):
    def select(self, dim, index):
        view = _view.select(self, dim, index)
        return (view.shape, view.stride, view.offset)

    permute = slice = expand = lambda self, *arguments: self.select(0, 0) if self.shape else ((), (), 0)

    def reshape(self, shape):
        view = _view.reshape(self, shape)
        return False if view is None else vars(view)


def same_storage(a, b):
    return numpy.bool_(_same(a, b))


def logical_bytes(x):
    return torch.tensor(_logical(x))


def storage_bytes(*tensors):
    return numpy.int64(_stored(*tensors))


class MyTensor(torch.Tensor):
    pass


def diagonal(x):
    return _diagonal(x).as_subclass(MyTensor)


def sliding_windows(x, size, step=1):
    windows = _windows(x, size, step)  # and nothing is returned


def split_heads(x, heads):
    yield from _split(x, heads)
