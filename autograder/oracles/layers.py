"""The layers of the transformer in float64 NumPy, with a switch for each known mistake."""

from dataclasses import dataclass

import numpy as np

from autograder.oracles.blocks import attend, layer_norm, linear, packed, softmax
from course_utils.checks.judge import RIGHT, Mistakes


@dataclass(frozen=True)
class Layer:
    """Parameters under a prefix, and how a sublayer, its residual and its norm are put together."""

    parameters: dict
    prefix: str
    num_heads: int
    norm_first: bool
    mistakes: Mistakes = RIGHT
    dropped: bool = False

    @property
    def norms_come_first(self) -> bool:
        if "norm-first-exchanged" in self.mistakes:
            return not self.norm_first
        return (self.norm_first and "norm-first-ignored" not in self.mistakes) or (
            "always-norm-first" in self.mistakes
        )

    def norm(self, x, number):
        if "no-norms" in self.mistakes:
            return x
        if "one-norm-for-all" in self.mistakes:
            number = 1
        return layer_norm(x, self.parameters, f"{self.prefix}norm{number}")

    def attention(self, name, query, memory, mask):
        projections = packed(self.parameters, f"{self.prefix}{name}")
        found = attend(query, memory, memory, projections, self.num_heads, mask)
        assert found is not None  # without mistakes the shapes fit
        return found[0]

    def feed(self, x):
        name = f"{self.prefix}feed_forward"
        hidden = np.maximum(linear(x, self.parameters, f"{name}.0"), 0)
        return linear(hidden, self.parameters, f"{name}.2")

    def sublayer(self, x, number, function, name):
        """x plus the function's output, with the norm before or after."""

        def made(inner):
            dropped = self.dropped and "no-dropout" not in self.mistakes
            return np.zeros_like(x) if dropped else function(inner)

        kept = x
        if self.mistakes & {"no-residuals", f"no-residual-around-{name}"}:
            kept = np.zeros_like(x)
        if self.norms_come_first:
            normal = self.norm(x, number)
            if "residual-from-the-norm" in self.mistakes and kept is x:
                kept = normal
            return kept + made(normal)
        if "norm-inside-the-sum" in self.mistakes:
            return kept + self.norm(made(x), number)
        return self.norm(kept + made(x), number)


def encoder_layer(layer: Layer, x, mask) -> np.ndarray:
    mistakes = layer.mistakes
    if "mask-ignored" in mistakes:
        mask = None
    if "mask-inverted" in mistakes and mask is not None:
        mask = ~mask

    def attention(x):
        return layer.attention("attention", x, x, mask)

    if "feed-forward-first" in mistakes:
        x = layer.sublayer(x, 1, layer.feed, "feed-forward")
        return layer.sublayer(x, 2, attention, "attention")
    x = layer.sublayer(x, 1, attention, "attention")
    if "no-feed-forward" in mistakes:
        return x
    return layer.sublayer(x, 2, layer.feed, "feed-forward")


def decoder_layer(layer: Layer, x, memory, self_mask, memory_mask) -> np.ndarray:
    mistakes = layer.mistakes
    if "self-mask-ignored" in mistakes:
        self_mask = None
    if "memory-mask-ignored" in mistakes:
        memory_mask = None
    if "memory-normalised" in mistakes and layer.norms_come_first:
        memory = layer.norm(memory, 2)
    if "self-mask-inverted" in mistakes and self_mask is not None:
        self_mask = ~self_mask

    def attention(x):
        return layer.attention("attention", x, x, self_mask)

    def cross(x):
        if "cross-attends-to-itself" in mistakes:
            return layer.attention("cross_attention", x, x, self_mask)
        name = "attention" if "same-attention-twice" in mistakes else "cross_attention"
        return layer.attention(name, x, memory, memory_mask)

    first, second = (attention, "attention"), (cross, "cross-attention")
    if "cross-attention-first" in mistakes:
        first, second = second, first
    x = layer.sublayer(x, 1, *first)
    if "no-cross-attention" not in mistakes:
        x = layer.sublayer(x, 2, *second)
    if "no-feed-forward" in mistakes:
        return x
    return layer.sublayer(x, 3, layer.feed, "feed-forward")


@dataclass(frozen=True)
class Transformer:
    """The whole model: the layers are right, and the mistakes are in how they are joined."""

    parameters: dict
    num_heads: int
    num_layers: int
    norm_first: bool
    mistakes: Mistakes = RIGHT
    dropped: bool = False

    def layers(self, side: str):
        for number in range(1 if "one-layer-only" in self.mistakes else self.num_layers):
            prefix = f"{side}_layers.{number}."
            yield Layer(
                self.parameters, prefix, self.num_heads, self.norm_first, dropped=self.dropped
            )

    def embed(self, side: str, tokens) -> np.ndarray:
        words = self.parameters[f"{side}_embedding.weight"][tokens]
        places = self.parameters[f"{side}_positions.weight"][: tokens.shape[1]]
        scale = 1.0 if "embeddings-not-scaled" in self.mistakes else np.sqrt(words.shape[-1])
        if f"no-{side}-positions" in self.mistakes:
            places = np.zeros_like(places)
        if "positions-scaled-too" in self.mistakes:
            places = places * scale
        return np.zeros_like(words) if self.dropped else words * scale + places

    def encode(self, source, mask) -> np.ndarray:
        memory = embedded = self.embed("source", source)
        for layer in self.layers("encoder"):
            given = embedded if "layers-not-chained" in self.mistakes else memory
            memory = encoder_layer(layer, given, mask)
        if "decoder-reads-embeddings" in self.mistakes:
            return embedded
        if self.mistakes & {"no-final-norms", "no-encoder-norm"}:
            return memory
        return layer_norm(memory, self.parameters, "encoder_norm")

    def decode(self, target, memory, mask) -> np.ndarray:
        T = target.shape[1]
        if "target-rolled" in self.mistakes:
            target = np.roll(target, 1, axis=1)
        if "target-rolled-back" in self.mistakes:
            target = np.roll(target, -1, axis=1)
        if "target-rolled-across-texts" in self.mistakes:
            target = np.roll(target, 1)
        ahead = 1 if "causal-mask-one-ahead" in self.mistakes else 0
        causal = np.tril(np.ones((T, T), bool), ahead)
        x = self.embed("target", target)
        for layer in self.layers("decoder"):
            allowed = None if "no-causal-mask" in self.mistakes else causal
            x = decoder_layer(layer, x, memory, allowed, mask)
        if not self.mistakes & {"no-final-norms", "no-decoder-norm"}:
            x = layer_norm(x, self.parameters, "decoder_norm")
        logits = linear(x, self.parameters, "readout")
        return softmax(logits) if "probabilities" in self.mistakes else logits

    def logits(self, source, target, source_mask=None) -> np.ndarray:
        """[B, T, target_size]."""
        wide = None if source_mask is None else source_mask[:, None, :]
        ignored = "source-mask-ignored" in self.mistakes
        in_encoder = None if ignored or "encoder-mask-ignored" in self.mistakes else wide
        in_cross = None if ignored or "cross-mask-ignored" in self.mistakes else wide
        return self.decode(target, self.encode(source, in_encoder), in_cross)
