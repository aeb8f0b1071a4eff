"""Looks at part 4: the student's gradients, and what was computed and held to get them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.probes.inputs import make, make_tensors

# Operations that multiply matrices, and where among their arguments the first factor stands.
PRODUCTS = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "vdot": 0, "addmm": 1, "addmv": 1, "addbmm": 1, "baddbmm": 1}
# What computes otherwise; all that is in no list makes, moves or shows elements.
SUMS = frozenset(("sum", "mean", "cumsum"))
ELEMENTWISE = frozenset(("add", "sub", "rsub", "mul", "div", "neg", "pow", "addcmul", "addr"))


def linear_backward(backward: Any, bases: Any, tensors: Any) -> Any:
    """See all three gradients of a linear layer."""
    return backward.linear_backward(*make_tensors(bases, tensors), (True, True, True))


def linear_backward_flops(backward: Any, bases: Any, tensors: Any, needs: Any) -> Any:
    """See which gradients of a linear layer there are, and the FLOPs that they took."""
    inputs = make_tensors(bases, tensors)
    with _Flops() as counted:  # type: ignore[no-untyped-call]
        made = backward.linear_backward(*inputs, needs)
    if type(made) is tuple:
        made = tuple("tensor" if isinstance(gradient, torch.Tensor) else gradient for gradient in made)
    return {"gradients": made, "flops": counted.flops}


def mlp_flops(backward: Any, batch: Any, dims: Any, more: Any) -> Any:
    """See what the two passes of a stack of layers are said to cost."""
    return backward.mlp_flops(batch, dims, **more)


def two_layer_gradients(backward: Any, bases: Any, tensors: Any) -> Any:
    """See loss and gradients of two layers, and which arguments were changed on the way."""
    inputs = make_tensors(bases, tensors)
    before = [tensor.clone() for tensor in inputs]
    made = backward.two_layer_gradients(*inputs)
    pairs = zip(("x", "w1", "w2", "y"), inputs, before, strict=True)
    return {"answer": made, "changed": [name for name, now, then in pairs if not torch.equal(now, then)]}


def accumulate_gradients(backward: Any, bases: Any, sizes: Any, seed: Any, frozen: Any, held: Any) -> Any:
    """See the loss, all gradients and weights after some micro-batches, and how much was held for them at once."""
    x, y = batch = [make(*base) for base in bases]
    model = _model(x.shape[1], y.shape[1], seed, frozen, held)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    micro_batches = list(zip(*(torch.split(whole, sizes) for whole in batch), strict=True))
    activations = _Activations()
    model[0].register_forward_pre_hook(activations.begin)  # model.forward(...) passes by the model's own hooks
    with saved_tensors_hooks(activations.hold, lambda saved: saved.tensor):
        loss = backward.accumulate_gradients(model, torch.nn.functional.mse_loss, micro_batches)
    parameters = dict(model.named_parameters())
    return {
        "loss": loss,
        **{f"{name}.grad": parameter.grad for name, parameter in parameters.items()},
        "changed": [name for name, parameter in parameters.items() if not torch.equal(parameter, before[name])],
        "samples_held": activations.worst,
    }


def _model(width: int, out: int, seed: int, frozen: str | None, held: bool) -> torch.nn.Sequential:
    """Return a network of two layers with weights that are no matter of chance; its twin in text is with the checks."""
    hidden = width + 1
    model = torch.nn.Sequential(torch.nn.Linear(width, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, out)).double()
    for place, (name, parameter) in enumerate(model.named_parameters()):
        parameter.data = make("numbers", tuple(parameter.shape), "float64", seed + place)
        parameter.requires_grad_(name != frozen)
        parameter.grad = torch.ones_like(parameter) if held and parameter.requires_grad else None
    return model


class _Flops(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the FLOPs of what runs inside, by three rules.

    A product of matrices takes 2mnp. A sum takes 2 for each element that goes in, like the product with ones that it
    could be, so that both may be written. Other arithmetic takes 1 for each element of the largest tensor.
    """

    flops = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first operation imports the compiler, which takes seconds

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        name = function._schema.name.removeprefix("aten::").removesuffix("_")  # add_ adds too
        if name in PRODUCTS:
            first, second = args[PRODUCTS[name]], args[PRODUCTS[name] + 1]
            self.flops += 2 * first.numel() * (second.shape[-1] if second.dim() > 1 else 1)
        elif name in SUMS:
            self.flops += 2 * args[0].numel()
        elif name in ELEMENTWISE:
            self.flops += max(thing.numel() for thing in (made, *args) if isinstance(thing, torch.Tensor))
        return made


class _Activations:
    """Watches whose activations are held for a backward pass at the same time.

    `worst` is how many samples went through each of those forward passes, when they were the most in all.
    """

    def __init__(self) -> None:
        self.worst: list[int] = []
        self._samples = [0]  # of each forward pass; before the first there are none
        self._held: Counter[int] = Counter()  # tensors that are held, by the forward pass that saved them

    def begin(self, module: torch.nn.Module, inputs: Any) -> None:
        """Notice that a forward pass begins."""
        self._samples.append(len(inputs[0]))

    def hold(self, tensor: torch.Tensor) -> _Saved:
        """Notice that a tensor is kept for the backward pass."""
        saved = _Saved(tensor, self._held, len(self._samples) - 1)
        now = [self._samples[i] for i, tensors in self._held.items() if tensors]
        self.worst = max(self.worst, now, key=sum)
        return saved


class _Saved:
    """What autograd holds in place of a tensor; it is let go of together with the graph."""

    def __init__(self, tensor: torch.Tensor, held: Counter[int], forward_pass: int) -> None:
        self.tensor = tensor.detach()  # a result that knew its graph would keep the graph that keeps it
        self._held, self._forward_pass = held, forward_pass
        held[forward_pass] += 1

    def __del__(self) -> None:
        self._held[self._forward_pass] -= 1
