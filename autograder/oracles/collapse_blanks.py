"""A text without its blanks, character by character, and what the known mistakes give."""

from itertools import groupby

import numpy as np

from course_utils.checks.wire import Ask


def kept(text: str, blank: str) -> str:
    result = ""
    for character in text:
        if character != blank:
            result += character
    return result


def merged(text: str) -> str:
    return "".join(character for character, _ in groupby(text))


RULES = {
    "right": kept,
    "merges-repeats": lambda text, blank: kept(merged(text), blank),
    "repeats-merged-after": lambda text, blank: merged(kept(text, blank)),
    "always-underscore": lambda text, blank: kept(text, "_"),
    "runs-to-one-blank": lambda text, blank: "".join(
        blank if character == blank else character * len(list(run))
        for character, run in groupby(text)
    ),
    "blanks-to-spaces": lambda text, blank: text.replace(blank, " "),
    "ends-only": lambda text, blank: text.strip(blank),
    "first-blank-only": lambda text, blank: text.replace(blank, "", 1),
    "spaces-too": lambda text, blank: kept(kept(text, blank), " "),
    "blanks-kept-letters-dropped": lambda text, blank: blank * text.count(blank),
}


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    text, blank = ask.options["args"]
    return {
        f"{name}/0": np.array([ord(c) for c in rule(text, blank)], dtype=np.int64)
        for name, rule in RULES.items()
    }
