_strides, _place = contiguous_strides, storage_index


def contiguous_strides(shape):
    for _ in range(200):
        print("here I am" * 100_000)  # a megabyte
    return _strides(shape)


def storage_index(stride, offset, index):
    print("x" * 100_000)
    return _place(stride, offset, index)
