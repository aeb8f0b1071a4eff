"""Asks one question of a check: does the student's code see what should be seen, on every case?

First all cases are asked, then, if one differs, Hypothesis looks for a smaller one that does. Each case is put to the
student once and the answer kept, so that the search costs little and cannot contradict itself; what should be seen is
asked for only after the student has answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NoReturn

from hypothesis.strategies import SearchStrategy

from autograder.catalogue import Variant
from autograder.drawing import draw
from autograder.judge import Case, Closeness, compare, show_observation
from autograder.oracle import Oracle, case_key
from autograder.result import Check, Feedback
from autograder.sandbox.host import Worker
from autograder.settings import Budget
from autograder.shortcuts import Use
from autograder.wire import (
    Ask,
    Died,
    Observation,
    OverLimit,
    Raised,
    Returned,
    TimedOut,
    UsedForbidden,
)


class Ended(BaseException):
    """Ends a check. Not an Exception: Hypothesis would take that for a failing case and search on."""


class Disagreement(Ended):
    """The student's code does not do what the check asks; carries what the student is told."""

    def __init__(self, feedback: Feedback) -> None:
        super().__init__(feedback.message)
        self.feedback = feedback


class NotJudged(Ended):
    """The check could not be judged, and that is nobody's answer to it."""


class _Enough(Ended):
    """The search for a smaller case has had its time."""


class _Differs(Exception):
    """Tells Hypothesis that a case fails."""


@dataclass
class Clock:
    """What is left of the budgets."""

    budget: Budget
    grading_until: float  # on time.monotonic
    check_until: float = 0.0

    def start_check(self) -> None:
        """Begin a check's own budget.

        Raises: NotJudged when the whole grading's is spent.
        """
        now = time.monotonic()
        if now >= self.grading_until:
            raise NotJudged(f"out of time: the whole grading has {self.budget.grading_s:g} s")
        self.check_until = now + self.budget.check_s

    def left(self) -> float:
        """Return the seconds that one answer may take now."""
        now = time.monotonic()
        return min(self.budget.observation_s, self.check_until - now, self.grading_until - now)

    @property
    def grading_is_over(self) -> bool:
        """Whether the whole grading's time is spent."""
        return time.monotonic() >= self.grading_until


class Student:
    """The code under test, in a worker of this check's own."""

    def __init__(
        self, check: Check, start: Callable[[], Worker], find_shortcut: Callable[[Check], Use | None], clock: Clock
    ) -> None:
        self._check, self._start, self._find_shortcut, self._clock = check, start, find_shortcut, clock
        self._worker: Worker | None = None
        self._printed = ""

    def observe(self, probe: str, case: Case) -> Observation:
        """Return what the probe saw on a case; a worker that failed to answer is replaced by a fresh one.

        Raises: NotJudged when there is no time for the check, Disagreement when its source uses what is forbidden.
        """
        if self._worker is None:
            self._clock.start_check()
            if (use := self._find_shortcut(self._check)) is not None:
                raise Disagreement(
                    Feedback(message=f"{use.name} may not be used in this exercise; {use.where} uses it")
                )
        if self._worker is None or not self._worker.alive:
            self._worker = self._start()
        left = self._clock.left()
        if left <= 0:
            return TimedOut(0.0)
        seen = self._worker.observe(Ask(probe, case.args, self._check.forbids), left)
        self._printed = self._worker.output()
        return seen

    def output(self) -> str:
        """Return what the code has printed: head and tail."""
        return self._printed

    def end(self) -> None:
        """End the worker.

        Raises: SandboxError if something of it survives.
        """
        if self._worker is not None:
            self._worker.end()


@dataclass
class _Asked:
    case: Case
    got: Observation
    expected: Observation
    difference: str | None  # None where they agree


@dataclass
class Agree:
    """`agree(probe, cases, closeness)`: returns if the student agrees on every case, raises Disagreement if not."""

    check: Check
    student: Student
    oracle: Oracle
    clock: Clock
    seed: int  # of this check in this grading
    fresh_cases: int
    note: str = ""  # of the accepted variant that was seen
    _asked: dict[bytes, _Asked] = field(default_factory=dict)

    def __call__(self, probe: str, cases: SearchStrategy[Case], closeness: Closeness, times: int = 1) -> None:
        """Ask the student about each case.

        Args:
            probe: module and function in `probes`.
            cases: drawn from with the grading's seed, unless the oracle knows certain cases only.
            closeness: what counts as the same answer.
            times: asks so many times the fresh cases of other questions, where more can go wrong.
        """
        self._asked = {}
        count = times * self.fresh_cases
        stored = self.oracle.cases(self.check, probe)
        if stored is None:
            drawn: list[Case] = []  # before the first is asked: the first worker may still be importing
            draw(cases, count, self.seed, drawn.append)
        for case in drawn if stored is None else stored:
            self._ask(probe, case, closeness)
        differing = [asked for asked in self._asked.values() if asked.difference is not None]
        if not differing:
            return
        if (form := self._seen_as("accepted", probe, closeness)) is not None:
            self.note = form.text
            return
        told = f"{len(differing)} of {len(self._asked)} cases differ"
        smallest = differing[0]
        if stored is None:
            smallest = self._shrink(probe, cases, closeness, count) or smallest
        self._disagree(probe, closeness, smallest, told)

    def _ask(self, probe: str, case: Case, closeness: Closeness) -> _Asked:
        key = case_key(probe, case)
        if key not in self._asked:
            got = self.student.observe(probe, case)
            self._end_unless_an_answer(probe, case, got)
            expected = self.oracle.answer(probe, case)
            self._asked[key] = _Asked(case, got, expected, compare(expected, got, closeness, case))
        return self._asked[key]

    def _end_unless_an_answer(self, probe: str, case: Case, got: Observation) -> None:
        """End the check where there is nothing to compare: asking on would only take time."""
        if isinstance(got, TimedOut) and self.clock.grading_is_over:
            raise NotJudged(f"out of time: the whole grading has {self.clock.budget.grading_s:g} s")
        message = _why_no_answer(got, self.check, self.clock.budget, len(self._asked))
        if message:
            trace = got.trace if isinstance(got, Raised) else ()
            code = "" if isinstance(got, Raised | UsedForbidden) else case.code
            printed = "" if isinstance(got, Raised) and got.type == "NotImplementedError" else self.student.output()
            ask = case_key(probe, case).hex()
            raise Disagreement(Feedback(message=message, code=code, ask=ask, trace=trace, output=printed))

    def _shrink(self, probe: str, cases: SearchStrategy[Case], closeness: Closeness, count: int) -> _Asked | None:
        """Return the smallest differing case that is found in the time there is."""
        found: list[_Asked] = []
        until = time.monotonic() + min(self.clock.budget.shrink_s, self.clock.left())

        def each(case: Case) -> None:
            asked = self._ask(probe, case, closeness)
            if time.monotonic() > until:
                raise _Enough
            if asked.difference is not None:
                found.append(asked)  # Hypothesis goes from a failing case to smaller ones only: the last is the least
                raise _Differs

        with suppress(
            _Differs, _Enough, Disagreement
        ):  # a smaller case that hangs or dies ends the search, not the check
            draw(cases, count, self.seed, each, shrink=True)
        return found[-1] if found else None

    def _seen_as(self, kind: str, probe: str, closeness: Closeness) -> Variant | None:
        """Return the first variant that answers every case as the student does."""
        asked = sorted(self._asked.values(), key=lambda one: one.difference is None)  # what differs decides soonest
        for variant in self.oracle.variants(self.check):
            if variant.kind == kind and all(self._same(variant, probe, one, closeness) for one in asked):
                return variant
        return None

    def _same(self, variant: Variant, probe: str, asked: _Asked, closeness: Closeness) -> bool:
        seen = self.oracle.answer(probe, asked.case, variant)
        return compare(seen, asked.got, closeness, replace(asked.case, names=())) is None

    def _hint(self, probe: str, closeness: Closeness, shown: _Asked) -> str:
        """Return the hint of the misconception that sees the same: on every case, or as the only one on this case."""
        if (variant := self._seen_as("misconception", probe, closeness)) is not None:
            return variant.text
        known = [v for v in self.oracle.variants(self.check) if v.kind == "misconception"]
        alike = [v for v in known if self._same(v, probe, shown, closeness)]
        return alike[0].text if len(alike) == 1 else ""

    def _disagree(self, probe: str, closeness: Closeness, shown: _Asked, message: str) -> NoReturn:
        hint = self._hint(probe, closeness, shown)
        self.student.end()  # asked once more in a fresh worker, whose output is this case's alone
        again = self.student.observe(probe, shown.case)
        if (
            isinstance(again, Returned | Raised)
            and compare(shown.got, again, closeness, replace(shown.case, names=())) is not None
        ):
            message = f"not the same twice: the second time it was {show_observation(again)}"
            hint = ""
        raise Disagreement(
            Feedback(
                message=message,
                code=shown.case.code,
                ask=case_key(probe, shown.case).hex(),
                expected=show_observation(shown.expected),
                got=show_observation(shown.got),
                where=shown.difference or "",
                trace=shown.got.trace if isinstance(shown.got, Raised) else (),
                output=self.student.output(),
                hint=hint,
            )
        )


def _why_no_answer(got: Observation, check: Check, budget: Budget, answered: int) -> str:
    """Return what ended the check, in a sentence to the student, or nothing if `got` can be compared."""
    module = f"{check.part}.py"
    match got:
        case Raised(type="NotImplementedError"):
            return f"not implemented yet: {got.message}"
        case Raised(during="import"):
            return f"{module} could not be imported: {got.type}: {got.message}"
        case Raised(type="SystemExit"):
            return f"your code called exit({got.message}) instead of returning"
        case UsedForbidden(name, where):
            return f"{name} may not be used in this exercise; {where} calls it"
        case TimedOut(seconds) if seconds < 0.99 * budget.observation_s:
            return f"too slow: {answered} cases took the {budget.check_s:g} s that this check has"
        case TimedOut(seconds):
            return f"no answer after {seconds:.3g} s"
        case Died(how="exit code 0"):
            return "your code ended the process (os._exit?) instead of returning"
        case Died(how):
            return f"your code ended the process: {how}"
        case OverLimit("answer", limit):
            return f"the answer is no value that can be compared: {limit}"
        case OverLimit(what, limit):
            return f"over the {what} limit of {limit}"
    return ""
