"""Whether each check's run becomes the outcome it must, whatever happens in it or around it."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from autograder import grade as grading
from autograder.catalogue import CatalogueError, Variant, read_checks, selects
from autograder.grade import Candidate, Run, Watcher, grade
from autograder.judge import Case
from autograder.plugin import check_seed
from autograder.result import Check, Feedback, Result
from autograder.sandbox.launch import SandboxError
from autograder.settings import Budget, Settings, read_settings
from autograder.submission import Submission
from autograder.wire import Ask, Observation, Returned

HEAD = """
from gradescope_utils.autograder_utils.decorators import number, weight
from hypothesis import strategies as st
from autograder.checks import forbids
from autograder.judge import Case, exact

cases = st.integers(1, 50).map(lambda n: Case(f"double({n})", {"shape": n}))
"""
POLICY = read_settings()


def check(number: str, body: str = 'agree("views.double", cases, exact)', decorators: str = "", name: str = "") -> str:
    """Return the source of a check that is worth as many points as its number's last digit."""
    name = name or f"check_{number.replace('.', '_')}"
    head = f'{decorators}\n@number("{number}")\n@weight({number[-1]})\ndef test_{name}(agree):\n    """It doubles."""\n'
    return head + textwrap.indent(textwrap.dedent(body), "    ") + "\n"


@dataclass
class FakeWorker:
    """Doubles what it is given."""

    answer: Callable[[int], Observation]
    alive: bool = True

    def observe(self, ask: Ask, deadline_s: float) -> Observation:
        return self.answer(ask.case["shape"])  # type: ignore[arg-type]

    def observe_all(self, asks: Sequence[Ask], deadline_s: Callable[[], float]) -> Iterator[Observation]:
        return (self.observe(ask, deadline_s()) for ask in asks)

    def await_ready(self) -> None:
        pass

    def output(self) -> str:
        return ""

    def end(self) -> None:
        self.alive = False


@dataclass
class FakeSandbox:
    """Starts fake workers."""

    answer: Callable[[int], Observation] = lambda n: Returned(2 * n)
    layers: tuple[str, ...] = ("none",)
    started: list[FakeWorker] = field(default_factory=list)

    def worker(self, code: Path | Submission, package: str, override: str, trusted: bool) -> FakeWorker:
        self.started.append(FakeWorker(self.answer))
        return self.started[-1]


@dataclass
class FakeOracle:
    """Doubles, too."""

    kind: Literal["live", "recorded"] = "live"
    dismissed: int = 0
    others: tuple[Variant, ...] = ()

    def cases(self, check: Check, probe: str) -> None:
        return None

    def variants(self, check: Check) -> list[Variant]:
        return list(self.others)

    def answer(self, probe: str, case: Case, variant: Variant | None = None) -> Observation:
        n = case.args["shape"]
        return Returned([2 * n] if variant else 2 * n)  # type: ignore[operator,list-item]

    def answers(self, probe: str, cases: Sequence[Case]) -> list[Observation]:
        return [self.answer(probe, case) for case in cases]

    def dismiss(self) -> None:
        self.dismissed += 1


def empty_policy(folder: Path) -> Settings:
    """Return settings with a folder of checks that is still empty."""
    checks = folder / "checks"
    checks.mkdir()
    shutil.copy(POLICY.checks / "pytest.ini", checks)
    return replace(POLICY, checks=checks, fresh_cases=5, budget=Budget(4, 20, 0.5, 480))


def forget_checks() -> None:
    """Let the next test run its own checks, not those that were loaded under the same name."""
    for name in [name for name in sys.modules if name.startswith(("test_views", "test_shapes"))]:
        del sys.modules[name]


@pytest.fixture
def policy(tmp_path: Path) -> Iterator[Settings]:
    yield empty_policy(tmp_path)
    forget_checks()


@dataclass
class Seen:
    """What a watcher saw."""

    began: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    updated: list[Result] = field(default_factory=list)

    def watcher(self) -> Watcher:
        return Watcher(
            lambda check: self.began.append(check.number),
            lambda outcome: self.ended.append(outcome.check.number),
            self.updated.append,
        )


def run(
    policy: Settings, source: str, *, sandbox: Any = None, oracle: Any = None, only: str = "", **given: Any
) -> Result:
    """Return the result of a run of handmade checks on a student who doubles."""
    (policy.checks / "test_views.py").write_text(HEAD + source)
    manifest = read_checks(policy.checks)
    asked = [check for check in manifest if selects(only, check.number)]
    candidate = given.pop("candidate", Candidate(policy.checks))
    made = Run(sandbox or FakeSandbox(), candidate, oracle or FakeOracle(), policy, seed=1, **given)
    return made.checks(manifest, asked)


def statuses(result: Result) -> dict[str, str]:
    return {outcome.check.number: outcome.status for outcome in result.outcomes}


# --- outcomes --------------------------------------------------------------------------------------------------------


def test_a_check_that_agrees_earns_its_points(policy: Settings) -> None:
    result = run(policy, check("1.3"))
    assert result.outcomes == (replace(result.outcomes[0], status="passed", points=3, feedback=Feedback()),)
    assert result.complete


def test_a_check_that_disagrees_earns_nothing_and_says_why(policy: Settings) -> None:
    (outcome,) = run(policy, check("1.3"), sandbox=FakeSandbox(Returned)).outcomes
    assert (outcome.status, outcome.points) == ("failed", 0)
    assert outcome.feedback.code == "double(1)"
    assert (outcome.feedback.expected, outcome.feedback.got) == ("2", "1")


def test_an_accepted_answer_earns_its_points_with_a_note(policy: Settings) -> None:
    oracle = FakeOracle(others=(Variant("lists", "1.3", "accepted", "A list will do.", "views"),))
    (outcome,) = run(policy, check("1.3"), sandbox=FakeSandbox(lambda n: Returned([2 * n])), oracle=oracle).outcomes
    assert (outcome.status, outcome.points, outcome.feedback) == ("passed", 3, Feedback(note="A list will do."))


def test_a_check_may_ask_several_questions(policy: Settings) -> None:
    large = 'cases.filter(lambda case: case.args["shape"] > 40)'
    body = f'agree("views.double", cases, exact)\nagree("views.double", {large}, exact)'
    student = FakeSandbox(lambda n: Returned(2 * n if n <= 40 else 0))
    (outcome,) = run(policy, check("1.1", body), sandbox=student).outcomes
    assert outcome.feedback.code == "double(41)"


OURS = {
    "an exception": "raise RuntimeError('the check is broken')",
    "a failed assertion": "assert 1 == 2",
    "a missing fixture": "",
    "a skip": "import pytest\npytest.skip('not today')",
    "an expected failure": "import pytest\npytest.xfail('some day')",
    "a failure said to pytest": "import pytest\npytest.fail('no')",
    "an exit": "raise SystemExit(0)",
    "an unknown probe's module": "from autograder.probes import no_such_probe",
}


@pytest.mark.parametrize("what", OURS)
def test_whatever_else_goes_wrong_in_a_check_is_our_fault(policy: Settings, what: str) -> None:
    broken = check("1.2", OURS[what] or "pass")
    broken = broken if OURS[what] else broken.replace("(agree)", "(agree, no_such_fixture)")
    result = run(policy, check("1.1") + broken + check("1.3"))
    assert statuses(result) == {"1.1": "passed", "1.2": "our fault", "1.3": "passed"}
    assert (result.points, result.max_points) == (4, 6)
    assert result.our_fault


@pytest.mark.parametrize("mark", ["skip", "skipif(True, reason='no')", "xfail", "xfail(strict=True)"])
def test_a_mark_of_pytests_makes_nobody_pass(policy: Settings, mark: str) -> None:
    source = "import pytest\n" + check("1.1", "assert 0", decorators=f"@pytest.mark.{mark}")
    assert statuses(run(policy, source)) == {"1.1": "our fault"}


def test_the_staff_is_told_what_went_wrong(policy: Settings) -> None:
    result = run(policy, check("1.1", "raise RuntimeError('the check is broken')"))
    (note,) = (note for note in result.staff_notes if note.startswith("1.1: "))
    assert "Traceback" in note
    assert "RuntimeError: the check is broken" in note


def test_a_sandbox_that_does_not_work_is_our_fault(policy: Settings) -> None:
    def fails(n: int) -> Observation:
        raise SandboxError("the process that workers are forked from does not answer")

    assert statuses(run(policy, check("1.1"), sandbox=FakeSandbox(fails))) == {"1.1": "our fault"}


def test_a_worker_that_leaves_something_behind_is_our_fault(policy: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: FakeWorker) -> None:
        raise SandboxError("1 processes of worker 7 could not be killed")

    monkeypatch.setattr(FakeWorker, "end", fails)
    assert statuses(run(policy, check("1.1"))) == {"1.1": "our fault"}


def test_a_check_that_hangs_is_ended_and_our_fault(policy: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "GRACE_S", 0.1)
    brief = replace(policy, budget=Budget(1, 0.1, 0.1, 480))
    start = time.monotonic()
    result = run(brief, check("1.1", "while True: pass") + check("1.2", "pass"))
    assert statuses(result) == {"1.1": "our fault", "1.2": "passed"}
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    "broken",
    ["import no_such_module\n", "raise RuntimeError\n", "import pytest\npytest.skip(allow_module_level=True)\n"],
    ids=["import", "exception", "skip"],
)
def test_a_module_that_cannot_be_loaded_is_our_fault_and_the_total_stays(policy: Settings, broken: str) -> None:
    (policy.checks / "test_shapes.py").write_text(HEAD + broken + check("2.4") + check("2.5"))
    result = run(policy, check("1.1"))
    assert statuses(result) == {"1.1": "passed", "2.4": "our fault", "2.5": "our fault"}
    assert (result.points, result.max_points) == (1, 10)
    assert result.complete


def test_the_staff_is_told_what_kept_a_module_from_being_loaded(policy: Settings) -> None:
    result = run(policy, "import no_such_module\n" + check("1.1"))
    assert any("no_such_module" in note for note in result.staff_notes)


def test_a_check_that_another_of_its_name_hides_is_our_fault(policy: Settings) -> None:
    result = run(policy, check("1.1", name="same") + check("1.2", name="same"))
    assert statuses(result)["1.1"] == "our fault" or statuses(result)["1.2"] == "our fault"
    assert result.max_points == 3


# --- what runs -------------------------------------------------------------------------------------------------------


def test_checks_run_in_the_manifests_order(policy: Settings) -> None:
    seen = Seen()
    run(policy, check("1.3") + check("1.1") + check("1.2"), watcher=seen.watcher())
    assert seen.began == seen.ended == ["1.1", "1.2", "1.3"]


def test_what_was_not_asked_for_is_not_judged_and_stays_in_the_total(policy: Settings) -> None:
    result = run(policy, check("1.1") + check("1.2"), only="1.2")
    assert [(o.status, o.feedback.message) for o in result.outcomes] == [
        ("not judged", "not asked for"),
        ("passed", ""),
    ]
    assert (result.points, result.max_points) == (2, 3)


def test_asking_for_nothing_runs_nothing(policy: Settings) -> None:
    assert statuses(run(policy, check("1.1"), only="9")) == {"1.1": "not judged"}


def test_the_result_is_told_before_the_first_check_and_after_each(policy: Settings) -> None:
    seen = Seen()
    result = run(policy, check("1.1") + check("1.2"), watcher=seen.watcher())
    judged = [sum(outcome.status == "passed" for outcome in told.outcomes) for told in seen.updated]
    assert judged == [0, 1, 2, 2]
    assert [told.complete for told in seen.updated] == [False, False, False, True]
    assert seen.updated[-1] == result


def test_each_check_has_a_worker_of_its_own_which_is_ended(policy: Settings) -> None:
    sandbox, oracle = FakeSandbox(), FakeOracle()
    run(policy, check("1.1") + check("1.2"), sandbox=sandbox, oracle=oracle)
    assert [worker.alive for worker in sandbox.started] == [False, False]
    assert oracle.dismissed == 2


def test_a_forbidden_use_in_the_text_is_told_and_nothing_is_run(policy: Settings) -> None:
    files = {"napkin/views.py": b"import torch\ndef double(n):\n    return torch.tensor(n)\n"}
    sandbox = FakeSandbox()
    source = check("1.1", decorators='@forbids("torch", within=["double"])')
    candidate = Candidate(Submission("mine", files, (), ()))
    (outcome,) = run(policy, source, sandbox=sandbox, candidate=candidate).outcomes
    assert outcome.status == "failed"
    assert outcome.feedback.message.endswith("may not be used in this exercise; views.py:3 in double uses it")
    assert sandbox.started == []


def test_an_interrupt_ends_the_grading_and_is_nobodys_fault(policy: Settings) -> None:
    seen = Seen()
    result = run(policy, check("1.1") + check("1.2", "raise KeyboardInterrupt") + check("1.3"), watcher=seen.watcher())
    assert statuses(result) == {"1.1": "passed", "1.2": "not judged", "1.3": "not judged"}
    assert {o.feedback.message for o in result.outcomes[1:]} == {"interrupted"}
    assert not result.complete


# --- time ------------------------------------------------------------------------------------------------------------


def test_what_a_spent_budget_does_not_reach_is_not_judged(policy: Settings) -> None:
    brief = replace(policy, budget=Budget(4, 20, 0.5, 0.4))
    slow = check("1.1", "import time\ntime.sleep(0.5)")
    result = run(brief, slow + check("1.2") + check("1.3"))
    assert statuses(result) == {"1.1": "passed", "1.2": "not judged", "1.3": "not judged"}
    assert {o.feedback.message for o in result.outcomes[1:]} == {"out of time: the whole grading has 0.4 s"}
    assert result.complete
    assert (result.points, result.max_points) == (1, 6)
    assert not result.our_fault


# --- what has no say -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", ["-k nothing", "--collect-only", "-x --maxfail=1", "-p no:python", "--no-such-option"]
)
def test_pytests_own_options_have_no_say(policy: Settings, monkeypatch: pytest.MonkeyPatch, options: str) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", options)
    result = run(policy, check("1.1", "assert 0") + check("1.2"))
    assert statuses(result) == {"1.1": "our fault", "1.2": "passed"}
    assert os.environ["PYTEST_ADDOPTS"] == options


def test_pytests_own_plugins_have_no_say(policy: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_PLUGINS", "no_such_plugin")
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", raising=False)
    assert statuses(run(policy, check("1.1"))) == {"1.1": "passed"}
    assert "PYTEST_DISABLE_PLUGIN_AUTOLOAD" not in os.environ


@pytest.mark.parametrize(
    "name", ["conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "test_own.py", "hypothesis.py"]
)
@pytest.mark.parametrize("where", ["here", "beside the checks"])
def test_files_that_lie_around_have_no_say(
    policy: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, where: str
) -> None:
    folder = tmp_path / "here" if where == "here" else tmp_path
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    text = (
        "raise SystemExit(7)"
        if name.endswith(".py")
        else "[pytest]\naddopts = -k nothing\n[tool.pytest.ini_options]\naddopts = '-k nothing'\n"
    )
    (folder / name).write_text(text)
    assert statuses(run(policy, check("1.1"))) == {"1.1": "passed"}


# --- seeds -----------------------------------------------------------------------------------------------------------


def test_a_checks_seed_is_its_own() -> None:
    assert len({check_seed(1, "1.1"), check_seed(1, "1.2"), check_seed(2, "1.1"), check_seed(11, ".1")}) == 4


def test_a_checks_seed_is_the_same_on_every_machine() -> None:
    assert check_seed(1, "1.1") == 9940392650693675779


def drawn(policy: Settings, only: str) -> list[int]:
    asked: list[int] = []
    run(
        policy,
        check("1.1") + check("1.2"),
        sandbox=FakeSandbox(lambda n: asked.append(n) or Returned(2 * n)),
        only=only,
    )  # type: ignore
    return asked


def test_a_check_asks_the_same_cases_alone_and_among_others(policy: Settings) -> None:
    alone = drawn(policy, "1.2")
    assert alone
    assert drawn(policy, "")[-len(alone) :] == alone


# --- a whole grading -------------------------------------------------------------------------------------------------

VIEWS = """
import math


def contiguous_strides(shape):
    return 2 * shape


def is_contiguous(shape, stride):
    return shape * stride


def logical_bytes(shape):
    return 0
"""
GRADED = """
pairs = st.tuples(st.integers(1, 9), st.integers(1, 9)).map(
    lambda p: Case(f"is_contiguous{p}", {"shape": p[0], "stride": p[1]}))


@number("1.1")
@weight(1)
def test_same(agree):
    \"\"\"It is the same.\"\"\"
    agree("views.contiguous_strides", cases, exact)


@number("1.2")
@weight(2)
def test_other(agree):
    \"\"\"It is another.\"\"\"
    agree("views.is_contiguous", pairs, exact)


@number("1.3")
@weight(3)
@forbids("math", within=["contiguous_strides"])
def test_forbidden(agree):
    \"\"\"It does without.\"\"\"
    agree("views.contiguous_strides", cases, exact)


@number("1.4")
@weight(4)
def test_broken(agree):
    \"\"\"It is broken.\"\"\"
    agree("views.no_such_probe", cases, exact)


@number("1.5")
@weight(5)
def test_wrong(agree):
    \"\"\"It asks what the probe does not take.\"\"\"
    agree("views.is_contiguous", cases, exact)
"""
MISCONCEPTION = """
from variants import misconception


@misconception("1.2", "is_contiguous", "Is it a sum?")
def adds(shape, stride):
    return shape + stride
"""


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The grading of one submission against handmade solutions, with real workers."""
    home = tmp_path_factory.mktemp("grading")
    policy = empty_policy(home)
    (policy.checks / "test_views.py").write_text(HEAD + GRADED)
    registry = Path(__file__).parents[1] / "solutions" / "variants" / "__init__.py"
    for folder, views in (("solutions", VIEWS), ("submission", VIEWS.replace("shape * stride", "shape + stride"))):
        (home / folder / "napkin").mkdir(parents=True)
        (home / folder / "napkin" / "__init__.py").write_text("")
        (home / folder / "napkin" / "views.py").write_text(views)
    (home / "solutions" / "variants").mkdir()
    (home / "solutions" / "variants" / "__init__.py").write_text(registry.read_text())
    (home / "solutions" / "variants" / "views.py").write_text(MISCONCEPTION)
    result = grade(home / "submission", policy, home / "solutions", seed=1)
    forget_checks()
    return result


def test_a_whole_grading_gives_each_check_its_outcome(graded: Result) -> None:
    assert list(statuses(graded).values())[:3] == ["passed", "failed", "passed"]
    assert graded.max_points == 15
    feedback = graded.outcomes[1].feedback
    assert (feedback.code, feedback.expected, feedback.got) == ("is_contiguous(1, 1)", "1", "2")
    assert feedback.hint == "Is it a sum?"


def test_a_whole_grading_says_how_it_was_made(graded: Result) -> None:
    assert (graded.oracle, graded.seed, graded.complete) == ("live", 1, True)
    assert graded.versions.keys() >= {"python", "torch", "pytest", "hypothesis"}
    assert any(note.startswith("workers: ") for note in graded.staff_notes)


def test_a_probe_that_is_not_there_is_our_fault(graded: Result) -> None:
    assert statuses(graded)["1.4"] == "our fault"


def test_a_probe_that_fails_on_the_reference_is_our_fault(graded: Result) -> None:
    assert statuses(graded)["1.5"] == "our fault"


def test_a_submission_that_cannot_be_read_fails_every_check(policy: Settings, tmp_path: Path) -> None:
    (policy.checks / "test_views.py").write_text(HEAD + GRADED)
    (tmp_path / "hand-in.zip").write_bytes(b"no zip")
    seen = Seen()
    result = grade(tmp_path / "hand-in.zip", policy, tmp_path, seed=1, watcher=seen.watcher())
    assert set(statuses(result).values()) == {"failed"}
    assert all(o.feedback.message.startswith("nothing to grade: hand-in.zip is not a zip") for o in result.outcomes)
    assert (result.points, result.max_points) == (0, 15)
    assert result.complete
    assert seen.updated == [result]


def test_unclear_checks_begin_no_grading(policy: Settings, tmp_path: Path) -> None:
    (policy.checks / "test_views.py").write_text("def test_x(agree): pass\n")
    with pytest.raises(CatalogueError):
        grade(tmp_path, policy, tmp_path, seed=1)
