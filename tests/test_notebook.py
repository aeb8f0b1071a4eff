"""What is read from a notebook: whatever happened to its cells, and nothing of it run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.notebook import Answers, read_answers

ROOT = Path(__file__).resolve().parents[1]
NAME = "napkin_math.ipynb"


def code(source: str, identity: str = "elsewhere") -> Any:
    return new_code_cell(source, id=identity)


def read(*cells: Any, **metadata: Any) -> Answers:
    return read_answers(nbformat.writes(new_notebook(cells=list(cells), metadata=metadata)).encode(), NAME)


def read_raw(raw: Any) -> Answers:
    return read_answers(json.dumps(raw).encode(), NAME)


# --- what counts as an answer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3.0),
        ("-3.5e9", -3.5e9),
        ("1_000", 1000.0),
        ("True", True),
        ("False", False),
        ("(\n  3.5\n)", 3.5),
        ("3.5  # days", 3.5),
    ],
)
def test_a_literal_is_an_answer(text: str, value: float) -> None:
    answers = read(code(f"answer_3 = {text}"))
    assert (answers.found, answers.problems, answers.notes) == ({"answer_3": value}, {}, [])
    assert type(answers.found["answer_3"]) is type(value)


@pytest.mark.parametrize("text", ["6 * 7e9", "x", "round(3.2)", "1j", "'3'", "[3]", "1e400", "10**9999", "9" * 300])
def test_anything_else_is_explained_and_never_worked_out(text: str) -> None:
    answers = read(code(f"answer_3 = {text}"))
    assert answers.found == {}
    assert answers.problems["answer_3"].startswith("answer_3 = ")
    assert len(answers.problems["answer_3"]) < 300


def test_what_is_handed_out_is_no_answer() -> None:
    answers = read(code("yours(1)\nexample_1 = None\nanswer_1 = None"), code("student = ''", "student"))
    assert (answers.found, answers.problems) == ({"student": ""}, {})


@pytest.mark.parametrize(
    ("text", "value"), [("'ada@example.edu'", "ada@example.edu"), ('" 1234 "', "1234"), ("1234", "1234")]
)
def test_the_students_id_is_text(text: str, value: str) -> None:
    assert read(code(f"student = {text}", "student")).found == {"student": value}


@pytest.mark.parametrize("text", ["'example'", "' Example'", repr("x" * 201), "3 * 'x'"])
def test_some_ids_are_nobodys(text: str) -> None:
    answers = read(code(f"student = {text}", "student"))
    assert (answers.found, list(answers.problems)) == ({}, ["student"])


# --- what happens to cells -------------------------------------------------------------------------------------------


def test_cells_are_found_in_any_order_and_by_any_id() -> None:
    assert read(code("answer_2 = 2", "x"), code("answer_1 = 1", "answer-1")).found == {"answer_2": 2.0, "answer_1": 1.0}


def test_the_cell_that_asks_goes_before_a_copy_of_it() -> None:
    answers = read(code("answer_1 = 1", "answer-1"), code("answer_1 = 2", "copy"))
    assert answers.found == {"answer_1": 1.0}
    assert "more than once" in answers.notes[0]


def test_of_two_copies_the_last_counts() -> None:
    answers = read(code("answer_1 = 1", "copy"), code("answer_1 = 2", "another"))
    assert answers.found == {"answer_1": 2.0}
    assert len(answers.notes) == 1


def test_the_same_answer_twice_is_no_trouble() -> None:
    assert read(code("answer_1 = 1", "copy"), code("answer_1 = 1", "answer-1")).notes == []


def test_an_empty_copy_takes_nothing_away() -> None:
    assert read(code("answer_1 = 1", "copy"), code("answer_1 = None", "answer-1")).found == {"answer_1": 1.0}


def test_a_cell_that_became_text_is_read_and_said() -> None:
    answers = read(new_markdown_cell("answer_1 = 1", id="answer-1"))
    assert answers.found == {"answer_1": 1.0}
    assert "not code any more" in answers.notes[0]


def test_a_deleted_cell_takes_only_its_own_answer() -> None:
    assert read(code("answer_2 = 2", "answer-2")).found == {"answer_2": 2.0}


@pytest.mark.parametrize(
    "source",
    [
        "%matplotlib inline\nanswer_1 = 1",
        "!pip install x\nanswer_1 = 1",
        "answer_1 = 1\nthis is no Python",
        "answer_1: float = 1",
    ],
)
def test_what_else_stands_in_the_cell_does_not_matter(source: str) -> None:
    assert read(code(source)).found == {"answer_1": 1.0}


@pytest.mark.parametrize("source", ["if True:\n    answer_1 = 1", "# answer_1 = 1", "answer_1 == 1", "print(answer_1)"])
def test_only_a_plain_assignment_is_an_answer(source: str) -> None:
    assert read(code(source)).found == {}


# --- files that other programs wrote ---------------------------------------------------------------------------------


def test_colab_keeps_the_id_in_the_metadata() -> None:
    plain = {"cell_type": "code", "outputs": [], "execution_count": 3}
    first = {**plain, "metadata": {"id": "answer-1"}, "source": ["answer_1 = 1"]}
    copy = {**plain, "metadata": {"id": "x"}, "source": ["answer_1 = 2"]}
    raw = {"nbformat": 4, "nbformat_minor": 0, "metadata": {"colab": {"provenance": []}}, "cells": [first, copy]}
    assert read_raw(raw).found == {"answer_1": 1.0}


def test_vs_code_adds_metadata_that_nobody_minds() -> None:
    cell = code("answer_1 = 1")
    cell.metadata["vscode"] = {"languageId": "python"}
    assert read(cell, vscode={"interpreter": {"hash": "x"}}).found == {"answer_1": 1.0}


def test_a_notebook_of_version_3_is_read() -> None:
    cell = {"cell_type": "code", "collapsed": False, "input": ["answer_1 = 1"], "language": "python"}
    sheet = {"cells": [{**cell, "metadata": {}, "outputs": []}], "metadata": {}}
    raw = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [sheet]}
    assert read_raw(raw).found == {"answer_1": 1.0}


def test_a_byte_order_mark_and_strange_bytes_do_not_matter() -> None:
    content = nbformat.writes(new_notebook(cells=[code("answer_1 = 1")])).encode()
    broken = b"\xef\xbb\xbf" + content.replace(b"elsewhere", b"else\xff")
    assert read_answers(broken, NAME).found == {"answer_1": 1.0}


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"{}", b'{"nbformat": 9, "cells": []}', b"answer_1 = 1", b"[" * 5000],
    ids=lambda content: content[:12].decode(),
)
def test_what_is_no_notebook_is_said(content: bytes) -> None:
    answers = read_answers(content, NAME)
    assert answers.found == {}
    assert "save it and hand it in again" in "".join(answers.notes)


@pytest.mark.parametrize(
    "cells", [[None], [3], [{}], [{"cell_type": "code"}], [{"cell_type": "code", "source": 3}], {"a": 1}, 7], ids=repr
)
def test_cells_that_are_none_break_nothing(cells: Any) -> None:
    assert read_raw({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).found == {}


# --- the module that is made of it -----------------------------------------------------------------------------------


def run(answers: Answers) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(answers.module(), names)
    return names


def test_the_module_gives_the_answers() -> None:
    names = run(read(code("student = 'ada'"), code("example_1 = 1\nanswer_1 = 2")))
    assert (names["student"](1), names["answer"](1, "example"), names["answer"](1, "ada")) == ("ada", 1.0, 2.0)


def test_the_module_says_which_cell_is_empty() -> None:
    with pytest.raises(NotImplementedError, match=r"^N\.7 answer_7: "):
        run(Answers())["answer"](7, "ada")
    with pytest.raises(NotImplementedError, match=r"^N\.7 student: "):
        run(Answers())["student"](7)


def test_the_module_repeats_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="is not a number: work it out"):
        run(read(code("answer_7 = 6 * 7")))["answer"](7, "ada")


@pytest.mark.parametrize("said", ["'''{x}\\", '"""', "{0}", "\\n'", "a\u2028b", "'); import os; ('"])
def test_what_a_student_writes_stays_data(said: str) -> None:
    assert run(read(code(f"student = {said!r}")))["student"](1) == said.strip()


# --- the notebooks that are handed out and kept ----------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["handout", "solutions"])
def test_the_notebooks_are_valid_and_hold_no_output(folder: str) -> None:
    notebook = nbformat.read(ROOT / folder / NAME, as_version=4)
    nbformat.validate(notebook)
    identities = [cell.id for cell in notebook.cells]
    assert len(set(identities)) == len(identities)
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in codes)


def test_the_handed_out_notebook_answers_nothing() -> None:
    answers = read_answers((ROOT / "handout" / NAME).read_bytes(), NAME)
    assert ({name for name, said in answers.found.items() if said}, answers.problems) == (set(), {})


def test_the_staffs_notebook_answers_everything() -> None:
    answers = read_answers((ROOT / "solutions" / NAME).read_bytes(), NAME)
    wanted = {f"{kind}_{number}" for kind in ("example", "answer") for number in range(1, 11)}
    assert (set(answers.found), answers.problems, answers.notes) == (wanted | {"student"}, {}, [])
