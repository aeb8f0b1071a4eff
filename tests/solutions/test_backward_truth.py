"""The reference of part 4 against autograd, finite differences and PyTorch's counter, and its variants against it."""

from __future__ import annotations

import copy
import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from autograder.probes import backward as probes
from tests.solutions.loading import load_solutions

backward, VARIANTS = load_solutions("backward")

EPS = torch.finfo(torch.float64).eps
sizes = st.integers(1, 5)
unhurried = settings(deadline=None)  # the first call of autograd takes a second on a busy machine


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def assert_close(made, expected, terms):
    """Assert equality but for rounding: each of so many products and sums of numbers near 1 may lose half an ulp.

    A sum of n random numbers has a rounding error of at most n * EPS times the sum of their sizes, which n * n bounds
    with room to spare; what is wrong is wrong by far more.
    """
    torch.testing.assert_close(made, expected, rtol=0, atol=16 * terms * terms * EPS)


# 4.1


@unhurried
@given(st.lists(st.integers(0, 4), max_size=3), sizes, sizes, st.tuples(*[st.booleans()] * 3))
def test_linear_gradients_are_those_of_autograd(lead, width, out, needs):
    x, weight, bias = randn(*lead, width, seed=1), randn(out, width, seed=2), randn(out, seed=3)
    grad_output = randn(*lead, out, seed=4)
    inputs = [tensor.requires_grad_() for tensor in (x, weight, bias)]
    expected = torch.autograd.grad(nn.functional.linear(*inputs), inputs, grad_output)
    made = backward.linear_backward(x.detach(), weight.detach(), grad_output, needs)
    assert [gradient is not None for gradient in made] == list(needs)
    for gradient, right in zip(made, expected, strict=True):
        if gradient is not None:
            assert_close(gradient, right, max(1, math.prod(lead)) * width * out)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("lead", [(), (1,), (0,), (3, 0), (4,), (2, 3)])
def test_linear_gradients_have_the_shape_and_dtype_of_what_they_belong_to(lead, dtype):
    x, weight, grad_output = (torch.ones(shape, dtype=dtype) for shape in ((*lead, 5), (2, 5), (*lead, 2)))
    made = backward.linear_backward(x, weight, grad_output, (True, True, True))
    assert [(gradient.shape, gradient.dtype) for gradient in made] == [
        ((*lead, 5), dtype),
        ((2, 5), dtype),
        ((2,), dtype),
    ]


def test_linear_gradients_hold_for_expanded_and_transposed_tensors():
    x, weight, grad_output = randn(4, 6, 3).transpose(0, 1), randn(3, 2).T, torch.ones(()).double().expand(6, 4, 2)
    made = backward.linear_backward(x, weight, grad_output, (True, True, True))
    dense = (tensor.contiguous() for tensor in (x, weight, grad_output))
    for gradient, right in zip(made, backward.linear_backward(*dense, (True, True, True)), strict=True):
        assert_close(gradient, right, 24)


@pytest.mark.parametrize("needs", list(itertools.product([False, True], repeat=3)))
def test_skipping_saves_what_pytorch_counts_for_it(needs):
    x, weight, grad_output = randn(6, 5, 7), randn(3, 7), randn(6, 5, 3)
    with FlopCounterMode(display=False) as counter:
        backward.linear_backward(x, weight, grad_output, needs)
    assert counter.get_total_flops() == 2 * 30 * 7 * 3 * (needs[0] + needs[1])


@pytest.mark.parametrize(
    ("compute", "flops"),
    [
        (lambda a, b, c: a @ b, 2 * 4 * 3 * 5),
        (lambda a, b, c: torch.addmm(c, a, b), 2 * 4 * 3 * 5),
        (lambda a, b, c: torch.einsum("mn,np->mp", a, b), 2 * 4 * 3 * 5),
        (lambda a, b, c: a[None] @ b[None], 2 * 4 * 3 * 5),
        (lambda a, b, c: torch.baddbmm(c[None], a[None], b[None]), 2 * 4 * 3 * 5),
        (lambda a, b, c: nn.functional.linear(a, b.T), 2 * 4 * 3 * 5),
        (lambda a, b, c: a @ b[:, 0], 2 * 4 * 3),
        (lambda a, b, c: a[0] @ b[:, 0], 2 * 3),
        (lambda a, b, c: torch.outer(a[0], b[0]), 3 * 5),
        (lambda a, b, c: a.sum(0), 2 * 4 * 3),
        (lambda a, b, c: c.add_(1), 4 * 5),
        (lambda a, b, c: a.T.reshape(-1).clone()[1:], 0),
        (lambda a, b, c: torch.zeros(3), 0),
    ],
)
def test_the_probe_counts_a_product_in_whichever_way_it_is_written(compute, flops):
    a, b, c = randn(4, 3), randn(3, 5), randn(4, 5)
    with probes._Flops() as counted:
        compute(a, b, c)
    assert counted.flops == flops


# 4.2


def network(dims, frozen):
    model = nn.Sequential()
    for width, out in itertools.pairwise(dims):
        model.append(nn.Linear(width, out, bias=False)).append(nn.ReLU())
    for layer in frozen:
        model[2 * layer].requires_grad_(False)
    return model[:-1]


def counted(batch, dims, input_grad, frozen):
    """Return what PyTorch counts for a forward and a backward pass."""
    model, x = network(dims, frozen), torch.randn(batch, dims[0], requires_grad=input_grad)
    with FlopCounterMode(display=False) as counter:
        loss = model(x).square().sum()
    forward = counter.get_total_flops()
    with FlopCounterMode(display=False) as counter:
        if loss.requires_grad:
            loss.backward()
    return forward, counter.get_total_flops()


EVERY_STACK = [
    (dims, input_grad, frozen)
    for dims in [(3, 5), (3, 5, 2), (3, 5, 2, 7), (3, 5, 2, 7, 4)]
    for input_grad in (False, True)
    for count in range(len(dims))
    for frozen in itertools.combinations(range(len(dims) - 1), count)
]


@pytest.mark.parametrize(("dims", "input_grad", "frozen"), EVERY_STACK)
def test_mlp_flops_are_what_pytorch_counts(dims, input_grad, frozen):
    assert backward.mlp_flops(6, dims, input_grad, frozen) == counted(6, dims, input_grad, frozen)


@pytest.mark.parametrize(
    ("batch", "dims", "input_grad", "expected"),
    [
        pytest.param(64, (32, 32, 16), False, (196608, 262144), id="two layers, measured"),
        pytest.param(64, (32, 32, 16), True, (196608, 393216), id="two layers with the input's gradient, measured"),
        pytest.param(64, (128,) * 9, False, (16777216, 31457280), id="eight layers, measured"),
        pytest.param(64, (128,) * 9, True, (16777216, 33554432), id="eight layers with the input's gradient, measured"),
    ],
)
def test_mlp_flops_reproduces_measured_rows(batch, dims, input_grad, expected):
    assert backward.mlp_flops(batch, dims, input_grad) == expected == counted(batch, dims, input_grad, ())


def test_the_lecture_counts_a_product_for_w1_that_nobody_needs():
    """spring2025-lectures, lecture_02.py: (2 + 2) * B * D * D for w1, and beside it that x.grad isn't needed."""
    batch, width, out = 64, 32, 16
    of_w2 = (2 + 2) * batch * width * out
    lecture = (2 + 2) * batch * width * width + of_w2
    assert backward.mlp_flops(batch, (width, width, out))[1] == 2 * batch * width * width + of_w2 < lecture
    assert backward.mlp_flops(batch, (width, width, out), input_grad=True)[1] == lecture


@unhurried
@given(st.integers(1, 10**12), st.lists(st.integers(1, 10**6), min_size=2, max_size=8).map(tuple))
def test_with_the_inputs_gradient_a_step_is_six_times_data_times_parameters(batch, dims):
    parameters = sum(width * out for width, out in itertools.pairwise(dims))
    assert sum(backward.mlp_flops(batch, dims, input_grad=True)) == 6 * batch * parameters
    assert sum(backward.mlp_flops(batch, dims)) == 6 * batch * parameters - 2 * batch * dims[0] * dims[1]


@pytest.mark.parametrize(("dims", "frozen", "named"), [((), (), "()"), ((5,), (), "(5,)")])
@pytest.mark.parametrize("input_grad", [False, True])
def test_a_stack_without_a_layer_is_refused(dims, frozen, named, input_grad):
    with pytest.raises(ValueError, match=named.replace("(", r"\(").replace(")", r"\)")):
        backward.mlp_flops(2, dims, input_grad, frozen)


@pytest.mark.parametrize(("frozen", "named"), [((2,), "2"), ((-1,), "-1"), ((0, 7), "7")])
def test_a_frozen_layer_that_does_not_exist_is_refused(frozen, named):
    with pytest.raises(ValueError, match=named):
        backward.mlp_flops(2, (3, 5, 7), frozen=frozen)


# 4.3


def network_loss(x, w1, w2, y):
    return nn.functional.mse_loss(torch.relu(x @ w1) @ w2, y)


@unhurried
@given(sizes, sizes, sizes, sizes, st.integers(0, 99))
def test_two_layer_gradients_are_those_of_autograd(batch, width, hidden, out, seed):
    x, y = randn(batch, width, seed=seed), randn(batch, out, seed=seed + 1)
    w1, w2 = randn(width, hidden, seed=seed + 2), randn(hidden, out, seed=seed + 3)
    made = backward.two_layer_gradients(x, w1, w2, y)
    loss = network_loss(x, w1.requires_grad_(), w2.requires_grad_(), y)
    for seen, right in zip(made, (loss, *torch.autograd.grad(loss, (w1, w2))), strict=True):
        assert seen.shape == right.shape
        assert_close(seen, right.detach(), batch * width * hidden * out)


def test_two_layer_gradients_are_those_of_finite_differences():
    x, w1, w2, y = randn(6, 3, seed=1), randn(3, 5, seed=2), randn(5, 4, seed=3), randn(6, 4, seed=4)
    _, *made = backward.two_layer_gradients(x, w1, w2, y)
    step = 1e-6  # central: off by about step**2, and by EPS / step for rounding
    for weight, gradient in zip((w1, w2), made, strict=True):
        for index in itertools.product(*map(range, weight.shape)):
            there, losses = weight[index].item(), []
            for sign in (1, -1):
                weight[index] = there + sign * step
                losses.append(network_loss(x, w1, w2, y).item())
            weight[index] = there
            assert (losses[0] - losses[1]) / (2 * step) == pytest.approx(gradient[index].item(), abs=1e-7)


def test_no_gradient_passes_a_relu_at_exactly_zero():
    x, w1, w2, y = torch.ones(2, 3), torch.zeros(3, 5), torch.ones(5, 1), torch.ones(2, 1)
    loss, dw1, dw2 = backward.two_layer_gradients(x, w1, w2, y)
    w1.requires_grad_()
    (right,) = torch.autograd.grad(network_loss(x, w1, w2, y), w1)
    assert (loss.item(), dw1.tolist(), dw2.tolist()) == (1.0, right.tolist(), [[0.0]] * 5)
    assert dw1.tolist() == [[0.0] * 5] * 3


def test_two_layer_gradients_leave_their_arguments_alone():
    inputs = randn(4, 3, seed=1), randn(3, 5, seed=2), randn(5, 2, seed=3), randn(4, 2, seed=4)
    before = copy.deepcopy(inputs)
    backward.two_layer_gradients(*inputs)
    assert all(torch.equal(now, then) for now, then in zip(inputs, before, strict=True))


# 4.4


@unhurried
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.booleans(), st.integers(0, 4))
def test_accumulated_gradients_are_those_of_one_full_batch(pieces, held, frozen):
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()
    for place, parameter in enumerate(model.parameters()):
        parameter.data = randn(*parameter.shape, seed=place)
        parameter.requires_grad_(place != frozen)
        parameter.grad = torch.ones_like(parameter) if held and place != frozen else None
    whole = copy.deepcopy(model)
    for parameter, other in zip(whole.parameters(), model.parameters(), strict=True):
        parameter.grad = copy.deepcopy(other.grad)
    x, y = randn(sum(pieces), 3, seed=8), randn(sum(pieces), 2, seed=9)
    loss = nn.functional.mse_loss(whole(x), y)
    loss.backward()
    made = backward.accumulate_gradients(
        model, nn.functional.mse_loss, list(zip(x.split(pieces), y.split(pieces), strict=True))
    )
    assert type(made) is float
    assert_close(torch.tensor(made), torch.tensor(loss.item()), 10 * sum(pieces))
    for ours, right in zip(model.parameters(), whole.parameters(), strict=True):
        assert torch.equal(ours, right)
        if right.grad is None:
            assert ours.grad is None
        else:
            assert_close(ours.grad, right.grad, 10 * sum(pieces))


def test_accumulation_holds_one_micro_batch_at_a_time():
    bases = [("numbers", (8, 2), "float64", 1), ("numbers", (8, 1), "float64", 2)]
    seen = probes.accumulate_gradients(backward, bases, (4, 2, 2), 1, None, False)
    assert (seen["samples_held"], seen["changed"]) == ([4], [])


def test_the_mean_of_unequal_means_is_weighted_by_samples():
    # Two micro-batches whose mean losses are 1.0 over 4 samples and 4.0 over 2.
    loss_of = {4: 1.0, 2: 4.0}
    model = nn.Linear(1, 1)
    micro_batches = [(torch.ones(count, 1), torch.full((count,), loss_of[count])) for count in loss_of]
    loss = backward.accumulate_gradients(model, lambda made, target: target.mean() + 0 * made.mean(), micro_batches)
    assert loss == pytest.approx(2.0, rel=4 * torch.finfo(torch.float32).eps)


# the variants


def probed(module, number):
    """Return what is seen on a few cases of a check."""
    numbers = [("numbers", shape, "float64", seed) for seed, shape in enumerate([(4, 2, 3), (5, 3), (4, 2, 5)])]
    plain = tuple((place, ()) for place in range(4))
    if number == "4.1a":
        alone = [("numbers", shape, "float64", 1) for shape in ((3,), (5, 3), (5,))]
        moved = ((0, (("transpose", (0, 1)),)), (1, ()), (2, (("transpose", (0, 1)),)))
        asked = [(numbers, plain[:3]), (alone, plain[:3]), (numbers, moved)]
        return [attempt(probes.linear_backward, module, *case) for case in asked]
    if number == "4.1b":
        needs = itertools.product([False, True], repeat=3)
        return [attempt(probes.linear_backward_flops, module, numbers, plain[:3], n) for n in needs]
    if number == "4.2":
        asked = [{}, {"input_grad": True}, {"frozen": (0,)}, {"frozen": (1,)}, {"frozen": (9,)}]
        asked.append({"frozen": (0, 1), "input_grad": True})
        return [attempt(probes.mlp_flops, module, 6, (3, 5, 2, 7), more) for more in asked]
    if number == "4.3":
        bases = [("numbers", shape, "float64", 3) for shape in ((4, 3), (3, 5), (5, 2), (4, 2))]
        zeros = (plain[0], (1, (("triu", (1,)),)), *plain[2:])
        return [attempt(probes.two_layer_gradients, module, bases, tensors) for tensors in (plain, zeros)]
    bases = [("numbers", (8, 2), "float64", 1), ("numbers", (8, 1), "float64", 2)]
    asked = itertools.product([(4, 2, 2)], [1], [None, "0.bias"], [False, True])
    return [attempt(probes.accumulate_gradients, module, bases, *case) for case in asked]


def attempt(probe, *arguments):
    try:
        return probe(*arguments)
    except Exception as error:  # noqa: BLE001  what a variant raises is what it is known by
        return type(error).__name__


def same(one, other):
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and torch.equal(one, other)
    if isinstance(one, list | tuple) and type(one) is type(other):
        return len(one) == len(other) and all(itertools.starmap(same, zip(one, other, strict=True)))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_misconception_differs_from_the_reference(variant, monkeypatch):
    right = probed(backward, variant.number)
    assert same(right, probed(backward, variant.number))
    monkeypatch.setattr(backward, variant.replaces, variant.function)
    assert not same(right, probed(backward, variant.number))
