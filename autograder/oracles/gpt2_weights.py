"""GPT-2's weights under the names of DecoderOnly, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import right_arrays
from course_utils.checks.exercises.gpt2_weights import wanted_shapes
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask

LAYER = {  # name in GPT-2: name in CausalLayer
    "ln_1": "norm1",
    "attn.c_attn": "attention.in_proj",
    "attn.c_proj": "attention.out_proj",
    "ln_2": "norm2",
    "mlp.c_fc": "feed_forward.0",
    "mlp.c_proj": "feed_forward.2",
}
OUTER = {"tokens": "wte", "positions": "wpe", "norm": "ln_f"}


def of_gpt2(name: str, mistakes: Mistakes) -> str:
    """GPT-2's name for a parameter of DecoderOnly."""
    name = name.replace("in_proj_", "in_proj.")
    front, _, kind = name.rpartition(".")
    if front in OUTER:
        return f"{OUTER[front]}.{kind}"
    _, number, part = front.split(".", 2)
    own = {ours: theirs for theirs, ours in LAYER.items()}
    if "norms-exchanged" in mistakes:
        own |= {"norm1": "ln_2", "norm2": "ln_1"}
    if "projections-exchanged" in mistakes and kind == "bias":
        own |= {"attention.out_proj": "mlp.c_proj", "feed_forward.2": "attn.c_proj"}
    return f"h.{number}.{own[part]}.{kind}"


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray]:
    state = ask.options["state"]
    vocab_size, D = state["wte.weight"].shape
    layers = sum(name.endswith("ln_1.weight") for name in state)
    arrays = []
    for name in wanted_shapes(vocab_size, len(state["wpe.weight"]), D, layers):
        theirs = of_gpt2(name, mistakes)
        array = state[theirs]
        if "queries-and-keys-exchanged" in mistakes and "in_proj" in name:
            queries, keys, values = np.split(array, 3, axis=-1)
            array = np.concatenate([keys, queries, values], axis=-1)
        turned = ".c_" in theirs and "nothing-transposed" not in mistakes
        if "square-not-transposed" in mistakes and "out_proj" in name:
            turned = False
        if "embeddings-transposed" in mistakes and theirs in ("wte.weight", "wpe.weight"):
            turned = True
        arrays.append(array.T if turned else array)
    return arrays


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return right_arrays(outputs, ask)
