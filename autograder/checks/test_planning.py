"""Part 9, planning: what a training run takes in days, memory, dollars, energy and carbon."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping, Sequence

from gradescope_utils.autograder_utils.decorators import number, weight
from hypothesis import strategies as st

from autograder.agree import Agree
from autograder.checks.cases import Draw, call, pick, sometimes
from autograder.judge import Case, close, exact
from autograder.wire import Record, Value

# These answers are products, quotients and one root: in whatever order somebody takes them, there are no more than 64
# roundings of 2^-53 on either side. What is wrong here is wrong by per cents.
ROUNDED = close(2 * 64 * 2.0**-53)

Options = Mapping[str, Sequence[str]]  # of each argument, as one writes them: "70e9" rather than 70000000000.0
Illegal = Sequence[tuple[str, str]]  # an argument, and what it must not be


def _call(draw: Draw, function: str, options: Options, illegal: Illegal) -> Case:
    """Draw one value for each argument, and now and then an illegal one for one of them."""
    written = {name: pick(draw, values) for name, values in options.items()}
    names: tuple[object, ...] = ()
    if sometimes(draw, 4):
        name, value = pick(draw, illegal)
        written[name] = value
        names = (literal_eval(value),)
    code = f"{function}({', '.join(f'{name}={value}' for name, value in written.items())})"
    return call("planning", function, code, names, **{name: literal_eval(value) for name, value in written.items()})


@st.composite
def runs(draw: Draw) -> Case:
    """Draw a model, its data and the devices to train it on."""
    options = {
        "parameters": ("70e9", "8e9", "1.5e9", "405e9", "175e9"),
        "tokens": ("15e12", "2e12", "1.4e12", "300e9"),
        "devices": ("1024", "8", "256", "16384", "1"),
        "peak": ("989.5e12", "312e12", "2250e12", "125e12"),  # H100, A100, B200, V100: dense 16-bit
        "mfu": ("0.4", "0.5", "0.35", "0.55", "0.25", "1.0"),
    }
    illegal = (
        *(("mfu", value) for value in ("40.0", "1.5", "55.0", "1.01", "-0.4", "0.0")),
        *(("parameters", "-70e9"), ("tokens", "-15e12"), ("devices", "-8"), ("devices", "0"), ("peak", "-312e12")),
    )
    return _call(draw, "training_days", options, illegal)


@number("9.1")
@weight(1)
def test_training_days(agree: Agree) -> None:
    """For how many days a model trains, from its size, its data, the devices and how well they are used."""
    agree("planning.training_days", runs(), ROUNDED)


RECIPES: tuple[dict[str, Value], ...] = (
    {"parameter": 4, "gradient": 4, "states": (4, 4)},  # AdamW, all in float32
    {"parameter": 2, "gradient": 2, "states": (4, 4)},  # bfloat16, states in float32
    {"parameter": 2, "gradient": 2, "states": (4, 4), "master": 4},
    {"parameter": 2, "gradient": 4, "states": (4, 4), "master": 4},  # as Megatron-LM counts them
    {"parameter": 4, "gradient": 4, "states": (4, 4, 4)},  # AMSGrad
    {"parameter": 2, "gradient": 2, "states": (1, 1), "master": 4},  # 8-bit Adam
    {"parameter": 4, "gradient": 4, "states": (4,)},  # AdaGrad, or SGD with momentum
    {"parameter": 2, "gradient": 2, "states": (2,), "master": 0},
    {"parameter": 4, "gradient": 4, "states": ()},  # plain SGD
    {"parameter": 2, "gradient": 1, "states": (), "master": 4},
)


@st.composite
def pools(draw: Draw) -> Case:
    """Draw some devices, and a recipe to train by."""
    recipe = pick(draw, RECIPES)
    devices, memory = pick(draw, [8, 3, 64, 1024, 7, 1]), pick(draw, [80, 24, 40, 141, 16, 192])
    names: tuple[object, ...] = ()
    if sometimes(draw, 8):
        devices, memory, wrong = pick(draw, [(-8, 80, -8), (8, -80, -80), (0, 80, 0), (8, 0, 0)])
        names = (wrong,)
    code = f"max_parameters({devices}, {memory}, {Record('Recipe', recipe)!r})"
    return call("planning", "Recipe, max_parameters", code, names, devices=devices, gb_per_device=memory, recipe=recipe)


@number("9.2")
@weight(1)
def test_max_parameters(agree: Agree) -> None:
    """How many parameters can be trained at most in the memory of some devices, by a recipe."""
    agree("planning.max_parameters", pools(), exact)


@st.composite
def budgets(draw: Draw) -> Case:
    """Draw a number of FLOPs."""
    digits, exponent = pick(draw, ["1.2", "3.14", "5.76", "2", "8.5", "4.79"]), pick(draw, range(18, 27))
    return _call(
        draw,
        "compute_optimal",
        {"flops": (f"{digits}e{exponent}",)},
        (("flops", f"-{digits}e{exponent}"), ("flops", "0.0")),
    )


@number("9.3")
@weight(1)
def test_compute_optimal(agree: Agree) -> None:
    """How many parameters and tokens spend a budget of FLOPs, at 20 tokens for each parameter."""
    agree("planning.compute_optimal", budgets(), ROUNDED)


@st.composite
def bills(draw: Draw) -> Case:
    """Draw a training run and what it is billed by."""
    options = {
        "device_hours": ("1000.0", "184320.0", "30.84e6", "7.5"),
        "dollars_per_hour": ("2.0", "3.25", "0.8", "12.0"),
        "watts": ("400.0", "700.0", "330.0", "72.0"),
        "pue": ("1.25", "1.1", "1.58", "1.0"),
        "grams_per_kwh": ("400.0", "385.0", "429.0", "20.0", "700.0"),
    }
    illegal = (
        *(("pue", value) for value in ("0.9", "0.5", "0.99", "-1.1")),
        *(("device_hours", "-7.5"), ("dollars_per_hour", "-2.0"), ("watts", "0.0"), ("grams_per_kwh", "-385.0")),
    )
    return _call(draw, "training_bill", options, illegal)


@number("9.4")
@weight(2)
def test_training_bill(agree: Agree) -> None:
    """What a training run costs in dollars, kilowatt-hours and kilograms of CO2."""
    agree("planning.training_bill", bills(), ROUNDED)
