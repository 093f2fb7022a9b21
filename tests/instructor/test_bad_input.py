"""Whatever is wrong with a course, the command says it in one sentence and changes nothing."""

import os
import shutil
import sqlite3

import pytest

NAME = "03_attention"


def said(result):
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.output
    return result.output


@pytest.mark.parametrize(
    "command", [["report", NAME], ["feedback", NAME], ["export", "--format", "csv"],
                ["regrade", NAME]]
)  # fmt: skip
def test_a_folder_without_a_gradebook(tmp_path, autograder, command):
    assert "has no gradebook" in said(autograder(*command, "--course", tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_course_that_is_not_there(tmp_path, autograder):
    output = said(autograder("report", NAME, "--course", tmp_path / "nowhere"))
    assert "There is no course directory" in output


def test_a_gradebook_that_is_no_gradebook(tmp_path, autograder):
    (tmp_path / "gradebook.db").write_text("these are not the grades")
    output = said(autograder("report", NAME, "--course", tmp_path))
    assert "is damaged (file is not a database), and there is no copy of it" in output
    assert (tmp_path / "gradebook.db").read_text() == "these are not the grades"


@pytest.mark.box
class TestWithAClass:
    def test_an_assignment_that_is_not_there(self, course, autograder):
        for command in (["report", "09_none"], ["feedback", "09_none"], ["regrade", "09_none"]):
            output = said(autograder(*command, "--course", course))
            assert "no assignment 09_none. It has: 03_attention" in output

    def test_a_gradebook_from_an_older_version(self, course, autograder):
        with sqlite3.connect(course / "gradebook.db") as database:
            database.execute("update alembic_version set version_num = 'b6d005d67074'")
        output = said(autograder("export", "--format", "csv", "--course", course))
        assert "nbgrader db upgrade" in " ".join(output.split())

    def test_an_empty_class(self, course, autograder):
        with sqlite3.connect(course / "gradebook.db") as database:
            for table in ("grade", "comment", "submitted_notebook", "submitted_assignment",
                          "student"):  # fmt: skip
                database.execute(f"delete from {table}")
        shutil.rmtree(course / ".autograder")
        (course / "roster.csv").unlink()
        assert "Nobody has handed in" in said(autograder("report", NAME, "--course", course))
        output = said(autograder("export", "--format", "csv", "--course", course))
        assert "class is empty" in output
        assert "has been graded yet" in said(autograder("regrade", NAME, "--course", course))

    def test_a_student_who_is_not_there(self, course, autograder):
        result = autograder("feedback", NAME, "--course", course, "--student", "nobody")
        assert "no student called nobody" in said(result)
        result = autograder("regrade", NAME, "--course", course, "--student", "nobody")
        assert "nobody has no graded submission" in said(result)

    def test_an_exercise_that_is_not_there(self, course, autograder):
        result = autograder("regrade", NAME, "--course", course, "--exercise", "none")
        assert "has no checked exercise none. It has: dot-prod-attention" in said(result)

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("name\nJane\n", "no column for the student's id"),
            ("id,name\na,Jane\na,John\n", "twice, in lines 2 and 3"),
        ],
    )
    def test_a_roster_that_cannot_be_used(self, course, autograder, text, sentence):
        (course / "roster.csv").write_text(text)
        result = autograder("export", "--format", "canvas", "--course", course)
        assert sentence in " ".join(said(result).split())
        assert not (course / "grades_canvas.csv").exists()

    def test_a_roster_in_another_encoding_is_read(self, course, autograder):
        (course / "roster.csv").write_bytes("id,name\ns001,Ana Müller\n".encode("cp1252"))
        assert autograder("export", "--format", "moodle", "--course", course).exit_code == 0
        assert "Müller" in (course / "grades_moodle.csv").read_text("utf-8-sig")

    def test_settings_that_are_not_python(self, course, autograder):
        (course / "nbgrader_config.py").write_text("c = (")
        assert "nbgrader_config.py cannot be read" in said(
            autograder("report", NAME, "--course", course)
        )

    def test_a_place_that_cannot_be_written(self, course, autograder):
        blocked = course / "reports" / "x"
        shutil.rmtree(course / "reports")
        (course / "reports").write_text("a file where the folder should be")
        output = said(autograder("report", NAME, "--course", course, "--to", blocked))
        assert "can't be written" in output

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_folder_without_permission(self, course, autograder):
        (course / "reports").chmod(0o500)
        output = said(autograder("report", NAME, "--course", course))
        assert "can't be written" in output

    def test_a_title_that_is_not_one(self, course, autograder):
        result = autograder("export", "--format", "csv", "--course", course, "--title", "x")
        assert "ASSIGNMENT=TITLE" in said(result)
