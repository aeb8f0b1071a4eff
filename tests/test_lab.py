"""The notebook runs from its first cell to its last on the reference, and its lab draws."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ["layout", "roofline", "stall", "memory"]  # ids of the cells that draw
MOST_S = 60


@pytest.fixture(scope="module")
def ran() -> tuple[Any, float]:
    """Run the staff's notebook, without a port, and return it with the seconds that it took."""
    notebook = nbformat.read(ROOT / "solutions" / "napkin_math.ipynb", as_version=4)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{folder}/kernel")
        where = {"metadata": {"path": str(ROOT / "solutions")}}
        NotebookClient(notebook, km=manager, timeout=MOST_S, startup_timeout=MOST_S, resources=where).execute()
    return notebook, time.monotonic() - start


def outputs(notebook: Any, identity: str) -> list[Any]:
    (cell,) = [cell for cell in notebook.cells if cell.id == identity]
    return list(cell.outputs)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_it_takes_less_than_a_minute(ran: tuple[Any, float]) -> None:
    assert ran[1] < MOST_S


@pytest.mark.slow
@pytest.mark.parametrize("figure", FIGURES)
def test_each_figure_is_drawn(ran: tuple[Any, float], figure: str) -> None:
    assert ["image/png" in output.get("data", {}) for output in outputs(ran[0], figure)] == [True]


@pytest.mark.slow
@pytest.mark.parametrize("question", range(1, 11))
def test_each_question_is_told_with_the_readers_own_numbers(ran: tuple[Any, float], question: int) -> None:
    (told,) = outputs(ran[0], f"answer-{question}")
    assert "{" not in told["text"]
    assert len(told["text"]) > 50


def test_every_cell_that_draws_is_in_the_handout() -> None:
    notebook = nbformat.read(ROOT / "handout" / "napkin_math.ipynb", as_version=4)
    assert set(FIGURES) <= {cell.id for cell in notebook.cells}
