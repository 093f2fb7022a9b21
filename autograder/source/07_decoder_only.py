# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 07 · Decoder-only, and beyond
#
# **{{minutes}} · {{points}}**
#
# After this notebook you can
# - build and train a decoder-only language model with the shape of GPT-2, from your own parts,
# - write text with a temperature, top-k and a key-value cache,
# - load trained parameters, find heads by what they do, and measure what each is for,
# - say what an RNN, a transformer and a state-space model cost, and how much each can keep,
# - tell a readable attention map from an explanation.

# %% tags=["setup"]
import math

import torch
from torch import nn
from torch.nn import functional as F

from course_utils import bring_your_own, check, own, ready
from course_utils.transformer import check_mask

MultiHeadAttention = own.part("MultiHeadAttention")

# %% [markdown]
# ### Bring your own
#
# Paste your `MultiHeadAttention` from notebook 05 into this cell, above its last line, and run it. If it
# passes its check, the language model of this notebook is built with it. Otherwise PyTorch's version is
# used. Nothing in this cell is graded, and no later check depends on it.

# %%
# Paste your class here.

bring_your_own("MultiHeadAttention")

# %% [markdown]
# ## 1 From encoder-decoder to decoder-only
#
# The transformer of notebook 06 uses attention in three places. The encoder looks at the source, the
# decoder looks at its own past, and cross-attention looks from the target at the source.
#
# Now write source and target one after the other, as a single sequence, as in the lecture
# @[attention-lecture]. The three
# attentions become three blocks of one square table:

# %%
from course_utils.figures.joined_masks import draw_masks

source_words = ["der", "hund", "schläft"]
target_words = ["<s>", "the", "dog", "sleeps"]
draw_masks(source_words, target_words)

# %% [markdown]
# A **decoder-only** model keeps one stack of layers and one mask. Cross-attention has become the lower
# left block of the table. The source block, at the upper left, can be treated in two ways:
# - **causal** throughout: each word sees only itself and the words before it (middle);
# - with a **two-way source**: source words see each other in both directions (right).
#
# The right-hand table allows exactly what the left-hand one allows. Yet three things differ from an
# encoder-decoder:
# - **Which layer is read.** Cross-attention, in every decoder layer, reads the encoder's *last* layer,
#   which has finished reading the source. In the joined stack, layer $n$ of the target reads the source
#   as it enters layer $n$.
# - Source and target share all parameters.
# - A single softmax covers both.

# %% [markdown]
# ### The mask, first as a loop
#
# Row `i` may look at column `j` unless `j` comes later. With a two-way source of `S` words, the source
# block is open as well:

# %%
S, T = len(source_words), len(target_words)
L = S + T
mask = torch.zeros(L, L, dtype=torch.bool)
for i in range(L):
    for j in range(L):
        if j <= i or (i < S and j < S):
            mask[i, j] = True
mask.int()

# %% [markdown]
# `True` marks where attention is allowed. Everywhere else the score becomes minus infinity, and the
# weight is therefore 0. The models of this notebook make the same mask without a loop:

# %%
from course_utils.language_model import joined_mask

print("the masks are equal:", torch.equal(joined_mask(L, prefix=S), mask))

# %% [markdown]
# ## 2 A language model, built by you
#
# A language model predicts the next token of any text. Ours has the shape of GPT-2 [@radford2019], and you
# already know every part of it:
#
# 1. **embedding**: one vector for each token plus one for each position, both learned;
# 2. **causal layers**: attention to the past and to oneself, then a feed-forward network. Each of the two
#    reads a *normalised* $x$, and its output is added to $x$ itself (norm first, as in notebook 06):
#    $$x \leftarrow x + \mathrm{attention}(\mathrm{norm}_1(x)), \qquad x \leftarrow x + \mathrm{feed}(\mathrm{norm}_2(x))$$
# 3. a **final norm**;
# 4. the **readout**: one logit per token. It is *tied*: the logit of a token is the dot product of $x$ and
#    that token's embedding, so there are no new parameters.
#
# The feed-forward network uses a GELU, which is a ReLU with a rounded corner, in the form that GPT-2 has:

# %%
z = torch.linspace(-3, 3, 7)
print("     z", *(f"{v:6.2f}" for v in z))
print("  ReLU", *(f"{v:6.2f}" for v in torch.relu(z)))
print("  GELU", *(f"{v:6.2f}" for v in nn.functional.gelu(z, approximate="tanh")))

# %% [markdown]
# ### The tied readout, first as a loop
#
# `table` holds the embeddings of five tokens. The vector `x` of a position is compared with every row:

# %%
torch.manual_seed(0)
table, x = torch.randn(5, 4), torch.randn(2, 3, 4)  # [V, D], [B, T, D]
logits = torch.zeros(2, 3, 5)
for b in range(2):
    for t in range(3):
        for token in range(5):
            logits[b, t, token] = sum(x[b, t, i] * table[token, i] for i in range(4))
print("the loop and x @ table.T agree:", torch.allclose(logits, x @ table.T, atol=1e-6))

# %% [markdown]
# ### Exercise: `CausalLayer` and `DecoderOnly`
#
# {{exercise decoder-only-model}}
#
# Both `__init__` are given. Keep the names, so that trained parameters can be loaded later. Write the two
# `forward` methods:
# - `CausalLayer.forward(x)`: `x` is `[B, T, D]`, and the norms come first, as above.
#   `self.attention(query, key, value, mask)` returns the output first. The mask is `[T, T]`, True where
#   position `t` may see position `s`.
# - `DecoderOnly.forward(tokens, first=0)`: `tokens` is `[B, T]`, and the result is `[B, T, vocab_size]`. The
#   first token is at position `first`, the next at `first + 1`, and so on. (Section 5 needs this, because
#   there a text continues from what is already known.) If a position would be `max_length` or more, raise a
#   `ValueError` that says how many positions are needed, `first + T`, and how many there are.
#
# Unlike in notebook 06, the embedding is *not* multiplied by $\sqrt{D}$.


# %% nbgrader={"grade_id": "decoder-only-model", "solution": true}
class CausalLayer(nn.Module):
    """x + attention(norm1(x)), then x + feed_forward(norm2(x)); no position sees a later one."""

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.GELU(approximate="tanh"), nn.Linear(d_ff, d_model)
        )

    def forward(self, x):
        ### BEGIN SOLUTION
        T = x.shape[1]
        causal = torch.ones(T, T, dtype=torch.bool, device=x.device).tril()
        z = self.norm1(x)
        x = x + self.attention(z, z, z, causal)[0]
        return x + self.feed_forward(self.norm2(x))
        ### END SOLUTION


class DecoderOnly(nn.Module):
    """Tokens [B, T] to the logits of each next token [B, T, vocab_size], with GPT-2's shape."""

    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, max_length):
        super().__init__()
        self.max_length = max_length
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(
            CausalLayer(d_model, num_heads, d_ff) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)

    def forward(self, tokens, first=0):
        ### BEGIN SOLUTION
        end = first + tokens.shape[1]
        if end > self.max_length:
            raise ValueError(f"{end} positions are needed, but there are only {self.max_length}.")
        places = torch.arange(first, end, device=tokens.device)
        x = self.tokens(tokens) + self.positions(places)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x) @ self.tokens.weight.T
        ### END SOLUTION


# %% nbgrader={"grade_id": "decoder-only-model-check", "grade": true}
result = check("decoder-only-model")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("decoder-only-model")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ### A loss at every token
#
# The text itself is the answer sheet. From `p r i n t` the model learns four things at once:
#
# | it has read | it should predict |
# | --- | --- |
# | `p` | `r` |
# | `p r` | `i` |
# | `p r i` | `n` |
# | `p r i n` | `t` |
#
# So the logits at position $t$ are compared with the token at $t + 1$. Forgetting this **shift** is a classic
# bug that hides well. If you compare them with the token at $t$, which the model has just read, the loss
# falls almost to zero: the model learns to copy its input, and can't write anything.

# %% [markdown]
# ### Exercise: `next_token_loss`
#
# {{exercise shifted-targets}}
#
# `logits` is `[B, T, V]`. `tokens` is `[B, T]`: what went into the model. Return the mean cross-entropy (with
# the natural logarithm) over all `B * (T - 1)` predictions, as a scalar tensor. As a loop:
#
# ```python
# losses = []
# for b in range(B):
#     for t in range(T - 1):
#         log_probabilities = torch.log_softmax(logits[b, t], dim=-1)
#         losses.append(-log_probabilities[tokens[b, t + 1]])
# return torch.stack(losses).mean()
# ```
#
# Write it without loops. `F.cross_entropy` accepts `[N, V]` with `[N]`, or `[B, V, T]` with `[B, T]`.


# %% nbgrader={"grade_id": "shifted-targets", "solution": true}
def next_token_loss(logits, tokens):
    """Mean cross-entropy between the logits at t and the token at t + 1."""
    ### BEGIN SOLUTION
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    ### END SOLUTION


# %% nbgrader={"grade_id": "shifted-targets-check", "grade": true}
result = check("shifted-targets")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("shifted-targets")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ## 3 Training on text that you already have
#
# The source code of Python's standard library is on your machine: a few million bytes of real text. Each
# **byte** is a token, so there are 256 of them and no vocabulary to build. A few files, chosen by name, are
# held out.

# %%
from course_utils.language_model import BYTE_RECIPES, standard_library

texts = standard_library()
byte_recipe = BYTE_RECIPES[budget]
print(texts.note)
print(texts.held_out[:300].decode(errors="replace"))

# %% [markdown]
# How good is a model? The loss of a byte, with the logarithm to base 2, is the number of **bits** needed to
# store that byte with the model's help. Every language model is thus a compressor, and can be compared with
# other compressors. There are two rivals:
# - **bigram**: a table that counts which byte follows which. Its context is a single byte.
# - **gzip**: it finds repetitions in the last 32,768 bytes. It has learned nothing in advance.
#
# Guessing among 256 bytes costs 8 bits.

# %%
from course_utils.language_model import bigram_bits, gzip_bits

asked = texts.held_out[:4_000] if budget == "smoke" else texts.held_out
bits = {
    "guessing": 8.0,
    "bigram": bigram_bits(texts.train, asked),
    "gzip": gzip_bits(asked),
}
for name, value in bits.items():
    print(f"{name:>10}: {value:.2f} bits per byte")

# %% [markdown]
# **Before you train**: who will win? In the quick budget your model has just under a million parameters,
# minutes of training, and reads 128 bytes at a time. gzip looks back 32,768 bytes, and source code repeats
# itself.

# %%
from course_utils.widgets import predict

bet = predict(
    "bits-per-byte",
    "Which needs the fewest bits per byte on the held-out files, after the quick budget?",
    ["bigram", "gzip", "your model"],
)
bet

# %% [markdown]
# ### Train it (quick: {{given:3 to 6 minutes}} on two cores)

# %%
from course_utils.language_model import start_small, train_on_bytes

built = ready("decoder-only-model", "shifted-targets")
if built:
    torch.manual_seed(0)
    model = DecoderOnly(**byte_recipe.sizes)
    start_small(model)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    byte_history = train_on_bytes(
        model, texts.train, next_token_loss, byte_recipe, held_out=texts.held_out
    )

# %%
from course_utils.language_model import bits_per_byte

if built:
    bits["your model"] = bits_per_byte(model.cpu(), asked, byte_recipe.context)
    for name, value in sorted(bits.items(), key=lambda item: -item[1]):
        print(f"{name:>10}: {value:.2f} bits per byte")

# %%
if built and budget != "smoke":
    display(bet.reveal(min(bits, key=bits.get)))
elif built:
    print("A smoke run is far too short to decide the bet. Section 6 has a model trained for longer.")

# %% [markdown]
# ## 4 Choosing the next token
#
# The model gives *logits*. **Greedy** decoding takes the largest. For more variety we *draw* a token at
# random, and the **temperature** $\tau$ sets how adventurous the draw is:
#
# $$p_i = \frac{\exp(z_i / \tau)}{\sum_j \exp(z_j / \tau)}$$
#
# Here are the numbers for three logits:

# %%
logits = torch.tensor([2.0, 1.0, 0.0])
for temperature in (0.5, 1.0, 2.0):
    powers = [torch.exp(z / temperature) for z in logits]
    print(temperature, [f"{float(power / sum(powers)):.3f}" for power in powers])

# %% [markdown]
# A low temperature sharpens the distribution, a high one flattens it. As $\tau \to 0$, drawing becomes greedy.
#
# Each unlikely token is rarely drawn, but there are many of them. **Top-k** keeps only the `k` largest
# logits; all other tokens get probability 0. These are your model's five best after `__init__(sel`:


# %%
from course_utils.language_model import as_tokens

if built:
    with torch.no_grad():
        logits = model(as_tokens(b"    def __init__(sel")[None])[0, -1]
    best = logits.topk(5)
    for value, token in zip(best.values, best.indices):
        print(f"{chr(token)!r:>6} {value:6.2f}")

# %% [markdown]
# ### Exercise: `sample_next`
#
# {{exercise sample-next}}
#
# `logits` has the shape `[V]`. Draw one token from $\mathrm{softmax}(z / \tau)$ and return its number as an
# `int`. With `top_k`, draw only among the `top_k` largest logits, or among all of them if there are fewer. If
# equal logits tie for the last place, any choice among them is right. Take the randomness from `generator`,
# so that the draw can be repeated; `torch.multinomial` accepts one. Leave `logits` unchanged.


# %% nbgrader={"grade_id": "sample-next", "solution": true}
def sample_next(logits, temperature=1.0, top_k=None, generator=None):
    """Draw a token from softmax(logits / temperature), among the top_k best."""
    ### BEGIN SOLUTION
    scores = logits / temperature
    if top_k is not None and top_k < len(scores):
        best = scores.topk(top_k)  # exactly top_k of them, even if some are equal
        scores = torch.full_like(scores, float("-inf")).scatter(0, best.indices, best.values)
    probabilities = torch.softmax(scores, dim=-1)
    return int(torch.multinomial(probabilities, 1, generator=generator))
    ### END SOLUTION


# %% nbgrader={"grade_id": "sample-next-check", "grade": true}
result = check("sample-next")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("sample-next")
result.points
### END HIDDEN TESTS

# %% [markdown]
# How can the check be fair when your function is random? It draws many times, counts, and asks whether such
# counts can come from the right probabilities. A correct answer fails by chance less than once in $10^9$
# checks.
#
# Now let your model continue from a few bytes, from cold to hot:

# %%
from course_utils.language_model import write_text

if built and ready("sample-next"):
    generator = torch.Generator().manual_seed(0)
    for temperature, top_k in ((0.3, None), (0.8, None), (0.8, 5), (1.5, None)):

        def draw(logits, temperature=temperature, top_k=top_k):
            return sample_next(logits, temperature, top_k, generator)

        print(f"---- temperature {temperature}, top_k {top_k}")
        print(write_text(model, "def main(", 200, draw))

# %% [markdown]
# Once the model is trained, cold text repeats itself and hot text is noise [@holtzman2020].
# In between it looks like Python, with indentation, closing brackets and names that come back. But it
# means nothing: in a few minutes, the model has learned only what source code looks like, byte by byte.

# %% [markdown]
# ## 5 The key-value cache
#
# To write one more token, the loop above runs the whole stack over *all* tokens again, although most of that
# work has been done before. With a causal mask an earlier position never sees a later one, so nothing about
# it changes. The next cell shows this. (PyTorch expects `True` where attention is *not* allowed, so `~`
# inverts the mask.)

# %%
torch.manual_seed(0)
D, num_heads = 16, 4
attention = nn.MultiheadAttention(D, num_heads, batch_first=True)
x = torch.randn(1, 6, D)

with torch.no_grad():
    five, _ = attention(x[:, :5], x[:, :5], x[:, :5], attn_mask=~joined_mask(5))
    six, _ = attention(x, x, x, attn_mask=~joined_mask(6))
print("the first five outputs agree:", torch.allclose(five, six[:, :5], atol=1e-6))

# %% [markdown]
# So what does the new position need? Its own **query**, and the **keys** and **values** of all positions up to
# itself. The old keys and values are the same as last time, so we keep them.
#
# | | work for token $t$ | kept |
# | --- | --- | --- |
# | without cache | all of $1 \dots t$ through every layer | nothing |
# | with cache | one position through every layer, and one query against $t$ keys | $t$ keys and $t$ values per layer |

# %% [markdown]
# Here it is as a loop, for one head and one position at a time. `keys` and `values` grow by one row per step:

# %%
W_Q, W_K, W_V = (torch.randn(D, D) / D**0.5 for _ in range(3))
keys, values, outputs = [], [], []
for t in range(6):
    new = x[0, t]
    keys.append(new @ W_K)
    values.append(new @ W_V)
    query = new @ W_Q
    scores = torch.stack([query @ key for key in keys]) / D**0.5
    weights = torch.softmax(scores, dim=0)
    outputs.append(sum(weight * value for weight, value in zip(weights, values)))

# %% [markdown]
# No mask was needed, because nothing can look at what does not exist yet. Computing everything at once, with a
# mask, gives the same:

# %%
scores = (x[0] @ W_Q) @ (x[0] @ W_K).T / D**0.5
scores = scores.masked_fill(~joined_mask(6), float("-inf"))
at_once = torch.softmax(scores, dim=-1) @ (x[0] @ W_V)
print("loop and mask agree:", torch.allclose(torch.stack(outputs), at_once, atol=1e-5))

# %% [markdown]
# ### Exercise: `CachedSelfAttention`
#
# {{exercise cached-self-attention}}
#
# Write causal self-attention with several heads that remembers earlier calls. `forward(x)` gets `T` **new**
# positions, `[B, T, D]`, and returns their outputs, `[B, T, D]`. Each new position attends to everything from
# earlier calls, to the new positions before it, and to itself. `reset()` makes the module forget.
# - Begin with your `MultiHeadAttention` of notebook 05. Only what is kept and the mask are new.
# - Keep keys and values rather than inputs, so that each position is projected only once.
# - Scale by $\sqrt{D / \mathtt{num\_heads}}$. The last step is `W_O`.
# - A call may bring several positions even if others have been kept. With `S` old keys, new position `i` may
#   see the first `S + i + 1`, so the mask has `T` rows and `S + T` columns.


# %% nbgrader={"grade_id": "cached-self-attention", "solution": true}
class CachedSelfAttention(nn.Module):
    """Causal self-attention that keeps the keys and values of earlier calls."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads do not divide d_model = {d_model}.")
        self.num_heads = num_heads
        self.W_Q = nn.Linear(d_model, d_model)
        self.W_K = nn.Linear(d_model, d_model)
        self.W_V = nn.Linear(d_model, d_model)
        self.W_O = nn.Linear(d_model, d_model)
        self.reset()

    def reset(self):
        """Forget all earlier positions."""
        ### BEGIN SOLUTION
        self.keys = self.values = None
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        B, T, D = x.shape

        def cut(z):  # [B, T, D] -> [B, num_heads, T, D / num_heads]
            return z.view(B, T, self.num_heads, -1).transpose(1, 2)

        query, key, value = cut(self.W_Q(x)), cut(self.W_K(x)), cut(self.W_V(x))
        if self.keys is not None:
            key = torch.cat([self.keys, key], dim=2)
            value = torch.cat([self.values, value], dim=2)
        self.keys, self.values = key, value

        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        if T > 1:  # a single new position sees everything there is
            S = key.shape[2] - T
            future = torch.ones(T, S + T, dtype=torch.bool, device=x.device).triu(S + 1)
            scores = scores.masked_fill(future, float("-inf"))
        context = torch.softmax(scores, dim=-1) @ value
        return self.W_O(context.transpose(1, 2).reshape(B, T, D))
        ### END SOLUTION


# %% nbgrader={"grade_id": "cached-self-attention-check", "grade": true}
result = check("cached-self-attention")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("cached-self-attention")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ### The same text, for less work
#
# Your module now replaces the attention in your model and takes over its parameters. Since a new token
# arrives alone, the model can't tell from its input how far the text has got; that is what `first` is for.
# Both ways must write the same text:

# %%
from course_utils.language_model import write

if built and ready("cached-self-attention"):
    start = as_tokens(b"import os\nimport ")[None]
    count = byte_recipe.context - start.shape[1]
    without = write(model, start, count)
    cached = write(model, start, count, attention=CachedSelfAttention)
    print("the same text:", without.words == cached.words)
    nothing = "(Nothing but spaces: this model has hardly been trained.)"
    print(bytes(cached.words).decode(errors="replace").strip() or nothing)

# %% [markdown]
# Here is another classic bug. What if the positions start again at 0 with every call? The keys and values
# are kept properly, no error is raised, and the text falls apart:

# %%
from course_utils.language_model import with_cache

if built and ready("cached-self-attention"):
    token, text = start, []
    with torch.no_grad(), with_cache(model, CachedSelfAttention):
        for _ in range(count):
            logits = model(token)  # `first` is forgotten
            token = logits[:, -1:].argmax(-1)
            text.append(int(token))
    print(bytes(text).decode(errors="replace").strip() or nothing)

# %% [markdown]
# What does a step cost? A larger model continues from 64 tokens with 256 more, both ways. It is untrained,
# since time does not depend on what a model knows. (quick: about {{given:15 seconds}})

# %%
count = {"smoke": 48, "quick": 256, "full": 256}[budget]
if built and ready("cached-self-attention"):
    torch.manual_seed(0)
    large = DecoderOnly(1000, 256, 8, 4, 1024, max_length=64 + count)
    start_small(large)
    start = torch.randint(1000, (1, 64))
    write(large, start, 4, attention=CachedSelfAttention)  # first calls are slow, so not timed
    without = write(large, start, count)
    cached = write(large, start, count, attention=CachedSelfAttention)
    total_without, total_cached = sum(without.seconds), sum(cached.seconds)
    print("the same tokens:", without.words == cached.words)
    print(f"without cache {total_without:.2f} s, with cache {total_cached:.2f} s:", end=" ")
    print(f"{total_without / total_cached:.1f} times as fast")

# %%
from course_utils.language_model import draw_steps

if built and ready("cached-self-attention"):
    picture = draw_steps(without, cached)
    display(picture)
    print(picture.words)

# %% [markdown]
# Without a cache, token $t$ costs $t$ positions of work, so $n$ tokens cost about $n^2 / 2$. With a cache, a
# token costs one position plus one query against all the kept keys.
#
# The price is memory: one key and one value for each position in each layer. The cache also relies on the
# causal mask. A two-way source can be cached too, but only once it is complete: one more source word would
# change the keys of all the others from the second layer on.

# %% [markdown]
# ## 6 Parameters that somebody trained
#
# A class defines a shape; what the model knows is in its parameters. The course comes with a small trained
# model of the kind you built, with two layers of four heads, trained on the standard library. If your class
# is right, it gives the same logits as ours did:

# %%
from course_utils.language_model import load_weights, shipped_model

if built:
    shipped = shipped_model()
    small = DecoderOnly(**shipped.sizes).eval()
    load_weights(small, shipped.weights)
    with torch.no_grad():
        logits = small(as_tokens(shipped.text)[None])[0]
    apart = float((logits - shipped.logits).abs().max())
    print(f"The logits differ from the stored ones by at most {apart:.1e}.")
    some, context = texts.held_out[:20_000], shipped.sizes["max_length"]
    print(f"On 20,000 held-out bytes it needs {bits_per_byte(small, some, context):.2f} bits per byte,")
    print(f"where gzip needs {gzip_bits(some):.2f}.")

# %% [markdown]
# ### What do its heads do?
#
# The model has eight heads, each with its own map. Here is a line of code: choose a head of the first layer
# and see where each byte looks.

# %%
from course_utils.language_model import maps_of
from course_utils.widgets import attention_map

if built:
    line = b"for i in range(n): total = total + row[i]"
    letters = [chr(byte) for byte in line]
    maps = maps_of(small, as_tokens(line)[None])
    display(attention_map(maps[0, 0], letters, letters, title="First layer"))

# %% [markdown]
# The map of a single line can mislead. Two **measures** over a lot of text are better:
# - **previous token**: how much weight goes to the position just before, on real text;
# - **induction** [@olsson2022]: write random bytes twice. When a byte comes up for the second time, how much
#   weight goes to the byte that *followed* it the first time? A head that looks there can copy what comes
#   next. This takes two layers: one marks each byte with the byte before it, and the next finds the mark.
#
# Random text can't be predicted, so the second time only looking back can help.

# %%
from course_utils.language_model import measure_heads

if built:
    heads = measure_heads(small, texts.held_out[:20_000])
    print("head  previous token  induction")
    for head in heads:
        print(f" {head.name} {head.previous:15.0%} {head.induction:10.0%}")

# %% [markdown]
# ### Silence each head and watch the loss
#
# A measure says where a head *looks*. To learn what the head is *for*, remove it by setting its columns of
# the output projection to zero. We record two losses in bits per byte: on real code, and on random text that
# comes up for the second time.

# %%
from course_utils.language_model import loss_of_the_second_time, silenced

if built:
    whole = bits_per_byte(small, some, context)
    second = loss_of_the_second_time(small) / math.log(2)
    print(f"without  real code  second time\nnone     {whole:9.2f} {second:12.2f}")
    costs = {}
    for head in heads:
        with silenced(small, head.layer, head.number):
            lost = bits_per_byte(small, some, context) - whole
            again = loss_of_the_second_time(small) / math.log(2) - second
        costs[head.name] = (lost, again)
        print(f"{head.name} {lost:+15.2f} {again:+12.2f}")

# %%
if built:
    found = max(heads, key=lambda head: head.previous)
    rank = sorted(costs, key=lambda name: -costs[name][0]).index(found.name) + 1
    print(f"Head {found.name} gives {found.previous:.0%} of its weight to the previous token, the most of all.")
    print(f"Silencing it costs {costs[found.name][0]:.2f} bits per byte on real code,")
    print(f"which is number {rank} among the {len(heads)} heads.")
    most = max(heads, key=lambda head: head.induction)
    print(f"\nThe largest induction measure is {most.induction:.0%}, of head {most.name}.")
    if most.induction < 0.2:
        print("That is little: no head of this small model does induction.")
    else:
        print(f"Silencing it costs {costs[most.name][1]:.2f} bits per byte the second time.")

# %% [markdown]
# Compare the two tables. The heads that look at the previous token are among those that cost most on real
# code. And is there induction? Guessing among the 94 printable bytes would cost 6.6 bits, so a model that needs
# more than that the second time has not noticed the repetition. Note also what the tables do *not* show: a
# head that costs little may have been replaced by others, and silencing two of them together may cost a lot.

# %% [markdown]
# ### GPT-2 itself (optional)
#
# Your class has the shape of GPT-2, so GPT-2's published parameters fit into it. Only the names differ, and
# the file has two peculiarities:
#
# | in the file | shape | in your class |
# | --- | --- | --- |
# | `wte.weight`, `wpe.weight` | `[V, D]`, `[L, D]` | `tokens.weight`, `positions.weight` |
# | `h.0.ln_1.…`, `h.0.ln_2.…` | `[D]` | `layers.0.norm1.…`, `layers.0.norm2.…` |
# | `h.0.attn.c_attn.…` | `[D, 3D]`, `[3D]` | `layers.0.attention.in_proj_…` (queries, keys, values) |
# | `h.0.attn.c_proj.…` | `[D, D]`, `[D]` | `layers.0.attention.out_proj.…` |
# | `h.0.mlp.c_fc.…` | `[D, 4D]`, `[4D]` | `layers.0.feed_forward.0.…` |
# | `h.0.mlp.c_proj.…` | `[4D, D]`, `[D]` | `layers.0.feed_forward.2.…` |
# | `ln_f.…` | `[D]` | `norm.…` |
# | `h.0.attn.bias` | `[1, 1, L, L]` | nothing: it is the causal mask |
#
# The dots stand for `weight` and `bias`. The file stores the matrices of its linear layers as `[in, out]`,
# whereas `nn.Linear` stores `[out, in]`. Neither has a readout of its own, because it is tied.

# %% [markdown]
# ### Exercise: `from_gpt2`
#
# {{exercise gpt2-weights}}
#
# `state` is a dict from the file's names to tensors, for any number of layers. Return a new dict that
# `DecoderOnly.load_state_dict` accepts (with PyTorch's attention in the layers): every name it needs, and no
# others. Leave `state` unchanged.


# %% nbgrader={"grade_id": "gpt2-weights", "solution": true}
def from_gpt2(state):
    """GPT-2's tensors under DecoderOnly's names."""
    ### BEGIN SOLUTION
    names = {
        "wte": "tokens",
        "wpe": "positions",
        "ln_f": "norm",
        "ln_1": "norm1",
        "ln_2": "norm2",
        "attn.c_attn": "attention.in_proj",
        "attn.c_proj": "attention.out_proj",
        "mlp.c_fc": "feed_forward.0",
        "mlp.c_proj": "feed_forward.2",
    }
    renamed = {}
    for name, tensor in state.items():
        part, _, kind = name.rpartition(".")
        front = ""
        if part.startswith("h."):
            _, number, part = part.split(".", 2)
            front = f"layers.{number}."
        if part == "attn":  # the causal mask
            continue
        ours = f"{front}{names[part]}.{kind}".replace("in_proj.", "in_proj_")
        renamed[ours] = tensor.T if ".c_" in name and kind == "weight" else tensor
    return renamed
    ### END SOLUTION


# %% nbgrader={"grade_id": "gpt2-weights-check", "grade": true}
result = check("gpt2-weights")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("gpt2-weights")
result.points
### END HIDDEN TESTS

# %% [markdown]
# Now for the real file. It is half a gigabyte, downloaded once into your cache folder, and only in the full
# budget. Without a network the cell tells you so; nothing else depends on it.

# %%
from course_utils.language_model import public_gpt2

if built and ready("gpt2-weights") and (gpt2 := public_gpt2(download=budget == "full")):
    real = DecoderOnly(**gpt2.sizes)
    load_weights(real, from_gpt2(gpt2.state))
    start = torch.tensor([gpt2.prompt])
    written = write(real, start, 20)
    print(gpt2.decode([*gpt2.prompt, *written.words]))

# %% [markdown]
# ## 7 Three ways to carry the past along
#
# How should a model remember what it has read?
#
# | | what it keeps | next step |
# | --- | --- | --- |
# | **RNN** | one state $h$ | $h_t = f(h_{t-1}, x_t)$ with a nonlinear $f$, one step after another |
# | **transformer** | all keys and values | attention to all of them |
# | **state-space model (SSM)** [@gu2022] | one state $h$ | $h_t = a \odot h_{t-1} + B x_t$, $\ y_t = \mathrm{Re}(C h_t)$: linear |
#
# The third is new here. Ours is *diagonal*: each entry of $h$ has its own factor in $a$, which makes it fade.
# The entries are complex numbers, so they also rotate. As a loop:

# %%
from course_utils.language_model import DiagonalSSM

torch.manual_seed(0)
ssm = DiagonalSSM(d_model=8, num_states=4)
x = torch.randn(1, 10, 8)

with torch.no_grad():
    log_a, entering, C = ssm.parts(x)  # entering = B x
    a, h, outputs = log_a.exp(), torch.zeros(4), []
    for t in range(10):
        h = a * h + entering[0, t]
        outputs.append((h @ C.T).real)

# %% [markdown]
# Since every step is linear, $h_t = \sum_{s \le t} a^{t-s} B x_s$. That is a convolution, which the fast
# Fourier transform computes for all positions at once:

# %%
with torch.no_grad():
    print("loop and convolution agree:", torch.allclose(ssm(x)[0], torch.stack(outputs), atol=1e-5))

# %% [markdown]
# So an SSM trains like a transformer, all positions at once, and writes like an RNN, from a state of fixed
# size. (Mamba, by @[gu2023], goes further: there $a$ and $B$ depend on the input, so the model can choose what to
# keep. Ours can't.)

# %% [markdown]
# ### What training costs (quick: about {{given:10 seconds}})
#
# We take one layer of each kind and one sequence, run forward and backward, measure the time and count the
# bytes that are kept for the backward pass. On logarithmic axes the **slope** is the power of the length: with
# slope 1, twice the length costs twice as much; with slope 2, four times as much.
#
# Attention appears twice. One version stores its weights, `[num_heads, L, L]`, as in the equations. The
# other is *fused*: it computes the same numbers in pieces and never stores the weights.

# %%
from course_utils.language_model import growth_in_words, plot_costs, training_costs

lengths = {
    "smoke": [128, 256, 512],
    "quick": [256, 512, 1024, 2048],
    "full": [256, 512, 1024, 2048, 4096],
}[budget]
costs = training_costs(lengths)
words = growth_in_words(costs, "memory")
display(plot_costs(costs, "One training step of one layer", "megabytes kept", 1e6, words=words))
print(words)

# %% [markdown]
# It is often said that the memory and computation of attention grow with the square of the length. For
# computation this is true once the sequence is long; in short ones the layers around attention cost more. For
# memory it is true only if the weights are stored.
#
# An RNN does the same work at every step, so its cost is proportional to the length. Look at its height,
# though: each step has to wait for the one before. (The counts of bytes are exact. Times depend on what else
# your machine is doing: if they lie far from their line, measure again.)

# %% [markdown]
# ### What writing costs
#
# Now we add one position to a sequence, and measure its time and how many numbers were kept until then. The
# transformer uses *your* cache.

# %%
from course_utils.language_model import generation_costs

if ready("cached-self-attention"):
    costs = generation_costs(lengths, CachedSelfAttention)
    words = growth_in_words(costs, "what is kept")
    display(plot_costs(costs, "One more position", "numbers kept", words=words))
    print(words)

# %% [markdown]
# ### How much can a state of fixed size keep?
#
# Give a model pairs of a key and a value, and then one of the keys: which value came with it [@arora2023]?
# Before we train anything, take a memory whose capacity is *known*: a matrix $M$ of $d \times d$ numbers. To
# store a pair, add
# $v k^\top$ to the matrix; to read, multiply it by the key. As a loop over three pairs:

# %%
torch.manual_seed(0)
d = 8
keys, values = torch.randn(2, 3, d)
keys = keys / keys.norm(dim=-1, keepdim=True)
M = torch.zeros(d, d)
for key, value in zip(keys, values):
    M = M + torch.outer(value, key)
print("asked for", *(f"{number:5.1f}" for number in values[0]))
print("found    ", *(f"{number:5.1f}" for number in M @ keys[0]))

# %% [markdown]
# Close, but not equal: every other pair adds its value too, weighted by how similar the two keys are. (This is
# *linear attention*: attention without its softmax, kept as a sum [@katharopoulos2020].) There are better ways to
# write the same matrix:
# - the **delta rule** [@schlag2021]: read first, and add only what is missing, $M \leftarrow M + (v - M k) k^\top$,
#   once for each pair or in several passes;
# - **least squares**: the best matrix there is, computed from all pairs at once.
#
# Guess before you read on. The squared error is 0 if every answer is exact, and 1 is as bad as not answering.

# %%
sizes = {"0": 0.0, "about 0.25": 0.25, "about 0.5": 0.5, "about 1": 1.0}
guess = predict("07 best matrix", "64 random pairs in the best 32 x 32 matrix: which error?", [*sizes])
guess

# %% [markdown]
# None of them can beat this limit: a $d \times d$ matrix returns at most $d$ independent vectors exactly. With
# $N > d$ pairs of random values, the best squared error is $1 - d/N$. No amount of training crosses that line.
# **Attention** keeps all pairs, so the limit does not apply to it.

# %%
from course_utils.language_model import MEMORIES, draw_memories, memory_point

trials, most = {"smoke": (5, 64), "quick": (50, 128), "full": (200, 128)}[budget]
counts = [n for n in (4, 8, 16, 24, 32, 48, 64, 96, 128) if n <= most]
points = [memory_point(name, 32, n, trials=trials) for name in MEMORIES for n in counts]
display(draw_memories(points))
best = next(p for p in points if (p.memory, p.pairs) == ("least squares", 64)).squared_error
guess.reveal(min(sizes, key=lambda size: abs(sizes[size] - best)))

# %% [markdown]
# The matrix has 32 rows. With 32 pairs the best one is exact; with 64 its error is
# {{claim:matrix-memory.twice mean}}, which is on the line. With 32 pairs, one pass of the delta rule leaves an
# error of {{claim:matrix-memory.delta mean}}, a hundred passes {{claim:matrix-memory.passes mean}}, and the plain
# sum {{claim:matrix-memory.sum mean}}: how a memory is written matters as much as its size.
#
# The line *values only* knows which values were stored but looks at no key, so it recalls nothing. A large error
# alone does not prove that. With 32 pairs the plain sum has the same error, yet the right one of 16 possible values
# is the nearest to its answer {{claim:matrix-memory.sum_recall mean}} of the time: the answer is the right value plus
# noise from the other pairs.

# %% [markdown]
# ### And learned memories?
#
# Here is the same task for models that *learn* to store: 64 keys, 16 values, trained on 2 to 16 pairs for 3,000
# steps each. That takes too long for a notebook, so these are the means of our stored runs:
# {{claim:trained-recall.rnn runs}} each for the RNN and the SSM, {{claim:trained-recall.attention runs}} for the
# others. A fourth model joins the three: a **selective** SSM, in which what is kept, written and read depends on
# the input, as in Mamba [@gu2023].

# %%
from course_utils.language_model import draw_recall, measured_recall

recall = measured_recall()
print(f"{'pairs':>15}", *(f"{n:>6}" for n in recall.pairs))
for name, shares in (*recall.models.items(), ("no keys", recall.no_keys)):
    print(f"{name:>15}", *(f"{share:6.0%}" for share in shares))
print("\nnumbers kept after the pairs")
for name, kept in recall.numbers_kept.items():
    print(f"{name:>15}", *(f"{n:6}" for n in kept))
display(draw_recall(recall))

# %% [markdown]
# The row *no keys* always names the value that was stored most often. Read the table against it:
# - In these 3,000 steps, the time-invariant SSM learned nothing better from four pairs on. Its state is updated in
#   the same way whatever the input is, which may be why it learns so slowly.
# - The RNN did better, and was still improving when its training ended.
# - Neither row says anything about room. With ten times the steps, one run of the RNN recalled
#   {{claim:trained-recall.rnn_longer}} of 8 pairs and {{claim:trained-recall.rnn_longer_16}} of 16, and one of the SSM {{claim:trained-recall.ssm_longer}} and {{claim:trained-recall.ssm_longer_16}}.
# - The selective SSM recalls nearly everything up to 16 pairs *with a state of fixed size*, and most of 32, which
#   is more than it was trained on. Its state is larger than the RNN's, as the lower table shows, so the two rows
#   do not compare models of equal size.
# - Attention recalls everything, and keeps more with every pair.

# %% [markdown]
# ### Question: which one would you take?
#
# {{exercise three-kinds-of-model}}
#
# Use what you measured above, and quote the figures.
# 1. A transformer and an RNN each read a long text and then write. Compare what training costs and what writing
#    the next word costs as the text gets longer.
# 2. What does the matrix memory show about a state of fixed size, and which figure shows it? Compared with the row
#    *no keys*, what do the learned models show, and what do they *not* show? What does attention pay for its
#    recall?
# 3. You need a model that listens to a sensor for days on a small chip. Which kind do you take, and what do you
#    give up?

# %% [markdown] nbgrader={"grade_id": "three-kinds-of-model", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# 1. Training: the transformer handles all positions at once, but its time grows with the square of the length
#    (slope near 2 for long sequences), and so does its memory if the weights are stored; fused, memory grows with
#    slope 1. The RNN has slope 1 in both, but has to go step by step, so it is slower at these lengths. Writing:
#    a step of the RNN costs the same however long the text is, and it keeps one state. A step of the transformer
#    compares one query with all keys, and the cache grows by one key and one value per word and layer (slope 1).
# 2. A 32 by 32 matrix returns at best 32 random values exactly; with 64 pairs the best one leaves an error of
#    {{claim:matrix-memory.twice mean}}, which is the limit 1 - d/N. So there is a limit that no training crosses,
#    and worse ways of writing stay far above it. The learned models show what training found: the time-invariant
#    SSM gets {{claim:trained-recall.ssm}} of 8 pairs, no more than naming the commonest value
#    ({{claim:trained-recall.values_only}}), the RNN {{claim:trained-recall.rnn}}, the selective SSM
#    {{claim:trained-recall.selective}}, and attention {{claim:trained-recall.attention}}. They do not show that a
#    fixed state is too small: the selective SSM has one too, and with ten times the steps RNN and SSM got
#    {{claim:trained-recall.rnn_longer}} and {{claim:trained-recall.ssm_longer}}. Attention keeps every pair, and pays with memory that grows with their number and a longer search at each step.
# 3. A selective SSM (or an RNN): its state has a fixed size, so memory and time per step stay the same for days, and
#    the SSM also trains in parallel. What I give up is exact recall of everything long past, because a state of
#    fixed size has a limit.
# ### END SOLUTION
# === BEGIN MARK SCHEME ===
# - half a point: training, with figures: the transformer works in parallel but is quadratic in time (in memory only
#   if the weights are stored), the RNN is linear but goes one step at a time;
# - half a point: writing: constant for the RNN; for the transformer, memory (the cache) and time grow with the
#   length;
# - half a point: the matrix memory has a known limit (exact up to d pairs, 1 - d/N beyond), with a figure; the
#   learned models are compared with the row "no keys"; attention pays with memory that grows.
#   "RNN and SSM fail because their state is fixed" does not earn this: the selective SSM has a fixed state and
#   recalls;
# - half a point: a model with a fixed state for the sensor (SSM or RNN), and exact recall of the distant past is
#   given up. A transformer with a limited window earns this too, if the reason is right.
#
# Figures that differ from those of the model answer are fine if they are the student's own.
# === END MARK SCHEME ===

# %% [markdown]
# ## 8 Translation as a language model
#
# Back to section 1. To translate with a single stack, we let it read the source and then continue. The data is
# the built-in corpus, and Multi30k in the full budget.

# %%
from course_utils.data import END, START, encode, load_corpus
from course_utils.language_model import RECIPES, LanguageModel

recipe = RECIPES[budget]
data = encode(load_corpus(builtin_only=budget != "full"))

# %% [markdown]
# Here is one example, joined. Both languages share one embedding table, so the numbers of the target's words are
# shifted up by the size of the source vocabulary.

# %%
example = data.test[0]
source = torch.tensor([example.source])
given = torch.tensor([[START, *example.target]])

untrained = LanguageModel(len(data.source_vocabulary), len(data.target_vocabulary), recipe.sizes)
joined = untrained.join(source, given)
print(
    *data.source_vocabulary.decode(example.source),
    "|",
    *data.target_vocabulary.decode(example.target),
)
print(joined[0].tolist())

# %% [markdown]
# The stack gives logits for the next word at every position. We train only on those of the target: at `<s>` it
# should predict the first word, and so on, up to `</s>`.

# %%
logits = untrained(joined, from_position=source.shape[1])
print("joined:", list(joined.shape), " logits at the target's positions:", list(logits.shape))

# %% [markdown]
# ### What "forward only" means
#
# Change the last source word before the full stop. Which source positions notice? We compare the logits that the
# untrained stack gives at each of them.

# %%
place = source.shape[1] - 2
other = source.clone()
other[0, place] = (other[0, place] + 1) % untrained.source_words
print("changed:", data.source_vocabulary.words[source[0, place]], "at position", place)

untrained.eval()
for name, prefix in (("causal", 0), ("two-way source", source.shape[1])):
    with torch.no_grad():
        before, after = untrained(source, prefix), untrained(other, prefix)
    noticed = (before - after).abs().amax(dim=-1)[0] > 1e-6
    print(f"{name:>15}: noticed at positions", *noticed.nonzero().flatten().tolist())

# %% [markdown]
# With the causal mask, each word is read without knowing how the sentence goes on. In German the verb, or half of
# it, often comes at the end, and a causal model can't go back to what it has read. Does that cost anything here?
# We measure it.

# %% [markdown]
# ### Train both (quick: about {{given:2 minutes}} each on two cores)
#
# Sizes, data and seed are the same. Only the mask differs.

# %%
from course_utils.language_model import train_language_model

causal, causal_history = train_language_model(data, recipe, two_way=False)

# %%
two_way, two_way_history = train_language_model(data, recipe, two_way=True)

# %%
from course_utils.language_model import translation_figures

count = {"smoke": 40, "quick": 500, "full": 1000}[budget]
rows = {
    "causal": translation_figures(causal, data, count, two_way=False),
    "two-way source": translation_figures(two_way, data, count, two_way=True),
}
print(f"{'':>15}  loss per word  next word right  sentences right   BLEU")
for name, row in rows.items():
    print(f"{name:>15}  {row['loss']:13.3f}  {row['accuracy']:15.1%}", end="")
    print(f"  {row['sentences']:15.1%}  {row['BLEU']:5.1f}")

# %% [markdown]
# (BLEU needs the whole test set, which the smoke budget leaves out.)
#
# Read the table with care. It has one run of each, so a small difference can be chance. Change the seed and see.

# %%
gap = rows["causal"]["loss"] - rows["two-way source"]["loss"]
print(f"The causal model's loss per word is {abs(gap):.3f} {'higher' if gap > 0 else 'lower'}.")
if min(row["accuracy"] for row in rows.values()) < 0.5:
    print("But neither model has learned much yet: use a larger budget before you compare them.")
elif abs(gap) < 0.02:
    print("That is next to nothing. The target sees the whole source either way, and later layers")
    print("may make up for what the source words could not know.")
elif gap > 0:
    print("Reading in one direction cost something in this run. The target's words still see the")
    print("whole source, so more layers or more data may make up for it.")
else:
    print("In this run the simple mask was no worse at all.")

# %% [markdown]
# Why, then, has the causal form become the standard? It needs one mask for all texts, has a loss at every word of
# any text and no line between "source" and "target", and (section 5) it computes each word once and never again.

# %% [markdown]
# ## 9 Where else attention is used
#
# The same three roles appear wherever something has to be looked up:
#
# | task | query | keys and values |
# | --- | --- | --- |
# | describing a picture [@xu2015] | the caption so far | patches of the picture |
# | predicting text | the newest word | all words before it |
# | summarising | the summary so far | the words of the text |
#
# Only the origin of the keys changes. A summary can be written as the translations were in section 8: join the
# text to what is to be written, and continue.

# %% [markdown]
# ## 10 Attention is not explanation
#
# An attention map is easy to read, which makes it tempting to read too much into it. (How much it explains is
# disputed: see @[jain2019] and the reply by @[wiegreffe2019].) It shows *what* one part of the
# model does, not *why* the model answers as it does. An experiment makes this concrete.
#
# First, a map: where does each word of the target look in the source, in each head of the last layer?

# %%
from course_utils.language_model import attention_maps

joined = causal.join(source, given)
maps = attention_maps(causal, joined)  # [layers, B, num_heads, L, L]
S = source.shape[1]
source_tokens = data.source_vocabulary.decode(example.source)
target_tokens = ["<s>", *data.target_vocabulary.decode(example.target)]

# %%
to_source = maps[-1, 0, :, S:, :S]
attention_map(to_source, source_tokens, target_tokens, title="Last layer: target looks at source")

# %% [markdown]
# If the map *explained* the answers, different weights should give different answers. So, at test time, we change
# the weights of the target's words in two ways:
# - **uniform**: every query is set to zero, so that all scores are 0 and all weights equal;
# - **shuffled**: each source word's weight goes to another source word.
#
# Nothing is retrained. How many of the next words are still right?

# %%
from course_utils.language_model import changed_accuracy

few = data.test[: {"smoke": 60, "quick": 300, "full": 1000}[budget]]
as_trained = changed_accuracy(causal, few, False)
print(f"{'as trained':>24}: {as_trained:.1%}")
for change in ("uniform", "shuffled"):
    print(f"{'all layers, ' + change:>24}: {changed_accuracy(causal, few, False, change):.1%}")
for layer in range(len(causal.layers)):
    for change in ("uniform", "shuffled"):
        found = changed_accuracy(causal, few, False, change, layer=layer)
        print(f"{f'layer {layer + 1} alone, {change}':>24}: {found:.1%}")

# %% [markdown]
# If the first lines differ, attention as a whole matters. But which *head* matters? Does a head with a sharp, clear
# map matter more than one with a blurred map? For each head we measure how sharp it is (the mean of its largest
# weight on the source), and how many words are lost when that head alone is made uniform.

# %%
from course_utils.language_model import draw_heads, sharpness

table = []
for layer, row in enumerate(sharpness(causal, few[:30]).tolist()):
    for head, sharp in enumerate(row):
        found = changed_accuracy(causal, few, False, "uniform", layer=layer, head=head)
        table.append((f"{layer + 1}.{head + 1}", sharp, as_trained - found))
draw_heads(table)

# %%
import numpy as np

correlation = np.corrcoef([row[1] for row in table], [row[2] for row in table])[0, 1]
name, sharp, lost = max(table, key=lambda row: row[1])
harmless = [one for one, _, lost in table if lost < 0.01]
if as_trained < 0.5:
    print("This model has learned little, so these figures mean little. Use a larger budget.")
print(f"Over {len(table)} heads, sharpness and words lost have a correlation of {correlation:.2f}.")
print(f"The sharpest head, {name}, has a mean largest weight of {sharp:.2f}.")
print(f"Making it uniform costs {100 * lost:.1f} percentage points.")
print(f"{len(harmless)} of {len(table)} heads cost less than one point each:", *harmless)

# %% [markdown]
# Whatever your numbers are, remember this:
# - A head whose map can be replaced without changing the answers did not *explain* them, however clear it looks.
#   Others took over, or its values did not matter.
# - A head that costs a lot was needed. Its map then shows where it looked, but still not why.
# - Weights are only half of attention: a large weight on a small value moves little.
# - One experiment that *changes* something tells you more than many pictures.

# %% [markdown]
# ## Summary
#
# - Joined into one sequence, encoder, cross-attention and decoder are blocks of one masked stack.
# - A language model learns at every token: the logits at $t$ against the token at $t + 1$. Mind the shift.
# - With a causal mask, what has been computed never changes. A key-value cache relies on this; the positions
#   continue.
# - A fixed state costs the same at any length and has a limit; attention keeps everything and pays by length.
# - Maps show what a part does. To learn whether it matters, change it and measure.
#
# **Where to go next**: give `CachedSelfAttention` a window (keep only the last 64 keys) and see what your model
# writes. Train it on your own code. Silence two heads at once.
