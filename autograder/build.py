"""Builds notebooks from text sources: nbgrader's source tree, and what students open.

A source is `autograder/source/NN_name.py`, in jupytext's percent format, with nbgrader's metadata
in the cell headers. The build completes it (badge, set-up, parameters, closing cell, points from
the register, stable ids), and nbgrader's own generate_assignment takes out what students must
not see. The same input gives the same bytes.
"""

import ast
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder import bibliography, measured_prose, symbols
from autograder.cell_names import check_cell, exercise_of, rubric_cell
from autograder.left_out import Needed, used_cells, without_dead_links
from autograder.minutes import minutes_of
from autograder.nbgrader_parts.configuration import for_course
from autograder.nbgrader_parts.release import ReleaseFailed, generate_assignment
from autograder.paths import NOTEBOOKS, ROOT, SOURCES
from autograder.rubric import read_lines
from course_utils import register
from course_utils.checks import may_use

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
MARKERS = ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN TESTS", "MARK SCHEME")
SOLUTION = re.compile(r"^[ \t]*### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION", re.M | re.S)
HIDDEN = re.compile(r"^[ \t]*### BEGIN HIDDEN TESTS\n(.*?)^[ \t]*### END HIDDEN TESTS", re.M | re.S)
RUBRIC = re.compile(r"^=== BEGIN MARK SCHEME ===\n(.*?)^=== END MARK SCHEME ===\n?", re.M | re.S)

GITHUB = "https://github.com/"


class BuildError(Exception):
    """A source that can't become a notebook; the message has the file, the cell and what to do."""


def names() -> list[str]:
    """The notebooks that have a source, in order; those of the class if its choices are in use."""
    there = sorted(path.stem for path in SOURCES.glob("[0-9][0-9]_*.py"))
    if register.used() is None:
        return there
    chosen = {entry.name for entry in register.notebooks()}
    return [name for name in there if name in chosen]


def read_source(path: Path) -> NotebookNode:
    """The complete notebook that a text source describes, with solutions and hidden tests."""
    import jupytext  # it imports Jupyter's server, and grading needs neither

    name = path.stem
    try:
        entry = register.notebook(name)
        text = path.read_text(encoding="utf-8")
    except KeyError as problem:
        raise BuildError(f"{path.name}: {problem.args[0]}") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise BuildError(f"{path.name} cannot be read as text: {problem}.") from None
    try:
        notebook = jupytext.reads(text, fmt="py:percent")
    except Exception as problem:  # jupytext raises whatever its parsers raise
        raise BuildError(f"{path.name} does not parse as a percent script: {problem}") from problem
    for number, cell in enumerate(notebook.cells, 1):
        _check_header(f"{path.name}, cell {number}", cell)
        _check_python(f"{path.name}, cell {number}", cell)
    try:
        used = used_cells(notebook.cells)
    except Needed as problem:
        raise BuildError(f"{path.name}: {problem}") from None
    cells = _complete(entry, used, path.name)
    _check_exercises(path.name, name, cells)
    _check_prose(path.name, cells)
    for cell, stable in zip(cells, _ids(name, cells)):
        cell["id"] = cell.metadata["id"] = stable
        cell.metadata.pop("lines_to_next_cell", None)
    whole = nbformat.v4.new_notebook(cells=cells)
    whole.metadata = NotebookNode(
        kernelspec=dict(KERNEL), language_info={"name": "python", "file_extension": ".py"}
    )
    return whole


def _check_header(where: str, cell: NotebookNode) -> None:
    metadata = cell.metadata
    if "incorrectly_encoded_metadata" in metadata:
        raise BuildError(
            f"{where}: the cell header cannot be parsed: "
            f"{metadata['incorrectly_encoded_metadata']!r}. Write it as key={{...}} with JSON values."
        )
    for key in metadata:
        if "." in key:
            raise BuildError(
                f"{where}: the header has the key {key!r}; write nbgrader={{...}} as one JSON table."
            )
    tags = metadata.get("tags", [])
    if "nbgrader" in metadata and not isinstance(metadata["nbgrader"], dict):
        raise BuildError(f"{where}: nbgrader in the header should be a JSON table.")
    if not isinstance(tags, list):
        raise BuildError(f"{where}: tags in the header should be a list.")


def _check_python(where: str, cell: NotebookNode) -> None:
    if cell.cell_type != "code" or re.search(r"^\s*[%!]", cell.source, re.M):
        return  # IPython's own syntax
    try:
        compile(cell.source, where, "exec")
    except SyntaxError as problem:
        raise BuildError(
            f"{where}, line {problem.lineno}: {problem.msg}: {(problem.text or '').strip()}"
        ) from None


# ---- completing a source -------------------------------------------------------


def _complete(entry: register.Notebook, cells: list[NotebookNode], file: str) -> list[NotebookNode]:
    if not cells or cells[0].cell_type != "markdown" or not cells[0].source.startswith("# "):
        raise BuildError(
            f"{file}: the first cell should be markdown and start with a title (# ...)."
        )
    references = [*_symbols_cells(file, entry.name, cells), *_references_cells(file, cells)]
    takes = minutes_of(entry.name, cells)
    whole: list[NotebookNode] = []
    for number, cell in enumerate(cells, 1):
        where = f"{file}, cell {number}"
        if cell.cell_type == "markdown":
            _check_figures(where, cell.source)
            filled = _fill_in(where, entry.name, takes, cell.source)
            cell.source = without_dead_links(bibliography.fill_in(filled))
        following = []
        if "nbgrader" in cell.metadata:
            following = _complete_graded(where, entry.name, cell)
        whole += [cell, *following]
    title, *rest = whole
    announced = re.search(r"(\d+(?:\.\d+)?) points?\b", title.source)
    worth = register.points(entry.name)
    if announced is None or float(announced.group(1)) != worth:
        said = "no points" if announced is None else announced.group(0)
        raise BuildError(
            f"{file}, cell 1: the notebook announces {said}, but the register gives {worth:g}. "
            "Write {{points}} there."
        )
    title.source = f"{_badge(entry.name)}\n\n{title.source}".strip()
    trains = any(
        cell.cell_type == "code" and re.search(r"\bbudget\b", cell.source) for cell in rest
    )
    parameters = [_parameters_cell()] if trains else []
    return [title, _setup_cell(), *parameters, *rest, *references, *_closing_cells(entry)]


def _check_figures(where: str, source: str) -> None:
    typed = measured_prose.typed_by_hand(source)
    if typed:
        raise BuildError(
            f"{where}: measured numbers are typed by hand: {', '.join(typed)}. Write "
            "{{claim:NAME.FIGURE}}, which the build fills from course_utils/measured, or "
            "{{given:...}} around a number that nobody measured."
        )


def _fill_in(where: str, notebook: str, takes: int, source: str) -> str:
    def replace(match: re.Match) -> str:
        words = match.group(1).split()
        if words == ["points"]:
            worth = register.points(notebook)
            return f"{worth:g} {'point' if worth == 1 else 'points'}"
        if words == ["minutes"]:
            return f"about {takes} minutes"
        if len(words) == 2 and words[0] == "exercise":
            return _exercise_line(where, words[1])
        try:
            filled = measured_prose.fill(match.group(1))
        except LookupError as problem:
            raise BuildError(f"{where}: {match.group(0)}: {problem.args[0]}") from None
        if filled is not None:
            return filled
        raise BuildError(f"{where}: {match.group(0)} is not something the build fills in.")

    return re.sub(r"\{\{\s*([a-z][^{}]*?)\s*\}\}", replace, source)


def _exercise_line(where: str, exercise_id: str) -> str:
    try:
        e = register.exercise(exercise_id)
    except KeyError as problem:
        raise BuildError(f"{where}: {problem.args[0]}") from None
    stars = "●" * e.difficulty + "○" * (5 - e.difficulty)
    unit = "point" if e.points == 1 else "points"
    parts = [f"difficulty {stars} ({e.difficulty} of 5)", f"about {e.minutes} minutes"]
    parts.append(f"{e.points:g} {unit}" + (" extra" if e.extra else ""))
    if not e.core:
        parts.append("optional")
    if e.refuses:
        parts.append(f"without {_listed(e.refuses)}")
    return " · ".join(parts)


def _listed(refuses: tuple[str, ...]) -> str:
    """What an answer may not use, in words for students."""
    return ", ".join(f"`{name.removesuffix('.')}`" for name in refuses)


def _complete_graded(where: str, notebook: str, cell: NotebookNode) -> list[NotebookNode]:
    """Fill in nbgrader's metadata from the register; a rubric becomes a separate cell."""
    given = cell.metadata["nbgrader"]
    grade_id = given.get("grade_id", "")
    exercise_id = exercise_of(grade_id)
    try:
        exercise = register.exercise(exercise_id)
    except KeyError as problem:
        raise BuildError(f"{where}: {problem.args[0]}") from None
    if exercise.retired:
        raise BuildError(f"{where}: the register has {exercise_id} as retired.")
    if exercise.notebook != notebook:
        raise BuildError(
            f"{where}: according to the register, {exercise_id} belongs to {exercise.notebook}."
        )
    if "points" in given:
        raise BuildError(
            f"{where}: points belong only in the register; remove them from the header."
        )
    grade, solution = bool(given.get("grade", False)), bool(given.get("solution", False))
    complete = {
        "cell_type": cell.cell_type,
        "grade": grade,
        "grade_id": grade_id,
        "locked": bool(given.get("locked", grade and not solution)),
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    if grade:
        complete["points"] = exercise.points
    cell.metadata["nbgrader"] = complete
    if not (grade and solution):
        return []
    return [_rubric_cell(where, cell, exercise)]


def _rubric_cell(where: str, cell: NotebookNode, exercise: register.Exercise) -> NotebookNode:
    """A locked cell after the answer, with what only the person who marks may see.

    nbgrader stores a locked cell as it is before the mark scheme is taken out, and puts it back
    when grading: that shows the rubric in formgrader and never to a student.
    """
    rubric, model = RUBRIC.search(cell.source), SOLUTION.search(cell.source)
    if rubric is None or model is None:
        raise BuildError(
            f"{where}: a written answer needs a model answer (### BEGIN SOLUTION) and a rubric "
            "(=== BEGIN MARK SCHEME ===), each in its own region, one after the other."
        )
    if not read_lines(rubric.group(1)):
        raise BuildError(
            f"{where}: no line of the rubric has points. Begin each line with its points, as in "
            "'- half a point: the weights sum to one'; they become buttons for the person who marks."
        )
    cell.source = RUBRIC.sub("", cell.source).rstrip("\n")
    text = (
        f"*This answer is read and marked by a person ({exercise.points:g} "
        f"{'point' if exercise.points == 1 else 'points'}).*\n\n"
        "<!-- BEGIN MARK SCHEME -->\n\n"
        f"**Rubric**\n\n{rubric.group(1).strip()}\n\n"
        f"**Model answer**\n\n{model.group(1).strip()}\n"
        "\n<!-- END MARK SCHEME -->"
    )
    metadata = {
        "cell_type": "markdown",
        "grade": False,
        "grade_id": rubric_cell(exercise.id),
        "locked": True,
        "schema_version": 3,
        "solution": False,
        "task": False,
    }
    return new_markdown_cell(text, metadata={"nbgrader": metadata})


def without_colab() -> str:
    """Why the notebooks have no Colab badge, in a sentence; empty if they have one."""
    if register.repository().startswith(GITHUB):
        return ""
    return (
        f"The notebooks have no Colab badge: Colab opens notebooks from GitHub, and `repository` "
        f"in {register.REGISTER.name} is {register.repository()}. Students can upload a notebook "
        "to Colab."
    )


def _in_colab(name: str) -> str:
    """The address at which Colab opens a notebook; empty if it can't."""
    if without_colab():
        return ""
    place = register.repository().removeprefix(GITHUB).removesuffix("/").removesuffix(".git")
    return f"https://colab.research.google.com/github/{place}/blob/main/notebooks/{name}.ipynb"


def _badge(name: str) -> str:
    picture = "https://colab.research.google.com/assets/colab-badge.svg"
    target = _in_colab(name)
    return f"[![Open this notebook in Google Colab]({picture})]({target})" if target else ""


def _setup_cell() -> NotebookNode:
    source = (
        "# Run this cell first. In Google Colab it installs the course; elsewhere it does nothing.\n"
        "import sys\n\n"
        'if "google.colab" in sys.modules:\n'
        f'    %pip install --quiet "attention-course @ git+{register.repository()}"'
    )
    return new_code_cell(source, metadata={"tags": ["colab-setup"]})


def _parameters_cell() -> NotebookNode:
    source = 'budget = "quick"  # "smoke": seconds, "quick": minutes, "full": the published figures'
    return new_code_cell(source, metadata={"tags": ["parameters", "setup"]})


def _symbols_cells(file: str, name: str, cells: list[NotebookNode]) -> list[NotebookNode]:
    """A table of the symbols in the notebook's formulas, if it has any."""
    try:
        met = symbols.check(name, [cell.source for cell in cells if cell.cell_type == "markdown"])
    except symbols.SymbolError as problem:
        raise BuildError(f"{file}: {problem}") from None
    return [new_markdown_cell(f"## Symbols\n\n{symbols.table(name, met)}")] if met else []


def _references_cells(file: str, cells: list[NotebookNode]) -> list[NotebookNode]:
    """A list of what the notebook cites, if it cites anything."""
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    try:
        cited = bibliography.cited(prose)
    except bibliography.UnknownWork as problem:
        raise BuildError(f"{file}: {problem}") from None
    return (
        [new_markdown_cell(f"## References\n\n{bibliography.reference_list(cited)}")]
        if cited
        else []
    )


def _closing_cells(entry: register.Notebook) -> list[NotebookNode]:
    order = [n for n in register.notebooks() if (SOURCES / f"{n.name}.py").exists()]
    following = [n for n in order if n.name > entry.name][:1]
    onward = f"\n\nNext: {_link(following[0])}." if following else ""
    text = (
        "## Ready to submit?\n\nSave the notebook, run the cell below, and read the result. "
        f"Then hand in the file `{entry.name}.ipynb` without renaming it.\n\n"
        "Your answers may use Python, NumPy, PyTorch and whatever this notebook imports. They may not "
        "import anything else from the course, nor use PyTorch's ready-made attention and transformer layers: "
        f"the grader gives no points for those.{onward}"
    )
    code = f'from course_utils import ready_to_submit\n\nready_to_submit("{entry.name}")'
    return [new_markdown_cell(text), new_code_cell(code)]


def _link(notebook: register.Notebook) -> str:
    """The notebook beside this one, and in Colab, where a copy in Drive has no neighbours."""
    target = _in_colab(notebook.name)
    beside = f"[{notebook.name[:2]} · {notebook.title}]({notebook.name}.ipynb)"
    return f"{beside} ([in Colab]({target}))" if target else beside


def _ids(name: str, cells: Iterable[NotebookNode]) -> Iterable[str]:
    """An id for each cell that stays when other cells come and go."""
    seen: dict[str, int] = {}
    for cell in cells:
        stable = cell.metadata.get("nbgrader", {}).get("grade_id")
        if stable is None:
            digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:10]
            stable = f"{name[:2]}-{digest}"
        seen[stable] = seen.get(stable, 0) + 1
        yield stable if seen[stable] == 1 else f"{stable}-{seen[stable]}"


# ---- what a source must keep to ---------------------------------------------------


def _check_exercises(file: str, name: str, cells: list[NotebookNode]) -> None:
    graded = [c.metadata["nbgrader"] for c in cells if "nbgrader" in c.metadata]
    ids = [g["grade_id"] for g in graded]
    for grade_id in ids:
        if ids.count(grade_id) > 1:
            raise BuildError(f"{file}: the grade_id {grade_id!r} is on more than one cell.")
    for e in register.exercises(name):
        for wanted in [e.id, check_cell(e.id)] if e.checked else [e.id]:
            if wanted not in ids:
                raise BuildError(
                    f"{file}: the register has {e.id}, and no cell is called {wanted!r}."
                )
    total = sum(g.get("points", 0) for g in graded)
    worth = sum(e.points for e in register.exercises(name))
    if total != worth:
        raise BuildError(f"{file}: the graded cells give {total:g} points, the register {worth:g}.")


def _check_prose(file: str, cells: list[NotebookNode]) -> None:
    for number, cell in enumerate(cells, 1):
        if cell.cell_type != "markdown":
            continue
        where = f"{file}, built cell {number} ({cell.source[:40]!r}...)"
        if re.search(r"!\[\s*\]\(", cell.source) or any(
            not re.search(r"\balt=\"[^\"]+\"", tag)
            for tag in re.findall(r"<img[^>]*>", cell.source)
        ):
            raise BuildError(f"{where}: an image has no alternative text.")
        for target in re.findall(r"\]\(([^)#\s]+\.ipynb)[^)]*\)", cell.source):
            if not target.startswith("http") and not (SOURCES / f"{Path(target).stem}.py").exists():
                raise BuildError(f"{where}: the link to {target} leads nowhere.")


def _check_release(file: str, source: NotebookNode, release: NotebookNode) -> None:
    """Refuse a notebook for students that gives away a solution or a hidden test."""
    hidden = [
        part.strip()
        for cell in source.cells
        for pattern in (SOLUTION, HIDDEN, RUBRIC)
        for part in pattern.findall(cell.source)
    ]
    for number, cell in enumerate(release.cells, 1):
        found = [m for m in MARKERS if m in cell.source]
        if found or "autograder" in cell.source:
            raise BuildError(
                f"{file}, cell {number} of the student's notebook still contains "
                f"{found[0] if found else 'autograder'!r}: that part would reach students."
            )
        for part in hidden:
            if len(part) > 30 and part in cell.source:
                raise BuildError(
                    f"{file}, cell {number} of the student's notebook contains part of a solution or "
                    f"hidden test, outside its markers: {part[:60]!r}."
                )


# ---- nbgrader ---------------------------------------------------------------------


def write_source_tree(course: Path, wanted: Iterable[str] | None = None) -> list[str]:
    """Write nbgrader's `source/` in a course directory; returns its notebooks."""
    wanted = list(wanted) if wanted is not None else names()
    built = {name: read_source(_source_path(name)) for name in wanted}
    for name, notebook in built.items():
        folder = course / "source" / name
        folder.mkdir(parents=True, exist_ok=True)
        _write_text(folder / f"{name}.ipynb", to_json(notebook))
    return wanted


def _source_path(name: str) -> Path:
    path = SOURCES / f"{name}.py"
    if not path.exists():
        raise BuildError(f"There is no source for {name}. There are: {', '.join(names())}.")
    return path


def release(course: Path, name: str) -> NotebookNode:
    """The student's notebook of one assignment in a course directory's `source/`."""
    try:
        generate_assignment(for_course(course, name), into_gradebook=False)
    except ReleaseFailed as problem:
        raise BuildError(f"{name}: nbgrader could not release the notebook: {problem}") from problem
    return nbformat.read(course / "release" / name / f"{name}.ipynb", as_version=4)


def build(wanted: Iterable[str] | None = None) -> dict[str, str]:
    """The student's notebooks, as the text of their files, by name. Nothing is written."""
    with tempfile.TemporaryDirectory(prefix="attention-build-") as folder:
        course = Path(folder)
        built = {}
        for name in write_source_tree(course, wanted):
            source = nbformat.read(course / "source" / name / f"{name}.ipynb", as_version=4)
            student = release(course, name)
            _check_release(f"{name}.py", source, student)
            built[name] = to_json(student)
        return built


def to_json(notebook: NotebookNode) -> str:
    # nbgrader's ClearOutput and validators leave traces that differ between runs: none are kept.
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n"


def given_names(folder: Path = NOTEBOOKS) -> str:
    """The names of the course that each notebook gives, for `may_use`: the text of its file."""
    found, known = {}, _names_of_course()
    for path in sorted(folder.glob("*.ipynb")):
        cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
        given = [c.source for c in cells if not c.metadata.get("nbgrader", {}).get("solution")]
        names = {name for text in given for name in may_use.names_given(text)}
        found[path.stem] = sorted(names & known)
    return json.dumps(found, indent=1) + "\n"


def _names_of_course() -> set[str]:
    """Whatever can be imported from the course: its modules, and what each has at its top."""
    found = set()
    for path in (ROOT / "course_utils").rglob("*.py"):
        found |= {path.stem, path.parent.name}
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def write(built: dict[str, str], folder: Path = NOTEBOOKS) -> None:
    """Put the built notebooks in place, all or none."""
    folder.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".building-", dir=folder))
    try:
        for name, text in built.items():
            _write_text(staging / f"{name}.ipynb", text)
        for name in built:
            os.replace(staging / f"{name}.ipynb", folder / f"{name}.ipynb")
    except OSError as problem:
        raise BuildError(
            f"The notebooks cannot be written to {folder}: {problem.strerror}. Nothing was changed."
        ) from problem
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def write_given(path: Path = may_use.GIVEN) -> None:
    _write_text(path, given_names())


def stale_given(path: Path = may_use.GIVEN) -> list[str]:
    """Whether the file of given names is not what the notebooks give, as a sentence."""
    same = path.is_file() and path.read_text(encoding="utf-8") == given_names()
    return (
        [] if same else [f"{path.name} is out of date. Run `autograder build`, and commit it too."]
    )


def stale(built: dict[str, str], folder: Path = NOTEBOOKS) -> list[str]:
    """One sentence for each notebook in `folder` that is not what its source builds."""
    problems = []
    for name, text in built.items():
        path = folder / f"{name}.ipynb"
        if not path.exists():
            problems.append(f"{path.name} is missing. Run `autograder build`.")
        elif path.read_text(encoding="utf-8") != text:
            cell = _first_difference(path, text)
            problems.append(f"{path.name} is out of date at {cell}. Run `autograder build`.")
    for path in sorted(folder.glob("*.ipynb")):
        if path.stem not in names():
            problems.append(f"{path.name} has no source. Delete it, or write autograder/source/.")
    return problems


def _first_difference(path: Path, text: str) -> str:
    fresh = nbformat.reads(text, as_version=4)
    try:
        there = nbformat.read(path, as_version=4)
    except Exception:
        return "its first character (it is not a notebook)"
    for number, (one, other) in enumerate(zip(there.cells, fresh.cells), 1):
        if one != other:
            return f"cell {number} ({other.get('id', '')})"
    if len(there.cells) != len(fresh.cells):
        return f"cell {min(len(there.cells), len(fresh.cells)) + 1} (a cell too many or too few)"
    return "its metadata"
