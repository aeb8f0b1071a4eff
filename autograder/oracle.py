"""Says what should be seen: by asking the reference now, or from what it answered when the handout was made.

Both answer for every variant too, so that a misconception is named at home as it is after the hand-in.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from autograder import wire
from autograder.catalogue import Variant, read_variants
from autograder.fault import OurFault
from autograder.judge import Case
from autograder.result import Check
from autograder.sandbox.host import Sandbox, Worker

RECORDED_FIELDS = ("number", "kind", "text", "part")  # of a variant; its name would tell too much


class OracleError(OurFault):
    """What should be seen cannot be said: the grader's fault, never the submission's."""


class Oracle(Protocol):
    """Says what should be seen."""

    kind: Literal["live", "recorded"]

    def cases(self, check: Check, probe: str) -> list[Case] | None:
        """Return the cases that can be answered, plainest first, or None if any can."""

    def variants(self, check: Check) -> list[Variant]:
        """Return the known other solutions of a check."""

    def answer(self, probe: str, case: Case, variant: Variant | None = None) -> wire.Observation:
        """Return what the probe sees on the reference, or on a variant."""

    def answers(self, probe: str, cases: Sequence[Case]) -> list[wire.Observation]:
        """Return what the probe sees on the reference, case by case."""

    def dismiss(self) -> None:
        """Let go of what only a failing check has need of."""


class Live:
    """Asks workers that hold the reference or a variant.

    Args:
        solutions: folder with the reference package and `variants`. Read by workers and as text, never imported here.
        answer_s: how long the staff's own code may take for one answer.
    """

    kind: Literal["live", "recorded"] = "live"

    def __init__(self, sandbox: Sandbox, solutions: Path, parts: set[str], package: str, answer_s: float) -> None:
        self._sandbox, self._solutions, self._package, self._answer_s = sandbox, solutions, package, answer_s
        self._variants = read_variants(solutions / "variants", parts)
        self._workers: dict[str, Worker] = {}

    def cases(self, check: Check, probe: str) -> None:
        """Any case can be answered."""

    def variants(self, check: Check) -> list[Variant]:
        """Return the variants that stand beside the reference for this check."""
        return [variant for variant in self._variants if variant.number == check.number]

    def answer(self, probe: str, case: Case, variant: Variant | None = None) -> wire.Observation:
        """Ask the worker that holds the reference or the variant; it is started when first needed.

        Raises: OracleError when the reference itself crashes or hangs. A variant may.
        """
        worker = self._worker(variant)
        seen = worker.observe(wire.Ask(probe, case.args), self._answer_s)
        return seen if variant else self._checked(seen, case, worker)

    def answers(self, probe: str, cases: Sequence[Case]) -> list[wire.Observation]:
        """Ask the worker that holds the reference about all cases.

        Raises: OracleError as `answer` does.
        """
        worker = self._worker(None)
        seen = worker.observe_all([wire.Ask(probe, case.args) for case in cases], lambda: self._answer_s)
        return [self._checked(one, case, worker) for one, case in zip(seen, cases, strict=False)]

    def _worker(self, variant: Variant | None) -> Worker:
        name = variant.name if variant else ""
        if name not in self._workers or not self._workers[name].alive:
            self._workers[name] = self._sandbox.worker(self._solutions, self._package, override=name, trusted=True)
        return self._workers[name]

    @staticmethod
    def _checked(seen: wire.Observation, case: Case, worker: Worker) -> wire.Observation:
        # An illegal case says what its error must name: any other error is a fault of the probe or the reference.
        if isinstance(seen, wire.Returned) or (isinstance(seen, wire.Raised) and case.names):
            return seen
        raise OracleError(f"the reference gave no answer to {case.code}: {seen}; it said: {worker.output()}")

    def dismiss(self) -> None:
        """End the workers of variants."""
        for name in [name for name in self._workers if name]:
            self._workers.pop(name).end()


@dataclass(frozen=True)
class Entry:
    """One recorded case with all answers to it."""

    number: str
    probe: str
    case: Case
    reference: wire.Observation
    variants: dict[str, wire.Observation]  # by the variant's place in the list; names stay with the staff


class Recorded:
    """Looks answers up in the file that was recorded from the reference."""

    kind: Literal["live", "recorded"] = "recorded"

    def __init__(self, path: Path) -> None:
        self._variants: list[Variant]
        self._variants, entries = read_recorded(path)
        self._entries: dict[tuple[str, str], list[Entry]] = {}
        self._by_case: dict[bytes, Entry] = {}
        for entry in entries:
            self._entries.setdefault((entry.number, entry.probe), []).append(entry)
            known = self._by_case.setdefault(case_key(entry.probe, entry.case), entry)
            known.variants.update(entry.variants)  # two checks may ask the same, each with variants of its own

    def cases(self, check: Check, probe: str) -> list[Case]:
        """Return the recorded cases of a check's question.

        Raises: OracleError if there are none.
        """
        entries = self._entries.get((check.number, probe))
        if not entries:
            raise OracleError(
                f"no answers are recorded for {check.number} ({probe}): the handout is older than the grader"
            )
        return [entry.case for entry in entries]

    def variants(self, check: Check) -> list[Variant]:
        """Return the variants of a check, without their names."""
        return [variant for variant in self._variants if variant.number == check.number]

    def answer(self, probe: str, case: Case, variant: Variant | None = None) -> wire.Observation:
        """Look the answer up."""
        entry = self._by_case.get(case_key(probe, case))
        if entry is None or (variant is not None and variant.name not in entry.variants):
            raise OracleError(f"no answer is recorded for {case.code}")
        return entry.reference if variant is None else entry.variants[variant.name]

    def answers(self, probe: str, cases: Sequence[Case]) -> list[wire.Observation]:
        """Look the answers up."""
        return [self.answer(probe, case) for case in cases]

    def dismiss(self) -> None:
        """Nothing is held."""


def case_key(probe: str, case: Case) -> bytes:
    """Return what makes a case the same case."""
    return wire.encode(wire.Ask(probe, case.args))


def write_recorded(variants: Iterable[Variant], entries: Iterable[Entry]) -> bytes:
    """Return the content of a recorded file: a frame for each variant, then one for each case."""
    frames = [
        wire.encode(wire.Returned(wire.Record("Variant", {name: getattr(v, name) for name in RECORDED_FIELDS})))
        for v in variants
    ]
    for entry in entries:
        answers = {name: observation_to_record(seen) for name, seen in entry.variants.items()}
        fields: dict[str, wire.Value] = {
            "number": entry.number,
            "probe": entry.probe,
            "code": entry.case.code,
            "args": entry.case.args,
            "names": entry.case.names,
            "reference": observation_to_record(entry.reference),
            "variants": dict(answers),
        }
        frames.append(wire.encode(wire.Returned(wire.Record("Entry", fields))))
    return zlib.compress(b"".join(frames), 9)


def read_recorded(path: Path) -> tuple[list[Variant], list[Entry]]:
    """Return what `write_recorded` wrote.

    Raises: OracleError if the file is missing or something else.
    """
    try:
        records = list(_frames(zlib.decompress(path.read_bytes())))
        if not records:
            raise LookupError("it is empty")
        known = [record.fields for record in records if record.name == "Variant"]
        variants = [Variant(name=str(place), **fields) for place, fields in enumerate(known)]
        return variants, [_entry(**record.fields) for record in records if record.name == "Entry"]
    except (OSError, zlib.error, wire.WireError, LookupError, TypeError, AttributeError, ValueError) as error:
        raise OracleError(f"{path.name} holds no recorded answers ({error})") from error


def observation_to_record(seen: wire.Observation) -> wire.Record:
    """Return an observation as a value, so that it can stand inside another."""
    fields = {name: getattr(seen, name) for name in seen.__dataclass_fields__}
    return wire.Record(type(seen).__name__, fields)


def observation_from_record(record: wire.Record) -> wire.Observation:
    """Return the observation that `observation_to_record` wrote."""
    kinds = (wire.Returned, wire.Raised, wire.UsedForbidden, wire.OverLimit, wire.TimedOut, wire.Died)
    kind: Any = {kind.__name__: kind for kind in kinds}[record.name]
    seen: wire.Observation = kind(**record.fields)
    return seen


def _frames(data: bytes) -> Iterator[Any]:
    at = 0
    while at < len(data):
        size = wire.PREFIX.size + sum(wire.frame_sizes(data[at : at + wire.PREFIX.size]))
        message = wire.decode_frame(data[at : at + size])
        yield message.value if isinstance(message, wire.Returned) else None
        at += size


def _entry(number: str, probe: str, code: str, args: Any, names: Any, reference: Any, variants: Any) -> Entry:
    answers = {name: observation_from_record(record) for name, record in variants.items()}
    return Entry(number, probe, Case(code, args, names), observation_from_record(reference), answers)
