"""DotProdAttention: weights softmax(s_t . h_s), output tanh(W_c [c_t; s_t]).

The weights have no parameters, so they are compared as they are. The output is judged without
knowing what its parameters are called: arctanh of it must be one affine map of [c_t; s_t], fitted
on half of the rows and verified on the other half.
"""

from typing import Any

import numpy as np

from course_utils.checks import variants
from course_utils.checks.equations import (
    dot,
    remembered,
    softmax,
    softmax_gradient,
    weighted_sum,
)
from course_utils.checks.judge import (
    Check,
    Evidence,
    Misconception,
    Mistakes,
    Property,
    Wrong,
    differ,
    same,
)
from course_utils.checks.layer_checks import (
    batch_of_one_lost,
    calls_differ,
    changes_its_input,
    dropout,
    gradients_match,
    graph_cut,
    new_layers_each_call,
    returned,
    stays_and_repeats,
)
from course_utils.checks.variants import misconceptions_of_weights
from course_utils.checks.wire import Ask

NAMES = ("query", "states")
SIZES = {  # label: B, T, S, D
    "main": (4, 7, 5, 3),
    "refilled": (4, 7, 5, 3),
    "wide": (2, 3, 6, 5),
    "square": (2, 4, 4, 3),
    "batch of one": (1, 3, 4, 3),
    "one step": (2, 1, 4, 3),
    "one state": (2, 3, 1, 3),
    "single": (1, 1, 1, 2),
}

# Up to here arctanh gives back what went into tanh, in float64 and in float32.
STEEPEST, STEEPEST_32 = 10.0, 3.0


def asks(rng: np.random.Generator) -> list[Ask]:
    questions: list[Ask] = []
    main: list[np.ndarray] = []
    for label, (B, T, S, D) in SIZES.items():
        args = [0.7 * rng.standard_normal((B, T, D)), 0.7 * rng.standard_normal((B, S, D))]
        if label == "main":
            main = args
        if label == "refilled":  # the same question to other parameters
            args = main
        options: dict[str, Any] = {
            "target": "DotProdAttention",
            "init": [D],
            "args": args,
            "fill": {"pool": 0.3 * rng.standard_normal(997)},
        }
        if label == "main":
            options["other"] = [a[:-1, :-1] for a in args]
            options["upstream"] = [rng.standard_normal((B, T, D)), rng.standard_normal((B, T, S))]
        else:
            options["once"] = True
        questions.append(Ask(label, "call", options))
    return questions


@remembered
def scores_of(query: np.ndarray, states: np.ndarray) -> np.ndarray:
    """z_ts = s_t . h_s, for every sentence of the batch."""
    (B, T, _), S = query.shape, states.shape[1]
    return np.array(
        [[[dot(query[b, t], states[b, s]) for s in range(S)] for t in range(T)] for b in range(B)]
    )


@remembered
def weights_of(query: np.ndarray, states: np.ndarray) -> np.ndarray:
    return np.array([[softmax(row) for row in sentence] for sentence in scores_of(query, states)])


def contexts_of(weights: np.ndarray, states: np.ndarray) -> np.ndarray:
    return np.array(
        [[weighted_sum(row, states[b]) for row in weights[b]] for b in range(len(weights))]
    )


@remembered
def right_contexts_of(query: np.ndarray, states: np.ndarray) -> np.ndarray:
    return contexts_of(weights_of(query, states), states)


def read(e: Evidence, label: str) -> tuple[np.ndarray, np.ndarray]:
    B, T, S, D = SIZES[label]
    output, weights = e.outputs(label, (B, T, D), (B, T, S))
    return output, weights


def read_weights(e: Evidence, label: str) -> np.ndarray:
    B, T, S, _ = SIZES[label]
    e.reply(label)
    if e.reply(label).notes.get("out_count") != "2":
        read(e, label)  # says that two results are wanted
    return e.array(label, "out1", (B, T, S), ordinal=1)


# ---- properties -------------------------------------------------------------


def weights_match(e: Evidence) -> None:
    for label in ("main", "wide", "square"):
        got, expected = read_weights(e, label), weights_of(*e.args(label))
        same(
            expected,
            got,
            e.tolerance(label),
            "The weights are not the softmax of the dot products.",
            "Compute z_ts = s_t . h_s for one query by hand, and compare a single row.",
            ("target step t", "source position s"),
        )


def weights_are_shares(e: Evidence) -> None:
    got = read_weights(e, "main")
    sums = got.sum(axis=-1)
    if differ(np.ones_like(sums), sums, e.tolerance("main")) or got.min() < 0:
        raise Wrong(
            "The weights of a step do not sum to one over the source.",
            "Which axis holds the source positions? Take the softmax along that axis.",
            np.ones_like(sums),
            sums,
            ("sentence", "target step t"),
        )
    if not differ(got[:, :1], got, 1e-4):
        raise Wrong("The weights are the same at every step: they do not depend on the query.")


def fit(e: Evidence, label: str) -> tuple[np.ndarray, np.ndarray]:
    """The affine map from [c_t; s_t] to arctanh of the output, and the context it fits.

    The context may be ours or that of the student's own weights: a wrong scale costs the
    points of the weights, not those of the output as well.
    """
    query, states = e.args(label)
    output, weights = read(e, label)
    if np.abs(output).max() > 1:  # large sums round to 1 itself
        raise Wrong(
            "The output leaves the range from -1 to 1, so it can't be a tanh.",
            "The attentional hidden state is tanh(W_c [c_t; s_t]).",
        )
    for candidate in (weights_of(query, states), weights):
        ours = candidate is not weights
        context = right_contexts_of(query, states) if ours else contexts_of(weights, states)
        steepest = STEEPEST if e.tolerance(label) < 1e-5 else STEEPEST_32
        solution = tanh_fit(np.concatenate([context, query], axis=-1), output, steepest)
        if solution is not None:
            return solution, candidate
    raise Wrong(
        "The output is not tanh of a linear map of the context and the query, [c_t; s_t].",
        "Concatenate c_t and s_t along the last axis, then apply one linear layer, then tanh.",
    )


def tanh_fit(inputs: np.ndarray, output: np.ndarray, steepest: float) -> np.ndarray | None:
    """The affine map whose tanh is the output in every row, or None.

    It is fitted where the tanh is not so near to 1 that its argument is lost in rounding: weights
    that do not sum to one drive some rows there, on some seeds, and must cost the same on all.
    """
    rows, wanted = inputs.reshape(-1, inputs.shape[-1]), output.reshape(-1, output.shape[-1])
    clear = (np.abs(wanted) < np.tanh(steepest)).all(axis=1)
    if clear.sum() < 2 * (rows.shape[1] + 1):  # half of them must fix the map
        return None
    solution = affine_fit(rows[clear], np.arctanh(wanted[clear]))
    if solution is None or differ(wanted, np.tanh(rows @ solution[:-1] + solution[-1]), 1e-5):
        return None
    return solution


def affine_fit(inputs: np.ndarray, outputs: np.ndarray, tolerance=1e-5) -> np.ndarray | None:
    """The affine map (with its bias as last row) that holds for every row, or None."""
    rows = inputs.reshape(-1, inputs.shape[-1])
    rows = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    wanted = outputs.reshape(-1, outputs.shape[-1])
    # Every second row, so that both halves have all sentences.
    solution, *_ = np.linalg.lstsq(rows[::2], wanted[::2], rcond=None)
    return None if differ(wanted, rows @ solution, tolerance) else solution


def blocks(e: Evidence, label: str) -> tuple[np.ndarray, np.ndarray]:
    """The parts of the fitted map that read the context and the query."""
    solution, _ = fit(e, label)
    D = SIZES[label][3]
    return solution[:D], solution[D : 2 * D]


def output_matches(e: Evidence) -> None:
    for_context, for_query = blocks(e, "main")
    # Far below what chance gives: random blocks come near rank two now and then.
    tiny = 1e-9 if e.tolerance("main") < 1e-5 else 1e-6
    for block, what in ((for_context, "context c_t"), (for_query, "query s_t")):
        if np.linalg.matrix_rank(block, tol=tiny) < len(block):
            raise Wrong(
                f"The output does not use the whole of the {what}.",
                "The linear layer takes both: it maps 2D numbers to D.",
            )
    if not differ(for_context, for_query, 1e-5):
        raise Wrong(
            "Context and query are added, not concatenated: both go through the same parameters.",
            "torch.cat([context, query], dim=-1) keeps them apart.",
        )
    if not differ(blocks(e, "refilled")[0], for_context, 1e-5):
        raise Wrong(
            "The output layer has nothing to learn: its result stays the same when the parameters change.",
            "Create the linear layer in __init__, so that its parameters belong to the module.",
        )


def any_size_works(e: Evidence) -> None:
    for label in ("batch of one", "one step", "one state", "single", "wide"):
        B, T, S, D = SIZES[label]
        try:
            output, weights = read(e, label)
        except Wrong as wrong:
            raise Wrong(f"With B={B}, T={T}, S={S}, D={D}: {wrong.message}", wrong.hint) from None
        if not differ(weights_of(*e.args("main")), read_weights(e, "main"), 1e-4):
            same(
                weights_of(*e.args(label)),
                weights,
                e.tolerance(label),
                f"With B={B}, T={T}, S={S}, D={D}, the weights are wrong.",
            )
        if np.abs(output).max() > 1:
            raise Wrong(f"With B={B}, T={T}, S={S}, D={D}, the output is not a tanh.")


def calls_agree(e: Evidence) -> None:
    B, T, S, D = SIZES["main"]
    stays_and_repeats(e, "main", [(B, T, D), (B, T, S)], NAMES)


def gradients_right(e: Evidence) -> None:
    gradients_match(e, "main", NAMES, _gradients(e))


def _gradients(e: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """What the gradients at query and states must be, by the chain rule, in loops."""
    query, states = e.args("main")
    flow_out, flow_weights = e.options("main")["upstream"]
    solution, weights = fit(e, "main")
    output, _ = read(e, "main")
    B, T, _, D = SIZES["main"]
    at_query, at_states = np.zeros_like(query), np.zeros_like(states)
    for b in range(B):
        for t in range(T):
            at_joined = solution[: 2 * D] @ (flow_out[b, t] * (1 - output[b, t] ** 2))
            at_context = at_joined[:D]
            at_query[b, t] += at_joined[D:]
            row = weights[b, t]
            at_scores = softmax_gradient(row, states[b] @ at_context + flow_weights[b, t])
            at_states[b] += np.outer(row, at_context) + np.outer(at_scores, query[b, t])
            at_query[b, t] += at_scores @ states[b]
    return at_query, at_states


# ---- misconceptions -----------------------------------------------------------

OUTPUTS = {
    "no-tanh": ("The tanh is missing.", "The attentional hidden state is tanh(W_c [c_t; s_t])."),
    "sigmoid-for-tanh": (
        "The output goes through a sigmoid, but it should go through tanh.",
        "tanh ranges from -1 to 1, the sigmoid from 0 to 1.",
    ),
    "tanh-before-layer": (
        "The tanh comes before the linear layer, not after it.",
        "First compute W_c [c_t; s_t], then take tanh of the result.",
    ),
    "query-left-out": (
        "The query is left out: the output depends on the context alone.",
        "Concatenate c_t and s_t before the linear layer.",
    ),
    "context-left-out": (
        "The context is left out: the output depends on the query alone.",
        "Concatenate c_t and s_t before the linear layer.",
    ),
    "added-not-concatenated": (
        "Context and query are added, not concatenated.",
        "torch.cat([context, query], dim=-1) keeps them apart.",
    ),
    "nothing-to-learn": (
        "The output layer has no parameters for training to change.",
        "nn.Linear(2 * hidden_size, hidden_size) in __init__ gives the module its W_c.",
    ),
}
SCALES = ("scaled-by-sqrt-d", "scaled-by-d", "multiplied-by-sqrt-d")
RULES = tuple(variants.RULES)
CONTEXT_AND_QUERY = "right"


def arrays_of(e: Evidence, label: str, mistakes: Mistakes) -> tuple[np.ndarray, np.ndarray]:
    """Output and weights as they are if these mistakes were made."""
    found = returned(e, label)
    if found is None:
        raise Wrong("It raised an error.")
    output, weights = found
    if "outputs-swapped" in mistakes:
        output, weights = weights, output
    if "weights-transposed" in mistakes:
        weights = weights.swapaxes(-1, -2)
    B, T, S, D = SIZES[label]
    if output.shape != (B, T, D) or weights.shape != (B, T, S):
        raise Wrong("Other shapes.")
    return output, weights


def weights_agree(e: Evidence, label: str, mistakes: Mistakes) -> bool:
    query, states = e.args(label)
    scores = scores_of(query, states)
    if "reshape-for-transpose" in mistakes:
        B, S, D = states.shape
        scores = np.einsum("btd,bds->bts", query, states.reshape(B, D, S))
    divisor = next((variants.SCALES[n](SIZES[label][3]) for n in SCALES if n in mistakes), 1.0)
    expected = variants.weights(scores, divisor, mistakes)
    if np.isnan(expected).any():  # a single position, without which nothing is left
        return SIZES[label][2] == 1
    return not differ(expected, arrays_of(e, label, mistakes)[1], 1e-4)


@remembered
def forms_of(e: Evidence, mistakes: Mistakes) -> frozenset[str]:
    """What the output may be made of: `right`, or names of mistakes.

    The context may be that of the weights returned or, where those are scores or logarithms, that
    of the right ones.
    """
    query, states = e.args("main")
    output, weights = arrays_of(e, "main", mistakes)
    again = output if calls_differ(e, "main", 0) else arrays_of(e, "refilled", mistakes)[0]
    own = np.einsum("bts,bsd->btd", weights, states)
    steepest = STEEPEST if e.tolerance("main") < 1e-5 else STEEPEST_32
    found: set[str] = set()
    for context in (own, right_contexts_of(query, states)):
        features = np.concatenate([context, query], -1)
        if np.isfinite(features).all() and np.isfinite(output).all():
            found |= forms_of_features(features, output, again, steepest)
    return frozenset(found)


def forms_of_features(features, output, again, steepest: float) -> set[str]:
    found = set()
    if affine_fit(features, output) is not None:
        found.add("no-tanh")
    is_share = (0 < output).all() and (output < 1).all()
    if is_share and affine_fit(features, np.log(output / (1 - output))) is not None:
        found.add("sigmoid-for-tanh")
    if affine_fit(np.tanh(features), output) is not None:
        found.add("tanh-before-layer")
    solution = tanh_fit(features, output, steepest)
    if solution is not None and np.abs(output).max() <= 1:
        other = None if again is output else tanh_fit(features, again, steepest)
        found |= forms_of_map(features, solution, other)
    return found


def forms_of_map(features: np.ndarray, solution: np.ndarray, again) -> set[str]:
    """What an affine map of [c_t; s_t], and that of other parameters, reveals about the output."""
    D = features.shape[-1] // 2
    rows = features.reshape(-1, 2 * D)
    context, query = solution[:D], solution[D : 2 * D]
    # If contexts do not vary in every direction, their map is not known.
    if np.linalg.matrix_rank(rows - rows.mean(axis=0), tol=1e-6) < 2 * D:
        return {CONTEXT_AND_QUERY, "context-left-out"} if np.abs(query).max() > 1e-6 else set()
    if again is not None and not differ(solution, again, 1e-6):
        return {"nothing-to-learn"}
    if np.abs(query).max() < 1e-6:
        return {"query-left-out"}
    if np.abs(context).max() < 1e-6:
        return {"context-left-out"}
    if not differ(context, query, 1e-6):
        return {"added-not-concatenated"}
    return {CONTEXT_AND_QUERY}


def fits(e: Evidence, mistakes: Mistakes) -> bool:
    returns = mistakes & {"outputs-swapped", "weights-transposed"}
    if not all(weights_agree(e, label, mistakes) for label in SIZES):
        return False
    if "zero-weights" in mistakes:  # whatever the output is made of
        return True
    form = next((name for name in OUTPUTS if name in mistakes), CONTEXT_AND_QUERY)
    return form in forms_of(e, RETURNED[returns])


# One object for each, so that `forms_of` is remembered.
RETURNED = {
    names: names for names in map(frozenset, ((), ("outputs-swapped",), ("weights-transposed",)))
}


def _attends_to_itself(e: Evidence) -> bool:
    query, _ = e.args("main")
    B, T, _ = query.shape
    return e.reply("main").arrays["out1"].shape == (B, T, T)


def _only_square(e: Evidence) -> bool:
    read(e, "square")
    try:
        read(e, "main")
    except Wrong:
        return True
    return False


exercise = Check(
    id="dot-prod-attention",
    asks=asks,
    properties=(
        Property("the weights are softmax(s_t · h_s)", 2.5, weights_match),
        Property("the weights of each step sum to one over the source", 1, weights_are_shares),
        Property("the output is tanh(W_c [c_t; s_t])", 2.5, output_matches),
        Property(
            "any batch, any lengths, also one",
            0.5,
            any_size_works,
            needs=("the weights of each step sum to one over the source",),
        ),
        Property(
            "two calls agree and the inputs stay as they were",
            0.5,
            calls_agree,
            needs=("the output is tanh(W_c [c_t; s_t])",),
        ),
        Property(
            "gradients flow back to query and states",
            1,
            gradients_right,
            needs=("the weights are softmax(s_t · h_s)", "the output is tanh(W_c [c_t; s_t])"),
        ),
    ),
    misconceptions=(
        changes_its_input(),
        Misconception(
            "outputs-swapped",
            "The two results are returned in the wrong order.",
            "Return the attentional hidden state first, then the weights.",
        ),
        dropout(),
        Misconception(
            "attends-to-itself",
            "The query attends to itself, but keys and values should be the encoder's states.",
            "The scores are s_t . h_s: the decoder's output with each encoder state.",
            _attends_to_itself,
        ),
        Misconception(
            "weights-transposed",
            "The weights are transposed: the source comes before the target.",
            "The weights have the shape [B, T, S], with one row per target step.",
        ),
        Misconception(
            "reshape-for-transpose",
            "The states are reshaped, but they should be transposed: reshaping mixes the numbers "
            "of different positions.",
            "reshape keeps the order of the numbers; transpose(1, 2) swaps the axes.",
        ),
        *misconceptions_of_weights((*SCALES, "negative-scores", *RULES)),
        Misconception(
            "only-square",
            "It works only if source and target have the same length.",
            "T and S are different numbers. Look for a size that you took from the wrong tensor.",
            _only_square,
        ),
        new_layers_each_call("The output", 0),
        *(Misconception(name, *words) for name, words in OUTPUTS.items()),
        batch_of_one_lost(("batch of one", "one step"), read),
        graph_cut("main", NAMES, _gradients),
    ),
    choices=(
        SCALES,
        ("negative-scores",),
        RULES,
        ("reshape-for-transpose",),
        tuple(OUTPUTS),
        ("outputs-swapped", "weights-transposed"),
    ),
    fits=fits,
)
