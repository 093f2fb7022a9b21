"""Other numbers that reach the same goals."""

challenge_answers = {}
challenge_answers["copy-one"] = {"Q": [[10, 10, -10, -10], [3, 1, 4, 1]]}
challenge_answers["average-two"] = {"Q": [[7.5, 0, 0, -2], [25, 25, 0, 0]]}
challenge_answers["copy-everywhere"] = {
    "K": [[-20, 0, 0, 0], [-20, 0, 0, 0], [-20, 0, 0, 0], [20, 0, 0, 0]]
}
challenge_answers["mean-of-all"] = {
    "K": [[1, 2, -3, 4], [1, 2, -3, 4], [1, 2, -3, 4], [1, 2, -3, 4]]
}
challenge_answers["running-mean"] = {
    "mask": [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
}
challenge_answers["half-weight"] = {"temperature": 2.4}
challenge_answers["look-back"] = {
    "W_Q": [[5, 5, 5, 5], [40, 0, 0, 0], [0, 40, 0, 0], [0, 0, 40, 0]]
}
challenge_answers["two-heads-noise"] = {"Q": [[30, -30, 30, -30]], "Q2": [[25, 25, 25, 25]]}
