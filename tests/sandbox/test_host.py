"""Whether the trusted end gets an observation of whatever the code does, in time, and nothing of it is left.

The student's package is `views.py` with one function, asked for by a probe that hands back what it returns.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import autograder
from autograder import wire
from autograder.sandbox.confine import KEPT_ENVIRONMENT, ONE_THREAD
from autograder.sandbox.host import WORKER_USER, Sandbox, Worker
from autograder.sandbox.job import MIB, Job, Limits
from autograder.sandbox.launch import SandboxError
from autograder.submission import Submission
from autograder.wire import Ask, Died, OverLimit, Raised, Returned, TimedOut, UsedForbidden

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks workers, and looks for them in /proc")

LATE_S = 0.3  # after a deadline, for ending what did not answer
ENOUGH_S = 10.0  # a deadline that nobody here comes near
SECRET = "a-token-of-the-graders"
HELD = 256 * MIB  # enough for torch, and soon used up

Start = Callable[..., Worker]
numbers = itertools.count()


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Workers of one zygote, started by a grader with a secret in its environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NAPKIN_TOKEN", SECRET)
        patch.setenv("PYTHONPATH", "/nowhere")
        with Sandbox(["views"], Limits(memory_bytes=HELD)) as made:
            yield made


def write_package(folder: Path, body: str, **modules: str) -> Path:
    """Return the folder of a package whose function has this body; `modules` stand beside `views`."""
    home = folder / f"package-{next(numbers)}"
    (home / "napkin").mkdir(parents=True)
    source = "import os, signal, sys, time\n\n\ndef contiguous_strides(given):\n" + textwrap.indent(body, "    ")
    for name, text in {"__init__": "", "views": source, **modules}.items():
        (home / "napkin" / f"{name}.py").write_text(text + "\n", encoding="utf-8")
    for path in (home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return home


@pytest.fixture
def start(sandbox: Sandbox) -> Iterator[Start]:
    """Starts a worker on a function's body; ends all that are left."""
    started = []

    def start_one(body: str, **modules: str) -> Worker:
        started.append(sandbox.worker(write_package(sandbox.folder, body, **modules)))
        return started[-1]

    yield start_one
    for worker in started:
        worker.end()


def ask(given: wire.Value = None, forbids: tuple[str, ...] = ()) -> Ask:
    return Ask("views.contiguous_strides", {"shape": given}, forbids)


def seen(worker: Worker, given: wire.Value = None, deadline_s: float = ENOUGH_S) -> wire.Observation:
    return worker.observe(ask(given), deadline_s)


def returned(worker: Worker, given: wire.Value = None) -> Any:
    answer = seen(worker, given)
    assert isinstance(answer, Returned), answer
    return answer.value


def is_running(pid: int) -> bool:
    """Whether a process exists; one that has ended and is waited for by nobody does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(parent: int) -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text(encoding="utf-8").rpartition(")")[2].split()[1]) == parent:
                found.add(int(stat.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def wait_until(holds: Callable[[], bool], seconds: float = 5.0) -> bool:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    return holds()


# --- an answer -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [None, (2, 3), [1.5, "é\ud800", b"\0"], {"a": wire.Tensor("float32", (1,), b"1234")}, 10**900, "a" * 60_000],
    ids=lambda value: type(value).__name__,
)
def test_a_value_comes_back(start: Start, value: wire.Value) -> None:
    assert seen(start("return given"), value) == Returned(value)


def test_a_worker_answers_any_number_of_questions(start: Start) -> None:
    worker = start("return given + 1")
    assert [returned(worker, number) for number in range(20)] == list(range(1, 21))


def test_ten_megabytes_come_back(start: Start) -> None:
    tensor = returned(start("import torch\nreturn torch.full((10 * 2**20,), given, dtype=torch.uint8)"), 7)
    assert tensor == wire.Tensor("uint8", (10 * MIB,), b"\7" * 10 * MIB)


@pytest.mark.parametrize(
    "body",
    [
        "import torch\nreturn torch.zeros(65 * 2**20, dtype=torch.uint8)",
        "import torch\nreturn torch.zeros(1).expand(10**12)",
        "return [0] * 10**6",
        "return 'a' * 10**6",
        "a = []\na.append(a)\nreturn a",
        "return 10**2000",
        "import torch\nreturn [torch.zeros(0)] * 65",
    ],
)
def test_an_answer_that_may_not_cross_is_over_a_limit(start: Start, body: str) -> None:
    worker = start(body)
    answer = seen(worker)
    assert isinstance(answer, OverLimit)
    assert answer.what == "answer"
    assert worker.alive


def test_what_an_exercise_forbids_is_caught_while_it_runs(start: Start) -> None:
    worker = start("import torch\nreturn getattr(torch, 'emp' + 'ty')(2)")
    where = "views.py:6 in contiguous_strides"
    assert worker.observe(ask(forbids=("torch",)), ENOUGH_S) == UsedForbidden("torch.empty", where)


def test_a_forbidden_call_that_is_swallowed_counts(start: Start) -> None:
    worker = start("import torch\ntry:\n    torch.empty(2)\nexcept BaseException:\n    pass\nreturn 1")
    assert isinstance(worker.observe(ask(forbids=("torch",)), ENOUGH_S), UsedForbidden)


# --- an exception ----------------------------------------------------------------------------------------------------


def test_an_exception_is_told_with_its_classes(start: Start) -> None:
    answer = seen(start("raise IndexError(f'index {given} is wrong')"), 7)
    assert isinstance(answer, Raised)
    assert (answer.type, answer.message, answer.during) == ("IndexError", "index 7 is wrong", "call")
    assert answer.bases == ("IndexError", "LookupError", "Exception", "BaseException")


def test_a_traceback_holds_the_students_own_frames_only(start: Start) -> None:
    helper = "import json\n\n\ndef parse(text):\n    return json.loads(text)"
    answer = seen(start("from napkin.shapes import parse\nreturn parse(given)", shapes=helper), "{")
    assert isinstance(answer, Raised)
    assert answer.trace == (
        "views.py:6 in contiguous_strides:  return parse(given)",
        "shapes.py:5 in parse:  return json.loads(text)",
    )


def test_a_long_traceback_keeps_its_ends(start: Start) -> None:
    answer = seen(start("return contiguous_strides(given - 1) if given else 1 / 0"), 50)
    assert isinstance(answer, Raised)
    assert len(answer.trace) == 9
    assert answer.trace[4] == "…"


@pytest.mark.parametrize(
    ("source", "kind", "trace"),
    [
        ("import no_such_module", "ModuleNotFoundError", ("views.py:1 in <module>:  import no_such_module",)),
        ("x = (", "SyntaxError", ("views.py:1:  x = (",)),
        ("import sys; sys.exit(2)", "SystemExit", ("views.py:1 in <module>:  import sys; sys.exit(2)",)),
    ],
)
def test_a_module_that_cannot_be_imported_says_so(start: Start, source: str, kind: str, trace: tuple[str, ...]) -> None:
    answer = seen(start("", views=source))
    assert isinstance(answer, Raised)
    assert (answer.type, answer.during, answer.trace) == (kind, "import", trace)


def test_a_missing_function_is_an_exception_like_any_other(start: Start) -> None:
    answer = seen(start("", views=""))
    assert isinstance(answer, Raised)
    assert (answer.type, answer.trace) == ("AttributeError", ())


@pytest.mark.parametrize("body", ["sys.exit(3)", "raise SystemExit(3)", "exit(3)"])
def test_exit_is_an_exception_like_any_other(start: Start, body: str) -> None:
    worker = start(body)
    answer = seen(worker)
    assert isinstance(answer, Raised)
    assert (answer.type, answer.message) == ("SystemExit", "3")
    assert worker.alive


@pytest.mark.parametrize(
    "body",
    [
        "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
        "class E(Exception):\n    def __str__(self): return 1\nraise E",
        "class E(Exception):\n    def __str__(self): os._exit\n    __str__ = 3\nraise E",
    ],
)
def test_an_exception_whose_text_cannot_be_made_still_has_its_type(start: Start, body: str) -> None:
    answer = seen(start(body))
    assert isinstance(answer, Raised)
    assert (answer.type, answer.message) == (
        "napkin.views.contiguous_strides.<locals>.E",
        "(its text could not be made)",
    )


def test_a_tensor_whose_storage_was_freed_is_opaque(start: Start) -> None:
    answer = seen(start("import torch\nx = torch.ones(4)\nx.untyped_storage().resize_(0)\nreturn x"))
    assert isinstance(answer, Returned)
    assert isinstance(answer.value, wire.Opaque)


@pytest.mark.parametrize(
    "body",
    [
        "from autograder.wire import Opaque\nreturn Opaque(object())",
        "sys.set_int_max_str_digits(640)\nreturn 10**700",
        "class M(type):\n    def __getattribute__(cls, name): raise ValueError\n"
        "class E(Exception, metaclass=M): pass\nraise E",
    ],
    ids=["opaque without a name", "few digits allowed", "a class that cannot be named"],
)  # fmt: skip
def test_an_answer_that_cannot_be_written_ends_no_worker(start: Start, body: str) -> None:
    worker = start(body)
    seen(worker)
    assert worker.alive
    assert "Traceback" not in worker.output()


# --- no answer -------------------------------------------------------------------------------------------------------

HANGS = {
    "a loop": "while True: pass",
    "sleep": "time.sleep(60)",
    "one long operation": "return 7 ** 10**8 % 10",
    "a loop that swallows everything": "while True:\n    try: time.sleep(60)\n    except BaseException: pass",
    "ignored signals": "for n in {*signal.valid_signals()} - {9, 19}: signal.signal(n, signal.SIG_IGN)\nwhile 1: pass",
    "a stopped process": "os.kill(os.getpid(), signal.SIGSTOP)",
    "a lock": "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
}


@pytest.mark.parametrize("how", HANGS)
def test_what_hangs_is_ended_at_its_deadline(start: Start, how: str) -> None:
    worker = start(HANGS[how])
    worker.await_ready()  # a start under load is no time of the student's
    began = time.monotonic()
    assert seen(worker, deadline_s=0.2) == TimedOut(0.2)
    assert time.monotonic() - began < 0.2 + LATE_S
    assert not worker.alive
    assert not is_running(worker.pid)


def test_an_import_that_hangs_is_ended_at_the_deadline(start: Start) -> None:
    assert seen(start("", views="while True: pass"), deadline_s=0.2) == TimedOut(0.2)


@pytest.mark.parametrize(
    ("body", "how"),
    [
        ("os._exit(0)", "exit code 0"),
        ("os._exit(3)", "exit code 3"),
        ("os.abort()", "SIGABRT"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("os.kill(0, signal.SIGTERM)", "SIGTERM"),
        ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
    ],
)
def test_a_process_that_ends_is_told_with_its_signal_or_code(start: Start, body: str, how: str) -> None:
    worker = start(body)
    assert seen(worker) == Died(how)
    assert not worker.alive


def test_a_worker_that_has_ended_is_asked_no_more(start: Start) -> None:
    worker = start("os._exit(0)")
    seen(worker)
    with pytest.raises(SandboxError, match="cannot be asked"):
        seen(worker)


@pytest.mark.parametrize(
    "body",
    ["while True: pass", "signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"],
    ids=["a loop", "a loop that ignores the signal"],
)
def test_too_much_cpu_is_over_a_limit(
    start: Start, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setattr(sandbox, "_limits", Limits(cpu_s=1))
    assert seen(start(body)) == OverLimit("cpu", "1 s")


@pytest.mark.parametrize(
    "body",
    [
        "return len([0] * 10**9)",
        "held = []\nwhile True: held.append(bytes(2**20))",
        "import torch\nreturn torch.zeros(10**9)",
        pytest.param(
            "import mmap\nreturn len(mmap.mmap(-1, 10**9))",
        ),
    ],
    ids=["a list", "many lists", "torch", "shared memory"],
)
def test_too_much_memory_is_over_a_limit(start: Start, body: str) -> None:
    worker = start(body)
    assert seen(worker) == OverLimit("memory", "256 MB")
    assert worker.alive


def test_memory_that_a_worker_gives_back_may_be_used_again(start: Start) -> None:
    worker = start(f"return len(bytes({HELD // 2}))")
    assert [returned(worker) for _ in range(5)] == [HELD // 2] * 5


def test_a_file_cannot_grow_over_its_limit(start: Start, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_limits", Limits(file_bytes=1000))
    answer = seen(start("with open('x', 'wb', buffering=0) as f:\n    return [f.write(bytes(600)) for _ in range(3)]"))
    assert isinstance(answer, Raised)
    assert answer.type == "OSError"


# --- output ----------------------------------------------------------------------------------------------------------


def test_what_is_printed_is_kept_in_its_order(start: Start) -> None:
    worker = start("print('one')\nprint('two', file=sys.stderr)\nos.write(1, b'three\\n')\nprint('é\\ud800')")
    seen(worker)
    worker.end()
    assert worker.output() == "one\ntwo\nthree\né\\ud800\n"


@pytest.mark.parametrize("end", ["os._exit(1)", "os.abort()", "while True: pass", "raise ValueError"])
def test_what_was_printed_before_the_end_is_kept(start: Start, end: str) -> None:
    worker = start(f"print('before')\n{end}")
    seen(worker, deadline_s=0.2)
    worker.end()
    assert worker.output() == "before\n"


def test_long_output_is_kept_at_its_head_and_its_tail(start: Start) -> None:
    worker = start("print('head', 'x' * 10**6, 'tail')")
    seen(worker)
    worker.end()
    output = worker.output()
    assert output.startswith("head xxx")
    assert output.endswith("xxx tail\n")
    assert len(output) < 2 * Limits().kept_output_bytes + 100
    assert f"… {10**6 + len('head  tail') + 1 - 2 * Limits().kept_output_bytes} bytes left out …" in output


def test_output_does_not_hold_up_an_answer(start: Start) -> None:
    assert returned(start("print('x' * 10**6)\nreturn 1")) == 1


def test_a_flood_of_output_is_over_a_limit(start: Start, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_limits", Limits(output_bytes=MIB, kept_output_bytes=1000))
    worker = start("print('head')\nwhile True: print('x' * 1000)")
    assert seen(worker) == OverLimit("output", "1 MB")
    worker.end()
    assert worker.output().startswith("head\nxxx")
    assert len(worker.output()) < 2100


def test_a_worker_that_flooded_cannot_be_asked_again(
    start: Start, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_limits", Limits(output_bytes=MIB))
    worker = start("while True: print('x' * 1000)")
    seen(worker)
    assert not worker.alive


# --- a forged reply --------------------------------------------------------------------------------------------------


def test_a_forged_answer_is_no_more_than_an_answer(start: Start) -> None:
    assert seen(start(f"os.write(3, {wire.encode(Returned(42))!r})\ntime.sleep(60)")) == Returned(42)


FORGED = {
    "no frame": b"x" * 100,
    "a frame of another version": wire.PREFIX.pack(b"NPK9", 0, 0),
    "a header over the bound": wire.PREFIX.pack(wire.MAGIC, 2**31, 0),
    "tensors over the bound": wire.PREFIX.pack(wire.MAGIC, 2, 2**62),
    "deep JSON": wire.PREFIX.pack(wire.MAGIC, 60_000, 0) + b"[" * 60_000,
    "bytes that belong to no tensor": wire.PREFIX.pack(wire.MAGIC, 14, 3) + b'["Returned",1]xyz',
    "a pickle": b"cos\nsystem\n(S'echo'\ntR." * 2,
    "a question": wire.encode(ask(1)),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_reply_that_is_no_answer_ends_the_worker(start: Start, what: str) -> None:
    worker = start(f"os.write(3, {FORGED[what]!r})\ntime.sleep(60)")
    answer = seen(worker)
    assert isinstance(answer, OverLimit)
    assert answer.what == "answer"
    assert not worker.alive


@pytest.mark.parametrize("forged", [TimedOut(1.0), Died("SIGSEGV")], ids=lambda forged: type(forged).__name__)
def test_what_the_grader_alone_can_say_is_no_answer(start: Start, forged: wire.Message) -> None:
    answer = seen(start(f"os.write(3, {wire.encode(forged)!r})\ntime.sleep(60)"))
    assert isinstance(answer, OverLimit)
    assert answer.what == "answer"


@pytest.mark.parametrize(
    "reply",
    [wire.PREFIX.pack(wire.MAGIC, 60_000, 0) + b" " * 1000, wire.PREFIX.pack(wire.MAGIC, 10, 60_000)],
    ids=["header", "tensors"],
)
def test_a_trickle_of_a_reply_gains_no_time(start: Start, reply: bytes) -> None:
    worker = start(f"for byte in {reply!r}:\n    os.write(3, bytes([byte]))\n    time.sleep(0.01)\ntime.sleep(60)")
    worker.await_ready()
    began = time.monotonic()
    assert seen(worker, deadline_s=0.4) == TimedOut(0.4)
    assert time.monotonic() - began < 0.4 + LATE_S


@pytest.mark.parametrize(
    "body", ["os.close(3)\ntime.sleep(60)", "import socket\nsocket.socket(fileno=3).shutdown(2)\ntime.sleep(60)"]
)
def test_a_worker_that_hangs_up_is_ended_at_once(start: Start, body: str) -> None:
    worker = start(body)
    began = time.monotonic()
    assert isinstance(seen(worker), Died)
    assert time.monotonic() - began < ENOUGH_S / 2
    assert not is_running(worker.pid)


# --- what is left behind ---------------------------------------------------------------------------------------------

LEFT_BEHIND = {
    "a child": "pid = os.fork()\nif pid == 0:\n    time.sleep(60)\nreturn [pid]",
    "a child in a session of its own": """
        pid = os.fork()
        if pid == 0:
            os.setsid()
            time.sleep(60)
        return [pid]
        """,
    "a daemon that ignores signals": """
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for number in {*signal.valid_signals()} - {signal.SIGKILL, signal.SIGSTOP}:
                    signal.signal(number, signal.SIG_IGN)
                os.closerange(0, 3)
                os.write(writer, str(os.getpid()).encode())
                os.closerange(3, 100)
                while True:
                    time.sleep(60)
            os._exit(0)
        return [int(os.read(reader, 100))]
        """,
    "fifty children": """
        pids = []
        for _ in range(50):
            pid = os.fork()
            if pid == 0:
                os.setpgid(0, 0)
                time.sleep(60)
            pids.append(pid)
        return pids
        """,
}


@pytest.mark.parametrize("what", LEFT_BEHIND)
def test_no_process_is_left_behind(start: Start, what: str) -> None:
    worker = start(textwrap.dedent(LEFT_BEHIND[what]).strip())
    pids = returned(worker)
    assert all(map(is_running, pids))
    ended = worker.end()
    assert [pid for pid in (worker.pid, *pids) if is_running(pid)] == []
    assert ended.survivors == 0


def test_children_that_are_born_while_they_are_killed_are_killed_too(start: Start) -> None:
    body = """
        if os.fork() == 0:
            until = time.monotonic() + 0.5
            while time.monotonic() < until:
                if os.fork() == 0:
                    os.setsid()
                    time.sleep(0.02)
                    os.fork()
                    time.sleep(60)
                time.sleep(0.005)
            os._exit(0)
        time.sleep(0.2)
        """
    worker = start(textwrap.dedent(body).strip())
    assert seen(worker) == Returned(None)
    assert worker.end().survivors == 0


def test_a_thread_that_is_left_behind_ends_with_the_worker(start: Start) -> None:
    body = """
        import threading
        def late():
            while True:
                print("late")
                time.sleep(0.01)
        threading.Thread(target=late, daemon=False).start()
        """
    worker = start(textwrap.dedent(body).strip())
    assert [returned(worker), returned(worker)] == [None, None]
    worker.end()
    printed = worker.output()
    time.sleep(0.05)
    assert worker.output() == printed


def test_a_worker_is_ended_once_only(start: Start) -> None:
    worker = start("return 1")
    seen(worker)
    assert worker.end() is worker.end()


def test_a_workers_folder_is_removed_with_it(start: Start) -> None:
    worker = start(
        "os.makedirs('a/b')\nopen('a/b/c', 'w').close()\nos.chmod('a/b', 0)\nos.chmod('a', 0)\nreturn os.getcwd()"
    )
    folder = Path(returned(worker))
    assert folder.exists()
    worker.end()
    assert not folder.exists()


def test_a_link_in_a_workers_folder_is_removed_and_not_what_it_leads_to(start: Start, sandbox: Sandbox) -> None:
    kept = sandbox.folder / "kept"
    kept.mkdir(mode=0o755)
    (kept / "file").write_text("ours")
    returned(worker := start("os.symlink(given, 'link')\nos.symlink(given + '/file', 'other')"), str(kept))
    worker.end()
    assert (kept / "file").read_text() == "ours"


def test_a_folder_of_very_many_levels_is_removed(tmp_path: Path) -> None:
    from autograder.sandbox.host import remove_tree

    code = "import os\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    try:
        remove_tree(tmp_path / "d")
    finally:
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)
    assert not (tmp_path / "d").exists()


# --- what a worker has -----------------------------------------------------------------------------------------------


def test_a_worker_has_four_descriptors(start: Start) -> None:
    body = """
        def is_open(fd):
            try:
                return bool(os.fstat(fd))
            except OSError:
                return False
        return [fd for fd in range(1024) if is_open(fd)], os.read(0, 1)
        """
    assert returned(start(textwrap.dedent(body).strip())) == ([0, 1, 2, 3], b"")


def test_a_worker_has_no_more_of_the_graders_environment_than_it_needs(start: Start) -> None:
    own = {"HOME", "TMPDIR", "USER"}
    names, everything = returned(start("return sorted(os.environ), open('/proc/self/environ').read()"))
    assert own <= set(names) <= own | set(KEPT_ENVIRONMENT) | set(ONE_THREAD)
    assert SECRET not in everything


def test_the_zygote_has_no_more_of_the_graders_environment_either(start: Start) -> None:
    parent = returned(start("return os.getppid()"))
    assert SECRET not in Path(f"/proc/{parent}/environ").read_text()


def test_a_worker_stands_in_an_empty_folder_of_its_own(start: Start, sandbox: Sandbox) -> None:
    body = "import tempfile\nreturn os.getcwd(), os.listdir('.'), tempfile.gettempdir(), os.path.expanduser('~')"
    folder, content, temporary, home = returned(start(body))
    assert sandbox.folder in Path(folder).parents
    assert (content, temporary, home) == ([], folder, folder)


def test_a_worker_leads_a_session_of_its_own(start: Start) -> None:
    session, group, pid = returned(start("return os.getsid(0), os.getpgid(0), os.getpid()"))
    assert session == group == pid
    assert session != os.getsid(0)


def test_a_workers_limits_are_those_asked_for(start: Start) -> None:
    body = "import resource as r\nreturn [r.getrlimit(n) for n in (r.RLIMIT_CPU, r.RLIMIT_FSIZE, r.RLIMIT_CORE)]"
    limits = Limits()
    asked = [(limits.cpu_s, limits.cpu_s + 1), (limits.file_bytes,) * 2, (0, 0)]
    assert returned(start(body)) == asked


def test_two_workers_at_once_do_not_meet(start: Start) -> None:
    body = "import builtins\nbuiltins.told = given\nopen('told', 'w').write(str(given))"
    body += "\ntime.sleep(0.05)\nreturn builtins.told, open('told').read()"
    one, other = start(body), start(body)
    assert [returned(one, 1), returned(other, 2), returned(one, 3)] == [(1, "1"), (2, "2"), (3, "3")]


def test_one_worker_outlives_another(start: Start) -> None:
    one, other = start("return given"), start("os.abort()")
    returned(one, 1)
    seen(other)
    assert returned(one, 2) == 2


def test_a_fresh_worker_sees_nothing_of_an_earlier_one(start: Start, sandbox: Sandbox) -> None:
    body = """
        import builtins, math, torch
        kept = sys.modules[__name__]
        before = [hasattr(builtins, "left"), math.pi, torch.get_num_threads(), hasattr(kept, "left"), os.listdir(".")]
        builtins.left = kept.left = True
        math.pi = 3
        torch.set_num_threads(2)
        open("left", "w").close()
        return before
        """
    home = write_package(sandbox.folder, textwrap.dedent(body).strip())
    one, other = sandbox.worker(home), sandbox.worker(home)
    assert returned(one) == returned(other)
    one.end()
    other.end()


def test_what_one_worker_writes_beside_its_code_no_other_meets(start: Start, sandbox: Sandbox) -> None:
    source = b"""
import os
def contiguous_strides(given):
    home = os.path.dirname(__file__)
    before = sorted(os.listdir(home)), sorted(os.listdir(os.path.dirname(home)))
    try:
        open(os.path.join(home, "left.py"), "w").close()
    except OSError:
        pass
    return before
"""
    submission = Submission("mine", {"napkin/__init__.py": b"", "napkin/views.py": source}, (), ())
    one, other = sandbox.worker(submission), sandbox.worker(submission)
    assert returned(one) == returned(other) == (["__init__.py", "views.py"], ["napkin"])
    one.end()
    other.end()


def test_nothing_is_written_beside_the_students_code(start: Start, sandbox: Sandbox) -> None:
    home = write_package(sandbox.folder, "return 1")
    before = sorted(home.rglob("*"))
    worker = sandbox.worker(home)
    returned(worker)
    worker.end()
    assert sorted(home.rglob("*")) == before


@pytest.mark.parametrize("name", ["torch", "json", "wave", "sitecustomize", "autograder"])
def test_a_file_beside_the_package_does_not_stand_in_for_a_library(sandbox: Sandbox, name: str) -> None:
    home = write_package(sandbox.folder, f"import {name}\nreturn getattr({name}, 'forged', False)")
    (home / f"{name}.py").write_text("forged = True\n")
    (home / f"{name}.py").chmod(0o644)
    worker = sandbox.worker(home)
    answer = seen(worker)
    worker.end()
    there = name != "sitecustomize"  # a library that is not there may be whatever the student's is
    assert answer == Returned(not there)


def test_torch_works_after_the_fork(start: Start) -> None:
    body = """
        import torch
        x = torch.arange(6.0).reshape(2, 3).requires_grad_()
        torch.nn.functional.softmax(x @ x.T, -1)[0, 0].backward()
        return x.grad.shape, float((x @ x.T).sum()), torch.get_num_threads()
        """
    rows = torch.arange(6.0).reshape(2, 3)
    assert returned(start(textwrap.dedent(body).strip())) == ((2, 3), float((rows @ rows.T).sum()), 1)


# --- the sandbox as a whole ------------------------------------------------------------------------------------------


def test_a_sandbox_leaves_no_process_and_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    before = children(os.getpid())
    with Sandbox(["views"]) as own:
        worker = own.worker(write_package(own.folder, "return os.getppid()"))
        zygote = returned(worker)
    assert not is_running(worker.pid)
    assert not is_running(zygote)
    assert children(os.getpid()) == before
    assert not own.folder.exists()


def test_a_sandbox_that_nobody_used_ends_at_once() -> None:
    began = time.monotonic()
    with Sandbox(["views"]) as own:
        pass
    assert time.monotonic() - began < 1.0
    assert not own.folder.exists()


@pytest.fixture(scope="module")
def abandoned() -> Iterator[tuple[Sandbox, Worker]]:
    """A sandbox whose zygote was killed, and a worker of it."""
    own = Sandbox(["views"])
    worker = own.worker(write_package(own.folder, "return os.getppid()"))
    os.kill(returned(worker), signal.SIGKILL)
    yield own, worker
    own.__exit__(None, None, None)
    assert not own.folder.exists()


def test_a_workers_death_with_its_zygote_is_the_graders_fault(abandoned: tuple[Sandbox, Worker]) -> None:
    _, worker = abandoned
    assert wait_until(lambda: not is_running(worker.pid))
    with pytest.raises(SandboxError, match="the process that workers are forked from does not answer"):
        seen(worker)


def test_a_zygote_that_was_killed_is_replaced(abandoned: tuple[Sandbox, Worker]) -> None:
    own, _ = abandoned
    assert returned(own.worker(write_package(own.folder, "return given")), 1) == 1


def test_a_zygote_that_cannot_start_says_why() -> None:
    with Sandbox(["no_such_part"]) as own, pytest.raises(SandboxError, match="No module named"):
        own.worker(write_package(own.folder, "return 1"))


class NoLauncher:
    """Launches nothing."""

    def launch(self, job: Job, data: socket.socket, output_fd: int) -> int:
        raise SandboxError("nothing can be launched")


def test_a_worker_that_cannot_be_launched_leaves_no_descriptor(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    with pytest.raises(SandboxError):
        Worker(Job(str(tmp_path), str(tmp_path)), tmp_path, NoLauncher())  # type: ignore[arg-type]
    gc.collect()
    assert os.listdir("/proc/self/fd") == before


def test_a_case_that_may_not_cross_is_the_graders_fault(start: Start) -> None:
    question = Ask("views.contiguous_strides", {"shape": object()})  # type: ignore[dict-item]
    with pytest.raises(wire.WireError):
        start("return 1").observe(question, ENOUGH_S)


GRADER = """
import json, sys, time
from pathlib import Path
from autograder.sandbox.host import Sandbox
from autograder.wire import Ask
with Sandbox(["views"]) as own:
    home = own.folder / "package" / "napkin"
    home.mkdir(parents=True)
    (home / "__init__.py").write_text("")
    (home / "views.py").write_text("import os\\ndef contiguous_strides(given): return os.getppid()\\n")
    worker = own.worker(home.parent)
    zygote = worker.observe(Ask("views.contiguous_strides", {"shape": None}), 60).value
    libraries = sorted({"torch", "napkin", "numpy"} & set(sys.modules))
    print(json.dumps({"pids": [worker.pid, zygote], "imported": libraries, "folder": str(own.folder)}), flush=True)
    time.sleep(60)
"""


@pytest.fixture
def grader() -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """A grader of its own, with a worker that has answered."""
    with subprocess.Popen([sys.executable, "-c", GRADER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        yield process, told
        process.kill()
    shutil.rmtree(told["folder"], ignore_errors=True)


def test_a_grader_imports_no_torch_and_its_death_ends_all(grader: tuple[subprocess.Popen[str], dict[str, Any]]) -> None:
    process, told = grader
    assert told["imported"] == []
    assert all(map(is_running, told["pids"]))
    process.kill()
    process.wait()
    assert wait_until(lambda: not any(map(is_running, told["pids"])))


def test_how_long_a_worker_takes_to_be_ready_is_told(sandbox: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    home = write_package(sandbox.folder, "return 1")
    taken_s = []
    for _ in range(20):
        began = time.monotonic()
        worker = sandbox.worker(home)
        worker.await_ready()
        taken_s.append(time.monotonic() - began)
        worker.end()
    with capsys.disabled():
        print(f"\na worker is ready after {1000 * statistics.median(taken_s):.1f} ms (median of {len(taken_s)})")


# --- without fork ----------------------------------------------------------------------------------------------------

SPAWNED = {
    "value": "(1, 2.5, 'text')",
    "exception": "[][1]",
    "no answer": "[0] * 10**6",
    "memory": "[0] * 10**9",
    "exit": "os._exit(3)",
    "hang": "[time.sleep(60)]",
}


@pytest.fixture(scope="module")
def spawned() -> Iterator[Callable[[], Worker]]:
    """Gives a fresh interpreter, or one that has only answered yet; they start at once."""
    with Sandbox(["views"], Limits(memory_bytes=HELD), spawn=True) as own:
        home = write_package(own.folder, "return eval(given)")
        workers = [own.worker(home) for _ in ("answers", "exits", "hangs")]
        yield lambda: next(worker for worker in workers if worker.alive)


@pytest.mark.parametrize("what", SPAWNED)
def test_a_fresh_interpreter_sees_the_same_as_a_fork(start: Start, spawned: Callable[[], Worker], what: str) -> None:
    forked, fresh = start("return eval(given)"), spawned()
    deadline_s = 0.2 if what == "hang" else ENOUGH_S
    assert seen(fresh, SPAWNED[what], deadline_s) == seen(forked, SPAWNED[what], deadline_s)
    assert fresh.alive == forked.alive


def test_a_daemon_of_a_fresh_interpreter_does_not_hold_up_the_grader(spawned: Callable[[], Worker]) -> None:
    worker = spawned()
    body = """
        import time
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.setsid()
            os.close(writer)
            time.sleep(20)
            os._exit(0)
        os.close(writer)
        os.read(reader, 1)
        """
    assert seen(worker, f"exec({textwrap.dedent(body)!r})") == Returned(None)
    began = time.monotonic()
    worker.end()
    assert time.monotonic() - began < 10


# --- a user of its own -----------------------------------------------------------------------------------------------

OWN_USER = """
import json, os, sys
from pathlib import Path
from autograder.sandbox.host import Sandbox, SandboxError
from autograder.wire import Ask
body, hidden = sys.argv[1:]
with Sandbox(["views"]) as own:
    home = own.folder / "package" / "napkin"
    home.mkdir(parents=True)
    (home / "__init__.py").write_text("")
    (home / "views.py").write_text(body)
    worker = own.worker(home.parent)
    ask = Ask("views.contiguous_strides", {"shape": hidden})
    print(json.dumps({"seen": worker.observe(ask, 60).value, "layers": own.layers, "ended": worker.end().survivors,
                      "folder": str(own.folder)}))
    trusted = own.worker(home.parent, trusted=True)
    print(json.dumps(trusted.observe(ask, 60).value))
"""
OWN_USER_SEES = """
import os, resource, subprocess, sys
def contiguous_strides(hidden):
    def can(do):
        try:
            do()
            return True
        except OSError:
            return False
    if os.fork() == 0:
        os.setsid()
        os.execvp("sleep", ["sleep", "60"])
    return {
        "users": list(os.getresuid() + os.getresgid()),
        "groups": os.getgroups(),
        "reads": can(lambda: open(hidden)),
        "writes": can(lambda: open("own", "w")),
        "writes beside": can(lambda: open("../own", "w")),
        "looks around": can(lambda: os.listdir("..")),
        "kills": can(lambda: os.kill(os.getppid(), 0)),
        "becomes root": can(lambda: os.setuid(0)),
        "processes": list(resource.getrlimit(resource.RLIMIT_NPROC)),
    }
"""


def world_readable(path: Path) -> bool:
    return all(step.stat().st_mode & 0o005 == 0o005 for step in (path.resolve(), *path.resolve().parents))


@pytest.fixture(scope="module")
def system_python() -> Iterator[str]:
    """An interpreter that any user may run, with the libraries in use here; skips where there can be none."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a worker a user of its own")
    base, libraries = Path("/usr/bin/python3"), Path(torch.__file__).parents[1]
    root = Path(autograder.__file__).parents[1]
    if not base.exists():
        pytest.skip("there is no /usr/bin/python3")
    version = subprocess.run(
        [base, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True
    ).stdout
    if version.split() != [str(number) for number in sys.version_info[:2]]:
        pytest.skip(f"/usr/bin/python3 is {'.'.join(version.split())}, and the libraries here are for another")
    for needed in (libraries, root):
        if not world_readable(needed):
            pytest.skip(f"another user cannot read {needed}")
    home = Path(tempfile.mkdtemp(prefix="python-", dir="/tmp"))
    home.chmod(0o755)
    old_umask = os.umask(0o022)
    try:
        made = subprocess.run([base, "-m", "venv", "--without-pip", home / "venv"], capture_output=True, text=True)
        if made.returncode:
            pytest.skip(f"/usr/bin/python3 makes no environment: {(made.stdout + made.stderr).strip()[-200:]}")
        (found,) = (home / "venv").glob("lib/python*/site-packages")
        (found / "here.pth").write_text(f"{libraries}\n{root}\n")
        yield str(home / "venv" / "bin" / "python")
    finally:
        os.umask(old_umask)
        shutil.rmtree(home)


@pytest.fixture(scope="module")
def own_user(system_python: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a student's worker sees as a user of its own, and what a trusted one sees."""
    hidden = tmp_path_factory.mktemp("hidden") / "answers.txt"
    hidden.write_text("42")
    hidden.chmod(0o600)
    arguments = [system_python, "-c", OWN_USER, OWN_USER_SEES, str(hidden)]
    run = subprocess.run(arguments, capture_output=True, text=True, timeout=90)
    assert run.returncode == 0, run.stderr
    told, trusted = map(json.loads, run.stdout.splitlines())
    return told, trusted


def test_a_worker_of_roots_is_another_user(own_user: tuple[dict[str, Any], dict[str, Any]]) -> None:
    told, _ = own_user
    assert told["seen"] == {
        "users": [WORKER_USER] * 6,
        "groups": [],
        "reads": False,
        "writes": True,
        "writes beside": False,
        "looks around": False,
        "kills": False,
        "becomes root": False,
        "processes": [Limits().processes] * 2,
    }


def test_the_layers_name_the_workers_user(own_user: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert f"user: {WORKER_USER}" in own_user[0]["layers"]


def test_nothing_of_another_user_is_left(own_user: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert own_user[0]["ended"] == 0
    owners = {
        stat.parent.name
        for stat in Path("/proc").glob("[0-9]*/stat")
        if stat.exists() and stat.stat().st_uid == WORKER_USER
    }
    assert owners == set()
    assert not Path(own_user[0]["folder"]).exists()


def test_a_trusted_worker_stays_the_graders_user(own_user: tuple[dict[str, Any], dict[str, Any]]) -> None:
    _, trusted = own_user
    assert trusted["users"] == [0] * 6
    assert trusted["reads"]


def test_a_sandbox_says_why_its_workers_have_the_graders_user(sandbox: Sandbox) -> None:
    (line,) = (layer for layer in sandbox.layers if layer.startswith("user: "))
    assert line == f"user: {WORKER_USER}" or line.startswith("user: the grader's own, ")
