"""The notebook: known slips, and what to ask about them."""

from __future__ import annotations

from napkin_math import BANDWIDTH, PEAK, answer_2, answer_3, numbers

from variants import misconception


@misconception("N.1", "answer_1", "That is the number of megabytes. Which power stands behind MiB?")
def megabytes_for_mebibytes(student: str) -> float:
    n = numbers(student)
    return n["rows"] * n["columns"] * 4 / 1e6


@misconception("N.1", "answer_1", "Half of it: is a float32 as small as a bfloat16?")
def two_bytes_for_float32(student: str) -> float:
    n = numbers(student)
    return n["rows"] * n["columns"] * 2 / 2**20


@misconception("N.1", "answer_1", "Eight times too much. Is that a count of bytes?")
def bits_for_bytes(student: str) -> float:
    n = numbers(student)
    return n["rows"] * n["columns"] * 32 / 2**20


@misconception(
    "N.2",
    "answer_2",
    "How many storages are there after that line? Then ask of which one `y[0]` is a part.",
)
def aliasing_turned_round(student: str) -> bool:
    return not answer_2(student)


@misconception(
    "N.3",
    "answer_3",
    "Which operations does autocast touch on a CPU? What comes out where bfloat16 meets float32?",
)
def autocast_turned_round(student: str) -> bool:
    return not answer_3(student)


@misconception("N.4", "answer_4", "That counts a multiplication and an addition as one. What is one FLOP?")
def multiply_adds(student: str) -> float:
    n = numbers(student)
    return n["batch"] * n["inputs"] * n["outputs"] / 1e9


@misconception("N.4", "answer_4", "A thousand times too few. How many FLOP are a GFLOP?")
def tera_for_giga(student: str) -> float:
    n = numbers(student)
    return 2 * n["batch"] * n["inputs"] * n["outputs"] / 1e12


@misconception("N.4", "answer_4", "One product is asked for, not a training step. What else did you count?")
def three_passes(student: str) -> float:
    n = numbers(student)
    return 6 * n["batch"] * n["inputs"] * n["outputs"] / 1e9


@misconception("N.5", "answer_5", "Half as many days as it takes. Are your matrices sparse?")
def days_at_the_sparse_peak(student: str) -> float:
    n = numbers(student)
    return 6 * n["billions"] * n["trillions"] * 1e21 / (n["devices"] * 2 * PEAK * n["mfu"]) / 86400


@misconception("N.5", "answer_5", "That is a third of the work. What comes after the forward pass?")
def days_of_the_forward_pass(student: str) -> float:
    n = numbers(student)
    return 2 * n["billions"] * n["trillions"] * 1e21 / (n["devices"] * PEAK * n["mfu"]) / 86400


@misconception("N.5", "answer_5", "At that speed the MFU would be 1. Is it?")
def days_at_full_speed(student: str) -> float:
    n = numbers(student)
    return 6 * n["billions"] * n["trillions"] * 1e21 / (n["devices"] * PEAK) / 86400


@misconception("N.5", "answer_5", "That is the number of hours.")
def hours_for_days(student: str) -> float:
    n = numbers(student)
    return 6 * n["billions"] * n["trillions"] * 1e21 / (n["devices"] * PEAK * n["mfu"]) / 3600


@misconception("N.6", "answer_6", "7 % too many. Is a GB 1e9 bytes or 2**30?")
def gibibytes_of_memory(student: str) -> float:
    n = numbers(student)
    return n["cards"] * n["gigabytes"] * 2**30 / 1e9 / 16


@misconception("N.6", "answer_6", "The parameters fit, but nothing else. What more does a step of AdamW need to keep?")
def parameters_alone(student: str) -> float:
    n = numbers(student)
    return n["cards"] * n["gigabytes"] / 4


@misconception("N.6", "answer_6", "One number too few per parameter. Which two averages does AdamW keep?")
def one_moment_only(student: str) -> float:
    n = numbers(student)
    return n["cards"] * n["gigabytes"] / 12


@misconception("N.6", "answer_6", "The question says float32. How many bytes has each number then?")
def everything_in_16_bits(student: str) -> float:
    n = numbers(student)
    return n["cards"] * n["gigabytes"] / 8


@misconception("N.7", "answer_7", "The work that is done twice is in your count. Is it useful work to the model?")
def recompute_in_mfu(student: str) -> float:
    n = numbers(student)
    return 8 * 8e9 * n["tokens_per_second"] / PEAK


@misconception("N.7", "answer_7", "Half of it: what does the card promise for dense matrices?")
def mfu_of_the_sparse_peak(student: str) -> float:
    n = numbers(student)
    return 6 * 8e9 * n["tokens_per_second"] / (2 * PEAK)


@misconception("N.7", "answer_7", "A third of it. Training runs more than the forward pass.")
def mfu_of_the_forward_pass(student: str) -> float:
    n = numbers(student)
    return 2 * 8e9 * n["tokens_per_second"] / PEAK


@misconception("N.7", "answer_7", "A hundred times too much. A fraction is asked for.")
def mfu_in_percent(student: str) -> float:
    n = numbers(student)
    return 600 * 8e9 * n["tokens_per_second"] / PEAK


@misconception("N.8", "answer_8", "What is kept per pair of positions is missing. How many scores has one head?")
def no_attention_scores(student: str) -> float:
    n = numbers(student)
    return n["sequence"] * n["hidden"] * 34 / 1e9


@misconception("N.8", "answer_8", "Twice as much. How wide is a number here?")
def activations_in_32_bits(student: str) -> float:
    n = numbers(student)
    return 2 * n["sequence"] * n["hidden"] * (34 + 5 * n["heads"] * n["sequence"] / n["hidden"]) / 1e9


@misconception("N.8", "answer_8", "There are scores of one head only in your count.")
def scores_of_one_head(student: str) -> float:
    n = numbers(student)
    return n["sequence"] * n["hidden"] * (34 + 5 * n["sequence"] / n["hidden"]) / 1e9


@misconception("N.8", "answer_8", "7 % too few. Is a GB 1e9 bytes or 2**30?")
def gibibytes_of_activations(student: str) -> float:
    n = numbers(student)
    return n["sequence"] * n["hidden"] * (34 + 5 * n["heads"] * n["sequence"] / n["hidden"]) / 2**30


@misconception(
    "N.9",
    "answer_9",
    "That is how long the arithmetic takes. What else must happen to every parameter, and is it slower?",
)
def time_to_compute(student: str) -> float:
    n = numbers(student)
    return 2 * n["billions"] * 1e9 / (8 * PEAK) * 1e3


@misconception("N.9", "answer_9", "Half as long as it takes. How many bytes has a bf16 number?")
def one_byte_a_parameter(student: str) -> float:
    n = numbers(student)
    return n["billions"] * 1e9 / (8 * BANDWIDTH) * 1e3


@misconception("N.9", "answer_9", "Eight times as long. Who else is reading?")
def one_card_reads_all(student: str) -> float:
    n = numbers(student)
    return 2 * n["billions"] * 1e9 / BANDWIDTH * 1e3


@misconception("N.9", "answer_9", "That is the number of seconds.")
def seconds_for_milliseconds(student: str) -> float:
    n = numbers(student)
    return 2 * n["billions"] * 1e9 / (8 * BANDWIDTH)


@misconception("N.10", "answer_10", "The cards' own energy only. What does the hall around them take?")
def pue_dropped(student: str) -> float:
    n = numbers(student)
    return n["device_hours"] * n["watts"] / 1e3 * n["grams_per_kwh"] / 1e6


@misconception("N.10", "answer_10", "A thousand times too much. Follow the units: W, kW, kWh, g, kg, t.")
def watts_for_kilowatts(student: str) -> float:
    n = numbers(student)
    return n["device_hours"] * n["watts"] * n["pue"] * n["grams_per_kwh"] / 1e6


@misconception("N.10", "answer_10", "The PUE is above 1. Does the hall save energy?")
def divided_by_the_pue(student: str) -> float:
    n = numbers(student)
    return n["device_hours"] * n["watts"] / 1e3 / n["pue"] * n["grams_per_kwh"] / 1e6
