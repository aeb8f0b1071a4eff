"""The code under test during one check: its worker, its time, and what may end the check before there is an answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from autograder.judge import Case
from autograder.result import Check, Feedback
from autograder.sandbox.host import Worker
from autograder.settings import Budget
from autograder.shortcuts import Use
from autograder.wire import Ask, Died, Observation, OverLimit, Raised, TimedOut, UsedForbidden

NOT_WRITTEN = "not implemented yet: "


class Ended(BaseException):
    """Ends a check. Not an Exception: Hypothesis would take that for a failing case and search on."""


class Disagreement(Ended):
    """The student's code does not do what the check asks; carries what the student is told."""

    def __init__(self, feedback: Feedback) -> None:
        super().__init__(feedback.message)
        self.feedback = feedback


class NotJudged(Ended):
    """The check could not be judged, and that is nobody's answer to it."""


@dataclass
class Clock:
    """What is left of the budgets. A check's is spent by the student's answers alone, not by what the grader does."""

    budget: Budget
    grading_until: float  # on time.monotonic
    spent_s: float = 0.0  # by this check

    def start_check(self) -> None:
        """Begin a check's own budget.

        Raises: NotJudged when the whole grading's is spent.
        """
        if self.grading_is_over:
            raise NotJudged(self.out_of_time)
        self.spent_s = 0.0

    def left_s(self) -> float:
        """Return the seconds that one answer may take now."""
        grading_s = self.grading_until - time.monotonic()
        return min(self.budget.observation_s, self.budget.check_s - self.spent_s, grading_s)

    @property
    def grading_is_over(self) -> bool:
        """Whether the whole grading's time is spent."""
        return time.monotonic() >= self.grading_until

    @property
    def out_of_time(self) -> str:
        """The sentence for checks that were not reached."""
        return f"out of time: the whole grading has {self.budget.grading_s:g} s"


class Student:
    """The code under test, in a worker of this check's own."""

    def __init__(
        self, check: Check, start: Callable[[], Worker], find_shortcut: Callable[[Check], Use | None], clock: Clock
    ) -> None:
        self._check, self._start, self._find_shortcut, self._clock = check, start, find_shortcut, clock
        self._worker: Worker | None = None

    def observe(self, probe: str, case: Case) -> Observation:
        """Return what the probe saw on a case; see `observe_all`."""
        return next(self.observe_all(probe, [case]))

    def observe_all(self, probe: str, cases: Sequence[Case]) -> Iterator[Observation]:
        """Yield what the probe saw on each case, up to the first without an answer.

        A worker that failed to answer is replaced by a fresh one for the next questions.

        Raises: NotJudged when there is no time for the check, Disagreement when its source uses what is forbidden.
        """
        worker = self._ready_worker()
        answers = worker.observe_all([Ask(probe, case.args, self._check.forbids) for case in cases], self._clock.left_s)
        while self._clock.left_s() > 0:
            start = time.monotonic()
            seen = next(answers, None)
            self._clock.spent_s += time.monotonic() - start
            if seen is None:
                return
            yield seen
        yield TimedOut(0.0)

    def _ready_worker(self) -> Worker:
        if self._worker is None:
            self._clock.start_check()
            if (use := self._find_shortcut(self._check)) is not None:
                raise Disagreement(Feedback(message=_forbidden(use.name, use.where)))
        if self._worker is None or not self._worker.alive:
            self._worker = self._start()
            self._worker.await_ready()
        return self._worker

    def output(self) -> str:
        """End the worker, so that nothing is on its way any more, and return what it printed: head and tail."""
        self.end()
        return self._worker.output() if self._worker is not None else ""

    def end(self) -> None:
        """End the worker.

        Raises: SandboxError if something of it survives.
        """
        if self._worker is not None:
            self._worker.end()


def why_no_answer(got: Observation, check: Check, budget: Budget, answered: int) -> str:
    """Return why there is nothing to compare, in a sentence to the student, or "" if there is."""
    module = f"{check.part}.py"
    match got:
        # torch raises this too; the stubs' message begins with the exercise, which may be another one of the same part:
        # a check can be about several.
        case Raised(type="NotImplementedError") if got.message.startswith(f"{check.exercise.partition('.')[0]}."):
            return f"{NOT_WRITTEN}{got.message}"
        case Raised(type="SystemExit"):
            code = "" if got.message == "None" else got.message
            where = f"{module} calls exit({code}) while it is imported" if got.during == "import" else ""
            return where or f"your code called exit({code}) instead of returning"
        case Raised(type="ModuleNotFoundError", during="import") if got.message.endswith(f".{check.part}'"):
            return f"{module} is not in the package that you handed in"
        case Raised(type="ModuleNotFoundError", during="import"):
            return f"{module} could not be imported: {got.message}; torch and numpy are here, and Python's own modules"
        case Raised(during="import"):
            return f"{module} could not be imported: {got.type}: {got.message}"
        case UsedForbidden(name, where):
            return _forbidden(name, where)
        case TimedOut(seconds) if seconds < 0.99 * budget.observation_s:
            return f"too slow: {answered} cases took the {budget.check_s:g} s that this check has"
        case TimedOut(seconds):
            return f"no answer after {seconds:.3g} s: a loop that does not end, or far too much work?"
        case Died(how="exit code 0"):
            return "your code ended the process (os._exit?) instead of returning"
        case Died(how="exit code 70"):
            return "your code kept its process from answering: does it change Python's own functions or descriptors?"
        case Died(how="SIGSEGV"):
            return "your code crashed Python itself (SIGSEGV, a segmentation fault)"
        case Died(how):
            return f"your code ended the process: {how}"
        case OverLimit("answer", why):
            return f"the answer cannot be compared: {why}"
        case OverLimit(what, limit):
            return f"over the {what} limit of {limit}"
    return ""


def _forbidden(name: str, where: str) -> str:
    return f"{name} may not be used in this exercise; {where} uses it"
