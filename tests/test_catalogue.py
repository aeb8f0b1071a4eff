"""Whether the manifest holds every check that is written down, runnable or not, and refuses one that is unclear."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from autograder.catalogue import CatalogueError, Variant, read_checks, read_variants, selects
from autograder.result import Check

CHECK = '''
@number("1.1")
@weight(2)
def test_strides(agree):
    """The strides of a shape.

    And more.
    """
'''


def checks_of(folder: Path, **modules: str) -> tuple[Check, ...]:
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    return read_checks(folder)


def check_source(number: str, name: str = "x") -> str:
    return f'@number("{number}")\n@weight(1)\ndef test_{name}(agree):\n    """It holds."""\n'


# --- checks ----------------------------------------------------------------------------------------------------------


def test_a_check_is_what_its_decorators_and_its_docstring_say(tmp_path: Path) -> None:
    source = '''
@number("1.4b")
@weight(2.5)
@visibility("after_due_date")
@tags("views", "slow")
@forbids("torch", "numpy.reshape", within=["View.reshape", "reshape"])
def test_reshape(agree):
    """It gives the new strides."""
'''
    assert checks_of(tmp_path, test_views=source) == (
        Check(
            number="1.4b",
            name="reshape",
            sentence="It gives the new strides.",
            points=2.5,
            part="views",
            visibility="after_due_date",
            tags=("views", "slow"),
            forbids=("torch", "numpy.reshape"),
            within=("View.reshape", "reshape"),
        ),
    )


def test_a_check_without_further_decorators_is_visible_and_free(tmp_path: Path) -> None:
    assert checks_of(tmp_path, test_views=CHECK) == (Check("1.1", "strides", "The strides of a shape.", 2, "views"),)


def test_constants_may_stand_for_forbidden_names(tmp_path: Path) -> None:
    source = 'LIBRARIES = ("torch", "numpy")\n' + CHECK.replace(
        "@weight", '@forbids(*LIBRARIES, "math", within=["f"])\n@weight'
    )
    (check,) = checks_of(tmp_path, test_views=source)
    assert check.forbids == ("torch", "numpy", "math")


@pytest.mark.parametrize(
    "source",
    [
        "import no_such_module\n" + CHECK,
        "raise RuntimeError\n" + CHECK,
        "import sys\nsys.exit()\n" + CHECK,
        CHECK + "\n1 / 0\n",
    ],
)
def test_a_module_that_cannot_be_imported_keeps_its_checks(tmp_path: Path, source: str) -> None:
    (check,) = checks_of(tmp_path, test_views=source)
    assert (check.number, check.points) == ("1.1", 2)


@pytest.mark.parametrize(
    "rest",
    [
        "def helper():\n    pass\n",
        "@composite\ndef shapes(draw):\n    return 1\n",
        "class test_thing:\n    pass\n",
        "@number('9')\ndef helper(): pass\n",
    ],
)
def test_what_is_no_test_is_no_check(tmp_path: Path, rest: str) -> None:
    assert len(checks_of(tmp_path, test_views=CHECK + rest)) == 1


def test_only_test_modules_hold_checks(tmp_path: Path) -> None:
    assert checks_of(tmp_path, cases=CHECK, conftest=CHECK) == ()


MISSING = {
    "a number": CHECK.replace('@number("1.1")\n', ""),
    "a weight": CHECK.replace("@weight(2)\n", ""),
    "a sentence": CHECK[: CHECK.index('"""')] + "pass\n",
    "the sentence's text": CHECK[: CHECK.index('"""')] + '""""""\n',
    "all decorators": 'def test_strides(agree):\n    """The strides of a shape."""\n',
}


@pytest.mark.parametrize("what", MISSING)
def test_a_check_without_number_weight_or_sentence_is_refused(tmp_path: Path, what: str) -> None:
    with pytest.raises(CatalogueError, match=r"test_views.py: test_strides needs @number, @weight and a sentence"):
        checks_of(tmp_path, test_views=MISSING[what])


@pytest.mark.parametrize("points", ["POINTS", "2 * POINTS", "len('ab')", "*POINTS"])
def test_a_decorator_whose_argument_is_no_literal_is_refused(tmp_path: Path, points: str) -> None:
    with pytest.raises(CatalogueError, match=r"test_views.py: test_strides's decorators must have literal arguments"):
        checks_of(tmp_path, test_views=CHECK.replace("@weight(2)", f"@weight({points})"))


UNCLEAR = {
    "a number that is no text": CHECK.replace('"1.1"', "1.1"),
    "a number without a value": CHECK.replace('"1.1"', ""),
    "a weight without a value": CHECK.replace("@weight(2)", "@weight()"),
    "a weight that is text": CHECK.replace("@weight(2)", "@weight('2')"),
    "a ban on nobody's functions": CHECK.replace("@weight", '@forbids("torch")\n@weight'),
    "no Python": "def test_strides(:\n",
}


@pytest.mark.parametrize("what", UNCLEAR)
def test_an_unclear_check_is_refused(tmp_path: Path, what: str) -> None:
    with pytest.raises(CatalogueError):
        checks_of(tmp_path, test_views=UNCLEAR[what], test_others=check_source("1.2"))


@pytest.mark.parametrize("other", ["test_views", "test_shapes"])
def test_a_number_that_two_checks_have_is_refused(tmp_path: Path, other: str) -> None:
    modules = {"test_views": check_source("1.1"), "test_dtypes": check_source("2.1")}
    modules[other] = modules.get(other, "") + check_source("1.1", "y")
    with pytest.raises(CatalogueError, match=r"\['1.1'\]"):
        checks_of(tmp_path, **modules)


def test_checks_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    order = ["1.1", "1.1a", "1.1b", "1.2", "1.9", "1.10", "1.10b", "2", "2.1", "10.1", "N.1", "N.2", "N.10"]
    shuffled = random.Random(1).sample(order, len(order))
    modules = {f"test_part{i}": check_source(number) for i, number in enumerate(shuffled)}
    assert [check.number for check in checks_of(tmp_path, **modules)] == order


@pytest.mark.parametrize(
    ("only", "number", "expected"),
    [
        ("", "1.4", True),
        ("1.4", "1.4", True),
        ("1", "1.4", True),
        ("1.5", "1.5b", True),
        ("1.5b", "1.5b", True),
        ("1.5a", "1.5b", False),
        ("1.5b", "1.5", False),
        ("1.1", "1.10", False),
        ("1", "10.1", False),
        ("1.", "1.4", False),
        ("4", "1.4", False),
        ("x", "1.4", False),
    ],
)
def test_only_selects_a_check_an_exercise_or_a_part(only: str, number: str, expected: bool) -> None:
    assert selects(only, number) is expected


@pytest.mark.parametrize(("number", "exercise"), [("1.4", "1.4"), ("1.5b", "1.5"), ("10.10c", "10.10")])
def test_a_checks_exercise_is_its_number_without_the_letter(number: str, exercise: str) -> None:
    assert Check(number, "x", "It holds.", 1, "views").exercise == exercise


# --- variants --------------------------------------------------------------------------------------------------------

VARIANTS = """
import torch
from variants import accepted, misconception

@misconception("1.1", "contiguous_strides", "Bytes or "
    "elements?")
def in_bytes(shape):
    return ()

@accepted("1.2", replaces="View.reshape", note="A copy will do.")
def copies(self, shape):
    return None

def helper():
    return 1
"""


def variants_of(folder: Path, source: str) -> tuple[Variant, ...]:
    (folder / "views.py").write_text(source)
    return read_variants(folder, {"views"})


def test_variants_are_read_in_the_order_of_their_file(tmp_path: Path) -> None:
    assert variants_of(tmp_path, VARIANTS) == (
        Variant("in_bytes", "1.1", "misconception", "Bytes or elements?", "views"),
        Variant("copies", "1.2", "accepted", "A copy will do.", "views"),
    )


def test_variants_of_other_parts_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "shapes.py").write_text(VARIANTS)
    assert [variant.part for variant in variants_of(tmp_path, VARIANTS)] == ["views", "views"]


def test_a_part_without_variants_has_none(tmp_path: Path) -> None:
    assert read_variants(tmp_path, {"views"}) == ()


@pytest.mark.parametrize(
    "arguments",
    ["", '"1.1"', '"1.1", "contiguous_strides"', '1.1, "contiguous_strides", "Why?"', '"1.1", "f", note="Why?"'],
)
def test_a_variant_without_number_symbol_or_text_is_refused(tmp_path: Path, arguments: str) -> None:
    source = f"@misconception({arguments})\ndef in_bytes(shape): pass\n"
    with pytest.raises(CatalogueError, match=r"views.py: in_bytes needs a number, a symbol and a hint"):
        variants_of(tmp_path, source)
