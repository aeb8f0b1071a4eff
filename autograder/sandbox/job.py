"""What a worker is told before it runs anything: whose code, where, within which limits."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

MIB = 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """Bounds on one worker, beside its deadlines."""

    memory_bytes: int = 512 * MIB  # on top of what the worker has when it starts
    cpu_s: int = 60  # of all its threads together
    file_bytes: int = 64 * MIB  # of one file it writes
    processes: int = 128  # of its user, threads included; holds only where it has a user of its own
    kept_output_bytes: int = 16 * 1024  # kept of what it prints, at the head and again at the tail
    output_bytes: int = 16 * MIB  # printed in all before it is ended


@dataclass(frozen=True)
class Job:
    """One worker's task. It carries no secret: a zygote sees it."""

    package_dir: str  # folder that holds the package; it comes last on the path
    work_dir: str  # the worker's own, empty at its start
    package: str = "napkin"
    override: str = ""  # a variant's name: its function takes the reference's place
    user: int | None = None  # uid and gid to change to, when the grader is root
    limits: Limits = Limits()

    def to_json(self) -> str:
        """Return the job as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Return the job that `to_json` wrote."""
        raw = json.loads(text)
        return cls(**{**raw, "limits": Limits(**raw["limits"])})
