"""Calls a student's sampling function many times and returns every token it drew.

Options:
    target   the name of the function
    args     positional arguments of each call: arrays
    kwargs   named arguments of each call
    seed     the seed of the generator that is handed over as `generator`; None hands none over
    count    how often it is called
    again    how many calls are made a second time, with a generator of the same seed

Arrays in the reply: tokens [count], again [again], after0, ... the arguments after the first call.
The note "kind" describes what the first call returned.
"""

import numpy as np
import torch

from course_utils.checks.probes.call import collect_after, default_dtype, to_argument
from course_utils.checks.probes.student_code import find_callable
from course_utils.checks.wire import Reply

FAR_AWAY = 2**31  # what a token that fits no vocabulary becomes


def run(namespace: dict, options: dict) -> Reply:
    target = find_callable(namespace, options["target"], as_class=False)
    arrays: dict[str, np.ndarray] = {}
    notes = {"precision": "torch.float64"}
    with default_dtype(torch.float64), torch.no_grad():
        arrays["tokens"] = _draw(target, options, options["count"], arrays, notes)
        # Another state of torch's own generator: only the one handed over may decide.
        arrays["again"] = _draw(target, options, options.get("again", 0), None, None, shift=1)
    return Reply("ok", arrays, notes)


def _draw(target, options: dict, count: int, arrays, notes, shift: int = 0) -> np.ndarray:
    seed = options["seed"]
    torch.default_generator.manual_seed(7919 + shift + (seed or 0))
    named = dict(options.get("kwargs", {}))
    if seed is not None:
        named["generator"] = torch.Generator().manual_seed(int(seed))
    given = [to_argument(a, torch.float64, options) for a in options["args"]]
    tokens = np.zeros(count, dtype=np.int64)
    for number in range(count):
        arguments = [a.clone() for a in given]
        token = target(*arguments, **named)
        if arrays is not None and number == 0:
            notes["kind"] = _kind(token)
            for index, argument in enumerate(arguments):
                collect_after(index, argument, arrays)
        tokens[number] = _as_int(token)
    return tokens


def _kind(token) -> str:
    if isinstance(token, bool):
        return "bool"
    if isinstance(token, int | np.integer):
        return "int"
    if isinstance(token, torch.Tensor):
        return f"a tensor of shape {list(token.shape)}"
    return "nothing (None)" if token is None else f"a {type(token).__name__}"[:80]


def _as_int(token) -> int:
    try:
        number = int(token)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return FAR_AWAY
    return number if abs(number) < FAR_AWAY else FAR_AWAY
