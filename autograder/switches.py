"""Makes answers with one or two mistakes from a right one, to test how pairs are named.

Next to some right answers (`mutants/<exercise>/right_switchable.py`), `switches.toml` lists known
mistakes as small edits. The exercise's `choices` determine which can be made together.
"""

import itertools
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from course_utils.checks import judge

MUTANTS = Path(__file__).with_name("mutants")


@dataclass(frozen=True)
class Switched:
    """A right answer with some mistakes built in."""

    exercise: str
    mistakes: judge.Mistakes
    source: str

    @property
    def name(self) -> str:
        """As the judge names it: in the order of the exercise's misconceptions."""
        known = judge.load(self.exercise).misconceptions
        return judge.TOGETHER.join(m.name for m in known if m.name in self.mistakes)


def exercises() -> list[str]:
    return sorted(path.parent.name for path in MUTANTS.glob("*/switches.toml"))


def switched(exercise_id: str) -> Iterator[Switched]:
    """Every mistake on its own, and every pair that the edits allow."""
    folder = MUTANTS / exercise_id
    right = (folder / "right_switchable.py").read_text(encoding="utf-8")
    edits = tomllib.loads((folder / "switches.toml").read_text(encoding="utf-8"))
    for mistakes in _combinations(judge.load(exercise_id)):
        source = right if mistakes <= edits.keys() else None
        for name in sorted(mistakes):
            source = _edited(source, edits.get(name, ()))
        if source is not None:
            yield Switched(exercise_id, mistakes, source)


def _combinations(exercise: judge.Check) -> Iterator[judge.Mistakes]:
    """The mistakes in the choices, and those that can be made together with each."""
    single, pairs = exercise.combinations
    beside = [frozenset([m.name]) for m in exercise.misconceptions if m.beside]
    yield from (*single, *pairs, *beside)
    yield from (one | other for one, other in itertools.product(single, beside))
    yield from (one | other for one, other in itertools.combinations(beside, 2))


def _edited(source: str | None, edits: list[list[str]]) -> str | None:
    for old, new in edits:
        if source is None or source.count(old) != 1:
            return None
        source = source.replace(old, new)
    return source
