"""The judge: draws the questions, and reaches a verdict from the arrays that came back.

An exercise is one small file in `course_utils/checks/exercises/`, which is never where a student's
code is graded. It gives:

    asks(rng)        the questions: labelled probes with inputs drawn from `rng`
    properties       what must hold, each worth some points, each a function of the evidence
                     that raises `Wrong` when it does not hold
    misconceptions   known mistakes, each a function of the evidence that decides whether the
                     arrays are what that mistake gives
    choices          optional: names of misconceptions in groups. One of each group can be made,
                     alone or together with one of another group, and `fits` decides whether
                     the arrays are what these mistakes give
    ways             optional: names of right ways with different arrays. What `fits` is asked
                     about then includes one of them besides the mistakes, and one must fit
                     everywhere
    oracle(ask)      optional: the right arrays for a question, by name. Where a loop would be
                     the answer itself, the file has none: the right arrays for the visible
                     seeds are stored (`stored/<id>.npz`), and whoever grades on other seeds
                     gives the judge its oracles (`use_oracles`).
"""

import importlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np

from course_utils import register
from course_utils.checks import crashes
from course_utils.checks.equations import remembered
from course_utils.checks.signatures import alike, signature
from course_utils.checks.wire import Ask, Reply

VISIBLE_SEEDS = (0, 1)
STORED = Path(__file__).with_name("stored")
# In a stored file: the combinations of mistakes by name, and for each question their signatures.
PREDICTED = "predicted"
TOGETHER = " + "
REMEMBERED_MISTAKES = 20_000
MOST_NAMED = 2
PLANS = 64


Oracle = Callable[[Ask], dict[str, np.ndarray]]


class NoOracle(LookupError):
    """The right arrays for a question are not stored and cannot be computed either."""


class Wrong(Exception):
    """A property does not hold: what is wrong, one hint, and what to draw side by side."""

    def __init__(
        self,
        message: str,
        hint: str = "",
        expected=None,
        got=None,
        axes: tuple[str, str] = ("", ""),
    ):
        super().__init__(message)
        self.message, self.hint, self.axes = message, hint, axes
        self.expected = None if expected is None else np.asarray(expected, dtype=float)
        self.got = None if got is None else np.asarray(got, dtype=float)


class Stopped(Wrong):
    """The code raised an error or is missing: nothing came back that could be judged."""


@dataclass(frozen=True)
class Property:
    """Something that must be true, in words, with the points it is worth.

    `needs` names properties without which this one earns nothing: an answer of zeros does not
    change its inputs either.
    """

    name: str
    points: float
    holds: Callable[["Evidence"], None]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Misconception:
    """A known mistake: its name, what it does in a sentence, and what to do about it.

    One that is among an exercise's `choices` needs no `matches`; if it has one, that is tried when
    no choice fits. One that is `beside` the values (such as a changed input) can be named together
    with another mistake.
    """

    name: str
    sentence: str
    hint: str
    matches: Callable[["Evidence"], bool] | None = None
    beside: bool = False


Mistakes = frozenset[str]
RIGHT: Mistakes = frozenset()


@dataclass(frozen=True)
class Check:
    id: str
    asks: Callable[[np.random.Generator], list[Ask]]
    properties: tuple[Property, ...]
    misconceptions: tuple[Misconception, ...] = ()
    oracle: Oracle | None = None
    choices: tuple[tuple[str, ...], ...] = ()
    fits: Callable[["Evidence", Mistakes], bool] | None = None
    ways: tuple[str, ...] = ()

    def in_every_way(self, mistakes: Mistakes) -> list[Mistakes]:
        return [mistakes | {way} for way in self.ways] or [mistakes]

    @property
    def combinations(self) -> tuple[tuple[Mistakes, ...], tuple[Mistakes, ...]]:
        """The mistakes that can be made alone, and the pairs that can be made together."""
        return _combinations(self.choices)


@cache
def _combinations(choices) -> tuple[tuple[Mistakes, ...], tuple[Mistakes, ...]]:
    single = tuple(frozenset([name]) for group in choices for name in group)
    pairs = tuple(
        frozenset(pair)
        for one, other in itertools.combinations(choices, 2)
        for pair in itertools.product(one, other)
    )
    return single, pairs


class Evidence:
    """The questions of one seed with their replies; reading a reply that failed raises `Wrong`."""

    def __init__(self, exercise: Check, seed: int, asks: list[Ask], replies: list[Reply]):
        self.exercise, self.seed = exercise, seed
        self._pairs = {ask.label: (ask, reply) for ask, reply in zip(asks, replies)}
        self._expected: dict[str, dict[str, np.ndarray]] = {}
        self._signatures: dict[str, np.ndarray] = {}

    def labels(self, start: str = "") -> list[str]:
        return [label for label in self._pairs if label.startswith(start)]

    def options(self, label: str) -> dict:
        return self._pairs[label][0].options

    def args(self, label: str) -> list:
        """The arguments that the student's object was called with."""
        return self.options(label)["args"]

    def failed(self, label: str) -> bool:
        """Whether the code raised an error or is missing."""
        return self._pairs[label][1].status != "ok"

    def reply(self, label: str) -> Reply:
        ask, reply = self._pairs[label]
        if reply.status != "ok":
            said = crashes.explained(self.exercise.id, ask, reply)
            raise Stopped(said or "Your code raised an error.")
        return reply

    def likely_cause(self) -> tuple[str, str]:
        """What made the code run when it was tried, and a hint, if the code raised an error."""
        for ask, reply in self._pairs.values():
            if reply.status == "error":
                found = crashes.likely_cause(self.exercise.id, ask, reply)
                if any(found):
                    return found
        return "", ""

    def expected(self, label: str) -> dict[str, np.ndarray]:
        """The right arrays for a question, by name; computed once."""
        if label not in self._expected:
            self._expected[label] = self._find_expected(label)
        return self._expected[label]

    def _find_expected(self, label: str) -> dict[str, np.ndarray]:
        if self.exercise.oracle is None:
            stored = _stored(self.exercise.id)
            start = f"{self.seed}/{label}/"
            found = {key[len(start) :]: stored[key] for key in stored if key.startswith(start)}
            if found:
                return found
        return _oracle(self.exercise.id)(self._pairs[label][0])

    def prediction(self, label: str, mistakes: Mistakes) -> np.ndarray:
        """The signature of what an answer with these mistakes returns."""
        stored = _stored_predictions(self.exercise.id).get((self.seed, label))
        if stored is not None:
            return stored[mistakes]
        return _predict(self.exercise.id)(self._pairs[label][0], mistakes)

    def agrees(self, label: str, mistakes: Mistakes, arrays, tolerance: float = 1e-4) -> bool:
        """Whether `arrays` (None if the code raised an error) are those that these mistakes give."""
        if label not in self._signatures:
            self._signatures[label] = signature(arrays)
        return alike(self.prediction(label, mistakes), self._signatures[label], tolerance)

    def outputs(self, label: str, *shapes: tuple, prefix: str = "out") -> list[np.ndarray]:
        """What the student's call returned, each of the shape asked for, finite, in float64."""
        reply = self.reply(label)
        count = int(reply.notes.get(f"{prefix}_count", "0") or 0)
        if count != len(shapes):
            raise Wrong(
                f"It should return {_number(len(shapes))}, but it returns {_number(count)}.",
                "Look at the last line: what does it return, and in which order?",
            )
        return [
            self.array(label, f"{prefix}{i}", shape, ordinal=i if len(shapes) > 1 else None)
            for i, shape in enumerate(shapes)
        ]

    def array(self, label: str, name: str, shape: tuple, ordinal: int | None = None) -> np.ndarray:
        reply = self.reply(label)
        which = "The result" if ordinal is None else f"Result {ordinal + 1}"
        if name not in reply.arrays:
            raise Wrong(
                f"{which} should be a tensor, but it is {reply.notes.get(name, 'missing')}."
            )
        array = reply.arrays[name]
        if array.shape != tuple(shape):
            raise Wrong(
                f"{which} should have the shape {list(shape)}, but it has {list(array.shape)}.",
                "Write the shape of each result next to its line. Where does it stop being what you want?",
            )
        if array.dtype.kind not in "fb" and np.prod(shape) > 0:
            raise Wrong(f"{which} should hold floating-point numbers, but it holds {array.dtype}.")
        array = array.astype(float)
        if not np.isfinite(array).all():
            raise Wrong(
                f"{which} holds values that are not finite (NaN or infinity).",
                "Look for a division by zero, a log of zero, exp of a large number, a row that is masked "
                "throughout, or a mask times infinity: 0 times infinity is NaN.",
            )
        return array

    def tolerance(self, label: str) -> float:
        return 5e-4 if "32" in self.reply(label).notes.get("precision", "") else 1e-6


def _number(count: int) -> str:
    return {0: "nothing", 1: "one tensor", 2: "two tensors"}.get(count, f"{count} tensors")


@dataclass(frozen=True)
class Plan:
    """The questions of an exercise for some seeds: everything the verdict needs to know."""

    exercise: str
    seeds: tuple[int, ...]
    asks: tuple[tuple[Ask, ...], ...]

    @property
    def flat(self) -> list[Ask]:
        return [ask for batch in self.asks for ask in batch]


@dataclass(frozen=True)
class Finding:
    """The result for one property.

    stopped: the code raised an error, here or in a property that this one needs.
    """

    name: str
    passed: bool
    points: float
    max_points: float
    message: str = ""
    hint: str = ""
    expected: np.ndarray | None = None
    got: np.ndarray | None = None
    axes: tuple[str, str] = ("", "")
    stopped: bool = False


@dataclass(frozen=True, repr=False)
class Verdict:
    exercise: str
    points: float
    max_points: float
    findings: tuple[Finding, ...]
    misconception: str = ""
    sentence: str = ""
    hint: str = ""
    seeds: tuple[int, ...] = field(default=())

    def __repr__(self) -> str:
        return f"{self.points:g} of {self.max_points:g} points"

    @property
    def passed(self) -> bool:
        return bool(self.findings) and all(f.passed for f in self.findings)

    def worth(self, points: float) -> "Verdict":
        """The same verdict if the exercise is worth a different number of points."""
        if points == self.max_points:
            return self
        share = points / self.max_points
        findings = (
            replace(f, points=f.points * share, max_points=f.max_points * share)
            for f in self.findings
        )
        total = round(self.points * share, 6)
        return replace(self, points=total, max_points=points, findings=tuple(findings))

    def as_dict(self) -> dict:
        return {
            "exercise": self.exercise,
            "points": self.points,
            "max_points": self.max_points,
            "passed": self.passed,
            "properties": [
                {"name": f.name, "passed": f.passed, "message": f.message} for f in self.findings
            ],
            "misconception": self.misconception or None,
        }


@cache
def load(exercise_id: str) -> Check:
    """The checked exercise called `exercise_id`."""
    register.exercise(exercise_id)  # lists those that exist, if this is not one of them
    name = f"course_utils.checks.exercises.{exercise_id.replace('-', '_')}"
    return importlib.import_module(name).exercise


class Hidden(Protocol):
    """What does not ship: an oracle, and what an answer with known mistakes returns.

    `outputs(ask, mistakes)` is needed if an exercise has `choices`; None means that the answer
    raises an error.
    """

    oracle: Oracle
    outputs: Callable[[Ask, Mistakes], list[np.ndarray] | None]


_find_hidden: Callable[[str], Hidden] | None = None


def use_oracles(find: Callable[[str], Hidden] | None) -> None:
    """Give the judge the oracles that do not ship: `find(exercise_id)` returns one."""
    global _find_hidden
    _find_hidden = find
    _oracle.cache_clear()
    _predict.cache_clear()


def _hidden(exercise_id: str) -> Hidden:
    if _find_hidden is None:
        raise NoOracle(f"The right arrays of {exercise_id} are stored for the visible seeds only.")
    return _find_hidden(exercise_id)


@cache
def _oracle(exercise_id: str) -> Oracle:
    """An exercise's oracle, its own or one that was given, asked once for each question."""
    return remembered(load(exercise_id).oracle or _hidden(exercise_id).oracle)


@cache
def _predict(exercise_id: str) -> Callable[[Ask, Mistakes], np.ndarray]:
    outputs = _hidden(exercise_id).outputs
    return remembered(lambda ask, mistakes: signature(outputs(ask, mistakes)), REMEMBERED_MISTAKES)


@cache
def _stored(exercise_id: str) -> dict[str, np.ndarray]:
    path = STORED / f"{exercise_id}.npz"
    if not path.exists():
        return {}
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


@cache
def _stored_predictions(exercise_id: str) -> dict[tuple[int, str], dict[Mistakes, np.ndarray]]:
    stored = _stored(exercise_id)
    if PREDICTED not in stored:
        return {}
    names = [frozenset(filter(None, name.split(TOGETHER))) for name in stored[PREDICTED].tolist()]
    found = {}
    for key, array in stored.items():
        seed, _, rest = key.partition("/")
        if rest.endswith(f"/{PREDICTED}"):
            rows = [row[~np.isnan(row[:, 0])] for row in array]
            found[int(seed), rest.removesuffix(f"/{PREDICTED}")] = dict(zip(names, rows))
    return found


def make_plan(exercise_id: str, seeds=VISIBLE_SEEDS, student: str | None = None) -> Plan:
    """Draw the questions of an exercise. `student` matters if everyone has their own numbers."""
    drawn_with = tuple(int(s) for s in seeds)
    if student is not None and is_personal(exercise_id):
        # whether everyone has their own numbers is the course's choice, which may change
        return _drawn(exercise_id, drawn_with, student=student)
    return _plan(exercise_id, drawn_with)


@lru_cache(maxsize=PLANS)
def _plan(exercise_id: str, seeds: tuple[int, ...]) -> Plan:
    """Draw them once: some questions are drawn again until they tell answers apart."""
    return _drawn(exercise_id, seeds)


def _drawn(exercise_id: str, seeds: tuple[int, ...], **extra: str) -> Plan:
    exercise = load(exercise_id)
    asks = tuple(tuple(exercise.asks(np.random.default_rng(s), **extra)) for s in seeds)
    return Plan(exercise_id, seeds, asks)


def is_personal(exercise_id: str) -> bool:
    """Whether each student has their own numbers in this exercise."""
    code = getattr(load(exercise_id).asks, "__code__", None)
    return code is not None and "student" in code.co_varnames[: code.co_argcount]


def verdict(plan: Plan, replies: list[Reply] | None) -> Verdict:
    """Judge the replies to a plan. `None` stands for an answer that gave none at all."""
    exercise, entry = load(plan.exercise), register.exercise(plan.exercise)
    evidences = _evidences(plan, replies)
    with np.errstate(all="ignore"):
        findings = _findings(exercise, entry.points, evidences)
        right = all(f.passed for f in findings)
        nothing = right or _is_unwritten(replies)
        found = () if nothing else diagnose(exercise, _behind_asserts(plan, replies))
    total = round(sum(f.points for f in findings), 6)
    unnamed = Verdict(plan.exercise, total, entry.points, findings, seeds=plan.seeds)
    if not found:
        sentence, hint = next(filter(any, (e.likely_cause() for e in evidences)), ("", ""))
        return unnamed if right else replace(unnamed, sentence=sentence, hint=hint)
    several = "Two things. " if len(found) > 1 else ""
    return replace(
        unnamed,
        misconception=TOGETHER.join(m.name for m in exercise.misconceptions if m in found),
        sentence=several + " ".join(m.sentence for m in found),
        hint=found[0].hint,
    )


def _is_unwritten(replies: list[Reply] | None) -> bool:
    """Whether every reply is that of a stub, in which there is no mistake to look for."""
    return all(reply.notes.get("raised") == "NotImplementedError" for reply in replies or ())


def _behind_asserts(plan: Plan, replies: list[Reply] | None) -> list[Evidence]:
    """The evidence for a diagnosis: what an answer would have returned, but for a failed assert."""
    known = [
        replace(r, status="ok", error="") if "behind_assert" in r.notes else r
        for r in replies or ()
    ]
    return _evidences(plan, known)


def _evidences(plan: Plan, replies: list[Reply] | None) -> list[Evidence]:
    if replies is None or len(replies) != len(plan.flat):
        replies = [Reply("error", error="Your code gave no answer to the check.")] * len(plan.flat)
    exercise, left = load(plan.exercise), iter(replies)
    return [
        Evidence(exercise, seed, list(asks), [next(left) for _ in asks])
        for seed, asks in zip(plan.seeds, plan.asks)
    ]


def still_fits(plan: Plan, replies: list[Reply] | None, misconception: str) -> bool:
    """Whether a name that was given on other numbers explains these as well."""
    exercise, names = load(plan.exercise), set(misconception.split(TOGETHER))
    evidences = _evidences(plan, replies)
    known = {m.name: m for m in exercise.misconceptions}
    chosen = names & set(itertools.chain(*exercise.choices))
    with np.errstate(all="ignore"):
        if chosen and _fit(exercise, frozenset(chosen), evidences):
            names -= chosen
        return all(_matches(known[name], evidences) for name in names)


def failed_verdict(exercise_id: str, message: str, hint: str = "") -> Verdict:
    """The verdict on an answer that could not be tested: it ran too long, or ended the process."""
    exercise, entry = load(exercise_id), register.exercise(exercise_id)
    share = _shares(exercise, entry.points)
    findings = tuple(
        Finding(p.name, False, 0.0, share[p.name], message, hint, stopped=True)
        for p in exercise.properties
    )
    return Verdict(exercise_id, 0.0, entry.points, findings)


def _shares(exercise: Check, points: float) -> dict[str, float]:
    """Each property's points; the register alone decides what the exercise is worth."""
    total = sum(p.points for p in exercise.properties)
    return {p.name: p.points * points / total for p in exercise.properties}


def _findings(exercise: Check, points: float, evidences: list[Evidence]) -> tuple[Finding, ...]:
    share = _shares(exercise, points)
    problems = {p.name: _first_problem(p, evidences) for p in exercise.properties}
    findings = []
    for p in exercise.properties:
        problem = problems[p.name]
        missing = [name for name in p.needs if problems[name] is not None]
        if missing:  # its own message would only confuse while that is wrong
            needed = problems[missing[0]]
            stopped = isinstance(needed, Stopped)
            problem = needed if stopped else Wrong(f"Waiting for: {missing[0]}.")
        if problem is None:
            findings.append(Finding(p.name, True, share[p.name], share[p.name]))
        else:
            findings.append(
                Finding(
                    p.name,
                    False,
                    0.0,
                    share[p.name],
                    problem.message,
                    problem.hint,
                    problem.expected,
                    problem.got,
                    problem.axes,
                    isinstance(problem, Stopped),
                )
            )
    return tuple(findings)


def _first_problem(p: Property, evidences: list[Evidence]) -> Wrong | None:
    for evidence in evidences:
        try:
            p.holds(evidence)
        except Wrong as wrong:
            return wrong
        except Exception as problem:
            # Replies strange enough to make the mathematics fail are not a right answer, and must
            # never stop the judge.
            return Wrong(f"What came back could not be checked ({type(problem).__name__}).")
    return None


def diagnose(exercise: Check, evidences: list[Evidence]) -> tuple[Misconception, ...]:
    """The mistake, or the two, that explain the arrays of every question, if only these do."""
    beside = [m for m in exercise.misconceptions if m.beside and _matches(m, evidences)]
    if exercise.fits is not None and not _fit(exercise, RIGHT, evidences):
        fewest: list[Mistakes] = []
        for combinations in exercise.combinations:
            fewest = fewest or [c for c in combinations if _fit(exercise, c, evidences)]
        if len(fewest) > 1:  # nobody can tell which
            return ()
        if fewest:
            found = tuple(m for m in exercise.misconceptions if m.name in fewest[0])
            return (*found, *beside) if len(found) == len(beside) == 1 else found
    elif exercise.fits is not None and len(beside) == MOST_NAMED:
        return tuple(beside)
    others = (m for m in exercise.misconceptions if m.matches and _matches(m, evidences))
    return tuple(itertools.islice(others, 1))


def _matches(misconception: Misconception, evidences: list[Evidence]) -> bool:
    matches = misconception.matches
    return matches is not None and _all(matches, evidences)


def _fit(exercise: Check, mistakes: Mistakes, evidences: list[Evidence]) -> bool:
    fits = exercise.fits

    def fits_so(made: Mistakes) -> bool:
        return fits is not None and _all(lambda e: fits(e, made), evidences)

    return any(map(fits_so, exercise.in_every_way(mistakes)))


def _all(holds: Callable[[Evidence], bool], evidences: list[Evidence]) -> bool:
    try:
        return all(holds(evidence) for evidence in evidences)
    except Exception:  # what cannot be compared does not match
        return False


def differ(expected: np.ndarray, got: np.ndarray, tolerance: float) -> bool:
    """Whether two arrays of one shape are further apart than rounding explains."""
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    return not np.abs(expected - got).max(initial=0.0) <= tolerance * scale  # NaN differs too


def worst_slice(expected: np.ndarray, got: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first pair of stacked matrices that differs: what is drawn for the student."""
    if expected.ndim < 2:
        return expected.reshape(1, -1), got.reshape(1, -1)
    pairs = zip(expected.reshape(-1, *expected.shape[-2:]), got.reshape(-1, *got.shape[-2:]))
    for one, other in pairs:
        if differ(one, other, 1e-5):
            return one, other
    return expected.reshape(-1, *expected.shape[-2:])[0], got.reshape(-1, *got.shape[-2:])[0]


def same(
    expected,
    got,
    tolerance: float,
    message: str,
    hint: str = "",
    axes: tuple[str, str] = ("", ""),
) -> None:
    """Raise `Wrong`, with both drawn, unless the arrays agree.

    axes: what the last two axes are; they are drawn as rows and columns.
    """
    expected, got = np.asarray(expected, float), np.asarray(got, float)
    if differ(expected, got, tolerance):
        one, other = worst_slice(expected, got)
        raise Wrong(message, hint, one, other, axes)
