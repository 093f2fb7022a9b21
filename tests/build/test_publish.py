"""The student's copy: everything a student needs, and nothing that tells."""

import json
import re
import subprocess
import sys
import tomllib

import pytest

from autograder import build, publish
from course_utils import register


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published") / "course"
    publish.publish(folder, solutions=True)
    return folder


def test_no_solution_hidden_test_or_file_of_the_instructor_is_in_it(copy):
    solutions = [
        part.strip()
        for name in build.names()
        for cell in build.read_source(build.SOURCES / f"{name}.py").cells
        for part in build.SOLUTION.findall(cell.source)
        if len(part.strip()) > 40
    ]
    assert len(solutions) > 10
    for path in copy.rglob("*"):
        if path.is_dir() or "solutions" in path.parts or path.suffix == ".npz":
            continue
        text = path.read_bytes().decode("utf-8", errors="replace")
        assert "HIDDEN TESTS" not in text and "MARK SCHEME" not in text, path
        if path.suffix == ".ipynb":
            cells = json.loads(text)["cells"]
            text = "\n".join("".join(cell["source"]) for cell in cells)
            assert "autograder" not in text, path
        for solution in solutions:
            assert solution not in text, path
    assert not (copy / "autograder").exists()


def test_course_utils_works_without_the_autograder(copy, tmp_path):
    code = (
        "import sys; sys.modules['autograder'] = None\n"
        "from course_utils import check\n"
        "def weighted_average(weights, values): return weights @ values / weights.sum()\n"
        "assert check('weighted-average').passed\n"
        "import course_utils; print(course_utils.__file__)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert str(copy) in done.stdout


def test_the_solutions_are_solved_and_hold_no_hidden_test_or_rubric(copy):
    for name in build.names():
        text = (copy / "solutions" / f"{name}.ipynb").read_text(encoding="utf-8")
        assert "NotImplementedError()" not in "".join(
            "".join(c["source"]) for c in json.loads(text)["cells"] if c["cell_type"] == "code"
        )
        for word in ("BEGIN SOLUTION", "HIDDEN TESTS", "MARK SCHEME", "hidden_check"):
            assert word not in text


def test_the_student_readme_lists_every_notebook(copy):
    readme = (copy / "README.md").read_text(encoding="utf-8")
    for notebook in register.notebooks():
        if notebook.name in build.names():
            assert f"notebooks/{notebook.name}.ipynb" in readme
    assert "{{" not in readme + (copy / "pyproject.toml").read_text()


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("dear")
    with pytest.raises(publish.PublishError, match="not empty"):
        publish.publish(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_colab_installs_the_published_repository_and_nothing_else(copy):
    for path in (copy / "notebooks").glob("*.ipynb"):
        first_code = next(
            c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"
        )
        source = "".join(first_code["source"])
        assert f'%pip install --quiet "attention-course @ git+{register.repository()}"' in source
        assert '"google.colab" in sys.modules' in source
        badge = "".join(json.loads(path.read_text())["cells"][0]["source"])
        assert f"blob/main/notebooks/{path.name}" in badge


def test_the_student_package_has_every_kind_of_file_that_course_utils_reads(copy):
    package = tomllib.loads((copy / "pyproject.toml").read_text(encoding="utf-8"))
    packed = package["tool"]["setuptools"]["package-data"]["*"]
    for path in (copy / "course_utils").rglob("*.*"):
        if path.is_file() and path.suffix not in (".py", ".pyc", ".md"):
            assert f"*{path.suffix}" in packed, path


def test_the_prerequisites_go_with_the_notebooks_and_every_answer_is_folded(copy):
    page = (copy / "docs" / "prerequisites.md").read_text(encoding="utf-8")
    questions = re.findall(r"^\*\*\d\. ", page, re.M)
    assert len(questions) == 8 == page.count("<details><summary>Answer</summary>")
    first = (copy / "notebooks" / "00_start_here.ipynb").read_text(encoding="utf-8")
    assert "(../docs/prerequisites.md)" in first
    assert "(docs/prerequisites.md)" in (copy / "README.md").read_text(encoding="utf-8")
