"""Opens JupyterLab at the first notebook, or prints its address if there is no browser."""

import argparse
import errno
import os
import shutil
import socket
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FIRST = "notebooks/00_start_here.ipynb"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8888)
    options = parser.parse_args()
    if not (ROOT / FIRST).exists():
        sys.exit(f"{FIRST} is missing: run `make build` first.")
    if port_taken(options.port):
        sys.exit(
            f"The port {options.port} is in use, perhaps by another JupyterLab. "
            f"Close it, or choose another: `make lab PORT={options.port + 1}`."
        )
    command = [sys.executable, "-m", "jupyterlab", f"--port={options.port}", "--port-retries=0"]
    command += [f"--ServerApp.root_dir={ROOT}", f"--LabApp.default_url=/lab/tree/{FIRST}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    if not can_show_a_browser():
        command += ["--no-browser", "--ip=0.0.0.0" if in_container() else "--ip=localhost"]
        print(f"There is no browser here. Open the address below, then /lab/tree/{FIRST} on it.")
    os.chdir(ROOT)
    os.execv(sys.executable, command)


def port_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as problem:
            return problem.errno == errno.EADDRINUSE
    return False


def can_show_a_browser() -> bool:
    if sys.platform in ("darwin", "win32"):
        return True
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(display) and shutil.which("xdg-open") is not None


def in_container() -> bool:
    return Path("/.dockerenv").exists() or Path("/run/.containerenv").exists()


if __name__ == "__main__":
    main()
