"""The marking page in a real browser, on Jupyter's server: a class of 120 is marked by keyboard."""

import json
import re
import sqlite3
import sys
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from autograder.commands.mark import EXTENSION
from autograder.instructor.course import open_course, open_gradebook
from autograder.marking import store
from tests.browser import new_page, serve
from tests.marking.conftest import DIAGONAL, NAME, QUESTION, STUDENTS, answer_of

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("marking")]
DIAGONALS = [f"s{n:03d}" for n in range(STUDENTS) if answer_of(n) == DIAGONAL]
MANY = len(DIAGONALS)
HOSTILE = (
    "]:[click me](javascript:window.pwned='yes') <script>window.pwned='yes'</script> "
    "<img src=x onerror=\"window.pwned='yes'\"> ![x](attachment:gone.png)"
)


@pytest.fixture(scope="module")
def marked_class(made_class, tmp_path_factory):
    """The class with one hostile answer, behind a running server."""
    import shutil

    root = shutil.copytree(made_class, tmp_path_factory.mktemp("marked") / "course")
    path = root / "autograded" / "s002" / NAME / f"{NAME}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == QUESTION:
            cell["source"] = HOSTILE
    path.write_text(json.dumps(notebook), encoding="utf-8")
    log = tmp_path_factory.mktemp("private") / "server.log"
    with serve(root, Path(sys.executable), "jupyterlab", log, [EXTENSION]) as server:
        yield server


def address(server, more=""):
    return f"{server.address}/marking/{NAME}/{QUESTION}{more}"


def open_question(browser, server, width=1300, more=""):
    page = new_page(browser, width, 900)
    page.goto(f"{server.address}/marking?token={server.token}")
    page.goto(address(server, more))
    return page


def saved(page):
    page.wait_for_function("() => !document.querySelector('.unsaved')")


def mark_of(server, student):
    course = open_course(server.folder)
    with open_gradebook(course) as gradebook:
        return store.read_marks(gradebook, course.root, NAME, QUESTION)[student]


def test_the_keyboard_alone_marks_equal_answers_together(browser, marked_class, screenshots):
    page = open_question(browser, marked_class)
    assert page.inner_text("#told") == f"0 of {STUDENTS - 5} marked"
    active = page.locator(".answer.active")
    assert "anti-diagonal" in active.inner_text() and f"{MANY} students" in active.inner_text()
    page.keyboard.press("1")
    saved(page)
    assert [mark_of(marked_class, s).score for s in DIAGONALS] == [0.5] * MANY
    page.keyboard.press("2")
    saved(page)
    assert mark_of(marked_class, DIAGONALS[0]).score == 1.0
    page.keyboard.press("1")
    page.keyboard.press("c")
    page.keyboard.type("Which row of **your own** map?")
    page.keyboard.press("Escape")
    saved(page)
    mark = mark_of(marked_class, DIAGONALS[-1])
    assert (mark.score, mark.lines) == (0.5, (1,))
    assert mark.comment == "Which row of **your own** map?"
    assert page.inner_text("#told") == f"{MANY} of {STUDENTS - 5} marked"
    page.keyboard.press("Enter")  # on to the next that waits
    assert f"{MANY} students" not in active.inner_text() and "to mark" in active.inner_text()
    page.keyboard.press("=")  # as the one above
    saved(page)
    assert active.locator("textarea").input_value() == "Which row of **your own** map?"
    assert active.locator(".score input").input_value() == "0.5"
    page.keyboard.press("0")
    page.keyboard.press("u")  # and back on the pile
    saved(page)
    assert page.inner_text("#told") == f"{MANY} of {STUDENTS - 5} marked"
    page.screenshot(path=screenshots / "marking_1300.png")
    page.reload()
    first = page.locator(".answer").first
    assert first.locator(".line[aria-pressed=true]").count() == 1
    assert first.locator("textarea").input_value() == "Which row of **your own** map?"
    page.close()


def test_a_sitting_makes_one_copy_of_the_gradebook_and_not_one_for_each_mark(browser, marked_class):
    from autograder.nbgrader_parts.backups import backups

    page = open_question(browser, marked_class)
    before = len(backups(marked_class.folder))
    for _ in range(3):
        page.keyboard.press("Enter")
        page.keyboard.press("0")
        saved(page)
        page.keyboard.press("u")
        saved(page)
    assert len(backups(marked_class.folder)) == before > 0
    page.close()


def test_a_comment_is_used_again(browser, marked_class):
    page = open_question(browser, marked_class, more="?share=2&of=3")
    page.keyboard.press("c")
    page.keyboard.type("Say why.")
    page.keyboard.press("Escape")
    saved(page)
    page.keyboard.press("j")
    active = page.locator(".answer.active")
    active.locator("select").focus()
    active.locator("select").select_option("Say why.")
    saved(page)
    assert active.locator("textarea").input_value() == "Say why."
    assert page.evaluate("document.activeElement.classList.contains('answer')")
    page.close()


def test_between_the_answers_is_nothing_but_answers(browser, marked_class, screenshots):
    for width in (1300, 400):
        page = open_question(browser, marked_class, width)
        gaps = page.evaluate("""() => {
            const boxes = [...document.querySelectorAll('.answer')].map(e => e.getBoundingClientRect())
            return boxes.slice(1).map((box, n) => box.top - boxes[n].bottom)
        }""")
        assert len(gaps) > 60 and max(gaps) < 20
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wider) == 0
        page.keyboard.press("n")
        page.screenshot(path=screenshots / f"marking_names_{width}.png")
        page.close()


def test_three_people_share_the_work(browser, marked_class):
    totals = []
    for part in (1, 2, 3):
        page = open_question(browser, marked_class, more=f"?share={part}&of=3")
        totals.append(int(re.search(r"of (\d+) marked", page.inner_text("#told"))[1]))
        assert page.locator(".piles li").count() == 3
        page.close()
    assert sum(totals) == STUDENTS - 5 and min(totals) > 20


def test_of_two_who_mark_the_same_answer_the_second_is_told(browser, marked_class):
    one = open_question(browser, marked_class, more="?share=3&of=3")
    two = open_question(browser, marked_class, more="?share=3&of=3")
    one.keyboard.press("f")
    saved(one)
    two.keyboard.press("0")
    saved(two)
    active = two.locator(".answer.active")
    assert "Somebody else has marked this answer in the meantime" in active.inner_text()
    assert active.locator(".score input").input_value() == "1"
    two.keyboard.press("0")
    saved(two)
    assert active.locator(".score input").input_value() == "0"
    one.close()
    two.close()


def test_nothing_that_a_student_writes_runs(browser, marked_class):
    page = open_question(browser, marked_class)
    card = page.locator(".answer", has_text="click me")
    card.get_by_text("click me").first.click()
    page.wait_for_timeout(200)
    assert page.evaluate("window.pwned") is None
    assert page.locator("main script, main img, main a[href^=javascript]").count() == 0
    assert "The picture gone.png isn't shown" in card.inner_text()
    page.close()


def test_the_page_needs_a_login_and_a_mark_the_token_of_the_page(browser, marked_class):
    stranger = new_page(browser)
    stranger.goto(address(marked_class))
    assert "/login" in stranger.url
    page = open_question(browser, marked_class)
    policy = page.request.get(address(marked_class)).headers["content-security-policy"]
    assert "default-src 'none'" in policy and re.search(r"script-src 'nonce-[\w-]{20,}';", policy)
    send = """async ([token, method]) => (await fetch(location.pathname, {method,
        headers: {'X-XSRFToken': token}, body: '{}'})).status"""
    assert page.evaluate(send, ["wrong", "PUT"]) == 403
    right = page.evaluate("document.body.dataset.xsrf")
    assert page.evaluate(send, [right, "PUT"]) == 400  # an empty mark is none
    stranger.close()
    page.close()


def put(server, **content):
    body = {"key": "", "version": "", "score": 1, "comment": "", "lines": [], **content}
    headers = {"Authorization": f"token {server.token}"}
    request = urllib.request.Request(
        address(server), json.dumps(body).encode(), headers, method="PUT"
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    return refused.value.code, json.loads(refused.value.read())["problem"]


def test_impossible_marks_are_refused_with_a_sentence(marked_class):
    assert put(marked_class, key="none-of-them") == (
        400,
        "The text of this answer has changed in the meantime. Reload the page.",
    )
    assert put(marked_class, score="many")[0] == 400


def test_while_the_gradebook_is_busy_nothing_is_lost_in_silence(browser, marked_class):
    page = open_question(browser, marked_class)
    with closing(sqlite3.connect(marked_class.folder / "gradebook.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        page.keyboard.press("0")
        page.wait_for_function("() => /not saved/.test(document.body.innerText)")
        assert "The gradebook is busy" in page.locator(".answer.active").inner_text()
        other.rollback()
    assert page.locator(".unsaved").count() == 1
    page.keyboard.press("u")
    saved(page)
    page.close()


def test_an_unknown_question_is_a_sentence(browser, marked_class):
    page = open_question(browser, marked_class)
    page.goto(f"{marked_class.address}/marking/{NAME}/not-there")
    assert f"{NAME} has no written question called not-there." in page.inner_text("main")
    page.close()
