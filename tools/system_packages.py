"""Installs what tests need from Debian, or lists what is missing."""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial


def has_command(name: str) -> bool:
    return shutil.which(name) is not None


def has_library(name: str) -> bool:
    if sys.platform != "linux":  # elsewhere the packages bring their own
        return True
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


BROWSER = "the tests in a real browser"
# Debian's package: how to see that it is there, and what is left out without it
WANTED: dict[str, tuple[Callable[[], bool], str]] = {
    "chromium": (partial(has_command, "chromium"), BROWSER),
    # playwright's own program needs it, and Debian 12 does not install it with chromium
    "libatomic1": (partial(has_library, "libatomic.so.1"), BROWSER),
    "bubblewrap": (
        partial(has_command, "bwrap"),
        "the box, the attack suite and everything that grades",
    ),
}


def missing() -> dict[str, str]:
    """The packages that are not there, and what is left out without each."""
    return {package: loss for package, (there, loss) in WANTED.items() if not there()}


def main() -> None:
    absent = missing()
    if not absent:
        return
    can_install = shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0
    if can_install:
        print(f"Installing {', '.join(absent)} ...", flush=True)
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], env=quiet, check=False)
        subprocess.run(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *absent],
            env=quiet,
            check=False,
            stdout=subprocess.DEVNULL,
        )
    for package, loss in missing().items():
        print(f"{package} is missing: without it, {loss} are left out.")
        print(f"  On Debian or Ubuntu: sudo apt-get install {package}")


if __name__ == "__main__":
    main()
