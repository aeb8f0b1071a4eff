"""Part 4, backward: what students get wrong about gradients and their cost."""

from __future__ import annotations

from collections.abc import Callable

import torch
from napkin.backward import Gradient
from torch import nn

from variants import misconception

Gradients = tuple[Gradient, Gradient, Gradient]
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
MicroBatches = list[tuple[torch.Tensor, torch.Tensor]]

# 4.1a linear_backward: the gradients


def _rows(x: torch.Tensor) -> torch.Tensor:
    """Return the samples of `x` one below the other, whatever axes they stand in."""
    return x.reshape(-1, x.shape[-1])


def _linear_backward(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    """Return the right gradients, those that are needed."""
    return (
        grad_output @ weight if needs[0] else None,
        _rows(grad_output).T @ _rows(x) if needs[1] else None,
        _rows(grad_output).sum(0) if needs[2] else None,
    )


@misconception(
    "4.1a",
    "linear_backward",
    "dw has the shape (D, K). Which shape has the weight that it is subtracted from?",
)
def dw_transposed(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    dx, dw, db = _linear_backward(x, weight, grad_output, needs)
    return dx, dw.T if dw is not None else None, db


@misconception(
    "4.1a",
    "linear_backward",
    "dw is divided by the number of samples. If the loss was a mean, who has divided already, and if it was a sum?",
)
def dw_averaged_over_the_batch(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    dx, dw, db = _linear_backward(x, weight, grad_output, needs)
    return dx, dw / max(1, len(_rows(x))) if dw is not None else None, db


@misconception(
    "4.1a",
    "linear_backward",
    "db is a mean over the samples. How much does a sum over two samples change when the bias grows by 1?",
)
def db_averaged_over_the_batch(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    dx, dw, _ = _linear_backward(x, weight, grad_output, (*needs[:2], False))
    return dx, dw, _rows(grad_output).mean(0) if needs[2] else None


@misconception(
    "4.1a",
    "linear_backward",
    "There is one dw for each entry of the first axes. How many weights has the layer, and how many samples used each?",
)
def dw_keeps_the_leading_axes(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    if x.dim() <= 2:
        return _linear_backward(x, weight, grad_output, needs)
    dx, _, db = _linear_backward(x, weight, grad_output, (needs[0], False, needs[2]))
    return dx, grad_output.transpose(-2, -1) @ x if needs[1] else None, db


@misconception(
    "4.1a",
    "linear_backward",
    "db is summed over the first axis only. Which axes has grad_output besides K, when there are two of them, or none?",
)
def db_summed_over_the_first_axis_only(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    dx, dw, _ = _linear_backward(x, weight, grad_output, (*needs[:2], False))
    return dx, dw, grad_output.sum(0) if needs[2] else None


@misconception(
    "4.1a",
    "linear_backward",
    "The numbers of db are right, but it has two axes. How many has a bias?",
)
def db_keeps_an_axis(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    dx, dw, _ = _linear_backward(x, weight, grad_output, (*needs[:2], False))
    return dx, dw, _rows(grad_output).sum(0, keepdim=True) if needs[2] else None


@misconception(
    "4.1a",
    "linear_backward",
    "db is one number for all outputs. How many biases does a layer with K outputs have?",
)
def db_summed_over_everything(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    dx, dw, _ = _linear_backward(x, weight, grad_output, (*needs[:2], False))
    return dx, dw, grad_output.sum() if needs[2] else None


@misconception(
    "4.1a",
    "linear_backward",
    "x.view() is refused for some layouts, of which gradients have many. What does reshape do there that view may not?",
)
def view_for_reshape(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    rows = grad_output.view(-1, grad_output.shape[-1])
    dx, _, db = _linear_backward(x, weight, grad_output, (needs[0], False, needs[2]))
    return dx, rows.T @ x.view(-1, x.shape[-1]) if needs[1] else None, db


@misconception(
    "4.1a",
    "linear_backward",
    "reshape(K, -1) has the shape of a transposed matrix. Does it have its numbers in the same places?",
)
def reshape_for_transpose(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    dx, _, db = _linear_backward(x, weight, grad_output, (needs[0], False, needs[2]))
    return dx, grad_output.reshape(grad_output.shape[-1], -1) @ _rows(x) if needs[1] else None, db


@misconception(
    "4.1a",
    "linear_backward",
    "One sample by itself, x of shape (D,), is legal too. How many rows is it?",
)
def sample_by_itself_refused(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    if needs[1] or needs[2]:
        grad_output.flatten(0, -2)
    return _linear_backward(x, weight, grad_output, needs)


# 4.1b linear_backward: what is not needed


@misconception(
    "4.1b",
    "linear_backward",
    "What isn't needed is None, but it was computed before it was thrown away. When do you look at `needs`?",
)
def computes_everything_and_drops(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    dx, dw, db = _linear_backward(x, weight, grad_output, (True, True, True))
    return dx if needs[0] else None, dw if needs[1] else None, db if needs[2] else None


@misconception(
    "4.1b",
    "linear_backward",
    "dx is computed whether or not it is needed. What does the first layer of a network spend on it?",
)
def computes_dx_all_the_same(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    dx, dw, db = _linear_backward(x, weight, grad_output, (True, *needs[1:]))
    return dx if needs[0] else None, dw, db


@misconception(
    "4.1b",
    "linear_backward",
    "dw is computed whether or not it is needed. What does a frozen layer spend on it?",
)
def computes_dw_all_the_same(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    dx, dw, db = _linear_backward(x, weight, grad_output, (needs[0], True, needs[2]))
    return dx, dw if needs[1] else None, db


@misconception(
    "4.1b",
    "linear_backward",
    "A sum over the samples is cheap, but not free. For whom is it computed when nobody needs db?",
)
def computes_db_all_the_same(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    dx, dw, db = _linear_backward(x, weight, grad_output, (*needs[:2], True))
    return dx, dw, db if needs[2] else None


@misconception(
    "4.1b",
    "linear_backward",
    "All three gradients come back whatever `needs` says. What does the docstring put in the place of the others?",
)
def ignores_what_is_needed(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    return _linear_backward(x, weight, grad_output, (True, True, True))


@misconception(
    "4.1b",
    "linear_backward",
    "A tensor of zeros says that the gradient is 0. What says that there is none?",
)
def zeros_for_what_is_not_needed(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    dx, dw, db = _linear_backward(x, weight, grad_output, needs)
    return (
        torch.zeros_like(x) if dx is None else dx,
        torch.zeros_like(weight) if dw is None else dw,
        weight.new_zeros(len(weight)) if db is None else db,
    )


@misconception(
    "4.1b",
    "linear_backward",
    "Only the needed gradients come back, so the caller cannot tell which they are. How long is the tuple always?",
)
def only_what_is_needed(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> tuple[Gradient, ...]:
    return tuple(made for made in _linear_backward(x, weight, grad_output, needs) if made is not None)


@misconception(
    "4.1b",
    "linear_backward",
    "The first two of `needs` have changed places. In which order do the gradients come back?",
)
def needs_in_another_order(
    x: torch.Tensor, weight: torch.Tensor, grad_output: torch.Tensor, needs: tuple[bool, bool, bool]
) -> Gradients:
    return _linear_backward(x, weight, grad_output, (needs[1], needs[0], needs[2]))


# 4.2 mlp_flops


def _products(batch: int, dims: tuple[int, ...], frozen: tuple[int, ...]) -> list[int]:
    """Return the FLOPs of each layer's product; ValueError where there is no such stack."""
    if len(dims) < 2:
        raise ValueError(f"dims {dims!r} make no layer")
    products = [2 * batch * dims[layer] * dims[layer + 1] for layer in range(len(dims) - 1)]
    for layer in frozen:
        if not 0 <= layer < len(products):
            raise ValueError(f"there is no layer {layer!r}")
    return products


def _backward(products: list[int], input_grad: bool, frozen: tuple[int, ...]) -> int:
    """Return the FLOPs of the backward pass through layers of these products."""
    first = -1 if input_grad else min(set(range(len(products))) - set(frozen), default=len(products))
    return sum(product * ((layer not in frozen) + (layer > first)) for layer, product in enumerate(products))


@misconception(
    "4.2",
    "mlp_flops",
    "Backward always takes twice the forward here. Who uses the gradient by the input of the first layer?",
)
def always_twice_the_forward(
    batch: int, dims: tuple[int, ...], input_grad: bool = False, frozen: tuple[int, ...] = ()
) -> tuple[int, int]:
    forward = sum(_products(batch, dims, frozen))
    return forward, 2 * forward


@misconception(
    "4.2",
    "mlp_flops",
    "Each frozen layer is right, but the first one's dx is counted even where nobody asks for it. What is before it?",
)
def first_dx_always_counted(
    batch: int, dims: tuple[int, ...], input_grad: bool = False, frozen: tuple[int, ...] = ()
) -> tuple[int, int]:
    products = _products(batch, dims, frozen)
    return sum(products), _backward(products, True, frozen)


@misconception(
    "4.2",
    "mlp_flops",
    "Frozen layers cost what all others do. Which of a layer's two products is for a weight that will not change?",
)
def frozen_layers_cost_as_much(
    batch: int, dims: tuple[int, ...], input_grad: bool = False, frozen: tuple[int, ...] = ()
) -> tuple[int, int]:
    products = _products(batch, dims, frozen)
    return sum(products), _backward(products, input_grad, ())


@misconception(
    "4.2",
    "mlp_flops",
    "Freezing a layer saves its dx here, and its dw is kept. Which of the two is the gradient of the frozen weight?",
)
def frozen_saves_dx_instead_of_dw(
    batch: int, dims: tuple[int, ...], input_grad: bool = False, frozen: tuple[int, ...] = ()
) -> tuple[int, int]:
    products = _products(batch, dims, frozen)
    backward = sum(
        product * (1 + (layer not in frozen and (input_grad or layer > 0))) for layer, product in enumerate(products)
    )
    return sum(products), backward


@misconception(
    "4.2",
    "mlp_flops",
    "Behind the input stand frozen layers only, and yet the gradient is led back through them. To whom?",
)
def dx_through_layers_that_nobody_trains(
    batch: int, dims: tuple[int, ...], input_grad: bool = False, frozen: tuple[int, ...] = ()
) -> tuple[int, int]:
    products = _products(batch, dims, frozen)
    backward = sum(
        product * ((layer not in frozen) + (input_grad or layer > 0)) for layer, product in enumerate(products)
    )
    return sum(products), backward


@misconception(
    "4.2",
    "mlp_flops",
    "A frozen layer ends the backward pass here. What may stand before it that still waits for a gradient?",
)
def frozen_stops_the_gradient(
    batch: int, dims: tuple[int, ...], input_grad: bool = False, frozen: tuple[int, ...] = ()
) -> tuple[int, int]:
    products = _products(batch, dims, frozen)
    start = max(frozen, default=-1) + 1
    wanted_before = input_grad and not frozen
    trained = products[start:]
    return sum(products), 2 * sum(trained) - (trained[0] if trained and not wanted_before else 0)


@misconception(
    "4.2",
    "mlp_flops",
    "The gradient by the input costs one layer's dx here. Through how many frozen layers must it come first?",
)
def input_gradient_costs_one_layer(
    batch: int, dims: tuple[int, ...], input_grad: bool = False, frozen: tuple[int, ...] = ()
) -> tuple[int, int]:
    products = _products(batch, dims, frozen)
    return sum(products), _backward(products, False, frozen) + (products[0] if input_grad else 0)


@misconception(
    "4.2",
    "mlp_flops",
    "One dx is left out, but that of the last layer. From which end does the gradient come?",
)
def last_dx_left_out(
    batch: int, dims: tuple[int, ...], input_grad: bool = False, frozen: tuple[int, ...] = ()
) -> tuple[int, int]:
    products = _products(batch, dims, frozen)
    backward = _backward(products, True, frozen)
    if not input_grad and backward:
        backward -= products[-1]
    return sum(products), backward


@misconception(
    "4.2",
    "mlp_flops",
    "Both numbers are half of what they should be. How many FLOPs are a multiplication and an addition?",
)
def multiply_adds_for_flops(
    batch: int, dims: tuple[int, ...], input_grad: bool = False, frozen: tuple[int, ...] = ()
) -> tuple[int, int]:
    products = [product // 2 for product in _products(batch, dims, frozen)]
    return sum(products), _backward(products, input_grad, frozen)


@misconception(
    "4.2",
    "mlp_flops",
    "Both numbers are a little too large: batch times the outputs for each layer. Do these layers have a bias?",
)
def bias_counted(
    batch: int, dims: tuple[int, ...], input_grad: bool = False, frozen: tuple[int, ...] = ()
) -> tuple[int, int]:
    products = _products(batch, dims, frozen)
    biases = [batch * out for out in dims[1:]]
    backward = sum(bias for layer, bias in enumerate(biases) if layer not in frozen)
    return sum(products) + sum(biases), _backward(products, input_grad, frozen) + backward


@misconception(
    "4.2",
    "mlp_flops",
    "Both numbers are a little too large: some FLOPs for each element of the result. Which work is counted here?",
)
def loss_counted(
    batch: int, dims: tuple[int, ...], input_grad: bool = False, frozen: tuple[int, ...] = ()
) -> tuple[int, int]:
    products = _products(batch, dims, frozen)
    loss = 3 * batch * dims[-1]
    return sum(products) + loss, _backward(products, input_grad, frozen) + loss


@misconception(
    "4.2",
    "mlp_flops",
    "Frozen layers are missing from the forward pass too. What does the layer behind them get as its input?",
)
def frozen_layers_skipped_forward(
    batch: int, dims: tuple[int, ...], input_grad: bool = False, frozen: tuple[int, ...] = ()
) -> tuple[int, int]:
    products = _products(batch, dims, frozen)
    forward = sum(product for layer, product in enumerate(products) if layer not in frozen)
    return forward, _backward(products, input_grad, frozen)


@misconception(
    "4.2",
    "mlp_flops",
    "A layer that doesn't exist was frozen, and nobody was told. Which numbers do the layers of this stack have?",
)
def any_number_may_be_frozen(
    batch: int, dims: tuple[int, ...], input_grad: bool = False, frozen: tuple[int, ...] = ()
) -> tuple[int, int]:
    products = _products(batch, dims, ())
    return sum(products), _backward(products, input_grad, frozen)


# 4.3 two_layer_gradients


@misconception(
    "4.3",
    "two_layer_gradients",
    "The mask is taken from the gradient's sign. Which number decided, forward, whether the ReLU let anything through?",
)
def mask_from_the_gradient(
    x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    h = (x @ w1).relu()
    difference = h @ w2 - y
    grad_p = 2 * difference / difference.numel()
    grad_h = grad_p @ w2.T
    return difference.square().mean(), x.T @ (grad_h * (grad_h > 0)), h.T @ grad_p


@misconception(
    "4.3",
    "two_layer_gradients",
    "A mask stands at p, and none at the ReLU. Between which two results of the forward pass is it?",
)
def mask_from_the_output(
    x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    h = (x @ w1).relu()
    p = h @ w2
    difference = p - y
    grad_p = 2 * difference / difference.numel() * (p > 0)
    return difference.square().mean(), x.T @ (grad_p @ w2.T), h.T @ grad_p


@misconception(
    "4.3",
    "two_layer_gradients",
    "dw1 is that of a network without a ReLU. What reaches the loss from a unit that is off?",
)
def mask_left_out(
    x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    h = (x @ w1).relu()
    difference = h @ w2 - y
    grad_p = 2 * difference / difference.numel()
    return difference.square().mean(), x.T @ (grad_p @ w2.T), h.T @ grad_p


@misconception(
    "4.3",
    "two_layer_gradients",
    "Where exactly 0 goes into the ReLU, a gradient comes back. What is the derivative there, by the docstring?",
)
def relu_lets_zero_through(
    x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    before_relu = x @ w1
    h = before_relu.relu()
    difference = h @ w2 - y
    grad_p = 2 * difference / difference.numel()
    return difference.square().mean(), x.T @ (grad_p @ w2.T * (before_relu >= 0)), h.T @ grad_p


@misconception(
    "4.3",
    "two_layer_gradients",
    "The loss is a mean, and both gradients are those of a sum. What does a mean over B * K elements divide by?",
)
def mean_not_divided(
    x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    before_relu = x @ w1
    h = before_relu.relu()
    difference = h @ w2 - y
    grad_p = 2 * difference
    return difference.square().mean(), x.T @ (grad_p @ w2.T * (before_relu > 0)), h.T @ grad_p


@misconception(
    "4.3",
    "two_layer_gradients",
    "Both gradients are divided by the number of samples. Over how many numbers is the mean of the loss taken?",
)
def mean_over_the_batch_only(
    x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    before_relu = x @ w1
    h = before_relu.relu()
    difference = h @ w2 - y
    grad_p = 2 * difference / len(x)
    return difference.square().mean(), x.T @ (grad_p @ w2.T * (before_relu > 0)), h.T @ grad_p


@misconception(
    "4.3",
    "two_layer_gradients",
    "Both gradients are half of what they should be. What is the derivative of a square?",
)
def two_of_the_square_forgotten(
    x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    before_relu = x @ w1
    h = before_relu.relu()
    difference = h @ w2 - y
    grad_p = difference / difference.numel()
    return difference.square().mean(), x.T @ (grad_p @ w2.T * (before_relu > 0)), h.T @ grad_p


@misconception(
    "4.3",
    "two_layer_gradients",
    "Both gradients point the other way. Does the loss grow or fall when p, already above y, grows further?",
)
def sign_turned(
    x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    before_relu = x @ w1
    h = before_relu.relu()
    difference = y - h @ w2
    grad_p = 2 * difference / difference.numel()
    return difference.square().mean(), x.T @ (grad_p @ w2.T * (before_relu > 0)), h.T @ grad_p


@misconception(
    "4.3",
    "two_layer_gradients",
    "dw2 is built from what went into the ReLU. What was w2 multiplied with in the forward pass?",
)
def dw2_from_before_the_relu(
    x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    before_relu = x @ w1
    difference = before_relu.relu() @ w2 - y
    grad_p = 2 * difference / difference.numel()
    return difference.square().mean(), x.T @ (grad_p @ w2.T * (before_relu > 0)), before_relu.T @ grad_p


@misconception(
    "4.3",
    "two_layer_gradients",
    "The ReLU is missing in the forward pass. What does the definition of h say?",
)
def relu_left_out(
    x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    h = x @ w1
    difference = h @ w2 - y
    grad_p = 2 * difference / difference.numel()
    return difference.square().mean(), x.T @ (grad_p @ w2.T), h.T @ grad_p


@misconception(
    "4.3",
    "two_layer_gradients",
    "The gradients have the shapes of w1.T and w2.T. What is subtracted from w1 in a step of the optimizer?",
)
def both_gradients_transposed(
    x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    before_relu = x @ w1
    h = before_relu.relu()
    difference = h @ w2 - y
    grad_p = 2 * difference / difference.numel()
    return difference.square().mean(), (grad_p @ w2.T * (before_relu > 0)).T @ x, grad_p.T @ h


@misconception(
    "4.3",
    "two_layer_gradients",
    "The gradients are right, and the loss is a sum. What is it divided by?",
)
def loss_summed(
    x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    before_relu = x @ w1
    h = before_relu.relu()
    difference = h @ w2 - y
    grad_p = 2 * difference / difference.numel()
    return difference.square().sum(), x.T @ (grad_p @ w2.T * (before_relu > 0)), h.T @ grad_p


@misconception(
    "4.3",
    "two_layer_gradients",
    "An operation whose name ends in _ has written over one of the arguments. Whose tensor was that?",
)
def targets_written_over(
    x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    before_relu = x @ w1
    h = before_relu.relu()
    difference = y.sub_(h @ w2).neg_()
    grad_p = 2 * difference / difference.numel()
    return difference.square().mean(), x.T @ (grad_p @ w2.T * (before_relu > 0)), h.T @ grad_p


# 4.4 accumulate_gradients


def _samples(micro_batches: MicroBatches) -> int:
    """Return how many samples there are in all."""
    return sum(len(inputs) for inputs, _ in micro_batches)


@misconception(
    "4.4",
    "accumulate_gradients",
    "The gradients of the micro-batches' means are added up as they are. What would four equal micro-batches give?",
)
def means_added_up(model: nn.Module, loss_fn: Loss, micro_batches: MicroBatches) -> float:
    mean_loss = 0.0
    for inputs, targets in micro_batches:
        loss = loss_fn(model(inputs), targets)
        loss.backward()
        mean_loss += loss.item() * len(inputs) / _samples(micro_batches)
    return mean_loss


@misconception(
    "4.4",
    "accumulate_gradients",
    "Each micro-batch has the same weight, also the one with a single sample. What should each sample count?",
)
def equal_weights_for_unequal_sizes(model: nn.Module, loss_fn: Loss, micro_batches: MicroBatches) -> float:
    mean_loss = 0.0
    for inputs, targets in micro_batches:
        loss = loss_fn(model(inputs), targets) / len(micro_batches)
        loss.backward()
        mean_loss += loss.item()
    return mean_loss


@misconception(
    "4.4",
    "accumulate_gradients",
    "All micro-batches are taken to be as large as the first. How large is the last one here?",
)
def all_as_large_as_the_first(model: nn.Module, loss_fn: Loss, micro_batches: MicroBatches) -> float:
    samples = len(micro_batches[0][0]) * len(micro_batches)
    mean_loss = 0.0
    for inputs, targets in micro_batches:
        loss = loss_fn(model(inputs), targets) * len(inputs) / samples
        loss.backward()
        mean_loss += loss.item()
    return mean_loss


@misconception(
    "4.4",
    "accumulate_gradients",
    "The gradients that were there before are gone. Whose were they?",
)
def old_gradients_dropped(model: nn.Module, loss_fn: Loss, micro_batches: MicroBatches) -> float:
    model.zero_grad()
    mean_loss = 0.0
    for inputs, targets in micro_batches:
        loss = loss_fn(model(inputs), targets) * (len(inputs) / _samples(micro_batches))
        loss.backward()
        mean_loss += loss.item()
    return mean_loss


@misconception(
    "4.4",
    "accumulate_gradients",
    "Only the last micro-batch is left in the gradients. What does zero_grad do to those before it?",
)
def zero_grad_for_each(model: nn.Module, loss_fn: Loss, micro_batches: MicroBatches) -> float:
    mean_loss = 0.0
    for inputs, targets in micro_batches:
        model.zero_grad()
        loss = loss_fn(model(inputs), targets) * (len(inputs) / _samples(micro_batches))
        loss.backward()
        mean_loss += loss.item()
    return mean_loss


@misconception(
    "4.4",
    "accumulate_gradients",
    "The weights move after every micro-batch, so the later ones see another model. Who takes the step, and when?",
)
def step_for_each(model: nn.Module, loss_fn: Loss, micro_batches: MicroBatches) -> float:
    mean_loss = 0.0
    for inputs, targets in micro_batches:
        loss = loss_fn(model(inputs), targets) * (len(inputs) / _samples(micro_batches))
        loss.backward()
        mean_loss += loss.item()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter.sub_(0.125 * parameter.grad)
    return mean_loss


@misconception(
    "4.4",
    "accumulate_gradients",
    "The micro-batches are put together again and go through at once. Why had they been taken apart?",
)
def whole_batch_at_once(model: nn.Module, loss_fn: Loss, micro_batches: MicroBatches) -> float:
    inputs, targets = (torch.cat(parts) for parts in zip(*micro_batches, strict=True))
    loss = loss_fn(model(inputs), targets)
    loss.backward()
    return loss.item()


@misconception(
    "4.4",
    "accumulate_gradients",
    "One backward pass stands at the end, so every micro-batch is still held until then. When could it have gone?",
)
def one_backward_at_the_end(model: nn.Module, loss_fn: Loss, micro_batches: MicroBatches) -> float:
    losses = [
        loss_fn(model(inputs), targets) * (len(inputs) / _samples(micro_batches)) for inputs, targets in micro_batches
    ]
    loss = torch.stack(losses).sum()
    loss.backward()
    return loss.item()


@misconception(
    "4.4",
    "accumulate_gradients",
    "The graph of a micro-batch outlives its backward pass. Who goes through it a second time?",
)
def graph_retained(model: nn.Module, loss_fn: Loss, micro_batches: MicroBatches) -> float:
    mean_loss = 0.0
    for inputs, targets in micro_batches:
        loss = loss_fn(model(inputs), targets) * (len(inputs) / _samples(micro_batches))
        loss.backward(retain_graph=True)
        mean_loss += loss.item()
    return mean_loss


@misconception(
    "4.4",
    "accumulate_gradients",
    "The sum is divided after the loop, and with it what stood in .grad before. What of it is yours to divide?",
)
def old_gradients_divided_too(model: nn.Module, loss_fn: Loss, micro_batches: MicroBatches) -> float:
    samples = _samples(micro_batches)
    mean_loss = 0.0
    for inputs, targets in micro_batches:
        loss = loss_fn(model(inputs), targets) * len(inputs)
        loss.backward()
        mean_loss += loss.item() / samples
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad /= samples
    return mean_loss


@misconception(
    "4.4",
    "accumulate_gradients",
    "The gradients are right, and the loss is the last micro-batch's. Whose mean is asked for?",
)
def last_loss_returned(model: nn.Module, loss_fn: Loss, micro_batches: MicroBatches) -> float:
    loss = torch.zeros(())
    for inputs, targets in micro_batches:
        loss = loss_fn(model(inputs), targets)
        (loss * (len(inputs) / _samples(micro_batches))).backward()
    return loss.item()


@misconception(
    "4.4",
    "accumulate_gradients",
    "The gradients are right, and the loss is the mean of the means. Does a sample in a small micro-batch count more?",
)
def mean_of_means_returned(model: nn.Module, loss_fn: Loss, micro_batches: MicroBatches) -> float:
    mean_loss = 0.0
    for inputs, targets in micro_batches:
        loss = loss_fn(model(inputs), targets)
        (loss * (len(inputs) / _samples(micro_batches))).backward()
        mean_loss += loss.item() / len(micro_batches)
    return mean_loss


@misconception(
    "4.4",
    "accumulate_gradients",
    "The loss comes back as a tensor that drags its graph along. Which Python type is promised?",
)
def loss_with_its_graph(model: nn.Module, loss_fn: Loss, micro_batches: MicroBatches) -> torch.Tensor:
    mean_loss = torch.zeros((), dtype=torch.float64)
    for inputs, targets in micro_batches:
        loss = loss_fn(model(inputs), targets) * (len(inputs) / _samples(micro_batches))
        loss.backward()
        mean_loss = mean_loss + loss
    return mean_loss


@misconception(
    "4.4",
    "accumulate_gradients",
    "A frozen parameter is asked for its gradient. Which flag says that it has none?",
)
def frozen_parameters_thawed(model: nn.Module, loss_fn: Loss, micro_batches: MicroBatches) -> float:
    mean_loss = 0.0
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    for inputs, targets in micro_batches:
        loss = loss_fn(model(inputs), targets) * (len(inputs) / _samples(micro_batches))
        loss.backward()
        mean_loss += loss.item()
    return mean_loss
