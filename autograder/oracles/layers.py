"""The layers of the transformer in float64 NumPy, each known mistake as a `twist`."""

import numpy as np

from autograder.oracles.blocks import attend_at_once, layer_norm, linear, packed


def feed_forward(x, parameters, name):
    return linear(np.maximum(linear(x, parameters, f"{name}.0"), 0), parameters, f"{name}.2")


class Layer:
    """Parameters under a prefix, and how a sublayer, its residual and its norm are put together."""

    def __init__(self, parameters, prefix, num_heads, norm_first, twist="", dropped=False):
        self.parameters, self.prefix, self.num_heads = parameters, prefix, num_heads
        self.norm_first, self.twist, self.dropped = norm_first, twist, dropped
        if twist == "norm-first-ignored":
            self.norm_first = False
        if twist == "always-norm-first":
            self.norm_first = True

    def norm(self, x, number):
        if self.twist == "no-norms":
            return x
        if self.twist == "one-norm-for-all":
            number = 1
        return layer_norm(x, self.parameters, f"{self.prefix}norm{number}")

    def attention(self, name, query, memory, mask):
        projections = packed(self.parameters, f"{self.prefix}{name}")
        return attend_at_once(query, memory, memory, projections, self.num_heads, mask)

    def feed(self, x):
        return feed_forward(x, self.parameters, f"{self.prefix}feed_forward")

    def sublayer(self, x, number, function, name):
        """x plus what the function makes of it, with the norm before or after."""

        def made(inner):
            return np.zeros_like(x) if self.dropped else function(inner)

        keep = 0.0 if self.twist in ("no-residuals", f"no-residual-around-{name}") else 1.0
        if self.norm_first:
            normal = self.norm(x, number)
            return keep * (normal if self.twist == "residual-from-the-norm" else x) + made(normal)
        if self.twist == "norm-inside-the-sum":
            return x + self.norm(made(x), number)
        return self.norm(keep * x + made(x), number)


def encoder_layer(parameters, prefix, x, mask, num_heads, norm_first, twist="", dropped=False):
    layer = Layer(parameters, prefix, num_heads, norm_first, twist, dropped)
    mask = None if twist == "mask-ignored" or mask is None else mask
    if twist == "mask-inverted" and mask is not None:
        mask = ~mask

    def attention(x):
        return layer.attention("attention", x, x, mask)

    if twist == "feed-forward-first":
        x = layer.sublayer(x, 1, layer.feed, "feed-forward")
        return layer.sublayer(x, 2, attention, "attention")
    x = layer.sublayer(x, 1, attention, "attention")
    if twist == "no-feed-forward":
        return x
    return layer.sublayer(x, 2, layer.feed, "feed-forward")


def decoder_layer(
    parameters,
    prefix,
    x,
    memory,
    self_mask,
    memory_mask,
    num_heads,
    norm_first,
    twist="",
    dropped=False,
):
    layer = Layer(parameters, prefix, num_heads, norm_first, twist, dropped)
    if twist == "self-mask-ignored":
        self_mask = None
    if twist == "memory-mask-ignored":
        memory_mask = None
    if twist == "memory-normalised" and norm_first:
        memory = layer.norm(memory, 2)
    if twist == "self-mask-inverted" and self_mask is not None:
        self_mask = ~self_mask

    def attention(x):
        return layer.attention("attention", x, x, self_mask)

    def cross(x):
        if twist == "cross-attends-to-itself":
            return layer.attention("cross_attention", x, x, self_mask)
        if twist == "same-attention-twice":
            return layer.attention("attention", x, memory, memory_mask)
        return layer.attention("cross_attention", x, memory, memory_mask)

    if twist == "cross-attention-first":
        x = layer.sublayer(x, 1, cross, "cross-attention")
        x = layer.sublayer(x, 2, attention, "attention")
        return layer.sublayer(x, 3, layer.feed, "feed-forward")
    x = layer.sublayer(x, 1, attention, "attention")
    if twist != "no-cross-attention":
        x = layer.sublayer(x, 2, cross, "cross-attention")
    if twist == "no-feed-forward":
        return x
    return layer.sublayer(x, 3, layer.feed, "feed-forward")


def transformer(
    parameters,
    source,
    target,
    source_mask,
    num_heads,
    num_layers,
    norm_first,
    twist="",
    dropped=False,
):
    """Logits [B, T, target_size]."""
    B, T = target.shape

    def embed(side, tokens):
        words = parameters[f"{side}_embedding.weight"][tokens]
        size = np.sqrt(words.shape[-1])
        places = parameters[f"{side}_positions.weight"][: tokens.shape[1]]
        if twist == f"no-{side}-positions":
            places = 0.0
        if twist == "embeddings-not-scaled":
            size = 1.0
        x = words * size + places
        if twist == "positions-scaled-too":
            x = (words + places) * size
        return np.zeros_like(x) if dropped else x

    wide = None if source_mask is None else source_mask[:, None, :]
    memory = embedded = embed("source", source)
    for number in range(1 if twist == "one-layer-only" else num_layers):
        given = embedded if twist == "layers-not-chained" else memory
        memory = encoder_layer(
            parameters,
            f"encoder_layers.{number}.",
            given,
            None if twist in ("source-mask-ignored", "encoder-mask-ignored") else wide,
            num_heads,
            norm_first,
            dropped=dropped,
        )
    if twist not in ("no-final-norms", "no-encoder-norm"):
        memory = layer_norm(memory, parameters, "encoder_norm")
    if twist == "decoder-reads-embeddings":
        memory = embedded
    causal = None if twist == "no-causal-mask" else np.tril(np.ones((T, T), bool))
    if twist == "causal-mask-one-ahead":
        causal = np.tril(np.ones((T, T), bool), 1)
    x = embed("target", target)
    for number in range(1 if twist == "one-layer-only" else num_layers):
        x = decoder_layer(
            parameters,
            f"decoder_layers.{number}.",
            x,
            memory,
            causal,
            None if twist in ("source-mask-ignored", "cross-mask-ignored") else wide,
            num_heads,
            norm_first,
            dropped=dropped,
        )
    if twist not in ("no-final-norms", "no-decoder-norm"):
        x = layer_norm(x, parameters, "decoder_norm")
    logits = linear(x, parameters, "readout")
    if twist == "probabilities":
        powers = np.exp(logits - logits.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)
    return logits
