# misconception: too-small
challenge_answers = {}
challenge_answers["copy-one"] = {"Q": [[0.5, 0.5, -0.5, -0.5], [0, 0, 0, 0]]}
challenge_answers["average-two"] = {"Q": [[0, 0, 0, 0], [30, 30, 0, 0]]}
challenge_answers["copy-everywhere"] = {
    "K": [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [30, 0, 0, 0]]
}
challenge_answers["mean-of-all"] = {"K": [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]}
challenge_answers["running-mean"] = {
    "mask": [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
}
challenge_answers["half-weight"] = {"temperature": 2.38}
challenge_answers["look-back"] = {
    "W_Q": [[0, 0, 0, 0], [20, 0, 0, 0], [0, 20, 0, 0], [0, 0, 20, 0]]
}
challenge_answers["two-heads-noise"] = {"Q": [[20, 20, 20, 20]], "Q2": [[20, -20, 20, -20]]}
