"""Looks at the notebook: what it says is the answer to a question. No code of the student's is run for that."""

from __future__ import annotations

from typing import Any


def own(napkin_math: Any, question: int) -> Any:
    """See whose numbers the notebook answers, once it has both answers to the question."""
    student = napkin_math.student(question)
    for whose in ("example", student):
        napkin_math.answer(question, whose)
    return student


def answer(napkin_math: Any, question: int, student: str) -> Any:
    """See the answer to a question with one student's numbers."""
    return napkin_math.answer(question, student)
