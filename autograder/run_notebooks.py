"""Runs every notebook with papermill, solved and as students get it, and counts the points."""

import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import nbformat

from autograder import build, solutions
from autograder.cell_names import check_cell
from course_utils import own, register

BUDGETS = ("smoke", "quick", "full")


@dataclass(frozen=True)
class NotebookRun:
    """One run of a notebook from top to bottom."""

    notebook: str
    solved: bool
    seconds: float
    points: float | None  # of the checked exercises; None if the notebook is not solved
    possible: float
    problem: str = ""

    @property
    def fine(self) -> bool:
        return not self.problem and (self.points is None or self.points == self.possible)


def run_all(
    names: Iterable[str],
    budget: str,
    jobs: int,
    solved=True,
    unsolved=False,
    keep: Path | None = None,
    own_parts=False,
) -> Iterator[NotebookRun]:
    """Run the notebooks in `jobs` processes; yields each result as soon as it is ready.

    With `own_parts`, solved ones use the solutions of earlier notebooks, as students may.
    """
    with tempfile.TemporaryDirectory(prefix="attention-run-") as folder:
        course = Path(folder)
        chosen = build.write_source_tree(course, names)
        for name in chosen if own_parts else ():
            bring_own_parts(course / "source" / name / f"{name}.ipynb")
        tasks = [(course / "source" / n / f"{n}.ipynb", n, True) for n in chosen if solved]
        tasks += [(build.NOTEBOOKS / f"{n}.ipynb", n, False) for n in chosen if unsolved]
        jobs = max(1, min(jobs, len(tasks)))  # one notebook alone gets all cores
        with ProcessPoolExecutor(jobs) as pool:
            waiting = [pool.submit(run_one, *task, budget, jobs, keep) for task in tasks]
            for done in as_completed(waiting):
                yield done.result()


def run_one(
    path: Path, name: str, solved: bool, budget: str, jobs: int = 1, keep: Path | None = None
) -> NotebookRun:
    """Run one notebook in its own folder, so that its files get in nobody's way."""
    import papermill

    checked = [e for e in register.exercises(name) if e.checked]
    possible = sum(e.points for e in checked)
    threads = max(1, (os.cpu_count() or 1) // jobs)
    os.environ.update(OMP_NUM_THREADS=str(threads), PYDEVD_DISABLE_FILE_VALIDATION="1")
    started, problem, points = time.monotonic(), "", None
    with tempfile.TemporaryDirectory(prefix="attention-run-") as folder:
        output = Path(folder) / f"{name}.ipynb"
        try:
            papermill.execute_notebook(
                str(path),
                str(output),
                parameters={"budget": budget} if _has_a_budget(path) else None,
                cwd=folder,
                kernel_name="python3",
                progress_bar=False,
                log_output=False,
                **_kernel_settings(Path(folder)),
            )
        except Exception as trouble:
            problem = _explain(name, trouble)
        if output.exists():
            done = nbformat.read(output, as_version=4)
            if solved:
                points = sum(_points(done, e.id) for e in checked)
            if keep:
                keep.mkdir(parents=True, exist_ok=True)
                suffix = "" if solved else "_unsolved"
                nbformat.write(done, keep / f"{name}{suffix}.ipynb")
    return NotebookRun(name, solved, time.monotonic() - started, points, possible, problem)


def bring_own_parts(path: Path) -> list[str]:
    """Paste solutions of earlier notebooks where a student may; returns the names of the parts."""
    notebook = nbformat.read(path, as_version=4)
    brought = []
    for cell in notebook.cells:
        call = re.search(r"^bring_your_own\((.+)\)$", cell.source, re.M)
        if call is None:
            continue
        names = re.findall(r'"(\w+)"', call.group(1))
        sources = [solutions.solution_source(own.PARTS[name].exercise) for name in names]
        cell.source = cell.source.replace(call.group(), "\n\n".join([*sources, call.group()]))
        brought += names
    nbformat.write(notebook, path)
    return brought


def _has_a_budget(path: Path) -> bool:
    """Whether the notebook trains something; papermill warns about a parameter that nobody uses."""
    cells = nbformat.read(path, as_version=4).cells
    return any("parameters" in cell.metadata.get("tags", []) for cell in cells)


def _kernel_settings(folder: Path) -> dict:
    """Kernels that start together can choose the same ports, and are slow on a busy machine."""
    from traitlets.config import Config

    address = {"transport": "ipc", "ip": str(folder / "socket")} if os.name == "posix" else {}
    return {
        "start_timeout": 300,
        "iopub_timeout": 300,
        "config": Config({"KernelManager": address}),
    }


def _points(notebook: nbformat.NotebookNode, exercise_id: str) -> float:
    """What the check cell of an exercise gave, read as nbgrader reads it."""
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == check_cell(exercise_id):
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    return float(output.data["text/plain"])
    return 0.0


def _explain(name: str, trouble: Exception) -> str:
    """One sentence with the notebook, the cell and the reason."""
    from jupyter_client.kernelspec import NoSuchKernel
    from papermill.exceptions import PapermillExecutionError

    if isinstance(trouble, PapermillExecutionError):
        plain = re.sub(r"\x1b\[[0-9;]*m", "", f"{trouble.ename}: {trouble.evalue}")
        first_line = trouble.source.strip().splitlines()[0] if trouble.source.strip() else ""
        return f"{name}, cell {trouble.cell_index + 1} ({first_line!r}): {plain}"
    if isinstance(trouble, NoSuchKernel):
        return (
            f"{name}: the kernel 'python3' is missing. "
            "Run `python -m ipykernel install --sys-prefix` and try again."
        )
    return f"{name}: {type(trouble).__name__}: {trouble}"
