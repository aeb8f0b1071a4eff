"""The notebook's answers against what torch does and what was published; its slips against its answers."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch

from tests.solutions.loading import load_solutions

napkin_math, VARIANTS = load_solutions("napkin_math")
STUDENTS = ["example", "reference", *(f"student{i}@example.edu" for i in range(400))]
QUESTIONS = range(1, 11)
TOLERANCE = 0.01


@pytest.fixture
def numbered(monkeypatch: pytest.MonkeyPatch):
    """Return a function that gives every student the same numbers."""

    def give(**numbers: object) -> None:
        monkeypatch.setattr(napkin_math, "numbers", lambda student: numbers)

    return give


def options(name: str) -> list[str]:
    return sorted({str(napkin_math.numbers(student)[name]) for student in STUDENTS})


@pytest.mark.parametrize("line", options("aliasing"))
def test_aliasing_is_what_torch_does(line: str, numbered) -> None:
    names: dict = {"torch": torch}
    exec(line, names)
    numbered(aliasing=line)
    assert napkin_math.answer_2("anybody") is names["changed"]


@pytest.mark.parametrize("line", options("autocast"))
def test_autocast_is_what_torch_does_on_a_cpu(line: str, numbered) -> None:
    a, b = torch.ones(3, 3), torch.ones(3, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        seen = eval(line, {"torch": torch, "a": a, "b": b})
    numbered(autocast=line)
    assert napkin_math.answer_3("anybody") is seen


def test_both_answers_occur_for_a_true_or_false_question() -> None:
    for question in (2, 3):
        seen = [napkin_math.answer(question, student) for student in STUDENTS]
        assert 0.2 < sum(seen) / len(seen) < 0.8


# Published, or the lecture's own: the numbers of the question, and what must come out.
@pytest.mark.parametrize(
    ("question", "numbers", "answer"),
    [
        pytest.param(1, {"rows": 49152, "columns": 12288}, 2304, id="GPT-3's feed-forward matrix in MiB, the lecture"),
        pytest.param(4, {"batch": 16384, "inputs": 32768, "outputs": 8192}, 8796.09, id="the lecture's product"),
        pytest.param(
            5, {"billions": 70, "trillions": 15, "devices": 1024, "mfu": 0.5}, 143.93, id="the lecture's 144 d"
        ),
        pytest.param(6, {"cards": 8, "gigabytes": 80}, 40, id="the lecture's 40 billion"),
        # Korthikanti et al. 2022, section 4.1: 5as/h is 80 for the 175B model.
        pytest.param(
            8, {"sequence": 2048, "hidden": 12288, "heads": 96}, 2048 * 12288 * 114 / 1e9, id="Korthikanti 175B"
        ),
        # LLaMA 1, table 15: 449 MWh and 173 t for 65B.
        pytest.param(
            10,
            {"device_hours": 1022362, "watts": 400, "pue": 1.1, "grams_per_kwh": 385},
            173,
            id="LLaMA 65B's 173 t",
        ),
        pytest.param(
            10,
            {"device_hours": 1720320, "watts": 400, "pue": 1.1, "grams_per_kwh": 385},
            291.42,
            id="Llama 2 70B's 291.42 t",
        ),
    ],
)
def test_published_numbers_come_out(question: int, numbers: dict, answer: float, numbered) -> None:
    numbered(**numbers)
    assert napkin_math.answer(question, "anybody") == pytest.approx(answer, rel=0.005)


def test_mfu_leaves_out_the_work_that_is_done_twice(numbered) -> None:
    numbered(tokens_per_second=1000)
    assert napkin_math.answer_7("anybody") == pytest.approx(6 * 8e9 * 1000 / 989.4e12)


def test_reading_a_model_takes_its_bytes_over_the_bandwidth_of_all_cards(numbered) -> None:
    numbered(billions=70)
    assert napkin_math.answer_9("anybody") == pytest.approx(140e9 / (8 * 3.35e12) * 1e3)


def answers_of(question: int, student: str) -> dict[str, float]:
    slips = {v.name: v.function(student) for v in VARIANTS if v.number == f"N.{question}"}
    return {"the answer": napkin_math.answer(question, student), **slips}


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_two_slips_look_alike_to_any_student(question: int) -> None:
    for student in STUDENTS:
        for (one, first), (other, second) in combinations(answers_of(question, student).items(), 2):
            assert abs(first - second) > 1.5 * TOLERANCE * max(abs(first), abs(second)), (student, one, other)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_neighbours_answer_is_seldom_ones_own(question: int) -> None:
    answers = [napkin_math.answer(question, student) for student in STUDENTS]
    if isinstance(answers[0], bool):
        return
    alike = sum(abs(a - b) <= TOLERANCE * abs(a) for a, b in combinations(answers, 2))
    assert alike / (len(answers) * (len(answers) - 1) / 2) < 0.3


def test_upper_case_and_spaces_make_nobody_else() -> None:
    assert napkin_math.numbers(" Ada@Example.edu ") == napkin_math.numbers("ada@example.edu")
