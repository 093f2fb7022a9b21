"""What a grading run leaves behind, as JSON, beside nbgrader's own files.

Everything lies in `.autograder/` of the course directory; a later command (feedback, report) needs
nothing else besides the gradebook.

`.autograder/runs/<run>.json`, one a run, written when it starts and again when it ends:

    format      1
    run         its name, from the time it started: "2026-02-03T10-11-12-03_attention"
    assignment  "03_attention"
    started     time in UTC, ISO 8601;  finished: the same, or null while it runs or if interrupted
    seeds       {exercise: [numbers]}: with them the same plan, so the same grade, can be made again
    isolation   "box" or "none" (--unsafe)
    where       "local" or the address of the cluster
    submissions how many were handed over;  graded, flagged: how many of each
    problems    [{"student", "message"}] for every submission that a person should look at
    seconds     how long it took

`.autograder/verdicts/<assignment>/<student>.json`, the latest verdict on each submission:

    format       1
    run, student, assignment, source_name, timestamp (ISO or null)
    sha256       of the file that is graded;  handed_in: of all files of the student together
    status       "graded" or "flagged" (nothing could be graded: a person must look)
    repairs      sentences: what intake mended
    flags        sentences: what a person must decide
    points, max_points   of the checked exercises, without written answers
    seconds      in the box and at the judge
    exercises    one object for each checked exercise:
        exercise, points, max_points, passed
        properties     [{"name", "passed", "points", "max_points", "message", "hint"}]
        misconception  its name or null;  sentence, hint: what to tell the student
        box            "ok", "timeout", "memory", "crashed", "output", "refused" or "forged"
        message        why, when box is not "ok"
        seeds          the numbers of this exercise's plan
    written      {grade_id: {"answered": bool, "sha256": of the answer's text}}
    printed      what the submission printed while it ran, cut short

`.autograder/originals/<assignment>/<student>/<name>`: the bytes as handed in, for submissions that
were repaired or flagged. File names are student ids, with anything unusual percent-encoded.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

FORMAT = 1
FOLDER = ".autograder"


@dataclass
class Run:
    run: str
    assignment: str
    started: str
    seeds: dict[str, list[int]]
    isolation: str = "box"
    where: str = "local"
    finished: str | None = None
    submissions: int = 0
    graded: int = 0
    flagged: int = 0
    problems: list[dict] = field(default_factory=list)
    seconds: float = 0.0
    format: int = FORMAT


def fingerprint(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def new_run(assignment: str, seeds: dict[str, list[int]], isolation: str, where: str) -> Run:
    """A run that starts now; the name is unique in its course because it has microseconds."""
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
    return Run(f"{moment}-{assignment}", assignment, now(), seeds, isolation, where)


def file_name(name: str) -> str:
    """A student id as a file name that cannot leave its folder."""
    safe = quote(name, safe=" @+,=")
    return safe.replace(".", "%2E") if safe.startswith(".") else safe


def folder_name(student: str) -> str:
    """The folder nbgrader has for a student; ids that would lead elsewhere are refused."""
    if not student or student != Path(student).name or student.startswith("."):
        raise ValueError(f"{student!r} cannot be a student's id: it would lead out of the folder.")
    return student


def write_atomically(path: Path, content: bytes) -> None:
    """All of it or nothing, whatever happens meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def notebook_bytes(notebook: dict) -> bytes:
    """A notebook as a file, on one line: written by the JSON library's fast path."""
    return json.dumps(notebook, ensure_ascii=False).encode()


def write_json(path: Path, content: dict) -> None:
    write_atomically(path, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode())


def read_json(path: Path) -> dict | None:
    """The object in a file of ours, or None if there is none or it is damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and content.get("format") == FORMAT else None


def run_path(course: Path, run: str) -> Path:
    return course / FOLDER / "runs" / f"{run}.json"


def verdict_path(course: Path, assignment: str, student: str) -> Path:
    return course / FOLDER / "verdicts" / assignment / f"{file_name(student)}.json"


def original_path(course: Path, assignment: str, student: str, name: str) -> Path:
    folder = course / FOLDER / "originals" / assignment / file_name(student)
    return folder / (file_name(Path(name).name) or "submission")


def write_run(course: Path, run: Run) -> None:
    write_json(run_path(course, run.run), asdict(run))


def runs(course: Path, assignment: str | None = None) -> list[Run]:
    """All runs of a course, oldest first."""
    found = []
    for path in sorted((course / FOLDER / "runs").glob("*.json")):
        content = read_json(path)
        if content is not None and assignment in (None, content["assignment"]):
            found.append(Run(**content))
    return found


def unfinished_run(course: Path, assignment: str) -> Run | None:
    """The last run of an assignment, if it was interrupted."""
    known = runs(course, assignment)
    return known[-1] if known and known[-1].finished is None else None


def verdicts(course: Path, assignment: str) -> list[dict]:
    """The latest verdict on every submission of an assignment, by file name."""
    folder = course / FOLDER / "verdicts" / assignment
    found = (read_json(path) for path in sorted(folder.glob("*.json")))
    return [content for content in found if content is not None]
