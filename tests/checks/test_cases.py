"""The code that a case shows makes the same tensor as the probe makes for it."""

from __future__ import annotations

import pytest
import torch

from autograder.checks.cases import write_base, write_bases
from autograder.probes.inputs import make

BASES = [
    ("zeros", (2, 3), "bfloat16"),
    ("zeros", (), "float8_e4m3fn"),
    ("arange", (2, 3), "int64"),
    ("arange", (), "float32"),
    ("numbers", (2, 3, 5), "float64", 7),
    ("numbers", (), "float32", 1),
    ("numbers", (0, 3), "float64", 2),
    ("numbers", (50,), "bfloat16", 3),
]


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_the_code_makes_what_the_probe_makes(base) -> None:
    names: dict = {"torch": torch}
    exec(write_base("x", base), names)
    made = make(*base)
    assert (names["x"].dtype, names["x"].shape) == (made.dtype, made.shape)
    assert torch.equal(names["x"].double(), made.double())


def test_several_tensors_have_the_names_x_y_z() -> None:
    assert [line.split(" ")[0] for line in write_bases(BASES[:3]).splitlines()[1:]] == ["x", "y", "z"]


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_numbers_are_exact_in_every_dtype(dtype: str) -> None:
    assert torch.equal(make("numbers", (82,), dtype, 5).double(), make("numbers", (82,), "float64", 5))


def test_numbers_hold_0_and_both_signs() -> None:
    assert {-2.5, 0.0, 2.5} <= set(make("numbers", (41,), "float64", 1).tolist())
