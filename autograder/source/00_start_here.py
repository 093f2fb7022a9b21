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
# - write a module of PyTorch, with layers that can learn,
# - keep your work, and hand in a notebook.
#
# The course assumes that you have met tensors, linear layers and the training of a small network. Not
# sure? The page on [prerequisites](../docs/prerequisites.md) has a ten-minute self-test, and tells you
# where to read up.

# %% [markdown]
# ## 1 Is everything here?
#
# Run the cell below: click into it and press **Shift+Enter**.
# Each line that starts with ✗ tells you what to do.

# %% tags=["setup"]
import torch
from torch import nn

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
# ## 3 A first module
#
# What learns in PyTorch is a **module**: a class that keeps its layers, and says what they do to an
# input. Every model of this course is one. Here is a small one, complete. It has a line
# $y = a x + b$, with $a$ and $b$ to be learned:


# %%
class Line(nn.Module):
    """y = a x + b for numbers x [B]."""

    def __init__(self):
        super().__init__()  # always first: it lets the module find its layers
        self.linear = nn.Linear(1, 1)  # a layer with one weight a and one bias b

    def forward(self, x):
        column = x.unsqueeze(-1)  # [B] -> [B, 1]: a linear layer works on the last axis
        return self.linear(column).squeeze(-1)  # [B, 1] -> [B]


line = Line()
line(torch.tensor([0.0, 1.0, 2.0]))  # calls forward

# %% [markdown]
# Two things happened without your doing. Calling `line(...)` ran `forward`. And because the layer was put
# into `self` after `super().__init__()`, the module knows its **parameters**, the numbers that can be
# learned:

# %%
for name, parameter in line.named_parameters():
    print(name, list(parameter.shape), parameter.tolist())

# %% [markdown]
# An **optimiser** gets those parameters and changes them, a little at a time, so that a **loss** becomes
# smaller. Teach it $y = 3x - 1$:

# %%
torch.manual_seed(0)
x = torch.linspace(-1, 1, 20)
wanted = 3 * x - 1
optimiser = torch.optim.SGD(line.parameters(), lr=0.3)
for step in range(60):
    loss = ((line(x) - wanted) ** 2).mean()  # how wrong it is
    optimiser.zero_grad()
    loss.backward()  # in which direction each parameter makes it worse
    optimiser.step()  # a small step the other way
    if step % 20 == 0:
        print(f"step {step:2}: loss {loss.item():.4f}")
print(f"a = {line.linear.weight.item():.2f}, b = {line.linear.bias.item():.2f}")

# %% [markdown]
# ### Exercise: `Scorer`
#
# {{exercise first-module}}
#
# Now yours. It gives each vector one number, a **score**. (Attention will turn scores into weights.) For a
# vector $x$:
#
# $$\mathrm{score}(x) = w_2 \cdot \tanh(W_1 x + b_1) + b_2$$
#
# - In `__init__`, make two linear layers: `self.hidden`, from `d_model` to `size` numbers, and
#   `self.readout`, from `size` numbers to one. Keep these names: the check fills the layers with numbers.
# - `forward` gets `x` of shape `[B, S, D]`: `B` sentences of `S` vectors, each of size `D = d_model`. A
#   linear layer works on the last axis, so no loop is needed. Return the scores as `[B, S]`.


# %% nbgrader={"grade_id": "first-module", "solution": true}
class Scorer(nn.Module):
    """One score per vector: readout(tanh(hidden(x)))."""

    def __init__(self, d_model, size):
        super().__init__()
        ### BEGIN SOLUTION
        self.hidden = nn.Linear(d_model, size)
        self.readout = nn.Linear(size, 1)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        return self.readout(torch.tanh(self.hidden(x))).squeeze(-1)
        ### END SOLUTION


# %% nbgrader={"grade_id": "first-module-check", "grade": true}
result = check("first-module")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("first-module")
result.points
### END HIDDEN TESTS

# %%
if ready("first-module"):
    scorer = Scorer(d_model=4, size=3)
    count = sum(parameter.numel() for parameter in scorer.parameters())
    print("scores:", list(scorer(torch.randn(2, 5, 4)).shape), "· parameters:", count)

# %% [markdown]
# Where do the {{given:19}} parameters come from? $3 \cdot 4 + 3$ in the first layer, $3 + 1$ in the second.

# %% [markdown]
# ## 4 Long cells and budgets
#
# From notebook 02 on, some cells train a model. Their headings say how long that takes on two CPU
# cores. The variable `budget`, near the top of those notebooks, sets how much is trained: `"smoke"`
# takes seconds and learns little, `"quick"` takes minutes, `"full"` gives the published figures.
#
# You can stop training at any time with the ■ button: the model keeps what it has learned so far.

# %% [markdown]
# ## 5 Keep your work
#
# At home, a saved notebook is a file on your disk. **Colab forgets**: after some time without you, or at
# night, the machine behind the notebook is taken away, with all files on it.
#
# - **The notebook**: a badge opens a copy that belongs to nobody. Choose *File → Save a copy in Drive* before
#   you begin, and rename the copy to the name it had, without "Copy of". From then on Ctrl+S saves it to
#   *My Drive → Colab Notebooks*. Answers and outputs survive a disconnect.
# - **What ran** does not. After a disconnect, run the cells again from the top (*Runtime → Run before*).
# - **Trained models**: long trainings save their best weights and go on from there, in the folder
#   `checkpoints`. In Colab they are kept on your Drive, if you let the notebook see it. Run these two lines
#   at the beginning of a session that trains:
#
# ```python
# from google.colab import drive
# drive.mount("/content/drive")
# ```
#
# What have you done so far, in all notebooks? `progress()` reads the saved ones, in this folder or in your
# Drive, and lists what has passed, what is left, and the points so far.

# %%
from course_utils import progress

progress()

# %% [markdown]
# ## 6 How to hand in
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
# - A module keeps its layers in `self`, after `super().__init__()`; `forward` says what they do.
# - A weighted average is all of attention but the weights.
