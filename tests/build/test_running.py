"""How the runs of the notebooks share the cores."""

from concurrent.futures import ThreadPoolExecutor

import pytest

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
