"""Makes the course's environment: `python3 tools/install.py --layer student .venv`.

Every Python can read this file, so that one that is too old prints a sentence and not a syntax
error. The work itself is in environment.py.
"""

import sys

LOWEST, NEWEST = (3, 11), (3, 14)


def refusal(version):
    """A sentence if this Python can't run the course, otherwise None."""
    name = "Python " + ".".join(str(part) for part in version[:2])
    if tuple(version[:2]) < LOWEST:
        return (
            "The course needs Python 3.11 or newer, and this is " + name + ". "
            "Install a newer one (Debian 12, Ubuntu 24.04 and later have it), then run "
            "`make lab PYTHON=python3.12`, or without make `python3.12 tools/install.py`."
        )
    if tuple(version[:2]) > NEWEST:
        return (
            "PyTorch 2.13 has no packages for " + name + " yet. "
            "Install Python 3.13, then run `make lab PYTHON=python3.13`, "
            "or without make `python3.13 tools/install.py`."
        )
    return None


if __name__ == "__main__":
    if refusal(sys.version_info):
        sys.exit(refusal(sys.version_info))
    import environment

    environment.main(sys.argv[1:])
