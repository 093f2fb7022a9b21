"""Runs all tests, two steps at a time, and reports what each took and which were left out and why.

A step that passes prints one line and its result; one that fails prints all of its output. What
every step printed is kept in artefacts/steps/.
"""

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
LOGS = ROOT / "artefacts" / "steps"
# Without compiled files, each of some hundred processes would compile the course for itself.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def steps(everything: bool = False) -> list[tuple[str, list]]:
    """What `make test` runs, or with `everything` what `make test-all` does; the tests come last.

    `make test` asks the same questions each time, so that it fails only for what was changed, tries
    some of the pairs of mistakes and some of the changed solutions, and leaves out the tests marked
    `thorough`. `make test-all` draws new questions and tries all of them. Notebooks as students get
    them run with Colab's versions.
    """
    same = [] if everything else ["--repeat", "1"]
    few = [] if everything else [*same, "--seeds", "2", "--pairs", "105"]
    some = [] if everything else [*same, "--most", "440"]
    unsolved = ["--unsolved"] if everything else []
    chosen = [] if everything else ["-m", "not thorough"]
    return [
        ("lint", [BIN / "ruff", "check", "."]),
        ("format", [BIN / "ruff", "format", "--check", "."]),
        ("notebooks are what their sources build", [BIN / "autograder", "build", "--check"]),
        ("every notebook as handed out, in Colab", [sys.executable, "tools/colab_check.py"]),
        ("the grader's own test", [BIN / "autograder", "selftest", *few]),
        ("mutants of our own solutions", [BIN / "autograder", "mutate", *some]),
        ("types", [BIN / "mypy"]),
        ("every notebook, solved", [BIN / "autograder", "run", "--budget", "smoke", *unsolved]),
        (
            "tests",  # four at a time on two cores: many wait for a browser, a server or a process
            [
                *(sys.executable, "-m", "slipcover", "--immediate", "--skip-covered"),
                *("--source", "autograder,course_utils"),
                *("--omit", "autograder/source/*,autograder/mutants/*"),
                *("-m", "pytest", "-n", "4", "-rs", "--durations=25", *chosen),
                *("--dist", "loadfile", "--no-loadscope-reorder"),
            ],
        ),
    ]


# Of a step that passed: why tests were left out, the share of lines that ran (which ones did not
# is in the step's log), and pytest's closing line.
WORTH_SHOWING = re.compile(r"^(SKIPPED .*|\(summary\) .*|\d+ passed\b.*)$", re.M)


@dataclass(frozen=True)
class Result:
    name: str
    passed: bool
    seconds: float
    cores: float
    output: str


def main() -> None:
    *short, (name, command) = steps(everything="--all" in sys.argv[1:])
    results = []
    # Most steps leave one of two cores idle now and then. The tests use what the steps make.
    with ThreadPoolExecutor(2) as pool:
        for result in pool.map(lambda step: run_step(*step), short):
            results.append(shown(result))
    results.append(shown(run_step(name, command)))
    failed = [result.name for result in results if not result.passed]
    if failed:
        print(f"Failed: {', '.join(failed)}.")
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


def run_step(name: str, command: list) -> Result:
    print(f"{name} ...\n", end="", flush=True)  # in one piece: two steps may begin together
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{re.sub('[^a-zA-Z]+', '_', name)}.log"
    started = time.monotonic()
    with log.open("w") as file:
        step = subprocess.Popen(
            [str(part) for part in command],
            cwd=ROOT,
            env=ENVIRONMENT,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(step.pid, 0)
    step.returncode = os.waitstatus_to_exitcode(status)  # subprocess need not wait again
    seconds = time.monotonic() - started
    cores = (used.ru_utime + used.ru_stime) / max(seconds, 0.1)
    return Result(name, step.returncode == 0, seconds, cores, log.read_text(errors="replace"))


def shown(result: Result) -> Result:
    print(report(result), flush=True)
    return result


def report(result: Result) -> str:
    said = "passed" if result.passed else "FAILED"
    line = f"{said:7}{result.seconds:7.0f} s on {result.cores:3.1f} cores  {result.name}"
    shown = WORTH_SHOWING.findall(result.output) if result.passed else [result.output.rstrip()]
    return "\n".join([*shown, line])


if __name__ == "__main__":
    main()
