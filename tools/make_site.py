"""Builds the site from the notebooks, their stored outputs and the guides: `make site`.

    python -m tools.make_site --to folder

The result is a folder that works as it is, without a server and without a network.
"""

import argparse
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.minutes import minutes
from course_utils import playground, register
from tools.site_outputs import STORE

ROOT = Path(__file__).parent.parent
TEMPLATES = ROOT / "docs" / "site"
# In the order of the site's navigation; a guide that does not exist is left out.
GUIDES = ("prerequisites", "students", "routes", "instructors", "platforms", "authors", "design")
BADGE = re.compile(r"^\[!\[[^\]]*\]\([^)]*\)\]\(([^)]*)\)\n+")
FRAME = re.compile(r"<iframe data-attention-frame.*?</iframe>", re.S)
HANDING_IN = re.compile(r"^## Ready to submit\?|\bready_to_submit\(")
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=Path, default=ROOT / "artefacts" / "site")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, missing in lay_out(Path(folder)).items():
            if missing:
                print(f"{name}: {missing} cells without output; `make site-outputs` runs it.")
        build_site(Path(folder), options.to)
    print(f"Open {options.to / 'index.html'}.")


def build_site(pages: Path, to: Path) -> None:
    """Run Sphinx; any warning (a dead link, an unknown reference) is an error."""
    shutil.rmtree(to, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going"]
    if subprocess.run([*command, str(pages), str(to)]).returncode:
        sys.exit("The site could not be built; see the lines above.")
    shutil.rmtree(to / ".doctrees", ignore_errors=True)


def lay_out(folder: Path) -> dict[str, int]:
    """Write Sphinx's pages into a folder; returns how many cells per notebook lack an output."""
    shutil.copytree(TEMPLATES, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("outputs"))
    settings = {"title": register.title(), "repository": register.repository()}
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    (folder / "settings.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    copy_mathjax(folder / "_static" / "mathjax")
    (folder / "extra").mkdir()
    (folder / "extra" / "playground.html").write_text(playground.page(), encoding="utf-8")
    guides = [name for name in (*GUIDES, "bibliography") if (ROOT / f"docs/{name}.md").exists()]
    (folder / "guides").mkdir()
    for name in guides:
        (folder / "guides" / f"{name}.md").write_text(guide(name, guides), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "pictures", folder / "guides" / "pictures")
    (folder / "notebooks").mkdir()
    missing = {}
    for entry in register.notebooks():
        missing[entry.name] = write_notebook(entry.name, folder / "notebooks")
    (folder / "index.md").write_text(front_page(guides), encoding="utf-8")
    return missing


def copy_mathjax(to: Path) -> None:
    """Copy the one script and the fonts that the pages need from the packaged MathJax."""
    spec = find_spec("sphinx-mathjax-offline")
    if spec is None or spec.origin is None:
        sys.exit(
            "MathJax is missing: `make site` installs it, or `pip install sphinx-mathjax-offline`."
        )
    mathjax = Path(spec.origin).parent / "static" / "mathjax"
    fonts = "output/chtml/fonts/woff-v2"
    shutil.copytree(mathjax / fonts, to / fonts)
    shutil.copy(mathjax / "tex-chtml.js", to)


# ---- notebooks ----------------------------------------------------------------------------


def write_notebook(name: str, folder: Path) -> int:
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    path = STORE / f"{name}.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    page, missing = to_read(notebook, stored.get("outputs", {}), stored.get("hidden", []))
    page.cells[0].source += budget_note(stored.get("budget"))
    nbformat.write(page, folder / f"{name}.ipynb")
    return missing


def budget_note(budget: str | None) -> str:
    if budget is None:
        return "\n\n*The outputs of this notebook are not stored yet: run it to see them.*"
    return f"\n\n*The outputs below are from a run with the {budget} budget.*"


def to_read(
    notebook: NotebookNode, outputs: dict[str, list], hidden: list[str]
) -> tuple[NotebookNode, int]:
    """A notebook as a page, with its outputs and without the cells for Colab and for handing in."""
    cells, missing = [], 0
    for cell in notebook.cells:
        if "colab-setup" in cell.metadata.get("tags", []) or HANDING_IN.search(cell.source):
            continue
        if cell.cell_type == "markdown":
            cell.source = BADGE.sub(r"[Open this notebook in Google Colab](\1)\n\n", cell.source)
            cell.source = cell.source.replace("](../docs/", "](../guides/")
        else:
            known = cell.id in hidden or cell.id in outputs or "nbgrader" in cell.metadata
            missing += not known
            cell.outputs = [as_output(output) for output in outputs.get(cell.id, [])]
            if cell.id in hidden:
                cell.outputs = [not_shown()]
        cells.append(cell)
    notebook.cells = cells
    return notebook, missing


def as_output(stored: dict) -> NotebookNode:
    output = nbformat.from_dict(stored)
    if "text/html" in output.get("data", {}):
        shown = without_result(output.data["text/html"])
        # A heading inside a widget is not a heading of the page.
        shown = re.sub(r"<h4>(.*?)</h4>", r"<p><strong>\1</strong></p>", shown)
        output.data["text/html"] = FRAME.sub(lambda _: playground_frame(), shown)
    return output


def without_result(shown: str) -> str:
    """A question to guess at, as it was before the run; a reader has not been asked for a guess."""
    if 'aria-label="Predict, then run' in shown:
        shown = re.sub(r"<tr><th>what came out</th>.*?</tr>", "", shown)
    return re.sub(r"<p><span [^>]*>You made no guess this time\.</span></p>", "", shown)


def not_shown() -> NotebookNode:
    words = "The output is not shown: an answer can be read from it."
    data = {"text/html": f'<p class="not-shown">{words}</p>', "text/plain": words}
    return nbformat.v4.new_output("display_data", data)


def playground_frame() -> str:
    """The playground with its page inside the tag: from a folder, a browser lets no other file
    see the page around it, whose theme it takes and in which it grows to its full height."""
    return (
        f'<iframe class="playground" data-attention-frame title="Attention playground" height="860" '
        f'srcdoc="{html.escape(playground.page())}" allow="fullscreen" allowfullscreen>'
        f"{playground.WORDS}</iframe>"
    )


# ---- guides and the front page -------------------------------------------------------------


def guide(name: str, guides: list[str]) -> str:
    """A guide with links that work on the site: to other pages, or to files of the repository."""
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")

    def target(match: re.Match) -> str:
        path, anchor = match.group(1), match.group(2) or ""
        if path.startswith("pictures/") or (Path(path).stem in guides and "/" not in path):
            return path + anchor
        if re.fullmatch(r"(\.\./)?notebooks/\w+\.ipynb", path):
            return f"../notebooks/{Path(path).name}{anchor}"
        place = (ROOT / "docs" / path).resolve().relative_to(ROOT.resolve()).as_posix()
        return f"{register.repository()}/blob/main/{place}{anchor}"

    return LINK.sub(target, text)


def front_page(guides: list[str]) -> str:
    template = (TEMPLATES / "index.md").read_text(encoding="utf-8")
    notebooks = register.notebooks()
    table = "\n".join(
        f"| [{n.name[:2]} · {n.title}](notebooks/{n.name}.ipynb) | {minutes(n.name)} | {n.objectives} |"
        for n in notebooks
    )
    tree = {
        "PLAYGROUND": playground_frame(),
        "NOTEBOOKS": table,
        "NOTEBOOK_TREE": "\n".join(f"notebooks/{n.name}" for n in notebooks),
        "GUIDE_TREE": "\n".join(f"guides/{name}" for name in guides),
    }
    for mark, text in tree.items():
        template = template.replace(f"%{mark}%", text)
    return template


if __name__ == "__main__":
    main()
