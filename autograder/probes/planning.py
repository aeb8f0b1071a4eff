"""Looks at part 9: what the student's napkin says. Recipes come as plain fields, bills go back as plain fields."""

from __future__ import annotations

from typing import Any

from autograder.probes.inputs import to_record


def training_days(planning: Any, parameters: Any, tokens: Any, devices: Any, peak: Any, mfu: Any) -> Any:
    """See for how many days a model is said to train."""
    return planning.training_days(parameters, tokens, devices, peak, mfu)


def max_parameters(planning: Any, devices: Any, gb_per_device: Any, recipe: Any) -> Any:
    """See how many parameters are said to fit."""
    return planning.max_parameters(devices, gb_per_device, planning.Recipe(**recipe))


def compute_optimal(planning: Any, flops: Any) -> Any:
    """See how a budget is divided."""
    return planning.compute_optimal(flops)


def training_bill(
    planning: Any, device_hours: Any, dollars_per_hour: Any, watts: Any, pue: Any, grams_per_kwh: Any
) -> Any:
    """See the bill of a training run."""
    bill = planning.training_bill(device_hours, dollars_per_hour, watts, pue, grams_per_kwh)
    return to_record(bill, planning.Bill)
