"""Whole submissions, as students and attackers hand them in: each gets its outcome, and nothing of it is left."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from autograder.__main__ import main
from autograder.catalogue import read_checks, selects
from autograder.grade import grade
from autograder.render.gradescope import render_gradescope
from autograder.result import Outcome, Result
from tests.submissions import zoo
from tests.submissions.zoo import POLICY, RECORDED, ROOT, SEED, SOLUTIONS, Graded

CHECKS = read_checks(POLICY.checks)
TOTAL = 68.0  # points of the whole manifest, counted by hand
NAMES = sorted(path.parent.name for path in zoo.HERE.glob("*/expected.toml"))
# Those that have something to be written: a check can be about several exercises of its part.
ASKED = {
    number
    for path in (SOLUTIONS / "napkin").glob("*.py")
    for number in re.findall(r"# exercise ([0-9.]+):", path.read_text())
}
EXERCISES = sorted({check.exercise for check in CHECKS} & ASKED)
CONTRACT = Draft202012Validator(json.loads(files("autograder.render").joinpath("gradescope.schema.json").read_text()))
GONE_S = 3.0  # after which nothing of a killed grader is alive

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks for what is left in /proc")
each_entry = pytest.mark.parametrize("name", NAMES)


@dataclass(frozen=True)
class Gradings:
    """Gradings under way, in processes of their own."""

    folder: Path
    entries: dict[str, Future[Graded]]
    solved: dict[str, Future[list[Result]]]


@pytest.fixture(scope="module")
def gradings(request: pytest.FixtureRequest) -> Iterator[Gradings]:
    """Begin to grade whatever the selected tests will ask for."""
    asked = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    names = dict.fromkeys(params["name"] for params in asked if params.get("name") in NAMES)
    exercises = dict.fromkeys(params["exercise"] for params in asked if "exercise" in params)
    folder = Path(tempfile.mkdtemp(prefix="zoo-"))
    folder.chmod(0o755)
    # From a cold disk torch takes longer than a grading may; that is no submission's doing.
    subprocess.run([sys.executable, "-I", "-c", "import torch"], check=True)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor((os.cpu_count() or 1) + 1, mp_context=context) as pool:  # some of them only wait
        entries = {name: pool.submit(zoo.grade_entry, name, folder) for name in names}
        solved = {exercise: pool.submit(zoo.grade_solved, exercise, folder) for exercise in exercises}
        yield Gradings(folder, entries, solved)
        pool.shutdown(cancel_futures=True)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def graded(name: str, gradings: Gradings) -> Graded:
    """What came of one entry."""
    return gradings.entries[name].result(timeout=600)


# --- the zoo ---------------------------------------------------------------------------------------------------------


@each_entry
def test_a_submission_gets_its_outcome(name: str, graded: Graded) -> None:
    entry = zoo.read_entry(name)
    asked = [outcome for outcome in graded.live.outcomes if selects(entry.only, outcome.check.number)]
    expected = {outcome: entry.expected.get(outcome.check.number, zoo.PASSED) for outcome in asked}
    assert [line for outcome, one in expected.items() for line in one.differences(outcome)] == []
    assert [note for note in entry.notes if not any(re.search(note, told) for told in graded.live.notes)] == []


@each_entry
def test_recorded_answers_judge_alike(name: str, graded: Graded) -> None:
    at_home = dict.fromkeys(zoo.read_entry(name).passes_at_home, "passed")
    assert statuses(graded.recorded) == statuses(graded.live) | at_home


@each_entry
def test_the_manifest_owns_the_total(name: str, graded: Graded) -> None:
    for result in (graded.live, graded.recorded):
        assert result.max_points == sum(check.points for check in CHECKS) == TOTAL
        assert tuple(outcome.check for outcome in result.outcomes) == CHECKS
        assert result.points == sum(outcome.check.points for outcome in result.outcomes if outcome.status == "passed")


@each_entry
def test_nothing_is_our_fault(name: str, graded: Graded) -> None:
    for result in (graded.live, graded.recorded):
        assert result.complete
        assert [o.check.number for o in result.outcomes if o.status == "our fault"] == []
        assert [note for note in result.staff_notes if "Traceback" in note] == []


@each_entry
def test_gradescope_is_told_everything_in_its_own_form(name: str, graded: Graded) -> None:
    contents = render_gradescope(graded.live)
    CONTRACT.validate(contents)
    assert sum(test["max_score"] for test in contents["tests"]) == TOTAL
    assert sum(test["score"] for test in contents["tests"]) == graded.live.points
    assert len(json.dumps(contents)) < 1_000_000
    assert not re.search(
        "[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", json.dumps(contents, ensure_ascii=False)
    )


@each_entry
def test_no_student_reads_of_the_graders_own_files(name: str, graded: Graded) -> None:
    said = [(o.check.number, text) for o in graded.live.outcomes for text in texts(o)]
    assert [text for text in said if re.search(r"autograder[/.](?!probes)|site-packages|napkin-\w{8}", text[1])] == []


@linux
@each_entry
def test_nothing_of_a_submission_is_left(name: str, graded: Graded) -> None:
    marker = zoo.read_entry(name).marker
    marked = [text for text in zoo.living_descendants(os.getpid()).values() if marker and marker in text]
    assert (graded.left_processes, graded.left_files, marked) == ((), (), [])


@each_entry
def test_a_grading_keeps_to_its_bound(name: str, graded: Graded) -> None:
    assert graded.seconds < zoo.read_entry(name).seconds


@each_entry
def test_the_grader_never_imports_torch(name: str, graded: Graded) -> None:
    assert not graded.imported_torch


@pytest.mark.parametrize("exercise", EXERCISES)
def test_one_exercise_solved_on_the_stubs_earns_its_points_and_no_other(exercise: str, gradings: Gradings) -> None:
    for result in gradings.solved[exercise].result(timeout=600):
        earned = {o.check.number: o.points for o in result.outcomes if o.points}
        assert earned == {check.number: check.points for check in CHECKS if check.exercise == exercise}
        assert {o.status for o in result.outcomes} <= {"passed", "failed", "not judged"}
        assert {o.check.exercise.partition(".")[0] for o in result.outcomes if o.status == "failed"} == {
            exercise.partition(".")[0]
        }


# --- budgets ---------------------------------------------------------------------------------------------------------


def test_what_the_gradings_time_does_not_reach_is_not_judged_and_keeps_its_points(gradings: Gradings) -> None:
    path = zoo.build(zoo.read_entry("loop_at_import"), gradings.folder / "out-of-time")
    budget = replace(POLICY.budget, observation_s=1.0, grading_s=4.0)
    result = grade(path, replace(POLICY, budget=budget), SOLUTIONS, SEED)
    reached = [outcome.status for outcome in result.outcomes]
    assert set(reached) == {"failed", "not judged"}
    assert reached == sorted(reached)  # first these, then those
    assert {o.feedback.message for o in result.outcomes if o.status == "not judged"} == {
        "out of time: the whole grading has 4 s"
    }
    assert result.max_points == TOTAL


def test_the_graders_own_start_is_no_time_of_the_students() -> None:
    budget = replace(POLICY.budget, check_s=0.5)  # an import of torch takes longer
    result = grade(SOLUTIONS, replace(POLICY, budget=budget), SOLUTIONS, SEED, only="1.1a")
    assert statuses(result)["1.1a"] == "passed", result.outcomes[0].feedback


KILLS_ITS_PARENT = """
import os, signal

def is_contiguous(shape, stride):
    try:
        os.kill(os.getppid(), signal.SIGKILL)
    except OSError:
        pass  # as it should be
    return True
"""


@linux
def test_a_grading_ends_in_a_result_even_if_the_zygote_is_killed(tmp_path: Path) -> None:
    path = zoo.build(zoo.read_entry("reference"), tmp_path)
    with open(path / "napkin" / "views.py", "a", encoding="utf-8") as source:
        source.write(KILLS_ITS_PARENT)
    result = grade(path, POLICY, SOLUTIONS, SEED, only="1")
    assert (result.complete, result.max_points) == (True, TOTAL)
    assert statuses(result)["1.2"] != "passed"
    assert {number for number, status in statuses(result).items() if status == "failed"} <= {"1.2"}


# --- the command -----------------------------------------------------------------------------------------------------


WRAPPER = """
import sys
from autograder.__main__ import main
code = main(sys.argv[1:])
assert "torch" not in sys.modules, "the grader has imported torch"
sys.exit(code)
"""


@dataclass(frozen=True)
class Command:
    """A run of the command that ended."""

    code: int
    stderr: str
    result: Result


@pytest.fixture(scope="module")
def stubs_only_1_4(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """The stubs, graded by a process of its own, of which only one check was asked for."""
    folder = tmp_path_factory.mktemp("command")
    path = zoo.build(zoo.read_entry("untouched_stubs"), folder)
    arguments = ["grade", str(path), "--only", "1.4", "--result", str(folder / "result.json")]
    done = subprocess.run(
        [sys.executable, "-c", WRAPPER, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return Command(done.returncode, done.stderr, Result.from_json((folder / "result.json").read_text()))


def test_the_command_ends_with_0_whatever_the_score(stubs_only_1_4: Command) -> None:
    assert (stubs_only_1_4.code, stubs_only_1_4.result.points) == (0, 0.0), stubs_only_1_4.stderr


def test_the_command_never_imports_torch(stubs_only_1_4: Command) -> None:
    assert "the grader has imported torch" not in stubs_only_1_4.stderr


def test_only_judges_what_it_names_and_keeps_the_total(stubs_only_1_4: Command) -> None:
    result = stubs_only_1_4.result
    assert statuses(result) == {c.number: "failed" if c.number == "1.4" else "not judged" for c in CHECKS}
    assert {o.feedback.message for o in result.outcomes if o.check.number != "1.4"} == {"not asked for"}
    assert result.max_points == TOTAL


@pytest.mark.parametrize(
    "arguments",
    [
        ["grade"],
        ["mark", "solutions"],
        ["grade", "no-such-folder"],
        ["grade", "solutions", "--only", "9.9"],
        ["grade", "solutions", "--seed", "twenty"],
        ["grade", "solutions", "--answers", "no-such-answers"],
    ],
    ids=" ".join,
)
def test_wrong_arguments_end_with_2(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    try:
        code = main(arguments)
    except SystemExit as ended:  # argparse's way
        code = ended.code  # type: ignore[assignment]
    assert code == 2


def test_a_seed_repeats_a_check_exactly_whichever_others_run(gradings: Gradings) -> None:
    path = zoo.build(zoo.read_entry("ordinary_mistakes"), gradings.folder / "seed")
    unhurried = replace(POLICY, budget=replace(POLICY.budget, observation_s=20.0, check_s=60.0, shrink_s=20.0))
    whole, alone = (grade(path, unhurried, SOLUTIONS, 7, only=only).outcomes[1] for only in ("1.1", "1.1b"))
    assert whole.feedback == alone.feedback
    assert whole.feedback.code != ""


@linux
@pytest.mark.parametrize(
    ("entry", "judged"),
    [("reference", 0), ("memory_bombs", 1), ("outlives_the_call", 6)],
    ids=["while it imports", "while a check loops", "while daemons live"],
)
def test_a_killed_grader_leaves_whole_files_and_no_process(
    entry: str, judged: int, tmp_path: Path, gradings: Gradings
) -> None:
    path = zoo.build(zoo.read_entry(entry), tmp_path)
    result, gradescope = tmp_path / "result.json", tmp_path / "results.json"
    files = ["--result", str(result), "--gradescope", str(gradescope)]
    zoo.adopt_orphans()
    before = zoo.living_descendants(os.getpid()).keys()
    command = [sys.executable, "-m", "autograder", "grade", str(path), *files, "--seed", str(SEED)]
    environment = {**os.environ, "TMPDIR": str(gradings.folder)}  # nobody is left to remove the grader's own folder
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as grader:
        wait_until(lambda: gradescope.exists() and len(judged_in(result)) >= judged, 60)
        time.sleep(0.1)  # into the next check
        grader.send_signal(signal.SIGKILL)
    wait_until(lambda: not zoo.living_descendants(os.getpid()).keys() - before, GONE_S)
    zoo.adopt_orphans(False)
    whole = Result.from_json(result.read_text())
    assert (whole.complete, whole.max_points, {o.status for o in whole.outcomes} >= {"not judged"}) == (
        False,
        TOTAL,
        True,
    )
    CONTRACT.validate(json.loads(gradescope.read_text()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "only"), [("reference", "1.1a"), ("ends_its_process", "1.1a"), ("outlives_the_call", "1.2")]
)
def test_a_fresh_interpreter_for_each_worker_judges_alike(entry: str, only: str, tmp_path: Path) -> None:
    start = time.monotonic()
    result = grade(zoo.build(zoo.read_entry(entry), tmp_path), POLICY, RECORDED, SEED, only, spawn=True)
    expected = zoo.read_entry(entry).expected.get(only, zoo.PASSED)
    assert [line for o in result.outcomes if o.check.number == only for line in expected.differences(o)] == []
    assert time.monotonic() - start < 20


# --- what the tests share --------------------------------------------------------------------------------------------


def statuses(result: Result) -> dict[str, str]:
    return {outcome.check.number: outcome.status for outcome in result.outcomes}


def texts(outcome: Outcome) -> list[str]:
    """Return all that a student is told but the question's bytes."""
    said: dict[str, Any] = {name: text for name, text in vars(outcome.feedback).items() if name != "ask"}
    return ["\n".join(text) if isinstance(text, tuple) else text for text in said.values()]


def judged_in(result: Path) -> list[str]:
    return [o.check.number for o in Result.from_json(result.read_text()).outcomes if o.status != "not judged"]


def wait_until(holds: Any, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"not within {seconds:g} s"
        time.sleep(0.02)
