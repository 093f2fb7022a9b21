"""Runs all tests step by step, says what each took, and which tests were left out and why."""

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
            sys.executable,
            "-m",
            "pytest",
            "-n",
            "2",
            "--dist",
            "loadfile",
            "-rs",
            "--durations=25",
            *sys.argv[1:],
        ],
    ),
]


def main() -> None:
    results = []
    for name, command in STEPS:
        print(f"\n=== {name}", flush=True)
        started = time.monotonic()
        code = subprocess.run([str(part) for part in command], cwd=ROOT).returncode
        results.append((name, code, time.monotonic() - started))
    print()
    for name, code, seconds in results:
        print(f"{'passed' if code == 0 else 'FAILED':7}{seconds:7.0f} s  {name}")
    failed = sum(code != 0 for _, code, _ in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
