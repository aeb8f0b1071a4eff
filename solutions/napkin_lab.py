"""The notebook's cells beside its questions, as `notebook.py` reads them: a line `# %% id` leads each."""

# %% [markdown] title
# # Napkin math
#
# First ten questions with your own numbers, then a lab that draws what you have built.
#
# The questions are part of what you hand in: this file lies beside the folder `napkin`. Nothing in it is run when it
# is graded. Your answers are read as they stand, so write down numbers, `True` or `False`, never formulas: work them
# out in cells of your own, or on paper. Two digits will do: 1 % off is right.

# %% [markdown] questions
# ## Ten questions
#
# Each question stands here with practice numbers; run its cell to read it with yours. `make grade ONLY=N` judges your
# answers to the practice numbers (`example_1`, ...). Your own (`answer_1`, ...) are judged when you hand in. All cards
# are H100 SXM unless a question says otherwise: 989.4 TFLOP/s in bf16, dense, and 3.35 TB/s (NVIDIA's data sheet).
#
# Write your student id first, as your course knows it.

# %% [markdown] lab
# ## The lab
#
# Nothing below is handed in. Each figure is drawn with your own functions, so it needs the exercises that it names;
# `make lab` has installed what draws. Change the numbers and look again.

# %% setup
# %matplotlib inline
import time

import matplotlib.pyplot as plt
import torch

torch.set_num_threads(1)  # one thread measures more evenly than two
plt.rcParams |= {"figure.figsize": (9, 3.6), "axes.spines.top": False, "axes.spines.right": False, "font.size": 10}

# %% [markdown] layout-text
# ### A strided layout (1.1, 1.3)
#
# The numbers lie in one row. A view says where to begin and how far each step is. Which steps make the second picture
# out of the first, and which picture would no strides make?

# %% layout
from napkin.views import View, storage_index

x = View((4, 6), (6, 1))
views = {
    "x": x,
    "x[:, 1::2].T": x.slice(1, 1, None, 2).permute((1, 0)),
    "x[1:3, ::3]": x.slice(0, 1, 3).slice(1, 0, None, 3),
}

fig, axes = plt.subplots(1, 3, layout="constrained", width_ratios=[view.shape[1] for view in views.values()])
for ax, (name, view) in zip(axes, views.items(), strict=True):
    rows, columns = view.shape
    places = [[storage_index(view.stride, view.offset, (i, j)) for j in range(columns)] for i in range(rows)]
    ax.imshow(places, cmap="viridis", vmin=0, vmax=23)
    for i in range(rows):
        for j in range(columns):
            ax.text(j, i, places[i][j], ha="center", va="center", color="white" if places[i][j] < 16 else "black")
    ax.set(title=f"{name}\nstride {view.stride}, offset {view.offset}", xticks=[], yticks=[])
plt.show()

# %% [markdown] roofline-text
# ### The roofline of this machine (3.1, 3.6, 3.7)
#
# The roof is measured here: the best matrix product, and the copy of more than a cache holds. Where do the others
# stand, and what holds them back: bytes, arithmetic, or neither? Which can stand above the slope, and why?

# %% roofline
from napkin.flops import arithmetic_intensity, benchmark, matmul_bytes, matmul_flops


def seconds(work):
    # A CPU has done its work when it returns. The least of three medians: a busy machine only ever adds.
    return min(benchmark(work, 2, 5, time.perf_counter, lambda: None) for _ in range(3))


sizes = [(1, 1024, 1024), (8, 1024, 1024), (16, 16, 16), (32, 32, 32), (64, 64, 64), (256, 256, 256), (768, 768, 768)]
points = {}
for m, k, n in sizes:
    left, right = torch.rand(m, k), torch.rand(k, n)
    work = matmul_flops(left.shape, right.shape)
    speed = work / seconds(lambda left=left, right=right: left @ right)
    points[f"{m}×{k}×{n}"] = arithmetic_intensity(work, matmul_bytes(m, k, n, "float32")), speed
big = torch.rand(2**23)
target = torch.empty_like(big)
bandwidth = 2 * big.nbytes / seconds(lambda: target.copy_(big))
peak = max(speed for _, speed in points.values())

fig, ax = plt.subplots(layout="constrained")
roof = [0.05, peak / bandwidth, 1000]
ax.loglog(
    roof, [min(peak, x * bandwidth) / 1e9 for x in roof], label=f"{peak / 1e9:.0f} GFLOP/s, {bandwidth / 1e9:.0f} GB/s"
)
for name, (place, speed) in points.items():
    ax.plot(place, speed / 1e9, "o", color="tab:orange")
    ax.annotate(name, (place, speed / 1e9), xytext=(5, -12), textcoords="offset points", fontsize=9)
ax.set(xlabel="arithmetic intensity, FLOP per byte", ylabel="GFLOP/s", title="float32, one thread")
ax.legend()
plt.show()

# %% [markdown] stall-text
# ### Where a sum stands still (2.5)
#
# Ones are added up. From where on does adding one change nothing, and why exactly there? Which of the two dtypes must
# be the wide one?

# %% stall
from napkin.dtypes import accumulate

counts = list(range(0, 601, 20))
fig, ax = plt.subplots(layout="constrained")
for values, accumulator in [(torch.bfloat16, torch.float32), (torch.bfloat16, torch.bfloat16)]:
    sums = [accumulate(torch.ones(count), values, accumulator).item() for count in counts]
    ax.plot(counts, sums, label=f"values {values}, sum {accumulator}".replace("torch.", ""))
ax.set(xlabel="ones added", ylabel="sum")
ax.legend()
plt.show()

# %% [markdown] memory-text
# ### Memory against segments (5.1 to 5.3)
#
# Sixteen layers, cut into segments that run again in the backward pass. The more segments, the more inputs are kept,
# and the fewer activations must be held at once. Where is the least of both, and does `best_segments` know it?

# %% memory
from napkin.memory import best_segments, checkpoint_sequential, saved_bytes

layers = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU()) for _ in range(16)))
batch = torch.rand(256, 64, requires_grad=True)
weights = list(layers.parameters())


def kept_kib(segments):
    return saved_bytes(lambda x: checkpoint_sequential(layers, x, segments), batch, parameters=weights) / 1024


def one_segment_kib(count):
    return saved_bytes(torch.nn.Sequential(*layers[:count]), batch, parameters=weights) / 1024


counts = [1, 2, 4, 8, 16]
segment = [one_segment_kib(16 // segments) for segments in counts]  # the last one runs once, and is kept
inputs = [kept_kib(segments) - last for segments, last in zip(counts, segment, strict=True)]
fig, ax = plt.subplots(layout="constrained")
places = range(len(counts))
ax.bar(places, inputs, label="inputs of the segments before")
ax.bar(places, segment, bottom=inputs, label="activations of one segment")
ax.axhline(
    saved_bytes(layers, batch, parameters=weights) / 1024, color="black", linestyle=":", label="without checkpoints"
)
ax.set_xticks(list(places), counts)
ax.set(xlabel="segments", ylabel="KiB", title=f"best_segments(16, 2) says {best_segments(16, 2)}")
ax.legend()
plt.show()
