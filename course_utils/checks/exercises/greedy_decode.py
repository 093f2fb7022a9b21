"""greedy_decode: take the most likely word at each step, row by row, until all have ended."""

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong
from course_utils.checks.layer_checks import fits_everywhere
from course_utils.checks.next_words import row_of
from course_utils.checks.wire import Ask

WORDS, ROWS = 9, 997
END = 3
TOKENS, AFTER_END = (
    "each row has the most likely tokens, given all tokens before",
    "a row that has ended is filled with `end`",
)


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = []
    starts = np.array([n for n in range(WORDS) if n != END])
    for label, B, max_length, eager in (
        ("main", 6, 14, 0.6),
        ("cut off", 3, 5, -9.0),
        ("one row", 1, 12, 0.8),
        ("at once", 3, 6, 9.0),
        ("begins with the end", 4, 8, 0.6),
    ):
        table = rng.standard_normal((ROWS, WORDS))
        table[:, END] += eager
        if label == "begins with the end":
            table[row_of([END], ROWS), END] -= 9  # it does not end at once
        table -= np.log(np.exp(table).sum(axis=1, keepdims=True))
        first = rng.permutation(starts)[:B]
        if label == "begins with the end":
            first[1] = END  # given, not written: the row has not ended
        options = {
            "target": "greedy_decode",
            "args": [first, END, max_length],
            "table": table,
            "max_calls": 60,
        }
        questions.append(Ask(label, "decode", options))
    return questions


def read(e: Evidence, label: str) -> list[np.ndarray]:
    """The student's tokens, a list of lists or a tensor, as an array [B, T]."""
    reply = e.reply(label)
    count = int(reply.notes.get("out_count", "0"))
    if count == 1 and "out0" in reply.arrays:
        tokens = reply.arrays["out0"]
        if len(e.args(label)[0]) == 1 and tokens.ndim == 1:
            tokens = tokens[None]  # a list with one list in it arrives as that list
    elif count > 1 and all(f"out{i}" in reply.arrays for i in range(count)):
        rows = [reply.arrays[f"out{i}"].ravel() for i in range(count)]
        if len({len(row) for row in rows}) != 1:
            raise Wrong(
                "The rows have different lengths.",
                "All rows of a tensor have the same length: fill finished ones with `end`.",
            )
        tokens = np.stack(rows)
    else:
        raise Wrong(
            f"It should return a tensor of tokens [B, T], but it returns "
            f"{reply.notes.get('out0', 'something else')}."
        )
    if tokens.ndim != 2:
        raise Wrong(
            f"The tokens should have the shape [B, T], but they have {list(tokens.shape)}.",
            "torch.stack(list_of_steps, dim=1) puts the steps side by side.",
        )
    return [tokens.astype(float)]


def up_to_end(row: np.ndarray) -> np.ndarray:
    ends = np.flatnonzero(row == END)
    return row[: ends[0] + 1] if len(ends) else row


def tokens_match(e: Evidence) -> None:
    for label in e.labels():
        expected, (got,) = e.expected(label)["right/0"], read(e, label)
        if len(got) != len(expected):
            raise Wrong(f"There should be {len(expected)} rows, but there are {len(got)}.")
        for number, (one, other) in enumerate(zip(expected, got)):
            one, other = up_to_end(one), up_to_end(other)
            if one.shape != other.shape or (one != other).any():
                raise Wrong(
                    f"Row {number} should be {_words(one)}, but it is {_words(other)} "
                    f"(end is {END}, max_length is {e.args(label)[2]}).",
                    "Ask step about all the tokens so far, take the most likely one, append it.",
                )


def _words(row: np.ndarray) -> str:
    return " ".join(str(int(token)) for token in row) or "empty"


def filled_with_end(e: Evidence) -> None:
    for label in e.labels():
        expected, (got,) = e.expected(label)["right/0"], read(e, label)
        if got.shape != expected.shape:
            raise Wrong(
                f"The tokens should have the shape {list(expected.shape)}, "
                f"but they have {list(got.shape)}.",
                "The longest row sets the length; no row is longer than max_length.",
            )
        if (got != expected).any():
            raise Wrong(
                "A row that has ended is not filled with `end`.",
                "Remember which rows have ended, and write `end` there whatever step proposes.",
                expected,
                got,
                ("row", "step"),
            )


def stops(e: Evidence) -> None:
    for label in e.labels():
        expected, calls = e.expected(label)["right/0"], e.reply(label).arrays["calls"]
        steps = expected.shape[1]
        if len(calls) > steps:
            raise Wrong(
                f"step was called {len(calls)} times, but {steps} are enough.",
                "Stop as soon as every row has ended, and ask about all rows in one call.",
            )


exercise = Check(
    id="greedy-decode",
    asks=asks,
    properties=(
        Property(TOKENS, 1, tokens_match),
        Property(AFTER_END, 1, filled_with_end, needs=(TOKENS,)),
        # Calls are counted beside the student's code, where they could be made up: no points.
        Property("it stops when all rows have ended", 0, stops, needs=(TOKENS,)),
    ),
    misconceptions=(
        Misconception(
            "keeps-the-first-token",
            "The result begins with the tokens in `first`, which were given and not written.",
            "Return only what was written.",
        ),
        Misconception(
            "last-token-only",
            "step is asked about the last token only.",
            "It needs the whole prefix, [B, t]: it remembers nothing between calls.",
        ),
        Misconception(
            "least-likely",
            "You take the least likely token.",
            "Log-probabilities are negative, and the largest one is the best.",
        ),
        Misconception(
            "stops-with-the-first",
            "All rows stop as soon as one of them has ended.",
            "Continue until every row has ended.",
        ),
        Misconception(
            "writes-on-after-the-end",
            "Rows that have ended keep writing.",
            "Remember which rows have ended, and write `end` there.",
        ),
        Misconception(
            "padded-with-zero", "Rows that have ended are filled with 0.", "Fill them with `end`."
        ),
        Misconception(
            "one-step-short",
            "It stops one step before max_length.",
            "max_length counts the written tokens, without `first`.",
        ),
        Misconception(
            "one-step-long",
            "It writes one token more than max_length.",
            "max_length counts the written tokens.",
        ),
    ),
    choices=(
        (
            "writes-on-after-the-end",
            "stops-with-the-first",
            "padded-with-zero",
        ),
        ("keeps-the-first-token",),
        (
            "last-token-only",
            "least-likely",
        ),
        (
            "one-step-short",
            "one-step-long",
        ),
    ),
    fits=fits_everywhere(read),
)
