# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 06 · The transformer
#
# **{{minutes}} · {{points}}**
#
# After this notebook you can
# - build an encoder-decoder transformer from its parts, and show that it equals PyTorch's,
# - train it with padded batches, a shifted target, label smoothing and a warm-up,
# - diagnose a faulty model from its loss, its samples and its attention maps.

# %% tags=["setup"]
import math

import torch
from torch import nn

from course_utils import bring_your_own, check, own, ready
from course_utils.transformer import check_mask, recording

MultiHeadAttention = own.part("MultiHeadAttention")
causal_mask = own.part("causal_mask")
positional_encoding = own.part("positional_encoding")

# %% [markdown]
# ### Bring your own
#
# Paste your `MultiHeadAttention`, `causal_mask` and `positional_encoding` from notebook 05 into this
# cell, above its last line, and run it. Every part that passes its check is used from here on, so the
# transformer will be made of your own parts. PyTorch's versions replace whatever you leave out.
# Nothing in this cell is graded, and no later check depends on it.

# %%
# Paste your parts here.

bring_your_own("MultiHeadAttention", "causal_mask", "positional_encoding")

# %% [markdown]
# ## 1 The plan
#
# The encoder reads the source, and the decoder writes the target. There is no recurrence: attention is
# the only thing that moves information between positions [@vaswani2017]. The plan is that of the lecture
# @[attention-lecture]. Dashed parts are still to be built; the picture fills up as the notebook goes on.

# %%
from course_utils.figures.transformer import transformer_diagram

transformer_diagram([])

# %% [markdown]
# ### The attention used in this notebook
#
# `MultiHeadAttention` is your own if you brought it. Otherwise it is PyTorch's, with the names and masks
# of this course: `True` means that attention is allowed, and the output comes first. The second result
# is the attention weights. PyTorch's version returns them only while they are being recorded, because
# they cost time.

# %%
torch.manual_seed(0)
attention = MultiHeadAttention(d_model=8, num_heads=2)
x = torch.randn(3, 5, 8)  # [B, S, D]
output, _ = attention(x, x, x)
output.shape

# %% [markdown]
# ## 2 Words, positions, padding
#
# Sentences differ in length, but a tensor has one fixed size. So short sentences are filled up with a
# **padding** token, number 0, and a mask records where the real words are.

# %%
from course_utils.data import pad

source = pad([[5, 6, 7, 8, 9], [5, 6]])
source_mask = source != 0
print(source)
print(source_mask)

# %% [markdown]
# Attention needs this mask in the shape `[B, 1, S]`: one row of keys per sentence, shared by all its
# queries.

# %%
source_mask[:, None, :].shape

# %% [markdown]
# A word becomes a vector by looking up its row in a table, and so does its position. Here the positions
# are *learned*: the table has one row for each position, up to `max_length`. A longer sentence has to be
# refused, because there is no row for its last positions. (The sines of notebook 05 would work too.)
#
# $$x_s = \sqrt{D}\; E[w_s] + P[s]$$
#
# Before training, the embeddings are drawn with standard deviation $1/\sqrt{D}$ (`start_well` does this in
# section 7). The factor $\sqrt{D}$ then makes them about as large as the positions.

# %%
transformer_diagram(["embedding"], new="embedding")

# %% [markdown]
# ## 3 The encoder layer
#
# ### One network for every position
#
# Once attention has gathered what a position needs, a small network processes it:
#
# $$\mathrm{FF}(x) = W_2\,\mathrm{ReLU}(W_1 x + b_1) + b_2$$
#
# The *same* network is applied at every position, and it never looks at another position. To this
# network, `B` sentences of `S` positions are simply a batch of `B * S` vectors, as a loop shows:

# %%
feed_forward = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
by_loop = torch.stack([torch.stack([feed_forward(x[b, s]) for s in range(5)]) for b in range(3)])
as_batch = feed_forward(x.reshape(15, 8)).reshape(3, 5, 8)
print("loop and batch agree:", torch.allclose(by_loop, as_batch, atol=1e-6))
print("batch and direct call agree:", torch.allclose(as_batch, feed_forward(x), atol=1e-6))

# %% [markdown]
# ### Residual connections and layer norm
#
# Two things keep deep stacks trainable [@he2016; @ba2016].
#
# - **Residual connection**: a sublayer *adds* to its input, `x + sublayer(x)`. Nothing is lost on the
#   way up, and gradients have a direct path down.
# - **Layer norm**: take the $D$ numbers of one position, subtract their mean and divide by their standard
#   deviation. Then scale and shift each number by learned amounts.

# %%
row = x[0, 0]
by_hand = (row - row.mean()) / torch.sqrt(row.var(unbiased=False) + 1e-5)
print("by hand and nn.LayerNorm agree:", torch.allclose(by_hand, nn.LayerNorm(8)(row), atol=1e-6))

# %% [markdown]
# ### Norm after or norm first
#
# The norm can come *after* each sum, as in the original transformer [@vaswani2017], or *before* each
# sublayer, which is easier to train [@xiong2020]:
#
# | | `norm_first=False` | `norm_first=True` |
# | --- | --- | --- |
# | attention | `x = norm1(x + attention(x))` | `x = x + attention(norm1(x))` |
# | feed-forward | `x = norm2(x + feed_forward(x))` | `x = x + feed_forward(norm2(x))` |
#
# **Dropout** sets randomly chosen numbers to zero during training. Here it applies to what each sublayer
# adds: `x + dropout(...)`.

# %% [markdown]
# ### Exercise: `EncoderLayer`
#
# {{exercise encoder-layer}}
#
# `__init__` gives you all the parts; keep their names. Write `forward` for both values of `norm_first`.
# `x` is `[B, S, D]`, and `mask` goes straight to the attention.


# %% nbgrader={"grade_id": "encoder-layer", "solution": true}
class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each with a residual, a norm and dropout."""

    def __init__(self, d_model, num_heads, d_ff, norm_first=False, dropout=0.0):
        super().__init__()
        self.norm_first = norm_first
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )
        self.norm1 = nn.LayerNorm(d_model)  # for the attention
        self.norm2 = nn.LayerNorm(d_model)  # for the feed-forward network
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        ### BEGIN SOLUTION
        if self.norm_first:
            normal = self.norm1(x)
            looked, _ = self.attention(normal, normal, normal, mask)
            x = x + self.dropout(looked)
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        looked, _ = self.attention(x, x, x, mask)
        x = self.norm1(x + self.dropout(looked))
        return self.norm2(x + self.dropout(self.feed_forward(x)))
        ### END SOLUTION


# %% nbgrader={"grade_id": "encoder-layer-check", "grade": true}
result = check("encoder-layer")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("encoder-layer")
result.points
### END HIDDEN TESTS

# %%
transformer_diagram(["embedding", "encoder attention"], new="encoder feed-forward")

# %% [markdown]
# ### What each norm does to the gradients
#
# We stack freshly initialised layers, send a gradient back from the top, and measure how large it is when
# it reaches the last and the first layer. How does that change as the stack gets deeper?

# %%
from course_utils.figures.transformer import gradient_plot
from course_utils.transformer import gradient_sizes

depths = (2, 4, 8, 16)
if ready("encoder-layer"):
    sizes = {}
    for norm_first, name in ((False, "norm after"), (True, "norm first")):
        runs = [
            [gradient_sizes(EncoderLayer, norm_first, n, seed) for seed in range(4)] for n in depths
        ]
        sizes[name] = torch.tensor(runs).mean(dim=1)  # [depths, 3]
        for n, (bottom, top, x) in zip(depths, sizes[name].tolist()):
            print(f"{name}, {n:2} layers: bottom {bottom:.3f}, top {top:.3f}, spread of x {x:.1f}")
    display(gradient_plot(depths, sizes))

# %% [markdown]
# With the norm **after**, every layer brings `x` back to a spread of 1. The top layer's gradient is as
# large in a deep stack as in a shallow one, even though a single step now moves many layers at once. A
# stack like this needs a gentle start, which is what the warm-up in section 8 is for.
#
# With the norm **first**, the direct path is clear. `x` grows as layers add to it, so each further layer
# changes it by a smaller fraction, and the top layer's gradient shrinks with depth: the steps become
# gentler by themselves. The bottom layer keeps its gradient at any depth. We train with
# `norm_first=True`.

# %% [markdown]
# ## 4 The decoder layer
#
# The decoder has three sublayers:
# 1. **masked self-attention**: the target looks at itself, but not at its future;
# 2. **cross-attention**: the queries come from the target, the keys and values from the **memory**, which
#    is the usual name for the encoder's final states;
# 3. the **feed-forward** network.
#
# As before, each has its residual connection, its norm (`norm1`, `norm2`, `norm3`) and dropout. The
# encoder has already normalised the memory, so you only normalise `x`.

# %% [markdown]
# ### Exercise: `DecoderLayer`
#
# {{exercise decoder-layer}}
#
# `x` is `[B, T, D]` and `memory` is `[B, S, D]`. `self_mask` belongs to the self-attention, `memory_mask`
# to the cross-attention. Return `[B, T, D]`.


# %% nbgrader={"grade_id": "decoder-layer", "solution": true}
class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the memory, then a feed-forward network."""

    def __init__(self, d_model, num_heads, d_ff, norm_first=False, dropout=0.0):
        super().__init__()
        self.norm_first = norm_first
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        ### BEGIN SOLUTION
        sublayers = [
            (self.norm1, lambda y: self.attention(y, y, y, self_mask)[0]),
            (self.norm2, lambda y: self.cross_attention(y, memory, memory, memory_mask)[0]),
            (self.norm3, self.feed_forward),
        ]
        for norm, sublayer in sublayers:
            if self.norm_first:
                x = x + self.dropout(sublayer(norm(x)))
            else:
                x = norm(x + self.dropout(sublayer(x)))
        return x
        ### END SOLUTION


# %% nbgrader={"grade_id": "decoder-layer-check", "grade": true}
result = check("decoder-layer")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("decoder-layer")
result.points
### END HIDDEN TESTS

# %%
transformer_diagram(
    ["embedding", "encoder attention", "encoder feed-forward", "decoder attention"]
    + ["decoder feed-forward"],
    new="cross-attention",
)

# %% [markdown]
# ## 5 The whole model
#
# ### The target, shifted by one step
#
# During training the decoder reads the correct target and predicts, at every position at once, the
# *next* word. So its input is the target moved one step to the right, with a start mark in front:
#
# | step | 0 | 1 | 2 | 3 |
# | --- | --- | --- | --- | --- |
# | the decoder reads | `<s>` | the | cat | sleeps |
# | it should predict | the | cat | sleeps | `</s>` |
#
# Two things keep it honest. The shift stops a position from reading its own answer, and the causal mask
# stops it from looking the answer up one position further on.

# %% [markdown]
# ### Exercise: `Transformer`
#
# {{exercise transformer}}
#
# Now put the parts together. `__init__` and `forward` are given. Write
#
# - `embed(tokens, embedding, positions)`: `embedding * sqrt(d_model) + positions`, then dropout, for
#   tokens `[B, L]`. If `L` is larger than `max_length`, raise a `ValueError` that gives both numbers;
# - `encode(source, source_mask)`: embed, run all encoder layers in turn, then `encoder_norm`.
#   `source_mask` is `[B, S]`, True where there is a word, or `None`;
# - `decode(target, memory, source_mask)`: embed, run all decoder layers with a causal mask, then
#   `decoder_norm` and `readout`. The result has one logit per word, `[B, T, target_size]`.
#
# The tokens may be on a GPU. Put tensors that you create yourself (`torch.arange(L)`, `causal_mask(T)`)
# on the same device: `.to(tokens.device)`.


# %% nbgrader={"grade_id": "transformer", "solution": true}
class Transformer(nn.Module):
    """Source [B, S] and target so far [B, T] to the logits of each next word [B, T, target_size]."""

    def __init__(
        self,
        d_model,
        num_heads,
        num_layers,
        d_ff,
        source_size,
        target_size,
        norm_first=False,
        dropout=0.0,
        max_length=128,
    ):
        super().__init__()
        self.d_model = d_model
        self.max_length = max_length
        self.source_embedding = nn.Embedding(source_size, d_model)
        self.target_embedding = nn.Embedding(target_size, d_model)
        self.source_positions = nn.Embedding(max_length, d_model)
        self.target_positions = nn.Embedding(max_length, d_model)
        sizes = d_model, num_heads, d_ff, norm_first, dropout
        self.encoder_layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.decoder_layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_layers))
        self.encoder_norm = nn.LayerNorm(d_model)
        self.decoder_norm = nn.LayerNorm(d_model)
        self.readout = nn.Linear(d_model, target_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, source, target, source_mask=None):
        return self.decode(target, self.encode(source, source_mask), source_mask)

    def embed(self, tokens, embedding, positions):
        ### BEGIN SOLUTION
        L = tokens.shape[1]
        if self.max_length < L:
            raise ValueError(
                f"The sequence has {L} tokens, but there are only {self.max_length} positions."
            )
        places = torch.arange(L, device=tokens.device)
        return self.dropout(embedding(tokens) * math.sqrt(self.d_model) + positions(places))
        ### END SOLUTION

    def encode(self, source, source_mask=None):
        ### BEGIN SOLUTION
        mask = None if source_mask is None else source_mask[:, None, :]
        x = self.embed(source, self.source_embedding, self.source_positions)
        for layer in self.encoder_layers:
            x = layer(x, mask)
        return self.encoder_norm(x)
        ### END SOLUTION

    def decode(self, target, memory, source_mask=None):
        ### BEGIN SOLUTION
        T = target.shape[1]
        causal = causal_mask(T).to(target.device)
        memory_mask = None if source_mask is None else source_mask[:, None, :]
        x = self.embed(target, self.target_embedding, self.target_positions)
        for layer in self.decoder_layers:
            x = layer(x, memory, causal, memory_mask)
        return self.readout(self.decoder_norm(x))
        ### END SOLUTION


# %% nbgrader={"grade_id": "transformer-check", "grade": true}
result = check("transformer")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("transformer")
result.points
### END HIDDEN TESTS

# %%
transformer_diagram(new="readout")

# %% [markdown]
# ### Does it equal PyTorch's?
#
# `torch.nn.Transformer` contains the stacks and the norms, but no embeddings and no readout.
# `as_pytorchs` copies your parameters into one, name by name. The same vectors then go through both.


# %%
import warnings

from course_utils.transformer import as_pytorchs

warnings.filterwarnings("ignore", module="torch.nn.modules.transformer")  # about a faster path

if ready("transformer"):
    for norm_first in (False, True):
        torch.manual_seed(1)
        mine = Transformer(16, 4, 3, 32, 20, 20, norm_first).eval()
        theirs = as_pytorchs(mine, num_heads=4, norm_first=norm_first)
        source = pad([[5, 6, 7, 8, 9], [5, 6]])
        target = torch.randint(1, 20, (2, 4))
        mask = source != 0
        with torch.no_grad():
            x = theirs(
                mine.embed(source, mine.source_embedding, mine.source_positions),
                mine.embed(target, mine.target_embedding, mine.target_positions),
                tgt_mask=nn.Transformer.generate_square_subsequent_mask(4),
                src_key_padding_mask=~mask,
                memory_key_padding_mask=~mask,
            )
            difference = (mine(source, target, mask) - mine.readout(x)).abs().max()
        print(f"norm_first={norm_first}: the logits differ by at most {difference:.1e}")

# %% [markdown]
# ## 6 Writing: greedy decoding
#
# Trained or not, the model gives a probability for each possible *next* word. To write a sentence, take
# the most likely word, append it, and ask again. All a decoding loop needs is a function `step`, which
# takes prefixes `[B, t]` and returns log-probabilities `[B, V]`.
#
# Here is a `step` without any model behind it. It counts upwards, and after 5 it wants to end (token 0).


# %%
def counting(prefixes):
    """Log-probabilities of the next token: one more than the last, and 0 (the end) after 5."""
    following = (prefixes[:, -1] + 1) % 6
    return torch.log_softmax(5.0 * nn.functional.one_hot(following, 6).float(), dim=-1)


counting(torch.tensor([[3], [5]])).argmax(dim=-1)

# %% [markdown]
# ### Exercise: `greedy_decode`
#
# {{exercise greedy-decode}}
#
# Decode a whole batch at once:
# - `first` is `[B]`: the token that each row starts with. It is not part of the result.
# - At each step, give `step` *all* the tokens so far, `[B, t]`, and take the most likely next token of
#   each row.
# - A row that has written `end` is finished. Fill the rest of it with `end`.
# - Stop when every row is finished, or when `max_length` tokens have been written.
#
# Return the written tokens, `[B, T]`. For example, with `counting`, `first = [2, 4]` and `end = 0` the
# result is `[[3, 4, 5, 0], [5, 0, 0, 0]]`.


# %% nbgrader={"grade_id": "greedy-decode", "solution": true}
def greedy_decode(step, first, end, max_length):
    """Tokens [B, T]: append the most likely next token until all rows have ended."""
    ### BEGIN SOLUTION
    tokens = first[:, None]
    ended = torch.zeros_like(first, dtype=torch.bool)
    for _ in range(max_length):
        best = step(tokens).argmax(dim=-1)
        best = best.masked_fill(ended, end)
        tokens = torch.cat([tokens, best[:, None]], dim=1)
        ended = ended | (best == end)
        if ended.all():
            break
    return tokens[:, 1:]
    ### END SOLUTION


# %% nbgrader={"grade_id": "greedy-decode-check", "grade": true}
result = check("greedy-decode")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("greedy-decode")
result.points
### END HIDDEN TESTS

# %%
if ready("greedy-decode"):
    print(greedy_decode(counting, torch.tensor([2, 4]), end=0, max_length=10))

# %% [markdown]
# ## 7 Old tasks, without recurrence (about one minute)
#
# In notebooks 02 and 03, reversing strings and changing case took a recurrent network with attention. Now
# attention works alone. The loss is the usual one: the cross-entropy of the correct next token.
# `start_well` chooses the initial parameters so that words and positions are about equally large. The
# positions start as the sines of your `positional_encoding` if you brought it, and as random rows if not.

# %%
from course_utils.data import END, change_case, epoch_of, reverse
from course_utils.training import fit, seed_everything, warm_up
from course_utils.transformer import start_well


def task_loss(model, batch):
    logits = model(batch.source, batch.given)
    return nn.functional.cross_entropy(logits.transpose(1, 2), batch.wanted), batch.wanted.numel()


def lines_written(model, task, batch):
    """What the model writes for the sources of a batch, as text."""
    model.eval()
    with torch.no_grad():
        memory = model.encode(batch.source)

        def step(prefixes):
            return model.decode(prefixes, memory)[:, -1].log_softmax(-1)

        tokens = greedy_decode(step, batch.given[:, 0], END, batch.wanted.shape[1])
    return [task.write(row) for row in tokens]


# %%
epochs = {"smoke": 1, "quick": 12, "full": 20}[budget]
per_epoch = 10 if budget == "smoke" else 60
tasks = {"reverse": reverse("abcdefgh"), "change case": change_case()}
models = {}
if ready("transformer", "greedy-decode"):
    for name, task in tasks.items():
        seed_everything(0)
        size = len(task.tokens)
        models[name] = Transformer(64, 4, 2, 128, size, size, norm_first=True)
        start_well(models[name])
        with torch.no_grad():  # where the positions start; they are learned from there
            for positions in (models[name].source_positions, models[name].target_positions):
                positions.weight.copy_(positional_encoding(*positions.weight.shape))
        batches = epoch_of(task, batches=per_epoch, size=64, lengths=range(4, 11))
        history = fit(
            models[name],
            batches,
            task_loss,
            epochs=epochs,
            lr=3e-3,
            schedule=warm_up(rising=per_epoch, total=epochs * per_epoch),  # see section 8
            device="cpu",
            show=False,
        )
        test = task.draw(200, 10, seed=99)
        right = [task.write(row) for row in test.wanted]
        exact = sum(a == b for a, b in zip(lines_written(models[name], task, test), right)) / 200
        print(
            f"{name:12} {history.seconds:4.0f} s   lines of length 10 without a mistake: {exact:.1%}"
        )
    if budget == "smoke":
        print("A smoke run only shows that the code works. The quick budget trains these models.")

# %% [markdown]
# ### Every layer, every head
#
# `recording` stores the weights of every attention in a model. Choose a layer and a head below. Which of
# them show the anti-diagonal of notebook 03?

# %%
from course_utils.widgets import attention_map


def all_heads(maps, part):
    """The maps of one kind of attention, for all layers and heads, with their names."""
    found = {name: calls[0][0] for name, calls in maps.items() if part(name)}
    names = [f"layer {n.split('.')[1]}, head {h}" for n, w in found.items() for h in range(len(w))]
    return torch.cat(list(found.values())), names


if ready("transformer", "greedy-decode"):
    task, model = tasks["reverse"], models["reverse"].eval()
    batch = task.batch(["abcdefgh"])
    with recording(model) as maps, torch.no_grad():
        model(batch.source, batch.given)
    weights, names = all_heads(maps, lambda name: name.endswith("cross_attention"))
    letters, steps = list("abcdefgh"), [*reversed("abcdefgh"), "</s>"]
    display(attention_map(weights, letters, steps, heads=names, title="Reversing: where each step looks"))

# %% [markdown]
# ### Which heads are needed?
#
# A map shows where a head looks. Whether the model *needs* what the head finds there is a different
# question, and you can answer it by removing the head and watching the loss [@michel2019].
#
# The outputs of all heads are joined side by side, and $W_O$ mixes them. The $d$ numbers of one head
# therefore meet exactly $d$ columns of $W_O$. If those columns are zero, nothing from this head gets
# through:

# %%
z = torch.randn(6)  # the joined outputs of two heads of size 3, at one position
W_O = torch.randn(6, 6)
half = W_O.clone()
half[:, :3] = 0
print("both heads:             ", (W_O @ z).numpy().round(2))
print("columns of head 0 zero: ", (half @ z).numpy().round(2))
print("head 1 computed alone:  ", (W_O[:, 3:] @ z[3:]).numpy().round(2))

# %% [markdown]
# ### Exercise: `without_head`
#
# {{exercise silence-a-head}}
#
# `W_O` is the `[D, D]` matrix of an attention's last linear layer, stored as PyTorch stores it: each row
# belongs to an output, each column to an input. Return a **copy** in which head `head` contributes
# nothing. Heads are counted from 0. Leave `W_O` itself unchanged, because we will need it again.


# %% nbgrader={"grade_id": "silence-a-head", "solution": true}
def without_head(W_O, num_heads, head):
    """A copy of W_O [D, D] that lets nothing from one head through."""
    ### BEGIN SOLUTION
    d = W_O.shape[1] // num_heads
    silent = W_O.clone()
    silent[:, head * d : (head + 1) * d] = 0
    return silent
    ### END SOLUTION


# %% nbgrader={"grade_id": "silence-a-head-check", "grade": true}
result = check("silence-a-head")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("silence-a-head")
result.points
### END HIDDEN TESTS

# %% [markdown]
# The model that reverses strings has 24 heads: two layers of four in the encoder, two in the decoder's
# self-attention and two in its cross-attention. The next experiment silences them one at a time. Guess
# first: which of the three kinds contains the head that is missed most?

# %%
from course_utils.widgets import predict

KINDS = {
    "encoder self-attention": lambda name: name.startswith("encoder"),
    "decoder self-attention": lambda name: name.startswith("decoder") and ".attention" in name,
    "cross-attention": lambda name: name.endswith("cross_attention"),
}
guess = predict("06 worst head", "Which kind of attention contains the head that is missed most?", [*KINDS])
guess


# %%
from course_utils.transformer import output_changed


def loss_without(model, name, head, batch):
    """The loss on a batch while one head of the attention `name` is silent."""
    with output_changed(model.get_submodule(name), lambda W_O: without_head(W_O, 4, head)):
        return task_loss(model, batch)[0].item()


if ready("transformer", "greedy-decode", "silence-a-head"):
    model = models["reverse"].eval()
    batch = tasks["reverse"].draw(200, 8, seed=98)
    print(f"all heads: loss {task_loss(model, batch)[0].item():.3f}")
    worst = {}
    for kind, belongs in KINDS.items():
        for name in (n for n, _ in model.named_modules() if n.endswith("attention") and belongs(n)):
            losses = [loss_without(model, name, head, batch) for head in range(4)]
            worst[kind] = max([worst.get(kind, 0.0), *losses])
            print(f"{name:34} without head 0 to 3:", "  ".join(f"{v:.3f}" for v in losses))
    if budget == "smoke":
        print("After a smoke run the model knows too little to settle the guess.")
    else:
        display(guess.reveal(max(worst, key=worst.get)))

# %% [markdown]
# Compare the maps of the heads that are missed with those of the heads that are not. A head with a clear
# picture need not matter, because another one may do the same work. And a head that is missed *now* need
# not have been necessary: trained without it, the model might have found another way.

# %% [markdown]
# ## 8 Training a translator
#
# The data is that of notebook 04: Multi30k, or the built-in corpus if there is no network or the budget
# is `"smoke"`.

# %%
from course_utils.data import START, encode, load_corpus, padded_batches, tokenise
from course_utils.transformer import (
    RECIPES,
    make_transformer,
    train_transformer,
    written_by,
)
from course_utils.translation import translate

corpus = load_corpus("de", builtin_only=budget == "smoke")
data = encode(corpus)
recipe = RECIPES[budget]

# %% [markdown]
# ### Padded batches
#
# Sentence pairs of similar length share a batch, so that little of it is padding:

# %%
batches = padded_batches(data.train, recipe.batch_size, seed=0)
batch = batches[0]
share = sum((b.wanted == 0).sum() for b in batches) / sum(b.wanted.numel() for b in batches)
print(
    f"{len(batches)} batches; in the first, source {list(batch.source.shape)}, target {list(batch.given.shape)}"
)
print(f"Padding makes up {share:.1%} of the target.")

# %% [markdown]
# ### Label smoothing
#
# Cross-entropy asks for certainty: probability 1 for the one correct word. Yet there is often more than
# one good word. **Label smoothing** [@szegedy2016] asks for 0.9 instead and spreads the rest evenly over
# all words. Guess before you run the cell: which of these four probabilities gets the smallest smoothed
# loss?

# %%
words = torch.tensor([0])
for sure in (0.5, 0.9, 0.99, 0.9999):
    logits = torch.log(torch.tensor([[sure] + [(1 - sure) / 99] * 99]))
    plain, smooth = (
        nn.functional.cross_entropy(logits, words, label_smoothing=s) for s in (0.0, 0.1)
    )
    print(f"probability {sure:<6}: loss {plain:.3f}, smoothed {smooth:.3f}")

# %% [markdown]
# Being too sure now costs something: the smoothed loss is smallest near 0.9.
#
# ### Warm-up
#
# In the first steps the gradients are erratic, and Adam [@kingma2015] has seen too few of them to judge
# their size. So the learning rate starts near zero, rises for a few hundred steps and then falls:

# %%
factor = warm_up(rising=100, total=1000)
for step in (1, 25, 50, 100, 400, 700, 1000):
    print(f"step {step:4}  {'█' * round(40 * factor(step))} {factor(step):.2f}")

# %% [markdown]
# ### Train (quick: our run took {{claim:transformer.quick_minutes}} minutes of CPU time)
#
# `make_transformer` builds your class, initialises it with `start_well` and **ties** the readout to the
# target's embedding [@press2017]: both use the same matrix, so what a word is like is learned only once.
#
# You can interrupt the training. The best parameters so far are kept.

# %%
if ready("transformer", "greedy-decode"):
    seed_everything(0)
    translator = make_transformer(Transformer, data, recipe.sizes)
    print(f"{sum(p.numel() for p in translator.parameters()):,} parameters")
    history = train_transformer(
        translator, data, recipe, checkpoint=None if budget == "smoke" else "06_transformer"
    )
    display(history.plot())

# %% [markdown]
# (The training loss is the smoothed one, so it can't fall as low as the validation loss.)
#
# ### A new row for the table (about one minute)
#
# Here is BLEU on the test set with *your* `greedy_decode`, next to the runs of notebook 04.

# %%
from course_utils.translation import (
    TRANSFORMER_RESULTS,
    Result,
    bleu,
    comparison_text,
    read_results,
    summarise,
)

if ready("transformer", "greedy-decode"):
    sources = [example.source for example in data.test]
    answers = translate(translator, data, sources, written_by(greedy_decode))
    translations = [answer.words for answer in answers]
    score = bleu(translations, data)
    print(score)
    ours = [*read_results(), *read_results(TRANSFORMER_RESULTS)]
    measured = [run for run in ours if run.budget == "quick"]
    if corpus.name == "Multi30k":
        measured.append(Result.of("transformer (yours)", 0, budget, history, score))
    else:
        print(f"Yours was trained on a different corpus ({corpus.name}), so this table leaves it out:")
    print()
    print(comparison_text(summarise(measured)))
    for run in ours:
        if run.budget == "full":
            print(
                f"full budget, {run.mechanism}: BLEU {run.bleu_tokens} ({run.cpu_minutes:.0f} CPU minutes)"
            )

# %% [markdown]
# The other rows are our own runs on Multi30k in the quick budget. Yours joins them if it was trained on
# Multi30k too. BLEU on a different corpus can't be compared.

# %% [markdown]
# ### Where it wins, and where it doesn't
#
# In a transformer every word is one step away from every other, and all target positions are computed at
# once, which suits a GPU. But nothing tells it that words come in a sequence; it has to learn that from
# the data, and there are only 29,000 pairs.
#
# - *In about equal time* ({{claim:transformer.quick_minutes mean}} and {{claim:transformer.recurrent_quick_minutes mean}} minutes of CPU time), the transformer got {{claim:transformer.quick}} BLEU
#   ({{claim:transformer.quick runs}}) and the recurrent translator {{claim:transformer.recurrent_quick range}} ({{claim:transformer.recurrent_quick runs}}).
# - *At about equal quality*, {{claim:transformer.full}} BLEU ({{claim:transformer.full runs}}) and {{claim:transformer.recurrent_full}} ({{claim:transformer.recurrent_full runs}}), the transformer
#   took {{claim:transformer.full_minutes}} minutes of CPU time and the recurrent translator {{claim:transformer.recurrent_full_minutes}}. With a beam of 5 the
#   same models got {{claim:transformer.full_beam}} and {{claim:transformer.recurrent_full_beam}}.
#
# In these runs the recurrent translator is ahead after a few minutes, and the transformer catches up given more.
# They are too few to show how much longer it needs, and they say nothing about a GPU or a larger corpus.
#
# Compare BLEU for short and for long sentences with that of the translator from notebook 04 (our run, on
# Multi30k). Where is the gap largest? How many long sentences are there to learn the late positions from?

# %%
from course_utils.translation import (
    LENGTH_RESULTS,
    LengthResult,
    bleu_by_length,
    length_text,
)

if ready("transformer", "greedy-decode"):
    mine = bleu_by_length(translations, data, "transformer (yours)", budget)
    measured = [run for run in read_results(LENGTH_RESULTS, LengthResult) if run.budget == "quick"]
    print(length_text([*measured, *mine] if data.corpus.name == "Multi30k" else mine))
    print(f"{history.seconds / len(history.records):.0f} seconds per epoch")

# %% [markdown]
# ### What it wrote

# %%
if ready("transformer", "greedy-decode"):
    for place in range(0, 60, 15):
        print(corpus.test.source[place])
        print("   it wrote  ", " ".join(translations[place]))
        print("   reference ", corpus.test.target[place].lower(), "\n")

# %% [markdown]
# ### Its maps
#
# These are the three kinds of attention, with all layers and heads. Which heads look at neighbouring
# words, and which at the word being translated? Do some look at nothing in particular?

# %%
if ready("transformer", "greedy-decode"):
    place = 3
    source = torch.tensor([sources[place]])
    given = torch.tensor([[START, *data.target_vocabulary.encode(translations[place])]])
    with recording(translator) as maps, torch.no_grad():
        translator.cpu().eval()(source, given)
    german = tokenise(corpus.test.source[place])
    read, written = ["<s>", *translations[place]], [*translations[place], "</s>"]
    words = [(german, german), (read, written), (german, written)]  # columns and rows of each kind
    for (kind, belongs), (columns, rows) in zip(KINDS.items(), words):
        weights, names = all_heads(maps, belongs)
        display(attention_map(weights, columns, rows, heads=names, title=kind.capitalize()))

# %% [markdown]
# ## 9 Find the bug
#
# Here are six models that reverse strings. Each has exactly **one** fault, and none of them raises an
# error, so you have to find the faults from the models' behaviour. All were trained in the same way, on
# lines of 4 to 8 letters; within a batch, all lines had the same length. You get the record of their
# training and of the experiments below.
#
# ### Round 1: the losses of A, B and C

# %%
from course_utils.transformer.suspect_choices import FAULTS, REASONS
from course_utils.transformer.suspects import LINE, suspect

suspects = {letter: suspect(letter) for letter in "abc"}
for record in suspects.values():
    print(f"model {record.name}: training loss", *record.losses)

# %% [markdown]
# A model that guesses among all letters has a loss of about 2.1.
#
# ### Samples

# %%
length = 6  # try 4 to 8

for record in suspects.values():
    print(f"model {record.name}: {record.share_right(length):.0%} of the lines are right")
    for line, answer in record.wrote(length)[:4]:
        print(f"   {line}  expected {line[::-1]}, written {answer}")

# %% [markdown]
# ### Experiments
#
# Each experiment changes one thing and asks whether the answer changes. First, the order of the source:

# %%
for record in suspects.values():
    print(f"model {record.name}:", *(f"{line} -> {answer}" for line, answer in record.orders))

# %% [markdown]
# Next, the neighbours: each line alone, and then padded in a batch with a longer line. After that, the
# same question twice.

# %%
for record in suspects.values():
    line, alone, beside = record.neighbours[0]
    changed = sum(alone != beside for _, alone, beside in record.neighbours)
    print(f"model {record.name}: {line} alone {alone!r}, beside a longer line {beside!r};", end=" ")
    print(f"{changed} of {len(record.neighbours)} answers change")

# %%
for record in suspects.values():
    changed = sum(first != second for _, first, second in record.twice)
    print(f"model {record.name}: asked twice, it changes {changed} of {len(record.twice)} answers")

# %% [markdown]
# Finally, their maps while they read the correct answer to a line. With `padded`, a longer line shares the
# batch, and padding is shown as `·`. Some of the faults listed below share their symptoms; a map can tell
# them apart.

# %%
letter, kind, padded = "a", "itself", False  # try "b", "c"; "source"; True

weights = suspect(letter).look(kind, padded)
answer = ["<s>", *reversed(LINE), *"·" * 20]
columns = [*LINE, *"·" * 20] if kind == "source" else answer
attention_map(
    weights,
    columns[: weights.shape[2]],
    answer[: weights.shape[1]],
    heads=[f"layer {n // 4}, head {n % 4}" for n in range(len(weights))],
    title=f"Model {letter.upper()}",
)

# %% [markdown]
# ### Exercise: find the bug
#
# {{exercise find-the-bug}}
#
# Choose from the two lists below, and copy the text between the quotation marks. In `notes`, write one
# sentence per model: which experiment convinced you, and what did it show? **Quote** at least one figure
# or one answer from that experiment, as in "7 of 12 answers change", "layer 2, head 5" or "it writes gfa".
#
# You may guess as often as you like, and the check tells you what speaks against a wrong guess. But
# guessing alone earns nothing: the check looks at a guess once its note quotes the model's record, and a
# fault counts only if what you quote shows it. Each model earns its points on its own.
#
# **Round 2** is D, E and F: change `"abc"` to `"def"` in the cell with the losses, and run the cells
# after it again.

# %%
for title, choices in (("faults", FAULTS), ("reasons", REASONS)):
    print(title)
    for name, meaning in choices.items():
        print(f'   "{name}": {meaning}')

# %% nbgrader={"grade_id": "find-the-bug", "solution": true}
bug_a, reason_a = ..., ...
bug_b, reason_b = ..., ...
bug_c, reason_c = ..., ...
bug_d, reason_d = ..., ...
bug_e, reason_e = ..., ...
bug_f, reason_f = ..., ...
notes = """
A:
B:
C:
D:
E:
F:
"""
### BEGIN SOLUTION
bug_a, reason_a = "no source positions", "order does not matter"
bug_b, reason_b = "the future leaks", "low loss, wrong samples"
bug_c, reason_c = "attends to padding", "neighbours matter"
bug_d, reason_d = "positions stop early", "long lines fail"
bug_e, reason_e = "target not shifted", "looks at its own step"
bug_f, reason_f = "dropout stays on", "calls differ"
notes = """
A: four orders of the same letters all get bchaeb: the letters are right, but the order is lost.
B: the loss ends at 0.001, yet it writes bbb or nothing; in layer 0, head 1 it looks one step ahead.
C: each line is right on its own, but 18 of 18 answers change beside a longer line.
D: 100% of the lines of 4 and 5 letters are right, but 0% of those of 7, which begin wrongly.
E: the loss is 0.026 after two epochs, and in layer 1, head 1 the map is bright on the diagonal.
F: asked twice, it changes 5 of 30 answers, although nothing else has changed.
"""
### END SOLUTION

# %% nbgrader={"grade_id": "find-the-bug-check", "grade": true}
result = check("find-the-bug")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("find-the-bug")
result.points
### END HIDDEN TESTS

# %% [markdown]
# No one will tell you that a model has a fault, and a low loss or a training run without errors proves
# little. Which of these experiments would you run first on your own translator?

# %% [markdown]
# ## Summary
#
# - An encoder layer is attention and a feed-forward network, each with a residual connection and a norm.
# - A decoder layer adds cross-attention: queries from the target, keys and values from the memory.
# - Together, the shifted target and the causal mask keep the answer out of sight.
# - Padding needs a mask wherever it could be attended to; smoothing and warm-up keep training stable.
# - A low loss proves nothing by itself: look at samples, and change one thing at a time.
#
# Notebook 07 throws half of this model away and asks what each kind of model costs.
