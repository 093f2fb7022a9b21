"""The grader's own test: right answers must pass, wrong ones must not, and be named.

`autograder/mutants/<exercise>/` holds small answers, `right_*.py` and `wrong_*.py`. The first line
of a wrong one names the misconception that the judge should report (`# misconception: NAME`, or
`none`). Each is judged on every seed by itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder import fresh_seeds
from autograder.box import Box, Job, Limits, why_unavailable
from autograder.grading.verdict import judge_outcome
from course_utils.checks import judge, wire

MUTANTS = Path(__file__).with_name("mutants")
SEEDS = 20
LIMITS = Limits(wall_seconds=25, cpu_seconds=8)


@dataclass(frozen=True)
class Mutant:
    exercise: str
    path: Path

    @property
    def right(self) -> bool:
        return self.path.name.startswith("right_")

    @property
    def misconception(self) -> str:
        first = self.path.read_text(encoding="utf-8").splitlines()[0]
        name = first.removeprefix("# misconception:").strip() if first.startswith("#") else "none"
        return "" if name == "none" else name


@dataclass(frozen=True)
class Result:
    mutant: Mutant
    passed: int  # on how many seeds every property held
    seeds: int
    points: float
    named: str

    @property
    def as_it_should(self) -> bool:
        return self.passed == (self.seeds if self.mutant.right else 0)


def mutants(exercise: str | None = None) -> list[Mutant]:
    found = sorted(MUTANTS.glob("*/*.py"))
    chosen = [Mutant(p.parent.name, p) for p in found if p.name.startswith(("right_", "wrong_"))]
    return [m for m in chosen if exercise in (None, m.exercise)]


def run(chosen: list[Mutant], seeds: int = SEEDS, workers: int = 2) -> Iterator[Result]:
    """Judge every mutant on `seeds` fresh seeds; results in the order given."""
    # These are our own files: where the box cannot be had, they may run without its walls.
    unsafe = why_unavailable() is not None
    drawn = fresh_seeds(seeds)
    plans = {m.exercise: None for m in chosen}
    for exercise in plans:
        plan = judge.make_plan(exercise, drawn)
        plans[exercise] = plan, wire.pack_request({exercise: plan.flat})
    jobs = [Job((m.path.read_text(encoding="utf-8"),), plans[m.exercise][1]) for m in chosen]
    with Box(workers=workers, limits=LIMITS, unsafe=unsafe) as box:
        for mutant, outcome in zip(chosen, box.map(jobs)):
            yield _result(mutant, plans[mutant.exercise][0], outcome)


def _result(mutant: Mutant, plan: judge.Plan, outcome) -> Result:
    whole = judge_outcome(plan, outcome).verdict
    try:
        replies = wire.unpack_response(outcome.frame or b"").get(plan.exercise, [])
    except wire.BadFrame:
        replies = []
    passed, start = 0, 0
    for seed, asks in zip(plan.seeds, plan.asks):
        batch = replies[start : start + len(asks)]
        start += len(asks)
        single = judge.Plan(plan.exercise, (seed,), (asks,))
        passed += judge.verdict(single, batch).passed
    return Result(mutant, passed, len(plan.seeds), whole.points, whole.misconception)
