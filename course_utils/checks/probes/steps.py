"""Calls a student's module several times: what it keeps from one call to the next shows.

Options:
    target   the name of the class
    init     constructor arguments
    modules  how many modules of the class are made (1 unless given)
    script   what is done, in order; each step is a dict with the number of a `module` and
             fill    refill its parameters (see `refill` in the "call" probe), or
             method  call this method without arguments, or
             args    call the module with these

Arrays in the reply: call0_0, call1_0, ... what each call returned, after0, after1, ... the first
argument of each call as it is afterwards. No gradients: this is how a trained model is used.
"""

import numpy as np
import torch

from course_utils.checks.probes.call import collect_after, default_dtype, refill, to_argument
from course_utils.checks.probes.student_code import Missing, collect, find_callable
from course_utils.checks.wire import Reply


def run(namespace: dict, options: dict) -> Reply:
    try:
        return _run(namespace, options, torch.float64)
    except RuntimeError as problem:
        # Code that creates float32 tensors itself is right too: ask again in float32.
        if "dtype" not in str(problem) and "scalar type" not in str(problem):
            raise
        return _run(namespace, options, torch.float32)


def _run(namespace: dict, options: dict, precision: torch.dtype) -> Reply:
    target = find_callable(namespace, options["target"], as_class=True)
    arrays: dict[str, np.ndarray] = {}
    notes, calls = {"precision": str(precision)}, 0
    with default_dtype(precision), torch.no_grad():
        torch.default_generator.manual_seed(0)
        modules = [target(*options["init"]).to(precision) for _ in range(options.get("modules", 1))]
        for step in options["script"]:
            module = modules[step["module"]]
            if "fill" in step:
                refill(module, step["fill"])
            elif "method" in step:
                _method(module, options["target"], step["method"])()
            else:
                arguments = [to_argument(a, precision, options) for a in step["args"]]
                collect(f"call{calls}_", module(*arguments), arrays, notes)
                collect_after(calls, arguments[0], arrays)
                calls += 1
    return Reply("ok", arrays, notes)


def _method(module: torch.nn.Module, class_name: str, name: str):
    method = getattr(module, name, None)
    if not callable(method):
        raise Missing(f"`{class_name}` should have a method `{name}()`.")
    return method
