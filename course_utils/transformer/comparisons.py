"""What notebook 06 compares a student's layers with: PyTorch's transformer, and their gradients."""

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.stand_ins import no_answer_to
from course_utils.transformer.multi_head import in_torchs_names

# Notebook 06's name on the left, PyTorch's on the right. The order matters: when "attention" has
# its turn, "cross_attention" has already been renamed.
NAMES = {
    "cross_attention": "multihead_attn",
    "attention": "self_attn",
    "feed_forward.0": "linear1",
    "feed_forward.2": "linear2",
    "encoder_layers": "encoder.layers",
    "decoder_layers": "decoder.layers",
    "encoder_norm": "encoder.norm",
    "decoder_norm": "decoder.norm",
}


def by_pytorchs_names(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The parameters of a student's transformer under the names of `torch.nn.Transformer`."""
    found = {}
    for name, value in in_torchs_names(state).items():
        for ours, pytorchs in NAMES.items():
            name = name.replace(ours, pytorchs)
        found[name] = value
    return found


@no_answer_to("encoder-layer")
@no_answer_to("decoder-layer")
@no_answer_to("transformer")
def as_pytorchs(model: Any, num_heads: int, norm_first: bool) -> nn.Transformer:
    """A `torch.nn.Transformer` with the parameters of a student's model, ready to be asked."""
    layers = len(model.encoder_layers)
    d_ff = model.encoder_layers[0].feed_forward[0].out_features
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch recommends a faster path
        theirs = nn.Transformer(
            model.d_model,
            num_heads,
            layers,
            layers,
            d_ff,
            dropout=0.0,
            batch_first=True,
            norm_first=norm_first,
        )
    state = by_pytorchs_names(model.state_dict())
    theirs.load_state_dict({name: state[name] for name in theirs.state_dict()})
    return theirs.eval()


def gradient_sizes(
    encoder_layer: Callable[..., Any], norm_first: bool, layers: int, seed: int, d_model: int = 32
) -> tuple[float, float, float]:
    """The size of the gradient at the bottom and the top layer, and the spread of x at the top.

    It is the gradient of the feed-forward network's first matrix, in a stack of fresh layers.
    """
    torch.manual_seed(seed)
    stack = [encoder_layer(d_model, 4, 4 * d_model, norm_first) for _ in range(layers)]
    for parameter in (p for layer in stack for p in layer.parameters() if p.dim() > 1):
        nn.init.xavier_uniform_(parameter)
    x = torch.randn(8, 10, d_model)
    for layer in stack:
        x = layer(x)
    output = nn.functional.layer_norm(x, (d_model,))  # both kinds of stack end in a norm
    (output * torch.randn_like(output)).mean().backward()
    bottom, top = (stack[n].feed_forward[0].weight.grad.norm().item() for n in (0, -1))
    return bottom, top, x.std().item()
