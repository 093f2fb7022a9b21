"""Functions written with loops or vector products: right numbers, and no product of matrices."""

from collections.abc import Callable

import numpy as np

from course_utils.checks.judge import Evidence, Misconception, Property, Wrong, differ, same

NUMBERS = "the numbers are those of the equations"
NO_PRODUCT = "no two matrices are multiplied with each other"
SMALL = "a sequence of one token works"
UNCHANGED = "two calls agree and the inputs stay as they were"

Shape = Callable[[Evidence, str], tuple[int, ...]]


def properties(shape: Shape, labels: tuple[str, ...], one_token: str) -> tuple[Property, ...]:
    """The properties of such a function; `shape` gives the output's shape for a question."""

    def numbers_match(e: Evidence) -> None:
        for label in labels:
            (got,) = e.outputs(label, shape(e, label))
            same(
                e.expected(label)["output"],
                got,
                e.tolerance(label),
                "The output is not what the equations give.",
                "Work out one row on paper and compare: scores, then weights, then the sum.",
                ("token", "component"),
            )

    def no_product(e: Evidence) -> None:
        for label in labels:
            seen = largest_product(e, label)
            if min(seen) > 1:
                raise Wrong(
                    f"Your code multiplies two matrices: {seen[0]} rows meet {seen[1]} columns.",
                    "Take one row at a time: loop over the tokens, and inside the loop multiply a "
                    "vector with a matrix or with another vector.",
                )

    def one_token_works(e: Evidence) -> None:
        try:
            (got,) = e.outputs(one_token, shape(e, one_token))
        except Wrong as wrong:
            raise Wrong(f"With one token: {wrong.message}", wrong.hint) from None
        same(
            e.expected(one_token)["output"],
            got,
            e.tolerance(one_token),
            "With one token, the output is wrong.",
        )

    def unchanged(e: Evidence) -> None:
        label = labels[0]
        first, second = (e.outputs(label, shape(e, label), prefix=p)[0] for p in ("out", "again"))
        same(first, second, e.tolerance(label), "Two calls on the same input differ.")
        for index, given in enumerate(e.args(label)):
            if differ(given, e.array(label, f"after{index}", given.shape), e.tolerance(label)):
                raise Wrong(
                    "Your function changes one of the tensors it is given.",
                    "Operations that end in an underscore, += and index assignment change in place.",
                )

    return (
        Property(NUMBERS, 4, numbers_match),
        # No points: what was multiplied is known only from the student's own process. The
        # answer still does not pass with products, and the student is told.
        Property(NO_PRODUCT, 0, no_product, needs=(NUMBERS,)),
        Property(SMALL, 0.5, one_token_works, needs=(NUMBERS,)),
        Property(UNCHANGED, 0.5, unchanged, needs=(NUMBERS,)),
    )


def largest_product(e: Evidence, label: str) -> tuple[int, int]:
    """The largest product of matrices that reached an operator, as (rows, columns)."""
    pairs = e.reply(label).arrays.get("products")
    if pairs is None or pairs.ndim != 2 or pairs.shape[1] != 2:
        raise Wrong("What your function multiplied could not be seen.")
    pair = max(pairs.tolist(), key=min, default=(0, 0))
    return int(pair[0]), int(pair[1])


def uses_product(shape: Shape, labels: tuple[str, ...]) -> Misconception:
    def matches(e: Evidence) -> bool:
        for label in labels:
            (got,) = e.outputs(label, shape(e, label))
            if differ(e.expected(label)["output"], got, 1e-3):
                return False
        return any(min(largest_product(e, label)) > 1 for label in labels)

    return Misconception(
        "matrix-product",
        "The numbers are right, but two matrices are multiplied with each other on the way.",
        "einsum, bmm, linear and broadcasting over all pairs count as well. Take one token at a "
        "time: for it, a vector times a matrix is fine.",
        matches,
    )


def named(shape: Shape, label: str, name: str, sentence: str, hint: str) -> Misconception:
    """A misconception whose arrays the oracle gives under the same name."""

    def matches(e: Evidence) -> bool:
        (got,) = e.outputs(label, shape(e, label))
        variant = e.expected(label).get(name)
        return variant is not None and not differ(variant, got, 1e-4)

    return Misconception(name, sentence, hint, matches)


def returned_parts(label: str, count: Callable[[Evidence], int]) -> Misconception:
    def matches(e: Evidence) -> bool:
        return int(e.reply(label).notes.get("out_count", "1")) == count(e)

    return Misconception(
        "list-of-rows",
        "Your function returns a list of rows, not one tensor.",
        "torch.stack(rows) makes a tensor of a list of vectors.",
        matches,
    )


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers small enough that no softmax saturates."""
    return rng.normal(0, 0.9, shape)
