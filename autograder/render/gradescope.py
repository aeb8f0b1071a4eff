"""What Gradescope's results.json says of a grading; `gradescope.schema.json` is its contract.

Students may read every `output`: nothing there tells of a check that is not visible yet, of the seed, or of the staff's
notes. `extra_data` is stored and never shown.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from autograder.render.text import UNJUDGED, count, feedback_lines, harmless, plain, points, reason, title, total
from autograder.result import Outcome, Result

# Gradescope names no limit, so we keep one: 1 MB for the file. An escape costs up to 12 bytes for a character, so sizes
# are those of the JSON. The outputs of the checks share 600 kB, each with at most 20 kB; the rest is small.
OUTPUTS_BYTES = 600_000
OUTPUT_BYTES = 20_000


def render_gradescope(result: Result) -> dict[str, Any]:
    """Return the contents of results.json: all of the manifest's checks, and no score but theirs."""
    share = min(OUTPUT_BYTES, OUTPUTS_BYTES // max(len(result.outcomes), 1))
    return {
        "execution_time": round(result.seconds, 3),
        "output": _fitting("\n".join(_overview(result)), OUTPUT_BYTES),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "stdout_visibility": "hidden",
        "extra_data": {
            "seed": result.seed,
            "oracle": result.oracle,
            "complete": result.complete,
            "versions": {harmless(name, 80, 1): harmless(version, 80, 1) for name, version in result.versions.items()},
            "seconds": {outcome.check.number: round(outcome.seconds, 3) for outcome in result.outcomes},
            "staff_notes": _fitting("\n".join(result.staff_notes), OUTPUT_BYTES).split("\n"),
        },
        "tests": [_test(outcome, share) for outcome in result.outcomes],
    }


def _test(outcome: Outcome, share_bytes: int) -> dict[str, Any]:
    check = outcome.check
    return {
        "number": harmless(check.number, 20, 1),
        "name": title(outcome),
        "score": round(outcome.points, 4),
        "max_score": round(check.points, 4),
        "status": "passed" if outcome.status == "passed" else "failed",  # Gradescope has no third
        "output": _fitting(plain(feedback_lines(outcome)), share_bytes),
        "visibility": check.visibility,
        "tags": [harmless(tag, 40, 1) for tag in check.tags],
    }


def _overview(result: Result) -> Iterator[str]:
    """Yield the lines above all checks, which tell only of those that students can see."""
    visible = replace(result, outcomes=tuple(o for o in result.outcomes if o.check.visibility == "visible"))
    if not result.complete:
        yield "This grading did not end. What it did not reach was not judged, which is no verdict on your code."
    yield total(visible) + ("" if len(visible.outcomes) == len(result.outcomes) else "   (of the checks shown here)")
    causes: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in visible.outcomes:
        if outcome.status in UNJUDGED:
            ours = outcome.status == "our fault"
            causes["our fault, please tell the staff" if ours else reason(outcome)].append(outcome)
    for cause, those in causes.items():
        worth = points(sum(o.check.points - o.points for o in those))
        yield f"NOT JUDGED, {worth} points: {', '.join(o.check.number for o in those)} ({cause})"
    for note in result.notes[:20]:
        yield f"note  {harmless(note, 500, 5)}"
    if len(result.notes) > 20:
        yield f"note  {count(len(result.notes) - 20, 'more note')}"
    wrong = [o.check.number for o in visible.outcomes if o.status in ("failed", "partial")]
    yield "again make grade" + (f"      one check alone: make grade ONLY={wrong[0]}" if wrong else "")


def _fitting(text: str, size_bytes: int) -> str:
    """Return harmless text whose JSON takes at most `size_bytes`, head and tail kept."""
    kept = size_bytes
    fitting = harmless(text, kept, size_bytes)
    while (cost_bytes := len(json.dumps(fitting))) > size_bytes:
        kept = int(0.95 * size_bytes / cost_bytes * min(kept, len(fitting)))
        fitting = harmless(text, kept, size_bytes)
    return fitting
