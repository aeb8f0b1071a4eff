def contiguous_strides(shape):
    return ()
