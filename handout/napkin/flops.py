"""Part 3, flops: how much work a step is, and how fast the device could have done it.

FLOPs are work and FLOP/s is speed. Only products of matrices are counted, at 2 FLOPs for each multiplication with the
addition that belongs to it; what else a model does is a few percent of that. Exercises 3.1 and 3.2 are whole-number
arithmetic: no torch, no numpy, and as fast for sizes of 10**6 as for 2. What is illegal raises a ValueError whose
message contains the argument that is at fault, as `repr` shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


def matmul_flops(a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> int:
    """Return the FLOPs of torch.matmul(a, b), from the shapes alone.

    Every rule of torch.matmul holds, for tensors of rank 1, for batches and for broadcasting. A sum of K products has
    2 * K FLOPs: the addition that its first product could do without is counted too, as everybody does.

    Example: matmul_flops((2, 3), (3, 5)) -> 60
    Example: matmul_flops((7, 2, 3), (3,)) -> 84
    Units: FLOPs.
    Raises:
        ValueError: torch.matmul would refuse the shapes, those of rank 0 among them; the message contains one of them.
    Check: make grade ONLY=3.1
    """
    # exercise 3.1: how many numbers come out, and how many products are summed for each?
    raise NotImplementedError("3.1 matmul_flops: how many numbers come out, and how many products are summed for each?")


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes of a decoder-only transformer whose linear layers have no biases. Given.

    `heads` divides `hidden`, and `kv_heads` divides `heads`.
    """

    layers: int
    hidden: int  # size of a token's vector between the layers
    heads: int  # of the queries, hidden / heads wide each
    kv_heads: int  # of the keys and of the values, as wide: fewer than heads where several queries share them
    feed_forward: int  # size of the vector inside the feed-forward network
    vocabulary: int
    gated: bool  # feed-forward network: down(silu(gate(x)) * up(x)) if true, down(gelu(up(x))) if not


def transformer_flops(config: TransformerConfig, batch: int, sequence: int) -> int:
    """Return the FLOPs of one forward pass over `batch` sequences of `sequence` tokens each.

    All products of matrices, and nothing else: the projections to queries, keys and values and the one of the output,
    the scores QKᵀ and their product with V, the feed-forward networks, and the head, which gives every token a logit
    for each word of the vocabulary. Scores are counted in full, also those that a causal mask hides. The embedding
    looks a row up, which is no product.

    Example: transformer_flops(TransformerConfig(1, 4, 2, 2, 16, 10, False), 1, 3) -> 1536
    Units: FLOPs.
    Check: make grade ONLY=3.2
    """
    # exercise 3.2: which matrices does a token meet, and which tokens does it meet?
    raise NotImplementedError("3.2 transformer_flops: which matrices does a token meet, and which tokens does it meet?")


class FlopCounter(TorchDispatchMode):
    """Counts the FLOPs of all products that PyTorch carries out inside a with block.

        with FlopCounter() as counter:
            model(x).sum().backward()
        counter.total, counter.by_op, counter.uncounted

    PyTorch hands a TorchDispatchMode every operator on its way to the device, whoever asked for it: a module, the
    backward pass, or checkpointing that runs a forward pass again. An operator's name is what `func.__name__` says up
    to the dot: "addmm" for addmm.default and addmm.out alike; `func._schema` lists its arguments.

    Counted are these operators and no others, each product at 2 FLOPs a multiply-add, and what is added to a product
    (a bias) not at all:
        mm, bmm, addmm, baddbmm, mv, dot
        convolution, of any rank, with groups, or transposed; multiply-adds with the zeros of padding, and those whose
            results padding cuts off a transposed one, are counted like the others
        convolution_backward: what convolution counts, once for the gradient of the input and once for that of the
            weight, where they are asked for (`output_mask`); the bias's is no product
        _scaled_dot_product_flash_attention_for_cpu, and on GPUs _scaled_dot_product_flash_attention,
            _scaled_dot_product_efficient_attention and _scaled_dot_product_cudnn_attention: two products, in full also
            where a causal mask hides half of the scores
        the same with _backward behind: five products, since the scores are not kept but computed again
    """

    def __init__(self) -> None:
        super().__init__()
        self.by_op: dict[str, int] = {}  # name of each operator that was seen and counted -> its FLOPs
        self.uncounted: set[str] = set()  # names of the operators that were seen and not counted

    @property
    def total(self) -> int:
        """All FLOPs counted so far. Given."""
        return sum(self.by_op.values())

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run an operator, count it, and return its result. PyTorch calls this, for one operator after the other.

        An operator that does no product at all, such as a view or a relu, may be left out of `uncounted`. One that
        does products and isn't counted must be in it: a count that is silently too small is worse than none.

        Check: make grade ONLY=3.3
        """
        # exercise 3.3: how many multiply-adds does this operator do?
        raise NotImplementedError("3.3 FlopCounter.__torch_dispatch__: how many multiply-adds does this operator do?")


@dataclass(frozen=True)
class SheetRow:
    """One product on the sheet, with its peaks in TFLOP/s as its vendor prints them. Given.

    Where `with_sparsity` is true, the figures of the tensor cores (tf32, bf16, fp16, fp8) carry the vendor's footnote
    "with sparsity": two numbers of every four are zero and are skipped, which counts as done. fp32 runs outside of the
    tensor cores and never carries it. None: the hardware cannot multiply this format.
    """

    product: str
    names: tuple[str, ...]  # what torch.cuda.get_device_name() says, word for word
    fp32: float
    tf32: float | None
    bf16: float | None
    fp16: float
    fp8: float | None
    with_sparsity: bool


# product, names, fp32, tf32, bf16, fp16, fp8, with_sparsity; from the vendors' datasheets and whitepapers
SHEET = (
    SheetRow("H100 SXM5", ("NVIDIA H100 80GB HBM3",), 67.0, 989.0, 1979.0, 1979.0, 3958.0, True),
    SheetRow("H100 PCIe", ("NVIDIA H100 PCIe",), 51.0, 756.0, 1513.0, 1513.0, 3026.0, True),
    SheetRow("H100 NVL", ("NVIDIA H100 NVL",), 60.0, 835.0, 1671.0, 1671.0, 3341.0, True),
    SheetRow("H200 SXM", ("NVIDIA H200",), 67.0, 989.0, 1979.0, 1979.0, 3958.0, True),
    SheetRow("GH200", ("NVIDIA GH200 480GB",), 67.0, 989.0, 1979.0, 1979.0, 3958.0, True),
    SheetRow("B200", ("NVIDIA B200",), 80.0, 2250.0, 4500.0, 4500.0, 9000.0, True),
    SheetRow("A100 SXM4", ("NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB"), 19.5, 156.0, 312.0, 312.0, None, False),
    SheetRow("A100 PCIe", ("NVIDIA A100-PCIE-40GB", "NVIDIA A100 80GB PCIe"), 19.5, 156.0, 312.0, 312.0, None, False),
    SheetRow("L40S", ("NVIDIA L40S",), 91.6, 183.0, 362.0, 362.0, 733.0, False),
    SheetRow("L4", ("NVIDIA L4",), 30.3, 120.0, 242.0, 242.0, 485.0, True),
    SheetRow("A10G", ("NVIDIA A10G",), 31.5, 35.0, 70.0, 70.0, None, False),
    SheetRow("T4", ("Tesla T4",), 8.1, None, None, 65.0, None, False),
    SheetRow("V100 SXM2", ("Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB"), 15.7, None, None, 125.0, None, False),
    SheetRow("RTX 5090", ("NVIDIA GeForce RTX 5090",), 104.8, 209.5, 419.0, 419.0, 838.0, True),
    SheetRow("RTX 4090", ("NVIDIA GeForce RTX 4090",), 82.6, 165.2, 330.4, 330.4, 660.6, True),
    SheetRow("RTX 3090", ("NVIDIA GeForce RTX 3090",), 35.6, 35.6, 71.0, 71.0, None, False),
)


def peak_flops(device_name: str, dtype: str) -> float:
    """Return the FLOP/s that the vendor promises for products of dense matrices on a device, from SHEET.

    `dtype` is "float32", "tf32", "bfloat16", "float16" or "float8_e4m3fn", the format of the numbers that are
    multiplied. Only a device whose name the sheet knows, word for word, has a promise: a slice of a GPU (MIG) or a
    sister product is another device.

    Example: peak_flops("NVIDIA A100-SXM4-80GB", "bfloat16") -> 312000000000000.0
    Units: FLOP/s.
    Raises:
        ValueError: the sheet does not know the name, or the device cannot multiply the format; the message contains
            `device_name` or `dtype`.
    Check: make grade ONLY=3.4
    """
    # exercise 3.4: which row and column, and what does the footnote say about them?
    raise NotImplementedError("3.4 peak_flops: which row and column, and what does the footnote say about them?")


@dataclass(frozen=True)
class Step:
    """One training step, as it was planned and timed. Given."""

    model_flops: int  # of the forward and the backward pass, each counted once
    recomputed_flops: int  # what checkpointing did a second time, on top of these
    seconds: float  # from the start of the step to its end
    devices: int = 1  # that shared the work


def mfu(step: Step, peak: float) -> float:
    """Return the model FLOPs utilization: the work that the model asks for, over all that the devices promise.

    `peak` is what one device promises, in FLOP/s. The answer is a fraction, 0.5 for one half. Above 1 it says that a
    count, a time or the peak is wrong; it is returned all the same.

    Example: mfu(Step(6 * 10**15, 2 * 10**15, 4.0, 5), 1e15) -> 0.3
    Raises:
        ValueError: `peak`, `step.seconds` or `step.devices` is not above 0; the message contains it.
    Check: make grade ONLY=3.5
    """
    # exercise 3.5: what was useful, and what could the devices have done in that time?
    raise NotImplementedError("3.5 mfu: what was useful, and what could the devices have done in that time?")


def hfu(step: Step, peak: float) -> float:
    """Return the hardware FLOPs utilization: the work that was done, over all that the devices promise.

    `peak` is what one device promises, in FLOP/s. The answer is a fraction.

    Example: hfu(Step(6 * 10**15, 2 * 10**15, 4.0, 5), 1e15) -> 0.4
    Raises:
        ValueError: `peak`, `step.seconds` or `step.devices` is not above 0; the message contains it.
    Check: make grade ONLY=3.5
    """
    # exercise 3.5: what kept the devices busy, useful or not?
    raise NotImplementedError("3.5 hfu: what kept the devices busy, useful or not?")


def arithmetic_intensity(flops: int, moved_bytes: int) -> float:
    """Return how many FLOPs are done for each byte that is moved between memory and the device's cores.

    Example: arithmetic_intensity(60, 40) -> 1.5
    Units: FLOPs per byte.
    Raises:
        ValueError: `moved_bytes` is not above 0.
    Check: make grade ONLY=3.6
    """
    # exercise 3.6: of which two amounts is it the ratio?
    raise NotImplementedError("3.6 arithmetic_intensity: of which two amounts is it the ratio?")


def matmul_bytes(m: int, k: int, n: int, dtype: str) -> int:
    """Return the bytes that a product of an (m, k) with a (k, n) matrix must move, at the least.

    Each of the two is read from memory once and the product is written once, all in the same format; in between, the
    caches are as large as you like. `dtype` is one of the names that peak_flops takes. TF32 is a way to multiply
    float32 numbers: in memory they are float32.

    Example: matmul_bytes(2, 3, 5, "float32") -> 124
    Units: bytes.
    Raises:
        ValueError: `dtype` is no such name.
    Check: make grade ONLY=3.6
    """
    # exercise 3.6: which matrices are moved, and how large is one number?
    raise NotImplementedError("3.6 matmul_bytes: which matrices are moved, and how large is one number?")


def roofline_seconds(flops: int, moved_bytes: int, peak: float, bandwidth: float) -> tuple[float, str]:
    """Return the least time that a kernel can take, and what it waits for: "compute" or "memory".

    A device computes and moves bytes at the same time, each as fast as promised. Where both take equally long (on the
    ridge of the roofline) the answer is "compute".

    Example: roofline_seconds(600, 100, 100.0, 50.0) -> (6.0, 'compute')
    Units: flops FLOPs, moved_bytes bytes, peak FLOP/s, bandwidth bytes per second.
    Raises:
        ValueError: `peak` or `bandwidth` is not above 0.
    Check: make grade ONLY=3.6
    """
    # exercise 3.6: when are both done, and which of them is the last?
    raise NotImplementedError("3.6 roofline_seconds: when are both done, and which of them is the last?")


def benchmark(
    fn: Callable[[], object],
    warmup: int,
    repeats: int,
    clock: Callable[[], float],
    synchronize: Callable[[], object],
) -> float:
    """Return the median of how long one call of `fn` takes, until the device has done all its work.

    Devices work on their own: `fn` hands one its work and returns before that is done; `synchronize` returns when
    nothing is left to do, and may be called as often as you like. `fn` is called `warmup` times untimed, then `repeats`
    times, each timed by itself. Whenever `clock` is read, nothing may be left to do. Of an even number of times the
    median is the mean of the two in the middle.

    Example: benchmark(lambda: None, 0, 1, iter((1.0, 3.5)).__next__, lambda: None) -> 2.5
    Units: seconds, those of `clock`.
    Raises:
        ValueError: `warmup` is below 0, or `repeats` below 1.
    Check: make grade ONLY=3.7
    """
    # exercise 3.7: what must be over when the clock is started, and when it is stopped?
    raise NotImplementedError("3.7 benchmark: what must be over when the clock is started, and when it is stopped?")
