"""Whether students get all that is given and nothing of the answers."""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
import tokenize
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.catalogue import read_variants
from autograder.handout import KEPT, MARKER, POINTS, HandoutError, choose, cut_answers, with_points
from autograder.judge import Case, exact
from autograder.oracle import Entry, read_recorded
from autograder.result import Check
from autograder.wire import Raised, Returned

ROOT = Path(__file__).parents[1]
SOLUTIONS, HANDOUT = ROOT / "solutions", ROOT / "handout"
MODULES = sorted(path.relative_to(SOLUTIONS) for path in (SOLUTIONS / "napkin").rglob("*.py"))
LONG = 20  # characters from which on a line is an answer and no mere word
every_module = pytest.mark.parametrize("module", MODULES, ids=str)


# --- cutting ---------------------------------------------------------------------------------------------------------

BEFORE = '''
"""A module."""

import math


@math.cache
def f(x):
    """Return x.

    # exercise 9.9: is a line of text, and no marker
    """
    given = x
    # exercise 1.1: how many?
    answer = [
        given,
    ]  # the trick
    return "# exercise 9.9: text" if answer else None


class View:
    """A view."""

    @property
    def size(self):
        # exercise 1.2: is it "large"?
        import sys

        return sys.maxsize

    def given(self):
        # a remark
        return 1


def last(x):
    # exercise 1.10: and \\ then?
    return x
'''
AFTER = '''
"""A module."""

import math


@math.cache
def f(x):
    """Return x.

    # exercise 9.9: is a line of text, and no marker
    """
    given = x
    # exercise 1.1: how many?
    raise NotImplementedError("1.1 f: how many?")


class View:
    """A view."""

    @property
    def size(self):
        # exercise 1.2: is it "large"?
        raise NotImplementedError("1.2 View.size: is it \\"large\\"?")

    def given(self):
        # a remark
        return 1


def last(x):
    # exercise 1.10: and \\ then?
    raise NotImplementedError("1.10 last: and \\\\ then?")
'''


def test_answers_are_cut_from_the_marker_to_the_end_of_the_function() -> None:
    assert cut_answers(BEFORE, "views.py") == AFTER


def test_stubs_say_which_exercise_they_are_and_what_is_asked() -> None:
    scope: dict[str, object] = {}
    exec(compile(cut_answers(BEFORE, "views.py").replace("@math.cache\n", ""), "views.py", "exec"), scope)
    with pytest.raises(NotImplementedError, match=r'^1\.2 View\.size: is it "large"\?$'):
        getattr(scope["View"](), "size")  # type: ignore[operator]  # noqa: B009  a property that is called


def test_a_module_without_markers_is_given_whole() -> None:
    source = "x = '''\n# exercise 1.1: text\n'''\n"
    assert cut_answers(source, "views.py") == source


def test_cutting_again_changes_nothing() -> None:
    once = cut_answers(BEFORE, "views.py")
    assert cut_answers(once, "views.py") == once


def indented(body: str) -> str:
    return "def f(x):\n" + "".join(f"    {line}\n" if line else "\n" for line in body.split("\n"))


NESTED = {
    "in an if": "if x:\n    # exercise 1.1: how?\n    return 1\nreturn 2",
    "in a loop": "for _ in x:\n    # exercise 1.1: how?\n    x += 1",
    "in a with": "with x:\n    # exercise 1.1: how?\n    return 1",
    "in a function inside": "def g():\n    # exercise 1.1: how?\n    return 1\nreturn g",
    "in an expression": "return [\n# exercise 1.1: how?\n    1,\n]",
    "between a statement's lines": "y = [\n    1,\n    # exercise 1.1: how?\n    2,\n]\nreturn y",
    "behind a statement": "y = 1  # exercise 1.1: how?\nreturn y",
    "too far to the right": "y = 1\n    # exercise 1.1: how?\nreturn y",
}


@pytest.mark.parametrize("where", NESTED)
def test_a_marker_inside_a_statement_is_refused(where: str) -> None:
    with pytest.raises(HandoutError, match=r"views.py:\d+: a marker stands between two statements of its function"):
        cut_answers(indented(NESTED[where]), "views.py")


OUTSIDE = {
    "on the module's level": "# exercise 1.1: how?\nx = 1\n",
    "in a class": "class V:\n    # exercise 1.1: how?\n    x = 1\n",
    "in a function under an if": "if True:\n    def f():\n        # exercise 1.1: how?\n        return 1\n",
    "in a class inside a class": "class V:\n  class W:\n    def f(self):\n      # exercise 1.1: how?\n      return 1\n",
    "in an async function": "async def f():\n    # exercise 1.1: how?\n    return 1\n",
    "after the last statement": "def f():\n    return 1\n    # exercise 1.1: how?\n",
}  # fmt: skip


@pytest.mark.parametrize("where", OUTSIDE)
def test_a_marker_outside_a_function_is_refused(where: str) -> None:
    with pytest.raises(HandoutError, match=r"views.py:\d+: a marker stands in a function or a method"):
        cut_answers(OUTSIDE[where], "views.py")


def test_a_comment_after_the_answer_is_refused() -> None:
    with pytest.raises(HandoutError, match=r"views.py:1?\d: the comment in line 4, .*, would leak"):
        cut_answers(indented("# exercise 1.1: how?\nreturn x\n# since x is known"), "views.py")


@pytest.mark.parametrize("following", ["\n\n# about g\ndef g(): ...\n", "# about g\ndef g(): ...\n"])
def test_a_comment_of_what_follows_is_kept(following: str) -> None:
    source = indented("# exercise 1.1: how?\nreturn x") + following
    assert cut_answers(source, "views.py").endswith(following)


LEAKS = {
    "a comment after a blank line": indented("# exercise 1.1: how?\nreturn x\n\n# the trick is that x is known"),
    "a marker that is misspelled": indented("# Exercise 1.1: how?\nreturn x + len('the trick')"),
    "a marker without its question": indented("# exercise 1.1\nreturn x + len('the trick')"),
    "a page break": "\f\n" + indented("# exercise 1.1: how?\nreturn x + len('the trick')"),
    "a line separator": "text = '\u2028'\n" + indented("# exercise 1.1: how?\nreturn x + len('the trick')"),
}


@pytest.mark.parametrize("what", LEAKS)
def test_nothing_leaks(what: str) -> None:
    try:
        cut = cut_answers(LEAKS[what], "views.py")
    except HandoutError:
        return
    assert "the trick" not in cut


def test_two_markers_in_a_function_cut_nothing_of_the_next() -> None:
    source = (
        indented("# exercise 1.1: how?\na = 1\n# exercise 1.2: why?\nb = 1\nc = 2\nd = 3\nreturn a")
        + "\n\ndef g():\n    return 1\n"
    )
    try:
        cut = cut_answers(source, "views.py")
    except HandoutError:
        return
    assert cut.endswith("\n\n\ndef g():\n    return 1\n")


# --- the table of points ---------------------------------------------------------------------------------------------

CHECKS = [
    Check("1.1a", "strides", "The strides.", 1, "views", forbids=("torch", "numpy")),
    Check("1.2", "reshape", "The shape.", 2.5, "views"),
]
TABLE = """| check | | points | what must hold | may not be used |
|---|---|---|---|---|
| 1.1a | `strides` | 1 | The strides. | `torch`, `numpy` |
| 1.2 | `reshape` | 2.5 | The shape. | – |
| | | **3.5** | | |
"""


@pytest.mark.parametrize("old", ["", "an old table\n", TABLE])
def test_the_table_is_what_the_checks_say(old: str) -> None:
    page = f"before\n{POINTS[0]}{old}{POINTS[1]}\nafter\n"
    assert with_points(page, CHECKS) == f"before\n{POINTS[0]}{TABLE}{POINTS[1]}\nafter\n"


@pytest.mark.parametrize("page", ["", POINTS[0], POINTS[1], POINTS[1] + "\n" + POINTS[0]])
def test_a_page_without_a_place_for_the_table_is_refused(page: str) -> None:
    with pytest.raises(HandoutError, match=r"README.md needs the lines .* around its table of points"):
        with_points(page, CHECKS)


# --- the recorded cases ----------------------------------------------------------------------------------------------


def pool(count: int, **different: set[int]) -> list[Entry]:
    """Return entries 0, 1, 2, ...; each variant answers those given for it in its own way."""
    return [
        Entry("1.1", "views.f", Case(f"f({n})", {"n": n}), Returned(n), {
            name: Returned(f"{name} {n}" if n in wrong else n) for name, wrong in different.items()
        })
        for n in range(count)
    ]  # fmt: skip


def chosen(entries: list[Entry], *variants: str) -> list[int]:
    return [entries.index(entry) for entry in choose(entries, variants, exact)]


def test_all_of_a_few_cases_are_kept() -> None:
    assert chosen(pool(KEPT)) == list(range(KEPT))


def test_of_many_cases_some_are_kept_from_all_sizes() -> None:
    kept = chosen(pool(10 * KEPT))
    assert kept == list(range(0, 10 * KEPT, 10))


def test_no_cases_are_none() -> None:
    assert chosen([]) == []


def test_the_two_plainest_that_tell_a_variant_from_the_reference_are_kept() -> None:
    assert {11, 15} <= set(chosen(pool(240, a={11, 15, 19}), "a")) - set(range(0, 240, 10))
    assert 19 not in chosen(pool(240, a={11, 15, 19}), "a")


def test_the_two_plainest_that_tell_two_variants_apart_are_kept() -> None:
    entries = pool(240, a={11, 12, 13, 14}, b={11, 12, 13, 14, 17, 18})
    for n in (11, 12):  # here both give one wrong answer
        entries[n].variants.update(a=Returned(-1), b=Returned(-1))
    assert set(chosen(entries, "a", "b")) - set(range(0, 240, 10)) == {11, 12, 13, 14}


def test_variants_that_nothing_tells_apart_add_nothing() -> None:
    assert chosen(pool(240, a=set(), b=set()), "a", "b") == list(range(0, 240, 10))


# --- the course's own ------------------------------------------------------------------------------------------------


def holes(path: Path) -> dict[str, tuple[int, ast.FunctionDef]]:
    """Return a module's functions that ask something, with the line of the marker."""
    source = path.read_text(encoding="utf-8")
    with path.open("rb") as stream:
        comments = [token for token in tokenize.tokenize(stream.readline) if token.type == tokenize.COMMENT]
    lines = {token.start[0] for token in comments if MARKER.match(token.string)}
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            for line in lines:
                if node.lineno < line <= (node.end_lineno or 0):
                    found[f"{node.name}:{node.args.args[0].arg if node.args.args else ''}"] = (line, node)
                    lines = lines - {line}
    assert not lines
    return found


def outside_holes(path: Path) -> str:
    """Return the syntax tree of a module without what stands in its holes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    starts = {node.lineno: line for line, node in holes(path).values()}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.lineno in starts:
            node.body = [statement for statement in node.body if statement.lineno < starts[node.lineno]]
    return ast.dump(tree)


def hole_lines(path: Path) -> set[str]:
    """Return the lines of the answers."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line.strip() for at, node in holes(path).values() for line in lines[at : node.end_lineno]}


def given_lines() -> set[str]:
    whole: set[str] = set()
    for module in MODULES:
        lines = (SOLUTIONS / module).read_text(encoding="utf-8").splitlines()
        inside = {n for at, node in holes(SOLUTIONS / module).values() for n in range(at, node.end_lineno or 0)}
        whole |= {line.strip() for n, line in enumerate(lines) if n not in inside}
    return whole


def answer_lines() -> list[str]:
    """Return each line of an answer, or of a variant, that is long enough to say something and is given nowhere.

    What stands in the grader, which students have, is given: there is a line such as `with torch.no_grad():` in a case.
    """
    answers = set().union(*(hole_lines(SOLUTIONS / module) for module in MODULES))
    for path in (SOLUTIONS / "variants").glob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in ast.parse("\n".join(lines)).body:
            if isinstance(node, ast.FunctionDef):
                answers |= {line.strip() for line in lines[node.body[0].lineno - 1 : node.end_lineno]}
    public = {line.strip() for path in ROOT.glob("autograder/**/*.py") for line in path.read_text().splitlines()}
    return sorted(line for line in answers - given_lines() - public if len(line) > LONG)


@every_module
def test_outside_the_holes_both_trees_are_the_same(module: Path) -> None:
    assert outside_holes(HANDOUT / module) == outside_holes(SOLUTIONS / module)


@every_module
def test_a_hole_holds_its_message_and_nothing_else(module: Path) -> None:
    stubs = holes(HANDOUT / module)
    assert stubs.keys() == holes(SOLUTIONS / module).keys()
    for line, node in stubs.values():
        (statement,) = [statement for statement in node.body if statement.lineno > line]
        assert re.fullmatch(r"raise NotImplementedError\(.\d+\.\d+ [\w.]*\b\w+: .+\?.\)", ast.unparse(statement))


def test_no_module_of_the_solutions_is_missing_in_the_handout() -> None:
    assert sorted(path.relative_to(HANDOUT) for path in (HANDOUT / "napkin").rglob("*.py")) == MODULES


def test_there_are_answers_to_look_for() -> None:
    assert len(answer_lines()) > 50


def test_no_line_of_an_answer_stands_in_a_page_of_the_handout() -> None:
    names = [*HANDOUT.glob("Makefile"), *HANDOUT.glob("*.md"), *HANDOUT.glob("*.toml"), *HANDOUT.rglob("*.py")]
    pages = {path: path.read_text(encoding="utf-8") for path in names}
    assert {(path.name, line) for path, page in pages.items() for line in answer_lines() if line in page} == set()


def test_no_line_of_an_answer_stands_in_the_recorded_answers() -> None:
    recorded = zlib.decompress((HANDOUT / "recorded.bin").read_bytes()).decode("ascii", errors="replace")
    assert [line for line in answer_lines() if json.dumps(line)[1:-1] in recorded] == []


def test_no_traceback_is_recorded() -> None:
    _, entries = read_recorded(HANDOUT / "recorded.bin")
    seen = [answer for entry in entries for answer in (entry.reference, *entry.variants.values())]
    assert {line for answer in seen if isinstance(answer, Raised) for line in answer.trace} == set()


def test_the_name_of_no_variant_stands_in_the_recorded_answers() -> None:
    recorded = zlib.decompress((HANDOUT / "recorded.bin").read_bytes())
    names = [variant.name for variant in read_variants(SOLUTIONS / "variants", {module.stem for module in MODULES})]
    assert names
    assert [name for name in names if name.encode() in recorded] == []


@pytest.fixture
def stubs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes the handout's package importable, and forgets it afterwards."""
    ours = [name for name in sys.modules if name.split(".")[0] == "napkin"]
    others = {name: sys.modules.pop(name) for name in ours}
    monkeypatch.syspath_prepend(HANDOUT)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "napkin"]:
        del sys.modules[name]
    sys.modules.update(others)


@every_module
def test_the_stubs_can_be_imported(stubs: None, module: Path) -> None:
    imported = importlib.import_module(".".join(module.with_suffix("").parts).removesuffix(".__init__"))
    assert Path(imported.__file__ or "") == HANDOUT / module
