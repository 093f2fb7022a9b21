"""Scores of query 2 on three columns, and argmax: the right numbers, and the usual slips."""

import math

import numpy as np

from autograder.oracles import loops
from course_utils.checks.wire import Ask


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    given = ask.options["given"]
    h, A_q, A_k, A_v = (given[name] for name in ("h", "A_q", "A_k", "A_v"))
    q, k, v = (loops.product(h, A.T) for A in (A_q, A_k, A_v))
    scores = loops.product(q, k.T)
    best = int(scores[1].argmax())
    found = {"raw_scores": scores[1], "argmax_output": v[best]}
    as_rows = [loops.product(h, A) for A in (A_q, A_k, A_v)]
    row_scores = loops.product(as_rows[0], as_rows[1].T)
    found |= {
        "rows-for-columns/raw_scores": row_scores[1],
        "rows-for-columns/argmax_output": as_rows[2][best],
        "scaled/raw_scores": scores[1] / math.sqrt(2),
        "query-one/raw_scores": scores[0],
        "query-one/argmax_output": v[int(scores[0].argmax())],
        "query-three/raw_scores": scores[2],
        "queries-keys-swapped/raw_scores": scores[:, 1],
        "no-projection/raw_scores": loops.product(h, h.T)[1],
        "state-not-value/argmax_output": h[best],
        "key-not-value/argmax_output": k[best],
        "own-value/argmax_output": v[1],
        "mean-of-values/argmax_output": v.mean(axis=0),
        "sum-of-values/argmax_output": v.sum(axis=0),
        "least-score/argmax_output": v[int(scores[1].argmin())],
    }
    return found
