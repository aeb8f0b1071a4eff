"""Makes what students get from what the staff has: stubs from the reference, and recorded answers."""

from __future__ import annotations

import ast
import io
import os
import re
import tokenize
import traceback
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations, repeat
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis.strategies import SearchStrategy

from autograder.catalogue import Variant, read_checks
from autograder.drawing import draw
from autograder.fault import OurFault
from autograder.files import write_aside
from autograder.grade import run_pytest
from autograder.judge import Case, Closeness, compare
from autograder.oracle import Entry, Live, write_recorded
from autograder.plugin import check_id, item_id
from autograder.result import Check
from autograder.sandbox.host import Sandbox
from autograder.settings import Settings
from autograder.wire import Observation, Raised, Value

MARKER = re.compile(r"# exercise (?P<number>[0-9.]+): (?P<question>.+)")
ALMOST = re.compile(r"#\s*exercise\b", re.IGNORECASE)  # what may be meant as a marker
POINTS = ("<!-- points: made by make handout -->\n", "<!-- end of points -->")
POOL = 200  # cases drawn per question, from which the recorded ones are chosen
KEPT = 24  # cases kept per question beside those that tell solutions apart
RECORD_SEED = 2  # any number: it makes the file the same each time


class HandoutError(OurFault):
    """The solutions cannot be made into a handout."""


class _Differs(Exception):
    """Tells Hypothesis that a case tells two solutions apart."""


def write_handout(solutions: Path, handout: Path, policy: Settings) -> list[Path]:
    """Write the stubs, the table of points and the recorded answers; return what was written."""
    written = []
    for source in sorted((solutions / policy.package).glob("**/*.py")):
        target = handout / source.relative_to(solutions)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_aside(target, cut_answers(source.read_text(encoding="utf-8"), source.name))
        written.append(target)
    readme, recorded = handout / "README.md", handout / "recorded.bin"
    checks = read_checks(policy.checks)
    write_aside(readme, with_points(readme.read_text(encoding="utf-8"), checks))
    write_aside(recorded, record(solutions, checks, policy))
    return [*written, readme, recorded]


def cut_answers(source: str, name: str) -> str:
    """Return a module of the reference with its answers cut out, each to the end of its function.

    Raises: HandoutError where a marker's hole would be ambiguous or would leak.
    """
    lines = source.split("\n")  # as ast counts them; splitlines() knows more line ends
    functions = dict(_functions(ast.parse(source)))
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    markers = [token for token in tokens if token.type == tokenize.COMMENT and ALMOST.match(token.string)]
    cut: set[str] = set()
    for token in reversed(markers):  # from the end, so that line numbers hold
        line, column = token.start
        where = f"{name}:{line}"
        if (marker := MARKER.fullmatch(token.string)) is None:
            raise HandoutError(f"{where}: {token.string!r} is no marker; `# exercise 1.1: a question?` is")
        symbol, node = _enclosing(functions, line, where)
        if symbol in cut:
            raise HandoutError(f"{where}: {symbol} has a second marker, which would stand in the hole of the first")
        cut.add(symbol)
        if column != node.body[0].col_offset or any(s.lineno < line <= (s.end_lineno or 0) for s in node.body):
            raise HandoutError(f"{where}: a marker stands between two statements of its function, not inside one")
        _refuse_late_comment(tokens, node, where)
        said = f"{marker['number']} {symbol}: {marker['question']}"
        lines[line : node.end_lineno] = [f"{' ' * column}raise NotImplementedError({_quoted(said)})"]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Return a string literal in the formatter's style."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _functions(tree: ast.Module) -> Iterable[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from (
                (f"{node.name}.{inner.name}", inner) for inner in node.body if isinstance(inner, ast.FunctionDef)
            )


def _enclosing(functions: dict[str, ast.FunctionDef], line: int, where: str) -> tuple[str, ast.FunctionDef]:
    for symbol, node in functions.items():
        if node.lineno < line <= (node.end_lineno or 0):
            return symbol, node
    raise HandoutError(f"{where}: a marker stands in a function or a method of a class, and before its answer")


def _refuse_late_comment(tokens: Sequence[tokenize.TokenInfo], node: ast.FunctionDef, where: str) -> None:
    """A comment below the last statement is no part of the function's node, and would stay in the handout."""
    for token in tokens:
        if token.start[0] <= (node.end_lineno or 0) or token.type in (tokenize.NL, tokenize.NEWLINE, tokenize.DEDENT):
            continue
        if token.type != tokenize.COMMENT:
            return
        if token.start[1] > node.col_offset:
            raise HandoutError(f"{where}: the comment in line {token.start[0]}, below the answer, would leak")


def with_points(readme: str, checks: Sequence[Check]) -> str:
    """Return the students' page with its table of points as the checks have it.

    Raises: HandoutError if the page has no place for it.
    """
    start, end = (readme.find(mark) for mark in POINTS)
    if start < 0 or end < start:
        raise HandoutError(f"README.md needs the lines {POINTS[0].strip()} and {POINTS[1]} around its table of points")
    rows = [
        f"| {c.number} | `{c.name}` | {c.points:g} | {c.sentence} | {', '.join(f'`{n}`' for n in c.forbids) or '–'} |\n"
        for c in checks
    ]
    total = f"| | | **{sum(c.points for c in checks):g}** | | |\n"
    head = "| check | | points | what must hold | may not be used |\n|---|---|---|---|---|\n"
    return readme[: start + len(POINTS[0])] + head + "".join(rows) + total + readme[end:]


def record(solutions: Path, checks: Sequence[Check], policy: Settings) -> bytes:
    """Return the recorded answers of the reference and all variants; the parts are recorded side by side.

    Raises: HandoutError when a check fails to say its questions.
    """
    variants: list[Variant] = []
    entries: list[Entry] = []
    parts = [[check for check in checks if check.part == part] for part in dict.fromkeys(c.part for c in checks)]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        for known, recorded in pool.map(record_part, repeat(solutions), parts, repeat(policy)):
            first = len(variants)
            variants += known
            for entry in recorded:
                answers = {str(first + int(place)): seen for place, seen in entry.variants.items()}
                entries.append(replace(entry, variants=answers))
    return write_recorded(variants, entries)


def record_part(solutions: Path, checks: Sequence[Check], policy: Settings) -> tuple[list[Variant], list[Entry]]:
    """Return the variants of one part's checks, and their recorded cases with all answers.

    Raises: HandoutError when a check fails to say its questions.
    """
    (part,) = {check.part for check in checks}
    with Sandbox([part], policy.limits) as sandbox:
        oracle = Live(sandbox, solutions.resolve(), {part}, policy.package, policy.budget.check_s)
        recorder = _Recorder({check_id(check): check for check in checks}, oracle)
        run_pytest(recorder, [part], policy)
        if recorder.faults or recorder.asked != {check.number for check in checks}:
            raise HandoutError("\n".join(recorder.faults) or "a check asks nothing that can be recorded")
        return recorder.variants, recorder.entries


@dataclass
class _Recorder:
    """Stands in for a grading: hands each check an `agree` that records its question."""

    checks: dict[str, Check]
    oracle: Live
    entries: list[Entry] = field(default_factory=list)
    variants: list[Variant] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    @pytest.fixture
    def agree(self, request: pytest.FixtureRequest) -> _Recording:
        """Return what records the questions of one check."""
        check = self.checks[item_id(request.node)]
        first = len(self.variants)
        known = self.oracle.variants(check)
        if check.number not in self.asked:
            self.variants += known
            self.asked.add(check.number)
        return _Recording(self, check, {str(first + i): variant for i, variant in enumerate(known)})

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Keep what a check raised."""
        if call.excinfo is not None:
            self.faults.append(f"{item.name}: {''.join(traceback.format_exception(call.excinfo.value, limit=-3))}")
        return (yield)


@dataclass
class _Recording:
    recorder: _Recorder
    check: Check
    variants: dict[str, Variant]  # by their place in the file

    live = False

    def own(self, probe: str, **args: Value) -> Value:
        """Nobody is asked: what follows from it cannot be recorded."""

    def __call__(
        self, probe: str, cases: SearchStrategy[Case], closeness: Closeness, times: int = 1, reveal: bool = True
    ) -> None:
        drawn: list[Case] = []
        draw(cases, times * POOL, RECORD_SEED, drawn.append)
        known = self.variants.values()
        least = [case for v in known if (case := self._least(probe, cases, closeness, v)) is not None]
        # The plainest of all first, then the least that catches each variant: a student meets the first that fails.
        entries = {case.code: self._entry(probe, case) for case in {c.code: c for c in [*least, *drawn]}.values()}
        self.recorder.oracle.dismiss()
        first = sorted((entries[case.code] for case in least), key=plainness)
        chosen = choose(sorted(entries.values(), key=plainness), list(self.variants), closeness)
        # By code, each once:
        kept = {entry.case.code: entry for entry in [entries[drawn[0].code], *first, *chosen]}
        self.recorder.entries += kept.values()

    def _least(self, probe: str, cases: SearchStrategy[Case], closeness: Closeness, variant: Variant) -> Case | None:
        """Return the smallest case that tells a variant from the reference, or None if this question does not."""
        oracle, told_apart = self.recorder.oracle, []

        def each(case: Case) -> None:
            seen = oracle.answer(probe, case, variant)
            if compare(oracle.answer(probe, case), seen, closeness, case) is not None:
                told_apart.append(case)
                raise _Differs

        with suppress(_Differs):
            draw(cases, POOL, RECORD_SEED, each, shrink=True)
        return told_apart[-1] if told_apart else None

    def _entry(self, probe: str, case: Case) -> Entry:
        oracle = self.recorder.oracle
        answers = {place: _traceless(oracle.answer(probe, case, v)) for place, v in self.variants.items()}
        return Entry(self.check.number, probe, case, _traceless(oracle.answer(probe, case)), answers)


def _traceless(seen: Observation) -> Observation:
    """Return an observation without the lines of the solutions that an error came through."""
    return replace(seen, trace=()) if isinstance(seen, Raised) else seen


def plainness(entry: Entry) -> tuple[bool, int, int, str]:
    """Return what sorts the case first that shows a student most: legal, with few zeros and empty tuples, short."""
    illegal = isinstance(entry.reference, Raised)
    return illegal, _zeros(tuple(entry.case.args.values())), len(entry.case.code), entry.case.code


def _zeros(value: Value) -> int:
    if isinstance(value, tuple):
        return sum(map(_zeros, value)) if value else 1
    if isinstance(value, dict):
        return sum(map(_zeros, value.values()))
    return int(value == 0 and type(value) is int)


def choose(pool: Sequence[Entry], variants: Sequence[str], closeness: Closeness) -> list[Entry]:
    """Return the entries to keep, in the pool's order: the two plainest that tell any two solutions apart, and others.

    Args:
        pool: plainest first.
        variants: their places; "" stands for the reference.
    """
    kept: set[int] = set(range(0, len(pool), max(1, len(pool) // KEPT)))
    for one, other in combinations(["", *variants], 2):
        apart = (i for i, entry in enumerate(pool) if _differ(entry, one, other, closeness))
        kept.update(i for i, _ in zip(apart, range(2), strict=False))
    return [pool[i] for i in sorted(kept)]


def _differ(entry: Entry, one: str, other: str, closeness: Closeness) -> bool:
    first, second = (entry.variants[place] if place else entry.reference for place in (one, other))
    case = entry.case if not one else replace(entry.case, names=())  # only the reference's own message is binding
    return compare(first, second, closeness, case) is not None
