"""The worker's end: imports the student's package, runs probes on cases, answers with observations."""

from __future__ import annotations

import errno
import importlib
import linecache
import os
import socket
import sys
import traceback
from collections.abc import Iterator
from typing import Any, NoReturn

from autograder.sandbox.confine import confine, take_descriptors
from autograder.sandbox.guard import Guard, place
from autograder.sandbox.job import MIB, Job
from autograder.sandbox.values import to_torch, to_value, type_name
from autograder.wire import (
    Ask,
    Observation,
    OverLimit,
    Raised,
    Returned,
    WireError,
    decode_frame,
    encode,
    missing_bytes,
    take_frame,
)

READY = encode(Returned("ready"))  # said before any code of the student's has run
READ_BYTES = 1 << 16  # most questions come whole
MAX_MESSAGE = 2000  # characters kept of an exception's text
MAX_FRAMES = 8  # of a traceback: the outermost and the innermost half


def run(data_fd: int, output_fd: int, job: Job, parent: int) -> NoReturn:
    """Become the worker of this job and answer until the grader closes the socket. Never returns."""
    sys.dont_write_bytecode = True
    try:
        data = take_descriptors(data_fd, output_fd)
        confine(job, parent)
        sys.path.append(job.package_dir)  # last: nothing there can stand in for a library
        data.sendall(READY)
    except BaseException:  # noqa: BLE001  ours to mend: the grader shows it to the staff
        traceback.print_exc()
        os._exit(os.EX_SOFTWARE)
    try:
        for ask in _questions(data):
            data.sendall(_frame(_answer(ask, job)))
    except BaseException:  # noqa: BLE001  the grader is gone, or the student has broken what we stand on
        os._exit(os.EX_SOFTWARE)
    os._exit(0)  # no handlers of the student's at exit, no waiting for its threads


def _questions(data: socket.socket) -> Iterator[Ask]:
    received = bytearray()
    while True:
        while missing := missing_bytes(received):
            chunk = data.recv(max(missing, READ_BYTES))
            if not chunk:
                return
            received += chunk
        message = decode_frame(take_frame(received))
        assert isinstance(message, Ask), message
        yield message


def _frame(observation: Observation) -> bytes:
    try:
        return encode(observation)
    except Exception as error:  # noqa: BLE001  json's own, where the student has changed Python's limits
        return encode(OverLimit("answer", str(error) if isinstance(error, WireError) else "it is too large"))


def _answer(ask: Ask, job: Job) -> Observation:
    part, _, function = ask.probe.partition(".")
    probe = getattr(importlib.import_module(f"autograder.probes.{part}"), function)
    case = {name: to_torch(value) for name, value in ask.case.items()}
    try:
        module = _import_part(part, job)
    except BaseException as error:  # noqa: BLE001  SystemExit too: it is an observation like any other
        return _describe(error, job, during="import")
    with Guard(ask.forbids, _folder(job)) as guard:
        try:
            seen = Returned(to_value(probe(module, **case)))
        except WireError as error:
            return OverLimit("answer", str(error))
        except BaseException as error:  # noqa: BLE001
            return guard.used or _describe(error, job)
    return guard.used or seen


def _import_part(part: str, job: Job) -> Any:
    # A notebook's answers are no module of the package: they were made into one beside it.
    beside = os.path.exists(os.path.join(job.package_dir, f"{part}.py"))
    name = part if beside else f"{job.package}.{part}"
    if name in sys.modules:
        return sys.modules[name]
    module = importlib.import_module(name)
    if job.override:
        variants = importlib.import_module("variants").variants_of(part)
        chosen = next(variant for variant in variants if variant.name == job.override)
        *path, symbol = chosen.replaces.split(".")
        owner = module
        for step in path:
            owner = getattr(owner, step)
        setattr(owner, symbol, chosen.function)
    return module


def _describe(error: BaseException, job: Job, during: str = "call") -> Observation:
    try:
        message = str(error).replace(f"{job.package_dir}/", "")[:MAX_MESSAGE]  # the folder's name differs each time
    except BaseException:  # noqa: BLE001  __str__ is the student's
        message = "(its text could not be made)"
    out_of_memory = isinstance(error, OSError) and error.errno == errno.ENOMEM
    if isinstance(error, MemoryError) or out_of_memory or "can't allocate memory" in message:
        return OverLimit("memory", f"{job.limits.memory_bytes // MIB} MB")
    # Past a metaclass of the student's, which could lie or raise.
    bases = tuple(type_name(kind) for kind in type.__getattribute__(type(error), "__mro__") if kind is not object)
    return Raised(type_name(type(error)), bases, message, during, _trace(error, job))


def _folder(job: Job) -> str:
    return os.path.join(job.package_dir, job.package)


def _trace(error: BaseException, job: Job) -> tuple[str, ...]:
    """Return the frames in the student's own files; what lies between them is not theirs to mend."""
    folder = _folder(job)
    lines, at = [], error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        if code.co_filename.startswith(folder):
            source = linecache.getline(code.co_filename, at.tb_lineno).strip()
            lines.append(place(code, at.tb_lineno, folder) + (f":  {source[:160]}" if source else ""))
        at = at.tb_next
    if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(folder):
        lines.append(f"{os.path.relpath(error.filename, folder)}:{error.lineno}:  {(error.text or '').strip()[:160]}")
    half = MAX_FRAMES // 2
    return tuple(lines if len(lines) <= MAX_FRAMES else [*lines[:half], "…", *lines[-half:]])


if __name__ == "__main__":  # the spawn fallback: a fresh interpreter for each worker
    run(int(sys.argv[1]), 1, Job.from_json(sys.argv[2]), os.getppid())
