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
# - build an encoder-decoder transformer from its parts, equal to PyTorch's,
# - train it: padding, the shifted target, label smoothing, warm-up,
# - find a fault in a model from its loss, its samples and its maps.

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
# Paste your `MultiHeadAttention`, `causal_mask` and `positional_encoding` of notebook 05 into this
# cell, above its last line, and run it. What passes its check is used from here on: the transformer
# will be made of your parts. For what you leave out, PyTorch's takes its place. Nothing here is graded,
# and no later check depends on it.

# %%
# Paste here.

bring_your_own("MultiHeadAttention", "causal_mask", "positional_encoding")

# %% [markdown]
# ## 1 The plan
#
# An encoder reads the source, a decoder writes the target. There is no recurrence: all that moves
# information between positions is attention. Dashed parts are still to be built. This picture will
# grow with the notebook.

# %%
from course_utils.figures.transformer import transformer_diagram

transformer_diagram([])

# %% [markdown]
# ### The attention that you use here
#
# `MultiHeadAttention` is yours of notebook 05 if you brought it, and otherwise PyTorch's with the names
# and masks of this course: `True` where attention is allowed, and it returns the output first. (The
# second result are the weights. PyTorch's leaves them out unless someone records them: they cost time.)

# %%
torch.manual_seed(0)
attention = MultiHeadAttention(d_model=8, num_heads=2)
x = torch.randn(3, 5, 8)  # [B, S, D]
output, _ = attention(x, x, x)
output.shape

# %% [markdown]
# ## 2 Words, positions, padding
#
# Sentences have different lengths, a tensor does not. Short ones are filled up with a **padding**
# number, 0. A mask remembers where there are words.

# %%
from course_utils.data import pad

source = pad([[5, 6, 7, 8, 9], [5, 6]])
source_mask = source != 0
print(source)
print(source_mask)

# %% [markdown]
# For the attention the mask needs the shape `[B, 1, S]`: for each sentence, one row of keys that
# holds for every query.

# %%
source_mask[:, None, :].shape

# %% [markdown]
# A word becomes a vector by looking it up, and its place does the same. Here positions are *learned*:
# one row for each place, up to `max_length`. (The sines of notebook 05 work too. There is no row for
# a place beyond the last one: a longer sentence must be refused.)
#
# $$x_s = \sqrt{D}\; E[w_s] + P[s]$$
#
# Before training, the embeddings are drawn with the standard deviation $1/\sqrt{D}$ (by `start_well`, in
# section 7). The factor $\sqrt{D}$ then makes them about as large as the positions.

# %%
transformer_diagram(["embedding"], new="embedding")

# %% [markdown]
# ## 3 The encoder layer
#
# ### A network on a batch of positions
#
# After attention has gathered what a position needs, a small network works on it:
#
# $$\mathrm{FF}(x) = W_2\,\mathrm{ReLU}(W_1 x + b_1) + b_2$$
#
# It is the *same* network at every position, and it never looks at another one. So `B` sentences
# of `S` positions are to it a batch of `B * S` samples. A loop shows it:

# %%
feed_forward = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
by_loop = torch.stack([torch.stack([feed_forward(x[b, s]) for s in range(5)]) for b in range(3)])
as_batch = feed_forward(x.reshape(15, 8)).reshape(3, 5, 8)
print("loop = batch:", torch.allclose(by_loop, as_batch, atol=1e-6))
print("batch = direct:", torch.allclose(as_batch, feed_forward(x), atol=1e-6))

# %% [markdown]
# ### Residual and norm
#
# Two things keep deep stacks trainable [@he2016; @ba2016].
#
# - The **residual**: a sublayer *adds* to its input, `x + sublayer(x)`. Nothing is lost on the way,
#   and gradients have a direct path down.
# - The **layer norm** takes the $D$ numbers of one position, subtracts their mean, divides by their
#   standard deviation, then stretches and shifts each by learned numbers.

# %%
row = x[0, 0]
by_hand = (row - row.mean()) / torch.sqrt(row.var(unbiased=False) + 1e-5)
print("the same:", torch.allclose(by_hand, nn.LayerNorm(8)(row), atol=1e-6))

# %% [markdown]
# ### Norm after, or norm first
#
# The norm may come *after* each sum, as in the first transformer [@vaswani2017], or *before* each
# sublayer, which is easier to train [@xiong2020]:
#
# | | `norm_first=False` | `norm_first=True` |
# | --- | --- | --- |
# | attention | `x = norm1(x + attention(x))` | `x = x + attention(norm1(x))` |
# | feed-forward | `x = norm2(x + feed_forward(x))` | `x = x + feed_forward(norm2(x))` |
#
# **Dropout**, which switches off random numbers while training, falls on what a sublayer adds:
# `x + dropout(...)`.

# %% [markdown]
# ### Exercise: `EncoderLayer`
#
# {{exercise encoder-layer}}
#
# All parts are given in `__init__`; keep their names. Write `forward`, for both values of
# `norm_first`. `x` is `[B, S, D]`; `mask` goes to the attention as it is.


# %% nbgrader={"grade_id": "encoder-layer", "solution": true}
class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each with residual, norm and dropout."""

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
# Stack fresh layers, send a gradient back from the top, and measure how large it is at the first and
# at the last layer. Do that for stacks of different depths.

# %%
from course_utils.figures.transformer import gradient_plot


def gradient_sizes(norm_first, layers, seed, d_model=32):
    """Gradients at the bottom and the top layer's first matrix, and the spread of x at the top."""
    torch.manual_seed(seed)
    stack = [EncoderLayer(d_model, 4, 4 * d_model, norm_first) for _ in range(layers)]
    for parameter in (p for layer in stack for p in layer.parameters() if p.dim() > 1):
        nn.init.xavier_uniform_(parameter)
    x = torch.randn(8, 10, d_model)
    for layer in stack:
        x = layer(x)
    output = nn.functional.layer_norm(x, (d_model,))  # both stacks end in a norm
    (output * torch.randn_like(output)).mean().backward()
    bottom, top = (stack[n].feed_forward[0].weight.grad.norm().item() for n in (0, -1))
    return bottom, top, x.std().item()


depths = (2, 4, 8, 16)
if ready("encoder-layer"):
    sizes = {}
    for norm_first, name in ((False, "norm after"), (True, "norm first")):
        runs = [[gradient_sizes(norm_first, n, seed) for seed in range(4)] for n in depths]
        sizes[name] = torch.tensor(runs).mean(dim=1)  # [depths, 3]
        for n, (bottom, top, x) in zip(depths, sizes[name].tolist()):
            print(f"{name}, {n:2} layers: bottom {bottom:.3f}, top {top:.3f}, spread of x {x:.1f}")
    display(gradient_plot(depths, sizes))

# %% [markdown]
# With the norm **after**, `x` is brought back to spread 1 at every layer. The top layer's gradient is
# as large in a deep stack as in a shallow one, though a step now moves many layers at once. Such a
# stack wants a careful start: the warm-up below.
#
# With the norm **first**, nothing is in the way on the direct path. `x` grows as layers add to it, so each
# further layer changes it by a smaller share, and the top layer's gradient shrinks with the depth:
# steps become gentler by themselves. The bottom layer keeps its gradient, whatever the depth. We
# train with `norm_first=True`.

# %% [markdown]
# ## 4 The decoder layer
#
# The decoder has three sublayers:
# 1. **masked self-attention**: the target looks at itself, but not at the future;
# 2. **cross-attention**: queries from the target, keys and values from the encoder's **memory**;
# 3. the **feed-forward** network.
#
# Each has its residual, its norm (`norm1`, `norm2`, `norm3`) and dropout, as before. The memory
# comes ready from the encoder: only `x` is normalised.

# %% [markdown]
# ### Exercise: `DecoderLayer`
#
# {{exercise decoder-layer}}
#
# `x` is `[B, T, D]`, `memory` is `[B, S, D]`. `self_mask` belongs to the self-attention, `memory_mask`
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
# ## 5 The whole
#
# ### The target, one step late
#
# While training, the decoder reads the right target and predicts, at every position at once, the word
# that comes *next*. So what it reads is the target moved one step to the right, with a start mark in
# front:
#
# | step | 0 | 1 | 2 | 3 |
# | --- | --- | --- | --- | --- |
# | the decoder reads | `<s>` | the | cat | sleeps |
# | it should say | the | cat | sleeps | `</s>` |
#
# Two things keep it honest: the shift, so that a position does not read its own answer, and the causal
# mask, so that it does not look it up one position further on.

# %% [markdown]
# ### Exercise: `Transformer`
#
# {{exercise transformer}}
#
# Put it together. `__init__` is given, and so is `forward`. Write
#
# - `embed(tokens, embedding, positions)`: `embedding * sqrt(d_model) + positions`, then dropout, for
#   tokens `[B, L]`. When `L` is larger than `max_length`, raise a `ValueError` that names both;
# - `encode(source, source_mask)`: embed, all encoder layers in turn, `encoder_norm`. `source_mask` is
#   `[B, S]`, True where there is a word, or `None`;
# - `decode(target, memory, source_mask)`: embed, all decoder layers with a causal mask, `decoder_norm`,
#   then `readout`: a score for each word, `[B, T, target_size]`.
#
# Tensors that you make (`torch.arange(L)`, `causal_mask(T)`) belong on the device of the tokens, which may
# be a GPU: `.to(tokens.device)`.


# %% nbgrader={"grade_id": "transformer", "solution": true}
class Transformer(nn.Module):
    """Source [B, S] and target so far [B, T] to a score for every next word [B, T, target_size]."""

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
# ### Is it PyTorch's?
#
# `torch.nn.Transformer` has the stacks and the norms, without embeddings and readout. Copy your numbers
# into it, name by name, and send the same vectors through both. (`in_torchs_names` stacks the $W_Q$, $W_K$
# and $W_V$ of your attention, as you did in notebook 05.)


# %%
import warnings

from course_utils.transformer import in_torchs_names

warnings.filterwarnings("ignore", module="torch.nn.modules.transformer")  # it praises a fast path


def copied_to_torch(model, num_heads, d_ff, norm_first):
    """A torch.nn.Transformer that holds the numbers of our model."""
    layers = len(model.encoder_layers)
    theirs = nn.Transformer(
        model.d_model,
        num_heads,
        layers,
        layers,
        d_ff,
        dropout=0.0,
        batch_first=True,
        norm_first=norm_first,
    )
    # torch calls things by other names; left ours, right theirs.
    names = {
        "cross_attention": "multihead_attn",
        "attention": "self_attn",
        "feed_forward.0": "linear1",
        "feed_forward.2": "linear2",
        "encoder_layers": "encoder.layers",
        "decoder_layers": "decoder.layers",
        "encoder_norm": "encoder.norm",
        "decoder_norm": "decoder.norm",
    }
    state = {}
    for name, value in in_torchs_names(model.state_dict()).items():
        for ours, torchs in names.items():
            # "cross_attention" has been renamed when "attention" has its turn
            name = name.replace(ours, torchs)
        state[name] = value
    theirs.load_state_dict({name: state[name] for name in theirs.state_dict()})
    return theirs.eval()


# %%
if ready("transformer"):
    for norm_first in (False, True):
        torch.manual_seed(1)
        mine = Transformer(16, 4, 3, 32, 20, 20, norm_first).eval()
        theirs = copied_to_torch(mine, 4, 32, norm_first)
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
        print(f"norm_first={norm_first}: scores differ by at most {difference:.1e}")

# %% [markdown]
# ## 6 Writing: greedy decoding
#
# Trained or not, the model gives a score for each *next* word. To write a sentence, take the best
# word, append it, ask again. All that a decoder needs is a function `step`:
# prefixes `[B, t]` to log-probabilities `[B, V]`.
#
# Here is one without any model: it counts upwards, and after 5 it wants to end (0).


# %%
def counting(prefixes):
    """Log-probabilities of the next token: one more than the last one; 0, the end, after 5."""
    following = (prefixes[:, -1] + 1) % 6
    return torch.log_softmax(5.0 * nn.functional.one_hot(following, 6).float(), dim=-1)


counting(torch.tensor([[3], [5]])).argmax(dim=-1)

# %% [markdown]
# ### Exercise: `greedy_decode`
#
# {{exercise greedy-decode}}
#
# For a whole batch at once:
# - `first` `[B]` holds the token that each row starts with. It is not part of the result.
# - At each step give `step` *all* tokens so far, `[B, t]`, and take the most likely next one of each row.
# - A row that has written `end` has ended; fill it up with `end`.
# - Stop when all rows have ended, or after `max_length` written tokens.
#
# Return the written tokens `[B, T]`. With `counting`, `first = [2, 4]` and `end = 0`:
# `[[3, 4, 5, 0], [5, 0, 0, 0]]`.


# %% nbgrader={"grade_id": "greedy-decode", "solution": true}
def greedy_decode(step, first, end, max_length):
    """Tokens [B, T]: the most likely next token, again and again, until all rows have ended."""
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
# Reversing strings and changing case took an LSTM and attention in notebooks 02 and 03. Now there is
# only attention. The loss is the one you know: cross-entropy of the right next token. `start_well`
# sets the first numbers, so that words and positions are about equally large. The positions start as the
# table of `positional_encoding`, yours if you brought it.

# %%
from course_utils.data import END, change_case, epoch_of, reverse
from course_utils.training import fit, seed_everything, warm_up
from course_utils.transformer import start_well


def task_loss(model, batch):
    logits = model(batch.source, batch.given)
    return nn.functional.cross_entropy(logits.transpose(1, 2), batch.wanted), batch.wanted.numel()


def written_by(model, task, batch):
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
        with torch.no_grad():  # positions start as your sines, and are learned from there
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
        exact = sum(a == b for a, b in zip(written_by(models[name], task, test), right)) / 200
        print(
            f"{name:12} {history.seconds:4.0f} s   lines of length 10 without a mistake: {exact:.1%}"
        )

# %% [markdown]
# ### Every layer, every head
#
# `recording` keeps the weights of every attention in a model. Choose a layer and a head. In which of
# them do you find the anti-diagonal of notebook 03?

# %%
from course_utils.widgets import attention_map


def all_heads(maps, part):
    """The maps of one kind of attention, all layers and heads in a row, with their names."""
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
    display(attention_map(weights, letters, steps, heads=names, title="Reversing: where it looks"))

# %% [markdown]
# ### Which head was needed?
#
# A map shows where a head looks. Whether the model *needs* what it finds is another question. Take the
# head away, and see what becomes of the loss.
#
# The heads are joined side by side, and $W_O$ mixes them. So a head hands its $d$ numbers to $d$ columns of
# $W_O$, and if those are zero, nothing of it gets through:

# %%
z = torch.randn(6)  # what two heads of size 3 found for one position
W_O = torch.randn(6, 6)
half = W_O.clone()
half[:, :3] = 0
print("all heads:   ", (W_O @ z).numpy().round(2))
print("head 1 alone:", (half @ z).numpy().round(2))
print("the same as: ", (W_O[:, 3:] @ z[3:]).numpy().round(2))

# %% [markdown]
# ### Exercise: `without_head`
#
# {{exercise silence-a-head}}
#
# `W_O` is the matrix `[D, D]` of the last linear layer of an attention, as PyTorch keeps it: row by row the
# outputs, column by column what comes in. Return a **copy** in which head `head` adds nothing. Heads count
# from 0. `W_O` itself must stay as it is: we will need it again.


# %% nbgrader={"grade_id": "silence-a-head", "solution": true}
def without_head(W_O, num_heads, head):
    """A copy of W_O [D, D] through which nothing of one head gets."""
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
# The model that reverses strings has 24 heads: two layers of four in the encoder, in the decoder's
# self-attention and in its cross-attention. Guess before you run the experiment: silence the worst head
# of each kind, one at a time. For which kind does the loss rise most?

# %%
from course_utils.widgets import predict

KINDS = {
    "encoder self-attention": lambda name: name.startswith("encoder"),
    "decoder self-attention": lambda name: name.startswith("decoder") and ".attention" in name,
    "cross-attention": lambda name: name.endswith("cross_attention"),
}
guess = predict("06 worst head", "Which kind of attention has the head that is missed most?", [*KINDS])
guess


# %%
def output_matrix(attention):
    """W_O of an attention: your class calls it so, PyTorch's calls it out_proj."""
    return (attention.W_O if hasattr(attention, "W_O") else attention.out_proj).weight


def loss_without(model, name, head, batch):
    """The loss on a batch while one head of the attention called `name` is silent."""
    attention = model.get_submodule(name)
    W_O = output_matrix(attention)
    before = W_O.detach().clone()
    with torch.no_grad():
        W_O.copy_(without_head(before, attention.num_heads, head))
        loss, _ = task_loss(model, batch)
        W_O.copy_(before)
    return loss.item()


if ready("transformer", "greedy-decode", "silence-a-head"):
    model = models["reverse"].eval()
    batch = tasks["reverse"].draw(200, 8, seed=98)
    with torch.no_grad():
        print(f"all heads: loss {task_loss(model, batch)[0]:.3f}")
    worst = {}
    for kind, belongs in KINDS.items():
        for name in (n for n, _ in model.named_modules() if n.endswith("attention") and belongs(n)):
            losses = [loss_without(model, name, head, batch) for head in range(4)]
            worst[kind] = max([worst.get(kind, 0.0), *losses])
            print(f"{name:34} without head 0 to 3:", "  ".join(f"{v:.3f}" for v in losses))
    display(guess.reveal(max(worst, key=worst.get)))

# %% [markdown]
# Look at the maps of the heads that are missed, and of those that are not. A head with a clear picture
# need not matter: another one may do the same work. And a head that is missed *now* need not have been
# necessary: trained without it, the model would have found another way.

# %% [markdown]
# ## 8 Training a translator
#
# The data of notebook 04: Multi30k, or the built-in corpus where there is no network (and in the
# smoke budget).

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
# Pairs of similar length are put together, so that little is padding:

# %%
batches = padded_batches(data.train, recipe.batch_size, seed=0)
batch = batches[0]
share = sum((b.wanted == 0).sum() for b in batches) / sum(b.wanted.numel() for b in batches)
print(
    f"{len(batches)} batches; the first: source {list(batch.source.shape)}, given {list(batch.given.shape)}"
)
print(f"padding: {share:.1%} of the target")

# %% [markdown]
# ### Label smoothing
#
# Cross-entropy asks for certainty: probability 1 for the one right word. But there is often more
# than one good word. **Label smoothing** [@szegedy2016] asks for 0.9, and spreads the rest over all words. Being too
# sure now costs:

# %%
words = torch.tensor([0])
for sure in (0.5, 0.9, 0.99, 0.9999):
    logits = torch.log(torch.tensor([[sure] + [(1 - sure) / 99] * 99]))
    plain, smooth = (
        nn.functional.cross_entropy(logits, words, label_smoothing=s) for s in (0.0, 0.1)
    )
    print(f"probability {sure:<6}: loss {plain:.3f}, smoothed {smooth:.3f}")

# %% [markdown]
# ### Warm-up
#
# In the first steps the gradients are wild, and Adam [@kingma2015] has seen too few of them to know. So the learning
# rate starts near zero, rises for some hundred steps, and then falls:

# %%
factor = warm_up(rising=100, total=1000)
for step in (1, 25, 50, 100, 400, 700, 1000):
    print(f"step {step:4}  {'█' * round(40 * factor(step))} {factor(step):.2f}")

# %% [markdown]
# ### Train (quick: our run took {{claim:transformer.quick_minutes}} minutes of CPU time)
#
# `make_transformer` fills your class, sets its first numbers with `start_well`, and **ties** the readout [@press2017]
# to the target's embedding: both use one matrix, so what a word is like is learned once, not twice.
#
# You can interrupt: the best weights so far are kept.

# %%
if ready("transformer", "greedy-decode"):
    seed_everything(0)
    model = make_transformer(Transformer, data, recipe.sizes)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    history = train_transformer(
        model, data, recipe, checkpoint=None if budget == "smoke" else "06_transformer"
    )
    display(history.plot())

# %% [markdown]
# (The training loss is the smoothed one, so it can't fall as low as the other.)
#
# ### The table gains a row (about one minute)
#
# BLEU on the test set, with *your* `greedy_decode`, beside the runs of notebook 04.

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
    answers = translate(model, data, sources, written_by(greedy_decode))
    translations = [answer.words for answer in answers]
    score = bleu(translations, data)
    print(score)
    ours = [*read_results(), *read_results(TRANSFORMER_RESULTS)]
    measured = [run for run in ours if run.budget == "quick"]
    if corpus.name == "Multi30k":
        measured.append(Result.of("transformer (yours)", 0, budget, history, score))
    else:
        print(f"Yours was trained on another corpus ({corpus.name}), so it is not in this table:")
    print()
    print(comparison_text(summarise(measured)))
    for run in ours:
        if run.budget == "full":
            print(
                f"full budget, {run.mechanism}: BLEU {run.bleu_tokens} ({run.cpu_minutes:.0f} CPU minutes)"
            )

# %% [markdown]
# The other rows are ours, measured on Multi30k in the quick budget. Yours joins them if it was trained on
# Multi30k too; BLEU of another corpus is another unit.

# %% [markdown]
# ### Where it wins, and where not
#
# Here every word is one step away from every other, and all target positions are computed at once, which
# suits a GPU. But nothing tells a transformer that words come in a row. It has to learn that from the
# data, and there are only 29,000 pairs.
#
# - *At about equal time* ({{claim:transformer.quick_minutes mean}} and {{claim:transformer.recurrent_quick_minutes mean}} minutes of CPU time) the transformer got {{claim:transformer.quick}} BLEU ({{claim:transformer.quick runs}}),
#   the recurrent translator {{claim:transformer.recurrent_quick range}} ({{claim:transformer.recurrent_quick runs}}).
# - *At about equal quality*, {{claim:transformer.full}} BLEU ({{claim:transformer.full runs}}) and {{claim:transformer.recurrent_full}} ({{claim:transformer.recurrent_full runs}}), the transformer
#   took {{claim:transformer.full_minutes}} minutes of CPU time and the recurrent translator {{claim:transformer.recurrent_full_minutes}}.
#
# So here the recurrent translator is ahead in few minutes, and with more of them the transformer gets as far.
# So few runs don't show how much longer it takes, and say nothing about a GPU or a larger corpus.
#
# Look at BLEU for short and for long sentences, beside the translator of notebook 04 (our run, on
# Multi30k). Where is the gap largest? How many long sentences are there to learn their positions from?

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
# Three kinds of attention, each with all layers and heads. Which heads look at neighbours, which at
# the word being translated? Are there heads that look at nothing in particular?

# %%
if ready("transformer", "greedy-decode"):
    place = 3
    source = torch.tensor([sources[place]])
    given = torch.tensor([[START, *data.target_vocabulary.encode(translations[place])]])
    with recording(model) as maps, torch.no_grad():
        model.cpu().eval()(source, given)
    german = tokenise(corpus.test.source[place])
    english = [*translations[place], "</s>"]
    kinds = {
        "encoder: the source looks at itself": (
            lambda n: n.startswith("encoder"),
            german,
            german,
        ),
        "decoder: the target looks at itself": (
            lambda n: n.startswith("decoder") and n.endswith(".attention"),
            ["<s>", *translations[place]],
            english,
        ),
        "cross-attention: the target looks at the source": (
            lambda n: n.endswith("cross_attention"),
            german,
            english,
        ),
    }
    for title, (part, columns, rows) in kinds.items():
        weights, names = all_heads(maps, part)
        display(attention_map(weights, columns, rows, heads=names, title=title))

# %% [markdown]
# ## 9 Find the bug
#
# Six models that reverse strings. Each has **one** fault, and none of them raises an error: you must
# find the faults from how the models behave. All were trained in the same way, on batches where every
# line has the same length, 4 to 8 letters. What you get is the record of their training and of the
# experiments below.
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
        print(f"   {line}  should be {line[::-1]}, and is {answer}")

# %% [markdown]
# ### Experiments
#
# One thing is changed, and the answer changes or it does not. First the order of the source:

# %%
for record in suspects.values():
    print(f"model {record.name}:", *(f"{line} -> {answer}" for line, answer in record.orders))

# %% [markdown]
# Now the company: the same line alone, and in a batch with a longer one, so that it is padded. Last
# the same question twice.

# %%
for record in suspects.values():
    line, alone, beside = record.neighbours[0]
    changed = sum(alone != beside for _, alone, beside in record.neighbours)
    print(f"model {record.name}: {line} alone {alone!r}, beside a longer line {beside!r};", end=" ")
    print(f"{changed} of {len(record.neighbours)} answers change")

# %%
for record in suspects.values():
    changed = sum(first != second for _, first, second in record.twice)
    print(f"model {record.name}: asked twice, {changed} of {len(record.twice)} answers differ")

# %% [markdown]
# And their maps, while they read the right answer to a line; with `padded`, beside a longer one
# (padding is shown as `·`). Some faults of the list below share their symptoms: a map tells them
# apart.

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
# ### Exercise: which fault, and what shows it?
#
# {{exercise find-the-bug}}
#
# Choose from these lists, and write the text on the left between quotes. In `notes` write a sentence
# for each model: which experiment convinced you, and what it showed. A fault counts by itself; what
# shows it counts with its sentence.
#
# **Round 2** is D, E and F. Put `"def"` for `"abc"` in the cells above.

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
A: four orders of the same letters get one answer: the letters are right, the order is lost.
B: the loss is near zero, the samples are wrong, and its map looks one step ahead.
C: alone it is right, beside a longer line it is wrong: it looks at padding.
D: lines of 4 and 5 letters are right, lines of 7 and 8 go wrong at their beginning.
E: the loss is near zero from the second epoch on, and its map looks at the step itself.
F: asked twice, it gives two answers to many lines, though nothing has changed.
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
# Nobody tells you that a model has a fault: that a loss is low, or that training runs, says little.
# Which of your six experiments would you run first on your own translator?

# %% [markdown]
# ## Summary
#
# - An encoder layer is attention and a feed-forward network, each inside a residual with a norm.
# - A decoder layer adds cross-attention: queries from the target, keys and values from the memory.
# - The shifted target and the causal mask together keep the answer out of sight.
# - Padding needs a mask wherever it can be looked at; smoothing and warm-up make training calm.
# - A low loss proves nothing by itself: look at samples, and change one thing at a time.
#
# **Next:** `07_decoder_only` throws half of this model away, and asks what each kind of model costs.
