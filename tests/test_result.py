"""Whether a result keeps all that was found, and all checks' points, whatever became of them."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autograder.result import Check, Feedback, Outcome, Result, Status
from tests.factories import DISAGREEMENT, make_outcome, make_result

texts = st.text(max_size=20)
tuples = st.lists(texts, max_size=3).map(tuple)
amounts = st.floats(0, 100) | st.integers(0, 100)
checks = st.builds(Check, texts, texts, texts, amounts, texts, texts, tuples, tuples, tuples)
feedbacks = st.builds(Feedback, texts, texts, texts, texts, texts, texts, tuples, texts, texts, texts)
outcomes = st.builds(Outcome, checks, st.sampled_from(get_args(Status)), amounts, feedbacks, amounts)
results = st.builds(
    Result,
    st.lists(outcomes, max_size=4).map(tuple),
    st.integers(0, 2**64),
    st.sampled_from(["live", "recorded"]),
    tuples,
    tuples,
    st.dictionaries(texts, texts, max_size=3),
    amounts,
    st.booleans(),
)


@given(results)
@example(make_result())
@example(
    make_result(make_outcome("failed", feedback=replace(DISAGREEMENT, output="\ud800\0\u2028", trace=("views.py:3",))))
)
def test_a_result_comes_back_from_json(result: Result) -> None:
    assert Result.from_json(result.to_json()) == result


def test_json_is_plain_ascii() -> None:
    text = make_result(notes=("é\u202e\ud800",)).to_json()
    assert text.isascii()
    assert text.endswith("\n")


@pytest.mark.parametrize("status", ["failed", "not judged", "our fault"])
def test_a_check_that_earned_nothing_keeps_its_points_in_the_total(status: Status) -> None:
    result = make_result(make_outcome("passed", "1.1", points=2), make_outcome(status, "1.2", points=3))
    assert (result.points, result.max_points) == (2, 5)


def test_partial_points_are_counted() -> None:
    result = make_result(make_outcome("partial", "1.1", points=3, earned=1.5), make_outcome("passed", "1.2", points=1))
    assert (result.points, result.max_points) == (2.5, 4)


def test_a_result_without_checks_is_worth_nothing() -> None:
    assert (make_result().points, make_result().max_points) == (0, 0)


@pytest.mark.parametrize("status", get_args(Status))
def test_a_result_is_our_fault_if_any_check_is(status: Status) -> None:
    result = make_result(make_outcome("passed", "1.1"), make_outcome(status, "1.2"))
    assert result.our_fault == (status == "our fault")


def test_an_outcome_takes_the_place_of_the_earlier_one_of_its_check() -> None:
    first, second, third = (make_outcome("not judged", number) for number in ("1.1", "1.2", "1.3"))
    passed = make_outcome("passed", "1.2")
    before = make_result(first, second, third)
    assert before.with_outcome(passed) == make_result(first, passed, third)
    assert before.outcomes == (first, second, third)


def test_an_outcome_of_a_check_that_is_not_in_the_manifest_changes_nothing() -> None:
    result = make_result(make_outcome("passed", "1.1"))
    assert result.with_outcome(make_outcome("failed", "9.9")) == result
