"""A person marks a written answer in nbgrader's formgrader, in a real browser."""

import json
import sys
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from tests.browser import new_page, serve

pytestmark = [pytest.mark.browser, pytest.mark.box, pytest.mark.slow]
NAME = "03_attention"


def gradebook_of(course):
    return Gradebook(f"sqlite:///{course / 'gradebook.db'}")


def waiting(course):
    with gradebook_of(course) as gradebook:
        return {
            submission.student_id: submission.notebooks[0].id
            for submission in gradebook.assignment_submissions(NAME)
            if submission.needs_manual_grade
        }


def stored(answer, what):
    """Whether formgrader has just written a grade or a comment."""
    return f"/formgrader/api/{what}/" in answer.url and answer.request.method == "PUT" and answer.ok


def test_a_written_answer_is_marked_and_comes_back_as_feedback(
    browser, screenshots, course, tmp_path, autograder
):  # fmt: skip
    pile = waiting(course)
    student, notebook = sorted(pile.items())[0]
    private = tmp_path / "private"
    private.mkdir()
    with serve(course, Path(sys.executable), "jupyterlab", private / "server.log") as server:
        page = new_page(browser)
        page.goto(f"{server.address}/formgrader?token={server.token}")
        page.get_by_text(NAME).first.wait_for()
        # Formgrader fetches what is stored before it can store anything new.
        with (
            page.expect_response(lambda answer: "/formgrader/api/grades" in answer.url),
            page.expect_response(lambda answer: "/formgrader/api/comments" in answer.url),
        ):
            page.goto(f"{server.address}/formgrader/submissions/{notebook}")
        page.wait_for_load_state("networkidle")
        score = page.locator("input#reversal-map")
        score.wait_for()
        # The rubric and the model answer stand on the same page, under the student's answer.
        rubric = page.get_by_text("Rubric").first
        assert rubric.is_visible()
        assert page.get_by_text("Model answer").first.is_visible()
        answer, below = score.bounding_box()["y"], rubric.bounding_box()["y"]
        assert 0 < below - answer < 700
        with page.expect_response(lambda answer: stored(answer, "grade")):
            score.fill("0.5")
            score.press("Tab")
        with page.expect_response(lambda answer: stored(answer, "comment")):
            comment = page.locator("textarea.comment").last
            comment.fill("Half of it: say **why** the line falls.")
            comment.press("Tab")
        page.screenshot(path=screenshots / "formgrader.png", full_page=True)
        page.close()
    assert waiting(course).keys() == pile.keys() - {student}
    assert autograder("feedback", NAME, "--course", course, "--student", student).exit_code == 0
    back = browser.new_page()
    back.goto((course / "feedback" / student / NAME / f"{NAME}.html").as_uri())
    section = back.locator("section#reversal-map")
    assert "0.5 of 1" in section.inner_text()
    assert "Half of it: say why the line falls." in section.inner_text()
    assert "Rubric" not in back.content()
    back.close()
    # A regrade, and grading the same files again, leave the finished answer off the pile.
    for command in (
        ["regrade", NAME, "--course", course],
        ["grade", NAME, course / "handed_in" / NAME, "--course", course,
         "--roster", course / "roster.csv"],
    ):  # fmt: skip
        result = autograder(*command)
        assert result.exit_code == 0, result.output
        assert waiting(course).keys() == pile.keys() - {student}
    with gradebook_of(course) as gradebook:
        assert gradebook.find_grade("reversal-map", NAME, NAME, student).score == 0.5


@pytest.mark.thorough
def test_a_script_link_in_a_written_answer_is_no_link(browser, course, tmp_path):
    student, notebook = sorted(waiting(course).items())[0]
    path = course / "autograded" / student / NAME / f"{NAME}.ipynb"
    stored_notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in stored_notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "reversal-map":
            cell["source"] = "]:[click me](javascript:window.pwned='yes') ![x](attachment:gone.png)"
    path.write_text(json.dumps(stored_notebook), encoding="utf-8")
    with serve(course, Path(sys.executable), "jupyterlab", tmp_path / "server.log") as server:
        page = new_page(browser)
        page.goto(f"{server.address}/formgrader/submissions/{notebook}/?token={server.token}")
        page.locator("input#reversal-map").wait_for()
        text = page.get_by_text("click me").first
        text.click()
        page.wait_for_timeout(300)
        assert page.evaluate("window.pwned") is None
        assert page.locator("a[href^=javascript]").count() == 0
        assert page.get_by_text("The picture gone.png isn't shown").first.is_visible()
        page.close()
