"""Part 2, dtypes: what students get wrong about range, rounding and scales."""

from __future__ import annotations

import torch
from napkin.dtypes import FloatFormat

from variants import misconception

# 2.1 float_format


@misconception(
    "2.1",
    "float_format",
    "The largest E is left to infinity, though this format has none. Which numbers does it make instead?",
)
def ieee_rule_without_infinity(exponent_bits: int, mantissa_bits: int, finite_only: bool = False) -> FloatFormat:
    bias = _bias(exponent_bits, mantissa_bits, finite_only)
    eps = 2.0**-mantissa_bits
    return FloatFormat((2 - eps) * 2.0**bias, 2.0 ** (1 - bias), 2.0 ** (1 - bias) * eps, eps)


@misconception(
    "2.1",
    "float_format",
    "All bits of exponent and mantissa are ones in your largest number. What does that pattern mean in this format?",
)
def nan_taken_for_the_largest(exponent_bits: int, mantissa_bits: int, finite_only: bool = False) -> FloatFormat:
    bias = _bias(exponent_bits, mantissa_bits, finite_only)
    eps = 2.0**-mantissa_bits
    largest = (2 - eps) * 2.0 ** (bias + finite_only)
    return FloatFormat(largest, 2.0 ** (1 - bias), 2.0 ** (1 - bias) * eps, eps)


@misconception(
    "2.1",
    "float_format",
    "This eps is the largest error of rounding near 1. How far is the next number from 1?",
)
def eps_is_half_a_spacing(exponent_bits: int, mantissa_bits: int, finite_only: bool = False) -> FloatFormat:
    right = _right(exponent_bits, mantissa_bits, finite_only)
    return FloatFormat(right.max, right.smallest_normal, right.smallest_subnormal, right.eps / 2)


@misconception(
    "2.1",
    "float_format",
    "Everything but eps is too small by a factor of two. With 8 exponent bits, which value of E stands for 2 ** 0?",
)
def bias_off_by_one(exponent_bits: int, mantissa_bits: int, finite_only: bool = False) -> FloatFormat:
    right = _right(exponent_bits, mantissa_bits, finite_only)
    return FloatFormat(right.max / 2, right.smallest_normal / 2, right.smallest_subnormal / 2, right.eps)


@misconception(
    "2.1",
    "float_format",
    "Your largest number has all bits of its exponent set. Which pattern is left to infinity, then?",
)
def top_exponent_not_reserved(exponent_bits: int, mantissa_bits: int, finite_only: bool = False) -> FloatFormat:
    right = _right(exponent_bits, mantissa_bits, finite_only)
    largest = right.max if finite_only or exponent_bits == 11 else right.max * 2
    return FloatFormat(largest, right.smallest_normal, right.smallest_subnormal, right.eps)


@misconception(
    "2.1",
    "float_format",
    "Below the smallest normal number you see nothing but 0. What is a pattern worth whose E is 0 and whose M is 1?",
)
def no_subnormals(exponent_bits: int, mantissa_bits: int, finite_only: bool = False) -> FloatFormat:
    right = _right(exponent_bits, mantissa_bits, finite_only)
    return FloatFormat(right.max, right.smallest_normal, right.smallest_normal, right.eps)


@misconception(
    "2.1",
    "float_format",
    "Your subnormal numbers have the exponent 0 - bias. Which one does the second line of the definition give them?",
)
def subnormals_one_exponent_too_low(exponent_bits: int, mantissa_bits: int, finite_only: bool = False) -> FloatFormat:
    right = _right(exponent_bits, mantissa_bits, finite_only)
    # Python has no float below the last subnormal of its own format.
    smallest = right.smallest_subnormal / 2 or right.smallest_subnormal
    return FloatFormat(right.max, right.smallest_normal, smallest, right.eps)


@misconception(
    "2.1",
    "float_format",
    "A normal number with E = 0: does such a pattern still have the 1 in front of its mantissa?",
)
def smallest_normal_has_exponent_zero(exponent_bits: int, mantissa_bits: int, finite_only: bool = False) -> FloatFormat:
    right = _right(exponent_bits, mantissa_bits, finite_only)
    return FloatFormat(right.max, right.smallest_normal / 2, right.smallest_subnormal, right.eps)


@misconception(
    "2.1",
    "float_format",
    "Your max is a power of two, the first number that is too large. What does the mantissa add up to when it is full?",
)
def largest_is_a_power_of_two(exponent_bits: int, mantissa_bits: int, finite_only: bool = False) -> FloatFormat:
    right = _right(exponent_bits, mantissa_bits, finite_only)
    exponent = _bias(exponent_bits, mantissa_bits, finite_only) + 1 + finite_only
    largest = 2.0**exponent if exponent < 1024 else right.max  # the last of Python's own powers is 2 ** 1023
    return FloatFormat(largest, right.smallest_normal, right.smallest_subnormal, right.eps)


@misconception(
    "2.1",
    "float_format",
    "These widths make no format that a float can describe. What does the docstring say about them?",
)
def any_width_will_do(exponent_bits: int, mantissa_bits: int, finite_only: bool = False) -> FloatFormat:
    wide, precise = min(max(exponent_bits, 2), 10 if finite_only else 11), min(max(mantissa_bits, 1), 52)
    return _right(wide, precise, finite_only)


def _bias(exponent_bits: int, mantissa_bits: int, finite_only: bool) -> int:
    """Return the bias of a format; ValueError for widths that make none."""
    if not 2 <= exponent_bits <= (10 if finite_only else 11):
        raise ValueError(f"exponent_bits {exponent_bits!r} are too few or too many")
    if not 1 <= mantissa_bits <= 52:
        raise ValueError(f"mantissa_bits {mantissa_bits!r} are too few or too many")
    return 2 ** (exponent_bits - 1) - 1


def _right(exponent_bits: int, mantissa_bits: int, finite_only: bool) -> FloatFormat:
    """Return what a format holds, for the variants that get one field of it wrong."""
    bias = _bias(exponent_bits, mantissa_bits, finite_only)
    eps = 2.0**-mantissa_bits
    largest = (2 - 2 * eps) * 2.0 ** (bias + 1) if finite_only else (2 - eps) * 2.0**bias
    return FloatFormat(largest, 2.0 ** (1 - bias), 2.0 ** (1 - bias) * eps, eps)


# 2.2 round_to_bfloat16


@misconception(
    "2.2",
    "round_to_bfloat16",
    "The low half is cut off, whatever it held. Is the lower of two neighbours always the nearer one?",
)
def truncated(x: torch.Tensor) -> torch.Tensor:
    return _finish(x, _bits(x) & -0x10000)


@misconception(
    "2.2",
    "round_to_bfloat16",
    "Every tie goes away from zero, so sums of many drift. Which of two equally near neighbours is the even one?",
)
def ties_away_from_zero(x: torch.Tensor) -> torch.Tensor:
    return _finish(x, (_bits(x) + 0x8000) & -0x10000)


@misconception(
    "2.2",
    "round_to_bfloat16",
    "Every tie goes towards zero. Which of two equally near neighbours has a 0 as its last kept bit?",
)
def ties_towards_zero(x: torch.Tensor) -> torch.Tensor:
    return _finish(x, (_bits(x) + 0x7FFF) & -0x10000)


@misconception(
    "2.2",
    "round_to_bfloat16",
    "Ties go up, as floor(x + 0.5) does it: right for some positive numbers, not for others. What makes a number even?",
)
def ties_upwards(x: torch.Tensor) -> torch.Tensor:
    bits = _bits(x)
    return _finish(x, (bits + torch.where(bits < 0, 0x7FFF, 0x8000).int()) & -0x10000)


@misconception(
    "2.2",
    "round_to_bfloat16",
    "At a tie you land on the neighbour whose last bit is 1. For which numbers must the half be a little less?",
)
def ties_to_odd(x: torch.Tensor) -> torch.Tensor:
    bits = _bits(x)
    return _finish(x, (bits + 0x8000 - ((bits >> 16) & 1)) & -0x10000)


@misconception(
    "2.2",
    "round_to_bfloat16",
    "Here a NaN went in and a number or an infinity came out. In which bits can a NaN differ from an infinity?",
)
def nan_becomes_infinity(x: torch.Tensor) -> torch.Tensor:
    bits = _bits(x)
    # In 64 bits, so that it is the same on every machine when a NaN full of ones is carried into the sign.
    wide = (bits.long() + 0x7FFF + ((bits >> 16) & 1)) & -0x10000
    return torch.where(wide >= 2**31, wide - 2**32, wide).int().view(torch.float32)


@misconception(
    "2.2",
    "round_to_bfloat16",
    "The mantissa was full and was rounded up, and now the number is smaller. Where should the carry have gone?",
)
def carry_into_the_exponent_lost(x: torch.Tensor) -> torch.Tensor:
    bits = _bits(x)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0x7F0000
    return _finish(x, (bits & -0x800000) | torch.where(x.isinf(), 0, rounded))


@misconception(
    "2.2",
    "round_to_bfloat16",
    "Very large and very small numbers are lost on a detour. How many exponent bits has float16?",
)
def through_float16(x: torch.Tensor) -> torch.Tensor:
    bits = _bits(x).view(torch.float32).half().float().view(torch.int32)
    return _finish(x, (bits + 0x7FFF + ((bits >> 16) & 1)) & -0x10000)


@misconception(
    "2.2",
    "round_to_bfloat16",
    "Numbers near the large end stop at the largest finite one. To which side of the tie with 2 ** 128 do they belong?",
)
def stops_at_the_largest(x: torch.Tensor) -> torch.Tensor:
    rounded = _rounded(x)
    largest = torch.tensor(0x7F7F0000, dtype=torch.int32).view(torch.float32).item()
    return torch.where(x.isinf(), x, rounded.clamp(-largest, largest))


@misconception(
    "2.2",
    "round_to_bfloat16",
    "The smallest numbers became 0. Does the integer arithmetic on the bits have to treat subnormals in their own way?",
)
def subnormals_flushed(x: torch.Tensor) -> torch.Tensor:
    return torch.where((_bits(x) & 0x7F800000) == 0, x * 0.0, _rounded(x))


@misconception(
    "2.2",
    "round_to_bfloat16",
    "The magnitude was rounded and then multiplied by the sign of x. What is the sign of -0.0, as a factor?",
)
def negative_zero_loses_its_sign(x: torch.Tensor) -> torch.Tensor:
    rounded = _rounded(x)
    return torch.where(rounded == 0, 0.0, rounded)


@misconception(
    "2.2",
    "round_to_bfloat16",
    "After your call, x holds other numbers. Whose memory do the bits that you add to in place belong to?",
)
def rounds_its_input(x: torch.Tensor) -> torch.Tensor:
    bits, nan = _bits(x), x.isnan()
    bits += 0x7FFF + ((bits >> 16) & 1)
    bits &= -0x10000
    return x.masked_fill_(nan, torch.nan)


def _bits(x: torch.Tensor) -> torch.Tensor:
    if x.dtype != torch.float32:
        raise ValueError(f"dtype {x.dtype!r} is not float32")
    return x.view(torch.int32)


def _finish(x: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
    """Return the numbers of these bits, and NaN where `x` is NaN."""
    return bits.view(torch.float32).masked_fill(x.isnan(), torch.nan)


def _rounded(x: torch.Tensor) -> torch.Tensor:
    """Return `x` rounded as it should be, for the variants that spoil what comes after."""
    bits = _bits(x)
    return _finish(x, (bits + 0x7FFF + ((bits >> 16) & 1)) & -0x10000)


# 2.3 quantize_fp8, dequantize_fp8


@misconception(
    "2.3",
    "quantize_fp8",
    "The numbers were cast as they are, with scale 1. Which part of the format's range do they use?",
)
def cast_without_a_scale(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.to(torch.float8_e4m3fn), torch.ones(())


@misconception(
    "2.3",
    "quantize_fp8",
    "The values are right, the scale is its own inverse. Is x about values * scale, or about values / scale?",
)
def scale_inverted(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = _scale(x)
    return (x / scale).to(torch.float8_e4m3fn), 1 / scale


@misconception(
    "2.3",
    "quantize_fp8",
    "You scale up to 57344, and most numbers end up too large. Which of the two 8-bit formats reaches that far?",
)
def largest_of_e5m2(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = _scale(x, 57344)
    return _cast(x / scale), scale


@misconception(
    "2.3",
    "quantize_fp8",
    "You scale up to 240, a little more than half of what is there. Does the top exponent hold numbers in this format?",
)
def largest_of_an_e4m3_with_infinity(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = _scale(x, 240)
    return (x / scale).to(torch.float8_e4m3fn), scale


@misconception(
    "2.3",
    "quantize_fp8",
    "The scale follows the largest number of x, but the one furthest from zero is negative. Which of them must fit?",
)
def largest_of_the_signed_numbers(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    largest = x.max() if x.numel() else torch.zeros(())
    scale = largest / 448 if largest > 0 else torch.ones(())
    return _cast(x / scale), scale


@misconception(
    "2.3",
    "quantize_fp8",
    "For a tensor of zeros, your scale is 0. What does 0 / 0 become?",
)
def zeros_divided_by_zero(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    largest = x.abs().max() if x.numel() else torch.full((), 448.0)
    scale = largest / 448
    return (x / scale).to(torch.float8_e4m3fn), scale


@misconception(
    "2.3",
    "quantize_fp8",
    "A tensor of zeros gets a tiny scale here, made up to avoid a division by zero. Which scale is promised for it?",
)
def zeros_get_a_tiny_scale(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    largest = x.abs().max() if x.numel() else torch.full((), 448.0)
    scale = largest.clamp(min=1e-12) / 448
    return (x / scale).to(torch.float8_e4m3fn), scale


@misconception(
    "2.3",
    "quantize_fp8",
    "Reducing over a tensor that has no element raises an error. Which scale does the docstring promise for it?",
)
def empty_tensor_raises(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    largest = x.abs().max()
    scale = largest / 448 if largest > 0 else torch.ones(())
    return (x / scale).to(torch.float8_e4m3fn), scale


@misconception(
    "2.3",
    "quantize_fp8",
    "Each row has a scale of its own. How many scales are there to be for one tensor?",
)
def one_scale_for_each_row(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if x.dim() < 2:
        scale = _scale(x)
    else:
        largest = x.abs().amax(dim=-1, keepdim=True)
        scale = torch.where(largest > 0, largest / 448, 1.0)
    return (x / scale).to(torch.float8_e4m3fn), scale


@misconception(
    "2.3",
    "quantize_fp8",
    "Your scale is a power of two, so the largest magnitude mostly becomes less than 448. What is asked for?",
)
def scale_is_a_power_of_two(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    mantissa, exponent = torch.frexp(_scale(x))
    scale = torch.ldexp(torch.ones(()), exponent - (mantissa == 0.5).int())
    return (x / scale).to(torch.float8_e4m3fn), scale


@misconception(
    "2.3",
    "quantize_fp8",
    "The values came as e5m2. Which of the two 8-bit formats spends more bits on precision?",
)
def values_in_e5m2(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = _scale(x)
    return (x / scale).to(torch.float8_e5m2), scale


@misconception(
    "2.3",
    "dequantize_fp8",
    "Dividing by the scale scales once more in the same direction. What did quantize_fp8 do with it?",
)
def divides_by_the_scale(values: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return values.float() / scale


@misconception(
    "2.3",
    "dequantize_fp8",
    "The scale is not used, so the numbers stay within 448. What were they before they were quantized?",
)
def scale_forgotten(values: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return values.float()


@misconception(
    "2.3",
    "dequantize_fp8",
    "The product is taken in float16, too narrow for some scales. In which dtype is the answer promised?",
)
def multiplied_in_float16(values: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return (values.half() * scale.half()).float()


def _scale(x: torch.Tensor, largest_of_format: float = 448) -> torch.Tensor:
    largest = x.abs().max() if x.numel() else torch.zeros(())
    return largest / largest_of_format if largest > 0 else torch.ones(())


def _cast(scaled: torch.Tensor) -> torch.Tensor:
    """Return numbers as e4m3, saturated: versions of PyTorch differ in what they make of what is too large."""
    return scaled.clamp(-448, 448).to(torch.float8_e4m3fn)


# 2.4 classify


@misconception(
    "2.4",
    "classify",
    "Numbers below eps are called lost. Is eps the distance from 1 to its neighbour, or from 0?",
)
def smaller_than_eps_is_underflow(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    eps = torch.finfo(_floating(dtype)).eps
    kinds = zip(x.tolist(), _kinds(x, dtype), strict=True)
    return ["underflow" if 0 < abs(number) < eps else kind for number, kind in kinds]


@misconception(
    "2.4",
    "classify",
    "In bfloat16 you lose what float16 would lose. How many bits of a bfloat16 are exponent?",
)
def bfloat16_as_narrow_as_float16(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    lost = (x.abs() <= 2.0**-25) & (x != 0) & (dtype == torch.bfloat16)
    return ["underflow" if gone else kind for gone, kind in zip(lost.tolist(), _kinds(x, dtype), strict=True)]


@misconception(
    "2.4",
    "classify",
    "Whatever lies above the largest number is an overflow here. Is 65519 nearer to 65504 or to 65536, the next step?",
)
def above_the_largest_is_overflow(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    largest = torch.finfo(_floating(dtype)).max
    kinds = zip(x.tolist(), _kinds(x, dtype), strict=True)
    return ["overflow" if largest < abs(number) < torch.inf else kind for number, kind in kinds]


@misconception(
    "2.4",
    "classify",
    "Exactly halfway above the largest number, you stay. Is the last bit of float16's largest number a 0 or a 1?",
)
def tie_at_the_end_stays(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    tie = _tie_at_the_end(dtype)
    kinds = zip(x.tolist(), _kinds(x, dtype), strict=True)
    return ["rounded" if abs(number) == tie else kind for number, kind in kinds]


@misconception(
    "2.4",
    "classify",
    "Exactly halfway above the largest number, you leave. Is that number odd or even where all ones are kept for NaN?",
)
def tie_at_the_end_leaves(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    tie = _tie_at_the_end(dtype)
    kinds = zip(x.tolist(), _kinds(x, dtype), strict=True)
    return ["overflow" if abs(number) == tie else kind for number, kind in kinds]


@misconception(
    "2.4",
    "classify",
    "Below the smallest normal number you find nothing. Which numbers live between it and 0?",
)
def subnormals_called_underflow(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    smallest = torch.finfo(_floating(dtype)).smallest_normal
    kinds = zip(x.tolist(), _kinds(x, dtype), strict=True)
    return ["underflow" if 0 < abs(number) < smallest else kind for number, kind in kinds]


@misconception(
    "2.4",
    "classify",
    "Smaller than the smallest number, and yet not nearer to 0. Where is the border halfway?",
)
def below_the_smallest_is_underflow(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    info = torch.finfo(_floating(dtype))
    smallest = info.smallest_normal * info.eps
    kinds = zip(x.tolist(), _kinds(x, dtype), strict=True)
    return ["underflow" if 0 < abs(number) < smallest else kind for number, kind in kinds]


@misconception(
    "2.4",
    "classify",
    "A NaN is not equal to itself. Did the cast change it?",
)
def nan_is_never_equal(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    return ["rounded" if nan else kind for nan, kind in zip(x.isnan().tolist(), _kinds(x, dtype), strict=True)]


@misconception(
    "2.4",
    "classify",
    "What is not finite is called overflow. Has it gone over anything, where the format has a pattern for it?",
)
def not_finite_is_overflow(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    finite = x.isfinite().tolist()
    return [kind if ok else "overflow" for ok, kind in zip(finite, _kinds(x, dtype), strict=True)]


@misconception(
    "2.4",
    "classify",
    "In e4m3fn, all that is too large counts as a little rounded. Is 448 near to it, or just the last number there is?",
)
def saturation_taken_for_rounding(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    kinds = _kinds(x, dtype)
    if dtype == torch.float8_e4m3fn:
        return ["rounded" if kind == "overflow" else kind for kind in kinds]
    return kinds


@misconception(
    "2.4",
    "classify",
    "An infinity counts as exact in every format. Which pattern would it have in one whose name ends in fn?",
)
def infinity_in_every_format(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    return ["exact" if inf else kind for inf, kind in zip(x.isinf().tolist(), _kinds(x, dtype), strict=True)]


@misconception(
    "2.4",
    "classify",
    "0 becomes 0 here and is called lost. What was there to lose?",
)
def zero_is_underflow(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    return ["underflow" if zero else kind for zero, kind in zip((x == 0).tolist(), _kinds(x, dtype), strict=True)]


@misconception(
    "2.4",
    "classify",
    "A number that changed by a millionth is called exact. Is a near number the same number?",
)
def nearly_equal_is_exact(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    close = torch.isclose(x, x.to(_floating(dtype)).float(), rtol=1e-3, atol=0.0).tolist()
    kinds = zip(close, _kinds(x, dtype), strict=True)
    return ["exact" if same and kind == "rounded" else kind for same, kind in kinds]


@misconception(
    "2.4",
    "classify",
    "An integer dtype has no such format, yet it is given an answer. What does the docstring say about it?",
)
def integers_are_formats_too(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    return _kinds(x, dtype if dtype.is_floating_point else torch.float32)


def _floating(dtype: torch.dtype) -> torch.dtype:
    if not dtype.is_floating_point:
        raise ValueError(f"dtype {dtype!r} is not a floating-point format")
    return dtype


def _tie_at_the_end(dtype: torch.dtype) -> float:
    """Return what is halfway from the largest number to the one that would come next."""
    info = torch.finfo(_floating(dtype))
    spacing = info.eps
    while 2 * spacing / info.eps <= info.max:
        spacing *= 2
    return info.max + spacing / 2


def _kinds(x: torch.Tensor, dtype: torch.dtype) -> list[str]:
    """Return the right answer, for the variants that change one kind of it."""
    near, largest = x.to(_floating(dtype)).float(), torch.finfo(dtype).max
    upwards = (x / 2).to(dtype).double().abs() * 2
    kinds = []
    for asked, got, beyond in zip(x.tolist(), near.tolist(), upwards.tolist(), strict=True):
        if got == asked or asked != asked:  # noqa: PLR0124  a NaN
            kinds.append("exact")
        else:
            kinds.append("rounded" if got and beyond <= largest else "underflow" if got == 0 else "overflow")
    return kinds


# 2.5 accumulate


@misconception(
    "2.5",
    "accumulate",
    "The sum is kept in the dtype of the values and widened at the end. Where does 256 + 1 go in bfloat16?",
)
def accumulates_low(values: torch.Tensor, dtype: torch.dtype, accumulator: torch.dtype) -> torch.Tensor:
    total = torch.zeros((), dtype=dtype)
    for value in values.to(dtype):
        total = total + value
    return total.to(accumulator)


@misconception(
    "2.5",
    "accumulate",
    "Every value is added as it came. When should dtype have had its say?",
)
def values_never_cast(values: torch.Tensor, dtype: torch.dtype, accumulator: torch.dtype) -> torch.Tensor:
    total = torch.zeros((), dtype=accumulator)
    for value in values.to(accumulator):
        total = total + value
    return total


@misconception(
    "2.5",
    "accumulate",
    "Only the final sum is cast. What did the accumulator hold after each addition on the way there?",
)
def casts_only_the_result(values: torch.Tensor, dtype: torch.dtype, accumulator: torch.dtype) -> torch.Tensor:
    return values.double().sum().to(accumulator)


@misconception(
    "2.5",
    "accumulate",
    "A sum in one call, such as torch.sum, rounds once, at the end. How often does a running sum round?",
)
def summed_wide_and_rounded_once(values: torch.Tensor, dtype: torch.dtype, accumulator: torch.dtype) -> torch.Tensor:
    return values.to(dtype).double().sum().to(accumulator)


@misconception(
    "2.5",
    "accumulate",
    "The right sum, rounded once more in the end. Which of the two dtypes is the answer to have?",
)
def result_in_the_low_dtype(values: torch.Tensor, dtype: torch.dtype, accumulator: torch.dtype) -> torch.Tensor:
    return _running(values.to(dtype).to(accumulator)).to(dtype)


@misconception(
    "2.5",
    "accumulate",
    "Both halves are added up by themselves and then to each other, which loses less. Which order is asked for?",
)
def halves_added_up_apart(values: torch.Tensor, dtype: torch.dtype, accumulator: torch.dtype) -> torch.Tensor:
    numbers = values.to(dtype).to(accumulator)
    middle = len(numbers) // 2
    return _running(numbers[:middle]) + _running(numbers[middle:])


@misconception(
    "2.5",
    "accumulate",
    "The smallest magnitudes are added first. A good habit, but is it the order in which these values come?",
)
def smallest_first(values: torch.Tensor, dtype: torch.dtype, accumulator: torch.dtype) -> torch.Tensor:
    numbers = values.to(dtype).to(accumulator)
    return _running(numbers[numbers.double().abs().sort(stable=True).indices])


def _running(numbers: torch.Tensor) -> torch.Tensor:
    total = torch.zeros((), dtype=numbers.dtype)
    for number in numbers:
        total = total + number
    return total
