"""From `demo` to `export`: every command of the instructor's guide, on one class."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.grading import archive, record
from autograder.instructor import regrade as regrading
from autograder.instructor.course import open_course

pytestmark = pytest.mark.box
NAME = "03_attention"


def gradebook_of(course):
    return Gradebook(f"sqlite:///{course / 'gradebook.db'}")


def read_csv(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def test_the_demonstration_has_every_kind_of_submission(demonstration):
    _, said = demonstration
    for kind in ("right", "misconception", "late", "hostile", "cut short", "unanswered"):
        assert re.search(rf"\d+ {kind}\n", said), said
    assert "13 graded, 1 not graded, 2 flagged for a person" in said
    assert re.search(r"Done in \d+ s", said)


def test_the_demonstration_prints_paths_that_are_there(demonstration):
    _, said = demonstration
    paths = re.findall(r"^  (?:the|a) .*?(/\S+)$", said, re.MULTILINE)
    assert len(paths) == 3
    assert all(Path(path).exists() for path in paths)


def test_the_demonstration_leaves_a_full_folder_alone(tmp_path, autograder):
    (tmp_path / "notes.txt").write_text("mine")
    result = autograder("demo", tmp_path)
    assert result.exit_code == 1
    assert "is not empty" in result.output and "nothing was changed" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_the_hostile_submission_gets_no_points(demonstration):
    folder, _ = demonstration
    verdicts = archive.records(folder, NAME)
    hostile = [v for v in verdicts if any(e.box != "ok" for e in v.exercises)]
    assert len(hostile) == 1
    assert hostile[0].points == 0
    assert hostile[0].flags


def test_right_answers_have_all_points_and_misconceptions_are_named(demonstration):
    folder, _ = demonstration
    exercises = [e for v in archive.records(folder, NAME) for e in v.exercises]
    assert sum(e.passed for e in exercises) >= 3
    assert len({e.misconception for e in exercises if e.misconception}) >= 3


def test_export_writes_what_canvas_and_moodle_import(course, autograder):
    for kind in ("canvas", "moodle", "csv"):
        result = autograder("export", "--format", kind, "--course", course)
        assert result.exit_code == 0, result.output
    canvas = read_csv(course / "grades_canvas.csv")
    assert canvas[0][-1] == NAME and canvas[1][-1] == "9"
    scores = {row[3]: row[5] for row in canvas[2:]}
    with gradebook_of(course) as gradebook:
        for submission in gradebook.assignment_submissions(NAME):
            wanted = max(0.0, submission.score - submission.late_submission_penalty)
            assert float(scores.pop(submission.student_id)) == pytest.approx(wanted)
    assert list(scores.values()) == [""]
    moodle = read_csv(course / "grades_moodle.csv")
    assert {row[2] for row in moodle[1:]} == {f"s{n:03d}" for n in range(1, 15)}


def test_export_uses_the_name_that_the_lms_has(course, autograder):
    target = course / "out.csv"
    result = autograder(
        "export", NAME, "--format", "canvas", "--course", course, "--to", target,
        "--title", f"{NAME}=Attention (4711)", "--missing-as-zero",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    rows = read_csv(target)
    assert rows[0][-1] == "Attention (4711)"
    unread = {v.student for v in archive.records(course, NAME) if not v.graded}
    assert len(unread) == 1
    assert {row[3] for row in rows[2:] if not row[-1]} == unread


def test_the_report_counts_what_the_records_say(course, autograder):
    result = autograder("report", NAME, "--course", course)
    assert result.exit_code == 0, result.output
    page = (course / "reports" / f"{NAME}.html").read_text(encoding="utf-8")
    assert "14 of 14 students handed in" in page
    fetched = page.replace('xmlns="http://www.w3.org/2000/svg"', "")  # a name, not an address
    assert "<script" not in page and "http://" not in fetched and "https://" not in fetched
    for verdict in archive.records(course, NAME):
        for exercise in verdict.exercises:
            if exercise.misconception:
                title = exercise.misconception.replace("-", " ").capitalize()
                assert title in page
    for seed in archive.runs(course, NAME)[-1].seeds["dot-prod-attention"]:
        assert str(seed) in page
    assert 'role="img"' in page and "The same as a table" in page


def test_there_is_one_average_and_every_command_and_page_shows_it(
    course, autograder, demonstration
):
    said = autograder("report", NAME, "--course", course).output
    average = re.search(r"([\d.]+) of 9 points on average so far; 2 flagged for a person", said)
    assert average and average[0] in demonstration[1]
    page = (course / "reports" / f"{NAME}.html").read_text(encoding="utf-8")
    assert f"<b>{average[1]}</b> <span>points on average so far, of 9<" in page
    assert "<b>2</b> <span>flagged for a person<" in page


def test_points_grow_so_far_until_every_answer_is_marked(course, autograder):
    student = sorted(waiting(course))[0]
    path = course / "feedback" / student / NAME / f"{NAME}.html"
    assert "<span>points so far</span>" in path.read_text("utf-8")
    mark_by_hand(course, student, 0.5, "")
    assert autograder("feedback", NAME, "--course", course, "--student", student).exit_code == 0
    assert "<span>points</span>" in path.read_text("utf-8")


def test_the_report_knows_names_and_absentees_from_the_roster(course, autograder):
    with gradebook_of(course) as gradebook:
        for student in gradebook.students:
            student.first_name = student.last_name = None
        gradebook.db.commit()
    with (course / "roster.csv").open("a", encoding="utf-8") as roster:
        roster.write("zz9,Zed,Absent,zz9@uni.example,1,,\n")
    assert autograder("report", NAME, "--course", course).exit_code == 0
    page = (course / "reports" / f"{NAME}.html").read_text(encoding="utf-8")
    assert "14 of 15 students handed in" in page
    assert "Zed Absent" in page and "O&#39;Brien" in page


def test_feedback_shows_points_and_messages_and_nothing_hidden(course, autograder):
    verdict = next(
        v for v in archive.records(course, NAME) if any(e.misconception for e in v.exercises)
    )
    result = autograder("feedback", NAME, "--course", course, "--student", verdict.student)
    assert result.exit_code == 0, result.output
    page = (course / "feedback" / verdict.student / NAME / f"{NAME}.html").read_text("utf-8")
    exercise = next(e for e in verdict.exercises if e.misconception)
    assert exercise.sentence in page
    for finding in exercise.findings:
        assert finding.name.replace("'", "&#x27;") in page
    for secret in ("HIDDEN TESTS", "hidden_check", "MARK SCHEME", "Rubric", "Model answer"):
        assert secret not in page
    assert "<script" not in page


def test_a_script_in_a_students_text_is_only_text_in_the_feedback(course, autograder):
    student = next(v.student for v in archive.records(course, NAME) if v.written)
    path = course / "autograded" / student / NAME / f"{NAME}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "dot-prod-attention":
            cell.source = "</code></pre><script>alert(1)</script>"
    nbformat.write(notebook, path)
    assert autograder("feedback", NAME, "--course", course, "--student", student).exit_code == 0
    page = (course / "feedback" / student / NAME / f"{NAME}.html").read_text("utf-8")
    assert "<script" not in page


def mark_by_hand(course, student, points, comment):
    with gradebook_of(course) as gradebook:
        grade = gradebook.find_grade("reversal-map", NAME, NAME, student)
        grade.manual_score, grade.needs_manual_grade = points, False
        gradebook.find_comment("reversal-map", NAME, NAME, student).manual_comment = comment
        gradebook.db.commit()


def waiting(course):
    with gradebook_of(course) as gradebook:
        return {
            submission.student_id
            for submission in gradebook.assignment_submissions(NAME)
            if submission.needs_manual_grade
        }


def test_a_comment_by_a_person_reaches_the_feedback(course, autograder):
    student = sorted(waiting(course))[0]
    mark_by_hand(course, student, 0.5, "Say **why** it falls: $s = S - t$.")
    assert autograder("feedback", NAME, "--course", course, "--student", student).exit_code == 0
    page = (course / "feedback" / student / NAME / f"{NAME}.html").read_text("utf-8")
    assert "Say <strong>why</strong> it falls" in page
    assert 'aria-label="s = S - t"' in page
    assert "0.5 of 1" in page


def test_regrading_leaves_marks_by_hand_and_the_pile_as_they_are(course, autograder):
    pile = waiting(course)
    student = sorted(pile)[0]
    mark_by_hand(course, student, 0.5, "Good start.")
    result = autograder("regrade", NAME, "--course", course, "--same-seeds")
    assert result.exit_code == 0, result.output
    assert "No points changed" in result.output
    assert waiting(course) == pile - {student}
    with gradebook_of(course) as gradebook:
        assert gradebook.find_grade("reversal-map", NAME, NAME, student).manual_score == 0.5
        comment = gradebook.find_comment("reversal-map", NAME, NAME, student)
        assert comment.manual_comment == "Good start."


def test_a_fixed_check_shows_who_from_and_to(course, autograder):
    """The stored verdict is made wrong, as a broken check would have; regrading mends it."""
    verdict = next(v for v in archive.records(course, NAME) if v.points == 8)
    spoilt = replace(verdict.exercises[0], points=2.0)
    archive.write_record(course, replace(verdict, exercises=(spoilt,)))
    result = autograder(
        "regrade", NAME, "--course", course, "--student", verdict.student,
        "--exercise", "dot-prod-attention",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "Points changed for 1 answer:" in result.output
    assert re.search(rf"{verdict.student}.*dot-prod-attention.*2.*8", result.output)
    assert archive.read_record(course, NAME, verdict.student).points == 8
    assert len(archive.runs(course, NAME)) == 2


def test_regrading_one_student_leaves_the_others_alone(course):
    before = {v.student: v.run for v in archive.records(course, NAME)}
    student = next(v.student for v in archive.records(course, NAME) if v.graded)
    regrading.regrade(open_course(course), NAME, [student])
    after = {v.student: v.run for v in archive.records(course, NAME)}
    assert {name for name in before if before[name] != after[name]} == {student}


def test_the_records_are_json_that_the_commands_can_read_again(demonstration):
    folder, _ = demonstration
    for path in (folder / archive.FOLDER / "verdicts" / NAME).glob("*.json"):
        assert json.loads(path.read_text(encoding="utf-8"))["format"] == record.FORMAT
