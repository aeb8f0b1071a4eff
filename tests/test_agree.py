"""Whether the question of a check asks what it should, and tells what it found. No process is started here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pytest
from hypothesis import strategies as st

from autograder import wire
from autograder.agree import Agree
from autograder.catalogue import Variant
from autograder.judge import Case, exact
from autograder.oracle import OracleError
from autograder.result import Check, Feedback
from autograder.settings import Budget
from autograder.shortcuts import Use
from autograder.student import Clock, Disagreement, NotJudged, Student
from autograder.wire import Ask, Died, Observation, OverLimit, Raised, Returned, TimedOut, UsedForbidden

CHECK = Check("1.1", "double", "It doubles.", 1, "views", forbids=("torch",))
BUDGET = Budget(observation_s=4, check_s=20, shrink_s=3, grading_s=480)
PROBE = "views.double"
NUMBERS = st.integers(0, 1000).map(lambda n: Case(f"double({n})", {"n": n}))

Answer = Callable[[int], Observation]


def double(n: int) -> Observation:
    return Returned(2 * n)


def wrong_from(least: int) -> Answer:
    return lambda n: Returned(2 * n + (n >= least))


def number(case: Case) -> int:
    n = case.args["n"]
    assert isinstance(n, int)
    return n


@dataclass
class FakeStudent:
    """Answers at once, and remembers what it was asked."""

    answer: Answer
    asked: list[int] = field(default_factory=list)
    ended_after: list[int] = field(default_factory=list)

    def observe(self, probe: str, case: Case) -> Observation:
        assert probe == PROBE
        self.asked.append(number(case))
        return self.answer(number(case))

    def observe_all(self, probe: str, cases: Sequence[Case]) -> Iterator[Observation]:
        return (self.observe(probe, case) for case in cases)

    def output(self) -> str:
        return f"asked {len(self.asked)} times"

    def end(self) -> None:
        self.ended_after.append(len(self.asked))


@dataclass
class FakeOracle:
    """Knows functions for the reference and each variant, and remembers what it was asked."""

    reference: Answer = double
    others: dict[Variant, Answer] = field(default_factory=dict)
    stored: Sequence[Case] | None = None
    asked: list[int] = field(default_factory=list)
    kind: Literal["live", "recorded"] = "live"

    def cases(self, check: Check, probe: str) -> list[Case] | None:
        return None if self.stored is None else list(self.stored)

    def variants(self, check: Check) -> list[Variant]:
        return [variant for variant in self.others if variant.number == check.number]

    def answer(self, probe: str, case: Case, variant: Variant | None = None) -> Observation:
        self.asked.append(number(case))
        return self.others[variant](number(case)) if variant else self.reference(number(case))

    def answers(self, probe: str, cases: Sequence[Case]) -> list[Observation]:
        return [self.answer(probe, case) for case in cases]

    def dismiss(self) -> None:
        raise AssertionError("a question dismisses nobody")


def variant(kind: Literal["misconception", "accepted"], text: str, number: str = "1.1") -> Variant:
    return Variant(text.replace(" ", "_"), number, kind, text, "views")


def clock(grading_left_s: float = 100.0, **budget: float) -> Clock:
    made = Clock(replace(BUDGET, **budget), time.monotonic() + grading_left_s)
    made.start_check()
    return made


def question(
    student: Any, oracle: FakeOracle | None = None, seed: int = 1, fresh_cases: int = 50, **given: Any
) -> Agree:
    return Agree(CHECK, student, oracle or FakeOracle(), given.pop("clock", None) or clock(**given), seed, fresh_cases)


def told(
    answer: Answer | FakeStudent, oracle: FakeOracle | None = None, cases: Any = NUMBERS, **given: Any
) -> Feedback:
    """Return what a student with these answers is told."""
    student = answer if isinstance(answer, FakeStudent) else FakeStudent(answer)
    with pytest.raises(Disagreement) as caught:
        question(student, oracle, **given)(PROBE, cases, exact)
    return caught.value.feedback


# --- what is asked ---------------------------------------------------------------------------------------------------


def asked_with(seed: int, **given: Any) -> list[int]:
    student = FakeStudent(double)
    question(student, seed=seed, **given)(PROBE, NUMBERS, exact)
    return student.asked


def test_who_agrees_on_every_case_has_agreed() -> None:
    made = question(FakeStudent(double))
    made(PROBE, NUMBERS, exact)
    assert made.note == ""


def test_the_same_seed_asks_the_same_cases() -> None:
    assert asked_with(7) == asked_with(7)


def test_another_seed_asks_other_cases() -> None:
    assert asked_with(7) != asked_with(8)


def test_what_was_drawn_before_changes_no_cases() -> None:
    first = asked_with(7)
    asked_with(8)
    student = FakeStudent(double)
    again = question(student, seed=7)
    again(PROBE, NUMBERS, exact)
    again(PROBE, NUMBERS, exact)
    assert student.asked == first + first


def test_as_many_cases_are_asked_as_the_course_wants() -> None:
    assert 40 < len(asked_with(1, fresh_cases=50)) <= 50


def test_a_question_may_ask_for_more_cases_than_others() -> None:
    student = FakeStudent(double)
    question(student, fresh_cases=20)(PROBE, NUMBERS, exact, times=5)
    assert 60 < len(student.asked) <= 100


def test_no_case_is_put_to_the_student_twice() -> None:
    few = st.integers(0, 5).map(lambda n: Case(f"double({n})", {"n": n}))
    student = FakeStudent(double)
    question(student, fresh_cases=100)(PROBE, few, exact)
    assert sorted(student.asked) == [0, 1, 2, 3, 4, 5]


def test_what_should_be_seen_is_asked_for_after_the_student_has_answered() -> None:
    oracle = FakeOracle()

    def answer(n: int) -> Observation:
        assert n not in oracle.asked
        return double(n)

    question(FakeStudent(answer), oracle)(PROBE, NUMBERS, exact)
    assert oracle.asked


def test_recorded_cases_are_asked_in_their_order_and_no_others() -> None:
    stored = [Case(f"double({n})", {"n": n}) for n in (3, 1, 2)]
    student = FakeStudent(double)
    question(student, FakeOracle(stored=stored))(PROBE, NUMBERS, exact)
    assert student.asked == [3, 1, 2]


def test_an_oracle_that_cannot_answer_is_no_disagreement() -> None:
    def fails(n: int) -> Observation:
        raise OracleError("the reference gave no answer")

    with pytest.raises(OracleError, match="the reference gave no answer"):
        question(FakeStudent(double), FakeOracle(fails))(PROBE, NUMBERS, exact)


# --- what is told ----------------------------------------------------------------------------------------------------


def test_a_disagreement_shows_the_case_and_both_sides() -> None:
    feedback = told(wrong_from(0))
    assert feedback == Feedback(
        message=feedback.message,
        code="double(0)",
        ask=wire.encode(Ask(PROBE, {"n": 0})).hex(),
        expected="0",
        got="1",
        output=feedback.output,
    )


def test_the_smallest_case_is_shown() -> None:
    assert told(wrong_from(17)).code == "double(17)"


def test_the_smallest_list_is_shown() -> None:
    lists = st.lists(st.integers(0, 100), max_size=8).map(
        lambda drawn: Case(f"double({sum(drawn)})  # {drawn}", {"n": sum(drawn)})
    )
    assert told(wrong_from(30), cases=lists).code == "double(30)  # [30]"


def test_the_message_counts_the_cases_that_were_drawn() -> None:
    drawn = asked_with(1)
    wrong = [n for n in drawn if n >= 500]
    assert told(wrong_from(500)).message == f"{len(wrong)} of {len(drawn)} cases differ"


def test_a_disagreement_says_where_it_is() -> None:
    feedback = told(lambda n: Returned((2, n)), FakeOracle(lambda n: Returned((1, n))))
    assert feedback.where == "at [0]: 1 is asked for, not 2"


def test_an_exception_is_shown_with_the_students_own_frames() -> None:
    feedback = told(lambda n: Raised("ValueError", ("ValueError",), "no", trace=("views.py:3 in double",)))
    assert (feedback.got, feedback.trace) == ("raises ValueError: no", ("views.py:3 in double",))


def test_what_was_printed_is_shown() -> None:
    student = FakeStudent(wrong_from(0))
    assert told(student).output == f"asked {len(student.asked)} times"


def test_of_recorded_cases_the_first_that_differs_is_shown_and_none_is_searched() -> None:
    stored = [Case(code, {"n": n}) for code, n in (("double(1)", 1), ("double(1 + 2)", 3), ("double(2)", 2))]
    student = FakeStudent(wrong_from(2))
    assert told(student, FakeOracle(stored=stored)).code == "double(1 + 2)"
    assert student.asked == [1, 3, 2, 3]


def test_the_case_that_is_shown_is_asked_once_more_in_a_fresh_worker() -> None:
    student = FakeStudent(wrong_from(17))
    told(student)
    assert student.asked[-1] == 17
    assert student.ended_after == [len(student.asked) - 1]


def test_two_answers_to_one_case_are_told_as_that() -> None:
    student = FakeStudent(lambda n: Returned(-len(student.asked)))
    alike = variant("misconception", "Why is it negative?")
    feedback = told(student, FakeOracle(others={alike: lambda n: Returned(-1)}))
    assert feedback.message.startswith(
        f"not the same twice: asked again in a fresh process it was {-len(student.asked)};"
    )
    assert feedback.hint == ""


def test_an_exception_with_another_text_is_the_same_answer() -> None:
    student = FakeStudent(lambda n: Raised("ValueError", ("ValueError",), f"object {len(student.asked)}"))
    assert "cases differ" in told(student).message


def test_a_second_time_that_gives_no_answer_changes_nothing() -> None:
    seen: set[int] = set()

    def answer(n: int) -> Observation:
        if n in seen:
            return TimedOut(4.0)
        seen.add(n)
        return Returned(-1)

    assert "cases differ" in told(answer).message


# --- the search for a smaller case -----------------------------------------------------------------------------------


def test_no_time_to_search_shows_the_first_case_that_differs() -> None:
    feedback = told(wrong_from(500), shrink_s=0)
    assert feedback.code == f"double({next(n for n in asked_with(1) if n >= 500)})"


def test_the_search_ends_when_its_time_is_over() -> None:
    asked: list[int] = []

    def slow(n: int) -> Observation:
        asked.append(n)
        time.sleep(0.02 if len(asked) > 3 else 0)
        return Returned(-1 if n > 100 else 2 * n)

    start = time.monotonic()
    told(slow, fresh_cases=3, shrink_s=0.1)
    assert time.monotonic() - start < 0.5


def test_the_search_costs_no_more_than_the_check_has_left() -> None:
    short = clock()
    short.spent_s = BUDGET.check_s - 0.1
    start = time.monotonic()
    told(lambda n: time.sleep(0.01) or Returned(-1 if n > 100 else 2 * n), clock=short, fresh_cases=3)  # type: ignore
    assert time.monotonic() - start < 1.0


@pytest.mark.parametrize("end", [TimedOut(4.0), Died("SIGSEGV"), OverLimit("memory", "512 MB")])
def test_a_smaller_case_without_an_answer_ends_the_search_and_not_the_check(end: Observation) -> None:
    feedback = told(lambda n: end if n == 100 else Returned(2 * n + (n >= 100)))
    assert "cases differ" in feedback.message
    assert feedback.got != ""


def test_a_grading_that_ends_during_the_search_leaves_the_disagreement() -> None:
    ending = clock()
    drawn = asked_with(1)

    def answer(n: int) -> Observation:
        if n in drawn:
            return wrong_from(500)(n)
        ending.grading_until = time.monotonic()
        return TimedOut(4.0)

    assert "cases differ" in told(answer, clock=ending).message


# --- no answer -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        (TimedOut(4.0), "no answer after 4 s: a loop that does not end, or far too much work?"),
        (TimedOut(3.98), "no answer after 3.98 s: a loop that does not end, or far too much work?"),
        (Died("SIGSEGV"), "your code crashed Python itself (SIGSEGV, a segmentation fault)"),
        (Died("SIGABRT"), "your code ended the process: SIGABRT"),
        (Died("exit code 3"), "your code ended the process: exit code 3"),
        (Died("exit code 0"), "your code ended the process (os._exit?) instead of returning"),
        (OverLimit("memory", "512 MB"), "over the memory limit of 512 MB"),
        (OverLimit("output", "16 MB"), "over the output limit of 16 MB"),
        (OverLimit("cpu", "60 s"), "over the cpu limit of 60 s"),
        (OverLimit("answer", "too many values"), "the answer cannot be compared: too many values"),
        (
            UsedForbidden("torch.empty", "views.py:3 in double"),
            "torch.empty may not be used in this exercise; views.py:3 in double uses it",
        ),
        (
            Raised("NotImplementedError", ("NotImplementedError",), "1.1 double: what?"),
            "not implemented yet: 1.1 double: what?",
        ),
        (  # a check can be about several exercises of its part
            Raised("NotImplementedError", ("NotImplementedError",), "1.3 half: what?"),
            "not implemented yet: 1.3 half: what?",
        ),
        (
            Raised("SyntaxError", ("SyntaxError",), "invalid syntax", "import"),
            "views.py could not be imported: SyntaxError: invalid syntax",
        ),
        (
            Raised("ModuleNotFoundError", ("ModuleNotFoundError",), "No module named 'napkin.views'", "import"),
            "views.py is not in the package that you handed in",
        ),
        (
            Raised("ModuleNotFoundError", ("ModuleNotFoundError",), "No module named 'x'", "import"),
            "views.py could not be imported: No module named 'x'; torch and numpy are here, and Python's own modules",
        ),
        (Raised("SystemExit", ("SystemExit",), "3"), "your code called exit(3) instead of returning"),
        (Raised("SystemExit", ("SystemExit",), "None"), "your code called exit() instead of returning"),
        (Raised("SystemExit", ("SystemExit",), "3", "import"), "views.py calls exit(3) while it is imported"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)  # fmt: skip
def test_without_an_answer_the_check_ends_at_its_first_case(seen: Observation, message: str) -> None:
    student, oracle = FakeStudent(lambda n: seen), FakeOracle()
    assert told(student, oracle).message == message
    assert len(student.asked) == 1
    # Whether the reference answers decides whose fault a lost worker is.
    assert len(oracle.asked) == isinstance(seen, TimedOut | Died | OverLimit)


def test_a_case_without_an_answer_is_shown_with_its_output() -> None:
    feedback = told(lambda n: TimedOut(4.0))
    (first, *_) = asked_with(1)
    assert feedback.code == f"double({first})"
    assert feedback.ask == wire.encode(Ask(PROBE, {"n": first})).hex()
    assert feedback.output == "asked 1 times"


@pytest.mark.parametrize(
    "seen", [UsedForbidden("torch.empty", "views.py:3"), Raised("SystemExit", ("SystemExit",), "3")]
)
def test_what_ends_in_every_case_alike_shows_none(seen: Observation) -> None:
    assert told(lambda n: seen).code == ""


def test_an_untouched_stub_is_told_without_its_output() -> None:
    assert told(lambda n: Raised("NotImplementedError", ("NotImplementedError",), "1.1 double: what?")).output == ""


def test_another_error_of_a_stubs_type_is_an_answer_like_any_other() -> None:
    feedback = told(lambda n: Raised("NotImplementedError", ("NotImplementedError",), "no kernel for this dtype"))
    assert feedback.got == "raises NotImplementedError: no kernel for this dtype"


def test_an_import_that_fails_is_told_with_its_frames() -> None:
    seen = Raised("NameError", ("NameError",), "x", "import", ("views.py:1 in <module>",))
    assert told(lambda n: seen).trace == ("views.py:1 in <module>",)


def test_a_check_that_ran_out_of_its_own_time_was_too_slow() -> None:
    student = FakeStudent(lambda n: double(n) if len(student.asked) <= 3 else TimedOut(1.5))
    assert told(student).message == "too slow: 3 cases took the 20 s that this check has"


# --- time ------------------------------------------------------------------------------------------------------------


def test_a_check_that_begins_after_the_grading_ended_is_not_judged() -> None:
    with pytest.raises(NotJudged, match="out of time: the whole grading has 480 s"):
        Clock(BUDGET, time.monotonic()).start_check()


def test_a_check_during_which_the_grading_ends_is_not_judged() -> None:
    ending = clock()

    def answer(n: int) -> Observation:
        ending.grading_until = time.monotonic()
        return TimedOut(1.0)

    with pytest.raises(NotJudged, match="out of time: the whole grading has 480 s"):
        question(FakeStudent(answer), clock=ending)(PROBE, NUMBERS, exact)


@pytest.mark.parametrize(
    ("observation_s", "check_s", "grading_s", "expected"),
    [(4, 20, 480, 4), (4, 2, 480, 2), (4, 20, 1, 1), (4, 0, 480, 0)],
)
def test_an_answer_may_take_what_is_left_of_each_budget(
    observation_s: float, check_s: float, grading_s: float, expected: float
) -> None:
    made = clock(grading_left_s=grading_s, observation_s=observation_s, check_s=check_s)
    assert made.left_s() == pytest.approx(expected, abs=0.1)


# --- variants --------------------------------------------------------------------------------------------------------

OFF_BY_ONE = variant("misconception", "Where does it begin?")
NEGATIVE = variant("misconception", "Which sign has it?")
ALSO_NEGATIVE = variant("misconception", "Is it below zero?")
LIST = variant("accepted", "A list will do.")


def test_an_accepted_variants_answers_are_right_with_a_note() -> None:
    made = question(FakeStudent(lambda n: Returned([2 * n])), FakeOracle(others={LIST: lambda n: Returned([2 * n])}))
    made(PROBE, NUMBERS, exact)
    assert made.note == "A list will do."


def test_an_accepted_variants_answers_on_some_cases_only_are_wrong() -> None:
    oracle = FakeOracle(others={LIST: lambda n: Returned([2 * n])})
    feedback = told(lambda n: Returned([2 * n]) if n < 900 else Returned(2 * n), oracle)
    assert feedback.note == ""


def test_an_accepted_variant_of_another_check_does_not_count() -> None:
    other = variant("accepted", "A list will do.", number="1.2")
    assert (
        "cases differ"
        in told(lambda n: Returned([2 * n]), FakeOracle(others={other: lambda n: Returned([2 * n])})).message
    )


def test_a_misconception_is_never_right() -> None:
    oracle = FakeOracle(others={OFF_BY_ONE: wrong_from(0)})
    assert told(wrong_from(0), oracle).hint == "Where does it begin?"


def test_the_hint_is_that_of_the_misconception_with_the_same_answers_to_all_cases() -> None:
    others = {NEGATIVE: lambda n: Returned(2 * n + 1 if n < 900 else 0), OFF_BY_ONE: wrong_from(0)}
    assert told(wrong_from(0), FakeOracle(others=others)).hint == "Where does it begin?"  # type: ignore[arg-type]


def test_the_hint_is_that_of_the_only_misconception_with_the_same_answer_to_the_case_shown() -> None:
    student: Answer = lambda n: Returned(-2 * n if n < 900 else 0)  # noqa: E731
    others: dict[Variant, Answer] = {NEGATIVE: lambda n: Returned(-2 * n), OFF_BY_ONE: wrong_from(0)}
    assert told(student, FakeOracle(others=others)).hint == "Which sign has it?"


def test_two_misconceptions_with_the_same_answer_to_the_case_shown_give_no_hint() -> None:
    student: Answer = lambda n: Returned(-2 * n if n < 900 else 0)  # noqa: E731
    negative: Answer = lambda n: Returned(-2 * n)  # noqa: E731
    assert told(student, FakeOracle(others={NEGATIVE: negative, ALSO_NEGATIVE: negative})).hint == ""


def test_an_answer_that_no_misconception_gives_has_no_hint() -> None:
    assert told(wrong_from(0), FakeOracle(others={NEGATIVE: lambda n: Returned(-2 * n)})).hint == ""


def test_a_variant_that_crashes_is_no_ones_answer() -> None:
    assert told(wrong_from(0), FakeOracle(others={NEGATIVE: lambda n: Died("SIGSEGV")})).hint == ""


def test_an_error_that_names_nothing_is_a_variants_answer_too() -> None:
    named = st.integers(0, 9).map(lambda n: Case(f"double({n})", {"n": n}, (str(n),)))
    reference: Answer = lambda n: Raised("ValueError", ("ValueError",), f"{n} is refused")  # noqa: E731
    silent: Answer = lambda n: Raised("ValueError", ("ValueError",), "no")  # noqa: E731
    feedback = told(silent, FakeOracle(reference, {OFF_BY_ONE: silent}), cases=named)
    assert feedback.hint == "Where does it begin?"
    assert feedback.where.startswith("the message: it must name the value that is refused")


# --- the student's worker --------------------------------------------------------------------------------------------


@dataclass
class FakeWorker:
    """Answers what it is told to, then is not alive any more."""

    answers: list[Observation]
    asked: list[tuple[Ask, float]] = field(default_factory=list)
    ended: int = 0

    @property
    def alive(self) -> bool:
        return bool(self.answers)

    def observe(self, ask: Ask, deadline_s: float) -> Observation:
        self.asked.append((ask, deadline_s))
        return self.answers.pop(0)

    def await_ready(self) -> None:
        assert self.answers

    def observe_all(self, asks: Sequence[Ask], deadline_s: Callable[[], float]) -> Iterator[Observation]:
        return (self.observe(ask, deadline_s()) for ask in asks)

    def output(self) -> str:
        return f"output {len(self.asked)}"

    def end(self) -> None:
        self.ended += 1


def a_student(*workers: FakeWorker, **given: Any) -> Student:
    waiting = list(workers)
    find_shortcut = given.pop("find_shortcut", lambda check: None)
    return Student(CHECK, lambda: waiting.pop(0), find_shortcut, clock(**given))  # type: ignore[arg-type,return-value]


CASE = Case("double(1)", {"n": 1})


def test_a_worker_is_told_what_the_exercise_forbids_and_how_long_it_has() -> None:
    worker = FakeWorker([Returned(2)])
    assert a_student(worker).observe(PROBE, CASE) == Returned(2)
    ((ask, deadline_s),) = worker.asked
    assert ask == Ask(PROBE, {"n": 1}, ("torch",))
    assert deadline_s == pytest.approx(4, abs=0.1)


def test_one_worker_answers_all_cases_of_a_check() -> None:
    worker = FakeWorker([Returned(1), Returned(2)])
    student = a_student(worker)
    assert [student.observe(PROBE, CASE), student.observe(PROBE, CASE)] == [Returned(1), Returned(2)]


def test_a_worker_that_gave_no_answer_is_replaced() -> None:
    student = a_student(FakeWorker([Died("SIGSEGV")]), FakeWorker([Returned(2)]))
    assert [student.observe(PROBE, CASE), student.observe(PROBE, CASE)] == [Died("SIGSEGV"), Returned(2)]


def test_no_time_left_is_no_answer() -> None:
    worker = FakeWorker([Returned(1)])
    assert a_student(worker, check_s=0).observe(PROBE, CASE) == TimedOut(0.0)
    assert worker.asked == []


def test_the_output_is_that_of_the_worker_that_was_asked_last() -> None:
    student = a_student(FakeWorker([Returned(1)]))
    assert student.output() == ""
    student.observe(PROBE, CASE)
    assert student.output() == "output 1"


def test_code_that_uses_what_is_forbidden_is_never_run() -> None:
    student = a_student(find_shortcut=lambda check: Use(f"{check.forbids[0]}.empty", "views.py:3 in double"))
    with pytest.raises(Disagreement) as caught:
        student.observe(PROBE, CASE)
    said = "torch.empty may not be used in this exercise; views.py:3 in double uses it"
    assert caught.value.feedback == Feedback(message=said)


def test_a_student_that_is_asked_after_the_grading_ended_is_not_judged() -> None:
    with pytest.raises(NotJudged, match="out of time: the whole grading has 480 s"):
        Student(CHECK, FakeWorker, lambda check: None, Clock(BUDGET, 0.0)).observe(PROBE, CASE)  # type: ignore


def test_a_student_that_was_never_asked_has_nothing_to_end() -> None:
    a_student().end()


def test_a_students_worker_is_ended() -> None:
    worker = FakeWorker([Returned(1)])
    student = a_student(worker)
    student.observe(PROBE, CASE)
    student.end()
    assert worker.ended == 1


# --- what has no right answer, and what is not to be told ------------------------------------------------------------


def test_what_the_student_says_of_themself_is_returned() -> None:
    assert question(FakeStudent(lambda n: Returned(f"student {n}"))).own(PROBE, n=3) == "student 3"


def test_where_it_cannot_be_used_the_errors_text_is_told() -> None:
    with pytest.raises(Disagreement) as caught:
        question(FakeStudent(lambda n: Raised("ValueError", ("ValueError",), "that is nobody"))).own(PROBE, n=3)
    assert caught.value.feedback == Feedback(message="that is nobody")


def test_where_it_is_not_written_that_is_told() -> None:
    stub = Raised("NotImplementedError", ("NotImplementedError",), "1.1 double: who?")
    with pytest.raises(Disagreement) as caught:
        question(FakeStudent(lambda n: stub)).own(PROBE, n=3)
    assert caught.value.feedback.message == "not implemented yet: 1.1 double: who?"


@pytest.mark.parametrize(("kind", "live"), [("live", True), ("recorded", False)])
def test_only_a_live_oracle_answers_any_case(kind: Literal["live", "recorded"], live: bool) -> None:
    assert question(FakeStudent(double), FakeOracle(kind=kind)).live == live


def test_what_is_not_revealed_is_in_no_field_of_the_feedback() -> None:
    student = FakeStudent(lambda n: Returned({"doubled": 5}))
    reference = FakeOracle(lambda n: Returned({"doubled": 123456789}))
    with pytest.raises(Disagreement) as caught:
        question(student, reference)(PROBE, NUMBERS, exact, reveal=False)
    feedback = caught.value.feedback
    assert "123456789" not in str(feedback)
    assert feedback.got == "{'doubled': 5}"
