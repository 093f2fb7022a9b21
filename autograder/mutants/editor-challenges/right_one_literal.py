"""All answers in one literal, with a name that no challenge has, which counts for nothing."""

challenge_answers = {
    "copy-one": {"Q": [[20, 20, -20, -20], [0, 0, 0, 0]]},
    "average-two": {"Q": [[0, 0, 0, 0], [30, 30, 0, 0]]},
    "copy-everywhere": {"K": [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [30, 0, 0, 0]]},
    "mean-of-all": {"K": [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]},
    "running-mean": {"mask": [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]},
    "half-weight": {"temperature": 2.38},
    "look-back": {"W_Q": [[0, 0, 0, 0], [20, 0, 0, 0], [0, 20, 0, 0], [0, 0, 20, 0]]},
    "two-heads-noise": {"Q": [[20, 20, 20, 20]], "Q2": [[20, -20, 20, -20]]},
    "notes": {"Q": [[1]]},
}
