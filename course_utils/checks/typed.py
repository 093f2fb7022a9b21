"""Numbers that a student types: compared to the digits asked for, with near misses named."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils.by_hand import practice
from course_utils.checks.judge import Check, Evidence, Misconception, NoOracle, Property, Wrong
from course_utils.checks.wire import Ask

COURSE, OWN, WHOSE = "numbers", "own numbers", "whose"
NEAR = 0.03
# The names that an array is worked out from, and how.
Follows = tuple[tuple[str, ...], Callable[..., np.ndarray]]


@dataclass(frozen=True)
class NearMiss:
    """A known slip; the oracle gives its arrays under `<name>/<array>`."""

    name: str
    sentence: str
    hint: str


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
                seen = reading(expected, got.squeeze(), name in shares) if wrong else ""
                if wrong and not seen and rule:
                    seen = follow(e, name, got, rule, right(e, question))
                raise Wrong(f"`{name}`: {problem} {seen}".strip())

        return check

    words = "exactly" if exact else f"to {practice.DECIMALS} decimals"
    return Check(
        id=exercise_id,
        asks=asks,
        properties=tuple(properties)
        or tuple(
            Property(f"{name} is right, {words}", points, holds(name))
            for name, points in asked.items()
        ),
        misconceptions=(
            *_other_numbers(question, tuple(asked), tolerance),
            *(_as_misconception(m, question, tuple(asked), tolerance) for m in near_misses),
            *(() if exact else (_rounded(question, tuple(asked), tolerance, shares),)),
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
    if whole is not None and whole.ndim == 2 and len(whole) < len(expected):
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


def reading(expected: np.ndarray, got: np.ndarray, sums_to_one: bool) -> str:
    """What can be seen in one array by itself: transposed, rounded, or rows that sum to no one."""
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
    for digits in range(practice.DECIMALS):
        if _apart(np.round(expected, digits), got) < 1e-9:
            return (
                f"It is rounded to {digits or 'no'} decimal{'s' * (digits != 1)}: write "
                f"{practice.DECIMALS}."
            )
    sums = np.atleast_2d(got).sum(axis=-1)
    off = np.flatnonzero(np.abs(sums - 1) > 0.01)
    if sums_to_one and len(off):
        row = f"Row {off[0] + 1} sums" if got.ndim == 2 else "They sum"
        return f"{row} to {sums[off[0]]:.3f}, and weights sum to 1."
    return ""


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
    told = [f"`{n}`" for n in names if n not in given]
    return f"It does follow from your {' and '.join(told)}: mend {'that' if len(told) == 1 else 'those'} first."


def label_of(e: Evidence) -> str:
    return next(label for label in e.labels() if label in (COURSE, OWN))


def typed(e: Evidence, name: str) -> np.ndarray:
    """The array that the student typed under this name."""
    reply = e.reply(label_of(e))
    if name not in reply.arrays:
        note = reply.notes.get(name, f"`{name}` has no value yet.")
        raise Wrong(note if note.startswith("`") else f"`{name}` should be numbers, not text.")
    array = reply.arrays[name].astype(float)
    if not np.isfinite(array).all():
        raise Wrong(f"`{name}` holds values that are not finite (NaN or infinity).")
    return array


def right(e: Evidence, question: str) -> dict[str, np.ndarray]:
    """The right arrays, and those of the near misses where the judge has them.

    A student's copy has stored arrays for the course's numbers only; for numbers of one's own
    it works the question out, and names no near miss.
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


def _first_wrong(e: Evidence, question: str, names: tuple[str, ...], tolerance: float):
    """The first typed array that is not right: later ones often follow from it."""
    expected = right(e, question)
    for name, array in _filled(e, names, expected).items():
        if _apart(expected[name], array) > tolerance:
            return name, array
    return None, None


def _apart(one: np.ndarray, other: np.ndarray) -> float:
    """The largest difference; an empty place, NaN, differs from nothing."""
    return float(np.nan_to_num(np.abs(one - other)).max(initial=0.0))


def _as_misconception(near: NearMiss, question, names, tolerance) -> Misconception:
    def matches(e: Evidence) -> bool:
        name, array = _first_wrong(e, question, names, tolerance)
        expected = right(e, question)
        slip = {n: expected[f"{near.name}/{n}"] for n in names if f"{near.name}/{n}" in expected}
        if name not in slip or _apart(slip[name], array) > 2 * practice.TOLERANCE:
            return False
        # What was typed before it is right: the slip must not have spoilt that.
        before = [n for n in _filled(e, names, expected) if names.index(n) < names.index(name)]
        return all(_apart(slip[n], expected[n]) <= tolerance for n in before if n in slip)

    return Misconception(near.name, near.sentence, near.hint, matches)


def _rounded(question, names, tolerance, shares) -> Misconception:
    def matches(e: Evidence) -> bool:
        expected = right(e, question)
        found = _filled(e, names, expected)
        sums = [found[n].sum(axis=-1) for n in shares if n in found]
        if any(_apart(np.ones_like(total), total) > 0.01 for total in sums):
            return False  # rounding leaves the sum nearly as it is
        gaps = [_apart(expected[n], a) for n, a in found.items()]
        return bool(gaps) and tolerance < max(gaps) <= NEAR

    return Misconception(
        "rounded-too-early",
        "You are close: the last digits are off, as they are when a step is rounded.",
        f"Keep more digits on the way, and round to {practice.DECIMALS} decimals at the end.",
        matches,
    )


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
            "These answers belong to the numbers of another student id than yours.",
            "Set student_id to the id your instructor has for you, and solve those numbers.",
            other_id,
        ),
        Misconception(
            "course-numbers",
            "These are the answers to the course's numbers; you have numbers of your own.",
            "Set student_id in its cell, run the notebook again, and solve what it shows.",
            course_numbers,
        ),
    )
