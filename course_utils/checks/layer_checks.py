"""What the checks of functions and layers share: stored variants, gradients, refusals."""

import re

import numpy as np

from course_utils.checks.judge import Evidence, Misconception, Wrong, differ, same


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


def has_shape(label: str, output: int, shape) -> callable:
    """Whether the student's result has a shape that tells of a mistake."""

    def matches(e: Evidence) -> bool:
        return e.reply(label).arrays[f"out{output}"].shape == tuple(shape)

    return matches


def refused(e: Evidence, label: str, what: str, numbers: tuple[int, ...] = ()) -> None:
    """The answer must raise a ValueError or TypeError whose message names `numbers`."""
    try:
        e.reply(label)
    except Wrong as raised:
        first = raised.message.splitlines()[0]
        if not first.startswith(("ValueError: ", "TypeError: ")):
            raise Wrong(
                f"{what} should raise a ValueError with a sentence of yours. It gives: {first}",
                "Test the sizes in the first lines, before any mathematics.",
            ) from None
        named = {int(n) for n in re.findall(r"\d+", first)}
        missing = [n for n in numbers if n not in named]
        if missing:
            raise Wrong(
                f"{what} raises an error, but its message does not name the number {missing[0]}: "
                f"{first}",
                "Whoever reads the message wants to know which sizes do not fit.",
            ) from None
        return
    raise Wrong(
        f"{what} should raise a ValueError, and passes in silence.",
        "Silent errors become NaN, or worse: numbers that look right.",
    )


def stays_and_repeats(e: Evidence, label: str, shapes, names) -> None:
    """Two calls agree, and the arguments are afterwards what they were before."""
    first = e.outputs(label, *shapes)
    second = e.outputs(label, *shapes, prefix="again")
    for one, other in zip(first, second):
        same(
            one,
            other,
            e.tolerance(label),
            "Two calls on the same input give different results.",
            "Make layers in __init__, not in forward; and nothing random here.",
        )
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
                "Is a part of the computation detached, or under no_grad()?",
            )


def cut_off(label: str, names, right) -> callable:
    """The values are right, and the gradients are not."""

    def matches(e: Evidence) -> bool:
        right(e)
        try:
            slopes_match(e, label, names)
        except Wrong:
            return True
        return False

    return matches
