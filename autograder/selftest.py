"""The grader's own test: right answers must pass, wrong ones must fail and be named correctly.

`autograder/mutants/<exercise>/` holds small answers, `right_*.py` and `wrong_*.py`. The first line
of a wrong one names the misconception that the judge should report (`# misconception: NAME`, or
`none`). Each is judged on every seed by itself. Known mistakes are also built into a right answer,
alone and in pairs (`switches`).

A name is false if the bank has another for the answer, or if it does not explain what the answer
does on numbers that the diagnosis did not use.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder import seeds
from autograder.box import Box, Job, Limits, Outcome, why_unavailable
from autograder.grading.verdict import judge_outcome
from autograder.switches import MUTANTS, Switched
from course_utils import register
from course_utils.checks import judge, wire
from course_utils.checks.may_use import refusal

SEEDS = 8
DIAGNOSED = 2  # seeds that a name is found on, as in a student's own check
LIMITS = Limits(wall_seconds=25, cpu_seconds=8)


@dataclass(frozen=True)
class Mutant:
    exercise: str
    path: Path

    @property
    def right(self) -> bool:
        return self.path.name.startswith("right_")

    @property
    def source(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def misconception(self) -> str:
        first = self.source.splitlines()[0]
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

    @property
    def falsely_named(self) -> bool:
        return bool(self.named) and self.named != self.mutant.misconception


@dataclass(frozen=True)
class Diagnosis:
    """The name given to a mistake, and whether it explains the answer on fresh numbers."""

    passed: bool
    named: str
    explains: bool

    @property
    def falsely_named(self) -> bool:
        return bool(self.named) and not self.explains


def mutants(exercise: str | None = None) -> list[Mutant]:
    found = sorted(MUTANTS.glob("*/*.py"))
    chosen = [Mutant(p.parent.name, p) for p in found if p.name.startswith(("right_", "wrong_"))]
    return [m for m in chosen if exercise in (None, m.exercise)]


def run(chosen: list[Mutant], count: int = SEEDS) -> Iterator[Result]:
    """Judge every mutant on `count` fresh seeds; results in the order given."""
    answers = [(m.exercise, (m.source,)) for m in chosen]
    for mutant, (plan, outcome) in zip(chosen, asked(answers, count)):
        whole = judge_outcome(plan, outcome).verdict
        single = [judge.verdict(*_part(plan, outcome, i, i + 1)) for i in range(len(plan.seeds))]
        passed = sum(verdict.passed for verdict in single)
        if refusal(mutant.exercise, [mutant.source]):
            yield Result(mutant, 0, len(plan.seeds), 0.0, "")
        else:
            yield Result(mutant, passed, len(plan.seeds), whole.points, whole.misconception)


def imported(exercise: str | None = None) -> dict[str, str]:
    """For every exercise, an answer that imports what it should write.

    `autograder/mutants/imported/` has those that would work; the others reach for the judge.
    """
    found = {}
    for entry in register.exercises():
        if entry.checked and exercise in (None, entry.id):
            path = MUTANTS / "imported" / f"{entry.id}.py"
            judged_by = f"from course_utils.checks.exercises import {entry.id.replace('-', '_')}"
            found[entry.id] = path.read_text("utf-8") if path.exists() else judged_by
    return found


def some_pairs(found: list[Switched], most: int | None) -> list[Switched]:
    """Every single mistake and at most this many pairs, in the order given."""
    pairs = [index for index, one in enumerate(found) if len(one.mistakes) > 1]
    if most is None or len(pairs) <= most:
        return found
    left_out = set(pairs) - set(seeds.source.sample(pairs, most))
    return [one for index, one in enumerate(found) if index not in left_out]


def run_switched(chosen: list[Switched]) -> Iterator[tuple[Switched, Diagnosis]]:
    answers = [(s.exercise, (s.source,)) for s in chosen]
    for one, (plan, outcome) in zip(chosen, asked(answers, DIAGNOSED + 1)):
        found = diagnosis(plan, outcome)
        # Numbers that blow up can hide a mistake that was built in; its name is true all the same.
        yield one, replace(found, explains=found.explains or found.named == one.name)


def diagnosis(plan: judge.Plan, outcome: Outcome) -> Diagnosis:
    """The name found on the first seeds, tried on the last one."""
    verdict = judge.verdict(*_part(plan, outcome, 0, len(plan.seeds) - 1))
    last = _part(plan, outcome, len(plan.seeds) - 1, len(plan.seeds))
    named = verdict.misconception
    return Diagnosis(
        judge_outcome(plan, outcome).verdict.passed,
        named,
        not named or judge.still_fits(*last, named),
    )


def asked(
    answers: Sequence[tuple[str, tuple[str, ...]]], count: int
) -> Iterator[tuple[judge.Plan, Outcome]]:
    """Put fresh questions to answers, each an exercise with the cells that define it."""
    # These are our own files, so they may run without walls if the box is not available.
    unsafe = why_unavailable() is not None
    drawn, plans = seeds.fresh_seeds(count), {}
    for exercise in dict.fromkeys(exercise for exercise, _ in answers):
        plan = judge.make_plan(exercise, drawn)
        plans[exercise] = plan, wire.pack_request({exercise: plan.flat})
    jobs = [Job(cells, plans[exercise][1]) for exercise, cells in answers]
    with Box(limits=LIMITS, unsafe=unsafe) as box:
        for (exercise, _), outcome in zip(answers, box.map(jobs)):
            yield plans[exercise][0], outcome


def _part(
    plan: judge.Plan, outcome: Outcome, start: int, stop: int
) -> tuple[judge.Plan, list[wire.Reply]]:
    """The plan of some of the seeds, and the replies to it."""
    try:
        replies = wire.unpack_response(outcome.frame or b"").get(plan.exercise, [])
    except wire.BadFrame:
        replies = []
    before = sum(map(len, plan.asks[:start]))
    part = judge.Plan(plan.exercise, plan.seeds[start:stop], plan.asks[start:stop])
    return part, replies[before : before + len(part.flat)]
