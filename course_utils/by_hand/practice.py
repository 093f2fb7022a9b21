"""Numbers for the pen-and-paper questions: the course's, fresh ones from a seed, or your own.

- `numbers()`: the course's own matrices
- `numbers(7)`: other matrices, the same for everyone who uses the seed 7
- `numbers_of("ada")`: matrices that belong to the student with that id
- `my_numbers(student_id)`: what a notebook works on, the course's or the student's own
- `practise("self-attention", 7)`: a question on fresh numbers, with hints and a worked solution
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from course_utils import register

DECIMALS = 3
# A number counts as right if it is off by at most one in the last decimal asked for.
TOLERANCE = 1.001 * 10.0**-DECIMALS
POINTS = "If you wrote decimal commas, use points: 2.5, not 2,5."
_LEAST_WEIGHT, _MOST_WEIGHT = 0.004, 0.93


@dataclass(frozen=True, eq=False)
class Numbers:
    """All matrices that the questions need. Rows are tokens; only the A matrices multiply columns."""

    X: np.ndarray  # 4 tokens of size 3
    q: np.ndarray  # one query of size 3
    W_Q: np.ndarray  # head 1: 3 by 2 each
    W_K: np.ndarray
    W_V: np.ndarray
    W_Q2: np.ndarray  # head 2: all ones
    W_K2: np.ndarray
    W_V2: np.ndarray
    W_O: np.ndarray  # 4 by 3
    h: np.ndarray  # three hidden states of size 2, one per row
    A_q: np.ndarray  # 2 by 2 each, for columns: q = A_q h
    A_k: np.ndarray
    A_v: np.ndarray


def _as_numbers(**matrices) -> Numbers:
    found = {name: np.array(values, dtype=float) for name, values in matrices.items()}
    for name in ("W_Q2", "W_K2", "W_V2"):
        found.setdefault(name, np.ones((3, 2)))
    for array in found.values():
        array.setflags(write=False)
    return Numbers(**found)


COURSE = _as_numbers(
    X=[[-2, 1, 0.5], [1, 1.5, -0.5], [-1.5, 1, -0.5], [-2, -2.5, 1.5]],
    q=[-2, 1, -1],
    W_Q=[[1, -1.5], [0, 2], [-0.5, -1]],
    W_K=[[-1.5, -1], [2.5, 0], [0.5, -1]],
    W_V=[[1, 2.5], [-0.5, -2], [0, -1]],
    W_O=[[-1, 1.5, 2], [0, -1, -2], [1, -1.5, 0], [2, 0, 1]],
    h=[[5, 1], [4, 3], [-2, 6]],
    A_q=[[1, 0], [2, 9]],
    A_k=[[0, 1], [6, 0]],
    A_v=[[4, 3], [9, 1]],
)


def numbers(seed: int | None = None) -> Numbers:
    """The course's numbers, or fresh ones drawn from a seed."""
    return COURSE if seed is None else _draw(np.random.default_rng(int(seed)))


def numbers_of(student: str | None) -> Numbers:
    """The numbers that belong to a student's id, or the course's if there is no id."""
    name = plain_id(student)
    if not name:
        return COURSE
    digest = hashlib.sha256(f"attention by hand: {name}".encode()).digest()
    return _draw(np.random.default_rng(list(digest)))


def own_numbers() -> bool:
    """Whether every student gets their own numbers for the graded questions.

    The switch is `own_numbers = true` under `[course]` in the register, which students and the
    grader share.
    """
    return bool(register.setting("own_numbers", False))


def my_numbers(student_id: str = "") -> Numbers:
    """The numbers that are graded: the course's, or the student's own if that is switched on."""
    if not own_numbers():
        return COURSE
    if not plain_id(student_id):
        _show(
            "Every student has different numbers here: put your id into `student_id`, between the quotes."
        )
    return numbers_of(student_id)


def plain_id(student: str | None) -> str:
    """An id without accidental differences: surrounding spaces and capital letters."""
    return (student or "").strip().casefold()


def _draw(rng: np.random.Generator) -> Numbers:
    """Draw until the numbers make a good question: easy halves, and no saturated softmax."""

    def halves(*shape: int) -> np.ndarray:
        return rng.integers(-4, 5, shape) / 2

    while True:
        X, q = halves(4, 3), halves(3)
        distinct = len(np.unique(X, axis=0)) == 4 and np.abs(q).min() > 0
        if distinct and _good_weights(X @ q / np.sqrt(3)):
            break
    while True:
        W_Q, W_K, W_V = halves(3, 2), halves(3, 2), halves(3, 2)
        scores = X @ W_Q @ (X @ W_K).T
        good = [_good_weights(row / np.sqrt(2)) for row in scores]
        if sum(good) >= 3 and not _symmetric(scores) and len(np.unique(X @ W_V, axis=0)) == 4:
            break
    while True:
        W_O = halves(4, 3)
        if np.linalg.matrix_rank(W_O) == 3 and np.abs(W_O).sum(axis=1).min() > 0:
            break
    while True:
        h = rng.integers(-5, 7, (3, 2)).astype(float)
        A_q, A_k, A_v = (rng.integers(0, 10, (2, 2)).astype(float) for _ in range(3))
        scores = (A_k @ h.T).T @ (A_q @ h[1])
        apart = np.diff(np.sort(scores)).min() > 5
        tilted = all(np.abs(A - A.T).max() > 1 for A in (A_q, A_k, A_v))
        if apart and tilted and np.abs(h).min() > 0 and scores.argmax() != 1:
            break
    return _as_numbers(X=X, q=q, W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=W_O, h=h, A_q=A_q, A_k=A_k, A_v=A_v)


def _good_weights(scores: np.ndarray) -> bool:
    weights = shares_of(scores)
    return weights.min() > _LEAST_WEIGHT and weights.max() < _MOST_WEIGHT and np.ptp(weights) > 0.1


def _symmetric(scores: np.ndarray) -> bool:
    return np.abs(scores - scores.T).max() < 1.5


def shares_of(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# ---- the questions, step by step --------------------------------------------


@dataclass(frozen=True)
class Step:
    """One line of a worked solution: a name, what to do, the first number in full, the result."""

    name: str
    latex: str
    hint: str
    first: str
    array: np.ndarray
    asked: bool = True  # whether the question asks for this array


def _sum_of_products(left: np.ndarray, right: np.ndarray) -> str:
    return " + ".join(f"({_short(a)})({_short(b)})" for a, b in zip(left, right))


def _dot_line(left: np.ndarray, right: np.ndarray) -> str:
    return f"{_sum_of_products(left, right)} = {_short(float(np.dot(left, right)))}"


def _share_line(scores: np.ndarray) -> str:
    powers = np.exp(scores)
    bottom = " + ".join(_short(p) for p in powers)
    return rf"\frac{{{_short(powers[0])}}}{{{bottom}}} = {_short(powers[0] / powers.sum())}"


def _single_query(n: Numbers) -> list[Step]:
    raw = n.X @ n.q
    scores = raw / np.sqrt(3)
    weights = shares_of(scores)
    output = weights @ n.X
    return [
        Step(
            "raw",
            r"X q",
            "Take the dot product of the query with each row of X: multiply entry by entry, then add.",
            _dot_line(n.X[0], n.q),
            raw,
            asked=False,
        ),
        Step(
            "scores",
            r"\frac{X q}{\sqrt{d}}",
            "Divide by the square root of d. The query has 3 entries, so d = 3.",
            rf"\frac{{{_short(raw[0])}}}{{\sqrt{{3}}}} = {_short(scores[0])}",
            scores,
        ),
        Step(
            "probabilities",
            r"\mathrm{softmax}(\text{scores})",
            "Take exp of each score, then divide by the sum of all four.",
            _share_line(scores),
            weights,
        ),
        Step(
            "output",
            r"\sum_s \alpha_s\, x_s",
            "Multiply each row of X by its probability, and add the rows.",
            _dot_line(weights, n.X[:, 0]),
            output,
        ),
    ]


def _head(n: Numbers, suffix: str = "") -> dict[str, np.ndarray]:
    Q, K, V = (n.X @ getattr(n, f"W_{name}{suffix}") for name in "QKV")
    P = shares_of(Q @ K.T / np.sqrt(2))
    return {"Q": Q, "K": K, "V": V, "S": Q @ K.T / np.sqrt(2), "P": P, "Z": P @ V}


def _projection_steps(n: Numbers, head: dict, suffix: str = "", asked: bool = True) -> list[Step]:
    number = "_2" if suffix else ""
    return [
        Step(
            f"{letter}{suffix}",
            rf"X W_{letter}" + ("^{(2)}" if suffix else ""),
            f"Take the dot product of each row of X with each column of W_{letter}{suffix}.",
            _dot_line(n.X[0], getattr(n, f"W_{letter}{suffix}")[:, 0]),
            head[letter],
            asked,
        )
        for letter in "QKV"
    ] + [
        Step(
            f"S{suffix}",
            rf"\frac{{Q{number} K{number}^\top}}{{\sqrt{{d}}}}",
            "Row i, column j: the dot product of query i and key j, divided by the square root "
            "of d. Queries have 2 entries, so d = 2.",
            rf"\frac{{{_sum_of_products(head['Q'][0], head['K'][0])}}}{{\sqrt{{2}}}}"
            f" = {_short(head['S'][0, 0])}",
            head["S"],
            asked=False,
        ),
        Step(
            f"P{suffix}",
            rf"\mathrm{{softmax}}(S{number})",
            "The softmax runs along each row: take exp of each score, and divide by the sum of its row.",
            _share_line(head["S"][0]),
            head["P"],
            asked,
        ),
        Step(
            f"Z{suffix}",
            rf"P{number} V{number}",
            "Each row of P mixes the rows of V.",
            _dot_line(head["P"][0], head["V"][:, 0]),
            head["Z"],
            asked,
        ),
    ]


def _self_attention(n: Numbers) -> list[Step]:
    return _projection_steps(n, _head(n))


def _two_heads(n: Numbers) -> list[Step]:
    first, second = _head(n), _head(n, "2")
    both = np.concatenate([first["Z"], second["Z"]], axis=1)
    total = both @ n.W_O
    return [
        Step(
            "Z",
            r"\text{head 1}",
            "Head 1 is that of the self-attention question: take its Z.",
            _dot_line(first["P"][0], first["V"][:, 0]),
            first["Z"],
            asked=False,
        ),
        *_projection_steps(n, second, "2", asked=False),
        Step(
            "both",
            r"[Z, Z_2]",
            "Put the two outputs side by side: the two columns of Z, then the two of head 2.",
            f"[{', '.join(_short(v) for v in both[0])}]",
            both,
            asked=False,
        ),
        Step(
            "Z_total",
            r"[Z, Z_2]\, W_O",
            "Take the dot product of each row of [Z, Z2] with each column of W_O.",
            _dot_line(both[0], n.W_O[:, 0]),
            total,
        ),
    ]


def _columns(n: Numbers) -> list[Step]:
    query = n.A_q @ n.h[1]
    keys, values = n.h @ n.A_k.T, n.h @ n.A_v.T
    scores = keys @ query
    best = int(scores.argmax())
    return [
        Step(
            "q2",
            r"A_q h_2",
            "Each entry of q2 is the dot product of a row of A_q with the column h2.",
            _dot_line(n.A_q[0], n.h[1]),
            query,
            asked=False,
        ),
        Step(
            "keys",
            r"k_i = A_k h_i \text{, one per row}",
            "Do the same with A_k for each of h1, h2, h3.",
            _dot_line(n.A_k[0], n.h[0]),
            keys,
            asked=False,
        ),
        Step(
            "raw_scores",
            r"q_2^\top k_i",
            "Take the dot product of q2 with each key. These scores are not scaled.",
            _dot_line(query, keys[0]),
            scores,
        ),
        Step(
            "argmax_output",
            rf"v_{best + 1} = A_v h_{best + 1}",
            "Argmax gives weight 1 to the largest score and 0 to the rest, so only one value is left.",
            _dot_line(n.A_v[0], n.h[best]),
            values[best],
        ),
    ]


@dataclass(frozen=True)
class Question:
    """A pen-and-paper question: what it asks, which matrices it gives, how it is solved."""

    title: str
    task: str
    given: tuple[str, ...]
    steps: Callable[[Numbers], list[Step]]


QUESTIONS = {
    "single-query": Question(
        "One query",
        "Compute the scaled `scores` of q on the rows of X, the `probabilities` and the `output`.",
        ("X", "q"),
        _single_query,
    ),
    "self-attention": Question(
        "Self-attention",
        "Compute `Q`, `K`, `V`, the probabilities `P` and the output `Z`.",
        ("X", "W_Q", "W_K", "W_V"),
        _self_attention,
    ),
    "two-heads": Question(
        "Two heads",
        "Add a second head and W_O, and compute `Z_total`.",
        ("X", "W_Q", "W_K", "W_V", "W_Q2", "W_K2", "W_V2", "W_O"),
        _two_heads,
    ),
    "columns": Question(
        "Columns",
        "Compute the `raw_scores` of query 2, and `argmax_output`, the output with argmax "
        "instead of softmax. Vectors are columns here: q = A_q h.",
        ("h", "A_q", "A_k", "A_v"),
        _columns,
    ),
}


def question(name: str) -> Question:
    if name not in QUESTIONS:
        raise ValueError(f"There is no question {name!r}. Choose one of {', '.join(QUESTIONS)}.")
    return QUESTIONS[name]


def solve(name: str, given: Numbers) -> dict[str, np.ndarray]:
    """The arrays that a question asks for."""
    return {step.name: step.array for step in question(name).steps(given) if step.asked}


# ---- practising --------------------------------------------------------------


@dataclass
class Practice:
    """A question on fresh numbers. Ask for `.hint()`, `.check(...)` or `.solution()`."""

    name: str
    seed: int
    numbers: Numbers
    hints_given: int = field(default=0)

    @property
    def question(self) -> Question:
        return question(self.name)

    def hint(self) -> None:
        """The next hint: first what to do, then the first number in full."""
        steps = self.question.steps(self.numbers)
        step, detail = divmod(self.hints_given, 2)
        if step >= len(steps):
            _show("No more hints: `.solution()` shows every step.")
            return
        self.hints_given += 1
        found = steps[step]
        place = f"**Step {step + 1} of {len(steps)}: {_words(found.name)}.** "
        _show(place + (found.hint if not detail else f"The first number: ${found.first}$"))

    def check(self, **answers) -> None:
        """Check what you have, by name, as in `.check(Z=[[...], ...])`."""
        right = solve(self.name, self.numbers)
        unknown = sorted(set(answers) - set(right))
        if unknown or not answers:
            raise ValueError(
                f"This question asks for {', '.join(right)}. Give them by name, as in "
                f".check({next(iter(right))}=...)."
            )
        lines = []
        for name, answer in answers.items():
            problem = what_is_off(right[name], answer)
            lines.append(f"- ✗ `{name}`: {problem}" if problem else f"- ✓ `{name}`")
        _show("\n".join(lines))

    def solution(self) -> None:
        """Every step with its numbers."""
        parts = []
        for place, step in enumerate(self.question.steps(self.numbers), 1):
            parts.append(f"**Step {place}: {_words(step.name)}.** {step.hint}")
            parts.append(f"The first number: ${step.first}$")
            parts.append(f"$${step.latex} = {latex(step.array)}$$")
        _show("\n\n".join(parts))

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        given = {name: getattr(self.numbers, name) for name in self.question.given}
        head = f"**{self.question.title}, numbers from seed {self.seed}.** {self.question.task}"
        return {
            "text/markdown": f"{head}\n\n{_matrices(given)}",
            "text/plain": f"{head}\n{_plain(given)}",
        }


def practise(name: str, seed: int) -> Practice:
    """A question on fresh numbers: "single-query", "self-attention", "two-heads", "columns"."""
    question(name)
    return Practice(name, int(seed), numbers(seed))


def what_is_off(expected: np.ndarray, answer, tolerance: float = TOLERANCE) -> str:
    """Why an answer is not the expected array, without giving it away; empty if it is right."""
    try:
        got = np.array(answer, dtype=float)
    except (TypeError, ValueError):
        return "this is not a table of numbers yet. Is a number missing, or a row too short?"
    if got.shape != expected.shape and got.squeeze().shape == expected.shape:
        got = got.squeeze()
    if got.shape != expected.shape:
        split = got.ndim == expected.ndim and got.size > expected.size
        more = f" {POINTS}" if split and (got == np.round(got)).all() else ""
        return f"this should be {_size(expected)}, but it is {_size(got)}.{more}"
    off = ~(np.abs(got - expected) <= tolerance)
    if not off.any():
        return ""
    first = tuple(int(i) for i in np.argwhere(off)[0])
    place = (
        f"number {first[0] + 1}"
        if len(first) == 1
        else f"row {first[0] + 1}, column {first[1] + 1}"
    )
    return (
        f"{off.size - int(off.sum())} of {off.size} numbers are right. "
        f"Look at {place}: you have {float(got[first]):.6g}."
    )


def _size(array: np.ndarray) -> str:
    """The size of a vector or table in words; a single number may come as a list of one."""
    if array.size == 1:
        return "one number"
    count = f"{array.shape[-1]} number{'s' * (array.shape[-1] != 1)}"
    if array.ndim == 1:
        return f"a list of {count}"
    return f"{len(array)} rows of {count}" if array.ndim == 2 else f"lists nested {array.ndim} deep"


def show(**matrices) -> None:
    """Show matrices by name, as in `show(X=X, q=q)`."""
    found = {name: np.asarray(values, dtype=float) for name, values in matrices.items()}
    _show(_matrices(found), _plain(found))


def latex(array: np.ndarray) -> str:
    """A vector or matrix for a formula. A vector is written as a row."""
    rows = np.atleast_2d(np.asarray(array, dtype=float))
    body = r" \\ ".join(" & ".join(_short(v) for v in row) for row in rows)
    return rf"\begin{{bmatrix}} {body} \end{{bmatrix}}"


def _symbol(name: str) -> str:
    letter, _, rest = name.partition("_")
    if not rest:
        return letter
    if rest.endswith("2") and rest != "2":  # W_Q2 is head 2's W_Q; Z_2 is the second Z
        return rf"{letter}_{rest[:-1]}^{{(2)}}"
    return rf"{letter}_{{{rest}}}"


def _matrices(found: dict[str, np.ndarray]) -> str:
    # One formula each, so that a narrow page can break the line between two matrices.
    return r" &emsp; ".join(f"${_symbol(n)} = {latex(a)}$" for n, a in found.items())


def _plain(found: dict[str, np.ndarray]) -> str:
    return "\n".join(f"{name} =\n{np.array2string(a, precision=4)}" for name, a in found.items())


def _words(name: str) -> str:
    return {"raw": "the dot products", "both": "side by side"}.get(name, f"`{name}`")


def _short(value: float) -> str:
    """A number with at most four decimals, without trailing zeros; powers of ten if need be."""
    value = float(value)
    if value == int(value) and abs(value) < 1e7:
        return str(int(value))
    if abs(value) >= 1e4 or abs(value) < 5e-5:
        mantissa, _, power = f"{value:.2e}".partition("e")
        return rf"{mantissa} \cdot 10^{{{int(power)}}}"
    return f"{value:.4f}".rstrip("0").rstrip(".")


def _show(markdown: str, plain: str | None = None) -> None:
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ModuleNotFoundError:
        print(plain or markdown)
        return
    if get_ipython() is None:
        print(plain or markdown)
        return
    display({"text/markdown": markdown, "text/plain": plain or markdown}, raw=True)
