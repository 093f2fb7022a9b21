# misconception: as-it-starts
challenge_answers = {}
challenge_answers["copy-one"] = {"Q": [[0, 0, 0, 0], [0, 0, 0, 0]]}
challenge_answers["average-two"] = {"Q": [[0, 0, 0, 0], [0, 0, 0, 0]]}
challenge_answers["copy-everywhere"] = {
    "K": [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [30, 0, 0, 0]]
}
challenge_answers["mean-of-all"] = {"K": [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]}
challenge_answers["running-mean"] = {
    "mask": [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
}
challenge_answers["half-weight"] = {"temperature": 2.38}
challenge_answers["look-back"] = {"W_Q": [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]}
challenge_answers["two-heads-noise"] = {"Q": [[0, 0, 0, 0]], "Q2": [[0, 0, 0, 0]]}
