def from_gpt2(state):
    new = {"tokens.weight": state["wte.weight"].clone()}
    new["positions.weight"] = state["wpe.weight"].clone()
    n = 0
    while f"h.{n}.ln_1.weight" in state:
        for kind in ("weight", "bias"):

            def get(name):
                found = state[f"h.{n}.{name}.{kind}"]
                return found.T.contiguous() if found.dim() == 2 else found.clone()

            new[f"layers.{n}.norm1.{kind}"] = get("ln_1")
            new[f"layers.{n}.attention.in_proj_{kind}"] = get("attn.c_attn")
            new[f"layers.{n}.attention.out_proj.{kind}"] = get("attn.c_proj")
            new[f"layers.{n}.norm2.{kind}"] = get("ln_2")
            new[f"layers.{n}.feed_forward.0.{kind}"] = get("mlp.c_fc")
            new[f"layers.{n}.feed_forward.2.{kind}"] = get("mlp.c_proj")
        n += 1
    new["norm.weight"], new["norm.bias"] = state["ln_f.weight"], state["ln_f.bias"]
    return new
