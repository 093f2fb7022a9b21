"""What hostile and damaged submissions cost a class, compared with as many honest ones.

    python benchmarks/hostile_class.py                300 submissions, 10% damaged, 10% hostile
    python benchmarks/hostile_class.py --size 40      fewer

Prints what became of them, the points that the hostile ones won, and the ratio of the two times
after subtracting the limits that the hostile ones used up, divided by the number of workers.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

from grading import attack, grade_ours, make_class, new_course, spoil

from autograder.grading import archive
from autograder.nbgrader_parts.configuration import alembic_on_path

ASSIGNMENT = "03_attention"
SHARE = 10  # one in ten is damaged, one in ten hostile
MOST = 1.3


def graded(scratch: Path, name: str, handed_in: Path) -> tuple[float, dict, Path]:
    course = new_course(scratch / name, ASSIGNMENT, False)
    seconds, said = grade_ours(course, ASSIGNMENT, handed_in)
    return seconds, said, course


def used_up(course: Path, hostile: set[str]) -> float:
    """Seconds that the hostile ones spent in the box."""
    records = archive.records(course, ASSIGNMENT)
    return sum(record.seconds for record in records if record.student in hostile)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=300)
    size = parser.parse_args().size
    alembic_on_path()
    scratch = Path(tempfile.mkdtemp(prefix="hostile-benchmark-"))
    try:
        honest = make_class(scratch / "honest", ASSIGNMENT, size)
        mixed = make_class(scratch / "mixed", ASSIGNMENT, size)
        folders = sorted(mixed.iterdir())
        for number, folder in enumerate(folders[::SHARE]):
            spoil(folder / ASSIGNMENT / f"{ASSIGNMENT}.ipynb", number)
        for number, folder in enumerate(folders[1::SHARE]):
            attack(folder / ASSIGNMENT / f"{ASSIGNMENT}.ipynb", ASSIGNMENT, number)
        hostile = {folder.name for folder in folders[1::SHARE]}
        alone, _, _ = graded(scratch, "course-honest", honest)
        seconds, said, course = graded(scratch, "course-mixed", mixed)
        limits = used_up(course, hostile) / (os.cpu_count() or 1)
        won = sum(r["points"] for r in said["results"] if r["student"] in hostile)
        lost = size - said["graded"] - said["flagged"]
        print(f"{size} honest: {alone:.1f} s")
        print(
            f"{size} with {len(folders[::SHARE])} damaged and {len(hostile)} hostile: "
            f"{said['graded']} graded, {said['flagged']} flagged, {lost} lost, {seconds:.1f} s"
        )
        print(
            f"points won by the hostile ones: {won:g}; limits used up, per worker: {limits:.1f} s"
        )
        print(f"ratio without the limits: {(seconds - limits) / alone:.2f} (at most {MOST})")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
