"""Which model has which fault, and the evidence for it; students get only digests of these."""

import numpy as np

from course_utils.checks.wire import Ask
from course_utils.transformer.suspect_choices import digest

# letter: the fault, and every reason on the list that is true of this model
ANSWERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "a": ("no source positions", ("order does not matter",)),
    "b": ("the future leaks", ("low loss, wrong samples", "looks one step ahead")),
    "c": ("attends to padding", ("neighbours matter",)),
    "d": ("positions stop early", ("long lines fail",)),
    # it writes the same text whatever it reads, so the order of the source has no effect either
    "e": (
        "target not shifted",
        ("low loss, wrong samples", "looks at its own step", "order does not matter"),
    ),
    "f": ("dropout stays on", ("calls differ",)),
}


def as_array(text: str) -> np.ndarray:
    return np.frombuffer(bytes.fromhex(text), dtype=np.uint8)


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    digests: dict[str, np.ndarray] = {}
    for letter, (fault, reasons) in ANSWERS.items():
        digests[f"bug_{letter}"] = np.stack([as_array(digest(letter, fault))])
        digests[f"reason_{letter}"] = np.stack([as_array(digest(letter, r)) for r in reasons])
    return digests
