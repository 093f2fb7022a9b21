"""Eight goals for the attention editor, each with a distance that shrinks to nothing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from .attention_state import COOLEST, HOTTEST, Setup, compute, make_setup
from .numbers import LARGEST, literal
from .presets import KEYS, LAMBDAS, VALUES

DRAWS = 200
_VARIANCE = 0.1
ANSWERS = "challenge_answers"  # the dict in which a student hands the answers in


@dataclass(frozen=True)
class ChallengeResult:
    """How far a setup is from the goal, and the arrays for a graded answer."""

    challenge: str
    distance: float
    tolerance: float
    answer: dict

    @property
    def solved(self) -> bool:
        return self.distance <= self.tolerance

    def line(self) -> str:
        """The answer as a line of code for the graded cell: numbers and nothing else."""
        parts = ", ".join(f'"{name}": {literal(value)}' for name, value in self.answer.items())
        return f'{ANSWERS}["{self.challenge}"] = {{{parts}}}'


@dataclass(frozen=True)
class Challenge:
    """A goal: where it starts, what may be changed, and how far a setup is from it."""

    name: str
    title: str
    goal: str
    may_edit: tuple[str, ...]
    start: Callable[[], Setup]
    distance: Callable[[Setup], float]
    tolerance: float = 0.01

    @property
    def may_edit_words(self) -> str:
        words = {"mask": "the mask", "temperature": "the temperature", "Q2": "Q of head 2"}
        return " and ".join(words.get(name, name) for name in self.may_edit)

    def begin(self) -> Setup:
        return replace(self.start(), challenge=self.name)

    def judge(self, setup: Setup) -> ChallengeResult:
        answer: dict[str, np.ndarray | float] = {}
        for name in self.may_edit:
            if name == "mask":
                answer[name] = setup.allowed.copy()
            elif name == "temperature":
                answer[name] = setup.temperature
            else:
                answer[name] = setup.matrices[name].copy()
        return ChallengeResult(self.name, float(self.distance(setup)), self.tolerance, answer)


def _largest_gap(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(found - wanted).max())


def _copy_one(setup: Setup) -> float:
    return _largest_gap(compute(setup).output[0], VALUES[2])


def _average_two(setup: Setup) -> float:
    return _largest_gap(compute(setup).output[1], (VALUES[0] + VALUES[2]) / 2)


def _copy_everywhere(setup: Setup) -> float:
    return _largest_gap(compute(setup).output, VALUES[3])


def _mean_of_all(setup: Setup) -> float:
    return _largest_gap(compute(setup).output, VALUES.mean(axis=0))


def _running_mean(setup: Setup) -> float:
    steps = np.arange(1, len(VALUES) + 1)[:, None]
    return _largest_gap(compute(setup).output, VALUES.cumsum(axis=0) / steps)


def _half(setup: Setup) -> float:
    return abs(float(compute(setup).heads[0].weights[0].max()) - 0.5)


def _look_back(setup: Setup) -> float:
    found = setup.matrices["X"]
    return _largest_gap(compute(setup).output[1:], found[:-1])


@lru_cache(maxsize=1)
def noisy_keys() -> np.ndarray:
    """The keys of every draw, the same for everyone: what survives here survives the check."""
    factors = np.random.default_rng(4).normal(1.0, np.sqrt(_VARIANCE), (DRAWS, len(KEYS), 1))
    return factors * KEYS


def _survive_noise(setup: Setup) -> float:
    keys = noisy_keys()
    found = compute(setup, keys=(keys, keys)).output
    gaps = np.abs(found - (VALUES[0] + VALUES[1]) / 2).max(axis=(1, 2))
    return float(gaps.mean())


def _queries(rows: int) -> np.ndarray:
    return np.zeros((rows, KEYS.shape[1]))


def _start_fixed_queries() -> Setup:
    return make_setup(Q=[[2, 0, 1, 0], [1, 1, 0, 0], [3, -1, 0, 1]], K=KEYS, V=VALUES)


def _start_noise() -> Setup:
    noisy, half = LAMBDAS[:, None] * KEYS, np.eye(2) / 2
    return make_setup(
        Q=_queries(1),
        K=noisy,
        V=VALUES,
        Q2=_queries(1),
        K2=noisy,
        V2=VALUES,
        W_O=np.concatenate([half, half]),
    )


_ALL = (
    Challenge(
        "copy-one",
        "Copy one value",
        "Change Q so that row 1 of the output is v3, to within 0.01 in every number.",
        ("Q",),
        lambda: make_setup(Q=_queries(2), K=KEYS, V=VALUES),
        _copy_one,
    ),
    Challenge(
        "average-two",
        "The mean of two",
        "Change Q so that row 2 of the output is the mean of v1 and v3, to within 0.01.",
        ("Q",),
        lambda: make_setup(Q=_queries(2), K=KEYS, V=VALUES),
        _average_two,
    ),
    Challenge(
        "copy-everywhere",
        "One key for all",
        "The queries are fixed. Change K so that every row of the output is v4, to within 0.01.",
        ("K",),
        _start_fixed_queries,
        _copy_everywhere,
    ),
    Challenge(
        "mean-of-all",
        "The mean of all",
        "The queries are fixed. Change K so that every row of the output is the mean of all four values.",
        ("K",),
        _start_fixed_queries,
        _mean_of_all,
    ),
    Challenge(
        "running-mean",
        "A running mean",
        "Use only the mask: row t of the output must be the mean of the values v1 to vt.",
        ("mask",),
        lambda: make_setup(Q=_queries(4), K=KEYS, V=VALUES),
        _running_mean,
    ),
    Challenge(
        "half-weight",
        "Find the temperature",
        "Use only the temperature: the largest weight of row 1 must be 0.5, to within 0.01.",
        ("temperature",),
        lambda: make_setup(Q=6 * KEYS[1:2] + 2 * KEYS[2:3], K=KEYS, V=VALUES),
        _half,
    ),
    Challenge(
        "look-back",
        "Look one step back",
        "The rows of X are one-hot positions. Change W_Q so that rows 2, 3 and 4 of the output are "
        "rows 1, 2 and 3 of X, to within 0.01.",
        ("W_Q",),
        lambda: make_setup(X=np.eye(4), W_Q=np.zeros((4, 4)), W_K=np.eye(4), W_V=np.eye(4)),
        _look_back,
    ),
    Challenge(
        "two-heads-noise",
        "Two heads against the noise",
        "Each key is multiplied by noise (mean 1, variance 0.1). Change Q of both heads so that "
        f"the output stays at the mean of v1 and v2, with a mean error of at most 0.05 over {DRAWS} "
        "draws.",
        ("Q", "Q2"),
        _start_noise,
        _survive_noise,
        0.05,
    ),
)

CHALLENGES = {challenge.name: challenge for challenge in _ALL}


def challenge_setup(name: str, **answer) -> Setup:
    """A challenge as it starts, with an answer filled in; what the answer leaves out stays."""
    if name not in CHALLENGES:
        raise ValueError(f"There is no challenge {name!r}. Choose one of {', '.join(CHALLENGES)}.")
    challenge = CHALLENGES[name]
    if not set(answer) <= set(challenge.may_edit):
        raise ValueError(f"The challenge {name!r} takes {', '.join(challenge.may_edit)}.")
    setup = challenge.begin()
    for what, value in answer.items():
        if what == "temperature":
            if not COOLEST <= float(value) <= HOTTEST:
                raise ValueError(f"The temperature must be between {COOLEST} and {HOTTEST:g}.")
            setup = replace(setup, temperature=float(value))
            continue
        wanted = setup.map_shape if what == "mask" else setup.matrices[what].shape
        array = np.array(value, dtype=bool if what == "mask" else float)
        if array.shape != wanted:
            raise ValueError(f"{what} must be {' by '.join(map(str, wanted))}.")
        if what == "mask":
            setup = replace(setup, mask="custom", seen=array)
        elif not np.isfinite(array).all() or np.abs(array).max() > LARGEST:
            raise ValueError(f"{what} has a number that is NaN or beyond {LARGEST:g}.")
        else:
            setup = replace(setup, matrices={**setup.matrices, what: array})
    return setup


def challenge_result(name: str, **answer) -> ChallengeResult:
    """Judge an answer without the editor: `challenge_result("copy-one", Q=[[...], [...]])`."""
    setup = challenge_setup(name, **answer)
    return CHALLENGES[name].judge(setup)
