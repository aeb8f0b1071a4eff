"""Makes a pytest run a grading: gives checks their fixtures, and turns what became of each into an outcome."""

from __future__ import annotations

import hashlib
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from autograder.agree import Agree
from autograder.oracle import Oracle
from autograder.result import Check, Feedback, Outcome, Status
from autograder.sandbox.host import Worker
from autograder.shortcuts import Use
from autograder.student import Clock, Disagreement, NotJudged, Student

STAFF_FRAMES = 4  # of a traceback: the innermost


@dataclass
class GradingPlugin:
    """One grading's side of pytest."""

    checks: dict[str, Check]  # those asked for, by their test's id: "views::reshape"
    start_worker: Callable[[], Worker]  # with the code under test
    find_shortcut: Callable[[Check], Use | None]
    oracle: Oracle
    clock: Clock
    seed: int
    fresh_cases: int
    began: Callable[[Check], None]
    ended: Callable[[Outcome], None]
    faults: list[str] = field(default_factory=list)  # for staff

    @pytest.fixture
    def student(self, request: pytest.FixtureRequest) -> Iterator[Student]:
        """The code under test, in a worker of this check's own."""
        student = Student(self.checks[item_id(request.node)], self.start_worker, self.find_shortcut, self.clock)
        yield student
        student.end()
        self.oracle.dismiss()

    @pytest.fixture
    def agree(self, request: pytest.FixtureRequest, student: Student) -> Agree:
        """The question of most checks: does the student see what should be seen?"""
        check = self.checks[item_id(request.node)]
        request.node.agree = Agree(
            check, student, self.oracle, self.clock, check_seed(self.seed, check.number), self.fresh_cases
        )
        made: Agree = request.node.agree
        return made

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the checks that were asked for, in the manifest's order."""
        order = list(self.checks)
        items[:] = sorted((i for i in items if item_id(i) in self.checks), key=lambda item: order.index(item_id(item)))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what kept a module of checks from being collected."""
        if report.failed:
            self.faults.append(f"{report.nodeid}: {report.longreprtext}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Turn a check's run, with its set-up and its end, into one outcome."""
        check = self.checks[item_id(item)]
        item.errors = []  # type: ignore[attr-defined]
        self.began(check)
        start = time.monotonic()
        result = yield
        status, feedback = self._verdict(item.errors, check)  # type: ignore[attr-defined]
        if status == "passed" and getattr(item, "agree", None) is not None:
            feedback = Feedback(note=item.agree.note)  # type: ignore[attr-defined]
        points = check.points if status == "passed" else 0.0
        self.ended(Outcome(check, status, points, feedback, time.monotonic() - start))
        return result  # type: ignore[return-value]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Keep what a phase of the check raised."""
        if call.excinfo is not None:
            item.errors.append(call.excinfo.value)  # type: ignore[attr-defined]
        return (yield)

    def _verdict(self, errors: list[BaseException], check: Check) -> tuple[Status, Feedback]:
        for error in errors:
            if not isinstance(error, Disagreement | NotJudged):
                trace = "".join(traceback.format_exception(error, limit=-STAFF_FRAMES))
                self.faults.append(f"{check.number}: {trace}")
                return "our fault", Feedback(message=type(error).__name__)  # the rest is for staff
        if not errors:
            return "passed", Feedback()
        if isinstance(errors[0], Disagreement):
            return "failed", errors[0].feedback
        return "not judged", Feedback(message=str(errors[0]))


def check_seed(seed: int, number: str) -> int:
    """Return a check's own seed: it draws the same cases whichever other checks run."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{number}".encode()).digest()[:8], "big")


def check_id(check: Check) -> str:
    """Return what finds a check's test."""
    return f"{check.part}::{check.name}"


def item_id(item: pytest.Item) -> str:
    """Return the same of a test."""
    return f"{item.path.stem.removeprefix('test_')}::{item.name.removeprefix('test_')}"
