"""A class with names of all the world and odd files among them is graded and gets its feedback."""

import html
import json
import zipfile

import pytest

from autograder.box import why_unavailable
from autograder.instructor.course import open_course
from autograder.instructor.feedback import write_feedback
from autograder.whole_class.grade_class import Options, grade_class
from tests.grading.handing_in import ASSIGNMENT, RIGHT, submission

pytestmark = [pytest.mark.box, pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")]

LONG_THAI = "สมชาย " + "ทดสอบชื่อยาวมาก" * 6
ON_ROSTER = {"王小明": "王小明", LONG_THAI: "ชื่อผู้ใช้" * 5, "محمد عبد الله": "محمد", "🙂 👍": "emoji"}
ODD = "Z" + "\u0301" * 300 + "oe 學" + "學" * 60


def handed_in(tmp_path):
    """Moodle's zip of the class, with file names as long as file systems take them."""
    path = tmp_path / "class.zip"
    written = "]:[x](javascript:alert(1)) ![a](attachment:a.gif) " + "$x_1$ " * 20
    content = json.dumps(submission(RIGHT, written)).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for number, name in enumerate([*ON_ROSTER, ODD]):
            folder = f"{name}_{number + 100}_assignsubmission_file_"
            archive.writestr(f"{folder}/{'注意力机制' * 10}.ipynb", content)
    return path


def test_everybody_is_graded_and_gets_a_page(tmp_path):
    roster = tmp_path / "roster.csv"
    lines = [f"{student},{name},," for name, student in ON_ROSTER.items()]
    roster.write_text("\n".join(["id,name,email,section", *lines]), encoding="utf-8")
    course = tmp_path / "course"
    run, records = grade_class(
        Options(ASSIGNMENT, (handed_in(tmp_path),), course, roster=roster, jobs=1)
    )
    assert run.graded == len(ON_ROSTER) + 1
    points = {record.student: record.points for record in records}
    assert set(ON_ROSTER.values()) < set(points)
    assert set(points.values()) == {8}
    pages = write_feedback(open_course(course), ASSIGNMENT)
    assert len(pages) == len(points)
    for page in pages:
        text = html.unescape(page.read_text(encoding="utf-8"))
        assert 'href="javascript' not in text and "The picture a.gif isn't shown" in text
