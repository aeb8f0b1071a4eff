"""Part 3, flops: how much work a step is, and how fast the device could have done it."""

from __future__ import annotations

from typing import Any

from gradescope_utils.autograder_utils.decorators import number, weight
from hypothesis import strategies as st

from autograder.agree import Agree
from autograder.checks import forbids
from autograder.checks.cases import Draw, call, pick, shuffled, sometimes
from autograder.checks.programs import programs
from autograder.judge import Case, close, exact
from autograder.wire import Record

LIBRARIES = ("torch", "numpy")  # 3.1 and 3.2 are arithmetic on paper
# A quotient of products has at most eight roundings, in whatever order it is computed, of 2**-53 each.
ROUNDED = close(2**-50)

MATMULS = (
    "product", "batched_product", "linear_layer", "matrix_and_vector", "two_vectors", "product_into_a_tensor",
    "sum_of_products", "training_step", "backward_pass_alone", "weight_used_twice", "attention_by_hand",
    "recomputed_in_backward", "gradient_of_a_gradient", "no_product",
)  # fmt: skip
CONVOLUTIONS_AND_ATTENTION = (
    "convolution", "attention", "transposed_convolution", "convolution_step", "grouped_convolution_step",
    "convolution_with_frozen_weight", "transposed_convolution_step", "attention_step", "attention_as_on_a_gpu",
    "attention_with_wide_values",
)  # fmt: skip
OTHER_PRODUCTS = (
    "matrix_vector_and_a_bias", "distances", "bilinear_layer", "complex_vectors", "exponential_of_a_matrix",
    "solved_equations", "products_summed_over_the_batch", "counted_products_alone",
)  # fmt: skip

DEVICES = (
    "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA H200",
    "NVIDIA GH200 480GB", "NVIDIA B200", "NVIDIA A100-SXM4-40GB", "NVIDIA A100-PCIE-40GB", "NVIDIA A100 80GB PCIe",
    "NVIDIA L40S", "NVIDIA L4", "NVIDIA A10G", "Tesla T4", "Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB",
    "NVIDIA GeForce RTX 5090", "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 3090",
)  # fmt: skip
OLD_DEVICES = ("Tesla T4", "Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB")  # which lack most formats
STRANGERS = (  # a slice of a GPU, sister products, and what is no whole name
    "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA A100-SXM4-80GB MIG 3g.40gb", "NVIDIA H20", "NVIDIA L40", "NVIDIA A10",
    "NVIDIA B300 SXM6 AC", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA H100", "H100 SXM5", "AMD Instinct MI300X",
)  # fmt: skip
DTYPES = ("bfloat16", "float32", "tf32", "float16", "float8_e4m3fn")


@st.composite
def shapes(draw: Draw) -> Case:
    """Draw the shapes of two operands: matrices, vectors, batches that broadcast; now and then illegal ones."""
    sizes = shuffled(draw, [2, 3, 4, 5, 7, 6])[: 3 + pick(draw, [0, 1, 2, 2, 3, 2])]
    special = pick(draw, [None, None, None, None, 10**6, 1, 0])
    if special is not None:
        sizes[pick(draw, range(len(sizes)))] = special
    m, k, n, *batch = sizes
    vector = pick(draw, ["none", "none", "none", "right", "left", "both"])
    a = (k,) if vector in ("left", "both") else (*_batch_of_one(draw, batch), m, k)
    b = (k,) if vector in ("right", "both") else (*_batch_of_one(draw, batch), k, n)
    names: tuple[object, ...] = ()
    if sometimes(draw, 5):
        misfit = (k + 9,) if len(b) == 1 else (*b[:-2], k + 9, n)
        clashes = [((2, m, k), (3, k, n)), ((2, 3, m, k), (2, k, n)), ((4, 2, m, k), (4, 3, k, n))]
        a, b = pick(draw, [(a, misfit), (a, misfit), (a, ()), ((), b), *clashes])
        names = (a, b)
    return call("flops", "matmul_flops", f"matmul_flops({a}, {b})", names, a_shape=a, b_shape=b)


def _batch_of_one(draw: Draw, batch: list[int]) -> tuple[int, ...]:
    """Draw what one operand has of a batch: all of it, some dimensions of size 1, the last few, or none."""
    kind = pick(draw, ["whole", "last", "ones", "whole", "none"])
    if kind == "ones":
        return tuple(pick(draw, [size, 1]) for size in batch)
    return tuple(batch[{"whole": 0, "last": 1, "none": len(batch)}[kind] :])


@number("3.1")
@weight(2)
@forbids(*LIBRARIES, within=["matmul_flops"])
def test_matmul_flops(agree: Agree) -> None:
    """The FLOPs of a product from its operands' shapes, vectors and broadcast batches among them."""
    agree("flops.matmul_flops", shapes(), exact)


@st.composite
def forward_passes(draw: Draw) -> Case:
    """Draw the sizes of a transformer and of its input."""
    kv_heads, sharing, width = pick(draw, [2, 3, 1]), pick(draw, [1, 2, 3, 4]), pick(draw, [3, 5, 2])
    heads = kv_heads * sharing
    config: dict[str, Any] = {
        "layers": pick(draw, [1, 2, 3]),
        "hidden": heads * width,
        "heads": heads,
        "kv_heads": kv_heads,
        "feed_forward": pick(draw, [7, 11, 10**6]),
        "vocabulary": pick(draw, [13, 17, 10**6]),
        "gated": sometimes(draw, 2),
    }
    batch, sequence = pick(draw, [2, 5, 1, 10**6]), pick(draw, [3, 4, 1, 10**6])
    code = f"transformer_flops({Record('TransformerConfig', config)}, {batch}, {sequence})"
    imports = "TransformerConfig, transformer_flops"
    return call("flops", imports, code, config=config, batch=batch, sequence=sequence)


@number("3.2")
@weight(2)
@forbids(*LIBRARIES, within=["transformer_flops"])
def test_transformer_flops(agree: Agree) -> None:
    """The FLOPs of a transformer's forward pass, all products and nothing else."""
    agree("flops.transformer_flops", forward_passes(), exact)


@number("3.3a")
@weight(1)
@forbids("torch.utils.flop_counter", within=["FlopCounter.__init__", "FlopCounter.__torch_dispatch__"])
def test_counted_matmuls(agree: Agree) -> None:
    """A counter counts matmuls forward and backward, fused with a bias, of vectors, and under checkpointing."""
    agree("flops.counted", programs(MATMULS, "counter.by_op, counter.total"), exact)


@number("3.3b")
@weight(1)
@forbids("torch.utils.flop_counter", within=["FlopCounter.__init__", "FlopCounter.__torch_dispatch__"])
def test_counted_convolutions_and_attention(agree: Agree) -> None:
    """A counter counts convolutions and attention forward and backward, grouped and transposed ones too."""
    agree("flops.counted", programs(CONVOLUTIONS_AND_ATTENTION, "counter.by_op, counter.total"), exact)


@number("3.3c")
@weight(1)
@forbids("torch.utils.flop_counter", within=["FlopCounter.__init__", "FlopCounter.__torch_dispatch__"])
def test_uncounted(agree: Agree) -> None:
    """A counter says which operators did products that it did not count."""
    agree(
        "flops.uncounted",
        programs(OTHER_PRODUCTS, "counter.uncounted  # of which those that do products are looked at"),
        exact,
    )


@st.composite
def promises(draw: Draw) -> Case:
    """Draw a device and a format; now and then one that the sheet does not know."""
    name = pick(draw, pick(draw, [DEVICES, DEVICES, OLD_DEVICES, STRANGERS]))
    dtype = "float64" if sometimes(draw, 20) else pick(draw, DTYPES)
    names = (name, dtype)  # of an error, if it is one
    return call("flops", "peak_flops", f"peak_flops({name!r}, {dtype!r})", names, device_name=name, dtype=dtype)


@number("3.4")
@weight(2)
def test_peak_flops(agree: Agree) -> None:
    """The FLOP/s that a device promises for dense matrices of a format, and an error where it promises none."""
    agree("flops.peak_flops", promises(), ROUNDED)


@st.composite
def steps(draw: Draw, function: str) -> Case:
    """Draw a training step and a peak; now and then one in no time, or by nobody."""
    step: dict[str, Any] = {
        "model_flops": pick(draw, [6 * 10**15, 9 * 10**14, 874944921600 * 480]),
        "recomputed_flops": pick(draw, [2 * 10**15, 0, 3 * 10**14]),
        "seconds": pick(draw, [4.0, 0.755, 11.5]),
        "devices": pick(draw, [5, 1, 8, 1024]),
    }
    peak = pick(draw, [1e15, 312e12, 989.5e12, 65e12])
    names: tuple[object, ...] = ()
    if sometimes(draw, 6):
        wrong = pick(draw, ["seconds", "devices", "peak"])
        value = pick(draw, [0, -3]) if wrong == "devices" else pick(draw, [0.0, -2.5])
        step, peak = (step, value) if wrong == "peak" else (step | {wrong: value}, peak)
        names = (value,)
    code = f"{function}({Record('Step', step)}, {peak})"
    return call("flops", f"Step, {function}", code, names, step=step, peak=peak)


@number("3.5")
@weight(1)
def test_utilization(agree: Agree) -> None:
    """Which part of the promised FLOPs a step needed (MFU), and which part it did (HFU)."""
    agree("flops.mfu", steps("mfu"), ROUNDED)
    agree("flops.hfu", steps("hfu"), ROUNDED)


@st.composite
def amounts(draw: Draw) -> Case:
    """Draw work and traffic; now and then no traffic at all."""
    work, moved = pick(draw, [60, 2**31, 7, 0]), pick(draw, [40, 3 * 2**21, 28, 1])
    names: tuple[object, ...] = ()
    if sometimes(draw, 6):
        moved = pick(draw, [0, -8])
        names = (moved,)
    code = f"arithmetic_intensity({work}, {moved})"
    return call("flops", "arithmetic_intensity", code, names, work=work, moved_bytes=moved)


@st.composite
def operands(draw: Draw) -> Case:
    """Draw the sizes and the format of a product; now and then a format that does not exist."""
    m, k, n = shuffled(draw, [2, 3, 5, 1024, 0, 7])[:3]
    dtype = pick(draw, DTYPES)
    names: tuple[object, ...] = ()
    if sometimes(draw, 8):
        dtype = pick(draw, ["float23", "bf16"])
        names = (dtype,)
    code = f"matmul_bytes({m}, {k}, {n}, {dtype!r})"
    return call("flops", "matmul_bytes", code, names, m=m, k=k, n=n, dtype=dtype)


@number("3.6a")
@weight(1)
def test_arithmetic_intensity(agree: Agree) -> None:
    """FLOPs per byte, and the bytes that a product must move in a format."""
    agree("flops.arithmetic_intensity", amounts(), ROUNDED)
    agree("flops.matmul_bytes", operands(), exact)


@st.composite
def kernels(draw: Draw) -> Case:
    """Draw a kernel and a device; both times are short binary fractions, which every way of computing gets exactly."""
    compute_s, memory_s = pick(draw, [2.0, 0.5, 3.0, 0.25]), pick(draw, [0.5, 2.0, 0.25, 6.0])
    peak, bandwidth = pick(draw, [1024.0, 64.0, 2.0**49]), pick(draw, [128.0, 512.0, 2.0**41])
    work, moved = int(compute_s * peak), int(memory_s * bandwidth)
    names: tuple[object, ...] = ()
    if sometimes(draw, 6):
        wrong = pick(draw, [0.0, -16.0])
        peak, bandwidth = pick(draw, [(wrong, bandwidth), (peak, wrong)])
        names = (wrong,)
    code = f"roofline_seconds({work}, {moved}, {peak}, {bandwidth})"
    args = {"work": work, "moved_bytes": moved, "peak": peak, "bandwidth": bandwidth}
    return call("flops", "roofline_seconds", code, names, **args)


@number("3.6b")
@weight(1)
def test_roofline_seconds(agree: Agree) -> None:
    """The least time of a kernel, and whether it waits for compute or for memory."""
    agree("flops.roofline_seconds", kernels(), exact)


@st.composite
def timings(draw: Draw) -> Case:
    """Draw what the calls of a function take: the first ones long, one now and then longer still."""
    warmup, repeats = pick(draw, [1, 2, 3, 0]), pick(draw, [3, 4, 5, 1, 2, 6])
    durations = [8.0 - place for place in range(warmup)] + shuffled(draw, [1.0, 1.5, 2.0, 2.75, 3.25, 3.75])[:repeats]
    if repeats > 2 and sometimes(draw, 2):
        durations[warmup + pick(draw, range(repeats))] = 64.0
    waiting = pick(draw, [0.0, 5.0])
    names: tuple[object, ...] = ()
    if sometimes(draw, 8):
        warmup, repeats = pick(draw, [(1, 0), (-1, 3), (0, -2)])
        names = (repeats,) if repeats < 1 else (warmup,)
    code = (
        f"from autograder.probes.flops import Device\n\ndevice = Device({tuple(durations)}, waiting={waiting})\n"
        f"seconds = benchmark(device.work, {warmup}, {repeats}, device.clock, device.synchronize)\n"
        "device.calls, device.read_too_early, seconds"
    )
    args: dict[str, Any] = {"durations": tuple(durations), "waiting": waiting, "warmup": warmup, "repeats": repeats}
    return call("flops", "benchmark", code, names, **args)


@number("3.7")
@weight(2)
@forbids("time", within=["benchmark"])  # the clock that it is handed is the only one that tells
def test_benchmark(agree: Agree) -> None:
    """The median time of work that a device does by itself, each call from its start to its end, warm-up apart."""
    agree("flops.benchmark", timings(), exact)
