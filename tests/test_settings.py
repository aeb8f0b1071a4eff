"""Whether the policy file says what the grader does."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.sandbox.job import MIB, Limits
from autograder.settings import HERE, POLICY, Budget, Settings, SettingsError, read_settings

POLICY_TEXT = """
[assignment]
title = "Napkin"
package = "napkin"
notebook = "math.ipynb"
[budget]
observation_s = 4
check_s = 20.5
shrink_s = 3
grading_s = 480
[cases]
fresh = 100
[limits]
memory_mb = 512
cpu_s = 60
output_mb = 16
"""
GRADESCOPE_S = 600  # after which a grading that is not over shows the student nothing


def read(folder: Path, text: str) -> Settings:
    (folder / "assignment.toml").write_text(text, encoding="utf-8")
    return read_settings(folder / "assignment.toml")


def test_a_policy_is_read_in_the_graders_units(tmp_path: Path) -> None:
    assert read(tmp_path, POLICY_TEXT) == Settings(
        title="Napkin",
        package="napkin",
        notebook="math.ipynb",
        budget=Budget(observation_s=4, check_s=20.5, shrink_s=3, grading_s=480),
        fresh_cases=100,
        limits=Limits(memory_bytes=512 * MIB, cpu_s=60, output_bytes=16 * MIB),
        checks=HERE / "checks",
    )


@pytest.mark.parametrize("line", [line for line in POLICY_TEXT.split("\n") if "=" in line])
def test_a_policy_without_one_of_its_lines_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(SettingsError, match=line.partition(" ")[0]):
        read(tmp_path, POLICY_TEXT.replace(line, ""))


def test_a_budget_that_nobody_keeps_to_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="lunch_s"):
        read(tmp_path, POLICY_TEXT.replace("[budget]", "[budget]\nlunch_s = 3600"))


def test_the_courses_budgets_hold_each_other() -> None:
    budget = read_settings().budget
    assert 0 < budget.observation_s < budget.check_s < budget.grading_s
    assert budget.shrink_s < budget.check_s


def test_the_courses_grading_ends_before_gradescope_ends_it() -> None:
    budget = read_settings().budget
    assert budget.grading_s + budget.check_s + 60 < GRADESCOPE_S


def test_the_courses_policy_and_checks_are_there() -> None:
    assert POLICY.is_file()
    assert list(read_settings().checks.glob("test_*.py"))
