# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 00 · Start here
#
# **{{minutes}} · {{points}}**
#
# After this notebook you can
# - tell whether your environment has everything that the course needs,
# - do an exercise and read the result of its check,
# - hand in a notebook.

# %% [markdown]
# ## 1 Is everything here?
#
# Run the cell below: click into it and press **Shift+Enter**.
# Each line that starts with ✗ tells you what to do.

# %% tags=["setup"]
import torch

from course_utils import check, environment_check, ready

# %%
environment_check()

# %% [markdown]
# ## 2 How an exercise works
#
# An exercise is a cell with a gap, and a cell that checks it.
#
# 1. Read the text and the example.
# 2. Replace `raise NotImplementedError()` by your own code, and run the cell.
# 3. Run the check below it. It lists what is right and what is not, and gives one hint.
# 4. Change your code and check again, as often as you like.
#
# The check looks only at what your code *does*. Names and style inside are up to you.

# %% [markdown]
# ### A first one: the weighted average
#
# All of this course turns on one operation: the weighted average of some vectors.
# Three values and three weights:

# %%
values = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
weights = torch.tensor([2.0, 1.0, 1.0])

# %% [markdown]
# Each value counts as much as its weight says. With weights $w_s$ and values $v_s$:
#
# $$\bar v = \frac{\sum_s w_s \, v_s}{\sum_s w_s}$$
#
# By hand, for the first component:

# %%
(2 * 1.0 + 1 * 0.0 + 1 * 2.0) / (2 + 1 + 1)

# %% [markdown]
# ### Exercise: `weighted_average`
#
# {{exercise weighted-average}}
#
# Write a function that takes `weights` of shape `[S]` and `values` of shape `[S, D]`, and
# returns the weighted average, of shape `[D]`. The weights need not sum to one: divide by
# their sum. It should work for any `S` and `D`.

# %% nbgrader={"grade_id": "weighted-average", "solution": true}
def weighted_average(weights, values):
    """The average of the rows of `values`, each counted as much as its weight says."""
    ### BEGIN SOLUTION
    return weights @ values / weights.sum()
    ### END SOLUTION


# %% nbgrader={"grade_id": "weighted-average-check", "grade": true}
result = check("weighted-average")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("weighted-average")
result.points
### END HIDDEN TESTS

# %% [markdown]
# A cell that needs your answer says so until it is there. This one does:

# %%
if ready("weighted-average"):
    print("With weights 2, 1, 1:", weighted_average(weights, values).tolist())
    print("With weights 0, 0, 1:", weighted_average(torch.tensor([0.0, 0.0, 1.0]), values).tolist())

# %% [markdown]
# With all the weight on one value, the average *is* that value. Attention is a way to compute
# the weights: it looks, and then averages what it looked at.

# %% [markdown]
# ## 3 Long cells and budgets
#
# From notebook 02 on, some cells train a model. Their headings say how long that takes on two CPU
# cores. The variable `budget`, near the top of those notebooks, sets how much is trained: `"smoke"`
# takes seconds and learns little, `"quick"` takes minutes, `"full"` gives the published figures.
#
# You can stop training at any time with the ■ button: the model keeps what it has learned so far.

# %% [markdown]
# ## 4 How to hand in
#
# - **Save** the notebook (Ctrl+S, or *File → Save*). In Colab: *File → Download → Download .ipynb*.
# - **Keep the file's name**, and don't delete or copy the cells of exercises.
# - **Run the last cell.** It lists what is done and what is not.
# - Hand the file in the way your instructor asks for.
#
# Your grade comes from the same checks on other numbers. Written answers are read by a person.

# %% [markdown]
# ## Summary
#
# - An exercise is a gap and a check; the check tells you what is wrong and why.
# - A weighted average is all of attention but the weights.
