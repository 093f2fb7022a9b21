"""How fast a class is graded, against stock nbgrader on the same submissions in the same run.

    python benchmarks/grading.py                 60 and 300 submissions, and stock nbgrader on 60
    python benchmarks/grading.py --stock 20      stock nbgrader on fewer (printed as such)
    python benchmarks/grading.py --linear        also up to 1,000 submissions: time and memory
    python benchmarks/grading.py --dask          also one and two local dask workers
    python benchmarks/grading.py --mixed         also 300 with 5% damaged and 5% hostile

Submissions are the release notebooks with right and wrong answers of `autograder/mutants`. Cells
that are neither set-up, answer nor graded (the training) are taken out, for both sides. Both sides
start with the assignment already in the gradebook. Start-up is what one submission costs beyond
the marginal cost; the marginal cost is the slope from one submission to all.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nbformat import NotebookNode

from autograder import build
from autograder.grading.releases import release_names, release_notebook
from autograder.nbgrader_parts.configuration import alembic_on_path
from autograder.nbgrader_parts.database import gradebook_url
from autograder.whole_class.course_directory import prepare_course
from course_utils import register

MUTANTS = Path(build.__file__).with_name("mutants")
ANSWERS = {"03_attention": "dot-prod-attention", "04_translation": "single-query-attention"}
# answers that never end measure the time limit, and those that print or warn score 0 in stock
LEFT_OUT = ("never", "endless", "loop_forever", "print", "warn", "without_dim", "huge", "exit")
WARM = 8  # submissions with which a cluster's boxes are started before it is timed
PYTHON = Path(sys.executable)
ENVIRONMENT = {
    **os.environ,
    "PATH": f"{PYTHON.parent}{os.pathsep}{os.environ['PATH']}",
    "OMP_NUM_THREADS": "1",
}
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed grader is a compiled one


def answers(exercise: str) -> list[str]:
    """Right and wrong answers in turn, as in a real class."""
    folder = MUTANTS / exercise
    kinds = [
        [p for p in sorted(folder.glob(f"{kind}_*.py")) if not any(w in p.stem for w in LEFT_OUT)]
        for kind in ("right", "wrong")
    ]
    longest = max(map(len, kinds))
    return [kinds[i % 2][(i // 2) % len(kinds[i % 2])].read_text() for i in range(2 * longest)]


def without_training(notebook: NotebookNode) -> NotebookNode:
    """Only what is text, set-up, an answer or graded."""
    kept = []
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        needed = "setup" in cell.metadata.get("tags", []) or marks.get("grade_id")
        if cell.cell_type != "code" or needed:
            kept.append(cell)
    notebook.cells = kept
    return notebook


def make_class(folder: Path, assignment: str, size: int) -> Path:
    """One folder per student, in nbgrader's own layout."""
    exercise = ANSWERS[assignment]
    pool = answers(exercise)
    plain = without_training(copy.deepcopy(release_notebook(assignment)))
    for number in range(size):
        notebook = copy.deepcopy(plain)
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id") == exercise:
                cell.source = pool[number % len(pool)]
        place = folder / f"s{number:04d}" / assignment / f"{assignment}.ipynb"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(notebook))
    return folder


def new_course(folder: Path, assignment: str, stock: bool) -> Path:
    """A course directory with the assignment in its gradebook; stock has nbgrader's defaults."""
    folder.mkdir(parents=True)
    if stock:
        (folder / "nbgrader_config.py").write_text("c = get_config()\n")
    prepare_course(folder, assignment, gradebook_url(folder))
    return folder


def run_timed(line: list[str], folder: Path) -> tuple[float, str]:
    started = time.monotonic()
    result = subprocess.run(
        line, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(line)} failed:\n{result.stderr[-3000:]}")
    return time.monotonic() - started, result.stdout


def grade_stock(course: Path, assignment: str, handed_in: Path) -> float:
    shutil.copytree(handed_in, course / "submitted", dirs_exist_ok=True)
    return run_timed([str(PYTHON), "-m", "nbgrader", "autograde", assignment], course)[0]


def grade_ours(course: Path, assignment: str, handed_in: Path, *more: str) -> tuple[float, dict]:
    line = [str(PYTHON.parent / "autograder"), "grade", assignment, str(handed_in)]
    seconds, said = run_timed([*line, "--course", str(course), "--json", *more], course)
    return seconds, json.loads(said)


def scores(course: Path, assignment: str) -> dict[tuple[str, str], float | None]:
    from nbgrader.api import Gradebook

    with Gradebook(gradebook_url(course)) as book:
        return {
            (entry.student_id, grade.name): grade.auto_score
            for entry in book.assignment_submissions(assignment)
            for notebook in entry.notebooks
            for grade in notebook.grades
        }


def line(name: str, total: float, size: int, one: float) -> tuple[float, float]:
    """Print one row; returns its start-up and marginal cost."""
    marginal = (total - one) / (size - 1)
    print(
        f"  {name:<22}{size:>5} submissions {total:8.2f} s   "
        f"start-up {one - marginal:5.2f} s   marginal {marginal * 1000:7.1f} ms",
        flush=True,
    )
    return one - marginal, marginal


def compare(scratch: Path, assignments: list[str], sizes: list[int], sample: int) -> float:
    """Run both on the same submissions; returns how many times faster we are at the smallest size."""
    small, large = sizes[0], sizes[-1]
    ours, stock = {size: 0.0 for size in sizes}, {size: 0.0 for size in sizes}
    for assignment in assignments:
        here = scratch / assignment
        print(f"{assignment}, {os.cpu_count()} cores, isolation on")
        one = make_class(here / "in1", assignment, 1)
        part = make_class(here / "in-stock", assignment, sample)
        stock_one = grade_stock(new_course(here / "stock1", assignment, True), assignment, one)
        stock_course = new_course(here / "stock", assignment, True)
        stock_part = grade_stock(stock_course, assignment, part)
        start, marginal = line("stock nbgrader", stock_part, sample, stock_one)
        ours_one, _ = grade_ours(new_course(here / "ours1", assignment, False), assignment, one)
        for size in sizes:
            handed_in = make_class(here / f"in{size}", assignment, size)
            course = new_course(here / f"ours{size}", assignment, False)
            seconds, said = grade_ours(course, assignment, handed_in)
            assert said["graded"] == size, said["problems"]
            line("autograder grade", seconds, size, ours_one)
            ours[size] += seconds
            stock[size] += stock_part if size == sample else start + marginal * size
            check_equal(scores(stock_course, assignment), scores(course, assignment), size)
    for size in sizes:
        measured = "measured" if size == sample else "from its start-up and marginal cost"
        print(
            f"{size} of each: stock {stock[size]:.1f} s ({measured}), ours {ours[size]:.1f} s, "
            f"{stock[size] / ours[size]:.1f} times the throughput"
        )
    assert small <= large
    return stock[small] / ours[small]


def check_equal(stock: dict, ours: dict, size: int) -> None:
    common = [key for key in stock if key in ours]
    unequal = [(key, stock[key], ours[key]) for key in common if stock[key] != ours[key]]
    print(f"  scores: {len(common) - len(unequal)} of {len(common)} equal to stock's", flush=True)
    for key, theirs, mine in unequal[:5]:
        print(f"    {key}: stock {theirs}, ours {mine}")


def linear(scratch: Path, assignment: str) -> None:
    """Time and memory of the grader itself up to a thousand submissions."""
    print("linear in the number of submissions")
    for size in (125, 250, 500, 1000):
        handed_in = make_class(scratch / f"linear{size}", assignment, size)
        course = new_course(scratch / f"linear-course{size}", assignment, False)
        seconds, peak = grade_and_measure(course, assignment, handed_in)
        print(
            f"  {size:>5} submissions {seconds:7.1f} s   {seconds / size * 1000:6.1f} ms each   "
            f"peak memory of the grader {peak >> 20} MB",
            flush=True,
        )


def grade_and_measure(course: Path, assignment: str, handed_in: Path) -> tuple[float, int]:
    """Seconds and peak resident memory of one `autograder grade` in its own process."""
    child = os.fork()
    if child == 0:
        os.environ.update(ENVIRONMENT)
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), 1)
        program = str(PYTHON.parent / "autograder")
        options = ["--course", str(course), "--json"]
        os.execv(program, [program, "grade", assignment, str(handed_in), *options])
    started = time.monotonic()
    _, status, used = os.wait4(child, 0)
    if status != 0:
        raise SystemExit(f"autograder grade ended with status {status}")
    unit = 1 if sys.platform == "darwin" else 1024
    return time.monotonic() - started, used.ru_maxrss * unit


def cluster(scratch: Path, assignment: str, size: int) -> None:
    """One dask worker against two, warm, on the same submissions."""
    from distributed import LocalCluster

    print(f"dask on this machine, {size} submissions")
    handed_in = make_class(scratch / "dask", assignment, size)
    warm = make_class(scratch / "dask-warm", assignment, WARM)
    marginal = {1: [], 2: []}
    for number in (1, 2, 3):
        # They alternate, so that a busy neighbour is as busy for both.
        for workers in marginal:
            took = {}
            with LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
            ) as local:
                address = ("--cluster", local.scheduler_address, "--without-tls")
                for name, folder in (("warm", warm), ("all", handed_in)):
                    place = scratch / f"dask-{number}-{workers}-{name}"
                    course = new_course(place, assignment, False)
                    _, said = grade_ours(course, assignment, folder, *address)
                    took[name] = said["seconds"]
            marginal[workers].append((took["all"] - took["warm"]) / (size - WARM))
            print(
                f"  {workers} workers {took['all']:7.1f} s   "
                f"marginal {marginal[workers][-1] * 1000:6.1f} ms",
                flush=True,
            )
    one, two = (statistics.median(values) for values in marginal.values())
    print(f"  two workers: {one / two:.2f} times one, by the medians")
    print(f"  two busy processes on this machine do {both_cores():.2f} times the work of one")


def both_cores() -> float:
    """What a second core adds on this machine, where other programs may use part of it."""
    work = [
        str(PYTHON),
        "-c",
        "import json\nfor i in range(1500): json.loads(json.dumps([0.5] * 5000))",
    ]
    started = time.monotonic()
    subprocess.run(work, check=True)
    alone = time.monotonic() - started
    started = time.monotonic()
    for process in [subprocess.Popen(work) for _ in range(2)]:
        process.wait()
    return 2 * alone / (time.monotonic() - started)


def mixed(scratch: Path, assignment: str, size: int = 300) -> None:
    """Everybody gets a grade or a flag, whatever one in ten hands in."""
    handed_in = make_class(scratch / "mixed", assignment, size)
    folders = sorted(handed_in.iterdir())
    for number, folder in enumerate(folders[:: size // 15][:15]):
        spoil(folder / assignment / f"{assignment}.ipynb", number)
    for number, folder in enumerate(folders[1 :: size // 15][:15]):
        attack(folder / assignment / f"{assignment}.ipynb", assignment, number)
    course = new_course(scratch / "mixed-course", assignment, False)
    seconds, said = grade_ours(course, assignment, handed_in)
    print(
        f"a class of {size} with 5% damaged and 5% hostile: {said['graded']} graded, "
        f"{said['flagged']} flagged, {size - said['graded'] - said['flagged']} lost, {seconds:.1f} s"
    )
    hostile = {folder.name for folder in folders[1 :: size // 15][:15]}
    won = [r for r in said["results"] if r["student"] in hostile and r["points"] > 0]
    print(f"  points won by the hostile ones: {sum(r['points'] for r in won):g}")


def spoil(path: Path, number: int) -> None:
    """Damage as it happens: lost metadata, deleted and doubled cells, Colab, half a file."""
    notebook = json.loads(path.read_text())
    cells = notebook["cells"]
    graded = [c for c in cells if "nbgrader" in c["metadata"]]
    kind = number % 5
    if kind == 0:
        for cell in cells:
            cell["metadata"], _ = {}, cell.pop("id", None)
        notebook["nbformat_minor"] = 0
    elif kind == 1:
        cells.remove(graded[-1])
    elif kind == 2:
        cells.insert(0, graded[1])
    elif kind == 3:
        cells.reverse()
    text = json.dumps(notebook)
    path.write_text(text if kind < 4 else text[: len(text) // 2])


def attack(path: Path, assignment: str, number: int) -> None:
    codes = (
        "import os; os._exit(0)",
        "while True: pass",
        "get_ipython().displayhook(8.0)",
        "kept = []\nwhile True: kept.append(bytearray(1 << 26))",
        "while True: print('x' * 100000)",
    )
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == ANSWERS[assignment]:
            cell["source"] = codes[number % len(codes)]
    path.write_text(json.dumps(notebook))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[60, 300])
    parser.add_argument("--stock", type=int, default=60, help="submissions for stock nbgrader")
    parser.add_argument("--assignments", nargs="+", default=None)
    parser.add_argument("--linear", action="store_true")
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--mixed", action="store_true")
    parser.add_argument("--no-stock", action="store_true", help="only the extra measurements")
    options = parser.parse_args()
    there = [a for a in ANSWERS if a in release_names() and has_exercise(a)]
    chosen = options.assignments or there
    alembic_on_path()
    scratch = Path(tempfile.mkdtemp(prefix="grading-benchmark-"))
    try:
        if options.linear:
            linear(scratch, chosen[0])
        if options.dask:
            cluster(scratch, chosen[0], 120)
        if options.mixed:
            mixed(scratch, chosen[0])
        if not options.no_stock:
            times = compare(scratch, chosen, sorted(options.sizes), options.stock)
            own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            print(f"(the benchmark itself used {own} MB)")
            print(f"grading: {times:.1f} x stock nbgrader")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def has_exercise(assignment: str) -> bool:
    known = {exercise.id for exercise in register.exercises(assignment)}
    return ANSWERS[assignment] in known and (MUTANTS / ANSWERS[assignment]).is_dir()


if __name__ == "__main__":
    main()
