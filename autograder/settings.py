"""The course's policy, from assignment.toml."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.fault import OurFault
from autograder.sandbox.job import MIB, Limits

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
POLICY = HERE / "assignment.toml"


class SettingsError(OurFault):
    """The policy does not say what it must."""


@dataclass(frozen=True)
class Budget:
    """Seconds on the grader's clock."""

    observation_s: float  # one call of the student's code
    check_s: float  # all calls of one check
    shrink_s: float  # of these, looking for the smallest failing case
    grading_s: float  # everything


@dataclass(frozen=True)
class Settings:
    """What a course may set without touching code."""

    title: str
    package: str
    notebook: str
    budget: Budget
    fresh_cases: int
    limits: Limits
    checks: Path = HERE / "checks"  # folder of the check modules


def read_settings(path: Path = POLICY) -> Settings:
    """Return the settings of a policy file.

    Raises: SettingsError if it is no TOML, or a line is missing or unknown.
    """
    try:
        return _settings(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise SettingsError(f"{path.name}: {type(error).__name__}: {error}") from error


def _settings(raw: dict[str, Any]) -> Settings:
    limits = raw["limits"]
    return Settings(
        title=raw["assignment"]["title"],
        package=raw["assignment"]["package"],
        notebook=raw["assignment"]["notebook"],
        budget=Budget(**raw["budget"]),
        fresh_cases=raw["cases"]["fresh"],
        limits=Limits(
            memory_bytes=limits["memory_mb"] * MIB,
            cpu_s=limits["cpu_s"],
            output_bytes=limits["output_mb"] * MIB,
        ),
    )
