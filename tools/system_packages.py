"""Installs what tests need from Debian (chromium, bubblewrap), or lists what is missing."""

import os
import shutil
import subprocess

# the command that a package brings, and what is left out without it
WANTED = {
    "chromium": ("chromium", "the tests in a real browser"),
    "bwrap": ("bubblewrap", "the box, the attack suite and everything that grades"),
}


def missing() -> dict[str, tuple[str, str]]:
    return {command: what for command, what in WANTED.items() if shutil.which(command) is None}


def main() -> None:
    absent = missing()
    if not absent:
        return
    packages = [package for package, _ in absent.values()]
    can_install = shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0
    if can_install:
        print(f"Installing {', '.join(packages)} ...", flush=True)
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], env=quiet, check=False)
        subprocess.run(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages],
            env=quiet,
            check=False,
            stdout=subprocess.DEVNULL,
        )
    for package, loss in missing().values():
        print(f"{package} is missing: without it, {loss} are left out.")
        print(f"  On Debian or Ubuntu: sudo apt-get install {package}")


if __name__ == "__main__":
    main()
