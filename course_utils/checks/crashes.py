"""Reads an error that a student's code raised: which size is which axis, by the names in the text.

The axes come from the register's signatures, such as `attend(query [B, D], states [B, S, D])`,
and their sizes from the inputs of the question.
"""

import itertools
import re

import numpy as np

from course_utils import register
from course_utils.checks.wire import Ask, Reply

PARAMETER = re.compile(r"(\w+)(?:=[\w.]+)?(?: \[([^\]]+)\])?(?:, |$)")
# Constructor arguments that give the size of an axis another name.
SAME_AS = {"hidden_size": "D", "d_model": "D", "dec_hid_dim": "dec"}
NO_SIZE = ("num_layers",)
# Where PyTorch and NumPy write sizes: (4), (4,7), [4, 7], 28x3, "size 4", "different from 3".
# Other numbers in an error count arguments or name an axis.
SIZES = re.compile(
    r"\((\d+(?:, ?\d+)*),?\)|\[(\d+(?:, ?\d+)*)\]|(\d+x\d+)|\bsize (\d+)|different from (\d+)"
)
WITH_SIZES = ("RuntimeError", "ValueError", "IndexError", "AssertionError")


def explained(exercise_id: str, ask: Ask, reply: Reply) -> str:
    """What the student's code raised, and below it the sizes of this question by their letters."""
    raised = reply.notes.get("raised", "")
    if reply.status != "error" or raised in ("", "NotImplementedError"):
        return reply.error
    sizes = axes(register.exercise(exercise_id).signature, ask)
    if not sizes:
        return reply.error
    legend = "Here " + ", ".join(f"{name} = {size}" for name, size in sizes.items()) + "."
    if raised in WITH_SIZES:
        read = numbers_read(reply.error.split("\n")[0], sizes)
        legend += f" {', '.join(read)}." if read else ""
    return f"{reply.error}\n{legend}"


def axes(signature: str, ask: Ask) -> dict[str, int]:
    """The size of each axis that the signature names, in the inputs of this question."""
    options = ask.options
    target = options.get("target", "")
    calls = [step["args"] for step in options.get("script", ()) if "args" in step]
    calls = calls or [options.get("args", [])]
    found: dict[str, set[int]] = {}
    parameters = _parameters(signature, "forward" if "init" in options else target)
    if ask.probe == "decode":  # the probe itself gives the first argument
        parameters = parameters[1:]
    names = set(re.findall(r"\w+", " ".join(re.findall(r"\[([^\]]*)\]", signature))))
    for arguments in calls:
        given = [*zip(parameters, arguments)]
        given += [
            (p, options["kwargs"][p[0]]) for p in parameters if p[0] in options.get("kwargs", {})
        ]
        for (name, shape), value in given:
            if isinstance(value, np.ndarray) and len(shape) == value.ndim:
                for axis, size in zip(shape, value.shape):
                    found.setdefault(axis, set()).add(size)
            elif _is_whole(value) and name in names:
                found.setdefault(name, set()).add(value)
    for (name, _), value in zip(_parameters(signature, target), options.get("init", [])):
        if _is_whole(value) and SAME_AS.get(name) not in found and name not in NO_SIZE:
            found.setdefault(name, set()).add(value)
    # a letter with two sizes tells nothing: the question asks about sizes that do not fit
    return {name: next(iter(sizes)) for name, sizes in found.items() if len(sizes) == 1}


def numbers_read(error: str, sizes: dict[str, int]) -> list[str]:
    """Each size in an error that can only be one axis, or axes that were joined: "4 is B"."""
    read = []
    for match in SIZES.finditer(error):
        for number in map(int, re.findall(r"\d+", match.group())):
            fit = [name for name, size in sizes.items() if size == number]
            fit = fit or _made_of_two(number, sizes, flat="x" in match.group())
            if number > 1 and len(fit) == 1:  # axes of size 1 come from everywhere
                read.append(f"{number} is {fit[0]}")
    return list(dict.fromkeys(read))


def _made_of_two(number: int, sizes: dict[str, int], flat: bool) -> list[str]:
    """A head's share of the features; for a matrix `28x3`, also the axes that were flattened."""
    found = []
    for name in sizes.keys() & {"D", "d_model"} if "num_heads" in sizes else ():
        if sizes[name] == number * sizes["num_heads"]:
            found.append(f"{name}/num_heads")
    if flat:
        pairs = itertools.combinations(sizes, 2)
        found += [f"{a}·{b}" for a, b in pairs if sizes[a] * sizes[b] == number]
    return found


def _parameters(signature: str, name: str) -> list[tuple[str, list[str]]]:
    """The parameters of `name(...)` in a signature, each with the names of its axes."""
    call = re.search(rf"\b{re.escape(name)}\(([^()]*)\)", signature) if name else None
    found = PARAMETER.findall(call.group(1)) if call else []
    return [(parameter, shape.split(", ") if shape else []) for parameter, shape in found]


def _is_whole(value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
