"""What a student reads in a terminal, in a log, and on a narrow screen."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from autograder.render.terminal import PAGE, Progress, open_console, render_terminal
from autograder.result import Feedback, Result
from tests.factories import DISAGREEMENT, QUESTION, SENTENCE, make_outcome, make_result, unwritten

HOSTILE = "\x1b[2J\x1b]0;owned\x07 [red]PASSED[/red] [link=http://evil]x[/link] <b>\u202e\u200b\ud800\x00 :smile:"
EVERYWHERE = Feedback(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, (HOSTILE,), HOSTILE, HOSTILE, HOSTILE)
FAILED = make_outcome("failed", feedback=DISAGREEMENT)
DIAGONAL = make_outcome(number="1.6", name="diagonal", points=2.0)


def page(result: Result, width: int = PAGE, colours: bool = False) -> str:
    """Return what a grading prints to a file, or to a terminal with colours."""
    file = io.StringIO()
    system: Any = "truecolor" if colours else None
    console = Console(file=file, width=width, force_terminal=colours, color_system=system, no_color=False)
    render_terminal(result, console)
    return file.getvalue()


def test_full_marks_are_a_table_and_a_total() -> None:
    rows = page(make_result(make_outcome(), DIAGONAL)).splitlines()
    assert rows == [
        "2 checks in 12.3 s",
        "",
        "     views     5 / 5",
        "1.4  reshape   3 / 3  ✓",
        "1.6  diagonal  2 / 2  ✓",
        "",
        "total 5 / 5",
        "Compared with recorded answers to stored cases; what you hand in is also asked fresh cases.",
        "seed 123 repeats this grading: make grade SEED=123",
    ]


def test_a_failed_check_is_told_as_the_design_shows() -> None:
    shown = page(make_result(FAILED))
    assert "1.4  reshape  0 / 3  ✗ failed\n" in shown
    assert f"\n1.4 reshape{'0 / 3':>89}\n  {SENTENCE}\n    View(" in shown
    assert "\n    expected  None\n    got       View(shape=(6,), stride=(1,), offset=0)\n  hint  Every view" in shown


def test_a_partial_check_shows_its_points() -> None:
    shown = page(make_result(make_outcome("partial", feedback=Feedback(message="7 of 9 cases agree"), earned=1.5)))
    assert "reshape  1.5 / 3  ~ partial\n" in shown
    assert "\n  7 of 9 cases agree\n" in shown


def test_a_check_that_was_not_judged_has_a_dash_a_reason_and_a_place_in_the_total() -> None:
    unjudged = make_outcome("not judged", "G.1", Feedback(message="needs a CUDA device"), part="gpu", points=4.0)
    shown = page(make_result(make_outcome(), unjudged))
    assert "     gpu      - / 4\nG.1  reshape  - / 4  ? not judged: needs a CUDA device\n" in shown
    assert "\n  NOT JUDGED: needs a CUDA device. This is no verdict on your code.\n" in shown
    assert "\ntotal 3 / 7\n3 / 3 of what was judged; 4 points were not: G.1\n" in shown


def test_one_reason_for_many_is_given_once() -> None:
    message = Feedback(message="needs a CUDA device")
    shown = page(make_result(*(make_outcome("not judged", f"G.{i}", message) for i in range(1, 4))))
    assert shown.count("NOT JUDGED: needs a CUDA device") == 1
    assert "\n3 checks, one cause:\n" in shown
    assert "\n  G.1\u00a0reshape, G.2\u00a0reshape, G.3\u00a0reshape\n" in shown


def test_our_fault_reads_as_ours_and_reaches_the_staff() -> None:
    broken = make_outcome("our fault", feedback=Feedback(message="the reference died with signal 9"))
    shown = page(make_result(broken, staff_notes=("Landlock is not available",)))
    assert "1.4  reshape  - / 3  ! our fault\n" in shown
    assert "OUR FAULT, not yours: the grader broke down on this check. We are sorry." in shown
    assert "What broke: the reference died with signal 9" in shown
    assert "\nFor the staff\n  - Landlock is not available\n" in shown
    assert "\nThe grader broke down, which is our fault, not yours: please send this page to the staff.\n" in shown


def test_a_live_grading_where_nothing_broke_speaks_of_no_recording_and_to_no_staff() -> None:
    shown = page(make_result(make_outcome(), oracle="live", staff_notes=("Landlock is not available",)))
    assert shown.endswith("\n\ntotal 3 / 3\nseed 123 repeats this grading: make grade SEED=123\n")


def test_an_accepted_variant_earns_a_note() -> None:
    shown = page(make_result(make_outcome(feedback=Feedback(note="eps stands outside the root."))))
    assert f"\n1.4 reshape{'3 / 3':>89}\n  note  eps stands outside the root.\n" in shown
    assert SENTENCE not in shown


def test_notes_about_the_submission_are_listed() -> None:
    shown = page(make_result(make_outcome(), notes=("napkin/optim.py is missing",)))
    assert "\nAbout your submission\n  - napkin/optim.py is missing\n" in shown


def test_untouched_stubs_are_two_lines_each() -> None:
    stubs = [unwritten(f"1.{i}", f"name{i}", f"question {i}?") for i in range(1, 10)]
    shown = page(make_result(*stubs, make_outcome("failed", "2.1", DISAGREEMENT)))
    assert "\n9 checks meet code that is not written yet:\n1.1 name1 " in shown
    assert f"\n1.9 name9{'0 / 3':>91}\n  not implemented yet: question 9?\n  again make grade ONLY=1.1 " in shown
    assert shown.index("question 9?") < shown.index("expected  None")  # what is in the works stands last


def test_a_few_stubs_are_told_in_full() -> None:
    shown = page(make_result(unwritten()))
    assert f"\n  {SENTENCE}\n  NotImplementedError: 1.4 reshape: {QUESTION}\n" in shown


def test_one_trouble_of_many_checks_is_told_once() -> None:
    said = Feedback(message="napkin/views.py does not import", trace=("napkin/views.py, line 3",))
    shown = page(make_result(*(make_outcome("failed", f"1.{i}", said) for i in range(1, 10))))
    assert "\n9 checks, one cause:\n  napkin/views.py does not import\n    trace     napkin/views.py, line 3\n" in shown
    assert shown.count("does not import") == 1


def test_one_check_asked_for_is_all_there_is() -> None:
    others = [make_outcome("not judged", f"2.{i}", Feedback(message="not asked for"), part="dtypes") for i in range(3)]
    shown = page(make_result(make_outcome(), *others))
    assert shown.startswith("1 check in ")
    assert "dtypes" not in shown
    assert "not judged" not in shown
    assert "\n1.4: 3 / 3   (only this check was asked for; make grade runs all 4)\n" in shown


def test_a_grading_that_did_not_end_says_so() -> None:
    shown = page(make_result(make_outcome(), complete=False))
    assert shown.startswith("1 check in 12.3 s, not ended: what is missing was not judged\n")


@pytest.mark.parametrize("width", [40, 60, PAGE])
def test_nothing_is_wider_than_the_page(width: int) -> None:
    unjudged = make_outcome(
        "not judged", "G.1", Feedback(message="needs a CUDA device " * 5), name="a rather long name"
    )
    wide = make_outcome("failed", "2.1", Feedback(got="日本語 " * 40, hint="why " * 50), name="連続")
    shown = page(make_result(wide, unjudged, notes=("word " * 50,)), width)
    assert max(map(cell_len, shown.splitlines())) <= width


def test_columns_stand_under_each_other_with_wide_characters() -> None:
    rows = page(make_result(make_outcome(name="連続 check"), DIAGONAL)).splitlines()
    slashes = {cell_len(row.split(" / ")[0]) for row in rows[2:5]}
    assert len(slashes) == 1


def test_columns_stand_under_each_other_whatever_the_points() -> None:
    points = (10.0, 2.5, 1.0)
    rows = page(make_result(*(make_outcome(number=f"1.{i}", points=p) for i, p in enumerate(points)))).splitlines()
    assert len({row.index(" / ") for row in rows[2:6]}) == 1
    assert not [row for row in rows if row != row.rstrip()]


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    shown = page(make_result(make_outcome("failed", feedback=EVERYWHERE), notes=(HOSTILE,)))
    assert not set(shown) & set("\x1b\x00\x07\u202e\u200b\ud800")
    assert (
        " ".join(shown.split()).count(
            " [red]PASSED[/red] [link=http://evil]x[/link] <b>\\u202e\\u200b\\ud800\\x00 :smile:"
        )
        == 10
    )


def test_a_terminal_is_sent_no_sequence_but_ours() -> None:
    shown = page(make_result(make_outcome("failed", feedback=EVERYWHERE), notes=(HOSTILE,)), colours=True)
    assert "\x1b[31m" in shown
    assert "\x1b[2J" not in shown
    assert "\x1b]" not in shown


def test_huge_text_leaves_a_page_that_can_be_read() -> None:
    said = Feedback(code="x" * 10_000_000, got="y\n" * 1_000_000, output="z" * 10_000_000)
    shown = page(make_result(make_outcome("failed", feedback=said)))
    assert len(shown) < 20_000
    assert shown.count("characters left out") == 3


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_file_gets_100_columns_of_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "30")
    file = io.StringIO()
    render_terminal(make_result(FAILED), open_console(file))
    assert f"1.4 reshape{'0 / 3':>89}" in file.getvalue()
    assert "\x1b" not in file.getvalue()


def test_a_terminal_gets_colours_unless_it_asks_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured, uncoloured = _Terminal(), _Terminal()
    render_terminal(make_result(FAILED), open_console(coloured))
    monkeypatch.setenv("NO_COLOR", "1")
    render_terminal(make_result(FAILED), open_console(uncoloured))
    assert "\x1b[31m" in coloured.getvalue()
    assert "\x1b[31m" not in uncoloured.getvalue()


def test_an_old_code_page_gets_a_report_and_no_crash() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii", newline="\n")
    render_terminal(make_result(make_outcome(name="連続"), FAILED), open_console(file))
    file.flush()
    shown = raw.getvalue().decode("ascii")
    assert "  3 / 3  +\n" in shown
    assert "  0 / 3  x failed\n" in shown
    assert "\\u9023\\u7d9a" in shown


def test_a_log_gets_one_line_for_each_check_as_it_ends() -> None:
    file = io.StringIO()
    with Progress(open_console(file)) as progress:
        progress.start([FAILED.check, DIAGONAL.check])
        progress.outcome(FAILED)
        assert file.getvalue() == "[1/2] 1.4 reshape: failed (0.2 s)\n"
        progress.outcome(DIAGONAL)
    assert file.getvalue().endswith("\n[2/2] 1.6 diagonal: passed (0.2 s)\n")


def test_a_terminal_shows_the_check_that_runs_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    file = _Terminal()
    with Progress(open_console(file)) as progress:
        progress.start([FAILED.check, DIAGONAL.check])
        progress.outcome(FAILED)
    assert all(shown in file.getvalue() for shown in ("1.4 reshape", "1.6 diagonal", "1/2"))


def test_a_check_that_was_not_to_run_does_not_count() -> None:
    file = io.StringIO()
    with Progress(open_console(file)) as progress:
        progress.start([FAILED.check])
        progress.outcome(make_outcome("not judged", "2.1", Feedback(message="not asked for")))
    assert file.getvalue() == ""


def test_a_grading_that_breaks_before_it_starts_leaves_the_terminal_alone() -> None:
    file = _Terminal()
    with pytest.raises(KeyboardInterrupt), Progress(open_console(file)):
        raise KeyboardInterrupt
    assert "1.4" not in file.getvalue()
