"""Draws cases with Hypothesis: each independently of the others, and the same ones for the same seed."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as with_seed
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.strategies import SearchStrategy

from autograder.judge import Case


class Independent(HypothesisProvider):
    """Hypothesis' own draws, without what makes them depend on each other or on other modules.

    To find a bug, Hypothesis varies what it has drawn and uses constants of the code around. A grading wants to know
    how likely it is to meet a mistake, which takes independent draws, and the same cases whatever has been imported.
    """

    def _maybe_draw_constant(self, *args: object, **kwargs: object) -> None:
        return None


AVAILABLE_PROVIDERS["independent"] = f"{__name__}.{Independent.__name__}"


def draw(
    cases: SearchStrategy[Case], count: int, seed: int, each: Callable[[Case], None], shrink: bool = False
) -> None:
    """Call `each` with so many cases.

    Args:
        shrink: at the first exception look for the smallest case that raises it, and raise that.
    """

    @with_seed(seed)
    @settings(
        backend="independent", max_examples=count, database=None, deadline=None, report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        suppress_health_check=list(HealthCheck), print_blob=False,
    )  # fmt: skip
    @given(cases)
    def ask(case: Case) -> None:
        each(case)

    ask()
