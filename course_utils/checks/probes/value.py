"""Reads what a student typed: the variables called `names`, as arrays or as text.

With the option `partial`, what is not typed yet is only noted, so that the rest still counts. A
vector or table with empty places comes back as `<name>/rows`, with NaN in those.
"""

import contextlib

import numpy as np

from course_utils.checks.probes.student_code import Missing, as_array, find
from course_utils.checks.wire import Reply

MOST_ROWS = 64


def run(namespace: dict, options: dict) -> Reply:
    arrays: dict[str, np.ndarray] = {}
    notes: dict[str, str] = {}
    for name in options["names"]:
        try:
            _read(namespace, name, arrays, notes)
        except Missing as missing:
            if not options.get("partial"):
                raise
            _read_rows(namespace.get(name), name, arrays)
            notes |= {name: str(missing), **missing.notes}
    return Reply("ok", arrays, notes)


def _read(namespace: dict, name: str, arrays: dict, notes: dict) -> None:
    value = find(namespace, name)
    if _is_empty(value):
        raise Missing(f"`{name}` has no value yet: type your answer and run its cell.")
    if _has_empty_place(value):
        raise Missing(f"`{name}` still has empty places: put a number in each, and run its cell.")
    if isinstance(value, str):
        notes[name] = value[:1000]
        return
    array = as_array(value)
    if isinstance(array, str):
        notes[name] = f"`{name}` should be numbers, and is {array}."
    else:
        arrays[name] = array


def _read_rows(value, name: str, arrays: dict) -> None:
    if isinstance(value, list | tuple) and len(value) <= MOST_ROWS and _has_empty_place(value):
        is_table = any(isinstance(row, list | tuple) for row in value)
        with contextlib.suppress(TypeError, ValueError):
            rows = [
                [np.nan if _is_empty(v) else float(v) for v in row]
                for row in (value if is_table else [value])
            ]
            arrays[f"{name}/rows"] = np.array(rows if is_table else rows[0])


def _is_empty(value) -> bool:
    return value is None or value is Ellipsis


def _has_empty_place(value) -> bool:
    if isinstance(value, list | tuple):
        return any(_is_empty(v) or _has_empty_place(v) for v in value[:1000])
    return False
