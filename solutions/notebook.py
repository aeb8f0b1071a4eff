"""Builds the notebook: `python solutions/notebook.py TARGET [--answered]`.

Its questions come from `napkin_math.py`, all other cells from `napkin_lab.py`. With `--answered` it holds the answers,
for the student "reference".
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import napkin_math
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

CELL = re.compile(r"^# %%(?P<text> \[markdown\])? (?P<id>[a-z0-9-]+)$", re.MULTILINE)
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
GIVEN = """\
{numbers}

QUESTIONS = {texts}


def yours(question):
    if student:
        print(QUESTIONS[question].format(**numbers(student)))
    else:
        print("write your student id into the cell above, and run it")"""


def build(answered: bool) -> str:
    """Return the notebook as JSON: what leads to the questions, the questions, the lab."""
    cells = list(lab_cells((Path(__file__).parent / "napkin_lab.py").read_text(encoding="utf-8")))
    place = next(i for i, cell in enumerate(cells) if cell.id == "questions") + 1
    made = new_notebook(cells=[*cells[:place], *question_cells(answered), *cells[place:]], metadata=METADATA)
    nbformat.validate(made)
    return nbformat.writes(made) + "\n"


def question_cells(answered: bool) -> Iterator[nbformat.NotebookNode]:
    """Yield the cells for the student's id, the numbers, and each question with the place for its two answers."""
    student = napkin_math.student() if answered else ""
    yield new_code_cell(f"student = {student!r}  # your student id", id="student")
    asked = {
        int(name.removeprefix("answer_")): f for name, f in vars(napkin_math).items() if name.startswith("answer_")
    }
    texts = {number: inspect.getdoc(answer) for number, answer in asked.items()}
    written = "{\n" + "".join(f"    {number}: {text!r},\n" for number, text in texts.items()) + "}"
    yield new_code_cell(GIVEN.format(numbers=inspect.getsource(napkin_math.numbers), texts=written), id="numbers")
    for number, answer in asked.items():
        text = texts[number].format(**napkin_math.numbers("example"))
        yield new_markdown_cell(f"### {number}. {text}", id=f"question-{number}")
        said = [repr(answer(who)) if answered else "None" for who in ("example", student)]
        lines = [f"yours({number})  # the same question with your numbers"]
        lines += [f"example_{number} = {said[0]}", f"answer_{number} = {said[1]}"]
        yield new_code_cell("\n".join(lines), id=f"answer-{number}")


def lab_cells(source: str) -> Iterator[nbformat.NotebookNode]:
    """Yield the cells of a source in which a line `# %% id`, or `# %% [markdown] id`, leads each."""
    marks = list(CELL.finditer(source))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        body = source[mark.end() : following.start() if following else len(source)].strip("\n")
        if mark["text"]:
            yield new_markdown_cell(re.sub(r"^# ?", "", body, flags=re.MULTILINE), id=mark["id"])
        else:
            yield new_code_cell(re.sub(r"^# (?=%\w)", "", body, flags=re.MULTILINE), id=mark["id"])  # magics


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(build("--answered" in sys.argv), encoding="utf-8")
