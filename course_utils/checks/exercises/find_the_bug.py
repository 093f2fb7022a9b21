"""find-the-bug: for each of three models, the fault and what showed it, out of two lists.

What ships is a digest of each right answer, not the answer.
"""

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong
from course_utils.checks.wire import Ask
from course_utils.transformer.bug_choices import FAULTS, REASONS, digest

LETTERS = ("a", "b", "c")
CHOICES = {"bug": FAULTS, "reason": REASONS}


def asks(rng: np.random.Generator) -> list[Ask]:
    return [
        Ask(letter, "value", {"names": [f"bug_{letter}", f"reason_{letter}"]}) for letter in LETTERS
    ]


def typed(e: Evidence, kind: str, letter: str) -> str:
    name = f"{kind}_{letter}"
    text = e.reply(letter).notes.get(name, "").strip()
    if text not in CHOICES[kind]:
        known = ", ".join(f'"{choice}"' for choice in CHOICES[kind])
        raise Wrong(f"`{name}` should be one of {known}.")
    return text


def is_right(e: Evidence, kind: str, letter: str, text: str) -> bool:
    wanted = bytes(e.expected(letter)[f"{kind}_{letter}"].astype(np.uint8)).hex()
    return digest(letter, text) == wanted


def right(kind: str, letter: str, message: str, hint: str):
    def holds(e: Evidence) -> None:
        if not is_right(e, kind, letter, typed(e, kind, letter)):
            raise Wrong(message, hint)

    return holds


def fault(letter: str) -> str:
    return f"the fault of model {letter.upper()}"


def exchanged(e: Evidence) -> bool:
    """Some model is given the fault of another one."""
    for letter in LETTERS:
        text = typed(e, "bug", letter)
        if not is_right(e, "bug", letter, text) and any(
            is_right(e, "bug", other, text) for other in LETTERS
        ):
            return True
    return False


def same_everywhere(e: Evidence) -> bool:
    return len({typed(e, "bug", letter) for letter in LETTERS}) == 1


exercise = Check(
    id="find-the-bug",
    asks=asks,
    properties=tuple(
        part
        for letter in LETTERS
        for part in (
            Property(
                fault(letter),
                0.75,
                right(
                    "bug",
                    letter,
                    f"That is not what is wrong with model {letter.upper()}.",
                    "Which experiment would tell your guess from the next best one?",
                ),
            ),
            Property(
                f"what shows the fault of model {letter.upper()}",
                0.25,
                right(
                    "reason",
                    letter,
                    "That is not what this fault looks like.",
                    "Look at loss, samples, a shuffled source, and a longer neighbour.",
                ),
                needs=(fault(letter),),
            ),
        )
    ),
    misconceptions=(
        Misconception(
            "one-fault-for-all",
            "You gave the same fault to all three models.",
            "Each has another one.",
            same_everywhere,
        ),
        Misconception(
            "faults-exchanged",
            "A fault that you found is there, but in another of the models.",
            "Run the experiments for each model again, and write down which one you are at.",
            exchanged,
        ),
    ),
)
