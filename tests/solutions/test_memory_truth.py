"""The reference of part 5 against what PyTorch really saves, frees and computes, and its variants against it.

Tables of measured bytes and published formulas carry their source in the test's id.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import textwrap
import weakref
from contextlib import contextmanager

import numpy as np
import pytest
import torch
import torch.utils.checkpoint as torch_checkpoint
from torch.nn.functional import dropout, gelu, silu
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from autograder.checks import test_memory as checks
from autograder.drawing import draw
from autograder.judge import compare, exact
from autograder.probes import memory as probes
from autograder.sandbox.values import to_value, type_name
from autograder.wire import Raised, Returned
from tests.solutions.loading import load_solutions

memory, VARIANTS = load_solutions("memory")

SYMBOLS = (
    "saved_bytes",
    "Checkpoint.forward",
    "Checkpoint.backward",
    "checkpoint_sequential",
    "best_segments",
    "activation_bytes",
    "bytes_per_parameter",
    "training_gb",
)


def a_tensor(*shape, dtype=torch.float32, needs_grad=True):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(1)).requires_grad_(needs_grad)


def a_stack(layers, width, activation):
    """Return layers as functions, and their weights."""
    weights = [a_tensor(width, width) for _ in range(layers)]
    return [lambda h, w=w: activation(h @ w) for w in weights], weights


def run_all(functions, h):
    for function in functions:
        h = function(h)
    return h


def run_segmented(functions, h, length, checkpoint):
    for start in range(0, len(functions), length):
        h = checkpoint(lambda h, group=functions[start : start + length]: run_all(group, h), h)
    return h


def torch_checkpointed(fn, *inputs):
    return torch_checkpoint.checkpoint(fn, *inputs, use_reentrant=False)


# 5.1


@pytest.mark.parametrize("needs_grad", [False, True])
def test_two_layers_save_x_and_h_whether_or_not_x_needs_a_gradient(needs_grad):
    x = a_tensor(64, 32, needs_grad=needs_grad)
    w1, w2 = a_tensor(32, 32), a_tensor(32, 16)
    assert memory.saved_bytes(lambda x: x @ w1 @ w2, x, parameters=[w1, w2]) == 16_384


# Measured with hooks on PyTorch 2.13: 8 layers of 128, 64 rows, float32; None: all layers just run.
MEASURED = [
    (torch.relu, None, 294_912),
    (torch.tanh, None, 294_912),
    (gelu, None, 524_288),
    (silu, None, 524_288),
    (torch.relu, 1, 262_144),
    (gelu, 1, 262_144),
    (gelu, 2, 131_072),
    (gelu, 4, 65_536),
    (gelu, 8, 32_768),
]


@pytest.mark.parametrize("checkpoint", ["PyTorch's", "ours"])
@pytest.mark.parametrize(("activation", "length", "saved"), MEASURED)
def test_an_mlp_of_8_layers_saves_what_was_measured(activation, length, saved, checkpoint):
    functions, weights = a_stack(8, 128, activation)
    x = a_tensor(64, 128)
    checkpoint = torch_checkpointed if checkpoint == "PyTorch's" else memory.checkpoint

    def fn(x):
        return run_all(functions, x) if length is None else run_segmented(functions, x, length, checkpoint)

    assert memory.saved_bytes(fn, x, parameters=iter(weights)) == saved


def saved_by(result):
    """Return all tensors that the steps of a graph name as saved, found by walking the graph."""
    waiting, seen, found = [x.grad_fn for x in tree_leaves(result) if isinstance(x, torch.Tensor)], set(), []
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting += [other for other, _ in node.next_functions]
        named = [getattr(node, name) for name in dir(node) if name.startswith("_saved_")]
        found += [x for x in tree_leaves(named) if isinstance(x, torch.Tensor)]
    return found


def drawn(strategy, count, seed=1):
    cases = []
    draw(strategy, count, seed, cases.append)
    return cases


def test_saved_bytes_are_those_of_the_storages_that_the_graph_names():
    for case in drawn(checks.saving(), 100):
        results, apart = [], []

        def look(fn, *inputs, parameters, results=results, apart=apart):
            results.append(fn(*inputs))
            apart += [p.untyped_storage().data_ptr() for p in parameters]
            return memory.saved_bytes(fn, *inputs, parameters=[])

        class Module:
            saved_bytes = staticmethod(look)

        probes.saved_bytes(Module, **case.args)
        storages = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in saved_by(results)}
        expected = sum(size for address, size in storages.items() if address not in apart)
        assert probes.saved_bytes(memory, **case.args) == expected, case.code


def test_what_is_saved_is_freed_with_the_graph():
    functions, weights = a_stack(5, 16, gelu)
    x = a_tensor(64, 16)
    with Alive(x, *weights) as alive:
        out = run_all(functions, x).sum()
        held = alive.now
        del out
    saved = memory.saved_bytes(lambda x: run_all(functions, x), x, parameters=weights)
    assert (held - alive.now) == saved - x.nbytes  # x outlives its graph


class Alive(TorchDispatchMode):
    """Counts the bytes of storages that are made and not yet freed, at most and now."""

    def __init__(self, *known):
        super().__init__()
        self.known = {x.untyped_storage()._cdata for x in known}
        self.sizes, self.peak = {}, 0

    @property
    def now(self):
        return sum(self.sizes.values())

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for x in tree_leaves(out):
            if isinstance(x, torch.Tensor) and x.is_floating_point() and x.numel() > 1:
                storage = x.untyped_storage()
                if storage._cdata not in self.known and storage._cdata not in self.sizes:
                    self.sizes[storage._cdata] = storage.nbytes()
                    weakref.finalize(storage, self.sizes.pop, storage._cdata)
        self.peak = max(self.peak, self.now)
        return out


# 5.2

CHECKPOINTS = {
    "plain": lambda fn, *inputs: fn(*inputs),
    "PyTorch's": torch_checkpointed,
    "PyTorch's, reentrant": lambda fn, *inputs: torch_checkpoint.checkpoint(fn, *inputs, use_reentrant=True),
}


def noisy_model(checkpoint, form):
    """Return the loss of a model with dropout, some or all of it checkpointed, and what gets gradients."""
    w, v = a_tensor(12, 12), a_tensor(12, 12)
    x = a_tensor(7, 12)

    def first(h, share):
        return dropout(gelu(h @ w), share)

    def second(h):
        return torch.tanh(dropout(h @ v) * h)

    h = x * 2.0
    if form == "nested":
        out = checkpoint(lambda h: checkpoint(second, first(h, 0.3)), h)
    elif form == "in a row":
        out = checkpoint(second, checkpoint(first, h, 0.3))
    else:
        out = checkpoint(lambda h: second(first(h, 0.3)), h)
    return (out * torch.rand_like(out)).sum(), (x, w, v)


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad=True")  # within a reentrant one
@pytest.mark.parametrize("form", ["alone", "in a row", "nested"])
@pytest.mark.parametrize("other", CHECKPOINTS)
def test_gradients_under_dropout_are_bit_equal_to_those_of(other, form):
    seen = []
    for checkpoint in (memory.checkpoint, CHECKPOINTS[other]):
        torch.manual_seed(3)
        loss, leaves = noisy_model(checkpoint, form)
        loss.backward()
        seen.append([loss.detach(), *(leaf.grad for leaf in leaves), torch.get_rng_state()])
    assert all(itertools.starmap(torch.equal, zip(*seen, strict=True)))


@pytest.mark.parametrize("needs_grad", [True, False])
def test_a_module_of_parameters_gets_its_gradients_whether_or_not_x_needs_one(needs_grad):
    model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.GELU(), torch.nn.Linear(7, 3))
    x = a_tensor(4, 5, needs_grad=needs_grad)
    model(x).square().sum().backward()
    expected = [p.grad for p in model.parameters()]
    model.zero_grad()
    memory.checkpoint(model, x).square().sum().backward()
    assert all(map(torch.equal, (p.grad for p in model.parameters()), expected))


def flops(run):
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


@pytest.mark.parametrize("length", [1, 2, 4, 8])
@pytest.mark.parametrize(("needs_grad", "over"), [(True, (4, 3)), (False, (31, 23))])
@pytest.mark.parametrize("checkpoint", ["PyTorch's", "ours"])
def test_recomputing_everything_takes_a_forward_pass_more(needs_grad, over, length, checkpoint):
    functions, _ = a_stack(8, 16, gelu)
    x = a_tensor(12, 16, needs_grad=needs_grad)
    checkpoint = torch_checkpointed if checkpoint == "PyTorch's" else memory.checkpoint
    plain = flops(lambda: run_all(functions, x).sum().backward())
    with torch_checkpoint.set_checkpoint_early_stop(False):
        again = flops(lambda: run_segmented(functions, x, length, checkpoint).sum().backward())
    assert (again * over[1], plain) == (plain * over[0], 2 * 12 * 16**2 * (8 * 3 - (not needs_grad)))


def test_only_the_input_is_held_between_the_two_passes():
    functions, weights = a_stack(6, 16, gelu)
    x = a_tensor(32, 16)
    with Alive(x, *weights) as alive:
        out = memory.checkpoint(lambda h: run_all(functions, h), x)
        assert alive.now == out.nbytes
        assert alive.peak <= 3 * x.nbytes  # a product, its GELU, and the one before
    assert memory.saved_bytes(lambda x: memory.checkpoint(lambda h: run_all(functions, h), x), x) == x.nbytes


def test_an_overwritten_input_is_noticed_as_in_a_plain_run():
    for checkpoint in (memory.checkpoint, *CHECKPOINTS.values()):
        x = a_tensor(3)
        out = checkpoint(torch.sin, x)
        with torch.no_grad():
            x.zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()


def test_a_function_that_draws_random_numbers_twice_draws_the_same():
    torch.manual_seed(5)
    seen = []
    x = torch.ones(50, requires_grad=True)

    def noisy(h):
        seen.append(torch.rand_like(h))
        return h * seen[-1]

    out = memory.checkpoint(noisy, x)
    torch.rand(7)
    before = torch.get_rng_state()
    out.sum().backward()
    assert torch.equal(*seen)
    assert torch.equal(x.grad, seen[0])
    assert torch.equal(torch.get_rng_state(), before)


# 5.3


def counted(functions, calls):
    def counting(place, function):
        def run(h):
            calls.append(place)
            return function(h)

        return run

    return [counting(place, function) for place, function in enumerate(functions)]


@pytest.mark.parametrize("layers", range(1, 11))
def test_each_function_runs_twice_but_those_of_the_last_segment(layers):
    functions, weights = a_stack(layers, 3, torch.tanh)
    for segments in range(1, layers + 1):
        calls = []
        x = a_tensor(5, 3)
        out = memory.checkpoint_sequential(counted(functions, calls), x, segments)
        assert calls == list(range(layers))
        out.sum().backward()
        groups = [group.tolist() for group in np.array_split(np.arange(layers), segments)]
        assert calls[layers:] == [place for group in reversed(groups[:-1]) for place in group]
        grads = [w.grad for w in weights]
        for w in weights:
            w.grad = None
        run_all(functions, x.detach()).sum().backward()
        assert all(map(torch.equal, grads, (w.grad for w in weights)))
        for w in weights:
            w.grad = None


@pytest.mark.parametrize(("layers", "segments"), [(6, 2), (6, 3), (8, 4), (9, 3)])
def test_segments_of_equal_length_run_as_pytorch_runs_them(layers, segments):
    functions, _ = a_stack(layers, 3, torch.tanh)
    seen = []
    for sequential in (
        memory.checkpoint_sequential,
        lambda f, x, s: torch_checkpoint.checkpoint_sequential(f, s, x, use_reentrant=False),
    ):
        calls = []
        x = a_tensor(5, 3)
        sequential(counted(functions, calls), x, segments).sum().backward()
        seen.append((calls, x.grad.tolist()))
    assert seen[0] == seen[1]


def test_after_the_forward_pass_segments_hold_their_inputs_and_the_last_one_all():
    functions, weights = a_stack(9, 16, gelu)
    x = a_tensor(64, 16)

    def saved(segments):
        fn = lambda x: memory.checkpoint_sequential(functions, x, segments)  # noqa: E731
        return memory.saved_bytes(fn, x, parameters=weights) / x.nbytes

    assert [saved(segments) for segments in (1, 3, 9)] == [
        18,
        2 + 6,
        8 + 2,
    ]  # two for each layer that is not recomputed


def held(layers, per_layer, segments):
    return segments + per_layer * math.ceil(layers / segments)


@pytest.mark.parametrize("per_layer", [1, 2, 3, 5, 17, 34, 1000])
def test_no_other_number_of_segments_is_better_and_no_smaller_one_as_good(per_layer):
    for layers in range(1, 300):
        best = memory.best_segments(layers, per_layer)
        assert all(held(layers, per_layer, best) < held(layers, per_layer, fewer) for fewer in range(1, best))
        assert all(held(layers, per_layer, best) <= held(layers, per_layer, more) for more in range(best, layers + 1))


def test_the_best_number_of_segments_grows_with_the_root_of_the_layers():
    for layers in range(1, 500):
        best = memory.best_segments(layers)
        assert math.isqrt(layers) / 2 <= best <= math.isqrt(layers) + 1
        assert held(layers, 1, best) == math.ceil(2 * math.sqrt(layers))  # of sqrt(L) segments of sqrt(L), rounded up
    assert [memory.best_segments(n * n) for n in range(1, 12)] == list(range(1, 12))


def peak(layers, segments):
    """Return the activations that a GELU MLP holds at most, with weights so small that they don't count."""
    functions, weights = a_stack(layers, 4, gelu)
    for w in weights:
        w.grad = torch.zeros_like(w)
    x = a_tensor(512, 4)
    with Alive(x, *weights) as alive:
        if segments:
            memory.checkpoint_sequential(functions, x, segments).sum().backward()
        else:
            run_all(functions, x).sum().backward()
    return 1 + round(alive.peak / x.nbytes)  # x is held too


@pytest.mark.parametrize("layers", [4, 8, 12])
def test_a_gelu_mlp_holds_as_many_activations_as_the_estimate_says(layers):
    peaks = {segments: peak(layers, segments) for segments in range(1, layers + 1)}
    assert peak(layers, None) == 2 * layers + 1  # two for each layer, and x
    assert all(peaks[s] <= held(layers, 2, s) for s in peaks)
    whole = [s for s in peaks if layers % s == 0]
    assert [peaks[s] for s in whole] == [held(layers, 2, s) for s in whole]
    assert peaks[layers] == layers + 2
    assert peaks[memory.best_segments(layers, 2)] == min(peaks[s] for s in whole)


# 5.4

GPT = {"GPT-3 175B": (96, 2048, 12_288, 80), "MT-NLG 530B": (128, 2048, 20_480, 64)}


@pytest.mark.parametrize("model", [pytest.param(name, id=f"Korthikanti et al. 2022, {name}") for name in GPT])
def test_the_published_formulas_hold_for_the_published_models(model):
    heads, sequence, hidden, ratio = GPT[model]
    for batch, layers in ((1, 1), (8, 96)):
        unit = sequence * batch * hidden * layers
        none, selective, full = (
            memory.activation_bytes(batch, sequence, hidden, heads, layers, recompute)
            for recompute in ("none", "selective", "full")
        )
        assert (none, selective, full) == (unit * (34 + ratio), unit * 34, unit * 2)
    assert round(1 - selective / none, 2) == {80: 0.70, 64: 0.65}[ratio]  # "saves 70% / 65%"


class Block(torch.nn.Module):
    """A transformer layer with everything spelt out: attention as a softmax, masks of one byte."""

    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(hidden), torch.nn.LayerNorm(hidden)
        self.qkv, self.out = torch.nn.Linear(hidden, 3 * hidden), torch.nn.Linear(hidden, hidden)
        self.up, self.down = torch.nn.Linear(hidden, 4 * hidden), torch.nn.Linear(4 * hidden, hidden)

    def core(self, q, k, v):
        weights = torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, -1)
        return self.drop(weights) @ v

    @staticmethod
    def drop(x):
        return torch.ops.aten.native_dropout(x, 0.1, True)[0]

    def forward(self, x, core):
        batch, sequence, hidden = x.shape
        heads = self.qkv(self.norm1(x)).view(batch, sequence, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = core(*heads.contiguous().unbind(0)).transpose(1, 2).reshape(batch, sequence, hidden)
        x = x + self.drop(self.out(mixed))
        return x + self.drop(self.down(gelu(self.up(self.norm2(x)))))


@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
def test_a_bf16_block_saves_what_the_formula_says(recompute):
    batch, sequence, hidden, heads = 2, 128, 256, 8
    block = Block(hidden, heads).bfloat16()
    x = a_tensor(batch, sequence, hidden, dtype=torch.bfloat16)
    core = (lambda *qkv: torch_checkpointed(block.core, *qkv)) if recompute == "selective" else block.core
    fn = (lambda x: torch_checkpointed(block, x, core)) if recompute == "full" else (lambda x: block(x, core))
    measured = memory.saved_bytes(fn, x, parameters=block.parameters())
    formula = memory.activation_bytes(batch, sequence, hidden, heads, 1, recompute)
    # Beside the formula only mean and deviation of two norms, in bf16 or float32, for each token.
    assert 0 <= measured - formula <= 2 * 2 * 4 * batch * sequence
    assert round(measured / (batch * sequence * hidden)) == {"none": 54, "selective": 34, "full": 2}[recompute]


# 5.5

OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "SGD with momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "AdaGrad": torch.optim.Adagrad,
    "RMSProp": torch.optim.RMSprop,
    "Adam": torch.optim.Adam,
    "AdamW": torch.optim.AdamW,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_pytorchs_optimizers_hold_as_many_bytes_as_the_recipe_says(optimizer, dtype):
    w = a_tensor(100, dtype=dtype)
    w.grad = torch.ones_like(w)
    stepper = OPTIMIZERS[optimizer]([w])
    stepper.step()
    state = [x for x in tree_leaves(stepper.state[w]) if isinstance(x, torch.Tensor) and x.dim() > 0]  # not the step
    recipe = memory.Recipe(dtype, dtype, None, optimizer, dtype)  # PyTorch keeps its state in the parameters' format
    assert memory.bytes_per_parameter(recipe) * 100 == w.nbytes + w.grad.nbytes + sum(x.nbytes for x in state)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param("fp32 AdamW", 16, id="CS336 2025 lecture 2: 4 + 4 + (4 + 4)"),
        pytest.param("bf16 AdamW, fp32 master", 16, id="CS336 2025 lecture 2: 2 + 2 + 4 + (4 + 4)"),
        pytest.param("bf16 AdamW, fp32 state", 12, id="CS336 2026 lecture: 2 + 2 + (4 + 4)"),
        pytest.param("fp32 AdaGrad", 12, id="CS336 2025 lecture 2: 4 + 4 + 4"),
        pytest.param("fp32 SGD", 8, id="parameters and gradients"),
        pytest.param("fp32 SGD with momentum", 12, id="parameters, gradients, momentum"),
    ],
)
def test_a_recipe_with_a_name_holds_its_published_bytes(name, size):
    assert memory.bytes_per_parameter(memory.RECIPES[name]) == size


@pytest.mark.parametrize(("billions", "each"), [(40.0, 16), (53.3, 12)])
def test_the_largest_model_of_the_lecture_fills_eight_devices_of_80_gb(billions, each):
    assert memory.training_gb(round(billions * 1e9), each) == pytest.approx(8 * 80, rel=1e-3)


# Errors and examples, documented and true

NOT_SO_MANY = ([torch.sin, torch.cos], torch.ones(3))
ILLEGAL = [
    ("checkpoint_sequential", (*NOT_SO_MANY, 3), 3),
    ("checkpoint_sequential", (*NOT_SO_MANY, 0), 0),
    ("checkpoint_sequential", (*NOT_SO_MANY, -1), -1),
    ("checkpoint_sequential", ([], torch.ones(3), 1), 1),
    ("best_segments", (0,), 0),
    ("best_segments", (-4, 2), -4),
    ("best_segments", (4, 0), 0),
    ("activation_bytes", (1, 2, 3, 4, 5, "some"), "some"),
    ("bytes_per_parameter", (memory.Recipe(torch.half, torch.half, None, "Lion", torch.half),), "Lion"),
]


def reference(symbol):
    found = memory
    for name in symbol.split("."):
        found = getattr(found, name)
    return found


@pytest.mark.parametrize(("symbol", "arguments", "culprit"), ILLEGAL)
def test_an_illegal_argument_is_named_in_the_error(symbol, arguments, culprit):
    for function in [reference(symbol), *(v.function for v in VARIANTS if v.replaces == symbol)]:
        with pytest.raises(ValueError) as caught:  # noqa: PT011  looked at below
            function(*arguments)
        assert repr(culprit) in str(caught.value)


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_a_function_raises_exactly_where_its_docstring_says_so(symbol):
    documented = "Raises:" in inspect.getdoc(reference(symbol))
    assert documented is any(symbol == illegal[0] for illegal in ILLEGAL)


@pytest.mark.parametrize("symbol", ["saved_bytes", "best_segments", "training_gb"])
def test_each_example_in_a_docstring_is_true(symbol):
    lines = [line for line in inspect.getdoc(reference(symbol)).splitlines() if line.startswith("Example: ")]
    assert lines
    for line in lines:
        call, _, answer = line.removeprefix("Example: ").partition(" -> ")
        assert repr(eval(call, vars(memory).copy())) == answer


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_no_answer_calls_another_exercise(symbol):
    source = ast.parse(textwrap.dedent(inspect.getsource(reference(symbol))))
    called = {node.func for node in ast.walk(source) if isinstance(node, ast.Call)}
    names = {f.id for f in called if isinstance(f, ast.Name)}
    assert not names & {*SYMBOLS, "checkpoint"}


# Variants

QUESTIONS = {
    "5.1": [("saved_bytes", checks.saving, 150)],
    "5.2a": [("gradients", checks.differentiated, 100)],
    "5.2b": [("cost", checks.costly, 30)],
    "5.2c": [("random_numbers", checks.drawing, 60)],
    "5.3a": [("checkpoint_sequential", checks.sequences, 60)],
    "5.3b": [("best_segments", checks.stacks, 100)],
    "5.4": [("activation_bytes", checks.transformers, 100)],
    "5.5": [("bytes_per_parameter", checks.recipes, 150), ("training_gb", checks.runs, 20)],
}


@contextmanager
def standing_in(variant):
    """Put a variant in the place of the reference."""
    *path, symbol = variant.replaces.split(".")
    owner = reference(".".join(path)) if path else memory
    before = vars(owner)[symbol]
    setattr(owner, symbol, variant.function)
    yield
    setattr(owner, symbol, before)


def observe(probe, case):
    try:
        return Returned(to_value(getattr(probes, probe)(memory, **case.args)))
    except Exception as error:  # noqa: BLE001  an observation like any other
        return Raised(type_name(type(error)), tuple(map(type_name, type(error).__mro__)), str(error))


@pytest.fixture(scope="module")
def observations():
    """What the reference and every variant answer to the cases of their check: number -> name -> observations."""
    seen = {}
    for number, questions in QUESTIONS.items():
        asked = [(probe, case) for probe, cases, count in questions for case in drawn(cases(), count)]
        seen[number] = {"reference": [(case, observe(probe, case)) for probe, case in asked]}
        for variant in (v for v in VARIANTS if v.number == number):
            with standing_in(variant):
                seen[number][variant.name] = [(case, observe(probe, case)) for probe, case in asked]
    return seen


def agreeing(one, other):
    return [compare(a, b, exact, case) is None for (case, a), (_, b) in zip(one, other, strict=True)]


by_name = pytest.mark.parametrize("variant", [pytest.param(variant, id=variant.name) for variant in VARIANTS])


@by_name
def test_a_variant_differs_from_the_reference_and_from_every_other_variant(variant, observations):
    others = dict(observations[variant.number])
    own = others.pop(variant.name)
    assert [name for name, seen in others.items() if all(agreeing(seen, own))] == []


# Nothing that they look at is right.
ALWAYS_WRONG = {
    *("graph_kept", "activations_kept_all_the_same", "first_run_recorded", "recomputed_twice", "sent_back_twice"),
    *("inputs_copied", "new_numbers_in_the_second_run", "state_kept_too_late", "seed_of_its_own"),
    "first_run_leaves_no_trace",
}


@by_name
def test_a_variant_has_only_its_one_misconception(variant, observations):
    seen = observations[variant.number]
    right = sum(agreeing(seen["reference"], seen[variant.name]))
    assert (right == 0) is (variant.name in ALWAYS_WRONG)


@by_name
def test_a_hint_asks(variant):
    assert variant.kind == "misconception"
    assert variant.text.endswith("?")
    assert variant.text.count("?") == 1


def test_no_two_hints_are_the_same():
    assert len({variant.text for variant in VARIANTS}) == len(VARIANTS)


def test_every_check_has_at_least_three_misconceptions():
    numbers = [variant.number for variant in VARIANTS]
    assert {number: numbers.count(number) >= 3 for number in QUESTIONS} == dict.fromkeys(QUESTIONS, True)
    assert set(numbers) == set(QUESTIONS)
