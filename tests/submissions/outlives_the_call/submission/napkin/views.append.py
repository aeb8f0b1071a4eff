import atexit
import ctypes
import os
import signal
import subprocess
import threading
import time

LIFETIME_S = 30  # should anything escape, it does not stay for ever
_started = set()


def _once(start):
    """Start it at the first call in this process; a sandbox may well refuse."""
    if start not in _started:
        _started.add(start)
        try:
            start()
        except (OSError, RuntimeError):
            pass


def _linger():
    ctypes.CDLL(None).prctl(15, b"zoo-outlives", 0, 0, 0)  # PR_SET_NAME
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(LIFETIME_S)
    os._exit(0)


def _thread():
    threading.Thread(target=time.sleep, args=(LIFETIME_S,)).start()


def _program():
    subprocess.Popen(["sh", "-c", f"sleep {LIFETIME_S}; : zoo-outlives"])


def _program_of_its_own_session():
    subprocess.Popen(["sh", "-c", f"sleep {LIFETIME_S}; : zoo-outlives"], start_new_session=True)


def _fork():
    if os.fork() == 0:
        _linger()


def _daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setpgid(0, 0)
            _linger()
        os._exit(0)


def _crowd():
    for _ in range(20):
        _daemon()


def _at_exit():
    atexit.register(_linger)


def _after(start, answer):
    def answer_and_leave(*args):
        _once(start)
        return answer(*args)

    return answer_and_leave


contiguous_strides = _after(_thread, contiguous_strides)
storage_index = _after(_program, storage_index)
is_contiguous = _after(_program_of_its_own_session, is_contiguous)
same_storage = _after(_fork, same_storage)
logical_bytes = _after(_daemon, logical_bytes)
storage_bytes = _after(_crowd, storage_bytes)
diagonal = _after(_at_exit, diagonal)
