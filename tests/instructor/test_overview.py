"""The page over all assignments: everybody, everything that was hard, and who may need help."""

import re
from dataclasses import replace

from autograder.grading.record import Flag, SubmissionRecord
from autograder.instructor.overview import Graded, render
from autograder.nbgrader_parts.marks import Mark, Sheet


def sheet(student, exercise, score, most=8.0, late=0.0, waiting=False, submitted=True):
    mark = Mark(f"{exercise}-check", False, score, most, None, waiting)
    return Sheet(student, "", student.title(), "", "", submitted, None, 0.0, late,
                 (mark,) if submitted else ())  # fmt: skip


def absent(student):
    return sheet(student, "x", 0, submitted=False)


UNREAD = SubmissionRecord(
    "run", "dot", "03_attention", "", flags=(Flag("intake", "The file is cut short."),)
)
DAY = 24 * 3600
CLASS = [
    Graded(
        "02_rnn_bottleneck",
        8.0,
        (
            sheet("ann", "positions", 8.0),
            sheet("bob", "positions", 2.0, late=1.5 * DAY),
            absent("cem"),
            sheet("dot", "positions", 6.0),
        ),
        {},
    ),
    Graded(
        "03_attention",
        8.0,
        (
            sheet("ann", "dot-prod-attention", 7.0, waiting=True),
            sheet("bob", "dot-prod-attention", 1.0, late=10),
            absent("cem"),
            absent("dot"),
        ),
        {"dot": UNREAD},
    ),
]


def page_of(graded=CLASS):
    return re.sub(r"\s+", " ", render(graded))


def table(page, heading):
    section = page.partition(f'<h2 id="{heading}">')[2].partition("</section>")[0]
    rows = [re.findall(r"<td.*?</td>", row) for row in section.split("<tr>")[1:]]
    return [[re.sub(r"<[^>]+>", "", cell).strip() for cell in row] for row in rows if row]


def test_every_student_is_in_it_with_points_and_late_days():
    assert table(page_of(), "marks") == [
        ["Ann", "8", "7 so far", "", "15"],
        ["Bob", "2", "1", "3", "3"],
        ["Cem", "nothing", "nothing", "", "0"],
        ["Dot", "6", "not graded", "", "6"],
    ]


def test_progress_counts_who_handed_in_read_or_not():
    first, second = table(page_of(), "assignments")
    assert first[1] == "3 of 4" and first[-1] == "1"
    assert second[1] == "3 of 4" and second[3] == "4 of 8 so far" and second[-2] == "1"


def test_the_hardest_exercises_come_first_and_those_that_wait_are_left_out():
    assert [row[1] for row in table(page_of(), "exercises")] == ["02_rnn_bottleneck"]
    done = replace(CLASS[1], sheets=(sheet("bob", "dot-prod-attention", 1.0),))
    names = [row[1] for row in table(page_of([CLASS[0], done]), "exercises")]
    assert names == ["03_attention", "02_rnn_bottleneck"]


def test_who_may_need_help_is_named_with_the_reason():
    section = page_of().partition('<h2 id="help">')[2].partition("</section>")[0]
    assert "<bdi><b>Bob</b></bdi> has 3 of 16 points" in section
    waits = [replace(CLASS[0], sheets=(sheet("bob", "positions", 0.0, waiting=True),))]
    assert "Who may need help" not in page_of(waits)
    assert "<bdi><b>Cem</b></bdi> has handed in nothing" in section
    assert "Ann" not in section and "Dot" not in section  # Dot's file waits for a person


def test_who_is_excused_misses_nothing():
    excused = [replace(one, excused=frozenset({"cem"})) for one in CLASS]
    page = page_of(excused)
    assert ["Cem", "excused", "excused", "", "0"] in table(page, "marks")
    assert "<b>Cem</b>" not in page


def test_each_assignment_leads_to_its_own_report():
    assert 'href="03_attention.html"' in page_of()


def test_two_students_with_one_name_are_two_lines_with_their_ids():
    twins = tuple(
        replace(sheet(who, "positions", 1.0), first_name="Jane", last_name="Doe")
        for who in ("s1", "s2")
    )
    names = [
        row[0] for row in table(page_of([replace(CLASS[0], sheets=twins, records={})]), "marks")
    ]
    assert "Jane Doe (s1)" in names and "Jane Doe (s2)" in names
