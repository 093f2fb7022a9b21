"""The commands that a newcomer types: they answer, and say in a sentence what is wrong."""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder import build, run_notebooks
from autograder.cli import main

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


def open_lab(port: int) -> subprocess.Popen:
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.Popen(
        [sys.executable, "tools/open_lab.py", "--port", str(port)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.slow
def test_make_lab_answers_on_its_port_and_says_when_the_port_is_taken():
    port = free_port()
    lab = open_lab(port)
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                answer = urllib.request.urlopen(f"http://localhost:{port}/api", timeout=5)
                break
            except OSError:
                assert lab.poll() is None and time.monotonic() < deadline, (
                    "JupyterLab did not start"
                )
                time.sleep(0.5)
        assert answer.status == 200
        second = open_lab(port)
        said, _ = second.communicate(timeout=60)
        assert second.returncode != 0
        assert f"The port {port} is in use" in said and "make lab PORT=" in said
    finally:
        lab.terminate()
        said, _ = lab.communicate(timeout=60)
    assert "notebooks/00_start_here.ipynb" in said


def test_make_help_has_a_line_for_every_target():
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True).stdout
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.M).group(1).split()
    for target in set(phony) - {"system"}:
        assert re.search(rf"^{target} +\S", listed, re.M), target


def test_ci_runs_make_test_and_nothing_else():
    lines = [
        line
        for line in (ROOT / ".ci" / "run").read_text().splitlines()
        if line and not line.startswith(("#", "set -e", "cd "))
    ]
    assert lines == ["exec make test"]


def test_the_workflow_runs_every_notebook():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert re.findall(r"^ +- (\d\d_\w+)$", workflow, re.M) == build.names()


def test_every_command_explains_itself():
    runner = CliRunner()
    names = main.list_commands(None)
    assert {"build", "run", "publish", "check", "selftest", "grade", "demo"} <= set(names)
    for name in names:
        result = runner.invoke(main, [name, "--help"])
        assert result.exit_code == 0 and len(result.output) > 80, name


def test_a_notebook_that_fails_is_named_with_its_cell_and_the_reason(tmp_path):
    import nbformat

    cells = [nbformat.v4.new_code_cell("x = 1"), nbformat.v4.new_code_cell("x / 0")]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": build.KERNEL})
    nbformat.write(notebook, tmp_path / "00_start_here.ipynb")
    result = run_notebooks.run_one(
        tmp_path / "00_start_here.ipynb", "00_start_here", False, "smoke"
    )
    assert not result.fine
    assert "00_start_here, cell" in result.problem and "ZeroDivisionError" in result.problem


def test_an_unknown_notebook_or_exercise_gets_a_sentence():
    runner = CliRunner()
    for command in (["build", "99_x"], ["run", "99_x"]):
        result = runner.invoke(main, command)
        assert result.exit_code == 1 and "There is no source for 99_x" in result.output
    result = runner.invoke(main, ["check", "nonsense", __file__])
    assert result.exit_code == 1 and "no exercise called 'nonsense'" in result.output


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(build, "_write_text", full)
    with pytest.raises(build.BuildError, match="No space left on device"):
        build.write({"00_start_here": "x"}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_kernel_gets_a_sentence_with_the_remedy():
    from jupyter_client.kernelspec import NoSuchKernel

    said = run_notebooks._explain("03_attention", NoSuchKernel("python3"))
    assert "the kernel 'python3' is missing" in said and "ipykernel install" in said
