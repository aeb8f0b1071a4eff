"""The notebook's ten questions: each student's own numbers, and the answers to them.

`numbers` and the docstrings are printed in the notebook, the answers are not. A docstring is Markdown; what stands in
braces is replaced by the reader's own numbers when the notebook runs.
"""

from __future__ import annotations


def numbers(student: str) -> dict[str, object]:
    """Return the numbers of one student's questions; those of "example" are everybody's to practise on."""
    from hashlib import sha256

    digest = sha256(f"napkin {student.strip().lower()}".encode()).digest()

    def choose(place: int, *options: object) -> object:
        return options[digest[place] % len(options)]

    return {
        "rows": choose(0, 12288, 14336, 18432, 20480, 28672),
        "columns": choose(1, 4096, 5120, 6144, 7168, 8192),
        "aliasing": choose(
            2,
            "x = torch.zeros(6, 4); y = x.T; y[0, 0] = 1; changed = bool(x[0, 0] == 1)",
            "x = torch.zeros(6, 4); y = x[[0, 2]]; y[0, 0] = 1; changed = bool(x[0, 0] == 1)",
            "x = torch.zeros(6, 4); y = x[::2]; y[0, 0] = 1; changed = bool(x[0, 0] == 1)",
            "x = torch.zeros(6, 4); y = x.T.reshape(24); y[0] = 1; changed = bool(x[0, 0] == 1)",
            "x = torch.zeros(6, 4); y = x.reshape(24); y[0] = 1; changed = bool(x[0, 0] == 1)",
            "x = torch.zeros(6, 4); y = x.T.contiguous(); y[0, 0] = 1; changed = bool(x[0, 0] == 1)",
        ),
        "autocast": choose(
            3,
            "(a @ b).dtype == torch.bfloat16",
            "(a + b).dtype == torch.bfloat16",
            "torch.zeros(3).dtype == torch.bfloat16",
            "(a @ b).sum().dtype == torch.float32",
            "torch.nn.functional.linear(a, b).dtype == torch.float32",
            "((a @ b) + a).dtype == torch.float32",
        ),
        "batch": choose(4, 192, 384, 640, 768, 1536),
        "inputs": choose(5, 5120, 6144, 7168, 9216),
        "outputs": choose(6, 11008, 13824, 17920, 22016),
        "billions": choose(7, 13, 34, 70, 123),
        "trillions": choose(8, 2, 4, 11, 15),
        "devices": choose(9, 512, 768, 1024, 2048),
        "mfu": choose(10, 0.35, 0.4, 0.45, 0.55),
        "cards": choose(11, 4, 8, 16, 24),
        "gigabytes": choose(12, 40, 80, 141, 180),
        "tokens_per_second": choose(13, 7900, 8600, 9300, 10400),
        "sequence": choose(14, 2048, 4096, 6144, 8192),
        "hidden": choose(15, 4096, 5120, 8192),
        "heads": choose(16, 32, 40, 64),
        "device_hours": choose(17, 85_000, 170_000, 370_000, 1_300_000),
        "watts": choose(18, 350, 400, 700, 1000),
        "pue": choose(19, 1.1, 1.2, 1.3),
        "grams_per_kwh": choose(20, 80, 240, 385, 429),
    }


PEAK, BANDWIDTH = 989.4e12, 3.35e12  # FLOP/s and B/s of an H100 SXM5, dense bf16: NVIDIA's data sheet


def student(number: int = 0) -> str:
    """Return whose notebook this is, whichever question asks."""
    return "reference"


def answer(number: int, student: str) -> bool | float:
    """Return the answer to one question with one student's numbers."""
    return globals()[f"answer_{number}"](student)


def answer_1(student: str) -> float:
    """**Bytes.** A weight matrix of {rows} × {columns} numbers in float32. How many **MiB** does it take?"""
    n = numbers(student)
    return n["rows"] * n["columns"] * 4 / 2**20


def answer_2(student: str) -> bool:
    """**Aliasing.** What is `changed` after this line, `True` or `False`?

    `{aliasing}`
    """
    line = numbers(student)["aliasing"]
    return not any(copies in line for copies in ("[[0, 2]]", ".T.reshape", ".contiguous"))


def answer_3(student: str) -> bool:
    """**Autocast.** `a` and `b` are float32 tensors of shape (3, 3) on a **CPU**. Under
    `torch.autocast("cpu", dtype=torch.bfloat16)`, is this `True` or `False`?

    `{autocast}`
    """
    return {
        "(a @ b).dtype == torch.bfloat16": True,
        "(a + b).dtype == torch.bfloat16": False,
        "torch.zeros(3).dtype == torch.bfloat16": False,
        "(a @ b).sum().dtype == torch.float32": False,  # on CUDA it is: the lists of the two devices differ
        "torch.nn.functional.linear(a, b).dtype == torch.float32": False,
        "((a @ b) + a).dtype == torch.float32": True,  # bfloat16 and float32 meet
    }[numbers(student)["autocast"]]


def answer_4(student: str) -> float:
    """**Work.** One product of ({batch}, {inputs}) with ({inputs}, {outputs}). How many **GFLOP**, that is 1e9 FLOP?"""
    n = numbers(student)
    return 2 * n["batch"] * n["inputs"] * n["outputs"] / 1e9


def answer_5(student: str) -> float:
    """**Time.** Training {billions} billion parameters on {trillions} trillion tokens with {devices} H100 SXM in bf16,
    at an MFU of {mfu}. How many **days**? The data sheet says 1,979 TFLOP/s "with sparsity".
    """
    n = numbers(student)
    return 6 * n["billions"] * 1e9 * n["trillions"] * 1e12 / (n["devices"] * PEAK * n["mfu"]) / 86400


def answer_6(student: str) -> float:
    """**Size.** The largest model for which {cards} cards of {gigabytes} GB hold float32 parameters, float32 gradients
    and the float32 states of AdamW, activations left out. How many **billions of parameters**?
    """
    n = numbers(student)
    return n["cards"] * n["gigabytes"] / 16


def answer_7(student: str) -> float:
    """**MFU.** A model of 8e9 parameters trains at {tokens_per_second} tokens per second on each H100 SXM (bf16), with
    full activation recomputation. What is its **MFU**, as a fraction? Leave the attention products out.
    """
    return 6 * 8e9 * numbers(student)["tokens_per_second"] / PEAK


def answer_8(student: str) -> float:
    """**Activations.** One transformer layer as Korthikanti et al. (2022) count it, nothing recomputed: batch 1,
    sequence {sequence}, hidden size {hidden}, {heads} heads, 16 bits. How many **GB**, that is 1e9 bytes?
    """
    n = numbers(student)
    s, h, a = n["sequence"], n["hidden"], n["heads"]
    return s * h * (34 + 5 * a * s / h) / 1e9


def answer_9(student: str) -> float:
    """**Roofline.** One token is generated with a model of {billions} billion bf16 parameters, all read once, on 8 H100
    SXM that share the work perfectly, at 3.35 TB/s each. How many **milliseconds** at the least?
    """
    return 2 * numbers(student)["billions"] * 1e9 / (8 * BANDWIDTH) * 1e3


def answer_10(student: str) -> float:
    """**Carbon.** {device_hours} device hours at {watts} W, a PUE of {pue}, and {grams_per_kwh} g of CO₂ per kWh. How
    many **tonnes** of CO₂?
    """
    n = numbers(student)
    return n["device_hours"] * n["watts"] / 1e3 * n["pue"] * n["grams_per_kwh"] / 1e6
