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
# - say what it does for an RNN, backed by numbers that you measured yourself,
# - read an attention map, and say what it does not show.

# %% tags=["setup"]
import torch
from torch import nn

from course_utils import check, ready

# %%
from IPython.display import display

from course_utils.figures.chart import Line, line_chart
from course_utils.figures.bottleneck_plots import results
from course_utils.recurrent import answer, reversal
from course_utils.widgets import attention_map, predict

_ = torch.manual_seed(0)

# %% [markdown]
# ## 1 The task: reverse a string
#
# This task comes from @[ist-practical]. The source is a string of the letters a, b, c and d, and the target
# is the same string backwards. That is easy to state but hard for an RNN: the decoder writes the *first*
# letter of the source *last*, so the model has to remember it the whole time.

# %%
batch = reversal.TASK.draw(3, 12, seed=0)
for source, target in zip(batch.source, batch.wanted):
    print(reversal.TASK.write(source), "→", reversal.TASK.write(target))

# %% [markdown]
# The model has two LSTMs: the **encoder** reads the source and the **decoder** writes the target. (An LSTM is
# a recurrent network whose gates decide what to keep in a memory, the *cell* [@hochreiter1997].) All that passes between
# them is the encoder's final state: 64 numbers of hidden state and 64 more in the cell.
#
# ```
# a  b  d  c      c  d  b  a  end
# ↓  ↓  ↓  ↓      ↑  ↑  ↑  ↑  ↑
# □→ □→ □→ □ ═══> □→ □→ □→ □→ □
# encoder     ↑       decoder
#         bottleneck
# ```
#
# All settings are fixed in advance, with the learning rate that suits *this* model best. The model with
# attention will get the same, so the comparison does not favour it.

# %%
print("strings of", reversal.LENGTHS[0], "to", reversal.LENGTHS[-1], "letters")
print("hidden size", reversal.HIDDEN, "· learning rate", reversal.LEARNING_RATE)
print("epochs:", reversal.EPOCHS[budget], "· each of", reversal.BATCHES, "batches of", reversal.BATCH)

# %% [markdown]
# ### Train without attention (about a minute)
#
# While it trains, make a guess: what share of the letters will it get right?

# %%
plain = reversal.make_model(attention=None)
history = reversal.train(plain, budget=budget)

# %%
without = reversal.accuracy(plain)
print(f"letters right: {without['characters']:.1%} · whole strings right: {without['strings']:.1%}")

# %% [markdown]
# The two measures can differ a lot. A string counts only if *every* letter is right, so a model that gets
# most letters right can still get many strings wrong.

# %%
for line in ("abacadabacc", "ddddddccccccaaaa", "abcdabcdabcdabcdabcd"):
    written, _ = answer(plain, reversal.TASK, line)
    print(f"{line:>22} → {written:<22} {'right' if written == line[::-1] else 'wrong'}")

# %% [markdown]
# ## 2 Dot-product attention
#
# The encoder computes a state for *every* letter, but so far the model has thrown away all except the last.
# Attention keeps them all [@bahdanau2015]; the form we use comes from @[luong2015]. At each step the
# decoder's output $s_t$ is the **query**, which is compared with all the **states** $h_1 \dots h_S$:
#
# | step | equation | what it gives for one query |
# | --- | --- | --- |
# | compare | $z_{ts} = s_t \cdot h_s$ | one score per source position |
# | normalise | $\alpha_t = \mathrm{softmax}(z_t)$ | weights that sum to one |
# | mix | $c_t = \sum_s \alpha_{ts}\, h_s$ | the **context**, the same size as a state |
# | join | $\tilde s_t = \tanh\!\big(W_c\,[c_t; s_t]\big)$ | the *attentional hidden state* |
#
# The first three rows are the `attention` of notebook 02, with the states as both keys *and* values and the
# dot product as the score. That function took one query per text. A decoder has `T` of them, one per target
# step, so we build the module in four small steps: a loop, a batch, the join, the module.
#
# ### Step 1: a loop over the target steps
#
# Nothing is new here: we take one query after another.

# %%
def one_query(query, states):
    """Context [B, D] and weights [B, S] for one query [B, D], as in notebook 02."""
    scores = torch.stack([states[b] @ query[b] for b in range(len(query))])  # [B, S]
    weights = torch.softmax(scores, dim=-1)
    context = torch.stack([weights[b] @ states[b] for b in range(len(query))])
    return context, weights


def in_a_loop(query, states):
    """Contexts [B, T, D] and weights [B, T, S] for queries [B, T, D], one step after another."""
    steps = [one_query(query[:, t], states) for t in range(query.shape[1])]
    return torch.stack([c for c, _ in steps], dim=1), torch.stack([w for _, w in steps], dim=1)


queries, states = torch.randn(2, 4, 3), torch.randn(2, 5, 3)  # B = 2, T = 4, S = 5, D = 3
contexts, weights = in_a_loop(queries, states)
print("contexts", tuple(contexts.shape), "weights", tuple(weights.shape))

# %% [markdown]
# ### Step 2: all steps at once
#
# For a single text, the scores of all steps are one matrix product: `queries[b] @ states[b].T` is
# `[T, D] @ [D, S] = [T, S]`, with one row per step. For a whole batch, `@` multiplies text by text; it needs
# the states as `[B, D, S]`, which is the shape of `states.transpose(1, 2)`. Write the three lines without a
# loop, and compare. (This step carries no points, but your module will need the same lines.)


# %%
def all_at_once(query, states):
    """The same as `in_a_loop`, in three lines."""
    # first the scores, [B, T, S]
    weights = None  # the softmax of the scores over the source
    context = None  # [B, T, D]
    return context, weights


for name, mine, wanted in zip(
    ("contexts", "weights"), all_at_once(queries, states), (contexts, weights), strict=True
):
    if mine is None:
        print(f"{name}: not written yet")
    elif mine.shape != wanted.shape:
        print(f"{name}: the shape is {list(mine.shape)}, but should be {list(wanted.shape)}")
    else:
        apart = float((mine - wanted).abs().max())
        print(f"{name}: {'the same' if apart < 1e-5 else f'they differ by up to {apart:.3f}'}")

# %% [markdown]
# ### Step 3: the join, for one step
#
# The last row of the table puts context and query end to end, which makes `2D` numbers, and maps them back
# to `D`. In PyTorch the parameters $W_c$ belong to a layer, `nn.Linear`. (It also adds an offset, which does no
# harm.) For the first step of the first text:

# %%
layer = nn.Linear(6, 3)  # from 2D = 6 numbers to D = 3
end_to_end = torch.cat([contexts[0, 0], queries[0, 0]])
print("joined", list(end_to_end.shape), "result", list(torch.tanh(layer(end_to_end)).shape))

# %% [markdown]
# ### Step 4: the module
#
# The join has parameters, so what you write next is an `nn.Module`, as in notebook 00: its layers are made
# in `__init__` and used in `forward`.

# %% [markdown]
# ### Exercise: `DotProdAttention`
#
# {{exercise dot-prod-attention}}
#
# Put steps 2 and 3 together, for the whole batch. Begin with your `all_at_once`: copy its lines, or call it. A
# loop over the steps is allowed too, but batched matrix products are shorter and much faster.
#
# - `query` has the shape `[B, T, D]`: the decoder's outputs at all `T` target steps.
# - `states` has the shape `[B, S, D]`: the encoder's states.
# - Return the attentional hidden states `[B, T, D]` and the weights `[B, T, S]`, in this order.
# - The scores are not scaled, and $W_c$ is one linear layer that you create in `__init__`.
#
# Useful: `a @ b` and `torch.bmm` multiply batches of matrices, `x.transpose(1, 2)` swaps two axes, and
# `torch.softmax(x, dim=...)` and `torch.cat([...], dim=...)` work along one axis. Note the shape after each
# line in a comment: that is where most mistakes show up.

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
        weights = torch.softmax(scores, dim=-1)  # each row sums to one
        context = weights @ states  # [B, T, D]
        joined = torch.cat([context, query], dim=-1)  # [B, T, 2D]
        return torch.tanh(self.output(joined)), weights
        ### END SOLUTION


# %% nbgrader={"grade_id": "dot-prod-attention-check", "grade": true}
result = check("dot-prod-attention")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("dot-prod-attention")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ### Train with attention (about a minute)
#
# The sizes, the learning rate and the data are the same as before. The only change is your module.

# %%
if ready("dot-prod-attention"):
    attentive = reversal.make_model(lambda: DotProdAttention(reversal.HIDDEN))
    history_attentive = reversal.train(attentive, budget=budget)

# %%
if ready("dot-prod-attention"):
    with_attention = reversal.accuracy(attentive)
    print(f"{'':>15}  letters  strings")
    for name, shares in [("without", without), ("with attention", with_attention)]:
        print(f"{name:>15}  {shares['characters']:7.1%}  {shares['strings']:7.1%}")

# %% [markdown]
# A single run proves little, so here is what five seeds gave us with the quick budget (30 epochs). The practical
# that the task comes from reports {{given:82.1%}} without attention and {{given:99.9%}} with it, but not
# whether it counts letters or strings.

# %%
for name, figures in reversal.measured().items():
    print(f"{name:>12}: letters {figures['characters']}, strings {figures['strings']}")
if budget == "smoke":
    print("These are stored figures. Your own models had one short epoch: their figures mean little.")

# %% [markdown]
# Much of the gap is a matter of training time. When we trained three seeds without attention for 90 epochs
# instead of 30, the share of whole strings rose from {{claim:no-attention-learns-later.none}} to
# {{claim:no-attention-learns-later.longer}}. What attention brings here is speed and reliability: within 30
# epochs, each of its five seeds got at least {{claim:reversal.strings_dot low}} of the strings right.

# %% [markdown]
# ## 3 Where does it look?
#
# Each row of the map is a step of the decoder, and each column is a letter of the source. Choose a row to
# see its weights as bars.

# %%
text = "abacadabacc"  # change it: any string of a, b, c and d

if ready("dot-prod-attention"):
    written, weights = answer(attentive, reversal.TASK, text)
    print(text, "→", written)
    rows = weights[: len(text)]
    display(attention_map(rows, list(text), list(written[: len(text)]), title="string reversal"))

# %% [markdown]
# ### Question: what does the map show?
#
# {{exercise reversal-map}}
#
# Is this the pattern you expected? Describe it, and say why the task calls for it. Are the peaks exactly where
# you expected them? (Which letters has the state $h_{s+1}$ read?) Then find a row that is *not* sharp, and
# explain how the model can still be right there.

# %% [markdown] nbgrader={"grade_id": "reversal-map", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# The pattern is the anti-diagonal, or a line next to it: step t needs the letter at position S - t + 1, so
# the largest weight moves from the last column to the first. Many peaks are one column to the right of the
# anti-diagonal: {{claim:map-beside.next_state}} of the rows in our three seeds after 12 epochs, with
# {{claim:map-beside.letters low}} of the letters right or more. That is not a bug, because state h_{s+1} has
# read letter s as well. The map need not be sharp everywhere: a neighbouring state can serve just as well,
# and where letters repeat, several states carry the same answer.
# ### END SOLUTION
# === BEGIN MARK SCHEME ===
# - half a point: the anti-diagonal or a line beside it (or: attention runs backwards through the source),
#   because output step t is the source letter at position S - t + 1;
# - half a point: a row that is not sharp can still be right because a state also carries the letters next to
#   it, or because letters repeat. Accept any reason that fits the student's own map.
# === END MARK SCHEME ===

# %% [markdown]
# ## 4 Longer than anything it has seen
#
# Both models were trained on strings of 10 to 20 letters. What happens to longer ones?

# %%
lengths = [5, 10, 15, 20, 25, 30, 40] if budget != "smoke" else [10, 20, 30]


def by_length(model):
    return [reversal.accuracy(model, [n], each=50)["characters"] for n in lengths]


if ready("dot-prod-attention"):
    lines = [
        Line("without attention", lengths, by_length(plain), dash="6 4", markers=True),
        Line("with attention", lengths, by_length(attentive), markers=True),
    ]
    display(
        line_chart(
            lines,
            x_label="letters in the string",
            y_label="share of letters right",
            y_ticks=[0, 0.25, 0.5, 0.75, 1],
            span=(reversal.LENGTHS[0], reversal.LENGTHS[-1], "trained on"),
        )
    )

# %% [markdown]
# With the quick budget, attention solves the task inside the grey band; beyond it, both models get worse. There
# is a state for every letter, however long the string. But the *query* has to know how far the decoder has
# got, and in training it never had to count beyond 20. Attention removes the bottleneck, but not every limit
# of an RNN.

# %% [markdown]
# ## 5 One formula, many kinds of attention
#
# What you wrote is a special case of a more general formula, which the lecture @[attention-lecture] gives:
#
# $$A(q, K, V) = \sum_i \frac{\exp e(q, k_i)}{\sum_j \exp e(q, k_j)}\; v_i$$
#
# in which the states are both keys *and* values, and the score is $e(q, k) = q \cdot k$. Other choices of $e$:
#
# | name | $e(q, k_i)$ | what it looks at |
# | --- | --- | --- |
# | dot product | $q \cdot k_i$ | query and key |
# | scaled | $q \cdot k_i / \sqrt{D}$ | the same, with smaller scores |
# | general | $(W q) \cdot k_i$ | query and key, which need not be alike to match |
# | additive | $v_a \cdot \tanh(W q + U k_i)$ | query and key, through a small network |
# | linear | $w_i \cdot q + b_i$ | only the query and the *position* $i$: the keys are parameters |
#
# A well-known translation demo uses the linear score. It can learn "now look at position 7", but never "look
# for an a". Notebook 04 tries it.

# %% [markdown]
# ### A soft dictionary
#
# A Python dictionary returns the value whose key *equals* the query. Attention returns a mixture of all the
# values, in which a value counts for more the better its key *matches* the query. The sharper the softmax, the
# more attention behaves like a dictionary.

# %%
keys = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
values = torch.tensor([[10.0], [20.0], [30.0]])
asked = torch.tensor([[0.9, 0.3]])

for sharpness in (1, 5, 50):
    found = torch.softmax(sharpness * (asked @ keys.T), dim=-1)
    print(f"sharpness {sharpness:2}: weights {found[0].numpy().round(3)}, value",
          f"{(found @ values).item():.2f}")

# %% [markdown]
# ### Side by side
#
# A comparison is only worth something if its rows differ in **one** thing. Here every kind of attention has the
# same sizes, data, 30 epochs and join $\tanh(W_c\,[c_t; s_t])$ with the same $s_t$; only the score differs.
# The first row has no attention at all. The last one has dot products but no softmax: the scores are the
# weights, and nothing makes them sum to one. Training all this takes long, so the results are stored. Make a
# guess before you look at them:

# %%
guess = predict(
    "03 linear scores",
    "Linear scores never see a key. How many strings does that model reverse without a mistake?",
    unit="%",
    low=0,
    high=100,
)
guess

# %%
scores = {}
for run in reversal.scores():
    if run.epochs == reversal.EPOCHS["quick"]:
        scores.setdefault((run.score, "whole strings"), []).append(run.strings)
        scores.setdefault((run.score, "letters"), []).append(run.characters)
display(results({}, scores, "score", "stored"))
linear = scores["linear", "whole strings"]
guess.reveal(round(100 * sum(linear) / len(linear)))

# %% [markdown]
# Look at the ranges before the means.
#
# - Scores that compare query and key let the decoder *find* its position. Linear scores have to *count* their
#   way to it, using the decoder's state alone, and here counting is enough:
#   {{claim:linear-scores-count.strings}} of the strings are right.
# - Dividing by $\sqrt{D}$ costs strings here: {{claim:scaled-learns-later.scaled range}} are right, against
#   {{claim:scaled-learns-later.dot range}} with plain dot products. A possible reason, which we did not test,
#   is that smaller scores make softer weights until the states have grown. Notebook 05 shows what the scale
#   is good for.
# - Without the softmax, {{claim:scaled-learns-later.no_softmax range}} of the strings are right, about as many
#   as without attention ({{claim:scaled-learns-later.none range}}).

# %% [markdown]
# ## Summary
#
# - Attention keeps all the encoder's states and lets each step choose: compare, normalise, mix, join.
# - After the same training, the model gets nearly every letter right with attention, and most of them without.
# - The map shows *what* the model uses, here a line along the anti-diagonal or just beside it, but not *why*.
# - The score is a design choice; the dot product is the simplest one that looks at both query and key.
