"""The command line: arguments in, exit codes out.

Exit codes: 0 the command did its work (a grading, whatever the score), 1 it is our fault, 2 wrong arguments,
130 it was interrupted.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import tempfile
from pathlib import Path

from autograder.catalogue import read_checks, selects
from autograder.fault import OurFault
from autograder.files import write_aside
from autograder.grade import Watcher, grade
from autograder.render.gradescope import render_gradescope
from autograder.render.terminal import Progress, open_console, render_terminal
from autograder.result import Result
from autograder.settings import Settings, read_settings


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options, read_settings())
    except OurFault as error:
        print(f"our fault: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m autograder", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run, help_ in (
        ("grade", _grade, "grade a submission: a folder, a zip or a file"),
        ("debug", _debug, "step through the case on which a check fails"),
    ):
        command = commands.add_parser(name, help=help_)
        command.set_defaults(run=run)
        command.add_argument("submission", type=Path)
        command.add_argument("--only", default="", metavar="N", help="a check, exercise or part: 1.5b, 1.5 or 1")
        command.add_argument("--seed", type=int, help="draws the same cases again (default: a new one)")
        command.add_argument(
            "--answers", type=Path, help="solutions or recorded answers (default: ./solutions, else ./recorded.bin)"
        )
        command.add_argument("--spawn", action="store_true", help="a fresh interpreter for each worker")
        if name == "grade":
            command.add_argument("--result", type=Path, help="write the result here, anew after each check")
            command.add_argument("--gradescope", type=Path, help="write Gradescope's results.json here, likewise")
    for name, run, help_ in (
        ("handout", _handout, "make the stubs and the recorded answers from the solutions"),
        ("audit", _audit, "grade every known right and wrong solution"),
    ):
        command = commands.add_parser(name, help=help_)
        command.set_defaults(run=run)
        command.add_argument("--solutions", type=Path, default=Path("solutions"))
        command.add_argument("--handout", type=Path, default=Path("handout"))
        if name == "audit":
            command.add_argument("--only", default="", metavar="N", help="a check, exercise or part: 1.5b, 1.5 or 1")
            command.add_argument("--seed", type=int)
    return parser


def _grade(options: argparse.Namespace, policy: Settings) -> int:
    with Progress(open_console(sys.stderr)) as progress:
        checks = [check for check in read_checks(policy.checks) if selects(options.only, check.number)]
        if not checks:
            return _wrong(
                f"--only {options.only!r} names no check; {', '.join(c.number for c in read_checks(policy.checks))} do"
            )

        for written in (options.result, options.gradescope):
            if written and not written.absolute().parent.is_dir():
                return _wrong(f"{written} cannot be written: there is no folder {written.absolute().parent}")

        def updated(result: Result) -> None:
            if options.result:
                write_aside(options.result, result.to_json())
            if options.gradescope:
                write_aside(options.gradescope, json.dumps(render_gradescope(result), indent=1) + "\n")

        progress.start(checks)
        result = _result(options, policy, Watcher(ended=progress.outcome, updated=updated))
    if isinstance(result, int):
        return result
    render_terminal(result, open_console(sys.stdout))
    return 1 if result.our_fault else 0 if result.complete else 130


def _debug(options: argparse.Namespace, policy: Settings) -> int:
    from autograder.debugging import debug  # noqa: PLC0415  only here does student code meet this process
    from autograder.submission import read_submission, stage  # noqa: PLC0415

    result = _result(options, policy, Watcher())
    if isinstance(result, int):
        return result
    notebook = policy.notebook.removesuffix(".ipynb")  # there is nothing in it to step through
    failing = next((o for o in result.outcomes if o.feedback.ask and o.check.part != notebook), None)
    if failing is None:
        said = {o.feedback.message for o in result.outcomes if o.status == "failed"}
        print("\n".join(said) or "nothing to step through: every case agrees")
        return 0
    print(f"{failing.check.number} {failing.check.name}: {failing.feedback.message}")
    if (options.submission / policy.package).is_dir():
        debug(options.submission.resolve(), policy.package, failing)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        parts = sorted({check.part for check in read_checks(policy.checks)} - {notebook})
        stage(read_submission(options.submission, parts, policy.package, policy.notebook), Path(folder))
        debug(Path(folder), policy.package, failing)
    return 0


def _result(options: argparse.Namespace, policy: Settings, watcher: Watcher) -> Result | int:
    """Return the grading, or the exit code for arguments that name nothing."""
    if not options.submission.exists():
        return _wrong(f"there is no {options.submission}")
    answers = options.answers or next((p for p in (Path("solutions"), Path("recorded.bin")) if p.exists()), None)
    if answers is None or not answers.exists():
        return _wrong(
            "there are no answers to compare with: neither ./solutions nor ./recorded.bin; name them with --answers"
        )
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    return grade(options.submission, policy, answers, seed, options.only, watcher, options.spawn or None)


def _handout(options: argparse.Namespace, policy: Settings) -> int:
    from autograder.handout import write_handout  # noqa: PLC0415  staff's commands load their own

    for path in write_handout(options.solutions, options.handout, policy):
        print(path)
    return 0


def _audit(options: argparse.Namespace, policy: Settings) -> int:
    from autograder.audit import audit, write_table  # noqa: PLC0415

    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    print(f"seed {seed}")
    return 1 if write_table(audit(options.solutions, options.handout, policy, seed, options.only), print) else 0


def _wrong(what: str) -> int:
    print(what, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
