"""The marking pages on Jupyter's server: with its login, its XSRF token and a strict policy."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from markupsafe import Markup
from nbgrader.api import Gradebook
from sqlalchemy.exc import OperationalError
from tornado import web

from autograder import rubric
from autograder.cell_names import rubric_cell
from autograder.course_files import CourseError
from autograder.grading.releases import release_of
from autograder.instructor import fragments
from autograder.instructor.course import Course, open_course, open_gradebook
from autograder.instructor.report import style
from autograder.marking import store
from autograder.marking.answers import Group, difference, grouped, read_answers, shares
from autograder.marking.store import Mark, NewMark, Question, Refused
from autograder.nbgrader_parts.marks import shown
from autograder.wording import counted
from course_utils import register

PAGES = Path(__file__).with_name("pages")
MOST_PEOPLE = 20
BUSY = "The gradebook is busy, perhaps with a grading run. Try again in a moment."
# Formulas are drawn by matplotlib and the gradebook has one writer: one request at a time.
WORKER = ThreadPoolExecutor(1, thread_name_prefix="marking")
TEMPLATES = Environment(loader=FileSystemLoader(PAGES), autoescape=True, trim_blocks=True)
TEMPLATES.filters |= {"counted": counted, "points": shown}


@dataclass(frozen=True)
class Share:
    """The part of the answers that one person marks."""

    number: int = 1
    of: int = 1


class MarkingHandler(JupyterHandler):
    """What both pages share. Everybody who may use this Jupyter server may mark."""

    auth_resource = "marking"

    @property
    def content_security_policy(self) -> str:
        """Allow nothing to run except our own script, which carries the nonce of this response."""
        return "; ".join(
            (
                "default-src 'none'",
                f"script-src 'nonce-{self.nonce}'",
                "style-src 'unsafe-inline'",  # drawn formulas have their sizes as styles
                "img-src data:",
                "connect-src 'self'",
                "base-uri 'none'",
                "form-action 'self'",
                "frame-ancestors 'self'",
            )
        )

    @property
    def nonce(self) -> str:
        if not hasattr(self, "_nonce"):
            self._nonce = secrets.token_urlsafe(18)
        return self._nonce

    def root(self) -> Path:
        """The course that formgrader shows, or the folder that Jupyter was started in."""
        formgrader = self.settings.get("nbgrader_formgrader")
        root = formgrader.coursedir.root if formgrader else self.settings["server_root_dir"]
        return Path(root).expanduser()

    async def work(self, job: Callable[..., Any], *arguments: Any, again: bool = False) -> Any:
        """Run `job` on the course, in the one thread that does such things."""

        def on_course() -> Any:
            return job(_opened(self.root(), again), *arguments)

        return await asyncio.get_running_loop().run_in_executor(WORKER, on_course)

    def page(self, template: str, **values: Any) -> None:
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-store")
        self.finish(
            TEMPLATES.get_template(template).render(
                style=style() + _file("marking.css"),
                script=_file("marking.js"),
                nonce=self.nonce,
                base=url_path_join(self.base_url, "marking"),
                xsrf=self.xsrf_token.decode(),
                **values,
            )
        )

    def problem(self, status: int, sentence: str, **more: Any) -> None:
        self.set_status(status)
        if self.request.method == "GET":
            self.page("problem.html.j2", sentence=sentence)
        else:
            self.finish({"problem": sentence, **more})


class Overview(MarkingHandler):
    """All written questions, and the progress of each."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        try:
            found = await self.work(_all_questions, again=True)
        except CourseError as sentence:
            return self.problem(404, str(sentence))
        self.page("overview.html.j2", assignments=found)


class OneQuestion(MarkingHandler):
    """The answers of the class to one question; PUT writes the mark for one group of them."""

    @web.authenticated
    @authorized
    async def get(self, assignment: str, exercise: str) -> None:
        share = _share(self.get_query_argument("share", "1"), self.get_query_argument("of", "1"))
        try:
            values = await self.work(_question_page, assignment, exercise, share)
        except CourseError as sentence:
            return self.problem(404, str(sentence))
        self.page("question.html.j2", **values)

    @web.authenticated
    @authorized
    async def put(self, assignment: str, exercise: str) -> None:
        user = getattr(self.current_user, "display_name", "") or ""
        if user.startswith("Anonymous "):  # Jupyter without a hub makes names up
            user = ""
        try:
            given = json.loads(self.request.body)
            asked = _asked(given, user)
        except (ValueError, TypeError, KeyError):
            return self.problem(400, "The page sent something that is not a mark. Reload the page.")
        try:
            done = await self.work(_write, assignment, exercise, *asked)
        except CourseError as sentence:
            if isinstance(sentence.__cause__, OperationalError):
                return self.problem(503, BUSY)
            return self.problem(404, str(sentence))
        except Refused as sentence:
            return self.problem(400, str(sentence))
        except Changed as change:
            return self.problem(409, str(change), card=change.card)
        self.finish(done)


class Changed(Exception):
    """Somebody else has marked the answer in the meantime; `card` is its present state."""

    def __init__(self, sentence: str, card: dict):
        super().__init__(sentence)
        self.card = card


def add_pages(app: web.Application) -> None:
    base = url_path_join(app.settings["base_url"], "marking")
    app.add_handlers(
        ".*$",
        [
            (f"{base}/?", Overview),
            (f"{base}/([^/]+)/([^/]+)/?", OneQuestion),
        ],
    )


_courses: dict[Path, Course] = {}


def _opened(root: Path, again: bool) -> Course:
    """The course, opened once per sitting: opening it copies the gradebook, and ten copies are kept."""
    if again or root not in _courses:
        _courses[root] = open_course(root)
    return _courses[root]


def _file(name: str) -> Markup:
    return Markup((PAGES / name).read_text(encoding="utf-8"))


def _share(number: str, of: str) -> Share:
    """The share that the address asks for; if it makes no sense, all answers."""
    if number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of) <= MOST_PEOPLE:
        return Share(int(number), int(of))
    return Share()


def _asked(given: dict, user: str) -> tuple[str, str, NewMark]:
    score = given["score"]
    mark = NewMark(
        None if score is None else float(score),
        str(given["comment"]).strip(),
        tuple(int(line) for line in given["lines"]),
        user,
    )
    return str(given["key"]), str(given["version"]), mark


def _all_questions(course: Course) -> list[dict]:
    with open_gradebook(course) as gradebook:
        found: dict[str, list[dict]] = {}
        for question in store.questions(gradebook):
            found.setdefault(question.assignment, []).append(
                {"title": _title(question.exercise), **vars(question)}
            )
    return [{"name": name, "questions": own} for name, own in found.items()]


def _question_page(course: Course, assignment: str, exercise: str, share: Share) -> dict:
    with open_gradebook(course) as gradebook:
        question = _find(gradebook, assignment, exercise)
        marks = store.read_marks(gradebook, course.root, assignment, exercise)
        notebook = gradebook.find_assignment(assignment).notebooks[0]
        cells = {cell.name: cell.source for cell in notebook.source_cells}
        scheme = rubric.mark_scheme(cells.get(rubric_cell(exercise), "")).worth(question.points)
    answers, empty = read_answers(course, assignment, exercise, sorted(marks))
    piles = shares(grouped(answers), share.of)
    mine = piles[share.number - 1]
    return {
        "assignment": assignment,
        "question": question,
        "title": _title(exercise),
        "asked": Markup(fragments.given(_asked_before(course, assignment, exercise))),
        "lines": [_line(line) for line in scheme.lines],
        "notes": Markup(fragments.given(scheme.notes)),
        "model": Markup(fragments.given(scheme.model)),
        "cards": [_card(group, [marks[s] for s in group.students]) for group in mine],
        "comments": store.used_comments(marks.values()),
        "empty": len(empty),
        "share": share,
        "people": MOST_PEOPLE,
        "piles": [_progress(pile, marks) for pile in piles],
    }


def _line(line: rubric.Line) -> dict:
    words = line.text.split()
    short = " ".join(words[:6]) + ("…" if len(words) > 6 else "")
    return {"points": line.points, "html": Markup(fragments.given(line.text)), "short": short}


def _asked_before(course: Course, assignment: str, exercise: str) -> str:
    """The question as students saw it: the text above the field for its answer."""
    try:
        cells = json.loads(release_of(course.root, assignment))["cells"]
    except (OSError, ValueError, KeyError):
        return ""
    names = [cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in cells]
    if exercise not in names[1:]:
        return ""
    return "".join(cells[names.index(exercise) - 1]["source"])


def _card(group: Group, marks: Sequence[Mark]) -> dict:
    """One answer on the page, with the mark of everybody who gave it."""
    return {
        "key": group.key,
        "html": Markup(fragments.written(group.source, group.attachments)),
        "difference": Markup(difference(group)),
        "names": sorted(mark.name for mark in marks),
        **_state(marks),
    }


def _state(marks: Sequence[Mark]) -> dict:
    """The marks that a card shows; in formgrader, its students may have got different ones."""
    scores = {mark.score for mark in marks}
    one = marks[0]
    same = len(scores) == 1
    return {
        "version": store.version(marks),
        "students": len(marks),
        "waiting": sum(mark.score is None for mark in marks),
        "score": one.score if same else None,
        "comment": one.comment if len({mark.comment for mark in marks}) == 1 else "",
        "lines": list(one.lines) if same else [],
        "by": one.by if same else "",
        "apart": sorted(shown(s) for s in scores if s is not None) if not same else [],
        "before": shown(one.before) if one.before is not None else "",
    }


def _progress(pile: Sequence[Group], marks: dict[str, Mark]) -> dict:
    own = [marks[student] for group in pile for student in group.students]
    return {"answers": len(own), "marked": sum(mark.score is not None for mark in own)}


def _write(
    course: Course, assignment: str, exercise: str, key: str, seen: str, mark: NewMark
) -> dict:
    """Write the mark for everybody with this answer, if nothing has changed since the page loaded."""
    with open_gradebook(course) as gradebook:
        question = _find(gradebook, assignment, exercise)
        marks = store.read_marks(gradebook, course.root, assignment, exercise)
        answers, _ = read_answers(course, assignment, exercise, sorted(marks))
        own = [marks[answer.student] for answer in answers if answer.key == key]
        if not own:
            raise Refused("The text of this answer has changed in the meantime. Reload the page.")
        if store.version(own) != seen:
            raise Changed(
                "Somebody else has marked this answer in the meantime. Their mark is shown now; "
                "mark it again if you disagree.",
                _state(own),
            )
        store.write_mark(gradebook, course.root, question, [m.student for m in own], mark)
        after = store.read_marks(gradebook, course.root, assignment, exercise)
        return _state([after[one.student] for one in own])


def _find(gradebook: Gradebook, assignment: str, exercise: str) -> Question:
    for question in store.questions(gradebook):
        if (question.assignment, question.exercise) == (assignment, exercise):
            return question
    raise CourseError(f"{assignment} has no written question called {exercise}.")


def _title(exercise: str) -> str:
    try:
        title = register.exercise(exercise).title
    except KeyError:
        title = exercise
    return title[:1].upper() + title[1:]
