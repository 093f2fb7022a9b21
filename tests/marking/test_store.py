"""Marks are nbgrader's own manual scores and comments, within the points of the question."""

import pytest

from autograder.instructor.course import open_gradebook
from autograder.marking import store
from autograder.marking.store import NewMark, Refused
from tests.marking.conftest import NAME, QUESTION, STUDENTS


def marks_of(course):
    with open_gradebook(course) as gradebook:
        return store.read_marks(gradebook, course.root, NAME, QUESTION)


def write(course, students, score, comment="", lines=(), by="ann"):
    with open_gradebook(course) as gradebook:
        (question,) = store.questions(gradebook)
        store.write_mark(
            gradebook, course.root, question, students, NewMark(score, comment, lines, by)
        )


def test_a_question_knows_how_many_answers_wait(course):
    with open_gradebook(course) as gradebook:
        (question,) = store.questions(gradebook)
    assert (question.exercise, question.points) == (QUESTION, 1.0)
    assert question.answers == question.waiting == STUDENTS - 5


def test_a_mark_goes_to_nbgrader_for_all_who_wrote_the_same(course):
    write(course, ["s000", "s009"], 0.5, "Say **why**.", (1,))
    with open_gradebook(course) as gradebook:
        for student in ("s000", "s009"):
            grade = gradebook.find_grade(QUESTION, NAME, NAME, student)
            assert (grade.manual_score, grade.needs_manual_grade) == (0.5, False)
            comment = gradebook.find_comment(QUESTION, NAME, NAME, student)
            assert comment.manual_comment == "Say **why**."
        assert gradebook.find_grade(QUESTION, NAME, NAME, "s001").manual_score is None
        (question,) = store.questions(gradebook)
    assert question.waiting == STUDENTS - 7
    mark = marks_of(course)["s009"]
    assert (mark.score, mark.lines, mark.by) == (0.5, (1,), "ann")
    assert store.used_comments(marks_of(course).values()) == ["Say **why**."]


def test_a_mark_can_be_taken_back(course):
    write(course, ["s000"], 1.0)
    write(course, ["s000"], None)
    with open_gradebook(course) as gradebook:
        grade = gradebook.find_grade(QUESTION, NAME, NAME, "s000")
        assert grade.manual_score is None and grade.needs_manual_grade


def test_a_comment_alone_leaves_the_answer_waiting_and_an_earlier_mark_where_it_is(course):
    write(course, ["s000"], 1.0)
    with open_gradebook(course) as gradebook:  # as grading does when the text has changed
        gradebook.find_grade(QUESTION, NAME, NAME, "s000").needs_manual_grade = True
        gradebook.db.commit()
    assert (marks_of(course)["s000"].score, marks_of(course)["s000"].before) == (None, 1.0)
    write(course, ["s000"], None, "Better.")
    mark = marks_of(course)["s000"]
    assert (mark.score, mark.before, mark.comment) == (None, 1.0, "Better.")


@pytest.mark.parametrize("score", [-0.5, 1.01, float("nan"), float("inf")])
def test_impossible_points_are_refused_and_nothing_is_written(course, score):
    with pytest.raises(Refused, match="0 to 1 points"):
        write(course, ["s000"], score)
    assert marks_of(course)["s000"].score is None


def test_a_comment_without_an_end_is_refused(course):
    with pytest.raises(Refused, match="at most 5,000 characters"):
        write(course, ["s000"], 1.0, "x" * 10_000)


def test_chosen_lines_are_forgotten_when_formgrader_changes_the_points(course):
    write(course, ["s000"], 0.5, lines=(0,))
    with open_gradebook(course) as gradebook:
        gradebook.find_grade(QUESTION, NAME, NAME, "s000").manual_score = 1.0
        gradebook.db.commit()
    assert (marks_of(course)["s000"].score, marks_of(course)["s000"].lines) == (1.0, ())


def test_the_version_changes_with_any_mark(course):
    before = store.version([marks_of(course)[s] for s in ("s000", "s009")])
    write(course, ["s009"], 0.5)
    assert store.version([marks_of(course)[s] for s in ("s000", "s009")]) != before
