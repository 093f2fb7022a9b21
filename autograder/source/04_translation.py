# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 04 · German to English
#
# **{{minutes}} · {{points}}**
#
# After this notebook you can
# - write scaled dot-product attention for a single query, and train a translator with it,
# - read its attention diagrams, and say what they do not show,
# - compare attention mechanisms fairly: several runs, means, and no claims beyond them,
# - search for a translation with a beam.

# %% tags=["setup"]
import math

import torch
from torch import nn

from course_utils import check, ready

# %%
import numpy as np
from IPython.display import display

from course_utils.data import encode, load_corpus, length_batches, tokenise
from course_utils.training import seed_everything
from course_utils.translation import (
    RECIPES,
    Dummy,
    MeanPool,
    make_translator,
    mean_loss,
    prefix_scorer,
    train_translator,
    translate,
    bleu,
    draw_attention,
)

# %% [markdown]
# ## 1 Sentences in two languages
#
# **Multi30k** has 29,000 photograph captions to train on, in German and English [@elliott2016] and in French
# [@elliott2017]. The next cell takes them from the folder named by the environment variable `COURSE_DATA`
# or from your cache, and otherwise downloads them once (2 MB). Without a network, and in the smoke budget,
# it uses the course's **built-in corpus** instead: German sentences from a small grammar, with their
# translations. The cell prints which corpus you have.
#
# For French, write `"fr"`. (The built-in corpus has no French, so without a network you get German.)

# %%
source_language = "de"
corpus = load_corpus(source_language, builtin_only=budget == "smoke")

# %%
for source, target in list(zip(corpus.train.source, corpus.train.target))[:3]:
    print(source, "\n   ", target)

# %% [markdown]
# A model works with numbers. A small tokeniser splits each sentence into **tokens**, lower-cased words and
# punctuation marks. Every token that occurs at least twice in the training sentences gets a number; all
# others become `<unk>`, for "unknown".

# %%
data = encode(corpus)
print(
    "words the model knows:", len(data.source_vocabulary), "and", len(data.target_vocabulary)
)
print(tokenise(corpus.train.source[0]))
print(data.train[0].source)

# %% [markdown]
# All sources in a batch have the same length, so none is padded and your attention needs no mask. `source` is
# `[B, S]`, one row per sentence. During training the decoder reads the correct translation, shifted by one
# step, and should predict the next word at every step. `<s>` marks the start and `</s>` the end.

# %%
batch = length_batches(data.train, size=4)[40]
print("source", list(batch.source.shape), " given", list(batch.given.shape))
print("the decoder reads ", [data.target_vocabulary.words[n] for n in batch.given[0]])
print("and should predict", [data.target_vocabulary.words[n] for n in batch.wanted[0]])

# %% [markdown]
# ### Words move
#
# German puts its verbs where English does not. A separable verb is split in two: *hebt … auf* is one verb,
# "picks up". In a clause that starts with *weil* or *dass*, the verb comes last. For the built-in corpus we
# know which words belong together; they are the bright cells in this picture:

# %%
from course_utils.data import builtin_corpus

grammar = builtin_corpus()
place = next(i for i, text in enumerate(grammar.test.source) if ", weil" in text and len(text) < 90)
german, english = tokenise(grammar.test.source[place]), tokenise(grammar.test.target[place])
gold = np.zeros((len(english), len(german)))
for s, t in grammar.test.alignments[place]:
    gold[t, s] = 1
print(grammar.test.source[place], "\n" + grammar.test.target[place])
draw_attention(german, english, gold, title="which words belong together")

# %% [markdown]
# A translator that reads and writes from left to right has to find its way through this. The bright cells
# are what attention could learn, although nobody will ever show them to it.

# %% [markdown]
# ## 2 The model
#
# The **encoder** is a GRU, a recurrent network with gates like the LSTM, and it reads in both directions. The
# word $w_t$ at position $t$ first becomes its embedding $z_t$:
#
# $$z_t = E_s w_t \quad(1)\qquad
#   \overrightarrow h_t = \mathrm{GRU}(z_t, \overrightarrow h_{t-1}) \quad(2)\qquad
#   \overleftarrow h_t = \mathrm{GRU}(z_t, \overleftarrow h_{t+1}) \quad(3)$$
# $$h_t = [\overrightarrow h_t, \overleftarrow h_t] \quad(4)\qquad
#   h_{\text{sent}} = \mathrm{ReLU}(W_s[\overrightarrow h_S, \overleftarrow h_1] + b_s) \quad(5)$$
#
# The **decoder** is a GRU that reads what has been written so far. It starts from the sentence vector
# $h_{\text{sent}}$ and looks at the source after each step, as in @[luong2015]:
#
# $$d_0 = h_{\text{sent}} \quad(6)\qquad u_i = E_t m_i \quad(7)\qquad
#   d_i = \mathrm{GRU}(u_i, d_{i-1}) \quad(8)$$
# $$c_i = \mathrm{Attn}(d_i, h_1, \dots, h_S) \quad(9)\qquad
#   P(m_{i+1}) = \mathrm{softmax}(W_d[c_i, d_i] + b_d) \quad(10)$$

# %%
from course_utils.figures.translator import slides_diagram, translator_diagram

translator_diagram()

# %% [markdown]
# These equations, and the tasks of sections 2 to 6, come from an assignment,
# @[seq2seq-assignment]. All of this is given, except $\mathrm{Attn}$. (Here $W_d$ is the product of two
# matrices, and the second one is $E_t$, the target embeddings, so each word's vector is learned once and not
# twice. This is called a *tied* readout.) Two simple kinds of attention are given too:
#
# - `Dummy` returns zeros: it attends to nothing.
# - `MeanPool` returns the mean of the states: it attends to everything equally.

# %%
recipe = RECIPES[budget]
sizes = recipe.sizes
if budget == "smoke":
    torch.set_num_threads(1)  # a model this small gains nothing from more
seed_everything(0)
untrained = make_translator(data, MeanPool(), sizes)
states, hidden = untrained.encode(batch.source.T)  # the model expects time first: [S, B]
print("states", list(states.shape), " first hidden", list(hidden.shape))

context, weights = untrained.attention(hidden, states)
print("context", list(context.shape), " weights", list(weights.shape))

# %% [markdown]
# ### One query, in loops
#
# Scaled dot-product attention projects the decoder's hidden state to a query and every encoder state to a
# key. The values are the states themselves:
#
# $$q = W_q d_i \quad(11)\qquad k_t = W_k h_t \quad(12)\qquad v_t = h_t \quad(13)$$
# $$\alpha_t = \frac{\exp(q\cdot k_t/\sqrt{n})}{\sum_j \exp(q\cdot k_j/\sqrt{n})} \quad(14)\qquad
#   c_i = \sum_t \alpha_t v_t \quad(15)$$
#
# Here it is for **one** sentence of three words, one number at a time. $n$ is the size of queries and keys,
# `kq_dim` in the code. (Notebook 01 calls it $d$, but here $d_i$ is the decoder's state.)

# %%
torch.manual_seed(0)
kq_dim = 2
W_q, W_k = torch.randn(kq_dim, 3), torch.randn(kq_dim, 4)
one_hidden, three_states = torch.randn(3), torch.randn(3, 4)

q = W_q @ one_hidden
scores = []
for state in three_states:
    k = W_k @ state
    scores.append(float(q @ k) / math.sqrt(kq_dim))
total = sum(math.exp(score) for score in scores)
alpha = [math.exp(score) / total for score in scores]
c = sum(weight * state for weight, state in zip(alpha, three_states))
print("scores ", [round(score, 3) for score in scores])
print("weights", [round(weight, 3) for weight in alpha], " sum", round(sum(alpha), 6))
print("context", [round(value, 3) for value in c.tolist()])

# %% [markdown]
# ### Exercise: `SingleQueryScaledDotProductAttention`
#
# {{exercise single-query-attention}}
#
# Write the same for a whole batch. `hidden`, `[B, dec_hid_dim]`, holds one decoder state $d_i$ per sentence.
# `encoder_outputs`, `[S, B, 2 * enc_hid_dim]`, holds the states $h_t$, with time first. Use two linear layers
# for $W_q$ and $W_k$ that project to `kq_dim` (they may have a bias). Return
# - `attended_val`, the contexts, `[B, 2 * enc_hid_dim]`, and
# - `alpha`, the weights, `[B, S]`.
#
# `torch.bmm` multiplies batches of matrices; so do `einsum` and `@`.


# %% nbgrader={"grade_id": "single-query-attention", "solution": true}
class SingleQueryScaledDotProductAttention(nn.Module):
    """alpha = softmax(q . k_t / sqrt(kq_dim)), attended_val = sum_t alpha_t h_t."""

    # kq_dim is the size of queries and keys: the linear layers project to it.
    def __init__(self, enc_hid_dim, dec_hid_dim, kq_dim=512):
        super().__init__()
        ### BEGIN SOLUTION
        self.query = nn.Linear(dec_hid_dim, kq_dim)
        self.key = nn.Linear(2 * enc_hid_dim, kq_dim)
        self.scale = math.sqrt(kq_dim)
        ### END SOLUTION

    # hidden [B, dec_hid_dim], encoder_outputs [S, B, 2 * enc_hid_dim]
    def forward(self, hidden, encoder_outputs):
        ### BEGIN SOLUTION
        query = self.query(hidden).unsqueeze(1)  # [B, 1, K]
        keys = self.key(encoder_outputs).permute(1, 2, 0)  # [B, K, S]
        scores = torch.bmm(query, keys).squeeze(1) / self.scale  # [B, S]
        alpha = torch.softmax(scores, dim=1)
        values = encoder_outputs.transpose(0, 1)  # [B, S, 2E]
        attended_val = torch.bmm(alpha.unsqueeze(1), values).squeeze(1)
        ### END SOLUTION
        assert attended_val.shape == (hidden.shape[0], encoder_outputs.shape[2])
        assert alpha.shape == (hidden.shape[0], encoder_outputs.shape[0])
        return attended_val, alpha


# %% nbgrader={"grade_id": "single-query-attention-check", "grade": true}
result = check("single-query-attention")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("single-query-attention")
result.points
### END HIDDEN TESTS

# %% [markdown]
# ## 3 Training (quick: our runs took {{claim:translation.minutes range}} minutes of CPU time)
#
# Your module handles one target step. During training all target words are known, and because this decoder
# attends *after* the recurrent step, no step has to wait for the attention of another. So the GRU runs over
# all steps in one call, and `torch.vmap` applies your module to all of them at once.
#
# The parameters with the lowest validation loss are kept. You can interrupt the training: you then get the
# best ones so far.

# %%
if ready("single-query-attention"):
    seed_everything(0)
    attention = SingleQueryScaledDotProductAttention(
        sizes.encoder, sizes.decoder, kq_dim=sizes.words
    )
    model = make_translator(data, attention, sizes)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    history = train_translator(
        model,
        data,
        recipe,
        seed=0,
        checkpoint=None if budget == "smoke" else f"04_translation_{source_language}",
    )
    display(history.plot())

# %% [markdown]
# **Perplexity** is the exponential of the loss per word: roughly how many words the model is choosing between.
# **BLEU**, from 0 to 100, is the geometric mean of four shares: how many of the words, pairs, triples and
# quadruples in the translations also occur in the references [@papineni2002]. Short translations would get
# high shares too easily. So if all translations together have $l$ words, fewer than the $r$ words of the
# references, BLEU is multiplied by a **brevity penalty**, $\exp(1 - r/l)$.
#
# We compute it twice: on lower-cased tokens, which is the figure in all tables here, and on plain sentences
# with sacrebleu's default settings [@post2018]. The *signature* in brackets records the settings, so that others
# can repeat the measurement. Our three runs with the quick budget reached
# {{claim:translation.scaled range}} on Multi30k.

# %%
if ready("single-query-attention"):
    print(f"test perplexity {math.exp(mean_loss(model, data.test)):.2f}")
    translations = translate(model, data)
    score = bleu([one.words for one in translations], data)
    print(score)

# %% [markdown]
# Here are some of its translations, each between the source and the reference:

# %%
if ready("single-query-attention"):
    for place in range(0, 60, 10):
        print(corpus.test.source[place])
        print("   translation", " ".join(translations[place].words))
        print("   reference  ", corpus.test.target[place].lower(), "\n")

# %% [markdown]
# ## 4 Attention diagrams
#
# Each row is a word that the model wrote, and each column is a source word. A cell is **brighter** the more the
# model looked there. Diagrams of twelve test sentences are saved in the folder `examples/`; three of them are
# shown here.

# %%
from course_utils.translation import save_diagrams

if ready("single-query-attention"):
    lengths = [len(example.source) for example in data.test]
    gallery = [place for place, length in enumerate(lengths) if 7 <= length <= 13][:12]
    print(*save_diagrams(translations, data, gallery, folder="examples"), sep="\n")
    for place in gallery[:3]:
        words = tokenise(corpus.test.source[place])
        written = [*translations[place].words, "</s>"][: len(translations[place].weights)]
        display(draw_attention(words, written, translations[place].weights))

# %% [markdown]
# You can do the same with any sentence. Type your own, with words that the model knows.

# %%
from course_utils.data import UNKNOWN
from course_utils.widgets import attention_map

sentence = corpus.test.source[3]

if ready("single-query-attention"):
    words = tokenise(sentence)
    numbers = data.source_vocabulary.encode(words)
    unknown = [word for word, number in zip(words, numbers) if number == UNKNOWN]
    if unknown:
        print("The model does not know:", ", ".join(unknown))
    (answer,) = translate(model, data, [numbers])
    written = [*answer.words, "</s>"][: len(answer.weights)]
    display(attention_map(answer.weights, words, written))

# %% [markdown]
# ### Do the bright cells mean "translation of"?
#
# For the built-in corpus we know the answer. Link each English word to the German word that the model looks at
# most, and compare these links with the true ones. The **alignment error rate** is 0 if they agree, and 1 if
# no link is right. The next cell trains a small model with each mechanism on that corpus (**about half a
# minute**).

# %%
from dataclasses import replace

from course_utils.translation import aligned_error_rate, best_possible_error_rate

if ready("single-query-attention"):
    grammar_data = encode(grammar)
    small = RECIPES["smoke"]
    if budget == "smoke":
        small = replace(small, epochs=1, examples=1500)
    mechanisms = {
        "Dummy": Dummy(),
        "MeanPool": MeanPool(),
        "scaled dot-product": SingleQueryScaledDotProductAttention(
            small.sizes.encoder, small.sizes.decoder, kq_dim=small.sizes.words
        ),
    }
    for name, mechanism in mechanisms.items():
        seed_everything(0)
        small_model = make_translator(grammar_data, mechanism, small.sizes)
        train_translator(small_model, grammar_data, small, show=False)
        found = bleu([one.words for one in translate(small_model, grammar_data)], grammar_data)
        error = aligned_error_rate(small_model, grammar_data)
        print(f"{name:<20} BLEU {found.tokens:5.1f}   alignment error rate {error:.3f}")
    least = best_possible_error_rate(grammar.test.alignments)
    print(f"With one link per word the rate can't be lower than {least:.3f}.")
    if budget == "smoke":
        print("The smoke budget hardly trains these models, so their figures mean little.")

# %% [markdown]
# `Dummy` and `MeanPool` prefer no word to another, so they make no links, and their rate is 1 whatever they
# learn.
#
# ### What does a column hold?
#
# A column is labelled with a word. But its value is the state $h_t$ of equation 4, which has read the rest of
# the sentence from both sides. Change **one** word, and see which states move:

# %%
if ready("single-query-attention"):
    words = tokenise(corpus.test.source[gallery[0]])
    numbers = data.source_vocabulary.encode(words)
    changed = list(numbers)
    middle = len(numbers) // 2
    other = {"de": "hund", "fr": "chien"}[corpus.languages[0]]
    changed[middle] = data.source_vocabulary.encode([other])[0]
    with torch.no_grad():
        before, _ = model.encode(torch.tensor([numbers]).T)
        after, _ = model.encode(torch.tensor([changed]).T)
    moved = ((after - before).norm(dim=-1) / before.norm(dim=-1)).squeeze(1)
    for place, (word, share) in enumerate(zip(words, moved.tolist())):
        mark = f"  <- this word was replaced by {other}" if place == middle else ""
        print(f"{word:>15}  {share:5.0%}  {'█' * round(25 * min(share, 2))}{mark}")

# %% [markdown]
# The neighbouring states move as well. So attention to a column is attention to a *position* and to whatever
# the encoder has put there: perhaps the word, perhaps its neighbour. A diagram shows what the model does, not
# why.
#
# ### Question: patterns in the diagrams
#
# {{exercise translation-diagrams}}
#
# Look through `examples/`. Name two or three patterns that you see often, each with an example from your own
# diagrams. Where do the bright cells leave the diagonal, and what does word order have to do with it? Where
# would it be wrong to read a bright cell as "this word is the translation of that one"?

# %% [markdown] nbgrader={"grade_id": "translation-diagrams", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# Most diagrams follow the diagonal, with one bright cell per row, because captions often have the same word
# order in both languages (article, adjective, noun). The bright cells leave the diagonal where German orders
# its words differently: a verb at the end of a clause, or the second part of a separable verb, gives a cell
# far to the right, and the rows after it jump back (from subject-object-verb to subject-verb-object). Several
# rows may look at one column (a compound such as "Fußballspieler" for "soccer player"), and one row may be
# spread over several columns (a verb and its prefix, function words, the end mark). A bright cell is attention
# to a state of a bidirectional encoder. That state also carries its neighbours and the rest of the sentence,
# so a row may look next to the word it translates.
# ### END SOLUTION
# === BEGIN MARK SCHEME ===
# - half a point: at least one pattern with an example from the student's own model (diagonal, jump for
#   a verb at the end or a separable verb, many-to-one, spread rows), connected to word order;
# - half a point: a column is a state that also carries other words (bidirectional encoder), or
#   brightness shows where the model looks, not why. Brighter means more attention, not less.
# === END MARK SCHEME ===

# %% [markdown]
# ## 5 A fair comparison
#
# How much does attention help? One run of each mechanism is not enough, because another seed gives a different
# BLEU. So we compare three runs of each, by their mean and variance.
#
# Nine runs take more than an hour, which is why only the `full` budget trains them. The runs in this table are
# ours, on Multi30k with the quick recipe. The last two columns are the BLEU of two published answers to the
# same task: *sample* is the sample answer of the course where it was set, and *report* is a student's report.

# %%
from course_utils.translation import (
    Result,
    comparison_plot,
    comparison_text,
    read_results,
    summarise,
)

measured = [run for run in read_results() if run.budget == "quick"]
print(comparison_text(summarise(measured)))

# %%
comparison_plot(measured) if measured else "There is no measured run in this copy of the course."

# %% [markdown]
# Here is your own run. BLEU on another corpus can't be compared with the table: the built-in corpus has short
# sentences from a small grammar, and a much higher BLEU.

# %%
if ready("single-query-attention"):
    name, *_ = str(corpus).split(":")
    print(f"{name}: test BLEU {score.tokens:.2f}, validation loss {history.best_loss:.3f}")
    if name != "Multi30k, German to English":
        print("The table is for Multi30k, German to English, so these figures can't be compared with it.")

# %% [markdown]
# ### The nine runs (`full` budget only: more than an hour)

# %%
if budget == "full" and ready("single-query-attention"):
    own_runs = []
    for seed in range(3):
        for name in ("Dummy", "MeanPool", "scaled dot-product"):
            seed_everything(seed)
            mechanism = {
                "Dummy": Dummy,
                "MeanPool": MeanPool,
                "scaled dot-product": lambda: SingleQueryScaledDotProductAttention(
                    sizes.encoder, sizes.decoder, kq_dim=sizes.words
                ),
            }[name]()
            run = make_translator(data, mechanism, sizes)
            record = train_translator(
                run,
                data,
                RECIPES["quick"],
                seed=seed,
                checkpoint=f"04_translation_{source_language}_{name}_{seed}",
            )
            reached = bleu([one.words for one in translate(run, data)], data)
            own_runs.append(Result.of(name, seed, "quick", record, reached))
    print(comparison_text(summarise(own_runs)))
    display(comparison_plot(own_runs))

# %% [markdown]
# ### Question: what do the runs show?
#
# {{exercise translation-comparison}}
#
# Report the mean and variance of the test BLEU and of the validation loss for the three mechanisms (from your
# own nine runs, or from the table above and your run). Then discuss:
# 1. From `Dummy` to `MeanPool` to scaled dot-product attention: what does each step add, and why does it help?
# 2. The two published columns differ a lot from each other and from ours. What could explain that?
# 3. The sample answer concludes that scaled attention has the lowest *variance*. Do three runs
#    support that?

# %% [markdown] nbgrader={"grade_id": "translation-comparison", "grade": true, "solution": true}
# ### BEGIN SOLUTION
# (The student's table of means and variances goes here.)
#
# 1. Dummy gives the decoder nothing but the sentence vector in its first hidden state: one vector of
#    fixed size must hold the whole sentence and survive every step. MeanPool adds the mean of all
#    states at every step. Nothing has to be remembered, so content words return, but every step sees
#    the same vector, which says little about order. Scaled dot-product attention chooses different states
#    at each step, so it can follow the source word by word. BLEU rises and the validation loss falls in
#    that order, and the step to scaled attention is far larger than the difference between seeds.
# 2. Sizes, epochs, learning rate, dropout, tokenisation and lower-casing, the way BLEU is computed,
#    the share of unknown words, greedy search or a beam, and how long the baselines were trained.
#    Figures from different set-ups can't be compared; only differences within one set-up can.
# 3. No. A variance estimated from three runs is itself very uncertain: for normal data, its {{given:95%}}
#    interval reaches from about a quarter of the estimate to about forty times the estimate. Three runs
#    support a statement about means if the gap is much larger than the spread, but none about which
#    variance is lowest. (In our table it is not that of scaled attention.)
# ### END SOLUTION
# === BEGIN MARK SCHEME ===
# - 1 point: a table with the mean and variance of BLEU and validation loss for all three mechanisms, with
#   the number of runs and where they come from;
# - 1 point: the trend explained: fixed-size bottleneck, the same average at each step, states chosen anew;
# - 1 point: a sound reading of the evidence: gaps are compared with the spread, set-ups differ between
#   tables, and three runs do not support a claim about variances.
# === END MARK SCHEME ===

# %% [markdown]
# ## 6 Beam search
#
# So far, the model has always written the most probable next word. That is **greedy** search, and a good first
# word may lead to a bad sentence. Here are the probabilities of a tiny language:

# %%
tiny_words = ["<s>", "</s>", "a", "the", "dog"]
tiny = {
    (0,): [0.0, 0.0, 0.6, 0.4, 0.0],
    (0, 2): [0.0, 0.35, 0.15, 0.2, 0.3],
    (0, 3): [0.0, 0.05, 0.0, 0.0, 0.95],
}
ends = [0.0, 1.0, 0.0, 0.0, 0.0]


def tiny_step(prefixes):
    """Log-probabilities [N, V] of the next word after each of N prefixes [N, t]."""
    rows = [tiny.get(tuple(int(n) for n in prefix), ends) for prefix in prefixes]
    return torch.tensor(rows).clamp(min=1e-9).log()


for words in (["a", "dog", "</s>"], ["a", "</s>"], ["the", "dog", "</s>"]):
    prefix, probability = [0], 1.0
    for word in words:
        number = tiny_words.index(word)
        probability *= tiny_step([prefix])[0, number].exp().item()
        prefix.append(number)
    print(f"{' '.join(words):<16} {probability:.3f}")

# %% [markdown]
# Greedy search takes "a", because 0.6 is more than 0.4, then the end mark, which gives a probability of 0.21.
# "the dog" has 0.38.
#
# A **beam** keeps several prefixes. At each step:
# 1. extend every unfinished prefix by every word, and add the log-probability of the word to the
#    sum that the prefix already has;
# 2. keep the `beam` best of all these continuations;
# 3. set aside those that end with the end mark, because they are finished. After `max_length` words the
#    others count as finished too.
#
# The answer is the finished sequence with the best score. A sum of log-probabilities falls with every word, so
# on its own it prefers short sentences. To make up for that, divide it by a power of the length:
#
# $$\mathrm{score}(m_1 \dots m_\ell) = \frac{1}{\ell^{p}} \sum_{i=1}^{\ell} \log P(m_i \mid m_{<i})
#   \qquad p = \texttt{length\_penalty}$$
#
# ### Exercise: `beam_search`
#
# {{exercise beam-search}}
#
# `step(prefixes)` takes a tensor `[N, t]` of `N` prefixes, each beginning with `start`, and returns the
# log-probabilities `[N, V]` of their next words. Call it once per step, for the whole beam. Return `tokens`,
# the list of what follows `start` (including `end`, if it was reached), and their `score`.


# %% nbgrader={"grade_id": "beam-search", "solution": true}
def beam_search(step, start, end, beam, max_length, length_penalty=0.0):
    """The best sequence that a beam finds, and its score."""
    ### BEGIN SOLUTION
    prefixes, totals = torch.tensor([[start]]), torch.zeros(1)
    best_tokens, best_score = [], -math.inf
    for length in range(1, max_length + 1):
        log_probs = step(prefixes)  # [N, V]
        candidates = totals[:, None] + log_probs
        totals, places = candidates.flatten().topk(min(beam, candidates.numel()))
        rows, words = places // log_probs.shape[1], places % log_probs.shape[1]
        prefixes = torch.cat([prefixes[rows], words[:, None]], dim=1)
        ended = (words == end) | (length == max_length)
        for prefix, total in zip(prefixes[ended].tolist(), totals[ended].tolist()):
            score = total / length**length_penalty
            if score > best_score:
                best_tokens, best_score = prefix[1:], score
        prefixes, totals = prefixes[~ended], totals[~ended]
        if len(prefixes) == 0:
            break
    return best_tokens, best_score
    ### END SOLUTION


# %% nbgrader={"grade_id": "beam-search-check", "grade": true}
result = check("beam-search")
### BEGIN HIDDEN TESTS
from autograder import hidden_check

result = hidden_check("beam-search")
result.points
### END HIDDEN TESTS

# %% [markdown]
# The check compares your search with one that tries *every* sequence, on vocabularies small enough for that.
# In the tiny language, your search finds:

# %%
if ready("beam-search"):
    for beam in (1, 2):
        tokens, log_probability = beam_search(tiny_step, start=0, end=1, beam=beam, max_length=4)
        found = " ".join(tiny_words[n] for n in tokens)
        print(f"beam {beam}: {found:<16} {math.exp(log_probability):.3f}")

# %% [markdown]
# Now with your model. `prefix_scorer` makes the `step` function for a source sentence. The tree shows the
# prefixes that your search kept, and the best of those it dropped. Step through it with the buttons.

# %%
from course_utils.translation import BeamTrace
from course_utils.data import END, START
from course_utils.widgets import beam_tree

if ready("single-query-attention", "beam-search"):
    example = data.test[gallery[0]]
    trace = BeamTrace(prefix_scorer(model, data, example.source))
    tokens, _ = beam_search(trace, START, END, beam=3, max_length=30, length_penalty=1.0)
    print(corpus.test.source[gallery[0]])
    print(" ".join(data.target_vocabulary.decode(tokens)))
    display(beam_tree(trace.tree(data.target_vocabulary.words, END, beam=3)))

# %% [markdown]
# ### BLEU with a beam (one to two minutes in the quick budget)
#
# We translate part of the test set with your search, or all of it in the full budget:

# %%
count = {"smoke": 10, "quick": 200, "full": len(data.test)}[budget]
beams = {"smoke": [1, 3], "quick": [1, 5], "full": [1, 5, 10, 20, 50]}[budget]

if ready("single-query-attention", "beam-search"):
    part = replace(
        data, corpus=replace(corpus, test=corpus.test.first(count)), test=data.test[:count]
    )
    for beam in beams:
        answers = []
        for example in part.test:
            step = prefix_scorer(model, data, example.source)
            limit = 2 * len(example.source) + 10
            tokens, _ = beam_search(step, START, END, beam, limit, length_penalty=1.0)
            answers.append(data.target_vocabulary.decode(tokens))
        reached = bleu(answers, part)
        print(f"beam {beam:>2}: BLEU {reached.tokens:.2f} on {count} sentences")

# %% [markdown]
# Our own figures are for all 1,000 test sentences of Multi30k, with the model of the quick budget. A
# `length_penalty` of 1 gives the mean per word, and 0 the plain sum. The plain sum prefers short sentences,
# which BLEU's brevity penalty punishes:

# %%
from course_utils.translation import BEAM_RESULTS, BeamResult

rows = [row for row in read_results(BEAM_RESULTS, BeamResult) if row.budget == "quick"]
print("beam  length_penalty  BLEU")
for row in rows:
    print(f"{row.beam:>4}  {row.length_penalty:>14}  {row.bleu_tokens:.2f}")

# %% [markdown]
# ## 7 Another decoder: attention before the step
#
# A well-known demo, which the lecture @[attention-lecture] explains, translates French to English with a
# different decoder. It differs from yours in three ways:
# - The scores come from a **linear layer** on the decoder's state and input, one score for each of a fixed
#   number of positions. It never compares them with the encoder's states: in terms of $A(q, K, V)$, the keys
#   are parameters.
# - Context and input go through a **ReLU** layer.
# - It attends **before** the recurrent step. The context changes the next state, so the steps have to be
#   computed one by one.

# %%
slides_diagram()

# %% [markdown]
# Training step by step is slow, so this model only gets short sentences (**about a minute** in the quick
# budget). It translates **French** if you have the French captions. Otherwise, and in the smoke budget, it gets
# the built-in corpus, which is **German** again. The cell prints which of the two you have.

# %%
from course_utils.translation import (
    SlidesTranslator,
    short_enough,
    slides_greedy,
    slides_loss,
)
from course_utils.training import Recipe

longest = 12
slides_data = encode(load_corpus("fr", builtin_only=budget == "smoke"))
short = short_enough(slides_data, longest)
slides_recipe = {
    "smoke": Recipe(epochs=1, lr=5e-3, batch_size=64, rising_steps=5, examples=600),
    "quick": Recipe(epochs=3, lr=3e-3, batch_size=64, examples=6000, rising_steps=50),
    "full": Recipe(epochs=10, lr=2e-3, batch_size=64),
}[budget]
seed_everything(0)
slides_model = SlidesTranslator(
    len(slides_data.source_vocabulary),
    len(slides_data.target_vocabulary),
    longest,
    size=64 if budget == "smoke" else 256,
)
slides_history = train_translator(slides_model, short, slides_recipe, loss_of=slides_loss)

# %%
short_test = [example for example in slides_data.test if len(example.source) <= longest][:200]
slides_answers = translate(
    slides_model, slides_data, [example.source for example in short_test], slides_greedy
)
for example, answer in list(zip(short_test, slides_answers))[:3]:
    print(slides_data.corpus.test.source[example.place])
    print("   translation", " ".join(answer.words))
    print("   reference  ", slides_data.corpus.test.target[example.place].lower(), "\n")

whole_test = slides_data.corpus.test
places = [example.place for example in short_test]
short_pairs = replace(
    whole_test,
    source=[whole_test.source[place] for place in places],
    target=[whole_test.target[place] for place in places],
    alignments=None,
)
short_corpus = replace(slides_data, corpus=replace(slides_data.corpus, test=short_pairs))
reached = bleu([answer.words for answer in slides_answers], short_corpus)
name, *_ = str(slides_data.corpus).split(":")
print(f"{name}: BLEU {reached.tokens:.2f} on {len(places)} sentences of at most {longest} words")
if budget == "smoke":
    print("The smoke budget hardly trains this model, so its figure means little.")

# %% [markdown]
# This is only a small model after a short training, and the sentences are short and few, so don't compare its
# BLEU with that of your model. Compare its diagram of the first sentence with the ones above: where it looks
# depends on its state and on the last word, but never on what it finds there.

# %%
example, answer = short_test[0], slides_answers[0]
written = [*answer.words, "</s>"][: len(answer.weights)]
draw_attention(tokenise(slides_data.corpus.test.source[example.place]), written, answer.weights)

# %% [markdown]
# ### Try it: shuffle what it looks at
#
# Put the encoder's states in another order, change nothing else, and take one step. What happens to the weights
# of this decoder, and what happens to those of *your* attention? Guess both, then run the cell below.

# %%
from course_utils.widgets import predict

STAY, MOVE = "they stay where they are", "they move with the states"
guess = predict("04 shuffled states", "Shuffled states: what do its weights do?", [STAY, MOVE])
guess

# %%
from course_utils.data import START

device = next(slides_model.parameters()).device
order = torch.randperm(longest)
with torch.no_grad():
    source = torch.tensor(example.source, device=device)[:, None]
    states, hidden = slides_model.eval().encode(source)
    first = torch.tensor([START], device=device)
    *_, before = slides_model.step(first, hidden, states)
    *_, after = slides_model.step(first, hidden, states[order])
display(guess.reveal(STAY if torch.allclose(before, after) else MOVE))

if ready("single-query-attention"):
    attention = SingleQueryScaledDotProductAttention(8, 8, 16)
    query, states = torch.randn(1, 8), torch.randn(longest, 1, 16)
    with torch.no_grad():
        _, alpha = attention(query, states)
        _, moved = attention(query, states[order])
    print("your attention:", MOVE if torch.allclose(alpha[:, order], moved, atol=1e-6) else STAY)

# %% [markdown]
# Yours follows a state wherever it goes, because its key goes with it. This decoder has learned *positions*: it
# looks where it would have looked anyway, whatever is there now.

# %% [markdown]
# ## Summary
#
# - One projected query, one key and one value per source word, scores divided by $\sqrt n$, and a softmax.
# - Attention beats a mean, and a mean beats one vector: each step gets what it needs.
# - A diagram shows where a model looks. Each column is a position that holds more than its word.
# - Three runs support a claim about means, not about variances. Compare within one set-up.
# - A beam looks ahead. The plain sum prefers short sentences, so divide it by a power of the length.
