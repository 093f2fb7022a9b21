"""Reads what a student typed: the variables called `names`, as arrays or as text."""

from course_utils.checks.probes.student_code import Missing, as_array, find
from course_utils.checks.wire import Reply


def run(namespace: dict, options: dict) -> Reply:
    arrays, notes = {}, {}
    for name in options["names"]:
        value = find(namespace, name)
        if value is None or value is Ellipsis:
            raise Missing(f"`{name}` has no value yet: type your answer and run its cell.")
        if isinstance(value, str):
            notes[name] = value[:1000]
            continue
        array = as_array(value)
        if isinstance(array, str):
            notes[name] = f"`{name}` should be numbers, and is {array}."
        else:
            arrays[name] = array
    return Reply("ok", arrays, notes)
