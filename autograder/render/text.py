"""The one layout of a check's feedback, in plain text that cannot harm whoever reads it."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len, chop_cells

from autograder.result import NOT_ASKED_FOR, Outcome, Result, Status

Role = Literal[
    "sentence", "message", "not judged", "our fault", "code", "expected", "got", "where", "trace", "output",
    "hint", "note", "again",
]  # fmt: skip

_GAP = " " * 6  # between two commands on one row
UNJUDGED: tuple[Status, ...] = ("not judged", "our fault")

# A colour or cursor movement of a terminal. What it leaves of ESC, links and titles among it, is escaped.
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # controls, bidi and zero width, lone surrogates, line breaks
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")  # no category tells: shown as nothing
_UNWRITTEN = re.compile(r"(?:NotImplementedError|not implemented yet)[\s:('\"]*(?P<question>[^\n]*?)['\")]*$", re.M)
_MOST_MARKS = 3  # on one letter; more of them climb over the lines above


@dataclass(frozen=True)
class Line:
    """One field of a check's feedback: what it says and where it stands on the page."""

    role: Role  # what a renderer may colour it by
    text: str  # harmless; may hold line breaks
    indent: int = 0  # columns left of the label
    label: str = ""  # stands before the first row; the other rows hang under the text

    def rows(self, width: int) -> list[str]:
        """Return the rows it takes on a page of `width` columns; code is never broken, so that it can be pasted."""
        hang = self.indent + cell_len(self.label)
        text = self.text.expandtabs(4)
        if self.role == "again" and hang + len(text) > width:
            text = text.replace(_GAP, "\n")  # a command on two rows cannot be copied
        rows = text.split("\n")
        if self.role != "code":
            rows = [part for row in rows for part in _wrapped(row, max(width - hang, 20))]
        first = " " * self.indent + self.label + rows[0]
        return [row.rstrip() for row in (first, *(" " * hang + row for row in rows[1:]))]


def harmless(text: str, max_chars: int = 2000, max_lines: int = 40) -> str:
    r"""Return text that only says what it says: nothing in it is obeyed, hidden, turned round or endless.

    Colours go; every other control, invisible or bidirectional character becomes a visible escape; of a text that is
    too long the head and the tail stay. The length is that of the text shown, the notice not counted.

    >>> harmless("\x1b[31mPASSED\x1b[0m \u202e001\x00")
    'PASSED \\u202e001\\x00'
    >>> harmless("0123456789" * 10, max_chars=8)
    '0123 … 92 characters left out … 6789'
    """
    if len(text) > 4 * max_chars:  # cut first: reading 10 MB letter by letter takes seconds
        head, tail = _visible(text[: 2 * max_chars]), _visible(text[-2 * max_chars :])
        left_out = len(text) - 4 * max_chars
    else:
        head = tail = _visible(text)
        left_out = 0
        if len(head) <= max_chars and head.count("\n") < max_lines:
            return head
    first, last = _first(head, max_chars // 2, max_lines // 2), _last(tail, max_chars // 2, max_lines // 2)
    left_out += len(head) - len(first) - len(last) + (len(tail) if left_out else 0)
    gap = "\n" if "\n" in head else " "
    return f"{first.rstrip()}{gap}… {left_out:,} characters left out …{gap}{last.lstrip(gap)}"


def feedback_lines(outcome: Outcome) -> list[Line]:
    """Return what a student is told about one check, from its sentence to the command that repeats it."""
    feedback = outcome.feedback
    lines = (
        Line("sentence", harmless(outcome.check.sentence), 2),
        _message(outcome),
        Line("code", harmless(feedback.code, 4000), 4),
        Line("expected", harmless(feedback.expected, 1500, 20), 4, "expected  "),
        Line("got", harmless(feedback.got, 1500, 20), 4, "got       "),
        Line("where", harmless(feedback.where, 500, 10), 4, "where     "),
        Line("trace", harmless("\n".join(feedback.trace), 2000, 20), 4, "trace     "),
        Line("output", harmless(feedback.output.rstrip("\r\n"), 2000, 20), 4, "printed   "),
        Line("hint", harmless(feedback.hint), 2, "hint  "),
        Line("note", harmless(feedback.note), 2, "note  "),
        Line("again", "" if outcome.status == "passed" else again(outcome), 2, "again "),
    )
    return [line for line in lines if line.text.strip()]


def again(outcome: Outcome) -> str:
    """Return the commands that repeat one check alone."""
    number = harmless(outcome.check.number)
    return f"make grade ONLY={number}{_GAP}step through it: make debug ONLY={number}"


def plain(lines: Iterable[Line], width: int = 100) -> str:
    """Return lines as one text, for a reader that takes nothing but text."""
    return "\n".join(row for line in lines for row in line.rows(width))


def title(outcome: Outcome) -> str:
    """Return the number and name of a check on one row."""
    return harmless(f"{outcome.check.number} {outcome.check.name}", 80, 1)


def reason(outcome: Outcome) -> str:
    """Return in one row why a check was not judged."""
    return harmless(" ".join(outcome.feedback.message.split()), 200).rstrip(".") or "no reason was given"


def points(number: float) -> str:
    """Return a number of points without needless digits.

    >>> points(3.0), points(4 / 3)
    ('3', '1.33')
    """
    return f"{round(number, 2):g}"


def count(number: int, noun: str) -> str:
    """Return a number of things.

    >>> count(1, "check"), count(57, "check")
    ('1 check', '57 checks')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def stub_question(outcome: Outcome) -> str | None:
    """Return what an untouched stub asks, without the number and name that it begins with."""
    said = f"{outcome.feedback.message[:1000]}\n{outcome.feedback.got[:1000]}"
    found = _UNWRITTEN.search(said)
    if outcome.status != "failed" or not found:
        return None
    return harmless(re.sub(r"^[A-Z\d]+\.\w+ [^:]{1,60}: ", "", found["question"]), 300, 1)


def alike(outcomes: Iterable[Outcome], many: int) -> list[list[Outcome]]:
    """Return the groups of more than `many` checks that failed alike, and of any two not judged for one reason."""
    groups: dict[object, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        said = outcome.feedback
        cause = "unwritten" if stub_question(outcome) is not None else (said.message, said.code, said.got, said.trace)
        if outcome.status != "passed":
            groups[outcome.status, cause].append(outcome)
    return [group for group in groups.values() if len(group) > (1 if group[0].status == "not judged" else many)]


def asked_for(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return the outcomes of the checks that were to run: all, or those that ONLY= named."""
    return [o for o in outcomes if (o.status, o.feedback.message) != ("not judged", NOT_ASKED_FOR)]


def total(result: Result) -> str:
    """Return the line that sums a grading up, of what was asked for."""
    asked = asked_for(result.outcomes)
    score = f"{points(sum(o.points for o in asked))} / {points(sum(o.check.points for o in asked))}"
    if len(asked) == len(result.outcomes):
        return f"total {score}"
    if not asked:
        return f"no check was asked for; make grade runs all {len(result.outcomes)}"
    numbers = ", ".join(o.check.number for o in asked) if len(asked) <= 5 else count(len(asked), "check")
    these = "this check was" if len(asked) == 1 else f"these {len(asked)} checks were"
    return f"{numbers}: {score}   (only {these} asked for; make grade runs all {len(result.outcomes)})"


def judged(outcomes: Sequence[Outcome]) -> str:
    """Return the line that says which points of a total nobody judged."""
    judged_ones = [o for o in outcomes if o.status not in UNJUDGED]
    others = [o for o in outcomes if o.status in UNJUDGED]
    score = f"{points(sum(o.points for o in judged_ones))} / {points(sum(o.check.points for o in judged_ones))}"
    numbers = ", ".join(harmless(o.check.number) for o in others)
    return f"{score} of what was judged; {points(sum(o.check.points for o in others))} points were not: {numbers}"


def _message(outcome: Outcome) -> Line:
    if outcome.status == "not judged":
        return Line("not judged", f"NOT JUDGED: {reason(outcome)}. This is no verdict on your code.", 2)
    said = harmless(outcome.feedback.message, 2000, 20)
    if outcome.status == "our fault":
        sorry = "OUR FAULT, not yours: the grader broke down on this check. We are sorry. "
        lost = "Its points are not lost: please tell the staff, who will mend it and grade it again."
        return Line("our fault", f"{sorry}{lost}" + (f"\nWhat broke: {said}" if said else ""), 2)
    return Line("message", said, 2)


def _visible(text: str) -> str:
    """Return text with everything that is not seen as itself written out."""
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    letters = set(text) - {"\n", "\t"}  # few, so that a long text costs no more than a look-up for each place
    unseen = {char for char in letters if unicodedata.category(char) in _UNSEEN} | (letters & _BLANK_LETTERS)
    if unseen:
        text = text.translate({ord(char): _escape(char) for char in unseen})
    marks = "".join(char for char in letters - unseen if unicodedata.category(char) in {"Mn", "Me"})
    if not marks:
        return text
    heap = re.compile(f"([{marks}]{{{_MOST_MARKS}}})([{marks}]+)")  # no mark means anything to a regular expression
    return heap.sub(lambda found: found[1] + _escape(found[2]), text)


def _escape(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")


def _first(text: str, max_chars: int, max_lines: int) -> str:
    return "\n".join(text[:max_chars].split("\n")[: max(max_lines, 1)]) if max_chars else ""


def _last(text: str, max_chars: int, max_lines: int) -> str:
    return "\n".join(text[-max_chars:].split("\n")[-max(max_lines, 1) :]) if max_chars else ""


def _wrapped(row: str, width: int) -> Iterator[str]:
    """Yield a row in parts of at most `width` columns, broken between words where there are any."""
    line = ""
    for word in re.findall(r" *[^ ]+", row):
        if cell_len(line + word) <= width:
            line += word
            continue
        if line:
            yield line
        *full, line = chop_cells(word.lstrip() if line else word, width)
        yield from full
    yield line
