"""Whether the command line passes on what it is told, and its exit code says whose turn it is."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autograder import __main__ as command_line
from autograder import audit, debugging, handout
from autograder.__main__ import main
from autograder.audit import Finding
from autograder.catalogue import CatalogueError, read_checks
from autograder.grade import Watcher
from autograder.handout import HandoutError
from autograder.oracle import OracleError
from autograder.result import Feedback, Result
from autograder.sandbox.launch import SandboxError
from autograder.settings import Settings, read_settings
from tests.factories import DISAGREEMENT, make_outcome, make_result

PASSED = make_result(make_outcome("passed"))
FAILED = make_result(make_outcome("failed", feedback=DISAGREEMENT))
CHECKS = read_checks(read_settings().checks)


class FakeGrade:
    """Stands in for a grading: remembers what it was asked, tells a watcher, and gives one result."""

    def __init__(self, result: Result | BaseException) -> None:
        self.result = result
        self.asked: list[dict[str, Any]] = []

    def __call__(
        self, path: Path, settings: Settings, answers: Path, seed: int, only: str, watcher: Watcher, spawn: bool | None
    ) -> Result:
        self.asked.append({"path": path, "answers": answers, "seed": seed, "only": only, "spawn": spawn})
        if isinstance(self.result, BaseException):
            raise self.result
        watcher.updated(replace(self.result, complete=False))
        for outcome in self.result.outcomes:
            watcher.began(outcome.check)
            watcher.ended(outcome)
        watcher.updated(self.result)
        return self.result


Given = Callable[[Result | BaseException], FakeGrade]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command is given in a folder with a submission and answers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "solutions").mkdir()


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    """Makes every grading give this result."""

    def give(result: Result | BaseException) -> FakeGrade:
        fake = FakeGrade(result)
        monkeypatch.setattr(command_line, "grade", fake)
        return fake

    return give


# --- exit codes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (PASSED, 0),
        (FAILED, 0),
        (make_result(make_outcome("not judged", feedback=Feedback(message="out of time"))), 0),
        (make_result(make_outcome("passed"), make_outcome("our fault", "1.5")), 1),
        (make_result(make_outcome("our fault"), complete=False), 1),
        (make_result(make_outcome("passed"), complete=False), 130),
        (OracleError("no answers are recorded"), 1),
        (SandboxError("a worker did not start"), 1),
        (KeyboardInterrupt(), 130),
    ],
    ids=lambda given: type(given).__name__,
)
def test_the_exit_code_says_whose_fault_it_is_and_not_the_score(given: Given, result: Any, code: int) -> None:
    given(result)
    assert main(["grade", "mine"]) == code


@pytest.mark.parametrize("error", [OracleError("no answers are recorded"), SandboxError("a worker did not start")])
def test_our_fault_is_said_in_one_line(given: Given, capsys: pytest.CaptureFixture[str], error: Exception) -> None:
    given(error)
    main(["grade", "mine"])
    assert capsys.readouterr().err.splitlines()[-1] == f"our fault: {error}"


def test_unclear_checks_are_our_fault(given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(folder: Path) -> None:
        raise CatalogueError("each number belongs to one check")

    monkeypatch.setattr(command_line, "read_checks", fails)
    assert main(["grade", "mine"]) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["grade"],
        ["debug"],
        ["mark", "mine"],
        ["grade", "mine", "--seed", "lucky"],
        ["grade", "mine", "--no-such-option"],
        ["grade", "mine", "yours"],
        ["debug", "mine", "--result", "result.json"],
        ["handout", "mine"],
    ],
    ids=" ".join,
)
def test_wrong_arguments_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: python -m autograder" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["grade", "debug"])
def test_a_submission_that_is_not_there_is_a_wrong_argument(
    given: Given, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    fake = given(PASSED)
    assert main([command, "yours"]) == 2
    assert "there is no yours" in capsys.readouterr().err
    assert fake.asked == []


@pytest.mark.parametrize("only", ["99", "1.1.1", "views", "1.5z", "0"])
def test_an_only_that_names_no_check_is_a_wrong_argument(
    given: Given, capsys: pytest.CaptureFixture[str], only: str
) -> None:
    fake = given(PASSED)
    assert main(["grade", "mine", "--only", only]) == 2
    assert f"--only {only!r} names no check; {CHECKS[0].number}, " in capsys.readouterr().err
    assert fake.asked == []


@pytest.mark.parametrize("arguments", [[], ["--answers", "nowhere"]])
@pytest.mark.parametrize("command", ["grade", "debug"])
def test_answers_that_are_not_there_are_a_wrong_argument(
    given: Given, capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, arguments: list[str]
) -> None:
    fake = given(PASSED)
    (tmp_path / "solutions").rmdir()
    assert main([command, "mine", *arguments]) == 2
    assert "there are no answers to compare with: neither ./solutions nor ./recorded.bin" in capsys.readouterr().err
    assert fake.asked == []


@pytest.mark.parametrize("option", ["--result", "--gradescope"])
def test_a_result_that_cannot_be_written_is_a_wrong_argument(given: Given, option: str) -> None:
    given(PASSED)
    assert main(["grade", "mine", option, "nowhere/result.json"]) == 2


# --- what a grading is told ------------------------------------------------------------------------------------------


def test_a_grading_is_told_what_was_asked_for(given: Given) -> None:
    fake = given(PASSED)
    main(["grade", "mine", "--only", "1.4", "--seed", "7", "--answers", "solutions", "--spawn"])
    assert fake.asked == [{"path": Path("mine"), "answers": Path("solutions"), "seed": 7, "only": "1.4", "spawn": True}]


def test_a_grading_forks_where_it_can_unless_told_otherwise(given: Given) -> None:
    fake = given(PASSED)
    main(["grade", "mine"])
    assert fake.asked[0]["spawn"] is None


def test_each_grading_draws_a_seed_of_its_own(given: Given) -> None:
    fake = given(PASSED)
    for _ in range(3):
        main(["grade", "mine"])
    assert len({asked["seed"] for asked in fake.asked}) == 3


def test_a_seed_of_zero_is_a_seed(given: Given) -> None:
    fake = given(PASSED)
    main(["grade", "mine", "--seed", "0"])
    assert fake.asked[0]["seed"] == 0


@pytest.mark.parametrize(
    ("there", "expected"),
    [(["solutions", "recorded.bin"], "solutions"), (["solutions"], "solutions"), (["recorded.bin"], "recorded.bin")],
)
def test_answers_are_looked_for_here(given: Given, tmp_path: Path, there: list[str], expected: str) -> None:
    fake = given(PASSED)
    (tmp_path / "solutions").rmdir()
    for name in there:
        (tmp_path / name).mkdir() if name == "solutions" else (tmp_path / name).touch()
    main(["grade", "mine"])
    assert fake.asked[0]["answers"] == Path(expected)


# --- what is written -------------------------------------------------------------------------------------------------


def test_the_result_is_shown(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(FAILED)
    main(["grade", "mine"])
    shown = capsys.readouterr().out
    assert "1.4 reshape" in shown
    assert DISAGREEMENT.hint.split(".", maxsplit=1)[0] in shown


def test_the_result_is_written(given: Given, tmp_path: Path) -> None:
    given(FAILED)
    main(["grade", "mine", "--result", "result.json"])
    assert Result.from_json((tmp_path / "result.json").read_text()) == FAILED


def test_gradescopes_result_is_written(given: Given, tmp_path: Path) -> None:
    given(FAILED)
    main(["grade", "mine", "--gradescope", "results.json"])
    (test,) = json.loads((tmp_path / "results.json").read_text())["tests"]
    assert (test["number"], test["score"], test["max_score"], test["status"]) == ("1.4", 0, 3, "failed")


def test_a_result_is_written_before_the_first_check_has_ended(given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[str, bool]] = []
    monkeypatch.setattr(
        command_line, "write_aside", lambda path, text: written.append((path.name, json.loads(text)["complete"]))
    )
    given(PASSED)
    main(["grade", "mine", "--result", "result.json"])
    assert written == [("result.json", False), ("result.json", True)]


def test_nothing_is_written_unless_asked_for(given: Given, tmp_path: Path) -> None:
    given(PASSED)
    main(["grade", "mine"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "solutions"]


# --- debug -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def stepped(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, str, str, list[str]]]:
    """Where, through what and for which check the debugger was started, and which files it found."""
    seen = []

    def step(folder: Path, package: str, outcome: Any) -> None:
        found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py"))
        seen.append((folder, package, outcome.check.number, found))

    monkeypatch.setattr(debugging, "debug", step)
    return seen


ASKED = replace(DISAGREEMENT, ask="00", message="3 of 100 cases differ")


def test_debug_steps_through_the_first_case_that_fails(
    given: Given, stepped: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = [make_outcome("failed", n, f) for n, f in (("1.1", DISAGREEMENT), ("1.4", ASKED), ("1.5", ASKED))]
    given(make_result(*outcomes))
    (tmp_path / "mine" / "napkin").mkdir()
    (tmp_path / "mine" / "napkin" / "views.py").touch()
    assert main(["debug", "mine"]) == 0
    assert stepped == [((tmp_path / "mine").resolve(), "napkin", "1.4", ["napkin/views.py"])]
    assert "1.4 reshape: 3 of 100 cases differ" in capsys.readouterr().out


def test_debug_unpacks_an_archive(given: Given, stepped: list[Any], tmp_path: Path) -> None:
    given(make_result(make_outcome("failed", "1.4", ASKED)))
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as archive:
        archive.writestr("napkin/views.py", "x = 1\n")
    assert main(["debug", "mine.zip"]) == 0
    ((folder, _, _, found),) = stepped
    assert found == ["napkin/views.py"]
    assert not folder.exists()


def test_debug_steps_through_a_module_alone(given: Given, stepped: list[Any], tmp_path: Path) -> None:
    given(make_result(make_outcome("failed", "1.4", ASKED)))
    (tmp_path / "views.py").write_text("x = 1\n")
    assert main(["debug", "views.py"]) == 0
    assert stepped[0][-1] == ["napkin/views.py"]


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (make_outcome("passed"), "nothing to step through: every case agrees"),
        (make_outcome("failed", feedback=Feedback(message="not implemented yet")), "not implemented yet"),
    ],
)
def test_debug_says_why_there_is_nothing_to_step_through(
    given: Given, stepped: list[Any], capsys: pytest.CaptureFixture[str], outcome: Any, said: str
) -> None:
    given(make_result(outcome))
    assert main(["debug", "mine"]) == 0
    assert said in capsys.readouterr().out
    assert stepped == []


# --- the staff's commands --------------------------------------------------------------------------------------------


def test_handout_names_what_it_wrote(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(handout, "write_handout", lambda solutions, there, policy: [there / "napkin" / "views.py"])
    assert main(["handout", "--handout", "there"]) == 0
    assert capsys.readouterr().out == f"{Path('there/napkin/views.py')}\n"


def test_a_handout_that_cannot_be_made_is_our_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> None:
        raise HandoutError("views.py:3: a marker stands in a function")

    monkeypatch.setattr(handout, "write_handout", fails)
    assert main(["handout"]) == 1
    assert "our fault: views.py:3: a marker stands in a function" in capsys.readouterr().err


@pytest.mark.parametrize(("trouble", "code"), [("", 0), ("is not caught: passed", 1)])
def test_an_audit_that_finds_a_fault_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], trouble: str, code: int
) -> None:
    findings = [
        Finding("1.1", "the reference", "reference", "live", ""),
        Finding("1.4", "copies", "x", "live", trouble),
    ]
    monkeypatch.setattr(audit, "audit", lambda *_: iter(findings))
    assert main(["audit", "--seed", "7"]) == code
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "seed 7"
    assert shown[-1] == f"2 findings, {code} faults"
