while contiguous_strides((2, 3)) == (3, 1):
    pass
