"""The gradebook in PostgreSQL, by its URL, on a server made for the test."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from autograder.box import why_unavailable
from autograder.cli import main
from autograder.nbgrader_parts import backups
from autograder.nbgrader_parts.database import with_driver
from autograder.whole_class.grade_class import Options, grade_class
from tests.grading.handing_in import (
    ASSIGNMENT,
    EXERCISE,
    NO_TANH,
    RIGHT,
    cell_of,
    hand_in,
    submission,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("initdb") is None, reason="PostgreSQL is not installed"),
]
needs_box = pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")


@pytest.fixture
def server(tmp_path):
    """A PostgreSQL server in a folder of its own; root starts it as somebody else."""
    folder = tmp_path / "postgres"
    folder.mkdir()
    somebody = []
    if os.getuid() == 0:
        for place in (tmp_path, *tmp_path.parents):
            if place == Path(tempfile.gettempdir()):
                break
            place.chmod(0o755)
        os.chown(folder, 65534, 65534)
        somebody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = folder / "data"
    quiet = {"check": True, "capture_output": True, "cwd": folder}
    subprocess.run([*somebody, "initdb", "-D", data, "-U", "grader", "-A", "trust"], **quiet)
    line = [*somebody, shutil.which("postgres"), "-D", data, "-p", str(port), "-k", folder]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([*line, "-h", "127.0.0.1"], stdout=log, stderr=log, cwd=folder)
    try:
        for _ in range(200):
            made = subprocess.run(
                ["createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "grader", "grades"],
                capture_output=True,
                check=False,
            )
            if made.returncode == 0:
                break
            time.sleep(0.1)
        yield f"postgresql://grader@127.0.0.1:{port}/grades"
    finally:
        process.terminate()
        process.wait(30)


@needs_box
@pytest.mark.box
def test_a_class_is_graded_into_postgresql_and_again(server, tmp_path):
    folder, course = tmp_path / "in", tmp_path / "course"
    hand_in(folder, "ann", submission(RIGHT))
    hand_in(folder, "bob", submission(NO_TANH))
    for _ in range(2):
        run, _ = grade_class(Options(ASSIGNMENT, (folder,), course, db=server))
        assert run.graded == 2
    assert not (course / "gradebook.db").exists()
    with Gradebook(with_driver(server)) as book:
        points = {
            student: book.find_grade(
                f"{EXERCISE}-check", ASSIGNMENT, ASSIGNMENT, student
            ).auto_score
            for student in ("ann", "bob")
        }
    assert points["ann"] == 8 and 0 < points["bob"] < 8


@needs_box
@pytest.mark.box
def test_nul_odd_letters_and_long_names_are_stored_in_postgresql(server, tmp_path):
    """SQLite takes them all; PostgreSQL refuses a NUL, and half a letter."""
    folder, course = tmp_path / "in", tmp_path / "course"
    raising = "raise ValueError('a\\0b \\ud800 ' + 'x' * 100_000)"
    named = {"ann": RIGHT, "學" * 70: RIGHT, "👩🏽‍🚀" * 12: RIGHT, "eve": raising}
    for student, answer in named.items():
        notebook = submission(answer, "Text \0 with \ud800 and 👩🏽‍🚀")
        cell_of(notebook, EXERCISE).metadata["id"] = "a\0b"
        hand_in(folder, student, notebook)
    run, records = grade_class(Options(ASSIGNMENT, (folder,), course, db=server))
    assert run.graded == 4 and run.flagged == 0
    with Gradebook(with_driver(server)) as book:
        points = {s.student_id: s.score for s in book.assignment_submissions(ASSIGNMENT)}
        said = book.find_comment(EXERCISE, ASSIGNMENT, ASSIGNMENT, "eve").auto_comment
    assert sorted(points.values()) == [0, 8, 8, 8] and points["eve"] == 0
    assert set(points) == {record.student for record in records}
    assert "ValueError" in said and "\0" not in said


@pytest.fixture
def graded(server, tmp_path):
    """A course whose gradebook is on the server, with one student in it."""
    course = tmp_path / "course"
    course.mkdir()
    with Gradebook(with_driver(server)) as book:
        book.add_student("ann", first_name="Ann")
    return course


def rename(server, name):
    with Gradebook(with_driver(server)) as book:
        book.update_or_create_student("ann", first_name=name)


def names(server):
    with Gradebook(with_driver(server)) as book:
        return [student.first_name for student in book.students]


def test_the_last_ten_states_of_a_gradebook_in_postgresql_are_kept_and_none_twice(server, graded):
    first = backups.back_up(graded, server)
    assert first is not None and backups.back_up(graded, server) == first
    for number in range(backups.KEPT + 2):
        rename(server, f"Ann {number}")
        backups.back_up(graded, server)
    kept = backups.backups(graded, "sql")
    assert len(kept) == backups.KEPT and first not in kept
    assert not list(backups.folder(graded).glob("*.unfinished"))


def test_every_command_makes_one_and_psql_brings_it_back(server, graded, caplog):
    done = CliRunner().invoke(main, ["report", "--course", str(graded), "--db", server])
    assert "No backup" not in done.output + caplog.text
    (copy,) = backups.backups(graded, "sql")
    rename(server, "Somebody Else")
    restored = subprocess.run(
        ["psql", "--single-transaction", "--set=ON_ERROR_STOP=1", f"--file={copy}", server],
        capture_output=True,
        check=False,
    )
    assert restored.returncode == 0, restored.stderr
    assert names(server) == ["Ann"]


def test_without_pg_dump_one_sentence_says_so_and_how_to_make_a_backup(
    server, graded, monkeypatch, caplog
):
    monkeypatch.setattr(backups.shutil, "which", lambda program: None)
    secret = server.replace("grader@", "grader:s3cret@")
    assert backups.back_up(graded, secret) is None
    (said,) = caplog.messages
    assert said.startswith("No backup of the gradebook was made: pg_dump is not installed here")
    assert f"`pg_dump --clean --if-exists --file=gradebook.sql {server}`" in said
    assert "s3cret" not in said
    assert not backups.folder(graded).exists()


def test_a_pg_dump_that_fails_leaves_nothing_behind_and_says_why(graded, caplog):
    assert backups.back_up(graded, "postgresql+psycopg2://grader@127.0.0.1:1/grades") is None
    (said,) = caplog.messages
    assert "No backup of the gradebook was made (pg_dump: error: connection to server" in said
    assert "make one yourself with `pg_dump" in said and "psycopg2" not in said
    assert not list(backups.folder(graded).iterdir())


def test_the_password_reaches_pg_dump_and_is_on_no_command_line(tmp_path, monkeypatch, caplog):
    program = tmp_path / "bin" / "pg_dump"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\nfor a; do case $a in --file=*) out=${a#--file=};; esac; done\n"
        f'echo "$@ $PGPASSWORD" > {tmp_path}/called\n'
        "printf '\\\\restrict %s\\nCREATE TABLE x ();\\n' $$ > \"$out\"\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    for url in (
        "postgresql://t:s3cret@db/g",
        "postgresql://t@db/g?password=s3cret&sslmode=require",
    ):
        first = backups.back_up(tmp_path / "course", url)
        assert first == backups.back_up(tmp_path / "course", url)  # the random word is no change
        *arguments, password = (tmp_path / "called").read_text().split()
        assert password == "s3cret" and "s3cret" not in " ".join(arguments)
        assert arguments[-1] in ("postgresql://t@db/g", "postgresql://t@db/g?sslmode=require")
    assert not caplog.messages


def test_another_database_is_said_to_have_no_backup(tmp_path, caplog):
    assert backups.back_up(tmp_path, "mysql://teacher@db/grades") is None
    assert "No backup of the gradebook was made" in caplog.text
