"""Finds a student's object, turns what it returns into arrays, and reports what it raised."""

import inspect
import linecache
import traceback

import numpy as np
import torch

from course_utils.asked import asked_now
from course_utils.checks.wire import DTYPES, name_of

MAX_ARRAY_BYTES = 16 << 20
MAX_ERROR_LENGTH = 1200
MAX_LINES = 5
# By NumPy's letter for a kind of type: what is there instead of numbers.
NO_NUMBERS = {"U": "text", "S": "text", "c": "complex numbers", "O": "more than plain numbers"}
OUR_FOLDERS = ("course_utils", "site-packages", "dist-packages", "autograder")


# By exercise: notes on what its cell raised, "cell" in words. Only where we ran the cells.
_failed_cells: dict[str, dict[str, str]] = {}


class Missing(Exception):
    """The student's notebook does not define what the exercise asks for."""

    def __init__(self, message: str, notes: dict[str, str] | None = None):
        super().__init__(message)
        self.notes = notes or {}


def remember_failure(exercise: str, problem: BaseException) -> None:
    # an answer that has not been written yet is reported in friendlier words
    if not isinstance(problem, NotImplementedError):
        _failed_cells[exercise] = {**notes_on(problem), "cell": explain(problem)}


def find(namespace: dict, name: str):
    """The student's object called `name`."""
    if name in namespace:
        return namespace[name]
    if asked_now() in _failed_cells:
        notes = _failed_cells[asked_now()]
        raise Missing(f"The cell stopped before `{name}` was defined.\n{notes['cell']}", notes)
    raise Missing(f"`{name}` is not defined yet: write it, run its cell, and check again.")


def find_callable(namespace: dict, name: str, as_class: bool):
    found = find(namespace, name)
    if as_class and not (inspect.isclass(found) and issubclass(found, torch.nn.Module)):
        raise Missing(f"`{name}` should be a class that extends `nn.Module`.")
    if not callable(found):
        raise Missing(f"`{name}` should be a function, but it is a {type(found).__name__}.")
    return found


def collect(prefix: str, result, arrays: dict, notes: dict) -> None:
    """Store what a student's code returned: one array for each part, or a note on why not."""
    many = isinstance(result, tuple | list) and not (
        isinstance(result, list) and all(isinstance(r, int | float | bool) for r in result)
    )
    parts = result if many else [result]
    notes[f"{prefix}_count"] = str(len(parts))
    for index, part in enumerate(parts[:16]):
        name = f"{prefix}{index}"
        array = as_array(part)
        if isinstance(array, str):
            notes[name] = array
        else:
            arrays[name] = array


def as_array(value) -> np.ndarray | str:
    """`value` as a plain array, or a phrase that describes what it is instead."""
    if isinstance(value, torch.Tensor):
        if value.device.type == "meta":
            return "a tensor on the device 'meta', which holds no numbers"
        if value.numel() * value.element_size() > MAX_ARRAY_BYTES:
            return f"a tensor of shape {list(value.shape)}, which is far too large"
        plain = value.detach().as_subclass(torch.Tensor).cpu()
        if plain.is_sparse:
            plain = plain.to_dense()
        if plain.dtype in (torch.float16, torch.bfloat16):
            return f"a tensor of type {plain.dtype}"
        value = plain.resolve_conj().resolve_neg().numpy()
    elif isinstance(value, bool | int | float | np.generic | np.ndarray | list | tuple):
        in_a_list = isinstance(value, list | tuple)
        try:
            value = np.asarray(value)
        except ValueError:
            return "a list whose rows have different lengths"
        except RuntimeError:  # from a tensor that needs gradients
            return "a list of tensors"
        if value.dtype.kind in NO_NUMBERS:
            return (
                f"{'a list' if in_a_list else 'an array'} with {NO_NUMBERS[value.dtype.kind]} in it"
            )
    else:
        named = {type(None): "nothing (None)", str: "text"}
        return named.get(type(value), f"a {type(value).__name__}")
    if name_of(value.dtype) not in DTYPES:
        return f"an array of type {value.dtype}"
    if value.nbytes > MAX_ARRAY_BYTES:
        return f"an array of shape {list(value.shape)}, which is far too large"
    return np.ascontiguousarray(value)


def explain(problem: BaseException) -> str:
    """The error and the student's own lines that led to it, without ours or a library's."""
    if isinstance(problem, NotImplementedError):
        return "It is not implemented yet."
    if isinstance(problem, SyntaxError):
        code = f"line {problem.lineno}: {(problem.text or '').strip()}"
        return "\n".join(
            [f"{type(problem).__name__}: {problem.msg}"[:MAX_ERROR_LENGTH], code[:300]]
        )
    lines = []
    for frame in traceback.extract_tb(problem.__traceback__):
        if any(f"/{folder}/" in frame.filename for folder in OUR_FOLDERS):
            continue
        code = (frame.line or linecache.getline(frame.filename, frame.lineno or 0)).strip()
        where = "" if frame.name == "<module>" else f"in {frame.name}, "
        if code:
            lines.append(f"{where}line {frame.lineno}: {code}"[:300])
    # the innermost are kept: the last one raised
    return "\n".join([f"{type(problem).__name__}: {_words(problem)}", *lines[-MAX_LINES:]])


def without_asserts(namespace: dict, name: str) -> dict | None:
    """The same names with the cell that defines `name` run once more, its asserts left out."""
    found = namespace.get(name)
    code = getattr(getattr(found, "forward", found), "__code__", None)
    if code is None:
        return None
    source = "".join(linecache.getlines(code.co_filename))
    if not source:
        return None
    bare = dict(namespace)
    try:
        exec(compile(source, code.co_filename, "exec", dont_inherit=True, optimize=1), bare)
    except Exception:
        return None
    return bare


def _words(problem: BaseException) -> str:
    try:
        return str(problem)[:MAX_ERROR_LENGTH]
    except Exception:  # an exception class of the student's may fail here too
        return ""


def notes_on(problem: BaseException) -> dict[str, str]:
    """The kind of an error, and the package that is missing."""
    notes = {"raised": type(problem).__name__[:80]}
    if isinstance(problem, ModuleNotFoundError):
        notes["package"] = str(problem.name)[:80]
    return notes
