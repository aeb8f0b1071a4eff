"""Proves the checks: grades every variant as if it were handed in, with fresh cases and with the recorded ones.

A misconception must lose its own check, be named by its own hint and lose nothing else; an accepted variant must earn
everything, with its note. The reference must earn everything and the untouched stubs nothing.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from autograder.catalogue import Variant, read_checks, read_variants, selects
from autograder.grade import Candidate, Run, make_oracle
from autograder.oracle import Oracle
from autograder.result import Check, Outcome
from autograder.sandbox.host import Sandbox
from autograder.settings import Settings
from autograder.submission import read_submission

AT_LEAST = 3  # misconceptions per exercise
AT_LEAST_OF_A_QUESTION = 1  # in the notebook, where some are answered by True or False


@dataclass(frozen=True)
class Finding:
    """One line of the audit."""

    number: str
    name: str
    kind: str
    oracle: str
    trouble: str  # empty where all is as it must be


def audit(solutions: Path, handout: Path, policy: Settings, seed: int, only: str = "") -> Iterator[Finding]:
    """Yield a finding for each thing that must hold; the parts are proved side by side.

    Args:
        only: a check's, exercise's or part's number; the others and their variants are left out.
    """
    manifest = read_checks(policy.checks)
    checks = tuple(check for check in manifest if selects(only, check.number))
    parts = dict.fromkeys(check.part for check in checks)
    others = {check.number for check in manifest} - {check.number for check in checks}
    variants = [v for v in read_variants(solutions / "variants", set(parts)) if v.number not in others]
    yield from _counts(checks, variants)
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        proofs = [
            pool.submit(
                prove_part, solutions, handout, policy, seed,
                [check for check in checks if check.part == part], [v for v in variants if v.part == part],
            )
            for part in parts
        ]  # fmt: skip
        for proof in proofs:
            yield from proof.result()


def prove_part(
    solutions: Path, handout: Path, policy: Settings, seed: int, checks: list[Check], variants: list[Variant]
) -> list[Finding]:
    """Return the findings about one part's checks: the reference, the stubs, and each variant."""
    manifest = read_checks(policy.checks)
    (part,) = {check.part for check in checks}
    found = []
    with Sandbox([part], policy.limits) as sandbox:
        stubs = read_submission(handout, [part], policy.package, policy.notebook)
        for answers in (solutions, handout / "recorded.bin"):
            oracle = make_oracle(answers, sandbox, policy, {part})

            def graded(candidate: Candidate, asked: list[Check], oracle: Oracle = oracle) -> tuple[Outcome, ...]:
                numbers = {check.number for check in asked}
                result = Run(sandbox, candidate, oracle, policy, seed).checks(manifest, asked)
                return tuple(outcome for outcome in result.outcomes if outcome.check.number in numbers)

            reference = Candidate(solutions.resolve())
            lost, gained = _losses(graded(reference, checks)), _gains(graded(Candidate(stubs), checks))
            found.append(Finding("", f"the reference of {part}", "reference", oracle.kind, lost))
            found.append(Finding("", f"the stubs of {part}", "stubs", oracle.kind, gained))
            for variant in variants:
                # The other checks judge the recorded cases only: they ask the same, and fresh ones take long.
                asked = [c for c in checks if c.number == variant.number or oracle.kind == "recorded"]
                trouble = _trouble(variant, graded(replace(reference, variant=variant.name), asked))
                found.append(Finding(variant.number, variant.name, variant.kind, oracle.kind, trouble))
    return found


def _counts(checks: Sequence[Check], variants: Sequence[Variant]) -> Iterator[Finding]:
    exercise = {check.number: check.exercise for check in checks}
    have = Counter(exercise.get(v.number, "none") for v in variants if v.kind == "misconception")
    for number in sorted(set(exercise.values())):
        wanted = AT_LEAST if number[0].isdigit() else AT_LEAST_OF_A_QUESTION
        trouble = "" if have[number] >= wanted else f"has {have[number]} misconceptions, not {wanted}"
        yield Finding(number, f"{have[number]} misconceptions", "count", "", trouble)
    for variant in variants:
        if variant.number not in exercise:
            yield Finding(variant.number, variant.name, variant.kind, "", "there is no check of this number")


def _losses(outcomes: tuple[Outcome, ...]) -> str:
    lost = [
        f"{o.check.number} {o.status}: {o.feedback.message} {o.feedback.code}" for o in outcomes if o.status != "passed"
    ]
    return "; ".join(lost)


def _gains(outcomes: tuple[Outcome, ...]) -> str:
    """Return what of the stubs' outcome is not the message of an exercise of its part."""
    other = [
        f"{o.check.number} {o.status}: {o.feedback.message}"
        for o in outcomes
        if o.status != "failed" or not o.feedback.message.startswith(_unwritten(o.check))
    ]
    return "; ".join(other)


def _unwritten(check: Check) -> str:
    return f"not implemented yet: {check.exercise.partition('.')[0]}."


def _trouble(variant: Variant, outcomes: tuple[Outcome, ...]) -> str:
    own = next((o for o in outcomes if o.check.number == variant.number), None)
    if own is None:
        return "its check did not run"
    if lost := _losses(tuple(o for o in outcomes if o is not own)):
        return f"loses another check: {lost}"
    if variant.kind == "accepted":
        return "" if own.feedback.note == variant.text else f"is not accepted with its note: {_losses((own,))}"
    if own.status != "failed":
        return f"is not caught: {own.status}"
    return (
        ""
        if own.feedback.hint == variant.text
        else f"is named by another hint: {own.feedback.hint!r} on {own.feedback.code}"
    )


def write_table(findings: Iterator[Finding], write: Callable[[str], None]) -> int:
    """Write one line per finding and a last one; return how many have trouble."""
    count = troubles = 0
    for finding in findings:
        count += 1
        troubles += bool(finding.trouble)
        mark = f"FAULT {finding.trouble}" if finding.trouble else "ok"
        write(f"{finding.number:6}{finding.name:44}{finding.kind:15}{finding.oracle:10}{mark}")
    write(f"{count} findings, {troubles} faults")
    return troubles
