"""Grades: starts the workers, runs the checks, and keeps the result up to date after each of them.

pytest, Hypothesis and numpy are imported inside functions: the sandbox starts first, and the half second that they take
goes by while it imports torch.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.catalogue import read_checks, selects
from autograder.result import NOT_ASKED_FOR, Check, Feedback, Outcome, Result
from autograder.sandbox.host import Sandbox, Worker
from autograder.settings import Settings
from autograder.shortcuts import Use, find_use
from autograder.submission import Submission, SubmissionError, read_submission

if TYPE_CHECKING:
    from autograder.oracle import Oracle

NOT_REACHED = "not reached"
NOT_LOADED = "the check could not be loaded, or the grading ended before it"
NOTHING_COLLECTED, INTERRUPTED = 5, 2  # pytest's exit codes
GRACE_S = 60.0  # after a check's own budget, before pytest-timeout takes the grader itself to hang


@dataclass(frozen=True)
class Candidate:
    """The code under test: a submission, or for the audit a variant of the reference."""

    code: Submission | Path  # handed in, or the solutions' folder
    variant: str = ""


@dataclass(frozen=True)
class Watcher:
    """Who wants to know how a grading goes."""

    began: Callable[[Check], None] = lambda check: None
    ended: Callable[[Outcome], None] = lambda outcome: None
    # Also called before the first check: it is never too early to be killed.
    updated: Callable[[Result], None] = lambda result: None


def grade(
    path: Path, settings: Settings, answers: Path, seed: int, only: str = "", watcher: Watcher | None = None,
    spawn: bool | None = None,
) -> Result:  # fmt: skip
    """Return the result of a submission.

    Args:
        path: folder, archive or file.
        answers: the solutions' folder (fresh cases), or the file of recorded answers.
        seed: of all that is drawn.
        only: a check's, exercise's or part's number; the others are not judged.
    """
    watcher = watcher or Watcher()
    manifest = read_checks(settings.checks)
    asked = [check for check in manifest if selects(only, check.number)]
    parts = sorted({check.part for check in asked})
    with Sandbox(parts, settings.limits, spawn) as sandbox:  # first: its imports go on while we read
        try:
            submission = read_submission(path, sorted({c.part for c in manifest}), settings.package, settings.notebook)
        except SubmissionError as error:
            return _nothing_to_grade(manifest, str(error), seed, answers, watcher)
        oracle = make_oracle(answers, sandbox, settings, set(parts))
        missing = tuple(f"{name} is not in the submission." for name in submission.missing)
        run = Run(sandbox, Candidate(submission), oracle, settings, seed, watcher)
        return run.checks(manifest, asked, (*submission.notes, *missing))


def make_oracle(answers: Path, sandbox: Sandbox, settings: Settings, parts: set[str]) -> Oracle:
    """Return the oracle for the solutions' folder, or for a file of recorded answers."""
    from autograder.oracle import Live, Recorded  # noqa: PLC0415

    if answers.is_dir():
        return Live(sandbox, answers.resolve(), parts, settings.package, settings.budget.check_s)
    return Recorded(answers)


@dataclass
class Run:
    """One run of the checks on one candidate."""

    sandbox: Sandbox
    candidate: Candidate
    oracle: Oracle
    settings: Settings
    seed: int
    watcher: Watcher = field(default_factory=Watcher)

    def checks(self, manifest: Sequence[Check], asked: Sequence[Check], notes: tuple[str, ...] = ()) -> Result:
        """Return the result of the checks that were asked for; it also holds all others."""
        from autograder.plugin import GradingPlugin, check_id  # noqa: PLC0415
        from autograder.student import Clock  # noqa: PLC0415

        start = time.monotonic()
        self._result = Result(
            tuple(_unjudged(c, NOT_REACHED if c in asked else NOT_ASKED_FOR) for c in manifest),
            self.seed, self.oracle.kind, notes, self.sandbox.layers, _versions(),
        )  # fmt: skip
        self.watcher.updated(self._result)
        plugin = GradingPlugin(
            checks={check_id(check): check for check in asked},
            start_worker=self._start_worker,
            find_shortcut=self._find_shortcut,
            oracle=self.oracle,
            clock=Clock(self.settings.budget, start + self.settings.budget.grading_s),
            seed=self.seed,
            fresh_cases=self.settings.fresh_cases,
            began=self.watcher.began,
            ended=self._ended,
        )
        status = run_pytest(plugin, sorted({c.part for c in asked}), self.settings)
        self._close(status, plugin.faults, time.monotonic() - start)
        return self._result

    def _start_worker(self) -> Worker:
        code, trusted = self.candidate.code, isinstance(self.candidate.code, Path)
        return self.sandbox.worker(code, self.settings.package, self.candidate.variant, trusted)

    def _find_shortcut(self, check: Check) -> Use | None:
        files = self.candidate.code.files if isinstance(self.candidate.code, Submission) else {}
        return find_use(files, self.settings.package, check.part, check.within, check.forbids)

    def _ended(self, outcome: Outcome) -> None:
        self._result = self._result.with_outcome(outcome)
        self.watcher.ended(outcome)
        self.watcher.updated(self._result)

    def _close(self, status: int, faults: list[str], seconds: float) -> None:
        """Say of what pytest did not reach whether it was interrupted or failed."""
        for outcome in self._result.outcomes:
            if outcome.status == "not judged" and outcome.feedback.message == NOT_REACHED:
                if status == INTERRUPTED:
                    self._ended(_unjudged(outcome.check, "interrupted"))
                else:
                    self._ended(Outcome(outcome.check, "our fault", feedback=Feedback(message=NOT_LOADED)))
        staff_notes = (*self._result.staff_notes, *faults)
        interrupted = status == INTERRUPTED
        self._result = replace(self._result, staff_notes=staff_notes, seconds=seconds, complete=not interrupted)
        self.watcher.updated(self._result)


def run_pytest(plugin: object, parts: Sequence[str], settings: Settings) -> int:
    """Run the check modules of some parts under a plugin, and return pytest's exit code."""
    import pytest  # noqa: PLC0415

    if not parts:
        return NOTHING_COLLECTED  # given no file, pytest would collect the folder it stands in
    timeout_s = settings.budget.check_s + settings.budget.shrink_s + GRACE_S
    arguments = ["-c", str(settings.checks / "pytest.ini"), "--rootdir", str(settings.checks)]
    arguments += ["-o", f"timeout={timeout_s}", *(str(settings.checks / f"test_{part}.py") for part in parts)]
    with _own_environment():
        return int(pytest.main(arguments, plugins=[plugin]))


@contextmanager
def _own_environment() -> Iterator[None]:
    """Keep a person's own pytest settings out of the grading."""
    ours = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": ""}
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _unjudged(check: Check, why: str) -> Outcome:
    return Outcome(check, "not judged", feedback=Feedback(message=why))


def _nothing_to_grade(manifest: Sequence[Check], why: str, seed: int, answers: Path, watcher: Watcher) -> Result:
    outcomes = tuple(
        Outcome(check, "failed", feedback=Feedback(message=f"nothing to grade: {why}")) for check in manifest
    )
    kind = "live" if answers.is_dir() else "recorded"
    result = Result(outcomes, seed, kind, (why,), versions=_versions(), complete=True)  # type: ignore[arg-type]
    watcher.updated(result)
    return result


def _versions() -> dict[str, str]:
    names = ("napkin-autograder", "torch", "numpy", "hypothesis", "pytest")
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        **{name: version(name) for name in names},
    }
