"""Part 3, flops: what students get wrong about counting work, promised rates and timing."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
from napkin.flops import SHEET, FlopCounter, SheetRow, Step, TransformerConfig

from variants import misconception

Shape = tuple[int, ...]

# 3.1 matmul_flops


@misconception(
    "3.1",
    "matmul_flops",
    "Every count is half of what is asked. What else is done for each multiplication?",
)
def multiply_adds_counted(a_shape: Shape, b_shape: Shape) -> int:
    rows, inner, columns, batch = _sizes(a_shape, b_shape)
    return math.prod(batch) * rows * inner * columns


@misconception(
    "3.1",
    "matmul_flops",
    "A sum of K products has K - 1 additions, that is true. What does the docstring count for one?",
)
def one_addition_less(a_shape: Shape, b_shape: Shape) -> int:
    rows, inner, columns, batch = _sizes(a_shape, b_shape)
    return math.prod(batch) * rows * columns * max(2 * inner - 1, 0)


@misconception(
    "3.1",
    "matmul_flops",
    "This is one product of two matrices. How many of them does a batch hold?",
)
def batch_ignored(a_shape: Shape, b_shape: Shape) -> int:
    rows, inner, columns, _ = _sizes(a_shape, b_shape)
    return 2 * rows * inner * columns


@misconception(
    "3.1",
    "matmul_flops",
    "Only the batch of a is in the count. How often is a matrix of a multiplied when b has more of them?",
)
def broadcast_counted_once(a_shape: Shape, b_shape: Shape) -> int:
    _, _, columns, _ = _sizes(a_shape, b_shape)
    return 2 * math.prod(a_shape) * columns


@misconception(
    "3.1",
    "matmul_flops",
    "Both batches are multiplied with each other. Does the first matrix of one meet every matrix of the other?",
)
def both_batches_multiplied(a_shape: Shape, b_shape: Shape) -> int:
    rows, inner, columns, _ = _sizes(a_shape, b_shape)
    return 2 * rows * inner * columns * math.prod(a_shape[:-2]) * math.prod(b_shape[:-2])


@misconception(
    "3.1",
    "matmul_flops",
    "The batches are lined up at their first dimension. At which end does broadcasting line them up?",
)
def batches_lined_up_in_front(a_shape: Shape, b_shape: Shape) -> int:
    rows, inner, columns, _ = _sizes(a_shape, b_shape)
    a_batch, b_batch = a_shape[:-2], b_shape[:-2]
    rank = max(len(a_batch), len(b_batch))
    a_batch, b_batch = a_batch + (1,) * (rank - len(a_batch)), b_batch + (1,) * (rank - len(b_batch))
    return 2 * rows * inner * columns * math.prod(map(max, a_batch, b_batch))


@misconception(
    "3.1",
    "matmul_flops",
    "The number of columns is read off the last size of b. How many columns does a product with a vector have?",
)
def vector_has_columns(a_shape: Shape, b_shape: Shape) -> int:
    rows, inner, _, batch = _sizes(a_shape, b_shape)
    return 2 * math.prod(batch) * rows * inner * b_shape[-1]


@misconception(
    "3.1",
    "matmul_flops",
    "A count came back for shapes that cannot be multiplied. Which two sizes must be the same?",
)
def inner_sizes_not_compared(a_shape: Shape, b_shape: Shape) -> int:
    inner = a_shape[-1] if a_shape else 1
    if b_shape:
        b_shape = (inner,) if len(b_shape) == 1 else (*b_shape[:-2], inner, b_shape[-1])
    rows, inner, columns, batch = _sizes(a_shape, b_shape)
    return 2 * math.prod(batch) * rows * inner * columns


@misconception(
    "3.1",
    "matmul_flops",
    "The larger of two batch sizes is taken. What does torch.matmul say to batches of 2 and of 3?",
)
def clashing_batches_accepted(a_shape: Shape, b_shape: Shape) -> int:
    rows, inner, columns, _ = _sizes(a_shape[-2:], b_shape[-2:])
    a_batch, b_batch = a_shape[:-2], b_shape[:-2]
    rank = max(len(a_batch), len(b_batch))
    a_batch, b_batch = (1,) * (rank - len(a_batch)) + a_batch, (1,) * (rank - len(b_batch)) + b_batch
    pairs = zip(a_batch, b_batch, strict=True)
    return 2 * rows * inner * columns * math.prod(0 if 0 in pair else max(pair) for pair in pairs)


@misconception(
    "3.1",
    "matmul_flops",
    "A number times a tensor is no matrix product. What does torch.matmul do with a tensor of rank 0?",
)
def rank_zero_scales(a_shape: Shape, b_shape: Shape) -> int:
    if () in (a_shape, b_shape):
        return 2 * math.prod(a_shape) * math.prod(b_shape)
    rows, inner, columns, batch = _sizes(a_shape, b_shape)
    return 2 * math.prod(batch) * rows * inner * columns


def _sizes(a_shape: Shape, b_shape: Shape) -> tuple[int, int, int, Shape]:
    """Return rows, inner size, columns and batch of a product; ValueError where there is none."""
    if not a_shape or not b_shape:
        raise ValueError(f"no product of {a_shape!r} and {b_shape!r}")
    a = (1, *a_shape) if len(a_shape) == 1 else a_shape
    b = (*b_shape, 1) if len(b_shape) == 1 else b_shape
    if a[-1] != b[-2]:
        raise ValueError(f"no product of {a_shape!r} and {b_shape!r}")
    batch: list[int] = []
    for a_size, b_size in itertools.zip_longest(reversed(a[:-2]), reversed(b[:-2]), fillvalue=1):
        if a_size != b_size and 1 not in (a_size, b_size):
            raise ValueError(f"no product of {a_shape!r} and {b_shape!r}")
        batch.insert(0, b_size if a_size == 1 else a_size)
    return a[-2], a[-1], b[-1], tuple(batch)


# 3.2 transformer_flops


@misconception(
    "3.2",
    "transformer_flops",
    "All matrices of weights are there. Which products does attention do that have no weights in them?",
)
def scores_left_out(config: TransformerConfig, batch: int, sequence: int) -> int:
    return _forward(config, batch * sequence, attention=0)


@misconception(
    "3.2",
    "transformer_flops",
    "Only half of the scores survive a causal mask. How many does the docstring ask you to count?",
)
def causal_mask_halves_the_scores(config: TransformerConfig, batch: int, sequence: int) -> int:
    return _forward(config, batch * sequence, attention=sequence * config.hidden + config.hidden)


@misconception(
    "3.2",
    "transformer_flops",
    "Each token looks at the whole batch. Which sequences does a token belong to?",
)
def tokens_meet_the_whole_batch(config: TransformerConfig, batch: int, sequence: int) -> int:
    return _forward(config, batch * sequence, attention=2 * batch * sequence * config.hidden)


@misconception(
    "3.2",
    "transformer_flops",
    "Scores are counted for as many heads as there are keys. How many queries look at each key?",
)
def scores_of_the_kv_heads_alone(config: TransformerConfig, batch: int, sequence: int) -> int:
    kv_hidden = config.hidden // config.heads * config.kv_heads
    return _forward(config, batch * sequence, attention=2 * sequence * kv_hidden)


@misconception(
    "3.2",
    "transformer_flops",
    "Keys and values are projected for every head of the queries. How many heads do they have?",
)
def kv_projected_for_every_head(config: TransformerConfig, batch: int, sequence: int) -> int:
    return _forward(config, batch * sequence, 2 * sequence * config.hidden, projections=4 * config.hidden**2)


@misconception(
    "3.2",
    "transformer_flops",
    "A projection is missing. What happens to the heads' results before they leave the attention?",
)
def output_projection_left_out(config: TransformerConfig, batch: int, sequence: int) -> int:
    kv_hidden = config.hidden // config.heads * config.kv_heads
    projections = config.hidden * (config.hidden + 2 * kv_hidden)
    return _forward(config, batch * sequence, 2 * sequence * config.hidden, projections=projections)


@misconception(
    "3.2",
    "transformer_flops",
    "Right where the feed-forward network isn't gated. Which matrix does a gate bring along?",
)
def two_matrices_in_a_gated_network(config: TransformerConfig, batch: int, sequence: int) -> int:
    return _forward(config, batch * sequence, 2 * sequence * config.hidden, matrices=2)


@misconception(
    "3.2",
    "transformer_flops",
    "The embedding has as many numbers as the head. How many of them does one token multiply with?",
)
def embedding_counted(config: TransformerConfig, batch: int, sequence: int) -> int:
    return _forward(config, batch * sequence, 2 * sequence * config.hidden, heads=2)


@misconception(
    "3.2",
    "transformer_flops",
    "The last hidden vectors are there. Which product turns them into logits?",
)
def head_left_out(config: TransformerConfig, batch: int, sequence: int) -> int:
    return _forward(config, batch * sequence, 2 * sequence * config.hidden, heads=0)


@misconception(
    "3.2",
    "transformer_flops",
    "2 FLOPs for each parameter and token is a rule for napkins. Which products have no parameters, and which "
    "parameters are in no product?",
)
def two_flops_for_each_parameter(config: TransformerConfig, batch: int, sequence: int) -> int:
    return _forward(config, batch * sequence, attention=0, heads=2)


@misconception(
    "3.2",
    "transformer_flops",
    "The weights are met once for each sequence. By how many vectors of one sequence?",
)
def batch_for_tokens(config: TransformerConfig, batch: int, sequence: int) -> int:
    return _forward(config, batch, attention=2 * sequence**2 * config.hidden)


def _forward(
    config: TransformerConfig,
    tokens: int,
    attention: int,
    projections: int | None = None,
    matrices: int | None = None,
    heads: int = 1,
) -> int:
    """Return the FLOPs of a forward pass from the multiply-adds for each token; None stands for the right number."""
    if projections is None:
        projections = 2 * config.hidden**2 * (config.heads + config.kv_heads) // config.heads
    if matrices is None:
        matrices = 3 if config.gated else 2
    layer = projections + attention + matrices * config.hidden * config.feed_forward
    return 2 * tokens * (config.layers * layer + heads * config.hidden * config.vocabulary)


# 3.3 FlopCounter. `counting` makes a whole __torch_dispatch__ of a function that returns the FLOPs of one operator, or
# None for one that it does not know; `_right` is that function without a mistake.

MATMULS = ("mm", "bmm", "addmm", "baddbmm", "mv", "dot")
ATTENTION = tuple(
    f"_scaled_dot_product_{kind}"
    for kind in ("flash_attention_for_cpu", "flash_attention", "efficient_attention", "cudnn_attention")
)


def counting(count: Callable[[str, Any, Any], int | None]) -> Callable[..., Any]:
    @functools.wraps(count)
    def dispatch(self: FlopCounter, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__.partition(".")[0]
        result = func(*args, **(kwargs or {}))
        flops = count(name, args, result)
        if flops is None:
            self.uncounted.add(name)
        else:
            self.by_op[name] = self.by_op.get(name, 0) + flops
        return result

    return dispatch


def _right(name: str, args: Any, result: Any) -> Any:
    if name in ("mv", "dot"):
        return 2 * args[0].numel()
    if name in MATMULS:
        return 2 * args[-2].numel() * args[-1].shape[-1]
    if name == "convolution":
        return 2 * (args[0] if args[6] else result).numel() * args[1].shape[1:].numel()
    if name == "convolution_backward":
        return 2 * (args[1] if args[7] else args[0]).numel() * args[2].shape[1:].numel() * sum(args[10][:2])
    if name.removesuffix("_backward") in ATTENTION:
        return _attention(name, args, (1, 1), (3, 2))
    return None


def _attention(name: str, args: Any, forward: tuple[int, int], backward: tuple[int, int]) -> int:
    """Return the FLOPs of so many products as wide as a key, and so many as wide as a value."""
    query, key, value = args[1:4] if name.endswith("_backward") else args[:3]
    of_keys, of_values = backward if name.endswith("_backward") else forward
    scores = query.shape[:-1].numel() * key.shape[-2]
    return 2 * scores * (of_keys * query.shape[-1] + of_values * value.shape[-1])


def _is_attention(name: str) -> bool:
    return name.startswith("_scaled_dot_product")


def _in_backward() -> bool:
    return torch._C._current_graph_task_id() != -1


@misconception(
    "3.3a",
    "FlopCounter.__torch_dispatch__",
    "These are multiply-adds. How many FLOPs is one of them?",
)
@counting
def matmuls_as_multiply_adds(name: str, args: Any, result: Any) -> Any:
    return _right(name, args, result) // 2 if name in MATMULS else _right(name, args, result)


@misconception(
    "3.3a",
    "FlopCounter.__torch_dispatch__",
    "Every product stands in the sum twice. In how many places does your code add one?",
)
@counting
def products_counted_twice(name: str, args: Any, result: Any) -> Any:
    return _right(name, args, result) * 2 if name in MATMULS else _right(name, args, result)


@misconception(
    "3.3a",
    "FlopCounter.__torch_dispatch__",
    "A linear layer with a bias counts nothing. Which operator adds the bias to the product at once?",
)
@counting
def fused_forms_forgotten(name: str, args: Any, result: Any) -> Any:
    return None if name in ("addmm", "baddbmm") else _right(name, args, result)


@misconception(
    "3.3a",
    "FlopCounter.__torch_dispatch__",
    "A product with a vector counts nothing. Which operators are there for vectors?",
)
@counting
def vectors_forgotten(name: str, args: Any, result: Any) -> Any:
    return None if name in ("mv", "dot") else _right(name, args, result)


@misconception(
    "3.3a",
    "FlopCounter.__torch_dispatch__",
    "The last size of a vector is taken for a number of columns. How many sums does mv compute, and of how many "
    "products?",
)
@counting
def vector_read_as_a_matrix(name: str, args: Any, result: Any) -> Any:
    of_vectors = name in ("mv", "dot")
    return 2 * args[0].numel() * args[1].shape[-1] if of_vectors else _right(name, args, result)


@misconception(
    "3.3a",
    "FlopCounter.__torch_dispatch__",
    "One matrix of each batch is counted. What does the first size of the operands of bmm say?",
)
@counting
def batch_dropped(name: str, args: Any, result: Any) -> Any:
    batched = name in ("bmm", "baddbmm")
    return _right(name, args, result) // args[-1].shape[0] if batched else _right(name, args, result)


@misconception(
    "3.3a",
    "FlopCounter.__torch_dispatch__",
    "The additions of the bias are in the count. What does the docstring say about them?",
)
@counting
def additions_of_the_bias_counted(name: str, args: Any, result: Any) -> Any:
    fused = name in ("addmm", "baddbmm")
    return _right(name, args, result) + result.numel() if fused else _right(name, args, result)


@misconception(
    "3.3a",
    "FlopCounter.__torch_dispatch__",
    "The first two arguments of addmm are taken for the operands. What does its _schema say that they are?",
)
@counting
def bias_taken_for_an_operand(name: str, args: Any, result: Any) -> Any:
    return 2 * args[0].numel() * args[1].shape[-1] if name == "addmm" else _right(name, args, result)


@misconception(
    "3.3a",
    "FlopCounter.__torch_dispatch__",
    "The forward pass alone is counted. What else ran inside the with block?",
)
@counting
def forward_pass_alone(name: str, args: Any, result: Any) -> Any:
    return 0 if name in MATMULS and _in_backward() else _right(name, args, result)


@misconception(
    "3.3a",
    "FlopCounter.__torch_dispatch__",
    "Each product of the forward pass counts three times, as if a backward pass were to come. Who counts that "
    "when it does come?",
)
@counting
def backward_pass_assumed(name: str, args: Any, result: Any) -> Any:
    assumed = name in MATMULS and not _in_backward()
    return _right(name, args, result) * 3 if assumed else _right(name, args, result)


@misconception(
    "3.3a",
    "FlopCounter.__torch_dispatch__",
    "The last call of each operator is there, the calls before it are gone. What stood in by_op when it came?",
)
def last_call_overwrites(self: FlopCounter, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    if (name := func.__name__.partition(".")[0]) in MATMULS:
        self.by_op.pop(name, None)
    return counting(_right)(self, func, types, args, kwargs)


@misconception(
    "3.3a",
    "FlopCounter.__torch_dispatch__",
    "A product that is written into a given tensor counts nothing. Which part of 'addmm.out' is the name?",
)
def out_forms_forgotten(self: FlopCounter, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    known = _right if func.__name__.endswith(".default") or "attention" in func.__name__ else lambda *seen: None
    return counting(known)(self, func, types, args, kwargs)


@misconception(
    "3.3b",
    "FlopCounter.__torch_dispatch__",
    "Each number of the input meets every filter once here. How many places does a filter visit with this stride "
    "and padding?",
)
@counting
def convolution_by_its_input(name: str, args: Any, result: Any) -> Any:
    if name != "convolution" or args[6]:
        return _right(name, args, result)
    image, weight = args[:2]
    return 2 * image.shape[0] * image.shape[2:].numel() * weight.numel()


@misconception(
    "3.3b",
    "FlopCounter.__torch_dispatch__",
    "Every filter meets all channels of the input. Which of them does it meet when there are groups?",
)
@counting
def groups_ignored(name: str, args: Any, result: Any) -> Any:
    groups = {"convolution": 8, "convolution_backward": 9}
    return _right(name, args, result) * args[groups[name]] if name in groups else _right(name, args, result)


@misconception(
    "3.3b",
    "FlopCounter.__torch_dispatch__",
    "The forward pass is right, and so is a backward pass without groups. Which channels are in the gradient of "
    "one filter?",
)
@counting
def groups_ignored_in_the_gradient_of_the_weight(name: str, args: Any, result: Any) -> Any:
    if name != "convolution_backward":
        return _right(name, args, result)
    one_gradient = _right(name, args, result) // sum(args[10][:2])
    return one_gradient * (args[10][0] + args[10][1] * args[9])


@misconception(
    "3.3b",
    "FlopCounter.__torch_dispatch__",
    "A transposed convolution is counted like any other. Which of its two images meets whole filters?",
)
@counting
def transposed_by_its_output(name: str, args: Any, result: Any) -> Any:
    if name == "convolution":
        return 2 * result.numel() * args[1].shape[1:].numel()
    if name == "convolution_backward":
        return 2 * args[0].numel() * args[2].shape[1:].numel() * sum(args[10][:2])
    return _right(name, args, result)


@misconception(
    "3.3b",
    "FlopCounter.__torch_dispatch__",
    "Two gradients are counted whatever was asked for. What does output_mask say about a frozen weight?",
)
@counting
def gradients_counted_unasked(name: str, args: Any, result: Any) -> Any:
    backward = name == "convolution_backward"
    return _right(name, args, result) // sum(args[10][:2]) * 2 if backward else _right(name, args, result)


@misconception(
    "3.3b",
    "FlopCounter.__torch_dispatch__",
    "Fused attention counts nothing, forward or backward. Under which name does your program reach it?",
)
@counting
def attention_forgotten(name: str, args: Any, result: Any) -> Any:
    return None if _is_attention(name) else _right(name, args, result)


@misconception(
    "3.3b",
    "FlopCounter.__torch_dispatch__",
    "Attention on a CPU is counted. What are its operators called on a GPU?",
)
@counting
def attention_of_gpus_forgotten(name: str, args: Any, result: Any) -> Any:
    return None if _is_attention(name) and "for_cpu" not in name else _right(name, args, result)


@misconception(
    "3.3b",
    "FlopCounter.__torch_dispatch__",
    "One head is counted. How many are in the operands?",
)
@counting
def attention_of_one_head(name: str, args: Any, result: Any) -> Any:
    return _right(name, args, result) // args[1].shape[1] if _is_attention(name) else _right(name, args, result)


@misconception(
    "3.3b",
    "FlopCounter.__torch_dispatch__",
    "Queries are taken to be as many as keys. Which of the two sizes of a score matrix is whose?",
)
@counting
def as_many_keys_as_queries(name: str, args: Any, result: Any) -> Any:
    if not _is_attention(name):
        return _right(name, args, result)
    query, key = args[1:3] if name.endswith("_backward") else args[:2]
    return _right(name, args, result) // key.shape[-2] * query.shape[-2]


@misconception(
    "3.3b",
    "FlopCounter.__torch_dispatch__",
    "Values are taken to be as wide as keys. Which of the products has values in it?",
)
@counting
def values_as_wide_as_keys(name: str, args: Any, result: Any) -> Any:
    return _attention(name, args, (2, 0), (5, 0)) if _is_attention(name) else _right(name, args, result)


@misconception(
    "3.3b",
    "FlopCounter.__torch_dispatch__",
    "Half of the scores are hidden here, and half are counted. What is counted under a causal mask?",
)
@counting
def causal_attention_halved(name: str, args: Any, result: Any) -> Any:
    causal = "flash_attention" in name and any(argument is True for argument in args)
    return _right(name, args, result) // 2 if causal else _right(name, args, result)


@misconception(
    "3.3b",
    "FlopCounter.__torch_dispatch__",
    "The backward pass of attention counts twice its forward pass, as that of a matmul does. What is computed "
    "again in it?",
)
@counting
def scores_are_kept(name: str, args: Any, result: Any) -> Any:
    return _attention(name, args, (1, 1), (2, 2)) if _is_attention(name) else _right(name, args, result)


@misconception(
    "3.3c",
    "FlopCounter.__torch_dispatch__",
    "An operator that isn't known leaves no trace. Who could tell that the sum is too small?",
)
def the_unknown_ignored(self: FlopCounter, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    result = counting(_right)(self, func, types, args, kwargs)
    self.uncounted.clear()
    return result


@misconception(
    "3.3c",
    "FlopCounter.__torch_dispatch__",
    "Every operator is listed. Which of them were counted?",
)
def the_counted_listed_too(self: FlopCounter, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    self.uncounted.add(func.__name__.partition(".")[0])
    return counting(_right)(self, func, types, args, kwargs)


@misconception(
    "3.3c",
    "FlopCounter.__torch_dispatch__",
    "They are listed, but not by their names. What is the name of aten.addmv.default?",
)
def whole_names_listed(self: FlopCounter, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    before, self.uncounted = self.uncounted, set()
    result = counting(_right)(self, func, types, args, kwargs)
    self.uncounted = before | {str(func) for _ in self.uncounted}
    return result


@misconception(
    "3.3c",
    "FlopCounter.__torch_dispatch__",
    "Operators whose names begin with _ are skipped. What does _cdist_forward do with its two matrices?",
)
def underscored_operators_skipped(self: FlopCounter, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    result = counting(_right)(self, func, types, args, kwargs)
    self.uncounted = {name for name in self.uncounted if not name.startswith("_")}
    return result


@misconception(
    "3.3c",
    "FlopCounter.__torch_dispatch__",
    "Only names that look like a matmul are listed. What must be known of an operator before it can be left out?",
)
def only_matmul_like_names_listed(self: FlopCounter, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    result = counting(_right)(self, func, types, args, kwargs)
    self.uncounted = {name for name in self.uncounted if "mm" in name or "mv" in name}
    return result


@misconception(
    "3.3c",
    "FlopCounter.__torch_dispatch__",
    "The last operator that isn't known is listed. Where are those before it?",
)
def only_the_last_listed(self: FlopCounter, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    before, self.uncounted = self.uncounted, set()
    result = counting(_right)(self, func, types, args, kwargs)
    self.uncounted = self.uncounted or before
    return result


# 3.4 peak_flops


def _figure(row: SheetRow, column: str, device_name: str, dtype: str) -> float:
    figure = getattr(row, column, None)
    if figure is None:
        raise ValueError(f"{device_name!r} does not multiply {dtype!r}")
    return figure


def _row(device_name: str) -> SheetRow:
    for row in SHEET:
        if device_name in row.names:
            return row
    raise ValueError(f"the sheet knows no device {device_name!r}")


COLUMNS = {"float32": "fp32", "tf32": "tf32", "bfloat16": "bf16", "float16": "fp16", "float8_e4m3fn": "fp8"}


def _promise(row: SheetRow, device_name: str, dtype: str) -> float:
    figure = _figure(row, COLUMNS.get(dtype, ""), device_name, dtype)
    return (figure / 2 if row.with_sparsity and dtype != "float32" else figure) * 1e12


@misconception(
    "3.4",
    "peak_flops",
    "This is the figure as it is printed. What does its footnote say, and are your matrices like that?",
)
def sparse_figures(device_name: str, dtype: str) -> float:
    return _figure(_row(device_name), COLUMNS.get(dtype, ""), device_name, dtype) * 1e12


@misconception(
    "3.4",
    "peak_flops",
    "Every figure is halved. Which rows carry the footnote?",
)
def every_figure_halved(device_name: str, dtype: str) -> float:
    figure = _figure(_row(device_name), COLUMNS.get(dtype, ""), device_name, dtype)
    return (figure if dtype == "float32" else figure / 2) * 1e12


@misconception(
    "3.4",
    "peak_flops",
    "fp32 is halved along with the rest. Which units compute it, and do they skip zeros?",
)
def float32_halved_too(device_name: str, dtype: str) -> float:
    row = _row(device_name)
    return _figure(row, COLUMNS.get(dtype, ""), device_name, dtype) * (0.5e12 if row.with_sparsity else 1e12)


@misconception(
    "3.4",
    "peak_flops",
    "A device that nobody knows has the peak of an A100. What would its utilization mean?",
)
def an_a100_for_all(device_name: str, dtype: str) -> float:
    known = device_name if any(device_name in row.names for row in SHEET) else "NVIDIA A100-SXM4-80GB"
    return _promise(_row(known), device_name, dtype)


@misconception(
    "3.4",
    "peak_flops",
    "A device that nobody knows promises infinitely much, so that its utilization is 0. Who would notice that?",
)
def infinity_for_the_unknown(device_name: str, dtype: str) -> float:
    known = any(device_name in row.names for row in SHEET)
    return _promise(_row(device_name), device_name, dtype) if known else math.inf


@misconception(
    "3.4",
    "peak_flops",
    "A name that begins like one of the sheet's is taken for it. How much of a GPU is one that ends in MIG 1g.10gb?",
)
def beginning_of_a_name_suffices(device_name: str, dtype: str) -> float:
    for row in SHEET:
        if device_name in row.names:
            return _promise(row, device_name, dtype)
    for row in SHEET:
        if device_name.startswith(row.names):
            return _promise(row, device_name, dtype)
    raise ValueError(f"the sheet knows no device {device_name!r}")


@misconception(
    "3.4",
    "peak_flops",
    "The first row of the product's family is taken. What do the SXM and the PCIe card of one family differ in?",
)
def first_of_the_family(device_name: str, dtype: str) -> float:
    _row(device_name)
    families = ("H100", "GH200", "H200", "B200", "A100", "L40S", "L4", "A10G", "T4", "V100", "5090", "4090", "3090")
    family = next(family for family in families if family in device_name)
    row = next(row for row in SHEET if family in row.product)
    return _promise(row, device_name, dtype)


@misconception(
    "3.4",
    "peak_flops",
    "float32 gets the figure of tf32. How many bits does tf32 multiply?",
)
def tf32_for_float32(device_name: str, dtype: str) -> float:
    row = _row(device_name)
    wider = "tf32" if dtype == "float32" and row.tf32 is not None else dtype
    return _promise(row, device_name, wider)


@misconception(
    "3.4",
    "peak_flops",
    "bf16 gets the figure of fp16 where the hardware has none. How fast is what it must emulate?",
)
def emulated_bfloat16(device_name: str, dtype: str) -> float:
    row = _row(device_name)
    return _promise(row, device_name, "float16" if dtype == "bfloat16" and row.bf16 is None else dtype)


@misconception(
    "3.4",
    "peak_flops",
    "fp8 gets twice the figure of fp16 where the sheet has none. What does a missing figure say?",
)
def fp8_is_twice_fp16(device_name: str, dtype: str) -> float:
    row = _row(device_name)
    if dtype == "float8_e4m3fn" and row.fp8 is None:
        return 2 * _promise(row, device_name, "float16")
    return _promise(row, device_name, dtype)


@misconception(
    "3.4",
    "peak_flops",
    "Too small by a factor of 10**12. In which unit is the sheet, and in which is the answer?",
)
def teraflops_for_flops(device_name: str, dtype: str) -> float:
    return _promise(_row(device_name), device_name, dtype) / 1e12


# 3.5 mfu, hfu


def _promised(step: Step, peak: float) -> float:
    for name, value in (("peak", peak), ("seconds", step.seconds), ("devices", step.devices)):
        if value <= 0:
            raise ValueError(f"{name} {value!r} is not above 0")
    return step.seconds * step.devices * peak


@misconception(
    "3.5",
    "mfu",
    "What was recomputed is in the MFU. Does the model get further by doing the same work twice?",
)
def recompute_in_mfu(step: Step, peak: float) -> float:
    return (step.model_flops + step.recomputed_flops) / _promised(step, peak)


@misconception(
    "3.5",
    "mfu",
    "All the work is over what one device promises. How many of them did it?",
)
def mfu_of_one_device(step: Step, peak: float) -> float:
    return step.model_flops / _promised(step, peak) * step.devices


@misconception(
    "3.5",
    "mfu",
    "Upside down: this is how many times longer the step took than promised. Which fraction is asked for?",
)
def mfu_upside_down(step: Step, peak: float) -> float:
    return _promised(step, peak) / step.model_flops


@misconception(
    "3.5",
    "mfu",
    "A hundred times too large. What is one half as a fraction?",
)
def mfu_in_percent(step: Step, peak: float) -> float:
    return 100 * step.model_flops / _promised(step, peak)


@misconception(
    "3.5",
    "mfu",
    "More than 1 is cut off. What would an MFU of 1.3 have told you?",
)
def mfu_cut_off_at_one(step: Step, peak: float) -> float:
    return min(step.model_flops / _promised(step, peak), 1.0)


@misconception(
    "3.5",
    "hfu",
    "This is the MFU once more. Which work did the hardware do beside it?",
)
def recompute_left_out_of_hfu(step: Step, peak: float) -> float:
    return step.model_flops / _promised(step, peak)


# 3.6a arithmetic_intensity, matmul_bytes


@misconception(
    "3.6a",
    "arithmetic_intensity",
    "These are bytes per FLOP. Which of the two stands above the line?",
)
def bytes_per_flop(flops: int, moved_bytes: int) -> float:
    if moved_bytes <= 0:
        raise ValueError(f"moved_bytes {moved_bytes!r} is not above 0")
    return moved_bytes / flops if flops else 0.0


def _item_bytes(dtype: str) -> int:
    item_bytes = {"float32": 4, "tf32": 4, "bfloat16": 2, "float16": 2, "float8_e4m3fn": 1}
    if dtype not in item_bytes:
        raise ValueError(f"dtype {dtype!r} is none of {', '.join(item_bytes)}")
    return item_bytes[dtype]


@misconception(
    "3.6a",
    "matmul_bytes",
    "Both operands are read. Where does the product go?",
)
def product_not_written(m: int, k: int, n: int, dtype: str) -> int:
    return (m * k + k * n) * _item_bytes(dtype)


@misconception(
    "3.6a",
    "matmul_bytes",
    "One operand is read and one product written. Which matrix is missing?",
)
def one_operand_read(m: int, k: int, n: int, dtype: str) -> int:
    return (m * k + m * n) * _item_bytes(dtype)


@misconception(
    "3.6a",
    "matmul_bytes",
    "Every number takes 4 bytes. How many bits does bfloat16 have?",
)
def float32_bytes_for_all(m: int, k: int, n: int, dtype: str) -> int:
    _item_bytes(dtype)
    return (m * k + k * n + m * n) * 4


@misconception(
    "3.6a",
    "matmul_bytes",
    "The product takes 4 bytes a number, whatever the operands take. In which format is it written?",
)
def product_written_in_float32(m: int, k: int, n: int, dtype: str) -> int:
    return (m * k + k * n) * _item_bytes(dtype) + m * n * 4


@misconception(
    "3.6a",
    "matmul_bytes",
    "Right but for tf32. How many bytes apart are two neighbours in a float32 tensor, however they are multiplied?",
)
def tf32_stored_in_three_bytes(m: int, k: int, n: int, dtype: str) -> int:
    return (m * k + k * n + m * n) * (3 if dtype == "tf32" else _item_bytes(dtype))


@misconception(
    "3.6a",
    "matmul_bytes",
    "Eight times too many: these are bits. How many of them make a byte?",
)
def bits_for_bytes(m: int, k: int, n: int, dtype: str) -> int:
    return (m * k + k * n + m * n) * _item_bytes(dtype) * 8


@misconception(
    "3.6a",
    "matmul_bytes",
    "Two numbers are fetched for every multiplication. How often must a number be read that a cache can keep?",
)
def nothing_kept_in_a_cache(m: int, k: int, n: int, dtype: str) -> int:
    return (2 * m * k * n + m * n) * _item_bytes(dtype)


# 3.6b roofline_seconds


def _times(flops: int, moved_bytes: int, peak: float, bandwidth: float) -> tuple[float, float]:
    for name, value in (("peak", peak), ("bandwidth", bandwidth)):
        if value <= 0:
            raise ValueError(f"{name} {value!r} is not above 0")
    return flops / peak, moved_bytes / bandwidth


@misconception(
    "3.6b",
    "roofline_seconds",
    "The two times are added up. What can a device do while it waits for bytes?",
)
def one_after_the_other(flops: int, moved_bytes: int, peak: float, bandwidth: float) -> tuple[float, str]:
    compute_s, memory_s = _times(flops, moved_bytes, peak, bandwidth)
    return compute_s + memory_s, "compute" if compute_s >= memory_s else "memory"


@misconception(
    "3.6b",
    "roofline_seconds",
    "This is when the first of the two is done. When is the kernel?",
)
def the_shorter_time(flops: int, moved_bytes: int, peak: float, bandwidth: float) -> tuple[float, str]:
    compute_s, memory_s = _times(flops, moved_bytes, peak, bandwidth)
    return min(compute_s, memory_s), "compute" if compute_s >= memory_s else "memory"


@misconception(
    "3.6b",
    "roofline_seconds",
    "The time is right, the resource is the idle one. Which of the two does the kernel wait for?",
)
def the_idle_resource_named(flops: int, moved_bytes: int, peak: float, bandwidth: float) -> tuple[float, str]:
    compute_s, memory_s = _times(flops, moved_bytes, peak, bandwidth)
    return max(compute_s, memory_s), "memory" if compute_s > memory_s else "compute"


@misconception(
    "3.6b",
    "roofline_seconds",
    "Right but for kernels on the ridge. What is said about these?",
)
def the_ridge_is_memory(flops: int, moved_bytes: int, peak: float, bandwidth: float) -> tuple[float, str]:
    compute_s, memory_s = _times(flops, moved_bytes, peak, bandwidth)
    return max(compute_s, memory_s), "compute" if compute_s > memory_s else "memory"


@misconception(
    "3.6b",
    "roofline_seconds",
    "FLOPs are divided by bytes per second. Which rate belongs to which amount?",
)
def rates_swapped(flops: int, moved_bytes: int, peak: float, bandwidth: float) -> tuple[float, str]:
    compute_s, memory_s = _times(flops, moved_bytes, bandwidth, peak)
    return max(compute_s, memory_s), "compute" if compute_s >= memory_s else "memory"


@misconception(
    "3.6b",
    "roofline_seconds",
    "One FLOP per byte is taken for the ridge. At how many does this device compute as long as it moves?",
)
def ridge_at_one_flop_per_byte(flops: int, moved_bytes: int, peak: float, bandwidth: float) -> tuple[float, str]:
    return max(_times(flops, moved_bytes, peak, bandwidth)), "compute" if flops >= moved_bytes else "memory"


# 3.7 benchmark


def _checked(warmup: int, repeats: int) -> None:
    if warmup < 0:
        raise ValueError(f"warmup {warmup!r} is below 0")
    if repeats < 1:
        raise ValueError(f"repeats {repeats!r} is below 1")


def _median(seconds: list[float]) -> float:
    seconds = sorted(seconds)
    return (seconds[len(seconds) // 2] + seconds[(len(seconds) - 1) // 2]) / 2


def _samples(fn: Any, warmup: int, repeats: int, clock: Any, synchronize: Any) -> list[float]:
    """Return the times of all calls, each measured as it should be."""
    for _ in range(warmup):
        fn()
    seconds = []
    for _ in range(repeats):
        synchronize()
        start = clock()
        fn()
        synchronize()
        seconds.append(clock() - start)
    return seconds


@misconception(
    "3.7",
    "benchmark",
    "The clock is started while the device is still busy with earlier work. Whose time is measured then?",
)
def no_wait_before(fn: Any, warmup: int, repeats: int, clock: Any, synchronize: Any) -> float:
    _checked(warmup, repeats)
    for _ in range(warmup):
        fn()
    seconds = []
    for _ in range(repeats):
        start = clock()
        fn()
        synchronize()
        seconds.append(clock() - start)
    return _median(seconds)


@misconception(
    "3.7",
    "benchmark",
    "This is how long it takes to hand over the work. What is the device doing when the clock is stopped?",
)
def no_wait_after(fn: Any, warmup: int, repeats: int, clock: Any, synchronize: Any) -> float:
    _checked(warmup, repeats)
    for _ in range(warmup):
        fn()
    seconds = []
    for _ in range(repeats):
        synchronize()
        start = clock()
        fn()
        seconds.append(clock() - start)
    return _median(seconds)


@misconception(
    "3.7",
    "benchmark",
    "fn is called too seldom. Which calls come before those that are timed?",
)
def no_warm_up(fn: Any, warmup: int, repeats: int, clock: Any, synchronize: Any) -> float:
    _checked(warmup, repeats)
    return _median(_samples(fn, 0, repeats, clock, synchronize))


@misconception(
    "3.7",
    "benchmark",
    "The slow first calls are among those that are timed. What are they for?",
)
def warm_up_timed_too(fn: Any, warmup: int, repeats: int, clock: Any, synchronize: Any) -> float:
    _checked(warmup, repeats)
    return _median(_samples(fn, 0, warmup + repeats, clock, synchronize))


@misconception(
    "3.7",
    "benchmark",
    "This is the mean. What does one call that was disturbed do to it?",
)
def mean_of_all(fn: Any, warmup: int, repeats: int, clock: Any, synchronize: Any) -> float:
    _checked(warmup, repeats)
    return sum(_samples(fn, warmup, repeats, clock, synchronize)) / repeats


@misconception(
    "3.7",
    "benchmark",
    "This is the shortest time. How many of the calls took no longer than the median?",
)
def shortest_of_all(fn: Any, warmup: int, repeats: int, clock: Any, synchronize: Any) -> float:
    _checked(warmup, repeats)
    return min(_samples(fn, warmup, repeats, clock, synchronize))


@misconception(
    "3.7",
    "benchmark",
    "Right for an odd number of calls. Of six times, which two are in the middle?",
)
def upper_of_the_middle_two(fn: Any, warmup: int, repeats: int, clock: Any, synchronize: Any) -> float:
    _checked(warmup, repeats)
    return sorted(_samples(fn, warmup, repeats, clock, synchronize))[repeats // 2]


@misconception(
    "3.7",
    "benchmark",
    "All calls are timed at once and the time is shared out. How can a median be found in one number?",
)
def timed_all_at_once(fn: Any, warmup: int, repeats: int, clock: Any, synchronize: Any) -> float:
    _checked(warmup, repeats)
    for _ in range(warmup):
        fn()
    synchronize()
    start = clock()
    for _ in range(repeats):
        fn()
    synchronize()
    return (clock() - start) / repeats
