"""What a grading looks like in a terminal, while it runs and when it has ended."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TextIO

from rich import progress
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.render.text import (
    UNJUDGED,
    Line,
    again,
    alike,
    asked_for,
    count,
    feedback_lines,
    harmless,
    judged,
    points,
    reason,
    stub_question,
    title,
    total,
)
from autograder.result import Check, Outcome, Result, Status

PAGE = 100  # columns: what a reader's eye can follow, and the width where there is no terminal
MANY = 8  # checks that fail alike; more are told once, or the page could not be read

_MARKS: dict[Status, str] = {"passed": "✓", "partial": "~", "failed": "✗", "not judged": "?", "our fault": "!"}
_STYLES = {
    "passed": "green",
    "partial": "yellow",
    "failed": "red",
    "not judged": "cyan",
    "our fault": "magenta",
    "code": "bold",
    "expected": "green",
    "got": "red",
    "trace": "dim",
    "output": "dim",
    "hint": "yellow",
    "again": "dim",
}


def open_console(file: TextIO) -> Console:
    """Return a console on a terminal, or one that writes plain text of `PAGE` columns to a file or a pipe."""
    if isinstance(file, io.TextIOWrapper):
        file.reconfigure(errors="backslashreplace")  # an old Windows code page has no ✓: a crash instead of a report
    if file.isatty():
        return Console(file=file, highlight=False)
    return Console(file=file, width=PAGE, force_terminal=False, color_system=None, highlight=False)


class Progress:
    """Shows which check runs now on a terminal; in a log, leaves one line per check, so that a hang has a place."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._waiting: dict[str, Check] = {}
        self._total = 0
        self._bar = progress.Progress(
            progress.BarColumn(30),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
            redirect_stdout=False,  # the streams belong to pytest while checks run
            redirect_stderr=False,
            disable=not console.is_terminal or console.is_dumb_terminal,
        )

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._bar.disable:  # rich 13 leaves an empty line otherwise
            self._bar.stop()

    def start(self, checks: Sequence[Check]) -> None:
        """Begin, with the checks that are going to run, in order."""
        self._waiting = {check.number: check for check in checks}
        self._total = len(checks)
        if not self._bar.disable:
            self._bar.start()
        self._bar.add_task(self._next(), total=len(checks))

    def outcome(self, outcome: Outcome) -> None:
        """Count one check as done."""
        if self._waiting.pop(outcome.check.number, None) is None:
            return
        done = self._total - len(self._waiting)
        if self._bar.disable:
            row = f"[{done}/{self._total}] {title(outcome)}: {outcome.status} ({outcome.seconds:.1f} s)"
            self._console.print(Text(row), soft_wrap=True)
        else:
            self._bar.update(self._bar.task_ids[0], completed=done, description=self._next())

    def _next(self) -> str:
        check = next(iter(self._waiting.values()), None)
        return harmless(f"{check.number} {check.name}", 80, 1) if check else ""


def render_terminal(result: Result, console: Console) -> None:
    """Print a grading: the table, what to do about each check that isn't right, and the total last."""
    asked = asked_for(result.outcomes)
    width = min(console.width, PAGE)
    ending = "" if result.complete else ", not ended: what is missing was not judged"
    console.print(Text(f"{count(len(asked), 'check')} in {result.seconds:.1f} s{ending}", "bold"))
    blocks = (*_alike(asked, width), *_singly(asked, width), *_notes(result, width), _footer(result, asked, width))
    for block in (_table(asked, console, width), *blocks):
        console.print()
        for row in block:
            console.print(row, soft_wrap=True)


def _table(outcomes: list[Outcome], console: Console, width: int) -> list[Text]:
    """Return one line per check under its part, and each part's points."""
    parts: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        parts[outcome.check.part].append(outcome)
    sums = [*parts.values(), *([outcome] for outcome in outcomes)]
    have, most = (max((len(text(those)) for those in sums), default=1) for text in (_have, _most))
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for index, (part, those) in enumerate(parts.items()):
        if index:
            table.add_row()
        table.add_row(
            "", Text(harmless(part, 80, 1), "bold"), Text(f"{_have(those):>{have}} / {_most(those):<{most}}", "bold")
        )
        for outcome in those:
            number, name = harmless(outcome.check.number), harmless(outcome.check.name, 80, 1)
            score = f"{_have([outcome]):>{have}} / {_most([outcome]):<{most}}"
            table.add_row(Text(number), Text(name), Text(score), _status(outcome, console))
    lines = console.render_lines(table, console.options.update(width=width), pad=False)
    rows = [Text.assemble(*((part.text, part.style or "") for part in line)) for line in lines]
    for row in rows:
        row.rstrip()  # rich fills every column with blanks
    return rows


def _have(outcomes: list[Outcome]) -> str:
    """Return the points earned; a dash where nothing was judged, which is not the same as zero."""
    have = sum(outcome.points for outcome in outcomes)
    return "-" if not have and all(outcome.status in UNJUDGED for outcome in outcomes) else points(have)


def _most(outcomes: list[Outcome]) -> str:
    return points(sum(outcome.check.points for outcome in outcomes))


def _status(outcome: Outcome, console: Console) -> Text:
    mark = _MARKS[outcome.status]
    if not console.encoding.startswith("utf"):
        mark = {"✓": "+", "✗": "x"}.get(mark, mark)
    word = "" if outcome.status == "passed" else f" {outcome.status}"
    why = f": {reason(outcome)}" if outcome.status == "not judged" else ""
    return Text(f"{mark}{word}{why}", _STYLES[outcome.status])


def _heading(outcome: Outcome, width: int) -> Text:
    score = f"{_have([outcome])} / {_most([outcome])}"
    name = title(outcome)
    gap = max(width - cell_len(name) - len(score), 2)
    return Text(name + " " * gap + score, f"bold {_STYLES[outcome.status]}")


def _rows(line: Line, width: int) -> Iterator[Text]:
    label_end = line.indent + len(line.label)
    for index, row in enumerate(line.rows(width)):
        text = Text(row, _STYLES.get(line.role, ""))
        if index == 0 and line.label:
            text.stylize("bold", line.indent, label_end)
        yield text


def _alike(outcomes: list[Outcome], width: int) -> Iterator[list[Text]]:
    """Yield a block for each trouble that many checks share, told once."""
    for group in alike(outcomes, MANY):
        first = group[0]
        style = f"bold {_STYLES[first.status]}"
        if stub_question(first) is not None:
            block = [Text(f"{len(group)} checks meet code that is not written yet:", style)]
            for outcome in group:
                asks = Line("message", f"not implemented yet: {stub_question(outcome)}", 2)
                block += [_heading(outcome, width), *_rows(asks, width)]
        else:
            names = ", ".join(title(outcome).replace(" ", "\u00a0") for outcome in group)
            told = [line for line in feedback_lines(first) if line.role not in ("sentence", "again")]
            block = [Text(f"{len(group)} checks, one cause:", style)]
            block += [row for line in (*told, Line("message", names, 2)) for row in _rows(line, width)]
        if first.status != "not judged":  # else there is nothing to mend and try again
            block += _rows(Line("again", again(first), 2, "again "), width)
        yield block


def _singly(outcomes: list[Outcome], width: int) -> Iterator[list[Text]]:
    """Yield a block for each check with a trouble, or a note, of its own."""
    told = {outcome.check.number for group in alike(outcomes, MANY) for outcome in group}
    for outcome in outcomes:
        if outcome.status == "passed":
            lines = [line for line in feedback_lines(outcome) if line.role == "note"]
        else:
            lines = [] if outcome.check.number in told else feedback_lines(outcome)
        if lines:
            yield [_heading(outcome, width), *(row for line in lines for row in _rows(line, width))]


def _notes(result: Result, width: int) -> Iterator[list[Text]]:
    staff = result.staff_notes if result.our_fault else ()
    for heading, notes in (("About your submission", result.notes), ("For the staff", staff)):
        lines = [Line("note", harmless(note, 500, 5), 2, "- ") for note in notes]
        if lines:
            yield [Text(heading, "bold"), *(row for line in lines for row in _rows(line, width))]


def _footer(result: Result, asked: list[Outcome], width: int) -> list[Text]:
    """Return the last lines, which are the first that anyone reads."""
    said: list[tuple[str, str]] = []
    if any(o.status in UNJUDGED for o in asked):
        said.append(("not judged", judged(asked)))
    if result.our_fault:
        said.append(
            ("our fault", "The grader broke down, which is our fault, not yours: please send this page to the staff.")
        )
    if result.oracle == "recorded":
        said.append(("", "Compared with recorded answers to stored cases; what you hand in is also asked fresh cases."))
    said.append(("again", f"seed {result.seed} repeats this grading: make grade SEED={result.seed}"))
    style = "bold green" if asked and all(o.status == "passed" for o in asked) else "bold"
    rows = (Text(row, _STYLES.get(role, "")) for role, text in said for row in Line("message", text).rows(width))
    return [Text(total(result), style), *rows]
