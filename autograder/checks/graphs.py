"""Draws small functions of tensors as chains of methods, and writes down the code that makes the same.

A chain begins at a tensor, by name; a text among a method's arguments names another one. What a chain uses is drawn
with it: tensors are x, y and more inputs, and the parameters w, v and u.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autograder.checks.cases import Draw, Shape, draw_numbers, pick, shuffled, sometimes, write_base
from autograder.checks.layouts import Steps, write_steps

Chain = tuple[str, Steps]
DTYPES = ("float32", "float64", "bfloat16", "float16")
CASTS = {"float32": "float", "float64": "double", "bfloat16": "bfloat16", "float16": "half"}
KEEP_RESULT = ("relu", "sigmoid", "exp", "tanh")
KEEP_INPUT = ("sin", "abs", "cos", "square")


@dataclass
class Graph:
    """Some tensors, as `probes.memory` makes them, and a function of them as it grows."""

    tensors: dict[str, Any] = field(default_factory=dict)  # by name: its base, the steps that follow, needs a gradient
    inputs: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)

    def add(self, name: str, base: Any, steps: Steps = (), grad: bool = False) -> str:
        """Add an input, and return its name."""
        self.tensors[name] = (base, steps, grad)
        self.inputs.append(name)
        return name

    def add_parameter(self, base: Any, steps: Steps = (), grad: bool = True) -> str:
        """Add a parameter, and return its name."""
        name = "wvu"[len(self.parameters)]
        self.tensors[name] = (base, steps, grad)
        self.parameters.append(name)
        return name

    def code(self) -> str:
        """Return the lines that make the tensors."""
        return "\n".join(["import torch", *(_write(name, *made) for name, made in self.tensors.items())])


def _write(name: str, base: Any, steps: Steps, grad: bool) -> str:
    rest = write_steps(steps) + (".requires_grad_()" if grad else "")
    line = write_base(name, base)
    if not rest:
        return line
    return f"{line}{rest}" if line.endswith(")") else f"{line}\n{name} = {name}{rest}"


def write_chain(chain: Chain) -> str:
    """Return a chain as an expression."""
    start, steps = chain
    written = (f".{m}({', '.join(a if isinstance(a, str) else repr(a) for a in arguments)})" for m, arguments in steps)
    return start + "".join(written)


def draw_saving(draw: Draw) -> tuple[Graph, tuple[Chain, ...]]:
    """Draw one chain or two, of methods that save their input, their result, another tensor, a part, or nothing."""
    graph = Graph()
    if sometimes(draw, 20):  # memory of this size is given out again as soon as nobody holds on to it
        graph.add("x", ("zeros", (250, 300), "float64"), grad=True)
        return graph, (("x", tuple((pick(draw, KEEP_INPUT), ()) for _ in range(7))),)
    rows, columns = shuffled(draw, [2, 3, 4, 5, 7])[:2]
    dtype = pick(draw, DTYPES)
    cut = pick(draw, [0, 0, 0, 1, 2])
    sliced: Steps = (("slice", (0, cut, None, 1)),) if cut else ()
    graph.add("x", ("zeros", (rows + cut, columns), dtype), sliced, not sometimes(draw, 4))
    first = ("x", _saving_steps(draw, graph, (rows, columns), dtype, pick(draw, [2, 1, 3, 4])))
    if not sometimes(draw, 2):
        return graph, (first,)
    start = pick(draw, [*graph.parameters, "x"])
    part: Steps = () if sometimes(draw, 3) else (("narrow", (0, -1, 1)),)
    again: Steps = ((pick(draw, KEEP_INPUT), ()),)
    return graph, (first, (start, (*part, *again)))


def _saving_steps(draw: Draw, graph: Graph, shape: Shape, dtype: str, count: int) -> Steps:
    steps: list[tuple[str, tuple[Any, ...]]] = []
    kinds = ["result", "input", "parameter", "parameter", "parameter", "parameter", "input", "product", "mask"]
    kinds += ["index", "part", "transposed", "cast", "nothing"]
    for _ in range(count):
        kind = pick(draw, kinds)
        rows, columns = shape
        if kind == "result":
            steps.append((pick(draw, KEEP_RESULT), ()))
        elif kind == "parameter" and len(graph.parameters) < 3:
            width = pick(draw, [6, 1, 8])
            offset: Steps = (("slice", (0, 1, None, 1)),) if sometimes(draw, 3) else ()
            base = ("zeros", (columns + len(offset), width), dtype)
            steps.append(("matmul", (graph.add_parameter(base, offset, not sometimes(draw, 4)),)))
            shape = (rows, width)
        elif kind == "product" and "y" not in graph.tensors:
            steps.append(("mul", (graph.add("y", ("zeros", shape, dtype), grad=not sometimes(draw, 2)),)))
        elif kind == "mask" and "m" not in graph.tensors:
            steps.append(("masked_fill", (graph.add("m", ("zeros", shape, "bool")), 0.0)))
        elif kind == "index" and "i" not in graph.tensors:
            chosen = pick(draw, [3, 9])
            steps.append(("index_select", (0, graph.add("i", ("zeros", (chosen,), "int64")))))
            shape = (chosen, columns)
        elif kind == "part":
            repeats = pick(draw, [1, 6])
            steps += [("narrow", (0, 0, 1)), ("expand", (repeats, -1))][: 1 if repeats == 1 else 2]
            shape = (repeats, columns)
        elif kind == "transposed":
            steps.append(("t", ()))
            shape = (columns, rows)
        elif kind == "cast":
            dtype = pick(draw, [other for other in DTYPES if other != dtype])
            steps.append((CASTS[dtype], ()))
        elif kind == "nothing":
            steps.append(("neg", ()))
        else:
            steps.append((pick(draw, KEEP_INPUT), ()))
    return tuple(steps)


def draw_exact(draw: Draw) -> tuple[Graph, Chain, dict[str, Any]]:
    """Draw a chain whose numbers are exact, of inputs in any order: tensors of any kind, and plain values by name."""
    graph, plain = Graph(), dict[str, Any]()
    rows, columns = shuffled(draw, [2, 3, 4])[:2]
    graph.add("x", draw_numbers(draw, (rows, columns)), grad=not sometimes(draw, 4))
    steps: list[tuple[str, tuple[Any, ...]]] = []
    if sometimes(draw, 2):
        steps.append(("mul", (graph.add("y", draw_numbers(draw, (rows, columns)), grad=not sometimes(draw, 3)),)))
    if sometimes(draw, 3):
        steps.append(("index_select", (0, graph.add("i", ("arange", (rows,), "int64")))))
    if sometimes(draw, 3):
        plain["k"] = pick(draw, [2.0, -0.5, 4])
        steps.append(("mul", ("k",)))
    if sometimes(draw, 4):
        plain["dims"] = (1, 0)
        steps.append(("permute", ("dims",)))
        rows, columns = columns, rows
    if not sometimes(draw, 3):
        trained = not sometimes(draw, 4)
        steps.append(("matmul", (graph.add_parameter(draw_numbers(draw, (columns, 5)), grad=trained),)))
    if not any(grad for _, _, grad in graph.tensors.values()):
        graph.tensors["x"] = (graph.tensors["x"][0], (), True)
    graph.inputs = shuffled(draw, [*graph.inputs, *plain])
    return graph, ("x", tuple(steps)), plain
