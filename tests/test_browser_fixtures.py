"""The fixtures for browser tests: a start that fails is tried again and reported."""

import socket
import sys
import urllib.request
from pathlib import Path

import pytest

import tests.browser
from tests.browser import open_and_run, serve, started, write_notebook


def test_a_start_that_fails_is_tried_again_and_reported():
    tries = iter([OSError("the port is taken"), RuntimeError("too slow"), None])

    def start() -> str:
        problem = next(tries)
        if problem:
            raise problem
        return "up"

    with pytest.warns(UserWarning, match=r"did not start and is tried again") as reported:
        assert started("The server", start) == "up"
    assert [str(warning.message).split(": ")[1] for warning in reported] == [
        "the port is taken",
        "too slow",
    ]


def test_what_never_starts_fails_with_its_own_reason():
    def start() -> None:
        raise RuntimeError("no such program")

    with (
        pytest.warns(UserWarning, match="no such program"),
        pytest.raises(RuntimeError, match="no such program"),
    ):
        started("The server", start)


@pytest.mark.thorough
@pytest.mark.browser
def test_cells_that_get_no_answer_are_run_again_with_another_kernel(
    browser, jupyter_lab, monkeypatch
):
    write_notebook(jupyter_lab.folder / "silent.ipynb", "import os\nprint(os.getpid())")
    run, kernels = tests.browser.run_all, []

    def silent_at_first(page) -> None:
        run(page)
        kernels.append(page.locator(".jp-OutputArea-output").inner_text())
        if len(kernels) == 1:
            raise TimeoutError("no answer")

    monkeypatch.setattr(tests.browser, "run_all", silent_at_first)
    with pytest.warns(UserWarning, match=r"kernel of silent\.ipynb did not start"):
        open_and_run(browser, jupyter_lab, "silent.ipynb").context.close()
    assert len(set(kernels)) == 2


@pytest.mark.thorough
def test_a_server_comes_up_on_another_port_if_its_port_is_taken(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "private").mkdir()
    find = tests.browser._free_port
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        ports = iter([taken.getsockname()[1], find()])
        monkeypatch.setattr(tests.browser, "_free_port", lambda: next(ports))
        log = tmp_path / "private" / "server.log"
        with (
            pytest.warns(UserWarning, match="notebook server did not start"),
            serve(tmp_path / "notebooks", Path(sys.executable), "jupyterlab", log) as server,
            urllib.request.urlopen(f"{server.address}/api?token={server.token}") as answer,
        ):
            assert answer.status == 200
