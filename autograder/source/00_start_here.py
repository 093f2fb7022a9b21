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
# - tell whether your environment has everything the course needs,
# - do an exercise and read the result of its check,
# - write a PyTorch module whose layers can learn,
# - keep your work safe and hand in a notebook.
#
# The course assumes that you have met tensors and linear layers, and have trained a small network. Not
# sure? The page on [prerequisites](../docs/prerequisites.md) has a ten-minute self-test and tells you
# where to read up.

# %% [markdown]
# ## 1 Is everything here?
#
# Run each of the two cells below: click into it and press **Shift+Enter**.
# Any line that starts with ✗ tells you what to do.

# %% tags=["setup"]
import torch
from torch import nn

from course_utils import check, environment_check, ready

# %%
everything_is_here = environment_check()

# %% [markdown]
# ## 2 How an exercise works
#
# An exercise is a cell with a gap, followed by a cell that checks it.
#
# 1. Read the text and the example.
# 2. Replace `raise NotImplementedError()` with your own code, and run the cell.
# 3. Run the check below it. It lists what is right and what is not, and gives you a hint.
# 4. Change your code and check again, as often as you like.
#
# The check only looks at what your code *does*. How you write it is up to you.

# %% [markdown]
# ### The first one: a weighted average
#
# The whole course turns on one operation: the weighted average of a few vectors.
# Here are three of them, the values, with their weights:

# %%
values = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
weights = torch.tensor([2.0, 1.0, 1.0])

# %% [markdown]
# The larger its weight, the more a value counts. With weights $w_s$ and values $v_s$:
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
# returns their weighted average, of shape `[D]`. The weights need not sum to one, so divide by
# their sum. Your function should work for any `S` and `D`.

# %% nbgrader={"grade_id": "weighted-average", "solution": true}
def weighted_average(weights, values):
    """The average of the rows of `values`, weighted by `weights`."""
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
# Some cells need your answer, and tell you so until they have it. This is one of them:

# %%
if ready("weighted-average"):
    print("With weights 2, 1, 1:", weighted_average(weights, values).tolist())
    print("With weights 0, 0, 1:", weighted_average(torch.tensor([0.0, 0.0, 1.0]), values).tolist())

# %% [markdown]
# When all the weight is on one value, the average *is* that value. Attention is a way to compute
# the weights: it decides where to look, and then averages what it finds there.

# %% [markdown]
# ## 3 A first module
#
# In PyTorch, the thing that learns is a **module**: a class that holds layers and defines what they do
# with an input. Every model in this course is one. Here is a complete example. It computes a straight
# line, $y = a x + b$, in which $a$ and $b$ are to be learned:


# %%
class Line(nn.Module):
    """y = a x + b for numbers x [B]."""

    def __init__(self):
        super().__init__()  # always first, so that the module can find its layers
        self.linear = nn.Linear(1, 1)  # one number in, one out: a is its weight, b its bias

    def forward(self, x):
        column = x.unsqueeze(-1)  # [B] -> [B, 1]: a linear layer works on the last axis
        return self.linear(column).squeeze(-1)  # [B, 1] -> [B]


line = Line()
line(torch.tensor([0.0, 1.0, 2.0]))  # this runs forward

# %% [markdown]
# Two things happened behind the scenes. Calling `line(...)` ran `forward`. And because you assigned the
# layer to `self` after `super().__init__()`, the module knows its **parameters**, the numbers that can be
# learned:

# %%
for name, parameter in line.named_parameters():
    print(name, list(parameter.shape), parameter.tolist())

# %% [markdown]
# An **optimiser** takes these parameters and changes them a little at a time, so that a **loss** gets
# smaller. Let's teach the module $y = 3x - 1$:

# %%
torch.manual_seed(0)
x = torch.linspace(-1, 1, 20)
wanted = 3 * x - 1
optimiser = torch.optim.SGD(line.parameters(), lr=0.3)
for step in range(60):
    loss = ((line(x) - wanted) ** 2).mean()  # how wrong the line is
    optimiser.zero_grad()
    loss.backward()  # how the loss changes with each parameter
    optimiser.step()  # a small step that makes the loss smaller
    if step % 20 == 0:
        print(f"step {step:2}: loss {loss.item():.4f}")
print(f"a = {line.linear.weight.item():.2f}, b = {line.linear.bias.item():.2f}")

# %% [markdown]
# ### Exercise: `Scorer`
#
# {{exercise first-module}}
#
# Now write one yourself. It gives each vector a single number, its **score**. (Attention will turn scores
# into weights.) For a vector $x$:
#
# $$\mathrm{score}(x) = w_2 \cdot \tanh(W_1 x + b_1) + b_2$$
#
# - In `__init__`, create two linear layers: `self.hidden`, from `d_model` numbers to `size`, and
#   `self.readout`, from `size` numbers to one. Keep these names: the check sets the layers' parameters.
# - `forward` receives `x` of shape `[B, S, D]`: `B` sentences of `S` vectors, each of size `D = d_model`. A
#   linear layer works on the last axis, so you need no loop. Return the scores, of shape `[B, S]`.


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
# Where do the {{given:19}} parameters come from? The first layer has $3 \cdot 4 + 3$, the second $3 + 1$.

# %% [markdown]
# ## 4 Long cells and budgets
#
# From notebook 02 on, some cells train a model. Their headings tell you how long that takes on two CPU
# cores. The variable `budget`, near the top of those notebooks, sets how much they train: `"smoke"`
# takes seconds and learns little, `"quick"` takes minutes, and `"full"` reproduces the published figures.
#
# You can stop training at any time with the ■ button. The model keeps what it has learned so far.

# %% [markdown]
# ## 5 Keep your work
#
# On your own computer, a saved notebook is a file on your disk. **Colab forgets**: after a while without
# you, or overnight, the machine behind the notebook is taken away, along with every file on it.
#
# - **The notebook**: the badge opens a copy that is saved nowhere. Choose *File → Save a copy in Drive* before
#   you begin, and give the copy its old name again, without "Copy of". From then on, Ctrl+S saves it to
#   *My Drive → Colab Notebooks*. Your answers and outputs survive a disconnect.
# - **Variables** do not. After a disconnect, run the cells again from the top (*Runtime → Run before*).
# - **Trained models**: long training runs save their best parameters in the folder `checkpoints` and can
#   continue from there. In Colab the folder is kept on your Drive if you give the notebook access. To do
#   so, run these two lines at the start of a session that trains:
#
# ```python
# from google.colab import drive
# drive.mount("/content/drive")
# ```
#
# How far have you got, across all notebooks? `progress()` reads the saved ones, in this folder or on your
# Drive, and lists what has passed, what is left, and your points so far.

# %%
from course_utils import progress

progress()

# %% [markdown]
# ## 6 How to hand in
#
# - **Save** the notebook (Ctrl+S, or *File → Save*). In Colab: *File → Download → Download .ipynb*.
# - **Keep the file name**, and don't delete or duplicate the cells of an exercise.
# - **Run the last cell.** It lists what is done and what is missing.
# - Hand in the file in the way your instructor asks for.
#
# Your grade comes from the same checks, run on different numbers. Written answers are read by a person.

# %% [markdown]
# ## Summary
#
# - An exercise is a gap and a check; the check tells you what is wrong and why.
# - A module keeps its layers in `self`, after `super().__init__()`; `forward` defines what they do.
# - Attention is a weighted average. All that is missing is where the weights come from.
