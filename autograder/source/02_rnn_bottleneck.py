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
# - explain what an encoder-decoder RNN keeps in its parameters and what in its states,
# - tell a model that lacks room from a model that lacks training, with a measurement for each,
# - write attention for any score, put it into a decoder, and explain what each part then carries,
# - give an encoder positions, and choose an output vocabulary that suits the task.

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
# `budget` sets how much this notebook trains. `"quick"` takes two or three minutes of training in total on
# a CPU. With `"smoke"`, models train only for a moment. Where the result would mean nothing, you see the
# stored figures of the quick run instead, labelled as such.

# %%
SHARE = {"smoke": 0.005, "quick": 1.0, "full": 1.0}[budget]  # of the usual number of steps
SEEDS = range({"smoke": 1, "quick": 3, "full": 5}[budget])


def steps(usual):
    return max(5, int(SHARE * usual))


def tell(*words):
    """Print a measurement, which would mean nothing after the few steps of the smoke budget."""
    print(*(words if budget != "smoke" else ("(The smoke budget trains too little for a figure.)",)))


def rounded(figures):
    return {name: round(value, 3) for name, value in figures.items()}


# %% [markdown]
# ## 1 Two RNNs are better than one
#
# An RNN reads a sequence and can write one output per input. Why not translate like that? (The example
# comes from a lecture, @[attention-lecture].)

# %%
one_to_one()

# %% [markdown]
# Two things go wrong. The answer may have a **different length** from the question, and its words may come in
# a **different order**. So we use two RNNs [@sutskever2014; @cho2014]. The **encoder** first reads the whole
# text. The **decoder** then writes the answer, one token per step, and at each step reads the token it
# wrote before.

# %%
encoder_decoder()

# %% [markdown]
# Look at the single arrow between the two. Everything the decoder will ever know about the text has to pass
# through the encoder's final state: a vector of $D$ numbers, however long the text is.
# This vector is the **bottleneck** [@cho2014properties]. In this notebook you measure it.

# %% [markdown]
# ## 2 The task
#
# The task and most of the questions here come from @[eecs182-discussion] and the homework that goes with it,
# @[eecs182-homework]. The model has to change the case of a text. A token at its start, the **prompt**, tells
# it how: `<U>` asks for upper case, `<L>` for lower case. The model works character by character. A batch
# contains the numbers of these characters. All texts in it have the same length, so nothing needs a mask.
#
# During training the decoder reads the correct answers, shifted by one step, rather than its own. This is
# called **teacher forcing**. Since all target steps are known in advance, they run in one call.

# %%
task = change_case()
batch = task.batch(["<U> I am a student", "<L> I am a student"])
print("source [B, S]:", tuple(batch.source.shape), batch.source[0].tolist())
for name, numbers in (("reads", batch.given[0]), ("writes", batch.wanted[0])):
    print(f"the decoder {name:7}", [task.tokens[number] for number in numbers[:6].tolist()], "...")

# %% [markdown]
# ## 3 Train a vanilla RNN (about {{given:10 seconds}})
#
# A vanilla RNN has the plainest cell, $h_s = \tanh(W x_s + U h_{s-1} + b)$. Here $D = 64$. Each text consists
# of four random characters, and every training step draws new ones.

# %%
vanilla, history = train(task, lengths=[4], steps=steps(4000), cell="rnn", hidden=64, show=True)
for line in ("<U> I am", "<L> I AM", "<U> abcd"):
    print(f"{line:10} {answer(vanilla, task, line)[0]}")
tell(rounded(accuracy(vanilla, task, 4)))

# %% [markdown]
# `characters` is the share of characters that are right and in the right place, and `exact` is the share of
# texts without a single mistake. Both are measured on texts that training never drew, while the decoder
# reads its own answers.

# %% [markdown]
# ## 4 What changes, what stays
#
# Five things meet here: the input, the encoder's parameters, the bottleneck, the decoder's parameters and
# the output. Which of them change when the trained model reads another text? Take a look:

# %%
before = {name: parameter.clone() for name, parameter in vanilla.state_dict().items()}
with torch.no_grad():
    first = vanilla.encode(task.batch(["<U> I am"]).source)
    second = vanilla.encode(task.batch(["<L> I am"]).source)
for name, parameter in vanilla.state_dict().items():
    print(f"{name:26}", "changed" if (parameter != before[name]).any() else "the same")
moved = (first.bottleneck - second.bottleneck).norm() / first.bottleneck.norm()
print(f"{'bottleneck':26} changed by {moved:.0%} of its length")

# %% [markdown]
# ### How the encoder is trained
#
# Nobody tells the encoder what to write into the bottleneck, because only the decoder has a loss. But the
# bottleneck is the decoder's first state, so the loss has a gradient there. Backpropagation carries it on
# through the encoder, from the last step to the first. How much of it arrives? Compare the vanilla RNN with
# a **GRU**, an RNN whose gates decide at each step how much of the old state to keep.


# %%
def fresh(cell, attention=None):
    """A model for texts of 16 characters, trained briefly."""
    return train(
        task, lengths=[16], steps=steps(300), cell=cell, hidden=64, attention=attention
    )[0]


def show_gradients():
    return curves(
        {name: norms[::-1] for name, norms in gradients.items()},
        range(17),
        x_label="steps before the end of the source",
        y_label="norm of the gradient",
        title="" if budget != "smoke" else "Hardly trained (smoke budget): the lines may cross",
        logarithmic=True,
    )


long_batch = task.draw(64, 16, seed=-1)
gradients = {
    "vanilla RNN": gradient_by_step(fresh("rnn"), long_batch),
    "GRU": gradient_by_step(fresh("gru"), long_batch),
}
show_gradients()

# %% [markdown]
# The axis is logarithmic. In the vanilla RNN, each step back shrinks the gradient by some factor, until next
# to nothing is left for the first characters: the gradient **vanishes**. The gates of the GRU let it through.
#
# ### What the parameters know
#
# The parameters have seen many texts and store none of them. So what do they store? Here is one example.
# Each character has an embedding, a vector that is learned. How similar are the embeddings of a letter in its
# two cases, and those of two different letters? (A cosine of 1 means the same direction, 0 means unrelated.)

# %%
embeddings = F.normalize(vanilla.embedding.weight.detach(), dim=-1)
small = embeddings[[task.tokens.index(c) for c in "abcdefghijklmnopqrstuvwxyz"]]
large = embeddings[[task.tokens.index(c) for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]]
cosines = small @ large.T
tell(f"one letter in its two cases: {cosines.diagonal().mean():.2f}")
tell(f"two different letters: {(cosines.sum() - cosines.trace()) / (26 * 25):.2f}")

# %% [markdown]
# ### Exercise: what RNNs store
#
# {{exercise what-rnns-store}}
#
# Answer each question in a sentence or two, using what you saw above.
# 1. Which of the five things (input, encoder parameters, bottleneck, decoder parameters, output) change
#    at inference, and which stay the same?
# 2. How are the decoder's parameters trained, and how does the gradient get into the encoder?
# 3. What kind of information do the parameters capture?
# 4. What is the role of the input and output sequences during training?

# %% [markdown] nbgrader={"grade_id": "what-rnns-store", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# 1. The parameters of the encoder and decoder stay the same, because training has fixed them. The input, the
#    bottleneck (with all other states) and the output differ from text to text.
# 2. The cross-entropy between the decoder's output and the correct answer trains the decoder's parameters.
#    The decoder's first state is the encoder's last, so the loss has a gradient at the bottleneck, and
#    backpropagation through time carries it into the encoder's parameters.
# 3. What all texts have in common, not any single text: which letters belong together (`a` and `A`), how
#    to pack characters into a state, how to unpack them in order, and what the prompts ask for.
# 4. The input is an example of what will be asked, and the output shows the correct answer. These pairs are
#    all that the parameters learn from. The output is also what the decoder reads, one step late (teacher
#    forcing).
# ### END SOLUTION
# === BEGIN MARK SCHEME ===
# - a quarter of a point: part 1, the parameters are fixed; the input, the states and the output vary;
# - a quarter of a point: part 2, the loss on the output trains the decoder; the gradient enters the
#   encoder through the bottleneck, which is the decoder's initial state;
# - a quarter of a point: part 3, regularities of the task over all examples, not a single example;
# - a quarter of a point: part 4, the input shows the source domain, and the output supervises (and is fed
#   to the decoder).
#
# "Weights" is fine for the parameters.
# === END MARK SCHEME ===

# %% [markdown]
# ## 5 A longer text fails. Why?
#
# The longer the text, the worse a model without attention does. There are two possible reasons, and it is
# easy to mistake one for the other:
# - **lack of training**: parameters that would solve the task exist, but training has not found them yet;
# - **lack of room**: the vector is too small for the text. Then no amount of training helps.
#
# In this section you measure each of them separately.
#
# ### Is it the training?
#
# A GRU with $D = 32$ reads six characters. With $D = 128$ it does far better after 1,000 steps. So does the
# small one lack room?

# %%
room = predict(
    "steps-or-room",
    "With ten times the steps, how many characters will D = 32 get right?",
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
# Each point is a separate run of exactly that many steps, in which the learning rate falls to zero. The bands
# show the range over the seeds. With $D = 32$, the share of correct characters is
# {{claim:steps-not-room.small}} after 1,000 steps and {{claim:steps-not-room.small_longer}} after 10,000. There
# was room all along. A larger $D$ learns **faster**, but the result after a fixed number of steps tells you
# nothing about room. At 10,000 steps the small sizes are still improving, so the chart does not show where
# $D = 16$ would end.

# %% [markdown]
# Add your own points, with a seed that is not in the chart (about {{given:10 seconds}}):

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
# A **linear probe** tests what can be read from a vector: freeze the model, then train one linear layer to
# predict, say, the third letter from the bottleneck alone. If it can't, then the letter is not there, or
# not in a form that a linear layer can use.

# %%
probes = {}
for name, cell in (("vanilla RNN", "rnn"), ("GRU", "gru")):
    model, _ = train(task, lengths=[8], steps=steps(1000), cell=cell, hidden=64)
    probes[name] = probe_bottleneck(model, task, 8, lines=3000 if budget != "smoke" else 100)
if budget == "smoke":
    probes = stored_probes()
print("Stored figures, five seeds" if budget == "smoke" else "What you just trained, one seed")
display(
    curves(
        {name: found["letter"] for name, found in probes.items()},
        range(1, 9),
        x_label="t, the place of the letter in the source",
        y_label="share of letters predicted right",
        title="Which letters can be read from the bottleneck?",
    )
)
for name, found in probes.items():
    case = sum(found["case"]) / len(found["case"])
    print(f"{name}: the prompt is predicted right in {found['prompt'][0]:.0%}, the case in {case:.0%}")

# %% [markdown]
# A probe that knows nothing gets about {{given:15%}} of the letters right, by always predicting *space*. With
# the quick budget:
# - In the vanilla RNN, only the **last** letters can be read. This fits the gradient that vanishes on its way
#   to the first ones.
# - The GRU has kept something of every letter, and more of the first than of any other.
# - The **case** of a letter is predicted hardly better than by tossing a coin ({{given:50%}}) in both models.
#   The answer does not need it: the prompt alone decides the case of the output.
#
# ### Is it the room?
#
# A vector of floating-point numbers has no limit that we could run into: 32 numbers of 32 bits have room
# for 1,024 bits, and six characters and a prompt need at most 36. To see a limit, we have to build
# one. So let the encoder pass on exactly **n bits**, each +1 or -1, both in training and in testing.
# (Gradients pass straight through, as in @[bengio2013].) Let the text consist of $L$ symbols from an alphabet
# of $A = 16$, all equally likely and independent of each other. Then each symbol carries $\log_2 16 = 4$ bits,
# and nobody can guess it from its neighbours.
#
# Now information theory draws a line [@cover2006]. With $R = n / L$ bits per symbol, the share $p$ of symbols
# that *any* code gets right satisfies
#
# $$\log_2 A - H(p) - (1 - p) \log_2 (A - 1) \le R$$
#
# where $H(p) = -p \log_2 p - (1 - p) \log_2 (1 - p)$. The left-hand side is what you must know about a symbol
# if a share of $1 - p$ may be wrong. No architecture and no number of steps can cross this line. Here the
# encoder and decoder are small networks. See what they learn:

# %%
display(bottleneck_explorer(load_channel()))

# %% [markdown]
# - *All sizes*: a message of $n$ bits carries texts of up to about $n / 4$ symbols. Then the share falls off a
#   **cliff**. Twice the bits, twice the length: that is room.
# - *Steps*, 10,000: where there is room, more training helps (32 bits, 8 symbols: from
#   {{claim:channel-line.room mean}} to {{claim:channel-line.room_longer mean}}). Where there is none, it does not
#   (16 bits, 8 symbols: {{claim:channel-line.half_longer}}). No run is above its line.
# - *16 bits*: for 8 symbols the line allows {{claim:channel-line.line}}. *Keep the first*, a code that sends
#   four symbols whole and guesses the rest, gets {{claim:channel-line.plain}}. The learned codes get
#   {{claim:channel-line.half}}. So beyond the cliff both reasons are at work: room sets the line, and
#   training does not reach it.
# - *With attention*: there is a message of 8 bits for **each** symbol, and the decoder looks up the one it
#   needs. What is carried grows with the text: {{claim:attention-grows.long}} of 16 symbols are right.
#
# Add three points of your own (about {{given:15 seconds}}):

# %%
for kind, bits, length in (("one message", 16, 4), ("one message", 16, 8), ("attention", 8, 8)):
    point = channel_point(kind, bits, length, steps=steps(1000), seed=7)
    tell(
        f"{kind:11}, {bits:2} bits, {length} symbols: {point.share_right:4.0%} right, "
        f"the line is at {point.bound:.0%} ({point.steps:,} steps)"
    )

# %% [markdown]
# A state of $D$ floating-point numbers is also a message, with a large number of bits that nobody knows
# exactly. But its size is fixed all the same, so *some* length is too long for it. What attention removes is
# not the small vector but the **fixed size**.

# %% [markdown]
# ### Exercise: the bottleneck
#
# {{exercise the-bottleneck}}
#
# 1. What must the last encoder state contain so that the decoder can change the case of a text?
# 2. A classmate says: "With $D = 32$ the GRU gets a quarter of six characters right, and with $D = 128$ half
#    of them. So 32 numbers have no room for six characters." What is wrong with this? Use a number from this
#    section.
# 3. Which measurement in this section does show a lack of room, and how do you know that it is not a lack of
#    training?
# 4. How does attention change the limit in 3?

# %% [markdown] nbgrader={"grade_id": "the-bottleneck", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# 1. The prompt, and every character with its place (but not its case, which the answer does not need).
# 2. Both were trained for 1,000 steps, and a fixed number of steps tells us nothing about room. With D = 32 the
#    share right is {{claim:steps-not-room.small}} after 1,000 steps and {{claim:steps-not-room.small_longer}}
#    after 10,000. A larger D learns faster. (32 floating-point numbers have 1,024 bits; six characters and
#    a prompt need at most 36.)
# 3. The channel of n bits: 16 bits carry 4 symbols of 4 bits ({{claim:channel-line.fits mean}} right) but not 8
#    ({{claim:channel-line.half mean}}), and with twice the bits the cliff is at twice the length. Information
#    theory gives a line, {{claim:channel-line.line}} for 16 bits and 8 symbols, that no code can cross, and ten
#    times the steps did not cross it either. (That the learned codes lie far below the line, and below the
#    {{claim:channel-line.plain}} of "keep the first", is a matter of training.)
# 4. With attention there is a message for each symbol, so what is carried grows with the text: no fixed size,
#    and no length at which it must fail for lack of room.
# ### END SOLUTION
# === BEGIN MARK SCHEME ===
# - half a point: the state must contain the prompt and every character with its place;
# - half a point: a fixed number of steps says nothing about room, with a number to show that the small model
#   improves with more steps;
# - half a point: the channel of known size, and a reason why training can't help (the line of information
#   theory, or the cliff that moves with the bits and stays put with ten times the steps);
# - half a point: with attention, the size of what is carried grows with the text.
#
# Give nothing for 2 if the answer says that a larger D shows more room. In 3, do not ask for the equation.
# === END MARK SCHEME ===

# %% [markdown]
# ## 6 Attention
#
# The encoder produces a state at every step, and so far we have thrown away all but the last. Let the decoder
# look at all of them instead. At each step it asks with its own state, the **query**:

# %%
encoder_decoder(attention=True)

# %% [markdown]
# Each source step provides a **key**, which is compared with the query, and a **value**, which is read. In
# this notebook both are the encoder's state.
#
# 1. **scores**: $z_s = e(q, k_s)$, a number for how well the query and the key match
# 2. **weights**: $\alpha = \mathrm{softmax}(z)$, which are positive and sum to one
# 3. **context**: $c = \sum_s \alpha_s v_s$, a weighted average of the values
#
# The readout then combines the context with the decoder's own state. For one query, by hand:

# %%
query, keys = torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
values = torch.tensor([[10.0], [20.0], [30.0]])
scores = [float(query @ k) for k in keys]
powers = [2.718281828**z for z in scores]
weights = [p / sum(powers) for p in powers]
context = sum(a * v for a, v in zip(weights, values))
print("scores", scores, "weights", [round(a, 3) for a in weights], "context", context)

# %% [markdown]
# Only step 1 leaves a choice. These three scores have been used for translation [@luong2015; @bahdanau2015]:
#
# | score | $e(q, k_s)$ | depends on |
# | --- | --- | --- |
# | dot | $q \cdot k_s$ | the query and the key |
# | additive | $v_a \cdot \tanh(W q + U k_s)$ | the query and the key, through a small network |
# | linear | $w_s \cdot q + b_s$ | only the query and the *place* $s$ |
#
# ### Exercise: `attention`, with scores to plug in
#
# {{exercise attention-with-scores}}
#
# Write it for a batch: `query` is `[B, D]` (one query per text), `keys` is `[B, S, D]`, and `values` is
# `[B, S, V]`. `attention` receives the score as a function: `score(query, keys)` returns `[B, S]`. As a loop
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
# `linear_score` knows `L` places, of which a source uses the first `S`. None of the scores is scaled. Write
# all four functions with tensors, without loops.


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
    """The context [B, V] and the weights [B, S] for one query [B, D] per text."""
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
# The decoder asks after its recurrent step, so all its queries are known at once, and `every_step` lets
# your function answer them in one call. The keys and values are the encoder's states, the score is the dot
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
# With attention, even a vanilla RNN can handle 16 characters: our five runs got
# {{claim:taken-apart.long range}} of them right. (With the smoke budget, yours is hardly trained.) The map
# shows where the model looked, with a row for each character it wrote and a column for each token it read.

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
# Take a part away, and see what breaks. The most telling test is a swap: give the decoder the **states** of
# another text, but let it keep its own **bottleneck**. Which of the two texts will it write?
#
# ### Exercise: `swap_states`
#
# {{exercise state-swap}}
#
# `states` is `[B, S, D]`, and `bottleneck` is `[1, B, D]`. Return both, with the states swapped: text `b` gets
# the states of text `b - 1`, and the first text gets those of the last.


# %% nbgrader={"grade_id": "state-swap", "solution": true}
def swap_states(states, bottleneck):
    """The states [B, S, D], each from the text before, and the bottleneck [1, B, D] unchanged."""
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
# Here is the model as it is, with its **bottleneck** set to zero, with its attention **weights** made equal,
# and with your swap.


# %%
def even(query, states):
    """Attention without a choice: every state gets the same weight."""
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
        ("states of another text", "characters of the other text"): share(swapped, other),
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
        ("states of another text", "characters of the other text"): apart["attention", "states swapped, other"],
        ("equal weights", "right characters"): apart["attention", "equal weights"],
    }
    display(results(taken_apart(attentive), stored, "model", budget))

# %% [markdown]
# Without its bottleneck, the trained model writes as well as before, so the text no longer passes through
# it. With equal weights it fails, so choosing the place is what matters. And with the states of another
# text, it writes *that text*. Whatever it writes, it has read from the states.
#
# The gradient takes the new route too. Compare this with the plot above:

# %%
if ready("attention-with-scores"):
    gradients["RNN, attention"] = gradient_by_step(fresh("rnn", look_up), long_batch)
    display(show_gradients())

# %% [markdown]
# ### Exercise: past the bottleneck
#
# {{exercise past-the-bottleneck}}
#
# With attention, what does each part have to contribute so that the model can change the case? Write one
# sentence for each: the encoder's parameters, the attention scores, the bottleneck, the decoder's
# parameters. For at least two of them, point to something you saw.

# %% [markdown] nbgrader={"grade_id": "past-the-bottleneck", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# - Encoder parameters: they make each state contain which character was read *and* where it is, so that
#   the state can be found and read out.
# - Scores: they compare the decoder's state with each encoder state, and are largest for the state
#   at the same place: the map is a diagonal.
# - Bottleneck: it need not hold the text. Setting it to zero costs next to nothing.
# - Decoder parameters: they count, so that the query at step t asks for place t, and the readout turns
#   the character in the context into the case that is wanted.
# ### END SOLUTION
# === BEGIN MARK SCHEME ===
# - a quarter of a point: encoder (character and position in each state);
# - a quarter of a point: scores (match the place, look-up);
# - a quarter of a point: bottleneck (need not hold the text);
# - a quarter of a point: decoder (counts, applies the case).
#
# Take off a quarter if the answer uses nothing from the notebook as evidence.
# === END MARK SCHEME ===

# %% [markdown]
# ## 8 Positions
#
# To be found, a state must show its place. A recurrent encoder can learn to count by itself, but we can also
# simply tell it: give each step a vector that identifies its place $t$. The simplest table of such vectors is
# **one-hot**: row $t$ has a 1 in column $t$, and zeros elsewhere. The table is fixed. But a one-hot row times
# a matrix of parameters picks out one of its rows, so what the model *does* with a position is learned.
# (Another table, made of sines, is where the transformer begins: see notebook 05.)
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
# To see what positions do, take the recurrence out of the encoder: one linear layer makes each state from
# its own character alone. Now only the position can reveal a state's place. (The prompt goes to the decoder
# as its first token, since there is no bottleneck to carry it.) The rows of this table differ in their
# positions and in nothing else.

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
# Without positions, a letter has the same state wherever it occurs, and the weight on the right place is
# close to 1/12, its share of twelve places.
#
# ### Longer than anything seen in training
#
# An RNN encoder does not need a table, because it can count. But does a table help it with texts that are
# longer than any in its training? Models were trained on 2 to 12 characters and tested on more, with five
# seeds each:
#
# | characters right | length 12 | 16 | 24 |
# | --- | --- | --- | --- |
# | GRU, no attention | {{claim:beyond-training.gru_12 range}} | {{claim:beyond-training.gru_16 range}} | {{claim:beyond-training.gru_24 range}} |
# | RNN, attention | {{claim:beyond-training.plain_12 range}} | {{claim:beyond-training.plain_16 range}} | {{claim:beyond-training.plain_24 range}} |
# | with one-hot | {{claim:beyond-training.one_hot_12 range}} | {{claim:beyond-training.one_hot_16 range}} | {{claim:beyond-training.one_hot_24 range}} |
# | with sines | {{claim:beyond-training.sine_12 range}} | {{claim:beyond-training.sine_16 range}} | {{claim:beyond-training.sine_24 range}} |
#
# Surprised? A model that is given positions gets **no further** than one without, and sines get no further
# than one-hot. Beyond 12, one-hot positions meet parameters that training never touched, and sine rows are new
# combinations. The model without positions had to learn to count. Perhaps it leads because counting goes on
# past 12, but this experiment does not prove it.

# %% [markdown]
# ## 9 Where should the prompt go? (optional, about {{given:15 seconds}})
#
# The prompt is at the start, farthest from the decoder. Is that a good place? Here are five
# designs: at the **start**, at the **end**, at **both**, at **each step** (its embedding is added to
# every character's), or not in the source at all but as the **decoder**'s first token. The table has five
# seeds for each, trained until the learning rate had fallen to zero: 3,000 steps on four characters without
# attention, and 1,500 steps on eight with it. Choose a place and add a run of your own.

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
    tell(f"Your run with attention, prompt at {my_place}: {share:.0%} after {steps(1500):,} steps")

# %% [markdown]
# Each cell gives the mean over the seeds, and the range from the lowest to the highest. Treat two designs as
# different only where their ranges do not overlap.
#
# Here are two questions to ask of each design. For the vanilla model: does the bottleneck have to carry the
# prompt, and does the prompt push the text a step further from the decoder? For the model with
# attention: can the decoder look the prompt up?

# %% [markdown]
# ### Exercise: where the prompt goes
#
# {{exercise where-the-prompt-goes}}
#
# Choose a place for the prompt, once for the vanilla model and once for the one with attention.
# Give a reason based on the architecture, and report what the table shows: a difference, or none
# beyond the spread.

# %% [markdown] nbgrader={"grade_id": "where-the-prompt-goes", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# Vanilla: as the decoder's first token ({{claim:prompt-place.decoder range}}). Then the bottleneck need not
# carry the prompt, and no step comes between the text and the decoder. A prompt at the end is close to the
# decoder too, but it pushes every character one step back. The end ({{claim:prompt-place.end range}}), both
# ({{claim:prompt-place.both range}}) and each step ({{claim:prompt-place.each range}}) do worse. The start gets
# {{claim:prompt-place.start range}}, a wide range that reaches the decoder's, so it shows no difference.
#
# Attention: a query can find the prompt's state anywhere, so no place is ruled out. The start, the end, each
# step and the decoder all get {{claim:prompt-place.a_end mean}}. With the prompt at both ends, two of the five
# seeds had not learned the task ({{claim:prompt-place.a_both range}}): the best of them is as good, but
# training is less certain to find it.
# ### END SOLUTION
# === BEGIN MARK SCHEME ===
# - half a point: a sound reason for each model (the vanilla bottleneck must carry the prompt unless the
#   decoder gets it directly; a later prompt moves the text away from the decoder; attention can look it
#   up anywhere);
# - half a point: the table is read with its spread: no difference claimed where ranges overlap.
# === END MARK SCHEME ===

# %% [markdown]
# ## 10 Removing spaces (optional, about {{given:10 seconds}})
#
# Here is another task: turn `i am a student` into `iamastudent`. Does looking up by place work here too? To
# find out, take the idea literally: the keys contain positions and nothing else, and the decoder only counts
# its steps. We try two output vocabularies. The second has a **blank** [@graves2006]: the model may write a
# blank where a space was, and the blanks are dropped afterwards.


# %%
def by_counting(task):
    """A model whose keys contain only positions, and whose decoder only counts."""
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
    title += " (hardly trained: smoke budget)" if budget == "smoke" else ""
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
    display(results(counted, stored, "keys with positions only", budget))

# %% [markdown]
# A recurrent encoder is not limited to positions. Here are our five seeds, trained on 4 to 16 characters with
# attention, without a blank and with one. The figures are the share of texts without a single mistake.

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
# 1. What happens to the design whose keys contain only positions when spaces have to be removed? Why does
#    it work for changing the case but not here? Use the first map.
# 2. Why does a blank in the output vocabulary solve the problem?
# 3. What can a recurrent encoder write into its states so that no blank is needed?

# %% [markdown] nbgrader={"grade_id": "removing-spaces", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# 1. It breaks. When the case is changed, output step t belongs to input place t, so a decoder that knows its
#    step knows where to look. When spaces are removed, the place of the t-th letter depends on how many spaces
#    came before it, which neither the step nor the positions reveal. The map is the same for every text: it
#    spreads its weight over all the places that are possible, and there are more and more of them as it goes on.
# 2. With a blank, the output has one character for each input character, so step t belongs to place t again.
#    The space is looked up like a letter and becomes a blank.
# 3. A count of the letters so far. Then "the t-th letter" is a place that a query can ask for.
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
# - A larger state learns faster. That it does better after a fixed number of steps says nothing about room.
# - Room is a matter of bits. For a message of fixed size there is a line that no code can cross.
# - Attention removes the fixed size: what is carried grows with the text, and the decoder looks it up.
# - To be looked up, a state must show its place: an RNN can count, or we give it positions.
# - Where the output is not aligned with the input, a blank in the vocabulary can align it.
