"""Proves the checks: grades every variant as if it were handed in, with fresh cases and with the recorded ones.

A misconception must lose its own check, be named by its own hint and lose nothing else; an accepted variant must earn
everything, with its note. The reference must earn everything and the untouched stubs nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.catalogue import Variant, read_checks, read_variants, selects
from autograder.grade import Candidate, Run, grade, make_oracle
from autograder.result import NOT_ASKED_FOR, Check, Outcome, Result
from autograder.sandbox.host import Sandbox
from autograder.settings import Settings

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
    """Yield a finding for each thing that must hold, as it is proved.

    Args:
        only: a check's, exercise's or part's number; the others and their variants are left out.
    """
    manifest = read_checks(policy.checks)
    checks = tuple(check for check in manifest if selects(only, check.number))
    parts = {check.part for check in checks}
    variants = read_variants(solutions / "variants", parts)
    others = {check.number for check in manifest} - {check.number for check in checks}
    variants = tuple(variant for variant in variants if variant.number not in others)
    yield from _counts(checks, variants)
    for answers in (solutions, handout / "recorded.bin"):
        whole = grade(solutions, policy, answers, seed, only)
        yield Finding("", "the reference", "reference", whole.oracle, _losses(_asked(whole)))
        stubs = grade(handout, policy, answers, seed, only)
        yield Finding("", "the untouched handout", "stubs", stubs.oracle, _gains(_asked(stubs)))
    with Sandbox(sorted(parts), policy.limits) as sandbox:
        for answers in (solutions, handout / "recorded.bin"):
            oracle = make_oracle(answers, sandbox, policy, parts)
            for variant in variants:
                candidate = Candidate(solutions.resolve(), variant.name)
                run = Run(sandbox, candidate, oracle, policy, seed)
                # The other checks judge the recorded cases only: they ask the same, and fresh ones take long.
                live = oracle.kind == "live"
                asked = [c for c in checks if c.part == variant.part and (c.number == variant.number or not live)]
                result = run.checks(checks, asked)
                trouble = _trouble(variant, result, {check.number for check in asked})
                yield Finding(variant.number, variant.name, variant.kind, oracle.kind, trouble)


def _asked(result: Result) -> tuple[Outcome, ...]:
    return tuple(o for o in result.outcomes if (o.status, o.feedback.message) != ("not judged", NOT_ASKED_FOR))


def _counts(checks: tuple[Check, ...], variants: tuple[Variant, ...]) -> Iterator[Finding]:
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


def _trouble(variant: Variant, result: Result, asked: set[str]) -> str:
    outcomes = {o.check.number: o for o in result.outcomes if o.check.number in asked}
    own = outcomes.pop(variant.number, None)
    if own is None:
        return "its check did not run"
    if lost := _losses(tuple(outcomes.values())):
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
