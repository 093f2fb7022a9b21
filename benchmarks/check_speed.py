"""How fast a check responds in a student's kernel: right, wrong and crashing answers.

    python benchmarks/check_speed.py                  all exercises
    python benchmarks/check_speed.py self-attention   one

Every exercise has its own process, as a notebook has its kernel. `first` is the first call after
torch and the course have been imported; `median` and `worst` are over all answers of the bank, each
checked once before. Diagnosis, likely causes of crashes and the drawn panel are included; answers
that never end are left out, because they measure only the check's time limit. Each time is given as
wall-clock seconds and, after the slash, as CPU seconds, which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import linecache
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable

from course_utils import register

ENDLESS = ("never", "endless", "forever", "infinite", "huge")


def answers_of(exercise_id: str) -> dict[str, dict]:
    """What each answer of the bank defines, by its name."""
    from autograder.selftest import mutants
    from autograder.solutions import setup_source

    setup = setup_source(register.exercise(exercise_id).notebook)
    found = {}
    for mutant in mutants(exercise_id):
        if any(word in mutant.path.stem for word in ENDLESS):
            continue
        namespace: dict = {}
        source, name = mutant.source, f"<{mutant.path.stem}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        # what an answer does while it is being defined is not part of the check
        with contextlib.suppress(Exception, SystemExit):
            exec(compile(setup, "setup", "exec"), namespace)
            exec(compile(source, name, "exec"), namespace)
        found[mutant.path.stem] = namespace
    return found


def seconds(exercise_id: str, namespace: dict) -> tuple[float, float]:
    """How long one check takes, in wall-clock time and in CPU time."""
    from course_utils.notebook import check

    start = time.perf_counter(), time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        exec("check(exercise)", {**namespace, "check": check, "exercise": exercise_id})
    return time.perf_counter() - start[0], time.process_time() - start[1]


def middle(times: Iterable[tuple[float, float]]) -> str:
    return _both(*(statistics.median(kind) for kind in zip(*times)))


def most(times: Iterable[tuple[float, float]]) -> str:
    return _both(*(max(kind) for kind in zip(*times)))


def _both(clock: float, processor: float) -> str:
    return f"{clock:.3f} / {processor:.3f}"


def measure(exercise_id: str) -> None:
    """In its own process: prints the times as JSON."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        import torch  # noqa: F401 - what a notebook's first cell imports

        import course_utils.checks.coach
        import course_utils.checks.panel  # noqa: F401
        from course_utils.checks import probes  # noqa: F401

        found = answers_of(exercise_id)
        first = seconds(exercise_id, next(iter(found.values())))
        times = {}
        for name, namespace in found.items():
            seconds(exercise_id, namespace)
            times[name] = seconds(exercise_id, namespace)
    print(json.dumps({"first": first, "times": times}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("exercises", nargs="*")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        measure(chosen.measure)
        return
    everything: list[tuple[float, float]] = []
    firsts: list[tuple[float, float]] = []
    print(
        "| exercise | answers | first | median | worst | the slowest answer |\n"
        + "| --- " * 6
        + "|"
    )
    for exercise_id in chosen.exercises or [e.id for e in register.exercises() if e.checked]:
        command = [sys.executable, __file__, "--measure", exercise_id]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        result = json.loads(done.stdout.splitlines()[-1])
        times, first = result["times"], result["first"]
        everything += times.values()
        firsts.append(first)
        slowest = max(times, key=lambda name: times[name][1])
        print(
            f"| {exercise_id} | {len(times)} | {_both(*first)} | {middle(times.values())} "
            f"| {most(times.values())} | {slowest} |",
            flush=True,
        )
    print(
        f"{len(everything)} answers, wall-clock / CPU seconds: median "
        f"{middle(everything)}, worst {most(everything)}; first call: median {middle(firsts)}, "
        f"worst {most(firsts)}"
    )


if __name__ == "__main__":
    main()
