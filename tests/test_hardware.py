"""The table of peaks, and the mistakes that other tools' tables make: each by the name of its tool."""

from __future__ import annotations

import pytest

from autograder.hardware import COLUMNS, DEVICES, Device, HardwareError, find_device, peak_flop_per_s

every_device = pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)

# What a tool's table says of a device, where that was read, and what is true (TFLOP/s, dense).
OTHERS_MISTAKES = [
    pytest.param("NVIDIA L40S", "bfloat16", 312.0, 362.0, id="torchtitan get_peak_flops: no L40S, so an A100"),
    pytest.param("NVIDIA L40S", "bfloat16", 121.0, 362.0, id="Lightning throughput.py: 'l4' is in 'L40S'"),
    pytest.param("NVIDIA GeForce RTX 4090", "bfloat16", 82.6, 165.2, id="Lightning: the 4090 without tensor cores"),
    pytest.param("NVIDIA GeForce RTX 3090", "bfloat16", 35.6, 71.0, id="Lightning: the 3090 without tensor cores"),
    pytest.param("NVIDIA A10G", "bfloat16", 125.0, 70.0, id="Lightning: the A10G with the A10's figure"),
    pytest.param("NVIDIA A10G", "bfloat16", 125.0, 70.0, id="Composer speed_monitor.py: 'a10' is in 'A10G'"),
    pytest.param("NVIDIA H100 NVL", "bfloat16", 1671.0, 835.5, id="Lightning before #21743: H100 NVL sparse"),
    pytest.param("NVIDIA H200", "bfloat16", 1979.0, 989.5, id="Lightning before #21743: H200 sparse"),
    pytest.param("NVIDIA H100 80GB HBM3", "bfloat16", 312.0, 989.4, id="nanoGPT estimate_mfu: 312 for all (#464)"),
    pytest.param("NVIDIA H100 80GB HBM3", "bfloat16", 494.7, 989.4, id="torchtitan#668: tf32 for bf16"),
    pytest.param("NVIDIA H100 PCIe", "bfloat16", 989.4, 756.0, id="the SXM card's figure for the PCIe card"),
]


@pytest.mark.parametrize(("name", "dtype", "theirs", "truth"), OTHERS_MISTAKES)
def test_a_mistake_of_another_tool_is_not_made(name: str, dtype: str, theirs: float, truth: float) -> None:
    assert peak_flop_per_s(name, dtype) == truth * 1e12 != theirs * 1e12


@pytest.mark.parametrize(
    ("name", "dtype", "truth"),
    [
        pytest.param("NVIDIA H200", "bfloat16", 989.5, id="Lightning: 'NVIDIA H200' has no 'sxm' in it, so None"),
        pytest.param("NVIDIA H200", "bfloat16", 989.5, id="the lecture's get_promised_flop_per_sec raises on H200"),
        pytest.param("NVIDIA H200", "float16", 989.5, id="llm.c mfu.h: H200 missing, so -1"),
        pytest.param("NVIDIA A100 80GB PCIe", "bfloat16", 312.0, id="llm.c: spelt 'NVIDIA A100-PCIE-80GB', so -1"),
        pytest.param("NVIDIA H100 NVL", "bfloat16", 835.5, id="Composer: no 'pcie' or 'hbm3' in it, so a warning only"),
        pytest.param("NVIDIA B200", "bfloat16", 2250.0, id="Composer: no Blackwell"),
        pytest.param("NVIDIA L4", "bfloat16", 121.0, id="Composer: no Ada"),
    ],
)
def test_a_device_that_another_tool_misses_is_known(name: str, dtype: str, truth: float) -> None:
    assert peak_flop_per_s(name, dtype) == truth * 1e12


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("NVIDIA H100 80GB HBM3 MIG 1g.10gb", id="substring tables: a seventh of an H100 as a whole one"),
        pytest.param("NVIDIA A100-SXM4-80GB MIG 3g.40gb", id="substring tables: three sevenths of an A100"),
    ],
)
def test_a_slice_of_a_gpu_is_refused(name: str) -> None:
    with pytest.raises(HardwareError, match="slice of a GPU") as caught:
        peak_flop_per_s(name, "bfloat16")
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("NVIDIA H20", id="torchtitan: lspci says GH100 [H20], so 989 instead of 148"),
        pytest.param("NVIDIA B300 SXM6 AC", id="OLMo-core#817: a B300 is an A100, MFU 7.2 times too high"),
        pytest.param("NVIDIA L40", id="substring tables: 'L4' is in 'L40'"),
        pytest.param("NVIDIA A10", id="a part of 'NVIDIA A10G'"),
        pytest.param("NVIDIA GeForce RTX 4090 Laptop GPU", id="substring tables: the desktop's figure for a laptop"),
        pytest.param("nvidia l40s", id="no name of any device"),
        pytest.param("", id="no name at all"),
        pytest.param("cpu", id="the lecture: 1 FLOP/s for a CPU"),
    ],
)
def test_a_device_that_is_not_known_word_for_word_is_refused(name: str) -> None:
    with pytest.raises(HardwareError, match="no peak is known") as caught:
        find_device(name)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param("Tesla T4", "bfloat16", id="is_bf16_supported() is true of a T4, by emulation"),
        pytest.param("Tesla V100-SXM2-16GB", "bfloat16", id="is_bf16_supported() is true of a V100, by emulation"),
        pytest.param("Tesla V100-SXM2-32GB", "tf32", id="tf32 came with the A100"),
        pytest.param("NVIDIA A100-SXM4-80GB", "float8_e4m3fn", id="stas00's first table: fp8 on an A100"),
        pytest.param("NVIDIA GeForce RTX 3090", "float8_e4m3fn", id="fp8 came with Ada and Hopper"),
    ],
)
def test_a_format_without_units_is_refused(name: str, dtype: str) -> None:
    with pytest.raises(HardwareError, match="has no units for") as caught:
        peak_flop_per_s(name, dtype)
    assert repr(name) in str(caught.value)
    assert repr(dtype) in str(caught.value)


@pytest.mark.parametrize("dtype", ["bf16", "float64", "torch.bfloat16", ""])
def test_a_format_of_another_name_is_refused_with_those_that_there_are(dtype: str) -> None:
    with pytest.raises(HardwareError, match="float32, tf32, bfloat16, float16, float8_e4m3fn"):
        peak_flop_per_s("NVIDIA L4", dtype)


def test_each_name_stands_once() -> None:
    names = [device.name for device in DEVICES]
    assert len(names) == len(set(names))


@every_device
def test_a_narrower_format_is_as_fast_or_faster(device: Device) -> None:
    peaks = [figure for column in ("fp32", "tf32", "bf16", "fp16", "fp8") if (figure := getattr(device, column))]
    assert peaks == sorted(peaks)


@every_device
def test_tensor_cores_double_their_rate_when_the_format_halves(device: Device) -> None:
    pairs = [(device.tf32, device.bf16), (device.bf16, device.fp8)]
    for wide, narrow in pairs:
        if wide is not None and narrow is not None:
            assert narrow / wide == pytest.approx(2, rel=0.025)  # sheets round, the L40S's most


@every_device
def test_bf16_and_fp16_are_as_fast_as_each_other(device: Device) -> None:
    assert device.bf16 in (None, device.fp16)


@every_device
def test_every_peak_can_be_asked_for_by_its_dtype(device: Device) -> None:
    for dtype, column in COLUMNS.items():
        if (figure := getattr(device, column)) is not None:
            assert peak_flop_per_s(device.name, dtype) == figure * 1e12


def test_the_ridge_of_an_h100_is_at_295_flops_per_byte() -> None:
    device = find_device("NVIDIA H100 80GB HBM3")
    ridge = peak_flop_per_s(device.name, "bfloat16") / device.bandwidth_byte_per_s
    assert ridge == pytest.approx(295.4, abs=0.1)  # the lecture's, from 1979 / 2


def test_memory_is_counted_in_powers_of_ten() -> None:
    assert find_device("NVIDIA H100 80GB HBM3").memory_bytes == 80e9
