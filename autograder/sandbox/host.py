"""The trusted end: asks workers, keeps the time, and ends whatever they leave."""

from __future__ import annotations

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate
from pathlib import Path
from types import TracebackType

from autograder import wire
from autograder.sandbox.job import MIB, Job, Limits
from autograder.sandbox.launch import READY_S, Ended, Launcher, SandboxError, Spawner, Zygote
from autograder.submission import Submission, stage

WORKER_USER = 40001  # uid and gid that no distribution gives to anybody
END_S = 2.0  # for the rest of a worker's output, once it has ended
NO_ANSWER = "something else was written in its place"
AHEAD, AHEAD_BYTES = 16, 1 << 15  # questions sent before they are due; so few that a socket takes them at once
READ_BYTES = 1 << 16  # most answers come whole


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
        self._launch = Spawner if spawn else partial(Zygote, parts)
        self._launcher: Launcher = self._launch()

    def worker(
        self, code: Path | Submission, package: str = "napkin", override: str = "", trusted: bool = False
    ) -> Worker:
        """Start a worker that will import a package.

        Args:
            code: the folder that holds it, or a submission: that is laid out anew for each worker, so that none meets
                what another left there.
            override: name of the variant whose function takes the reference's place.
            trusted: the code is the staff's own: it keeps the grader's user, who alone may read it.
        """
        folder = Path(tempfile.mkdtemp(prefix="worker-", dir=self.folder))
        folder.chmod(0o711)
        work_dir = folder / "work"
        work_dir.mkdir(mode=0o700)
        user = None if trusted else self._user
        if user is not None:
            os.chown(work_dir, user, user)
        if isinstance(code, Submission):
            stage(code, folder / "code")
            code = folder / "code"
        if not self._launcher.alive:  # a worker of the grader's own user may have killed it; the next is not to suffer
            self._launcher.close()
            self._launcher = self._launch()
        job = Job(str(code), str(work_dir), package, override, user, self._limits)
        worker = Worker(job, folder, self._launcher)
        self._workers.append(worker)
        return worker

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for worker in self._workers:
            with suppress(SandboxError):  # said already where it mattered, at the end of the check
                worker.end()
        self._launcher.close()
        remove_tree(self.folder)


class Worker:
    """One process with somebody's package; asked any number of questions, until it fails to answer one."""

    def __init__(self, job: Job, folder: Path, launcher: Launcher) -> None:
        self._job, self._folder, self._launcher = job, folder, launcher
        self._data, theirs = socket.socketpair()
        reader, writer = os.pipe()
        try:
            self.pid = launcher.launch(job, theirs, writer)
        except BaseException:  # whatever it was: what is open here is nobody else's to close
            os.close(reader)
            self._data.close()
            raise
        finally:
            theirs.close()
            os.close(writer)
        self._ready = False
        self._received = bytearray()  # beyond the last answer
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
        return next(self.observe_all([ask], lambda: deadline_s))

    def observe_all(self, asks: Sequence[wire.Ask], deadline_s: Callable[[], float]) -> Iterator[wire.Observation]:
        """Yield what a probe saw on each case; the last one, if the worker fails to answer.

        Some questions are sent ahead, so that the worker does not wait for the grader between two. The time of each
        begins when the one before it has been answered.
        """
        if self._ended is not None:
            raise SandboxError("a worker that was ended cannot be asked")
        frames = [wire.encode(ask) for ask in asks]
        self.await_ready()
        sent = 0
        for answered in range(len(frames)):
            until = time.monotonic() + (left_s := deadline_s())
            sizes = accumulate(len(frame) for frame in frames[answered : answered + AHEAD])
            ahead = max(1, sum(size <= AHEAD_BYTES for size in sizes))
            seen = self._observe(frames[sent : answered + ahead], until, left_s)
            sent = max(sent, answered + ahead)
            yield seen
            if not self.alive:
                return

    def _observe(self, frames: Sequence[bytes], until: float, left_s: float) -> wire.Observation:
        """Send some questions, and return the next answer."""
        try:
            self._data.settimeout(max(left_s, 0.001))
            self._data.sendall(b"".join(frames))
            answer = self._receive(until)
        except TimeoutError:
            self.end()
            return self._over_output() or wire.TimedOut(left_s)
        except (EOFError, ConnectionError):
            ended = self.end()
            return self._over_output() or self._death(ended)
        except wire.WireError:
            self.end()
            return wire.OverLimit("answer", NO_ANSWER)
        if isinstance(answer, wire.Ask | wire.TimedOut | wire.Died):  # no worker says that of itself
            self.end()
            return wire.OverLimit("answer", NO_ANSWER)
        return answer

    def output(self) -> str:
        """Return what the worker has printed so far: its head and its tail."""
        return self._output.text()

    def end(self) -> Ended:
        """Kill the worker and all that came of it; at once, and once only.

        Raises: SandboxError if anything of it is still alive.
        """
        if self._ended is not None:
            return self._ended
        self._ended = Ended(signal.SIGKILL, 0.0, 0)  # stands where the launcher is gone, and its workers with it
        try:
            self._ended = self._launcher.end(self.pid)
        finally:
            self._data.close()
            self._output.join(END_S)  # not for ever: a spawned worker's child may hold the pipe
            remove_tree(self._folder)
        if self._ended.survivors:
            raise SandboxError(f"{self._ended.survivors} processes of worker {self.pid} could not be killed")
        return self._ended

    def await_ready(self) -> None:
        """Wait for the worker's own start, which is no time of the student's.

        Raises: SandboxError if it does not start.
        """
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
        while missing := wire.missing_bytes(self._received):
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._data.settimeout(left)
            chunk = self._data.recv(min(max(missing, READ_BYTES), MIB))
            if not chunk:
                raise EOFError
            self._received += chunk
        return wire.decode_frame(wire.take_frame(self._received))

    def _over_output(self) -> wire.OverLimit | None:
        return wire.OverLimit("output", f"{self._job.limits.output_bytes // MIB} MB") if self._output.flooded else None

    def _death(self, ended: Ended) -> wire.Observation:
        if os.WIFSIGNALED(ended.status):
            number = os.WTERMSIG(ended.status)
            if number == signal.SIGXCPU or (number == signal.SIGKILL and ended.cpu_s >= self._job.limits.cpu_s):
                return wire.OverLimit("cpu", f"{self._job.limits.cpu_s} s")
            named = number in {each.value for each in signal.Signals}  # the real-time ones are not
            return wire.Died(signal.Signals(number).name if named else f"signal {number}")
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

    try:
        shutil.rmtree(folder, onerror=unlock)
    except (RecursionError, OSError):  # folders nested by the thousand, which rm goes through one by one
        subprocess.run(["rm", "-rf", "--", folder], check=False, stderr=subprocess.DEVNULL)
