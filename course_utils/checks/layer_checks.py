"""What the checks of functions and layers share: stored variants, gradients, refusals."""

import re
from collections.abc import Callable

import numpy as np

from course_utils.checks.judge import (
    RIGHT,
    Evidence,
    Misconception,
    Mistakes,
    Wrong,
    differ,
    same,
)


def mistake(name: str, sentence: str, hint: str, labels, read) -> Misconception:
    """A misconception whose arrays the oracle gives under `name/0`, `name/1`, ...

    `read(evidence, label)` gives the student's arrays. Every one that the oracle names must
    agree, at every one of `labels`.
    """

    def matches(e: Evidence) -> bool:
        for label in labels:
            expected, got = e.expected(label), read(e, label)
            wanted = {k: v for k, v in expected.items() if k.startswith(f"{name}/")}
            if not wanted:
                return False
            for key, array in wanted.items():
                mine = got[int(key.rsplit("/", 1)[1])]
                if mine.shape != array.shape or differ(array, mine, 1e-4):
                    return False
        return True

    return Misconception(name, sentence, hint, matches)


def output_matches(read, labels, message: str, hint: str) -> Callable[[Evidence], None]:
    """A property: the first result is the oracle's `right/0`, at every one of `labels`."""

    def holds(e: Evidence) -> None:
        for label in labels:
            same(
                e.expected(label)["right/0"],
                read(e, label)[0],
                e.tolerance(label),
                message,
                hint,
                ("position", "component"),
            )

    return holds


def refused(e: Evidence, label: str, what: str, numbers: tuple[int, ...] = ()) -> None:
    """The answer must raise a ValueError or TypeError whose message names `numbers`."""
    try:
        e.reply(label)
    except Wrong as raised:
        first = raised.message.splitlines()[0]
        if not first.startswith(("ValueError: ", "TypeError: ")):
            raise Wrong(
                f"{what} should raise a ValueError with your own message. It gives: {first}",
                "Check the sizes in the first lines, before you compute anything.",
            ) from None
        named = {int(n) for n in re.findall(r"\d+", first)}
        missing = [n for n in numbers if n not in named]
        if missing:
            raise Wrong(
                f"{what} raises an error, but its message does not name the number {missing[0]}: "
                f"{first}",
                "The person who reads the message needs to know which sizes do not fit.",
            ) from None
        return
    raise Wrong(
        f"{what} should raise a ValueError, but nothing is raised.",
        "Silent errors become NaN, or worse: numbers that look right.",
    )


def stays_and_repeats(e: Evidence, label: str, shapes, names) -> None:
    """Two calls agree, and they leave the arguments unchanged."""
    first = e.outputs(label, *shapes)
    second = e.outputs(label, *shapes, prefix="again")
    for one, other in zip(first, second):
        same(
            one,
            other,
            e.tolerance(label),
            "Two calls on the same input give different results.",
            "Create layers in __init__, not in forward. Nothing should be random here.",
        )
    keeps_nothing(e, label, shapes)
    for index, name in enumerate(names):
        given = e.args(label)[index]
        if given is not None and differ(
            np.asarray(given, float),
            e.array(label, f"after{index}", given.shape),
            e.tolerance(label),
        ):
            raise Wrong(
                f"Your code changes its input `{name}`.",
                "Operations that end in an underscore, += and index assignment change in place.",
            )


def keeps_nothing(e: Evidence, label: str, shapes) -> None:
    """A call with inputs of other sizes does not change the next result."""
    if "other" not in e.options(label):
        return
    hint = (
        "What does forward store, on `self` or elsewhere? A mask or positions only fit the sizes "
        "of one call."
    )
    if "later_error" in e.reply(label).notes:
        first = e.reply(label).notes["later_error"].splitlines()[0]
        raise Wrong(
            f"After a call with a shorter input, the next one raises an error: {first}", hint
        )
    later = e.outputs(label, *shapes, prefix="later")
    for one, other in zip(e.outputs(label, *shapes), later):
        same(
            one,
            other,
            e.tolerance(label),
            "After a call with a shorter input, the result is different: something is kept.",
            hint,
        )


def slopes_match(e: Evidence, label: str, names) -> None:
    """The gradients at the arguments, each along a direction drawn at random, are right."""
    reply = e.reply(label)
    if "gradient_error" in reply.notes:
        raise Wrong(
            "No gradient flows back from the output.",
            "detach(), no_grad(), .data, .item() and NumPy cut the graph.",
        )
    wanted = e.expected(label)["slopes"]
    for index, name in enumerate(names):
        direction = e.options(label)["directions"][index]
        gradient = e.array(label, f"grad{index}", direction.shape)
        got = float((gradient * direction).sum())
        scale = max(1.0, abs(float(wanted[index])))
        if abs(got - wanted[index]) > 100 * e.tolerance(label) * scale:
            raise Wrong(
                f"The gradient that reaches `{name}` is wrong, though the values may be right.",
                "Is part of the computation detached, or under no_grad()?",
            )


def returned(e: Evidence, label: str) -> list[np.ndarray] | None:
    """What the student's code returned, whatever its shape; None if it raised an error."""
    try:
        reply = e.reply(label)
    except Wrong:
        return None
    return [reply.arrays[f"out{i}"] for i in range(int(reply.notes["out_count"]))]


def fits_everywhere(read=returned, leave_out: str = "bad", tolerance: float = 1e-4):
    """Whether the arrays of all questions are those that some mistakes give.

    `read(evidence, label)` gives the student's arrays. Questions with a label that starts with
    `leave_out` ask for a refusal, and reveal nothing about values.
    """

    def fits(e: Evidence, mistakes: Mistakes) -> bool:
        return all(
            e.agrees(label, mistakes, read(e, label), tolerance)
            for label in e.labels()
            if not label.startswith(leave_out)
        )

    return fits


def cut_off(label: str, names) -> Misconception:
    """All values are right, and the gradients are not."""

    def matches(e: Evidence) -> bool:
        fits = e.exercise.fits
        if fits is None or not fits(e, RIGHT):
            return False
        try:
            slopes_match(e, label, names)
        except Wrong:
            return True
        return False

    return Misconception(
        "graph-cut",
        "The values are right, but part of the computation is cut off from the gradient.",
        "detach(), no_grad(), .data and .item() prevent learning. Remove them.",
        matches,
    )


def gradients_match(e: Evidence, label: str, names, expected, slack: float = 20) -> None:
    """The gradients at the arguments equal those `expected`, and some parameter gets one."""
    reply = e.reply(label)
    if "gradient_error" in reply.notes:
        raise Wrong(
            "No gradient flows back from the output.",
            "detach(), no_grad(), .data, .item() and NumPy cut the graph; so does writing into "
            "a tensor that was already used.",
        )
    for index, (name, wanted) in enumerate(zip(names, expected)):
        same(
            wanted,
            e.array(label, f"grad{index}", wanted.shape),
            slack * e.tolerance(label),
            f"The gradient that reaches `{name}` is wrong, though the values are right.",
            "Is part of the computation detached, or under no_grad()?",
        )
    if reply.notes.get("parameters_reached", "0") == "0":
        raise Wrong("No parameter gets a gradient, so nothing would be learned.")


def input_changed(e: Evidence, label: str) -> bool:
    """Whether a tensor that was passed to the answer has changed after the call."""
    reply = e.reply(label)
    return any(
        differ(given, reply.arrays[f"after{i}"], 1e-6)
        for i, given in enumerate(e.args(label))
        if isinstance(given, np.ndarray)
    )


def changes_its_input(label: str = "main") -> Misconception:
    return Misconception(
        "changes-its-input",
        "Your code changes the tensors that it is given.",
        "Use z = z / 2, not z /= 2, and no functions that end in an underscore.",
        lambda e: input_changed(e, label),
        beside=True,
    )


def dropout(label: str = "main") -> Misconception:
    def matches(e: Evidence) -> bool:
        arrays = e.reply(label).arrays
        zeros = any((arrays[f"out{i}"] == 0).any() for i in (0, 1))
        return zeros and any(calls_differ(e, label, i) for i in (0, 1))

    return Misconception(
        "dropout",
        "Dropout is active: some numbers are zero, and different ones in each call.",
        "This module has no dropout.",
        matches,
        beside=True,
    )


def evaluation_is_still(read, labels):
    """A property: after eval() dropout has no effect."""

    def holds(e: Evidence) -> None:
        for label in labels:
            read(e, label)
            if calls_differ(e, label, 0):
                raise Wrong(
                    "After eval(), two calls with the same input differ: dropout is still active.",
                    "nn.Dropout obeys eval(), but F.dropout needs training=self.training.",
                )
            same(
                e.expected(label)["right/0"],
                read(e, label)[0],
                e.tolerance(label),
                "After eval() the output is wrong.",
                "In evaluation mode, dropout does nothing, and nothing else changes.",
                ("position", "component"),
            )

    return holds


def dropout_in_evaluation(label: str) -> Misconception:
    return Misconception(
        "dropout-in-evaluation",
        "Dropout is still active after eval(): each call gives different numbers.",
        "nn.Dropout obeys eval(), but F.dropout needs training=self.training.",
        lambda e: calls_differ(e, label, 0),
        beside=True,
    )


def calls_differ(e: Evidence, label: str, index: int) -> bool:
    arrays = e.reply(label).arrays
    one, other = arrays[f"out{index}"], arrays[f"again{index}"]
    return bool(np.isfinite(one).all() and np.isfinite(other).all() and differ(one, other, 1e-4))


def new_layers_each_call(what: str, index: int, label: str = "main") -> Misconception:
    """`what` differs between two equal calls, and neither dropout nor a changed input explains it."""

    def matches(e: Evidence) -> bool:
        dropped = (e.reply(label).arrays[f"out{index}"] == 0).any()
        return calls_differ(e, label, index) and not dropped and not input_changed(e, label)

    return Misconception(
        "new-layers-each-call",
        f"{what} changes from call to call, because forward creates a new layer each time.",
        "Create layers in __init__ and keep them in self; forward only uses them.",
        matches,
        beside=True,
    )


def graph_cut(label: str, names, gradients) -> Misconception:
    """All values are right; `gradients(e)`, which should reach the arguments, does not."""

    def matches(e: Evidence) -> bool:
        fits = e.exercise.fits
        if fits is None or not fits(e, RIGHT):
            return False
        try:
            gradients_match(e, label, names, gradients(e), slack=1000)
        except Wrong:
            return True
        return False

    return Misconception(
        "graph-cut",
        "The values are right, but part of the computation is cut off from the gradient.",
        "detach(), no_grad(), .data and .item() prevent learning. Remove them.",
        matches,
    )


def batch_of_one_lost(labels, read) -> Misconception:
    """Everything works except inputs with an axis of size one."""

    def matches(e: Evidence) -> bool:
        read(e, "main")
        try:
            for label in labels:
                read(e, label)
        except Wrong:
            return True
        return False

    return Misconception(
        "batch-of-one-lost",
        "A batch or a length of one loses an axis.",
        "squeeze() without a number removes every axis of size one: name the axis.",
        matches,
    )
