"""Imports the reference and its variants for the tests that hold them against something outside."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

SOLUTIONS = Path(__file__).parents[2] / "solutions"
OURS = ("napkin", "napkin_math", "variants")


def load_solutions(part: str) -> tuple[ModuleType, tuple[Any, ...]]:
    """Return the reference of a part and its variants, and leave no `napkin` behind for other tests."""

    def ours() -> dict[str, ModuleType]:
        return {name: module for name, module in sys.modules.items() if name.split(".")[0] in OURS}

    others = ours()
    for name in others:
        del sys.modules[name]
    sys.path.insert(0, str(SOLUTIONS))
    try:
        # PyTorch's own classes stay as they are: only these are imported anew.
        name = part if (SOLUTIONS / f"{part}.py").exists() else f"napkin.{part}"
        return importlib.import_module(name), importlib.import_module("variants").variants_of(part)
    finally:
        sys.path.remove(str(SOLUTIONS))
        for name in ours():
            del sys.modules[name]
        sys.modules.update(others)
