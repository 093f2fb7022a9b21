"""A term, step by step, by the commands that an instructor types: the gradebook is right after each."""

import copy
import csv
import io
import json
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.grading import archive
from autograder.nbgrader_parts import backups
from tests.grading.handing_in import NO_TANH, RIGHT, cell_of

pytestmark = [pytest.mark.box, pytest.mark.slow]
NAME, EXERCISE, WRITTEN = "03_attention", "dot-prod-attention", "reversal-map"
CHECK = f"{EXERCISE}-check"
COURSE = """
notebooks = ["00_start_here", "03_attention"]
timezone = "UTC"

[points]
dot-prod-attention = 10

[due]
03_attention = 2027-03-05T18:00:00

[late]
share_a_day = 0.1
"""
# Two people called Jane Doe, one of them on the roster, and Bob, who is not on it yet.
ROSTER = "id,first_name,last_name,section\ns001,Ann,Ames,A\ns002,Jane,Doe,A\n"
SENDERS = {"Ann Ames": 101, "Jane Doe": 102, "Jane Doe ": 107, "Bob Brown": 103}


class Term:
    """One course directory, what is in its gradebook, and the files that students hand in."""

    def __init__(self, folder: Path, autograder):
        self.folder, self.course, self.autograder = folder, folder / "course", autograder
        self.course.mkdir()

    def run(self, *arguments, fails: str = "") -> str:
        result = self.autograder(*arguments, "--course", self.course)
        said = result.output
        assert (result.exit_code != 0) == bool(fails), said
        assert fails in said, said
        return said

    def choose(self, text: str) -> None:
        (self.course / "course.toml").write_text(text)

    def notebook(self, answer: str, written: str = "An antidiagonal."):
        """What a student makes of the published notebook."""
        path = self.folder / "for_students" / "notebooks" / f"{NAME}.ipynb"
        notebook = copy.deepcopy(nbformat.read(path, as_version=4))
        cell_of(notebook, EXERCISE).source = answer
        cell_of(notebook, WRITTEN).source = written
        return notebook

    def moodle_zip(self, name: str, answers: dict[str, str]) -> Path:
        path = self.folder / name
        with zipfile.ZipFile(path, "w") as file:
            for who, answer in answers.items():
                folder = f"{who.strip()}_{SENDERS[who]}_assignsubmission_file"
                content = json.dumps(self.notebook(answer, f"{who}: an antidiagonal."))
                file.writestr(f"{folder}/{NAME}.ipynb", content)
        return path

    def scores(self) -> dict[str, float]:
        with self.book() as book:
            return {
                s.student_id: round(s.score - (s.late_submission_penalty or 0.0), 3)
                for s in book.assignment_submissions(NAME)
            }

    def most(self) -> float:
        with self.book() as book:
            for s in book.assignment_submissions(NAME):
                for grade in s.notebooks[0].grades:
                    assert grade.score <= grade.max_score, "raw above max"
            return book.find_assignment(NAME).max_score

    def book(self) -> Gradebook:
        return Gradebook(f"sqlite:///{self.course / 'gradebook.db'}")

    def mark(self, student: str, points: float) -> None:
        with self.book() as book:
            grade = book.find_grade(WRITTEN, NAME, NAME, student)
            grade.manual_score, grade.needs_manual_grade = points, False
            book.db.commit()

    def exported(self) -> dict[str, str]:
        self.run("export", "--format", "canvas")
        text = (self.course / "grades_canvas.csv").read_text(encoding="utf-8-sig")
        return {row[3]: row[5] for row in list(csv.reader(io.StringIO(text)))[2:]}


@pytest.mark.thorough
def test_a_term(tmp_path, autograder):
    term = Term(tmp_path, autograder)

    # choose and publish
    term.choose(COURSE)
    said = term.run("publish", tmp_path / "for_students")
    assert "00_start_here, 03_attention" in said
    (term.course / "roster.csv").write_text(ROSTER)
    first = term.moodle_zip(
        "first.zip",
        {"Ann Ames": NO_TANH, "Jane Doe": RIGHT, "Jane Doe ": NO_TANH, "Bob Brown": RIGHT},
    )

    # who is who, before anything is graded
    said = term.run("roster", first)
    assert "1 of 4 senders matched" in said
    path = term.course / "who_is_who.csv"
    lines = path.read_text().splitlines()
    assert len(lines) == 4 and not (term.course / "gradebook.db").exists()
    path.write_text("\n".join(x.replace(",102,,", ",102,s002,") for x in lines) + "\n")
    assert "2 of 4 senders matched" in term.run("roster", first)

    # grade: different numbers are different people
    term.run("grade", NAME, first, "--jobs", 1)
    scores = term.scores()
    (other_jane,) = [s for s in scores if s.endswith("107")]
    (bob,) = [s for s in scores if s.endswith("103")]
    some = scores["s001"]
    assert 0 < some < 10 and scores == {"s001": some, "s002": 10, other_jane: some, bob: 10}
    assert term.most() == 11
    term.mark("s002", 0.5)
    term.mark(bob, 1.0)

    # a trial run writes nothing
    before = term.scores()
    content = (term.course / "gradebook.db").read_bytes()
    assert "No points would change" in term.run("regrade", NAME, "--jobs", 1, "--dry-run")
    assert (term.course / "gradebook.db").read_bytes() == content

    # points change after grading
    term.choose(COURSE.replace("= 10", "= 5") + "")
    said = term.run("regrade", NAME, "--jobs", 1, "--dry-run", "--yes")
    assert "Nothing was written" in said and "10.5 of 11" in said
    said = term.run("regrade", NAME, "--jobs", 1, fails="Nothing was written")
    assert f"{EXERCISE}: 10 points become 5" in said and "10.5 of 11" in said and "5.5 of 6" in said
    assert term.scores() == before and term.most() == 11
    said = term.run("regrade", NAME, "--jobs", 1, "--yes")
    half = round(some / 2, 3)
    assert term.scores() == {"s001": half, "s002": 5.5, other_jane: half, bob: 6}
    assert term.most() == 6
    assert "No points changed" in said  # the judge found the same as before

    # an exercise that does not count, full marks, and back
    term.choose(f'does_not_count = ["{WRITTEN}"]\n' + COURSE)
    term.run("regrade", NAME, "--jobs", 1, "--yes", "--student", "s001")
    assert term.scores() == {"s001": some, "s002": 10, other_jane: some, bob: 10}
    assert term.most() == 10
    term.choose(f'full_marks = ["{EXERCISE}"]\n' + COURSE)
    term.run("grade", NAME, first, "--only", "s001", "--yes", "--jobs", 1)
    assert term.scores() == {"s001": 10, "s002": 10.5, other_jane: 10, bob: 11}
    term.choose(COURSE)
    term.run("regrade", NAME, "--jobs", 1, "--yes", "--student", "s001")
    assert term.scores() == {"s001": some, "s002": 10.5, other_jane: some, bob: 11}

    # the roster is mended: no ghost stays in gradebook, export or report
    with (term.course / "roster.csv").open("a") as file:
        file.write("s003,Bob,Brown,B\ns004,Jane,Doe,B\n")
    path.write_text(path.read_text().replace(",107,,", ",107,s004,"))
    said = term.run("grade", NAME, first, "--jobs", 1)
    assert f"{bob} is s003" in said and f"{other_jane} is s004" in said
    graded = {"s001": some, "s002": 10.5, "s003": 11, "s004": some}
    assert term.scores() == graded
    assert set(term.exported()) == set(graded)
    assert {r.student for r in archive.records(term.course, NAME)} == set(graded)
    term.run("report", NAME)
    assert other_jane not in (term.course / "reports" / f"{NAME}.html").read_text()

    # times and extensions
    (term.course / "times.csv").write_text(
        "student,section,handed_in_at,due_at,excused\n"
        "s001,,2027-03-06 12:00,,\ns002,,2027-03-06 12:00,2027-03-07 18:00,\n"
        "s003,,2027-03-07 12:00,,\n,B,,2027-03-06 18:00,\n"
    )
    assert float(term.exported()["s001"]) == pytest.approx(0.9 * some, abs=1e-3)
    assert float(term.exported()["s002"]) == 10.5
    assert float(term.exported()["s003"]) == pytest.approx(0.9 * 11)
    (term.course / "times.csv").unlink()
    assert term.exported()["s003"] == "11"

    # newer files count, older ones do not
    second = term.moodle_zip("second.zip", {"Ann Ames": RIGHT})
    term.run("grade", NAME, second, "--jobs", 1)
    assert term.scores() == graded | {"s001": 10}
    said = term.run("grade", NAME, first, "--jobs", 1, "--only", "s001")
    assert "An older file was left alone" in said
    assert term.scores()["s001"] == 10
    term.run("grade", NAME, first, "--jobs", 1, "--only", "s001", "--older")
    assert term.scores() == graded

    # mark, send back, export
    for student in ("s001", "s004"):
        term.mark(student, 1.0)
    term.run("feedback", NAME)
    pages = sorted((term.course / "feedback").glob(f"*/{NAME}/*.html"))
    assert [page.parent.parent.name for page in pages] == ["s001", "s002", "s003", "s004"]
    with zipfile.ZipFile(term.course / "send_back" / f"{NAME}_moodle.zip") as back:
        numbers = sorted(int(name.split("_")[1]) for name in back.namelist())
    assert numbers == sorted(SENDERS.values())
    final = {"s001": some + 1, "s002": 10.5, "s003": 11, "s004": some + 1}
    assert {s: float(p) for s, p in term.exported().items()} == pytest.approx(final, abs=1e-3)
    assert 1 < len(backups.backups(term.course)) <= backups.KEPT
