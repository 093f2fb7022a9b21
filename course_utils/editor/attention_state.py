"""The state and the mathematics of the attention editor, without any picture."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from .history import History
from .numbers import LARGEST, BadNumber, exact, literal, parse_number

RULES = ("softmax", "argmax")
MASKS = ("none", "causal", "custom")
SMALLEST_SIZE, LARGEST_SIZE = 2, 8
COOLEST, HOTTEST = 0.01, 100.0

# The shape of each matrix, as names of sizes. "heads" is the head that it belongs to.
_SHAPES = {
    "X": ("tokens", "input"),
    "W_Q": ("input", "key"),
    "W_K": ("input", "key"),
    "W_V": ("input", "value"),
    "Q": ("queries", "key"),
    "K": ("keys", "key"),
    "V": ("keys", "value"),
    "W_O": ("both heads", "output"),
}
PROJECTED = ("W_Q", "W_K", "W_V")
DIRECT = ("Q", "K", "V")


def _base(name: str) -> str:
    return name.removesuffix("2")


@dataclass(frozen=True, eq=False)
class Setup:
    """Matrices and choices: everything that decides the numbers of the chain."""

    matrices: Mapping[str, np.ndarray]
    scale: bool = True
    rule: str = "softmax"
    temperature: float = 1.0
    mask: str = "none"
    seen: np.ndarray | None = None
    challenge: str | None = None
    origin: str = ""  # the preset that it started from

    @property
    def direct(self) -> bool:
        """True when Q, K and V are typed, False when X and its projections are."""
        return "X" not in self.matrices

    @property
    def heads(self) -> int:
        return 2 if "W_O" in self.matrices else 1

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes that can be chosen, by name."""
        found: dict[str, int] = {}
        for name, matrix in self.matrices.items():
            for size, length in zip(_SHAPES[_base(name)], matrix.shape):
                found.setdefault(size, length)
        found.pop("both heads", None)
        return found

    @property
    def map_shape(self) -> tuple[int, int]:
        """Queries by keys."""
        sizes = self.sizes
        tokens = sizes.get("tokens", 0)  # X has tokens; Q and K have queries and keys
        return sizes.get("queries", tokens), sizes.get("keys", tokens)

    @property
    def allowed(self) -> np.ndarray:
        """True where a query may see a key."""
        rows, columns = self.map_shape
        if self.mask == "causal":
            return np.tri(rows, columns, dtype=bool)
        if self.mask == "custom" and self.seen is not None:
            return self.seen
        return np.ones((rows, columns), dtype=bool)


@dataclass(frozen=True)
class Head:
    """The numbers of one head, stage by stage."""

    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    scores: np.ndarray
    scaled: np.ndarray
    masked: np.ndarray
    weights: np.ndarray
    output: np.ndarray


@dataclass(frozen=True)
class Chain:
    """All numbers that follow from a setup."""

    heads: tuple[Head, ...]
    output: np.ndarray
    hidden_rows: tuple[int, ...] = ()


def _head(setup: Setup, Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> Head:
    """One head; leading axes, as of many noisy draws of K, are allowed."""
    scores = Q @ np.swapaxes(K, -1, -2)
    scaled = scores / np.sqrt(K.shape[-1]) if setup.scale else scores
    masked = np.where(setup.allowed, scaled, -np.inf)
    top = masked.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    if setup.rule == "argmax":
        picked = masked.argmax(axis=-1)[..., None] == np.arange(masked.shape[-1])
        heights = (picked & setup.allowed).astype(float)
    else:
        heights = np.exp((masked - top) / setup.temperature)
    total = heights.sum(axis=-1, keepdims=True)
    # A row in which all keys are hidden has no weights: zeros, never 0 / 0.
    weights = np.divide(heights, total, out=np.zeros_like(heights), where=total > 0)
    return Head(Q, K, V, scores, scaled, masked, weights, weights @ V)


def compute(setup: Setup, keys: tuple[np.ndarray, ...] | None = None) -> Chain:
    """Scores, scaled, masked, weights and output of every head; `keys` may replace K."""
    found = setup.matrices
    heads = []
    for number, suffix in enumerate(("", "2")[: setup.heads]):
        if setup.direct:
            Q, K, V = (found[name + suffix] for name in DIRECT)
        else:
            Q, K, V = (found["X"] @ found[name + suffix] for name in PROJECTED)
        heads.append(_head(setup, Q, K if keys is None else keys[number], V))
    output = heads[0].output
    if setup.heads == 2:
        output = np.concatenate([head.output for head in heads], axis=-1) @ found["W_O"]
    hidden = tuple(np.flatnonzero(~setup.allowed.any(axis=1)).tolist())
    return Chain(tuple(heads), output, hidden)


def make_setup(
    *,
    scale: bool = True,
    rule: str = "softmax",
    temperature: float = 1.0,
    mask: str = "none",
    seen=None,
    **matrices,
) -> Setup:
    """A setup from lists or arrays, or ValueError with a sentence on what does not fit."""
    given = {name: value for name, value in matrices.items() if value is not None}
    arrays = {name: _array(name, given[name]) for name in _names_for(given)}
    _check_sizes(arrays)
    if rule not in RULES:
        raise ValueError(f"rule is {rule!r}; choose one of {', '.join(RULES)}.")
    if mask not in MASKS:
        raise ValueError(f"mask is {mask!r}; choose one of {', '.join(MASKS)}.")
    if not COOLEST <= temperature <= HOTTEST:
        raise ValueError(f"temperature is {temperature}; choose from {COOLEST} to {HOTTEST:g}.")
    setup = Setup(arrays, bool(scale), rule, float(temperature), mask)
    if seen is not None:
        seen = np.array(seen, dtype=bool)
        if seen.shape != setup.map_shape:
            raise ValueError(
                f"seen is {' by '.join(map(str, seen.shape))}, the attention map is "
                f"{' by '.join(map(str, setup.map_shape))}."
            )
        setup = replace(setup, seen=seen)
    return setup


def _names_for(given: Collection[str]) -> list[str]:
    """The names of the matrices that belong together, in order, or ValueError."""
    heads = 2 if "W_O" in given or any(name.endswith("2") for name in given) else 1
    direct = "X" not in given
    names = [] if direct else ["X"]
    letters = DIRECT if direct else PROJECTED
    names += [name + suffix for suffix in ("", "2")[:heads] for name in letters]
    names += ["W_O"] if heads == 2 else []
    missing, unknown = sorted(set(names) - set(given)), sorted(set(given) - set(names))
    if missing or unknown:
        raise ValueError(
            "Give Q, K and V, or X with W_Q, W_K and W_V; for a second head also "
            "the same names ending in 2, and W_O."
            + (f" Missing: {', '.join(missing)}." if missing else "")
            + (f" Not expected: {', '.join(unknown)}." if unknown else "")
        )
    return names


def _array(name: str, value) -> np.ndarray:
    array = np.array(value, dtype=float)
    if array.ndim != 2:
        raise ValueError(f"{name} must have rows and columns, as in [[1, 0], [0, 1]].")
    if not np.isfinite(array).all() or np.abs(array).max(initial=0) > LARGEST:
        raise ValueError(f"{name} has a number that is NaN or beyond {exact(LARGEST)}.")
    array.setflags(write=False)
    return array


def _check_sizes(arrays: Mapping[str, np.ndarray]) -> None:
    """ValueError where a matrix is too small or too large, or does not fit the others."""
    sizes: dict[str, int] = {}
    for name, array in arrays.items():
        is_now = f"{name} is {array.shape[0]} by {array.shape[1]}"
        for size, length in zip(_SHAPES[_base(name)], array.shape):
            smallest = 1 if size == "queries" else SMALLEST_SIZE
            largest = 2 * LARGEST_SIZE if size == "both heads" else LARGEST_SIZE
            if not smallest <= length <= largest:
                raise ValueError(f"{is_now}: sizes go from {smallest} to {largest}.")
            if sizes.setdefault(size, length) != length:
                raise ValueError(
                    f"{is_now}, which does not fit the other matrices: the size '{size}' is "
                    f"{sizes[size]} there."
                )
    if "W_O" in arrays and sizes["both heads"] != 2 * sizes["value"]:
        raise ValueError(
            f"W_O has {sizes['both heads']} rows; two heads with values of size "
            f"{sizes['value']} need {2 * sizes['value']}."
        )


def _fit(matrix: np.ndarray, rows: int, columns: int, fill: float = 0.0) -> np.ndarray:
    """The matrix with a new size: what fits is kept, new cells get the fill."""
    fitted = np.full((rows, columns), fill, dtype=matrix.dtype)
    r, c = min(rows, matrix.shape[0]), min(columns, matrix.shape[1])
    fitted[:r, :c] = matrix[:r, :c]
    fitted.setflags(write=False)
    return fitted


def _fit_output(matrix: np.ndarray, value: int, output: int) -> np.ndarray:
    # W_O has a block of rows for each head; each block is fitted, not the whole.
    return np.concatenate([_fit(half, value, output) for half in np.split(matrix, 2)])


@dataclass
class AttentionState:
    """What a student edits: a setup, its history, and the challenge they try."""

    history: History[Setup]
    solved: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._note_solved()

    @property
    def setup(self) -> Setup:
        return self.history.now

    @property
    def chain(self) -> Chain:
        return compute(self.setup)

    @property
    def challenge(self):
        from .challenges import CHALLENGES

        return CHALLENGES[self.setup.challenge] if self.setup.challenge else None

    def may_edit(self, what: str) -> bool:
        """False for whatever the current challenge keeps fixed."""
        return self.challenge is None or what in self.challenge.may_edit

    def _go(self, what: str, setup: Setup) -> None:
        if not self.may_edit(what):
            raise BadNumber(f"is fixed in this challenge: change {self.challenge.may_edit_words}.")
        self.history.go(setup)
        self._note_solved()

    def _note_solved(self) -> None:
        if self.challenge is not None:
            result = self.challenge.judge(self.setup)
            if result.solved:
                self.solved[result.challenge] = result

    def set_cell(self, name: str, row: int, column: int, typed: str) -> None:
        """Change one number; BadNumber leaves everything as it was."""
        value = parse_number(typed)
        matrix = self.setup.matrices[name].copy()
        if matrix[row, column] == value:
            return
        matrix[row, column] = value
        matrix.setflags(write=False)
        self._go(name, replace(self.setup, matrices={**self.setup.matrices, name: matrix}))

    def set_scale(self, on: bool) -> None:
        if on != self.setup.scale:
            self._go("scale", replace(self.setup, scale=on))

    def set_rule(self, rule: str) -> None:
        if rule not in RULES:
            raise ValueError(f"rule is {rule!r}; choose one of {', '.join(RULES)}.")
        if rule != self.setup.rule:
            self._go("rule", replace(self.setup, rule=rule))

    def set_temperature(self, typed: str) -> None:
        value = parse_number(typed, COOLEST, HOTTEST)
        if value != self.setup.temperature:
            self._go("temperature", replace(self.setup, temperature=value))

    def set_mask(self, mask: str) -> None:
        if mask not in MASKS:
            raise ValueError(f"mask is {mask!r}; choose one of {', '.join(MASKS)}.")
        if mask != self.setup.mask:
            # A custom mask starts from the mask that was there.
            seen = self.setup.allowed if mask == "custom" else self.setup.seen
            self._go("mask", replace(self.setup, mask=mask, seen=seen))

    def toggle(self, query: int, key: int) -> None:
        """Hide a key from a query, or show it again."""
        seen = self.setup.allowed.copy()
        seen[query, key] = not seen[query, key]
        self._go("mask", replace(self.setup, mask="custom", seen=seen))

    def set_heads(self, heads: int) -> None:
        if heads == self.setup.heads:
            return
        found = dict(self.setup.matrices)
        names = DIRECT if self.setup.direct else PROJECTED
        if heads == 2:
            sizes = self.setup.sizes
            found.update({name + "2": found[name] for name in names})
            # Starting from the mean of two equal heads leaves the output as it was.
            half = np.eye(sizes["value"]) / 2
            found["W_O"] = np.concatenate([half, half])
        else:
            for name in (*(n + "2" for n in names), "W_O"):
                del found[name]
        self._go("heads", replace(self.setup, matrices=found))

    def set_direct(self, direct: bool) -> None:
        """Type Q, K, V instead of X and its projections, or the other way round."""
        setup = self.setup
        if direct == setup.direct:
            return
        found: dict[str, np.ndarray] = {}
        if direct:
            for head, suffix in zip(self.chain.heads, ("", "2")):
                found.update({name + suffix: getattr(head, name) for name in DIRECT})
        else:
            # With X the identity, the projections are Q, K and V themselves.
            tokens = max(setup.map_shape)
            found["X"] = np.eye(tokens)
            for suffix in ("", "2")[: setup.heads]:
                for name in DIRECT:
                    matrix = setup.matrices[name + suffix]
                    found[f"W_{name}{suffix}"] = _fit(matrix, tokens, matrix.shape[1])
        if setup.heads == 2:
            found["W_O"] = setup.matrices["W_O"]
        changed = replace(setup, matrices=found)
        if setup.seen is not None:
            changed = replace(changed, seen=_fit(setup.seen, *changed.map_shape, fill=True))
        self._go("source", changed)

    def resize(self, size: str, length: int) -> None:
        """Change one size; numbers that still fit stay, new ones are 0."""
        setup, sizes = self.setup, self.setup.sizes
        smallest = 1 if size == "queries" else SMALLEST_SIZE
        if size not in sizes:
            raise ValueError(f"There is no size '{size}' here; there are {', '.join(sizes)}.")
        if not smallest <= length <= LARGEST_SIZE:
            raise ValueError(f"{size} goes from {smallest} to {LARGEST_SIZE}, not {length}.")
        if sizes[size] == length:
            return
        sizes[size] = length
        found = {}
        for name, matrix in setup.matrices.items():
            rows, columns = _SHAPES[_base(name)]
            if name == "W_O":
                found[name] = _fit_output(matrix, sizes["value"], sizes["output"])
            else:
                found[name] = _fit(matrix, sizes[rows], sizes[columns])
        changed = replace(setup, matrices=found)
        if setup.seen is not None:
            changed = replace(changed, seen=_fit(setup.seen, *changed.map_shape, fill=True))
        self._go("sizes", changed)

    def load(self, setup: Setup) -> None:
        """Start from another setup; undo leads back, reset returns here."""
        self.history.begin(setup)
        self._note_solved()

    def undo(self) -> None:
        self.history.undo()

    def redo(self) -> None:
        self.history.redo()

    def reset(self) -> None:
        self.history.reset()

    def code(self) -> str:
        """A cell that rebuilds this state."""
        setup = self.setup
        if self.challenge is not None:
            answer = self.challenge.judge(setup).answer
            lines = [f'    challenge="{setup.challenge}",']
            lines += [f"    {name}={literal(value)}," for name, value in answer.items()]
            return _cell(lines)
        lines = [f"    {name}={literal(matrix)}," for name, matrix in setup.matrices.items()]
        defaults = Setup({})
        for choice in ("scale", "rule", "temperature", "mask"):
            value = getattr(setup, choice)
            if value != getattr(defaults, choice):
                lines.append(f"    {choice}={value!r},")
        if setup.mask == "custom":
            lines.append(f"    seen={literal(setup.allowed)},")
        return _cell(lines)

    def answers_as_code(self) -> str:
        """A line for each challenge solved so far, for the answer cell of the notebook."""
        return "".join(f"{result.line()}\n" for result in self.solved.values())

    def result(self) -> dict:
        """The matrices, the choices and the numbers of the chain, as arrays."""
        setup, chain = self.setup, self.chain
        return {
            **{name: matrix.copy() for name, matrix in setup.matrices.items()},
            "scale": setup.scale,
            "rule": setup.rule,
            "temperature": setup.temperature,
            "mask": setup.allowed.copy(),
            "scores": np.stack([head.scores for head in chain.heads]),
            "weights": np.stack([head.weights for head in chain.heads]),
            "head_outputs": np.stack([head.output for head in chain.heads]),
            "output": chain.output.copy(),
        }


def _cell(lines: list[str]) -> str:
    body = "\n".join(lines)
    return (
        "from course_utils.widgets import attention_editor\n\n"
        f"editor = attention_editor(\n{body}\n)\neditor"
    )


def new_state(setup: Setup) -> AttentionState:
    """A state that starts from a setup."""
    return AttentionState(History(setup))
