"""Who may import whom. Every module of the grader stands in the table, and its imports are read, not run."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOME = ROOT / "autograder"
MOST_LINES = 360  # what can be read in one sitting

# The first pattern that a module's name matches says what it may import beside the standard library: modules of ours
# (".*" stands for all below) and libraries. Imports for a type checker alone don't count.
MAY_IMPORT: dict[str, set[str]] = {
    # what all others speak of
    "observation": {"ml_dtypes", "numpy"},
    "wire": {"observation"},
    "fault": set(),
    "result": set(),
    "files": set(),
    "shortcuts": set(),
    "listing": set(),
    "notebook": {"nbformat"},
    "submission": {"listing", "notebook"},
    "catalogue": {"fault", "result"},
    "settings": {"fault", "sandbox.job", "tomli", "tomllib"},  # 3.10 has no tomllib
    "hardware": set(),
    # beside the student's code
    "sandbox": set(),
    "sandbox.job": set(),
    "sandbox.confine": {"sandbox.job"},
    "sandbox.values": {"wire", "torch"},
    "sandbox.guard": {"wire", "shortcuts", "sandbox.values"},
    "sandbox.worker": {"wire", "sandbox.confine", "sandbox.guard", "sandbox.job", "sandbox.values", "torch"},
    "sandbox.zygote": {"sandbox.job", "sandbox.worker"},
    "probes": set(),
    "probes.*": {"wire", "numpy", "torch", "probes.*"},
    # the trusted end of it
    "sandbox.launch": {"fault", "sandbox.confine", "sandbox.job"},
    "sandbox.host": {"wire", "sandbox.job", "sandbox.launch", "submission"},
    # what should be seen, and whether it was
    "judge": {"wire", "numpy"},
    "oracle": {"fault", "wire", "catalogue", "judge", "result", "sandbox.host"},
    "drawing": {"judge", "hypothesis"},
    "student": {"judge", "result", "sandbox.host", "settings", "shortcuts", "wire"},
    "agree": {"catalogue", "drawing", "hypothesis", "judge", "oracle", "result", "student", "wire"},
    "checks": set(),
    "checks.*": {"agree", "checks", "checks.*", "gradescope_utils", "hypothesis", "judge", "pytest", "wire"},
    # a grading
    "plugin": {"agree", "oracle", "pytest", "result", "sandbox.host", "shortcuts", "student"},
    "grade": {
        *("catalogue", "oracle", "plugin", "pytest", "result", "sandbox.host"),
        *("settings", "shortcuts", "student", "submission"),
    },
    "render": set(),
    "render.*": {"result", "render.*", "rich"},
    # what the staff does beside
    "handout": {
        *("catalogue", "drawing", "fault", "files", "grade", "hypothesis", "judge", "oracle", "plugin", "pytest"),
        *("result", "sandbox.host", "settings", "wire"),
    },
    "audit": {"catalogue", "grade", "oracle", "result", "sandbox.host", "settings", "submission"},
    "debugging": {"judge", "result", "sandbox.values", "wire"},
    "__main__": {"*"},
    "__init__": set(),
}
BESIDE_THE_STUDENT = ("sandbox.values", "sandbox.guard", "sandbox.worker", "sandbox.zygote", "probes.*")
NEVER = {"napkin", "variants", "solutions", "handout"}  # as top-level names: they are paths, and a student's code


def name_of(path: Path) -> str:
    parts = path.relative_to(HOME).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(HOME.rglob("*.py"))}
every_module = pytest.mark.parametrize("module", MODULES)


def imports(nodes: list[ast.stmt]) -> Iterator[tuple[str, bool]]:
    """Yield each name that is imported, and whether that happens while the module itself is."""
    for node in nodes:
        yield from _imports(node, True)


def _imports(node: ast.AST, at_once: bool) -> Iterator[tuple[str, bool]]:
    if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        for other in node.orelse:
            yield from _imports(other, at_once)
        return
    if isinstance(node, ast.Import):
        yield from ((alias.name, at_once) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert not node.level, f"line {node.lineno}: an import says whole names"
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            is_module = whole.removeprefix("autograder.") in MODULES
            yield (whole if is_module else str(node.module)), at_once
    inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        yield from _imports(child, at_once and not inside)


@cache
def imported_by(module: str) -> list[tuple[str, bool]]:
    return list(imports(ast.parse(MODULES[module].read_text(encoding="utf-8")).body))


def ours(module: str) -> set[str]:
    """Return which of our modules one imports, by name below the package."""
    names = {name for name, _ in imported_by(module) if name.split(".")[0] == "autograder"}
    return {name.removeprefix("autograder").removeprefix(".") or "__init__" for name in names}


def libraries(module: str) -> set[str]:
    tops = {name.split(".")[0] for name, _ in imported_by(module)}
    return tops - sys.stdlib_module_names - {"autograder"}


def row(module: str) -> set[str]:
    return next(allowed for pattern, allowed in MAY_IMPORT.items() if fnmatchcase(module, pattern))


@every_module
def test_every_module_has_its_place_in_the_table(module: str) -> None:
    assert any(fnmatchcase(module, pattern) for pattern in MAY_IMPORT)


@pytest.mark.parametrize("pattern", MAY_IMPORT)
def test_the_table_speaks_of_no_module_that_is_gone(pattern: str) -> None:
    assert any(fnmatchcase(module, pattern) for module in MODULES)


@every_module
def test_a_module_imports_only_what_the_table_says(module: str) -> None:
    allowed = row(module)
    wrong = {
        name
        for name in ours(module) | libraries(module)
        if name != module and not any(fnmatchcase(name, pattern) for pattern in allowed)
    }
    assert wrong == set()


@every_module
def test_nobody_imports_the_command_line(module: str) -> None:
    assert "__main__" not in ours(module)


@every_module
def test_nobody_imports_the_students_package_or_the_solutions(module: str) -> None:
    assert libraries(module) & NEVER == set()


@every_module
def test_torch_is_imported_beside_the_students_code_only(module: str) -> None:
    beside = any(fnmatchcase(module, pattern) for pattern in BESIDE_THE_STUDENT)
    assert beside or "torch" not in libraries(module)


@pytest.mark.parametrize(("module", "library"), [("observation", "numpy"), ("observation", "ml_dtypes")])
def test_a_heavy_library_is_imported_when_it_is_needed(module: str, library: str) -> None:
    assert {at_once for name, at_once in imported_by(module) if name.split(".")[0] == library} == {False}


def reached_at_once(module: str) -> set[str]:
    """Return all of ours that is imported when a module is."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        for name, at_once in imported_by(waiting.pop()):
            short = name.removeprefix("autograder.")
            if at_once and name.startswith("autograder.") and short not in found:
                found.add(short)
                waiting.append(short)
    return found


@pytest.mark.parametrize(
    "module", ["grade", "handout", "audit", "__main__", "plugin", "sandbox.host", "checks.test_views"]
)
def test_the_grader_loads_nothing_that_belongs_beside_the_student(module: str) -> None:
    beside = {name for name in reached_at_once(module) if any(fnmatchcase(name, p) for p in BESIDE_THE_STUDENT)}
    assert beside == set()


def test_imports_make_no_circle() -> None:
    graph = {module: ours(module) - {module} for module in MODULES}
    while ends := {module for module, others in graph.items() if not others & graph.keys()}:
        graph = {module: others for module, others in graph.items() if module not in ends}
    assert graph == {}


@every_module
def test_a_module_can_be_read_in_one_sitting(module: str) -> None:
    assert len(MODULES[module].read_text(encoding="utf-8").splitlines()) <= MOST_LINES


# --- the reader of imports -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch.nn", {("torch.nn", True)}),
        ("from torch import nn", {("torch", True)}),
        ("from autograder import wire", {("autograder.wire", True)}),
        ("from autograder.wire import Ask", {("autograder.wire", True)}),
        ("def f():\n    import torch", {("torch", False)}),
        ("class C:\n    def f(self):\n        from torch import nn", {("torch", False)}),
        ("class C:\n    import torch", {("torch", True)}),
        ("try:\n    import torch\nexcept ImportError:\n    import numpy", {("torch", True), ("numpy", True)}),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch", {("typing", True)}),
    ],
)
def test_imports_are_read_wherever_they_stand(source: str, expected: set[tuple[str, bool]]) -> None:
    assert set(imports(ast.parse(source).body)) == expected
