"""What GPUs promise: dense peaks, memory and bandwidth, each row with its source. Asks no device.

Dense means that all numbers are multiplied: vendors print figures with 2:4 sparsity too, twice as large, which no
product of dense matrices can reach. A peak against which utilization is graded must never be guessed, so a name is
known word for word or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass


class HardwareError(Exception):
    """Nothing is promised for this device and format."""


@dataclass(frozen=True)
class Device:
    """One product; peaks in dense TFLOP/s, tensor cores accumulating in fp32 wherever there is a choice."""

    name: str  # what torch.cuda.get_device_name() says
    fp32: float  # outside of the tensor cores
    tf32: float | None  # None: no unit for it, whatever an emulation may reach
    bf16: float | None
    fp16: float
    fp8: float | None
    memory_gb: float  # 10**9 bytes, as sold
    bandwidth_tb_per_s: float  # 10**12 bytes per second

    @property
    def memory_bytes(self) -> float:
        """Bytes of memory."""
        return self.memory_gb * 1e9

    @property
    def bandwidth_byte_per_s(self) -> float:
        """Bytes that memory delivers in a second."""
        return self.bandwidth_tb_per_s * 1e12


# Sources, by their letter at the end of each row:
# A  Lightning-AI/pytorch-lightning, src/lightning/fabric/utilities/throughput.py, where dense and fp32 accumulating
# H  glennklockwood.com/garden/processors/h100, which repeats NVIDIA's H100 whitepaper
# L  karpathy/llm.c, llmc/mfu.h, which repeats NVIDIA's whitepapers
# N  karpathy/nanochat, nanochat/common.py, while the table stood there
# S  stas00/ml-engineering, compute/accelerator/README.md: the tables of TFLOPS and of memory
# V  NVIDIA's own sheet for the product, quoted from memory where none of the above has the figure
# Z  zzc0721/torch-performance-test-data, database.md
DEVICES = (
    Device("NVIDIA H100 80GB HBM3", 66.9, 494.7, 989.4, 989.4, 1978.9, 80, 3.35),  # H, S: the SXM5 card
    Device("NVIDIA H100 PCIe", 51.2, 378.0, 756.0, 756.0, 1513.0, 80, 2.0),  # L, S; fp32 V
    Device("NVIDIA H100 NVL", 60.0, 417.5, 835.5, 835.5, 1670.5, 94, 3.9),  # A, S; name V
    Device("NVIDIA H200", 67.0, 494.5, 989.5, 989.5, 1979.0, 141, 4.8),  # S: SXM, which its name does not say
    Device("NVIDIA GH200 480GB", 67.0, 494.5, 989.0, 989.0, 1979.0, 96, 4.0),  # S; peaks V; the 480 GB are the CPU's
    Device("NVIDIA B200", 80.0, 1125.0, 2250.0, 2250.0, 4500.0, 180, 8.0),  # S; memory Z; fp32 V
    Device("NVIDIA A100-SXM4-40GB", 19.5, 156.0, 312.0, 312.0, None, 40, 1.555),  # S, L; bandwidth V
    Device("NVIDIA A100-SXM4-80GB", 19.5, 156.0, 312.0, 312.0, None, 80, 2.039),  # S, L; bandwidth V
    Device("NVIDIA A100-PCIE-40GB", 19.5, 156.0, 312.0, 312.0, None, 40, 1.555),  # A, L; bandwidth V
    Device("NVIDIA A100 80GB PCIe", 19.5, 156.0, 312.0, 312.0, None, 80, 1.935),  # A; bandwidth V
    Device("NVIDIA L40S", 91.6, 183.0, 362.0, 362.0, 733.0, 48, 0.864),  # S
    Device("NVIDIA L4", 30.3, 60.0, 121.0, 121.0, 242.0, 24, 0.3),  # A; bandwidth V
    Device("NVIDIA A10G", 31.5, 35.0, 70.0, 70.0, None, 24, 0.6),  # V: no A10, whose 125 it does not reach
    Device("Tesla T4", 8.1, None, None, 65.0, None, 16, 0.32),  # A; bandwidth V
    Device("Tesla V100-SXM2-16GB", 15.7, None, None, 125.0, None, 16, 0.9),  # A, L; bandwidth V
    Device("Tesla V100-SXM2-32GB", 15.7, None, None, 125.0, None, 32, 0.9),  # A, L; name and bandwidth V
    Device("NVIDIA GeForce RTX 5090", 104.8, 104.8, 209.5, 209.5, 419.0, 32, 1.792),  # N; fp32, tf32, fp8 V
    Device("NVIDIA GeForce RTX 4090", 82.6, 82.6, 165.2, 165.2, 330.3, 24, 1.008),  # L; fp32, bandwidth V
    Device("NVIDIA GeForce RTX 3090", 35.6, 35.6, 71.0, 71.0, None, 24, 0.936),  # L; fp32 A; bandwidth V
)
COLUMNS = {"float32": "fp32", "tf32": "tf32", "bfloat16": "bf16", "float16": "fp16", "float8_e4m3fn": "fp8"}


def find_device(name: str) -> Device:
    """Return the row of a device.

    Raises: HardwareError if there is none.
    """
    for device in DEVICES:
        if device.name == name:
            return device
    if " MIG " in name:
        raise HardwareError(f"{name!r} is a slice of a GPU, of which no peak is promised; calibrate it instead")
    raise HardwareError(f"no peak is known of {name!r}; calibrate it, or add it to hardware.py with a source")


def peak_flop_per_s(name: str, dtype: str) -> float:
    """Return what a device promises for products of dense matrices.

    >>> peak_flop_per_s("NVIDIA A100-SXM4-80GB", "bfloat16")
    312000000000000.0

    Args:
        name: what torch.cuda.get_device_name() says.
        dtype: of the numbers that are multiplied, by torch's name; "tf32" for float32 on tensor cores.

    Raises: HardwareError for a device that is not known or has no units for this format.
    """
    device = find_device(name)
    if dtype not in COLUMNS:
        raise HardwareError(f"no peak is known of {dtype!r}; one of {', '.join(COLUMNS)} is asked for")
    figure: float | None = getattr(device, COLUMNS[dtype])
    if figure is None:
        raise HardwareError(f"{name!r} has no units for {dtype!r}: it would emulate it, at a rate that nobody promises")
    return figure * 1e12
