"""The process that workers are forked from. It has imported torch and the probes, and has computed nothing.

An operation here would start thread pools that hang in its children, and a secret here would be in their memory:
so it only imports, forks, and ends what it forked. Cases and answers never pass through it.
"""

from __future__ import annotations

import array
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys
import time
from contextlib import suppress

from autograder.sandbox.job import Job
from autograder.sandbox.worker import run

PR_SET_CHILD_SUBREAPER = 36
END_S = 2.0  # for killing whatever a worker has left


def main(control_fd: int, parts: list[str]) -> None:
    """Import, say "ready", then fork and end workers as the grader asks, until it hangs up."""
    gc.disable()  # until a worker is forked: a collection here would leave holes, and one there copy every page
    for part in parts:
        importlib.import_module(f"autograder.probes.{part}")
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # a worker's orphans become ours, not init's
    control = socket.socket(fileno=control_fd)
    gc.freeze()
    control.send(b"ready")
    workers: set[int] = set()
    while True:
        request, ancillary, _, _ = control.recvmsg(65536, socket.CMSG_SPACE(8))
        if not request:
            break
        if ancillary:
            fds = array.array("i", ancillary[0][2][:8])
            workers.add(pid := _fork(Job.from_json(request.decode()), fds[0], fds[1]))
            control.send(json.dumps({"pid": pid}).encode())
        else:
            pid = int(request)
            workers.discard(pid)
            control.send(json.dumps(_end(pid, workers)).encode())
    for pid in set(workers):
        workers.discard(pid)
        _end(pid, workers)
    os._exit(0)  # to take torch down in order takes longer than a check


def _fork(job: Job, data_fd: int, output_fd: int) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        gc.enable()
        run(data_fd, output_fd, job, parent)
    os.close(data_fd)
    os.close(output_fd)
    return pid


def _end(pid: int, others: set[int]) -> dict[str, float]:
    """Kill a worker and all that came of it, and say how it ended and how many processes could not be killed.

    What left its group or outlived its parent is our child by now, since we are the subreaper; killing a child
    makes us the parent of its children, so this goes on until we have none but the other workers.
    """
    for kill in (os.killpg, os.kill):  # a worker that had no time to lead a group is found by the second
        with suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    deadline = time.monotonic() + END_S
    while (strays := _children() - others) and time.monotonic() < deadline:
        for stray in strays:
            with suppress(ProcessLookupError):
                os.kill(stray, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(stray, os.WNOHANG)
        time.sleep(0.001)
    return {"status": status, "cpu_s": usage.ru_utime + usage.ru_stime, "survivors": len(strays)}


def _children() -> set[int]:
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
            parent = int(stat.read().rpartition(")")[2].split()[1])  # the command's name may hold anything
            if parent == os.getpid():
                found.add(int(name))
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
