"""Starts and ends the processes of workers.

Two launchers stand behind one interface. A `Zygote` forks workers from a process that has torch already (Linux,
some milliseconds each); `Spawner` starts a fresh interpreter for each (where fork is not to be had, a second or more).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Protocol

from autograder.fault import OurFault
from autograder.sandbox.confine import clean_environment
from autograder.sandbox.job import Job

READY_S = 120.0  # for a first import of torch from a cold disk


class SandboxError(OurFault):
    """The sandbox did not work: the grader's fault, never the submission's."""


@dataclass(frozen=True)
class Ended:
    """How a worker's process ended."""

    status: int  # as os.wait gives it
    cpu_s: float
    survivors: int  # processes of it that could not be killed


class Launcher(Protocol):
    """Starts and ends the processes of workers."""

    @property
    def alive(self) -> bool:
        """Whether it can start workers."""

    def launch(self, job: Job, data: socket.socket, output_fd: int) -> int:
        """Start a worker with these descriptors and return its pid."""

    def end(self, pid: int) -> Ended:
        """Kill a worker with all that came of it and return how it ended."""

    def close(self) -> None:
        """End the launcher itself."""


class Zygote:
    """Forks workers from a process that has imported torch; the import goes on while the grader does other things."""

    def __init__(self, parts: Sequence[str]) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the process
        arguments = ["-m", "autograder.sandbox.zygote", str(theirs.fileno()), *parts]
        self._process = _isolated_python(arguments, [theirs.fileno()], self._errors)
        theirs.close()
        self._ready = False

    @property
    def alive(self) -> bool:
        """Whether the process that is forked from runs."""
        return self._process.poll() is None

    def launch(self, job: Job, data: socket.socket, output_fd: int) -> int:
        """Start a worker; waits for the imports to end if they have not."""
        if not self._ready:
            self._ready = self._receive(READY_S) == b"ready"
        with suppress(ConnectionError):  # said in _receive
            socket.send_fds(self._control, [job.to_json().encode()], [data.fileno(), output_fd])
        return int(json.loads(self._receive(READY_S))["pid"])

    def end(self, pid: int) -> Ended:
        """Have the zygote kill, wait and look for what is left."""
        with suppress(ConnectionError):  # said in _receive
            self._control.send(str(pid).encode())
        return Ended(**json.loads(self._receive(READY_S)))

    def close(self) -> None:
        """Hang up: the zygote ends its workers and itself."""
        self._control.close()
        try:
            self._process.wait(READY_S if self._ready else 0.1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _receive(self, timeout_s: float) -> bytes:
        self._control.settimeout(timeout_s)
        try:
            reply = self._control.recv(4096)
        except (TimeoutError, ConnectionError):
            reply = b""
        if not reply:
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace")[-2000:]
            raise SandboxError(
                f"the process that workers are forked from does not answer; it said: {said or 'nothing'}"
            )
        return reply


class Spawner:
    """Starts a fresh interpreter for each worker: slower, and only its process group is sure to be ended."""

    def __init__(self) -> None:
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def alive(self) -> bool:
        """Always: there is nothing that could end before a worker does."""
        return True

    def launch(self, job: Job, data: socket.socket, output_fd: int) -> int:
        """Start a worker."""
        arguments = ["-m", "autograder.sandbox.worker", str(data.fileno()), job.to_json()]
        process = _isolated_python(arguments, [data.fileno()], output_fd)
        self._processes[process.pid] = process
        return process.pid

    def end(self, pid: int) -> Ended:
        """Kill the worker's group and wait for its leader."""
        process = self._processes.pop(pid)
        for kill in (os.killpg, os.kill):
            with suppress(ProcessLookupError, PermissionError):  # the second is macOS's word for a zombie group
                kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return Ended(status, usage.ru_utime + usage.ru_stime, survivors=0)

    def close(self) -> None:
        """End what is left."""
        for pid in list(self._processes):
            self.end(pid)


def _isolated_python(arguments: list[str], fds: list[int], output: int | IO[bytes]) -> subprocess.Popen[bytes]:
    """Start an interpreter that heeds neither the folder it stands in nor the environment (-I)."""
    return subprocess.Popen(
        [sys.executable, "-I", *arguments], env=clean_environment(), pass_fds=fds, stdin=subprocess.DEVNULL,
        stdout=output, stderr=output, start_new_session=True, cwd="/",
    )  # fmt: skip
