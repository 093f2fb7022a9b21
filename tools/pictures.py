"""Makes the pictures of the README and the guides: editor, diagnosis, report, feedback, formgrader.

    python tools/pictures.py [FOLDER]      (docs/pictures if not said)

Everything is real: JupyterLab with the widgets and a check, and a class of `autograder demo`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from nbgrader.api import Gradebook  # noqa: E402
from playwright.sync_api import Browser, sync_playwright  # noqa: E402

from tests.browser import (  # noqa: E402
    CHROMIUM,
    CHROMIUM_ARGUMENTS,
    Server,
    open_lab,
    run_all,
    serve,
    write_notebook,
)

NAME = "03_attention"
WRONG = ROOT / "autograder" / "mutants" / "dot-prod-attention" / "wrong_scaled.py"
SHOWN = {"editor": ".jp-OutputArea .jupyter-widgets", "diagnosis": ".attn-panel"}
EDITOR = 'from course_utils.widgets import attention_editor\n\nattention_editor("single-query")'


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="attention-pictures-") as place:
        course = Path(place) / "course"
        subprocess.run(
            [str(Path(sys.executable).with_name("autograder")), "demo", str(course),
             "--assignment", NAME],
            check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        private = Path(place) / "private"
        private.mkdir()
        with (
            serve(course, Path(sys.executable), "jupyterlab", private / "log") as server,
            sync_playwright() as driver,
        ):
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGUMENTS)
            notebook_pictures(browser, server, folder)
            page_pictures(browser, course, folder)
            formgrader_picture(browser, server, course, folder)
            browser.close()


def notebook_pictures(browser: Browser, server: Server, folder: Path) -> None:
    """The editor and a diagnosis, as a student sees them in JupyterLab."""
    _, _, answer = WRONG.read_text(encoding="utf-8").partition("\n")
    cells = {
        "editor": (EDITOR,),
        "diagnosis": (
            answer.strip(),
            'from course_utils import check\n\nresult = check("dot-prod-attention")',
        ),
    }
    for name, sources in cells.items():
        write_notebook(server.folder / f"{name}.ipynb", *sources)
        page = open_lab(browser, server, f"{name}.ipynb")
        run_all(page)
        page.wait_for_timeout(1500)
        page.locator(SHOWN[name]).first.screenshot(path=folder / f"{name}.png")
        page.close()


def page_pictures(browser: Browser, course: Path, folder: Path) -> None:
    """The top of the class report, and a page of feedback with expected beside got."""
    feedback = next(
        path
        for path in sorted((course / "feedback").glob(f"*/{NAME}/{NAME}.html"))
        if 'class="heat"' in path.read_text(encoding="utf-8")
    )
    shown = {"report": course / "reports" / f"{NAME}.html", "feedback": feedback}
    for name, path in shown.items():
        context = browser.new_context(viewport={"width": 1040, "height": 1000})
        page = context.new_page()
        page.goto(path.as_uri())
        page.screenshot(path=folder / f"{name}.png")
        context.close()


def formgrader_picture(browser: Browser, server: Server, course: Path, folder: Path) -> None:
    """A written answer with the rubric under it."""
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        waiting = [
            submission.notebooks[0].id
            for submission in gradebook.assignment_submissions(NAME)
            if submission.needs_manual_grade
        ]
    context = browser.new_context(viewport={"width": 1040, "height": 560})
    page = context.new_page()
    page.goto(f"{server.address}/formgrader/submissions/{waiting[0]}?token={server.token}")
    score = page.locator("input#reversal-map")
    score.wait_for()
    score.evaluate("box => window.scrollTo(0, box.getBoundingClientRect().top + scrollY - 90)")
    page.wait_for_timeout(800)
    page.screenshot(path=folder / "formgrader.png")
    context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures")
