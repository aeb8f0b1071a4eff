"""Part 2, dtypes: what a number format can hold.

A floating-point number is a sign, an exponent and a mantissa: the exponent's bits buy range, the mantissa's buy
precision. To round is to take the nearest number that the format has; of two that are equally near, the even one, whose
last mantissa bit is 0. PyTorch and the hardware do the same. What is illegal raises an error whose message contains the
argument that is at fault, as `repr` shows it. No function changes a tensor that it is given.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class FloatFormat:
    """What a format can hold: four positive numbers, all of them Python floats. Given."""

    max: float  # the largest finite number
    smallest_normal: float  # the smallest number that has the full precision
    smallest_subnormal: float  # the smallest number above 0
    eps: float  # how far it is from 1 to the next number above


def float_format(exponent_bits: int, mantissa_bits: int, finite_only: bool = False) -> FloatFormat:
    """Return what a format of so many bits, and one for the sign, can hold.

    Its bias is 2 ** (exponent_bits - 1) - 1. With E and M for the two fields, read as whole numbers, a pattern means

        (1 + M / 2 ** mantissa_bits) * 2 ** (E - bias)    where E is not 0: the normal numbers
        (0 + M / 2 ** mantissa_bits) * 2 ** (1 - bias)    where E is 0: zero and the subnormal numbers

    The largest E is kept for infinity and NaN. Not so with `finite_only`: then there is no infinity, the largest E
    makes normal numbers like any other, and NaN is the one pattern in which all bits of E and M are ones.

    Example: float_format(5, 10).max -> 65504.0
    Example: float_format(4, 3, finite_only=True).max -> 448.0
    Raises:
        ValueError: `exponent_bits` is below 2 or above 11, or is 11 with `finite_only`; or `mantissa_bits` is below 1
            or above 52. Such widths make no format, or one whose numbers a Python float cannot hold.
    Source: IEEE 754; for finite_only, float8_e4m3fn in the OCP 8-bit Floating Point Specification 1.0.
    Check: make grade ONLY=2.1
    """
    # exercise 2.1: which fields E and M make each of the four numbers?
    raise NotImplementedError("2.1 float_format: which fields E and M make each of the four numbers?")


def round_to_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """Return `x` rounded to the nearest bfloat16, as float32.

    A bfloat16 is the upper half of a float32: in the answer the low 16 bits of every number are 0. The nearest is
    taken, of two equally near ones the one whose last kept bit is 0. Halfway from the largest finite bfloat16 to
    2 ** 128, infinity begins. Infinities and -0.0 stay what they are, and a NaN stays a NaN, whichever.

    Work with the bits: x.view(torch.int32) shows them as whole numbers, .view(torch.float32) goes back. A tensor of
    dtype bfloat16 may not come into being on the way, by whatever call, and `x` stays as it was.

    Example: round_to_bfloat16(torch.tensor([1.00390625, 1.01171875])).tolist() -> [1.0, 1.015625]
    Shapes: x (...) of dtype float32, in any layout -> (...) of dtype float32
    Raises:
        ValueError: the dtype of `x` is not float32; the message contains it.
    Check: make grade ONLY=2.2
    """
    # exercise 2.2: what must be added to the bits before the low half is cut off?
    raise NotImplementedError("2.2 round_to_bfloat16: what must be added to the bits before the low half is cut off?")


def quantize_fp8(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return `x` as float8_e4m3fn, and the one scale that brings it back: x is about values * scale.

    The scale is such that the largest magnitude in all of `x` becomes 448, the largest number of the format. Where
    nothing but zeros is in `x`, or nothing at all, it is 1. You may use PyTorch's own cast.

    Example: quantize_fp8(torch.tensor([-7.0, 3.0]))[0].float().tolist() -> [-448.0, 192.0]
    Example: quantize_fp8(torch.tensor([-7.0, 3.0]))[1] -> tensor(0.0156)
    Shapes: x (...) of dtype float32, all finite -> values (...) of dtype float8_e4m3fn, scale () of dtype float32
    Source: Micikevicius et al., FP8 Formats for Deep Learning (2022), arXiv 2209.05433.
    Check: make grade ONLY=2.3
    """
    # exercise 2.3: which one number makes the largest magnitude 448?
    raise NotImplementedError("2.3 quantize_fp8: which one number makes the largest magnitude 448?")


def dequantize_fp8(values: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Return the numbers that `values` and their `scale` stand for, as float32.

    Example: dequantize_fp8(torch.tensor([-448.0]).to(torch.float8_e4m3fn), torch.tensor(0.25)) -> tensor([-112.])
    Shapes: values (...) of dtype float8_e4m3fn, scale () of dtype float32 -> (...) of dtype float32
    Check: make grade ONLY=2.3
    """
    # exercise 2.3: what undoes the scaling, and in which dtype?
    raise NotImplementedError("2.3 dequantize_fp8: what undoes the scaling, and in which dtype?")


def classify(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    """Return for each number of `x` what becomes of it in `dtype`.

    "exact": it is a number of the format. So is a NaN, and so are the infinities where the format has them.
    "overflow": it is too large. Rounded as if the format went on beyond its largest number, its magnitude is above
        that number; infinities count as too large where the format has none (float8_e4m3fn).
    "underflow": it is not 0 and rounds to 0.
    "rounded": it is none of these: a near number takes its place.

    The formats are float16, bfloat16, float8_e4m3fn, float8_e5m2 and float32. Take care with a cast to float8_e4m3fn:
    of what is too large, PyTorch 2.6 makes NaN and PyTorch 2.13 makes 448.

    Example: classify(torch.tensor([0.5, 0.1, 1e6]), torch.float16) -> ['exact', 'rounded', 'overflow']
    Example: classify(torch.tensor([1e-9, 0.0]), torch.float16) -> ['underflow', 'exact']
    Shapes: x (N,) of dtype float32
    Raises:
        ValueError: `dtype` is not a floating-point format, such as torch.int64.
    Check: make grade ONLY=2.4
    """
    # exercise 2.4: where does each format end, at the large side and at the small one?
    raise NotImplementedError("2.4 classify: where does each format end, at the large side and at the small one?")


def accumulate(values: torch.Tensor, dtype: torch.dtype, accumulator: torch.dtype) -> torch.Tensor:
    """Return the sum of `values`, added up one after the other from the first to the last.

    Each value is first cast to `dtype`. The sum begins at 0 and is kept in the dtype `accumulator`, so that every
    single addition rounds. Only pairs are asked where each number of `dtype` is one of `accumulator` too.

    Example: accumulate(torch.ones(300), torch.bfloat16, torch.bfloat16).item() -> 256.0
    Example: accumulate(torch.ones(300), torch.bfloat16, torch.float32).item() -> 300.0
    Shapes: values (N,) of dtype float32 -> () of dtype `accumulator`
    Check: make grade ONLY=2.5
    """
    # exercise 2.5: what is rounded once, and what at every step?
    raise NotImplementedError("2.5 accumulate: what is rounded once, and what at every step?")
