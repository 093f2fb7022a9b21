"""The check with Colab's versions: it notices what was replaced and which notebook failed."""

import sys
from pathlib import Path

import nbformat
import pytest

from tools import colab_check

ROOT = Path(__file__).parents[2]


def test_colabs_versions_are_in_the_repository():
    versions = colab_check.pinned(colab_check.VERSIONS)
    assert colab_check.VERSIONS.is_relative_to(ROOT)
    assert versions["ipywidgets"].startswith("7.") and versions["ipython"].startswith("7.")
    assert "torch" not in versions  # Colab's own build is not to be had elsewhere
    assert colab_check.pinned(ROOT / "constraints.txt")["torch"] == "2.13.0"


def test_the_check_is_left_out_with_a_reason_where_colabs_versions_have_no_packages():
    assert colab_check.left_out((3, 11, 0)) == colab_check.left_out((3, 13, 5)) == ""
    assert colab_check.left_out((3, 14, 0)).startswith("SKIPPED Colab has Python 3.13")


def test_a_package_that_was_replaced_or_removed_is_named():
    before = {"numpy": "2.1.3", "tqdm": "4.67.3", "notebook": "6.5.7"}
    after = {"numpy": "2.4.6", "tqdm": "4.67.3", "sacrebleu": "2.6.0"}
    assert colab_check.replaced(before, after) == {
        "numpy": ("2.1.3", "2.4.6"),
        "notebook": ("6.5.7", None),
    }


def write_notebook(path: Path, *cells: str) -> None:
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    notebook.cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(notebook, path)


@pytest.mark.thorough
@pytest.mark.slow
def test_notebooks_run_in_the_smoke_budget_and_the_one_that_fails_is_named(tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    write_notebook(folder / "bad.ipynb", "budget = 'quick'", "1 / 0")
    write_notebook(
        folder / "good.ipynb",
        "budget = 'quick'",
        "from ipykernel.connect import get_connection_info\nassert budget == 'smoke'",
        "get_connection_info(unpack=True)['transport']",
    )
    failures = colab_check.run_notebooks(Path(sys.executable), folder, tmp_path / "ran")
    assert list(failures) == ["bad.ipynb"]
    assert "ZeroDivisionError" in failures["bad.ipynb"]
    ran = nbformat.read(tmp_path / "ran" / "good.ipynb", as_version=4)
    # Kernels that start at the same moment can't take each other's ports.
    assert "ipc" in ran.cells[-1].outputs[0].data["text/plain"]
