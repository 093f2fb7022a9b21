"""Runs the students' notebooks with the versions that Google Colab has.

Makes `.venv-colab` with the versions in colab_versions.txt, installs the student's copy of the
course in it, shows that this replaced nothing, and runs every notebook as students get it.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv-colab"
VERSIONS = ROOT / "tools" / "colab_versions.txt"
COLABS_PYTHON = (3, 13)
PATIENCE = 300  # seconds that a kernel has to start or to send its output, on a busy machine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--notebook", nargs=2, metavar=("SOURCE", "OUTPUT"), help="run one alone")
    options = parser.parse_args()
    if options.notebook:
        run_one(*options.notebook)
        return
    if left_out(sys.version_info):
        print(left_out(sys.version_info))
        return
    python = make_environment(FOLDER)
    before = installed(python)
    with tempfile.TemporaryDirectory(prefix="attention-colab-") as folder:
        copy = Path(folder) / "course"
        run([Path(sys.executable).parent / "autograder", "publish", copy])
        started = time.monotonic()
        run([python, "-m", "pip", "install", "--quiet", copy])
        seconds, after = time.monotonic() - started, installed(python)
        changed = replaced(before, after) | replaced(pinned(VERSIONS), before)
        if changed:
            sys.exit(f"Installing the course replaced what Colab has: {changed}")
        failures = run_notebooks(python, copy / "notebooks", Path(folder) / "ran")
    for name, reason in failures.items():
        print(f"{name} failed:\n{reason}")
    if failures:
        sys.exit(f"With Colab's versions, these notebooks failed: {', '.join(failures)}")
    print(
        f"Colab's versions, Python {platform.python_version()}: the course replaced none of "
        f"{len(before)} packages, and every notebook ran. What a notebook's first cell installs "
        f"took {seconds:.0f} s: {', '.join(sorted(after.keys() - before.keys()))}."
    )


def left_out(version: tuple) -> str:
    """Why the check can't be done with this Python, if so."""
    if tuple(version[:2]) <= COLABS_PYTHON:
        return ""
    return "SKIPPED Colab has Python 3.13, and its versions have no packages for newer ones"


def pinned(path: Path) -> dict[str, str]:
    lines = [line.partition(";")[0].strip() for line in path.read_text().splitlines()]
    pins = [line.split("==") for line in lines if "==" in line]
    return {canonical(name): version for name, version in pins}


def make_environment(folder: Path) -> Path:
    """The environment's Python; one from an earlier run with the same versions is reused."""
    from environment import choose_installer, python_of, run_quietly

    python, stamp = python_of(folder), folder / ".installed"
    torch = f"torch=={pinned(ROOT / 'constraints.txt')['torch']}"
    wanted = [platform.python_version(), torch, VERSIONS.read_text()]
    if stamp.exists() and json.loads(stamp.read_text()) == wanted:
        run([python, "-m", "pip", "uninstall", "--quiet", "--yes", "attention-course"])
        return python
    venv.create(folder, with_pip=True, clear=True, symlinks=sys.platform != "win32")
    # papermill is not Colab's: it runs the notebooks here.
    command, _ = choose_installer(python, ["--requirement", str(VERSIONS), torch, "papermill"])
    run_quietly(command, folder / "install.log")
    stamp.write_text(json.dumps(wanted))
    return python


def installed(python: Path) -> dict[str, str]:
    listing = subprocess.run(
        [python, "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True
    )
    return {canonical(p["name"]): p["version"].split("+")[0] for p in json.loads(listing.stdout)}


def replaced(before: dict[str, str], after: dict[str, str]) -> dict[str, tuple]:
    """Packages that have changed or lost their version."""
    return {
        name: (version, after.get(name))
        for name, version in before.items()
        if after.get(name) != version
    }


def canonical(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def run(command: list) -> None:
    done = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        sys.exit(f"{done.stdout[-3000:]}\nThis step failed: {' '.join(map(str, command))}")


def run_notebooks(python: Path, folder: Path, output: Path) -> dict[str, str]:
    """Run every notebook in the folder; returns those that failed, with the reason."""
    output.mkdir()
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    # From its own folder, so that the notebook imports the installed course and not ours.
    script = shutil.copy(__file__, output)

    def run_in_process(path: Path) -> subprocess.CompletedProcess:
        return subprocess.run(
            [python, script, "--notebook", path, output / path.name],
            cwd=output,
            env=environment,
            capture_output=True,
            text=True,
        )

    notebooks = sorted(folder.glob("*.ipynb"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(run_in_process, notebooks))
    return {
        path.name: result.stderr[-3000:]
        for path, result in zip(notebooks, done)
        if result.returncode
    }


def run_one(source: str, output: str) -> None:
    """In Colab's environment: run one notebook, from top to bottom."""
    import papermill
    from traitlets.config import Config

    with tempfile.TemporaryDirectory(prefix="kernel-") as folder:
        # Kernels that start together can choose the same ports; files are nobody else's.
        address = {"transport": "ipc", "ip": f"{folder}/socket"} if os.name == "posix" else {}
        papermill.execute_notebook(
            source,
            output,
            parameters={"budget": "smoke"},
            kernel_name="python3",
            progress_bar=False,
            log_output=False,
            start_timeout=PATIENCE,
            iopub_timeout=PATIENCE,
            config=Config({"KernelManager": address}),
        )


if __name__ == "__main__":
    main()
