"""times.csv and the dates of course.toml: what they do to penalties, and a sentence when wrong."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.course_files import CourseError
from autograder.grading import archive
from autograder.grading.record import SubmissionRecord
from autograder.nbgrader_parts.configuration import own_settings
from autograder.nbgrader_parts.database import gradebook_url
from autograder.nbgrader_parts.gradebook import Entry, GradebookWriter
from autograder.nbgrader_parts.late import lateness, refresh_penalties
from autograder.nbgrader_parts.times import add_to_decide, timetable
from autograder.whole_class.course_directory import prepare_course
from tests.grading.handing_in import ASSIGNMENT, EXERCISE, WRITTEN

CHECK = f"{EXERCISE}-check"
HEAD = "student,section,assignment,handed_in_at,due_at,excused,note\n"
COURSE = (
    'timezone = "Europe/Berlin"\n[due]\n03_attention = 2027-03-05T18:00:00\n'
    '[late]\nshare_a_day = 0.1\n[sections."Group B".due]\n03_attention = 2027-03-07T18:00:00\n'
)
ROSTER = "id,first_name,section\nann,Ann,Group A\nbob,Bob,Group B\ncem,Cem,Group A\n"
LATE = datetime(
    2027, 3, 6, 20, 0, tzinfo=UTC
)  # two days begun after the fifth, none after the seventh


@pytest.fixture(scope="module")
def handed_in_late(tmp_path_factory):
    """Ann and Bob handed in on the sixth, all right; Cem at a time that nothing tells."""
    course = tmp_path_factory.mktemp("late")
    (course / "course.toml").write_text(COURSE)
    (course / "roster.csv").write_text(ROSTER)
    url = gradebook_url(course)
    prepare_course(course, ASSIGNMENT, url)
    writer = GradebookWriter(url, ASSIGNMENT)
    for student, when in (("ann", LATE), ("bob", LATE), ("cem", None)):
        record = SubmissionRecord("r", student, ASSIGNMENT, "f", when, "sha", status="graded")
        writer.write([Entry(record, {CHECK: 8.0, WRITTEN: 0.0}, {}, None, when)])
        archive.write_record(course, record)
    writer.close()
    return course


@pytest.fixture
def course(handed_in_late, tmp_path):
    return Path(shutil.copytree(handed_in_late, tmp_path / "course"))


def penalties(course: Path) -> dict[str, float]:
    with Gradebook(gradebook_url(course)) as book:
        refresh_penalties(book, own_settings(course), [ASSIGNMENT], course)
        return {
            s.student_id: s.late_submission_penalty or 0.0
            for s in book.assignment_submissions(ASSIGNMENT)
        }


def test_due_dates_and_late_rule_come_from_course_toml(course):
    assert penalties(course) == {"ann": 1.6, "bob": 0.0, "cem": 0.0}  # Bob's section has longer
    with Gradebook(gradebook_url(course)) as book:
        assert book.find_assignment(ASSIGNMENT).duedate == datetime(2027, 3, 5, 17)
        ann = book.find_submission(ASSIGNMENT, "ann")
        said = lateness(ann).sentence, lateness(ann, timetable(course)).sentence
    assert said[0] == (
        "2 days late (due 5 March 2027, 17:00 UTC, handed in 6 March 2027, 20:00 UTC): "
        "1.6 points were deducted."
    )
    assert "(due 5 March 2027, 18:00 CET, handed in 6 March 2027, 21:00 CET)" in said[1]


def test_a_date_that_changes_changes_the_penalty(course):
    penalties(course)
    (course / "course.toml").write_text(COURSE.replace("05T18", "06T18"))
    assert penalties(course)["ann"] == 0.8


def test_a_students_own_line_counts_more_than_the_sections(course):
    (course / "times.csv").write_text(
        HEAD + "ann,,03_attention,,2027-03-06 18:00,,ill\n"
        "bob,,,,2027-03-05 18:00,,\n,Group B,03_attention,,2027-03-20 18:00,,\n"
        "cem,,03_attention,2027-03-05 18:01,,,seen by me\n"
    )
    assert penalties(course) == {"ann": 0.8, "bob": 1.6, "cem": 0.8}


def test_what_is_taken_out_of_the_file_is_taken_back(course):
    before = penalties(course)
    (course / "times.csv").write_text(
        HEAD + "ann,,,,2027-03-20 18:00,,\ncem,,,2027-03-20 18:00,,,\n"
    )
    assert penalties(course) == {"ann": 0.0, "bob": 0.0, "cem": 8.0}
    (course / "times.csv").unlink()
    assert penalties(course) == before


def test_an_extension_that_nbgrader_granted_stays(course):
    with Gradebook(gradebook_url(course)) as book:
        book.grant_extension(ASSIGNMENT, "ann", days=7)
    assert penalties(course)["ann"] == 0.0


def test_who_is_excused_loses_nothing(course):
    (course / "times.csv").write_text("student;excused\nann;yes\n")
    assert penalties(course)["ann"] == 0.0
    with Gradebook(gradebook_url(course)) as book:
        found = lateness(book.find_submission(ASSIGNMENT, "ann"), timetable(course))
    assert found.sentence.endswith("excused.")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("ann,Group A,,,,yes,", "line 2: name either a student or a section"),
        (",,,,,yes,", "line 2: name either a student or a section"),
        ("ann,,99_nothing,,,yes,", "there is no assignment 99_nothing"),
        ("ann,,,,,perhaps,", "Write yes, or leave it blank"),
        ("ann,,,5 March,,,", "Write it as 2027-03-05 18:00"),
        ("ann,,,2027-03-05,,,", "has no time of day"),
        (",Group A,,2027-03-05 18:00,,,", "is for one student"),
    ],
)
def test_every_wrong_line_gets_a_sentence(course, line, sentence):
    (course / "times.csv").write_text(f"{HEAD}{line}\n")
    with pytest.raises(CourseError) as problem:
        timetable(course)
    assert sentence in str(problem.value)


def test_a_time_without_a_zone_needs_the_classs_own(course):
    (course / "course.toml").write_text("")
    (course / "times.csv").write_text(f"{HEAD}ann,,,2027-03-05 18:00,,,\n")
    with pytest.raises(CourseError, match="has no time zone"):
        timetable(course)


def test_other_columns_are_refused(course):
    (course / "times.csv").write_text("student,when\nann,2027-03-05 18:00\n")
    with pytest.raises(CourseError, match="the first line should contain the column titles"):
        timetable(course)


def test_lines_about_nobody_are_reported(course):
    (course / "times.csv").write_text(f"{HEAD}anna,,,,,yes,\n,Group C,,,,yes,\n")
    said = " ".join(timetable(course).problems(["ann"]))
    assert "has a student anna" in said and "no section Group C" in said


def test_a_due_date_of_ones_own_needs_one_for_all(course):
    (course / "course.toml").write_text('timezone = "UTC"\n')
    (course / "times.csv").write_text(f"{HEAD}ann,,,,2027-03-08 18:00,,\n")
    with pytest.raises(CourseError, match="the assignment itself has none"):
        penalties(course)


def test_marks_of_canvas_become_lines_to_decide(course):
    assert add_to_decide(course, ASSIGNMENT, ["cem", "ann"], "Canvas: late") == ["ann", "cem"]
    assert timetable(course).undecided(ASSIGNMENT) == ["ann", "cem"]
    assert add_to_decide(course, ASSIGNMENT, ["cem"], "Canvas: late") == []
    text = (course / "times.csv").read_text()
    (course / "times.csv").write_text(
        text.replace("ann,,03_attention,,,", "ann,,03_attention,,,yes")
    )
    assert timetable(course).undecided(ASSIGNMENT) == ["cem"]
    assert add_to_decide(course, ASSIGNMENT, ["bob"], "Canvas: late") == ["bob"]
    assert (course / "times.csv").read_text().startswith(text[:40])


def test_two_late_rules_that_differ_are_refused(course):
    path = course / "nbgrader_config.py"
    path.write_text(path.read_text() + "\nc.LateDays.share_a_day = 0.5\n")
    with pytest.raises(CourseError, match="both set the cost of late days"):
        own_settings(course)


def test_grading_lists_what_canvas_marks_as_late(course, capsys):
    from rich.console import Console

    from autograder.commands.grade import show_times
    from autograder.intake.collect import CANVAS_LATE
    from autograder.whole_class.grade_class import Options

    marked = [
        SubmissionRecord("r", name, ASSIGNMENT, "f", when, repairs=(CANVAS_LATE,))
        for name, when in (("cem", None), ("ann", LATE))
    ]
    (course / "times.csv").write_text(f"{HEAD}nobody,,,,,yes,\n")
    show_times(Console(width=300), Options(ASSIGNMENT, (), course), marked)
    said = capsys.readouterr().out
    assert "without a time: cem. times.csv has a line for each" in said
    assert "has a student nobody" in said
    assert timetable(course).undecided(ASSIGNMENT) == ["cem"]


def test_who_is_excused_gets_no_zero(course):
    from autograder.nbgrader_parts.exporters import CanvasExport, SpreadsheetExport

    (course / "roster.csv").write_text(ROSTER + "dee,Dee,Group A\neve,Eve,Group A\n")
    (course / "times.csv").write_text(f"{HEAD}dee,,,,,yes,\n")
    said = {}
    for kind in (CanvasExport, SpreadsheetExport):
        with Gradebook(gradebook_url(course)) as book:
            config = own_settings(course)
            kind(config=config, root=str(course), missing_as_zero=True).export(book)
        path = course / f"grades_{kind.kind}.csv"
        rows = [line.split(",") for line in path.read_text(encoding="utf-8-sig").splitlines()]
        said[kind.kind] = rows
    canvas = {row[3]: row[-1] for row in said["canvas"][2:]}
    assert (canvas["dee"], canvas["eve"], canvas["ann"]) == ("EX", "0", "6.4")
    plain = {row[1]: row[9] for row in said["csv"][1:]}
    assert (plain["dee"], plain["eve"], plain["ann"]) == ("", "0", "6.4")
