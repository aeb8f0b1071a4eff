"""Runs one probe on one failing case in this process, so that breakpoints work.

The only place where the grader's command imports a student's code: at the student's own desk, at their own request.
"""

from __future__ import annotations

import importlib
import pdb
import sys
import traceback
from pathlib import Path

from autograder.judge import show_observation
from autograder.result import Outcome
from autograder.wire import Ask, Returned, decode_frame

GUIDE = "n next line · s step into · p NAME print · c continue · q quit"


def debug(folder: Path, package: str, outcome: Outcome) -> None:
    """Step through the call that a check's feedback shows.

    Args:
        folder: holds the student's package.
    """
    from autograder.sandbox.values import to_torch, to_value  # noqa: PLC0415  imports torch

    ask = decode_frame(bytes.fromhex(outcome.feedback.ask))
    assert isinstance(ask, Ask), ask
    print(f"{outcome.feedback.code}\n\n{GUIDE}\n")
    sys.path.append(str(folder))
    part, _, function = ask.probe.partition(".")
    probe = getattr(importlib.import_module(f"autograder.probes.{part}"), function)
    module = importlib.import_module(f"{package}.{part}")
    case = {name: to_torch(value) for name, value in ask.case.items()}
    debugger = pdb.Pdb(skip=["autograder.*", "torch.*", "torch", "importlib.*"], nosigint=True)
    try:
        seen = debugger.runcall(probe, module, **case)
    except Exception:  # noqa: BLE001  the student's own, and what they came to see
        traceback.print_exc()
        return
    if debugger.quitting:  # type: ignore[attr-defined]  # q ends the call, which then has seen nothing
        return
    print(f"\ngot       {show_observation(Returned(to_value(seen)))}")
    if outcome.feedback.expected:
        print(f"expected  {outcome.feedback.expected}")
