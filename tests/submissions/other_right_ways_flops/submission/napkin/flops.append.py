import statistics
from collections import defaultdict
from fractions import Fraction
from functools import reduce
from operator import mul

import torch


def matmul_flops(a_shape, b_shape):
    try:
        return _flops(a_shape, b_shape)
    except ValueError:
        raise ValueError(f"{a_shape} times {b_shape}") from None


def _flops(a_shape, b_shape):
    """One batch dimension after the other, from the front."""
    if len(a_shape) == 0 or len(b_shape) == 0:
        raise ValueError
    if len(a_shape) == 1:
        return _flops((1,) + a_shape, b_shape)
    if len(b_shape) == 1:
        return _flops(a_shape, b_shape + (1,))
    if len(a_shape) < len(b_shape):
        return _flops((1,) * (len(b_shape) - len(a_shape)) + a_shape, b_shape)
    if len(b_shape) < len(a_shape):
        return _flops(a_shape, (1,) * (len(a_shape) - len(b_shape)) + b_shape)
    if len(a_shape) == 2:
        (m, k), (also_k, n) = a_shape, b_shape
        if k != also_k:
            raise ValueError
        return m * n * (k + k)
    a, b = a_shape[0], b_shape[0]
    if 1 not in (a, b) and a != b:
        raise ValueError
    return (a if b == 1 else b) * _flops(a_shape[1:], b_shape[1:])


def transformer_flops(config, batch, sequence):
    """The shapes of all products, multiplied out."""
    tokens, width = batch * sequence, config.hidden // config.heads
    layer = [
        (tokens, config.hidden, config.heads * width),
        (tokens, config.hidden, config.kv_heads * width),
        (tokens, config.hidden, config.kv_heads * width),
        (batch * config.heads, sequence, width, sequence),
        (batch * config.heads, sequence, sequence, width),
        (tokens, config.heads * width, config.hidden),
        (tokens, config.hidden, config.feed_forward),
        (tokens, config.feed_forward, config.hidden),
    ]
    if config.gated:
        layer.append((tokens, config.hidden, config.feed_forward))
    shapes = layer * config.layers + [(tokens, config.hidden, config.vocabulary)]
    return 2 * sum(reduce(mul, shape) for shape in shapes)


def _attend(query, key, value):
    b, h, s, d = query.shape
    return 2 * b * h * s * key.shape[2] * (d + value.shape[3])


def _attend_backward(_, query, key, value):
    b, h, s, d = query.shape
    return 2 * b * h * s * key.shape[2] * (3 * d + 2 * value.shape[3])


FORMULAS = {
    "mm": lambda a, b: 2 * a.shape[0] * a.shape[1] * b.shape[1],
    "addmm": lambda c, a, b: 2 * a.shape[0] * a.shape[1] * b.shape[1],
    "bmm": lambda a, b: 2 * a.shape[0] * a.shape[1] * a.shape[2] * b.shape[2],
    "baddbmm": lambda c, a, b: 2 * a.shape[0] * a.shape[1] * a.shape[2] * b.shape[2],
    "mv": lambda a, x: 2 * a.shape[0] * a.shape[1],
    "dot": lambda x, y: 2 * len(x),
}
for _kind in ("flash_attention_for_cpu", "flash_attention", "efficient_attention", "cudnn_attention"):
    FORMULAS[f"_scaled_dot_product_{_kind}"] = lambda *args: _attend(*args[:3])
    FORMULAS[f"_scaled_dot_product_{_kind}_backward"] = lambda *args: _attend_backward(*args[:4])


class FlopCounter(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.by_op = defaultdict(int)
        self.uncounted = []

    @property
    def total(self):
        return sum(self.by_op.values())

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = func._schema.name.removeprefix("aten::")
        if name == "convolution":
            self.by_op[name] += self._convolution(args[0], args[1], out, args[6])
        elif name == "convolution_backward":
            grad, x, weight, *_ = args
            wanted = [flag for flag in args[-1][:2] if flag]
            self.by_op[name] += len(wanted) * self._convolution(x, weight, grad, args[7])
        elif name in FORMULAS:
            self.by_op[name] += FORMULAS[name](*args)
        elif not func.is_view and torch.Tag.pointwise not in func.tags:
            self.uncounted.append(name)
        return out

    def _convolution(self, x, weight, y, transposed):
        """Every weight once for each sequence and each place that its filter is put to."""
        small = x if transposed else y
        places = small.shape[0] * small.shape[2:].numel()
        return 2 * places * weight.numel()


def peak_flops(device_name, dtype):
    row = {name: row for row in SHEET for name in row.names}.get(device_name)
    if row is None:
        raise ValueError(f"unknown: {device_name!r}")
    if dtype == "float32":
        return row.fp32 * 10**12
    short = {"tf32": row.tf32, "bfloat16": row.bf16, "float16": row.fp16, "float8_e4m3fn": row.fp8}
    if short.get(dtype) is None:
        raise ValueError(f"not in hardware: {dtype!r}")
    return short[dtype] * (10**12 / (1 + row.with_sparsity))


def _rate(work, step, peak):
    if min(step.seconds, step.devices, peak) <= 0:
        raise ValueError(f"not positive: {step.seconds!r}, {step.devices!r} or {peak!r}")
    per_device = work / step.devices / step.seconds
    return per_device / peak


def mfu(step, peak):
    return _rate(step.model_flops, step, peak)


def hfu(step, peak):
    return _rate(step.model_flops + step.recomputed_flops, step, peak)


def arithmetic_intensity(flops, moved_bytes):
    if moved_bytes <= 0:
        raise ValueError(repr(moved_bytes))
    return float(Fraction(flops, moved_bytes))


def matmul_bytes(m, k, n, dtype):
    if dtype not in ("float32", "tf32", "bfloat16", "float16", "float8_e4m3fn"):
        raise ValueError(f"{dtype!r}?")
    stored = getattr(torch, dtype.replace("tf32", "float32"))
    return sum(torch.empty(shape, dtype=stored, device="meta").nbytes for shape in ((m, k), (k, n), (m, n)))


def roofline_seconds(flops, moved_bytes, peak, bandwidth):
    for rate in (peak, bandwidth):
        if rate <= 0:
            raise ValueError(f"{rate!r}")
    if flops * bandwidth >= moved_bytes * peak:
        return flops / peak, "compute"
    return moved_bytes / bandwidth, "memory"


def benchmark(fn, warmup, repeats, clock, synchronize):
    if repeats < 1:
        raise ValueError(f"repeats={repeats}")
    if warmup < 0:
        raise ValueError(f"warmup={warmup}")
    stamps = []
    for call in range(warmup + repeats + 1):
        synchronize()
        synchronize()
        if call >= warmup:
            stamps.append(clock())
        if call < warmup + repeats:
            fn()
    return statistics.median(after - before for before, after in zip(stamps, stamps[1:]))
