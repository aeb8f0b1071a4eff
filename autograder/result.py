"""What a grading found: one frozen record, and the only thing that renderers see."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

NOT_ASKED_FOR = "not asked for"  # the message of a check that --only left out
Status = Literal["passed", "partial", "failed", "not judged", "our fault"]


@dataclass(frozen=True)
class Check:
    """One line of the manifest: what a check is worth and asks, whether or not it ever runs."""

    number: str  # sorts and names it: "1.4", or "1.5b" where an exercise has several checks
    name: str  # what is asked for: "reshape"
    sentence: str  # what must hold, written to the student
    points: float
    part: str  # the student's module, the probes' module and the checks' module: "views"
    visibility: str = "visible"  # Gradescope's words: hidden, after_due_date, after_published, visible
    tags: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()  # dotted names that may not be used here, such as "torch" or "torch.diagonal"
    within: tuple[str, ...] = ()  # the student's functions that are read for them: "View.reshape"

    @property
    def exercise(self) -> str:
        """The number without the letter of the check: 1.5 for 1.5b."""
        return self.number.rstrip("abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True)
class Feedback:
    """What a student is told about one check; every field is plain text and may be empty."""

    message: str = ""  # one sentence, where there is no comparison to show or besides it
    code: str = ""  # the case as Python that can be pasted
    expected: str = ""
    got: str = ""
    where: str = ""  # where expected and got first differ
    trace: tuple[str, ...] = ()  # the student's own frames, outermost first
    output: str = ""  # what the student's code printed, head and tail
    hint: str = ""  # the question of the misconception that sees the same
    note: str = ""  # of an accepted variant, or of a doubt
    ask: str = ""  # the case's question as a frame of the wire, in hex, for a debugger


@dataclass(frozen=True)
class Outcome:
    """One check after (or without) a run."""

    check: Check
    status: Status
    points: float = 0.0
    feedback: Feedback = Feedback()
    seconds: float = 0.0


@dataclass(frozen=True)
class Result:
    """A whole grading. The manifest's checks are all here, in order, whatever happened."""

    outcomes: tuple[Outcome, ...]
    seed: int
    oracle: Literal["live", "recorded"]
    notes: tuple[str, ...] = ()  # about the submission as a whole, written to the student
    staff_notes: tuple[str, ...] = ()  # about the grading: which protections held, what was slow
    versions: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    complete: bool = False  # False in every file written before the last check ended

    @property
    def points(self) -> float:
        """Points earned."""
        return sum(outcome.points for outcome in self.outcomes)

    @property
    def max_points(self) -> float:
        """Points of every check in the manifest, judged or not."""
        return sum(outcome.check.points for outcome in self.outcomes)

    @property
    def our_fault(self) -> bool:
        """Whether the grader, not the submission, kept a check from being judged."""
        return any(outcome.status == "our fault" for outcome in self.outcomes)

    def with_outcome(self, outcome: Outcome) -> Result:
        """Return this result with one check's outcome in the place of the earlier one."""
        number = outcome.check.number
        return replace(self, outcomes=tuple(outcome if o.check.number == number else o for o in self.outcomes))

    def to_json(self) -> str:
        """Return the record as JSON, the form in which `result.json` keeps it."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=True) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Result:
        """Return the record that `to_json` wrote."""
        raw: dict[str, Any] = json.loads(text)
        raw["outcomes"] = tuple(_outcome(o) for o in raw["outcomes"])
        return cls(**_with_tuples(raw))


def _outcome(raw: dict[str, Any]) -> Outcome:
    check, feedback = _with_tuples(raw.pop("check")), _with_tuples(raw.pop("feedback"))
    return Outcome(check=Check(**check), feedback=Feedback(**feedback), **raw)


def _with_tuples(raw: dict[str, Any]) -> dict[str, Any]:
    """Return a record's fields with the tuples that JSON made lists of."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
