"""SingleQueryScaledDotProductAttention: one query, projected queries and keys, values as given.

No parameter is searched for by name or shape. With every matrix filled with one constant a and
every vector with zero, q = a sum(h) and k_t = a sum(e_t) in each of the K components, so the
centred logarithm of alpha must be a^2 sqrt(K) sum(h) (sum(e_t) - mean). That settles the scale.
With random parameters, the centred logarithm of alpha must be bilinear in [h; 1] and e_t: the
form is fitted on half of the batch and verified on the other half.
"""

from typing import Any

import numpy as np

from course_utils.checks import variants
from course_utils.checks.equations import remembered, softmax_gradient, weighted_sum
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

# label: B, S, enc_hid_dim, dec_hid_dim, kq_dim (None: the default, 512), constant (None: random)
SIZES = {
    "main": (10, 6, 2, 3, 5, None),
    "refilled": (10, 6, 2, 3, 5, None),
    "constant": (7, 6, 2, 3, 5, 0.6),
    "other size": (4, 5, 3, 5, 12, 0.45),
    "default size": (3, 5, 2, 3, None, 0.17),
    "batch of one": (1, 4, 2, 3, 5, 0.6),
    "one word": (3, 1, 2, 3, 5, 0.6),
    "single": (1, 1, 1, 2, 3, 0.6),
}
DEFAULT_KQ = 512
NAMES = ("hidden", "encoder_outputs")


def asks(rng: np.random.Generator) -> list[Ask]:
    questions: list[Ask] = []
    main: list[np.ndarray] = []
    for label, (B, S, enc, dec, kq, constant) in SIZES.items():
        args = [0.7 * rng.standard_normal((B, dec)), 0.7 * rng.standard_normal((S, B, 2 * enc))]
        if label == "main":
            main = args
        if label == "refilled":  # the same question to other parameters
            args = main
        pool = 0.5 * rng.standard_normal(997)
        options: dict[str, Any] = {
            "target": "SingleQueryScaledDotProductAttention",
            "init": [enc, dec] if kq is None else [enc, dec, kq],
            "args": args,
            "fill": {"pool": pool} if constant is None else {"constant": constant},
        }
        if label == "main":
            options["other"] = [args[0][:-1], args[1][:-1, :-1]]
            options["upstream"] = [rng.standard_normal((B, 2 * enc)), rng.standard_normal((B, S))]
        else:
            options["once"] = True
        questions.append(Ask(label, "call", options))
    return questions


def read(e: Evidence, label: str) -> tuple[np.ndarray, np.ndarray]:
    B, S, enc, *_ = SIZES[label]
    attended, alpha = e.outputs(label, (B, 2 * enc), (B, S))
    return attended, alpha


def read_alpha(e: Evidence, label: str) -> np.ndarray:
    B, S, *_ = SIZES[label]
    if e.reply(label).notes.get("out_count") != "2":
        read(e, label)  # says that two results are wanted
    return e.array(label, "out1", (B, S), ordinal=1)


@remembered  # every combination of mistakes asks for them, for every student of a class
def sums_of(hidden: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sum(h) [B] and sum(e_t) [B, S]."""
    of_states = [[sum(states[t, b]) for t in range(len(states))] for b in range(len(hidden))]
    return np.array([sum(h) for h in hidden]), np.array(of_states)


def constant_scores(e: Evidence, label: str, size: int | None = None) -> np.ndarray:
    """q . k_t without a scale, where every matrix holds the constant a: K a^2 sum(h) sum(e_t).

    size: K, where it is not the kq_dim of the question.
    """
    _, _, _, _, kq, a = SIZES[label]
    assert a is not None  # asked of the questions in CONSTANT only
    hidden, states = e.args(label)
    of_queries, of_states = sums_of(hidden, states)
    return (size or kq or DEFAULT_KQ) * a * a * of_queries[:, None] * of_states


def scale_of(label: str) -> float:
    return float(np.sqrt(SIZES[label][4] or DEFAULT_KQ))


def softmax_rows(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def attended_of(alpha: np.ndarray, states: np.ndarray) -> np.ndarray:
    return np.array([weighted_sum(alpha[b], states[:, b]) for b in range(len(alpha))])


# ---- properties -------------------------------------------------------------

SHARES = "alpha is a distribution over the source that depends on the query"
ATTENDED = "attended_val is the alpha-weighted sum of encoder_outputs"
SCALE = "the scores are divided by the square root of kq_dim"
FORM = "the scores are dot products of projected query and keys"


def alpha_is_a_distribution(e: Evidence) -> None:
    alpha = read_alpha(e, "main")
    sums = alpha.sum(axis=1)
    if differ(np.ones_like(sums), sums, e.tolerance("main")) or alpha.min() < 0:
        raise Wrong(
            "alpha does not sum to one over the source words.",
            "Which axis of your scores holds the source words? Take the softmax along that axis.",
            np.ones((1, len(sums))),
            sums[None],
            ("", "sentence"),
        )
    if not differ(np.full_like(alpha, 1 / alpha.shape[1]), alpha, 1e-4):
        raise Wrong(
            "alpha is the same for every word, whatever the query: this is mean pooling.",
            "Score each key against the query.",
        )


def attended_matches(e: Evidence) -> None:
    for label in ("main", "other size"):
        attended, alpha = read(e, label)
        same(
            attended_of(alpha, e.args(label)[1]),
            attended,
            e.tolerance(label),
            "attended_val is not the sum of the encoder outputs weighted by alpha.",
            "The values are the encoder outputs themselves: no projection, no scale.",
            ("sentence", "component"),
        )


def scale_matches(e: Evidence) -> None:
    for label in ("constant", "other size", "default size"):
        same(
            softmax_rows(constant_scores(e, label) / scale_of(label)),
            read_alpha(e, label),
            max(e.tolerance(label), 1e-5),
            f"With kq_dim = {SIZES[label][4] or DEFAULT_KQ}, alpha is wrong.",
            "kq_dim is the size of queries and keys, and the scale is its square root. Does your code "
            "use it in all three places?",
            ("sentence", "source word"),
        )


def fit(e: Evidence, label: str) -> np.ndarray:
    """The matrix A with centred log alpha_t = [h; 1] A (e_t - mean), if there is one."""
    hidden, states = e.args(label)
    alpha = read_alpha(e, label)
    if alpha.min() <= 0:
        raise Wrong("Some weights are zero or negative, which a softmax never gives.")
    logs = np.log(alpha)
    logs -= logs.mean(axis=1, keepdims=True)
    centred = states - states.mean(axis=0)
    known = np.concatenate([hidden, np.ones((len(hidden), 1))], axis=1)
    rows = np.einsum("bi,tbj->btij", known, centred).reshape(len(hidden), len(states), -1)
    half = len(hidden) // 2
    inputs = rows[:half].reshape(-1, rows.shape[-1])
    solution, *_ = np.linalg.lstsq(inputs, logs[:half].ravel(), rcond=None)
    if differ(logs, rows @ solution, 100 * e.tolerance(label)):
        raise Wrong(
            "alpha is not the softmax of dot products between a projected query and projected keys.",
            "q = W_q d, k_t = W_k h_t, and the score of word t is q . k_t / sqrt(kq_dim).",
        )
    return solution.reshape(known.shape[1], -1)


def form_matches(e: Evidence) -> None:
    form, other = fit(e, "main"), fit(e, "refilled")
    if np.abs(form[:-1]).max() < 1e-6:
        raise Wrong("alpha does not depend on the query.", "Project `hidden` to the query.")
    if np.linalg.matrix_rank(form[:-1], tol=1e-6) < min(form[:-1].shape):
        raise Wrong("The projections lose some dimensions of the query or of the keys.")
    if not differ(form, other, 1e-6):
        raise Wrong(
            "alpha stays the same when the parameters change, so there is nothing to learn.",
            "Create the two linear layers in __init__.",
        )


def any_size_works(e: Evidence) -> None:
    for label in ("batch of one", "one word", "single"):
        B, S, enc, dec, kq, _ = SIZES[label]
        sizes = f"With a batch of {B}, {S} source word(s), kq_dim {kq}"
        try:
            attended, alpha = read(e, label)
        except Wrong as wrong:
            raise Wrong(f"{sizes}: {wrong.message}", wrong.hint) from None
        if differ(attended_of(alpha, e.args(label)[1]), attended, e.tolerance(label)):
            raise Wrong(f"{sizes}: attended_val is not the weighted sum.")
        if differ(np.ones(B), alpha.sum(axis=1), e.tolerance(label)):
            raise Wrong(f"{sizes}: alpha does not sum to one.")


def calls_agree(e: Evidence) -> None:
    B, S, enc, *_ = SIZES["main"]
    stays_and_repeats(e, "main", [(B, 2 * enc), (B, S)], NAMES)


def gradients_right(e: Evidence) -> None:
    gradients_match(e, "main", NAMES, _gradients(e), slack=100)


def _gradients(e: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """What the gradients at hidden and encoder_outputs must be, by the chain rule."""
    hidden, states = e.args("main")
    flow_out, flow_alpha = e.options("main")["upstream"]
    form, (_, alpha) = fit(e, "main"), read(e, "main")
    at_hidden, at_states = np.zeros_like(hidden), np.zeros_like(states)
    for b, h in enumerate(hidden):
        key_map = np.append(h, 1.0) @ form
        at_scores = softmax_gradient(alpha[b], states[:, b] @ flow_out[b] + flow_alpha[b])
        at_states[:, b] = np.outer(alpha[b], flow_out[b]) + np.outer(at_scores, key_map)
        at_hidden[b] = form[:-1] @ (at_scores @ states[:, b])
    return at_hidden, at_states


# ---- misconceptions -----------------------------------------------------------

CONSTANT = tuple(label for label, sizes in SIZES.items() if sizes[-1] is not None)
OTHER_SIZES = {  # what the scale is the square root of, from B, S, enc_hid_dim, dec_hid_dim
    "hard-coded-512": lambda B, S, enc, dec: DEFAULT_KQ,
    "scale-of-decoder-size": lambda B, S, enc, dec: dec,
    "scale-of-encoder-size": lambda B, S, enc, dec: 2 * enc,
    "scale-of-half-encoder-size": lambda B, S, enc, dec: enc,
    "scale-of-source-length": lambda B, S, enc, dec: S,
}
SCALES = ("no-scale", "scaled-by-d", "multiplied-by-sqrt-d")
RULES = tuple(name for name in variants.RULES if "queries" not in name and "every" not in name)


def arrays_of(e: Evidence, label: str, mistakes: Mistakes) -> tuple[np.ndarray, np.ndarray]:
    """attended_val and alpha as they are if these mistakes were made."""
    found = returned(e, label)
    if found is None:
        raise Wrong("It raised an error.")
    attended, alpha = found
    if "outputs-swapped" in mistakes:
        attended, alpha = alpha, attended
    if "weights-transposed" in mistakes:
        alpha = alpha.T
    B, S, enc, *_ = SIZES[label]
    if attended.shape != (B, 2 * enc) or alpha.shape != (B, S):
        raise Wrong("Other shapes.")
    return attended, alpha


def divisor_of(label: str, mistakes: Mistakes) -> float:
    for name, size in OTHER_SIZES.items():
        if name in mistakes:
            return float(np.sqrt(size(*SIZES[label][:4])))
    K = SIZES[label][4] or DEFAULT_KQ
    return next((variants.SCALES[name](K) for name in SCALES if name in mistakes), np.sqrt(K))


def alpha_agrees(e: Evidence, label: str, mistakes: Mistakes, mixed: bool) -> bool:
    scores = scores_with(e, label, mistakes, mixed)
    expected = variants.weights(scores, divisor_of(label, mistakes), mistakes)
    if np.isnan(expected).any():  # a single word, without which nothing is left
        return SIZES[label][1] == 1
    return not differ(expected, arrays_of(e, label, mistakes)[1], 1e-4)


def attended_agrees(e: Evidence, label: str, mistakes: Mistakes, mixed: bool) -> bool:
    attended, alpha = arrays_of(e, label, mistakes)
    states = e.args(label)[1]
    rows = reshaped(states) if mixed else states.swapaxes(0, 1)
    return not differ(np.einsum("bs,bsd->bd", alpha, rows), attended, 1e-4)


def sum_of_softmax(e: Evidence, label: str, mistakes: Mistakes, keys: bool, values: bool) -> bool:
    """Scores are returned, but the sum is made with their softmax."""
    scores = scores_with(e, label, mistakes, keys)
    rest = mistakes - {"raw-scores", "log-probabilities"}
    alpha = variants.weights(scores, divisor_of(label, mistakes), rest)
    states = e.args(label)[1]
    rows = reshaped(states) if values else states.swapaxes(0, 1)
    attended = arrays_of(e, label, mistakes)[0]
    return not differ(np.einsum("bs,bsd->bd", alpha, rows), attended, 1e-4)


def scores_with(e: Evidence, label: str, mistakes: Mistakes, mixed: bool) -> np.ndarray:
    size = DEFAULT_KQ if "layers-of-512" in mistakes else None
    if not mixed:
        return constant_scores(e, label, size)
    _, _, _, _, kq, a = SIZES[label]
    assert a is not None  # asked of the questions in CONSTANT only
    hidden, states = e.args(label)
    rows = reshaped(states).sum(axis=2)
    return (size or kq or DEFAULT_KQ) * a * a * hidden.sum(axis=1)[:, None] * rows


def reshaped(states: np.ndarray) -> np.ndarray:
    """encoder_outputs [S, B, 2 * enc] read as [B, S, 2 * enc], which mixes sentences."""
    S, B, size = states.shape
    return states.reshape(B, S, size)


def fits(e: Evidence, mistakes: Mistakes) -> bool:
    # Reshaped for the keys, for the values, or for both.
    ways = [(False, False)]
    if "reshape-for-transpose" in mistakes:
        ways = [(True, False), (False, True), (True, True)]
    for keys, values in ways:
        if not all(alpha_agrees(e, label, mistakes, keys) for label in CONSTANT):
            continue
        if "zero-weights" in mistakes:
            return True  # whatever the sum is
        if "values-projected" in mistakes:
            return values_projected(e, mistakes)
        if all(attended_agrees(e, label, mistakes, values) for label in SIZES):
            return projects(e, mistakes, keys)
        if mistakes & {"raw-scores", "log-probabilities"}:
            return all(sum_of_softmax(e, label, mistakes, keys, values) for label in CONSTANT)
    return False


def values_projected(e: Evidence, mistakes: Mistakes) -> bool:
    """The output is a linear map of the weighted sum, but not the sum itself."""
    attended, alpha = arrays_of(e, "main", mistakes)
    sums = attended_of(alpha, e.args("main")[1])
    if not differ(sums, attended, 1e-4):
        return False
    # A bias is added once for each word, with its weight.
    rows = np.concatenate([sums, alpha.sum(axis=1, keepdims=True)], axis=1)
    half = rows.shape[1] + 2
    solution, *_ = np.linalg.lstsq(rows[:half], attended[:half], rcond=None)
    return np.abs(solution[:-1]).max() > 1e-6 and not differ(attended, rows @ solution, 1e-4)


def projects(e: Evidence, mistakes: Mistakes, reshaped_keys: bool) -> bool:
    """With random parameters too, the scores are dot products of projections that can learn."""
    if mistakes & set(RULES) or reshaped_keys or calls_differ(e, "main", 1):
        return True  # no logarithm of alpha is a score
    if mistakes & {"outputs-swapped", "weights-transposed"}:
        return True
    return differ(fit(e, "main"), fit(e, "refilled"), 1e-6)


def nothing_learns(e: Evidence) -> bool:
    return not differ(fit(e, "main"), fit(e, "refilled"), 1e-6)


exercise = Check(
    id="single-query-attention",
    asks=asks,
    properties=(
        Property(SHARES, 1, alpha_is_a_distribution),
        Property(ATTENDED, 2, attended_matches, needs=(SHARES,)),
        Property(SCALE, 2, scale_matches),
        Property(FORM, 1, form_matches),
        Property("a batch of one and a sentence of one word work", 0.5, any_size_works, (SHARES,)),
        Property(
            "two calls agree and the inputs stay as they were",
            0.5,
            calls_agree,
            needs=(ATTENDED,),
        ),
        Property(
            "gradients flow back to hidden and encoder_outputs",
            1,
            gradients_right,
            needs=(ATTENDED, FORM),
        ),
    ),
    misconceptions=(
        changes_its_input(),
        Misconception(
            "outputs-swapped",
            "The two results are returned in the wrong order.",
            "Return attended_val first, then alpha.",
        ),
        Misconception(
            "weights-transposed",
            "alpha is transposed: the source words come before the batch.",
            "alpha has the shape [B, S], with one row per sentence.",
        ),
        dropout(),
        new_layers_each_call("alpha", 1),
        Misconception(
            "reshape-for-transpose",
            "encoder_outputs is reshaped, but it should be transposed: reshaping mixes different "
            "sentences.",
            "Its shape is [S, B, 2 * enc]. transpose(0, 1) swaps the axes, reshape does not.",
        ),
        Misconception(
            "hard-coded-512",
            "The scale is always sqrt(512), whatever kq_dim is.",
            "Keep kq_dim in self, and divide by its square root.",
        ),
        Misconception(
            "layers-of-512",
            "Queries and keys always have 512 components, whatever kq_dim is.",
            "The constructor is given kq_dim: both linear layers should end in that size.",
        ),
        Misconception(
            "scale-of-decoder-size",
            "The scale is the square root of dec_hid_dim, not of kq_dim.",
            "What counts is the size of the vectors in the dot product: kq_dim, for queries and keys.",
        ),
        Misconception(
            "scale-of-encoder-size",
            "The scale is the square root of the encoder's size, not of kq_dim.",
            "What counts is the size of the vectors in the dot product: kq_dim, for queries and keys.",
        ),
        Misconception(
            "scale-of-half-encoder-size",
            "The scale is the square root of enc_hid_dim, not of kq_dim.",
            "What counts is the size of the vectors in the dot product: kq_dim, for queries and keys.",
        ),
        Misconception(
            "scale-of-source-length",
            "The scale is the square root of the number of source words, not of kq_dim.",
            "What counts is the size of the vectors in the dot product: kq_dim, for queries and keys.",
        ),
        *misconceptions_of_weights((*SCALES, "negative-scores", *RULES)),
        Misconception(
            "values-projected",
            "The values are projected: attended_val is a linear map of the weighted sum.",
            "The values are the encoder outputs themselves: v_t = h_t.",
        ),
        Misconception(
            "nothing-to-learn",
            "alpha has no parameters for training to change.",
            "Two linear layers in __init__ give the module its W_q and W_k.",
            nothing_learns,
        ),
        batch_of_one_lost(("batch of one", "one word", "single"), read),
        graph_cut("main", NAMES, _gradients),
    ),
    choices=(
        (*SCALES, *OTHER_SIZES),
        ("layers-of-512",),
        ("negative-scores",),
        RULES,
        ("reshape-for-transpose",),
        ("values-projected",),
        ("outputs-swapped", "weights-transposed"),
    ),
    fits=fits,
)
