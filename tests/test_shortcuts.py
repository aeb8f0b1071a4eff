"""Whether what an exercise forbids is found in its text, however it is spelled, and nothing else is."""

from __future__ import annotations

import textwrap

import pytest

from autograder.shortcuts import Use, find_use, matches


def found(source: str, *forbids: str, symbol: str = "f", files: dict[str, str] | None = None) -> Use | None:
    """Return the use that is found in a function of views.py; `files` lie beside it, by their path in the package."""
    texts = {"views.py": textwrap.dedent(source), **(files or {})}
    contents = {f"napkin/{path}": text.encode() for path, text in texts.items()}
    return find_use(contents, "napkin", "views", [symbol], forbids or ("torch",))


def place(use: Use | None) -> str:
    assert use is not None
    return use.where


# --- what is the same function ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "forbidden", "expected"),
    [
        ("torch", "torch", True),
        ("torch.empty", "torch", True),
        ("torch.nn.functional.softmax", "torch", True),
        ("torch.optim.adamw.AdamW.__init__", "torch.optim", True),
        ("torch.diagonal", "torch.diagonal", True),
        ("torch.Tensor.diagonal", "torch.diagonal", True),
        ("torch.linalg.diagonal", "torch.diagonal", True),
        ("torch._C._VariableFunctions.diagonal", "torch.diagonal", True),
        ("torchvision.ops", "torch", False),
        ("my.torch", "torch", False),
        ("napkin.views.diagonal", "torch.diagonal", False),
        ("numpy.diagonal", "torch.diagonal", False),
        ("torch.diagonal_scatter", "torch.diagonal", False),
        ("torch.optimal", "torch.optim", False),
        ("torch", "torch.diagonal", False),
        ("diagonal", "torch.diagonal", False),
        ("builtins.sum", "torch.sum", False),
    ],
)
def test_a_name_matches_what_forbids_it(name: str, forbidden: str, expected: bool) -> None:
    assert matches(name, forbidden) is expected


# --- what is found ---------------------------------------------------------------------------------------------------

SPELLINGS = {
    "directly": "import torch\ndef f(x):\n    return torch.empty(x)",
    "by an alias": "import torch as t\ndef f(x):\n    return t.empty(x)",
    "by its own name": "from torch import empty\ndef f(x):\n    return empty(x)",
    "by another name": "from torch import empty as e\ndef f(x):\n    return e(x)",
    "by an alias of a module in it": "import torch.nn.functional as F\ndef f(x):\n    return F.empty(x)",
    "from a module in it": "from torch.nn import functional\ndef f(x):\n    return functional.empty(x)",
    "by getattr": "import torch\ndef f(x):\n    return getattr(torch, 'empty')(x)",
    "by a name put together": "import torch\ndef f(x):\n    return getattr(torch, 'emp' + 'ty')(x)",
    "by importlib": "import importlib\ndef f(x):\n    return importlib.import_module('torch').empty(x)",
    "by import_module": "from importlib import import_module as load\ndef f(x):\n    return load('torch').empty(x)",
    "by __import__": "import math\ndef f(x):\n    return __import__('torch').empty(x)",
    "by sys.modules": "import sys\ndef f(x):\n    return sys.modules['torch'].empty(x)",
    "by an assignment": "import torch\ne = torch.empty\n\ndef f(x): return e(x)".replace("\n\ndef", "\ndef"),
    "by a chain of assignments": "import torch; a = torch; b = a.empty\ndef f(x):\n    return b(x)",
    "by an assignment inside": "import torch\ndef f(x):\n    e = torch.empty; return e(x)",
    "by an import inside": "import math\ndef f(x):\n    import torch; return torch.empty(x)",
    "by an import in a try": "try: import torch as t\nexcept ImportError: t = None\ndef f(x): return t.empty(x)",
    "in a lambda": "import torch\ndef f(x):\n    return (lambda: torch.empty(x))()",
    "in a comprehension": "import torch\ndef f(x):\n    return [torch.empty(i) for i in x]",
    "in a function inside": "import torch\ndef f(x):\n    def g(): return torch.empty(x)\n    return g()",
    "without a call": "import torch\ndef f(x):\n    return map(torch.empty, x)",
    "as a default": "import torch\n\ndef f(x, make=torch.empty):\n    return make(x)",
    "in a condition": "import torch\ndef f(x):\n    return 1 if isinstance(x, torch.Size) else 2",
}  # fmt: skip


@pytest.mark.parametrize("how", SPELLINGS)
def test_a_forbidden_module_is_found(how: str) -> None:
    use = found(SPELLINGS[how])
    assert use is not None
    assert use.name.split(".")[0] == "torch"
    assert use.where == "views.py:3 in f"


def test_the_whole_name_is_told() -> None:
    assert found("import torch\ndef f(x): return torch.empty(x)") == Use("torch.empty", "views.py:2 in f")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import torch\ndef f(x): return torch.diagonal(x)", "torch.diagonal"),
        ("import torch\ndef f(x): return torch.linalg.diagonal(x)", "torch.linalg.diagonal"),
        ("import torch\ndef f(x): return torch.Tensor.diagonal(x)", "torch.Tensor.diagonal"),
        ("def f(x): return x.diagonal()", "torch.Tensor.diagonal"),
        ("def f(x): return x[0].t().diagonal(dim1=0)", "torch.Tensor.diagonal"),
        ("def f(x):\n    d = x.diagonal\n    return d()", "torch.Tensor.diagonal"),
        ("from torch import diagonal as d\ndef f(x): return d(x)", "torch.diagonal"),
        ("import torch\ndef f(x): return getattr(torch, 'diagonal')(x)", "torch.diagonal"),
    ],
)
def test_a_forbidden_function_is_found_however_it_is_reached(source: str, name: str) -> None:
    use = found(source, "torch.diagonal")
    assert use is not None
    assert use.name == name


def test_the_first_line_is_named() -> None:
    source = """
        import torch

        def f(x):
            total = 0
            for size in x:
                total += torch.tensor(size)
            return torch.sum(total)
        """
    assert place(found(source)) == "views.py:7 in f"


def test_a_method_is_named_with_its_class() -> None:
    source = """
        import torch
        class View:
            def reshape(self, shape):
                return torch.empty(shape)
        """
    assert place(found(source, symbol="View.reshape")) == "views.py:5 in View.reshape"


REACHED = {  # g uses torch, in the third line
    "a helper": "def f(x): return g(x)",
    "a helper's helper": "def f(x): return h(x)\ndef h(x): return g(x)",
    "a helper that is handed on": "def f(x): return map(g, x)",
    "helpers that call each other": "def f(x): return h(x)\ndef h(x): return g(f(x))",
    "a helper's decorator": "def f(x): return h(x)\n@g\ndef h(x): return x",
    "a helper's default": "def f(x): return h(x)\ndef h(x, make=g): return make(x)",
}


@pytest.mark.parametrize("how", REACHED)
def test_a_helper_of_the_same_module_is_read_too(how: str) -> None:
    source = "import torch\ndef g(x):\n    return torch.empty(x)\n" + REACHED[how]
    assert place(found(source)) == "views.py:3 in g"


def test_a_method_of_the_same_class_is_read_too() -> None:
    source = """
        import torch
        class View:
            def reshape(self, shape): return self.helper(shape)
            def helper(self, shape): return torch.empty(shape)
        """
    assert place(found(source, symbol="View.reshape")) == "views.py:5 in View.helper"


def test_a_class_that_is_used_is_read_too() -> None:
    source = """
        import torch
        class Maker:
            def __init__(self, size): self.made = torch.empty(size)
        def f(x): return Maker(x).made
        """
    assert place(found(source)) == "views.py:4 in Maker.__init__"


HELPER = "import torch\n\n\ndef g(x):\n    return torch.empty(x)\n"


@pytest.mark.parametrize(
    "source",
    [
        "from napkin.shapes import g\ndef f(x): return g(x)",
        "from napkin.shapes import g as h\ndef f(x): return h(x)",
        "from napkin import shapes\ndef f(x): return shapes.g(x)",
        "import napkin.shapes\ndef f(x): return napkin.shapes.g(x)",
        "import napkin.shapes as s\ndef f(x): return s.g(x)",
        "from .shapes import g\ndef f(x): return g(x)",
        "from . import shapes\ndef f(x): return shapes.g(x)",
        "def f(x):\n    from .shapes import g\n    return g(x)",
    ],
)
def test_a_helper_of_another_module_is_read_too(source: str) -> None:
    assert place(found(source, files={"shapes.py": HELPER})) == "shapes.py:5 in g"


def test_a_helper_of_the_package_itself_is_read_too() -> None:
    use = found("from napkin import g\ndef f(x): return g(x)", files={"__init__.py": HELPER})
    assert place(use) == "__init__.py:5 in g"


def test_a_helper_in_a_folder_is_named_by_its_path() -> None:
    use = found("from napkin.sub.shapes import g\ndef f(x): return g(x)", files={"sub/shapes.py": HELPER})
    assert place(use) == "sub/shapes.py:5 in g"


# --- what is not -----------------------------------------------------------------------------------------------------

INNOCENT = {
    "nothing": "import torch\ndef f(x): return x",
    "another library": "import math\ndef f(x): return math.prod(x)",
    "a name like the library's": "def f(x):\n    torches = torch_like = x\n    return torches.empty(torch_like)",
    "text": "def f(x):\n    '''Like torch.empty(x).'''\n    return 'torch.empty(x)'",
    "a comment": "import torch\ndef f(x):\n    # torch.empty(x) would do\n    return x",
    "another exercise": "import torch\ndef f(x): return x\ndef g(x): return torch.empty(x)",
    "a method of another class": "import torch\ndef f(x): return x\nclass V:\n    def f(self): return torch.empty(1)",
    "the module's own lines": "import torch\nONE = torch.ones(1)\ndef f(x): return x",
    "a key": "def f(x): return x['torch']",
    "an annotation": "import torch\ndef f(x: torch.Size, y: 'torch.Size' = ()) -> torch.Size:\n  z: torch.Size = x",
    "an attribute of something": "def f(x): return x.torch",
    "a field": "def f(x, torch_first=1): return dict(torch=x)",
    "another loader's argument": "def f(x, load): return load('torch')",
}


@pytest.mark.parametrize("what", INNOCENT)
def test_what_is_no_use_of_a_forbidden_module_is_left_alone(what: str) -> None:
    assert found(INNOCENT[what]) is None


OWN = {
    "its own function": "def f(x): return diagonal(x)\ndef diagonal(x): return x",
    "its own recursion": "def unfold(x): return unfold(x[1:]) if x else 0\ndef f(x): return unfold(x)",
    "its own method": "class V:\n    def f(self): return self.diagonal()\n    def diagonal(self): return 1",
    "another function of the library": "import torch\ndef f(x): return torch.as_strided(x, (1,), (1,)).sum()",
    "its own function of another module": "from napkin.shapes import diagonal\ndef f(x): return diagonal(x)",
}


@pytest.mark.parametrize("what", OWN)
def test_what_only_has_a_forbidden_functions_name_is_left_alone(what: str) -> None:
    symbol = "V.f" if what == "its own method" else "f"
    files = {"shapes.py": "def diagonal(x): return x"}
    assert found(OWN[what], "torch.diagonal", "torch.unfold", symbol=symbol, files=files) is None


def test_a_method_is_no_function_of_a_library_without_tensors() -> None:
    assert found("def f(x): return x.prod()", "math.prod") is None


@pytest.mark.parametrize(
    "source",
    ["import torch as t\ndef f(t): return t + 1", "import torch as t\ndef f(x): return [t for t in x]"],
    ids=["a parameter", "a variable"],
)
def test_a_name_that_stands_for_something_else_here_is_left_alone(source: str) -> None:
    assert found(source) is None


def test_a_method_that_nobody_calls_here_is_left_alone() -> None:
    source = """
        import torch
        class View:
            def reshape(self, shape): return View()
            def to_torch(self): return torch.empty(1)
        """
    assert found(source, symbol="View.reshape") is None


def test_nothing_forbidden_is_nothing_found() -> None:
    assert (
        find_use({"napkin/views.py": b"import torch\ndef f(x): return torch.empty(x)"}, "napkin", "views", ["f"], ())
        is None
    )


@pytest.mark.parametrize("symbol", ["g", "f.inner", "View.reshape", ""])
def test_a_function_that_is_not_there_uses_nothing(symbol: str) -> None:
    assert found("import torch\ndef f(x): return torch.empty(x)", symbol=symbol) is None


def test_a_module_that_is_not_there_uses_nothing() -> None:
    assert find_use({}, "napkin", "views", ["f"], ["torch"]) is None


UNREADABLE = {
    "no Python": b"def f(:",
    "an earlier Python": b"print 'x'",
    "no text": b"\xff\xfe\0",
    "a NUL": b"x = 1\0",
    "an unknown encoding": b"# coding: nonsense\n",
    "a tower of parentheses": b"(" * 10_000,
    "a tower of minuses": b"x = " + b"-" * 100_000 + b"1",
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_module_that_cannot_be_read_uses_nothing(what: str) -> None:
    assert find_use({"napkin/views.py": UNREADABLE[what]}, "napkin", "views", ["f"], ["torch"]) is None


@pytest.mark.parametrize("what", UNREADABLE)
def test_another_module_that_cannot_be_read_changes_nothing(what: str) -> None:
    files = {"napkin/shapes.py": UNREADABLE[what], "napkin/views.py": b"import torch\ndef f(x): return torch.empty(x)"}
    assert place(find_use(files, "napkin", "views", ["f"], ["torch"])) == "views.py:2 in f"


def test_a_chain_that_is_too_long_to_be_read_is_no_fault_of_the_graders() -> None:
    use = found("def f(x): return x" + ".b" * 1500)
    assert use is not None
    assert "too deeply" in use.name


def test_a_file_that_is_no_module_of_the_package_is_not_read() -> None:
    files = {"napkin/views.txt": b"def f(: torch", "other/views.py": b"import torch\ndef f(x): return torch.empty(x)"}
    assert find_use(files, "napkin", "views", ["f"], ["torch"]) is None
