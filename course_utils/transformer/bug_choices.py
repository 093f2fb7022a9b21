"""What can be wrong with the three models of `bugs`, and what may show it; it needs no torch."""

import hashlib

FAULTS = {
    "the future leaks": "the decoder's self-attention has no causal mask",
    "attends to padding": "the attention to the source has no mask for padding",
    "no source positions": "the encoder is not told where its letters stand",
    "no target positions": "the decoder is not told where its letters stand",
    "target not shifted": "the decoder reads the letter that it should predict at the same step",
    "no scale": "the scores are not divided by the square root of d",
}
REASONS = {
    "low loss, wrong samples": "the training loss is near zero, yet what it writes is wrong",
    "neighbours matter": "the answer to a line changes when a longer line joins its batch",
    "order does not matter": "shuffling the source leaves what it writes as it was",
    "loss never falls": "the loss stays where a guess among all letters would be",
    "long lines fail": "short lines are right, and long ones go wrong at their end",
    "it stops too early": "what it writes is right, but the end comes too soon",
}


def digest(letter: str, text: str) -> str:
    """A fingerprint of an answer, so that the answer itself need not be written down."""
    return hashlib.sha256(f"model {letter}: {text}".encode()).hexdigest()[:16]
