# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 02 · The RNN bottleneck
#
# **{{minutes}} · {{points}}**
#
# After this notebook you can
# - say what an encoder-decoder RNN keeps in its weights and what in its states,
# - tell a model that has no room from a model that is not trained, with a measurement for each,
# - write attention with any score, put it into a decoder, and say what each part carries then,
# - give an encoder positions, and choose an output vocabulary that fits the task.

# %% tags=["setup"]
import torch
import torch.nn.functional as F

from course_utils import check, ready

# %%
from IPython.display import display

from course_utils.data import PLACES, change_case, remove_spaces
from course_utils.figures.bottleneck_plots import curves, results, steps_chart
from course_utils.figures.encoder_decoder import encoder_decoder, one_to_one
from course_utils.recurrent import (
    Encoded,
    accuracy,
    alignment,
    answer,
    channel_point,
    every_step,
    gradient_by_step,
    load_channel,
    load_measured,
    load_steps,
    probe_bottleneck,
    stored_probes,
    train,
)
from course_utils.widgets import attention_map, bottleneck_explorer, predict

# %% [markdown]
# `budget` decides how much this notebook trains. `"quick"` takes two or three minutes of training
# altogether on a CPU. In `"smoke"` models train for a moment only; where that says nothing, you are shown
# the stored figures of the quick run instead, under that name.

# %%
SHARE = {"smoke": 0.005, "quick": 1.0, "full": 1.0}[budget]  # of the usual training steps
SEEDS = range({"smoke": 1, "quick": 3, "full": 5}[budget])


def steps(usual):
    return max(5, int(SHARE * usual))


def tell(*words):
    """Print a measurement; after the few steps of the smoke budget it would say nothing."""
    print(*(words if budget != "smoke" else ("(trained for a moment: no figure in smoke)",)))


def rounded(figures):
    return {name: round(value, 3) for name, value in figures.items()}


# %% [markdown]
# ## 1 Two RNNs are better than one
#
# An RNN reads a sequence and can write one output for each input. Why not translate like that?

# %%
one_to_one()

# %% [markdown]
# Two things go wrong. The answer may have **another length** than the question, and it may come in
# **another order**. So we use two RNNs [@sutskever2014; @cho2014]. The **encoder** reads everything first. The **decoder**
# then writes, one token per step, and reads at each step what it wrote before.

# %%
encoder_decoder()

# %% [markdown]
# Look at the one arrow between the two. All that the decoder will ever know of the text goes
# through the encoder's last state: a vector of $D$ numbers, however long the text is.
# It is the **bottleneck** [@cho2014properties], and this notebook measures it.

# %% [markdown]
# ## 2 The task
#
# It comes from @[eecs182-homework], as do most questions here. `<U>` asks for upper case, `<L>` for lower case. The model works character by character. A batch holds
# numbers; all its texts have one length, so nothing needs a mask.
#
# In training the decoder does not read its own answers but the right ones, one step late. This is
# **teacher forcing**: all target steps are known before, so they run in one call.

# %%
task = change_case()
batch = task.batch(["<U> I am a student", "<L> I am a student"])
print("source [B, S]:", tuple(batch.source.shape), batch.source[0].tolist())
for name, numbers in (("reads", batch.given[0]), ("writes", batch.wanted[0])):
    print(f"the decoder {name:7}", [task.tokens[number] for number in numbers[:6].tolist()], "...")

# %% [markdown]
# ## 3 Train a vanilla RNN (about {{given:10 seconds}})
#
# The cell is the plain one, $h_s = \tanh(W x_s + U h_{s-1} + b)$, with $D = 64$. Texts have four
# characters, drawn at random, new ones in each step.

# %%
vanilla, history = train(task, lengths=[4], steps=steps(4000), cell="rnn", hidden=64, show=True)
for line in ("<U> I am", "<L> I AM", "<U> abcd"):
    print(f"{line:10} {answer(vanilla, task, line)[0]}")
tell(rounded(accuracy(vanilla, task, 4)))

# %% [markdown]
# `characters` is the share of characters that are right at their place, `exact` the share of texts
# without any mistake. Both are measured on texts that training never drew, with the decoder
# reading its own answers.

# %% [markdown]
# ## 4 What changes, what stays
#
# Five things meet here: the input, the encoder's weights, the bottleneck, the decoder's weights,
# the output. Which of them change when the trained model reads another text? Look:

# %%
before = {name: weight.clone() for name, weight in vanilla.state_dict().items()}
with torch.no_grad():
    first = vanilla.encode(task.batch(["<U> I am"]).source)
    second = vanilla.encode(task.batch(["<L> I am"]).source)
for name, weight in vanilla.state_dict().items():
    print(f"{name:26}", "changed" if (weight != before[name]).any() else "the same")
moved = (first.bottleneck - second.bottleneck).norm() / first.bottleneck.norm()
print(f"{'bottleneck':26} changed by {moved:.0%} of its length")

# %% [markdown]
# ### How the encoder is trained
#
# Nobody tells the encoder what to write into the bottleneck. Only the decoder has a loss. But the
# bottleneck is the decoder's first state, so the loss has a gradient there, and backpropagation
# carries it on through the encoder, from the last step to the first. How much of it arrives?


# %%
def fresh(cell, attention=None):
    """A model for texts of 16 characters, trained a little."""
    return train(
        task, lengths=[16], steps=steps(300), cell=cell, hidden=64, attention=attention
    )[0]


def show_gradients():
    return curves(
        {name: norms[::-1] for name, norms in gradients.items()},
        range(17),
        x_label="steps before the end of the source",
        y_label="norm of the gradient",
        title="" if budget != "smoke" else "Hardly trained (smoke): the lines may cross",
        logarithmic=True,
    )


long_batch = task.draw(64, 16, seed=-1)
gradients = {
    "vanilla RNN": gradient_by_step(fresh("rnn"), long_batch),
    "GRU": gradient_by_step(fresh("gru"), long_batch),
}
show_gradients()

# %% [markdown]
# The axis is logarithmic. In the vanilla RNN each step back costs a factor, and the first
# characters hear next to nothing of their mistakes: the gradient **vanishes**. The gates of a GRU
# let it pass.
#
# ### What the weights know
#
# The weights have seen many texts and hold no single one. What do they hold, then? One look: each
# character has an embedding. How alike are the embeddings of one letter in its two cases, and
# those of two different letters? (A cosine of 1 means the same direction, 0 no relation.)

# %%
embeddings = F.normalize(vanilla.embedding.weight.detach(), dim=-1)
small = embeddings[[task.tokens.index(c) for c in "abcdefghijklmnopqrstuvwxyz"]]
large = embeddings[[task.tokens.index(c) for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]]
cosines = small @ large.T
print(f"one letter in two cases: {cosines.diagonal().mean():.2f}")
print(f"two letters: {(cosines.sum() - cosines.trace()) / (26 * 25):.2f}")

# %% [markdown]
# ### Exercise: what RNNs store
#
# {{exercise what-rnns-store}}
#
# Answer each in a sentence or two, with what you saw above.
# 1. Which of the five things (input, encoder weights, bottleneck, decoder weights, output) change
#    at inference, and which stay?
# 2. How are the decoder's weights trained, and how does the gradient get into the encoder?
# 3. What kind of information do the weights capture?
# 4. What are input and output sequences for during training?

# %% [markdown] nbgrader={"grade_id": "what-rnns-store", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# 1. The weights of encoder and decoder stay: training has fixed them. Input, bottleneck (with all
#    other states) and output differ from text to text.
# 2. The cross-entropy between the decoder's output and the right answer trains the decoder's
#    weights. The decoder's first state is the encoder's last one, so the loss has a gradient at the
#    bottleneck, and backpropagation through time takes it into the encoder's weights.
# 3. What all texts have in common, not one text: which letters belong together (`a` and `A`), how
#    to pack characters into a state, how to unpack them in order, what the task tokens ask for.
# 4. The input is an example of what will be asked, the output says what is right. Their pairs are
#    the only source of information that the weights learn from; the output is also what the decoder
#    reads, one step late (teacher forcing).
# ### END SOLUTION
# === BEGIN MARK SCHEME ===
# - a quarter of a point: part 1, the weights are fixed; input, activations and output vary;
# - a quarter of a point: part 2, the loss on the output trains the decoder; the gradient enters the
#   encoder through the bottleneck, as the decoder's initial state;
# - a quarter of a point: part 3, regularities of the task over all examples, no single example;
# - a quarter of a point: part 4, the input shows the source domain, the output supervises (and is fed
#   to the decoder).
# === END MARK SCHEME ===

# %% [markdown]
# ## 5 A longer text fails. Why?
#
# With longer texts every model without attention gets worse. Two reasons are possible, and they are
# easily taken for each other:
# - **not trained**: weights that would do it exist, and training has not found them yet;
# - **no room**: the vector is too small for the text. Then no training helps.
#
# This section measures each of them by itself.
#
# ### Is it the training?
#
# A GRU with $D = 32$ reads six characters. With $D = 128$ it does far better after 1,000 steps. So the
# small one has no room?

# %%
room = predict(
    "steps-or-room",
    "Ten times the steps for D = 32: how many characters will be right?",
    unit="%",
    low=0,
    high=100,
)
room

# %%
longest = [p for p in load_steps() if (p.schedule, p.hidden, p.steps) == ("decay", 32, 10_000)]
display(steps_chart(load_steps(), schedule="decay"))
display(room.reveal(round(100 * sum(p.share_right for p in longest) / len(longest))))

# %% [markdown]
# Each point is a run of exactly that many steps, in which the learning rate falls to zero; the bands go
# from the lowest to the highest seed. With $D = 32$ the share right is
# {{claim:steps-not-room.small}} after 1,000 steps and {{claim:steps-not-room.small_longer}} after 10,000. There
# was room all along. A larger $D$ learns **faster**; a fixed number of steps says nothing about room. The
# lines have not come to an end at 10,000 steps, and where $D = 16$ would end, they do not say.

# %% [markdown]
# Your own points, with a seed that the curve does not have (about {{given:10 seconds}}):

# %%
for hidden in (32, 128):
    model, _ = train(
        task, lengths=[6], steps=steps(1000), seed=7, decay=True, cell="gru", hidden=hidden
    )
    share = accuracy(model, task, 6)["characters"]
    tell(f"D = {hidden:3}: {share:.0%} of the characters after {steps(1000):,} steps")

# %% [markdown]
# ### What is in the vector after 1,000 steps? (about {{given:20 seconds}})
#
# A **linear probe** asks what can be read from a vector: freeze the model, and train one linear
# layer to name, say, the third letter from the bottleneck alone. If it can't, then the letter is
# not there, or not in a form that a linear readout can use.

# %%
probes = {}
for name, cell in (("vanilla RNN", "rnn"), ("GRU", "gru")):
    model, _ = train(task, lengths=[8], steps=steps(1000), cell=cell, hidden=64)
    probes[name] = probe_bottleneck(model, task, 8, lines=3000 if budget != "smoke" else 100)
if budget == "smoke":
    probes = stored_probes()
print("stored figures, five seeds" if budget == "smoke" else "what you just trained, one seed")
display(
    curves(
        {name: found["letter"] for name, found in probes.items()},
        range(1, 9),
        x_label="t, the place of the letter in the source",
        y_label="letters read right",
        title="Which letters are in the bottleneck?",
    )
)
for name, found in probes.items():
    case = sum(found["case"]) / len(found["case"])
    print(f"{name}: the task token is read right in {found['prompt'][0]:.0%}, the case in {case:.0%}")

# %% [markdown]
# A probe that knows nothing gets about {{given:15%}} of the letters right, by always saying *space*. After
# the quick budget:
# - In the vanilla RNN only the **last** letters can be read. The gradient never reached the first ones.
# - The GRU has kept something of every letter, and most of the first one.
# - The **case** of a letter is close to a coin's {{given:50%}} in both. Nothing was lost there that the
#   answer needs: the task token alone decides the case of the output.
#
# ### Is it the room?
#
# A vector of floating-point numbers has no limit that we could run into: 32 numbers of 32 bits have room
# for 1,024 bits, and six characters with their task token need at most 36. To see a limit, we must build one. So let the encoder
# pass on exactly **n bits**, each +1 or -1, in training and in testing. (Gradients pass straight
# through, as in @[bengio2013].) Let the text be $L$ symbols
# from an alphabet of $A = 16$, all equally likely and independent of each other. A symbol then carries
# $\log_2 16 = 4$ bits, and nobody can guess it from its neighbours.
#
# Now information theory draws a line [@cover2006]. With $R = n / L$ bits per symbol, the share $p$ of symbols that
# *any* code gets right obeys
#
# $$\log_2 A - H(p) - (1 - p) \log_2 (A - 1) \le R, \qquad H(p) = -p \log_2 p - (1 - p) \log_2 (1 - p)$$
#
# The left side is what must be known about a symbol if a share of $1 - p$ may be wrong. No architecture and no
# number of steps crosses this line. Encoder and decoder are small networks here; look at what they learn:

# %%
display(bottleneck_explorer(load_channel()))

# %% [markdown]
# - *All sizes*: each message carries texts of up to $n / 4$ symbols, then the share falls off a **cliff**.
#   Twice the bits, twice the length. That is room.
# - *Steps* 10,000: what has room gets better (32 bits, 8 symbols: from {{claim:channel-line.room mean}} to
#   {{claim:channel-line.room_longer mean}}); what has none does not (16 bits, 8 symbols:
#   {{claim:channel-line.half_longer}}). No run is above its line.
# - *16 bits*: for 8 symbols the line allows {{claim:channel-line.line}}, and *keep the first*, a code that
#   sends four symbols whole and guesses the rest, gets {{claim:channel-line.plain}}. The learned codes get
#   {{claim:channel-line.half}}. So beyond the cliff both reasons are at work: room sets the line, and
#   training does not reach it.
# - *With attention*: there is a message of 8 bits for **each** symbol, and the decoder looks up the one it
#   needs. What is carried grows with the text: {{claim:attention-grows.long}} of 16 symbols.
#
# Three points of your own (about {{given:15 seconds}}):

# %%
for kind, bits, length in (("one message", 16, 4), ("one message", 16, 8), ("attention", 8, 8)):
    point = channel_point(kind, bits, length, steps=steps(1000), seed=7)
    tell(
        f"{kind:11}, {bits:2} bits, {length} symbols: {point.share_right:4.0%} right, "
        f"the line is at {point.bound:.0%} ({point.steps:,} steps)"
    )

# %% [markdown]
# A state of $D$ floating-point numbers is such a message too, with a number of bits that nobody knows
# exactly and that is large. Its size is fixed all the same, and *some* length is too long for it. What
# attention removes is not a small vector. It removes the **fixed size**.

# %% [markdown]
# ### Exercise: the bottleneck
#
# {{exercise the-bottleneck}}
#
# 1. What must the last encoder state hold so that the decoder can change the case of a text?
# 2. A classmate says: "With $D = 32$ the GRU gets a quarter of six characters right and with $D = 128$ half
#    of them. So 32 numbers have no room for six characters." What is wrong? Use a number from this section.
# 3. Which measurement of this section does show a lack of room, and how do you know that it is not a lack of
#    training?
# 4. What does attention change about the limit in 3?

# %% [markdown] nbgrader={"grade_id": "the-bottleneck", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# 1. The task token and every character with its place (not its case, which the answer does not need).
# 2. Both were trained for 1,000 steps, and a fixed number of steps says nothing about room. With D = 32 the
#    share right is {{claim:steps-not-room.small}} after 1,000 steps and {{claim:steps-not-room.small_longer}}
#    after 10,000. A larger D learns faster. (32 floating-point numbers have 1,024 bits; six characters with
#    their task token need at most 36.)
# 3. The channel of n bits: 16 bits carry 4 symbols of 4 bits ({{claim:channel-line.fits mean}}) and not 8
#    ({{claim:channel-line.half mean}}), and with twice the bits the cliff is at twice the length. Information theory
#    gives a line, {{claim:channel-line.line}} for 16 bits and 8 symbols, that no code can cross; ten times the
#    steps did not cross it either. (That the learned codes lie far below the line, and below the
#    {{claim:channel-line.plain}} of "keep the first", is a matter of training.)
# 4. With attention there is a message for each symbol, so what is carried grows with the text: no fixed size,
#    no length at which it must fail for lack of room.
# ### END SOLUTION
# === BEGIN MARK SCHEME ===
# - half a point: the state must hold the task token and every character with its place;
# - half a point: a fixed number of steps says nothing about room, with a number of the small model that rises
#   with more steps;
# - half a point: the channel of known size, and a reason why training can't help (the line of information
#   theory, or the cliff that moves with the bits and stays with ten times the steps);
# - half a point: with attention the size of what is carried grows with the text.
#
# Give nothing for 2 if the answer says that a larger D shows more room. In 3, do not ask for the equation.
# === END MARK SCHEME ===

# %% [markdown]
# ## 6 Attention
#
# The encoder makes a state at every step, and we throw away all but the last. Let the decoder look
# at all of them instead. At each step it asks with its own state, the **query**:

# %%
encoder_decoder(attention=True)

# %% [markdown]
# Each source step gives a **key**, which is compared with the query, and a **value**, which is read. In
# this notebook both are the encoder's state.
#
# 1. **scores**: $z_s = e(q, k_s)$, a number that says how well query and key match
# 2. **weights**: $\alpha = \mathrm{softmax}(z)$, so they are positive and sum to one
# 3. **context**: $c = \sum_s \alpha_s v_s$, a weighted average of the values
#
# The readout then reads the context beside the decoder's own state. For one query, by hand:

# %%
query, keys = torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
values = torch.tensor([[10.0], [20.0], [30.0]])
scores = [float(query @ k) for k in keys]
powers = [2.718281828**z for z in scores]
weights = [p / sum(powers) for p in powers]
context = sum(a * v for a, v in zip(weights, values))
print("scores", scores, "weights", [round(a, 3) for a in weights], "context", context)

# %% [markdown]
# Only step 1 is a choice. Three scores that were used for translation [@luong2015; @bahdanau2015]:
#
# | score | $e(q, k_s)$ | looks at |
# | --- | --- | --- |
# | dot | $q \cdot k_s$ | query and key |
# | additive | $v_a \cdot \tanh(W q + U k_s)$ | query and key, through a small network |
# | linear | $w_s \cdot q + b_s$ | the query and the *place* $s$ alone |
#
# ### Exercise: `attention`, with scores to plug in
#
# {{exercise attention-with-scores}}
#
# Write it for a batch: `query` is `[B, D]` (one query for each text), `keys` is `[B, S, D]`, `values` is
# `[B, S, V]`. `attention` gets the score as a function: `score(query, keys)` returns `[B, S]`. As a loop
# over the batch:
#
#     scores = score(query, keys)                     # [B, S]
#     for b in range(B):
#         weights[b] = softmax(scores[b])             # [S]
#         context[b] = sum over s of weights[b, s] * values[b, s]
#
# and for the scores
#
#     dot_score:       scores[b, s] = query[b] @ keys[b, s]
#     additive_score:  scores[b, s] = v @ tanh(W @ query[b] + U @ keys[b, s])    W, U: [A, D], v: [A]
#     linear_score:    scores[b, s] = W[s] @ query[b] + b[s]                     W: [L, D], b: [L]
#
# In `linear_score` there are `L` places, of which a source uses the first `S`. There is no scale. Write
# all four with tensors, without the loops.


# %% nbgrader={"grade_id": "attention-with-scores", "solution": true}
def dot_score(query, keys):
    """q . k_s for each text and place: [B, S]."""
    ### BEGIN SOLUTION
    return (keys @ query[:, :, None]).squeeze(-1)
    ### END SOLUTION


def additive_score(query, keys, W, U, v):
    """v . tanh(W q + U k_s) for each text and place: [B, S]."""
    ### BEGIN SOLUTION
    for_query = (query @ W.T)[:, None]  # [B, 1, A]
    return torch.tanh(for_query + keys @ U.T) @ v
    ### END SOLUTION


def linear_score(query, keys, W, b):
    """w_s . q + b_s for each text and place: [B, S]."""
    ### BEGIN SOLUTION
    S = keys.shape[1]
    return query @ W[:S].T + b[:S]
    ### END SOLUTION


def attention(query, keys, values, score):
    """Context [B, V] and weights [B, S] for one query [B, D] per text."""
    ### BEGIN SOLUTION
    weights = torch.softmax(score(query, keys), dim=-1)  # [B, S]
    context = (weights[:, :, None] * values).sum(dim=1)  # [B, V]
    return context, weights
    ### END SOLUTION


# %% nbgrader={"grade_id": "attention-with-scores-check", "grade": true}
result = check("attention-with-scores")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("attention-with-scores")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ### Train again (about {{given:20 seconds}})
#
# The decoder asks after its recurrent step, so all its queries are there at once: `every_step` lets
# your function answer them in one call. Keys and values are the encoder's states, the score is the dot
# product, and the rest is the same vanilla RNN. Texts now have 2 to 16 characters.

# %%
if ready("attention-with-scores"):
    look_up = every_step(lambda query, states: attention(query, states, states, dot_score))
    attentive, _ = train(
        task, lengths=range(2, 17), steps=steps(3000), decay=True, attention=look_up, show=True
    )
    print(answer(attentive, task, "<U> I am a student")[0])
    for length in (4, 8, 16, 24):
        tell(f"length {length:2}:", rounded(accuracy(attentive, task, length)))

# %% [markdown]
# The vanilla RNN that failed at length 8 does length 16 as well: our five runs got
# {{claim:taken-apart.long range}} of the characters. (In the smoke budget yours is hardly trained.) The map
# shows where it looked: a row for each character it wrote, a column for each token it had read.

# %%
if ready("attention-with-scores"):
    line = "<U> I am a student"
    text, weights = answer(attentive, task, line)
    source = ["<U>", *line[4:].replace(" ", "␣")]
    target = [*text.replace(" ", "␣"), "end"][: len(weights)]
    display(attention_map(weights[: len(target)], source, target, title="Upper case"))

# %% [markdown]
# ## 7 What carries what now?
#
# Take a part away, and see what breaks. The sharpest test is a swap: give the decoder the **states** of
# another text, and leave it its own **bottleneck**. Which of the two texts will it write?
#
# ### Exercise: `swap_states`
#
# {{exercise state-swap}}
#
# `states` is `[B, S, D]`, `bottleneck` is `[1, B, D]`. Return both, with the states swapped: text `b` gets
# the states of text `b - 1`, and the first text those of the last.


# %% nbgrader={"grade_id": "state-swap", "solution": true}
def swap_states(states, bottleneck):
    """States [B, S, D] of the text before, and the bottleneck [1, B, D] as it is."""
    ### BEGIN SOLUTION
    return states.roll(1, dims=0), bottleneck
    ### END SOLUTION


# %% nbgrader={"grade_id": "state-swap-check", "grade": true}
result = check("state-swap")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("state-swap")
result.points
### END HIDDEN TESTS

# %% [markdown]
# Here is the model as it is, with its **bottleneck** set to zero, with its **weights** made equal, and
# with your swap.


# %%
def even(query, states):
    """No choice: every state gets the same weight."""
    weights = torch.full((*query.shape[:2], states.shape[1]), 1 / states.shape[1])
    return weights @ states, weights


def taken_apart(model, length=12):
    batch = task.draw(256, length, seed=-1)
    right, other = batch.wanted, batch.wanted.roll(1, dims=0)

    def share(encoded, wanted):
        guess, _ = model.greedy(batch.source, batch.given[:, 0], right.shape[1], encoded=encoded)
        return [float((guess == wanted).float().mean())]

    with torch.no_grad():
        whole = model.encode(batch.source)
        swapped = Encoded(*swap_states(*whole))
    found = {
        ("as it is", "right characters"): share(whole, right),
        ("bottleneck zero", "right characters"): share(whole._replace(bottleneck=0 * whole[1]), right),
        ("states of another text", "right characters"): share(swapped, right),
        ("states of another text", "the other text's"): share(swapped, other),
    }
    chosen, model.attention = model.attention, even
    found["equal weights", "right characters"] = share(whole, right)
    model.attention = chosen
    return found


if ready("attention-with-scores", "state-swap"):
    apart = load_measured("taken apart")
    stored = {
        ("as it is", "right characters"): apart["attention", "as it is"],
        ("bottleneck zero", "right characters"): apart["attention", "bottleneck zero"],
        ("states of another text", "right characters"): apart["attention", "states swapped"],
        ("states of another text", "the other text's"): apart["attention", "states swapped, other"],
        ("equal weights", "right characters"): apart["attention", "equal weights"],
    }
    display(results(taken_apart(attentive), stored, "model", budget))

# %% [markdown]
# Without its bottleneck the trained model writes as well as before, so the text no longer goes
# through it. With equal weights it fails: the choice of the place is what matters. And with the states
# of another text it writes *that text*. Whatever it writes, it has read from the states.
#
# The gradient takes the new road too. Compare with the plot above:

# %%
if ready("attention-with-scores"):
    gradients["RNN, attention"] = gradient_by_step(fresh("rnn", look_up), long_batch)
    display(show_gradients())

# %% [markdown]
# ### Exercise: past the bottleneck
#
# {{exercise past-the-bottleneck}}
#
# With attention, what does each part have to carry so that the model can change the case? One
# sentence for each: the encoder's weights, the attention scores, the bottleneck, the decoder's
# weights. Point to something you saw for at least two of them.

# %% [markdown] nbgrader={"grade_id": "past-the-bottleneck", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# - Encoder weights: they make each state tell which character was read *and* where it is, so that
#   it can be found and read out.
# - Scores: they compare the decoder's state with each encoder state, and are largest for the state
#   at the same place: the map is a diagonal.
# - Bottleneck: it need not hold the text; setting it to zero costs next to nothing.
# - Decoder weights: they count, so that the query at step t asks for place t, and the readout turns
#   the character in the context into the wanted case.
# ### END SOLUTION
# === BEGIN MARK SCHEME ===
# - a quarter of a point: encoder (character and position in each state);
# - a quarter of a point: scores (match the place, look-up);
# - a quarter of a point: bottleneck (need not hold the text);
# - a quarter of a point: decoder (counts, applies the case).
#
# Take off a quarter when nothing from the notebook is used as evidence.
# === END MARK SCHEME ===

# %% [markdown]
# ## 8 Positions
#
# To be found, a state must tell its place. A recurrent encoder can learn to count by itself, but we
# can also simply tell it: give each step a vector that names its place $t$. The plainest such table is
# **one-hot**: row $t$ has a 1 in column $t$, and zeros elsewhere. The table is fixed. But a one-hot row
# times a weight matrix picks one of the matrix's rows, so what the model *does* with a position is learned.
# (Another table, of sines, is where the transformer begins: notebook 05.)
#
# ### Exercise: `one_hot_positions`
#
# {{exercise positions}}
#
# `one_hot_positions(T)` returns a table `[T, T]` for the positions $t = 0, 1, \dots, T - 1$.


# %% nbgrader={"grade_id": "positions", "solution": true}
def one_hot_positions(T):
    """A table [T, T]: row t has its 1 in column t."""
    ### BEGIN SOLUTION
    return torch.eye(T)
    ### END SOLUTION


# %% nbgrader={"grade_id": "positions-check", "grade": true}
result = check("positions")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("positions")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ### How well is the place found? (about {{given:40 seconds}})
#
# To see what positions do, take the recurrence away from the encoder: each state is made from its
# own character alone, by one linear layer. Now nothing but the position can tell a state's place.
# (The prompt goes to the decoder as its first token, since there is no bottleneck to carry it.) The rows of
# this table differ in the positions and in nothing else.

# %%
if ready("attention-with-scores", "positions"):
    prompted, placing = change_case(place="decoder"), {}
    for name, slots in (
        ("no positions", {}),
        ("one-hot, appended", {"positions": one_hot_positions(40)}),
    ):
        for seed in SEEDS:
            model, _ = train(
                prompted,
                lengths=[12],
                steps=steps(800),
                seed=seed,
                attention=look_up,
                encoder="stepwise",
                **slots,
            )
            right = accuracy(model, prompted, 12)["characters"]
            placing.setdefault((name, "characters"), []).append(right)
            placing.setdefault((name, "weight on the right place"), []).append(
                alignment(model, prompted, 12)
            )
    known = load_measured("placing")
    stored = {
        (name, column): known[variant, figure]
        for name, variant in (("no positions", "none"), ("one-hot, appended", "one-hot"))
        for column, figure in (("characters", "characters"), ("weight on the right place", "weight"))
    }
    display(results(placing, stored, "encoder without recurrence", budget))

# %% [markdown]
# Without positions the states of one letter are the same at every place, and the weight on the right
# place is near 1/12, one part in twelve places.
#
# ### Longer than anything seen in training
#
# An RNN encoder has no need of a table: it can count. So does a table help it beyond the longest text of its
# training? Models with attention were trained on 2 to 12 characters and tested on more, five seeds each:
#
# | characters right | length 12 | 16 | 24 |
# | --- | --- | --- | --- |
# | GRU, no attention | {{claim:beyond-training.gru_12 range}} | {{claim:beyond-training.gru_16 range}} | {{claim:beyond-training.gru_24 range}} |
# | RNN, attention | {{claim:beyond-training.plain_12 range}} | {{claim:beyond-training.plain_16 range}} | {{claim:beyond-training.plain_24 range}} |
# | with one-hot | {{claim:beyond-training.one_hot_12 range}} | {{claim:beyond-training.one_hot_16 range}} | {{claim:beyond-training.one_hot_24 range}} |
# | with sines | {{claim:beyond-training.sine_12 range}} | {{claim:beyond-training.sine_16 range}} | {{claim:beyond-training.sine_24 range}} |
#
# Surprised? Given positions carry **no further** than none, and sines no further than one-hot. One-hot
# positions beyond 12 meet weights that training never touched, and sine rows beyond 12 are new
# combinations. The model without positions had to learn to count. A possible reason for its lead is that
# counting goes on past 12; this experiment does not prove it.

# %% [markdown]
# ## 9 Where should the prompt go? (optional, about {{given:15 seconds}})
#
# The task token is at the start, farthest from the decoder. Is that a good place? Five
# designs: at the **start**, at the **end**, at **both**, at **each step** (its embedding added to
# every character's), or not in the source at all but as the **decoder**'s first token. The table has five
# seeds of each, trained until the learning rate had fallen to zero: 3,000 steps on four characters without
# attention, 1,500 steps on eight with it. Choose a place and add a run of yours.

# %%
my_place = "end"  # one of start, end, both, each step, decoder

known = load_measured("prompt")
places = {
    (place, column): known[f"{kind}: {place}", "characters"]
    for place in PLACES
    for column, kind in (("vanilla, length 4", "vanilla"), ("attention, length 8", "attention"))
}
display(results({}, places, "prompt at", "stored"))
if ready("attention-with-scores"):
    placed = change_case(place=my_place)
    model, _ = train(
        placed, lengths=[8], steps=steps(1500), seed=7, decay=True, attention=look_up
    )
    share = accuracy(model, placed, 8)["characters"]
    tell(f"yours, attention, prompt at {my_place}: {share:.0%} after {steps(1500):,} steps")

# %% [markdown]
# Each cell gives the mean over the seeds, and from the lowest to the highest. Two designs differ
# only where their ranges do not overlap.
#
# Two questions to ask of each design. For the vanilla model: does the bottleneck have to carry the
# prompt, and does the prompt push the text a step further from the decoder? For the model with
# attention: can the prompt be looked up?

# %% [markdown]
# ### Exercise: where the prompt goes
#
# {{exercise where-the-prompt-goes}}
#
# Choose a place for the prompt, once for the vanilla model and once for the one with attention.
# Give a reason from the architecture, and say what the table shows for it: a difference, or none
# beyond the spread.

# %% [markdown] nbgrader={"grade_id": "where-the-prompt-goes", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# Vanilla: as the decoder's first token ({{claim:prompt-place.decoder range}}). Then the bottleneck need not
# carry the prompt, and no step comes between the text and the decoder. A prompt at the end is near the decoder
# too, but it pushes every character one step back: the end ({{claim:prompt-place.end range}}), both
# ({{claim:prompt-place.both range}}) and each step ({{claim:prompt-place.each range}}) lie below. The start gets
# {{claim:prompt-place.start range}}: a wide range, which reaches the decoder's, so no difference is shown there.
#
# Attention: a query can find the prompt's state anywhere, so no place is ruled out: start, end, each step and
# decoder all get {{claim:prompt-place.a_end mean}}. With the prompt at both ends two seeds of five had not
# learned the task ({{claim:prompt-place.a_both range}}): the best of them is as good, but training finds it
# less surely.
# ### END SOLUTION
# === BEGIN MARK SCHEME ===
# - half a point: a sound reason for each model (the vanilla bottleneck must carry the prompt unless the
#   decoder gets it directly; a later prompt moves the text away from the decoder; attention can look it
#   up anywhere);
# - half a point: the table read with its spread: no difference claimed where ranges overlap.
# === END MARK SCHEME ===

# %% [markdown]
# ## 10 Removing spaces (optional, about {{given:10 seconds}})
#
# Another task: `i am a student` to `iamastudent`. Can the same idea solve it? Take it at its word:
# the keys hold positions and nothing else, and the decoder only counts its steps. We try it with two
# output vocabularies. In the second there is a **blank**: the model may write a blank where a space was,
# and the blanks are dropped afterwards.


# %%
def by_counting(task):
    """Keys that hold only positions, and a decoder that only counts."""
    return train(
        task,
        lengths=[16],
        steps=steps(400),
        attention=look_up,
        positions=one_hot_positions(32),
        encoder="positions",
        counts_only=True,
    )[0]


def show_map(model, task, text, title):
    title += " (hardly trained: smoke)" if budget == "smoke" else ""
    written, weights = answer(model, task, text)
    target = [*written, "end"][: len(weights)]
    print(f"{title}: {written}")
    display(attention_map(weights[: len(target)], [*text.replace(" ", "␣")], target, title=title))


if ready("attention-with-scores", "positions"):
    spaces, counted = "i am a student x", {}
    for name, blank in (("without a blank", False), ("with a blank", True)):
        removing = remove_spaces(blank=blank)
        model = by_counting(removing)
        counted[name, "exact texts"] = [accuracy(model, removing, 16)["exact"]]
        show_map(model, removing, spaces, name)
    known = load_measured("counting")
    stored = {
        ("without a blank", "exact texts"): known["no blank", "exact"],
        ("with a blank", "exact texts"): known["blank", "exact"],
    }
    display(results(counted, stored, "keys that hold only positions", budget))

# %% [markdown]
# The recurrent encoder is not bound to positions. Our five seeds, trained on 4 to 16 characters with
# attention, without a blank and with one: the share of texts without any mistake.

# %%
known = load_measured("recurrent spaces")
removed = {
    (name, f"length {length}"): known[variant, f"exact {length}"]
    for name, variant in (("without a blank", "no blank"), ("with a blank", "blank"))
    for length in (8, 16, 20, 24)
}
results({}, removed, "recurrent encoder, exact texts", "stored")

# %% [markdown]
# ### Exercise: removing spaces
#
# {{exercise removing-spaces}}
#
# 1. What becomes of the design with keys that hold only positions when spaces have to be removed? Why does
#    it work for changing the case and not here? Use the first map.
# 2. Why does a blank in the output vocabulary mend it?
# 3. What can a recurrent encoder write into its states so that no blank is needed?

# %% [markdown] nbgrader={"grade_id": "removing-spaces", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# 1. It breaks. When the case is changed, output step t belongs to input place t, so a decoder that knows its
#    step knows where to look. When spaces are removed, the place of the t-th letter depends on how many spaces
#    came before, which neither the step nor the positions tell. The map is the same for every text: it
#    spreads its weight over all places that may be meant, more and more of them the further it gets.
# 2. With a blank the output has one character for each input character, so step t belongs to place t again;
#    the space is looked up like a letter and becomes a blank.
# 3. A count of the letters so far: then "the t-th letter" is a place that a query can ask for.
# ### END SOLUTION
# === BEGIN MARK SCHEME ===
# - half a point: the place of the t-th letter depends on the spaces before it, so a step number is not
#   enough (1);
# - a quarter of a point: the blank restores one output step per input place (2);
# - a quarter of a point: states that count the letters, or the spaces, so far (3).
# === END MARK SCHEME ===

# %% [markdown]
# ## Summary
#
# - That a larger state does better after a fixed number of steps says nothing about room: it learns faster.
# - Room is a matter of bits. A message of a fixed size has a line that no code can cross.
# - Attention removes the fixed size: what is carried grows with the text, and the decoder looks it up.
# - To look up, a state must tell its place: an RNN can count, or we give it positions.
# - Where the output is not aligned with the input, a blank in the vocabulary can align it.
#
# **Next:** [03 · Attention in an RNN](03_attention.ipynb) makes attention a module with parameters, and
# reverses strings with it.
