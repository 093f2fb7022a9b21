"""The instructors' guide, followed word by word."""

import shutil

import pytest

from tests.instructor.guides import ROOT, commands_in, follow


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.thorough
def test_the_instructors_guide(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    commands = commands_in("instructors.md")
    assert len(commands) >= 15
    follow(commands, tmp_path)
    course = tmp_path / "demo_course"
    for path in (
        "reports/03_attention.html",
        "feedback/s004/03_attention/03_attention.html",
        "grades_canvas.csv",
        "grades_moodle.csv",
        "grades_csv.csv",
        "grades_exercises.csv",
        "reports/index.html",
        "send_back/03_attention_by_hand.csv",
    ):
        assert (course / path).is_file(), path
    assert not list((tmp_path / "for_students").rglob("*oracle*"))
    assert (tmp_path / "for_students" / "notebooks" / "03_attention.ipynb").is_file()
