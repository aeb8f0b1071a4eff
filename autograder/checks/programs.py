"""Draws the programs that a FlopCounter watches, and shows them: their code is read where they run, in the probes."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from autograder.checks.cases import Draw, call, pick, shuffled
from autograder.judge import Case

SOURCE = (Path(__file__).parents[1] / "probes" / "flops.py").read_text(encoding="utf-8")
FUNCTIONS = {node.name: node for node in ast.parse(SOURCE).body if isinstance(node, ast.FunctionDef)}
CHECKPOINT = "import torch._dynamo  # checkpoint would do it under the counter\nimport torch.utils.checkpoint\n"


@st.composite
def programs(draw: Draw, names: Sequence[str], shown: str) -> Case:
    """Draw a program and its sizes.

    Args:
        names: of the programs to draw from, the plainest first.
        shown: what is asked of the counter in the end, as code.
    """
    name = pick(draw, names)
    letters = [argument.arg for argument in FUNCTIONS[name].args.args[1:]]
    drawn = shuffled(draw, [2, 3, 4, 5, 7, 6, 8])
    sizes: dict[str, Any] = {
        letter: size + 3 * (letter == "size") for letter, size in zip(letters, drawn, strict=False)
    }
    return call("flops", "FlopCounter", f"{write_program(name, sizes)}\n\n{shown}", program=name, sizes=sizes)


def write_program(name: str, sizes: dict[str, Any]) -> str:
    """Return the code of a program, with its sizes in front."""
    lines = SOURCE.splitlines()
    body = FUNCTIONS[name].body
    code = textwrap.dedent("\n".join(lines[body[0].lineno - 1 : body[-1].end_lineno]))
    head = f"import torch\n{CHECKPOINT if 'checkpoint' in code else ''}"
    return f"{head}{', '.join(sizes)} = {', '.join(map(str, sizes.values()))}\ncounter = FlopCounter()\n{code}"
