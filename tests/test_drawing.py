from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.internal.conjecture.providers import HypothesisProvider

from autograder.drawing import Independent, draw
from autograder.judge import Case


def numbers(size: int) -> st.SearchStrategy[Case]:
    return st.builds(lambda number: Case(str(number), {"number": number}), st.integers(0, size - 1))


def drawn(seed: int, count: int = 400, size: int = 8) -> list[str]:
    cases: list[Case] = []
    draw(numbers(size), count, seed, cases.append)
    return [case.code for case in cases]


def test_the_same_seed_draws_the_same_cases() -> None:
    assert drawn(1) == drawn(1) != drawn(2)


def test_the_plainest_case_comes_first() -> None:
    assert drawn(1)[0] == "0"


def test_each_case_is_as_likely_as_any_other() -> None:
    # 400 draws of 8: each count is 50 +- 6.6; one of 8 strays by five of these in 1 of 200,000 seeds, and 1 is fixed.
    counts = [drawn(1).count(str(number)) for number in range(8)]
    assert all(abs(count - 50) < 33 for count in counts), counts


def test_the_smallest_case_that_fails_is_found() -> None:
    failed: list[str] = []

    def each(case: Case) -> None:
        if int(case.code) >= 300:
            failed.append(case.code)
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011  it is ours
        draw(numbers(1000), 100, 1, each, shrink=True)
    assert failed[-1] == "300"


def test_hypothesis_still_has_the_method_that_is_overridden() -> None:
    assert callable(HypothesisProvider._maybe_draw_constant)
    assert "_maybe_draw_constant" in vars(Independent)
