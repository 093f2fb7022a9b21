"""Runs the notebooks with their solutions and keeps the outputs that the site shows.

    python -m tools.site_outputs                     # all notebooks, in the quick budget
    python -m tools.site_outputs 05_self_attention   # one of them

An output is stored under the id of its cell, which changes with the cell: an output never appears
below code that did not produce it. Answers and checks are left out, and so is any output in which
the numbers of an answer can be read.
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder import build, run_notebooks

STORE = Path(__file__).parent.parent / "docs" / "site" / "outputs"
SHOWN = ("text/html", "image/svg+xml", "image/png", "text/markdown", "text/plain")
WIDGET = "application/vnd.jupyter.widget-view+json"
# This many numbers of one answer in an output are no coincidence.
TELLING = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="notebooks (default: all)")
    parser.add_argument("--budget", choices=run_notebooks.BUDGETS, default="quick")
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        keep = Path(folder)
        for run in run_notebooks.run_all(
            options.names or build.names(), options.budget, 1, keep=keep
        ):
            if run.problem:
                print(run.problem)
                failed = True
                continue
            done = nbformat.read(keep / f"{run.notebook}.ipynb", as_version=4)
            outputs, hidden = outputs_to_show(done)
            write(run.notebook, options.budget, outputs, hidden)
            print(f"{run.notebook}: outputs of {len(outputs)} cells kept, {len(hidden)} left out.")
    sys.exit(failed)


def write(name: str, budget: str, outputs: dict[str, list], hidden: list[str]) -> None:
    STORE.mkdir(parents=True, exist_ok=True)
    stored = {"budget": budget, "hidden": hidden, "outputs": outputs}
    text = json.dumps(stored, indent=1, ensure_ascii=False)
    (STORE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def outputs_to_show(done: NotebookNode) -> tuple[dict[str, list], list[str]]:
    """The outputs by cell id, and the cells whose output is left out because it gives an answer."""
    answers = [numbers for cell in done.cells if (numbers := answer_numbers(cell))]
    kept, hidden = {}, []
    for cell in done.cells:
        # papermill's own cell has no id, and answers and checks belong to the student.
        if cell.cell_type != "code" or "nbgrader" in cell.metadata or "id" not in cell.metadata:
            continue
        outputs = [shown for output in cell.outputs if (shown := to_show(output))]
        if any(reveals(outputs, numbers) for numbers in answers):
            hidden.append(cell.metadata["id"])
        else:
            kept[cell.metadata["id"]] = outputs
    return kept, hidden


def to_show(output: NotebookNode) -> dict | None:
    if output.output_type == "stream":
        return {"output_type": "stream", "name": output.name, "text": output.text}
    if output.output_type not in ("display_data", "execute_result") or WIDGET in output.data:
        return None  # a widget comes with a picture of itself in the next output
    data = {kind: output.data[kind] for kind in SHOWN if kind in output.data}
    if "text/html" in data:
        data["text/html"] = without_copies_of_pages(data["text/html"])
    return {"output_type": "display_data", "data": data, "metadata": {}} if data else None


def without_copies_of_pages(html: str) -> str:
    """The playground is a page of the site: its frame needs no copy of it."""
    return re.sub(r'(<iframe data-attention-frame[^>]*?) srcdoc="[^"]*"', r"\1", html)


def answer_numbers(cell: NotebookNode) -> set[str]:
    """The numbers that a solution types in, as they are written, without their signs."""
    if not cell.metadata.get("nbgrader", {}).get("solution") or cell.cell_type != "code":
        return set()
    solutions = "\n".join(build.SOLUTION.findall(cell.source))
    return set(re.findall(r"(?<![\w.])\d*\.\d{3,}(?![\w.])", solutions))


def reveals(outputs: list[dict], numbers: set[str]) -> bool:
    if len(numbers) < TELLING:
        return False
    text = json.dumps(outputs)
    there = [n for n in numbers if re.search(rf"(?<![\d.]){re.escape(n)}(?!\d)", text)]
    return len(there) >= TELLING


if __name__ == "__main__":
    main()
