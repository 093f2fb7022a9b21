# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 03 · Attention in an RNN: reversing strings
#
# **{{minutes}} · {{points}}**
#
# After this notebook you can
# - write dot-product attention as a PyTorch module,
# - say what it does for an RNN, with numbers that you measured,
# - read an attention map.

# %% tags=["setup"]
import torch
from torch import nn

from course_utils import check, ready

# %% [markdown]
# ## 1 Dot-product attention
#
# The decoder has just computed its output $s_t$, the **query**. The encoder left one **state**
# $h_s$ for each source position. Attention compares, normalises, and mixes:
#
# $$z_{ts} = s_t \cdot h_s \qquad a_t = \mathrm{softmax}(z_t) \qquad c_t = \sum_s a_{ts} h_s$$
#
# The **context** $c_t$ joins the query, and one layer makes the *attentional hidden state*:
#
# $$\tilde s_t = \tanh\!\big(W_c\,[c_t; s_t]\big)$$

# %% [markdown]
# ### Exercise: `DotProdAttention`
#
# {{exercise dot-prod-attention}}
#
# `query` has the shape `[B, T, D]`, `states` has `[B, S, D]`. Return the attentional hidden states
# `[B, T, D]` and the weights `[B, T, S]`. There is no scale.

# %% nbgrader={"grade_id": "dot-prod-attention", "solution": true}
class DotProdAttention(nn.Module):
    """c_t = sum_s softmax(s_t . h_s) h_s, then tanh(W_c [c_t; s_t])."""

    def __init__(self, hidden_size):
        super().__init__()
        ### BEGIN SOLUTION
        self.output = nn.Linear(2 * hidden_size, hidden_size)
        ### END SOLUTION

    def forward(self, query, states):
        ### BEGIN SOLUTION
        scores = query @ states.transpose(1, 2)  # [B, T, S]
        weights = torch.softmax(scores, dim=-1)
        context = weights @ states  # [B, T, D]
        joined = torch.cat([context, query], dim=-1)
        return torch.tanh(self.output(joined)), weights
        ### END SOLUTION


# %% nbgrader={"grade_id": "dot-prod-attention-check", "grade": true}
result = check("dot-prod-attention")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("dot-prod-attention")
### END HIDDEN TESTS
result.points

# %% [markdown]
# ### Question: what does the map show?
#
# {{exercise reversal-map}}
#
# You train a model that reverses strings. What should the attention map look like, with the
# target steps as rows and the source positions as columns, and why?

# %% [markdown] nbgrader={"grade_id": "reversal-map", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# The anti-diagonal: step t needs the letter at position S - t + 1, so the largest weight of each
# row moves from the last column to the first. It need not be sharp everywhere: an LSTM state
# already holds its neighbours, so a state next to the right one can do as well.
# ### END SOLUTION
# === BEGIN MARK SCHEME ===
# - half a point: the anti-diagonal (or: attention runs backwards through the source);
# - half a point: because output step t is the source letter at position S - t + 1.
# === END MARK SCHEME ===
