"""JupyterHub: nbgrader's exchange around our grading, and links for classes without an exchange.

nbgrader's own exchange moves the files. Between its `inbound` folder and its `feedback` folder
`autograder grade` takes the place of `nbgrader collect` and `nbgrader autograde`.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

from nbgrader.apps.api import NbGraderAPI
from traitlets.config import Config

from autograder.course_files import CourseError, write_atomically
from autograder.grading import archive
from autograder.grading.record import SubmissionRecord
from autograder.nbgrader_parts.configuration import alembic_on_path, for_course
from autograder.nbgrader_parts.database import gradebook_url
from autograder.whole_class.course_directory import only_writer, prepare_course
from course_utils import register

# what nbgrader needs besides a page, to put it where only its student looks
KEYS = ("timestamp.txt", "submission_secret.txt")


def release_assignment(course: Path, assignment: str, again: bool = False) -> None:
    """Make the assignment in the course directory and put it into the exchange.

    again: replace what is in the exchange; students who fetched it keep what they have.
    """
    try:
        register.notebook(assignment)
    except KeyError as problem:
        raise CourseError(str(problem.args[0])) from None
    alembic_on_path()
    url = gradebook_url(course, None)
    with only_writer(course):
        prepare_course(course, assignment, url)
    config = exchange_settings(course, assignment)
    if (inbound(config).with_name("outbound") / assignment).exists() and not again:
        raise CourseError(f"{assignment} is already in the exchange. Use --again to replace it.")
    config.ExchangeReleaseAssignment.force = again
    api = NbGraderAPI(config=config)
    _report(api.release_assignment(assignment), f"{assignment} could not be released")


def release_feedback(course: Path, assignment: str) -> tuple[list[str], list[str]]:
    """Put the pages of `autograder feedback` into the exchange; returns who got one and who didn't."""
    config = exchange_settings(course, assignment)
    ready, without = [], []
    for record in archive.records(course, assignment):
        folder = course / "feedback" / archive.folder_name(record.student) / assignment
        handed_in = _in_the_exchange(config, record)
        if handed_in is None or not (folder / f"{assignment}.html").is_file():
            without.append(record.student)
            continue
        for name in KEYS:
            write_atomically(folder / name, (handed_in / name).read_bytes())
        ready.append(record.student)
    if ready:
        api = NbGraderAPI(config=config)
        _report(api.release_feedback(assignment), "The feedback could not be released")
    return sorted(ready), sorted(without)


def exchange_settings(course: Path, assignment: str) -> Config:
    """The course's own settings; they must name the course and the exchange's folder."""
    config = for_course(course, assignment, gradebook_url(course, None))
    missing = [
        name
        for section, name in (("CourseDirectory", "course_id"), ("Exchange", "root"))
        if not config[section].get(name)
    ]
    if missing:
        raise CourseError(
            f"{course / 'nbgrader_config.py'} has to set c.CourseDirectory.course_id and "
            f"c.Exchange.root ({', '.join(missing)} is missing)."
        )
    return config


def inbound(config: Config) -> Path:
    return Path(config.Exchange.root) / config.CourseDirectory.course_id / "inbound"


def _in_the_exchange(config: Config, record: SubmissionRecord) -> Path | None:
    """The folder of the graded submission in the exchange; None if it came another way."""
    name = record.sender.name
    if record.sender.system != "nbgrader" or not name or name != Path(name).name:
        return None
    folder = inbound(config) / name
    return folder if all((folder / key).is_file() for key in KEYS) else None


def _report(result: dict | None, what: str) -> None:
    if result is None or not result.get("success"):
        said = (result or {}).get("log", "").strip().splitlines()
        reason = said[-1] if said else "nbgrader gave no reason"
        raise CourseError(f"{what}: {reason}")


def pull_link(hub: str, notebook: str, repository: str = "", branch: str = "main") -> str:
    """A link that fetches the students' copy into a home folder on the hub and opens a notebook.

    It needs nbgitpuller on the hub. A student's own changes are kept when the link is used again.
    """
    parts = urlsplit(hub)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise CourseError(f"{hub!r} is not the address of a hub, which should start with https://.")
    try:
        register.notebook(notebook)
    except KeyError as problem:
        raise CourseError(str(problem.args[0])) from None
    repository = repository or register.repository()
    folder = repository.rstrip("/").removesuffix(".git").rpartition("/")[2]
    opened = f"lab/tree/{quote(folder)}/notebooks/{notebook}.ipynb"
    query = urlencode({"repo": repository, "branch": branch, "urlpath": opened})
    return f"{hub.rstrip('/')}/hub/user-redirect/git-pull?{query}"
