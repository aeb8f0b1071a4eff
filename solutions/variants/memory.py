"""Part 5, memory: what students get wrong about saved tensors, recomputation, and bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import torch
from napkin.memory import Checkpoint, Recipe, recomputed

from variants import misconception

Layer = Callable[[torch.Tensor], torch.Tensor]

# 5.1 saved_bytes


@misconception(
    "5.1",
    "saved_bytes",
    "The parameters are in here. Were they any less in memory if nothing were saved for a backward pass?",
)
def parameters_counted(fn: Callable[..., Any], *inputs: Any, parameters: Iterable[torch.Tensor] = ()) -> int:
    return sum(_storages(_saved(fn, inputs)).values())


@misconception(
    "5.1",
    "saved_bytes",
    "A weight is left out where autograd saves it as it is, not where it saves a part of it. What does a view have in "
    "common with its base?",
)
def parameters_told_by_identity(fn: Callable[..., Any], *inputs: Any, parameters: Iterable[torch.Tensor] = ()) -> int:
    apart = list(parameters)
    kept = [
        x for x in _saved(fn, inputs) if not any(x.data_ptr() == p.data_ptr() and x.shape == p.shape for p in apart)
    ]
    return sum(_storages(kept).values())


@misconception(
    "5.1",
    "saved_bytes",
    "Right for a list of parameters, wrong for a generator such as model.parameters(). How often can that be walked?",
)
def parameters_walked_for_each_tensor(
    fn: Callable[..., Any], *inputs: Any, parameters: Iterable[torch.Tensor] = ()
) -> int:
    def is_apart(x: torch.Tensor) -> bool:
        return any(x.untyped_storage().data_ptr() == p.untyped_storage().data_ptr() for p in parameters)

    return sum(_storages([x for x in _saved(fn, inputs) if not is_apart(x)]).values())


@misconception(
    "5.1",
    "saved_bytes",
    "What two steps save, such as one's result that is the other's input, is counted twice. How many times is it in "
    "memory?",
)
def shared_storage_counted_twice(fn: Callable[..., Any], *inputs: Any, parameters: Iterable[torch.Tensor] = ()) -> int:
    return sum(x.untyped_storage().nbytes() for x in _apart(_saved(fn, inputs), parameters))


@misconception(
    "5.1",
    "saved_bytes",
    "Two saved views of one storage begin at different elements and are counted as two. Which address do they share?",
)
def storages_told_apart_by_first_element(
    fn: Callable[..., Any], *inputs: Any, parameters: Iterable[torch.Tensor] = ()
) -> int:
    kept = _apart(_saved(fn, inputs), parameters)
    return sum({x.data_ptr(): x.untyped_storage().nbytes() for x in kept}.values())


@misconception(
    "5.1",
    "saved_bytes",
    "Every element takes 4 bytes here. What of a bool mask, an index, a float64?",
)
def four_bytes_for_all(fn: Callable[..., Any], *inputs: Any, parameters: Iterable[torch.Tensor] = ()) -> int:
    kept = _apart(_saved(fn, inputs), parameters)
    storages = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() // x.element_size() for x in kept}
    return 4 * sum(storages.values())


@misconception(
    "5.1",
    "saved_bytes",
    "These are elements. In which unit is the answer asked for?",
)
def elements_for_bytes(fn: Callable[..., Any], *inputs: Any, parameters: Iterable[torch.Tensor] = ()) -> int:
    kept = _apart(_saved(fn, inputs), parameters)
    return sum(
        {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() // x.element_size() for x in kept}.values()
    )


@misconception(
    "5.1",
    "saved_bytes",
    "A saved slice is counted as the elements that it shows, an expanded tensor with all its repetitions. What does "
    "each keep in memory?",
)
def shown_elements_instead_of_storages(
    fn: Callable[..., Any], *inputs: Any, parameters: Iterable[torch.Tensor] = ()
) -> int:
    kept = _apart(_saved(fn, inputs), parameters)
    return sum({x.untyped_storage().data_ptr(): x.numel() * x.element_size() for x in kept}.values())


@misconception(
    "5.1",
    "saved_bytes",
    "This is the size of what fn returns. Does the backward pass of x + 1 need that, and is it all that x.sin().cos() "
    "needs?",
)
def results_instead_of_what_is_saved(
    fn: Callable[..., Any], *inputs: Any, parameters: Iterable[torch.Tensor] = ()
) -> int:
    return sum(_storages(_tensors(fn(*inputs))).values())


@misconception(
    "5.1",
    "saved_bytes",
    "The inputs are left out. If autograd saves one, can it be freed before the backward pass?",
)
def inputs_left_out(fn: Callable[..., Any], *inputs: Any, parameters: Iterable[torch.Tensor] = ()) -> int:
    known = [*parameters, *(x for x in inputs if isinstance(x, torch.Tensor))]
    return sum(_storages(_apart(_saved(fn, inputs), known)).values())


@misconception(
    "5.1",
    "saved_bytes",
    "Only what needs a gradient itself is counted. What does the backward pass of masked_fill, or of a product with a "
    "constant, look at?",
)
def constants_left_out(fn: Callable[..., Any], *inputs: Any, parameters: Iterable[torch.Tensor] = ()) -> int:
    kept = [x for x in _saved(fn, inputs) if x.requires_grad]
    return sum(_storages(_apart(kept, parameters)).values())


def _saved(fn: Callable[..., Any], inputs: Sequence[Any]) -> list[torch.Tensor]:
    saved: list[torch.Tensor] = []

    def pack(x: torch.Tensor) -> torch.Tensor:
        saved.append(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        fn(*inputs)
    return saved


def _apart(saved: Sequence[torch.Tensor], parameters: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    known = set(_storages(parameters))
    return [x for x in saved if x.untyped_storage().data_ptr() not in known]


def _storages(tensors: Iterable[torch.Tensor]) -> dict[int, int]:
    """Return the bytes of all storages, by address."""
    return {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in tensors}


def _tensors(thing: Any) -> Iterator[torch.Tensor]:
    if isinstance(thing, torch.Tensor):
        yield thing
    elif isinstance(thing, dict | list | tuple):
        for inner in thing.values() if isinstance(thing, dict) else thing:
            yield from _tensors(inner)


# 5.2 Checkpoint.forward, Checkpoint.backward; what changes both replaces `checkpoint`


def _keep(ctx: Any, fn: Callable[..., Any], inputs: Sequence[Any]) -> None:
    """Keep what a second run needs."""
    ctx.fn, ctx.random_state = fn, torch.get_rng_state()
    ctx.others = [None if isinstance(value, torch.Tensor) else value for value in inputs]
    ctx.save_for_backward(*(value if isinstance(value, torch.Tensor) else None for value in inputs))


def _detached(ctx: Any) -> list[Any]:
    """Return the inputs of a second run, cut off from the graph that made them."""
    return [
        other if x is None else x.detach().requires_grad_(x.requires_grad)
        for x, other in zip(ctx.saved_tensors, ctx.others, strict=True)
    ]


def _again(ctx: Any, inputs: Sequence[Any]) -> torch.Tensor:
    """Return what a second, recorded run returns."""
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.set_rng_state(ctx.random_state)
        return ctx.fn(*inputs)


def _grads(inputs: Sequence[Any]) -> tuple[torch.Tensor | None, ...]:
    return None, None, *(x.grad if isinstance(x, torch.Tensor) else None for x in inputs)


def _asked_for(inputs: Sequence[Any], result: torch.Tensor, grad_output: torch.Tensor) -> tuple[Any, ...]:
    """Return the gradients of the inputs that need one, and of nothing else."""
    wanted = [x for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad]
    grads = iter(torch.autograd.grad(result, wanted, grad_output) if wanted else ())
    return None, None, *(next(grads) if any(x is one for one in wanted) else None for x in inputs)


# 5.2a


@misconception(
    "5.2a",
    "Checkpoint.backward",
    "The inputs get their gradients, the parameters inside fn get none. What does loss.backward() do that "
    "torch.autograd.grad doesn't?",
)
def parameters_without_gradient(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    inputs = _detached(ctx)
    return _asked_for(inputs, _again(ctx, inputs), grad_output)


@misconception(
    "5.2a",
    "Checkpoint.backward",
    "x.grad is twice what it should be: it is filled by the backward pass in here and again by the one around it. How "
    "do you keep the second run's graph from reaching x itself?",
)
def inputs_not_detached(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    inputs = [other if x is None else x for x, other in zip(ctx.saved_tensors, ctx.others, strict=True)]
    torch.autograd.backward(_again(ctx, inputs), grad_output)
    return None, None, *(x.grad if isinstance(x, torch.Tensor) and x.is_leaf else None for x in inputs)


@misconception(
    "5.2a",
    "Checkpoint.backward",
    "Right if the loss is out.sum(), wrong if it is (out * out).sum(). Where does what comes after fn enter?",
)
def incoming_gradient_ignored(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    inputs = _detached(ctx)
    result = _again(ctx, inputs)
    torch.autograd.backward(result, torch.ones_like(result))
    return _grads(inputs)


@misconception(
    "5.2a",
    "Checkpoint.backward",
    "With a number or a tuple among the inputs, the gradients no longer stand where their tensors stand. How many "
    "arguments had forward?",
)
def gradients_of_tensors_only(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    inputs = _detached(ctx)
    torch.autograd.backward(_again(ctx, inputs), grad_output)
    return None, None, *(x.grad for x in inputs if isinstance(x, torch.Tensor))


@misconception(
    "5.2a",
    "Checkpoint.backward",
    "Every tensor among the inputs is asked for a gradient. Can an index have one?",
)
def gradient_asked_of_every_tensor(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    inputs = [
        other if x is None else x.detach().requires_grad_()
        for x, other in zip(ctx.saved_tensors, ctx.others, strict=True)
    ]
    torch.autograd.backward(_again(ctx, inputs), grad_output)
    return _grads(inputs)


@misconception(
    "5.2a",
    "Checkpoint.backward",
    "One input has its gradient, the others have none. For how many arguments does autograd ask?",
)
def gradient_of_one_input(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    inputs = _detached(ctx)
    torch.autograd.backward(_again(ctx, inputs), grad_output)
    grads = _grads(inputs)
    first = next((place for place, grad in enumerate(grads) if grad is not None), 0)
    return tuple(grad if place == first else None for place, grad in enumerate(grads))


@misconception(
    "5.2a",
    "Checkpoint.backward",
    "No input needs a gradient here, so nothing is computed. Who else may be waiting for one?",
)
def nothing_done_without_an_input_to_do_it_for(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    inputs = _detached(ctx)
    if any(ctx.needs_input_grad[2:]):
        torch.autograd.backward(_again(ctx, inputs), grad_output)
    return _grads(inputs)


class _OnTheContext(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, fn: Callable[..., torch.Tensor], anchor: torch.Tensor, *inputs: Any) -> torch.Tensor:
        ctx.fn, ctx.random_state, ctx.inputs = fn, torch.get_rng_state(), inputs
        return fn(*inputs)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        tensor = torch.Tensor
        inputs = [x.detach().requires_grad_(x.requires_grad) if isinstance(x, tensor) else x for x in ctx.inputs]
        torch.autograd.backward(_again(ctx, inputs), grad_output)
        return _grads(inputs)


@misconception(
    "5.2a",
    "checkpoint",
    "x was overwritten between the two passes, and the second run took the new numbers without a word. What does "
    "ctx.save_for_backward do that an attribute of ctx doesn't?",
)
def overwritten_unnoticed(fn: Callable[..., torch.Tensor], *inputs: Any) -> torch.Tensor:
    return _OnTheContext.apply(fn, torch.empty(0, requires_grad=True), *inputs)


# 5.2b


class _WholeGraph(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, fn: Callable[..., torch.Tensor], anchor: torch.Tensor, *inputs: Any) -> torch.Tensor:
        _keep(ctx, fn, inputs)
        tensor = torch.Tensor
        ctx.inputs = [x.detach().requires_grad_(x.requires_grad) if isinstance(x, tensor) else x for x in inputs]
        with torch.enable_grad():
            ctx.result = fn(*ctx.inputs)
        return ctx.result.detach()

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        _detached(ctx)
        torch.autograd.backward(ctx.result, grad_output)
        return _grads(ctx.inputs)


@misconception(
    "5.2b",
    "checkpoint",
    "The graph of the first run is kept, with all its activations, and fn never runs again. What was to be saved?",
)
def graph_kept(fn: Callable[..., torch.Tensor], *inputs: Any) -> torch.Tensor:
    return _WholeGraph.apply(fn, torch.empty(0, requires_grad=True), *inputs)


class _GraphAndSecondRun(_WholeGraph):
    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return Checkpoint.backward(ctx, grad_output)


@misconception(
    "5.2b",
    "checkpoint",
    "fn runs again, and yet the activations of its first run are kept until then. What still points at them?",
)
def activations_kept_all_the_same(fn: Callable[..., torch.Tensor], *inputs: Any) -> torch.Tensor:
    return _GraphAndSecondRun.apply(fn, torch.empty(0, requires_grad=True), *inputs)


@misconception(
    "5.2b",
    "Checkpoint.forward",
    "The first run is recorded, so all its activations are in memory together before they are dropped. Who turned the "
    "recording on?",
)
def first_run_recorded(ctx: Any, fn: Callable[..., torch.Tensor], anchor: torch.Tensor, *inputs: Any) -> torch.Tensor:
    _keep(ctx, fn, inputs)
    with torch.enable_grad():
        return fn(*inputs).detach()


@misconception(
    "5.2b",
    "Checkpoint.backward",
    "fn runs twice in the backward pass, once for the result and once for the graph. Can one run give both?",
)
def recomputed_twice(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    inputs = _detached(ctx)
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(ctx.random_state)
        ctx.fn(*inputs)
    torch.autograd.backward(_again(ctx, inputs), grad_output)
    return _grads(inputs)


@misconception(
    "5.2b",
    "Checkpoint.backward",
    "The gradient goes back through fn once for the parameters and once for the inputs. After the first time, where "
    "are the gradients of the inputs?",
)
def sent_back_twice(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    inputs = _detached(ctx)
    result = _again(ctx, inputs)
    torch.autograd.backward(result, grad_output, retain_graph=True)
    return _asked_for(inputs, result, grad_output)


class _Copies(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, fn: Callable[..., torch.Tensor], anchor: torch.Tensor, *inputs: Any) -> torch.Tensor:
        _keep(ctx, fn, inputs)
        ctx.copies = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in inputs]
        return fn(*inputs)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        inputs = [
            other if x is None else copy.requires_grad_(x.requires_grad)
            for x, other, copy in zip(ctx.saved_tensors, ctx.others, ctx.copies, strict=True)
        ]
        torch.autograd.backward(_again(ctx, inputs), grad_output)
        return _grads(inputs)


@misconception(
    "5.2b",
    "checkpoint",
    "The inputs are in memory twice, as they are and as your copies. What would save_for_backward have cost?",
)
def inputs_copied(fn: Callable[..., torch.Tensor], *inputs: Any) -> torch.Tensor:
    return _Copies.apply(fn, torch.empty(0, requires_grad=True), *inputs)


# 5.2c


@misconception(
    "5.2c",
    "Checkpoint.backward",
    "The second run draws new numbers: another dropout mask, and so the gradient of another function. How can it draw "
    "the old ones?",
)
def new_numbers_in_the_second_run(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    inputs = _detached(ctx)
    with torch.enable_grad():
        result = ctx.fn(*inputs)
    torch.autograd.backward(result, grad_output)
    return _grads(inputs)


@misconception(
    "5.2c",
    "Checkpoint.backward",
    "After the backward pass the generator stands where it stood in the forward pass, so the next step draws the same "
    "numbers again. What is missing after the second run?",
)
def state_not_put_back(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    inputs = _detached(ctx)
    torch.set_rng_state(ctx.random_state)
    with torch.enable_grad():
        result = ctx.fn(*inputs)
    torch.autograd.backward(result, grad_output)
    return _grads(inputs)


@misconception(
    "5.2c",
    "Checkpoint.forward",
    "A state is kept, but the second run still draws other numbers. When, between the start and the end of forward, "
    "did you look at the generator?",
)
def state_kept_too_late(ctx: Any, fn: Callable[..., torch.Tensor], anchor: torch.Tensor, *inputs: Any) -> torch.Tensor:
    result = fn(*inputs)
    _keep(ctx, fn, inputs)
    return result


class _Seeded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, fn: Callable[..., torch.Tensor], anchor: torch.Tensor, *inputs: Any) -> torch.Tensor:
        torch.manual_seed(0)
        _keep(ctx, fn, inputs)
        return fn(*inputs)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return Checkpoint.backward(ctx, grad_output)


@misconception(
    "5.2c",
    "checkpoint",
    "With a seed of your own every call draws the same mask, in every layer and step. What would fn have drawn without "
    "checkpoint?",
)
def seed_of_its_own(fn: Callable[..., torch.Tensor], *inputs: Any) -> torch.Tensor:
    return _Seeded.apply(fn, torch.empty(0, requires_grad=True), *inputs)


@misconception(
    "5.2c",
    "Checkpoint.forward",
    "After the forward pass the generator stands where it stood before, so the next layer draws the numbers of this "
    "one again. Which of the two runs should leave no trace?",
)
def first_run_leaves_no_trace(
    ctx: Any, fn: Callable[..., torch.Tensor], anchor: torch.Tensor, *inputs: Any
) -> torch.Tensor:
    _keep(ctx, fn, inputs)
    with torch.random.fork_rng(devices=[]):
        return fn(*inputs)


class _OneState(torch.autograd.Function):
    random_state: torch.Tensor

    @staticmethod
    def forward(ctx: Any, fn: Callable[..., torch.Tensor], anchor: torch.Tensor, *inputs: Any) -> torch.Tensor:
        _keep(ctx, fn, inputs)
        _OneState.random_state = ctx.random_state
        return fn(*inputs)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        ctx.random_state = _OneState.random_state
        return Checkpoint.backward(ctx, grad_output)


@misconception(
    "5.2c",
    "checkpoint",
    "One checkpoint alone is right, two are not: the second overwrites what the first has kept. Whose is the state?",
)
def one_state_for_all(fn: Callable[..., torch.Tensor], *inputs: Any) -> torch.Tensor:
    return _OneState.apply(fn, torch.empty(0, requires_grad=True), *inputs)


@misconception(
    "5.2c",
    "Checkpoint.backward",
    "The second run begins at the seed. Where did the generator stand when the first began?",
)
def rewound_to_the_seed(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    inputs = _detached(ctx)
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(torch.initial_seed())
        result = ctx.fn(*inputs)
    torch.autograd.backward(result, grad_output)
    return _grads(inputs)


# 5.3a checkpoint_sequential


def _run(group: Sequence[Layer], h: torch.Tensor) -> torch.Tensor:
    for function in group:
        h = function(h)
    return h


def _groups(functions: Sequence[Layer], segments: int) -> list[Sequence[Layer]]:
    """Return groups of nearly equal length, longer ones first; ValueError where there are not so many."""
    if not 1 <= segments <= len(functions):
        raise ValueError(f"segments {segments!r} are not in 1 to {len(functions)}")
    length, longer = divmod(len(functions), segments)
    starts = [place * length + min(place, longer) for place in range(segments + 1)]
    return [functions[start:stop] for start, stop in pairwise(starts)]


@misconception(
    "5.3a",
    "checkpoint_sequential",
    "The last group is recomputed as soon as it has run. Who asks for its activations in between?",
)
def last_segment_twice(functions: Sequence[Layer], x: torch.Tensor, segments: int) -> torch.Tensor:
    for group in _groups(functions, segments):
        x = recomputed(_run, group, x)
    return x


@misconception(
    "5.3a",
    "checkpoint_sequential",
    "The first group just runs and the last is recomputed. Whose activations would be kept longest?",
)
def first_segment_kept(functions: Sequence[Layer], x: torch.Tensor, segments: int) -> torch.Tensor:
    first, *others = _groups(functions, segments)
    x = _run(first, x)
    for group in others:
        x = recomputed(_run, group, x)
    return x


@misconception(
    "5.3a",
    "checkpoint_sequential",
    "All that is left over goes into the last group: of 7 functions in 4 groups it gets 4. By how much may lengths "
    "differ?",
)
def rest_in_the_last_segment(functions: Sequence[Layer], x: torch.Tensor, segments: int) -> torch.Tensor:
    groups = _groups(functions, segments)
    length = len(functions) // segments
    for place in range(len(groups) - 1):
        x = recomputed(_run, functions[place * length : (place + 1) * length], x)
    return _run(functions[(len(groups) - 1) * length :], x)


@misconception(
    "5.3a",
    "checkpoint_sequential",
    "Rounding the length up leaves fewer groups than asked for: 9 functions in fours are 3 groups, not 4. How long may "
    "each be?",
)
def length_rounded_up(functions: Sequence[Layer], x: torch.Tensor, segments: int) -> torch.Tensor:
    length = len(_groups(functions, segments)[0])
    last = (len(functions) - 1) // length * length
    for start in range(0, last, length):
        x = recomputed(_run, functions[start : start + length], x)
    return _run(functions[last:], x)


@misconception(
    "5.3a",
    "checkpoint_sequential",
    "Each group is as long as there were groups to be. What does `segments` count?",
)
def segments_taken_for_their_length(functions: Sequence[Layer], x: torch.Tensor, segments: int) -> torch.Tensor:
    _groups(functions, segments)
    last = (len(functions) - 1) // segments * segments
    for start in range(0, last, segments):
        x = recomputed(_run, functions[start : start + segments], x)
    return _run(functions[last:], x)


@misconception(
    "5.3a",
    "checkpoint_sequential",
    "The lengths are right, their order isn't. Which groups does the docstring put first?",
)
def shorter_segments_first(functions: Sequence[Layer], x: torch.Tensor, segments: int) -> torch.Tensor:
    at = 0
    *lengths, last = sorted(len(group) for group in _groups(functions, segments))
    for length in lengths:
        x = recomputed(_run, functions[at : at + length], x)
        at += length
    return _run(functions[len(functions) - last :], x)


@misconception(
    "5.3a",
    "checkpoint_sequential",
    "Some functions never run, since the number of segments doesn't divide theirs. Where do those left over go?",
)
def rest_dropped(functions: Sequence[Layer], x: torch.Tensor, segments: int) -> torch.Tensor:
    _groups(functions, segments)
    whole = functions[: len(functions) // segments * segments]
    *groups, last = _groups(whole, segments)
    for group in groups:
        x = recomputed(_run, group, x)
    return _run(last, x)


@misconception(
    "5.3a",
    "checkpoint_sequential",
    "Every function is a group of its own, so the input of every one is kept. How many were asked for?",
)
def every_function_by_itself(functions: Sequence[Layer], x: torch.Tensor, segments: int) -> torch.Tensor:
    groups = _groups(functions, segments)
    for function in functions[: -len(groups[-1])]:
        x = recomputed(function, x)
    return _run(groups[-1], x)


@misconception(
    "5.3a",
    "checkpoint_sequential",
    "Each group's second run begins at x and goes through all groups before it once more. What could it begin at?",
)
def recomputed_from_the_start(functions: Sequence[Layer], x: torch.Tensor, segments: int) -> torch.Tensor:
    *groups, last = _groups(functions, segments)

    def run_up_to(count: int, h: torch.Tensor) -> torch.Tensor:
        return _run(groups[count - 1], recomputed(run_up_to, count - 1, h)) if count else h

    return _run(last, recomputed(run_up_to, len(groups), x)) if groups else _run(last, x)


@misconception(
    "5.3a",
    "checkpoint_sequential",
    "In the backward pass another group runs than in the forward pass. When does a lambda in a loop look up the names "
    "that it uses?",
)
def closure_over_the_loop(functions: Sequence[Layer], x: torch.Tensor, segments: int) -> torch.Tensor:
    *groups, last = _groups(functions, segments)
    for group in groups:
        x = recomputed(lambda h: _run(group, h), x)  # noqa: B023  the mistake
    return _run(last, x)


@misconception(
    "5.3a",
    "checkpoint_sequential",
    "Nothing runs a second time, so everything was kept. Which groups must give up their activations?",
)
def nothing_recomputed(functions: Sequence[Layer], x: torch.Tensor, segments: int) -> torch.Tensor:
    _groups(functions, segments)
    return _run(functions, x)


# 5.3b best_segments


def _held(layers: int, per_layer: int, segments: int) -> int:
    return segments + per_layer * -(-layers // segments)


def _refuse(layers: int, per_layer: int) -> None:
    for count in (layers, per_layer):
        if count < 1:
            raise ValueError(f"{count!r} is below 1")


@misconception(
    "5.3b",
    "best_segments",
    "Layers that hold more ask for shorter segments. Where does `per_layer` enter?",
)
def per_layer_ignored(layers: int, per_layer: int = 1) -> int:
    _refuse(layers, per_layer)
    return min(range(1, layers + 1), key=lambda segments: _held(layers, 1, segments))


@misconception(
    "5.3b",
    "best_segments",
    "The root is best where lengths may be fractions. What are the neighbours of the rounded root worth?",
)
def root_rounded(layers: int, per_layer: int = 1) -> int:
    _refuse(layers, per_layer)
    return round(math.sqrt(per_layer * layers))


@misconception(
    "5.3b",
    "best_segments",
    "This is how long a segment is. What was to be returned?",
)
def length_of_a_segment(layers: int, per_layer: int = 1) -> int:
    _refuse(layers, per_layer)
    best = min(range(1, layers + 1), key=lambda segments: _held(layers, per_layer, segments))
    return -(-layers // best)


@misconception(
    "5.3b",
    "best_segments",
    "Just as good as the number asked for, and larger. Which of several does the docstring want?",
)
def largest_of_equals(layers: int, per_layer: int = 1) -> int:
    _refuse(layers, per_layer)
    return min(range(layers, 0, -1), key=lambda segments: _held(layers, per_layer, segments))


@misconception(
    "5.3b",
    "best_segments",
    "Only numbers that divide the layers are tried. What keeps 13 layers from being 4 segments?",
)
def divisors_only(layers: int, per_layer: int = 1) -> int:
    _refuse(layers, per_layer)
    divisors = [segments for segments in range(1, layers + 1) if layers % segments == 0]
    return min(divisors, key=lambda segments: _held(layers, per_layer, segments))


@misconception(
    "5.3b",
    "best_segments",
    "The shortest segment is counted here. Which one needs the most memory while it is recomputed?",
)
def shortest_segment_counted(layers: int, per_layer: int = 1) -> int:
    _refuse(layers, per_layer)
    return min(range(1, layers + 1), key=lambda segments: segments + per_layer * (layers // segments))


@misconception(
    "5.3b",
    "best_segments",
    "This is how many activations are held at the best choice. With how many segments is that?",
)
def activations_instead_of_segments(layers: int, per_layer: int = 1) -> int:
    _refuse(layers, per_layer)
    return min(_held(layers, per_layer, segments) for segments in range(1, layers + 1))


# 5.4 activation_bytes


def _layer_bytes(recompute: str, none: Any, selective: int, full: int) -> Any:
    """Return one layer's bytes; ValueError for an unknown recomputation."""
    known = {"none": none, "selective": selective, "full": full}
    if recompute not in known:
        raise ValueError(f"recompute {recompute!r} is none of {', '.join(known)}")
    return known[recompute]


@misconception(
    "5.4",
    "activation_bytes",
    "Twice the sequence, twice the memory, it says here. How many numbers does softmax return for one head?",
)
def linear_in_everything(
    batch: int, sequence: int, hidden: int, heads: int, layers: int, recompute: str = "none"
) -> int:
    width = batch * sequence * hidden
    return layers * _layer_bytes(recompute, 34 * width, 34 * width, 2 * width)


@misconception(
    "5.4",
    "activation_bytes",
    "Selective gives up as much as full here. Which of the kept tensors are large and cheap to compute again?",
)
def selective_like_full(
    batch: int, sequence: int, hidden: int, heads: int, layers: int, recompute: str = "none"
) -> int:
    width, pairs = batch * sequence * hidden, batch * heads * sequence**2
    return layers * _layer_bytes(recompute, 34 * width + 5 * pairs, 2 * width, 2 * width)


@misconception(
    "5.4",
    "activation_bytes",
    "Everything but the masks is twice too large. How many bytes has a 16-bit number?",
)
def four_bytes_each(batch: int, sequence: int, hidden: int, heads: int, layers: int, recompute: str = "none") -> int:
    width, pairs = batch * sequence * hidden, batch * heads * sequence**2
    return layers * _layer_bytes(recompute, 66 * width + 9 * pairs, 66 * width, 4 * width)


@misconception(
    "5.4",
    "activation_bytes",
    "The masks take as much as any other tensor here. How many bytes an element does the docstring give them?",
)
def masks_of_two_bytes(batch: int, sequence: int, hidden: int, heads: int, layers: int, recompute: str = "none") -> int:
    width, pairs = batch * sequence * hidden, batch * heads * sequence**2
    return layers * _layer_bytes(recompute, 36 * width + 6 * pairs, 36 * width, 2 * width)


@misconception(
    "5.4",
    "activation_bytes",
    "This is one layer. How many are there?",
)
def layers_dropped(batch: int, sequence: int, hidden: int, heads: int, layers: int, recompute: str = "none") -> int:
    width, pairs = batch * sequence * hidden, batch * heads * sequence**2
    return _layer_bytes(recompute, 34 * width + 5 * pairs, 34 * width, 2 * width)


@misconception(
    "5.4",
    "activation_bytes",
    "Half of the pairs of tokens are left out, as if a causal mask saved memory. Which shape has softmax's result?",
)
def half_of_the_pairs(batch: int, sequence: int, hidden: int, heads: int, layers: int, recompute: str = "none") -> int:
    width, pairs = batch * sequence * hidden, batch * heads * sequence**2
    return layers * _layer_bytes(recompute, 34 * width + 5 * pairs // 2, 34 * width, 2 * width)


@misconception(
    "5.4",
    "activation_bytes",
    "Right for one head. Does each head have scores of its own?",
)
def heads_forgotten(batch: int, sequence: int, hidden: int, heads: int, layers: int, recompute: str = "none") -> int:
    width, pairs = batch * sequence * hidden, batch * sequence**2
    return layers * _layer_bytes(recompute, 34 * width + 5 * pairs, 34 * width, 2 * width)


@misconception(
    "5.4",
    "activation_bytes",
    "The number is right but for its type. Which operator leaves the whole numbers, and is the division needed?",
)
def float_of_bytes(batch: int, sequence: int, hidden: int, heads: int, layers: int, recompute: str = "none") -> float:
    width = batch * sequence * hidden
    none = width * (34 + 5 * heads * sequence / hidden)
    return layers * _layer_bytes(recompute, none, 34 * width, 2 * width)


@misconception(
    "5.4",
    "activation_bytes",
    "Q, K and V keep an input each. How many tensors do their maps read?",
)
def input_of_attention_kept_thrice(
    batch: int, sequence: int, hidden: int, heads: int, layers: int, recompute: str = "none"
) -> int:
    width, pairs = batch * sequence * hidden, batch * heads * sequence**2
    return layers * _layer_bytes(recompute, 38 * width + 5 * pairs, 38 * width, 2 * width)


@misconception(
    "5.4",
    "activation_bytes",
    "The feed-forward half is as narrow as the rest here. How wide is what GELU reads?",
)
def feed_forward_not_widened(
    batch: int, sequence: int, hidden: int, heads: int, layers: int, recompute: str = "none"
) -> int:
    width, pairs = batch * sequence * hidden, batch * heads * sequence**2
    return layers * _layer_bytes(recompute, 22 * width + 5 * pairs, 22 * width, 2 * width)


@misconception(
    "5.4",
    "activation_bytes",
    "With full recomputation one layer's input is kept for the whole model. From what does the second layer start "
    "again?",
)
def full_keeps_one_input(
    batch: int, sequence: int, hidden: int, heads: int, layers: int, recompute: str = "none"
) -> int:
    width, pairs = batch * sequence * hidden, batch * heads * sequence**2
    if recompute == "full":
        return 2 * width
    return layers * _layer_bytes(recompute, 34 * width + 5 * pairs, 34 * width, 2 * width)


# 5.5 bytes_per_parameter, training_gb


def _remembered(recipe: Recipe, **instead: int) -> int:
    """Return how many numbers the optimizer keeps for each parameter; ValueError for one that nobody knows."""
    known = {"SGD": 0, "SGD with momentum": 1, "AdaGrad": 1, "RMSProp": 1, "Adam": 2, "AdamW": 2} | instead
    if recipe.optimizer not in known:
        raise ValueError(f"optimizer {recipe.optimizer!r} is none of {', '.join(known)}")
    return known[recipe.optimizer]


def _sizes(*dtypes: torch.dtype | None) -> int:
    return sum(dtype.itemsize for dtype in dtypes if dtype is not None)


@misconception(
    "5.5",
    "bytes_per_parameter",
    "Parameters, gradients and copies are here. What must Adam still know of the steps before?",
)
def no_optimizer_state(recipe: Recipe) -> int:
    _remembered(recipe)
    return _sizes(recipe.parameter, recipe.gradient, recipe.master)


@misconception(
    "5.5",
    "bytes_per_parameter",
    "The copy that the optimizer updates takes memory of its own. Which field of the recipe speaks of it?",
)
def no_master(recipe: Recipe) -> int:
    return _sizes(recipe.parameter, recipe.gradient) + _remembered(recipe) * _sizes(recipe.state)


@misconception(
    "5.5",
    "bytes_per_parameter",
    "Every recipe has a master copy here. What does None stand for?",
)
def master_always(recipe: Recipe) -> int:
    master = recipe.master or torch.float32
    return _sizes(recipe.parameter, recipe.gradient, master) + _remembered(recipe) * _sizes(recipe.state)


@misconception(
    "5.5",
    "bytes_per_parameter",
    "Gradients are float32 in every recipe here. Who says in which format they are held?",
)
def gradients_always_fp32(recipe: Recipe) -> int:
    gradient = torch.float32
    return _sizes(recipe.parameter, gradient, recipe.master) + _remembered(recipe) * _sizes(recipe.state)


@misconception(
    "5.5",
    "bytes_per_parameter",
    "AdaGrad remembers as much as Adam here. Which of Adam's two means has AdaGrad a sum in place of?",
)
def adagrad_like_adam(recipe: Recipe) -> int:
    remembered = _remembered(recipe, AdaGrad=2)
    return _sizes(recipe.parameter, recipe.gradient, recipe.master) + remembered * _sizes(recipe.state)


@misconception(
    "5.5",
    "bytes_per_parameter",
    "Adam remembers one number for each parameter here. How many means does it keep?",
)
def adam_remembers_one(recipe: Recipe) -> int:
    remembered = _remembered(recipe, Adam=1, AdamW=1)
    return _sizes(recipe.parameter, recipe.gradient, recipe.master) + remembered * _sizes(recipe.state)


@misconception(
    "5.5",
    "bytes_per_parameter",
    "The optimizer's state is held in the format of the parameters here. Is that what this recipe says?",
)
def state_in_the_parameters_format(recipe: Recipe) -> int:
    return _sizes(recipe.parameter, recipe.gradient, recipe.master) + _remembered(recipe) * _sizes(recipe.parameter)


@misconception(
    "5.5",
    "training_gb",
    "Seven percent too small. Is a GB on a data sheet 2**30 bytes?",
)
def gibibytes(parameters: int, per_parameter_bytes: int, activation_bytes: int = 0) -> float:
    return (parameters * per_parameter_bytes + activation_bytes) / 2**30


@misconception(
    "5.5",
    "training_gb",
    "Nothing but what grows with the parameters is counted. What was the third argument?",
)
def activations_left_out(parameters: int, per_parameter_bytes: int, activation_bytes: int = 0) -> float:
    return parameters * per_parameter_bytes / 10**9


@misconception(
    "5.5",
    "training_gb",
    "Whole gigabytes only. How much of a device may the rest be that is cut off?",
)
def whole_gigabytes(parameters: int, per_parameter_bytes: int, activation_bytes: int = 0) -> float:
    return float((parameters * per_parameter_bytes + activation_bytes) // 10**9)
