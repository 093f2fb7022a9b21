"""How the runs of the notebooks share the machine."""

import os
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest

from autograder import build
from autograder import run_notebooks as running


@pytest.mark.parametrize(("unsolved", "shares"), [(False, [1]), (True, [2, 2])])
def test_a_notebook_that_runs_alone_gets_all_cores(monkeypatch, unsolved, shares):
    seen = []

    def not_run(path, name, solved, budget, jobs, keep):
        seen.append(jobs)
        return running.NotebookRun(name, solved, 0.0, None, 0.0)

    monkeypatch.setattr(running, "ProcessPoolExecutor", ThreadPoolExecutor)
    monkeypatch.setattr(running, "run_one", not_run)
    found = list(running.run_all(["00_start_here"], "smoke", jobs=8, unsolved=unsolved))
    assert len(found) == len(shares) and seen == shares


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="files as addresses need Linux or macOS")
def test_kernels_that_start_together_cannot_choose_the_same_ports(tmp_path):
    code = "import ipykernel.connect as c\nassert c.get_connection_info(unpack=True)['transport'] == 'ipc'"
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code)], metadata={"kernelspec": build.KERNEL}
    )
    nbformat.write(notebook, tmp_path / "00_start_here.ipynb")
    ran = running.run_one(tmp_path / "00_start_here.ipynb", "00_start_here", False, "smoke")
    assert not ran.problem


def test_solutions_of_earlier_notebooks_are_pasted_where_students_may(tmp_path):
    build.write_source_tree(tmp_path, ["06_transformer"])
    path = tmp_path / "source" / "06_transformer" / "06_transformer.ipynb"
    brought = running.bring_own_parts(path)
    assert brought == ["MultiHeadAttention", "causal_mask", "positional_encoding"]
    (cell,) = [c for c in nbformat.read(path, as_version=4).cells if "bring_your_own(" in c.source]
    assert "class MultiHeadAttention(nn.Module):" in cell.source
    assert "def causal_mask(L):" in cell.source and "SOLUTION" not in cell.source
