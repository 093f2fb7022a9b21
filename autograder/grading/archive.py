"""Where a course directory keeps its records: `.autograder/`, beside nbgrader's own files.

    runs/<run>.json                        one record for each run
    verdicts/<assignment>/<student>.json   the latest record of each submission
    originals/<assignment>/<student>/...   the bytes as handed in, of what was repaired or flagged

File names are student ids, with anything unusual percent-encoded; long ones are a beginning and
a hash, and the record has the original.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

from autograder.course_files import write_atomically
from autograder.grading import record
from autograder.grading.record import RunRecord, SubmissionRecord
from autograder.intake.text import file_name

FOLDER = ".autograder"
_named: set[Path] = set()  # damaged files are reported only once


def folder_name(student: str) -> str:
    """The name of a student's folder in nbgrader; ids that would lead elsewhere are refused."""
    if not student or student != Path(student).name or student.startswith("."):
        raise ValueError(
            f"{student!r} cannot be a student's id, because it would lead out of the folder."
        )
    return student


def record_path(course: Path, assignment: str, student: str) -> Path:
    return course / FOLDER / "verdicts" / assignment / f"{file_name(student)}.json"


def write_record(course: Path, entry: SubmissionRecord) -> None:
    _write(record_path(course, entry.assignment, entry.student), record.as_json(entry))


def read_record(course: Path, assignment: str, student: str) -> SubmissionRecord | None:
    """The latest record of a submission, or None if there is none or it is damaged."""
    return _read(record_path(course, assignment, student), record.submission_record)


def records(course: Path, assignment: str) -> list[SubmissionRecord]:
    """The latest record of every submission of an assignment, by file name."""
    folder = course / FOLDER / "verdicts" / assignment
    found = (_read(path, record.submission_record) for path in sorted(folder.glob("*.json")))
    return [entry for entry in found if entry is not None]


def write_run(course: Path, run: RunRecord) -> None:
    _write(course / FOLDER / "runs" / f"{run.run}.json", record.as_json(run))


def runs(course: Path, assignment: str | None = None) -> list[RunRecord]:
    """All runs of a course, oldest first."""
    paths = sorted((course / FOLDER / "runs").glob("*.json"))
    found = (_read(path, record.run_record) for path in paths)
    return [run for run in found if run is not None and assignment in (None, run.assignment)]


def unfinished_run(course: Path, assignment: str) -> RunRecord | None:
    """The last run of an assignment, if it was interrupted."""
    known = runs(course, assignment)
    return known[-1] if known and known[-1].finished is None else None


def original_path(entry: SubmissionRecord) -> Path:
    """Where a course keeps the original bytes that a student handed in, if it does."""
    folder = Path(FOLDER) / "originals" / entry.assignment / file_name(entry.student)
    return folder / (file_name(Path(entry.source_name).name) or "submission")


def write_original(course: Path, entry: SubmissionRecord, content: bytes) -> None:
    write_atomically(course / original_path(entry), content)


def notebook_bytes(notebook: dict) -> bytes:
    """A notebook as a file, on one line: written by the JSON library's fast path."""
    return json.dumps(notebook, ensure_ascii=False).encode()


def _write(path: Path, content: dict) -> None:
    write_atomically(path, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode())


def _read(path: Path, read):
    try:
        return read(json.loads(path.read_text(encoding="utf-8")))
    except OSError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError):
        if path not in _named:
            _named.add(path)
            logging.getLogger(__name__).warning(
                f"{path} is damaged and was skipped. Grade the submission again to restore "
                "it; points and marks are still in the gradebook."
            )
        return None
