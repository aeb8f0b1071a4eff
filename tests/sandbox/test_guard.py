"""Whether a forbidden call is caught where it is made, whatever hides it from a reader, and no other call is."""

from __future__ import annotations

import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from autograder.sandbox.guard import ForbiddenCall, Guard
from autograder.shortcuts import find_use
from autograder.wire import UsedForbidden

Load = Callable[..., ModuleType]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Imports views.py of a package of the test's own; `modules` lie beside it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load_one(source: str, **modules: str) -> ModuleType:
        (tmp_path / "napkin").mkdir()
        for name, text in {"__init__": "", "views": source, **modules}.items():
            (tmp_path / "napkin" / f"{name}.py").write_text(textwrap.dedent(text) + "\n")
        return __import__("napkin.views").views  # type: ignore[no-any-return]

    yield load_one
    for name in [name for name in sys.modules if name.split(".")[0] == "napkin"]:
        del sys.modules[name]


def caught(module: ModuleType, forbids: tuple[str, ...], given: Any = (2, 3)) -> UsedForbidden | None:
    """Return the forbidden call that `f` of a module makes."""
    with Guard(forbids, str(Path(module.__file__ or "").parent)) as guard:
        try:
            module.f(given)
        except ForbiddenCall:
            assert guard.used is not None
    return guard.used


# --- what is caught --------------------------------------------------------------------------------------------------

# The third line of each calls torch.empty.
SPELLINGS = {
    "directly": "import torch\ndef f(x):\n    return torch.empty(x)",
    "by an alias": "import torch as t\ndef f(x):\n    return t.empty(x)",
    "by another name": "from torch import empty as e\ndef f(x):\n    return e(x)",
    "by getattr": "import torch\ndef f(x):\n    return getattr(torch, 'empty')(x)",
    "by a name put together": "import torch\ndef f(x):\n    return getattr(torch, 'emp' + 'ty')(x)",
    "by importlib": "import importlib\ndef f(x):\n    return importlib.import_module('tor' + 'ch').empty(x)",
    "by __import__": "import math\ndef f(x):\n    return __import__('torch').empty(x)",
    "by sys.modules": "from sys import modules\ndef f(x):\n    return modules['torch'].empty(x)",
    "by an assignment": "import torch; e = torch.empty\ndef f(x):\n    return e(x)",
    "by a table": "import torch; table = {'e': torch.empty}\ndef f(x):\n    return table['e'](x)",
    "by a star": "from torch import *\ndef f(x):\n    return empty(x)",
    "by a closure": "import torch\ndef f(x, e=torch.empty):\n    return e(x)",
    "by an import inside": "import math\ndef f(x):\n    import torch; return torch.empty(x)",
    "through its own class": "import torch\ndef f(x):\n    return torch._C._VariableFunctions.empty(x)",
}


@pytest.mark.parametrize("how", SPELLINGS)
def test_a_call_into_a_forbidden_module_is_caught(load: Load, how: str) -> None:
    assert caught(load(SPELLINGS[how]), ("torch",)) == UsedForbidden("torch.empty", "views.py:3 in f")


@pytest.mark.parametrize("how", SPELLINGS)
def test_a_call_of_a_forbidden_function_is_caught(load: Load, how: str) -> None:
    assert caught(load(SPELLINGS[how]), ("numpy", "torch.empty")) == UsedForbidden("torch.empty", "views.py:3 in f")


@pytest.mark.parametrize(
    "call",
    [
        "x.diagonal()",
        "torch.Tensor.diagonal(x)",
        "getattr(x, 'diag' + 'onal')()",
        "x.t()[0:1].diagonal(dim1=0, dim2=1)",
    ],
)
def test_a_function_is_the_same_however_it_is_reached(load: Load, call: str) -> None:
    used = caught(load(f"import torch\ndef f(x):\n    return {call}"), ("torch.diagonal",), torch.ones(2, 2))
    assert used is not None
    assert used.where == "views.py:3 in f"


@pytest.mark.parametrize(
    ("call", "forbidden", "name"),
    [
        ("torch.einsum('ii->i', torch.ones(2, 2))", "torch.einsum", "torch.einsum"),
        ("torch.nn.functional.mse_loss(torch.ones(2), torch.ones(2))", "torch.nn.functional", "torch.mse_loss"),
        ("torch.nn.functional.softmax(torch.ones(2), 0)", "torch.softmax", "torch.softmax"),
        ("torch.optim.AdamW([torch.ones(1, requires_grad=True)])", "torch.optim", "torch.__init__"),
        ("numpy.array([1])", "numpy", "numpy.array"),
        ("numpy.zeros(1)", "numpy", "numpy.zeros"),
        ("math.prod(x)", "math.prod", "math.prod"),
    ],
)
def test_functions_of_every_kind_are_caught(load: Load, call: str, forbidden: str, name: str) -> None:
    used = caught(load(f"import math, numpy, torch\ndef f(x):\n    return {call}"), (forbidden,))
    assert used == UsedForbidden(name, "views.py:3 in f")


@pytest.mark.parametrize(
    ("call", "forbidden"),
    [
        ("torch.linalg.diagonal(torch.ones(2, 2))", "torch.diagonal"),
        ("torch.fft.fft(torch.ones(2))", "torch.fft"),
    ],
)
def test_builtins_of_every_module_are_caught(load: Load, call: str, forbidden: str) -> None:
    assert caught(load(f"import numpy, torch\ndef f(x):\n    return {call}"), (forbidden,)) is not None


HIDDEN = {
    "a helper": "def g(x):\n    return torch.empty(x)\ndef f(x): return g(x)",
    "a lambda": "f = lambda x: \\\n    torch.empty(x)",
    "a generator": "def g(x):\n    yield torch.empty(x)\ndef f(x): return list(g(x))",
    "a property": "class V:\n    a = property(lambda self: torch.empty(1))\ndef f(x): return V().a",
    "a class's own making": "class V:\n    def __init__(self): torch.empty(1)\ndef f(x): return V()",
    "a function that is handed on": "def g(x):\n    return torch.empty(x)\ndef f(x): return list(map(g, [1]))",
    "a sort": "def g(x):\n    return float(torch.empty(1))\ndef f(x): return sorted([1, 2], key=g)",
}


@pytest.mark.parametrize("where", HIDDEN)
def test_a_call_anywhere_in_the_students_code_is_caught(load: Load, where: str) -> None:
    used = caught(load("import torch\n" + HIDDEN[where]), ("torch",))
    assert used is not None
    assert used.where.startswith("views.py:3 in ")


def test_a_call_in_another_module_of_the_students_is_caught(load: Load) -> None:
    module = load(
        "from napkin.shapes import g\ndef f(x): return g(x)", shapes="import torch\ndef g(x): return torch.empty(x)"
    )
    assert caught(module, ("torch",)) == UsedForbidden("torch.empty", "shapes.py:2 in g")


def test_a_call_in_a_thread_of_the_students_is_caught(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    source = """
        import threading, torch
        def g():
            torch.empty(1)
        def f(x):
            thread = threading.Thread(target=g)
            thread.start()
            thread.join()
        """
    assert caught(load(source), ("torch",)) == UsedForbidden("torch.empty", "views.py:4 in g")


def test_swallowing_the_exception_changes_nothing(load: Load) -> None:
    source = "import torch\ndef f(x):\n    try: torch.empty(x)\n    except BaseException: return 1"
    assert caught(load(source), ("torch",)) == UsedForbidden("torch.empty", "views.py:3 in f")


def test_the_first_of_two_calls_is_told(load: Load) -> None:
    source = "import torch\ndef f(x):\n    try: torch.empty(x)\n    except BaseException: torch.zeros(x)"
    assert caught(load(source), ("torch",)) == UsedForbidden("torch.empty", "views.py:3 in f")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="3.10 knows only a function's short name")
def test_a_method_is_named_with_its_class(load: Load) -> None:
    source = "import torch\nclass View:\n    def reshape(self): torch.empty(1)\ndef f(x): View().reshape()"
    assert caught(load(source), ("torch",)) == UsedForbidden("torch.empty", "views.py:3 in View.reshape")


# --- what is not -----------------------------------------------------------------------------------------------------

INNOCENT = {
    "another library": "import math\ndef f(x): return math.prod(x)",
    "a name that is only mentioned": "import torch\ndef f(x): return [torch.empty, 'torch.empty(x)']",
    "another function's call": "import torch\ndef f(x): return x\ndef g(x): return torch.empty(x)",
    "an import": "def f(x):\n    import torch, napkin.shapes\n    from torch import empty",
    "its own function": "def empty(x): return x\ndef f(x): return empty(x)",
    "its own recursion": "def f(x): return f(x[1:]) if x else x",
    "its own method": "class V:\n    def empty(self): return 1\ndef f(x): return V().empty()",
    "a method of a plain object": "def f(x): return [].copy(), 'a'.split()",
}


@pytest.mark.parametrize("what", INNOCENT)
def test_what_calls_nothing_forbidden_is_left_alone(load: Load, what: str) -> None:
    assert caught(load(INNOCENT[what], shapes="import torch\n"), ("torch", "numpy.empty", "numpy.copy")) is None


@pytest.mark.parametrize("name", ["diagonal", "unfold", "einsum"])
def test_the_students_own_function_of_a_forbidden_name_is_left_alone(load: Load, name: str) -> None:
    source = f"def {name}(x): return {name}(x[1:]) if len(x) else x.sum()\ndef f(x): return {name}(x)"
    assert caught(load(source), (f"torch.{name}", "numpy"), torch.ones(2)) is None


def test_what_an_allowed_function_calls_in_turn_is_left_alone(load: Load) -> None:
    module = load("import torch\ndef f(x): return torch.functional.norm(torch.ones(2))")
    assert caught(module, ("torch.vector_norm",)) is None


def test_what_the_probe_calls_is_left_alone(load: Load) -> None:
    module = load("def f(x): return x")
    with Guard(("torch",), str(Path(module.__file__ or "").parent)) as guard:
        module.f(torch.empty(2))
    assert guard.used is None


def test_a_function_that_is_handed_to_the_student_may_call_anything(load: Load) -> None:
    assert caught(load("def f(x): return x()"), ("torch",), lambda: torch.empty(2)) is None


@pytest.mark.parametrize("forbids", [(), ("torch",)])
def test_nothing_is_watched_before_and_after(load: Load, forbids: tuple[str, ...]) -> None:
    module = load("import torch\ndef f(x): return torch.empty(x)")
    before = sys.getprofile()
    caught(module, forbids)
    module.f((2,))
    assert sys.getprofile() is before is None


def test_nothing_is_watched_where_nothing_is_forbidden(load: Load) -> None:
    module = load("import sys\nseen = []\ndef f(x): seen.append(sys.getprofile())")
    caught(module, ())
    assert module.seen == [None]


def test_an_exception_of_the_students_passes_through(load: Load) -> None:
    module = load("def f(x): raise ValueError(x)")
    with pytest.raises(ValueError, match="7"):
        caught(module, ("torch",), 7)


# --- text and run agree ----------------------------------------------------------------------------------------------

UNTOLD = {"by sys.modules", "by a table", "by a star", "by importlib"}  # what a reader cannot know


@pytest.mark.parametrize("how", sorted(set(SPELLINGS) - UNTOLD))
def test_what_is_caught_is_found_in_the_text(load: Load, how: str) -> None:
    assert caught(load(SPELLINGS[how]), ("torch",)) is not None
    assert find_use({"napkin/views.py": SPELLINGS[how].encode()}, "napkin", "views", ["f"], ("torch",)) is not None


@pytest.mark.parametrize("how", sorted(UNTOLD))
def test_what_the_text_hides_is_caught(load: Load, how: str) -> None:
    assert find_use({"napkin/views.py": SPELLINGS[how].encode()}, "napkin", "views", ["f"], ("torch",)) is None
    assert caught(load(SPELLINGS[how]), ("torch",)) is not None


@pytest.mark.parametrize("call", ["torch.diagonal(x)", "x.diagonal()", "torch.Tensor.diagonal(x)", "d(x)"])
@pytest.mark.parametrize("forbidden", ["torch.diagonal", "torch.diag", "numpy"])
def test_text_and_run_agree_on_what_is_the_same_function(load: Load, call: str, forbidden: str) -> None:
    source = f"import torch\nfrom torch import diagonal as d\ndef f(x):\n    return {call}"
    used = caught(load(source), (forbidden,), torch.ones(2, 2))
    use = find_use({"napkin/views.py": source.encode()}, "napkin", "views", ["f"], (forbidden,))
    assert (
        (used and used.where) == (use and use.where) == ("views.py:4 in f" if forbidden == "torch.diagonal" else None)
    )
