"""Draws the handout's figures from the reference: `python solutions/figures.py FOLDER`.

What a picture shows is computed by the solutions, so that text, answers and pictures cannot disagree. Colours follow
the reader's light or dark setting; each picture brings its own background, so that it can be read on any page.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from html import escape
from pathlib import Path

from napkin.dtypes import float_format
from napkin.flops import arithmetic_intensity, matmul_bytes, roofline_seconds
from napkin.views import View

STYLE = """
  svg { --paper: #fff; --ink: #1f2328; --soft: #59636e; --line: #c8d1da }
  svg { --one: #0969da; --two: #bc4c00; --three: #1a7f37 }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #161b22; --ink: #e6edf3; --soft: #9198a1; --line: #444c56 }
    svg { --one: #58a6ff; --two: #f0883e; --three: #57ab5a }
  }
  text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: var(--ink) }
  .soft { fill: var(--soft) } .small { font-size: 11px } .middle { text-anchor: middle } .end { text-anchor: end }
  .strong { font-weight: 600 } .mono { font-family: ui-monospace, Menlo, Consolas, monospace }
  .cell { fill: var(--paper); stroke: var(--line) }
  .one { fill: var(--one) } .two { fill: var(--two) } .three { fill: var(--three) }
  .pale { fill-opacity: 0.22 }
  .stroke.one { fill: none; stroke: var(--one); stroke-width: 2 }
  .stroke.two { fill: none; stroke: var(--two); stroke-width: 2 }
  .axis { stroke: var(--soft) } .grid { stroke: var(--line); stroke-width: 0.5 }
"""


def picture(width: int, height: int, title: str, says: str, marks: Iterable[str]) -> str:
    """Return an SVG with a title and a description for those who cannot see it."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="t d">'
    paper = f'<rect width="{width}" height="{height}" rx="8" style="fill: var(--paper)"/>'
    told = f'<title id="t">{escape(title)}</title><desc id="d">{escape(says)}</desc>'
    return "\n".join([head, told, f"<style>{STYLE}</style>", paper, *marks, "</svg>\n"])


def text(x: float, y: float, said: object, kind: str = "") -> str:
    """Return a line of text; `kind` names classes of the style."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(str(said))}</text>'


def box(x: float, y: float, width: float, height: float, kind: str = "cell") -> str:
    """Return a rectangle."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" class="{kind}"/>'


def path(d: str, kind: str) -> str:
    """Return a path."""
    return f'<path d="{d}" class="{kind}"/>'


# --- part 1 ----------------------------------------------------------------------------------------------------------


def strides() -> str:
    """A view of a storage: which positions it shows, and what a step along each dimension is."""
    base = View((4, 6), (6, 1))
    view = base.slice(1, 1, None, 2).permute((1, 0))
    side, left, top = 26, 28, 92
    place = {
        (i, j): view.offset + i * view.stride[0] + j * view.stride[1]
        for i in range(view.shape[0])
        for j in range(view.shape[1])
    }
    marks = [text(left, 28, "storage: one row of 24 numbers, by position", "strong")]
    for position in range(base.numel):
        x = left + position * side
        marks.append(box(x, top, side, side))
        if position in place.values():
            marks.append(box(x, top, side, side, "one pale"))
        marks.append(text(x + side / 2, top + 18, position, "middle small mono"))
    for dim, kind, height in ((0, "one", 20), (1, "two", 44)):
        start, end = (left + (at + 0.5) * side for at in (view.offset, view.offset + view.stride[dim]))
        marks.append(
            path(
                f"M{start:g},{top - 3} C{start:g},{top - height} {end:g},{top - height} {end:g},{top - 3}",
                f"stroke {kind}",
            )
        )
        marks.append(path(f"M{end - 4:g},{top - 9} L{end:g},{top - 2} L{end + 4:g},{top - 9} Z", kind))
        marks.append(
            text(
                left + 9 * side,
                top - height + 12,
                f"one step along dim {dim}: {view.stride[dim]} positions",
                f"small {kind}",
            )
        )
    low = top + 64
    marks += [
        text(left, low, "x", "mono strong"),
        text(left + 16, low, f"= storage as {base.shape}", ""),
        text(left + 330, low, "x[:, 1::2].T", "mono strong"),
        text(left + 428, low, "the same numbers, none moved", "soft small"),
    ]
    for i in range(base.shape[0]):
        for j in range(base.shape[1]):
            position = i * base.stride[0] + j
            x, y = left + j * side, low + 14 + i * side
            marks.append(box(x, y, side, side))
            marks += [box(x, y, side, side, "one pale")] if position in place.values() else []
            marks.append(text(x + side / 2, y + 18, position, "middle small mono"))
    for (i, j), position in place.items():
        x, y = left + 330 + j * side, low + 14 + i * side
        marks += [box(x, y, side, side), box(x, y, side, side, "one pale")]
        marks.append(text(x + side / 2, y + 18, position, "middle small mono"))
    says = [f"shape   {view.shape}", f"stride  {view.stride}", f"offset  {view.offset}"]
    marks += [text(left + 460, low + 34 + 20 * i, line.replace(" ", "\u00a0"), "mono") for i, line in enumerate(says)]
    return picture(680, 292, "A strided view", "Position = offset + the sum of index times stride.", marks)


# --- part 2 ----------------------------------------------------------------------------------------------------------

FORMATS = (
    ("float32", 8, 23, False),
    ("bfloat16", 8, 7, False),
    ("float16", 5, 10, False),
    ("float8 e5m2", 5, 2, False),
    ("float8 e4m3fn", 4, 3, True),
)


def formats() -> str:
    """The bits of five formats, and what they buy: range from the exponent, resolution from the mantissa."""
    left, side, top, row = 118, 11, 62, 46
    marks = [text(16, 28, "where the bits go", "strong")]
    marks += [text(left, 50, "sign", "small soft"), text(left + 40, 50, "exponent: range", "small one")]
    marks += [text(left + 160, 50, "mantissa: resolution", "small two")]
    columns = (left + 440, left + 536, left + 612)
    marks += [
        text(x, 50, said, "small soft end")
        for x, said in zip(columns, ("largest", "smallest normal", "gap above 1"), strict=True)
    ]
    for place, (name, exponent, mantissa, finite_only) in enumerate(FORMATS):
        y = top + place * row
        marks.append(text(16, y + 16, name, "mono small"))
        kinds = ["three"] + ["one"] * exponent + ["two"] * mantissa
        for bit, kind in enumerate(kinds):
            marks += [box(left + bit * side, y, side, 22), box(left + bit * side, y, side, 22, f"{kind} pale")]
        marks.append(text(left, y + 35, f"1 + {exponent} + {mantissa}", "small soft"))
        holds = float_format(exponent, mantissa, finite_only)
        for x, value in zip(columns, (holds.max, holds.smallest_normal, holds.eps), strict=True):
            marks.append(text(x, y + 16, _number(value), "mono small end"))
    return picture(
        748, top + row * len(FORMATS) + 6, "The bits of five number formats",
        "bfloat16 has the exponent of float32 and so its range; float16 has more mantissa and so finer steps.", marks,
    )  # fmt: skip


def _number(value: float) -> str:
    return f"{value:g}" if 1e-3 <= value < 1e6 else f"{value:.3g}"


# --- part 3 ----------------------------------------------------------------------------------------------------------

H100_PEAK, H100_BANDWIDTH = 989.4e12, 3.35e12  # FLOP/s and B/s of an H100 SXM5 (NVIDIA's data sheet, dense bf16)


def roofline() -> str:
    """What an H100 can reach at each arithmetic intensity, and where some operations stand."""
    left, right, top, bottom = 70, 670, 50, 300
    span_x, span_y = (-1.0, 4.0), (11.0, 15.5)  # powers of ten: FLOP/B, FLOP/s

    def at(intensity: float, speed: float) -> tuple[float, float]:
        x = left + (math.log10(intensity) - span_x[0]) / (span_x[1] - span_x[0]) * (right - left)
        y = bottom - (math.log10(speed) - span_y[0]) / (span_y[1] - span_y[0]) * (bottom - top)
        return x, y

    marks = [text(left, 28, "roofline of an H100 SXM in bf16", "strong")]
    for power in range(int(span_x[0]), int(span_x[1]) + 1):
        x, _ = at(10.0**power, 1e12)
        marks += [
            path(f"M{x:g},{top} V{bottom}", "grid"),
            text(x, bottom + 18, f"{10.0**power:g}", "middle small soft"),
        ]
    for power, said in ((11, "0.1"), (12, "1"), (13, "10"), (14, "100"), (15, "1000")):
        _, y = at(1, 10.0**power)
        marks += [path(f"M{left},{y:g} H{right}", "grid"), text(left - 8, y + 4, said, "end small soft")]
    marks += [
        text((left + right) / 2, bottom + 38, "arithmetic intensity, FLOP per byte moved", "middle small"),
        text(16, top - 6, "TFLOP/s", "small"),
    ]
    ridge = H100_PEAK / H100_BANDWIDTH
    points = [at(x, min(H100_PEAK, x * H100_BANDWIDTH)) for x in (0.1, ridge, 1e4)]
    marks.append(path("M" + " L".join(f"{x:g},{y:g}" for x, y in points), "stroke one"))
    x, y = points[1]
    marks += [
        path(f"M{x:g},{y:g} V{bottom}", "axis"),
        text(x + 6, bottom - 8, f"ridge: {ridge:.0f} FLOP/B", "small soft"),
    ]
    marks += [
        text(points[0][0] + 150, 150, "memory binds", "small one end"),
        text(right - 4, points[2][1] - 8, "compute binds", "small one end"),
    ]
    n = 1024
    operations = (
        ("ReLU", 1.0, 4.0),
        ("GELU", 20.0, 4.0),
        ("matrix × vector, n = 1024", 2.0 * n * n, float(matmul_bytes(n, n, 1, "bfloat16"))),
        ("matrix product, n = 256", 2.0 * 256**3, float(matmul_bytes(256, 256, 256, "bfloat16"))),
        ("n = 1024", 2.0 * n**3, float(matmul_bytes(n, n, n, "bfloat16"))),
        ("n = 8192", 2.0 * 8192**3, float(matmul_bytes(8192, 8192, 8192, "bfloat16"))),
    )
    for name, work, moved in operations:
        seconds, _ = roofline_seconds(work, moved, H100_PEAK, H100_BANDWIDTH)
        x, y = at(arithmetic_intensity(work, moved), work / seconds)
        above = name.startswith("n =")
        marks.append(f'<circle cx="{x:g}" cy="{y:g}" r="4.5" class="two"/>')
        marks.append(
            text(x + (0 if above else 9), y + (20 if above else 5), name, "small" + (" middle" if above else ""))
        )
    return picture(
        700, 350, "A roofline",
        "Below the ridge the time is that of moving bytes, above it that of computing.", marks,
    )  # fmt: skip


# --- part 5 ----------------------------------------------------------------------------------------------------------


def tape(layers: int, segment: int, hold: bool) -> list[tuple[str, set[int]]]:
    """Return each step of a forward and backward pass, and the layers whose input is held while it runs.

    Args:
        segment: layers from one input that is kept to the next.
        hold: whether the inputs that are computed again stay until they have been used.
    """
    kept = {layer for layer in range(layers) if layer % segment == 0}
    held: set[int] = set()
    steps: list[tuple[str, set[int]]] = []
    for layer in range(layers):
        held = held & kept | {layer}
        steps.append(("forward", held))
    held = held & kept
    for layer in reversed(range(layers)):
        if layer not in held:
            for again in range(layer - layer % segment, layer + 1):
                held = (held if hold else held & kept) | {again}
                steps.append(("again", held))
        steps.append(("backward", held))
        held = (held if hold else held & kept) - {layer}
    return steps


def checkpoints() -> str:
    """What is held at each step of a pass over nine layers: all inputs, every third, the first alone."""
    layers, side = 9, 7
    panels = (
        ("keep all inputs", 1, True),
        ("keep every third", 3, True),
        ("keep the first, hold nothing else", layers, False),
    )
    marks = [text(16, 28, "nine layers: whose input is in memory, step by step", "strong")]
    x = 34.0
    for name, segment, hold in panels:
        steps = tape(layers, segment, hold)
        marks.append(text(x, 56, name, "small strong"))
        for column, (doing, held) in enumerate(steps):
            kind = {"forward": "one", "again": "two", "backward": "three"}[doing]
            for layer in range(layers):
                at = (x + column * side, 64 + (layers - 1 - layer) * side * 1.6, side, side * 1.6)
                marks.append(box(*at, kind if layer in held else "cell"))
        low = 64 + layers * side * 1.6
        runs = sum(doing != "backward" for doing, _ in steps)
        marks.append(text(x, low + 18, f"at most {max(len(held) for _, held in steps)} held", "small"))
        marks.append(text(x, low + 34, f"{runs} × forward", "small soft"))
        x += len(steps) * side + 24
    marks += [text(28, 64 + side * 1.6 * (layers - i) - 2, i + 1, "end small soft") for i in (0, layers - 1)]
    width = int(x)
    for place, (said, kind) in enumerate((("forward", "one"), ("forward again", "two"), ("backward", "three"))):
        left = width - 300 + place * 104
        marks += [box(left, 18, 12, 12, kind), text(left + 17, 28, said, "small soft")]
    return picture(
        width, int(low + 46), "What checkpointing holds, and what it runs again",
        "Time runs to the right, layers upwards. Fewer inputs are kept, so layers run forward again.", marks,
    )  # fmt: skip


FIGURES = {"strides": strides, "formats": formats, "roofline": roofline, "checkpoints": checkpoints}


def main(folder: Path) -> None:
    """Write all figures."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        (folder / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
