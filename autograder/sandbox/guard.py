"""Catches, while a probe runs, the calls that its exercise forbids.

The grader has read the source for them already; this sees what text hides, such as a name put together at run time.
Both share one list and one rule. Code that wants past this can get past it: it stops shortcuts, not attacks.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any

from autograder.sandbox.values import type_name
from autograder.shortcuts import matches
from autograder.wire import UsedForbidden


class ForbiddenCall(BaseException):
    """Raised in the student's code where it calls what the exercise forbids."""


class Guard:
    """While entered, raises ForbiddenCall at a forbidden call made directly by code below a folder.

    The first such call is kept in `used`, so that swallowing the exception changes nothing.
    """

    def __init__(self, forbids: Sequence[str], folder: str) -> None:
        self._forbids, self._folder = tuple(forbids), folder
        self.used: UsedForbidden | None = None

    def __enter__(self) -> Guard:
        if self._forbids:
            threading.setprofile(self._hook)
            sys.setprofile(self._hook)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]

    def _hook(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_call":
            caller, name = frame, _builtin_name(arg)
        elif event == "call" and frame.f_back is not None:
            caller, name = frame.f_back, _function_name(frame)
        else:
            return
        if caller.f_code.co_filename.startswith(self._folder) and any(matches(name, f) for f in self._forbids):
            where = place(caller.f_code, caller.f_lineno, self._folder)
            self.used = self.used or UsedForbidden(f"{name.split('.')[0]}.{name.split('.')[-1]}", where)
            raise ForbiddenCall(name)


def place(code: CodeType, line: int, folder: str) -> str:
    """Return where code of the student's is, in the student's terms: views.py:31 in View.reshape."""
    name = getattr(code, "co_qualname", code.co_name)  # 3.10 knows only the short name
    return f"{code.co_filename.removeprefix(folder).lstrip('/')}:{line} in {name}"


def _builtin_name(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, ModuleType):
        where = owner.__name__
    elif isinstance(owner, type):
        where = type_name(owner)
    elif owner is not None:
        where = type_name(type(owner))
    else:
        where = getattr(function, "__module__", None) or ""
    return f"{where}.{getattr(function, '__name__', '?')}"


def _function_name(frame: FrameType) -> str:
    code = frame.f_code
    return f"{frame.f_globals.get('__name__', '')}.{getattr(code, 'co_qualname', code.co_name)}"
