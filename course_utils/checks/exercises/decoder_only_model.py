"""DecoderOnly: tokens and positions, causal layers, a final norm, the embedding as readout."""

import numpy as np

from course_utils.checks.judge import (
    Check,
    Evidence,
    Misconception,
    Property,
    Wrong,
    differ,
    same,
)
from course_utils.checks.layer_checks import fits_everywhere, keeps_nothing, refused
from course_utils.checks.layer_parameters import layer, norm
from course_utils.checks.wire import Ask

SIZES = {  # label: B, T, vocab_size, D, num_heads, layers, d_ff, first
    "main": (3, 5, 11, 6, 2, 2, 7, 0),
    "goes on": (2, 3, 11, 6, 3, 2, 7, 4),
    "to the end": (2, 9, 7, 4, 2, 3, 5, 0),  # as long as there are positions
    "single": (1, 1, 6, 4, 1, 1, 3, 0),
}
MAX_LENGTH = 9
CHANGED_FROM = 2  # where the texts of "main" and "later tokens" part
EQUAL, CAUSAL, GOES_ON = (
    "the logits are those of the equations",
    "no logit depends on later tokens",
    "positions continue from `first`",
)


def parameters(rng, vocab_size: int, D: int, layers: int, d_ff: int) -> dict:
    drawn = {
        "tokens.weight": rng.standard_normal((vocab_size, D)),
        "positions.weight": rng.standard_normal((MAX_LENGTH, D)),
    }
    for number in range(layers):
        drawn |= layer(rng, D, d_ff, f"layers.{number}.")
        drawn[f"layers.{number}.feed_forward.2.weight"] *= 3  # so that the kind of GELU shows
    return drawn | norm(rng, "norm", D)


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = []
    for label, (B, T, vocab_size, D, num_heads, layers, d_ff, first) in SIZES.items():
        tokens = rng.integers(0, vocab_size, (B, T))
        options = {
            "target": "DecoderOnly",
            "init": [vocab_size, D, num_heads, layers, d_ff, MAX_LENGTH],
            "args": [tokens, first] if first else [tokens],
            "fill": {"named": parameters(rng, vocab_size, D, layers, d_ff)},
        }
        questions.append(Ask(label, "call", options))
        if label == "main":
            options["other"] = [tokens[:-1, :-1]]
            others = 1 + rng.integers(0, vocab_size - 1, (B, T - CHANGED_FROM))
            later = tokens.copy()
            later[:, CHANGED_FROM:] = (later[:, CHANGED_FROM:] + others) % vocab_size
            plain = {k: v for k, v in options.items() if k != "other"}
            questions.append(Ask("later tokens", "call", plain | {"args": [later]}))
    init = [11, 6, 2, 1, 7, MAX_LENGTH]
    common = {"target": "DecoderOnly", "init": init}
    long, short = rng.integers(0, 11, (2, MAX_LENGTH + 2)), rng.integers(0, 11, (2, 3))
    return [
        *questions,
        Ask("bad length", "call", common | {"args": [long]}),
        Ask("bad first", "call", common | {"args": [short, MAX_LENGTH - 2]}),
    ]


def read(e: Evidence, label: str) -> list[np.ndarray]:
    B, T, vocab_size, *_ = SIZES["main" if label == "later tokens" else label]
    return e.outputs(label, (B, T, vocab_size))


def logits_match(*labels: str):
    def holds(e: Evidence) -> None:
        for label in labels:
            same(
                e.expected(label)["right/0"],
                read(e, label)[0],
                e.tolerance(label),
                "The logits are wrong.",
                "Go through it step by step: embedding plus positions, each layer in turn (norm, "
                "attention, add; norm, feed-forward, add), the final norm, the embedding matrix "
                "transposed.",
                ("position", "token"),
            )

    return holds


def causal(e: Evidence) -> None:
    one, other = read(e, "main")[0], read(e, "later tokens")[0]
    if differ(one[:, :CHANGED_FROM], other[:, :CHANGED_FROM], e.tolerance("main")):
        raise Wrong(
            "The logits at the first two positions change when later tokens change.",
            "The attention of every layer needs a mask that is True where s <= t.",
            one[0, :CHANGED_FROM],
            other[0, :CHANGED_FROM],
            ("position", "token"),
        )
    if not differ(one[:, -1], other[:, -1], 1e-6):
        raise Wrong("The logits do not depend on the tokens at all.")


def goes_on(e: Evidence) -> None:
    same(
        e.expected("goes on")["right/0"],
        read(e, "goes on")[0],
        e.tolerance("goes on"),
        "With first=4 the logits are wrong. The tokens are at positions 4, 5 and 6.",
        "The positions are first, first + 1, ..., first + T - 1.",
        ("position", "token"),
    )


def too_long_refused(e: Evidence) -> None:
    refused(e, "bad length", f"A text of 11 tokens for {MAX_LENGTH} positions", (11, MAX_LENGTH))
    refused(
        e, "bad first", f"3 tokens from position 7 on, for {MAX_LENGTH} positions", (10, MAX_LENGTH)
    )


def small_and_repeated(e: Evidence) -> None:
    logits_match("single")(e)
    B, T, vocab_size, *_ = SIZES["main"]
    keeps_nothing(e, "main", [(B, T, vocab_size)])
    for label in SIZES:
        read(e, label)
        arrays = e.reply(label).arrays
        same(
            arrays["out0"],
            arrays["again0"],
            e.tolerance(label),
            "Two calls on the same tokens give different logits.",
            "There is no dropout here, and forward must not create new parameters.",
        )
        if differ(e.args(label)[0], arrays["after0"], 0.0):
            raise Wrong("Your model changes the tokens that it is given.")


def readout_not_tied(e: Evidence) -> bool:
    """The logits are a linear map of the last norm's output, and the map is not the embedding."""
    final = e.expected("main")["final"].reshape(-1, SIZES["main"][3])
    logits = read(e, "main")[0].reshape(len(final), -1)
    # A bias needs no column: what comes out of a norm lies in a plane that misses the origin.
    found, *_ = np.linalg.lstsq(final, logits, rcond=None)
    if differ(logits, final @ found, 1e-6):
        return False
    embedding = e.options("main")["fill"]["named"]["tokens.weight"].T
    scale = float((found * embedding).sum() / (embedding**2).sum())
    return differ(scale * embedding, found, 1e-3)


TELL = {
    "no-causal-mask": (
        "There is no causal mask: each position sees the token it should predict.",
        "Every layer's attention needs a [T, T] mask that is True on and below the diagonal.",
    ),
    "causal-mask-one-ahead": (
        "The causal mask lets each position see one token ahead: the one it should predict.",
        "Position t may see s <= t.",
    ),
    "no-positions": (
        "The positions are missing.",
        "Add the rows of self.positions to the embeddings.",
    ),
    "first-ignored": (
        "`first` has no effect: the positions always start at 0.",
        "The positions are first, ..., first + T - 1.",
    ),
    "embeddings-scaled": (
        "The embeddings are multiplied by sqrt(d_model), as in notebook 06. GPT-2 doesn't do this.",
        "Add embedding and positions as they are.",
    ),
    "norms-after": (
        "The norms come after the sum (post-norm). In this model they come before each sublayer.",
        "x = x + attention(norm1(x)), then x = x + feed_forward(norm2(x)).",
    ),
    "residual-from-the-norm": (
        "You add to the normalised x, not to x itself.",
        "The attention reads norm1(x), but its output is added to x itself.",
    ),
    "no-layer-norms": (
        "norm1 and norm2 are not used.",
        "x = x + attention(norm1(x)), then x = x + feed_forward(norm2(x)).",
    ),
    "no-residuals": (
        "Both residual connections are missing.",
        "Each layer adds to x twice.",
    ),
    "no-feed-forward": (
        "The feed-forward part of the layers is missing.",
        "After the attention: x = x + feed_forward(norm2(x)).",
    ),
    "relu": (
        "The feed-forward network has a ReLU. GPT-2 uses the tanh form of GELU.",
        'Keep nn.GELU(approximate="tanh"), as given.',
    ),
    "exact-gelu": (
        "This is the exact GELU. GPT-2 uses its tanh form, which differs slightly.",
        'Keep nn.GELU(approximate="tanh"), as given.',
    ),
    "one-layer-only": (
        "Only the first layer is used.",
        "Run through all layers; each reads the output of the one before.",
    ),
    "layers-not-chained": (
        "Every layer reads the embeddings, so only the last one counts.",
        "Each layer should read the output of the one before.",
    ),
    "no-final-norm": (
        "The final norm is missing.",
        "self.norm comes after the last layer, before the readout.",
    ),
    "probabilities": (
        "You return probabilities, but the loss needs the logits before the softmax.",
        "Return the product with the embedding matrix as it is.",
    ),
    "last-position-only": (
        "You return only the logits of the last position.",
        "Every position predicts its next token: [B, T, vocab_size].",
    ),
}

exercise = Check(
    id="decoder-only-model",
    asks=asks,
    properties=(
        Property(EQUAL, 2.5, logits_match("main", "to the end")),
        Property(CAUSAL, 1, causal),
        Property(GOES_ON, 1, goes_on),
        Property(
            "a text longer than the positions is refused, with both numbers",
            0.5,
            too_long_refused,
            needs=(EQUAL,),
        ),
        Property(
            "one token works, two calls agree, the tokens are unchanged",
            1,
            small_and_repeated,
            needs=(CAUSAL,),
        ),
    ),
    misconceptions=(
        *(Misconception(name, *words) for name, words in TELL.items()),
        Misconception(
            "readout-not-tied",
            "The readout has its own matrix. It should use the embedding matrix once more.",
            "Each logit is the dot product of x and a token's embedding, without new parameters.",
            readout_not_tied,
        ),
    ),
    choices=(
        ("no-causal-mask", "causal-mask-one-ahead"),
        ("no-positions", "first-ignored"),
        ("embeddings-scaled",),
        ("norms-after", "residual-from-the-norm", "no-layer-norms", "no-residuals"),
        ("no-feed-forward", "relu", "exact-gelu"),
        ("one-layer-only", "layers-not-chained"),
        ("no-final-norm",),
        ("probabilities", "last-position-only"),
    ),
    fits=fits_everywhere(tolerance=1e-5),  # the two kinds of GELU differ by little
)
