import torch


def reshaped(view, shape):
    x = torch.empty_strided(view.shape, view.stride, device="meta").view(shape)
    return type(view)(tuple(x.shape), x.stride(), view.offset)
