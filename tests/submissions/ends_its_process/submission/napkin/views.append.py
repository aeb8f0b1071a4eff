import ctypes
import os
import signal
import sys


def contiguous_strides(shape):
    os._exit(0)


def storage_index(stride, offset, index):
    sys.exit(0)


def is_contiguous(shape, stride):
    print("about to crash")
    ctypes.string_at(0)


def same_storage(a, b):
    os.abort()


def logical_bytes(x):
    os.kill(os.getpid(), signal.SIGKILL)


def storage_bytes(*tensors):
    os._exit(3)


def diagonal(x):
    raise KeyboardInterrupt


def sliding_windows(x, size, step=1):
    os.kill(os.getpid(), signal.SIGSTOP)


def split_heads(x, heads):
    quit()


def _reshape(self, shape):
    os.kill(os.getpid(), 40)  # a real-time signal, which Python has no name for


View.reshape = _reshape
