"""Arrays, a tensor and tuples in place of lists."""

import numpy as np
import torch

challenge_answers = {}
challenge_answers["copy-one"] = {"Q": ((20, 20, -20, -20), (0, 0, 0, 0))}
challenge_answers["average-two"] = {"Q": [[0, 0, 0, 0], [30, 30, 0, 0]]}
challenge_answers["copy-everywhere"] = {
    "K": [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [30, 0, 0, 0]]
}
challenge_answers["mean-of-all"] = {"K": torch.zeros(4, 4)}
challenge_answers["running-mean"] = {"mask": np.tri(4, dtype=bool)}
challenge_answers["half-weight"] = {"temperature": np.float64(2.38)}
challenge_answers["look-back"] = {"W_Q": 40.0 * np.eye(4, k=-1)}
challenge_answers["two-heads-noise"] = {"Q": [[20, 20, 20, 20]], "Q2": [[20, -20, 20, -20]]}
