"""Makes an environment and installs one layer of the course's packages into it.

uv does the work if it can: on a machine without a GPU it takes PyTorch's CPU build. If PyTorch's own
packages can't be reached, uv looks where pip would; without uv, pip takes over. Each run ends with a
stamp, so that make knows what is installed.
"""

import argparse
import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Layer:
    """What one kind of user needs; sizes are for Linux with PyTorch's CPU build."""

    extra: str
    contents: str
    download_mb: int
    disk_mb: int


# In order: each layer contains the ones before it.
LAYERS = {
    "student": Layer("lab", "JupyterLab, PyTorch, widgets and plots", 350, 1400),
    "instructor": Layer("instructor", "a student's packages and the grader's", 380, 1500),
    "dev": Layer("dev", "a student's packages, the grader's and the developers'", 480, 1950),
}
CUDA_DOWNLOAD_GB, CUDA_DISK_GB = 2.5, 4.0  # what PyTorch's CUDA build needs beyond the CPU build

NO_SPACE = re.compile(r"No space left on device|not enough space on the disk", re.I)
NO_NETWORK = re.compile(
    r"name resolution|Name or service not known|nodename nor servname|getaddrinfo failed"
    r"|NewConnectionError|ConnectTimeout|Connection refused|Network is unreachable"
    r"|dns error|client error \(Connect\)",
    re.I,
)


class Trouble(Exception):
    """A sentence about what is wrong and which command fixes it."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(".venv"))
    parser.add_argument("--layer", choices=LAYERS, default="student")
    options = parser.parse_args(arguments)
    try:
        install(options.folder.absolute(), options.layer)
    except Trouble as trouble:
        sys.exit(str(trouble))
    except KeyboardInterrupt:
        sys.exit("\nStopped. Run the same command again: it keeps what it already has.")


def install(folder: Path, layer: str) -> None:
    started = time.monotonic()
    python = make_environment(folder, LAYERS[layer])
    wanted = ["--constraint", "constraints.txt", "--editable", f".[{LAYERS[layer].extra}]"]
    command, torch = choose_installer(python, wanted)
    print(announcement(LAYERS[layer], torch), flush=True)
    run_quietly(command, folder / "install.log")
    for name in list(LAYERS)[: list(LAYERS).index(layer) + 1]:
        (folder / f".installed-{name}").touch()
    print(f"Installed in {time.monotonic() - started:.0f} s.", flush=True)


def make_environment(folder: Path, layer: Layer) -> Path:
    """The environment's Python. A half-finished environment is made again."""
    python = python_of(folder)
    if works(python):
        return python
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if missing:
        raise Trouble(
            f"This Python can't make environments: its module {missing[0]} is missing. "
            "On Debian or Ubuntu, install it with `sudo apt-get install python3-venv`"
        )
    free_mb = shutil.disk_usage(existing_parent(folder)).free / 1e6
    if free_mb < layer.disk_mb:
        raise Trouble(no_space(folder, f"{free_mb / 1000:.1f} GB are free there"))
    print(f"Making an environment in {folder} ...", flush=True)
    import venv

    try:
        venv.create(folder, with_pip=True, clear=True, symlinks=sys.platform != "win32")
    except (OSError, subprocess.CalledProcessError) as problem:
        said = str(getattr(problem, "output", "") or problem)
        if NO_SPACE.search(said):
            raise Trouble(no_space(folder, "none is left there")) from problem
        raise Trouble(
            f"The environment could not be made in {folder}: {problem}. Choose a folder that you "
            "may write to: `make lab VENV=~/attention-venv`"
        ) from problem
    return python


def python_of(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def works(python: Path) -> bool:
    if not python.exists():
        return False
    return subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0


def existing_parent(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())


def no_space(folder: Path, how_much: str) -> str:
    needed = LAYERS["student"].disk_mb / 1000
    return (
        f"There is too little disk space for {folder}: {how_much}, but the course needs about "
        f"{needed:.1f} GB. Free some, or use a larger disk: `make lab VENV=/larger/disk/venv`"
    )


def choose_installer(python: Path, wanted: list[str]) -> tuple[list, str]:
    """The command that installs, and which build of PyTorch it takes: cpu, cuda or unknown.

    "only cuda" means that there is no other choice, GPU or not.
    """
    uv = find_uv(python)
    if uv is None:
        print("uv is not available here, so pip installs the packages.", flush=True)
    else:
        # As pip does: without compiled files, a box that may not write would compile every time.
        plain = [uv, "pip", "install", "--python", python, "--compile-bytecode", *wanted]
        command = [*plain, "--torch-backend=auto"]
        torch, problem = try_uv(command)
        if NO_NETWORK.search(problem):
            print(
                "PyTorch's own package server can't be reached, so PyTorch comes from the index "
                "that pip uses.",
                flush=True,
            )
            command = [*plain, *pips_places(python)]
            torch, problem = try_uv(command)
            torch = "only cuda" if torch == "cuda" else torch
        if not problem:
            return command, torch
        reason = problem.strip().splitlines()[-1].strip()
        print(f"uv doesn't work here ({reason}), so pip installs the packages.", flush=True)
    return [python, "-m", "pip", "install", "--progress-bar", "off", *wanted], "unknown"


def try_uv(command: list) -> tuple[str, str]:
    """Which build of PyTorch uv would install, and what stops it from doing so."""
    # Give up on an address that does not answer after a few seconds.
    impatient = {**os.environ, "UV_HTTP_CONNECT_TIMEOUT": "5", "UV_HTTP_RETRIES": "1"}
    tried = subprocess.run(
        [*command, "--dry-run"],
        cwd=ROOT,
        env=impatient,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if tried.returncode:
        return "unknown", tried.stdout or f"exit code {tried.returncode}"
    cuda = re.search(r"\+ (nvidia-|torch==.*\+cu)", tried.stdout)
    return "cuda" if cuda else "cpu", ""


def pips_places(python: Path) -> list[str]:
    """Where pip's settings tell it to look, as options of uv, which doesn't read them."""
    options = ["--index-strategy", "unsafe-best-match"]  # all places are equal, as they are to pip
    for name, value in pip_settings(python):
        if name in ("index-url", "extra-index-url", "find-links"):
            for place in value.split():
                options += [f"--{name}", place]
    return options


def pip_settings(python: Path | str) -> list[tuple[str, str]]:
    """Pip's settings from its files and the environment, such as ("find-links", "/wheels")."""
    command = [python, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True).stdout
    found = re.findall(r"^\S+?\.([\w-]+)=('.*'|\".*\")$", listed, re.M)
    return [(name, ast.literal_eval(value)) for name, value in found]


def find_uv(python: Path) -> Path | str | None:
    """uv from the environment, from PATH, or fetched into the environment by pip."""
    name = "uv.exe" if sys.platform == "win32" else "uv"
    beside = python.with_name(name)
    if beside.exists():
        return beside
    if shutil.which("uv"):
        return shutil.which("uv")
    print("Fetching uv, which installs the packages (about 25 MB) ...", flush=True)
    command = [python, "-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "15"]
    done = subprocess.run(
        [*command, "--constraint", "constraints.txt", "uv"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode == 0 and beside.exists():
        return beside
    explain(done.stderr, python.parent.parent)
    return None


def announcement(layer: Layer, torch: str) -> str:
    cuda = f"{CUDA_DOWNLOAD_GB} GB more to download and {CUDA_DISK_GB} GB more on disk"
    text = (
        f"Installing {layer.contents}: about {layer.download_mb} MB to download "
        f"and {layer.disk_mb / 1000:.1f} GB on disk."
    )
    if torch == "cuda":
        text += f"\nThis machine has a GPU: PyTorch's build for it needs {cuda}."
    elif torch == "only cuda":
        text += f"\nThe only build of PyTorch within reach is the one for GPUs: {cuda}."
    elif torch == "unknown" and sys.platform == "linux":
        text += f"\npip may take PyTorch's build for GPUs, even without one: {cuda}."
    return text


def run_quietly(command: list, log: Path) -> None:
    """Show large downloads and the time; keep all output in the log, and show it on failure."""
    shown = Progress()
    with log.open("w", encoding="utf-8", errors="replace") as file:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        try:
            for line in process.stdout:
                file.write(line)
                shown.line(line)
            code = process.wait()
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            raise
        finally:
            shown.stop()
    if code:
        said = log.read_text(encoding="utf-8", errors="replace")
        explain(said, log.parent)
        print("\n".join(said.splitlines()[-40:]))
        raise Trouble(
            f"The packages could not be installed: see the lines above, or all of them in {log}. "
            "Once that is fixed, run the same command again: it keeps what it already has."
        )


def explain(said: str, folder: Path) -> None:
    """Raise a sentence for a known problem; return for anything else."""
    if NO_SPACE.search(said):
        raise Trouble(no_space(folder, "none is left there"))
    if NO_NETWORK.search(said):
        raise Trouble(
            "The package index can't be reached. Is there a network? Try it with "
            f"`{python_of(folder)} -m pip download --no-deps six`, then run the same command "
            "again: it keeps what it already has."
        )


class Progress:
    """Prints each large download; on a terminal, one more line counts the seconds."""

    LARGE = re.compile(r"^\s*Downloading (\S+?)(?:-\d\S*\.whl)? \((\d{2,}[\d.]*) ?(MB|MiB|GiB)\)")

    def __init__(self):
        self.started, self.ended = time.monotonic(), threading.Event()
        self.terminal = sys.stdout.isatty()
        self.thread = threading.Thread(target=self._tick, daemon=True)
        self.thread.start()

    def line(self, text: str) -> None:
        found = self.LARGE.match(text)
        if found:
            self._write(f"  {found[1]} ({found[2]} {found[3]})\n")
        elif "Installing collected packages" in text or text.startswith("Prepared "):
            self._write("  unpacking\n")

    def _write(self, text: str) -> None:
        sys.stdout.write(("\r\033[K" if self.terminal else "") + text)
        sys.stdout.flush()

    def _tick(self) -> None:
        while self.terminal and not self.ended.wait(1):
            self._write(f"  ... {time.monotonic() - self.started:.0f} s")

    def stop(self) -> None:
        self.ended.set()
        self.thread.join()
        self._write("")
