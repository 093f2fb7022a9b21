"""One thing, two things."""

from autograder.wording import counted


def test_one_thing_has_no_plural():
    assert [counted(n, "submission") for n in (0, 1, 2)] == [
        "0 submissions",
        "1 submission",
        "2 submissions",
    ]
