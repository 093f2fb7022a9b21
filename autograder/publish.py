"""Writes the students' copy of the course: notebooks and course_utils, but no answers."""

import json
import re
import shutil
from pathlib import Path

import jupytext
import nbformat

from autograder import build, choices
from autograder.cell_names import RUBRIC
from autograder.left_out import used_cells
from autograder.minutes import minutes_of
from autograder.paths import ROOT
from course_utils import register

TEMPLATES = Path(__file__).with_name("student_copy")
# Files that are copied as they are: how to install the tested versions, and what to know first.
SHARED = (
    "LICENSE",
    "constraints.txt",
    "docs/prerequisites.md",
    "tools/install.py",
    "tools/environment.py",
    "tools/open_lab.py",
)
# Words that no file for students may contain: each would lead to a solution or a hidden check.
TELLING = ("BEGIN SOLUTION", "BEGIN HIDDEN TESTS", "BEGIN MARK SCHEME", "hidden_check")


class PublishError(Exception):
    """The copy can't be written as asked; the message explains where and what to do."""


def publish(folder: Path, solutions: bool = False, course: Path | None = None) -> list[Path]:
    """Write the copy into `folder`; returns the files. An existing git history is kept.

    With a course directory, it has what course.toml there chooses, and nothing else.
    """
    chosen = choices.read(course) if course else choices.Choices()
    before = register.used()
    choices.put_in_use(chosen, for_students=True)
    try:
        return _publish(Path(folder), solutions, chosen)
    finally:
        register.use(before)


def _publish(folder: Path, solutions: bool, chosen: choices.Choices) -> list[Path]:
    if folder.exists() and any(folder.iterdir()) and not (folder / ".attention-course").exists():
        raise PublishError(
            f"{folder} is not empty, and is not an earlier copy of the course. Name a new folder."
        )
    built = build.build()
    problems = build.stale(built) if register.used() is None else []
    if problems:
        raise PublishError(problems[0])
    try:
        for old in ("notebooks", "course_utils", "solutions"):
            shutil.rmtree(folder / old, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".attention-course").write_text("Written by `autograder publish`.\n")
        build.write(built, folder / "notebooks")
        shutil.copytree(
            ROOT / "course_utils",
            folder / "course_utils",
            ignore=shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info"),
        )
        content = register.used()
        if content is not None:
            path = folder / "course_utils" / register.REGISTER.name
            path.write_text(_as_toml(content), encoding="utf-8")
        for template in sorted(TEMPLATES.iterdir()):
            text = template.read_text(encoding="utf-8")
            name = template.name.removesuffix(".template")
            (folder / name).write_text(_fill_in(text, chosen), encoding="utf-8")
        for name in SHARED:
            if (ROOT / name).exists():
                (folder / name).parent.mkdir(exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        if solutions:
            _write_solutions(folder / "solutions")
    except OSError as problem:
        raise PublishError(f"{folder} cannot be written: {problem.strerror}.") from problem
    files = sorted(p for p in folder.rglob("*") if p.is_file() and ".git" not in p.parts)
    _refuse_telling(folder, files)
    return files


def _as_toml(content: dict) -> str:
    """The register as a file. JSON's texts, numbers and lists are TOML's too."""
    lines = ["# The exercises of this class, written by `autograder publish`.", "", "[course]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in content["course"].items()]
    for kind in ("notebook", "exercise"):
        for entry in content[kind]:
            lines += ["", f"[[{kind}]]"]
            lines += [f"{key} = {json.dumps(value)}" for key, value in entry.items()]
    return "\n".join(lines) + "\n"


def _fill_in(text: str, chosen: choices.Choices) -> str:
    rows = [
        f"| [{n.name[:2]} · {n.title}](notebooks/{n.name}.ipynb) | {_minutes(n.name)} | "
        f"{register.points(n.name):g} | {n.objectives} |"
        for n in register.notebooks()
        if n.name in build.names()
    ]
    table = "| notebook | minutes | points | afterwards you can |\n| --- | --- | --- | --- |\n"
    project, first = _project(), register.notebooks()[0]
    opened = f"[{first.name[:2]} · {first.title}](notebooks/{first.name}.ipynb)"
    text = text.replace("{{first}}", opened)
    text = text.replace("{{dependencies}}", _as_lines([*project["dependencies"], *chosen.packages]))
    text = text.replace("{{lab}}", _as_lines(project["optional-dependencies"]["lab"]))
    text = text.replace("{{version}}", project["version"])
    return text.replace("{{title}}", register.title()).replace("{{table}}", table + "\n".join(rows))


def _minutes(name: str) -> int:
    """The minutes that the notebook itself announces, for the cells that are used."""
    text = (build.SOURCES / f"{name}.py").read_text(encoding="utf-8")
    return minutes_of(name, used_cells(jupytext.reads(text, fmt="py:percent").cells))


def _project() -> dict:
    import tomllib

    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _as_lines(requirements: list[str]) -> str:
    return "\n".join(f'    "{requirement}",' for requirement in requirements)


def _write_solutions(folder: Path) -> None:
    """The solved notebooks, for after the deadline, without hidden tests and rubrics."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in build.names():
        notebook = build.read_source(build.SOURCES / f"{name}.py")
        notebook.cells = [c for c in notebook.cells if not _is_rubric(c)]
        for cell in notebook.cells:
            cell.source = build.HIDDEN.sub("", cell.source)
            cell.source = re.sub(r"^[ \t]*### (BEGIN|END) SOLUTION\n?", "", cell.source, flags=re.M)
            cell.source = re.sub(r"\n{3,}", "\n\n", cell.source).strip()
            cell.metadata.pop("nbgrader", None)
        nbformat.validate(notebook)
        (folder / f"{name}.ipynb").write_text(build.to_json(notebook), encoding="utf-8")


def _is_rubric(cell) -> bool:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "").endswith(RUBRIC)


def _refuse_telling(folder: Path, files: list[Path]) -> None:
    for path in files:
        if path.suffix not in (".py", ".ipynb", ".md", ".toml", ".yml"):
            continue
        text = path.read_text(encoding="utf-8")
        found = [word for word in TELLING if word in text]
        if found:
            raise PublishError(
                f"{path.relative_to(folder)} contains {found[0]!r}, which students must not get."
            )
