"""Runs all tests step by step, says what each took, and which tests were left out and why."""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent

STEPS = [
    ("lint", [BIN / "ruff", "check", "."]),
    ("format", [BIN / "ruff", "format", "--check", "."]),
    ("notebooks are what their sources build", [BIN / "autograder", "build", "--check"]),
    ("the grader's own test", [BIN / "autograder", "selftest"]),
    ("mutants of our own solutions", [BIN / "autograder", "mutate"]),
    ("every notebook", [BIN / "autograder", "run", "--budget", "smoke", "--unsolved"]),
    ("Colab", [sys.executable, "tools/colab_check.py"]),
    (
        "tests",
        [
            *(sys.executable, "-m", "pytest", "-n", "2", "-rs", "--durations=25"),
            *("--dist", "loadfile", "--no-loadscope-reorder", *sys.argv[1:]),
        ],
    ),
]


def busy_seconds() -> float:
    """What the steps so far have had of the processor."""
    spent = os.times()
    return spent.children_user + spent.children_system


def main() -> None:
    results = []
    for name, command in STEPS:
        print(f"\n=== {name}", flush=True)
        started, before = time.monotonic(), busy_seconds()
        code = subprocess.run([str(part) for part in command], cwd=ROOT).returncode
        seconds = time.monotonic() - started
        results.append((name, code, seconds, (busy_seconds() - before) / max(seconds, 0.1)))
    print()
    for name, code, seconds, cores in results:
        said = "passed" if code == 0 else "FAILED"
        print(f"{said:7}{seconds:7.0f} s on {cores:3.1f} cores  {name}")
    failed = sum(code != 0 for _, code, _, _ in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
