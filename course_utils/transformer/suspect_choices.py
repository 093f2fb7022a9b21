"""What can be wrong with the six suspects, and what may show it. It does not need torch."""

import hashlib

FAULTS = {
    "the future leaks": "the decoder's self-attention has no causal mask",
    "target not shifted": "at each step, the decoder reads the very letter it should predict",
    "attends to padding": "the attention to the source has no mask for padding",
    "no source positions": "the encoder does not know the positions of its letters",
    "positions stop early": "all letters after the fifth get the same position",
    "dropout stays on": "dropout still acts when the model is used",
    "the end is not learned": "the end mark is left out of the loss",
    "no learning": "the learning rate is far too small",
}
REASONS = {
    "low loss, wrong samples": "the training loss is near zero, yet what it writes is wrong",
    "looks one step ahead": "a map of the target is bright one step to the right of the diagonal",
    "looks at its own step": "a map of the target is bright on the diagonal, where the answer is",
    "neighbours matter": "the answer to a line changes when a longer line joins its batch",
    "order does not matter": "shuffling the source does not change what it writes",
    "long lines fail": "short lines are right, but long ones go wrong",
    "calls differ": "the same question gets different answers",
    "it never stops": "what it writes begins correctly, but the end never comes",
    "loss never falls": "the loss stays at the level of guessing among all letters",
}


def digest(letter: str, text: str) -> str:
    """A fingerprint of an answer, so that the answer itself need not be written down."""
    return hashlib.sha256(f"model {letter}: {text}".encode()).hexdigest()[:16]
