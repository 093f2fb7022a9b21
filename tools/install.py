"""Makes the course's environment in a folder: `python tools/install.py .venv`."""

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".venv")
    if sys.version_info < (3, 11):
        sys.exit(f"The course needs Python 3.11 or newer, and this is {sys.version.split()[0]}.")
    python = python_of(folder)
    try:
        if not python.exists():
            print(f"Making an environment in {folder} ...", flush=True)
            venv.create(folder, with_pip=True, symlinks=sys.platform != "win32")
    except (OSError, subprocess.CalledProcessError) as problem:
        sys.exit(
            f"The environment could not be made in {folder}: {problem}. "
            "On Debian, `apt-get install python3-venv` brings what is missing."
        )
    print("Installing the course's packages (a few minutes the first time) ...", flush=True)
    extras = "[dev]" if "--student" not in sys.argv else ""
    done = subprocess.run(
        [python, "-m", "pip", "install", "-c", "constraints.txt", "-e", f".{extras}"], cwd=ROOT
    )
    if done.returncode:
        sys.exit(
            "The packages could not be installed; pip's last lines say why. "
            "Mend that (network, disk space) and run the same command again: it goes on."
        )


def python_of(folder: Path) -> Path:
    windows = folder / "Scripts" / "python.exe"
    return windows if sys.platform == "win32" else folder.absolute() / "bin" / "python"


if __name__ == "__main__":
    main()
