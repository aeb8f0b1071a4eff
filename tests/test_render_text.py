"""Whether text from students stays data, and each field of a check's feedback has its one place."""

from __future__ import annotations

import time
import unicodedata

import pytest

from autograder.render.text import (
    alike,
    asked_for,
    feedback_lines,
    harmless,
    judged,
    plain,
    reason,
    stub_question,
    total,
)
from autograder.result import Feedback, Outcome
from tests.factories import DISAGREEMENT, QUESTION, SENTENCE, make_outcome, make_result, unwritten

NOT_ASKED = make_outcome("not judged", "1.5", Feedback(message="not asked for"))


def layout(outcome: Outcome, width: int = 100) -> str:
    """Return a check's feedback as a reader without colours sees it."""
    return plain(feedback_lines(outcome), width)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("日本語 é 😀 <b>[red]x[/red]", "日本語 é 😀 <b>[red]x[/red]"),
        ("\x1b[1;31mPASSED\x1b[0m", "PASSED"),
        ("\x1b[\x1b[0m31mred", "\\x1b[31mred"),  # what is left when one sequence goes is no sequence either
        ("\x1b]8;;http://evil\x07link", "\\x1b]8;;http://evil\\x07link"),
        ("\x9b31m nul\x00 bell\x07", "\\x9b31m nul\\x00 bell\\x07"),
        ("10%\r20%\r\nend", "10%\n20%\nend"),
        ("\x0b\x0c\x85\u2028\u2029", "\\x0b\\x0c\\x85\\u2028\\u2029"),
        ("\u202e001\u2066\u200b\ufeff", "\\u202e001\\u2066\\u200b\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800 and \udfff", "\\ud800 and \\udfff"),
        ("\u3164\u2800", "\\u3164\\u2800"),
        ("e\u0301 a" + "\u0301" * 5, "e\u0301 a\u0301\u0301\u0301\\u0301\\u0301"),
    ],
)
def test_text_says_only_what_it_says(text: str, shown: str) -> None:
    assert harmless(text) == shown


def test_no_character_that_is_not_seen_survives() -> None:
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    every = "".join(char for char in map(chr, range(0x110000)) if unicodedata.category(char) in hidden)
    assert len(every) > 2000
    assert set(harmless(every, 10 * len(every))) <= set("\n\t\\Uuxr0123456789abcdef")


def test_harmless_text_stays_as_it_is() -> None:
    once = harmless("\x1b[0m\u202e\r\ud800" * 10)
    assert harmless(once) == once


def test_a_line_of_10_mb_keeps_head_and_tail_and_costs_no_time() -> None:
    start = time.perf_counter()
    shown = harmless("head" + "\x1b" * 10_000_000 + "tail", max_chars=100)
    assert time.perf_counter() - start < 1  # a hundred times what it takes; reading it all takes seconds
    assert shown.startswith("head\\x1b")
    assert shown.endswith("tail")
    assert " characters left out … " in shown
    assert len(shown) < 150


def test_a_million_lines_keep_the_first_and_the_last() -> None:
    shown = harmless("first\n" + "x\n" * 1_000_000 + "last", max_chars=1000, max_lines=6)
    rows = shown.split("\n")
    assert rows[:3] == ["first", "x", "x"]
    assert rows[-3:] == ["x", "x", "last"]
    assert rows[3].startswith("… 1,999,993 ")
    assert len(rows) == 7


def test_what_is_left_out_is_counted() -> None:
    assert harmless("0123456789" * 10, max_chars=10) == "01234 … 90 characters left out … 56789"
    assert harmless("0123456789" * 100, max_chars=10) == "01234 … 990 characters left out … 56789"


def test_text_at_its_limits_is_whole() -> None:
    assert harmless("x" * 50, max_chars=50) == "x" * 50
    assert harmless("x\n" * 4 + "x", max_lines=5) == "x\n" * 4 + "x"


def test_a_failed_check_is_laid_out_as_the_design_shows() -> None:
    assert layout(make_outcome("failed", feedback=DISAGREEMENT)).split("\n") == [
        "  Reshape gives the new strides where a view can, and None where only a copy could.",
        "    View(shape=(3, 2), stride=(1, 3), offset=0).reshape((6,))",
        "    expected  None",
        "    got       View(shape=(6,), stride=(1,), offset=0)",
        "  hint  Every view is treated as contiguous. Which neighbouring dims can merge here?",
        "  again make grade ONLY=1.4      step through it: make debug ONLY=1.4",
    ]


def test_every_field_of_the_feedback_is_shown_in_order() -> None:
    said = Feedback(
        "message", "code", "expected", "got", "where", ("outer", "inner"), "printed\nmore\n", "hint", "note"
    )
    assert layout(make_outcome("partial", feedback=said)).split("\n")[1:-1] == [
        "  message",
        "    code",
        "    expected  expected",
        "    got       got",
        "    where     where",
        "    trace     outer",
        "              inner",
        "    printed   printed",
        "              more",
        "  hint  hint",
        "  note  note",
    ]


def test_a_passed_check_needs_no_command() -> None:
    assert layout(make_outcome("passed", feedback=Feedback(note="Another convention."))).split("\n") == [
        f"  {SENTENCE}",
        "  note  Another convention.",
    ]


def test_a_check_that_was_not_judged_says_why_and_that_it_is_no_verdict() -> None:
    shown = layout(make_outcome("not judged", feedback=Feedback(message="needs a CUDA device.")))
    assert "  NOT JUDGED: needs a CUDA device. This is no verdict on your code.\n" in shown


def test_a_check_that_was_not_judged_never_lacks_a_reason() -> None:
    assert "NOT JUDGED: no reason was given." in layout(make_outcome("not judged"))


def test_our_fault_apologises_keeps_the_points_and_names_who_must_know() -> None:
    shown = layout(make_outcome("our fault", feedback=Feedback(message="the reference died")), width=200)
    assert "  OUR FAULT, not yours: the grader broke down on this check. We are sorry. " in shown
    assert "Its points are not lost: please tell the staff, who will mend it and grade it again.\n" in shown
    assert "  What broke: the reference died\n" in shown
    assert "What broke" not in layout(make_outcome("our fault"))


def test_long_prose_hangs_under_itself() -> None:
    shown = layout(make_outcome("failed", feedback=Feedback(hint="two words " * 10)), width=50).split("\n")
    start = shown.index("  hint  two words two words two words two words")
    assert shown[start + 1].startswith("        two")


def test_wide_characters_are_counted_as_wide() -> None:
    shown = layout(make_outcome("failed", feedback=Feedback(got="日本" * 10)), width=34).split("\n")
    start = shown.index("    got       " + "日本" * 5)
    assert shown[start + 1] == " " * 14 + "日本" * 5


def test_code_is_never_broken_and_a_long_answer_cannot_reach_the_margin() -> None:
    said = Feedback(code="f(" + "1, " * 60 + ")", got="x" * 86 + "total 100 / 100")
    shown = layout(make_outcome("failed", feedback=said)).split("\n")
    assert "    f(" + "1, " * 60 + ")" in shown
    assert not [row for row in shown if row.startswith("total")]


def test_commands_stay_whole_on_a_narrow_page() -> None:
    assert layout(make_outcome("failed"), width=50).split("\n")[-2:] == [
        "  again make grade ONLY=1.4",
        "        step through it: make debug ONLY=1.4",
    ]


def test_tabs_take_the_columns_that_they_seem_to() -> None:
    assert "    printed   a   b" in layout(make_outcome("failed", feedback=Feedback(output="a\tb")))


def test_a_reason_fits_a_row() -> None:
    assert reason(make_outcome("not judged", feedback=Feedback(message="out\nof  time\x00."))) == "out of time\\x00"
    assert len(reason(make_outcome("not judged", feedback=Feedback(message="x" * 1000)))) < 250


@pytest.mark.parametrize(
    "said",
    [
        Feedback(message=f"NotImplementedError: 1.4 reshape: {QUESTION}"),
        Feedback(message=f"not implemented yet: {QUESTION}"),
        Feedback(message="It raised.", got=f"NotImplementedError('1.4 reshape: {QUESTION}')"),
    ],
)
def test_a_stub_is_known_by_its_question(said: Feedback) -> None:
    assert stub_question(make_outcome("failed", feedback=said)) == QUESTION


def test_other_troubles_are_no_stub() -> None:
    assert stub_question(make_outcome("failed", feedback=DISAGREEMENT)) is None
    assert stub_question(make_outcome("passed", feedback=Feedback(got="NotImplementedError: x"))) is None


def test_checks_are_alike_when_many_have_one_cause() -> None:
    stubs = [unwritten(f"1.{i}") for i in range(4)]
    torn = [make_outcome("failed", f"2.{i}", Feedback(message="napkin/dtypes.py does not import")) for i in range(3)]
    assert alike([*stubs, *torn], many=3) == [stubs]
    assert alike([*stubs, *torn], many=2) == [stubs, torn]


def test_two_checks_not_judged_for_one_reason_are_alike() -> None:
    unjudged = [make_outcome("not judged", f"G.{i}", Feedback(message="needs a CUDA device")) for i in range(2)]
    assert alike(unjudged, many=8) == [unjudged]
    assert alike(unjudged[:1], many=8) == []


def test_checks_that_passed_are_never_alike() -> None:
    assert alike([make_outcome() for _ in range(20)], many=8) == []


def test_what_was_not_asked_for_is_set_apart() -> None:
    unjudged = make_outcome("not judged", feedback=Feedback(message="needs a CUDA device"))
    assert asked_for([unjudged, NOT_ASKED]) == [unjudged]


@pytest.mark.parametrize(
    ("outcomes", "line"),
    [
        ([make_outcome(), make_outcome("failed", "1.6", points=2.5)], "total 3 / 5.5"),
        ([make_outcome(), NOT_ASKED], "1.4: 3 / 3   (only this check was asked for; make grade runs all 2)"),
        (
            [make_outcome(number="1.4a"), make_outcome("partial", "1.4b", earned=4 / 3), NOT_ASKED],
            "1.4a, 1.4b: 4.33 / 6   (only these 2 checks were asked for; make grade runs all 3)",
        ),
        (
            [*(make_outcome(number=f"1.{i}") for i in range(6)), NOT_ASKED],
            "6 checks: 18 / 18   (only these 6 checks were asked for; make grade runs all 7)",
        ),
        ([NOT_ASKED], "no check was asked for; make grade runs all 1"),
    ],
)
def test_the_total_is_of_what_was_asked_for(outcomes: list[Outcome], line: str) -> None:
    assert total(make_result(*outcomes)) == line


def test_points_that_nobody_judged_are_named() -> None:
    outcomes = [make_outcome(), make_outcome("not judged", "G.1", points=4.0), make_outcome("our fault", "G.2")]
    assert judged(outcomes) == "3 / 3 of what was judged; 7 points were not: G.1, G.2"
