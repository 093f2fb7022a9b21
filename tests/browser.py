"""Fixtures that open notebooks in a real browser: JupyterLab, and classic notebook as in Colab.

`conftest.py` offers them to every test:

    from tests.browser import open_and_run

    @pytest.mark.browser
    def test_the_notebook_runs(browser, jupyter_lab):
        (jupyter_lab.folder / "nb.ipynb").write_text(...)
        page = open_and_run(browser, jupyter_lab, "nb.ipynb")
"""

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = "/usr/bin/chromium"
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
]
# Everything waits for what it needs, and gives up only where nothing will come any more: on a machine
# that is busy with other things a kernel may take a minute to answer.
PATIENCE = 300  # seconds
TRIES = 3
COLAB_PYTHON = Path(os.environ.get("COLAB_PYTHON", ROOT / ".venv-colab" / "bin" / "python"))


@dataclass(frozen=True)
class Server:
    """A running notebook server: its address, its secret and the folder it serves."""

    address: str
    token: str
    folder: Path


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


Started = TypeVar("Started")


def started(what: str, start: Callable[[], Started]) -> Started:
    """What `start` gives; if it fails it is tried again, and pytest reports that as a warning."""
    for left in reversed(range(TRIES)):
        try:
            return start()
        except Exception as problem:
            if not left:
                raise
            warnings.warn(f"{what} did not start and is tried again: {problem}", stacklevel=2)
    raise AssertionError("unreachable: the last try returns or raises")


def wait_for_value(field, value: str) -> None:
    """A kernel sends the picture and the fields one after the other: the last one may come late."""
    from playwright.sync_api import expect

    expect(field).to_have_value(value, timeout=1000 * PATIENCE)


def _wait_until_up(process: subprocess.Popen, url: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"The notebook server ended at once:\n{log.read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(url, timeout=30):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"The notebook server did not answer:\n{log.read_text()[-2000:]}")


def _stop(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _settle_lab(settings: Path) -> None:
    """No question about news in the corner; every cell on the page, also those out of sight."""
    wanted = {
        "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
        "notebook-extension/tracker": {"windowingMode": "none"},
    }
    for name, values in wanted.items():
        path = settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))


def _options(application: str, folder: Path, port: int, token: str) -> list[str]:
    options = ["--no-browser", f"--port={port}", "--ip=127.0.0.1"]
    options.append(f"--MappingKernelManager.kernel_info_timeout={PATIENCE}")
    if application == "jupyterlab":
        options += [
            f"--IdentityProvider.token={token}",
            f"--ServerApp.root_dir={folder}",
            "--ServerApp.port_retries=0",  # a taken port is ours to replace: we must know the port
            "--LabApp.news_url=",
            "--LabApp.expose_app_in_browser=True",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        ]
    else:
        options += [
            f"--NotebookApp.token={token}",
            f"--notebook-dir={folder}",
            "--NotebookApp.port_retries=0",
        ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")
    return options


def _start_server(
    folder: Path, python: Path, application: str, log: Path, more: Sequence[str], course: Path
) -> tuple[subprocess.Popen, Server]:
    port, token = _free_port(), secrets.token_hex(16)
    private = log.parent
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(private / "config"),
        "JUPYTER_RUNTIME_DIR": str(private / "runtime"),
        "JUPYTER_DATA_DIR": str(private / "data"),
        "JUPYTERLAB_SETTINGS_DIR": str(private / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(private / "workspaces"),
        "IPYTHONDIR": str(private / "ipython"),
        "PYTHONPATH": str(course),
        "OMP_NUM_THREADS": "1",
    }
    _settle_lab(private / "settings")
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(python), "-m", application, *_options(application, folder, port, token), *more],
            env=environment,
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_until_up(process, f"{address}/api?token={token}", log)
    except BaseException:
        _stop(process)
        raise
    return process, Server(address, token, folder)


@contextmanager
def serve(
    folder: Path,
    python: Path,
    application: str,
    log: Path,
    more: Sequence[str] = (),
    course: Path = ROOT,
) -> Iterator[Server]:
    """Run `python -m application` (jupyterlab or notebook) over a folder, on a free port.

    course: where its kernels find course_utils.
    """
    process, server = started(
        "The notebook server", lambda: _start_server(folder, python, application, log, more, course)
    )
    try:
        yield server
    finally:
        _stop(process)


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium, without a window."""
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is not installed, so nothing can be opened in a browser")
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    return _chromium()


@cache
def _chromium():
    # Test modules import the fixture, and each would start its own playwright; a process can have
    # only one. `close_browser` ends it with the session.
    from playwright.sync_api import sync_playwright

    driver = sync_playwright().start()
    _running.append(driver)
    return started(
        "Chromium",
        lambda: driver.chromium.launch(
            executable_path=CHROMIUM, args=CHROMIUM_ARGUMENTS, timeout=PATIENCE * 1000
        ),
    )


_running: list = []


def close_browser() -> None:
    """End the browser of this process, if there is one."""
    if _running:
        _chromium().close()
        _running.pop().stop()


@pytest.fixture(scope="session")
def jupyter_lab(tmp_path_factory):
    """JupyterLab over an empty folder."""
    folder = tmp_path_factory.mktemp("lab-notebooks")
    log = tmp_path_factory.mktemp("lab-private") / "server.log"
    with serve(folder, Path(sys.executable), "jupyterlab", log) as server:
        yield server


@pytest.fixture(scope="session")
def classic_notebook(tmp_path_factory):
    """Classic notebook with Colab's package versions, from the environment beside the course."""
    if not COLAB_PYTHON.exists():
        pytest.skip(f"there is no {COLAB_PYTHON}: `make colab-check` builds it")
    folder = tmp_path_factory.mktemp("classic-notebooks")
    log = tmp_path_factory.mktemp("classic-private") / "server.log"
    with serve(folder, COLAB_PYTHON, "notebook", log) as server:
        yield server


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where tests leave pictures for a person to look at; SCREENSHOTS names another folder."""
    folder = Path(os.environ.get("SCREENSHOTS", ROOT / "artefacts" / "screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_notebook(path: Path, *cells: str) -> Path:
    """A small notebook with one code cell for each text."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, path)
    return path


def new_page(browser, width: int = 1280, height: int = 1400):
    """An empty page in its own window, closed when the browser is."""
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.set_default_timeout(PATIENCE * 1000)
    return page


def open_lab(browser, server: Server, name: str, *, page=None):
    """Open a notebook of the server's folder in JupyterLab's simple mode and wait for its cells."""
    page = page or new_page(browser)
    page.goto(f"{server.address}/doc/tree/{name}?token={server.token}&reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    # The indicator is idle before the kernel listens, so ask the kernel something first.
    _answer(
        page,
        """async () => {
            const panel = jupyterapp.shell.currentWidget
            await panel.sessionContext.ready
            await panel.sessionContext.session?.kernel?.info
        }""",
    )
    return page


def _answer(page, script: str, argument=None):
    """What a script answers, however long it takes; playwright itself would wait for ever."""
    late = f"new Promise((_, fail) => setTimeout(() => fail('no answer'), {PATIENCE * 1000}))"
    return page.evaluate(f"argument => Promise.race([({script})(argument), {late}])", argument)


def lab_command(page, name: str, **arguments) -> None:
    """Run one of JupyterLab's commands, as its menus do, and wait until it is done."""
    _answer(
        page,
        "([name, args]) => jupyterapp.commands.execute(name, args).then(() => null)",
        [name, arguments],
    )


def set_lab_theme(page, name: str) -> None:
    """Change JupyterLab's theme: "JupyterLab Light" or "JupyterLab Dark"."""
    lab_command(page, "apputils:change-theme", theme=name)
    page.wait_for_selector(f'body[data-jp-theme-name="{name}"]', state="attached")


def run_all(page) -> None:
    """Run all cells of the notebook in JupyterLab and wait until the kernel is idle again."""
    # Answered when all cells have run; wait_idle then sees whether each has its number.
    page.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")
    wait_idle(page)


def open_and_run(browser, server: Server, name: str, **size: int):
    """A page of JupyterLab on which every cell of a notebook has run.

    On a machine with a load of 9 no answer came to the cells of a kernel that was idle, however long
    one waited: another page with another kernel is tried then.
    """

    def attempt():
        page = new_page(browser, **size)
        page.set_default_timeout(PATIENCE * 1000 / TRIES)
        try:
            run_all(open_lab(browser, server, name, page=page))
        except Exception:
            page.context.close()
            _end_kernels(server)
            raise
        page.set_default_timeout(PATIENCE * 1000)
        return page

    return started(f"The kernel of {name}", attempt)


def _end_kernels(server: Server) -> None:
    headers = {"Authorization": f"token {server.token}"}

    def ask(path: str, method: str) -> bytes:
        request = urllib.request.Request(server.address + path, headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read()

    for session in json.loads(ask("/api/sessions", "GET")):
        ask(f"/api/sessions/{session['id']}", "DELETE")


def wait_idle(page) -> None:
    """Wait until no code cell is waiting or running any more."""
    page.wait_for_function(
        """() => {
            const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')]
            const kernel = document.querySelector('.jp-Notebook-ExecutionIndicator')
            return kernel?.dataset.status === 'idle' && prompts.length > 0 && 
                prompts.every(p => /\\[\\d+\\]/.test(p.innerText))
        }"""
    )


def save(page) -> None:
    """Save the notebook in JupyterLab and wait until it is written."""
    lab_command(page, "docmanager:save")


def open_classic(browser, server: Server, name: str):
    """Open a notebook in classic notebook and wait until its kernel is ready."""
    page = new_page(browser)
    page.goto(f"{server.address}/notebooks/{name}?token={server.token}")
    page.wait_for_function(
        "() => window.Jupyter && Jupyter.notebook && Jupyter.notebook.kernel "
        "&& Jupyter.notebook.kernel.is_connected()"
    )
    return page


def run_all_classic(page) -> None:
    """Run all cells in classic notebook and wait until each has its number."""
    page.evaluate("Jupyter.notebook.execute_all_cells()")
    page.wait_for_function(
        "() => Jupyter.notebook.get_cells().every(c => c.cell_type !== 'code' "
        "|| !c.get_text() || /\\d/.test(c.input_prompt_number))"
    )
