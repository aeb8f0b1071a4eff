"""The reference of part 2 against all patterns of each format, PyTorch's own casts, ml_dtypes and published tables.

A format of 8 or 16 bits is small enough to be listed whole: its positive numbers in order are its patterns in order, so
that what is near, even, too large or too small can be looked up instead of computed.
"""

from __future__ import annotations

import ast
import bisect
import functools
import inspect
import itertools
import re
import sys
import textwrap
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
import torch

from autograder.checks import test_dtypes as checks
from autograder.drawing import draw
from autograder.judge import Case, compare
from autograder.probes import dtypes as probes
from autograder.sandbox.values import to_value
from autograder.wire import Raised, Returned
from tests.solutions.loading import load_solutions

dtypes, VARIANTS = load_solutions("dtypes")

SYMBOLS = ("float_format", "round_to_bfloat16", "quantize_fp8", "dequantize_fp8", "classify", "accumulate")
# Exponent bits, mantissa bits, and whether infinity is left out.
WIDTHS = {
    torch.float32: (8, 23, False),
    torch.float64: (11, 52, False),
    torch.float16: (5, 10, False),
    torch.bfloat16: (8, 7, False),
    torch.float8_e5m2: (5, 2, False),
    torch.float8_e4m3fn: (4, 3, True),
}
SMALL = (torch.float16, torch.bfloat16, torch.float8_e5m2, torch.float8_e4m3fn)  # whose patterns can be listed
every_dtype = pytest.mark.parametrize("dtype", WIDTHS, ids=str)
every_small_dtype = pytest.mark.parametrize("dtype", SMALL, ids=str)


@functools.cache
def positive_numbers(dtype):
    """Return all finite numbers of a format from 0 upwards, in the order of their patterns."""
    width = dtype.itemsize
    patterns = torch.arange(2 ** (8 * width - 1), dtype=torch.int32).to(torch.uint8 if width == 1 else torch.int16)
    numbers = patterns.view(dtype).double()
    return numbers[numbers.isfinite()].tolist()


def from_bits(bits):
    return torch.as_tensor(bits, dtype=torch.int64).to(torch.int32).view(torch.float32)


def random_float32(count, seed):
    """Return numbers of every exponent, both signs, infinities and NaN among them."""
    return from_bits(torch.randint(-(2**31), 2**31, (count,), generator=torch.Generator().manual_seed(seed)))


# 2.1


@every_dtype
def test_a_format_is_what_torch_says_it_is(dtype):
    info, format_ = torch.finfo(dtype), dtypes.float_format(*WIDTHS[dtype])
    assert (format_.max, format_.smallest_normal, format_.eps) == (info.max, info.smallest_normal, info.eps)


@every_small_dtype
def test_a_format_is_what_all_its_patterns_say(dtype):
    format_, numbers = dtypes.float_format(*WIDTHS[dtype]), positive_numbers(dtype)
    assert numbers == sorted(numbers)
    assert format_.max == numbers[-1]
    assert format_.smallest_subnormal == numbers[1]
    assert format_.eps == numbers[numbers.index(1.0) + 1] - 1.0
    assert numbers.index(format_.smallest_normal) == 2 ** WIDTHS[dtype][1]  # so many have E = 0


def test_a_format_of_64_bits_is_pythons_own_float():
    format_, own = dtypes.float_format(11, 52), sys.float_info
    assert (format_.max, format_.smallest_normal, format_.eps) == (own.max, own.min, own.epsilon)
    assert format_.smallest_subnormal == 5e-324


@pytest.mark.parametrize(
    ("name", "widths"), [("float8_e3m4", (3, 4)), ("float8_e4m3", (4, 3)), ("float8_e5m2", (5, 2))]
)
def test_a_format_is_what_ml_dtypes_says_it_is(name, widths):
    info, format_ = ml_dtypes.finfo(getattr(ml_dtypes, name)), dtypes.float_format(*widths)
    asked = (info.max, info.smallest_normal, info.smallest_subnormal, info.eps)
    assert tuple(map(float, asked)) == (
        format_.max,
        format_.smallest_normal,
        format_.smallest_subnormal,
        format_.eps,
    )


@pytest.mark.parametrize(
    ("widths", "largest", "normal", "subnormal"),
    [
        pytest.param((4, 3, True), 448, 2**-6, 2**-9, id="OCP OFP8 1.0, E4M3; FP8 paper (2209.05433), table 1, E4M3"),
        pytest.param(
            (5, 2, False), 57344, 2**-14, 2**-16, id="OCP OFP8 1.0, E5M2; FP8 paper (2209.05433), table 1, E5M2"
        ),
        pytest.param((5, 10, False), 65504, 2**-14, 2**-24, id="IEEE 754-2008, binary16"),
        pytest.param((8, 23, False), (2 - 2**-23) * 2.0**127, 2**-126, 2**-149, id="IEEE 754-2008, binary32"),
    ],
)
def test_a_format_is_what_its_standard_prints(widths, largest, normal, subnormal):
    format_ = dtypes.float_format(*widths)
    assert (format_.max, format_.smallest_normal, format_.smallest_subnormal) == (largest, normal, subnormal)


@pytest.mark.parametrize("finite_only", [False, True])
@pytest.mark.parametrize("exponent_bits", range(2, 7))
@pytest.mark.parametrize("mantissa_bits", range(1, 7))
def test_a_format_no_library_has_is_what_the_definition_of_its_patterns_lists(
    exponent_bits, mantissa_bits, finite_only
):
    bias, ones, last = 2 ** (exponent_bits - 1) - 1, 2**mantissa_bits - 1, 2**exponent_bits - 1
    listed = {
        (e, m): ((e > 0) + m / 2**mantissa_bits) * 2.0 ** (max(e, 1) - bias)
        for e in range(2**exponent_bits)
        for m in range(2**mantissa_bits)
        if (e, m) != (last, ones) and (finite_only or e != last)
    }
    format_ = dtypes.float_format(exponent_bits, mantissa_bits, finite_only)
    assert format_.max == max(listed.values())
    assert format_.smallest_normal == min(number for (e, _), number in listed.items() if e > 0)
    assert format_.smallest_subnormal == min(number for number in listed.values() if number > 0)
    assert format_.eps == listed[bias, 1] - 1
    assert {type(number) for number in vars(format_).values()} == {float}


# 2.2

LOWER = (0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x4000, 0xC000)


def assert_same_numbers(got, expected):
    """Assert equality bit by bit, but for NaN, of which any will do."""
    nan = expected.isnan()
    assert torch.equal(got.isnan(), nan)
    assert torch.equal(got.view(torch.int32)[~nan], expected.view(torch.int32)[~nan])


@pytest.mark.parametrize("lower", LOWER, ids=hex)
def test_rounding_is_torchs_for_each_upper_half(lower):
    x = from_bits((torch.arange(2**16) << 16) | lower)  # with 0x8000 below: every tie there is
    assert_same_numbers(dtypes.round_to_bfloat16(x), x.to(torch.bfloat16).float())


@pytest.mark.parametrize("seed", range(3))
def test_rounding_is_torchs_for_numbers_of_every_exponent(seed):
    x = random_float32(300_000, seed)
    assert_same_numbers(dtypes.round_to_bfloat16(x), x.to(torch.bfloat16).float())


def test_rounding_is_that_of_ml_dtypes():
    x = random_float32(100_000, 7)
    with np.errstate(invalid="ignore"):  # NaN with a payload
        expected = x.numpy().astype(ml_dtypes.bfloat16).astype(np.float32)
    assert_same_numbers(dtypes.round_to_bfloat16(x), torch.from_numpy(expected))


def test_rounding_leaves_the_low_half_empty_and_its_input_alone():
    x = random_float32(10_000, 11)
    before = x.clone()
    assert not (dtypes.round_to_bfloat16(x).view(torch.int32) & 0xFFFF).any()
    assert torch.equal(x.view(torch.int32), before.view(torch.int32))


@pytest.mark.parametrize(
    "x", [torch.randn(6, 4)[1::2].t(), torch.tensor(0.1), torch.empty(0, 3)], ids=["strided", "0-d", "empty"]
)
def test_rounding_works_in_any_layout(x):
    rounded = dtypes.round_to_bfloat16(x)
    assert rounded.shape == x.shape
    assert torch.equal(rounded, x.bfloat16().float())


# 2.3


def test_quantized_numbers_are_the_nearest_that_the_scaled_format_has():
    numbers = positive_numbers(torch.float8_e4m3fn)
    for seed, largest in itertools.product(range(3), (1e-6, 0.3, 448.0, 1e5)):
        x = torch.randn(5, 7, generator=torch.Generator().manual_seed(seed)) * largest
        values, scale = dtypes.quantize_fp8(x)
        assert (values.dtype, scale.dtype, scale.dim()) == (torch.float8_e4m3fn, torch.float32, 0)
        assert values.float().abs().max() == 448
        for asked, got in zip((x.double() / scale).flatten().tolist(), values.double().flatten().tolist(), strict=True):
            at = bisect.bisect(numbers, abs(asked))
            near = min(abs(abs(asked) - number) for number in numbers[at - 1 : at + 1])
            assert abs(asked - got) <= near + 448 * 2.0**-23  # the division in float32 may turn what is all but a tie


def test_there_and_back_is_off_by_a_sixteenth_at_most():
    x = torch.randn(1000, generator=torch.Generator().manual_seed(5))
    values, scale = dtypes.quantize_fp8(x)
    # Half a spacing of 3 mantissa bits, half the smallest subnormal, and the roundings of float32.
    bound = x.abs() * (2.0**-4 + 2.0**-22) + scale * 2.0**-10
    assert ((dtypes.dequantize_fp8(values, scale) - x).abs() <= bound).all()


def test_dequantized_numbers_are_the_exact_products_rounded_once():
    patterns = torch.arange(256, dtype=torch.int32)
    values = patterns[patterns & 0x7F != 0x7F].to(torch.uint8).view(torch.float8_e4m3fn)
    scale = torch.tensor(0.1)
    assert torch.equal(dtypes.dequantize_fp8(values, scale), (values.double() * scale.double()).float())


@pytest.mark.parametrize("x", [torch.zeros(2, 3), torch.empty(0), torch.empty(0, 4), torch.tensor(0.0)], ids=str)
def test_without_anything_but_zeros_the_scale_is_one(x):
    values, scale = dtypes.quantize_fp8(x)
    assert (values.shape, values.dtype, values.float().abs().sum()) == (x.shape, torch.float8_e4m3fn, 0)
    assert (scale.shape, scale.dtype, scale.item()) == ((), torch.float32, 1.0)


def cases_of(strategy, count=150, seed=3):
    """Return cases as a grading draws them."""
    drawn = []
    draw(strategy, count, seed, drawn.append)
    return drawn


def test_on_the_cases_of_the_check_each_right_order_of_operations_gives_the_same():
    orders = [
        lambda x, amax: (x / (amax / 448), amax / 448),
        lambda x, amax: (x * (1 / (amax / 448)), amax / 448),
        lambda x, amax: (x * (448 / amax), 1 / (448 / amax)),
        lambda x, amax: (x / amax * 448, amax * (1 / 448)),
        lambda x, amax: ((x.double() / amax.double() * 448).float(), (amax.double() / 448).float()),
    ]
    for case in cases_of(checks.scaled()):
        for order in orders:

            def quantize(x, order=order):
                amax = x.abs().max() if x.numel() else torch.tensor(0.0)
                scaled, scale = order(x, amax) if amax > 0 else (x, torch.tensor(1.0))
                return scaled.to(torch.float8_e4m3fn), scale

            ours = see("quantize_fp8", case, quantize_fp8=dtypes.quantize_fp8)
            other = see("quantize_fp8", case, quantize_fp8=quantize)
            assert compare(ours, other, checks.same_quantized, case) is None


def test_a_cast_that_overflows_is_seen_as_the_same_in_every_version_of_torch():
    case = Case("", {"numbers": (101.0, -101.0, 0.0), "shape": (3,), "largest": 1e5, "steps": ()})
    seen = see("quantize_fp8", case, quantize_fp8=lambda x: (x.to(torch.float8_e4m3fn), torch.tensor(1.0)))
    assert seen.value[0].numpy().astype(float).tolist() == [448.0, -448.0, 0.0]


# 2.4


def looked_up(number, dtype):
    """Return what becomes of a number, from the list of all numbers of a format."""
    if number != number:  # noqa: PLR0124
        return "exact"
    if abs(number) == float("inf"):
        return "overflow" if dtype == torch.float8_e4m3fn else "exact"
    numbers = positive_numbers(dtype)
    beyond = 2 * numbers[-1] - numbers[-2]  # what would come next
    if abs(number) >= beyond:
        return "overflow"
    upper = bisect.bisect_left(numbers, abs(number))
    above = beyond if upper == len(numbers) else numbers[upper]
    if above == abs(number):
        return "exact"
    middle = (numbers[upper - 1] + above) / 2
    chosen = upper - (abs(number) < middle or (abs(number) == middle and upper % 2 == 1))
    return "overflow" if chosen == len(numbers) else "underflow" if chosen == 0 else "rounded"


def telling_numbers(dtype):
    """Return a format's own numbers, the ties between them, and the float32 numbers around both."""
    numbers = torch.tensor(positive_numbers(dtype), dtype=torch.float64)
    numbers = torch.cat([numbers[:40], numbers[-40:], numbers[:: max(1, len(numbers) // 200)]]).unique()
    beyond = 2 * numbers[-1:] - numbers[-2:-1]
    points = torch.cat([numbers, (numbers[1:] + numbers[:-1]) / 2, (numbers[-1:] + beyond) / 2, beyond]).float()
    around = [points, points.nextafter(torch.tensor(torch.inf)), points.nextafter(torch.tensor(-torch.inf))]
    x = torch.cat([*around, random_float32(2000, 2), torch.tensor([torch.inf, torch.nan, 1e-8, 65519.0, 65520.0])])
    return torch.cat([x, -x])


@every_small_dtype
def test_a_number_is_classified_as_the_list_of_all_numbers_says(dtype):
    x = telling_numbers(dtype)
    expected = [looked_up(number, dtype) for number in x.tolist()]
    assert set(expected) == {"exact", "rounded", "underflow", "overflow"}
    assert dtypes.classify(x, dtype) == expected


def test_every_float32_is_exact_in_float32():
    assert set(dtypes.classify(random_float32(5000, 4), torch.float32)) == {"exact"}


@pytest.mark.parametrize(
    ("number", "dtype", "kind"),
    [
        pytest.param(1e-8, torch.float16, "underflow", id="CS336 lecture 2: 1e-8 is 0 in float16"),
        pytest.param(1e-8, torch.bfloat16, "rounded", id="CS336 lecture 2: 1e-8 is not 0 in bfloat16"),
        pytest.param(65519.0, torch.float16, "rounded", id="65519 stays in float16"),
        pytest.param(65520.0, torch.float16, "overflow", id="65520 does not"),
        pytest.param(464.0, torch.float8_e4m3fn, "rounded", id="ml_dtypes: 464 is 448 in e4m3fn"),
        pytest.param(465.0, torch.float8_e4m3fn, "overflow", id="ml_dtypes: 465 is NaN in e4m3fn"),
        pytest.param(torch.inf, torch.float8_e4m3fn, "overflow", id="OCP OFP8 1.0: E4M3 has no infinity"),
        pytest.param(torch.inf, torch.float8_e5m2, "exact", id="OCP OFP8 1.0: E5M2 has infinity"),
    ],
)
def test_a_known_number_has_its_known_fate(number, dtype, kind):
    assert dtypes.classify(torch.tensor([number]), dtype) == [kind]


# 2.5

NUMPY = {
    torch.float16: np.float16,
    torch.bfloat16: ml_dtypes.bfloat16,
    torch.float32: np.float32,
    torch.float64: np.float64,
}


@pytest.mark.parametrize(("dtype", "accumulator"), checks.SUMS)
def test_a_sum_is_what_numpy_adds_up_step_by_step(dtype, accumulator):
    dtype, accumulator = getattr(torch, dtype), getattr(torch, accumulator)
    for seed in range(20):
        values = torch.randn(200, generator=torch.Generator().manual_seed(seed)) * 10.0 ** (seed % 5)
        total = NUMPY[accumulator](0)
        with np.errstate(over="ignore"):  # float16 ends at 65504
            for value in values.numpy().astype(NUMPY[dtype]):
                total = NUMPY[accumulator](total + NUMPY[accumulator](value))
        got = dtypes.accumulate(values, dtype, accumulator)
        assert (got.dtype, got.dim()) == (accumulator, 0)
        assert got.double().item() == float(total)


@pytest.mark.parametrize(("dtype", "stalls_at"), [(torch.bfloat16, 256), (torch.float16, 2048)], ids=str)
def test_ones_stop_adding_up_where_the_spacing_becomes_two(dtype, stalls_at):
    ones = torch.ones(4096)
    assert dtypes.accumulate(ones, dtype, dtype).item() == stalls_at
    assert dtypes.accumulate(ones, dtype, torch.float32).item() == 4096
    assert torch.sum(ones.to(dtype)).item() == 4096


def test_a_value_is_cast_before_it_is_added():
    tenths = torch.full((10,), 0.1)
    assert dtypes.accumulate(tenths, torch.bfloat16, torch.float64).item() == 10 * tenths.bfloat16()[0].item()


# Errors, documented and raised

ILLEGAL = [
    ("float_format", (1, 5), 1),
    ("float_format", (12, 5), 12),
    ("float_format", (11, 5, True), 11),
    ("float_format", (5, 0), 0),
    ("float_format", (5, 53), 53),
    ("round_to_bfloat16", (torch.zeros(3, dtype=torch.float64),), torch.float64),
    ("round_to_bfloat16", (torch.zeros(3, dtype=torch.int32),), torch.int32),
    ("classify", (torch.zeros(3), torch.int64), torch.int64),
]
# Whose misconception is that the illegal is legal.
LENIENT = {"any_width_will_do", "integers_are_formats_too"}


@pytest.mark.parametrize(("symbol", "arguments", "culprit"), ILLEGAL)
def test_an_illegal_argument_is_named_in_the_error(symbol, arguments, culprit):
    with pytest.raises(ValueError, match=r".") as caught:
        getattr(dtypes, symbol)(*arguments)
    assert repr(culprit) in str(caught.value)


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_a_function_raises_exactly_where_its_docstring_says_so(symbol):
    documented = "Raises:" in inspect.getdoc(getattr(dtypes, symbol))
    assert documented is any(symbol == illegal[0] for illegal in ILLEGAL)


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_each_example_in_a_docstring_is_true(symbol):
    lines = [line for line in inspect.getdoc(getattr(dtypes, symbol)).splitlines() if line.startswith("Example: ")]
    assert lines
    for line in lines:
        call, _, answer = line.removeprefix("Example: ").partition(" -> ")
        assert repr(eval(call, vars(dtypes).copy())) == answer


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_no_answer_calls_another_exercise(symbol):
    source = ast.parse(textwrap.dedent(inspect.getsource(getattr(dtypes, symbol))))
    called = {
        node.func.id for node in ast.walk(source) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not called & set(SYMBOLS)


# Variants, on the cases that a grading draws

QUESTIONS = {
    "2.1": [("float_format", checks.formats(), checks.exact)],
    "2.2": [("round_to_bfloat16", checks.patterns(), checks.same_bits)],
    "2.3": [
        ("quantize_fp8", checks.scaled(), checks.same_quantized),
        ("dequantize_fp8", checks.quantized(), checks.exact),
    ],
    "2.4": [("classify", checks.classified(), checks.exact)],
    "2.5": [("accumulate", checks.sums(), checks.close(0.0))],
}


def see(probe, case, **changed):
    """Return what a probe sees of the reference with some of its functions changed."""
    module = SimpleNamespace(**vars(dtypes) | changed)
    try:
        return Returned(to_value(getattr(probes, probe)(module, **case.args)))
    except Exception as error:  # noqa: BLE001
        return Raised(type(error).__name__, (type(error).__name__,), str(error))


@pytest.mark.parametrize("number", QUESTIONS)
def test_the_code_of_a_case_makes_the_call_that_the_probe_makes(number):
    for probe, cases, closeness in QUESTIONS[number]:
        for case in cases_of(cases, count=100):
            _, *lines, expression = case.code.splitlines()  # without the import of the student's function
            names = dict(vars(dtypes))
            exec("\n".join(lines), names)
            if case.names:
                with pytest.raises(ValueError, match="|".join(map(re.escape, case.names))):
                    eval(expression, names)
                continue
            answer = probes.to_record(eval(expression, names), dtypes.FloatFormat)
            assert compare(see(probe, case), Returned(to_value(answer)), closeness, case) is None, case.code


@pytest.fixture(scope="module")
def observations():
    """What the reference and every variant answer to the same cases: number -> name -> (probe, case) -> observation."""
    seen = {}
    for number, questions in QUESTIONS.items():
        answers = {"reference": {}} | {v.name: {v.replaces: v.function} for v in VARIANTS if v.number == number}
        asked = [(probe, case, closeness) for probe, cases, closeness in questions for case in cases_of(cases)]
        seen[number] = {
            name: [(see(probe, case, **changed), closeness, case) for probe, case, closeness in asked]
            for name, changed in answers.items()
        }
    return seen


def differences(ours, others):
    return sum(
        compare(a, b, closeness, case) is not None for (a, closeness, case), (b, *_) in zip(ours, others, strict=True)
    )


def by_name(variants):
    return [pytest.param(variant, id=variant.name) for variant in variants]


@pytest.mark.parametrize("variant", by_name(VARIANTS))
def test_a_variant_differs_from_the_reference_and_from_every_other_variant(variant, observations):
    others = dict(observations[variant.number])
    own = others.pop(variant.name)
    assert [name for name, seen in others.items() if not differences(seen, own)] == []


@pytest.mark.parametrize("variant", by_name(v for v in VARIANTS if v.name not in LENIENT))
def test_a_variant_refuses_what_the_reference_refuses(variant):
    for symbol, arguments, culprit in ILLEGAL:
        if symbol == variant.replaces:
            with pytest.raises(ValueError, match=r".") as caught:
                variant.function(*arguments)
            assert repr(culprit) in str(caught.value)


@pytest.mark.parametrize("variant", by_name(VARIANTS))
def test_a_hint_asks_one_question(variant):
    assert variant.kind == "misconception"
    assert variant.text.endswith("?")
    assert variant.text.count("?") == 1


def test_no_two_hints_are_the_same():
    assert len({variant.text for variant in VARIANTS}) == len(VARIANTS)
