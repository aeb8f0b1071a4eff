"""The handout as a student has it: unpacked in an empty folder, the grader installed from its wheel, no solutions."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from autograder.catalogue import Variant, read_checks, read_variants
from autograder.handout import cut_answers
from autograder.result import Result
from autograder.settings import read_settings

ROOT = Path(__file__).resolve().parent.parent
CHECKS = read_checks(read_settings().checks)
TOTAL = sum(check.points for check in CHECKS)
NOTEBOOK = "napkin_math"
VARIANTS = read_variants(ROOT / "solutions" / "variants", {check.part for check in CHECKS} - {NOTEBOOK})
EXERCISES = sorted({check.exercise for check in CHECKS if check.part != NOTEBOOK})
SAMPLE = [next(v for v in VARIANTS if v.number.rstrip("abc") == exercise) for exercise in EXERCISES]
ACCEPTED = [v for v in VARIANTS if v.kind == "accepted"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy, so that nothing is left in the checkout."""
    source, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "autograder", source / "autograder", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", source)
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", made, source], check=True)
    return next(made.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an interpreter that has the wheel, and all else but the checkout's grader from the one in use."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=False, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    zipfile.ZipFile(wheel).extractall(packages)
    # A folder named in a .pth file does not have its own .pth files read: the editable install stays out.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


@pytest.fixture
def handout(tmp_path: Path) -> Path:
    """Unpack the handout in an empty folder."""
    names = subprocess.run(["git", "ls-files", "handout"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    for name in names:
        target = tmp_path / Path(name).relative_to("handout")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    return tmp_path


def grade(python: Path, handout: Path, only: str = "") -> Result:
    """Grade as `make grade` does there."""
    arguments = ["grade", ".", "--result", "result.json", *(["--only", only] if only else [])]
    subprocess.run([python, "-m", "autograder", *arguments], cwd=handout, check=True, capture_output=True)
    return Result.from_json((handout / "result.json").read_text())


def hand_in(handout: Path, variant: Variant) -> None:
    """Write a submission that is the reference but for one variant."""
    name = f"{variant.part}.py"
    reference = (ROOT / "solutions/napkin" / name).read_text()
    variants = (ROOT / "solutions/variants" / name).read_text()
    body = re.sub(r"^from (__future__|napkin\S*|variants) import (\([^)]*\)|.*)\n", "", variants, flags=re.M)
    filed = "def misconception(*_, **__):\n    return lambda function: function\n\n\naccepted = misconception\n"
    before = variants[: variants.index(f"def {variant.name}(")]
    replaces = re.findall(r'@(?:misconception|accepted)\(\s*"[^"]+",\s*"([^"]+)"', before)[-1]
    replaced = f"{replaces} = {variant.name}\n"
    (handout / "napkin" / name).write_text(f"{reference}\n\n{filed}\n{body}\n\n{replaced}")


def test_the_reference_earns_everything(python: Path, handout: Path) -> None:
    shutil.copytree(ROOT / "solutions/napkin", handout / "napkin", dirs_exist_ok=True)
    shutil.copy(ROOT / "solutions/napkin_math.ipynb", handout)
    result = grade(python, handout)
    assert (result.points, result.max_points, result.oracle) == (TOTAL, TOTAL, "recorded")


def test_the_stubs_earn_nothing_and_each_says_what_is_asked(python: Path, handout: Path) -> None:
    result = grade(python, handout)
    assert (result.points, result.max_points) == (0, TOTAL)
    assert all(
        re.match(rf"not implemented yet: {outcome.check.exercise[0]}\.\d+ ", outcome.feedback.message)
        for outcome in result.outcomes
    )


@pytest.mark.parametrize("variant", SAMPLE, ids=lambda variant: variant.name)
def test_a_misconception_is_named_at_home_as_the_audit_names_it(python: Path, handout: Path, variant) -> None:
    hand_in(handout, variant)
    outcome = next(o for o in grade(python, handout, variant.number).outcomes if o.check.number == variant.number)
    assert (outcome.status, outcome.feedback.hint) == ("failed", variant.text)


@pytest.mark.parametrize("variant", ACCEPTED, ids=lambda variant: variant.name)
def test_an_accepted_variant_earns_the_point_and_its_note(python: Path, handout: Path, variant) -> None:
    hand_in(handout, variant)
    outcome = next(o for o in grade(python, handout, variant.number).outcomes if o.check.number == variant.number)
    assert (outcome.status, outcome.feedback.note) == ("passed", variant.text)


def test_the_stubs_are_what_the_reference_makes() -> None:
    for source in (ROOT / "solutions/napkin").glob("*.py"):
        assert (ROOT / "handout/napkin" / source.name).read_text() == cut_answers(source.read_text(), source.name)


def test_the_wheel_holds_the_grader_with_its_data_and_no_solutions(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {
        "autograder/assignment.toml",
        "autograder/checks/pytest.ini",
        "autograder/checks/test_views.py",
        "autograder/render/gradescope.schema.json",
    } <= set(names)
    assert all(name.startswith(("autograder/", "napkin_autograder-")) for name in names)


def test_the_grader_in_use_is_the_wheel(python: Path, handout: Path) -> None:
    script = "import autograder; print(autograder.__file__)"
    where = subprocess.run([python, "-I", "-c", script], cwd=handout, capture_output=True, text=True, check=True)
    assert where.stdout.startswith(str(python.parent.parent))
