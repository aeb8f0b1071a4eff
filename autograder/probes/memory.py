"""Looks at part 5: what the student's code counts, keeps, and computes a second time.

Functions of tensors come as chains of methods; a text among the arguments names a tensor or a plain input.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch._dynamo  # which a dispatch mode and a checkpoint would import on their first use, for seconds
import torch.utils.checkpoint
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from autograder.probes.inputs import apply, make


def saved_bytes(
    memory: Any, tensors: Any, inputs: Any, parameters: Any, chains: Any, returns: str, walked_once: bool
) -> Any:
    """See the bytes that autograd is said to save for a function of some inputs."""
    made = _make_all(tensors)

    def fn(*values: Any) -> Any:
        known = {**made, **dict(zip(inputs, values, strict=True))}
        results = [_follow(chain, known) for chain in chains]
        return {"tensor": results[0], "tuple": tuple(results), "dict": {"out": results, "count": len(results)}}[returns]

    apart = [made[name] for name in parameters]
    return memory.saved_bytes(fn, *(made[name] for name in inputs), parameters=iter(apart) if walked_once else apart)


def gradients(memory: Any, tensors: Any, plain: Any, inputs: Any, chain: Any, last: Any, form: str) -> Any:
    """See result and gradients of a checkpointed function: alone, one after another, or one within another."""
    made = _make_all(tensors)

    def finish(h: Any) -> Any:
        return _follow(("h", last), {"h": h})

    def fn(*values: Any) -> Any:
        h = _follow(chain, {**made, **dict(zip(inputs, values, strict=True))})
        if form == "nested":
            return memory.checkpoint(finish, h)
        return h if form == "in a row" else finish(h)

    out = memory.checkpoint(fn, *({**made, **plain}[name] for name in inputs))
    if form == "in a row":
        out = memory.checkpoint(finish, out)
    if form == "overwritten":
        with torch.no_grad():
            made["x"].mul_(2.0)
    (out * out).sum().backward()
    grads = {f"{name}.grad": x.grad for name, x in made.items() if x.is_floating_point()}
    return {"out": out, **grads}


def cost(memory: Any, tensors: Any, inputs: Any, chain: Any) -> Any:
    """See how often a checkpointed function runs, and what is held between the two passes."""
    made = _make_all(tensors)
    runs: list[str] = []
    passes: list[torch.Tensor] = []

    def fn(*values: Any) -> Any:
        runs.append("recorded" if torch.is_grad_enabled() else "not recorded")
        h = _follow(chain, {**made, **dict(zip(inputs, values, strict=True))})
        if h.requires_grad:
            h.register_hook(passes.append)
        return h

    with _Alive(made.values()) as alive:
        out = memory.checkpoint(fn, *(made[name] for name in inputs))
    kept = alive.bytes_but(out)
    forward = tuple(runs)
    out.sum().backward()
    return {
        "runs in the forward pass": forward,
        "bytes kept beside inputs and result": kept,
        "runs in the backward pass": tuple(runs[len(forward) :]),
        "gradients sent back through fn": len(passes),
    }


def random_numbers(memory: Any, seed: int, before: int, between: int, draws: Any, form: str) -> Any:
    """See whether a checkpointed function draws the same numbers twice, and leaves the generator as it should be."""

    def plainly(fn: Callable[[Any], Any], h: Any) -> Any:
        return fn(h)

    plain, after_plain, _, _ = _drawn(plainly, seed, before, between, draws, form)
    runs, after_forward, at_backward, at_end = _drawn(memory.checkpoint, seed, before, between, draws, form)
    return {
        "the forward pass draws what a plain run draws": all(_same(runs[name][0], plain[name][0]) for name in plain),
        "and leaves the generator where that leaves it": torch.equal(after_forward, after_plain),
        "the backward pass draws the same again": all(_same(run, some[0]) for some in runs.values() for run in some),
        "and leaves the generator where it found it": torch.equal(at_end, at_backward),
    }


def checkpoint_sequential(memory: Any, x: Any, needs_grad: bool, weights: Any, segments: Any) -> Any:
    """See the result, the gradients, and which functions run when."""
    x, w = make(*x).requires_grad_(needs_grad), make(*weights).requires_grad_()
    runs: list[int] = []

    def step(place: int) -> Callable[[Any], Any]:
        def run(h: Any) -> Any:
            runs.append(place)
            return (h + w[place]).abs()

        return run

    out = memory.checkpoint_sequential([step(place) for place in range(len(w))], x, segments)
    forward = tuple(runs)
    (out * out).sum().backward()
    seen = {"runs in the forward pass": forward, "runs in the backward pass": tuple(runs[len(forward) :])}
    return {**seen, "out": out, "x.grad": x.grad, "w.grad": w.grad}


def best_segments(memory: Any, layers: Any, per_layer: Any) -> Any:
    """See the number of segments that is taken to be best."""
    return memory.best_segments(layers, per_layer)


def activation_bytes(
    memory: Any, batch: Any, sequence: Any, hidden: Any, heads: Any, layers: Any, recompute: Any
) -> Any:
    """See the bytes of a transformer's activations."""
    return memory.activation_bytes(batch, sequence, hidden, heads, layers, recompute)


def bytes_per_parameter(memory: Any, recipe: Any) -> Any:
    """See what a recipe is taken to hold for each parameter."""
    dtypes = {name: getattr(torch, text) if text and name != "optimizer" else text for name, text in recipe.items()}
    return memory.bytes_per_parameter(memory.Recipe(**dtypes))


def training_gb(memory: Any, parameters: Any, per_parameter_bytes: Any, activation_bytes: Any) -> Any:
    """See what a run is taken to hold."""
    return memory.training_gb(parameters, per_parameter_bytes, activation_bytes)


class _Alive(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch has no types for it
    """Follows the storages that are made while it is entered: which of them are still alive."""

    def __init__(self, known: Iterable[torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._known = {x.untyped_storage()._cdata for x in known}  # of which views may be made
        self._bytes: dict[int, int] = {}  # by address of the storage object, which is its own as long as it lives

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for x in tree_leaves(out):
            # Activations are what is asked about: no random state, no mark of one element.
            if isinstance(x, torch.Tensor) and x.is_floating_point() and x.numel() > 1:
                storage = x.untyped_storage()
                if storage._cdata not in self._known and storage._cdata not in self._bytes:
                    self._bytes[storage._cdata] = storage.nbytes()
                    weakref.finalize(storage, self._bytes.pop, storage._cdata, None)
        return out

    def bytes_but(self, x: torch.Tensor) -> int:
        """Return the bytes that are alive now, without the storage of `x`."""
        return sum(size for address, size in self._bytes.items() if address != x.untyped_storage()._cdata)


def _make_all(tensors: Any) -> dict[str, torch.Tensor]:
    """Return tensors by name: each is a base, the operations that lead from it, and whether it needs a gradient."""
    return {name: apply(make(*base), steps).requires_grad_(grad) for name, (base, steps, grad) in tensors.items()}


def _follow(chain: Any, known: Any) -> Any:
    start, steps = chain
    h = known[start]
    for method, arguments in steps:
        h = getattr(h, method)(*(known[a] if isinstance(a, str) else a for a in arguments))
    return h


def _drawn(checkpoint: Callable[..., Any], seed: int, before: int, between: int, draws: Any, form: str) -> Any:
    """Return what each function drew in each of its runs, and the generator's state at three times."""
    torch.default_generator.manual_seed(seed)  # what torch.manual_seed does on a CPU, without a look at every device
    torch.rand(before)
    runs: dict[str, list[list[torch.Tensor]]] = {}

    def noisy(name: str) -> Callable[[Any], Any]:
        def fn(h: torch.Tensor) -> torch.Tensor:
            drawn = [_DRAW[kind](h) for kind in draws]
            runs.setdefault(name, []).append(drawn)
            return h * sum(drawn)

        return fn

    def both(h: torch.Tensor) -> Any:
        return noisy("first")(h) + checkpoint(noisy("second"), h)

    x = torch.ones(16, requires_grad=True)
    out = checkpoint(both if form == "nested" else noisy("first"), x)
    out = out + checkpoint(noisy("second"), x) if form == "side by side" else out
    after_forward = torch.get_rng_state()
    torch.rand(between)
    at_backward = torch.get_rng_state()
    out.sum().backward()
    return runs, after_forward, at_backward, torch.get_rng_state()


_DRAW: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "rand": torch.rand_like,
    "randn": torch.randn_like,
    "dropout": lambda h: torch.nn.functional.dropout(torch.ones_like(h)),
}


def _same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return len(one) == len(other) and all(map(torch.equal, one, other))
