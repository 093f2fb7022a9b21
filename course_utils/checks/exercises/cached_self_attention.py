"""CachedSelfAttention: causal self-attention that keeps the keys and values of earlier calls.

The right arrays are those of causal self-attention over the whole sequence, cut where the calls
were cut. That keys and values are kept, and not computed again, shows when the parameters change
between two calls: what was kept was made with the old ones.
"""

from collections.abc import Callable

import numpy as np

from course_utils.checks.judge import (
    Check,
    Evidence,
    Misconception,
    Property,
    Wrong,
    differ,
    same,
)
from course_utils.checks.layer_checks import fits_everywhere
from course_utils.checks.wire import Ask

LAYERS = ("W_Q", "W_K", "W_V", "W_O")
# label: (d_model, num_heads, the calls as (module, B, T), where the module is reset before)
SCENES = {
    "whole": (8, 2, [(0, 2, 6)]),
    "one by one": (8, 2, [(0, 2, 1)] * 5),
    "pieces": (6, 3, [(0, 2, 3), (0, 2, 1), (0, 2, 4), (0, 2, 2)]),
    "kept": (8, 4, [(0, 2, 3), (0, 2, 1), (0, 2, 2)]),
    "reset": (8, 2, [(0, 2, 3), (0, 2, 2)]),
    "other batch": (8, 2, [(0, 2, 3), (0, 3, 2)]),
    "two modules": (8, 2, [(0, 2, 3), (1, 2, 2), (0, 2, 1)]),
    "batch of one": (4, 1, [(0, 1, 2), (0, 1, 1)]),
    "steep": (4, 1, [(0, 1, 5)]),
}
# What these scenes ask about happens after the first call.
LATER = ("one by one", "pieces", "kept", "reset", "other batch", "two modules")


def parameters(rng: np.random.Generator, d_model: int) -> dict:
    named = {}
    for layer in LAYERS:
        named[f"{layer}.weight"] = rng.standard_normal((d_model, d_model)) * 1.2 / d_model**0.5
        named[f"{layer}.bias"] = 0.3 * rng.standard_normal(d_model)
    return {"named": named}


def steep(rng, x: np.ndarray, given: dict) -> np.ndarray:
    """A sequence with scores so large that a mask that fills in -100 does not hide the future."""
    while True:
        x = 15 * rng.standard_normal(x.shape)
        Q, K = (x[0] @ given[f"{n}.weight"].T + given[f"{n}.bias"] for n in ("W_Q", "W_K"))
        scores = np.where(np.tri(len(Q)), Q @ K.T / np.sqrt(x.shape[-1]), -np.inf)
        if scores.max(axis=1).min() < -150:
            return x


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = []
    for label, (d_model, num_heads, calls) in SCENES.items():
        modules = 1 + max(module for module, *_ in calls)
        fill = parameters(rng, d_model)
        script = [{"module": module, "fill": fill} for module in range(modules)]
        for number, (module, B, T) in enumerate(calls):
            if number == 1 and label == "kept":
                script.append({"module": module, "fill": parameters(rng, d_model)})
            if number == 1 and label in ("reset", "other batch"):
                script.append({"module": module, "method": "reset"})
            x = rng.standard_normal((B, T, d_model))
            if label == "steep":
                x = steep(rng, x, fill["named"])
            script.append({"module": module, "args": [x]})
        options = {
            "target": "CachedSelfAttention",
            "init": [d_model, num_heads],
            "modules": modules,
            "script": script,
        }
        questions.append(Ask(label, "steps", options))
    return questions


def read(e: Evidence, label: str) -> list[np.ndarray]:
    """What each call of a scene returned."""
    d_model, _, calls = SCENES[label]
    e.reply(label)  # an error of the student's own needs no more words
    found = []
    for number, (_, B, T) in enumerate(calls):
        try:
            found += e.outputs(label, (B, T, d_model), prefix=f"call{number}_")
        except Wrong as wrong:
            raise Wrong(f"{call_name(label, number)}: {wrong.message}", wrong.hint) from None
    return found


def call_name(label: str, number: int) -> str:
    module, B, T = SCENES[label][2][number]
    which = f" of module {module + 1}" if label == "two modules" else ""
    positions = "1 position" if T == 1 else f"{T} positions"
    return f"Call {number + 1}{which} ({positions}, a batch of {B})"


CAUSAL = (
    "the output is not that of causal self-attention.",
    "Position i attends to positions 0 to i: scores / sqrt(D / num_heads), mask, softmax, values, "
    "heads joined side by side, W_O.",
)


def scene_matches(label: str, message: str, hint: str) -> Callable[[Evidence], None]:
    """Report `message` for a call that differs; before the first of several nothing has happened."""

    def holds(e: Evidence) -> None:
        expected = e.expected(label)
        for number, got in enumerate(read(e, label)):
            fresh = number == 0 and label in LATER
            said, help_ = CAUSAL if fresh else (message, hint)
            same(
                expected[f"right/call{number}"],
                got,
                e.tolerance(label),
                f"{call_name(label, number)}: {said}",
                help_,
                ("position", "component"),
            )

    return holds


whole_matches = scene_matches("whole", *CAUSAL)
steps_match = scene_matches(
    "one by one",
    "the output is not that of causal self-attention over the whole sequence.",
    "Append the new key and value to those kept; the new query attends to all of them.",
)
pieces_match = scene_matches(
    "pieces",
    "the output is not that of causal self-attention over the whole sequence.",
    "With S old keys, new position i may see the first S + i + 1: the mask has T rows and S + T "
    "columns.",
)
kept_matches = scene_matches(
    "kept",
    "the output is wrong when the parameters change after call 1.",
    "Keep keys and values, not inputs. A new call projects only its new positions.",
)
reset_matches = scene_matches(
    "reset",
    "the output is not that of a new sequence, although reset() was called before.",
    "reset() should discard the kept keys and values.",
)
other_batch_matches = scene_matches(
    "other batch",
    "after reset(), a batch of another size should work.",
    "reset() should discard the kept keys and values.",
)
modules_match = scene_matches(
    "two modules",
    "the output is wrong when two modules are called in turn.",
    "Keep keys and values on `self`, not on the class or in a global variable.",
)
one_matches = scene_matches(
    "batch of one",
    "the output is wrong for a batch of one with one head.",
    "squeeze() without an axis removes every axis of size one.",
)


steep_matches = scene_matches(
    "steep",
    "with large scores, positions see the future: the number you fill in is not low enough.",
    "Scores can be far below -100. Fill with minus infinity (-1e9 is low enough too).",
)


def causal(e: Evidence) -> None:
    whole_matches(e)
    steep_matches(e)


def reset_works(e: Evidence) -> None:
    reset_matches(e)
    other_batch_matches(e)


def left_alone(e: Evidence) -> None:
    one_matches(e)
    modules_match(e)
    for number, step in enumerate(s for s in e.options("pieces")["script"] if "args" in s):
        given = step["args"][0]
        if differ(given, e.array("pieces", f"after{number}", given.shape), e.tolerance("pieces")):
            raise Wrong(
                "Your module changes its input `x`.",
                "Index assignment, += and functions that end in an underscore change a tensor in place.",
            )


# ---- misconceptions -----------------------------------------------------------


def returned(e: Evidence, label: str) -> list[np.ndarray] | None:
    try:
        arrays = e.reply(label).arrays
    except Wrong:
        return None
    return [arrays[f"call{number}_0"] for number in range(len(SCENES[label][2]))]


def returns_all_positions(e: Evidence) -> bool:
    d_model, _, calls = SCENES["one by one"]
    second = e.reply("one by one").arrays["call1_0"]
    return second.shape == (calls[0][1], 2, d_model)


def input_changed(e: Evidence) -> bool:
    step = next(s for s in e.options("whole")["script"] if "args" in s)
    return differ(step["args"][0], e.reply("whole").arrays["after0"], 1e-6)


exercise = Check(
    id="cached-self-attention",
    asks=asks,
    properties=(
        Property("one call over a sequence is causal self-attention", 1, causal),
        Property("position by position gives the same outputs", 1, steps_match),
        Property("pieces of any length give the same outputs", 0.5, pieces_match),
        Property("keys and values are kept, not recomputed", 1, kept_matches),
        Property("reset() starts a new sequence", 0.25, reset_works),
        Property(
            "each module has its own cache, a batch of one works, inputs are unchanged",
            0.25,
            left_alone,
        ),
    ),
    misconceptions=(
        Misconception(
            "changes-its-input",
            "Your module changes the tensor that it is given.",
            "Write x = x / 2 rather than x /= 2, and avoid functions that end in an underscore.",
            input_changed,
            beside=True,
        ),
        Misconception(
            "returns-all-positions",
            "A call returns the outputs of all positions so far, not just those of the new ones.",
            "Only the new positions have queries: T rows go in, T rows come out.",
            returns_all_positions,
        ),
        Misconception(
            "no-cache",
            "Nothing is kept: each call attends only to its own positions.",
            "Store keys and values on self, and append the new ones at each call.",
        ),
        Misconception(
            "own-call-missing",
            "A position attends to the earlier calls, but not to itself.",
            "Add the new keys and values first, then attend.",
        ),
        Misconception(
            "last-call-only",
            "Only the keys and values of the last call are kept; older ones are lost.",
            "Keep the joined tensors, not just the new part.",
        ),
        Misconception(
            "first-call-only",
            "Only the keys and values of the first call are kept; later ones are not added.",
            "Store the joined tensors on self at every call.",
        ),
        Misconception(
            "mask-from-the-top-left",
            "The mask starts at the first key: with S keys kept, new position i sees only i + 1 "
            "of them.",
            "New position i may see S + i + 1 keys. (is_causal=True also starts at the first key.)",
        ),
        Misconception(
            "new-keys-first",
            "New keys are put before the old ones, so the mask hides the wrong ones.",
            "Join them so that the oldest position comes first.",
        ),
        Misconception(
            "no-mask",
            "There is no causal mask: the positions of one call see the future.",
            "Set the scores of later positions to minus infinity before the softmax.",
        ),
        Misconception(
            "mask-in-first-call-only",
            "The first call is masked, but in later calls each position sees the whole call.",
            "A later call with T > 1 needs a mask too, with T rows and one column per key so far.",
        ),
        Misconception(
            "heads-by-reshape",
            "The heads are cut with a single reshape, which mixes positions and heads.",
            "First cut D into heads, [B, T, num_heads, d], then swap the axes of positions and heads.",
        ),
        Misconception(
            "heads-not-turned-back",
            "The heads are not transposed back before they are joined, so positions get mixed up.",
            "Swap the axes of heads and positions back first, then reshape to [B, T, D].",
        ),
        Misconception(
            "one-head",
            "There is one large head: num_heads has no effect.",
            "Cut queries, keys and values into num_heads parts of D / num_heads numbers.",
        ),
        Misconception(
            "no-scale",
            "Your scores are not scaled.",
            "Divide them by the square root of a head's size, D / num_heads.",
        ),
        Misconception(
            "scale-of-model-size",
            "Your scores are divided by the square root of d_model, not of a head's size.",
            "A head's dot product has D / num_heads terms, and that is the d in sqrt(d).",
        ),
        Misconception(
            "scaled-by-d",
            "Your scores are divided by the head's size, not by its square root.",
            "The scale is the square root of D / num_heads.",
        ),
        Misconception(
            "no-output-projection",
            "The heads are joined, but W_O is not used.",
            "The last step is the output projection, W_O.",
        ),
        Misconception(
            "recomputed",
            "You keep the inputs and recompute all keys and values at each call.",
            "Project only the new positions, and keep the results.",
        ),
        Misconception(
            "shared-cache",
            "All modules share one cache.",
            "Create the cache in reset(), on self. A list on the class or as a default argument "
            "is shared.",
        ),
        Misconception(
            "reset-forgotten",
            "reset() does not make the module forget.",
            "It should discard the kept keys and values.",
        ),
    ),
    choices=(
        (
            "no-cache",
            "no-mask",
            "mask-from-the-top-left",
            "last-call-only",
            "first-call-only",
            "own-call-missing",
            "new-keys-first",
            "mask-in-first-call-only",
        ),
        ("no-scale", "scale-of-model-size", "scaled-by-d"),
        ("one-head", "heads-by-reshape", "heads-not-turned-back"),
        ("no-output-projection",),
        ("recomputed",),
        ("reset-forgotten",),
        ("shared-cache",),
    ),
    fits=fits_everywhere(returned),
)
