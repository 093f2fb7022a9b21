"""Reads an error that a student's code raised: which size is which axis, and its likely cause.

The axes come from the register's signatures, such as `attend(query [B, D], states [B, S, D])`,
and their sizes from the inputs of the question.
"""

import itertools
import re

import numpy as np

from course_utils import register
from course_utils.checks.axes import parameters
from course_utils.checks.wire import Ask, Reply

# Constructor arguments that give the size of an axis another name.
SAME_AS = {"hidden_size": "D", "d_model": "D", "dec_hid_dim": "dec"}
NO_SIZE = ("num_layers",)
# Where PyTorch and NumPy write sizes: (4), (4,7), [4, 7], 28x3, "size 4", "different from 3".
# Other numbers in an error count arguments or name an axis.
SIZES = re.compile(
    r"\((\d+(?:, ?\d+)*),?\)|\[(\d+(?:, ?\d+)*)\]|(\d+x\d+)|\bsize (\d+)|different from (\d+)"
)
WITH_SIZES = ("RuntimeError", "ValueError", "IndexError", "AssertionError")

DETAIL = re.compile(r"(?:[\w*]{1,30} ?){0,2}")
# By what was tried (`probes/trials.py`): what that reveals about the code, and where to look.
CAUSES = {
    "query-and-memory": (
        "Query and memory are swapped in a call of attention: it runs the other way round.",
        "The query is what asks, and its length is the length of the output. Keys and values "
        "are what is looked at.",
    ),
    "mask-of-another-attention": (
        "A mask {0} reaches an attention that needs {1}. Without it, your code runs.",
        "Each attention has its own mask, [queries, keys]. Which mask belongs to which?",
    ),
    "first-axes": (
        "Your code runs with the axis {0} first. Here {1} comes first.",
        "Read the shapes in the signature again, and write them next to your first lines.",
    ),
    "swapped": (
        "Your code runs if `{0}` and `{1}` are swapped.",
        "Compare the order of the arguments in the signature with where you use each.",
    ),
    "no-batch": (
        "Your code runs for one sentence, without the axis B. Here it gets a whole batch.",
        "Which products and transposes count axes from the front? Every tensor has one more axis.",
    ),
    "equal-sizes": (
        "Your code runs if {0} and {1} are equal. Here they differ: one is used for the other.",
        "Follow the axes {0} and {1} through your lines: where does one take the other's place?",
    ),
    "heads-not-joined": (
        "The heads are not joined: the last layer gets {0}. It runs with the heads side by side.",
        "The features of all heads together are D again: num_heads times D/num_heads.",
    ),
    "heads-along-another-axis": (
        "The heads are joined along the wrong axis: the last layer gets {0}. It runs with "
        "the heads side by side in the features.",
        "Joining makes the last axis longer, D/num_heads to D, and leaves the others as they are.",
    ),
    "heads-added": (
        "The heads are added or averaged, or only one is used: the last layer gets {0}, and its "
        "weight is {1}. It runs with the heads side by side.",
        "The features of all heads together are D again: num_heads times D/num_heads.",
    ),
    "heads-third": (
        "In a product {0} meets {1}, with the heads in the third axis: with the heads in the second "
        "one it runs.",
        "The last two axes are multiplied as matrices, and all axes before them must agree. Which two "
        "axes should these be for each head?",
    ),
    "missing-axis": (
        "An axis is missing: {0} meets {1}. It runs with one more axis in the smaller one.",
        "Shapes are compared from the right. Where must an axis of size one go?",
    ),
    "transpose-missing": (
        "In a product, {0} meets {1}. It runs with one of the two transposed.",
        "The sum runs over the last axis of the first and the last but one of the second. Which "
        "axis should that be?",
    ),
    "product-order": (
        "In a product, {0} comes before {1}. It runs the other way round.",
        "Inputs are rows here: the matrix that multiplies them comes second.",
    ),
    "joined-along-another-axis": (
        "{0} and {1} are joined along the wrong axis. It runs along the last one.",
        "Which axis should be longer afterwards? The others must stay as they are.",
    ),
    "layer-of-another-size": (
        "A linear layer gets {0}, but its weight is {1}: it was made for another size.",
        "Linear(in, out): `in` is the last axis of what it gets.",
    ),
}
# Errors whose text alone reveals the cause.
KNOWN = {
    "before Module.__init__() call": (
        "`__init__` creates a layer before the module is set up.",
        "Begin `__init__` with `super().__init__()`.",
    ),
    "'Tensor' and 'tuple'": (
        "A tensor meets a tuple: a call that gives two results, such as `output, weights`.",
        "Take the one you need: `output, _ = ...`, or `...[0]`.",
    ),
}
# Exercises that ask for loops: no advice on how to multiply two matrices there.
IN_LOOPS = ("attention-by-hand", "multi-head-by-hand")
NO_PRODUCTS = (
    "In a product, {0} meets {1}: two matrices, which this exercise does without.",
    "Take one query and one key at a time. Their dot product is a single number.",
)
MASK_WITHOUT_HEADS = (
    "The mask has no axis for the heads: {0} meets {1}. It runs with that axis.",
    "The scores of all heads share one mask. Where do the scores have the heads?",
)


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
        legend += f" In the error, {', '.join(read)}." if read else ""
    return f"{reply.error}\n{legend}"


def likely_cause(exercise_id: str, ask: Ask, reply: Reply) -> tuple[str, str]:
    """What made the code run when it was tried, and a hint; nothing if nothing did."""
    known = [found for text, found in KNOWN.items() if text in reply.error]
    if known:
        return known[0]
    cause = reply.notes.get("cause", "")
    sentence, hint = CAUSES.get(cause, ("", ""))
    if exercise_id in IN_LOOPS and cause in ("transpose-missing", "product-order"):
        sentence, hint = NO_PRODUCTS
    detail = reply.notes.get("cause_detail", "")
    if not sentence or not DETAIL.fullmatch(detail):  # it comes from the student's process
        return "", ""
    sizes = axes(register.exercise(exercise_id).signature, ask)
    words = [_in_letters(word, sizes) for word in detail.split()]
    if cause == "first-axes" and words:
        words = ["S" if words[0] == "B" else "B", *words]
    if len(words) <= max(map(int, re.findall(r"{(\d)}", sentence + hint)), default=-1):
        return "", ""
    if cause == "missing-axis" and "mask" in reply.error:
        sentence, hint = MASK_WITHOUT_HEADS
    return sentence.format(*words), hint.format(*words)


def _in_letters(word: str, sizes: dict[str, int]) -> str:
    """A shape such as 4x7x3 in letters, if these are certain: [B, T, D]."""
    if not re.fullmatch(r"\d+(x\d+)*", word):
        return word
    shown = []
    for number in map(int, word.split("x")):
        fit = [name for name, size in sizes.items() if size == number]
        fit = fit or _made_of_two(number, sizes, flat=False)
        shown.append(fit[0] if len(fit) == 1 and number > 1 else str(number))
    return f"[{', '.join(shown)}]"


def axes(signature: str, ask: Ask) -> dict[str, int]:
    """The size of each axis that the signature names, in the inputs of this question."""
    options = ask.options
    target = options.get("target", "")
    calls = [step["args"] for step in options.get("script", ()) if "args" in step]
    calls = calls or [options.get("args", [])]
    found: dict[str, set[int]] = {}
    wanted = parameters(signature, "forward" if "init" in options else target)
    if ask.probe == "decode":  # the probe itself gives the first argument
        wanted = wanted[1:]
    names = set(re.findall(r"\w+", " ".join(re.findall(r"\[([^\]]*)\]", signature))))
    for arguments in calls:
        given = [*zip(wanted, arguments)]
        given += [(p, options["kwargs"][p[0]]) for p in wanted if p[0] in options.get("kwargs", {})]
        for (name, shape), value in given:
            if isinstance(value, np.ndarray) and len(shape) == value.ndim:
                for axis, size in zip(shape, value.shape):
                    found.setdefault(axis, set()).add(size)
            elif _is_whole(value) and name in names:
                found.setdefault(name, set()).add(value)
    for (name, _), value in zip(parameters(signature, target), options.get("init", [])):
        if _is_whole(value) and SAME_AS.get(name) not in found and name not in NO_SIZE:
            found.setdefault(name, set()).add(value)
    # a letter with two sizes reveals nothing: the question asks about sizes that do not fit
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


def _is_whole(value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
