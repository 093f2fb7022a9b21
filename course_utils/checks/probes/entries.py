"""Reads a dict that a student filled, entry by entry: `name[entry][part]` as the array `entry/part`.

What an entry has instead of numbers is noted, so that the other entries still count.
"""

import difflib

import numpy as np

from course_utils.checks.probes.student_code import Missing, as_array, find
from course_utils.checks.wire import Reply


def run(namespace: dict, options: dict) -> Reply:
    name = options["name"]
    filled = find(namespace, name)
    if not isinstance(filled, dict):
        raise Missing(f"`{name}` should be a dict, but it is a {type(filled).__name__}.")
    if not filled:
        raise Missing(f"`{name}` is empty: paste the lines of what you solved, and run its cell.")
    arrays: dict[str, np.ndarray] = {}
    notes: dict[str, str] = {}
    for entry, parts in options["entries"].items():
        if entry not in filled:
            notes[entry] = f'`{name}["{entry}"]` is missing.'
            unknown = [
                key for key in filled if isinstance(key, str) and key not in options["entries"]
            ]
            for key in difflib.get_close_matches(entry, unknown[:100], 1):
                notes[entry] = f'`{name}["{key}"]` should be called `{name}["{entry}"]`.'
        elif not isinstance(filled[entry], dict):
            wanted = ", ".join(f'"{part}": ...' for part in parts)
            notes[entry] = f'`{name}["{entry}"]` should be a dict: `{{{wanted}}}`.'
        else:
            _read(name, entry, filled[entry], parts, arrays, notes)
    return Reply("ok", arrays, notes)


def _read(name: str, entry: str, found: dict, parts: list[str], arrays: dict, notes: dict) -> None:
    for part in parts:
        place = f'`{name}["{entry}"]["{part}"]`'
        array = as_array(found[part]) if part in found else "missing"
        if isinstance(array, str):
            notes.setdefault(entry, f"{place} should be numbers, but it is {array}.")
        else:
            arrays[f"{entry}/{part}"] = array
