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


def scene_matches(label: str, message: str, hint: str) -> Callable[[Evidence], None]:
    def holds(e: Evidence) -> None:
        expected = e.expected(label)
        for number, got in enumerate(read(e, label)):
            same(
                expected[f"right/call{number}"],
                got,
                e.tolerance(label),
                f"{call_name(label, number)}: {message}",
                hint,
                ("position", "component"),
            )

    return holds


whole_matches = scene_matches(
    "whole",
    "the output is not that of causal self-attention.",
    "Position i attends to positions 0 to i: scores / sqrt(D / num_heads), mask, softmax, values, "
    "heads side by side again, W_O.",
)
steps_match = scene_matches(
    "one by one",
    "the output differs from that over the whole sequence at once.",
    "Add the new key and value behind those kept; the new query attends to all of them.",
)
pieces_match = scene_matches(
    "pieces",
    "the output differs from that over the whole sequence at once.",
    "With S old keys, new position i may see the first S + i + 1: the mask has T rows and S + T "
    "columns.",
)
kept_matches = scene_matches(
    "kept",
    "the output is wrong where the parameters change after call 1.",
    "Keep keys and values, not inputs; of a new call, only the new positions are projected.",
)
reset_matches = scene_matches(
    "reset",
    "the output is not that of a new sequence, though reset() came before it.",
    "reset() forgets the keys and the values.",
)
other_batch_matches = scene_matches(
    "other batch",
    "after reset(), a batch of another size should work.",
    "reset() forgets the keys and the values.",
)
modules_match = scene_matches(
    "two modules",
    "the output is wrong where two modules take turns.",
    "Keep keys and values in `self`, set in reset(): not in the class, not in a global variable.",
)
one_matches = scene_matches(
    "batch of one",
    "the output is wrong for a batch of one with one head.",
    "squeeze() without a number removes every axis of size one.",
)


steep_matches = scene_matches(
    "steep",
    "with large scores, positions see the future: the number that you fill in is not low enough.",
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
                "Operations that end in an underscore, += and index assignment change in place.",
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
        Property("keys and values are kept, not computed again", 1, kept_matches),
        Property("reset() starts a new sequence", 0.25, reset_works),
        Property(
            "each module keeps its own, batch of one works, inputs stay as they were",
            0.25,
            left_alone,
        ),
    ),
    misconceptions=(
        Misconception(
            "changes-its-input",
            "Your module changes the tensor it is given.",
            "Use x = x / 2, not x /= 2, and no functions that end in an underscore.",
            input_changed,
            beside=True,
        ),
        Misconception(
            "returns-all-positions",
            "A call returns the outputs of all positions so far, not only of the new ones.",
            "Queries are made for the new positions only; T rows go in, T rows come out.",
            returns_all_positions,
        ),
        Misconception(
            "no-cache",
            "Nothing is kept: each call attends to its own positions only.",
            "Store keys and values in self, and put the new ones behind them at each call.",
        ),
        Misconception(
            "own-call-missing",
            "A position attends to the earlier calls, but not to itself.",
            "Add the new keys and values first, then attend.",
        ),
        Misconception(
            "last-call-only",
            "Only the keys and values of the last call are kept; older ones are lost.",
            "Keep the joined tensors, not only the new part.",
        ),
        Misconception(
            "first-call-only",
            "Only the keys and values of the first call are kept; later ones are not added.",
            "Store the joined tensors back into self at every call.",
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
            "torch.cat([old, new], dim=...): the oldest position comes first.",
        ),
        Misconception(
            "no-mask",
            "Positions of one call see the future: there is no causal mask.",
            "Set the scores of later positions to minus infinity before the softmax.",
        ),
        Misconception(
            "mask-in-first-call-only",
            "The first call is masked, but in a later one each position sees the whole call.",
            "A later call with T > 1 needs a mask too: T rows, and a column for every key so far.",
        ),
        Misconception(
            "heads-by-reshape",
            "The heads are cut with one reshape, which mixes positions and heads.",
            "First view as [B, T, num_heads, d], then transpose(1, 2).",
        ),
        Misconception(
            "heads-not-turned-back",
            "The heads are not turned back before they are joined, so positions get mixed.",
            "transpose(1, 2) first, then reshape to [B, T, D].",
        ),
        Misconception(
            "one-head",
            "There is one large head: num_heads has no effect.",
            "Cut queries, keys and values into num_heads parts of D / num_heads.",
        ),
        Misconception(
            "no-scale",
            "Your scores are not scaled.",
            "Divide them by the square root of a head's size, D / num_heads.",
        ),
        Misconception(
            "scale-of-model-size",
            "Your scores are divided by the square root of d_model, not of a head's size.",
            "A head's dot product has D / num_heads terms: that is the d of sqrt(d).",
        ),
        Misconception(
            "scaled-by-d",
            "Your scores are divided by the head's size, not by its square root.",
            "The scale is the square root of D / num_heads.",
        ),
        Misconception(
            "no-output-projection",
            "The heads are joined, but W_O is not used.",
            "The last step is self.W_O(...).",
        ),
        Misconception(
            "recomputed",
            "The inputs are kept, and all keys and values are computed again at each call.",
            "Project the new positions only, and keep the results.",
        ),
        Misconception(
            "shared-cache",
            "All modules share one cache.",
            "Set the cache in reset(), on self; a list in the class or as a default argument is "
            "shared.",
        ),
        Misconception(
            "reset-forgotten",
            "reset() does not make the module forget.",
            "Set the kept keys and values back to nothing.",
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
