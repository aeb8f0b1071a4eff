"""Small results for the tests of whoever reads one."""

from __future__ import annotations

from typing import Any

from autograder.result import Check, Feedback, Outcome, Result, Status

SENTENCE = "Reshape gives the new strides where a view can, and None where only a copy could."
QUESTION = "where can a view do, and where must the elements be copied?"
DISAGREEMENT = Feedback(
    code="View(shape=(3, 2), stride=(1, 3), offset=0).reshape((6,))",
    expected="None",
    got="View(shape=(6,), stride=(1,), offset=0)",
    hint="Every view is treated as contiguous. Which neighbouring dims can merge here?",
)


def make_outcome(
    status: Status = "passed",
    number: str = "1.4",
    feedback: Feedback | None = None,
    earned: float | None = None,
    **fields: Any,
) -> Outcome:
    """Return the outcome of a check, reshape unless `fields` of the check say otherwise."""
    values: dict[str, Any] = {"name": "reshape", "sentence": SENTENCE, "points": 3.0, "part": "views"}
    check = Check(number, **(values | fields))
    full = check.points if status == "passed" else 0.0
    return Outcome(check, status, full if earned is None else earned, feedback or Feedback(), seconds=0.25)


def make_result(*outcomes: Outcome, **fields: Any) -> Result:
    """Return a grading that ended, with the recorded oracle unless told otherwise."""
    values: dict[str, Any] = {"seed": 123, "oracle": "recorded", "seconds": 12.34, "complete": True}
    return Result(outcomes, **(values | fields))


def unwritten(number: str = "1.4", name: str = "reshape", question: str = QUESTION, **fields: Any) -> Outcome:
    """Return the outcome of an untouched stub."""
    said = Feedback(message=f"NotImplementedError: {number} {name}: {question}")
    return make_outcome("failed", number, said, name=name, **fields)
