"""Takes from a new worker all that it has no use for. Runs in the worker, before any code of the student's."""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import socket
import sys
import tempfile

from autograder.sandbox.job import Job

DATA_FD = 3  # after `take_descriptors`: 0 reads nothing, 1 and 2 are the output pipe, 3 is the grader
PR_SET_PDEATHSIG = 1
# What a clean environment keeps: where programs and libraries are, how text is encoded, which devices there are.
KEPT_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "OPENBLAS_CORETYPE")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def clean_environment() -> dict[str, str]:
    """Return the environment that zygotes and workers start with."""
    return {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ} | ONE_THREAD


def take_descriptors(data_fd: int, output_fd: int) -> socket.socket:
    """Leave the worker four descriptors, and return the socket to the grader."""
    data_fd, output_fd = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (data_fd, output_fd))  # away from 0 to 3
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output_fd, 1)
    os.dup2(output_fd, 2)
    os.dup2(data_fd, DATA_FD, inheritable=False)
    os.closerange(DATA_FD + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    # Line by line: a worker that is killed has shown what it printed before.
    sys.stdout = sys.stderr = os.fdopen(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
    return socket.socket(fileno=DATA_FD)


def confine(job: Job, parent: int) -> None:
    """Move into a session, an environment, a folder, limits and (as root) a user of the worker's own."""
    if os.getsid(0) != os.getpid():
        os.setsid()  # the leader of a group of its own: one kill reaches all of it
    os.chdir(job.work_dir)
    os.umask(0o077)
    environment = clean_environment() | {"HOME": job.work_dir, "TMPDIR": job.work_dir, "USER": "student"}
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = job.work_dir
    _limit(job)
    if job.user is not None:
        os.setgroups([])
        os.setresgid(job.user, job.user, job.user)
        os.setresuid(job.user, job.user, job.user)
    if sys.platform == "linux":  # after the change of user, which clears it
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def _limit(job: Job) -> None:
    limits = job.limits
    bounds = {
        "RLIMIT_CPU": (limits.cpu_s, limits.cpu_s + 1),  # SIGXCPU, and a second later SIGKILL
        "RLIMIT_FSIZE": (limits.file_bytes, limits.file_bytes),
        "RLIMIT_CORE": (0, 0),
    }
    if (base := _virtual_bytes()) is not None:
        bounds["RLIMIT_AS"] = (base + limits.memory_bytes, base + limits.memory_bytes)
    if job.user is not None:
        bounds["RLIMIT_NPROC"] = (limits.processes, limits.processes)
    for name, (soft, hard) in bounds.items():
        resource.setrlimit(getattr(resource, name), (soft, hard))


def _virtual_bytes() -> int | None:
    """Return this process's address space, or None where the system doesn't tell (macOS ignores the limit too)."""
    if sys.platform != "linux":
        return None
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()
