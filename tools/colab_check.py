"""Runs the student's notebooks with the versions that Google Colab has.

Makes `.venv-colab` with Colab's own pins, installs the student's copy of the course in it, shows
that nothing Colab has was replaced, and runs every notebook as students get it.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".venv-colab"
PYTHON = FOLDER / "bin" / "python"
# The published list of what Colab installs, where this machine has it; else the pins that matter.
PUBLISHED = ROOT.parent / "shared" / "data" / "colab" / "pip-freeze.txt"
PINS = {
    "ipywidgets": "7.7.1",
    "ipython": "7.34.0",
    "ipykernel": "6.17.1",
    "traitlets": "5.7.1",
    "jupyter_client": "7.4.9",
    "notebook": "6.5.7",
    "matplotlib": "3.10.0",
    "numpy": "2.1.3",
    "tqdm": "4.67.3",
}
# Colab's torch does not come for every Python: the tested one stands in for it.
STAND_IN = ["torch==2.13.0"]


def main() -> None:
    pins = colab_pins()
    make_environment(pins)
    before = installed()
    for name, version in pins.items():
        if before.get(canonical(name)) != version:
            sys.exit(
                f"{name} should be {version}, as in Colab, and is {before.get(canonical(name))}."
            )
    with tempfile.TemporaryDirectory(prefix="attention-colab-") as folder:
        copy = Path(folder) / "course"
        run([Path(sys.executable).parent / "autograder", "publish", copy])
        run([PYTHON, "-m", "pip", "install", "--quiet", copy])
        after = installed()
        changed = {k: (v, after.get(k)) for k, v in before.items() if after.get(k) != v}
        changed.pop("attention-course", None)
        if changed:
            sys.exit(f"Installing the course replaced what Colab has: {changed}")
        print(f"Installing the course changed none of {len(before)} packages.", flush=True)
        sys.exit(run_notebooks(copy / "notebooks", Path(folder) / "ran"))


def colab_pins() -> dict[str, str]:
    if not PUBLISHED.exists():
        return PINS
    listed = dict(
        line.strip().split("==") for line in PUBLISHED.read_text().splitlines() if "==" in line
    )
    listed = {canonical(name): version for name, version in listed.items()}
    return {name: listed.get(canonical(name), version) for name, version in PINS.items()}


def make_environment(pins: dict[str, str]) -> None:
    wanted = [f"{name}=={version}" for name, version in pins.items()] + STAND_IN
    stamp = FOLDER / ".installed"
    if stamp.exists() and json.loads(stamp.read_text()) == wanted:
        run([PYTHON, "-m", "pip", "uninstall", "--quiet", "--yes", "attention-course"])
        return
    print("Making an environment with Colab's versions ...", flush=True)
    venv.create(FOLDER, with_pip=True, clear=True, symlinks=True)
    # papermill is not Colab's: it is what runs the notebooks here.
    run([PYTHON, "-m", "pip", "install", "--quiet", *wanted, "papermill"])
    stamp.write_text(json.dumps(wanted))


def installed() -> dict[str, str]:
    listing = subprocess.run(
        [PYTHON, "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True
    )
    return {canonical(p["name"]): p["version"].split("+")[0] for p in json.loads(listing.stdout)}


def canonical(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def run(command: list) -> None:
    done = subprocess.run([str(part) for part in command])
    if done.returncode:
        sys.exit(f"This step failed: {' '.join(map(str, command))}")


def run_notebooks(folder: Path, output: Path) -> int:
    output.mkdir()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}

    def run_one(path: Path) -> tuple[str, subprocess.CompletedProcess]:
        command = [PYTHON, "-m", "papermill", path, output / path.name, "-p", "budget", "smoke"]
        command += ["-k", "python3", "--no-progress-bar"]
        done = subprocess.run(
            [str(part) for part in command],
            cwd=output,
            env=environment,
            capture_output=True,
            text=True,
        )
        return path.name, done

    failures = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, done in pool.map(run_one, sorted(folder.glob("*.ipynb"))):
            failures += done.returncode != 0
            print(f"{'ran   ' if done.returncode == 0 else 'FAILED'} {name}", flush=True)
            if done.returncode:
                print(done.stderr[-3000:])
    return 1 if failures else 0


if __name__ == "__main__":
    main()
