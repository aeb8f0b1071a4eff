"""Part 9, planning: what a training run takes in days, memory, dollars, energy and carbon.

Arithmetic on plain Python numbers, as one does it on a napkin before anything is rented: no torch, no numpy. What is
illegal raises a ValueError whose message contains the argument that is at fault, as `repr` shows it.
"""

from __future__ import annotations

from dataclasses import dataclass

TOKENS_PER_PARAMETER = 20  # rounded from table 3 of Hoffmann et al., "Training Compute-Optimal Large Language Models"


def require_positive(**values: float) -> None:
    """Refuse the first of some named values that is not above 0. Given.

    require_positive(devices=8, peak=-1.0) says "peak -1.0 is not above 0".

    Raises:
        ValueError: a value is 0 or below.
    """
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} {value!r} is not above 0")


def training_days(parameters: float, tokens: float, devices: int, peak: float, mfu: float) -> float:
    """Return for how many days a dense model trains.

    The work is what one pass forward and one backward over all tokens need, by the rule of thumb in parameters and
    tokens alone; nothing is recomputed. Of its `peak` each device spends `mfu` on this work.

    Example: round(training_days(70e9, 15e12, 1024, 989.5e12, 0.5), 2) -> 143.93
    Units: `peak` is the dense (not the sparse) rate of one device in FLOP/s, `mfu` a fraction such as 0.4; a day has
        24 hours. The answer is a float, not rounded.
    Raises:
        ValueError: an argument is 0 or below, or `mfu` is above 1.
    Source: Kaplan et al., "Scaling Laws for Neural Language Models", section 2.1.
    Check: make grade ONLY=9.1
    """
    # exercise 9.1: how much work is there, and how much is done in a day?
    raise NotImplementedError("9.1 training_days: how much work is there, and how much is done in a day?")


@dataclass(frozen=True)
class Recipe:
    """The bytes that training keeps for one parameter of the model, by what they are for. Given.

    AdamW with everything in float32 is Recipe(parameter=4, gradient=4, states=(4, 4)).
    """

    parameter: int  # the copy that forward and backward work with
    gradient: int
    states: tuple[int, ...]  # one entry for each state of the optimizer: two moments for Adam, () for plain SGD
    master: int = 0  # the more precise copy that the optimizer updates; 0 where there is none


def max_parameters(devices: int, gb_per_device: int, recipe: Recipe) -> int:
    """Return how many parameters the largest model has that can be trained.

    What `recipe` keeps is spread evenly: the memory of all devices is one pool, in which nothing is kept twice and
    all of which is used. Activations are left out, so this is an upper bound. Only whole parameters count.

    Example: max_parameters(8, 80, Recipe(parameter=4, gradient=4, states=(4, 4))) -> 40000000000
    Units: `gb_per_device` is in GB as vendors print it: 1 GB is 10**9 bytes. The answer is an int.
    Raises:
        ValueError: `devices` or `gb_per_device` is 0 or below.
    Check: make grade ONLY=9.2
    """
    # exercise 9.2: how many bytes are there, and how many does one parameter need?
    raise NotImplementedError("9.2 max_parameters: how many bytes are there, and how many does one parameter need?")


def compute_optimal(flops: float) -> tuple[float, float]:
    """Return (parameters, tokens) that spend `flops` with 20 tokens for each parameter.

    The work is counted as in `training_days`, and all of it is spent.

    Example: compute_optimal(1.2e22) -> (10000000000.0, 200000000000.0)
    Units: `flops` is the work of the whole training in FLOPs. Both answers are floats, not rounded.
    Raises:
        ValueError: `flops` is 0 or below.
    Source: Hoffmann et al., "Training Compute-Optimal Large Language Models", table 3.
    Check: make grade ONLY=9.3
    """
    # exercise 9.3: which two equations tie parameters and tokens together?
    raise NotImplementedError("9.3 compute_optimal: which two equations tie parameters and tokens together?")


@dataclass(frozen=True)
class Bill:
    """What a training run costs. Given."""

    dollars: float  # rent of the devices
    kwh: float  # electricity that the data centre draws for it, in kilowatt-hours
    kg_co2: float  # what generating that electricity emits, in kilograms of CO2 equivalent


def training_bill(device_hours: float, dollars_per_hour: float, watts: float, pue: float, grams_per_kwh: float) -> Bill:
    """Return what a training run costs in dollars, energy and carbon.

    PUE, power usage effectiveness, is the electricity of the whole data centre over that of its devices: cooling and
    the losses of the supply make it larger than 1. The rent covers all of this already.

    Example: training_bill(1000.0, 2.0, 500.0, 1.25, 400.0) -> Bill(dollars=2000.0, kwh=625.0, kg_co2=250.0)
    Units: `device_hours` is the sum over all devices; `dollars_per_hour` and `watts` are of one device;
        `grams_per_kwh` is grams of CO2 equivalent for each kWh drawn. The answers are floats, not rounded.
    Raises:
        ValueError: an argument is 0 or below, or `pue` is below 1.
    Source: Touvron et al., "LLaMA: Open and Efficient Foundation Language Models", section 6.
    Check: make grade ONLY=9.4
    """
    # exercise 9.4: what is paid for, what is drawn, and what does that emit?
    raise NotImplementedError("9.4 training_bill: what is paid for, what is drawn, and what does that emit?")
