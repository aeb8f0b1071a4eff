"""Part 9, planning: what students get wrong on a napkin."""

from __future__ import annotations

from napkin.planning import Bill, Recipe, require_positive

from variants import misconception

# 9.1 training_days


@misconception(
    "9.1",
    "training_days",
    "Half of the right number of days. Is `peak` doubled, as on data sheets that count sparsity, or does a product "
    "together with its addition count as one FLOP?",
)
def sparse_peak(parameters: float, tokens: float, devices: int, peak: float, mfu: float) -> float:
    return _days(6, parameters, tokens, devices, peak, mfu) / 2


@misconception(
    "9.1",
    "training_days",
    "Twice the right number of days. `peak` is dense already: what is left to be halved?",
)
def dense_peak_halved(parameters: float, tokens: float, devices: int, peak: float, mfu: float) -> float:
    return _days(6, parameters, tokens, devices, peak, mfu) * 2


@misconception(
    "9.1",
    "training_days",
    "This is the time of the forward passes. What else happens in a training step, and what does it cost?",
)
def forward_only(parameters: float, tokens: float, devices: int, peak: float, mfu: float) -> float:
    return _days(2, parameters, tokens, devices, peak, mfu)


@misconception(
    "9.1",
    "training_days",
    "The backward passes are here, a third of the time is not. What must come before a backward pass?",
)
def backward_only(parameters: float, tokens: float, devices: int, peak: float, mfu: float) -> float:
    return _days(4, parameters, tokens, devices, peak, mfu)


@misconception(
    "9.1",
    "training_days",
    "A second forward pass is counted, the one that checkpointing repeats. Is that work what the M of MFU stands for?",
)
def recompute_counted(parameters: float, tokens: float, devices: int, peak: float, mfu: float) -> float:
    return _days(8, parameters, tokens, devices, peak, mfu)


@misconception(
    "9.1",
    "training_days",
    "These devices reach their peak all day long. Which argument says that they don't?",
)
def mfu_dropped(parameters: float, tokens: float, devices: int, peak: float, mfu: float) -> float:
    return _days(6, parameters, tokens, devices, peak, mfu) * mfu


@misconception(
    "9.1",
    "training_days",
    "Too many days, by 1 / mfu. How often is a device slower than its peak for one and the same reason?",
)
def mfu_twice(parameters: float, tokens: float, devices: int, peak: float, mfu: float) -> float:
    return _days(6, parameters, tokens, devices, peak, mfu) / mfu


@misconception(
    "9.1",
    "training_days",
    "The worse the devices are used, the sooner this run is over. On which side of the division does mfu belong?",
)
def mfu_turned(parameters: float, tokens: float, devices: int, peak: float, mfu: float) -> float:
    return _days(6, parameters, tokens, devices, peak, mfu) * mfu**2


@misconception(
    "9.1",
    "training_days",
    "An mfu of 40 went through. Would a device with that mfu be useful or impossible?",
)
def mfu_in_per_cent(parameters: float, tokens: float, devices: int, peak: float, mfu: float) -> float:
    return _days(6, parameters, tokens, devices, peak, min(mfu, 1.0)) / max(mfu, 1.0)


@misconception(
    "9.1",
    "training_days",
    "One device takes so long alone. How many work side by side?",
)
def devices_dropped(parameters: float, tokens: float, devices: int, peak: float, mfu: float) -> float:
    return _days(6, parameters, tokens, devices, peak, mfu) * devices


@misconception(
    "9.1",
    "training_days",
    "The number is right in another unit. How many of these make a day?",
)
def hours_for_days(parameters: float, tokens: float, devices: int, peak: float, mfu: float) -> float:
    return _days(6, parameters, tokens, devices, peak, mfu) * 24


def _days(flops: float, parameters: float, tokens: float, devices: int, peak: float, mfu: float) -> float:
    """Return the days at so many FLOPs for each parameter and token; ValueError for what is illegal."""
    require_positive(parameters=parameters, tokens=tokens, devices=devices, peak=peak, mfu=mfu)
    if mfu > 1:
        raise ValueError(f"mfu {mfu!r} is above 1")
    return flops * parameters * tokens / (devices * peak * mfu) / 86400


# 9.2 max_parameters


@misconception(
    "9.2",
    "max_parameters",
    "7 % too many. Whose unit is 2**30 bytes, and which one is printed on the box?",
)
def gibibytes(devices: int, gb_per_device: int, recipe: Recipe) -> int:
    return _pool(devices, gb_per_device) * 2**30 // _bytes(recipe)


@misconception(
    "9.2",
    "max_parameters",
    "So many fit until the optimizer takes its first step. What does Adam keep from then on?",
)
def states_left_out(devices: int, gb_per_device: int, recipe: Recipe) -> int:
    return _pool(devices, gb_per_device) * 10**9 // (_bytes(recipe) - sum(recipe.states))


@misconception(
    "9.2",
    "max_parameters",
    "One state is counted. How many has each parameter by this recipe?",
)
def one_state_only(devices: int, gb_per_device: int, recipe: Recipe) -> int:
    return _pool(devices, gb_per_device) * 10**9 // (_bytes(recipe) - sum(recipe.states[1:]))


@misconception(
    "9.2",
    "max_parameters",
    "Where do the gradients go between the backward pass and the step?",
)
def gradients_left_out(devices: int, gb_per_device: int, recipe: Recipe) -> int:
    return _pool(devices, gb_per_device) * 10**9 // (_bytes(recipe) - recipe.gradient)


@misconception(
    "9.2",
    "max_parameters",
    "Right unless the recipe has a master copy. Does that one replace the low one, or is it kept beside it?",
)
def master_left_out(devices: int, gb_per_device: int, recipe: Recipe) -> int:
    return _pool(devices, gb_per_device) * 10**9 // (_bytes(recipe) - recipe.master)


@misconception(
    "9.2",
    "max_parameters",
    "So large a model can be loaded. What more does it take to train it?",
)
def weights_only(devices: int, gb_per_device: int, recipe: Recipe) -> int:
    return _pool(devices, gb_per_device) * 10**9 // recipe.parameter


@misconception(
    "9.2",
    "max_parameters",
    "16 bytes is the rule of thumb for AdamW in float32. What does this recipe add up to?",
)
def sixteen_bytes_always(devices: int, gb_per_device: int, recipe: Recipe) -> int:
    return _pool(devices, gb_per_device) * 10**9 // 16


@misconception(
    "9.2",
    "max_parameters",
    "So much fits into a single device. Must each of them hold the whole model?",
)
def devices_dropped_from_memory(devices: int, gb_per_device: int, recipe: Recipe) -> int:
    _pool(devices, gb_per_device)  # refuses what is illegal
    return gb_per_device * 10**9 // _bytes(recipe)


@misconception(
    "9.2",
    "max_parameters",
    "One parameter too many: its bytes don't all fit any more. Which way must this division be rounded?",
)
def rounded_up(devices: int, gb_per_device: int, recipe: Recipe) -> int:
    return -(-_pool(devices, gb_per_device) * 10**9 // _bytes(recipe))


@misconception(
    "9.2",
    "max_parameters",
    "Some bytes are left over on every device here. What does the docstring say about the memory of all devices?",
)
def rounded_on_each_device(devices: int, gb_per_device: int, recipe: Recipe) -> int:
    return _pool(devices, gb_per_device) // gb_per_device * (gb_per_device * 10**9 // _bytes(recipe))


def _pool(devices: int, gb_per_device: int) -> int:
    """Return the memory of all devices in GB; ValueError for what is illegal."""
    require_positive(devices=devices, gb_per_device=gb_per_device)
    return devices * gb_per_device


def _bytes(recipe: Recipe) -> int:
    return recipe.parameter + recipe.gradient + sum(recipe.states) + recipe.master


# 9.3 compute_optimal


@misconception(
    "9.3",
    "compute_optimal",
    "Multiply the two and take them by 6: that is 20 times the budget. Which of the two equations was left out before "
    "the root was taken?",
)
def root_of_a_sixth(flops: float) -> tuple[float, float]:
    return _pair(flops, 6, 20)


@misconception(
    "9.3",
    "compute_optimal",
    "The budget is spent, but each parameter sees one token. How many should it see?",
)
def one_token_each(flops: float) -> tuple[float, float]:
    return _pair(flops, 6, 1)


@misconception(
    "9.3",
    "compute_optimal",
    "With 2 FLOPs per parameter and token nothing is learnt yet. What do forward and backward cost together?",
)
def budget_of_forward_passes(flops: float) -> tuple[float, float]:
    return _pair(flops, 40, 20)


@misconception(
    "9.3",
    "compute_optimal",
    "These two multiply to the whole budget. How many FLOPs does one token cost one parameter?",
)
def six_forgotten(flops: float) -> tuple[float, float]:
    return _pair(flops, 20, 20)


@misconception(
    "9.3",
    "compute_optimal",
    "20 parameters for each token come out here. Which of the two numbers is the larger one, and which comes first?",
)
def ratio_inverted(flops: float) -> tuple[float, float]:
    return _pair(flops, 6 / 20, 1 / 20)


@misconception(
    "9.3",
    "compute_optimal",
    "Ten times the budget makes this model ten times as large, and its data too. By how much does the work grow then?",
)
def root_forgotten(flops: float) -> tuple[float, float]:
    parameters, _ = _pair(flops, 120, 20)
    return parameters**2, 20 * parameters**2


def _pair(flops: float, divisor: float, ratio: float) -> tuple[float, float]:
    """Return the root of a part of the budget, and `ratio` times it; ValueError for what is illegal."""
    require_positive(flops=flops)
    parameters = (flops / divisor) ** 0.5
    return parameters, ratio * parameters


# 9.4 training_bill


@misconception(
    "9.4",
    "training_bill",
    "A thousand times the energy. What does the k of kWh stand for?",
)
def watts_for_kilowatts(
    device_hours: float, dollars_per_hour: float, watts: float, pue: float, grams_per_kwh: float
) -> Bill:
    bill = _bill(device_hours, dollars_per_hour, watts, pue, grams_per_kwh)
    return Bill(bill.dollars, bill.kwh * 1000, bill.kg_co2 * 1000)


@misconception(
    "9.4",
    "training_bill",
    "This is what the devices draw. Who else draws electricity in that building?",
)
def pue_dropped(device_hours: float, dollars_per_hour: float, watts: float, pue: float, grams_per_kwh: float) -> Bill:
    bill = _bill(device_hours, dollars_per_hour, watts, pue, grams_per_kwh)
    return Bill(bill.dollars, bill.kwh / pue, bill.kg_co2 / pue)


@misconception(
    "9.4",
    "training_bill",
    "Energy and carbon are right. Does the docstring say that cooling is paid for beside the rent?",
)
def pue_on_the_rent(
    device_hours: float, dollars_per_hour: float, watts: float, pue: float, grams_per_kwh: float
) -> Bill:
    bill = _bill(device_hours, dollars_per_hour, watts, pue, grams_per_kwh)
    return Bill(bill.dollars * pue, bill.kwh, bill.kg_co2)


@misconception(
    "9.4",
    "training_bill",
    "The less efficient the data centre, the smaller this bill. Which of its two powers is the larger one?",
)
def divided_by_pue(
    device_hours: float, dollars_per_hour: float, watts: float, pue: float, grams_per_kwh: float
) -> Bill:
    bill = _bill(device_hours, dollars_per_hour, watts, pue, grams_per_kwh)
    return Bill(bill.dollars, bill.kwh / pue**2, bill.kg_co2 / pue**2)


@misconception(
    "9.4",
    "training_bill",
    "The kilowatt-hours are right and the carbon is too much by PUE. What do they contain already?",
)
def pue_twice_in_the_carbon(
    device_hours: float, dollars_per_hour: float, watts: float, pue: float, grams_per_kwh: float
) -> Bill:
    bill = _bill(device_hours, dollars_per_hour, watts, pue, grams_per_kwh)
    return Bill(bill.dollars, bill.kwh, bill.kg_co2 * pue)


@misconception(
    "9.4",
    "training_bill",
    "The carbon is that of the devices alone. Is the electricity for cooling any cleaner?",
)
def carbon_without_pue(
    device_hours: float, dollars_per_hour: float, watts: float, pue: float, grams_per_kwh: float
) -> Bill:
    bill = _bill(device_hours, dollars_per_hour, watts, pue, grams_per_kwh)
    return Bill(bill.dollars, bill.kwh, bill.kg_co2 / pue)


@misconception(
    "9.4",
    "training_bill",
    "These are grams. In which unit is the answer?",
)
def grams_for_kilograms(
    device_hours: float, dollars_per_hour: float, watts: float, pue: float, grams_per_kwh: float
) -> Bill:
    bill = _bill(device_hours, dollars_per_hour, watts, pue, grams_per_kwh)
    return Bill(bill.dollars, bill.kwh, bill.kg_co2 * 1000)


@misconception(
    "9.4",
    "training_bill",
    "Model cards print tonnes, and so does this. What does the field's name say?",
)
def tonnes_for_kilograms(
    device_hours: float, dollars_per_hour: float, watts: float, pue: float, grams_per_kwh: float
) -> Bill:
    bill = _bill(device_hours, dollars_per_hour, watts, pue, grams_per_kwh)
    return Bill(bill.dollars, bill.kwh, bill.kg_co2 / 1000)


@misconception(
    "9.4",
    "training_bill",
    "3.6 million joules make a kWh, but these were never joules. How long is the hour in a watt-hour?",
)
def watt_hours_for_joules(
    device_hours: float, dollars_per_hour: float, watts: float, pue: float, grams_per_kwh: float
) -> Bill:
    bill = _bill(device_hours, dollars_per_hour, watts, pue, grams_per_kwh)
    return Bill(bill.dollars, bill.kwh / 3600, bill.kg_co2 / 3600)


@misconception(
    "9.4",
    "training_bill",
    "A PUE below 1 went through. Could a building draw less than the devices in it?",
)
def pue_below_one(device_hours: float, dollars_per_hour: float, watts: float, pue: float, grams_per_kwh: float) -> Bill:
    require_positive(pue=pue)
    bill = _bill(device_hours, dollars_per_hour, watts, max(pue, 1.0), grams_per_kwh)
    return Bill(bill.dollars, bill.kwh * min(pue, 1.0), bill.kg_co2 * min(pue, 1.0))


def _bill(device_hours: float, dollars_per_hour: float, watts: float, pue: float, grams_per_kwh: float) -> Bill:
    """Return the right bill; ValueError for what is illegal."""
    require_positive(
        device_hours=device_hours, dollars_per_hour=dollars_per_hour, watts=watts, pue=pue, grams_per_kwh=grams_per_kwh
    )
    if pue < 1:
        raise ValueError(f"pue {pue!r} is below 1")
    kwh = device_hours * watts / 1000 * pue
    return Bill(device_hours * dollars_per_hour, kwh, kwh * grams_per_kwh / 1000)
