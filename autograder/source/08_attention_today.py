# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 08 · Attention today
#
# **{{minutes}} · {{points}}**
#
# This notebook is optional. After it you can
# - rotate queries and keys so that a score depends only on their distance,
# - share keys and values among heads, and say what that saves,
# - compute attention block by block, exactly, without ever storing its weights.

# %% tags=["setup"]
import math

import torch

from course_utils import check, ready

# %% [markdown]
# The attention of 2017 is still at the heart of today's language models, but most of them have adopted three
# changes. None of these alters what attention *is*. Each removes something that became painful as texts grew
# longer.
#
# | what hurts | the change |
# | --- | --- |
# | one learned vector per position: the text ends where the table ends | **rotary positions** [@su2021] |
# | the cache: one key and one value per token, layer and head | **grouped queries** [@ainslie2023] |
# | a table of weights that grows with the square of the length | **blocks**, with an online softmax [@milakov2018; @dao2022] |

# %% [markdown]
# ## 1 Rotary positions
#
# So far we have *added* a position to the embedding. A score then mixes everything: word with word, word with
# position, position with position. Yet in a text it is mostly the **distance** between two words that matters.
#
# The idea is to *rotate* each vector by an angle that grows with its position. Think of a query with two
# numbers as an arrow in the plane. At position $t$ it is rotated by $t\theta$, and the key at position $s$ by
# $s\theta$. The dot product of two arrows depends on the angle *between* them, which has changed by
# $(t - s)\theta$. So the score depends on the distance alone:

# %%
theta = 0.3


def rotated(arrow, angle):
    """An arrow in the plane, rotated anticlockwise."""
    x, y = arrow
    return (x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle))


def dot(one, other):
    return one[0] * other[0] + one[1] * other[1]


query, key = (1.0, 0.5), (0.8, -0.3)
for t, s in ((2, 0), (7, 5), (102, 100), (5, 0)):
    score = dot(rotated(query, t * theta), rotated(key, s * theta))
    print(f"query at {t:3}, key at {s:3}, distance {t - s}: score {score:.4f}")

# %% [markdown]
# The first three scores are equal, because the distance is 2 each time.
#
# A head has $d$ numbers, which make $d / 2$ such arrows: $(x_0, x_1), (x_2, x_3), \dots$ Pair $i$ has its own
# speed
#
# $$\theta_i = \mathrm{base}^{-2i/d}, \qquad i = 0, \dots, d/2 - 1$$
#
# The first pair rotates fast and tells neighbours apart; the last rotates slowly and tells near from far. (The
# sines of notebook 05 have the same speeds.)

# %%
d, base = 8, 10000.0
for i in range(d // 2):
    speed = base ** (-2 * i / d)
    print(f"pair {i}: {speed:.4f} per position, a full turn in {2 * math.pi / speed:6.0f} positions")

# %% [markdown]
# ### Exercise: `rotate`
#
# {{exercise rotary-positions}}
#
# `x` is `[B, num_heads, T, d]`: the queries or the keys of all heads. The vector `x[:, :, t]` is at position
# `first + t`. Return a tensor of the same shape with every pair rotated:
#
# ```python
# for i in range(d // 2):
#     angle = (first + t) * base ** (-2 * i / d)
#     rotated[..., t, 2 * i]     = x[..., t, 2 * i] * cos(angle) - x[..., t, 2 * i + 1] * sin(angle)
#     rotated[..., t, 2 * i + 1] = x[..., t, 2 * i] * sin(angle) + x[..., t, 2 * i + 1] * cos(angle)
# ```
#
# Write it without loops: `x[..., 0::2]` is the first number of every pair. `first` is there for the cache, as in
# notebook 07. If `d` is odd, raise a `ValueError` that gives it. (Some libraries pair $x_i$ with $x_{i + d/2}$
# instead. Both work, but a model trained with one does not work with the other.)


# %% nbgrader={"grade_id": "rotary-positions", "solution": true}
def rotate(x, first=0, base=10000.0):
    """Rotate each pair of numbers in x [B, num_heads, T, d] by an angle that grows with its position."""
    ### BEGIN SOLUTION
    T, d = x.shape[-2:]
    if d % 2:
        raise ValueError(f"Pairs need an even number of columns, but there are {d}.")
    positions = torch.arange(first, first + T).to(x)
    speeds = base ** (-torch.arange(0, d, 2).to(x) / d)
    angles = positions[:, None] * speeds  # [T, d / 2]
    cos, sin = angles.cos(), angles.sin()
    one, other = x[..., 0::2], x[..., 1::2]
    return torch.stack([one * cos - other * sin, one * sin + other * cos], dim=-1).flatten(-2)
    ### END SOLUTION


# %% nbgrader={"grade_id": "rotary-positions-check", "grade": true}
result = check("rotary-positions")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("rotary-positions")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ### Does only the distance count?
#
# We place the same query and the same key at every pair of positions. Follow any diagonal: it has a single
# colour, because the distance does not change along it.

# %%
from course_utils.language_model import draw_scores

if ready("rotary-positions"):
    torch.manual_seed(0)
    query, key = torch.randn(1, 1, 1, 16), torch.randn(1, 1, 1, 16)
    everywhere = [rotate(z.expand(1, 1, 24, 16))[0, 0] for z in (query, key)]
    display(draw_scores(everywhere[0] @ everywhere[1].T))

# %% [markdown]
# There is no table and no last position, so a cache can grow for ever. (Whether the *model* still understands
# distances that it never met in training is another question.)

# %% [markdown]
# ## 2 Grouped queries
#
# With a key-value cache (notebook 07), writing costs mostly memory: for each token, layer and head, one key and
# one value must be kept, and read again at every step. Does every head need its own?
#
# With **grouped queries**, heads ask different questions but share keys and values in groups. With 8 heads and
# 2 groups, heads 0 to 3 use the keys and values of group 0, and heads 4 to 7 those of group 1. If all heads share
# a single group, it is called *multi-query* attention [@shazeer2019].

# %%
heads, groups = 8, 2
for head in range(heads):
    print(f"head {head} reads group {head // (heads // groups)}")

# %% [markdown]
# How much does this save? Take a model with 32 layers and 32 heads of 128 numbers each, numbers of 16 bits, and a
# text of 8,192 tokens:

# %%
for groups in (32, 8, 1):
    numbers = 2 * 32 * groups * 128 * 8192
    print(f"{groups:2} groups: {2 * numbers / 2**30:.2f} GiB of keys and values")

# %% [markdown]
# Here is the loop over the heads, for one sequence without a mask:

# %%
torch.manual_seed(0)
query = torch.randn(4, 3, 8)  # [num_heads, T, d]
key, value = torch.randn(2, 2, 5, 8)  # each [groups, S, d]
outputs = []
for head in range(4):
    group = head // 2
    scores = query[head] @ key[group].T / math.sqrt(8)
    outputs.append(torch.softmax(scores, dim=-1) @ value[group])
torch.stack(outputs).shape

# %% [markdown]
# ### Exercise: `grouped_attention`
#
# {{exercise grouped-queries}}
#
# Begin with your `MultiHeadAttention` of notebook 05, from its scores to its weighted sum: only which keys and
# values a head reads is new. `query` is `[B, num_heads, T, d]`; `key` and `value` are `[B, groups, S, d]`.
# Consecutive heads share a group, as in the loop. `mask` is `[T, S]`, True where attention is allowed, or `None`. Return `[B, num_heads, T, d]`. If `groups`
# does not divide `num_heads`, raise a `ValueError` that gives both numbers.


# %% nbgrader={"grade_id": "grouped-queries", "solution": true}
def grouped_attention(query, key, value, mask=None):
    """Attention in which consecutive heads share the keys and values of their group."""
    ### BEGIN SOLUTION
    num_heads, groups = query.shape[1], key.shape[1]
    if num_heads % groups:
        raise ValueError(f"{num_heads} heads can't share {groups} groups evenly.")
    key = key.repeat_interleave(num_heads // groups, dim=1)
    value = value.repeat_interleave(num_heads // groups, dim=1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value
    ### END SOLUTION


# %% nbgrader={"grade_id": "grouped-queries-check", "grade": true}
result = check("grouped-queries")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("grouped-queries")
result.points
### END HIDDEN TESTS

# %% [markdown]
# PyTorch's own attention does the same with `enable_gqa=True`:

# %%
if ready("grouped-queries"):
    from torch.nn import functional as F

    query = torch.randn(2, 8, 5, 16)
    key, value = torch.randn(2, 2, 2, 7, 16)
    theirs = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    mine = grouped_attention(query, key, value)
    print("yours and PyTorch's agree:", torch.allclose(mine, theirs, atol=1e-5))

# %% [markdown]
# ## 3 Attention in blocks
#
# For $T$ queries and $S$ keys, the weights are a table of $T \times S$ numbers. With 100,000 tokens that is
# $10^{10}$ numbers per head, although the result has only $T \times d_v$. Can we go through the keys
# **block by block** and forget each block afterwards?
#
# The sum $\sum_s \exp(z_s)\, v_s$ is easy to accumulate block by block. But $\exp(z_s)$ overflows unless the largest
# score is subtracted first, and the largest may come last:

# %%
scores = torch.tensor([1.0, 2.0, 100.0])
print("as they are:       ", torch.exp(scores))
print("largest subtracted:", torch.exp(scores - scores.max()))

# %% [markdown]
# The way out is to subtract the largest score **so far**. When a larger one comes, everything accumulated before is
# too large by a known factor, so we multiply it by $\exp(\text{old} - \text{new})$ and continue. For each query we
# keep three things, however long the text is:
#
# | kept | meaning |
# | --- | --- |
# | `largest` $m$ | the largest score so far; $-\infty$ at the start |
# | `total` $\ell$ | $\sum_s \exp(z_s - m)$ over the keys so far |
# | `summed` $o$ | $\sum_s \exp(z_s - m)\, v_s$ over the keys so far |
#
# At the end, the output is $o / \ell$. Here it is for one query, one score at a time:

# %%
values = torch.tensor([10.0, 20.0, 30.0])
largest, total, summed = -math.inf, 0.0, 0.0
for score, value in zip(scores.tolist(), values.tolist()):
    new = max(largest, score)
    shrink = math.exp(largest - new)  # 0 at the start, 1 if nothing larger came
    total = total * shrink + math.exp(score - new)
    summed = summed * shrink + math.exp(score - new) * value
    largest = new
    print(f"largest {largest:5.1f}, total {total:.4f}, output so far {summed / total:.4f}")
print("at once:", float(torch.softmax(scores, dim=0) @ values))

# %% [markdown]
# ### Exercise: `add_block`
#
# {{exercise online-softmax}}
#
# Write one step, for all queries and one block of keys. What has been kept so far is `largest [T]`, `total [T]` and
# `summed [T, d_v]`. `query` is `[T, d]`, and the block is `keys [S, d]` and `values [S, d_v]`. The scores are
# $q \cdot k / \sqrt{d}$. Return the new `largest, total, summed`, and leave the old ones unchanged. A block can have
# any length, and scores can be in the hundreds.


# %% nbgrader={"grade_id": "online-softmax", "solution": true}
def add_block(largest, total, summed, query, keys, values):
    """The running (largest, total, summed) after one more block of keys and values."""
    ### BEGIN SOLUTION
    scores = query @ keys.T / math.sqrt(query.shape[-1])  # [T, S]
    new = torch.maximum(largest, scores.amax(dim=-1))
    shrink = torch.exp(largest - new)
    powers = torch.exp(scores - new[:, None])
    total = total * shrink + powers.sum(dim=-1)
    summed = summed * shrink[:, None] + powers @ values
    return new, total, summed
    ### END SOLUTION


# %% nbgrader={"grade_id": "online-softmax-check", "grade": true}
result = check("online-softmax")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("online-softmax")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ### Is it equal, and how much memory does it take?
#
# The whole of attention is now a loop over blocks:


# %%
def in_blocks(query, keys, values, size):
    T = len(query)
    state = (torch.full((T,), -math.inf), torch.zeros(T), torch.zeros(T, values.shape[-1]))
    for start in range(0, len(keys), size):
        block = slice(start, start + size)
        state = add_block(*state, query, keys[block], values[block])
    _, total, summed = state
    return summed / total[:, None]


def at_once(query, keys, values):
    return torch.softmax(query @ keys.T / math.sqrt(query.shape[-1]), dim=-1) @ values


# %% [markdown]
# We measure the most memory that tensors use at any one moment, not counting the inputs:

# %%
from course_utils.language_model import peak_bytes

lengths = {"smoke": [256, 512], "quick": [512, 1024, 2048, 4096], "full": [1024, 2048, 4096, 8192]}
if ready("online-softmax"):
    torch.manual_seed(0)
    rows = []
    print(f"{'length':>8} {'at once':>12} {'in blocks of 128':>18}   equal")
    for length in lengths[budget]:
        query, keys, values = torch.randn(3, length, 64)
        full, whole = peak_bytes(at_once, query, keys, values)
        parts, pieces = peak_bytes(in_blocks, query, keys, values, 128)
        equal = torch.allclose(full, parts, atol=1e-5)
        rows.append((length, whole, pieces))
        print(f"{length:8} {whole / 1e6:9.1f} MB {pieces / 1e6:15.1f} MB   {equal}")

# %%
from course_utils.language_model import draw_memory

if ready("online-softmax"):
    display(draw_memory(rows))

# %% [markdown]
# Computed at once, twice the length needs four times the memory. In blocks it needs only twice the memory, because
# a block of scores is `T` by 128. If the queries are cut into blocks too, the memory beyond inputs and result does
# not grow at all. That is what fused kernels do [@dao2022]: a block fits into the chip's small, fast memory, and the
# table of weights never exists. (Notebook 07 measured such a kernel: the line *fused*.)

# %% [markdown]
# ## Summary
#
# - Rotating queries and keys makes a score depend only on their distance, without a table of positions.
# - Heads can share keys and values; the cache shrinks by a factor of heads / groups.
# - A softmax can be computed in one pass: keep the largest score, the total and the sum so far.
# - Attention in blocks is exact, and its memory grows with the length rather than with its square.
#
# **Where to go next**: in your `CausalLayer` of notebook 07, replace the positions by `rotate`. Train it again, and
# let it write beyond its context.
