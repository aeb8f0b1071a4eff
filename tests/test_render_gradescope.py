"""Whether Gradescope is told everything, students nothing that is not theirs to see, and the file keeps its size."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from autograder.render.gradescope import render_gradescope
from autograder.result import Feedback, Outcome, Result
from tests.factories import DISAGREEMENT, SENTENCE, make_outcome, make_result, unwritten

SCHEMA = json.loads(files("autograder.render").joinpath("gradescope.schema.json").read_text(encoding="utf-8"))
CONTRACT = Draft202012Validator(SCHEMA)
HOSTILE = "\x1b[2J\x1b]0;owned\x07 [red]PASSED[/red] <script>alert(1)</script> \u202e\u200b\ud800\x00\r"
UNJUDGED = make_outcome("not judged", "G.1", Feedback(message="needs a CUDA device"), points=4.0)
BROKEN = make_outcome("our fault", "3.3", Feedback(message="the reference died"))
FAILED = make_outcome("failed", feedback=DISAGREEMENT)
HIDDEN = make_outcome("not judged", "9.1", Feedback(message="a secret reason"), visibility="after_published")
PARTIAL = make_outcome("partial", earned=4 / 3)
NOT_ASKED = make_outcome("not judged", feedback=Feedback(message="not asked for"))


def rendered(*outcomes: Outcome, **fields: Any) -> dict[str, Any]:
    """Return what Gradescope is given, seen to be what its contract asks for."""
    contents = render_gradescope(make_result(*outcomes, **fields))
    CONTRACT.validate(contents)
    return contents


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("outcome", [make_outcome(), FAILED, PARTIAL, UNJUDGED, BROKEN, HIDDEN, unwritten(), NOT_ASKED])
@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("oracle", ["live", "recorded"])
def test_every_kind_of_result_keeps_the_contract(outcome: Outcome, complete: bool, oracle: str) -> None:
    contents = rendered(outcome, complete=complete, oracle=oracle)
    json.dumps(contents, allow_nan=False, ensure_ascii=False).encode("utf-8")


def test_a_result_without_checks_keeps_the_contract() -> None:
    assert rendered()["tests"] == []


@pytest.mark.parametrize(
    "contents",
    [
        {},
        {"tests": [{"name": "no score"}]},
        {"score": 1, "surprise": 1},
        {"score": -1},
        {"score": "1"},
        {"score": 1, "execution_time": "0.12"},
        {"score": 1, "output": "a\r\nb"},
        {"score": 1, "output_format": "markdown"},
        {"score": 1, "stdout_visibility": "never"},
        {"score": 1, "leaderboard": [{"name": "MFU"}]},
        {"score": 1, "leaderboard": [{"name": "MFU", "value": 0.5, "order": "down"}]},
        {"tests": [{"score": 1, "status": "skipped"}]},
        {"tests": [{"score": 1, "execution_time": 1}]},
        {"tests": [{"score": 1, "tags": "gpu"}]},
    ],
)
def test_the_schema_refuses_what_the_contract_does(contents: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CONTRACT.validate(contents)


@pytest.mark.parametrize(
    "contents",
    [
        {"score": 1},
        {"score": 1, "tests": [{"name": "information only", "status": "passed"}]},
        {"tests": [{"score": 0}], "leaderboard": [{"name": "MFU", "value": 0.5, "order": "asc"}]},
        {"tests": [{"score": 1, "max_score": 1, "name_format": "md", "output_format": "ansi", "extra_data": {}}]},
    ],
)
def test_the_schema_takes_what_the_contract_does(contents: dict[str, Any]) -> None:
    CONTRACT.validate(contents)


def test_a_check_is_a_test_with_its_number_name_and_points() -> None:
    outcome = make_outcome("passed", tags=("cpu",), visibility="after_due_date")
    assert rendered(outcome)["tests"] == [
        {
            "number": "1.4",
            "name": "1.4 reshape",
            "score": 3.0,
            "max_score": 3.0,
            "status": "passed",
            "output": f"  {SENTENCE}",
            "visibility": "after_due_date",
            "tags": ["cpu"],
        }
    ]


def test_a_failed_check_shows_what_the_terminal_shows() -> None:
    test = rendered(FAILED)["tests"][0]
    assert (test["score"], test["status"]) == (0.0, "failed")
    assert "\n    expected  None\n    got       View(" in test["output"]
    assert test["output"].endswith("\n  again make grade ONLY=1.4      step through it: make debug ONLY=1.4")


def test_a_partial_check_has_not_passed_and_keeps_its_points() -> None:
    test = rendered(PARTIAL)["tests"][0]
    assert (test["score"], test["status"]) == (1.3333, "failed")


def test_a_check_that_was_not_judged_keeps_its_points_in_the_total_and_says_why() -> None:
    test = rendered(UNJUDGED)["tests"][0]
    assert (test["score"], test["max_score"], test["status"]) == (0.0, 4.0, "failed")
    assert "NOT JUDGED: needs a CUDA device. This is no verdict on your code." in test["output"]


def test_our_fault_is_said_in_the_check() -> None:
    assert "OUR FAULT, not yours" in rendered(BROKEN)["tests"][0]["output"]


def test_the_overview_tells_the_total_the_gaps_the_notes_and_the_commands() -> None:
    contents = rendered(make_outcome(number="1.1"), FAILED, UNJUDGED, BROKEN, notes=("napkin/optim.py is missing",))
    assert contents["output"].split("\n") == [
        "total 3 / 13",
        "NOT JUDGED, 4 points: G.1 (needs a CUDA device)",
        "NOT JUDGED, 3 points: 3.3 (our fault, please tell the staff)",
        "note  napkin/optim.py is missing",
        "again make grade      one check alone: make grade ONLY=1.4",
    ]


def test_full_marks_need_few_words() -> None:
    assert rendered(make_outcome())["output"] == "total 3 / 3\nagain make grade"


def test_a_grading_that_did_not_end_says_so_first() -> None:
    said = "This grading did not end. What it did not reach was not judged, which is no verdict on your code."
    assert rendered(UNJUDGED, complete=False)["output"].startswith(said)


def test_checks_that_are_not_visible_do_not_show_in_the_overview() -> None:
    hidden_failure = make_outcome("failed", "9.2", visibility="hidden", points=50.0)
    contents = rendered(make_outcome(), HIDDEN, hidden_failure)
    assert contents["output"] == "total 3 / 3   (of the checks shown here)\nagain make grade"
    assert len(contents["tests"]) == 3


def test_the_seed_and_the_notes_of_the_staff_are_stored_and_not_shown() -> None:
    contents = rendered(FAILED, BROKEN, seed=987654, staff_notes=("Landlock is off",), versions={"torch": "2.13"})
    assert contents["extra_data"] == {
        "seed": 987654,
        "oracle": "recorded",
        "complete": True,
        "versions": {"torch": "2.13"},
        "seconds": {"1.4": 0.25, "3.3": 0.25},
        "staff_notes": ["Landlock is off"],
    }
    shown = contents["output"] + "".join(test["output"] for test in contents["tests"])
    assert "987654" not in shown
    assert "Landlock" not in shown


def test_everything_is_plain_text_and_the_stream_of_the_grader_hidden() -> None:
    contents = rendered(FAILED)
    formats = [contents[name] for name in ("output_format", "test_output_format", "test_name_format")]
    assert formats == ["text"] * 3
    assert contents["stdout_visibility"] == "hidden"
    assert contents["execution_time"] == 12.34
    assert "score" not in contents


def _hostile(text: str, checks: int) -> Result:
    said = Feedback(text, text, text, text, text, (text,) * 3, text, text, text)
    outcomes = [make_outcome("failed", f"1.{i}", said) for i in range(checks)]
    return make_result(*outcomes, notes=(text,) * 30, staff_notes=(text,) * 30, versions={"torch": text})


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    contents = render_gradescope(_hostile(HOSTILE, 1))
    CONTRACT.validate(contents)
    texts = [contents["output"], contents["tests"][0]["output"], *contents["extra_data"]["staff_notes"]]
    assert not set("".join(texts)) & set("\x1b\x07\x00\r\u202e\u200b\ud800")
    assert "<script>alert(1)</script> \\u202e\\u200b\\ud800\\x00" in contents["tests"][0]["output"]


@pytest.mark.parametrize("letter", ["x", "\n", "😀", "\u202e", "\ud800", '"', "日 \n"])
def test_200_checks_with_huge_outputs_stay_under_1_mb(letter: str) -> None:
    contents = render_gradescope(_hostile(letter * 100_000, 200))
    CONTRACT.validate(contents)
    assert len(json.dumps(contents, indent=1)) < 1_000_000


def test_what_is_cut_keeps_the_sentence_and_the_command() -> None:
    output = render_gradescope(_hostile("😀" * 10_000, 200))["tests"][0]["output"]
    assert output.startswith(f"  {SENTENCE}")
    assert "characters left out" in output
    assert output.endswith("make debug ONLY=1.0")


def test_more_notes_than_a_page_holds_are_counted() -> None:
    assert "\nnote  1 more note\n" in rendered(make_outcome(), notes=("a note",) * 21)["output"]
