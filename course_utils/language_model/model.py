"""Translation with one stack: source and target joined, and every word predicted from those before.

The layers are PyTorch's own. What makes a decoder-only model of them is the mask alone.
"""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.data.batches import Batch, Example, length_batches
from course_utils.data.corpus import Encoded
from course_utils.data.tokens import END, PAD, START
from course_utils.training.history import History
from course_utils.training.loop import fit


@dataclass(frozen=True)
class Sizes:
    """How large a language model is."""

    d_model: int = 128
    num_heads: int = 4
    num_layers: int = 3
    d_ff: int = 256
    dropout: float = 0.1
    max_length: int = 320


class LanguageModel(nn.Module):
    """Joined words in, scores for the next target word out.

    A source word keeps its number; a target word's number is moved up by the size of the source
    vocabulary. So one table of embeddings serves both languages.
    """

    def __init__(self, source_words: int, target_words: int, sizes: Sizes | None = None):
        super().__init__()
        self.sizes = sizes = sizes or Sizes()
        if sizes.d_model % sizes.num_heads:
            raise ValueError(
                f"{sizes.num_heads} heads do not divide d_model = {sizes.d_model}: "
                "choose sizes without a remainder."
            )
        self.source_words, self.target_words = source_words, target_words
        self.words = nn.Embedding(source_words + target_words, sizes.d_model)
        self.positions = nn.Embedding(sizes.max_length, sizes.d_model)
        for table in (self.words, self.positions):
            nn.init.normal_(table.weight, std=sizes.d_model**-0.5)
        self.dropout = nn.Dropout(sizes.dropout)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                sizes.d_model,
                sizes.num_heads,
                sizes.d_ff,
                sizes.dropout,
                activation="gelu",
                batch_first=True,
                norm_first=True,
            )
            for _ in range(sizes.num_layers)
        )
        self.norm = nn.LayerNorm(sizes.d_model)
        self.output = nn.Linear(sizes.d_model, target_words)

    def join(self, source: Tensor, target: Tensor) -> Tensor:
        """source [B, S], target [B, T] -> the joined words [B, S + T]."""
        return torch.cat([source, target + self.source_words], dim=1)

    def embed(self, joined: Tensor, first: int = 0) -> Tensor:
        """Words plus positions, which count from `first`."""
        end = first + joined.shape[1]
        if end > self.sizes.max_length:
            raise ValueError(
                f"The model has {self.sizes.max_length} positions, and the sequence needs {end}: "
                "make it shorter, or build the model with a larger max_length."
            )
        places = torch.arange(first, end, device=joined.device)
        return self.dropout(self.words(joined) + self.positions(places))

    def forward(self, joined: Tensor, prefix: int = 0, from_position: int = 0) -> Tensor:
        """joined [B, L] -> scores of the next target word [B, L - from_position, V].

        The first `prefix` words see each other in both directions; all else is causal.
        """
        mask = joined_mask(joined.shape[1], prefix).to(joined.device)
        x = self.embed(joined)
        for layer in self.layers:
            x = layer(x, src_mask=mask)
        return self.output(self.norm(x[:, from_position:]))

    def step(self, joined: Tensor, first: int) -> Tensor:
        """Scores after the new words `joined` [B, T] at positions from `first` on, without a mask.

        Only for a model whose attention keeps what it has seen, see `with_cache`.
        """
        x = self.embed(joined, first)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x[:, -1]))


def joined_mask(length: int, prefix: int = 0) -> Tensor:
    """What is added to the scores [L, L]: 0 where a position may look, minus infinity elsewhere."""
    if not 0 <= prefix <= length:
        raise ValueError(f"A prefix of {prefix} does not fit into a sequence of {length} words.")
    mask = nn.Transformer.generate_square_subsequent_mask(length)
    mask[:prefix, :prefix] = 0
    return mask


# --- training ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """How to train: epochs, learning rate (it rises, then falls to nothing), batch size."""

    epochs: int
    lr: float = 2e-3
    batch_size: int = 64
    rising_steps: int = 100
    examples: int | None = None
    sizes: Sizes = Sizes()


RECIPES = {
    "smoke": Recipe(
        epochs=1, batch_size=32, rising_steps=10, examples=800, sizes=Sizes(64, 4, 2, 128, 0.0)
    ),
    "quick": Recipe(epochs=10, batch_size=32),
    "full": Recipe(epochs=16, sizes=Sizes(192, 6, 4, 512)),
}


def target_loss(two_way: bool) -> Callable[[LanguageModel, Batch], tuple[Tensor, int]]:
    """The loss of the target's words; with `two_way` the source sees itself in both directions."""

    def loss(model: LanguageModel, batch: Batch) -> tuple[Tensor, int]:
        source, given, wanted = batch.source.T, batch.given.T, batch.wanted.T
        S = source.shape[1]
        scores = model(model.join(source, given), S if two_way else 0, from_position=S)
        real = wanted != PAD
        return F.cross_entropy(scores[real], wanted[real]), int(real.sum())

    return loss


@torch.no_grad()
def measure(model: LanguageModel, examples: Sequence[Example], two_way: bool) -> dict[str, float]:
    """Loss a word, and the share of words that are predicted right, given those before."""
    model.eval()
    device = next(model.parameters()).device
    total = right = words = 0.0
    for batch in length_batches(examples, 128):
        source, given, wanted = (part.T.to(device) for part in batch[:3])
        S = source.shape[1]
        scores = model(model.join(source, given), S if two_way else 0, from_position=S)
        real = wanted != PAD
        total += float(F.cross_entropy(scores[real], wanted[real], reduction="sum"))
        right += float((scores[real].argmax(-1) == wanted[real]).sum())
        words += float(real.sum())
    return {"loss": total / words, "accuracy": right / words}


def train_language_model(
    data: Encoded, recipe: Recipe, *, two_way: bool, seed: int = 0, **how
) -> tuple[LanguageModel, History]:
    """A new model, trained; `how` goes to `fit`: `checkpoint`, `max_seconds`, `show` and so on."""
    torch.manual_seed(seed)
    model = LanguageModel(len(data.source_vocabulary), len(data.target_vocabulary), recipe.sizes)
    examples = data.train[: recipe.examples]
    steps = recipe.epochs * len(length_batches(examples, recipe.batch_size))

    def schedule(step: int) -> float:
        rising = step / recipe.rising_steps
        falling = (steps - step) / max(1, steps - recipe.rising_steps)
        return max(0.01, min(rising, falling))

    history = fit(
        model,
        lambda epoch: length_batches(examples, recipe.batch_size, seed=1000 * seed + epoch),
        target_loss(two_way),
        epochs=recipe.epochs,
        lr=recipe.lr,
        schedule=schedule,
        validate=lambda model: measure(model, data.valid, two_way),
        seed=seed,
        **how,
    )
    return model, history


# --- writing -------------------------------------------------------------------------------


@torch.no_grad()
def translate(
    model: LanguageModel, data: Encoded, examples: Sequence[Example], two_way: bool
) -> list[list[str]]:
    """Greedy translations, in the order of the examples; sentences of one length together."""
    model.eval()
    device = next(model.parameters()).device
    answers: dict[int, list[str]] = {}
    for batch in length_batches(examples, 256):
        source = batch.source.T.to(device)
        B, S = source.shape
        joined = model.join(source, torch.full((B, 1), START, device=device))
        ended = torch.zeros(B, dtype=torch.bool, device=device)
        for _ in range(2 * S + 10):
            last = joined.shape[1] - 1
            scores = model(joined, S if two_way else 0, from_position=last)[:, 0]
            word = scores.argmax(-1)
            joined = torch.cat([joined, word[:, None] + model.source_words], dim=1)
            ended |= word == END
            if ended.all():
                break
        written = (joined[:, S + 1 :] - model.source_words).tolist()
        for place, numbers in zip(batch.places, written):
            answers[place] = data.target_vocabulary.decode(numbers)
    return [answers[example.place] for example in examples]


# --- a student's attention in the place of PyTorch's ----------------------------------------


class InPlace(nn.Module):
    """Stands where a layer expects nn.MultiheadAttention, and asks another attention."""

    batch_first = False  # tells the layer not to take the short cut that goes past `forward`

    def __init__(self, attend: Callable[[Tensor], Tensor]):
        super().__init__()
        self.attend = attend

    def forward(self, query: Tensor, key: Tensor, value: Tensor, **others):
        return self.attend(query), None


@contextlib.contextmanager
def with_cache(model: LanguageModel, attention: type[nn.Module]) -> Iterator[list[nn.Module]]:
    """Inside the block the model uses `attention(d_model, num_heads)`, with its own weights.

    Gives the new modules, so that they can be reset.
    """
    before = [layer.self_attn for layer in model.layers]
    modules = []
    for layer in model.layers:
        module = attention(model.sizes.d_model, model.sizes.num_heads)
        copy_weights(layer.self_attn, module)
        modules.append(module.to(next(model.parameters()).device).eval())
        layer.self_attn = InPlace(module)
    try:
        yield modules
    finally:
        for layer, attention_before in zip(model.layers, before):
            layer.self_attn = attention_before


def copy_weights(source: nn.MultiheadAttention, target: nn.Module) -> None:
    """Give a module with W_Q, W_K, W_V and W_O the weights of PyTorch's own."""
    matrices, biases = source.in_proj_weight.chunk(3), source.in_proj_bias.chunk(3)
    with torch.no_grad():
        for name, matrix, bias in zip(("W_Q", "W_K", "W_V"), matrices, biases):
            getattr(target, name).weight.copy_(matrix)
            getattr(target, name).bias.copy_(bias)
        target.W_O.weight.copy_(source.out_proj.weight)
        target.W_O.bias.copy_(source.out_proj.bias)


# --- one word after the other ---------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    """The words that were chosen, and how long each step took."""

    words: list[int]
    seconds: list[float]


def most_probable(scores: Tensor) -> int:
    return int(scores.argmax())


@torch.no_grad()
def write(
    model: LanguageModel,
    joined: Tensor,
    count: int,
    choose: Callable[[Tensor], int] = most_probable,
    attention: type[nn.Module] | None = None,
    end: int | None = None,
) -> Written:
    """Go on from joined [1, L] by up to `count` words, causally; stop after the word `end`.

    Without `attention` each step runs the model over everything. With it, a class such as
    CachedSelfAttention, each step runs the model over the newest word alone.
    """
    model.eval()
    words: list[int] = []
    seconds: list[float] = []
    block = contextlib.nullcontext() if attention is None else with_cache(model, attention)
    with block:
        new = joined
        while len(words) < count and (not words or words[-1] != end):
            started = time.perf_counter()
            if attention is None:
                scores = model(joined, from_position=joined.shape[1] - 1)[0, 0]
            else:
                scores = model.step(new, joined.shape[1] - new.shape[1])[0]
            words.append(choose(scores))
            new = torch.tensor([[words[-1] + model.source_words]])
            joined = torch.cat([joined, new], dim=1)
            seconds.append(time.perf_counter() - started)
    return Written(words, seconds)


# --- changing attention at test time --------------------------------------------------------


class _Changed(nn.Module):
    """PyTorch's attention, but the rows from `first_row` on come from changed queries or keys."""

    batch_first = False  # tells the layer not to take the short cut that goes past `forward`

    def __init__(self, attention: nn.MultiheadAttention, first_row: int, change: str, head, seed):
        super().__init__()
        self.attention, self.first_row, self.change = attention, first_row, change
        self.other = copy.deepcopy(attention)
        self.order = torch.randperm(first_row, generator=torch.Generator().manual_seed(seed))
        if change == "uniform":
            size = attention.embed_dim // attention.num_heads
            rows = slice(None, attention.embed_dim)
            if head is not None:
                rows = slice(head * size, (head + 1) * size)
            with torch.no_grad():  # no query, no preference: all scores become 0
                self.other.in_proj_weight[rows] = 0
                self.other.in_proj_bias[rows] = 0

    def forward(self, query: Tensor, key: Tensor, value: Tensor, attn_mask=None, **others):
        usual, _ = self.attention(query, key, value, attn_mask=attn_mask, need_weights=False)
        if self.change == "shuffled":
            key = torch.cat([key[:, self.order], key[:, self.first_row :]], dim=1)
        changed, _ = self.other(query, key, value, attn_mask=attn_mask, need_weights=False)
        return torch.cat([usual[:, : self.first_row], changed[:, self.first_row :]], dim=1), None


@contextlib.contextmanager
def changed_attention(
    model: LanguageModel,
    source_length: int,
    change: str,
    layer: int | None = None,
    head: int | None = None,
    seed: int = 0,
) -> Iterator[None]:
    """Inside the block the target's words attend in another way; the source's words do not.

    "uniform"   the queries are zero, so all scores are alike
    "shuffled"  each source word's weight goes to another source word: the keys change places,
                the values stay (all heads of a layer together)
    `layer` and `head` name the place; None means all of them.
    """
    if change not in ("uniform", "shuffled") or (change == "shuffled" and head is not None):
        raise ValueError('The change is "uniform", or "shuffled" for all heads of a layer.')
    before = [one.self_attn for one in model.layers]
    for number, one in enumerate(model.layers):
        if layer in (None, number):
            one.self_attn = _Changed(one.self_attn, source_length, change, head, seed)
    try:
        yield
    finally:
        for one, attention in zip(model.layers, before):
            one.self_attn = attention


@torch.no_grad()
def changed_accuracy(
    model: LanguageModel, examples: Sequence[Example], two_way: bool, change: str = "", **where
) -> float:
    """The share of target words predicted right, given those before, with changed attention."""
    model.eval()
    right = words = 0
    for batch in length_batches(examples, 128):
        source, given, wanted = (part.T for part in batch[:3])
        S = source.shape[1]
        block = changed_attention(model, S, change, **where) if change else contextlib.nullcontext()
        with block:
            scores = model(model.join(source, given), S if two_way else 0, from_position=S)
        real = wanted != PAD
        right += int((scores[real].argmax(-1) == wanted[real]).sum())
        words += int(real.sum())
    return right / words


@torch.no_grad()
def attention_maps(model: LanguageModel, joined: Tensor, prefix: int = 0) -> Tensor:
    """The weights of every layer and head: [layers, B, heads, L, L]."""
    model.eval()
    mask = joined_mask(joined.shape[1], prefix)
    x, found = model.embed(joined), []
    for layer in model.layers:
        normed = layer.norm1(x)
        _, weights = layer.self_attn(
            normed, normed, normed, attn_mask=mask, average_attn_weights=False
        )
        found.append(weights)
        x = layer(x, src_mask=mask)
    return torch.stack(found)


# --- pictures, each with its words ----------------------------------------------------------


def draw_steps(without: Written, cached: Written):
    """What each step of writing cost, without and with a cache: a figure, and it in words."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    for written, mark, colour, label in (
        (without, ".", "#b4571a", "without cache"),
        (cached, "x", "#1f4e8c", "with cache"),
    ):
        axes.plot([1e3 * s for s in written.seconds], mark, ms=3, color=colour, label=label)
    # The slowest few steps are other work of the machine; they would press the rest down.
    usual = sorted(without.seconds)[int(0.98 * len(without.seconds))]
    axes.set(xlabel="words written so far", ylabel="milliseconds for the next")
    axes.set_ylim(0, 1.2e3 * usual)
    axes.legend(frameon=False, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    plt.close(figure)
    quarter = max(1, len(without.seconds) // 4)

    def typical(written: Written) -> str:
        ends = (written.seconds[:quarter], written.seconds[-quarter:])
        return " and ".join(f"{1e3 * sorted(part)[len(part) // 2]:.1f}" for part in ends)

    return figure, (
        f"Milliseconds for a word, typical of the first {quarter} and of the last {quarter} words. "
        f"Without cache: {typical(without)}. With cache: {typical(cached)}."
    )


def draw_heads(table: Sequence[tuple[str, float, float]]):
    """Heads as (name, sharpness, share of words lost without it): a figure, and it in words."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for name, sharp, lost in table:
        place = (sharp, 100 * lost)
        axes.plot(*place, "o", color="#1f4e8c")
        axes.annotate(name, place, xytext=(4, 4), textcoords="offset points", fontsize=8)
    axes.axhline(0, color="grey", lw=0.6)
    axes.set(
        xlabel="sharpness: mean largest weight on the source",
        ylabel="next words lost, in points",
    )
    axes.spines[["top", "right"]].set_visible(False)
    plt.close(figure)
    return figure, "Layer.head, its sharpness, points lost without its map. " + " ".join(
        f"{name}: {sharp:.2f}, {100 * lost:.1f}." for name, sharp, lost in table
    )
