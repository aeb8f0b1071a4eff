from math import exp, log


def training_days(parameters, tokens, devices, peak, mfu):
    for name, value in locals().copy().items():
        if value <= 0 or (name == "mfu" and value > 1):
            raise ValueError(f"{name} can't be {value!r}")
    petaflop_per_s_days = (2 + 4) * (parameters / 1e9) * (tokens / 1e6) / 86400
    return petaflop_per_s_days / (peak / 1e15) / mfu / devices


def max_parameters(devices, gb_per_device, recipe):
    if min(devices, gb_per_device) < 1:
        raise ValueError(f"nothing fits into {devices!r} times {gb_per_device!r} GB")
    need = sum(vars(recipe)[name] for name in ("parameter", "gradient", "master"))
    for state in recipe.states:
        need += state
    fits, too_many = 0, devices * gb_per_device * 1000**3 + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if middle * need <= devices * gb_per_device * 1000**3:
            fits = middle
        else:
            too_many = middle
    return fits


def compute_optimal(flops):
    if flops <= 0:
        raise ValueError(f"a budget of {flops!r}")
    tokens = exp((log(flops) - log(6) + log(20)) / 2)
    return tokens / 20, tokens


def training_bill(device_hours, dollars_per_hour, watts, pue, grams_per_kwh):
    refused = [x for x in (device_hours, dollars_per_hour, watts, grams_per_kwh) if x <= 0] or [pue] * (pue < 1)
    if refused:
        raise ValueError(f"{refused!r} won't do")
    joules = watts * (device_hours * 3600)
    kg_per_joule = grams_per_kwh / 1e3 / 3.6e6
    return Bill(dollars_per_hour * device_hours, joules / 3.6e6 * pue, joules * kg_per_joule * pue)
