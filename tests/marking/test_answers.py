"""Answers of a class: equal ones together, similar ones side by side, work shared out."""

from autograder.marking.answers import (
    FURTHER_DOWN,
    MOST_CHANGES,
    Answer,
    difference,
    grouped,
    read_answers,
    shares,
)
from tests.marking.conftest import DIAGONAL, NAME, QUESTION, STUDENTS, answer_of

SAME = "The weights sum to one over the source."


def test_answers_that_differ_in_blanks_alone_are_one():
    groups = grouped([Answer("b", SAME), Answer("a", f" {SAME}\n"), Answer("c", "No.")])
    assert [group.students for group in groups] == [("a", "b"), ("c",)]


def test_case_and_signs_and_pictures_are_never_taken_for_the_same():
    picture = {"map.png": {"image/png": "aGVsbG8="}}
    answers = [
        Answer("a", "$K < Q$"),
        Answer("b", "$K > Q$"),
        Answer("c", "$k < Q$"),
        Answer("d", "$K < Q$", picture),
    ]
    assert len(grouped(answers)) == 4


def test_similar_answers_follow_the_most_common_one_and_say_what_differs():
    twist = SAME.replace("sum", "do not sum")
    groups = grouped(
        [Answer("x", "Something else entirely."), Answer("a", SAME), Answer("b", SAME),
         Answer("c", twist)]
    )  # fmt: skip
    assert [group.students for group in groups] == [("a", "b"), ("c",), ("x",)]
    assert groups[1].like is groups[0] and groups[2].like is None
    assert difference(groups[1]) == "<ins>do not</ins>"
    assert difference(groups[0]) == ""


def test_endless_answers_are_compared_as_far_as_they_are_shown():
    """Word by word their comparison would take hours, on the page that everybody marks on."""
    first, second = "a b " * 100_000, "a b " * 3_000 + "b a " * 97_000
    groups = grouped([Answer("x", first), Answer("y", second)])
    assert groups[1].like is groups[0]
    assert difference(groups[1]).count("<ins>") <= MOST_CHANGES
    late = grouped([Answer("x", first), Answer("y", first + "c")])[1]
    assert difference(late) == FURTHER_DOWN


def test_what_differs_is_text_and_no_html():
    groups = grouped([Answer("a", SAME + " a < b"), Answer("b", SAME + " <script>alert(1)")])
    assert "<script>" not in difference(groups[1]) and "&lt;script&gt;" in difference(groups[1])


def test_shares_are_about_equal_hold_everything_and_keep_similar_answers_together():
    answers = [Answer(f"s{n}", answer_of(n)) for n in range(STUDENTS) if answer_of(n)]
    groups = grouped(answers)
    piles = shares(groups, 3)
    assert sorted(g.key for pile in piles for g in pile) == sorted(g.key for g in groups)
    assert max(map(len, piles)) <= 1.5 * min(map(len, piles))
    for pile in piles:
        keys = {group.key for group in pile}
        apart = [g for g in pile if g.like is not None and g.like.key not in keys]
        assert not any(g.like.source == DIAGONAL for g in apart)
    assert shares(groups, 3) == piles and shares(groups, 1) == [groups]


def test_who_left_the_question_empty_is_not_among_the_answers(course):
    students = [f"s{n:03d}" for n in range(STUDENTS)]
    answers, empty = read_answers(course, NAME, QUESTION, [*students, "nobody"])
    assert len(empty) == 5 and len(answers) == STUDENTS - 5
    assert not {answer.student for answer in answers} & set(empty)
