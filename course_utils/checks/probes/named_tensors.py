"""Calls a student's function that turns tensors by name into tensors by other names.

Options:
    target   the name of the function
    state    arrays by name: what it is given, as a dict of tensors

Arrays in the reply: out/<name> for each tensor in the dict that came back, after/<name> for each
that was given and is still there, as it is afterwards. The note `kind` describes what came back
instead of a dict.
"""

import numpy as np
import torch

from course_utils.checks.probes.student_code import as_array, find_callable
from course_utils.checks.wire import Reply

MOST = 400


def run(namespace: dict, options: dict) -> Reply:
    target = find_callable(namespace, options["target"], as_class=False)
    state = {name: torch.from_numpy(array.copy()) for name, array in options["state"].items()}
    result = target(state)
    given = [n for n in options["state"] if isinstance(state.get(n), torch.Tensor)]
    arrays: dict[str, np.ndarray] = {f"after/{name}": state[name].numpy() for name in given}
    if not isinstance(result, dict):
        kind = "nothing (None)" if result is None else f"a {type(result).__name__}"
        return Reply("ok", arrays, {"kind": kind})
    notes = {"kind": "dict"}
    for name, value in list(result.items())[:MOST]:
        array = as_array(value)
        if isinstance(array, str):
            notes[f"out/{str(name)[:80]}"] = array
        else:
            arrays[f"out/{str(name)[:80]}"] = array
    return Reply("ok", arrays, notes)
