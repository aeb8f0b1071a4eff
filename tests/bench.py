"""What isolation costs, as ratios in one run: `make bench`.

Times on a shared machine wander, so what is compared runs in turn and the medians' ratio is what counts.
"""

from __future__ import annotations

import importlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil

from autograder import wire
from autograder.grade import Candidate, Run
from autograder.oracle import Live
from autograder.sandbox.host import Sandbox
from autograder.settings import read_settings

SOLUTIONS = Path("solutions").resolve()
GRADE = [sys.executable, "-m", "autograder", "grade", "solutions", "--seed", "1"]
IMPORT_TORCH = [sys.executable, "-I", "-c", "import torch"]
ROUNDS = 7


class SameProcess:
    """Stands in for the sandbox and its workers: imports and calls everything right here."""

    layers = ("none",)
    alive = True

    def worker(self, *_: object, **__: object) -> SameProcess:
        return self

    def observe(self, ask: wire.Ask, deadline_s: float) -> wire.Observation:
        from autograder.sandbox.values import to_torch, to_value

        part, _, function = ask.probe.partition(".")
        name = part if (SOLUTIONS / f"{part}.py").exists() else f"napkin.{part}"
        probe = getattr(importlib.import_module(f"autograder.probes.{part}"), function)
        case = {name: to_torch(value) for name, value in ask.case.items()}
        try:
            return wire.Returned(to_value(probe(importlib.import_module(name), **case)))
        except Exception as error:  # noqa: BLE001  the student's kind of answer
            kinds = tuple(kind.__name__ for kind in type(error).__mro__)
            return wire.Raised(kinds[0], kinds, str(error))

    def observe_all(self, asks: Sequence[wire.Ask], deadline_s: object) -> Iterator[wire.Observation]:
        return (self.observe(ask, 0.0) for ask in asks)

    def await_ready(self) -> None:
        pass

    def output(self) -> str:
        return ""

    def end(self) -> None:
        pass


def grade_in_this_process() -> None:
    """Run the same checks with no isolation at all."""
    from autograder.catalogue import read_checks

    sys.path.append(str(SOLUTIONS))
    import torch  # noqa: F401  where a plain pytest suite would import it

    policy, checks = read_settings(), read_checks(read_settings().checks)
    nowhere: Any = SameProcess()
    oracle = Live(nowhere, SOLUTIONS, {check.part for check in checks}, policy.package, policy.budget.check_s)
    result = Run(nowhere, Candidate(SOLUTIONS), oracle, policy, seed=1).checks(checks, checks)
    assert result.points == result.max_points, result


def wall_s(command: list[str]) -> float:
    """Return how long a command takes."""
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def ready_s(sandbox: Sandbox) -> float:
    """Return how long it takes until a new worker has answered a first question."""
    start = time.monotonic()
    worker = sandbox.worker(SOLUTIONS, trusted=True)
    worker.observe(wire.Ask("views.contiguous_strides", {"shape": (2, 3)}), 10)
    taken = time.monotonic() - start
    worker.end()
    return taken


def peak_pss_mb(command: list[str]) -> float:
    """Return the peak memory of a command with all its processes; what they share is counted once."""
    process, peak = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), 0
    while process.poll() is None:
        total = 0
        for one in [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]:
            try:
                total += one.memory_full_info().pss
            except psutil.Error:
                continue  # it has ended meanwhile
        peak = max(peak, total)
        time.sleep(0.02)
    return peak / 2**20


def in_turn(first: Callable[[], float], second: Callable[[], float]) -> tuple[float, float, float]:
    """Return both medians and the median of the ratios, pair by pair."""
    pairs = [(first(), second()) for _ in range(ROUNDS)]
    return (*(statistics.median(side) for side in zip(*pairs, strict=True)), statistics.median(a / b for a, b in pairs))


def main() -> None:
    """Print one line per question."""
    wall_s(IMPORT_TORCH)  # from a cold disk the first one is no measure
    here = [sys.executable, __file__, "--in-process"]
    whole, bare, ratio = in_turn(lambda: wall_s(GRADE), lambda: wall_s(here))
    print(f"full grading / the same checks without isolation   {ratio:6.2f}   ({whole:.2f} s / {bare:.2f} s)")
    one, torch_s, ratio = in_turn(lambda: wall_s([*GRADE, "--only", "1.1"]), lambda: wall_s(IMPORT_TORCH))
    print(f"one exercise, cold / import torch                  {ratio:6.2f}   ({one:.2f} s, {one - torch_s:+.2f} s)")
    with Sandbox(["views"]) as sandbox:
        ready_s(sandbox)
        forked = statistics.median(ready_s(sandbox) for _ in range(50))
    print(f"a forked worker / a fresh import of torch          {forked / torch_s:6.3f}   ({1000 * forked:.0f} ms)")
    print(f"peak memory of the tree (PSS)                      {peak_pss_mb(GRADE):6.0f}   MB")


if __name__ == "__main__":
    grade_in_this_process() if sys.argv[1:] == ["--in-process"] else main()
