"""Part 2, dtypes: what a number format can hold."""

from __future__ import annotations

import struct
from dataclasses import replace

from gradescope_utils.autograder_utils.decorators import number, weight
from hypothesis import strategies as st

from autograder.agree import Agree
from autograder.checks import forbids
from autograder.checks.borders import FORMATS, draw_bits, draw_border, write_numbers
from autograder.checks.cases import Draw, Shape, call, pick, sometimes
from autograder.checks.layouts import Steps, write_steps
from autograder.judge import Case, close, exact
from autograder.wire import Tensor, Value

# Exponent and mantissa bits, and whether infinity is left out: the formats that have a name, then others.
NAMED = (
    *((8, 23, False), (5, 10, False), (8, 7, False), (5, 2, False), (4, 3, True)),
    *((4, 3, False), (11, 52, False), (3, 2, False), (2, 1, False), (2, 3, True)),
)
# Dtypes of the values and of the sum; the second holds all numbers of the first, so that only additions round.
SUMS = (
    *(("bfloat16", "bfloat16"), ("bfloat16", "float32"), ("float16", "float16"), ("float16", "float32")),
    *(("float32", "float32"), ("float32", "float64"), ("bfloat16", "float64")),
)
# Where a sum of ones stands still in bfloat16, float16 and float32; what a cast changes; what overflows in float16.
ADDENDS = (1.0, 256.0, 2048.0, 16777216.0, 0.1, 3.0, -1.0, 0.3, 60000.0, 257.0, -256.0, 0.001)
MARKED = {"bfloat16_was_made", "x_was_changed"}  # what the probe says of a way that does not count


@st.composite
def formats(draw: Draw) -> Case:
    """Draw the widths of a format, now and then impossible ones."""
    exponent_bits, mantissa_bits, finite_only = pick(draw, NAMED)
    if sometimes(draw, 2):
        exponent_bits, mantissa_bits = pick(draw, range(2, 11)), pick(draw, range(1, 24))
        finite_only = sometimes(draw, 2)
    names: tuple[object, ...] = ()
    if sometimes(draw, 8):
        exponent_bits, mantissa_bits, names = pick(
            draw, [(1, 6, (1,)), (12, 5, (12,)), (0, 7, (0,)), (5, 0, (0,)), (6, 53, (53,)), (4, -2, (-2,))]
        )
    elif sometimes(draw, 12):
        exponent_bits, finite_only, names = 11, True, (11,)
    last = ", finite_only=True" if finite_only else ""
    return call(
        "dtypes",
        "float_format",
        f"float_format({exponent_bits}, {mantissa_bits}{last})",
        names,
        exponent_bits=exponent_bits,
        mantissa_bits=mantissa_bits,
        finite_only=finite_only,
    )


@number("2.1")
@weight(2)
@forbids("torch", "numpy", "ml_dtypes", within=["float_format"])
def test_float_format(agree: Agree) -> None:
    """What a format of so many exponent and mantissa bits can hold, with infinity and without."""
    agree("dtypes.float_format", formats(), exact)


def same_bits(expected: Value, got: Value, case: Case) -> str | None:
    """Compare float32 numbers bit by bit, but any NaN with any other; the way to them must be the student's own."""
    if isinstance(expected, Tensor) and isinstance(got, dict) and got.keys() == MARKED:
        if got["bfloat16_was_made"]:
            return "a tensor of dtype bfloat16 came into being on the way: the bits are yours to round"
        return "x itself was changed: whatever shows its bits as whole numbers shares its storage"
    if not (isinstance(expected, Tensor) and isinstance(got, Tensor)) or _form(expected) != _form(got):
        return exact(expected, got, case)
    pairs = list(zip(_bits(expected), _bits(got), strict=True))
    wrong = [i for i, (asked, seen) in enumerate(pairs) if asked != seen and not (_is_nan(asked) and _is_nan(seen))]
    if not wrong:
        return None
    asked, seen = pairs[wrong[0]]
    wanted = "a NaN" if _is_nan(asked) else f"{asked:#010x}"
    return f"{len(wrong)} of {len(pairs)} numbers, the first in bits: {wanted} is asked for, not {seen:#010x}"


def _form(tensor: Tensor) -> tuple[str, Shape]:
    return tensor.dtype, tensor.shape


def _bits(tensor: Tensor) -> tuple[int, ...]:
    return struct.unpack(f"<{len(tensor.data) // 4}I", tensor.data)


def _is_nan(bits: int) -> bool:
    return bits & 0x7FFFFFFF > 0x7F800000


def draw_steps(draw: Draw, count: int) -> tuple[Shape, Steps]:
    """Draw a shape of so many elements, and what is done to a tensor of it."""
    options: list[tuple[Shape, Steps]] = [((count,), ())]
    if count % 2 == 0:
        options += [((2, count // 2), ()), ((2, count // 2), (("t", ()),))]
    if count > 1:
        options += [((count,), (("slice", (0, None, None, 2)),))]
    return pick(draw, options)


@st.composite
def patterns(draw: Draw) -> Case:
    """Draw float32 numbers by their bits, in some layout; now and then of another dtype."""
    bits = tuple(draw_bits(draw) for _ in range(pick(draw, [1, 2, 3, 4, 6, 6, 6, 0])))
    shape, steps = draw_steps(draw, len(bits))
    if shape != (len(bits),):
        steps = (("reshape", (shape,)), *steps)
    elif len(bits) == 1 and sometimes(draw, 2):
        steps = (("select", (0, 0)),)
    names: tuple[str, ...] = ()
    if sometimes(draw, 12):
        step, dtype = pick(draw, [("double", "float64"), ("half", "float16")])
        steps, names = (*steps, (step, ())), (f"torch.{dtype}",)
    x = f"x = torch.tensor([{', '.join(f'{one:#010x}' for one in bits)}], dtype=torch.uint32).view(torch.float32)"
    code = f"import torch\n{x}\nround_to_bfloat16(x{write_steps(steps)})"
    return replace(call("dtypes", "round_to_bfloat16", code, bits=bits, steps=steps), names=names)


@number("2.2")
@weight(2)
@forbids("torch.bfloat16", "torch.autocast", "numpy", "ml_dtypes", within=["round_to_bfloat16"])
def test_round_to_bfloat16(agree: Agree) -> None:
    """The nearest bfloat16 of every float32, bit by bit: ties, carries, infinities and NaN too."""
    agree("dtypes.round_to_bfloat16", patterns(), same_bits)


def same_quantized(expected: Value, got: Value, case: Case) -> str | None:
    """Compare the values exactly, the scale to four roundings of float32.

    The scale is amax / 448 rounded once, or twice by way of 1 / 448 or 448 / amax with its inverse: at most 2 ** -22
    apart. No value is so near to a tie that such an error could turn it: see `scaled`.
    """
    if not (isinstance(expected, tuple) and isinstance(got, tuple) and len(got) == len(expected)):
        return exact(expected, got, case)
    if (difference := exact(expected[0], got[0], case)) is not None:
        return f"the values differ: {difference}"
    if (difference := close(2.0**-22)(expected[1], got[1], case)) is not None:
        return "the scale differs" + (f": {difference}" if difference else "")
    return None


@st.composite
def scaled(draw: Draw) -> Case:
    """Draw a tensor whose largest magnitude is known, and the others so many of 101 parts of it, halved or not.

    Scaled, these are 448 * k / 101 * 2 ** -j with a whole k below 101. A tie of e4m3 has 5 bits at most and 101 is
    prime, so that none is nearer than 1/3232 of the number; an order of operations changes it by 2 ** -21 of it.
    """
    count = pick(draw, [2, 3, 4, 6, 6, 6, 1, 0])
    others = [37.0, -90.0, 50.0, 8.0, 0.25, -3.0, 0.0, 2.0**-8, 2.0**-12]
    numbers = tuple(pick(draw, others) for _ in range(count))
    largest_at = 2 * (count // 4)  # even, so that no slice below leaves it out
    if count:
        numbers = (*numbers[:largest_at], pick(draw, [101.0, -101.0]), *numbers[largest_at + 1 :])
    if sometimes(draw, 8):
        numbers = (0.0,) * count
    shape, steps = draw_steps(draw, count)
    largest = pick(draw, [3.5, 7.0, 0.375, 448.0, 100.0, 2.0**-20, 20000.0, 1.25])
    x = _reshaped(numbers, shape)
    code = f"import torch\nx = {x} * {largest!r} / 101\nquantize_fp8(x{write_steps(steps)})"
    return call("dtypes", "quantize_fp8", code, numbers=numbers, shape=shape, largest=largest, steps=steps)


@st.composite
def quantized(draw: Draw) -> Case:
    """Draw values of float8_e4m3fn and a scale of few bits, so that products are exact in float32."""
    count = pick(draw, [2, 3, 4, 6, 1, 0])
    numbers = tuple(pick(draw, [448.0, 1.0, -0.875, 13.0, -240.0, 0.0, 2.0**-9, 0.0625]) for _ in range(count))
    shape, steps = draw_steps(draw, count)
    scale = pick(draw, [0.25, 3.0, 0.0078125, 1.0, 320.0, 2.0**-24, 1.125])
    values = _reshaped(numbers, shape) + write_steps(steps)
    code = f"import torch\nvalues = {values}.to(torch.float8_e4m3fn)\ndequantize_fp8(values, torch.tensor({scale!r}))"
    return call("dtypes", "dequantize_fp8", code, numbers=numbers, shape=shape, scale=scale, steps=steps)


def _reshaped(numbers: tuple[float, ...], shape: Shape) -> str:
    return f"torch.tensor({write_numbers(numbers)})" + (f".reshape({shape})" if shape != (len(numbers),) else "")


@number("2.3")
@weight(2)
def test_fp8(agree: Agree) -> None:
    """One scale fits a tensor into float8_e4m3fn, whatever its range, and brings it back."""
    agree("dtypes.quantize_fp8", scaled(), same_quantized)
    agree("dtypes.dequantize_fp8", quantized(), exact)


@st.composite
def classified(draw: Draw) -> Case:
    """Draw numbers and a format, now and then a dtype that is none."""
    dtype = pick(draw, [*FORMATS, "float8_e4m3fn", *FORMATS, "float8_e4m3fn", "float32"])
    numbers = tuple(draw_border(draw, dtype) for _ in range(pick(draw, [1, 2, 3, 4, 6, 6, 6, 0])))
    names: tuple[str, ...] = ()
    if sometimes(draw, 15):
        dtype = pick(draw, ["int64", "int8", "bool"])
        names = (f"torch.{dtype}",)
    code = f"import torch\nclassify(torch.tensor({write_numbers(numbers)}), torch.{dtype})"
    return replace(call("dtypes", "classify", code, numbers=numbers, dtype=dtype), names=names)


@number("2.4")
@weight(1)
def test_classify(agree: Agree) -> None:
    """Whether a number is exact in a format, rounded, too large or too small for it."""
    agree("dtypes.classify", classified(), exact)


@st.composite
def sums(draw: Draw) -> Case:
    """Draw numbers to add up, and the two dtypes."""
    dtype, accumulator = pick(draw, SUMS)
    addends = [number for number in ADDENDS if dtype != "float16" or number < 65520]
    numbers = tuple(pick(draw, addends) for _ in range(pick(draw, [3, 4, 2, 1, 5, 6, 0])))
    repeats = pick(draw, [1, 1, 1, 1, 2, 20, 300])
    values = f"torch.tensor({write_numbers(numbers)})" + (f".repeat({repeats})" if repeats > 1 else "")
    code = f"import torch\naccumulate({values}, torch.{dtype}, torch.{accumulator})"
    return call("dtypes", "accumulate", code, numbers=numbers, repeats=repeats, dtype=dtype, accumulator=accumulator)


@number("2.5")
@weight(1)
def test_accumulate(agree: Agree) -> None:
    """What a running sum comes to when every addition rounds to the accumulator's dtype."""
    agree("dtypes.accumulate", sums(), close(0.0))
