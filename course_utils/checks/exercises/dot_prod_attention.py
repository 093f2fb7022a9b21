"""DotProdAttention: weights softmax(s_t . h_s), output tanh(W_c [c_t; s_t]).

The weights have no parameters, so they are compared as they are. The output is judged without
knowing what its parameters are called: arctanh of it must be one affine map of [c_t; s_t], fitted
on half of the rows and verified on the other half.
"""

import numpy as np

from course_utils.checks.equations import (
    dot,
    remembered,
    softmax,
    softmax_gradient,
    weighted_sum,
)
from course_utils.checks.judge import (
    Evidence,
    Exercise,
    Misconception,
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
    questions, main = [], None
    for label, (B, T, S, D) in SIZES.items():
        args = [0.7 * rng.standard_normal((B, T, D)), 0.7 * rng.standard_normal((B, S, D))]
        if label == "main":
            main = args
        if label == "refilled":  # the same question to other parameters
            args = main
        options = {
            "target": "DotProdAttention",
            "init": [D],
            "args": args,
            "fill": {"pool": 0.3 * rng.standard_normal(997)},
        }
        if label == "main":
            options["upstream"] = [rng.standard_normal((B, T, D)), rng.standard_normal((B, T, S))]
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
    return tuple(e.outputs(label, (B, T, D), (B, T, S)))


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
            "Write out z_ts = s_t . h_s for one query and compare a single row.",
            ("target step t", "source position s"),
        )


def weights_are_shares(e: Evidence) -> None:
    got = read_weights(e, "main")
    sums = got.sum(axis=-1)
    if differ(np.ones_like(sums), sums, e.tolerance("main")) or got.min() < 0:
        raise Wrong(
            "The weights of a step do not sum to one over the source.",
            "Which axis holds the source positions? Take the softmax along that one.",
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
            "The output leaves the range -1 to 1, so it is no tanh.",
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
        "Concatenate c_t and s_t on the last axis, then one linear layer, then tanh.",
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
    half = len(rows) // 2
    solution, *_ = np.linalg.lstsq(rows[:half], wanted[:half], rcond=None)
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
            "Context and query are added, not concatenated: both meet the same weights.",
            "torch.cat([context, query], dim=-1) keeps them apart.",
        )
    if not differ(blocks(e, "refilled")[0], for_context, 1e-5):
        raise Wrong(
            "The output layer has nothing to learn: it stays the same when parameters change.",
            "Make the linear layer in __init__, so that it is a parameter of the module.",
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
                f"The weights are wrong with B={B}, T={T}, S={S}, D={D}.",
            )
        if np.abs(output).max() > 1:
            raise Wrong(f"The output is no tanh with B={B}, T={T}, S={S}, D={D}.")


def calls_agree(e: Evidence) -> None:
    B, T, S, D = SIZES["main"]
    stays_and_repeats(e, "main", [(B, T, D), (B, T, S)], NAMES)


def gradients_right(e: Evidence) -> None:
    gradients_match(e, "main", NAMES, _gradients(e))


def values_right(e: Evidence) -> None:
    weights_match(e)
    output_matches(e)


def _gradients(e: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """Where the gradients at query and states must stand, by the chain rule, in loops."""
    query, states = e.args("main")
    flow_out, flow_weights = e.options("main")["upstream"]
    solution, weights = fit(e, "main")
    output, _ = read(e, "main")
    B, T, S, D = SIZES["main"]
    at_query, at_states = np.zeros_like(query), np.zeros_like(states)
    for b in range(B):
        for t in range(T):
            at_joined = solution[: 2 * D] @ (flow_out[b, t] * (1 - output[b, t] ** 2))
            at_context = at_joined[:D]
            at_query[b, t] += at_joined[D:]
            row = weights[b, t]
            at_row = np.array([dot(at_context, states[b, s]) for s in range(S)])
            at_scores = softmax_gradient(row, at_row + flow_weights[b, t])
            for s in range(S):
                at_states[b, s] += row[s] * at_context + at_scores[s] * query[b, t]
                at_query[b, t] += at_scores[s] * states[b, s]
    return at_query, at_states


# ---- misconceptions -----------------------------------------------------------


def _scores(e: Evidence) -> tuple[np.ndarray, int]:
    return scores_of(*e.args("main")), SIZES["main"][3]


def _shape(e: Evidence, label: str, name: str) -> tuple:
    return e.reply(label).arrays[name].shape


def _weights_transposed(e: Evidence) -> bool:
    B, T, S, _ = SIZES["main"]
    return _shape(e, "main", "out1") == (B, S, T)


def _outputs_swapped(e: Evidence) -> bool:
    B, T, S, D = SIZES["main"]
    return _shape(e, "main", "out0") == (B, T, S) and _shape(e, "main", "out1") == (B, T, D)


def _reshaped(e: Evidence) -> bool:
    query, states = e.args("main")
    B, S, D = states.shape
    scores = np.einsum("btd,bds->bts", query, states.reshape(B, D, S))
    powers = np.exp(scores)
    expected = powers / powers.sum(-1, keepdims=True)
    return not differ(expected, read_weights(e, "main"), 1e-4)


def _attends_to_itself(e: Evidence) -> bool:
    query, _ = e.args("main")
    return _shape(e, "main", "out1") == (query.shape[0], query.shape[1], query.shape[1])


def _no_tanh(e: Evidence) -> bool:
    query, states = e.args("main")
    output, _ = read(e, "main")
    context = right_contexts_of(query, states)
    return affine_fit(np.concatenate([context, query], -1), output) is not None


def _sigmoid_output(e: Evidence) -> bool:
    query, states = e.args("main")
    output, _ = read(e, "main")
    if output.min() <= 0 or output.max() >= 1:
        return False
    context = right_contexts_of(query, states)
    features = np.concatenate([context, query], -1)
    return affine_fit(features, np.log(output / (1 - output))) is not None


def _tanh_too_early(e: Evidence) -> bool:
    query, states = e.args("main")
    output, _ = read(e, "main")
    context = right_contexts_of(query, states)
    return affine_fit(np.tanh(np.concatenate([context, query], -1)), output) is not None


def _query_left_out(e: Evidence) -> bool:
    for_context, for_query = blocks(e, "main")
    return np.abs(for_query).max() < 1e-6 < np.abs(for_context).max()


def _context_left_out(e: Evidence) -> bool:
    for_context, for_query = blocks(e, "main")
    return np.abs(for_context).max() < 1e-6 < np.abs(for_query).max()


def _added(e: Evidence) -> bool:
    for_context, for_query = blocks(e, "main")
    return np.abs(for_context).max() > 1e-6 and not differ(for_context, for_query, 1e-6)


def _nothing_learns(e: Evidence) -> bool:
    return not differ(blocks(e, "main")[0], blocks(e, "refilled")[0], 1e-6)


def _only_square(e: Evidence) -> bool:
    read(e, "square")
    try:
        read(e, "main")
    except Wrong:
        return True
    return False


exercise = Exercise(
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
            _outputs_swapped,
        ),
        dropout(),
        Misconception(
            "attends-to-itself",
            "The query attends to itself: keys and values should be the encoder's states.",
            "Scores are s_t . h_s: the decoder's output with each encoder state.",
            _attends_to_itself,
        ),
        Misconception(
            "weights-transposed",
            "The weights are transposed: they have the source before the target.",
            "Weights have the shape [B, T, S]: a row for each target step.",
            _weights_transposed,
        ),
        Misconception(
            "reshape-for-transpose",
            "The states are reshaped where they should be transposed, so numbers of "
            "different positions are mixed.",
            "reshape keeps the order of the numbers; transpose(1, 2) turns the axes.",
            _reshaped,
        ),
        *misconceptions_of_weights(
            [
                "mean-pooling",
                "zero-weights",
                "scaled-by-sqrt-d",
                "scaled-by-d",
                "multiplied-by-sqrt-d",
                "softmax-over-queries",
                "softmax-over-batch",
                "softmax-over-everything",
                "sigmoid",
                "argmax",
                "raw-scores",
                "log-probabilities",
                "exp-without-sum",
                "sum-without-exp",
                "softmax-twice",
                "negative-scores",
                "ignores-last-position",
                "ignores-first-position",
            ],
            _scores,
            lambda e: read_weights(e, "main"),
        ),
        Misconception(
            "only-square",
            "It works only when source and target have the same length.",
            "T and S are different numbers: look for an axis that you took from the wrong tensor.",
            _only_square,
        ),
        Misconception(
            "new-layers-each-call",
            "The output changes from call to call: a layer is made anew inside forward.",
            "Make layers in __init__ and keep them in self; forward only uses them.",
            lambda e: calls_differ(e, "main", 0),
        ),
        Misconception(
            "no-tanh",
            "The tanh is missing.",
            "The attentional hidden state is tanh(W_c [c_t; s_t]).",
            _no_tanh,
        ),
        Misconception(
            "sigmoid-for-tanh",
            "The output goes through a sigmoid, not through tanh.",
            "tanh reaches from -1 to 1, the sigmoid from 0 to 1.",
            _sigmoid_output,
        ),
        Misconception(
            "tanh-before-layer",
            "The tanh comes before the linear layer, not after it.",
            "First W_c [c_t; s_t], then tanh of the result.",
            _tanh_too_early,
        ),
        Misconception(
            "query-left-out",
            "The query is left out: the output depends on the context alone.",
            "Concatenate c_t and s_t before the linear layer.",
            _query_left_out,
        ),
        Misconception(
            "context-left-out",
            "The context is left out: the output depends on the query alone.",
            "Concatenate c_t and s_t before the linear layer.",
            _context_left_out,
        ),
        Misconception(
            "added-not-concatenated",
            "Context and query are added, not concatenated.",
            "torch.cat([context, query], dim=-1) keeps them apart.",
            _added,
        ),
        Misconception(
            "nothing-to-learn",
            "The output layer has no parameters that training could change.",
            "nn.Linear(2 * hidden_size, hidden_size) in __init__ gives the module its W_c.",
            _nothing_learns,
        ),
        batch_of_one_lost(("batch of one", "one step"), read),
        graph_cut("main", NAMES, values_right, _gradients),
    ),
)
