"""Looks at part 3: what the student's code counts, promises and times.

The programs that a FlopCounter is to watch stand below. Each is shown to students word for word, with its sizes in
front: `checks/programs.py` reads it here.
"""

from __future__ import annotations

from typing import Any

import torch
import torch._dynamo  # checkpoint would import it under the counter, which would see operators of its own
import torch.utils.checkpoint

# A program's name says what it does:
# ruff: noqa: D103
# Tensor.backward has no types:
# mypy: allow-untyped-calls

# The operators that do products and are looked for among the uncounted. Of all others nothing is asked.
LOOKED_FOR = (
    "addbmm", "addmv", "_cdist_forward", "linalg_inv_ex", "_linalg_solve_ex", "linalg_matrix_exp", "_trilinear", "vdot",
    "mm", "bmm",
)  # fmt: skip


def matmul_flops(flops: Any, a_shape: Any, b_shape: Any) -> Any:
    """See the FLOPs of one product."""
    return flops.matmul_flops(a_shape, b_shape)


def transformer_flops(flops: Any, config: Any, batch: Any, sequence: Any) -> Any:
    """See the FLOPs of a forward pass."""
    return flops.transformer_flops(flops.TransformerConfig(**config), batch, sequence)


def counted(flops: Any, program: Any, sizes: Any) -> Any:
    """See what a counter counts of a program."""
    counter = flops.FlopCounter()
    _run(program, counter, sizes)
    return {"by_op": {str(name): count for name, count in dict(counter.by_op).items()}, "total": counter.total}


def uncounted(flops: Any, program: Any, sizes: Any) -> Any:
    """See which operators that do products a counter says that it did not count."""
    counter = flops.FlopCounter()
    _run(program, counter, sizes)
    listed = map(str, counter.uncounted)  # a name may stand in something longer, such as aten.addmv.default
    return sorted(name for name in listed if not set(name.replace("::", ".").split(".")).isdisjoint(LOOKED_FOR))


def peak_flops(flops: Any, device_name: Any, dtype: Any) -> Any:
    """See a device's promise."""
    return flops.peak_flops(device_name, dtype)


def mfu(flops: Any, step: Any, peak: Any) -> Any:
    """See the utilization by the model's FLOPs."""
    return flops.mfu(flops.Step(**step), peak)


def hfu(flops: Any, step: Any, peak: Any) -> Any:
    """See the utilization by all FLOPs done."""
    return flops.hfu(flops.Step(**step), peak)


def arithmetic_intensity(flops: Any, work: Any, moved_bytes: Any) -> Any:
    """See FLOPs per byte."""
    return flops.arithmetic_intensity(work, moved_bytes)


def matmul_bytes(flops: Any, m: Any, k: Any, n: Any, dtype: Any) -> Any:
    """See the bytes that a product moves."""
    return flops.matmul_bytes(m, k, n, dtype)


def roofline_seconds(flops: Any, work: Any, moved_bytes: Any, peak: Any, bandwidth: Any) -> Any:
    """See the least time of a kernel and what it waits for."""
    return flops.roofline_seconds(work, moved_bytes, peak, bandwidth)


def benchmark(flops: Any, durations: Any, waiting: Any, warmup: Any, repeats: Any) -> Any:
    """See the median of what a simulated device takes, and whether its work was counted whole and alone."""
    device = Device(durations, waiting)
    seconds = flops.benchmark(device.work, warmup, repeats, device.clock, device.synchronize)
    return {"calls of fn": device.calls, "clock read too early": device.read_too_early, "seconds": seconds}


class Device:
    """A device that works by itself, and a clock that only moves when somebody waits. The same on every machine."""

    LAUNCH_S = 0.125  # to hand it work

    def __init__(self, durations: Any, waiting: Any) -> None:
        self._durations = durations  # of the first call, the second, ...; of all further ones the last
        self._now = 100.0
        self._idle_from = self._now + waiting  # somebody else's work
        self.calls = 0
        self.read_too_early = 0  # times that the clock was read with work left to do

    def work(self) -> None:
        """Hand over the work of one call."""
        self._now += self.LAUNCH_S
        took = self._durations[min(self.calls, len(self._durations) - 1)]
        self._idle_from = max(self._now, self._idle_from) + took
        self.calls += 1

    def synchronize(self) -> None:
        """Wait until nothing is left to do."""
        self._now = max(self._now, self._idle_from)

    def clock(self) -> float:
        """Return the time."""
        self.read_too_early += self._idle_from > self._now
        return self._now


def _run(program: str, counter: Any, sizes: dict[str, int]) -> None:
    PROGRAMS[program](counter, **sizes)


# --- 3.3a: matmuls, forward and backward ------------------------------------------------------------------------------


def product(counter: Any, m: int, k: int, n: int) -> None:
    a, b = torch.ones(m, k), torch.ones(k, n)
    with counter:
        torch.matmul(a, b)


def batched_product(counter: Any, b: int, m: int, k: int, n: int) -> None:
    x, y = torch.ones(b, m, k), torch.ones(b, k, n)
    with counter:
        torch.matmul(x, y)


def linear_layer(counter: Any, m: int, k: int, n: int) -> None:
    x, weight, bias = torch.ones(m, k), torch.ones(n, k), torch.ones(n)
    with counter:
        torch.nn.functional.linear(x, weight, bias)


def product_into_a_tensor(counter: Any, m: int, k: int, n: int) -> None:
    bias, x, weight, out = torch.ones(n), torch.ones(m, k), torch.ones(k, n), torch.empty(m, n)
    with counter:
        torch.addmm(bias, x, weight, out=out)


def matrix_and_vector(counter: Any, m: int, k: int) -> None:
    a, x = torch.ones(m, k), torch.ones(k, requires_grad=True)
    with counter:
        torch.matmul(a, x).sum().backward()


def two_vectors(counter: Any, k: int) -> None:
    x, y = torch.ones(k), torch.ones(k)
    with counter:
        torch.matmul(x, y)


def sum_of_products(counter: Any, b: int, m: int, k: int, n: int) -> None:
    start, x, y = torch.ones(b, m, n), torch.ones(b, m, k, requires_grad=True), torch.ones(b, k, n, requires_grad=True)
    with counter:
        torch.baddbmm(start, x, y).sum().backward()


def training_step(counter: Any, m: int, k: int, h: int, n: int) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(k, h), torch.nn.ReLU(), torch.nn.Linear(h, n))
    x = torch.ones(m, k)
    with counter:
        model(x).sum().backward()


def backward_pass_alone(counter: Any, m: int, k: int, n: int) -> None:
    x, w = torch.ones(m, k, requires_grad=True), torch.ones(k, n, requires_grad=True)
    loss = torch.matmul(x, w).sum()
    with counter:
        loss.backward()


def weight_used_twice(counter: Any, m: int, n: int) -> None:
    x, w = torch.ones(m, n), torch.ones(n, n, requires_grad=True)
    with counter:
        torch.matmul(torch.matmul(x, w), w).sum().backward()


def attention_by_hand(counter: Any, b: int, h: int, s: int, d: int) -> None:
    q, k, v = (torch.ones(b, h, s, d, requires_grad=True) for _ in range(3))
    with counter:
        scores = torch.matmul(q, k.transpose(-2, -1))
        torch.matmul(torch.softmax(scores, dim=-1), v).sum().backward()


def recomputed_in_backward(counter: Any, m: int, k: int, h: int, n: int) -> None:
    layers = torch.nn.Sequential(torch.nn.Linear(k, h), torch.nn.Tanh(), torch.nn.Linear(h, n), torch.nn.Tanh())
    x = torch.ones(m, k, requires_grad=True)
    with counter:
        torch.utils.checkpoint.checkpoint(layers, x, use_reentrant=False).sum().backward()


def gradient_of_a_gradient(counter: Any, m: int, k: int, n: int) -> None:
    x, w = torch.ones(m, k, requires_grad=True), torch.ones(k, n, requires_grad=True)
    with counter:
        (grad,) = torch.autograd.grad(torch.matmul(x, w).pow(2).sum(), w, create_graph=True)
        grad.sum().backward()


def no_product(counter: Any, m: int, k: int) -> None:
    x = torch.ones(m, k, requires_grad=True)
    with counter:
        torch.softmax(torch.relu(x), dim=-1).sum().backward()


# --- 3.3b: convolution and attention ----------------------------------------------------------------------------------


def convolution(counter: Any, b: int, i: int, o: int, size: int) -> None:
    x, weight = torch.ones(b, i, size), torch.ones(o, i, 3)
    with counter:
        torch.conv1d(x, weight, stride=2, padding=1)


def convolution_step(counter: Any, b: int, i: int, o: int, size: int) -> None:
    x, weight, bias = torch.ones(b, i, size, 6), torch.ones(o, i, 3, 2, requires_grad=True), torch.ones(o)
    with counter:
        torch.conv2d(x, weight, bias.requires_grad_()).sum().backward()


def grouped_convolution_step(counter: Any, b: int, g: int, i: int, o: int, size: int) -> None:
    x = torch.ones(b, g * i, size, requires_grad=True)
    weight = torch.ones(g * o, i, 3, requires_grad=True)
    with counter:
        torch.conv1d(x, weight, groups=g).sum().backward()


def convolution_with_frozen_weight(counter: Any, b: int, i: int, o: int, size: int) -> None:
    x, weight = torch.ones(b, i, size, requires_grad=True), torch.ones(o, i, 3)
    with counter:
        torch.conv1d(x, weight).sum().backward()


def transposed_convolution(counter: Any, b: int, i: int, o: int, size: int) -> None:
    x, weight = torch.ones(b, i, size, size), torch.ones(i, o, 3, 2)
    with counter:
        torch.conv_transpose2d(x, weight, stride=2, padding=1)


def transposed_convolution_step(counter: Any, b: int, g: int, i: int, o: int, size: int) -> None:
    x = torch.ones(b, g * i, size, requires_grad=True)
    weight = torch.ones(g * i, o, 3, requires_grad=True)
    with counter:
        torch.conv_transpose1d(x, weight, stride=2, groups=g).sum().backward()


def attention(counter: Any, b: int, h: int, s: int, t: int, d: int) -> None:
    q, k, v = torch.ones(b, h, s, d), torch.ones(b, h, t, d), torch.ones(b, h, t, d)
    with counter:
        torch.nn.functional.scaled_dot_product_attention(q, k, v)


def attention_step(counter: Any, b: int, h: int, s: int, d: int) -> None:
    q, k, v = (torch.ones(b, h, s, d, requires_grad=True) for _ in range(3))
    with counter:
        torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()


def attention_as_on_a_gpu(counter: Any, b: int, h: int, s: int, t: int, d: int) -> None:
    q, k, v = (torch.ones(b, h, size, d, device="meta", requires_grad=True) for size in (s, t, t))
    with counter:
        torch.ops.aten._scaled_dot_product_flash_attention(q, k, v)[0].sum().backward()


def attention_with_wide_values(counter: Any, b: int, h: int, s: int, t: int, d: int, e: int) -> None:
    q, k, v = (torch.ones(b, h, *size, device="meta", requires_grad=True) for size in ((s, d), (t, d), (t, e)))
    with counter:
        torch.ops.aten._scaled_dot_product_efficient_attention(q, k, v, None, True)[0].sum().backward()


# --- 3.3c: what is not counted ----------------------------------------------------------------------------------------


def matrix_vector_and_a_bias(counter: Any, m: int, k: int) -> None:
    bias, a, x = torch.ones(m), torch.ones(m, k), torch.ones(k)
    with counter:
        torch.addmv(bias, a, x)


def products_summed_over_the_batch(counter: Any, b: int, m: int, k: int, n: int) -> None:
    bias, x, y = torch.ones(m, n), torch.ones(b, m, k), torch.ones(b, k, n)
    with counter:
        torch.addbmm(bias, x, y)
        torch.bmm(x, y)


def distances(counter: Any, m: int, k: int, n: int) -> None:
    x, y = torch.ones(m, k), torch.ones(n, k)
    with counter:
        torch.cdist(x, y)


def bilinear_layer(counter: Any, b: int, m: int, k: int, n: int) -> None:
    x, y, weight = torch.ones(b, m), torch.ones(b, k), torch.ones(n, m, k)
    with counter:
        torch.mm(torch.bilinear(x, y, weight, None), torch.ones(n, m))


def solved_equations(counter: Any, m: int, n: int) -> None:
    a, b = torch.eye(m), torch.ones(m, n)
    with counter:
        torch.mm(torch.linalg.inv(a), torch.linalg.solve(a, b))


def exponential_of_a_matrix(counter: Any, m: int) -> None:
    a = torch.zeros(m, m)
    with counter:
        torch.linalg.matrix_exp(a)


def complex_vectors(counter: Any, k: int) -> None:
    x = torch.ones(k, dtype=torch.complex64)
    with counter:
        torch.vdot(x, x)


def counted_products_alone(counter: Any, b: int, m: int, k: int) -> None:
    x, w = torch.ones(b, m, k), torch.ones(k, k, requires_grad=True)
    with counter:
        scores = torch.bmm(torch.nn.functional.linear(x, w), x.transpose(-2, -1))
        torch.softmax(scores, dim=-1).sum().backward()


PROGRAMS = {
    program.__name__: program
    for program in (
        product, batched_product, linear_layer, product_into_a_tensor, matrix_and_vector, two_vectors, sum_of_products,
        training_step, backward_pass_alone, weight_used_twice, attention_by_hand, recomputed_in_backward,
        gradient_of_a_gradient, no_product,
        convolution, convolution_step, grouped_convolution_step, convolution_with_frozen_weight, transposed_convolution,
        transposed_convolution_step, attention, attention_step, attention_as_on_a_gpu, attention_with_wide_values,
        matrix_vector_and_a_bias, products_summed_over_the_batch, distances, bilinear_layer, solved_equations,
        exponential_of_a_matrix, complex_vectors, counted_products_alone,
    )
}  # fmt: skip
