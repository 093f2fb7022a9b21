"""grouped_attention: consecutive heads share the keys and values of their group."""

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong, same
from course_utils.checks.layer_checks import (
    changes_its_input,
    cut_off,
    fits_everywhere,
    output_matches,
    refused,
    slopes_match,
    stays_and_repeats,
)
from course_utils.checks.layer_parameters import some_mask
from course_utils.checks.variants import misconceptions_of_weights
from course_utils.checks.wire import Ask

SIZES = {  # label: B, num_heads, groups, T, S, d
    "main": (2, 6, 2, 4, 5, 3),
    "three groups": (1, 6, 3, 3, 4, 5),
    "one group": (2, 3, 1, 4, 6, 2),
    "own group": (2, 3, 3, 2, 5, 4),
    "masked": (2, 4, 2, 4, 5, 3),
    "single": (1, 1, 1, 1, 1, 2),
}
NAMES = ("query", "key", "value")
EQUAL, MASKED = "each head reads its group", "no weight goes where the mask is False"


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = []
    for label, (B, num_heads, groups, T, S, d) in SIZES.items():
        args = [1.3 * rng.standard_normal((B, num_heads, T, d))]
        args += [1.3 * rng.standard_normal((B, groups, S, d)) for _ in range(2)]
        options = {"target": "grouped_attention", "args": args}
        if label == "masked":
            args.append(some_mask(rng, T, S))
        if label == "main":
            options["upstream"] = [rng.standard_normal(args[0].shape)]
            options["directions"] = [rng.standard_normal(a.shape) for a in args]
        questions.append(Ask(label, "call", options))
    bad = [rng.standard_normal((2, n, 4, 3)) for n in (5, 2, 2)]
    return [*questions, Ask("bad groups", "call", {"target": "grouped_attention", "args": bad})]


def read(e: Evidence, label: str) -> list[np.ndarray]:
    B, num_heads, _, T, _, d = SIZES[label]
    return e.outputs(label, (B, num_heads, T, d))


def mask_holds(e: Evidence) -> None:
    same(
        e.expected("masked")["right/0"],
        read(e, "masked")[0],
        e.tolerance("masked"),
        "The output is wrong with a mask.",
        "Set the scores to minus infinity where the mask is False, before the softmax.",
        ("position", "component"),
    )


def stays(e: Evidence) -> None:
    B, num_heads, _, T, _, d = SIZES["main"]
    stays_and_repeats(e, "main", [(B, num_heads, T, d)], NAMES)
    slopes_match(e, "main", NAMES)


def returns_weights(e: Evidence) -> bool:
    """The result has the shape of the weights."""
    B, num_heads, _, T, S, _ = SIZES["main"]
    try:
        e.outputs("main", (B, num_heads, T, S))
    except Wrong:
        return False
    return True


TELL = {
    "groups-in-turn": (
        "The heads take the groups in turn (0, 1, 0, 1, ...); consecutive heads should share one.",
        "repeat gives 0, 1, 0, 1, 0, 1; repeat_interleave gives 0, 0, 0, 1, 1, 1.",
    ),
    "first-group-for-all": (
        "All heads read the first group.",
        "Head h reads group h // (num_heads / groups).",
    ),
    "mean-of-groups": (
        "All heads read the mean of the groups.",
        "Groups are not mixed: head h reads group h // (num_heads / groups).",
    ),
    "keys-as-values": (
        "The weights are multiplied with the keys, not with the values.",
        "The output is the weighted sum of the values.",
    ),
    "mask-ignored": (
        "The mask has no effect.",
        "Set the scores to minus infinity where the mask is False, before the softmax.",
    ),
    "mask-inverted": (
        "The mask is inverted: you forbid what it allows.",
        "True means that attention is allowed. Fill the scores where the mask is False.",
    ),
    "mask-after-softmax": (
        "The mask is applied after the softmax, so the rows no longer sum to one.",
        "Put minus infinity into the scores, then apply the softmax.",
    ),
    "masked-with-zero": (
        "Forbidden scores are set to 0, but exp(0) is 1, so they still get weight.",
        "Only minus infinity becomes a weight of 0.",
    ),
}

exercise = Check(
    id="grouped-queries",
    asks=asks,
    properties=(
        Property(
            EQUAL,
            1,
            output_matches(
                read,
                ("main", "three groups", "one group", "own group", "single"),
                "The output is not attention with shared keys and values.",
                "Compare it with the loop: head h reads group h // (num_heads / groups).",
            ),
        ),
        Property(MASKED, 0.5, mask_holds),
        Property(
            "groups that do not divide the heads are refused, with both numbers",
            0.25,
            lambda e: refused(e, "bad groups", "2 groups for 5 heads", (5, 2)),
            needs=(EQUAL,),
        ),
        Property("gradients flow, inputs are unchanged", 0.25, stays, needs=(EQUAL,)),
    ),
    misconceptions=(
        changes_its_input(),
        Misconception(
            "returns-the-weights",
            "You return the weights, not the weighted sum of the values.",
            "One step is left: multiply the weights by the values.",
            returns_weights,
        ),
        *(Misconception(name, *words) for name, words in TELL.items()),
        *misconceptions_of_weights(("no-scale", "scaled-by-d", "softmax-over-queries")),
        cut_off("main", NAMES),
    ),
    choices=(
        ("groups-in-turn", "first-group-for-all", "mean-of-groups"),
        ("no-scale", "scaled-by-d"),
        ("softmax-over-queries",),
        ("mask-ignored", "mask-inverted", "mask-after-softmax", "masked-with-zero"),
        ("keys-as-values",),
    ),
    fits=fits_everywhere(),
)
