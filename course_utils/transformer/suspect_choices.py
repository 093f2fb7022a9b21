"""What can be wrong with the six suspects, and what may show it; it needs no torch."""

import hashlib

FAULTS = {
    "the future leaks": "the decoder's self-attention has no causal mask",
    "target not shifted": "the decoder reads the letter that it should predict at the same step",
    "attends to padding": "the attention to the source has no mask for padding",
    "no source positions": "the encoder is not told where its letters are",
    "positions stop early": "all places after the fifth get the same position",
    "dropout stays on": "dropout is at work when the model is used, too",
    "the end is not learned": "the end mark is left out of the loss",
    "no learning": "the learning rate is far too small",
}
REASONS = {
    "low loss, wrong samples": "the training loss is near zero, yet what it writes is wrong",
    "looks one step ahead": "its map of itself is bright one step to the right of the diagonal",
    "looks at its own step": "its map of itself is bright on the diagonal, where the answer is",
    "neighbours matter": "the answer to a line changes when a longer line joins its batch",
    "order does not matter": "shuffling the source leaves what it writes as it was",
    "long lines fail": "short lines are right, and long ones go wrong",
    "calls differ": "asked twice, it gives two answers",
    "it never stops": "what it writes begins right, and the end never comes",
    "loss never falls": "the loss stays where a guess among all letters would be",
}


def digest(letter: str, text: str) -> str:
    """A fingerprint of an answer, so that the answer itself need not be written down."""
    return hashlib.sha256(f"model {letter}: {text}".encode()).hexdigest()[:16]
