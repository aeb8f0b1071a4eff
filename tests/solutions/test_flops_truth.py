"""The reference of part 3 against PyTorch, closed forms and published rows, and its variants against the reference.

FlopCounterMode is a witness where it is right. Where it is silent or counts too much, a test says so by name, so that
nobody takes it for the truth; should a later PyTorch mend it, that test says so too.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import random
import statistics
import sys
import textwrap
import time
from dataclasses import dataclass
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop
from torch.utils.flop_counter import FlopCounterMode

from autograder import hardware
from autograder.checks import test_flops as checks
from autograder.drawing import draw
from autograder.probes import flops as probes
from tests.solutions.loading import SOLUTIONS, load_solutions

flops, VARIANTS = load_solutions("flops")
Config, FlopCounter, Step = flops.TransformerConfig, flops.FlopCounter, flops.Step

SYMBOLS = (
    "matmul_flops",
    "transformer_flops",
    "FlopCounter.__torch_dispatch__",
    "peak_flops",
    "mfu",
    "hfu",
    "arithmetic_intensity",
    "matmul_bytes",
    "roofline_seconds",
    "benchmark",
)
H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"


def ours(program):
    """Return a FlopCounter that has watched a program."""
    with FlopCounter() as counter:
        program()
    return counter


def theirs(program):
    """Return what PyTorch's own counter counts."""
    with FlopCounterMode(display=False) as counter:
        program()
    return counter.get_total_flops()


def tensor(*shape, grad=False):
    return torch.ones(*shape, requires_grad=grad)


# 3.1

sizes = st.integers(0, 4)


@settings(max_examples=500, deadline=None)
@given(st.lists(sizes, max_size=4), st.lists(sizes, max_size=4), st.booleans())
def test_matmul_flops_are_two_for_each_number_of_the_product_and_each_size_summed_over(a_shape, b_shape, fitting):
    if fitting and a_shape and b_shape:
        b_shape[-2:] = [a_shape[-1], *b_shape[-1:]] if len(b_shape) > 1 else [a_shape[-1]]
    a, b = torch.empty(a_shape, device="meta"), torch.empty(b_shape, device="meta")
    try:
        product = torch.matmul(a, b)
    except (RuntimeError, IndexError):
        with pytest.raises(ValueError, match=r"no product|broadcast") as caught:
            flops.matmul_flops(tuple(a_shape), tuple(b_shape))
        assert repr(tuple(a_shape)) in str(caught.value)
        assert repr(tuple(b_shape)) in str(caught.value)
    else:
        assert flops.matmul_flops(tuple(a_shape), tuple(b_shape)) == 2 * product.numel() * a_shape[-1]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=4), st.lists(st.booleans(), max_size=2), st.integers(1, 4))
def test_matmul_flops_are_those_that_flop_counter_mode_sees(a_shape, whole, columns):
    batch = [size if kept else 1 for size, kept in zip(a_shape[:-2], whole, strict=False)]
    b_shape = (*batch, a_shape[-1], columns) if len(batch) == len(a_shape) - 2 else (a_shape[-1], columns)
    a, b = torch.empty(a_shape, device="meta"), torch.empty(b_shape, device="meta")
    assert flops.matmul_flops(tuple(a_shape), b_shape) == theirs(lambda: torch.matmul(a, b))


def test_matmul_flops_of_shapes_that_no_memory_holds_are_exact():
    big = 10**9
    assert flops.matmul_flops((big, 1, big, big), (big, big, 7)) == 2 * 7 * big**4


@pytest.mark.parametrize(
    ("batch", "d", "k", "truth"),
    [
        pytest.param(16384, 32768, 8192, 2 * 16384 * 32768 * 8192, id="CS336 lecture 2: 2 B D K on a GPU"),
        pytest.param(1024, 256, 64, 33554432, id="CS336 lecture 2: 2 B D K on a CPU"),
    ],
)
def test_the_lectures_linear_layer(batch, d, k, truth):
    assert flops.matmul_flops((batch, d), (d, k)) == truth


# 3.2


class Block(nn.Module):
    """A transformer's layer as it is written, attention by hand."""

    def __init__(self, config):
        super().__init__()
        self.config, self.width = config, config.hidden // config.heads
        kv = self.width * config.kv_heads
        self.q = nn.Linear(config.hidden, config.hidden, bias=False)
        self.k, self.v = (nn.Linear(config.hidden, kv, bias=False) for _ in range(2))
        self.output = nn.Linear(config.hidden, config.hidden, bias=False)
        self.up, self.gate = (nn.Linear(config.hidden, config.feed_forward, bias=False) for _ in range(2))
        self.down = nn.Linear(config.feed_forward, config.hidden, bias=False)
        self.norms = nn.ModuleList(nn.LayerNorm(config.hidden) for _ in range(2))

    def forward(self, x):
        y = self.norms[0](x)
        q, k, v = (f(y).unflatten(-1, (-1, self.width)).transpose(1, 2) for f in (self.q, self.k, self.v))
        shared = self.config.heads // self.config.kv_heads
        k, v = (t.repeat_interleave(shared, dim=1) for t in (k, v))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(y.transpose(1, 2).flatten(-2))
        y = self.norms[1](x)
        y = functional.silu(self.gate(y)) * self.up(y) if self.config.gated else functional.gelu(self.up(y))
        return x + self.down(y)


class Transformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary, config.hidden)
        self.blocks = nn.Sequential(*(Block(config) for _ in range(config.layers)))
        self.head = nn.Linear(config.hidden, config.vocabulary, bias=False)

    def forward(self, tokens):
        return self.head(self.blocks(self.embedding(tokens)))


CONFIGS = [
    Config(layers, heads * width, heads, kv_heads, feed_forward, 31, gated)
    for layers, (heads, kv_heads), width, feed_forward, gated in itertools.product(
        (1, 3), ((4, 4), (6, 2), (3, 1)), (2, 5), (7, 40), (False, True)
    )
]


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_transformer_flops_are_those_of_a_real_stack_of_blocks(config):
    with torch.device("meta"):
        model, tokens = Transformer(config), torch.zeros(3, 11, dtype=torch.int64)
    with sdpa_kernel(SDPBackend.MATH):
        assert flops.transformer_flops(config, 3, 11) == theirs(lambda: model(tokens))


@pytest.mark.parametrize("config", CONFIGS[:4], ids=str)
def test_the_reference_counts_a_stack_with_fused_attention_as_its_formula_does(config):
    model, tokens = Transformer(config), torch.zeros(3, 11, dtype=torch.int64)
    assert ours(lambda: model(tokens)).total == flops.transformer_flops(config, 3, 11)


GPT2 = Config(12, 768, 12, 12, 3072, 50257, False)


def test_nanogpt_transformer_sizing_forward_and_training_flops_of_gpt2_124m():
    forward = flops.transformer_flops(GPT2, 1, 1024)
    assert forward == 291648307200
    assert 3 * forward == 874944921600


def test_nanogpt_palm_formula_is_within_a_ten_thousandth_of_the_sum_of_all_products():
    parameters = 124337664 - 1024 * 768  # without the positions
    palm = (6 * parameters + 12 * 12 * 768 * 1024) * 1024
    assert palm == 875062886400
    assert palm / (3 * flops.transformer_flops(GPT2, 1, 1024)) == pytest.approx(1.0001, abs=5e-5)


def megatron(layers, hidden, heads):
    return Config(layers, hidden, heads, heads, 4 * hidden, 51200, False)


@pytest.mark.parametrize(("layers", "hidden"), [(24, 2304), (40, 6144), (96, 12288), (128, 25600)])
def test_narayanan_2021_closed_form_with_recomputation_of_all_but_the_head(layers, hidden):
    batch, s, v = 512, 2048, 51200
    published = 96 * batch * s * layers * hidden**2 * (1 + s / (6 * hidden) + v / (16 * layers * hidden))
    head = 2 * batch * s * hidden * v
    forward = flops.transformer_flops(megatron(layers, hidden, 1), batch, s)
    assert 4 * (forward - head) + 3 * head == pytest.approx(published, rel=1e-12)


@pytest.mark.parametrize(("layers", "hidden"), [(48, 6144), (96, 12288), (105, 20480), (128, 25600)])
def test_korthikanti_2022_closed_form_of_the_models_flops(layers, hidden):
    batch, s, v = 64, 2048, 51200
    published = 72 * batch * layers * s * hidden**2 * (1 + s / (6 * hidden) + v / (12 * hidden * layers))
    forward = flops.transformer_flops(megatron(layers, hidden, 1), batch, s)
    assert 3 * forward == pytest.approx(published, rel=1e-12)


@pytest.mark.parametrize(
    ("layers", "hidden", "published"),
    [
        pytest.param(12, 768, 2.25e20, id="GPT-3 table D.1, Small"),
        pytest.param(24, 1024, 6.41e20, id="GPT-3 table D.1, Medium"),
        pytest.param(24, 1536, 1.37e21, id="GPT-3 table D.1, Large"),
        pytest.param(32, 2560, 4.77e21, id="GPT-3 table D.1, 2.7B"),
        pytest.param(32, 4096, 1.20e22, id="GPT-3 table D.1, 6.7B"),
        pytest.param(96, 12288, 3.14e23, id="GPT-3 table D.1, 175B"),
    ],
)
def test_what_six_flops_for_each_parameter_and_token_leaves_out_is_the_attention(layers, hidden, published):
    config = Config(layers, hidden, 1, 1, 4 * hidden, 50257, False)
    attention = 4 * layers * 2048**2 * hidden
    of_weights = 3 * (flops.transformer_flops(config, 1, 2048) - attention)
    assert of_weights / 2048 * 300e9 == pytest.approx(published, rel=0.015)  # biases, positions and three digits


# 3.3


class _Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.mm(x, x)

    @staticmethod
    def backward(ctx, grad):
        return torch.mm(grad, grad) + torch.mm(grad, grad)


def variety():
    layer = nn.Linear(9, 10)
    torch.mm(tensor(4, 5), tensor(5, 6))
    torch.addmm(tensor(4, 6), tensor(4, 5), tensor(5, 6), beta=0.5, alpha=0.5)
    torch.matmul(tensor(5, 6), tensor(6, 7))
    torch.einsum("ab,bc->ac", tensor(6, 7), tensor(7, 8))
    layer(tensor(8, 9))


def three_addmms():
    for bias in ((4, 6), (4, 1), (6,)):
        torch.addmm(tensor(*bias), tensor(4, 5), tensor(5, 6))


def backward_through_expand():
    x = torch.mm(tensor(4, 5, grad=True), tensor(5, 6)).unsqueeze(0).expand(7, 4, 6)
    torch.bmm(x, tensor(7, 6, 7)).sum().backward()


def transposed_in_a_loop():
    model, x = nn.ConvTranspose2d(4, 8, (2, 2), stride=2), tensor(1, 4, 30, 2)
    for _ in range(50):
        model(x).sum().backward()


def two_squares():
    x = tensor(10, 10, grad=True).clone()
    for _ in range(2):
        x = torch.mm(x.relu(), x.relu())
    x.sum().backward()


def weight_used_twice():
    w = tensor(8, 8, grad=True)
    ((tensor(4, 8) @ w) @ w).sum().backward()


def double_backward():
    x, w = tensor(4, 8, grad=True), tensor(8, 8, grad=True)
    (grad,) = torch.autograd.grad((x @ w).pow(2).sum(), x, create_graph=True)
    grad.sum().backward()


UPSTREAM = [
    pytest.param(variety, 3012, id="test_flop_counter_variety"),
    pytest.param(lambda: torch.mm(tensor(4, 5), tensor(5, 6)), 240, id="test_op mm"),
    pytest.param(lambda: torch.bmm(tensor(3, 4, 5), tensor(3, 5, 6)), 720, id="test_op bmm"),
    pytest.param(three_addmms, 720, id="test_op addmm"),
    pytest.param(lambda: torch.baddbmm(tensor(3, 4, 6), tensor(3, 4, 5), tensor(3, 5, 6)), 720, id="test_op baddbmm"),
    pytest.param(
        lambda: functional.conv2d(tensor(2, 3, 6, 6), tensor(6, 3, 4, 4), padding=1), 28800, id="test_op conv2d"
    ),
    pytest.param(lambda: functional.conv1d(tensor(2, 3, 6), tensor(6, 3, 4), padding=1), 1440, id="test_op conv1d"),
    pytest.param(backward_through_expand, 5184, id="test_backward"),
    pytest.param(lambda: _Squared.apply(tensor(5, 5, grad=True)).sum().backward(), 750, id="test_autograd_op"),
    pytest.param(
        lambda: functional.conv_transpose2d(tensor(1, 1, 2, 2), tensor(1, 1, 2, 2)), 32, id="test_convs transposed"
    ),
    pytest.param(lambda: functional.conv2d(tensor(1, 1, 2, 2), tensor(1, 1, 1, 1)), 8, id="test_convs 1x1"),
    pytest.param(transposed_in_a_loop, 1536000, id="test_conv_transpose_loop"),
    pytest.param(lambda: tensor(4, 5).cos(), 0, id="test_noop"),
    pytest.param(lambda: torch.mm(tensor(10, 10), tensor(10, 10), out=torch.empty(10, 10)), 2000, id="test_addmm_out"),
    pytest.param(two_squares, 12000, id="test_pytrees"),
    pytest.param(weight_used_twice, 2560, id="a shared weight"),
    pytest.param(double_backward, 3072, id="a gradient of a gradient"),
]


@pytest.mark.parametrize(("program", "count"), UPSTREAM)
def test_the_counter_agrees_with_pytorchs_own_tests_of_its_counter(program, count):
    assert ours(program).total == theirs(program) == count


def test_upstream_test_backward_reset_each_counter_begins_at_nothing():
    x, w = tensor(4, 5, grad=True), tensor(5, 8, grad=True)
    assert [ours(lambda: (x @ w).sum().backward()).total for _ in range(2)] == [960, 960]


CHANNELS = [(1, 1), (1, 3), (3, 1), (3, 7), (2, 4), (4, 2)]


@pytest.mark.parametrize("convolve", [functional.conv2d, functional.conv_transpose2d])
@pytest.mark.parametrize(("i", "o"), CHANNELS)
def test_upstream_test_convs_backward_counts_twice_the_forward_pass(convolve, i, o):
    x = tensor(1, i, 4, 4, grad=True)
    weight = tensor(*((o, i) if convolve is functional.conv2d else (i, o)), 2, 2, grad=True)

    def program():
        convolve(x, weight).sum().backward()

    counter = ours(program)
    assert counter.by_op["convolution_backward"] == 2 * counter.by_op["convolution"]
    assert counter.total == theirs(program)


def by_loops(x, weight, stride, padding, dilation, groups, transposed):
    """Return the multiply-adds of a one-dimensional convolution, one by one; those that padding cuts off too."""
    batch, _, length = x
    filters, channels, size = weight
    if transposed:
        return batch * filters * channels * size * length
    places = range(-padding, length + padding - dilation * (size - 1), stride)
    return sum(1 for _ in itertools.product(range(batch), range(filters), range(channels), range(size), places))


@pytest.mark.parametrize("seed", range(40))
def test_a_convolution_and_each_gradient_of_it_count_its_multiply_adds_once(seed):
    rng = random.Random(seed)
    groups, i, o, size = rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 3)
    stride, padding, dilation, transposed = rng.randint(1, 3), rng.randint(0, 1), rng.randint(1, 2), seed % 2 == 0
    x_grad, weight_grad, biased = seed % 3 != 0, seed % 3 != 1, rng.random() < 0.5
    x = tensor(rng.randint(1, 3), groups * i, rng.randint(6, 9), grad=x_grad)
    weight = tensor(*((groups * i, o) if transposed else (groups * o, i)), size, grad=weight_grad)
    bias = tensor(groups * o, grad=True) if biased else None
    convolve = functional.conv_transpose1d if transposed else functional.conv1d
    counter = ours(
        lambda: (
            convolve(x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups).sum().backward()
        )
    )
    once = 2 * by_loops(x.shape, weight.shape, stride, padding, dilation, groups, transposed)
    assert counter.by_op == {"convolution": once, "convolution_backward": (x_grad + weight_grad) * once}


@pytest.mark.parametrize(("groups", "times"), [(1, 2), (2, 3), (6, 7)])
def test_flop_counter_mode_counts_too_much_in_the_backward_pass_of_groups(groups, times):
    x, weight = tensor(2, 6, 9, grad=True), tensor(6, 6 // groups, 3, grad=True)

    def forward():
        return functional.conv1d(x, weight, groups=groups)

    def both():
        forward().sum().backward()

    assert theirs(both) == (1 + times) * theirs(forward)
    assert ours(both).total == 3 * ours(forward).total == 3 * theirs(forward)


def qkv(b=4, h=8, s=128, t=128, d=64, e=64, **options):
    return [torch.empty(b, h, size, width, requires_grad=True, **options) for size, width in ((s, d), (t, d), (t, e))]


FLASH = torch.ops.aten._scaled_dot_product_flash_attention
EFFICIENT = torch.ops.aten._scaled_dot_product_efficient_attention
CUDNN = torch.ops.aten._scaled_dot_product_cudnn_attention
ON_A_GPU = [
    pytest.param(lambda q, k, v: FLASH(q, k, v)[0], id="flash"),
    pytest.param(lambda q, k, v: EFFICIENT(q, k, v, None, True)[0], id="efficient"),
    pytest.param(lambda q, k, v: CUDNN(q, k, v, None, True)[0], id="cudnn"),
]


@pytest.mark.parametrize("attend", ON_A_GPU)
@pytest.mark.parametrize(
    ("t", "forward", "both"),
    [
        pytest.param(128, 134217728, 134217728 * 7 // 2, id="upstream test_sdpa"),
        pytest.param(256, 268435456, 939524096, id="upstream test_sdpa, keys and values longer"),
    ],
)
def test_attention_of_gpus_counts_two_products_forward_and_five_backward(attend, t, forward, both):
    q, k, v = qkv(t=t, device="meta", dtype=torch.float16)
    assert ours(lambda: attend(q, k, v)).total == theirs(lambda: attend(q, k, v)) == forward
    counter = ours(lambda: attend(q, k, v).sum().backward())
    assert counter.total == theirs(lambda: attend(q, k, v).sum().backward()) == both


def test_attention_with_values_wider_than_keys_counts_as_flop_counter_mode_does():
    q, k, v = qkv(2, 3, 5, 7, 8, 16, device="meta", dtype=torch.float16)

    def program():
        EFFICIENT(q, k, v, None, True)[0].sum().backward()

    assert ours(program).total == theirs(program)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_cpus_counts_as_that_of_gpus_and_as_its_products_do(causal):
    q, k, v = qkv(2, 3, 5, 5, 4, 4)

    def program():
        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    once = 2 * 2 * 3 * 5 * 5 * 4
    with sdpa_kernel(SDPBackend.MATH):
        assert ours(program).by_op == {"bmm": 2 * once}
        assert ours(lambda: program().sum().backward()).total == 6 * once  # the scores are kept
    counter = ours(lambda: program().sum().backward())
    name = "_scaled_dot_product_flash_attention_for_cpu"
    assert counter.by_op == {name: 2 * once, f"{name}_backward": 5 * once}


# What PyTorch's counter passes over in silence, and what ours makes of it.
SILENT_ZEROS = [
    pytest.param(lambda: torch.mv(tensor(3, 4), tensor(4)), 24, set(), id="mv"),
    pytest.param(lambda: torch.dot(tensor(4), tensor(4)), 8, set(), id="dot"),
    pytest.param(lambda: tensor(3, 4) @ tensor(4), 24, set(), id="a matrix @ a vector"),
    pytest.param(lambda: tensor(5, 3, 4) @ tensor(4), 120, set(), id="a batch @ a vector"),
    pytest.param(
        lambda: functional.scaled_dot_product_attention(*qkv(1, 2, 3, 3, 4, 4)),
        288,
        set(),
        id="attention on CPUs, pytorch#195460",
    ),
    pytest.param(lambda: torch.addmv(tensor(3), tensor(3, 4), tensor(4)), 0, {"addmv"}, id="addmv"),
    pytest.param(lambda: torch.addbmm(tensor(3, 5), tensor(2, 3, 4), tensor(2, 4, 5)), 0, {"addbmm"}, id="addbmm"),
    pytest.param(
        lambda: functional.bilinear(tensor(2, 3), tensor(2, 4), tensor(5, 3, 4)),
        0,
        {"_trilinear"},
        id="a bilinear layer",
    ),
    pytest.param(lambda: torch.cdist(tensor(3, 4), tensor(5, 4)), 0, {"_cdist_forward"}, id="cdist"),
    pytest.param(lambda: torch.cdist(tensor(30, 4), tensor(50, 4)), 0, {"_euclidean_dist"}, id="cdist of many"),
    pytest.param(lambda: torch.linalg.solve(torch.eye(3), tensor(3, 2)), 0, {"_linalg_solve_ex"}, id="linalg.solve"),
    pytest.param(lambda: nn.LSTM(3, 4)(tensor(5, 2, 3)), 0, {"mkldnn_rnn_layer"}, id="LSTM"),
]


@pytest.mark.parametrize(("program", "counted", "uncounted"), SILENT_ZEROS)
def test_what_flop_counter_mode_passes_over_in_silence_is_counted_or_listed(program, counted, uncounted):
    if theirs(program):
        pytest.skip("this PyTorch counts it")
    counter = ours(program)
    assert counter.total == counted
    if uncounted == {"mkldnn_rnn_layer"} and counter.total == 0 and not uncounted & counter.uncounted:
        pytest.skip("this machine runs an LSTM without oneDNN")
    assert uncounted <= counter.uncounted


def mlp(layers=8, width=16):
    return nn.Sequential(*(layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.GELU())))


@pytest.mark.parametrize("input_grad", [False, True])
def test_a_training_step_counts_three_times_the_forward_pass_less_the_first_gradient(input_grad):
    model, x = mlp(), tensor(6, 16, grad=input_grad)
    once = 2 * 6 * 16 * 16
    counter = ours(lambda: model(x).sum().backward())
    assert counter.total == (24 if input_grad else 23) * once == theirs(lambda: model(x).sum().backward())


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_each_layer_counts_four_thirds(reentrant):
    model, x = mlp(), tensor(6, 16, grad=True)

    def program():
        y = x
        for place in range(0, 16, 2):
            y = checkpoint(model[place : place + 2], y, use_reentrant=reentrant)
        y.sum().backward()

    ours(program)  # the first call may import what it needs, under the counter
    assert ours(program).total * 3 == ours(lambda: model(x).sum().backward()).total * 4


def test_checkpointing_that_stops_early_counts_less_unless_it_is_told_not_to():
    layers, x = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 16)), tensor(6, 16, grad=True)

    def program():
        checkpoint(layers, x, use_reentrant=False).sum().backward()

    once = 2 * 6 * 16 * 16
    ours(program)
    assert ours(program).total == 7 * once  # the last product is not needed again
    with set_checkpoint_early_stop(False):
        assert ours(program).total == 8 * once


def test_the_counter_returns_what_the_operators_return():
    torch.manual_seed(0)
    model, x = mlp(), torch.randn(6, 16, requires_grad=True)
    expected = model(x)
    expected.sum().backward()
    gradient, x.grad = x.grad, None
    with FlopCounter():
        got = model(x)
        got.sum().backward()
    assert torch.equal(got, expected)
    assert torch.equal(x.grad, gradient)


# 3.4

DTYPES = tuple(hardware.COLUMNS)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("device", hardware.DEVICES, ids=lambda device: device.name)
def test_the_sheet_says_of_each_device_what_the_graders_own_table_says(device, dtype):
    try:
        expected = hardware.peak_flop_per_s(device.name, dtype)
    except hardware.HardwareError:
        with pytest.raises(ValueError, match="does not multiply"):
            flops.peak_flops(device.name, dtype)
    else:
        assert flops.peak_flops(device.name, dtype) == pytest.approx(expected, rel=0.005)  # sheets round to 3 digits


def test_the_sheet_and_the_graders_table_know_the_same_devices():
    assert sorted(name for row in flops.SHEET for name in row.names) == sorted(d.name for d in hardware.DEVICES)
    assert set(checks.DEVICES) == {d.name for d in hardware.DEVICES}
    assert set(checks.OLD_DEVICES) < set(checks.DEVICES)
    assert not set(checks.STRANGERS) & set(checks.DEVICES)


@pytest.mark.parametrize(
    ("name", "dtype", "published"),
    [
        pytest.param(A100, "bfloat16", 312e12, id="CS336 lecture 2: A100"),
        pytest.param(H100, "bfloat16", 1979e12 / 2, id="CS336 lecture 2: H100, half of 1979"),
        pytest.param(A100, "float32", 19.5e12, id="CS336 lecture 2: A100 fp32"),
        pytest.param("NVIDIA B200", "bfloat16", 2.25e15, id="CS336 lecture 2 of 2026: B200"),
        pytest.param("NVIDIA H100 PCIe", "bfloat16", 756e12, id="llm.c mfu.h HOPPER"),
        pytest.param("NVIDIA GeForce RTX 4090", "bfloat16", 165.2e12, id="llm.c mfu.h ADA"),
        pytest.param("NVIDIA GeForce RTX 4090", "float8_e4m3fn", 330.3e12, id="llm.c mfu.h ADA fp8"),
        pytest.param("NVIDIA GH200 480GB", "tf32", 494.5e12, id="stas00 accelerator README"),
    ],
)
def test_a_published_peak_is_promised(name, dtype, published):
    assert flops.peak_flops(name, dtype) == pytest.approx(published, rel=0.002)


# 3.5

MPT = "llm-foundry scripts/train/benchmarking/README.md"


@pytest.mark.parametrize(
    ("device", "parameters", "layers", "hidden", "sequence", "tokens_per_s", "published"),
    [
        pytest.param(H100, 6658859008, 32, 4096, 2048, 10643, 46.44, id=f"{MPT} H100 7b"),
        pytest.param(H100, 1315950592, 24, 2048, 2048, 45455, 41.82, id=f"{MPT} H100 1b"),
        pytest.param(H100, 2647905280, 32, 2560, 512, 27965, 46.32, id=f"{MPT} H100 3b, sequences of 512"),
        pytest.param(H100, 6918905856, 32, 4096, 65536, 1956, 28.59, id=f"{MPT} H100 7b, sequences of 65536"),
        pytest.param(A100, 125311488, 12, 768, 2048, 142830, 44.79, id=f"{MPT} A100 125m"),
        pytest.param(A100, 12853954560, 40, 5120, 2048, 2262, 59.57, id=f"{MPT} A100 13b"),
    ],
)
def test_mfu_of_mpt(device, parameters, layers, hidden, sequence, tokens_per_s, published):
    work = (6 * parameters + 12 * layers * hidden * sequence) * tokens_per_s
    step = Step(work, 0, 1.0)
    assert 100 * flops.mfu(step, flops.peak_flops(device, "bfloat16")) == pytest.approx(published, abs=0.01)


@pytest.mark.parametrize(
    ("mfu_percent", "hfu_percent"),
    [
        pytest.param(28.6, 38.1, id=f"{MPT} H100 7b, sequences of 65536"),
        pytest.param(41.3, 55.0, id=f"{MPT} H100 70b"),
    ],
)
def test_hfu_of_mpt_is_four_thirds_where_all_is_recomputed(mfu_percent, hfu_percent):
    step = Step(3 * 10**15, 10**15, 1.0)
    peak = 3e15 / (mfu_percent / 100)
    assert 100 * flops.mfu(step, peak) == pytest.approx(mfu_percent)
    assert 100 * flops.hfu(step, peak) == pytest.approx(hfu_percent, abs=0.1)  # both are printed to 0.1


@pytest.mark.parametrize(
    ("parameters", "attention", "tokens_per_s", "devices", "peak", "published"),
    [
        pytest.param(540.35e9, 12 * 118 * 48 * 256 * 2048, 238.3e3, 6144, 275e12, 46.2, id="PaLM"),
        pytest.param(540.35e9, 0, 238.3e3, 6144, 275e12, 45.7, id="PaLM without attention"),
        pytest.param(530e9, 12 * 105 * 128 * 160 * 2048, 65.43e3, 2240, 312e12, 30.2, id="MT-NLG"),
        pytest.param(530e9, 0, 65.43e3, 2240, 312e12, 29.7, id="MT-NLG without attention"),
        pytest.param(280e9, 12 * 80 * 128 * 128 * 2048, 0.0152 * 3072 * 2048, 4096, 123e12, 32.5, id="Gopher"),
    ],
)
def test_mfu_of_palm_table_3_and_appendix_b(parameters, attention, tokens_per_s, devices, peak, published):
    step = Step((6 * parameters + attention) * tokens_per_s, 0, 1.0, devices)
    assert 100 * flops.mfu(step, peak) == pytest.approx(published, abs=0.08)  # some digits are cut off, not rounded


@pytest.mark.parametrize(
    ("layers", "hidden", "heads", "devices", "batch", "seconds", "mfu_percent", "hfu_percent"),
    [
        pytest.param(48, 6144, 64, 8, 4, 1.10, 41.5, 43.7, id="Korthikanti 2022, 22B"),
        pytest.param(96, 12288, 96, 64, 64, 13.75, 51.4, 52.8, id="Korthikanti 2022, 175B"),
        pytest.param(105, 20480, 128, 280, 280, 37.83, 56.0, 57.0, id="Korthikanti 2022, 530B"),
        pytest.param(128, 25600, 160, 512, 512, 71.49, 56.3, 57.0, id="Korthikanti 2022, 1T"),
    ],
)
def test_mfu_and_hfu_of_megatron_with_selective_recomputation(
    layers, hidden, heads, devices, batch, seconds, mfu_percent, hfu_percent
):
    config = megatron(layers, hidden, heads)
    # As the paper's equation has it: all of attention twice, where recomputing needs its forward pass only (4 for 12).
    scores_again = 12 * layers * batch * 2048**2 * hidden
    step = Step(3 * flops.transformer_flops(config, batch, 2048), scores_again, seconds, devices)
    peak = flops.peak_flops(A100, "bfloat16")
    assert 100 * flops.mfu(step, peak) == pytest.approx(mfu_percent, abs=0.2)  # FACTS: seconds have three digits
    assert 100 * flops.hfu(step, peak) == pytest.approx(hfu_percent, abs=0.2)


@pytest.mark.parametrize(
    ("hidden", "heads", "layers", "devices", "batch", "petaflop_per_s", "percent"),
    [
        pytest.param(*row, id=f"Narayanan 2021 table 1, {name}")
        for name, *row in (
            ("1.7B", 2304, 24, 24, 32, 512, 4.4, 44),
            ("3.6B", 3072, 32, 30, 64, 512, 8.8, 44),
            ("7.5B", 4096, 32, 36, 128, 512, 18.2, 46),
            ("18.4B", 6144, 48, 40, 256, 1024, 34.6, 43),
            ("39.1B", 8192, 64, 48, 512, 1536, 70.8, 44),
            ("76.1B", 10240, 80, 60, 1024, 1792, 143.8, 45),
            ("145.6B", 12288, 96, 80, 1536, 2304, 227.1, 47),
            ("310.1B", 16384, 128, 96, 1920, 2160, 297.4, 50),
            ("529.6B", 20480, 128, 105, 2520, 2520, 410.2, 52),
            ("1008.0B", 25600, 160, 128, 3072, 3072, 502.0, 52),
        )
    ],
)
def test_hfu_of_megatron_with_full_recomputation(hidden, heads, layers, devices, batch, petaflop_per_s, percent):
    forward = flops.transformer_flops(megatron(layers, hidden, heads), batch, 2048)
    again = forward - 2 * batch * 2048 * hidden * 51200  # all but the head
    step = Step(3 * forward, again, (3 * forward + again) / (petaflop_per_s * 1e15), devices)
    peak = flops.peak_flops(A100, "bfloat16")
    assert 100 * flops.hfu(step, peak) == pytest.approx(percent, abs=0.65)  # two digits, of three for the rate
    assert 0.74 < flops.mfu(step, peak) / flops.hfu(step, peak) < 0.78  # what the paper prints is no MFU


def test_nanogpt_mfu_of_gpt2_124m_on_an_a100():
    step = Step(3 * flops.transformer_flops(GPT2, 20 * 5, 1024), 0, 0.755)  # 20 sequences, accumulated 5 times
    assert 100 * flops.mfu(step, flops.peak_flops(A100, "bfloat16")) == pytest.approx(37.14, abs=0.01)


def test_utilization_above_one_is_returned():
    assert flops.mfu(Step(3 * 10**12, 0, 1.0), 1e12) == 3.0
    assert flops.hfu(Step(3 * 10**12, 10**12, 1.0), 1e12) == 4.0


# 3.6


@pytest.mark.parametrize(
    ("work", "moved", "published"),
    [
        pytest.param(2 * 1024**3, flops.matmul_bytes(1024, 1024, 1024, "bfloat16"), 1024 / 3, id="a matmul, n / 3"),
        pytest.param(2 * 4096**2, flops.matmul_bytes(1, 4096, 4096, "bfloat16"), 1.0, id="a matrix and a vector"),
        pytest.param(2 * 4096, flops.matmul_bytes(1, 4096, 1, "bfloat16"), 0.5, id="a dot product"),
        pytest.param(4096, 2 * 2 * 4096, 0.25, id="ReLU"),
        pytest.param(20 * 4096, 2 * 2 * 4096, 5.0, id="GELU"),
    ],
)
def test_arithmetic_intensities_of_cs336_lecture_2_of_2026(work, moved, published):
    assert flops.arithmetic_intensity(work, moved) == pytest.approx(published, rel=1e-3)


def test_the_ridge_of_an_h100_is_at_295_flops_per_byte_and_a_matmul_of_1024_is_above_it():
    peak, bandwidth = flops.peak_flops(H100, "bfloat16"), hardware.find_device(H100).bandwidth_byte_per_s
    assert flops.arithmetic_intensity(peak, bandwidth) == pytest.approx(295.4, abs=0.05)
    for n, binds in ((512, "memory"), (886, "memory"), (887, "compute"), (1024, "compute")):
        moved = flops.matmul_bytes(n, n, n, "bfloat16")
        assert flops.roofline_seconds(2 * n**3, moved, peak, bandwidth)[1] == binds


@pytest.mark.parametrize("dtype", DTYPES)
def test_matmul_bytes_are_those_of_the_three_tensors(dtype):
    stored = torch.float32 if dtype == "tf32" else getattr(torch, dtype)
    matrices = [torch.zeros(shape, dtype=stored) for shape in ((3, 5), (5, 7), (3, 7))]
    assert flops.matmul_bytes(3, 5, 7, dtype) == sum(x.untyped_storage().nbytes() for x in matrices)


@given(*(st.integers(1, 2**40) for _ in range(4)))
def test_roofline_is_the_attainable_rate_min_of_peak_and_intensity_times_bandwidth(work, moved, peak, bandwidth):
    seconds, _ = flops.roofline_seconds(work, moved, float(peak), float(bandwidth))
    attainable = min(peak, flops.arithmetic_intensity(work, moved) * bandwidth)
    assert work / seconds == pytest.approx(attainable, rel=1e-12)


# 3.7


@pytest.mark.parametrize("seed", range(50))
def test_benchmark_is_the_median_of_what_the_device_takes(seed):
    rng = random.Random(seed)
    warmup, repeats = rng.randint(0, 4), rng.randint(1, 9)
    durations = [rng.randint(1, 400) / 8 for _ in range(warmup + repeats)]
    seen = probes.benchmark(flops, durations, rng.choice((0.0, 9.5)), warmup, repeats)
    truth = statistics.median(duration + probes.Device.LAUNCH_S for duration in durations[warmup:])
    assert seen == {"seconds": truth, "calls of fn": warmup + repeats, "clock read too early": 0}


def test_benchmark_times_real_work_with_a_real_clock():
    seconds = flops.benchmark(lambda: time.sleep(0.02), 1, 3, time.perf_counter, lambda: None)
    assert 0.02 <= seconds < 2.0


# The checks' code is what the probes run


def as_seen(probe, shown):
    """Return what a case's code shows in the form that its probe has for it."""
    records = {"counted": ("by_op", "total"), "benchmark": ("calls of fn", "clock read too early", "seconds")}
    if probe == "uncounted":
        return sorted(shown & set(probes.LOOKED_FOR))
    return dict(zip(records[probe], shown, strict=True)) if probe in records else shown


QUESTIONS = {
    "matmul_flops": [checks.shapes()],
    "transformer_flops": [checks.forward_passes()],
    "counted": [
        checks.programs(checks.MATMULS, "counter.by_op, counter.total"),
        checks.programs(checks.CONVOLUTIONS_AND_ATTENTION, "counter.by_op, counter.total"),
    ],
    "uncounted": [checks.programs(checks.OTHER_PRODUCTS, "counter.uncounted")],
    "peak_flops": [checks.promises()],
    "mfu": [checks.steps("mfu")],
    "hfu": [checks.steps("hfu")],
    "arithmetic_intensity": [checks.amounts()],
    "matmul_bytes": [checks.operands()],
    "roofline_seconds": [checks.kernels()],
    "benchmark": [checks.timings()],
}


@dataclass(frozen=True)
class Refused:
    message: str


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except ValueError as error:
        return Refused(str(error))


def typed_in(code):
    """Return what a student sees who types the code of a case at Python's prompt."""
    *lines, last = ast.parse(code).body
    names = {}
    exec(compile(ast.Module(lines, []), "prompt", "exec"), names)
    return eval(compile(ast.Expression(last.value), "prompt", "eval"), names)


@pytest.mark.parametrize("probe", QUESTIONS)
def test_the_code_of_a_case_does_what_its_probe_does(probe, monkeypatch):
    monkeypatch.setitem(sys.modules, "napkin", sys.modules[__name__])
    monkeypatch.setitem(sys.modules, "napkin.flops", flops)
    cases = {}
    for strategy in QUESTIONS[probe]:
        draw(strategy, 60, 1, lambda case: cases.setdefault(case.code, case))
    for case in cases.values():
        seen = outcome(getattr(probes, probe), flops, *case.args.values())
        shown = outcome(typed_in, case.code)
        assert seen == (shown if isinstance(shown, Refused) else as_seen(probe, shown)), case.code


def test_every_program_is_asked_for():
    asked = checks.MATMULS + checks.CONVOLUTIONS_AND_ATTENTION + checks.OTHER_PRODUCTS
    assert sorted(asked) == sorted(probes.PROGRAMS)


# Errors, documented and raised

STEP = Step(6, 2, 4.0, 5)
ILLEGAL = [
    ("matmul_flops", ((2, 3), (4, 5)), (4, 5)),
    ("matmul_flops", ((3,), (4,)), (4,)),
    ("matmul_flops", ((), (4, 5)), (4, 5)),
    ("matmul_flops", ((2, 3), ()), (2, 3)),
    ("matmul_flops", ((2, 4, 5), (3, 5, 6)), (3, 5, 6)),
    ("matmul_flops", ((0, 4, 5), (3, 5, 6)), (0, 4, 5)),
    ("peak_flops", ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "bfloat16"), "NVIDIA H100 80GB HBM3 MIG 1g.10gb"),
    ("peak_flops", ("NVIDIA L40", "bfloat16"), "NVIDIA L40"),
    ("peak_flops", ("", "float32"), ""),
    ("peak_flops", ("Tesla T4", "bfloat16"), "bfloat16"),
    ("peak_flops", (A100, "float8_e4m3fn"), "float8_e4m3fn"),
    ("peak_flops", (A100, "product"), "product"),
    *((function, (Step(6, 2, 0.0, 5), 1e12), 0.0) for function in ("mfu", "hfu")),
    *((function, (Step(6, 2, 4.0, 0), 1e12), 0) for function in ("mfu", "hfu")),
    *((function, (Step(6, 2, 4.0, 5), -1.5), -1.5) for function in ("mfu", "hfu")),
    ("arithmetic_intensity", (60, 0), 0),
    ("arithmetic_intensity", (60, -3), -3),
    ("matmul_bytes", (2, 3, 5, "bf16"), "bf16"),
    ("roofline_seconds", (6, 2, 0.0, 1.0), 0.0),
    ("roofline_seconds", (6, 2, 1.0, -2.0), -2.0),
    ("benchmark", (lambda: None, -1, 3, time.perf_counter, lambda: None), -1),
    ("benchmark", (lambda: None, 1, 0, time.perf_counter, lambda: None), 0),
]
# Whose misconception is that the illegal is legal.
LENIENT = {
    "inner_sizes_not_compared",
    "clashing_batches_accepted",
    "rank_zero_scales",
    "an_a100_for_all",
    "infinity_for_the_unknown",
    "beginning_of_a_name_suffices",
    "emulated_bfloat16",
    "fp8_is_twice_fp16",
}


def reference(symbol):
    found = flops
    for name in symbol.split("."):
        found = getattr(found, name)
    return found


@pytest.mark.parametrize(("symbol", "arguments", "culprit"), ILLEGAL)
def test_an_illegal_argument_is_named_in_the_error(symbol, arguments, culprit):
    with pytest.raises(ValueError, match=r".") as caught:
        reference(symbol)(*arguments)
    assert caught.type is ValueError
    assert repr(culprit) in str(caught.value)


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_a_function_raises_exactly_where_its_docstring_says_so(symbol):
    documented = "Raises:" in inspect.getdoc(reference(symbol))
    assert documented is any(symbol == illegal[0] for illegal in ILLEGAL)


@pytest.mark.parametrize("symbol", [symbol for symbol in SYMBOLS if "." not in symbol])
def test_each_example_in_a_docstring_is_true(symbol):
    lines = [line for line in inspect.getdoc(reference(symbol)).splitlines() if line.startswith("Example: ")]
    assert lines
    for line in lines:
        call, _, answer = line.removeprefix("Example: ").partition(" -> ")
        assert repr(eval(call, vars(flops).copy())) == answer


# Exercises stand alone


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_no_answer_calls_another_exercise(symbol):
    source = ast.parse(textwrap.dedent(inspect.getsource(reference(symbol))))
    called = {node.func for node in ast.walk(source) if isinstance(node, ast.Call)}
    names = {f.id if isinstance(f, ast.Name) else f.attr for f in called if isinstance(f, ast.Name | ast.Attribute)}
    assert not names & set(SYMBOLS)


@pytest.mark.parametrize("symbol", SYMBOLS[:2])
def test_answers_on_paper_know_neither_torch_nor_numpy(symbol):
    body = inspect.getsource(reference(symbol)).rpartition("# exercise")[2]
    assert "torch" not in body
    assert "numpy" not in body


# Variants

PROBES = {
    "3.3a": ["counted"],
    "3.3b": ["counted"],
    "3.3c": ["uncounted"],
    "3.5": ["mfu", "hfu"],
    "3.6a": ["arithmetic_intensity", "matmul_bytes"],
    "3.1": ["matmul_flops"],
    "3.2": ["transformer_flops"],
    "3.4": ["peak_flops"],
    "3.6b": ["roofline_seconds"],
    "3.7": ["benchmark"],
}
PLACE = {"3.3b": 1}  # of the question among those of one probe


@cache
def observations(number, symbol):
    """Return what the reference and each variant of a check answer to the same cases, by name."""
    probe = PROBES[number][0] if len(PROBES[number]) == 1 else symbol
    cases = []
    draw(QUESTIONS[probe][PLACE.get(number, 0)], 60 if number.startswith("3.3") else 200, 3, cases.append)
    answers = {"reference": reference(symbol)}
    answers |= {v.name: v.function for v in VARIANTS if (v.number, v.replaces) == (number, symbol)}
    *owner, name = symbol.split(".")
    home, seen = reference(owner[0]) if owner else flops, {}
    for variant, function in answers.items():
        setattr(home, name, function)
        try:
            seen[variant] = [repr(outcome(getattr(probes, probe), flops, *case.args.values())) for case in cases]
        finally:
            setattr(home, name, answers["reference"])
    return seen


def by_name(variants):
    return [pytest.param(variant, id=variant.name) for variant in variants]


@pytest.mark.parametrize("variant", by_name(VARIANTS))
def test_a_variant_differs_from_the_reference_and_from_every_other_variant(variant):
    others = dict(observations(variant.number, variant.replaces))
    own = others.pop(variant.name)
    assert [name for name, seen in others.items() if seen == own] == []


@pytest.mark.parametrize("variant", by_name(v for v in VARIANTS if v.name not in LENIENT))
def test_a_variant_refuses_what_the_reference_refuses(variant):
    for symbol, arguments, culprit in ILLEGAL:
        if symbol == variant.replaces:
            with pytest.raises(ValueError, match=r".") as caught:
                variant.function(*arguments)
            assert repr(culprit) in str(caught.value)


@pytest.mark.parametrize("variant", by_name(VARIANTS))
def test_a_hint_asks_one_question(variant):
    assert variant.kind == "misconception"
    assert variant.text.endswith("?")
    assert variant.text.count("?") == 1


def test_no_hint_stands_twice():
    texts = [variant.text for variant in VARIANTS]
    assert len(texts) == len(set(texts))


@pytest.mark.parametrize("number", sorted(PROBES))
def test_every_check_has_at_least_three_misconceptions(number):
    assert sum(variant.number == number for variant in VARIANTS) >= 3


def test_loading_the_solutions_leaves_no_napkin_behind():
    assert "napkin" not in sys.modules or sys.modules["napkin"].__file__ != flops.__file__
    assert str(SOLUTIONS) not in sys.path
