"""The gradebook in PostgreSQL, by its URL, on a server made for the test."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.box import why_unavailable
from autograder.nbgrader_parts.database import with_driver
from autograder.whole_class.grade_class import Options, grade_class
from tests.grading.handing_in import ASSIGNMENT, EXERCISE, NO_TANH, RIGHT, hand_in, submission

pytestmark = [
    pytest.mark.box,
    pytest.mark.slow,
    pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces"),
    pytest.mark.skipif(shutil.which("initdb") is None, reason="PostgreSQL is not installed"),
]


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
