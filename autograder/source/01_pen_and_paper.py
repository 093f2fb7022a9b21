# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 01 · Attention with pen and paper
#
# **{{minutes}} · {{points}}**
#
# After this notebook you can
# - compute attention by hand, for one query and for a whole sequence, and read two heads,
# - explain what each of Q, K and V does, because you have moved it,
# - build a query that copies one value or averages two, and explain why several heads help.
#
# Take a sheet of paper. You may leave the arithmetic to a pocket calculator or a Python cell.

# %% tags=["setup"]
import math

import torch

from course_utils import check, ready
from course_utils.by_hand import practice

# %% [markdown]
# **The numbers.** All matrices in this notebook come from `given`. Run the cell. If it asks for
# your id, put it between the quotes and run the cell again. Otherwise leave `student_id` empty.

# %%
student_id = ""
given = practice.my_numbers(student_id)

# %% [markdown]
# ## 1 One query
#
# Attention answers a question with a weighted average. The **query** is the question. Each
# candidate has a **key**, which is compared with the query, and a **value**, which is what you get.
# In this first section, the rows of a matrix X serve as both keys and values.

# %%
from course_utils.figures.pen_and_paper import one_query

one_query()

# %% [markdown]
# ### Drag it first
#
# Drag the query towards a key, then further out in the same direction. Which weight grows, and
# where does the output go? Solve the first two challenges, *Copy* and *Average*, before you
# compute anything.

# %%
from course_utils import playground

playground.show()

# %% [markdown]
# ### Loops first
#
# Here is a small example: three rows of size 2 and a query. Attention takes three steps.
#
# **Scores.** Take the dot product of the query with each row and divide it by $\sqrt d$. Here $d = 2$.

# %%
rows = [[1.0, 2.0], [3.0, 0.0], [-1.0, 1.0]]
query = [1.0, 0.5]

small_scores = []
for row in rows:
    dot = 0.0
    for x, y in zip(query, row):
        dot += x * y
    small_scores.append(dot / math.sqrt(2))
small_scores

# %% [markdown]
# **Weights.** Apply the softmax, $\alpha_s = \exp(z_s) / \sum_r \exp(z_r)$, where $z_s$ is the score of row
# $s$. The weights are positive and sum to one.

# %%
powers = [math.exp(z) for z in small_scores]
small_weights = [power / sum(powers) for power in powers]
small_weights

# %% [markdown]
# **Output.** Multiply each row by its weight and add them up.

# %%
[sum(p * row[c] for p, row in zip(small_weights, rows)) for c in range(2)]

# %% [markdown]
# The same with tensors takes one line per step:

# %%
R, r = torch.tensor(rows), torch.tensor(query)
p = torch.softmax(R @ r / math.sqrt(2), dim=0)
p @ R

# %% [markdown]
# ### Exercise: one query on four rows
#
# {{exercise single-query-numbers}}
#
# Here are four tokens, the rows of $X$, and a query $q$. Use **scaled** dot-product attention. (This
# question, and those of sections 2, 4 and 5, grew out of @[ist-practical].)

# %%
practice.show(X=given.X, q=given.q)

# %% [markdown]
# Fill in each number to three decimals: the scaled scores, the weights (called `probabilities`
# here) and the output. Vectors are written as rows. Where a number is still missing, leave the three
# dots; the rest is checked all the same.

# %% nbgrader={"grade_id": "single-query-numbers", "solution": true}
scores = [..., ..., ..., ...]
probabilities = [..., ..., ..., ...]
output = [..., ..., ...]
### BEGIN SOLUTION
scores = [2.598, 0.0, 2.598, 0.0]
probabilities = [0.465, 0.035, 0.465, 0.035]
output = [-1.663, 0.896, 0.035]
### END SOLUTION

# %% nbgrader={"grade_id": "single-query-numbers-check", "grade": true}
result = check("single-query-numbers")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("single-query-numbers")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ### Now move it
#
# The editor holds the small example: `Q` is the query, and `K` and `V` are both the three rows. Change
# a number, press Enter, and follow the chain: scores, scaled scores, softmax, output.
#
# 1. Which row gets most of the weight? How could you make another row win?
# 2. Multiply the query by 10. What happens to the weights? Then set it to zeros.
# 3. Change a number in `K`: the weights move. Undo that, and change a number in `V`: they don't. Why?
#
# Once you have your own answer to the exercise, choose its matrices from the menu *Start from* and
# compare step by step.

# %%
from course_utils.widgets import attention_editor

attention_editor(Q=[query], K=rows, V=rows)

# %% [markdown]
# ### Why divide by $\sqrt d$?
#
# Long vectors have large dot products. If the entries of both vectors are independent, with mean 0
# and variance 1, their dot product has a standard deviation of $\sqrt d$. Large scores make the softmax
# nearly all-or-nothing, and its gradient with respect to the scores almost vanishes. Untick *divide by
# √d* and let $d$ grow. Watch the weights, then the gradient.

# %%
from course_utils.widgets import softmax_explorer

softmax_explorer(size=64)

# %% [markdown]
# ## 2 Self-attention
#
# Now every token asks a question. Three matrices turn each row of $X$ into a query, a key and a value:
#
# $$Q = X W_Q \qquad K = X W_K \qquad V = X W_V$$
#
# $$P = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt d}\right) \qquad Z = P V$$
#
# Row $i$ of $P$ belongs to query $i$. The softmax runs along the row, over the keys, so **each row
# sums to one**. The size $d$ is that of the queries and keys: the number of columns of $Q$.

# %%
from course_utils.figures.transformer import self_attention_diagram

self_attention_diagram()

# %% [markdown]
# ### Exercise: self-attention on X
#
# {{exercise self-attention-numbers}}
#
# The tokens are the same as before, with these matrices:

# %%
practice.show(X=given.X, W_Q=given.W_Q, W_K=given.W_K, W_V=given.W_V)

# %% [markdown]
# The keys and values are worked out for you. Check one number of each to see where it comes from:

# %%
X = torch.tensor(given.X)
practice.show(K=X @ torch.tensor(given.W_K), V=X @ torch.tensor(given.W_V))

# %% [markdown]
# Choose **two** tokens. For each of them, fill in its row of $Q$, then of $P$, then of $Z$, and leave the
# dots in the other rows. Check $Q$ before you go on. Write very small probabilities as 0.

# %% nbgrader={"grade_id": "self-attention-numbers", "solution": true}
Q = [[..., ...], [..., ...], [..., ...], [..., ...]]
P = [[..., ..., ..., ...], [..., ..., ..., ...], [..., ..., ..., ...], [..., ..., ..., ...]]
Z = [[..., ...], [..., ...], [..., ...], [..., ...]]
### BEGIN SOLUTION
Q = [[-2.25, 4.5], [1.25, 2], [-1.25, 4.75], [-2.75, -3.5]]
P = [[0, 0, 0.002, 0.998], [0.597, 0.001, 0.401, 0], [0.015, 0, 0.237, 0.748], [0, 0.002, 0, 0.998]]
Z = [[-0.752, -1.507], [-2.296, -6.587], [-1.071, -2.476], [-0.748, -1.497]]
### END SOLUTION

# %% nbgrader={"grade_id": "self-attention-numbers-check", "grade": true}
result = check("self-attention-numbers")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("self-attention-numbers")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ### The attention map
#
# This is a map of the whole of $P$, with a row for each query and a column for each key. Find your two
# rows. Which token do most of the others look at? Which one looks somewhere else?

# %%
from course_utils.widgets import attention_map

tokens = ["x1", "x2", "x3", "x4"]
if ready("self-attention-numbers"):
    if check("self-attention-numbers", quiet=True).passed:
        queries, keys = X @ torch.tensor(given.W_Q), X @ torch.tensor(given.W_K)
        all_rows = torch.softmax(queries @ keys.T / math.sqrt(2), dim=-1)
        display(attention_map(all_rows, tokens, tokens, title="P of head 1"))
    else:
        print("The map appears here once your numbers are right.")

# %% [markdown]
# ### Now move it
#
# Here are fresh numbers for X and the three matrices.
#
# 1. Find the token that most of the others look at. Which of its numbers is the reason?
# 2. Choose **Q, K, V directly** to edit the queries, keys and values themselves.
# 3. Try a **causal mask**, with which no token may look at a later one. What must the first row of the
#    weights be, whatever the numbers are?

# %%
fresh = practice.numbers(11)
attention_editor(X=fresh.X, W_Q=fresh.W_Q, W_K=fresh.W_K, W_V=fresh.W_V)

# %% [markdown]
# ## 3 The same, with columns
#
# Many texts write vectors as **columns** and put the matrix on the left: $q = A_q h$. So does the next
# task, which comes from @[eecs182-discussion]. Elsewhere this notebook writes **rows**: $q = x W_Q$. The
# two agree when $W_Q = A_q^\top$. There is nothing deep about it, but if you mix them up, every score
# is wrong.
#
# Take three hidden states $h_1, h_2, h_3$ of a network. At step 2, self-attention computes a new state
# $h'_2$:

# %%
from course_utils.figures.pen_and_paper import one_step

one_step()

# %% [markdown]
# ### Exercise: scores of query 2
#
# {{exercise qkv-mechanics}}
#
# With columns, $q_i = A_q h_i$, $k_i = A_k h_i$ and $v_i = A_v h_i$. To save space, the matrix `h` below
# holds $h_1$, $h_2$ and $h_3$ as its rows.

# %%
practice.show(h=given.h, A_q=given.A_q, A_k=given.A_k, A_v=given.A_v)

# %% [markdown]
# 1. `raw_scores`: $q_2^\top k_1$, $q_2^\top k_2$ and $q_2^\top k_3$, not scaled.
# 2. `argmax_output`: suppose **argmax** replaces the softmax, so that the largest score gets
#    weight 1 and the others 0. What is $h'_2$?

# %% nbgrader={"grade_id": "qkv-mechanics", "solution": true}
raw_scores = [..., ..., ...]
argmax_output = [..., ...]
### BEGIN SOLUTION
raw_scores = [1054, 852, -396]
argmax_output = [23, 46]
### END SOLUTION

# %% nbgrader={"grade_id": "qkv-mechanics-check", "grade": true}
result = check("qkv-mechanics")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("qkv-mechanics")
result.points
### END HIDDEN TESTS

# %% [markdown]
# The editor multiplies rows, so it is given the **transposed** matrices. The numbers are fresh again.
# Work out one score with columns and find it in row 2. Then switch from argmax to softmax, and turn the
# scale on and off. With scores this large, does the scale matter? What temperature would?

# %%
attention_editor(
    X=fresh.h, W_Q=fresh.A_q.T, W_K=fresh.A_k.T, W_V=fresh.A_v.T, scale=False, rule="argmax"
)

# %% [markdown]
# ### Question: the equation
#
# {{exercise qkv-equation}}
#
# Write what the drawing above does as equations, with the softmax in its place:
# $h'_2 = \mathrm{SelfAttention}(h_1, h_2, h_3) = \;?$ You may give names to intermediate results.

# %% [markdown] nbgrader={"grade_id": "qkv-equation", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# With $q_2 = A_q h_2$, $k_i = A_k h_i$ and $v_i = A_v h_i$:
#
# $$z_i = q_2^\top k_i \qquad
# \alpha_i = \frac{\exp(z_i)}{\sum_{j=1}^{3} \exp(z_j)} \qquad
# h'_2 = \sum_{i=1}^{3} \alpha_i\, v_i$$
# ### END SOLUTION
#
# === BEGIN MARK SCHEME ===
# - 0.5: the weights are a softmax over the three scores $q_2^\top k_i$ (dividing by $\sqrt 2$ is
#   fine too, if the answer says so).
# - 0.5: the output is the sum of the values, each times its weight.
#
# Take nothing off for notation, or for projections that are not written out.
# === END MARK SCHEME ===

# %% [markdown]
# ## 4 Two heads
#
# One softmax gives one set of weights per query. A second **head** takes a second look, with
# matrices of its own. The outputs of the heads are joined side by side, and $W_O$ mixes them.

# %%
from course_utils.figures.pen_and_paper import two_heads

two_heads()

# %% [markdown]
# Head 1 is the one from section 2. In head 2, all entries of $W_Q$, $W_K$ and $W_V$ are ones, so every
# column of $Q_2$, $K_2$ and $V_2$ contains the sums of the rows of $X$. Here is the whole computation,
# with $Z_\text{total} = [Z_1, Z_2]\, W_O$:

# %%
W_O = torch.tensor(given.W_O)
heads = [(given.W_Q, given.W_K, given.W_V), (given.W_Q2, given.W_K2, given.W_V2)]

maps, joined = [], []
for W_Q, W_K, W_V in heads:
    queries, keys, values = (X @ torch.tensor(W) for W in (W_Q, W_K, W_V))
    maps.append(torch.softmax(queries @ keys.T / math.sqrt(2), dim=-1))
    joined.append(maps[-1] @ values)

Z_total = torch.cat(joined, dim=1) @ W_O  # [4, 2] and [4, 2] side by side, times [4, 3]
practice.show(Z_1=joined[0], Z_2=joined[1])
practice.show(W_O=W_O, Z_total=Z_total)

# %% [markdown]
# Two heads give two maps. In head 2, a score is proportional to the product of two row sums. It is large
# and positive when both sums are far from zero and **have the same sign**, and negative when their signs
# differ. Work out the sum of each row of X, and predict which token looks at which before you run the
# cell.

# %%
attention_map(torch.stack(maps), tokens, tokens, ["head 1", "head 2"], head=-2)

# %% [markdown]
# Now you have two heads to move. Give head 2 matrices other than ones. Then find a $W_O$ that ignores
# head 2. (This is the middle of the notebook and a good place for a break. Save your work first.)

# %%
names = ("X", "W_Q", "W_K", "W_V", "W_Q2", "W_K2", "W_V2", "W_O")
attention_editor(**{name: getattr(fresh, name) for name in names})

# %% [markdown]
# ## 5 Without multiplying matrices
#
# Matrices hide what happens to *one* token, so let's write it out with vectors. For query $i$ and key $j$:
#
# $$z_{ij} = \frac{q_i \cdot k_j}{\sqrt d} \qquad
# \alpha_{ij} = \frac{\exp(z_{ij})}{\sum_{r=1}^{L} \exp(z_{ir})} \qquad
# o_i = \sum_{j=1}^{L} \alpha_{ij}\, v_j$$
#
# ### Exercise: `attention_by_hand`
#
# {{exercise attention-by-hand}}
#
# `Q` and `K` are tensors of shape `[L, d]`, and `V` is one of shape `[L, dv]`. Return a tensor
# `[L, dv]`. You may use loops, dot products, and products of a vector with a matrix. **Never multiply
# two matrices with each other**: the check watches the shapes that reach PyTorch's operators, so
# `einsum` and clever broadcasting count too.


# %% nbgrader={"grade_id": "attention-by-hand", "solution": true}
def attention_by_hand(Q, K, V):
    """Scaled dot-product attention, one query at a time."""
    ### BEGIN SOLUTION
    outputs = []
    for q in Q:
        scores = torch.stack([q @ k for k in K]) / math.sqrt(K.shape[1])
        weights = torch.exp(scores) / torch.exp(scores).sum()
        outputs.append(sum(p * v for p, v in zip(weights, V)))
    return torch.stack(outputs)
    ### END SOLUTION


# %% nbgrader={"grade_id": "attention-by-hand-check", "grade": true}
result = check("attention-by-hand")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("attention-by-hand")
result.points
### END HIDDEN TESTS

# %% [markdown]
# Here is the same with matrices. Do the numbers agree?

# %%
if ready("attention-by-hand"):
    A, B, C = torch.randn(5, 3), torch.randn(5, 3), torch.randn(5, 2)
    by_matrices = torch.softmax(A @ B.T / math.sqrt(3), dim=-1) @ C
    print("the same:", torch.allclose(attention_by_hand(A, B, C), by_matrices, atol=1e-5))

# %% [markdown]
# **With heads.** Each head $h$ has its own matrices. A token is a row, so it goes on the left:
# $q_i^{(h)} = x_i W_Q^{(h)}$, and likewise for keys and values. The loops above run once per head. Only
# the last step is new: the outputs for one token are joined and mixed by a single $W_O$, as
# $[\,o_i^{(1)}, \ldots, o_i^{(H)}\,]\, W_O$. This is your function on the two heads of section 4:

# %%
if ready("attention-by-hand"):
    by_head = [attention_by_hand(*(X @ torch.tensor(W) for W in matrices)) for matrices in heads]
    z_1 = torch.cat([by_head[0][0], by_head[1][0]]) @ W_O
    print("token 1, by hand:     ", z_1.numpy().round(3))
    print("token 1, with matrices:", Z_total[0].numpy().round(3))

# %% [markdown]
# ## 6 What a query can do
#
# Let's turn the problem around: the keys are fixed, and you choose the query. (The four tasks come from
# @[seq2seq-assignment], which adapted them from @[cs224n].) There are $m$ keys of size $d$. They are
# **orthonormal**: each has length 1, and
# $k_i \cdot k_j = 0$ for $i \neq j$. The weights $\alpha$ and the output $o$ are
#
# $$\alpha_i = \frac{\exp(q \cdot k_i / \sqrt d)}{\sum_j \exp(q \cdot k_j / \sqrt d)} \qquad
# o = \sum_i \alpha_i v_i$$
#
# ### 6.1 Copying
#
# When is $o \approx v_j$? Find out in the editor before you write it down. Only `Q` can be changed.
# The distance to the goal is shown below the matrices. Once you have solved the challenge, a line to copy
# appears there too. Keep it for section 7.

# %%
copy_editor = attention_editor(challenge="copy-one")
copy_editor

# %% [markdown]
# What did you do? These are the dot products of your first query with the four keys, as they are in the
# editor now. Run the cell again once you have solved the challenge, and complete the sentence: the
# output is close to $v_j$ when $q \cdot k_j$ is …

# %%
state = copy_editor.result()
(state["Q"][0] @ state["K"].T).round(3)

# %% [markdown]
# ### Exercise: `copy_query`
#
# {{exercise copy-query}}
#
# Return a query of shape `[d]` with which attention returns the value that belongs to `keys[j]`, to
# within 0.01. `j` counts from 0. **Any** query that does this is right. The check tries 4, 16 and 200
# keys.


# %% nbgrader={"grade_id": "copy-query", "solution": true}
def copy_query(keys, j):
    """A query for which the output is (nearly) the value that belongs to keys[j]."""
    ### BEGIN SOLUTION
    # Only k_j has a nonzero dot product with this query. The factor makes its score 100.
    return 100 * math.sqrt(keys.shape[1]) * keys[j]
    ### END SOLUTION


# %% nbgrader={"grade_id": "copy-query-check", "grade": true}
result = check("copy-query")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("copy-query")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ### How long is long enough?
#
# The direction of a query decides *which* key wins, and its length decides by *how much*. If the right
# key has the score $z$ and the $m - 1$ others have 0, its weight is $\exp(z) / (\exp(z) + m - 1)$. So $z$
# has to be well above $\ln m$:

# %%
for m in (4, 16, 200):
    shares = [math.exp(z) / (math.exp(z) + m - 1) for z in (0.5, 1, 5, 10, 20)]
    print(f"m = {m:3}, ln m = {math.log(m):.1f}:", "  ".join(f"{share:.3f}" for share in shares))

# %% [markdown]
# The columns are $z = 0.5, 1, 5, 10, 20$. A query of length 1 has $z \le 1/\sqrt d$, which is too little
# to single out a key, even in exactly the right direction. So a query needs a large factor:
# $q = c\,k_j$ has the score $z = c / \sqrt d$.

# %% [markdown]
# ### 6.2 The average of two
#
# The next goal is the mean of $v_1$ and $v_3$, in row 2. What must be true of the two scores?

# %%
average_editor = attention_editor(challenge="average-two")
average_editor

# %% [markdown]
# ### Exercise: `average_query`
#
# {{exercise average-query}}
#
# Return a query with which the output is $\frac12 (v_a + v_b)$, to within 0.01, where $v_a$ and $v_b$
# belong to `keys[a]` and `keys[b]`. Make sure that it is long enough.


# %% nbgrader={"grade_id": "average-query", "solution": true}
def average_query(keys, a, b):
    """A query for which the output is (nearly) the mean of the values of keys[a] and keys[b]."""
    ### BEGIN SOLUTION
    return 100 * math.sqrt(keys.shape[1]) * (keys[a] + keys[b])
    ### END SOLUTION


# %% nbgrader={"grade_id": "average-query-check", "grade": true}
result = check("average-query")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("average-query")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ### 6.3 Noise
#
# Real keys are not that tidy. Suppose that each key is its direction $\mu_i$ times a random factor,
# $k_i = \lambda_i \mu_i$, where $\lambda_i$ has mean 1 and variance $\beta$. The directions
# $\mu_i$ are orthonormal. You build the query from the directions, as before:
# $q = c\,(\mu_a + \mu_b)$.
#
# Below, your `average_query` faces 300 draws of the noise, with $\beta = 0.05$. The values are
# chosen to make the effect visible: $v_a = (1, 0)$, $v_b = (0, 1)$, and all others are 0. Guess first:
# where will the points lie?

# %%
from course_utils.by_hand import orthonormal, outputs, spread_plot

directions = torch.from_numpy(orthonormal(8, 16))
values = torch.zeros(8, 2)
values[2, 0] = values[5, 1] = 1.0  # a = 2, b = 5

if ready("average-query"):
    one_head = outputs(directions, [average_query(directions, 2, 5)], values, 0.05, draws=300)
    display(spread_plot({"one head": one_head}))

# %% [markdown]
# ### Question: the noisy average
#
# {{exercise noisy-average}}
#
# Let $q = c\,(\mu_a + \mu_b)$ and $k_i = \lambda_i \mu_i$.
# 1. Derive $q \cdot k_a$ and $q \cdot k_b$ in terms of $c$ and the $\lambda$s.
# 2. Describe how the output changes when the $\lambda$s are drawn again and again.
# 3. What changes if the query is built from the noisy keys themselves, $q = c\,(k_a + k_b)$?

# %% [markdown] nbgrader={"grade_id": "noisy-average", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# 1. $q \cdot k_a = c\,(\mu_a + \mu_b) \cdot \lambda_a \mu_a = c\,\lambda_a$, because
#    $\mu_a \cdot \mu_a = 1$ and $\mu_b \cdot \mu_a = 0$. In the same way, $q \cdot k_b = c\,\lambda_b$.
#    All other scores are 0.
# 2. The ratio of the two weights is $\exp(c\,(\lambda_a - \lambda_b)/\sqrt d)$. Since $c$ must be large, a
#    small difference between the two factors is enough to give nearly all the weight to the larger one.
#    From draw to draw the output jumps between points close to $v_a$ and points close to $v_b$. It is
#    rarely near their mean, although its average over many draws is. A factor below zero gives that key
#    less weight than the keys we don't want.
# 3. Then $q \cdot k_a = c\,\lambda_a^2$ and $q \cdot k_b = c\,\lambda_b^2$, both with mean
#    $c\,(1 + \beta)$. The squares differ more than the factors do, so the output is no steadier. But
#    a negative factor now does no harm.
# ### END SOLUTION
#
# === BEGIN MARK SCHEME ===
# - 1: $q \cdot k_a = c\lambda_a$ and $q \cdot k_b = c\lambda_b$, with the reason (orthonormal
#   directions). Accept a missing $c$ if the answer sets it to 1 or leaves it out on purpose.
# - 0.5: the output swings between $v_a$ and $v_b$ (or: the softmax amplifies the difference between
#   the factors). "It varies" alone is not enough.
# - 0.5: with the noisy keys it is $c\lambda_a^2$. Its mean, $c(1 + \beta)$, is not required.
# === END MARK SCHEME ===

# %% [markdown]
# ### 6.4 Two heads against the noise
#
# Two heads have two queries, and the output is the mean of theirs: $o = \frac12 (o_1 + o_2)$. The keys are
# as noisy as before. Try it in the editor first.

# %%
noise_editor = attention_editor(challenge="two-heads-noise")
noise_editor

# %% [markdown]
# ### Exercise: `two_head_queries`
#
# {{exercise two-head-queries}}
#
# Return two queries, built from the `directions` $\mu_i$, such that the mean of the two heads stays at
# $\frac12 (v_a + v_b)$ in every draw. In the check, the variance is 0.1 and no factor is below 0.25.


# %% nbgrader={"grade_id": "two-head-queries", "solution": true}
def two_head_queries(directions, a, b):
    """Two queries, one per head. The mean of their outputs is (nearly) the mean of values a and b."""
    ### BEGIN SOLUTION
    c = 200 * math.sqrt(directions.shape[1])
    return c * directions[a], c * directions[b]
    ### END SOLUTION


# %% nbgrader={"grade_id": "two-head-queries-check", "grade": true}
result = check("two-head-queries")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("two-head-queries")
result.points
### END HIDDEN TESTS

# %% [markdown]
# Here is one head against two, on the same draws:

# %%
if ready("average-query", "two-head-queries"):
    two = outputs(directions, two_head_queries(directions, 2, 5), values, 0.05, draws=300)
    display(spread_plot({"one head": one_head, "two heads": two}))

# %% [markdown]
# Each head has only one key to find. Noise changes how sure the head is, not what it finds.
#
# There is a limit. With more noise, some factors fall **below zero**. Then $q_1 \cdot k_a = c\lambda_a$
# is negative, and head 1 gives its weight to every key except $k_a$. With $\beta = 0.5$, about one factor
# in thirteen is negative:

# %%
if ready("average-query", "two-head-queries"):
    pair = two_head_queries(directions, 2, 5)
    one_loud = outputs(directions, [average_query(directions, 2, 5)], values, 0.5, draws=300)
    two_loud = outputs(directions, pair, values, 0.5, draws=300)
    display(spread_plot({"one head": one_loud, "two heads": two_loud}))

# %% [markdown]
# ### Question: why several heads?
#
# {{exercise why-several-heads}}
#
# A transformer layer has several heads. What can they do that one head can't easily do?
# (Hint: why does a convolutional layer have more than one filter?)

# %% [markdown] nbgrader={"grade_id": "why-several-heads", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# One softmax gives one set of weights per query, and it favours the largest score: anything slightly
# weaker is nearly lost. Several heads have separate projections, so each can look for a different
# feature in different places, just as each filter of a convolutional layer finds a different
# pattern, except that a head can reach across the whole sequence. The results are joined side by side, and
# W_O combines them. As the noisy average shows, one head that has to serve two purposes is fragile, while
# two heads with one purpose each are not.
# ### END SOLUTION
#
# === BEGIN MARK SCHEME ===
# - 0.5: different heads attend to different features or places at once, each with its own
#   projections (or the comparison with several filters, explained).
# - 0.5: why one head is not enough: its single softmax amplifies the strongest score and mutes the rest,
#   or averages what should be kept apart, or is fragile under noise.
# === END MARK SCHEME ===

# %% [markdown]
# ## 7 Eight challenges
#
# You have met three of them. The other five are in the menu *Challenge*. In each, you can change one
# thing, and the editor shows the distance to the goal as you do. *Look one step back* and *A running
# mean* prepare for notebooks 05 and 07.

# %%
challenge_editor = attention_editor(challenge="copy-everywhere")
challenge_editor

# %% [markdown]
# ### Exercise: hand in your challenges
#
# {{exercise editor-challenges}}
#
# For each challenge you solve, the editor has a line of code in the field *Copy to your answer* (click
# into it, then press Ctrl+A and Ctrl+C, or ⌘A and ⌘C). Paste these lines below, together with those from
# the editors in section 6. They contain your numbers and nothing else. **Any** numbers that reach the
# goal are right, and the check works out the distance itself. All challenges count the same.

# %% nbgrader={"grade_id": "editor-challenges", "solution": true}
challenge_answers = {}
# Paste the lines below this one.
### BEGIN SOLUTION
challenge_answers["copy-one"] = {"Q": [[20, 20, -20, -20], [0, 0, 0, 0]]}
challenge_answers["average-two"] = {"Q": [[0, 0, 0, 0], [30, 30, 0, 0]]}
challenge_answers["copy-everywhere"] = {
    "K": [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [30, 0, 0, 0]]
}
challenge_answers["mean-of-all"] = {"K": [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]}
challenge_answers["running-mean"] = {
    "mask": [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
}
challenge_answers["half-weight"] = {"temperature": 2.38}
challenge_answers["look-back"] = {
    "W_Q": [[0, 0, 0, 0], [20, 0, 0, 0], [0, 20, 0, 0], [0, 0, 20, 0]]
}
challenge_answers["two-heads-noise"] = {"Q": [[20, 20, 20, 20]], "Q2": [[20, -20, 20, -20]]}
### END SOLUTION

# %% nbgrader={"grade_id": "editor-challenges-check", "grade": true}
result = check("editor-challenges")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("editor-challenges")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ## 8 Practise with fresh numbers
#
# These are the same questions with other matrices. Change the seed, and choose `"single-query"`,
# `"self-attention"`, `"two-heads"` or `"columns"`. Nothing here is graded.

# %%
task = practice.practise("single-query", seed=1)
task

# %% [markdown]
# Each call of `hint` reveals more: first what to do, then the first number in full.

# %%
task.hint()
task.hint()

# %% [markdown]
# Check what you have as often as you like. You can check one array at a time.

# %%
task.check(scores=[0, 0, 0, 0])

# %% [markdown]
# To see the whole solution, step by step, remove the `#`:

# %%
# task.solution()

# %% [markdown]
# ## Summary
#
# - Scores compare the query with the keys, the softmax turns them into weights, and the weights mix the
#   values.
# - Dividing by $\sqrt d$ keeps the softmax soft. Each **row** of the map sums to one.
# - With rows or with columns: $xW$ and $A h$ are the same if $W = A^\top$.
# - The direction of a query decides where it looks, and its length how firmly.
# - One head has one softmax. Several heads can look for several things, and cope with more noise.
