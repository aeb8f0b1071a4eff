"""The trusted end: starts workers, asks them, keeps the time, and ends whatever they leave.

Two launchers stand behind one interface. A `Zygote` forks workers from a process that has torch already (Linux,
some 40 ms each); `Spawner` starts a fresh interpreter for each (where fork is not to be had, some seconds each).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol

from autograder import wire
from autograder.sandbox.confine import clean_environment
from autograder.sandbox.job import MIB, Job, Limits

WORKER_USER = 40001  # uid and gid that no distribution gives to anybody
READ_BYTES = 1 << 16  # most answers come whole
READY_S = 120.0  # for a first import of torch from a cold disk


class SandboxError(Exception):
    """The sandbox did not work: the grader's fault, never the submission's."""


@dataclass(frozen=True)
class Ended:
    """How a worker's process ended."""

    status: int  # as os.wait gives it
    cpu_s: float
    survivors: int  # processes of it that could not be killed


class Launcher(Protocol):
    """Starts and ends the processes of workers."""

    def launch(self, job: Job, data: socket.socket, output_fd: int) -> int:
        """Start a worker with these descriptors and return its pid."""

    def end(self, pid: int) -> Ended:
        """Kill a worker with all that came of it and return how it ended."""

    def close(self) -> None:
        """End the launcher itself."""


class Sandbox:
    """Workers for one submission, and the folder they are confined to.

    Args:
        parts: the probes that will be asked for, by module.
        limits: bounds on each worker.
        spawn: start a fresh interpreter for each worker instead of forking; by default only where fork is unsafe.
    """

    def __init__(self, parts: Sequence[str], limits: Limits | None = None, spawn: bool | None = None) -> None:
        spawn = sys.platform != "linux" if spawn is None else spawn
        self.folder = Path(tempfile.mkdtemp(prefix="napkin-"))
        self.folder.chmod(0o711)  # a worker's user may pass through, not look around
        self._limits = limits or Limits()
        self._workers: list[Worker] = []
        self._user, why = _user_for_workers(self.folder)
        self.layers = (
            "workers: " + ("a fresh interpreter each" if spawn else "forked from one that has imported torch"),
            f"user: {self._user}" if self._user is not None else f"user: the grader's own, {why}",
        )
        self._launcher: Launcher = Spawner() if spawn else Zygote(parts)

    def worker(self, package_dir: Path, package: str = "napkin", override: str = "", trusted: bool = False) -> Worker:
        """Start a worker that will import the package below a folder.

        Args:
            override: name of the variant whose function takes the reference's place.
            trusted: the code is the staff's own: it keeps the grader's user, who alone may read it.
        """
        work_dir = Path(tempfile.mkdtemp(prefix="work-", dir=self.folder))
        user = None if trusted else self._user
        if user is not None:
            os.chown(work_dir, user, user)
        job = Job(str(package_dir), str(work_dir), package, override, user, self._limits)
        worker = Worker(job, self._launcher)
        self._workers.append(worker)
        return worker

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            for worker in self._workers:
                worker.end()
        finally:
            self._launcher.close()
            remove_tree(self.folder)


class Worker:
    """One process with somebody's package; asked any number of questions, until it fails to answer one."""

    def __init__(self, job: Job, launcher: Launcher) -> None:
        self._job, self._launcher = job, launcher
        self._data, theirs = socket.socketpair()
        reader, writer = os.pipe()
        try:
            self.pid = launcher.launch(job, theirs, writer)
        finally:
            theirs.close()
            os.close(writer)
        self._ready = False
        self._ended: Ended | None = None
        self._output = _Output(reader, job.limits, self.pid)

    @property
    def alive(self) -> bool:
        """Whether the worker can still be asked."""
        return self._ended is None

    def observe(self, ask: wire.Ask, deadline_s: float) -> wire.Observation:
        """Return what a probe saw, within a deadline on the grader's clock.

        Without an answer the worker is ended, and the observation says why: TimedOut, Died or OverLimit.
        """
        if self._ended is not None:
            raise SandboxError("a worker that was ended cannot be asked")
        self._await_ready()
        until = time.monotonic() + deadline_s
        try:
            self._data.settimeout(deadline_s)
            self._data.sendall(wire.encode(ask))
            answer = self._receive(until)
        except TimeoutError:
            self.end()
            return self._over_output() or wire.TimedOut(deadline_s)
        except (EOFError, ConnectionError):
            return self._over_output() or self._death(self.end())
        except wire.WireError as error:
            self.end()
            return wire.OverLimit("answer", f"it was no answer: {error}")
        if isinstance(answer, wire.Ask):
            self.end()
            return wire.OverLimit("answer", "it was a question")
        return answer

    def output(self) -> str:
        """Return what the worker has printed so far: its head and its tail."""
        return self._output.text()

    def end(self) -> Ended:
        """Kill the worker and all that came of it; at once, and once only.

        Raises: SandboxError if anything of it is still alive.
        """
        if self._ended is None:
            self._ended = self._launcher.end(self.pid)
            self._data.close()
            self._output.join()
            remove_tree(Path(self._job.work_dir))
        if self._ended.survivors:
            raise SandboxError(f"{self._ended.survivors} processes of worker {self.pid} could not be killed")
        return self._ended

    def _await_ready(self) -> None:
        """Wait for the worker's own start, which is no time of the student's."""
        if self._ready:
            return
        try:
            self._receive(time.monotonic() + READY_S)
        except (EOFError, OSError, wire.WireError) as error:
            self.end()
            raise SandboxError(f"a worker did not start; it said: {self.output()[-2000:] or 'nothing'}") from error
        self._ready = True

    def _receive(self, until: float) -> wire.Message:
        """Return the next message; one deadline for all its bytes, so that a trickle gains nothing."""
        received = bytearray()
        while missing := wire.missing_bytes(received):
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._data.settimeout(left)
            chunk = self._data.recv(min(max(missing, READ_BYTES), MIB))
            if not chunk:
                raise EOFError
            received += chunk
        return wire.decode_frame(bytes(received))

    def _over_output(self) -> wire.OverLimit | None:
        return wire.OverLimit("output", f"{self._job.limits.output_bytes // MIB} MB") if self._output.flooded else None

    def _death(self, ended: Ended) -> wire.Observation:
        if os.WIFSIGNALED(ended.status):
            number = os.WTERMSIG(ended.status)
            if number == signal.SIGXCPU or (number == signal.SIGKILL and ended.cpu_s >= self._job.limits.cpu_s):
                return wire.OverLimit("cpu", f"{self._job.limits.cpu_s} s")
            return wire.Died(signal.Signals(number).name)
        return wire.Died(f"exit code {os.waitstatus_to_exitcode(ended.status)}")


class _Output(threading.Thread):
    """Drains a worker's output while it runs, keeps head and tail, and kills a worker that floods."""

    def __init__(self, reader: int, limits: Limits, pid: int) -> None:
        super().__init__(daemon=True)
        self._reader, self._limits, self._pid = reader, limits, pid
        self._head, self._tail, self._total = bytearray(), bytearray(), 0
        self.flooded = False
        self.start()

    def run(self) -> None:
        kept = self._limits.kept_output_bytes
        while chunk := os.read(self._reader, 1 << 16):
            self._total += len(chunk)
            room = kept - len(self._head)
            self._head += chunk[:room]
            self._tail = (self._tail + chunk[max(room, 0) :])[-kept:]
            if self._total > self._limits.output_bytes and not self.flooded:
                self.flooded = True
                with suppress(ProcessLookupError):  # its number is its own until the launcher has waited for it
                    os.kill(self._pid, signal.SIGKILL)
        os.close(self._reader)

    def text(self) -> str:
        left_out = self._total - len(self._head) - len(self._tail)
        middle = f"\n… {left_out} bytes left out …\n".encode() if left_out else b""
        return (bytes(self._head) + middle + bytes(self._tail)).decode("utf-8", errors="backslashreplace")


class Zygote:
    """Forks workers from a process that has imported torch; the import goes on while the grader does other things."""

    def __init__(self, parts: Sequence[str]) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the process
        arguments = ["-m", "autograder.sandbox.zygote", str(theirs.fileno()), *parts]
        self._process = _isolated_python(arguments, [theirs.fileno()], self._errors)
        theirs.close()
        self._ready = False

    def launch(self, job: Job, data: socket.socket, output_fd: int) -> int:
        """Start a worker; waits for the imports to end if they have not."""
        if not self._ready:
            self._ready = self._receive(READY_S) == b"ready"
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
            with suppress(ProcessLookupError):
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


def _user_for_workers(folder: Path) -> tuple[int | None, str]:
    """Return the user that student code runs as, or None and why it must be the grader's own."""
    if os.geteuid() != 0:
        return None, "which is not root"
    needed = [Path(sysconfig.get_path("stdlib")), Path(wire.__file__).parent, folder]
    needed += [Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("platlib"))]
    for path in needed:
        for step in (path.resolve(), *path.resolve().parents):
            if not step.stat().st_mode & stat.S_IXOTH:
                return None, f"since another user cannot read the Python in use (see the mode of {step})"
    return WORKER_USER, ""


def remove_tree(folder: Path) -> None:
    """Remove a folder, also where its owner has taken away the right to."""

    def unlock(function: object, path: str, info: object) -> None:
        with suppress(OSError):
            os.chmod(os.path.dirname(path), 0o700)
            os.chmod(path, 0o700)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)

    shutil.rmtree(folder, onerror=unlock)
