"""The verdict on single answers: files with a class or function, or notebooks, run in the box."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import nbformat

from autograder import fresh_seeds
from autograder.box import Box, BoxUnavailable, Job, Limits
from course_utils import register
from course_utils.checks import judge, wire

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
LIMITS = Limits(wall_seconds=12, cpu_seconds=6)


class UnreadableAnswer(ValueError):
    """A file that holds no answer: a sentence with its name and what to do."""


def cells_of(path: Path, exercise_id: str) -> tuple[str, ...]:
    """The code cells of an answer: a `.py` file is one, a notebook's are those that answers need."""
    from autograder.grading.answers import cells_to_run
    from autograder.intake import rebuild

    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise UnreadableAnswer(f"{path} cannot be read: {problem.strerror}.") from None
    if path.suffix == ".ipynb":
        name = register.exercise(exercise_id).notebook
        rebuilt = rebuild(content, nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4))
        if rebuilt.notebook is None:
            raise UnreadableAnswer(f"{path}: {' '.join(rebuilt.flags) or 'this is no notebook.'}")
        return tuple(cell.source for cell in cells_to_run(rebuilt.notebook))
    try:
        return (content.decode("utf-8"),)
    except UnicodeDecodeError:
        raise UnreadableAnswer(f"{path} is not text. Give a .py file or a notebook.") from None


def judge_outcome(plan: judge.Plan, outcome) -> judge.Verdict:
    """The verdict on what came out of the box, whatever it is."""
    if outcome.status == "refused":  # the box's fault, never the answer's
        raise BoxUnavailable(outcome.message)
    if outcome.frame is None:
        return judge.failed_verdict(plan.exercise, outcome.message or "The code gave no answer.")
    try:
        replies = wire.unpack_response(outcome.frame).get(plan.exercise)
    except wire.BadFrame as problem:
        return judge.failed_verdict(plan.exercise, f"The answer could not be read: {problem}")
    return judge.verdict(plan, replies)


def check_files(
    exercise_id: str, paths: Sequence[Path], seeds=None, unsafe: bool = False
) -> Iterator[tuple[Path, judge.Verdict]]:
    """Judge many answers to one exercise, over one warm box, in the order given."""
    plan = judge.make_plan(exercise_id, seeds or fresh_seeds())
    request = wire.pack_request({exercise_id: plan.flat})
    unreadable: dict[int, judge.Verdict] = {}
    jobs = []
    for index, path in enumerate(paths):
        try:
            jobs.append(Job(cells_of(path, exercise_id), request))
        except UnreadableAnswer as problem:
            unreadable[index] = judge.failed_verdict(exercise_id, str(problem))
    with Box(workers=2, limits=LIMITS, unsafe=unsafe) as box:
        outcomes = iter(box.map(jobs))
        for index, path in enumerate(paths):
            if index in unreadable:
                yield path, unreadable[index]
            else:
                yield path, judge_outcome(plan, next(outcomes))


def check_file(exercise_id: str, path, unsafe: bool = False) -> judge.Verdict:
    return next(check_files(exercise_id, [Path(path)], unsafe=unsafe))[1]
