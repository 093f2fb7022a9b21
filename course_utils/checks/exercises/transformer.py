"""Transformer: words and positions, N encoder layers, N decoder layers, a logit for each word."""

from typing import Any

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
from course_utils.checks.layer_checks import (
    dropout_in_evaluation,
    evaluation_is_still,
    fits_everywhere,
    keeps_nothing,
    refused,
)
from course_utils.checks.layer_parameters import layer, matrix, norm
from course_utils.checks.wire import Ask

SIZES = {  # label: B, S, T, D, num_heads, layers, d_ff, source_size, target_size, norm_first
    "main": (2, 5, 4, 6, 2, 2, 7, 11, 9, False),
    "before": (2, 4, 6, 6, 3, 2, 5, 8, 10, True),
    "padded": (3, 8, 4, 6, 2, 2, 7, 11, 9, False),  # as long as there are positions
    "single": (1, 1, 1, 4, 2, 1, 3, 5, 6, False),
    "dropped": (2, 5, 4, 6, 2, 1, 7, 11, 9, False),
    "evaluated": (2, 5, 4, 6, 2, 1, 7, 11, 9, False),
}
MAX_LENGTH, DEFAULT_LENGTH = 8, 128
EQUAL, CAUSAL, PADDING = (
    "the logits are those of the equations",
    "no logit depends on later target words",
    "padding in the source changes nothing",
)


def parameters(rng, D, layers, d_ff, source_size, target_size, places=MAX_LENGTH) -> dict:
    drawn = {}
    for side, size in (("source", source_size), ("target", target_size)):
        drawn[f"{side}_embedding.weight"] = 0.5 * rng.standard_normal((size, D))
        drawn[f"{side}_positions.weight"] = rng.standard_normal((places, D))
    for number in range(layers):
        drawn |= layer(rng, D, d_ff, f"encoder_layers.{number}.")
        drawn |= layer(rng, D, d_ff, f"decoder_layers.{number}.", decoder=True)
    drawn |= norm(rng, "encoder_norm", D) | norm(rng, "decoder_norm", D)
    return drawn | matrix(rng, "readout", target_size, D)


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = []
    for label, (B, S, T, D, heads, layers, d_ff, sources, targets, norm_first) in SIZES.items():
        args: list[np.ndarray] = [
            rng.integers(0, sources, (B, S)),
            rng.integers(0, targets, (B, T)),
        ]
        options: dict[str, Any] = {
            "target": "Transformer",
            "init": [
                *(D, heads, layers, d_ff, sources, targets, norm_first),
                {"dropped": 1.0, "evaluated": 0.5}.get(label, 0.0),
                MAX_LENGTH,
            ],
            "args": args,
            "fill": {"named": parameters(rng, D, layers, d_ff, sources, targets)},
        }
        if label == "evaluated":
            options["eval"] = True
        if label == "single":  # what is not given has its default
            options["init"] = options["init"][:6]
            options["fill"] = {
                "named": parameters(rng, D, layers, d_ff, sources, targets, DEFAULT_LENGTH)
            }
        if label == "padded":
            lengths = np.array([S, S - 1, S - 3])
            args.append(np.arange(S)[None, :] < lengths[:, None])
        questions.append(Ask(label, "call", options))
        if label == "main":
            other = [a[:-1, :-1] for a in args]
            questions[-1] = Ask(label, "call", options | {"other": other})
            later = args[1].copy()
            later[:, 2:] = (later[:, 2:] + 1 + rng.integers(0, targets - 1, (B, T - 2))) % targets
            questions.append(Ask("later words", "call", options | {"args": [args[0], later]}))
        if label == "padded":
            hidden = np.where(args[2], args[0], (args[0] + 3) % sources)
            changed = options | {"args": [hidden, args[1], args[2]]}
            questions.append(Ask("other padding", "call", changed))
    long_source = rng.integers(0, 11, (2, MAX_LENGTH + 1))
    target = rng.integers(0, 9, (2, 4))
    init = [6, 2, 1, 7, 11, 9, False, 0.0, MAX_LENGTH]
    common = {"target": "Transformer", "init": init}
    return [
        *questions,
        Ask("bad source", "call", common | {"args": [long_source, target]}),
        Ask(
            "bad target",
            "call",
            common | {"args": [target, np.tile(target, 3)[:, : MAX_LENGTH + 1]]},
        ),
    ]


def read(e: Evidence, label: str) -> list[np.ndarray]:
    size = {"later words": "main", "other padding": "padded"}.get(label, label)
    B, _, T, *_, targets, _ = SIZES[size]
    return e.outputs(label, (B, T, targets))


def scores_match(*labels: str):
    def holds(e: Evidence) -> None:
        for label in labels:
            same(
                e.expected(label)["right/0"],
                read(e, label)[0],
                e.tolerance(label),
                f"The logits are wrong with norm_first={SIZES[label][-1]}"
                + (" and a mask." if label == "padded" else "."),
                "Check encode alone, then decode: embedding times sqrt(d_model), plus positions, "
                "dropout, the layers in turn, the final norm.",
                ("target position", "word"),
            )
            B, _, T, *_, targets, _ = SIZES[label]
            keeps_nothing(e, label, [(B, T, targets)])

    return holds


def causal(e: Evidence) -> None:
    one, other = read(e, "main")[0][:, :2], read(e, "later words")[0][:, :2]
    if differ(one, other, e.tolerance("main")):
        raise Wrong(
            "The logits of the first two positions change when later target words change.",
            "Give every decoder layer a causal mask: True where s <= t.",
            one[0],
            other[0],
            ("target position", "word"),
        )
    first, second = read(e, "main")[0][:, 3], read(e, "later words")[0][:, 3]
    if not differ(first, second, 1e-6):
        raise Wrong("The logits do not depend on the target words at all.")


def padding_ignored(e: Evidence) -> None:
    one, other = read(e, "padded")[0], read(e, "other padding")[0]
    if differ(one, other, e.tolerance("padded")):
        raise Wrong(
            "The logits change when the tokens in the padding change.",
            "The source mask, as [B, 1, S], goes to the encoder's attention and to the cross-attention.",
            one[1],
            other[1],
            ("target position", "word"),
        )
    same(
        e.expected("padded")["right/0"],
        one,
        e.tolerance("padded"),
        "The logits are wrong with a source_mask.",
        "The source mask is needed in the encoder and in the cross-attention.",
        ("target position", "word"),
    )


def too_long_refused(e: Evidence) -> None:
    for label, name in {"bad source": "source", "bad target": "target"}.items():
        sizes = MAX_LENGTH + 1, MAX_LENGTH
        refused(e, label, "A {} of {} words for {} positions".format(name, *sizes), sizes)


# ---- a shift inside the model -----------------------------------------------------

SHIFT = (
    "The model reads the target words it is given, one position each. The shift belongs outside: "
    "training passes the target moved by one step, and compares with the target itself."
)


def one_row_fewer(e: Evidence) -> bool:
    for label in ("main", "before", "padded"):
        B, _, T, *_, targets, _ = SIZES[label]
        if e.reply(label).arrays["out0"].shape != (B, T - 1, targets):
            return False
    return True


def own_word_unread(e: Evidence) -> bool:
    """Words change from position 2 on, and the logits only from position 3 on."""
    one, other = read(e, "main")[0], read(e, "later words")[0]
    return not differ(one[:, :3], other[:, :3], 1e-6) and differ(one[:, 3], other[:, 3], 1e-4)


exercise = Check(
    id="transformer",
    asks=asks,
    properties=(
        Property(EQUAL, 1.75, scores_match("main", "before", "single")),
        Property(CAUSAL, 0.75, causal),
        Property(PADDING, 0.75, padding_ignored),
        Property(
            "dropout applies to the sum of words and positions",
            0.25,
            scores_match("dropped"),
            needs=(EQUAL,),
        ),
        Property(
            "after eval() dropout has no effect",
            0.25,
            evaluation_is_still(read, ("evaluated",)),
            needs=(EQUAL,),
        ),
        Property(
            "a sequence longer than the positions is refused, with both numbers",
            0.25,
            too_long_refused,
            needs=(EQUAL,),
        ),
    ),
    misconceptions=(
        dropout_in_evaluation("evaluated"),
        Misconception(
            "target-cut",
            "There is one row of logits fewer than there are target words.",
            SHIFT,
            one_row_fewer,
        ),
        Misconception(
            "target-shifted",
            "The logits of a position depend only on the target words before it, not on the word at "
            "that position: your model shifts them by one step.",
            SHIFT,
            own_word_unread,
        ),
        Misconception(
            "target-rolled",
            "Your model rolls the target by one step: each position reads the word before its own, and "
            "position 0 reads the last word.",
            SHIFT,
        ),
        Misconception(
            "target-rolled-back",
            "Your model rolls the target the other way: each position reads the word after its own, "
            "which is the word that it should predict.",
            SHIFT,
        ),
        Misconception(
            "target-rolled-across-texts",
            "Your model rolls all target words of the batch by one step, so that each text begins with "
            "the last word of the text before it: roll without `dims` ignores where a text ends.",
            SHIFT,
        ),
        Misconception(
            "no-causal-mask",
            "The decoder has no causal mask: it sees the words it should predict.",
            "Every decoder layer needs a [T, T] mask that is True on and below the diagonal.",
        ),
        Misconception(
            "causal-mask-one-ahead",
            "The causal mask lets each position see one word ahead.",
            "Position t may see s <= t.",
        ),
        Misconception(
            "no-source-positions",
            "The source has no positions: the encoder sees it as a bag of words.",
            "Add source_positions to the source's embeddings.",
        ),
        Misconception(
            "no-target-positions",
            "The target has no positions.",
            "Add target_positions to the target's embeddings.",
        ),
        Misconception(
            "embeddings-not-scaled",
            "The embeddings are not multiplied by sqrt(d_model).",
            "The embedding is scaled before the positions are added.",
        ),
        Misconception(
            "positions-scaled-too",
            "The positions are multiplied by sqrt(d_model) as well.",
            "Only the embedding is scaled.",
        ),
        Misconception(
            "no-final-norms",
            "Both final norms are missing.",
            "encoder_norm after the last encoder layer, decoder_norm after the last decoder layer.",
        ),
        Misconception(
            "no-encoder-norm", "encoder_norm is missing.", "It comes after the last encoder layer."
        ),
        Misconception(
            "no-decoder-norm", "decoder_norm is missing.", "It comes after the last decoder layer."
        ),
        Misconception(
            "one-layer-only",
            "Only the first layer of each stack is used.",
            "Run through all layers; each reads the output of the one before.",
        ),
        Misconception(
            "layers-not-chained",
            "Each encoder layer reads the embeddings, so only the last one counts.",
            "Each layer should read the output of the one before.",
        ),
        Misconception(
            "decoder-reads-embeddings",
            "The decoder attends to the source's embeddings, not to the encoder's memory.",
            "encode should return the output of the last layer, after the norm.",
        ),
        Misconception(
            "probabilities",
            "You return probabilities, but the loss needs the logits before the softmax.",
            "Return the output of the readout as it is.",
        ),
        Misconception(
            "source-mask-ignored",
            "source_mask has no effect: padding is attended to.",
            "The mask, as [B, 1, S], goes to the encoder layers and to the cross-attention.",
        ),
        Misconception(
            "encoder-mask-ignored",
            "The encoder attends to padding; only the cross-attention uses source_mask.",
            "Pass the mask, as [B, 1, S], to every encoder layer.",
        ),
        Misconception(
            "cross-mask-ignored",
            "The cross-attention attends to padding; only the encoder uses source_mask.",
            "Pass the mask, as [B, 1, S], to every decoder layer as memory_mask.",
        ),
    ),
    choices=(
        ("target-rolled", "target-rolled-back", "target-rolled-across-texts"),
        (
            "no-causal-mask",
            "causal-mask-one-ahead",
        ),
        (
            "source-mask-ignored",
            "encoder-mask-ignored",
            "cross-mask-ignored",
        ),
        ("no-source-positions",),
        ("no-target-positions",),
        (
            "embeddings-not-scaled",
            "positions-scaled-too",
        ),
        (
            "no-final-norms",
            "no-encoder-norm",
            "no-decoder-norm",
        ),
        (
            "one-layer-only",
            "layers-not-chained",
        ),
        ("decoder-reads-embeddings",),
        ("probabilities",),
    ),
    fits=fits_everywhere(),
)
