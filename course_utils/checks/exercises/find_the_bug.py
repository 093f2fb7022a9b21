"""find-the-bug: for each of six models, the fault and what showed it, with a note on the experiment.

What ships is a digest of each right answer, not the answer. The message on a wrong guess names
what contradicts it in the model's record.
"""

import re
from collections.abc import Callable

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong
from course_utils.checks.wire import Ask
from course_utils.transformer.suspect_choices import FAULTS, REASONS, digest
from course_utils.transformer.suspects import GUESSING, LINE, Suspect, suspect

LETTERS = ("a", "b", "c", "d", "e", "f")
CHOICES = {"bug": FAULTS, "reason": REASONS}
NOTE = re.compile(r"^\s*(?:model\s+)?([A-F])\s*[:.)]\s*(.+)$", re.IGNORECASE | re.MULTILINE)
FEWEST_WORDS = 5


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = [
        Ask(letter, "value", {"names": [f"bug_{letter}", f"reason_{letter}"]}) for letter in LETTERS
    ]
    return [*questions, Ask("notes", "value", {"names": ["notes"], "partial": True})]


def typed(e: Evidence, kind: str, letter: str) -> str:
    name = f"{kind}_{letter}"
    text = e.reply(letter).notes.get(name, "").strip()
    if text not in CHOICES[kind]:
        known = ", ".join(f'"{choice}"' for choice in CHOICES[kind])
        raise Wrong(f"`{name}` should be one of {known}.")
    return text


def is_right(e: Evidence, kind: str, letter: str, text: str) -> bool:
    wanted = e.expected(letter)[f"{kind}_{letter}"].astype(np.uint8)
    return digest(letter, text) in {bytes(row).hex() for row in wanted}


# ---- what contradicts a guess ---------------------------------------------------


def _right(record: Suspect, lengths: tuple[int, ...]) -> tuple[int, int]:
    found = [pair for length in lengths for pair in record.wrote(length)]
    return sum(answer == line[::-1] for line, answer in found), len(found)


def _on_map(record: Suspect, ahead: int) -> float:
    """The largest mean weight of a head on its own step, or so many steps ahead."""
    maps = record.look("itself")
    steps = np.arange(maps.shape[1] - ahead)
    return float(maps[:, steps, steps + ahead].mean(axis=1).max())


def low_loss(record: Suspect) -> str:
    last = record.losses[-1]
    return "" if last < 0.05 else f"the training loss would be near zero, but it ends at {last}."


def wrong_samples(record: Suspect) -> str:
    right, count = _right(record, (4, 5, 6, 7, 8))
    return (
        ""
        if right < 0.2 * count
        else f"its samples would be wrong, but {right} of {count} are right."
    )


def ahead(record: Suspect) -> str:
    share = _on_map(record, 1)
    told = f"a head would look one step ahead, but no head gives that more than {share:.2f}."
    return "" if share > 0.5 else told


def own_step(record: Suspect) -> str:
    share = _on_map(record, 0)
    told = f"a head would look at its own step, but no head gives that more than {share:.2f}."
    return "" if share > 0.5 else told


def at_padding(record: Suspect) -> str:
    maps = record.look("source", padded=True)
    share = float(maps[:, : len(LINE) + 1, len(LINE) :].sum(axis=-1).mean(axis=1).max())
    told = f"padding would get weight beside a longer line, but no head gives it over {share:.2f}."
    return "" if share > 0.3 else told


def order_lost(record: Suspect) -> str:
    answers = {answer for _, answer in record.orders}
    told = f"every order of the same letters would get one answer, but they get {len(answers)}."
    return "" if len(answers) == 1 else told


def stuck_loss(record: Suspect) -> str:
    last = record.losses[-1]
    return "" if last > 0.5 else f"the loss could not fall near zero, but it ends at {last}."


def short_right(record: Suspect) -> str:
    right, count = _right(record, (4, 5))
    told = f"lines of 4 and 5 letters would be right, but only {right} of {count} are."
    return "" if right >= 0.8 * count else told


def long_wrong(record: Suspect) -> str:
    right, count = _right(record, (7, 8))
    told = f"lines of 7 and 8 letters would go wrong, but {right} of {count} are right."
    return "" if right <= 0.3 * count else told


def calls_agree(record: Suspect) -> str:
    other = sum(first != second for _, first, second in record.twice)
    told = f"two calls would agree, but {other} of {len(record.twice)} pairs differ."
    return "" if not other else told


def calls_differ(record: Suspect) -> str:
    other = sum(first != second for _, first, second in record.twice)
    return "" if other else "two calls would differ, but all pairs agree."


def goes_on(record: Suspect) -> str:
    on = [a for line, a in record.samples if a.startswith(line[::-1]) and len(a) > len(line)]
    told = "correct answers would go on after their last letter, but none does."
    return "" if len(on) > 0.5 * len(record.samples) else told


def never_falls(record: Suspect) -> str:
    last = record.losses[-1]
    return (
        ""
        if last > 0.85 * GUESSING
        else f"the loss would stay near {GUESSING}, but it ends at {last}."
    )


# By fault: what the record would show, most telling first. A text means that it does not show it.
PREDICTS: dict[str, tuple[Callable[[Suspect], str], ...]] = {
    "the future leaks": (low_loss, wrong_samples, ahead),
    "target not shifted": (low_loss, wrong_samples, own_step),
    "attends to padding": (at_padding,),
    "no source positions": (order_lost, stuck_loss),
    "positions stop early": (long_wrong, short_right, calls_agree),
    "dropout stays on": (calls_differ,),
    "the end is not learned": (goes_on,),
    "no learning": (never_falls,),
}


def against(letter: str, fault: str) -> str:
    """What contradicts this fault in the record of a model; empty if nothing does."""
    return next(filter(None, (shows(suspect(letter)) for shows in PREDICTS[fault])), "")


# ---- properties -----------------------------------------------------------------------


def fault_found(letter: str):
    def holds(e: Evidence) -> None:
        guess = typed(e, "bug", letter)
        if not is_right(e, "bug", letter, guess):
            raise Wrong(
                f"Model {letter.upper()}: if the fault were “{guess}”, {against(letter, guess)}",
                "Which experiment could tell your guess from the next best one?",
            )

    return holds


def notes_of(e: Evidence) -> dict[str, str]:
    return {
        letter.lower(): text
        for letter, text in NOTE.findall(e.reply("notes").notes.get("notes", ""))
    }


def reason_given(letter: str):
    def holds(e: Evidence) -> None:
        if not is_right(e, "reason", letter, typed(e, "reason", letter)):
            raise Wrong(
                f"Model {letter.upper()} does have that fault, but this is not what shows it.",
                "Look at the loss, the samples by length, the other orders, the neighbours, the two "
                "calls and the maps.",
            )
        if len(notes_of(e).get(letter, "").split()) < FEWEST_WORDS:
            raise Wrong(
                f"`notes` has no sentence for model {letter.upper()} yet.",
                f'Write a line "{letter.upper()}: …" that says which experiment convinced you and '
                "what it showed.",
            )

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
            Property(fault(letter), 0.3, fault_found(letter)),
            Property(
                f"what shows the fault of model {letter.upper()}, with a note",
                0.2,
                reason_given(letter),
                needs=(fault(letter),),
            ),
        )
    ),
    misconceptions=(
        Misconception(
            "one-fault-for-all",
            "You gave the same fault to all models.",
            "Each model has a different fault.",
            same_everywhere,
        ),
        Misconception(
            "faults-exchanged",
            "You found a fault that exists, but gave it to the wrong model.",
            "Look at each model's experiments again, and keep track of which model is which.",
            exchanged,
        ),
    ),
)
