"""Calls a student's decoder (greedy, beam search) with a next-word table in place of a model.

Options:
    target     the name of the function; it is called as target(step, *args, **kwargs)
    args       what follows `step`; whole-number arrays become tensors
    kwargs     named arguments of the call
    table      [R, V] log-probabilities. The row of a prefix is `row_of(prefix, R)`, so it
               depends on every token of it: an answer that looks at the last one alone shows
    special    rows for particular prefixes: a list of {"prefix": [..], "row": [V]}
    max_calls  after this many calls `step` raises an error, which ends an endless search

`step(prefixes [N, t]) -> [N, V]` is what the student's code is given. Prefixes are a tensor, as a
model would need them; all of them have one length t.

Arrays in the reply: out0, out1, ... what was returned (as for `call`), calls [n, 2] the number N
and the length t of the prefixes at each call of `step`, and prefixes0, prefixes1, ... the first
ones that were asked about.
"""

import numpy as np
import torch

from course_utils.checks.next_words import next_words
from course_utils.checks.probes.student_code import collect, find_callable
from course_utils.checks.wire import Reply

KEPT_PREFIXES = 8


class Step:
    """The function `step` that a student's decoder calls, and what it was called with."""

    def __init__(self, options: dict):
        self.table = np.asarray(options["table"], dtype=float)
        self.special = options.get("special", [])
        self.max_calls = int(options.get("max_calls", 1000))
        self.calls: list[tuple[int, int]] = []
        self.kept: list[np.ndarray] = []

    def __call__(self, prefixes) -> torch.Tensor:
        if len(self.calls) >= self.max_calls:
            raise RuntimeError(f"step was called more than {self.max_calls} times: does it end?")
        if not isinstance(prefixes, torch.Tensor):
            raise TypeError(
                f"step takes a tensor of prefixes [N, t], but it got a {type(prefixes).__name__}. "
                "torch.tensor(...) turns a list into one."
            )
        given = prefixes
        if given.dim() != 2 or given.shape[1] == 0:
            raise ValueError(
                "step takes prefixes of the shape [N, t], one row for each sequence, "
                f"but it got the shape {list(given.shape)}."
            )
        rows, words = given.tolist(), self.table.shape[1]
        strange = [n for row in rows for n in row if n != int(n) or not 0 <= n < words]
        if strange:
            raise ValueError(f"step got the token {strange[0]}; tokens go from 0 to {words - 1}.")
        self.calls.append((len(rows), given.shape[1]))
        if len(self.kept) < KEPT_PREFIXES:
            self.kept.append(np.array(rows, dtype=np.int64))
        answers = [next_words(row, self.table, self.special) for row in rows]
        return torch.from_numpy(np.stack(answers))


def run(namespace: dict, options: dict) -> Reply:
    target = find_callable(namespace, options["target"], as_class=False)
    arrays: dict[str, np.ndarray] = {}
    step, notes = Step(options), {"precision": "torch.float64"}
    arguments = [
        torch.from_numpy(a.copy()) if isinstance(a, np.ndarray) else a
        for a in options.get("args", [])
    ]
    collect("out", target(step, *arguments, **options.get("kwargs", {})), arrays, notes)
    arrays["calls"] = np.array(step.calls, dtype=np.int64).reshape(-1, 2)
    for index, prefixes in enumerate(step.kept):
        arrays[f"prefixes{index}"] = prefixes
    return Reply("ok", arrays, notes)
