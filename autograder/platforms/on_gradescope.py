"""Grades one submission inside Gradescope's container: `python -m ... /autograder`.

What it prints is shown to instructors only. If the machine fails, not the student, it writes no
results and ends with an error. Gradescope then reports that the autograder failed, and the
submission can be graded again.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from autograder.box import Box, BoxUnavailable
from autograder.box.choice import SAID
from autograder.grading.grade import draw_seeds, prepare_questions
from autograder.grading.record import SubmissionRecord, new_run
from autograder.grading.releases import release_names
from autograder.grading.student import Setting, complete, take_in
from autograder.grading.verdict import BoxFailed
from autograder.grading.what_to_run import checked_exercises, modules_for
from autograder.intake import find_files
from autograder.platforms.gradescope import Settings, results
from course_utils import register

STUDENT = "the-student"  # Gradescope knows who it is; this container does not need to
ENOUGH_MEMORY = 1400 << 20
MEMORY_LIMITS = ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes")


def main(folder: Path) -> None:
    started = time.monotonic()
    settings = Settings(**json.loads((folder / "source" / "settings.json").read_text()))
    register.use(settings.register)
    release = (folder / "source" / "release.ipynb").read_text(encoding="utf-8")
    warning = too_little_memory()
    if warning:
        print(warning)
    try:
        record, wall = grade(folder / "submission", settings.assignment, release)
    except (BoxUnavailable, BoxFailed) as problem:
        sys.exit(f"The submission could not be graded: {problem}")
    print(f"Submissions run {SAID[wall]}.")
    if record.flags:
        print("Please look at this submission:")
    for flag in record.flags:
        print(f"- {flag}")
    found = results(record, settings, time.monotonic() - started, isolation=wall)
    place = folder / "results" / "results.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps(found, indent=1), encoding="utf-8")


def grade(submission: Path, assignment: str, release: str) -> tuple[SubmissionRecord, str]:
    """The record of what was handed in, and the wall that it ran behind."""
    import nbformat

    notebook = nbformat.reads(release, as_version=4)
    with tempfile.TemporaryDirectory(prefix="handed-in-") as scratch, Box(workers=1) as box:
        box.also = modules_for(notebook)
        # intake takes the outermost name as the student's, so the whole upload goes below one folder
        handed_in = Path(scratch) / "class" / STUDENT
        shutil.copytree(submission, handed_in, symlinks=True)
        seeds = draw_seeds(checked_exercises(notebook))
        run = new_run(assignment, seeds, box.wall, "gradescope")
        setting = Setting(run.run, assignment, seeds, {}, release, register.used())
        found = find_files(handed_in.parent, release_names(), Path(scratch) / "unpacked")
        if not found:
            return nothing_handed_in(assignment, run.run), box.wall
        prepare_questions(seeds)
        return complete(take_in(found[0].read(), setting), setting, box).record, box.wall


def nothing_handed_in(assignment: str, run: str) -> SubmissionRecord:
    return SubmissionRecord(run, STUDENT, assignment, "no file")


def too_little_memory(root: Path = Path("/")) -> str:
    """A sentence for instructors if this container has less memory than PyTorch needs."""
    for name in MEMORY_LIMITS:
        try:
            limit = int((root / name).read_text())
        except (OSError, ValueError):  # missing, or "max"
            continue
        if limit < ENOUGH_MEMORY:
            return (
                f"This container has {limit >> 20} MB of memory, which may be too little for "
                "PyTorch. Choose one with 3 GB in the assignment's settings (Autograder)."
            )
    return ""


if __name__ == "__main__":
    main(Path(sys.argv[1]))
