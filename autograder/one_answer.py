"""The verdict on single answers: files with a class or function, or notebooks, run in the box."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.box import Box, Limits
from autograder.grading.refusals import with_refusals
from autograder.grading.releases import release_notebook
from autograder.grading.verdict import Judged, judge_outcome
from autograder.grading.what_to_run import RunnableCell, cells_for, cells_to_run, job_of
from autograder.intake import rebuild
from autograder.seeds import fresh_seeds
from course_utils import register
from course_utils.checks import judge, wire

LIMITS = Limits(wall_seconds=12, cpu_seconds=6)


class UnreadableAnswer(ValueError):
    """A file without an answer; the message has its name and what to do."""


def cells_of(path: Path, exercise_id: str) -> tuple[RunnableCell, ...]:
    """The code cells of an answer: a whole `.py` file, or the cells of a notebook that it needs."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise UnreadableAnswer(f"{path} cannot be read: {problem.strerror}.") from None
    if path.suffix == ".ipynb":
        name = register.exercise(exercise_id).notebook
        rebuilt = rebuild(content, release_notebook(name))
        if rebuilt.notebook is None:
            raise UnreadableAnswer(
                f"{path}: {' '.join(rebuilt.flags) or 'this is not a notebook.'}"
            )
        return cells_to_run(rebuilt.notebook)
    try:
        return (RunnableCell(content.decode("utf-8"), exercise_id, own=True),)
    except UnicodeDecodeError:
        raise UnreadableAnswer(f"{path} is not text. Give a .py file or a notebook.") from None


def check_files(
    exercise_id: str, paths: Sequence[Path], seeds=None, unsafe: bool = False
) -> Iterator[tuple[Path, Judged]]:
    """Judge many answers to one exercise, over one warm box, in the order given."""
    plan = judge.make_plan(exercise_id, seeds or fresh_seeds())
    request = wire.pack_request({exercise_id: plan.flat})
    unreadable: dict[int, Judged] = {}
    texts: dict[int, list[str]] = {}
    jobs = []
    for index, path in enumerate(paths):
        try:
            cells = cells_of(path, exercise_id)
            jobs.append(job_of(cells, request))
            texts[index] = [c.source for c in cells_for(exercise_id, cells) if c.own]
        except UnreadableAnswer as problem:
            verdict = judge.failed_verdict(exercise_id, str(problem))
            unreadable[index] = Judged(verdict, plan.seeds, message=str(problem))
    with Box(limits=LIMITS, unsafe=unsafe) as box:
        outcomes = iter(box.map(jobs))
        for index, path in enumerate(paths):
            if index in unreadable:
                yield path, unreadable[index]
            else:
                yield path, with_refusals(judge_outcome(plan, next(outcomes)), texts[index])


def check_file(exercise_id: str, path, unsafe: bool = False) -> judge.Verdict:
    return next(check_files(exercise_id, [Path(path)], unsafe=unsafe))[1].verdict
