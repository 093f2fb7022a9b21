"""Scripts that a student stores in a notebook: formgrader, in a real browser, runs none of them."""

import base64
import json
import os
import sys
from pathlib import Path

import pytest

from autograder.box import why_unavailable
from autograder.whole_class.grade_class import Options, grade_class
from tests.browser import new_page, serve
from tests.grading.handing_in import ASSIGNMENT, EXERCISE, WRITTEN, cell_of, hand_in, submission

pytestmark = [
    pytest.mark.box,
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces"),
]

RUN = "window.top.pwned = window.pwned = 'yes'"
MARKDOWN = f"""My answer. <script>{RUN}</script> <img src=x onerror="{RUN}"> <svg onload="{RUN}">
<iframe srcdoc="<script>{RUN}</script>"></iframe> <details open ontoggle="{RUN}">x</details>
<style>@import 'x'</style> <a href="javascript:{RUN}" class="bait">a</a> <input autofocus onfocus="{RUN}">
[bait](javascript:{RUN.replace(" ", "")}) [bait](<javascript:{RUN}>) <javascript:{RUN}>
[bait](java&#115;cript:{RUN.replace(" ", "")}) [bait](JaVaScRiPt&colon;{RUN.replace(" ", "")})
]:[bait](javascript:{RUN.replace(" ", "")}) ![x](attachment:gone.png) ![x](attachment:a.gif)
[bait][ref] ![x](x"onerror="{RUN}) $\\href{{javascript:{RUN}}}{{bait}}$ $\\style{{x}}{{y}}$

[ref]: javascript:{RUN.replace(" ", "")}

```html
<script>{RUN}</script>
```
<!-- --><script>{RUN}</script>
`<script>`{RUN}`</script>`
"""
ERROR = f"""
class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        raise ValueError('<script>{RUN.replace("'", '"')}</script><img src=x onerror="{RUN.replace("'", "")}">')
"""
PIXEL = base64.b64encode(
    base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
).decode()
BREAK_OUT = f'"><script>{RUN}</script>'


def display(data, **more):
    return {"output_type": "display_data", "metadata": {}, "data": data, **more}


OUTPUTS = [
    display({"text/html": f"<script>{RUN}</script>"}),
    display({"application/javascript": RUN}),
    display({"image/svg+xml": f"<svg xmlns='http://www.w3.org/2000/svg' onload='{RUN}'/>"}),
    display({"text/markdown": f"<script>{RUN}</script>"}),
    display({"text/latex": f"$\\href{{javascript:{RUN}}}{{bait}}$ <script>{RUN}</script>"}),
    display({"image/png": BREAK_OUT, "text/plain": f"<script>{RUN}</script>"}),
    display(
        {"image/png": PIXEL}, metadata={"image/png": {"width": BREAK_OUT, "height": BREAK_OUT}}
    ),
    display({"image/jpeg": BREAK_OUT}),
    display({"application/vnd.jupyter.widget-view+json": {"model_id": BREAK_OUT}}),
    {"output_type": "stream", "name": BREAK_OUT, "text": f"<script>{RUN}</script>\x1b[31m<img>"},
    {
        "output_type": "error",
        "ename": BREAK_OUT,
        "evalue": BREAK_OUT,
        "traceback": [f"<script>{RUN}</script>"],
    },
    {
        "output_type": "execute_result",
        "execution_count": BREAK_OUT,
        "metadata": {},
        "data": {"text/plain": BREAK_OUT},
    },
]


def poisoned():
    """A notebook with a script everywhere one can be put."""
    notebook = submission(ERROR, MARKDOWN)
    notebook.metadata.update(
        title=BREAK_OUT,
        widgets={"application/vnd.jupyter.widget-state+json": {"state": {BREAK_OUT: {}}}},
        kernelspec={"name": BREAK_OUT, "display_name": BREAK_OUT, "language": BREAK_OUT},
        language_info={"name": BREAK_OUT, "pygments_lexer": BREAK_OUT},
    )
    cell_of(notebook, WRITTEN)["attachments"] = {
        "a.gif": {"image/gif": base64.b64encode(b"GIF89a" + bytes(30)).decode()},
        BREAK_OUT: {"image/svg+xml": f"<svg onload='{RUN}'/>", "image/png": BREAK_OUT},
    }
    for cell in notebook.cells:
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), BREAK_OUT]
        cell.metadata["collapsed"] = BREAK_OUT
        if cell.cell_type == "code":
            cell["outputs"], cell["execution_count"] = OUTPUTS, BREAK_OUT
    extra = {"metadata": {"tags": [BREAK_OUT]}, "id": BREAK_OUT}
    notebook.cells.insert(2, {"cell_type": "markdown", "source": MARKDOWN, **extra})
    notebook.cells.insert(3, {"cell_type": "raw", "source": f"<script>{RUN}</script>", **extra})
    code = {"cell_type": "code", "source": "plot()", "outputs": OUTPUTS, "execution_count": 1}
    notebook.cells.insert(4, {**code, **extra})
    return notebook


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    folder, course = tmp_path_factory.mktemp("handed_in"), tmp_path_factory.mktemp("course")
    hand_in(folder, "mallory", poisoned())
    grade_class(Options(ASSIGNMENT, (folder,), course, jobs=1))
    return course


def test_the_stored_notebook_keeps_text_and_pictures_only(course):
    path = course / "autograded" / "mallory" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    notebook = json.loads(path.read_text())
    kinds = set()
    for cell in notebook["cells"]:
        own = cell["metadata"].get("nbgrader", {})
        for output in cell.get("outputs", []):
            if not own.get("grade"):
                kinds |= set(output.get("data", {}))
        assert (cell["metadata"].get("given") is True) <= (MARKDOWN not in cell["source"])
        assert BREAK_OUT not in json.dumps(cell["metadata"])
    assert kinds == {"text/plain", "image/png"}
    assert BREAK_OUT not in json.dumps(notebook["metadata"])


def test_formgrader_and_feedback_run_none_of_it(course, browser, screenshots, tmp_path):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        notebook = book.find_submission_notebook(ASSIGNMENT, ASSIGNMENT, "mallory").id
        comment = book.find_comment(EXERCISE, ASSIGNMENT, ASSIGNMENT, "mallory").auto_comment
    assert "<script" in comment  # kept as text: formgrader shows it in a field for text
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with serve(course, Path(sys.executable), "jupyterlab", tmp_path / "server.log") as server:
        page = new_page(browser)
        page.goto(f"{server.address}/formgrader/submissions/{notebook}/?token={server.token}")
        page.wait_for_selector("text=DotProdAttention")
        page.wait_for_timeout(1500)
        assert page.evaluate("window.pwned") is None
        assert "The picture gone.png isn't shown" in page.content()
        assert page.locator("img[alt=x][src^='data:image/gif']").count() >= 1
        for link in page.query_selector_all("a:has-text('bait')"):
            address = (link.get_attribute("href") or "").strip().lower()
            assert address.startswith(("#", "http")) or "script" not in address, address
            link.evaluate("link => { link.target = '_self'; link.click() }")
        page.wait_for_timeout(300)
        assert page.evaluate("window.pwned") is None
        frames = [frame.evaluate("window.pwned") for frame in page.frames]
        assert set(frames) <= {None}
        page.screenshot(path=str(screenshots / "formgrader_stored_scripts.png"), full_page=True)
        assert "My answer." in page.content()


def test_the_same_notebook_untouched_would_run(browser, tmp_path):
    """The test above can fail: as it was handed in, the notebook does run its script."""
    from nbconvert import HTMLExporter

    page_file = tmp_path / "raw.html"
    notebook = submission(ERROR, MARKDOWN)
    page_file.write_text(HTMLExporter().from_notebook_node(notebook)[0])
    page = new_page(browser)
    page.goto(f"file://{page_file}")
    page.wait_for_timeout(500)
    assert page.evaluate("window.pwned") == "yes"
