"""Whether what should be seen is the same live and recorded, and its lack is the grader's fault."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from autograder import wire
from autograder.catalogue import Variant, read_checks
from autograder.judge import Case
from autograder.oracle import (
    Entry,
    Live,
    OracleError,
    Recorded,
    case_key,
    observation_from_record,
    observation_to_record,
    read_recorded,
    write_recorded,
)
from autograder.result import Check
from autograder.sandbox.host import Sandbox
from autograder.settings import read_settings
from autograder.wire import Ask, Died, Observation, OverLimit, Raised, Record, Returned, Tensor, TimedOut, UsedForbidden

ROOT = Path(__file__).parents[1]
PROBE = "views.double"
CHECK, OTHER = (Check(number, "double", "It doubles.", 1, "views") for number in ("1.1", "1.2"))
CASE = Case("double(2)", {"x": (2, Tensor("int8", (1,), b"\1"))}, ("2",))
VARIANTS = """
@misconception("1.1", "double", "Why three?")
def triples(x): ...

@accepted("1.1", "double", "A list will do.")
def lists(x): ...

@misconception("1.2", "double", "Why not?")
def others(x): ...
"""


@dataclass
class FakeWorker:
    """Gives one observation to every question, and remembers the questions."""

    seen: Observation
    alive: bool = True
    asked: list[tuple[Ask, float]] = field(default_factory=list)

    def observe(self, ask: Ask, deadline_s: float) -> Observation:
        self.asked.append((ask, deadline_s))
        return self.seen

    def observe_all(self, asks: Sequence[Ask], deadline_s: Callable[[], float]) -> Iterator[Observation]:
        return (self.observe(ask, deadline_s()) for ask in asks)

    def output(self) -> str:
        return "what it printed"

    def end(self) -> None:
        self.alive = False


@dataclass
class FakeSandbox:
    """Starts fake workers that see what stands here under the variant's name, "" for the reference."""

    sees: dict[str, Observation]
    started: list[tuple[str, FakeWorker]] = field(default_factory=list)

    def worker(self, package_dir: Path, package: str, override: str = "", trusted: bool = False) -> FakeWorker:
        assert trusted, "only the grader may read the solutions"
        self.started.append((override, FakeWorker(self.sees[override])))
        return self.started[-1][1]


SEES: dict[str, Observation] = {
    "": Returned(4),
    "triples": Raised("ValueError", ("ValueError", "Exception"), "no"),
    "lists": Returned([4]),
}


@pytest.fixture
def sandbox() -> FakeSandbox:
    return FakeSandbox(dict(SEES))


@pytest.fixture
def live(sandbox: FakeSandbox, tmp_path: Path) -> Live:
    (tmp_path / "variants").mkdir()
    (tmp_path / "variants" / "views.py").write_text(VARIANTS)
    return Live(sandbox, tmp_path, {"views"}, "napkin", answer_s=20)  # type: ignore[arg-type]


# --- live ------------------------------------------------------------------------------------------------------------


def test_a_live_oracle_answers_any_case(live: Live) -> None:
    assert live.cases(CHECK, PROBE) is None


def test_a_live_oracle_asks_the_reference(live: Live, sandbox: FakeSandbox) -> None:
    assert live.answer(PROBE, CASE) == Returned(4)
    ((override, worker),) = sandbox.started
    assert override == ""
    assert worker.asked == [(Ask(PROBE, CASE.args), 20)]


def test_a_live_oracle_asks_a_variant(live: Live) -> None:
    triples, lists = live.variants(CHECK)
    assert [live.answer(PROBE, CASE, triples), live.answer(PROBE, CASE, lists)] == [SEES["triples"], SEES["lists"]]


def test_each_worker_of_a_live_oracle_is_started_once(live: Live, sandbox: FakeSandbox) -> None:
    triples, _ = live.variants(CHECK)
    for _ in range(3):
        live.answer(PROBE, CASE)
        live.answer(PROBE, CASE, triples)
    assert [override for override, _ in sandbox.started] == ["", "triples"]


def test_a_check_has_its_own_variants(live: Live) -> None:
    assert [variant.name for variant in live.variants(CHECK)] == ["triples", "lists"]
    assert [variant.name for variant in live.variants(OTHER)] == ["others"]


@pytest.mark.parametrize("seen", [TimedOut(20.0), Died("SIGSEGV"), OverLimit("memory", "512 MB")])
def test_a_reference_without_an_answer_is_an_error(live: Live, sandbox: FakeSandbox, seen: Observation) -> None:
    sandbox.sees[""] = seen
    with pytest.raises(OracleError, match=r"the reference gave no answer to double\(2\): .*; it said: what it printed"):
        live.answer(PROBE, CASE)


@pytest.mark.parametrize("seen", [TimedOut(20.0), Died("SIGSEGV"), OverLimit("memory", "512 MB")])
def test_a_variant_without_an_answer_is_no_error(live: Live, sandbox: FakeSandbox, seen: Observation) -> None:
    sandbox.sees["triples"] = seen
    assert live.answer(PROBE, CASE, live.variants(CHECK)[0]) == seen


def test_a_worker_that_has_ended_is_replaced(live: Live, sandbox: FakeSandbox) -> None:
    live.answer(PROBE, CASE)
    sandbox.started[0][1].end()
    assert live.answer(PROBE, CASE) == Returned(4)
    assert len(sandbox.started) == 2


def test_the_workers_of_variants_are_dismissed_and_the_references_stays(live: Live, sandbox: FakeSandbox) -> None:
    live.answer(PROBE, CASE)
    live.answer(PROBE, CASE, live.variants(CHECK)[0])
    live.dismiss()
    assert [(override, worker.alive) for override, worker in sandbox.started] == [("", True), ("triples", False)]


# --- recorded --------------------------------------------------------------------------------------------------------

LISTED = [
    Variant("0", "1.1", "misconception", "Why three?", "views"),
    Variant("1", "1.1", "accepted", "A list will do.", "views"),
]
ENTRIES = [
    Entry("1.1", PROBE, CASE, Returned(4), {"0": SEES["triples"], "1": Returned([4])}),
    Entry(
        "1.1",
        PROBE,
        Case("double(3)", {"x": 3}),
        Returned((1.5, None, b"x")),
        {"0": Died("SIGSEGV"), "1": TimedOut(20.0)},
    ),
    Entry("1.1", "views.other", Case("other()", {}), Returned(Tensor("bfloat16", (1,), b"ab")), {}),
    Entry("1.2", PROBE, Case("double(5)", {"x": 5}), Returned(Record("View", {"shape": (2,)})), {}),
]


def recorded_file(folder: Path, variants: list[Variant] = LISTED, entries: list[Entry] = ENTRIES) -> Path:
    path = folder / "recorded.bin"
    path.write_bytes(write_recorded(variants, entries))
    return path


def test_what_was_recorded_is_read_again(tmp_path: Path) -> None:
    assert read_recorded(recorded_file(tmp_path)) == (LISTED, ENTRIES)


def test_variants_names_stay_with_the_staff(tmp_path: Path) -> None:
    path = recorded_file(tmp_path, [replace(LISTED[0], name="triples_by_mistake")], [])
    assert b"triples_by_mistake" not in zlib.decompress(path.read_bytes())
    assert read_recorded(path)[0] == [LISTED[0]]


def test_the_same_answers_are_recorded_as_the_same_bytes() -> None:
    assert write_recorded(LISTED, ENTRIES) == write_recorded(LISTED, ENTRIES)


def test_a_recorded_oracle_knows_the_cases_of_a_question_in_their_order(tmp_path: Path) -> None:
    oracle = Recorded(recorded_file(tmp_path))
    assert oracle.cases(CHECK, PROBE) == [ENTRIES[0].case, ENTRIES[1].case]
    assert oracle.cases(CHECK, "views.other") == [ENTRIES[2].case]
    assert oracle.cases(OTHER, PROBE) == [ENTRIES[3].case]


def test_a_recorded_oracle_answers_as_the_live_one_does(tmp_path: Path, live: Live) -> None:
    oracle = Recorded(recorded_file(tmp_path))
    (case, *_) = oracle.cases(CHECK, PROBE)
    assert oracle.answer(PROBE, case) == live.answer(PROBE, case)
    for here, there in zip(oracle.variants(CHECK), live.variants(CHECK), strict=True):
        assert oracle.answer(PROBE, case, here) == live.answer(PROBE, case, there)
        assert replace(here, name="") == replace(there, name="")


def test_a_recorded_oracle_holds_nothing(tmp_path: Path) -> None:
    oracle = Recorded(recorded_file(tmp_path))
    oracle.dismiss()
    assert oracle.answer(PROBE, CASE) == Returned(4)


@pytest.mark.parametrize(("check", "probe"), [(CHECK, "views.unknown"), (replace(CHECK, number="9.9"), PROBE)])
def test_a_question_that_was_not_recorded_is_an_error(tmp_path: Path, check: Check, probe: str) -> None:
    with pytest.raises(OracleError, match=r"no answers are recorded for .*: the handout is older than the grader"):
        Recorded(recorded_file(tmp_path)).cases(check, probe)


def test_a_case_that_was_not_recorded_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OracleError, match=r"no answer is recorded for double\(7\)"):
        Recorded(recorded_file(tmp_path)).answer(PROBE, Case("double(7)", {"x": 7}))


def test_a_variant_that_was_not_recorded_is_an_error(tmp_path: Path) -> None:
    oracle = Recorded(recorded_file(tmp_path))
    with pytest.raises(OracleError, match=r"no answer is recorded for double\(5\)"):
        oracle.answer(PROBE, ENTRIES[3].case, LISTED[0])


def test_two_checks_may_ask_the_same_case(tmp_path: Path) -> None:
    entries = [ENTRIES[0], replace(ENTRIES[0], number="1.2", variants={})]
    assert Recorded(recorded_file(tmp_path, entries=entries)).answer(PROBE, CASE, LISTED[0]) == SEES["triples"]


WHOLE = write_recorded(LISTED, ENTRIES)
VARIANT_FRAME = wire.encode(Returned([]))
CORRUPT = {
    "nothing": b"",
    "something else": b"PK\3\4 a zip",
    "a cut file": WHOLE[:-10],
    "a flipped bit": WHOLE[:50] + bytes([WHOLE[50] ^ 1]) + WHOLE[51:],
    "packed nothing": zlib.compress(b""),
    "packed text": zlib.compress(b"hello" * 10),
    "a cut frame": zlib.compress(zlib.decompress(WHOLE)[:-3]),
    "a question": zlib.compress(wire.encode(Ask(PROBE, {}))),
    "no list of variants": zlib.compress(wire.encode(Returned(1))),
    "variants that are numbers": zlib.compress(wire.encode(Returned([1]))),
    "an entry that is a number": zlib.compress(VARIANT_FRAME + wire.encode(Returned(1))),
    "an entry without fields": zlib.compress(VARIANT_FRAME + wire.encode(Returned(Record("Entry", {})))),
}


@pytest.mark.parametrize("what", CORRUPT)
def test_a_corrupt_file_is_an_error(tmp_path: Path, what: str) -> None:
    path = tmp_path / "recorded.bin"
    path.write_bytes(CORRUPT[what])
    with pytest.raises(OracleError, match=r"recorded.bin holds no recorded answers"):
        Recorded(path)


def test_an_observation_of_another_version_is_an_error(tmp_path: Path) -> None:
    frames = zlib.decompress(write_recorded([], ENTRIES[3:]))
    path = tmp_path / "recorded.bin"
    path.write_bytes(zlib.compress(frames.replace(b'"r","Returned"', b'"r","Returnee"')))
    with pytest.raises(OracleError):
        Recorded(path)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OracleError, match=r"recorded.bin holds no recorded answers"):
        Recorded(tmp_path / "recorded.bin")


# --- observations and cases ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seen",
    [
        Returned({"a": [1.5, Tensor("int8", (1,), b"\1")]}),
        Raised("ValueError", ("ValueError", "Exception"), "no", "import", ("views.py:1 in <module>",)),
        UsedForbidden("torch.empty", "views.py:3 in f"),
        OverLimit("memory", "512 MB"),
        TimedOut(4.0),
        Died("SIGSEGV"),
    ],
    ids=lambda seen: type(seen).__name__,
)
def test_an_observation_comes_back_from_a_record(seen: Observation) -> None:
    assert observation_from_record(observation_to_record(seen)) == seen


@pytest.mark.parametrize("other", [Case("another text", CASE.args), replace(CASE, names=())])
def test_a_case_is_the_same_whatever_its_text(other: Case) -> None:
    assert case_key(PROBE, other) == case_key(PROBE, CASE)


@pytest.mark.parametrize(
    ("probe", "args"),
    [("views.other", CASE.args), (PROBE, {}), (PROBE, {"y": CASE.args["x"]}), (PROBE, {"x": [*CASE.args["x"]]})],  # type: ignore
)
def test_another_question_is_another_case(probe: str, args: dict[str, Any]) -> None:
    assert case_key(probe, Case(CASE.code, args)) != case_key(PROBE, CASE)


# --- the course's own ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Live, Recorded]]:
    """The course's two oracles."""
    policy = read_settings()
    parts = {check.part for check in read_checks(policy.checks)}
    with Sandbox(sorted(parts)) as own:
        yield Live(own, ROOT / "solutions", parts, policy.package, 20), Recorded(ROOT / "handout" / "recorded.bin")


def without_trace(seen: Observation) -> Observation:
    return replace(seen, trace=()) if isinstance(seen, Raised) else seen


@pytest.mark.parametrize("check", read_checks(read_settings().checks), ids=lambda check: check.number)
def test_recorded_answers_are_those_of_the_reference_and_its_variants(
    both: tuple[Live, Recorded], check: Check
) -> None:
    live, recorded = both
    probes = {probe for number, probe in recorded._entries if number == check.number}
    assert probes
    for probe in probes:
        for case in recorded.cases(check, probe)[:8]:
            known = zip([None, *recorded.variants(check)], [None, *live.variants(check)], strict=True)
            here, there = zip(
                *((recorded.answer(probe, case, r), live.answer(probe, case, v)) for r, v in known), strict=True
            )
            assert list(map(without_trace, here)) == list(map(without_trace, there)), case.code
    live.dismiss()
