"""Looks at part 2: which numbers the student's code takes a format to hold."""

from __future__ import annotations

from typing import Any

import torch
import torch._subclasses.schema_check_mode  # the first operation under a dispatch mode would
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.probes.inputs import apply, to_record


def float_format(dtypes: Any, exponent_bits: Any, mantissa_bits: Any, finite_only: Any) -> Any:
    """See what a format is taken to hold."""
    return to_record(dtypes.float_format(exponent_bits, mantissa_bits, finite_only), dtypes.FloatFormat)


def round_to_bfloat16(dtypes: Any, bits: Any, steps: Any) -> Any:
    """See the rounded numbers, or that the way to them is a cast or harms the input.

    Args:
        bits: of float32 numbers, as whole numbers.
        steps: operations on the tensor of these, (name, arguments) each.
    """
    x = apply(torch.tensor(bits, dtype=torch.uint32).view(torch.float32), steps)
    before = x.clone()
    with _Casts() as casts:
        rounded = dtypes.round_to_bfloat16(x)
    changed = not torch.equal(x.view(torch.int32), before.view(torch.int32))
    if not (casts.seen or changed):
        return rounded
    return {"bfloat16_was_made": casts.seen, "x_was_changed": changed}


def quantize_fp8(dtypes: Any, numbers: Any, shape: Any, largest: Any, steps: Any) -> Any:
    """See the quantized numbers and their scale."""
    x = apply(torch.tensor(numbers).reshape(shape) * largest / 101, steps)
    made = dtypes.quantize_fp8(x.clone())
    if type(made) is not tuple or len(made) != 2:
        return made
    values, scale = made
    if type(values) is torch.Tensor and values.dtype == torch.float8_e4m3fn and values.shape == x.shape:
        values = _alike_everywhere(values, x)
    return values, scale


def _alike_everywhere(values: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return e4m3 numbers as every machine and version would have them.

    What is too large is cast to NaN before torch 2.12 and to 448 since: 448 here. A NaN out of 0 / 0 may have a sign.
    """
    bits = values.contiguous().view(torch.uint8)
    is_nan, sign = bits & 0x7F == 0x7F, bits & 0x80
    bits = torch.where(is_nan, torch.where(x != 0, sign | 0x7E, torch.full_like(bits, 0x7F)), bits)
    return bits.view(torch.float8_e4m3fn)


def dequantize_fp8(dtypes: Any, numbers: Any, shape: Any, scale: Any, steps: Any) -> Any:
    """See what quantized numbers stand for."""
    values = apply(torch.tensor(numbers).reshape(shape), steps).to(torch.float8_e4m3fn)
    return dtypes.dequantize_fp8(values, torch.tensor(scale))


def classify(dtypes: Any, numbers: Any, dtype: Any) -> Any:
    """See what is said to become of numbers."""
    return dtypes.classify(torch.tensor(numbers), getattr(torch, dtype))


def accumulate(dtypes: Any, numbers: Any, repeats: Any, dtype: Any, accumulator: Any) -> Any:
    """See a sum."""
    values = torch.tensor(numbers).repeat(repeats)
    return dtypes.accumulate(values, getattr(torch, dtype), getattr(torch, accumulator))


class _Casts(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees whether, while entered, any operation makes a tensor of dtype bfloat16, under whatever name."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first operation imports torch's compiler, a second or more in each worker

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        parts = made if isinstance(made, list | tuple) else (made,)
        self.seen |= any(isinstance(part, torch.Tensor) and part.dtype == torch.bfloat16 for part in parts)
        return made
