"""find-the-bug: for each of six models, the fault and what showed it, with a note on the experiment.

Guesses are not counted: what a kernel remembers is no ground for a grade. They earn nothing
instead. A guess is looked at only beside a note that quotes the model's record, and a fault
counts only if what is quoted shows it. The message on a wrong guess names what contradicts it in
the record. What ships is a digest of each right answer, not the answer.
"""

import difflib
import re
from collections.abc import Callable

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong
from course_utils.checks.quoted import quotes
from course_utils.checks.wire import Ask
from course_utils.transformer.suspect_choices import FAULTS, REASONS, digest
from course_utils.transformer.suspects import GUESSING, LINE, Suspect, suspect

LETTERS = ("a", "b", "c", "d", "e", "f")
CHOICES = {"bug": FAULTS, "reason": REASONS}
LISTS = {"bug": "faults", "reason": "reasons"}
# The start of a note: "A:", "b)", "Model C." at the beginning of a line.
LABEL = re.compile(r"^[ \t]*(?:model[ \t]+)?([A-F])[ \t]*[:.)]", re.IGNORECASE | re.MULTILINE)
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
        raise Wrong(
            f"`{name}` should be copied from the list of {LISTS[kind]}.{_meant(kind, text)}"
        )
    return text


def _meant(kind: str, text: str) -> str:
    """What a text that is not in the list may have been meant to be."""
    other = "reason" if kind == "bug" else "bug"
    if text in CHOICES[other]:
        return f" “{text}” is in the list of {LISTS[other]}."
    near = difflib.get_close_matches(text.casefold(), CHOICES[kind], 1, cutoff=0.8)
    return f" Did you mean “{near[0]}”?" if near else ""


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


def notes_of(text: str) -> dict[str, str]:
    """The notes by letter; each goes on until the next one starts."""
    _, *parts = LABEL.split(text)
    return dict(zip(map(str.lower, parts[::2]), parts[1::2]))


def note_on(e: Evidence, letter: str) -> str:
    """The note on a model, or `Wrong` if it has none that quotes the model's record."""
    text = e.reply("notes").notes.get("notes", "`notes` should be numbers")
    if text.startswith("`notes` should be numbers"):  # what was read is a list or a number
        raise Wrong("`notes` should be one text between triple quotes, with a line for each model.")
    note, model = notes_of(text).get(letter, ""), f"model {letter.upper()}"
    if len(note.split()) < FEWEST_WORDS:
        raise Wrong(
            f"Your guess about {model} is looked at once `notes` has a sentence about it.",
            f'Write a line "{letter.upper()}: …": which experiment points to the fault, and what does '
            "it show? Quote a figure or an answer.",
        )
    if not quotes(note, suspect(letter), list(REASONS)):
        raise Wrong(
            f"Your note on {model} quotes nothing from its record.",
            "Copy a figure (a loss, a share, how many answers change, a layer and head, a weight) or "
            "an answer that the model wrote.",
        )
    return note


def fault_found(letter: str):
    def holds(e: Evidence) -> None:
        guess, note, model = typed(e, "bug", letter), note_on(e, letter), f"Model {letter.upper()}"
        if not is_right(e, "bug", letter, guess):
            raise Wrong(
                f"{model}: if the fault were “{guess}”, {against(letter, guess)}",
                "Which experiment could tell your guess from the next best one?",
            )
        shows_it = [reason for reason in REASONS if is_right(e, "reason", letter, reason)]
        if not quotes(note, suspect(letter), shows_it):
            raise Wrong(
                f"{model} does have that fault, but what your note quotes does not show it.",
                "In which experiment does this model differ from a sound one? Quote what it shows.",
            )

    return holds


def reason_given(letter: str):
    def holds(e: Evidence) -> None:
        if not is_right(e, "reason", letter, typed(e, "reason", letter)):
            raise Wrong(
                f"Model {letter.upper()} does have that fault, but this is not what shows it.",
                "Look at the loss, the samples by length, the other orders, the neighbours, the two "
                "calls and the maps.",
            )

    return holds


def fault(letter: str) -> str:
    return f"the fault of model {letter.upper()}, with a note that shows it"


def exchanged(e: Evidence) -> bool:
    """Some model is given the fault of another one, with a note: without one, nothing is told."""
    for letter in LETTERS:
        text = typed(e, "bug", letter)
        note_on(e, letter)
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
                f"what shows the fault of model {letter.upper()}",
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
