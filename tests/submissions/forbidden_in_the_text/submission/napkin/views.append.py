import torch as t
from torch import empty_strided as made

from napkin import shapes


def contiguous_strides(shape):
    return torch.empty(shape, device="meta").stride()


def storage_index(stride, offset, index):
    return offset + int(t.tensor(stride).mul(t.tensor(index)).sum())


def is_contiguous(shape, stride):
    return made(shape, stride, device="meta").is_contiguous()


class View(View):
    def permute(self, dims):
        x = getattr(torch, "empty_strided")(self.shape, self.stride, device="meta").permute(dims)
        return View(tuple(x.shape), x.stride(), self.offset)

    def reshape(self, shape):
        return shapes.reshaped(self, shape)
