# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 05 · Self-attention
#
# **{{minutes}} · {{points}}**
#
# After this notebook you can
# - write self-attention, with one head and with several, and show that it equals PyTorch's,
# - use a mask, and say what leaks without one,
# - prove that self-attention ignores order, and give it positions so that order counts.

# %% tags=["setup"]
import math

import torch
from torch import nn

from course_utils import bring_your_own, check, own, ready
from course_utils.transformer import check_mask

attention_by_hand = own.part("attention_by_hand")

# %% [markdown]
# ### Bring your own
#
# Paste your `attention_by_hand` from notebook 01 into this cell, above the last line, and run it. It will be
# compared with what you write here. If you leave it out, PyTorch's own takes its place. Nothing here is graded.

# %%
# Paste here.

bring_your_own("attention_by_hand")

# %% [markdown]
# ## 1 A sequence that looks at itself
#
# Until now, a decoder looked at an encoder: the queries came from one sequence, the keys and values from
# another. In **self-attention** all three come from the *same* sequence. Every position asks a question, and
# every position answers. The transformer [@vaswani2017] is built on this, without any recurrence.
#
# Here is the whole computation, from left to right. `L` is the length of the sequence, and `D` is the size of
# its vectors.

# %%
from course_utils.figures.transformer import heads_diagram, self_attention_diagram

self_attention_diagram()

# %% [markdown]
# ### One score, by hand
#
# Take the three states of question 2 in notebook 01. There, vectors were columns, and we wrote $q = A_q h$.
# From here on, vectors are **rows**, so the same matrices appear on the right, transposed: $q = h\,W_Q$ with
# $W_Q = A_q^\top$.

# %%
X = torch.tensor([[5.0, 1.0], [4.0, 3.0], [-2.0, 6.0]])
W_Q = torch.tensor([[1.0, 0.0], [2.0, 9.0]]).T
W_K = torch.tensor([[0.0, 1.0], [6.0, 0.0]]).T
W_V = torch.tensor([[4.0, 3.0], [9.0, 1.0]]).T

# %% [markdown]
# The query of the second position, the key of the first, and their dot product:

# %%
q = X[1] @ W_Q
k = X[0] @ W_K
print("query", q.tolist(), " key", k.tolist(), " score", (q @ k).item())

# %% [markdown]
# ### A row, then all rows
#
# Here is the same query with every key:

# %%
torch.stack([q @ (X[s] @ W_K) for s in range(3)])

# %% [markdown]
# Every query with every key is a single matrix product:

# %%
Q, K, V = X @ W_Q, X @ W_K, X @ W_V
scores = Q @ K.T
print(scores)
print("The second row is the one above:", torch.equal(scores[1], scores.new_tensor([1054, 852, -396])))

# %% [markdown]
# ### Why the scale
#
# These scores are huge. After the softmax, one weight is 1 and the others are 0:

# %%
torch.softmax(scores[1], dim=-1)

# %% [markdown]
# A softmax as sure as this has next to no gradient with respect to its scores. $W_V$ can still learn, but $W_Q$
# and $W_K$ get nothing, so the model can no longer learn *where to look*:

# %%
learned = [W.clone().requires_grad_() for W in (W_Q, W_K, W_V)]
output = torch.softmax((X @ learned[0]) @ (X @ learned[1]).T, dim=-1) @ (X @ learned[2])
(output**2).sum().backward()
for name, W in zip(("W_Q", "W_K", "W_V"), learned):
    print(f"{name}: norm of the gradient {W.grad.norm():.1f}")

# %% [markdown]
# Dot products grow with the size $d$ of the vectors, even if every number in them is small. Look at random
# vectors with independent entries of mean 0 and variance 1:

# %%
torch.manual_seed(0)
for d in (4, 64, 1024):
    products = (torch.randn(2000, d) * torch.randn(2000, d)).sum(dim=1)
    print(
        f"d = {d:4}:  spread of q·k {products.std():6.2f},  over √d {products.std() / d**0.5:.2f}"
    )

# %% [markdown]
# So we divide by $\sqrt d$, and the spread for such vectors is 1 at every size. (This relies on the mean of 0:
# entries of mean 1 give dot products near $d$.)
#
# $$\mathrm{weights} = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt d}\right) \qquad
#   \mathrm{output} = \mathrm{weights}\;V$$
#
# The softmax runs over the **keys**, the last axis of $QK^\top$: each row sums to one.

# %% [markdown]
# ## 2 Masks
#
# Sometimes a position must not look everywhere. A model that writes a text word by word, for example, can't see
# the words it has yet to write. A **mask** says who may look where: it is `True` where attention is allowed.
#
# A forbidden score becomes $-\infty$ *before* the softmax, because $\exp(-\infty) = 0$:

# %%
scores = torch.tensor([[1.0, 2.0, 3.0]])
mask = torch.tensor([[True, True, False]])
torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)

# %% [markdown]
# The row still sums to one. If we had set the *weight* to zero afterwards, it would not. And a score of 0 is not
# "no score": it still gets its share of the attention.

# %%
print("weight set to 0 after:", (torch.softmax(scores, dim=-1) * mask).sum().item())
print("score set to 0 before:", torch.softmax(scores.masked_fill(~mask, 0.0), dim=-1))

# %% [markdown]
# ### Exercise: `causal_mask`
#
# {{exercise causal-mask}}
#
# In a text that is read from left to right, position `t` may look at itself and at the past, which means at
# every `s` with `s <= t`. Return a tensor of truth values (`torch.bool`) of shape `[L, L]`, `True` where
# attention is allowed. For `L = 3`:
#
# | query \ key | 0 | 1 | 2 |
# | --- | --- | --- | --- |
# | **0** | True | False | False |
# | **1** | True | True | False |
# | **2** | True | True | True |


# %% nbgrader={"grade_id": "causal-mask", "solution": true}
def causal_mask(L):
    """Row t, column s: True when position t may look at position s."""
    ### BEGIN SOLUTION
    return torch.tril(torch.ones(L, L, dtype=torch.bool))
    ### END SOLUTION


# %% nbgrader={"grade_id": "causal-mask-check", "grade": true}
result = check("causal-mask")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("causal-mask")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ### Masks that can't work
#
# A mask of the wrong shape may still fit by accident. A mask of numbers means different things to different
# libraries. And a row that allows *nothing* gives NaN, "not a number":

# %%
torch.softmax(torch.full((3,), float("-inf")), dim=-1)

# %% [markdown]
# NaN spreads silently through a model, so check the mask before you compute. `check_mask` takes the mask, the
# number of queries and the number of keys, and raises an error that says what is wrong. It does nothing if
# the mask is fine, or `None`.

# %%
for bad in (torch.ones(2, 3, dtype=torch.bool), torch.ones(3, 3), torch.zeros(3, 3).bool()):
    try:
        check_mask(bad, 3, 3)
    except (TypeError, ValueError) as error:
        print("✗", error)

# %% [markdown]
# ### Exercise: `self_attention`
#
# {{exercise self-attention}}
#
# `X` is one sequence, `[L, D]`; `W_Q` and `W_K` are `[D, d]`, and `W_V` is `[D, dv]`. As a loop:
#
#     for t in range(L):                        # each query
#         for s in range(L):                    # each key
#             scores[t, s] = (X[t] @ W_Q) · (X[s] @ W_K) / sqrt(d)
#                            or minus infinity, where mask[t, s] is False
#         weights[t] = softmax(scores[t])
#         output[t]  = sum over s of weights[t, s] * (X[s] @ W_V)
#
# Write it with matrix products. Return the output `[L, dv]` and the weights `[L, L]`. A mask that can't work
# should be refused, so call `check_mask` first.


# %% nbgrader={"grade_id": "self-attention", "solution": true}
def self_attention(X, W_Q, W_K, W_V, mask=None):
    """Output [L, dv] and weights [L, L] of one head; `mask` is True where attention is allowed."""
    ### BEGIN SOLUTION
    L = X.shape[0]
    check_mask(mask, L, L)
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    scores = Q @ K.T / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
    ### END SOLUTION


# %% nbgrader={"grade_id": "self-attention-check", "grade": true}
result = check("self-attention")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("self-attention")
result.points
### END HIDDEN TESTS

# %% [markdown]
# Without a mask, this is the attention that you wrote in loops in notebook 01. The numbers agree:

# %%
if ready("self-attention"):
    torch.manual_seed(4)
    tokens = torch.randn(6, 4)
    matrices = [torch.randn(4, 3) for _ in range(3)]
    by_matrices, _ = self_attention(tokens, *matrices)
    by_hand = attention_by_hand(*(tokens @ W for W in matrices))
    whose = "yours" if own.is_own("attention_by_hand") else "PyTorch's"
    difference = (by_matrices - by_hand).abs().max()
    print(f"attention_by_hand ({whose}): the outputs differ by at most {difference:.1e}")

# %% [markdown]
# ### What leaks without a mask
#
# Change the *last* token of a sequence and see which outputs change.

# %%
torch.manual_seed(1)
X = torch.randn(5, 8)
W_Q, W_K, W_V = (torch.randn(8, 8) / 8**0.5 for _ in range(3))
other = X.clone()
other[-1] = torch.randn(8)

if ready("self-attention", "causal-mask"):
    for name, mask in (("no mask", None), ("causal mask", causal_mask(5))):
        before, _ = self_attention(X, W_Q, W_K, W_V, mask)
        after, _ = self_attention(other, W_Q, W_K, W_V, mask)
        changed = ["yes" if c else "no" for c in (before - after).abs().amax(dim=1) > 1e-6]
        print(f"{name:12} output changed at positions 0 to 4:", ", ".join(changed))

# %% [markdown]
# Without the mask, every output depends on the last token. A model trained to predict the next word would simply
# copy it from the input: its loss would be near zero, and it would have learned nothing. You will meet such a
# model in notebook 06.

# %% [markdown]
# ### The map
#
# These are the weights with a causal mask. Row `t` ends at column `t`.

# %%
if ready("self-attention", "causal-mask"):
    from course_utils.widgets import attention_map

    _, weights = self_attention(X, W_Q, W_K, W_V, causal_mask(5))
    words = ["the", "cat", "saw", "a", "mouse"]
    display(attention_map(weights, words, words, title="Self-attention with a causal mask"))

# %% [markdown]
# ## 3 Mostly matrix products
#
# Insert $Q = XW_Q$, $K = XW_K$ and $V = XW_V$, and leave out the scale for a moment:
#
# $$A(X) \;=\; \mathrm{softmax}\big(X\,W_Q W_K^\top X^\top\big)\;\; X\,W_V$$
#
# - **Inside** the softmax is a *quadratic form*: $X$ appears twice, on either side of one matrix
#   $M = W_Q W_K^\top$. The score of positions $t$ and $s$ is $x_t\,M\,x_s^\top$.
# - **Outside** the softmax, $X$ appears once. This part is *linear*: a weighted sum of rows, times $W_V$.
#
# So doubling $X$ makes every score four times as large:

# %%
M = W_Q @ W_K.T
score = X[1] @ M @ X[3]
double = (2 * X[1]) @ M @ (2 * X[3])
print(f"score {score:.3f},  with X doubled {double:.3f},  ratio {double / score:.1f}")

# %% [markdown]
# With the weights held fixed, the output only doubles:

# %%
if ready("self-attention"):
    _, weights = self_attention(X, W_Q, W_K, W_V)
    once, twice = weights @ (X @ W_V), weights @ (2 * X @ W_V)
    print("twice the output:", torch.allclose(twice, 2 * once))

# %% [markdown]
# $M$ need not be symmetric: the score of query 1 with key 3 is not that of query 3 with key 1.

# %%
print(f"x_1 M x_3 = {X[1] @ M @ X[3]:.3f},   x_3 M x_1 = {X[3] @ M @ X[1]:.3f}")

# %% [markdown]
# ## 4 Order means nothing to it
#
# Let us shuffle the tokens, as in the lecture @[attention-lecture]. A **permutation matrix** $P$ has a single 1
# in each row and in each column; $PX$ is $X$ with its rows in another order.

# %%
order = [3, 0, 4, 1, 2]
P = torch.eye(5)[order]
print(P)
print("P X is X[order]:", torch.equal(P @ X, X[order]))

# %% [markdown]
# What does self-attention make of the shuffled sequence? First we compute it, then you prove it.

# %%
if ready("self-attention"):
    plain, _ = self_attention(X, W_Q, W_K, W_V)
    shuffled, _ = self_attention(P @ X, W_Q, W_K, W_V)
    print("A(PX) = P A(X):", torch.allclose(shuffled, P @ plain, atol=1e-6))

# %% [markdown]
# Every token gets *the same output as before*, wherever it is: the outputs move along with the inputs. This is
# called **permutation equivariance**: $A(PX) = P\,A(X)$.
#
# Move the tokens yourself. Then switch on the causal mask, and after that the positions.

# %%
from course_utils.widgets import permutation_explorer

permutation_explorer()

# %% [markdown]
# ### And with a causal mask?
#
# The mask belongs to *positions*, not to tokens. Shuffle the tokens, and each may look at other tokens than
# before. The equality breaks:

# %%
if ready("self-attention", "causal-mask"):
    mask = causal_mask(5)
    plain, _ = self_attention(X, W_Q, W_K, W_V, mask)
    shuffled, _ = self_attention(P @ X, W_Q, W_K, W_V, mask)
    print("A(PX) = P A(X) with a causal mask:", torch.allclose(shuffled, P @ plain, atol=1e-6))

# %% [markdown]
# So a causal model can work out *some* of the order by itself: position 0 sees one token, position 1 sees two.
# But it is never told outright where a token is.

# %% [markdown]
# ### Question: the proof
#
# {{exercise equivariance-proof}}
#
# Prove $A(PX) = P\,A(X)$ for $A(X) = \mathrm{softmax}(X M X^\top)\,X W_V$, without a mask.
# Complete these steps, and give a reason for each:
#
# 1. Write down $A(PX)$. What is $(PX)^\top$?
# 2. The scores of $PX$ are $P\,S\,P^\top$, with $S = X M X^\top$. What does $P$ do to $S$, and what does
#    $P^\top$ do?
# 3. Why is $\mathrm{softmax}(P\,S\,P^\top) = P\,\mathrm{softmax}(S)\,P^\top$? Treat rows and columns
#    separately: the softmax is taken along each row.
# 4. What is $P^\top P$, and why? Finish the proof.
# 5. With a causal mask the scores become $S + C$, where every entry of $C$ is $0$ or $-\infty$. Which step fails?

# %% [markdown] nbgrader={"grade_id": "equivariance-proof", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# 1. $A(PX) = \mathrm{softmax}\big(PX\,M\,(PX)^\top\big)\,PX W_V$ and $(PX)^\top = X^\top P^\top$.
# 2. So the scores are $P\,(X M X^\top)\,P^\top = P S P^\top$. $P$ on the left puts the rows of $S$
#    (the queries) in the new order, and $P^\top$ on the right does the same to the columns (the keys).
# 3. The softmax treats each row by itself, so it makes no difference whether the rows change places
#    before or after it: $\mathrm{softmax}(PS') = P\,\mathrm{softmax}(S')$. Within a row it divides
#    $\exp(z_s)$ by the sum over all $s$. A sum does not depend on the order, so permuted scores give
#    the same weights, permuted: $\mathrm{softmax}(S P^\top) = \mathrm{softmax}(S) P^\top$.
# 4. $P^\top P = I$, because the columns of $P$ are different unit vectors (undoing a shuffle restores the
#    original order). Hence
#    $A(PX) = P\,\mathrm{softmax}(S)\,P^\top P\,X W_V = P\,\mathrm{softmax}(S)\,X W_V = P\,A(X)$.
# 5. Step 2: the scores of the shuffled sequence are $P S P^\top + C$, not $P (S + C) P^\top$. The
#    mask stays where it is while the tokens move, and $C \ne P C P^\top$.
# ### END SOLUTION
# === BEGIN MARK SCHEME ===
# - half a point: steps 1 and 2, the scores of PX are P S P^T; rows and columns are kept apart;
# - half a point: step 3, both reasons (rows are independent; the sum in a row ignores order);
# - half a point: step 4, P^T P = I, and the conclusion;
# - half a point: step 5, the mask does not move with the tokens.
# === END MARK SCHEME ===

# %% [markdown]
# ## 5 Several heads
#
# One softmax makes one choice. A word may need two at once: its verb and its adjective, say. So several **heads**
# attend side by side, each with smaller vectors of size $d = D / H$, where $H$ is `num_heads`. Their outputs
# are concatenated, and a final matrix mixes them:
#
# $$\mathrm{MultiHead}(X) = [A_1(X), \dots, A_H(X)]\;W_O$$

# %%
heads_diagram(3)

# %% [markdown]
# ### In a loop
#
# Take two heads and `D = 8`. Head `h` uses four columns of each matrix, `4*h : 4*(h+1)`:

# %%
if ready("self-attention"):
    W_O = torch.randn(8, 8) / 8**0.5
    parts = []
    for h in range(2):
        columns = slice(4 * h, 4 * (h + 1))
        output, _ = self_attention(X, W_Q[:, columns], W_K[:, columns], W_V[:, columns])
        parts.append(output)
    by_loop = torch.cat(parts, dim=-1) @ W_O
    print([tuple(part.shape) for part in parts], "->", tuple(by_loop.shape))

# %% [markdown]
# ### All heads at once
#
# One product can serve all heads if the heads have an axis of their own. `view` splits the last axis, and
# `transpose` moves the heads to the front:

# %%
Q = X @ W_Q  # [5, 8]
Q.view(5, 2, 4).transpose(0, 1).shape  # [num_heads, L, d]

# %% [markdown]
# Beware: `view(2, 5, 4)` has the same shape, but it splits the *positions*. Head 0 should see the first four
# columns of every position:

# %%
right, wrong = Q.view(5, 2, 4).transpose(0, 1), Q.view(2, 5, 4)
print("view, then transpose:", torch.equal(right[0], Q[:, :4]))
print("view alone:          ", torch.equal(wrong[0], Q[:, :4]))

# %% [markdown]
# Now `@` multiplies head by head:

# %%
if ready("self-attention"):
    Q, K, V = ((X @ W).view(5, 2, 4).transpose(0, 1) for W in (W_Q, W_K, W_V))
    weights = torch.softmax(Q @ K.transpose(1, 2) / 4**0.5, dim=-1)  # [2, 5, 5]
    at_once = (weights @ V).transpose(0, 1).reshape(5, 8) @ W_O
    print("the same:", torch.allclose(at_once, by_loop, atol=1e-6))

# %% [markdown]
# ### Exercise: `MultiHeadAttention`
#
# {{exercise multi-head-attention}}
#
# Now write it as a module, for a batch. Begin with the lines of the last cell, which do it for one sequence.
# The queries may come from one sequence and the keys and values from another, so the module also serves for
# cross-attention.
#
# - `query` is `[B, T, D]`, `key` and `value` are `[B, S, D]`. Return the output `[B, T, D]` and the
#   weights of every head, `[B, num_heads, T, S]`.
# - Head `h` takes the columns `h*d : (h+1)*d`, with `d = d_model / num_heads`.
# - `mask` is `[T, S]`, or `[B, T, S]` if each sequence has its own. It applies to all heads.
# - If `num_heads` does not divide `d_model`, raise a `ValueError` that gives both numbers. Masks that can't work
#   are refused by `check_mask(mask, T, S, batch=B)`.
#
# The four linear layers are given. Keep their names: the check fills these layers with its own numbers.


# %% nbgrader={"grade_id": "multi-head-attention", "solution": true}
class MultiHeadAttention(nn.Module):
    """Several heads of scaled dot-product attention, side by side, then W_O."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        ### BEGIN SOLUTION
        if d_model % num_heads != 0:
            raise ValueError(
                f"d_model = {d_model} can't be cut into num_heads = {num_heads} equal parts."
            )
        ### END SOLUTION
        self.num_heads = num_heads
        self.W_Q = nn.Linear(d_model, d_model)
        self.W_K = nn.Linear(d_model, d_model)
        self.W_V = nn.Linear(d_model, d_model)
        self.W_O = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        ### BEGIN SOLUTION
        B, T, D = query.shape
        S, d = key.shape[1], D // self.num_heads
        check_mask(mask, T, S, batch=B)

        def split(x):  # [B, L, D] -> [B, num_heads, L, d]
            return x.view(B, -1, self.num_heads, d).transpose(1, 2)

        # Scaling the queries is cheaper than scaling the scores: T x d numbers, not T x S.
        Q = split(self.W_Q(query) * d**-0.5)
        K, V = split(self.W_K(key)), split(self.W_V(value))
        scores = Q @ K.transpose(-2, -1)  # [B, num_heads, T, S]
        if mask is not None:
            heads_mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
            scores = scores.masked_fill(~heads_mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        joined = (weights @ V).transpose(1, 2).reshape(B, T, D)
        return self.W_O(joined), weights
        ### END SOLUTION


# %% nbgrader={"grade_id": "multi-head-attention-check", "grade": true}
result = check("multi-head-attention")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("multi-head-attention")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ### Does it equal PyTorch's?
#
# `torch.nn.MultiheadAttention` keeps $W_Q$, $W_K$ and $W_V$ stacked in one matrix. Copy your parameters into it,
# and compare. (Its mask is inverted: there, `True` means *forbidden*.)

# %%
if ready("multi-head-attention", "causal-mask"):
    torch.manual_seed(2)
    mine = MultiHeadAttention(d_model=12, num_heads=3)
    theirs = nn.MultiheadAttention(12, 3, batch_first=True)
    projections = (mine.W_Q, mine.W_K, mine.W_V)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
        theirs.out_proj.weight.copy_(mine.W_O.weight)
        theirs.out_proj.bias.copy_(mine.W_O.bias)
    x = torch.randn(2, 6, 12)
    mask = causal_mask(6)
    output, weights = mine(x, x, x, mask)
    same_output, same_weights = theirs(x, x, x, attn_mask=~mask, average_attn_weights=False)
    print(f"outputs differ by at most {(output - same_output).abs().max():.1e}")
    print(f"weights differ by at most {(weights - same_weights).abs().max():.1e}")

# %% [markdown]
# ## 6 Where am I? Positions
#
# Self-attention sees a *bag* of words. Take two sentences with the same words and average the outputs: no
# difference is left.

# %%
torch.manual_seed(3)
words = {word: torch.randn(12) for word in ("dog", "bites", "man")}


def sentence(text):
    """The vectors of the words, as a batch of one: [1, L, 12]."""
    return torch.stack([words[word] for word in text.split()])[None]


if ready("multi-head-attention"):
    reader = MultiHeadAttention(d_model=12, num_heads=3)
    for text in ("dog bites man", "man bites dog"):
        x = sentence(text)
        output, _ = reader(x, x, x)
        print(f"{text}:", [round(v, 4) for v in output.mean(dim=1)[0, :4].tolist()])

# %% [markdown]
# We have to tell the model which word is where. The usual way is to **add** to each word's vector a second one,
# which depends only on the position. (Notebook 02 *appended* it; adding keeps the size the same.)

# %% [markdown]
# ### Sines of many lengths
#
# A binary counter writes a number with digits that change at different speeds: the last one at every step, the
# one before it at every second step, and so on. Sine positions do the same with smooth waves. The columns come
# in pairs, the sine and the cosine of one angle:
#
# $$\mathrm{PE}_{t,\,2i} = \sin\frac{t}{10000^{2i/D}} \qquad
#   \mathrm{PE}_{t,\,2i+1} = \cos\frac{t}{10000^{2i/D}} \qquad t, i = 0, 1, 2, \dots$$
#
# The first pair ($i = 0$) wraps around after $2\pi \approx 6.3$ positions. The last pair is far slower: the
# larger $D$, the closer its wavelength comes to $10000 \cdot 2\pi$.


# %%
def wavelength(i, D):
    return 2 * math.pi * 10000 ** (2 * i / D)


for i in range(4):
    print(f"D = 8, pair {i}: columns {2 * i} and {2 * i + 1}, wavelength {wavelength(i, 8):8.1f}")
print(
    f"D = 512, the last pair: wavelength {wavelength(255, 512):.0f}, 10000 · 2π = {20000 * math.pi:.0f}"
)

# %% [markdown]
# Play with the size, the length and the base. What does the base change?

# %%
from course_utils.widgets import position_explorer

position_explorer()

# %% [markdown]
# ### Exercise: `positional_encoding`
#
# {{exercise positional-encoding}}
#
# Return the table `[L, d_model]` of the equations above, where $D$ is `d_model`. Row `t` is position `t`; even
# columns are sines and odd ones are cosines; `t` and `i` count from 0. If `d_model` is odd, the last sine has no
# cosine: raise a `ValueError` that gives the number.


# %% nbgrader={"grade_id": "positional-encoding", "solution": true}
def positional_encoding(L, d_model):
    """Sine and cosine positions, [L, d_model]."""
    ### BEGIN SOLUTION
    if d_model % 2 != 0:
        raise ValueError(
            f"d_model must be even, with a sine and a cosine in each pair, but it is {d_model}."
        )
    t = torch.arange(L)[:, None]
    i = torch.arange(d_model // 2)[None, :]
    angle = t / 10_000 ** (2 * i / d_model)
    table = torch.zeros(L, d_model)
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle)
    return table
    ### END SOLUTION


# %% nbgrader={"grade_id": "positional-encoding-check", "grade": true}
result = check("positional-encoding")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("positional-encoding")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ### The dog bites the man, and not the other way round

# %%
if ready("multi-head-attention", "positional-encoding"):
    for text in ("dog bites man", "man bites dog"):
        x = sentence(text) + positional_encoding(3, 12)
        output, _ = reader(x, x, x)
        print(f"{text}:", [round(v, 4) for v in output.mean(dim=1)[0, :4].tolist()])

# %% [markdown]
# ### A step is a rotation
#
# Why sines *and* cosines? A pair $(\sin\theta, \cos\theta)$ is a point on a circle. Going $n$ positions further
# rotates it by the same angle $\delta$, *wherever* it starts:
#
# $$\begin{pmatrix}\sin(\theta + \delta)\\ \cos(\theta + \delta)\end{pmatrix} =
#   \begin{pmatrix}\cos\delta & \sin\delta\\ -\sin\delta & \cos\delta\end{pmatrix}
#   \begin{pmatrix}\sin\theta\\ \cos\theta\end{pmatrix}$$
#
# So there is one matrix $R_n$, the same for all $t$, with $\mathrm{PE}_{t+n} = R_n\,\mathrm{PE}_t$. "Three
# positions further on" is something that a linear layer can learn.


# %%
def rotation(n, d_model):
    """R_n: one small rotation per pair of columns."""
    R = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        delta = torch.tensor(n / 10_000 ** (2 * i / d_model))
        a, b = 2 * i, 2 * i + 1
        R[a, a], R[a, b] = torch.cos(delta), torch.sin(delta)
        R[b, a], R[b, b] = -torch.sin(delta), torch.cos(delta)
    return R


if ready("positional-encoding"):
    table = positional_encoding(50, 16)
    moved = table[:-3] @ rotation(3, 16).T
    print("PE[t + 3] = R_3 PE[t] for every t:", torch.allclose(moved, table[3:], atol=1e-5))

# %% [markdown]
# It follows that the dot product of two positions depends only on their distance. Each line below is for one
# distance, at three different positions:

# %%
if ready("positional-encoding"):
    products = table @ table.T
    for distance in (0, 1, 5, 20):
        row = [products[t, t + distance].item() for t in (0, 10, 25)]
        print(f"distance {distance:2}:", "  ".join(f"{value:.4f}" for value in row))

# %% [markdown]
# ## 7 Which comes first? (about {{given:20 seconds}})
#
# In this task, only the order counts. Of eight tokens, one is `A`, one is `B`, and the rest are noise: does `A`
# come before `B`? The model has embeddings, your attention, a mean over the positions and one linear layer. We
# train it once without positions and once with them.

# %%
from course_utils.training import fit, seed_everything


def draw(count, seed, length=8):
    """Tokens [count, length] with one A (0) and one B (1), and whether A comes first."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(2, 10, (count, length), generator=generator)
    places = torch.rand(count, length, generator=generator).argsort(dim=1)[:, :2]
    rows = torch.arange(count)
    tokens[rows, places[:, 0]], tokens[rows, places[:, 1]] = 0, 1
    return tokens, (places[:, 0] < places[:, 1]).float()


class WhichFirst(nn.Module):
    def __init__(self, positions=None, d_model=32):
        super().__init__()
        self.embedding = nn.Embedding(10, d_model)
        self.attention = MultiHeadAttention(d_model, num_heads=4)
        self.positions = 0.0 if positions is None else positions
        self.readout = nn.Linear(d_model, 1)

    def forward(self, tokens):
        x = self.embedding(tokens) + self.positions
        x = x + self.attention(x, x, x)[0]
        return self.readout(torch.relu(x).mean(dim=1)).squeeze(-1)


# %% [markdown]
# Make a guess before you train:

# %%
from course_utils.widgets import predict

guess = predict(
    "05 without positions",
    "Without positions: how many of 1,000 new sequences will the trained model get right?",
    unit="%",
    low=0,
    high=100,
)
guess


# %%
def loss(model, batch):
    tokens, answers = batch
    return nn.functional.binary_cross_entropy_with_logits(model(tokens), answers), len(tokens)


def validate(model):
    tokens, answers = draw(1000, seed=0)
    logits = model(tokens)
    value = nn.functional.binary_cross_entropy_with_logits(logits, answers)
    return {"loss": value.item(), "right": ((logits > 0) == (answers > 0)).float().mean().item()}


def batches(epoch):
    return [draw(64, seed=1 + 30 * epoch + i) for i in range(30)]


epochs = {"smoke": 3, "quick": 25, "full": 40}[budget]
results = {}
if ready("multi-head-attention", "positional-encoding"):
    for name, positions in (("none", None), ("sines", positional_encoding(8, 32))):
        seed_everything(0)
        model = WhichFirst(positions)
        history = fit(
            model,
            batches,
            loss,
            epochs=epochs,
            lr=3e-3,
            validate=validate,
            device="cpu",
            show=False,
        )
        results[name] = history.best["val_right"]
        print(f"positions: {name:6} right on new sequences: {results[name]:.1%}")
    display(guess.reveal(round(100 * results["none"])))

# %% [markdown]
# Without positions, the model stays at chance however long you train it: by the equality you proved, the mean of
# the outputs is the same for both orders. No amount of training gets past a symmetry.

# %% [markdown]
# ## Summary
#
# - Self-attention takes queries, keys and values from one sequence: softmax(QKᵀ / √d) V.
# - A mask puts −∞ into the scores *before* the softmax; a causal mask hides the future.
# - Heads are slices of the same matrices. They attend side by side, and W_O joins them.
# - Without a mask, A(PX) = P A(X): order means nothing, so we add positions to the words.
# - In sine positions, a step of n is a fixed rotation, and dot products depend only on the distance.
#
# Notebook 06 puts these parts together with residuals, norms and feed-forward layers, and trains the result
# on German and English.
