from napkin import shapes

from .errors import must_be_alike


def contiguous_strides(shape):
    return shapes.row_major(shape)


def storage_index(stride, offset, index):
    must_be_alike(index=index, stride=stride)
    return offset + shapes.walk(stride, index)
