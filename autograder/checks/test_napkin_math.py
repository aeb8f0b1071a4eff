"""The notebook: ten numbers for a napkin, each student's own."""

from __future__ import annotations

from gradescope_utils.autograder_utils.decorators import number, weight
from hypothesis import strategies as st

from autograder.agree import Agree
from autograder.judge import Case, close

TO_TWO_DIGITS = close(0.01)  # napkin arithmetic: a slip of GB for GiB is 7 % off, one of MB for MiB 5 %
LATER = "the practice numbers are right; your own are judged when you hand in"


def asks(agree: Agree, question: int) -> None:
    """Ask for the answer with everybody's practice numbers, and where it is known with the student's own."""
    student = agree.own("napkin_math.own", question=question)
    agree("napkin_math.answer", st.just(case(question, "example", "the practice numbers")), TO_TWO_DIGITS)
    if agree.live:
        mine = st.just(case(question, str(student), "your own numbers"))
        agree("napkin_math.answer", mine, TO_TWO_DIGITS, reveal=False)
    else:
        agree.note = LATER


def case(question: int, student: str, whose: str) -> Case:
    """Return a question with one student's numbers."""
    return Case(f"# napkin_math.ipynb, question {question} with {whose}", {"question": question, "student": student})


@number("N.1")
@weight(0.5)
def test_bytes(agree: Agree) -> None:
    """The bytes of a matrix, in MiB."""
    asks(agree, 1)


@number("N.2")
@weight(0.5)
def test_aliasing(agree: Agree) -> None:
    """Whether writing to one tensor changes another."""
    asks(agree, 2)


@number("N.3")
@weight(0.5)
def test_autocast(agree: Agree) -> None:
    """What dtype comes out of an operation under autocast, on a CPU."""
    asks(agree, 3)


@number("N.4")
@weight(0.5)
def test_work(agree: Agree) -> None:
    """The FLOPs of a matrix product."""
    asks(agree, 4)


@number("N.5")
@weight(0.5)
def test_time(agree: Agree) -> None:
    """The days that a training run takes."""
    asks(agree, 5)


@number("N.6")
@weight(0.5)
def test_size(agree: Agree) -> None:
    """The largest model that fits, in billions of parameters."""
    asks(agree, 6)


@number("N.7")
@weight(0.5)
def test_utilization(agree: Agree) -> None:
    """The MFU of a run that recomputes its activations."""
    asks(agree, 7)


@number("N.8")
@weight(0.5)
def test_activations(agree: Agree) -> None:
    """The bytes that one transformer layer keeps for its backward pass, in GB."""
    asks(agree, 8)


@number("N.9")
@weight(0.5)
def test_reading(agree: Agree) -> None:
    """The least milliseconds that reading all parameters takes."""
    asks(agree, 9)


@number("N.10")
@weight(0.5)
def test_carbon(agree: Agree) -> None:
    """The tonnes of CO₂ of a training run."""
    asks(agree, 10)
