"""Asks one question of a check: does the student's code see what should be seen, on every case?

First all cases are asked, then, if one differs, Hypothesis looks for a smaller one that does. Each case is put to the
student once and the answer kept, so that the search costs little and cannot contradict itself; what should be seen is
asked for only after the student has answered.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NoReturn

from hypothesis.strategies import SearchStrategy

from autograder.catalogue import Variant
from autograder.drawing import draw
from autograder.judge import Case, Closeness, compare, exact, show_observation
from autograder.oracle import Oracle, case_key
from autograder.result import Check, Feedback
from autograder.student import NOT_WRITTEN, Clock, Disagreement, Ended, NotJudged, Student, why_no_answer
from autograder.wire import Died, Observation, OverLimit, Raised, Returned, TimedOut, UsedForbidden, Value


class _Enough(Ended):
    """The search for a smaller case has had its time."""


class _Differs(Exception):
    """Tells Hypothesis that a case fails."""


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

    @property
    def live(self) -> bool:
        """Whether there is an answer to any case, not only to those that were recorded."""
        return self.oracle.kind == "live"

    def own(self, probe: str, **args: Value) -> Value:
        """Return what the student says where nothing is right or wrong, such as who they are.

        Raises: Disagreement with the error's text where they say nothing that can be used.
        """
        case = Case("", args)
        seen = self.student.observe(probe, case)
        self._end_unless_an_answer(probe, case, seen, 0)
        if isinstance(seen, Raised):
            raise Disagreement(Feedback(message=seen.message))
        assert isinstance(seen, Returned), seen
        return seen.value

    def __call__(
        self, probe: str, cases: SearchStrategy[Case], closeness: Closeness, times: int = 1, reveal: bool = True
    ) -> None:
        """Ask the student about each case.

        Args:
            probe: module and function in `probes`.
            cases: drawn from with the grading's seed, unless the oracle knows certain cases only.
            closeness: what counts as the same answer.
            times: asks so many times the fresh cases of other questions, where more can go wrong.
            reveal: tell the student what was expected; not where it is the answer that they are to hand in.
        """
        self._asked = {}
        count = times * self.fresh_cases
        stored = self.oracle.cases(self.check, probe)
        if stored is None:
            drawn: list[Case] = []  # before the first is asked: the first worker may still be importing
            draw(cases, count, self.seed, drawn.append)
        self._ask_all(probe, drawn if stored is None else stored, closeness)
        differing = [asked for asked in self._asked.values() if asked.difference is not None]
        if not differing:
            return
        if (form := self._seen_as(self._known("accepted"), probe, closeness)) is not None:
            self.note = form.text
            return
        told = f"{len(differing)} of {len(self._asked)} cases differ"
        smallest = differing[0]
        if stored is None:
            smallest = self._shrink(probe, cases, closeness, count) or smallest
        self._disagree(probe, closeness, smallest, told, reveal)

    def _ask_all(self, probe: str, cases: Sequence[Case], closeness: Closeness) -> None:
        new = {case_key(probe, case): case for case in cases}
        got: list[Observation] = []
        for seen, case in zip(self.student.observe_all(probe, list(new.values())), new.values(), strict=False):
            self._end_unless_an_answer(probe, case, seen, len(self._asked) + len(got))
            got.append(seen)
        expected = self.oracle.answers(probe, list(new.values()))
        for key, seen, should in zip(new, got, expected, strict=True):
            difference = compare(should, seen, closeness, new[key])
            self._asked[key] = _Asked(new[key], seen, should, difference)

    def _ask(self, probe: str, case: Case, closeness: Closeness) -> _Asked:
        key = case_key(probe, case)
        if key not in self._asked:
            self._ask_all(probe, [case], closeness)
        return self._asked[key]

    def _end_unless_an_answer(self, probe: str, case: Case, got: Observation, answered: int) -> None:
        """End the check where there is nothing to compare: asking on would only take time."""
        if isinstance(got, TimedOut) and self.clock.grading_is_over:
            raise NotJudged(self.clock.out_of_time)
        if isinstance(got, TimedOut | Died | OverLimit):
            self.oracle.answer(probe, case)  # raises if the reference has no answer either: then it is our fault
        if why := why_no_answer(got, self.check, self.clock.budget, answered):
            told = Feedback(message=why, ask=case_key(probe, case).hex())
            if why.startswith(NOT_WRITTEN) or isinstance(got, UsedForbidden):
                raise Disagreement(told)
            if isinstance(got, Raised):  # at import, or exit(): the case has no part in it
                raise Disagreement(replace(told, trace=got.trace, output=self.student.output()))
            raise Disagreement(replace(told, code=case.code, output=self.student.output()))

    def _shrink(self, probe: str, cases: SearchStrategy[Case], closeness: Closeness, count: int) -> _Asked | None:
        """Return the smallest differing case that is found in the time there is."""
        found: list[_Asked] = []
        until = time.monotonic() + min(self.clock.budget.shrink_s, self.clock.left_s())

        def each(case: Case) -> None:
            asked = self._ask(probe, case, closeness)
            if time.monotonic() > until:
                raise _Enough
            if asked.difference is not None:
                found.append(asked)  # Hypothesis goes from a failing case to smaller ones only: the last is the least
                raise _Differs

        # A smaller case that hangs or dies, or the end of all time, ends the search: a difference is known already.
        with suppress(_Differs, Ended):
            draw(cases, count, self.seed, each, shrink=True)
        return found[-1] if found else None

    def _known(self, kind: str) -> list[Variant]:
        return [variant for variant in self.oracle.variants(self.check) if variant.kind == kind]

    def _seen_as(self, variants: Sequence[Variant], probe: str, closeness: Closeness) -> Variant | None:
        """Return the first of some variants that answers every case as the student does."""
        asked = sorted(self._asked.values(), key=lambda one: one.difference is None)  # what differs decides soonest
        return next((v for v in variants if all(self._same(v, probe, one, closeness) for one in asked)), None)

    def _same(self, variant: Variant, probe: str, asked: _Asked, closeness: Closeness) -> bool:
        seen = self.oracle.answer(probe, asked.case, variant)
        return compare(seen, asked.got, closeness, replace(asked.case, names=())) is None

    def _hint(self, probe: str, closeness: Closeness, shown: _Asked) -> str:
        """Return the hint of the misconception that sees the same: on every case, or as the only one on this case."""
        # One that is right on this case says nothing about it, such as where only an error's message is wrong.
        alike = [
            variant
            for variant in self._known("misconception")
            if self._errs(variant, probe, shown, closeness) and self._same(variant, probe, shown, closeness)
        ]
        if (everywhere := self._seen_as(alike, probe, closeness)) is not None:
            return everywhere.text
        return alike[0].text if len(alike) == 1 else ""

    def _errs(self, variant: Variant, probe: str, asked: _Asked, closeness: Closeness) -> bool:
        return (
            compare(asked.expected, self.oracle.answer(probe, asked.case, variant), closeness, asked.case) is not None
        )

    def _disagree(self, probe: str, closeness: Closeness, shown: _Asked, message: str, reveal: bool) -> NoReturn:
        hint = self._hint(probe, closeness, shown)
        self.student.end()  # asked once more in a fresh worker, whose output is this case's alone
        again = self.student.observe(probe, shown.case)
        nameless = replace(shown.case, names=())
        if isinstance(again, Returned | Raised) and compare(shown.got, again, exact, nameless) is not None:
            said = show_observation(again)
            message = f"not the same twice: asked again in a fresh process it was {said}; what is kept between calls?"
            hint = ""
        raise Disagreement(
            Feedback(
                message=message,
                code=shown.case.code,
                ask=case_key(probe, shown.case).hex(),
                expected=show_observation(shown.expected) if reveal else "",
                got=show_observation(shown.got),
                where=(shown.difference or "") if reveal else "",
                trace=shown.got.trace if isinstance(shown.got, Raised) else (),
                output=self.student.output(),
                hint=hint,
            )
        )
