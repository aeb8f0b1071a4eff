"""Reads a notebook's answers as data.

Nothing in a notebook is run. An answer is a literal that a code cell gives a name to; all answers become one module of
literals, which stands where the reference's functions stand.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

EXAMPLE = "example"  # the student of everybody's practice numbers
ANSWER = re.compile(r"(?:answer|example)_\d+|student")  # the names that are looked for
LINE = re.compile(r"^(?P<name>(?:answer|example)_\d+|student)\s*=(?P<value>[^=].*)$", re.MULTILINE)
MAGIC = re.compile(r"^\s*[%!].*$", re.MULTILINE)  # for the notebook's own shell; Python cannot read it
MOST_CHARACTERS = 200  # of an answer, and of a student's id
NOTEBOOK_VERSION = 4

Said = bool | float | str | None


@dataclass
class Answers:
    """What a notebook says, by name: student, example_1, answer_1, ..."""

    found: dict[str, Said] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)  # name -> what is wrong with what was found
    at_home: set[str] = field(default_factory=set)  # the names that were set in the cell that asks for them
    notes: list[str] = field(default_factory=list)  # sentences to the student about the whole

    def module(self) -> bytes:
        """Return the answers as a module of the same functions that the reference has."""
        return MODULE.format(found=self.found, problems=self.problems).encode()


MODULE = """\
FOUND = {found!r}
PROBLEMS = {problems!r}


def _value(name, number):
    if name in PROBLEMS:
        raise ValueError(PROBLEMS[name])
    if FOUND.get(name) in (None, ""):
        raise NotImplementedError(f"N.{{number}} {{name}}: what does its cell in the notebook say?")
    return FOUND[name]


def student(number):
    return _value("student", number)


def answer(number, student):
    return _value(f"{{'example' if student == 'example' else 'answer'}}_{{number}}", number)
"""


def read_answers(content: bytes | None, name: str) -> Answers:
    """Return the answers in a notebook of any version, as far as they can be read.

    Args:
        content: of the file; None where there is none.
        name: of the file, for the notes.
    """
    answers = Answers()
    if content is None:
        return answers
    try:
        cells = list(_cells(content.decode("utf-8-sig", errors="replace")))
    except Exception as error:  # noqa: BLE001  nbformat raises as many types as there are ways to be broken
        why = str(error).partition("\n")[0][:160] or type(error).__name__
        answers.notes.append(f"{name} is no notebook that can be read ({why}): open it, save it and hand it in again.")
        return answers
    for kind, identity, source in cells:
        for found, value in _assignments(source):
            _add(answers, found, value, _home(found) == identity, kind)
    return answers


def _home(name: str) -> str:
    """Return the id of the cell in which a name is asked for."""
    return "student" if name == "student" else f"answer-{name.rpartition('_')[2]}"


def _cells(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield kind, id and source of each cell."""
    import nbformat  # noqa: PLC0415  only a submission with a notebook has need of it

    read: Any = nbformat.reads(text, as_version=NOTEBOOK_VERSION)  # type: ignore[no-untyped-call]
    for cell in read.cells:
        source = cell.get("source", "")
        source = "".join(map(str, source)) if isinstance(source, list) else str(source)
        # Colab keeps the id that a cell once had in its metadata.
        identity = cell.get("metadata", {}).get("id") if "id" not in cell else cell["id"]
        yield str(cell.get("cell_type")), str(identity), source


def _assignments(source: str) -> Iterator[tuple[str, str]]:
    """Yield each name that is looked for with the text of what it is set to, in their order."""
    try:
        tree = ast.parse(MAGIC.sub("", source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from ((found["name"], found["value"].partition("#")[0].strip()) for found in LINE.finditer(source))
        return
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = getattr(node, "value", None)
        for target in targets:
            if isinstance(target, ast.Name) and ANSWER.fullmatch(target.id) and value is not None:
                yield target.id, ast.unparse(value)


def _add(answers: Answers, name: str, text: str, at_home: bool, kind: str) -> None:
    """Keep an answer; one in the cell that asks for it goes before one elsewhere, and later ones before earlier."""
    value, problem = _literal(name, text)
    if value is None and not problem:
        return  # as it is handed out
    known = name in answers.found or name in answers.problems
    if known and (answers.found.get(name), answers.problems.get(name, "")) != (value, problem):
        answers.notes.append(
            f"The notebook sets {name} more than once; what counts is its own cell {_home(name)!r}, else the last."
        )
        if name in answers.at_home and not at_home:
            return
    if kind != "code" and not known:
        answers.notes.append(f"{name} stands in a cell that is not code any more; it was read all the same.")
    answers.found.pop(name, None)
    answers.problems.pop(name, None)
    if at_home:
        answers.at_home.add(name)
    if problem:
        answers.problems[name] = problem
    else:
        answers.found[name] = value


def _literal(name: str, text: str) -> tuple[Said, str]:
    """Return what a text says, and what is wrong with it."""
    shown = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
    try:
        value = ast.literal_eval(text) if len(text) <= MOST_CHARACTERS else text
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None, f"{name} = {shown} is not a number: work it out, and write down what comes out"
    if name == "student":
        said = str(value).strip() if isinstance(value, str | int) else ""
        if len(said) > MOST_CHARACTERS or said.lower() == EXAMPLE:
            return None, f"student = {shown} is not your student id"
        return said, ""
    if value is None or isinstance(value, bool):
        return value, ""
    if isinstance(value, int | float) and abs(value) < 1e300:  # an int has no largest, a float has
        return float(value), ""
    return None, f"{name} = {shown} is neither a number nor True or False"
