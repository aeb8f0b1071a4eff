"""Finds, in source text, the use of what an exercise forbids.

Text is read, never run. The same list is watched while the code runs (`sandbox/guard.py`), for what text hides.
"""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field

Names = MutableMapping[str, "str | None"]  # what a name stands for: "t" -> "torch"
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Use:
    """One use of a forbidden name."""

    name: str  # "torch.empty"
    where: str  # "views.py:31 in View.reshape"


def matches(name: str, forbidden: str) -> bool:
    """Return whether using `name` is what `forbidden` forbids.

    A module forbids all below it. A function is the same function however it is reached: torch.diagonal is also
    Tensor.diagonal and torch.linalg.diagonal.

    >>> matches("torch.optim.adamw.AdamW.__init__", "torch.optim"), matches("torch.Tensor.diagonal", "torch.diagonal")
    (True, True)
    """
    if name == forbidden or name.startswith(forbidden + "."):
        return True
    ours, theirs = forbidden.split("."), name.split(".")
    last = (
        theirs[-1].removeprefix("linalg_").removeprefix("fft_")
    )  # torch's own names for torch.linalg's and torch.fft's
    return len(ours) > 1 and ours[0] == theirs[0] and ours[-1] in (last, theirs[-1])


def find_use(
    files: Mapping[str, bytes], package: str, part: str, symbols: Sequence[str], forbids: Sequence[str]
) -> Use | None:
    """Return the first forbidden use in some functions of a module, or in what they reach within the package.

    Args:
        files: the submission's, by path ("napkin/views.py").
        symbols: the exercise's own, such as "View.reshape".
    """
    if not forbids:
        return None
    modules = {name: module for name, module in _modules(files, package) if module is not None}
    waiting, seen = [(part, symbol) for symbol in symbols], set()
    while waiting:
        at = waiting.pop(0)
        module = modules.get(at[0])
        if at in seen or module is None or at[1] not in module.definitions:
            continue
        seen.add(at)
        try:
            scan = _Scan(module, at[1], forbids, package)
        except RecursionError:  # a chain of thousands of attributes; nobody writes that to solve an exercise
            return Use("an expression nested too deeply to be read", f"{_path(at[0])} in {at[1]}")
        if scan.uses:
            line, name = min(scan.uses, key=lambda use: (use[0], -len(use[1])))  # torch.empty, not the torch in it
            return Use(name, f"{_path(at[0])}:{line} in {at[1]}")
        waiting += scan.reached
    return None


def _path(module: str) -> str:
    return f"{module.replace('.', '/') or '__init__'}.py"


@dataclass
class _Module:
    """A module of the submission: its definitions by name ("View", "View.reshape"), and what its names stand for."""

    name: str
    definitions: dict[str, Definition] = field(default_factory=dict)
    names: dict[str, str | None] = field(default_factory=dict)  # "t" -> "torch", "helper" -> "napkin.shapes.helper"


def _modules(files: Mapping[str, bytes], package: str) -> Iterator[tuple[str, _Module | None]]:
    for path, source in files.items():
        if path.startswith(f"{package}/") and path.endswith(".py"):
            inside = path.removeprefix(f"{package}/").removesuffix(".py").removesuffix("__init__")
            name = inside.strip("/").replace("/", ".")
            try:
                yield name, _read(name, source, package)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                yield name, None  # the worker will say so when it imports it


def _read(name: str, source: bytes, package: str) -> _Module:
    module = _Module(name)
    for node in ast.parse(source).body:
        if isinstance(node, Definition):
            module.definitions[node.name] = node
            for inner in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(inner, Definition):
                    module.definitions[f"{node.name}.{inner.name}"] = inner
        else:
            _learn(node, module.names, f"{package}.{name}")
    return module


def _learn(node: ast.AST, names: Names, module: str) -> None:
    """Add what an import or an assignment makes a name stand for."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Import):
            for alias in inner.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(inner, ast.ImportFrom):
            above = module.split(".")[: -inner.level] if inner.level else []
            source = ".".join([*above, *([inner.module] if inner.module else [])])
            names.update({alias.asname or alias.name: f"{source}.{alias.name}" for alias in inner.names})
        elif isinstance(inner, ast.Assign) and (stands_for := _resolve(inner.value, names)) is not None:
            names.update({target.id: stands_for for target in inner.targets if isinstance(target, ast.Name)})


def _resolve(node: ast.AST, names: Mapping[str, str | None]) -> str | None:
    """Return the dotted name that an expression stands for: through aliases, getattr and imports by text."""
    match node:
        case ast.Name(id=name):
            return names.get(name)
        case ast.Attribute(value=value, attr=attribute):
            base = _resolve(value, names)
            return base and f"{base}.{attribute}"
        case ast.Call(func=ast.Name(id="getattr"), args=[value, key, *_]):
            base = _resolve(value, names)
            return base and f"{base}.{key.value!s}" if isinstance(key, ast.Constant) else base and f"{base}.?"
        case ast.Call(func=ast.Name(id="__import__"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case ast.Call(func=ast.Name(id=loader), args=[ast.Constant(value=str(name)), *_]):
            return name if names.get(loader) == "importlib.import_module" else None
        case ast.Subscript(value=ast.Attribute(attr="modules"), slice=ast.Constant(value=str(name))):
            return name
    return None


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it but annotations, which compute nothing."""
    waiting = [node]
    while waiting:
        yield (at := waiting.pop())
        for name, value in ast.iter_fields(at):
            if name not in ("annotation", "returns"):
                inner = value if isinstance(value, list) else [value]
                waiting += [one for one in inner if isinstance(one, ast.AST)]


class _Scan:
    """One definition: its forbidden uses by line, and what else of the package it reaches."""

    def __init__(self, module: _Module, symbol: str, forbids: Sequence[str], package: str) -> None:
        self.uses: list[tuple[int, str]] = []
        self.reached: list[tuple[str, str]] = []
        self._module, self._owner, self._forbids = module, symbol.rpartition(".")[0], forbids
        self._package = package
        node = module.definitions[symbol]
        if isinstance(node, ast.ClassDef):  # to make one is to run these, not all its methods
            self.reached += [(module.name, f"{symbol}.{name}") for name in ("__new__", "__init__", "__post_init__")]
            return
        # A parameter or a variable stands for nothing known, whatever the module calls by its name.
        own = [inner.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg)]
        own += [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        self._names: Names = ChainMap(dict.fromkeys(own), module.names)
        _learn(node, self._names, f"{package}.{module.name}")
        for inner in _walk(node):
            self._look(inner)

    def _look(self, node: ast.AST) -> None:
        stands_for = _resolve(node, self._names)
        if stands_for is not None:
            if any(matches(stands_for, forbidden) for forbidden in self._forbids):
                self.uses.append((node.lineno, stands_for))  # type: ignore[attr-defined]
            elif stands_for.startswith(self._package + "."):
                module, _, name = stands_for.removeprefix(self._package + ".").rpartition(".")
                self.reached.append((module, name))
        elif isinstance(node, ast.Name) and node.id in self._module.definitions:
            self.reached.append((self._module.name, node.id))
        elif isinstance(node, ast.Attribute):
            self._look_at_attribute(node)

    def _look_at_attribute(self, node: ast.Attribute) -> None:
        """Follow a method of the same class; of an unknown object, refuse a method with a forbidden one's name."""
        own = f"{self._owner}.{node.attr}"
        if self._owner and own in self._module.definitions:
            self.reached.append((self._module.name, own))
            return
        for forbidden in self._forbids:
            if forbidden.startswith("torch.") and forbidden.rpartition(".")[2] == node.attr:
                self.uses.append((node.lineno, f"torch.Tensor.{node.attr}"))
