"""Part 4, backward: what gradients cost.

Every gradient of a linear layer is a matrix product or a sum, so what a backward pass costs can be counted before it
runs. FLOPs: a multiplication and an addition are two, so that a product of (m, n) with (n, p) takes 2 * m * n * p.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

Gradient = torch.Tensor | None  # None: not asked for


def linear_backward(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> tuple[Gradient, Gradient, Gradient]:
    """Return the gradients (dx, dw, db) of a linear layer, those that are needed.

    Forward, the layer was x @ weight.T + bias, as in nn.Linear; `grad_output` is the gradient of the loss by that
    result. `needs` says in the same order which of the three are asked for. One that isn't is None, and nothing is
    computed for it. The loss is whatever it is: what was averaged is in `grad_output` already.

    Example: linear_backward(torch.ones(5, 2), torch.ones(1, 2), torch.ones(5, 1), (False, True, True))
        -> (None, tensor([[5., 5.]]), tensor([5.]))
    Shapes: x (..., D), weight (K, D), grad_output (..., K) -> dx (..., D), dw (K, D), db (K,). "..." is any number of
        axes, none included, of any sizes, 0 and 1 included; D and K are at least 1. All in any layout, in one dtype.
    Check: make grade ONLY=4.1
    """
    # exercise 4.1: which two of the three meet in each, and which axes disappear?
    raise NotImplementedError("4.1 linear_backward: which two of the three meet in each, and which axes disappear?")


def mlp_flops(
    batch: int, dims: tuple[int, ...], input_grad: bool = False, frozen: tuple[int, ...] = ()
) -> tuple[int, int]:
    """Return the FLOPs of the forward and of the backward pass of a stack of linear layers.

    Layer i leads from dims[i] to dims[i + 1], without a bias, and a ReLU stands between two layers. Matrix products
    alone count: neither the ReLUs nor the loss do. A frozen layer's weight needs no gradient. What nobody needs is not
    computed: a layer's dx is needed only by what stands before it, a weight that isn't frozen or the input.

    Example: mlp_flops(2, (3, 4, 5)) -> (128, 208)
    Example: mlp_flops(2, (3, 4, 5), frozen=(0,)) -> (128, 80)

    Args:
        batch: how many samples go through at once.
        dims: the width of the input, then of what each layer puts out.
        input_grad: whether the gradient by the input of the first layer is needed too.
        frozen: which layers are frozen, counted from 0, each once and in any order.

    Units: FLOPs, exact.
    Raises:
        ValueError: `dims` has fewer than two entries, or an entry of `frozen` is not in 0 to L - 1, for L layers.
    Check: make grade ONLY=4.2
    """
    # exercise 4.2: which of its two products does each layer need on the way back?
    raise NotImplementedError("4.2 mlp_flops: which of its two products does each layer need on the way back?")


def two_layer_gradients(
    x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return (loss, dw1, dw2) of a network of two layers, without autograd.

    h = relu(x @ w1), p = h @ w2, and the loss is the mean of (p - y)**2 over all B * K elements: a tensor of rank 0.
    dw1 and dw2 are its gradients by w1 and w2. The derivative of ReLU at 0 is 0, as PyTorch has it. The arguments
    belong to the caller and stay as they are.

    Example: two_layer_gradients(*(torch.tensor([[v]]) for v in (1.0, 2.0, 3.0, 5.0)))
        -> (tensor(1.), tensor([[6.]]), tensor([[4.]]))
    Shapes: x (B, D), w1 (D, H), w2 (H, K), y (B, K) -> loss (), dw1 (D, H), dw2 (H, K), no size 0
    Check: make grade ONLY=4.3
    """
    # exercise 4.3: how does the loss change with p, with h, with x @ w1?
    raise NotImplementedError("4.3 two_layer_gradients: how does the loss change with p, with h, with x @ w1?")


def accumulate_gradients(
    model: nn.Module,
    loss_fn: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    micro_batches: list[tuple[torch.Tensor, torch.Tensor]],
) -> float:
    """Add the gradients of the whole batch to `model`, one micro-batch at a time, and return its mean loss.

    Afterwards each parameter's .grad has grown by the gradient of the mean loss over all samples: what was there
    before stays in it, None counts as 0, and a parameter that requires no gradient is left alone. The weights don't
    change. At no time are the activations of more than one micro-batch held.

    Example: mean losses of 1.0 over 4 samples and of 4.0 over 2 samples -> 2.0

    Args:
        model: called with the inputs of a micro-batch, it returns predictions.
        loss_fn: called with predictions and targets, it returns the mean loss over the samples of the micro-batch.
        micro_batches: (inputs, targets) of one micro-batch each; their first axis counts samples. There is at least
            one, of at least one sample, and they need not be of one size.

    Check: make grade ONLY=4.4
    """
    # exercise 4.4: what share of the mean has a micro-batch, and when can it go?
    raise NotImplementedError("4.4 accumulate_gradients: what share of the mean has a micro-batch, and when can it go?")
