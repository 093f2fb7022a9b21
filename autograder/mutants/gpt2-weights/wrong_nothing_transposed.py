# misconception: nothing-transposed
import torch

NAMES = {
    "ln_1": "norm1",
    "ln_2": "norm2",
    "attn.c_proj": "attention.out_proj",
    "mlp.c_fc": "feed_forward.0",
    "mlp.c_proj": "feed_forward.2",
}


def from_gpt2(state):
    new = {
        "tokens.weight": state["wte.weight"],
        "positions.weight": state["wpe.weight"],
        "norm.weight": state["ln_f.weight"],
        "norm.bias": state["ln_f.bias"],
    }
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("h."))
    for n in range(layers):
        old, front = f"h.{n}.", f"layers.{n}."
        for theirs, ours in NAMES.items():
            weight = state[old + theirs + ".weight"]
            bias = state[old + theirs + ".bias"]
            if theirs.split(".")[-1].startswith("c_"):
                weight = weight.clone()
            new[front + ours + ".weight"], new[front + ours + ".bias"] = weight, bias
        fused, biases = state[old + "attn.c_attn.weight"], state[old + "attn.c_attn.bias"]
        fused, biases = fused.chunk(3, dim=1), biases.chunk(3)
        order = [0, 1, 2]
        new[front + "attention.in_proj_weight"] = torch.cat([fused[i] for i in order], dim=1)
        new[front + "attention.in_proj_bias"] = torch.cat([biases[i] for i in order])
    return new
