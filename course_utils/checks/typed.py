"""Numbers that a student types: compared to the digits asked for, with near misses named."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils.by_hand import practice
from course_utils.checks.judge import Check, Evidence, Misconception, NoOracle, Property, Wrong
from course_utils.checks.wire import Ask

COURSE, OWN, WHOSE = "numbers", "own numbers", "whose"
# The names that an array is worked out from, and how.
Follows = tuple[tuple[str, ...], Callable[..., np.ndarray]]


@dataclass(frozen=True)
class NearMiss:
    """A known slip; the oracle gives its arrays under `<name>/<array>`, or `<name>:<way>/<array>`."""

    name: str
    sentence: str
    hint: str


ROUNDED = NearMiss(
    "rounded-too-early",
    "You are close: the last digits are off, because a step was rounded too early.",
    f"Keep more digits on the way, and round to {practice.DECIMALS} decimals at the end.",
)


def typed_exercise(
    exercise_id: str,
    question: str,
    asked: dict[str, float],
    near_misses: Sequence[NearMiss],
    properties: Sequence[Property] = (),
    exact: bool = False,
    shares: Sequence[str] = (),
    follows: Mapping[str, Follows] | None = None,
    rows: int | None = None,
) -> Check:
    """An exercise on typed arrays: `asked` gives each name the points it is worth.

    rows     how many rows of a table are enough (default: all); what else is typed must be right
    shares   arrays whose rows must sum to one
    follows  what an array should be, given the arrays that were typed before it
    """
    tolerance = 1e-6 if exact else practice.TOLERANCE
    known = (*near_misses, *(() if exact else (ROUNDED,)))
    slips = Slips(known, question, tuple(asked), tuple(shares), tolerance)

    def asks(rng: np.random.Generator, student: str | None = None) -> list[Ask]:
        # The numbers are fixed, or the student's own: `rng` has nothing to draw here.
        student = student if practice.own_numbers() else None
        given = practice.numbers_of(student)
        matrices = {name: getattr(given, name) for name in practice.question(question).given}
        label = OWN if practice.plain_id(student) else COURSE
        found = [Ask(label, "value", {"names": list(asked), "partial": True, "given": matrices})]
        if label == OWN:
            options = {"names": ["student_id"], "partial": True, "student": student}
            found.append(Ask(WHOSE, "value", options))
        return found

    def holds(name: str):
        def check(e: Evidence) -> None:
            expected = right(e, question)[name]
            if rows is not None:
                left_out(e, name, expected, rows)
            got = so_far(e, name, expected)
            problem = (
                what_is_missing(expected, got, tolerance, rows)
                if np.isnan(got).any()
                else practice.what_is_off(expected, got, tolerance)
            )
            if problem:
                rule = (follows or {}).get(name)
                wrong = _apart(expected, got) > tolerance if got.shape == expected.shape else True
                may_be_rounded = slips.named(e) in (None, ROUNDED)
                seen = ""
                if wrong:
                    seen = reading(expected, got.squeeze(), name in shares, may_be_rounded)
                if wrong and not seen and rule:
                    seen = follow(e, name, got, rule, right(e, question))
                raise Wrong(f"`{name}`: {problem} {seen}".strip())

        return check

    words = "as whole numbers" if exact else f"to {practice.DECIMALS} decimals"
    return Check(
        id=exercise_id,
        asks=asks,
        properties=tuple(properties)
        or tuple(
            Property(f"{name} {words}", points, holds(name)) for name, points in asked.items()
        ),
        misconceptions=(
            *_other_numbers(question, tuple(asked), tolerance),
            *slips.misconceptions(),
        ),
    )


def so_far(e: Evidence, name: str, expected: np.ndarray) -> np.ndarray:
    """What the student typed under this name, NaN where a place is still empty."""
    gaps = _with_gaps(e, name, expected)
    return typed(e, name) if gaps is None or np.isnan(gaps).all() else gaps


def left_out(e: Evidence, name: str, expected: np.ndarray, wanted: int) -> None:
    """Where some rows are enough: a table without any, or without places for the others."""
    gaps, whole = _with_gaps(e, name, expected), e.reply(label_of(e)).arrays.get(name)
    if gaps is not None and np.isnan(gaps).all():
        raise Wrong(f"`{name}` is still empty: fill in {wanted} rows.")
    if whole is None or whole.ndim != 2 or whole.shape == expected.T.shape:
        return
    if len(whole) < len(expected):
        raise Wrong(
            f"`{name}` should keep its {len(expected)} rows, but it has {len(whole)}. Leave the dots "
            "in those that you don't need."
        )


def what_is_missing(
    expected: np.ndarray, got: np.ndarray, tolerance: float, wanted: int | None
) -> str:
    """What is wrong or missing where places are empty; nothing if enough rows are right."""
    wrong = np.argwhere(np.abs(got - expected) > tolerance)
    if got.ndim == 1:
        if len(wrong):
            place = int(wrong[0][0])
            return f"number {place + 1} is not right yet: you have {got[place]:.6g}."
        return "right so far. Other places are still empty."
    if len(wrong):
        row, column = (int(i) for i in wrong[0])
        return (
            f"row {row + 1} is not right yet. Look at column {column + 1}: you have "
            f"{got[row, column]:.6g}."
        )
    full = [i for i, row in enumerate(got) if not np.isnan(row).any()]
    if wanted is not None and len(full) >= wanted:
        return ""
    state = f"{_rows(full)} right so far." if full else "right so far."
    left = (wanted or len(got)) - len(full)
    more = " more" if full else ""
    return f"{state} Fill in {left}{more} row{'s' * (left != 1)}."


def _with_gaps(e: Evidence, name: str, expected: np.ndarray) -> np.ndarray | None:
    """A table that was typed with empty places, NaN where they are."""
    rows = e.reply(label_of(e)).arrays.get(f"{name}/rows")
    return None if rows is None or rows.shape != expected.shape else rows


def _rows(numbers: list[int]) -> str:
    told = [str(n + 1) for n in numbers]
    return (
        f"row {told[0]} is" if len(told) == 1 else f"rows {', '.join(told[:-1])} and {told[-1]} are"
    )


def reading(
    expected: np.ndarray, got: np.ndarray, sums_to_one: bool, may_be_rounded: bool = True
) -> str:
    """What one array shows by itself: it is transposed or rounded, or its rows do not sum to one."""
    if (
        got.ndim == 2
        and got.shape == expected.T.shape
        and not np.isnan(got).any(axis=-1).all()
        and _apart(expected.T, got)
        < 1e-3
        < _apart(expected, expected.T if expected.shape == got.shape else expected + 1)
    ):
        return "It is transposed: its rows are the columns asked for."
    if got.shape != expected.shape:
        return ""
    digits = _rounded_to(expected, got, sums_to_one)
    if digits is not None and may_be_rounded:
        so_far = f"{digits} decimal{'s' * (digits != 1)}" if digits else "the nearest whole number"
        return f"It is right only to {so_far}: write {practice.DECIMALS} decimals."
    sums = np.atleast_2d(got).sum(axis=-1)
    off = np.flatnonzero(np.abs(sums - 1) > 0.01)
    if sums_to_one and len(off) and (np.abs(sums - 100) < 1)[~np.isnan(sums)].all():
        return "These are percentages: write fractions, which sum to 1."
    if sums_to_one and len(off):
        row = f"Row {off[0] + 1} sums" if got.ndim == 2 else "They sum"
        return f"{row} to {sums[off[0]]:.3f}, and weights sum to 1."
    return ""


def _rounded_to(expected: np.ndarray, got: np.ndarray, sums_to_one: bool) -> int | None:
    """To how many decimals the right numbers are rounded, however a half was, if they are.

    Weights that are all 0 or 1 are not called rounded: they are what argmax gives.
    """
    for digits in range(int(sums_to_one), practice.DECIMALS):
        has_so_many = _apart(np.round(got, digits), got) < 1e-9
        if has_so_many and got.any() and _apart(expected, got) <= 0.5 * 0.1**digits + 1e-9:
            return digits
    return None


def follow(e: Evidence, name: str, got: np.ndarray, rule: Follows, expected: dict) -> str:
    """Whether an array that is wrong is what follows from the arrays before it as they were typed."""
    names, compute = rule
    given = e.options(label_of(e))["given"]
    try:
        made = compute(*(given[n] if n in given else so_far(e, n, expected[n]) for n in names))
    except (Wrong, KeyError, ValueError):
        return ""
    got = got.squeeze()
    unknown = np.isnan(made[~np.isnan(got)]).any() if made.shape == got.shape else True
    if unknown or _apart(made, got) > 5 * practice.TOLERANCE:
        return ""
    mine = {n: so_far(e, n, expected[n]) for n in names if n not in given}
    told = " and ".join(f"`{n}`" for n in mine)
    if all(_apart(expected[n], array) <= practice.TOLERANCE for n, array in mine.items()):
        return f"It does follow from {told} as you typed it: keep more digits on the way."
    return (
        f"It does follow from your {told}: correct {'that' if len(mine) == 1 else 'those'} first."
    )


def label_of(e: Evidence) -> str:
    return next(label for label in e.labels() if label in (COURSE, OWN))


def typed(e: Evidence, name: str) -> np.ndarray:
    """The array that the student typed under this name."""
    reply = e.reply(label_of(e))
    if name not in reply.arrays:
        note = reply.notes.get(name, f"`{name}` has no value yet.")
        if note.endswith("different lengths."):
            note += f" {practice.POINTS}"
        if note.endswith("with text in it."):
            note += " Leave out the quotation marks."
        raise Wrong(note if note.startswith("`") else f"`{name}` should be numbers, not text.")
    if reply.arrays[name].dtype == bool:
        raise Wrong(f"`{name}` holds True and False: write numbers.")
    array = reply.arrays[name].astype(float)
    if not np.isfinite(array).all():
        raise Wrong(f"`{name}` holds values that are not finite (NaN or infinity).")
    return array


def right(e: Evidence, question: str) -> dict[str, np.ndarray]:
    """The right arrays, and those of the near misses where the judge has them.

    A student's copy has stored arrays for the course's numbers only. For a student's own numbers
    it computes the answer, and names no near miss.
    """
    try:
        return e.expected(label_of(e))
    except NoOracle:
        return solve_given(question, e.options(label_of(e))["given"])


def solve_given(question: str, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    # What the question does not use stays None.
    whole: dict[str, Any] = {
        name: given.get(name) for name in practice.Numbers.__dataclass_fields__
    }
    return practice.solve(question, practice.Numbers(**whole))


def _filled(e: Evidence, names: tuple[str, ...], expected: dict) -> dict[str, np.ndarray]:
    """What was typed with the shape asked for."""
    found = {}
    for name in names:
        gaps = _with_gaps(e, name, expected[name])
        if gaps is not None and not np.isnan(gaps).all(axis=-1).all():
            found[name] = gaps
        try:
            array = typed(e, name)
        except Wrong:
            continue
        if array.squeeze().shape == expected[name].shape:
            found[name] = array.reshape(expected[name].shape)
    return found


def _apart(one: np.ndarray, other: np.ndarray) -> float:
    """The largest difference; an empty place, NaN, differs from nothing."""
    return float(np.nan_to_num(np.abs(one - other)).max(initial=0.0))


@dataclass(frozen=True)
class Slips:
    """The near misses of an exercise; one is named where it explains what was typed, and only it."""

    near_misses: tuple[NearMiss, ...]
    question: str
    names: tuple[str, ...]
    shares: tuple[str, ...]
    tolerance: float

    def fit(self, near: NearMiss, e: Evidence) -> bool:
        """Whether it gives the first array that is wrong: later ones often follow from it."""
        expected = right(e, self.question)
        found = _filled(e, self.names, expected)
        wrong = [n for n in found if _apart(expected[n], found[n]) > self.tolerance]
        if not wrong:
            return False
        # What was typed before it is right: the slip must not have spoilt that.
        before = [n for n in found if self.names.index(n) < self.names.index(wrong[0])]
        coarse = [
            n for n in wrong if _rounded_to(expected[n], found[n], n in self.shares) is not None
        ]
        if wrong[0] in coarse:  # then it must explain more than coarse rounding does
            if coarse == wrong:
                return False
            explained = wrong
        else:
            explained = wrong[:1]
        return any(
            all(n in slip and _agrees(slip[n], found[n], 2 * practice.TOLERANCE) for n in explained)
            and all(_agrees(slip[n], expected[n], self.tolerance) for n in before if n in slip)
            for slip in _variants(near, expected)
        )

    def named(self, e: Evidence) -> NearMiss | None:
        fitting = [near for near in self.near_misses if self.fit(near, e)]
        return fitting[0] if len(fitting) == 1 else None

    def misconceptions(self) -> list[Misconception]:
        def is_named(near: NearMiss):
            return lambda e: self.named(e) is near

        return [Misconception(n.name, n.sentence, n.hint, is_named(n)) for n in self.near_misses]


def _variants(near: NearMiss, expected: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """The arrays that a near miss gives; one with a colon and more in its keys has several."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for key, array in expected.items():
        variant, _, name = key.rpartition("/")
        if variant.partition(":")[0] == near.name:
            found.setdefault(variant, {})[name] = array
    return list(found.values())


def _agrees(slip: np.ndarray, typed: np.ndarray, tolerance: float) -> bool:
    """Whether a slip gives what was typed; what it can't give (NaN) was not typed either."""
    unknown = np.isnan(slip) & ~np.isnan(typed)
    return not unknown.any() and _apart(slip, typed) <= tolerance


def _other_numbers(question, names, tolerance) -> tuple[Misconception, Misconception]:
    """Right answers to another student's numbers, or to the course's: a person should look."""

    def answers_to(student: str, e: Evidence) -> bool:
        expected = practice.solve(question, practice.numbers_of(student))
        found = _filled(e, names, expected)
        return bool(found) and all(_apart(expected[n], a) <= tolerance for n, a in found.items())

    def other_id(e: Evidence) -> bool:
        said = practice.plain_id(e.reply(WHOSE).notes["student_id"])
        is_another = bool(said) and said != practice.plain_id(e.options(WHOSE)["student"])
        return is_another and answers_to(said, e)

    def course_numbers(e: Evidence) -> bool:
        return label_of(e) == OWN and answers_to("", e)

    return (
        Misconception(
            "numbers-of-another-id",
            "These answers belong to the numbers of a student id other than yours.",
            "Set student_id to the id your instructor has for you, and solve those numbers.",
            other_id,
        ),
        Misconception(
            "course-numbers",
            "These are the answers to the course's numbers, but you have your own.",
            "Set student_id in its cell, run the notebook again, and solve what it shows.",
            course_numbers,
        ),
    )
