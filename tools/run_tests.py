"""Runs all tests step by step, and says what each took and which tests were left out and why.

A step that passes prints one line and its result; one that fails prints all of its output. What
every step printed is kept in artefacts/steps/.
"""

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
LOGS = ROOT / "artefacts" / "steps"


def steps(everything: bool = False) -> list[tuple[str, list]]:
    """What `make test` runs, or with `everything` what `make test-all` does.

    `make test` asks the same questions each time, so that it fails only for what was changed, and
    tries some of the pairs of mistakes. `make test-all` draws new questions and tries every pair.
    Notebooks as students get them run with Colab's versions.
    """
    same = [] if everything else ["--repeat", "1"]
    few = [] if everything else [*same, "--seeds", "4", "--pairs", "420"]
    unsolved = ["--unsolved"] if everything else []
    return [
        ("lint", [BIN / "ruff", "check", "."]),
        ("format", [BIN / "ruff", "format", "--check", "."]),
        ("types", [BIN / "mypy"]),
        ("notebooks are what their sources build", [BIN / "autograder", "build", "--check"]),
        ("the grader's own test", [BIN / "autograder", "selftest", *few]),
        ("mutants of our own solutions", [BIN / "autograder", "mutate", *same]),
        ("every notebook, solved", [BIN / "autograder", "run", "--budget", "smoke", *unsolved]),
        ("every notebook as handed out, in Colab", [sys.executable, "tools/colab_check.py"]),
        (
            "tests",
            [
                *(sys.executable, "-m", "pytest", "-n", "2", "-rs", "--durations=25"),
                *("--dist", "loadfile", "--no-loadscope-reorder"),
                *("--cov", "--cov-report=term-missing:skip-covered"),
            ],
        ),
    ]


# Of a step that passed: why tests were left out, the share of lines that ran (which ones did not
# is in the step's log), and pytest's closing line.
WORTH_SHOWING = re.compile(r"^(SKIPPED .*|TOTAL .*|\d+ passed\b.*)$", re.M)


@dataclass(frozen=True)
class Result:
    name: str
    passed: bool
    seconds: float
    cores: float
    output: str


def main() -> None:
    results = []
    for name, command in steps(everything="--all" in sys.argv[1:]):
        print(f"{name} ...", flush=True)
        results.append(run_step(name, command))
        print(report(results[-1]), flush=True)
    failed = [result.name for result in results if not result.passed]
    if failed:
        print(f"Failed: {', '.join(failed)}.")
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


def run_step(name: str, command: list) -> Result:
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{re.sub('[^a-zA-Z]+', '_', name)}.log"
    started, before = time.monotonic(), busy_seconds()
    with log.open("w") as file:
        code = subprocess.run(
            [str(part) for part in command], cwd=ROOT, stdout=file, stderr=subprocess.STDOUT
        ).returncode
    seconds = time.monotonic() - started
    cores = (busy_seconds() - before) / max(seconds, 0.1)
    return Result(name, code == 0, seconds, cores, log.read_text(errors="replace"))


def report(result: Result) -> str:
    said = "passed" if result.passed else "FAILED"
    line = f"{said:7}{result.seconds:7.0f} s on {result.cores:3.1f} cores  {result.name}"
    shown = WORTH_SHOWING.findall(result.output) if result.passed else [result.output.rstrip()]
    return "\n".join([*shown, line])


def busy_seconds() -> float:
    """What the steps so far have had of the processor."""
    spent = os.times()
    return spent.children_user + spent.children_system


if __name__ == "__main__":
    main()
