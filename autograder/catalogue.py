"""The manifest of checks and the list of variants, read from source text.

Nothing is imported: a check module that cannot be imported, or was not asked for, keeps its points in the total,
and the solutions stay a path.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from autograder.fault import OurFault
from autograder.result import Check


class CatalogueError(OurFault):
    """The assignment's own source does not say what it must."""


@dataclass(frozen=True)
class Variant:
    """A known solution other than the reference."""

    name: str  # of its function; staff see it, students don't
    number: str  # of the check that it answers in its own way
    kind: Literal["misconception", "accepted"]
    text: str  # the hint, or the note of an accepted one
    part: str


def read_checks(folder: Path) -> tuple[Check, ...]:
    """Return every check below a folder, in the order of their numbers.

    Raises: CatalogueError for a check without number, weight or sentence, or two of one number.
    """
    checks = []
    for path in sorted(folder.glob("test_*.py")):
        try:
            checks += _checks_of(path)
        except (SyntaxError, LookupError, TypeError) as error:
            raise CatalogueError(f"{path.name}: {type(error).__name__}: {error}") from error
    checks.sort(key=lambda check: _sort_key(check.number))
    numbers = [check.number for check in checks]
    if repeated := {number for number in numbers if numbers.count(number) > 1}:
        raise CatalogueError(f"each number belongs to one check; {sorted(repeated)} to several")
    return tuple(checks)


def read_variants(folder: Path, parts: set[str]) -> tuple[Variant, ...]:
    """Return the variants of some parts, in the order of their files.

    Raises: CatalogueError for one without a number or a text.
    """
    found = []
    for part in sorted(parts):
        path = folder / f"{part}.py"
        for function, decorators in _decorated(path) if path.exists() else ():
            for kind, words in (("misconception", "hint"), ("accepted", "note")):
                if kind in decorators:
                    positional, named = decorators[kind]
                    values = dict(zip(("number", "replaces", words), positional, strict=False)) | named
                    if not all(isinstance(values.get(key), str) for key in ("number", "replaces", words)):
                        raise CatalogueError(f"{path.name}: {function.name} needs a number, a symbol and a {words}")
                    found.append(Variant(function.name, values["number"], kind, values[words], part))  # type: ignore
    return tuple(found)


def selects(only: str, number: str) -> bool:
    """Return whether `--only` asks for a check: by its number, its exercise or its part; "" asks for all.

    >>> [selects(only, "1.5b") for only in ("1.5b", "1.5", "1", "", "1.50", "5")]
    [True, True, True, True, False, False]
    """
    if not number.startswith(only):
        return False
    rest = number[len(only) :]
    return not rest or not only or rest[0] == "." or (rest.isalpha() and only[-1].isdigit())


def _checks_of(path: Path) -> list[Check]:
    checks = []
    for function, decorators in _decorated(path):
        if not function.name.startswith("test_"):
            continue
        sentence = (ast.get_docstring(function) or "").partition("\n")[0]
        if "number" not in decorators or "weight" not in decorators or not sentence:
            raise CatalogueError(f"{path.name}: {function.name} needs @number, @weight and a sentence as its docstring")
        words = {name: decorators[name][0] for name in decorators}
        if not isinstance(words["number"][0], str) or not isinstance(words["weight"][0], int | float):
            raise CatalogueError(f'{path.name}: {function.name} needs a @number("1.4") and a @weight(3)')
        checks.append(
            Check(
                number=words["number"][0],
                name=function.name.removeprefix("test_"),
                sentence=sentence,
                points=words["weight"][0],
                part=path.stem.removeprefix("test_"),
                visibility=words.get("visibility", ["visible"])[0],
                tags=tuple(words.get("tags", ())),
                forbids=tuple(words.get("forbids", ())),
                within=tuple(decorators["forbids"][1]["within"]) if "forbids" in decorators else (),
            )
        )
    return checks


def _decorated(path: Path) -> list[tuple[ast.FunctionDef, dict[str, tuple[list[Any], dict[str, Any]]]]]:
    """Return a module's functions with their decorators' literal arguments."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    constants = {
        target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and _is_literal(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def literal(node: ast.expr) -> list[Any]:
        if isinstance(node, ast.Starred) and isinstance(node.value, ast.Name):
            return list(constants[node.value.id])
        return [ast.literal_eval(node)]

    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            calls = {ast.unparse(d.func): d for d in node.decorator_list if isinstance(d, ast.Call)}
            try:
                arguments = {
                    name: (
                        [value for arg in call.args for value in literal(arg)],
                        {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in call.keywords},
                    )
                    for name, call in calls.items()
                }
            except (ValueError, KeyError) as error:
                raise CatalogueError(f"{path.name}: {node.name}'s decorators must have literal arguments") from error
            found.append((node, arguments))
    return found


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _sort_key(number: str) -> list[tuple[int, str]]:
    """Order 1.9 before 1.10, 1.5a before 1.5b, and N.1 behind all of them."""
    digits = "".join(c if c.isdigit() else " " for c in number).split()
    part = "" if number[0].isdigit() else number.partition(".")[0]
    return [(0, part), *((int(d), "") for d in digits), (0, number)]
