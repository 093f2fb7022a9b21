"""Calls a student's function or module: outputs of two calls, gradients, inputs afterwards.

Options (those not given are left out):
    target   the name of the function or class
    init     constructor arguments; given for classes only
    args     positional arguments of the call: arrays, numbers, text, None; {"bilinear": M} is a
             function score(query [B, D], keys [B, S, D]) -> q^T M k_s [B, S]
    kwargs   named arguments of the call
    fill     how the parameters are refilled before the call (see `refill`)
    eval     switch the module to evaluation first, as `.eval()` does
    upstream one array for each output: the gradient that flows into it; asks for the
             gradients at every floating-point argument
    as_numpy pass arrays as NumPy arrays, not as tensors
    other    arguments of other sizes: a second module is called with these before `args`
    watch    record the largest product of matrices that reaches an operator
    once     one call is enough: the judge looks at the first results alone

Arrays in the reply: out0, out1, ... of the first call, again0, ... of the second, after0, ...
the arguments as they are afterwards, grad0, ... the gradients at them, and later0, ... what comes
after a call with `other` (the note "later_error" if it raises). All are in float64 if the student's
code allows it, otherwise in float32.
"""

import contextlib
import weakref

import numpy as np
import torch

from course_utils.checks.probes.student_code import collect, explain, find_callable
from course_utils.checks.wire import Reply

# By class, the constructor arguments with which its modules have all parameters before any call.
_complete: weakref.WeakKeyDictionary[type, set[str]] = weakref.WeakKeyDictionary()


def run(namespace: dict, options: dict) -> Reply:
    try:
        return _run(namespace, options, torch.float64)
    except RuntimeError as problem:
        # Code that creates float32 tensors itself is right too: ask again in float32.
        if "dtype" not in str(problem) and "scalar type" not in str(problem):
            raise
        return _run(namespace, options, torch.float32)


def _run(namespace: dict, options: dict, precision: torch.dtype) -> Reply:
    target = find_callable(namespace, options["target"], as_class="init" in options)
    arrays: dict[str, np.ndarray] = {}
    notes = {"precision": str(precision)}
    with default_dtype(precision):
        arguments = [to_argument(a, precision, options) for a in options.get("args", [])]
        named = {
            k: to_argument(a, precision, options) for k, a in options.get("kwargs", {}).items()
        }
        torch.default_generator.manual_seed(int(options.get("seed", 0)))
        if "init" in options:
            made, target = target, _made(target, options, precision, arguments, named)
        with watching(options, arrays):
            collect("out", target(*arguments, **named), arrays, notes)
        if not options.get("once"):
            for index, argument in enumerate(arguments):
                if isinstance(argument, torch.Tensor | np.ndarray):
                    collect_after(index, argument, arrays)
            collect("again", target(*_fresh(arguments), **named), arrays, notes)
        if "other" in options:
            others = [to_argument(a, precision, options) for a in options["other"]]
            used = _made(made, options, precision, others, named)
            try:
                used(*_fresh(others), **named)
                collect("later", used(*_fresh(arguments), **named), arrays, notes)
            except Exception as problem:
                notes["later_error"] = explain(problem)[:300]
        if "upstream" in options:
            _gradients(target, options, precision, arrays, notes)
    return Reply("ok", arrays, notes)


def _made(target, options: dict, precision: torch.dtype, arguments: list, named: dict):
    """A module of the student's class, with the parameters that were drawn."""
    module = target(*options["init"]).to(precision)
    if "fill" in options:
        complete = _complete.setdefault(target, set())
        if repr(options["init"]) not in complete:
            before = _parameters_of(module)
            with torch.no_grad(), contextlib.suppress(Exception):
                module(*_fresh(arguments), **named)  # lazy layers get their shapes here
            module.to(precision)
            if _parameters_of(module) == before:
                complete.add(repr(options["init"]))
        refill(module, options["fill"])
    return module.eval() if options.get("eval") else module


def _parameters_of(module: torch.nn.Module) -> list[tuple[int, type]]:
    """Which parameters a module has, and of which type: that of a lazy one changes."""
    return [(id(parameter), type(parameter)) for parameter in module.parameters()]


def collect_after(index: int, argument, arrays: dict) -> None:
    plain = argument.detach().numpy() if isinstance(argument, torch.Tensor) else argument
    arrays[f"after{index}"] = np.array(plain)


def _fresh(arguments: list) -> list:
    return [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]


def to_argument(value, precision: torch.dtype, options: dict):
    if isinstance(value, dict):
        matrix = torch.from_numpy(value["bilinear"].copy()).to(precision)

        def score(query, keys):
            return torch.einsum("...d,de,...se->...s", query, matrix.to(query.device), keys)

        return score
    if not isinstance(value, np.ndarray) or options.get("as_numpy"):
        return value.copy() if isinstance(value, np.ndarray) else value
    tensor = torch.from_numpy(value.copy())
    return tensor.to(precision) if tensor.is_floating_point() else tensor


@contextlib.contextmanager
def default_dtype(precision: torch.dtype):
    """Tensors that the student's code makes for itself get the precision of the inputs."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(precision)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def refill(module: torch.nn.Module, fill: dict) -> None:
    """Give every trainable parameter a value that was drawn outside.

    {"pool": array}      parameters take their values from the pool, one after the other
    {"constant": a}      a in everything with two dimensions or more, 0 in vectors
    {"named": {...}}     by the names of `state_dict`; all of them must be there
    """
    parameters = [p for p in module.parameters() if p.requires_grad]
    with torch.no_grad():
        if "named" in fill:
            _load_named(module, fill["named"])
        elif "constant" in fill:
            for parameter in parameters:
                parameter.fill_(fill["constant"] if _is_matrix(parameter) else 0.0)
        else:
            pool, start = np.asarray(fill["pool"]), 0
            for parameter in parameters:
                indices = np.arange(start, start + parameter.numel())
                values = pool.take(indices, mode="wrap").reshape(tuple(parameter.shape))
                parameter.copy_(torch.from_numpy(values))
                start += parameter.numel()


def _is_matrix(parameter: torch.Tensor) -> bool:
    return parameter.dim() >= 2


def _load_named(module: torch.nn.Module, values: dict) -> None:
    state = module.state_dict()
    wanted, there = set(values), set(state)
    if wanted - there:
        names = ", ".join(sorted(wanted - there))
        raise RuntimeError(f"Your module has no parameter called {names}; keep the names given.")
    for name, value in values.items():
        if tuple(state[name].shape) != value.shape:
            raise RuntimeError(
                f"The parameter {name} should have the shape {list(value.shape)}, "
                f"but it has {list(state[name].shape)}."
            )
        state[name].copy_(torch.from_numpy(value))


def _gradients(target, options: dict, precision, arrays: dict, notes: dict) -> None:
    arguments = [to_argument(a, precision, options) for a in options["args"]]
    named = {k: to_argument(a, precision, options) for k, a in options.get("kwargs", {}).items()}
    leaves = []
    for index, argument in enumerate(arguments):
        if isinstance(argument, torch.Tensor) and argument.is_floating_point():
            leaves.append((index, argument.requires_grad_()))
    try:
        result = target(*arguments, **named)
        parts = list(result) if isinstance(result, tuple | list) else [result]
        for part in parts:
            if isinstance(part, torch.Tensor) and part.device.type != "cpu":
                # One product with a tensor without values imports PyTorch's compiler: 3 s.
                raise RuntimeError(f"The result is on the device {part.device}.")
        total = sum(
            (part * torch.from_numpy(flow).to(precision)).sum()
            for part, flow in zip(parts, options["upstream"])
            if flow is not None
        )
        trained = [p for p in getattr(target, "parameters", list)() if p.requires_grad]
        inputs = [leaf for _, leaf in leaves]
        found = torch.autograd.grad(total, inputs + trained, allow_unused=True)
    except RuntimeError as problem:
        # Often: the result does not depend on the inputs as far as autograd can see.
        notes["gradient_error"] = str(problem)[:300]
        return
    for (index, leaf), gradient in zip(leaves, found):
        gradient = torch.zeros_like(leaf) if gradient is None else gradient
        arrays[f"grad{index}"] = gradient.detach().numpy()
    reached = sum(g is not None and bool(g.abs().sum() > 0) for g in found[len(leaves) :])
    notes["parameters_reached"] = str(reached)


@contextlib.contextmanager
def watching(options: dict, arrays: dict):
    """Record the sizes of the products that reach an operator, when asked to."""
    if not options.get("watch"):
        yield
        return
    from course_utils.checks.probes.products import ProductWatch

    with ProductWatch() as watch:
        yield
    arrays["products"] = np.array(watch.products, dtype=np.int64).reshape(-1, 2)
