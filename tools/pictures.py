"""Makes the pictures of the README and the guides.

    python tools/pictures.py [FOLDER]                # all of them (default: docs/pictures)
    python tools/pictures.py --playground [FOLDER]   # only the moving one

Everything is real: JupyterLab with the widgets and a check, and a class of `autograder demo`.
"""

from __future__ import annotations

import io
import math
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from nbgrader.api import Gradebook  # noqa: E402
from PIL import Image  # noqa: E402
from playwright.sync_api import Browser, sync_playwright  # noqa: E402

from course_utils import playground  # noqa: E402
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
    playground_picture(folder)
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
    """The top of the class report, and a page of feedback that shows expected numbers too."""
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


def playground_picture(folder: Path, frames: int = 40) -> None:
    """The playground while the query turns, with its weights and its output."""
    pictures = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGUMENTS)
        page = browser.new_page(viewport={"width": 1000, "height": 800})
        page.set_content(playground.page())
        page.wait_for_function("() => attentionPlayground.instances.length === 1")
        for number in range(frames):
            angle = 2 * math.pi * number / frames + 0.6
            length = 1.9 + 0.6 * math.sin(2 * angle)
            query = [length * math.cos(angle), length * math.sin(angle)]
            page.evaluate(
                "query => attentionPlayground.instances[0].set({queries: [query, [0, 0]]})", query
            )
            shot = page.screenshot(clip={"x": 10, "y": 212, "width": 980, "height": 366})
            pictures.append(Image.open(io.BytesIO(shot)).convert("RGB"))
        browser.close()
    colours = pictures[0].quantize(
        200, method=Image.Quantize.FASTOCTREE
    )  # one palette for all, so that nothing flickers
    first, *others = [picture.quantize(palette=colours, dither=0) for picture in pictures]
    first.save(folder / "playground.gif", save_all=True, append_images=others, duration=110, loop=0)


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--playground"]
    target = Path(arguments[0]) if arguments else ROOT / "docs" / "pictures"
    (playground_picture if "--playground" in sys.argv else main)(target)
