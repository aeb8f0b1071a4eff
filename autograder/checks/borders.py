"""Draws numbers near the borders of formats, and writes them down as they stand in code.

A border is where a format runs out of numbers, at the large end or at the small one, or where two of its numbers are
equally near. Numbers are Python floats that float32 can hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from autograder.checks.cases import Draw, pick, sometimes

# Mantissa bits, exponent of the smallest normal number, largest finite number.
FORMATS = {
    "float16": (10, -14, 65504.0),
    "bfloat16": (7, -126, 255 * 2.0**120),
    "float8_e4m3fn": (3, -6, 448.0),
    "float8_e5m2": (2, -14, 57344.0),
}
PLAIN = (1.0, 0.1, 3.0, 0.0, 1000.0, 1e-8, 65519.0, 65520.0, 300.0, 0.0, 1e-3, 1e6, 1e30, 1e-40)
NOT_FINITE = (math.inf, math.nan)

# Of a float32 the upper half, which is a bfloat16, and the lower: ties and their neighbours, even and odd.
UPPER = (
    *(0x3F80, 0x3F81, 0x4049, 0x3FFF),  # 1 and the next, pi, the last below 2
    *(0x7F7F, 0x4780, 0x3300),  # the largest finite one; what float16 has no room for, above and below
    *(0x0000, 0x0001, 0x007F, 0x0080),  # zero, the first and last subnormal, the first normal
    *(0x7F80, 0x7FC0, 0x7FFF),  # infinity, or NaN where the lower half holds a bit; NaN
)
LOWER = (0x8000, 0x0000, 0x7FFF, 0x8001, 0x0001, 0xFFFF, 0xC000, 0x4321)


def draw_bits(draw: Draw) -> int:
    """Draw a float32 as its 32 bits."""
    sign = 0x8000 if sometimes(draw, 3) else 0
    lower = 0 if sometimes(draw, 6) else pick(draw, LOWER)
    return (pick(draw, UPPER) | sign) << 16 | lower


def draw_border(draw: Draw, dtype: str) -> float:
    """Draw a number whose fate in a format is worth asking for."""
    kind = pick(draw, ["plain", "large", "small", "between", "not finite", "large"])
    number = pick(draw, PLAIN)
    if kind == "not finite":
        number = pick(draw, NOT_FINITE)
    elif kind != "plain" and dtype in FORMATS:
        bits, exponent, largest = FORMATS[dtype]
        last_spacing, first = 2.0 ** (math.frexp(largest)[1] - 1 - bits), 2.0 ** (exponent - bits)
        tie = largest + last_spacing / 2
        options = {
            "large": [tie, 2 * largest, tie, above(tie), below(tie), tie, largest, above(largest)],
            "small": [first, first / 2, 0.75 * first, first / 4, 1.5 * first, 2.0**exponent / 2, above(first / 2)],
            "between": [1 + 2.0**-bits, 1 + 2.0 ** -(bits + 1), 1 + 1.5 * 2.0**-bits, above(1.0)],
        }
        number = pick(draw, options[kind])
    return -number if sometimes(draw, 4) else number


def above(number: float) -> float:
    """Return the next float32 above a positive one."""
    return number + _spacing(number)


def below(number: float) -> float:
    """Return the next float32 below a positive one that is no power of two."""
    return number - _spacing(number)


def _spacing(number: float) -> float:
    return 2.0 ** max(math.frexp(number)[1] - 24, -149)


def write_numbers(numbers: Sequence[float]) -> str:
    """Return a list of numbers as code."""
    return f"[{', '.join(map(_write, numbers))}]"


def _write(number: float) -> str:
    if not math.isfinite(number):
        return "torch.nan" if math.isnan(number) else f"{'-' if number < 0 else ''}torch.inf"
    if len(repr(number)) <= 10:
        return repr(number)
    mantissa, exponent = math.frexp(number)
    while mantissa % 1:
        mantissa, exponent = 2 * mantissa, exponent - 1
    factor = {1: "", -1: "-"}.get(int(mantissa), f"{int(mantissa)} * ")
    return f"{factor}2.0**{exponent}"
