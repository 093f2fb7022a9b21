RULES = [
    ("wte", "tokens"),
    ("wpe", "positions"),
    ("ln_f", "norm"),
    ("h.", "layers."),
    ("ln_1", "norm1"),
    ("ln_2", "norm2"),
    ("attn.c_attn.", "attention.in_proj_"),
    ("attn.c_proj", "attention.out_proj"),
    ("mlp.c_fc", "feed_forward.0"),
    ("mlp.c_proj", "feed_forward.2"),
]


def from_gpt2(state):
    renamed = {}
    for name, tensor in state.items():
        if name.endswith(".attn.bias"):
            continue
        new = name
        for old, ours in RULES:
            new = new.replace(old, ours)
        renamed[new] = tensor.t() if ".c_" in name and name.endswith("weight") else tensor
    return renamed
