"""The zoo of whole submissions: reads what each must get, builds what is handed in, and grades it.

Each submission is graded twice: by `grade` with the solutions, and against the recorded answers, where one zygote of
this process's own serves all of them. README.md in this folder describes the entries.
"""

from __future__ import annotations

import ast
import ctypes
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

from autograder.catalogue import read_checks, selects
from autograder.grade import Candidate, Run, grade, make_oracle
from autograder.result import Feedback, Outcome, Result
from autograder.sandbox.host import Sandbox, SandboxError
from autograder.settings import Budget, Settings, read_settings
from autograder.submission import SubmissionError, read_submission

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOLUTIONS, HANDOUT = ROOT / "solutions", ROOT / "handout"
RECORDED = HANDOUT / "recorded.bin"
BASES = {"reference": SOLUTIONS, "handout": HANDOUT, "nothing": None}
SEED = 20
PR_SET_CHILD_SUBREAPER = 36
FEEDBACK = {field.name for field in fields(Feedback)}
POLICY = replace(
    read_settings(),
    budget=Budget(observation_s=1.0, check_s=6.0, shrink_s=0.5, grading_s=60.0),
    fresh_cases=25,
)


@dataclass(frozen=True)
class Expected:
    """What one check must come to."""

    status: str
    matches: dict[str, str]  # field of the feedback -> regular expression that is found in it
    lacks: dict[str, str]  # field of the feedback -> regular expression that is not

    def differences(self, outcome: Outcome) -> list[str]:
        """Return what is otherwise, one line each."""
        said = {name: "\n".join(v) if isinstance(v, tuple) else v for name, v in vars(outcome.feedback).items()}
        wrong = [] if outcome.status == self.status else [f"is {outcome.status}, not {self.status}"]
        wrong += [
            f"{name} {said[name]!r} lacks {rx!r}" for name, rx in self.matches.items() if not re.search(rx, said[name])
        ]
        wrong += [f"{name} {said[name]!r} has {rx!r}" for name, rx in self.lacks.items() if re.search(rx, said[name])]
        return [f"{outcome.check.number} {line}  ({outcome.feedback.message})" for line in wrong]


PASSED = Expected("passed", {}, {})


@dataclass(frozen=True)
class Entry:
    """One submission of the zoo, from its folder."""

    name: str
    shows: str  # the sentence that its outcome proves
    base: str  # what the files in `submission` are laid over: reference, handout or nothing
    seconds: float  # at most, for a grading with fresh cases
    expected: dict[str, Expected]  # by check number; what is asked for and not named passes
    only: str = "1"  # the checks that are asked for; "" all
    passes_at_home: tuple[str, ...] = ()  # numbers of checks that recorded answers cannot judge as a whole
    notes: tuple[str, ...] = ()  # regular expressions, each found in one note of the result
    observation_s: float = 1.0
    check_s: float = 6.0
    marker: str = ""  # in the command line or name of each process that it starts
    zip: bool = False  # handed in as an archive
    crlf_and_bom: bool = False  # each .py file rewritten as a Windows editor would

    @property
    def policy(self) -> Settings:
        """The course's policy, hurried."""
        return replace(POLICY, budget=replace(POLICY.budget, observation_s=self.observation_s, check_s=self.check_s))


@dataclass(frozen=True)
class Graded:
    """What two gradings of one submission came to."""

    live: Result
    recorded: Result
    seconds: float  # of the live one
    left_processes: tuple[str, ...]  # alive after both
    left_files: tuple[str, ...]  # of theirs, in the folder for temporary files
    imported_torch: bool  # into the process of the grader


def read_entry(name: str) -> Entry:
    """Return an entry of the zoo.

    Raises: ValueError for an expectation that nothing could meet.
    """
    raw = tomllib.loads((HERE / name / "expected.toml").read_text(encoding="utf-8"))
    numbers = [check.number for check in read_checks(POLICY.checks)]
    expected: dict[str, Expected] = {}
    for names, table in raw.pop("checks", {}).items():
        status, lacks = table.pop("status", "failed"), table.pop("lacks", {})
        named = [number for number in numbers if any(fnmatch(number, pattern) for pattern in names.split())]
        if not named or not {*table, *lacks} <= FEEDBACK:
            raise ValueError(f"{name}: {names!r} must name checks, and {[*table, *lacks]} fields of the feedback")
        expected.update(dict.fromkeys(named, Expected(status, table, lacks)))
    more: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
    return Entry(name, expected=expected, **more)


def build(entry: Entry, folder: Path) -> Path:
    """Write what is handed in below a folder, and return its path."""
    root, base, stored = folder / entry.name, BASES[entry.base], HERE / entry.name / "submission"
    root.mkdir(parents=True)
    if base is not None:
        shutil.copytree(base / POLICY.package, root / POLICY.package, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copyfile(base / POLICY.notebook, root / POLICY.notebook)
    for source in sorted(path for path in stored.rglob("*") if path.is_file()):
        target = root / source.relative_to(stored)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.name.endswith(".append.py"):
            target = target.with_name(source.name.replace(".append.py", ".py"))
            target.write_bytes(target.read_bytes() + b"\n\n" + source.read_bytes())
        else:
            shutil.copyfile(source, target)
    for path in root.rglob("*.py") if entry.crlf_and_bom else ():
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    return Path(shutil.make_archive(str(root), "zip", root)) if entry.zip else root


def build_solved(exercise: str, folder: Path) -> Path:
    """Write the stubs with the reference's answer to one exercise, and return their path."""
    root = folder / f"solved-{exercise}"
    for source in (HANDOUT / POLICY.package).glob("*.py"):
        stubs = source.read_text(encoding="utf-8")
        reference = (SOLUTIONS / POLICY.package / source.name).read_text(encoding="utf-8")
        answers = dict(_functions(reference))
        for name, stub in _functions(stubs):
            if f"# exercise {exercise}:" in stub:
                stubs = stubs.replace(stub, answers[name])
        (root / POLICY.package).mkdir(parents=True, exist_ok=True)
        (root / POLICY.package / source.name).write_text(stubs, encoding="utf-8")
    return root


def _functions(source: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            yield node.name, ast.get_source_segment(source, node) or ""


def grade_entry(name: str, folder: Path) -> Graded:
    """Return what an entry gets, asked fresh cases and recorded ones, and what is left of it.

    Args:
        folder: for what is handed in and for temporary files; as open as /tmp is for a worker's user.
    """
    entry, shared = read_entry(name), _shared_sandbox(folder)
    path, temporary = build(entry, folder), folder / f"temporary-{name}"
    temporary.mkdir(mode=0o711)
    adopt_orphans()
    before = living_descendants(os.getpid())
    with _temporary_files_in(temporary):
        start = time.monotonic()
        live = grade(path, entry.policy, SOLUTIONS, SEED, entry.only)
        seconds = time.monotonic() - start
    try:
        (recorded,) = grade_in(shared, path, entry.policy, [RECORDED], entry.only)
    except SandboxError:
        _shared_sandbox.cache_clear()  # whatever this entry broke, it breaks for itself alone
        raise
    left = living_descendants(os.getpid())
    left_files = tuple(item.name for at in (temporary, shared.folder) for item in at.iterdir())
    if recorded.our_fault:
        _shared_sandbox.cache_clear()
    processes = tuple(left[pid] for pid in left.keys() - before.keys())
    return Graded(live, recorded, seconds, processes, left_files, "torch" in sys.modules)


def grade_solved(exercise: str, folder: Path) -> list[Result]:
    """Return what the stubs with one exercise solved get, asked fresh cases and recorded ones."""
    path, part = build_solved(exercise, folder), exercise.partition(".")[0]
    return grade_in(_shared_sandbox(folder), path, POLICY, [SOLUTIONS, RECORDED], only=part)


def grade_in(sandbox: Sandbox, path: Path, policy: Settings, answers: Sequence[Path], only: str) -> list[Result]:
    """Return what a submission gets with each kind of answers, in a sandbox that serves others too."""
    checks = read_checks(policy.checks)
    asked = [check for check in checks if selects(only, check.number)]
    parts = {check.part for check in checks}
    try:
        submission = read_submission(path, sorted(parts), policy.package, policy.notebook)
    except SubmissionError:
        return [grade(path, policy, one, SEED, only) for one in answers]  # nothing runs
    oracles = [make_oracle(one, sandbox, policy, parts) for one in answers]
    return [Run(sandbox, Candidate(submission), oracle, policy, SEED).checks(checks, asked) for oracle in oracles]


@cache
def _shared_sandbox(folder: Path) -> Sandbox:
    """Return this process's sandbox, which ends with it; its own folder goes with the one that it is in."""
    with _temporary_files_in(folder):
        return Sandbox(sorted({check.part for check in read_checks(POLICY.checks)}), POLICY.limits)


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def adopt_orphans(adopt: bool = True) -> None:
    """Make this process the parent of all its descendants' orphans, so that none escapes `living_descendants`."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0)


def living_descendants(ancestor: int) -> dict[int, str]:
    """Return the command lines and names of the living processes below one, by their number."""
    parents, shown = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path("/proc", name, "stat").read_text(encoding="utf-8", errors="replace")
            command = Path("/proc", name, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has just ended
        head, _, rest = stat.rpartition(")")  # a process's name may hold anything
        if rest.split()[0] not in "ZX":
            parents[int(name)], shown[int(name)] = int(rest.split()[1]), f"{head})  {command}"
    return {pid: text for pid, text in shown.items() if ancestor in _ancestors(pid, parents)}


def _ancestors(pid: int, parents: dict[int, int]) -> Iterator[int]:
    while (pid := parents.get(pid, 0)) > 0:
        yield pid
