"""Scores of query 2 on column vectors, and argmax in place of softmax: typed, exact."""

from course_utils.checks.typed import NearMiss, typed_exercise

exercise = typed_exercise(
    "qkv-mechanics",
    "columns",
    {"raw_scores": 1, "argmax_output": 1},
    [
        NearMiss(
            "rows-for-columns",
            "You multiplied rows, h A, but this question multiplies columns, A h.",
            "Each entry of q2 is a row of A_q times the column h2.",
        ),
        NearMiss(
            "scaled",
            "You divided by the square root of d, but the question asks for the raw scores.",
            "Leave the dot products as they are.",
        ),
        NearMiss("query-one", "These numbers belong to query 1.", "The question is about query 2."),
        NearMiss("query-three", "These are the scores of query 3.", "Use q2 = A_q h2."),
        NearMiss(
            "queries-keys-swapped",
            "You compared key 2 with every query. The question asks for query 2 with every key.",
            "q2 = A_q h2, and k1, k2, k3 from A_k.",
        ),
        NearMiss(
            "no-projection",
            "These are dot products of the states themselves.",
            "Project first: q2 = A_q h2, and k_i = A_k h_i.",
        ),
        NearMiss(
            "state-not-value",
            "This is the state itself, but the output should be its value.",
            "v = A_v h.",
        ),
        NearMiss("key-not-value", "This is a key, but the output should be a value.", "v = A_v h."),
        NearMiss(
            "own-value",
            "This is the value of state 2 itself. Which score is the largest?",
            "Argmax picks the key with the largest score, wherever it is.",
        ),
        NearMiss(
            "mean-of-values",
            "This is the mean of all values.",
            "Argmax gives weight 1 to one key and 0 to the others.",
        ),
        NearMiss(
            "sum-of-values",
            "This is the sum of all values.",
            "Argmax gives weight 1 to one key and 0 to the others.",
        ),
        NearMiss(
            "least-score",
            "You picked the key with the smallest score.",
            "Argmax picks the largest.",
        ),
    ],
    exact=True,
)
