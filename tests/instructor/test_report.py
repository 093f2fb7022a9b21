"""What the class report says about flags, late work and rare mistakes."""

import re
from dataclasses import replace
from datetime import datetime

from autograder.grading import archive
from autograder.grading.record import ExerciseRecord, Flag, SubmissionRecord
from autograder.instructor.report import (
    IN_TIME,
    LateWork,
    command,
    exercise_title,
    render,
    summary,
)
from autograder.instructor.similar import Alike, SimilarWork
from autograder.nbgrader_parts.marks import Mark, Sheet, mean_score

NAME = "03_attention"
DUE = datetime(2026, 3, 6, 18)


def sheet(student, score, late=0.0, waiting=False):
    mark = Mark("dot-prod-attention-check", False, score, 8.0, None, waiting)
    return Sheet(student, "", student.title(), "", "", True, DUE, 0.0, late, (mark,))


def record(student, mistake=None, flags=(), status="graded"):
    exercise = ExerciseRecord("dot-prod-attention", 4.0, 8.0, False, (), mistake, "Say it.")
    return SubmissionRecord(
        "run", student, NAME, "", status=status, flags=flags, exercises=(exercise,)
    )


SHEETS = [sheet("ann", 4.0), sheet("bob", 8.0), Sheet("cem", "", "Cem", "", "")]
UNREAD = record("cem", flags=(Flag("intake", "The file is cut short."),), status="flagged")


def page_of(records=(), sheets=SHEETS, due=None):
    page = render(NAME, sheets, 9.0, {r.student: r for r in records}, [], LateWork(due))
    return re.sub(r"\s+", " ", page)


def rows(page):
    """The table of every student, as lists of words."""
    table = page.partition('<h2 id="marks">')[2].partition("</table>")[0]
    cells = [re.findall(r"<td.*?</td>", row) for row in table.split("<tr>")[2:]]
    return [[re.sub(r"<[^>]+>", "", cell).split() for cell in row] for row in cells]


def test_who_could_not_be_graded_is_in_the_table_and_not_in_the_average():
    page = page_of([record("ann"), record("bob"), UNREAD])
    assert ["Cem", "flagged"] in [row[0] for row in rows(page)]
    assert rows(page)[-1][-1] == ["not", "graded"]
    assert "3 of 3 students handed in" in page
    assert mean_score(SHEETS) == 6.0
    assert "<b>6</b> <span>points on average, of 9<" in page


def test_a_flagged_student_whom_nobody_knows_is_counted_all_the_same():
    page = page_of([record("ann"), record("bob"), UNREAD], SHEETS[:2])
    assert "3 of 3 students handed in" in page
    assert [row[0][0] for row in rows(page)] == ["Ann", "Bob", "cem"]


def test_a_hostile_file_that_was_graded_is_flagged_too():
    hostile = record("ann", flags=(Flag("box", "It ended at once."),))
    page = page_of([hostile, record("bob"), UNREAD])
    assert "<b>2</b> <span>flagged for a person<" in page
    records = {r.student: r for r in (hostile, record("bob"), UNREAD)}
    assert summary(SHEETS, 9.0, records) == "6 of 9 points on average; 2 flagged for a person."


def test_points_are_so_far_while_an_answer_waits():
    waits = [sheet("ann", 4.0, waiting=True), sheet("bob", 8.0)]
    assert "points on average so far, of 9" in page_of(sheets=waits)
    assert "so far" in summary(waits, 9.0, {})
    assert "so far" not in page_of()


def test_points_on_the_page_have_two_decimals_at_most():
    page = page_of(sheets=[sheet("ann", 73 / 7), sheet("bob", 8.0)])
    assert rows(page)[0][-1] == ["10.43"]
    assert not re.search(r"\d\.\d{3}", page.partition('<h2 id="marks">')[2])


def test_late_work_comes_with_the_due_date_and_the_days_or_not_at_all():
    assert "handed in late" not in page_of()
    late = [sheet("ann", 4.0, late=30 * 3600), sheet("bob", 8.0)]
    assert (
        "<b>1</b> <span>handed in late, by up to 2 days; due 6 March 2026, 18:00 UTC<"
        in page_of(sheets=late, due=DUE)
    )
    assert "<b>0</b> <span>handed in late; due 6 March" in page_of(due=DUE)


def test_mistakes_of_one_student_each_are_folded_into_one():
    page = page_of([record("ann", "no-softmax"), record("bob", "no-softmax")])
    assert "No softmax" in page and "with one student each" not in page
    page = page_of([record("ann", "no-softmax"), record("bob", "attends-to-itself")])
    folded = page.partition("<summary>2 misconceptions with one student each</summary>")[2]
    assert "No softmax" in folded and "Attends to itself" in folded


def decisions(page):
    table = page.partition('<h2 id="attention">')[2].partition("</table>")[0]
    return [[re.sub(r"<[^>]+>", " ", c).split() for c in re.findall(r"<td.*?</td>", row)]
            for row in table.split("<tr>")[2:]]  # fmt: skip


def test_each_decision_has_its_file_and_its_command():
    stopped = Flag("box", "It ended at once.", "dot-prod-attention")
    unread = replace(UNREAD, source_name="cem/work (2).ipynb")
    page = page_of([record("ann", flags=(stopped,)), unread])
    ann, cem = decisions(page)
    path = f"submitted/ann/{NAME}/{NAME}.ipynb"
    assert ann[2] == [path, "autograder", "check", "dot-prod-attention", path]
    assert cem[2][0] == f".autograder/originals/{NAME}/cem/work"
    assert " ".join(cem[2]).endswith(f"autograder grade {NAME} SUBMISSIONS --only cem")


def test_the_file_to_look_at_is_where_grading_puts_it(tmp_path):
    unread = replace(UNREAD, source_name="cem/work (2).ipynb")
    archive.write_original(tmp_path, unread, b"half a notebook")
    assert (tmp_path / archive.original_path(unread)).read_bytes() == b"half a notebook"


def test_the_next_steps_are_those_that_are_needed():
    waits = page_of([UNREAD], sheets=[sheet("ann", 4.0, waiting=True), SHEETS[1]])
    assert "Decide about 1 flagged submission" in waits and "<code>autograder mark</code>" in waits
    calm = page_of([record("ann")])
    assert "autograder mark" not in calm and "flagged submission" not in calm
    assert f"<code>autograder feedback {NAME}</code>" in calm


def test_alike_answers_come_with_their_texts_and_with_how_common_they_are():
    group = Alike(
        "dot-prod-attention", ("ann", "bob"), ("x = 1 < 2", "y = 1 < 2"), 0.93, 40, 31, 15
    )
    page = re.sub(r"\s+", " ", render(NAME, SHEETS, 9.0, {}, [], IN_TIME, SimilarWork((group,), 2)))
    section = page.partition('<h2 id="alike">')[2]
    assert (
        "DotProdAttention: <bdi>Ann</bdi>; <bdi>Bob</bdi>" in section
        and "2 of 40 students" in section
    )
    assert "<pre>x = 1 &lt; 2</pre>" in section and "<pre>y = 1 &lt; 2</pre>" in section
    assert (
        "93 percent" in section
        and "31 pieces of them are rare: not in our own 15 right answers" in section
    )
    assert (
        "This accuses nobody" in section and "Not shown: 2 more groups of equal answers" in section
    )
    assert 'id="alike"' not in page_of()


def test_the_very_same_file_of_two_students_is_named():
    work = SimilarWork(files=(("ann", "bob"),))
    page = re.sub(r"\s+", " ", render(NAME, SHEETS, 9.0, {}, [], IN_TIME, work))
    assert "<bdi>Ann</bdi>; <bdi>Bob</bdi> handed in the very same file." in page


def test_late_marks_to_settle_and_excuses_are_on_the_page():
    late = LateWork(None, frozenset({"cem"}), ("bob",))
    page = re.sub(r"\s+", " ", render(NAME, SHEETS, 9.0, {}, [], late))
    assert "Decide in <code>times.csv</code> how late 1 submission came: <bdi>Bob</bdi>." in page
    assert "Cem (excused)" in page and rows(page)[-1][-1] == ["excused"]
    assert "times.csv" not in page_of()


def test_names_with_commas_or_from_right_to_left_stay_apart():
    odd = [Sheet("ann", "Ann", "García, Jr.", "", ""), Sheet("bob", "عمر", "الفارسي", "", "")]
    page = page_of(sheets=[SHEETS[0], SHEETS[1], *(replace(s, student=s.student * 2) for s in odd)])
    absent = page.partition('<p class="names">')[2].partition("</p>")[0]
    assert absent == "<bdi>Ann García, Jr.</bdi>; <bdi>عمر الفارسي</bdi>"


def test_two_students_with_one_name_are_told_apart_by_their_ids():
    twins = [replace(sheet(who, 4.0), first_name="Jane", last_name="Doe") for who in ("s1", "s2")]
    page = page_of([record("s1", flags=(Flag("intake", "Look."),))], [*twins, SHEETS[0]])
    assert [" ".join(row[0]) for row in rows(page)] == [
        "Jane Doe (s1) flagged",
        "Jane Doe (s2)",
        "Ann",
    ]
    assert "<td><bdi>Jane Doe (s1)</bdi></td>" in page


def test_a_written_exercise_has_the_same_title_on_every_page():
    assert exercise_title("reversal-map") == "What does the map show?"
    assert exercise_title("beam-search") == "beam_search"


def test_a_command_breaks_in_no_option():
    assert command("autograder grade <b> --only s004") == (
        'autograder grade &lt;b&gt; <span class="option">--only</span> s004'
    )
