"""Calls a student's function that gives back a text; the text returns as an array of characters.

Options:
    target   the name of the function
    args     positional arguments of the call: texts, numbers

Arrays in the reply: out0, the numbers (code points) of the characters of the result. If the
result is not a text, the note `out0` describes what it is instead.
"""

import numpy as np

from course_utils.checks.probes.student_code import find_callable
from course_utils.checks.wire import Reply

LONGEST = 10_000


def run(namespace: dict, options: dict) -> Reply:
    target = find_callable(namespace, options["target"], as_class=False)
    result = target(*options["args"])
    if not isinstance(result, str):
        kind = "nothing (None)" if result is None else f"a {type(result).__name__}"
        return Reply("ok", {}, {"out0": kind})
    codes = np.array([ord(character) for character in result[:LONGEST]], dtype=np.int64)
    return Reply("ok", {"out0": codes}, {})
