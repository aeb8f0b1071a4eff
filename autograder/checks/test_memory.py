"""Part 5, memory: what training must hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradescope_utils.autograder_utils.decorators import number, weight
from hypothesis import strategies as st

from autograder.agree import Agree
from autograder.checks import forbids
from autograder.checks.cases import Draw, call, draw_numbers, pick, shuffled, sometimes, write_base
from autograder.checks.graphs import KEEP_INPUT, KEEP_RESULT, Graph, draw_exact, draw_saving, write_chain
from autograder.judge import Case, close, exact

OVERWRITTEN = """\
with torch.no_grad():
    x.mul_(2.0)  # overwritten while the backward pass still needs it"""


@st.composite
def saving(draw: Draw) -> Case:
    """Draw a function of some inputs, and what it returns its results in."""
    graph, chains = draw_saving(draw)
    returns = pick(draw, ["tensor", "dict"] if len(chains) == 1 else ["tuple", "dict"])
    walked_once = sometimes(draw, 2)
    results = [write_chain(chain) for chain in chains]
    listed = ", ".join(results)
    body = {"tensor": results[0], "tuple": f"({listed})", "dict": f'{{"out": [{listed}], "count": {len(results)}}}'}
    names = ", ".join(graph.inputs)
    apart = f"[{', '.join(graph.parameters)}]"
    apart = f", parameters={f'iter({apart})' if walked_once else apart}" if graph.parameters else ""
    code = f"{graph.code()}\nsaved_bytes(lambda {names}: {body[returns]}, {names}{apart})"
    return call(
        "memory",
        "saved_bytes",
        code,
        tensors=graph.tensors,
        inputs=tuple(graph.inputs),
        parameters=tuple(graph.parameters),
        chains=chains,
        returns=returns,
        walked_once=walked_once,
    )


@number("5.1")
@weight(2)
def test_saved_bytes(agree: Agree) -> None:
    """The bytes that autograd saves for a backward pass: each storage whole and once, parameters apart."""
    agree("memory.saved_bytes", saving(), exact)


@st.composite
def differentiated(draw: Draw) -> Case:
    """Draw a function to checkpoint: alone, followed by another, around another, or with its input overwritten."""
    graph, chain, plain = draw_exact(draw)
    form = pick(draw, ["alone", "alone", "in a row", "nested", "overwritten"])
    last = ((pick(draw, ["relu", "abs"]), ()),)
    start, steps = chain
    names = ", ".join(graph.inputs)
    values = ", ".join(repr(plain[name]) if name in plain else name for name in graph.inputs)
    finish = f"lambda h: {write_chain(('h', last))}"
    whole = write_chain((start, (*steps, *last)))
    if form == "in a row":
        made = f"checkpoint({finish}, checkpoint(lambda {names}: {write_chain(chain)}, {values}))"
    elif form == "nested":
        made = f"checkpoint(lambda {names}: checkpoint({finish}, {write_chain(chain)}), {values})"
    else:
        made = f"checkpoint(lambda {names}: {whole}, {values})"
    grads = ", ".join(f"{name}.grad" for name in graph.tensors if name != "i")
    lines = [graph.code(), f"out = {made}", *([OVERWRITTEN] if form == "overwritten" else [])]
    lines += ["(out * out).sum().backward()", f"print(out, {grads})"]
    case = call(
        "memory",
        "checkpoint",
        "\n".join(lines),
        tensors=graph.tensors,
        plain=plain,
        inputs=tuple(graph.inputs),
        chain=chain,
        last=last,
        form=form,
    )
    # In PyTorch's own words, which name no value.
    return replace(case, names=("inplace operation",)) if form == "overwritten" else case


@number("5.2a")
@weight(1)
@forbids("torch.utils.checkpoint", within=["checkpoint", "Checkpoint.forward", "Checkpoint.backward"])
def test_checkpoint_gradients(agree: Agree) -> None:
    """A checkpointed function has the result and the gradients of a plain one, inputs and parameters alike."""
    agree("memory.gradients", differentiated(), exact)


@st.composite
def costly(draw: Draw) -> Case:
    """Draw a function with activations that need not be kept."""
    graph = Graph()
    shape = tuple(shuffled(draw, [2, 3, 4, 5, 7])[:2])
    graph.add("x", draw_numbers(draw, shape), grad=True)
    steps: list[tuple[str, tuple[Any, ...]]] = []
    for kind in [pick(draw, ["input", "result", "product", "parameter"]) for _ in range(pick(draw, [2, 3, 1, 4]))]:
        if kind == "product" and "y" not in graph.tensors and not graph.parameters:
            steps.append(("mul", (graph.add("y", draw_numbers(draw, shape), grad=True),)))
        elif kind == "parameter" and not graph.parameters:
            steps.append(("matmul", (graph.add_parameter(draw_numbers(draw, (shape[1], 6))),)))
        else:
            steps.append((pick(draw, KEEP_INPUT if kind == "input" else KEEP_RESULT), ()))
    names = ", ".join(graph.inputs)
    chain = ("x", tuple(steps))
    lines = [
        graph.code(),
        f"def fn({names}):",
        '    print("fn runs, and it is recorded:", torch.is_grad_enabled())',
        f"    return {write_chain(chain)}",
        f"out = checkpoint(fn, {names})  # which tensors are alive after this?",
        "out.sum().backward()",
    ]
    return call(
        "memory", "checkpoint", "\n".join(lines), tensors=graph.tensors, inputs=tuple(graph.inputs), chain=chain
    )


@number("5.2b")
@weight(2)
@forbids("torch.utils.checkpoint", within=["checkpoint", "Checkpoint.forward", "Checkpoint.backward"])
def test_checkpoint_cost(agree: Agree) -> None:
    """Between the passes nothing is held but inputs and result, and the function runs just once more."""
    agree("memory.cost", costly(), exact)


@st.composite
def drawing(draw: Draw) -> Case:
    """Draw a function that draws random numbers, and how much is drawn before it and before the backward pass."""
    seed, before, between = pick(draw, range(1, 9)), pick(draw, [0, 1, 5]), pick(draw, [0, 1, 3])
    draws = tuple(pick(draw, ["rand", "dropout", "randn"]) for _ in range(pick(draw, [1, 2, 3])))
    form = pick(draw, ["alone", "side by side", "nested"])
    written = {"rand": "torch.rand_like(h)", "randn": "torch.randn_like(h)"}
    terms = [written.get(kind, "torch.nn.functional.dropout(torch.ones_like(h))") for kind in draws]
    lines = ["import torch", "def fn(h):", f"    drawn = [{', '.join(terms)}]", "    print(drawn)"]
    lines += ["    return h * sum(drawn)", f"torch.manual_seed({seed})"]
    lines += [f"torch.rand({before})"] if before else []
    made = {
        "alone": "checkpoint(fn, x)",
        "side by side": "checkpoint(fn, x) + checkpoint(fn, x)",
        "nested": "checkpoint(lambda h: fn(h) + checkpoint(fn, h), x)",
    }
    lines += ["x = torch.ones(16, requires_grad=True)", f"out = {made[form]}"]
    lines += [f"torch.rand({between})"] if between else []
    lines += ["before = torch.get_rng_state()", "out.sum().backward()"]
    lines += ["print(torch.equal(torch.get_rng_state(), before))"]
    code = "\n".join(lines)
    return call("memory", "checkpoint", code, seed=seed, before=before, between=between, draws=draws, form=form)


@number("5.2c")
@weight(1)
@forbids("torch.utils.checkpoint", within=["checkpoint", "Checkpoint.forward", "Checkpoint.backward"])
def test_checkpoint_random_numbers(agree: Agree) -> None:
    """The second run draws the random numbers of the first, and nobody else's are disturbed."""
    agree("memory.random_numbers", drawing(), exact)


@st.composite
def sequences(draw: Draw) -> Case:
    """Draw some functions and a number of segments, now and then an impossible one."""
    count = pick(draw, [5, 4, 7, 3, 6, 8, 2, 1, 9])
    segments = pick(draw, range(1, count + 1))
    names: tuple[object, ...] = ()
    if sometimes(draw, 8):
        segments = pick(draw, [count + 1, 0, -1])
        names = (segments,)
    x, weights = draw_numbers(draw, (2, 3)), draw_numbers(draw, (count,))
    needs_grad = not sometimes(draw, 4)
    lines = ["import torch", write_base("x", x), *(["x.requires_grad_()"] if needs_grad else [])]
    lines += [write_base("w", weights), "w.requires_grad_()"]
    lines += ["def step(place):", "    def run(h):", "        print(place, end=' ')"]
    lines += ["        return (h + w[place]).abs()", "    return run"]
    lines += [f"out = checkpoint_sequential([step(place) for place in range({count})], x, {segments})"]
    lines += ["(out * out).sum().backward()", "print(out, x.grad, w.grad)"]
    code = "\n".join(lines)
    return call(
        "memory",
        "checkpoint_sequential",
        code,
        names,
        x=x,
        needs_grad=needs_grad,
        weights=weights,
        segments=segments,
    )


@number("5.3a")
@weight(2)
@forbids("torch.utils.checkpoint.checkpoint_sequential", within=["checkpoint_sequential"])
def test_checkpoint_sequential(agree: Agree) -> None:
    """Each function runs at most twice, those of the last segment once, and the gradients are those of a plain run."""
    agree("memory.checkpoint_sequential", sequences(), exact)


@st.composite
def stacks(draw: Draw) -> Case:
    """Draw a number of layers and what each holds, now and then an impossible one."""
    layers = pick(draw, [12, 16, 7, 9, *range(1, 40), 48, 64, 80, 96, 100, 126, 150, 200, 250, 333, 400])
    per_layer = pick(draw, [1, 2, 17, 3, 1, 5, 8, 34])
    names: tuple[object, ...] = ()
    if sometimes(draw, 12):
        layers, per_layer, wrong = pick(draw, [(0, per_layer, 0), (-3, per_layer, -3), (layers, 0, 0)])
        names = (wrong,)
    code = f"best_segments({layers}, {per_layer})" if per_layer != 1 else f"best_segments({layers})"
    return call("memory", "best_segments", code, names, layers=layers, per_layer=per_layer)


@number("5.3b")
@weight(1)
def test_best_segments(agree: Agree) -> None:
    """The number of segments with which the fewest activations are held, near the root of the number of layers."""
    agree("memory.best_segments", stacks(), exact)


@st.composite
def transformers(draw: Draw) -> Case:
    """Draw a transformer from small to published ones, now and then with a recomputation that nobody knows."""
    heads = pick(draw, [2, 12, 96, 1, 128, 5])
    sizes = {
        "batch": pick(draw, [3, 1, 8]),
        "sequence": pick(draw, [5, 2048, 7, 1024]),
        "hidden": heads * pick(draw, [4, 64, 128, 160]),
        "heads": heads,
        "layers": pick(draw, [1, 6, 96, 105]),
    }
    recompute = pick(draw, ["none", "selective", "full"])
    names: tuple[object, ...] = ()
    if sometimes(draw, 12):
        recompute = pick(draw, ["all", "Full", ""])
        names = (recompute,)
    written = ", ".join(f"{name}={value}" for name, value in sizes.items())
    code = f"activation_bytes({written}, recompute={recompute!r})"
    return call("memory", "activation_bytes", code, names, **sizes, recompute=recompute)


@number("5.4")
@weight(2)
def test_activation_bytes(agree: Agree) -> None:
    """The bytes that a transformer keeps: without recomputation, with selective and with full."""
    agree("memory.activation_bytes", transformers(), exact)


@st.composite
def recipes(draw: Draw) -> Case:
    """Draw a recipe, now and then with an optimizer that nobody knows."""
    recipe: dict[str, Any] = {
        "parameter": pick(draw, ["bfloat16", "float32", "float16", "float64"]),
        "gradient": pick(draw, ["bfloat16", "float32", "float16", "float64"]),
        "master": pick(draw, ["float32", None, None, "float64"]),
        "optimizer": pick(draw, ["AdamW", "SGD", "SGD with momentum", "AdaGrad", "RMSProp", "Adam"]),
        "state": pick(draw, ["float32", "bfloat16", "float64"]),
    }
    names: tuple[object, ...] = ()
    if sometimes(draw, 12):
        recipe["optimizer"] = pick(draw, ["Lion", "adamw"])
        names = (recipe["optimizer"],)
    written = (repr(v) if v is None or k == "optimizer" else f"torch.{v}" for k, v in recipe.items())
    code = f"import torch\nbytes_per_parameter(Recipe({', '.join(written)}))"
    return call("memory", "Recipe, bytes_per_parameter", code, names, recipe=recipe)


@st.composite
def runs(draw: Draw) -> Case:
    """Draw the size of a model, of what it holds for each parameter, and of its activations."""
    parameters = pick(draw, [10**9, 7 * 10**9, 124_439_808, 70 * 10**9, 405_853_388_800, 3])
    each, activations = pick(draw, [16, 12, 8, 18]), pick(draw, [10**9, 0, 2**30, 35_433_480_192])
    code = f"training_gb({parameters}, {each}, {activations})"
    return call(
        "memory",
        "training_gb",
        code,
        parameters=parameters,
        per_parameter_bytes=each,
        activation_bytes=activations,
    )


@number("5.5")
@weight(1)
def test_training_bytes(agree: Agree) -> None:
    """The bytes that a recipe holds for each parameter, and the gigabytes of a whole run."""
    agree("memory.bytes_per_parameter", recipes(), exact)
    # Two conversions, a sum and a quotient, in whichever order, round by at most 2**-53 each.
    agree("memory.training_gb", runs(), close(4 * 2**-53))
