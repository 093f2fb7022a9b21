"""Weights that were trained elsewhere, in the student's class: the shipped ones and GPT-2's."""

import json

import numpy as np
import pytest
import torch

from autograder.solutions import solution
from course_utils.language_model.byte_training import as_tokens, bits_per_byte, start_small
from course_utils.language_model.gpt2 import public_gpt2
from course_utils.language_model.heads import (
    loss_of_the_second_time,
    maps_of,
    measure_heads,
    repeated,
    silenced,
)
from course_utils.language_model.python_source import gzip_bits, standard_library
from course_utils.language_model.shipped_weights import FILE, load_weights, shipped_model


@pytest.fixture(scope="module")
def decoder_only():
    return solution("decoder-only-model")


@pytest.fixture(scope="module")
def small(decoder_only):
    shipped = shipped_model()
    model = decoder_only(**shipped.sizes)
    load_weights(model, shipped.weights)
    return model.eval()


def test_the_shipped_weights_are_small_and_give_the_stored_logits(small):
    assert FILE.stat().st_size < 4_000_000
    shipped = shipped_model()
    with torch.no_grad():
        logits = small(as_tokens(shipped.text)[None])[0]
    assert torch.allclose(logits, shipped.logits, atol=1e-3)


def test_the_shipped_model_has_learned_python(small):
    text = standard_library().held_out[:20_000]
    assert bits_per_byte(small, text, 128) < gzip_bits(text) + 1.0


def test_an_attention_with_four_matrices_gets_the_same_weights(small, decoder_only):
    class Own(torch.nn.Module):
        """As a student may have written it in notebook 05."""

        def __init__(self, attention):
            super().__init__()
            D = attention.embed_dim
            self.num_heads = attention.num_heads
            for name in ("W_Q", "W_K", "W_V", "W_O"):
                setattr(self, name, torch.nn.Linear(D, D))

        def forward(self, query, key, value, mask=None):
            heads = [
                part(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
                for part, x in ((self.W_Q, query), (self.W_K, key), (self.W_V, value))
            ]
            found = torch.nn.functional.scaled_dot_product_attention(*heads, attn_mask=mask)
            return self.W_O(found.transpose(1, 2).flatten(2)), None

    shipped = shipped_model()
    own = decoder_only(**shipped.sizes)
    for layer in own.layers:
        layer.attention = Own(layer.attention)
    load_weights(own, shipped.weights)
    tokens = as_tokens(shipped.text)[None]
    with torch.no_grad():
        assert torch.allclose(own(tokens), small(tokens), atol=1e-4)
        with silenced(own, 0, 1), silenced(small, 0, 1):
            assert torch.allclose(own(tokens), small(tokens), atol=1e-4)


# ---- heads --------------------------------------------------------------------


def test_the_measures_find_heads_that_were_built_by_hand(small, monkeypatch):
    T = 96
    previous, induction = torch.eye(T).roll(1, 0), torch.eye(T).roll(47, 0)
    previous[0], induction[:48] = torch.eye(T)[0], torch.eye(T)[:48]
    made = torch.stack([previous, induction])[None, None].expand(1, 5, 2, T, T)
    monkeypatch.setattr("course_utils.language_model.heads.maps_of", lambda model, tokens: made)
    one, other = measure_heads(small, b"x" * 5 * T)
    assert (one.name, one.previous, one.induction) == ("1.1", 1.0, 0.0)
    assert (other.name, other.induction) == ("1.2", 1.0)
    assert other.previous == 0.0


def test_maps_are_distributions_over_the_past(small):
    maps = maps_of(small, repeated(2, 10))
    assert maps.shape == (2, 2, 4, 20, 20)
    assert torch.allclose(maps.sum(-1), torch.ones(2, 2, 4, 20), atol=1e-5)
    assert (maps.triu(1) == 0).all()


def test_a_silenced_head_adds_nothing_and_comes_back(small):
    tokens = repeated(2, 10)
    with torch.no_grad():
        before = small(tokens)
        with silenced(small, 1, 2):
            without = small(tokens)
        assert not torch.allclose(without, before, atol=1e-3)
        assert torch.equal(small(tokens), before)
        attention, size = small.layers[1].attention, 16
        kept = attention.out_proj.weight.clone()
        attention.out_proj.weight[:, 2 * size : 3 * size] = 0
        assert torch.allclose(small(tokens), without)
        attention.out_proj.weight.copy_(kept)


def test_the_second_time_is_measured_where_the_text_repeats(small, monkeypatch):
    tokens = repeated(64, 48, seed=1)
    perfect = torch.nn.functional.one_hot(tokens.roll(-1, 1), 256).float() * 50
    perfect[:, :47] = 0  # knows nothing the first time
    monkeypatch.setattr(small, "forward", lambda given: perfect)
    assert loss_of_the_second_time(small) < 1e-6


# ---- GPT-2 --------------------------------------------------------------------

SIZES = {"vocab_size": 50, "d_model": 64, "num_heads": 1, "num_layers": 2, "d_ff": 256}


def gpt2_state(model) -> dict[str, torch.Tensor]:
    """The weights of a DecoderOnly in GPT-2's layout, written out one by one."""
    ours = model.state_dict()
    state = {"wte.weight": ours["tokens.weight"], "wpe.weight": ours["positions.weight"]}
    for n in range(len(model.layers)):
        for kind in ("weight", "bias"):
            front, back = f"h.{n}.", f"layers.{n}."
            state[f"{front}ln_1.{kind}"] = ours[f"{back}norm1.{kind}"]
            state[f"{front}ln_2.{kind}"] = ours[f"{back}norm2.{kind}"]
            for theirs, mine in (
                ("attn.c_attn.", "attention.in_proj_"),
                ("attn.c_proj.", "attention.out_proj."),
                ("mlp.c_fc.", "feed_forward.0."),
                ("mlp.c_proj.", "feed_forward.2."),
            ):
                tensor = ours[f"{back}{mine}{kind}"]
                state[f"{front}{theirs}{kind}"] = tensor.T if kind == "weight" else tensor
        state[f"h.{n}.attn.bias"] = torch.ones(1, 1, 16, 16).tril()
    return state | {f"ln_f.{kind}": ours[f"norm.{kind}"] for kind in ("weight", "bias")}


@pytest.fixture
def public(decoder_only, tmp_path):
    """A folder with the two files of a public GPT-2, small and random; and its model."""
    torch.manual_seed(0)
    model = decoder_only(**SIZES, max_length=16)
    start_small(model, std=0.2)
    header, content = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in gpt2_state(model).items():
        numbers = np.ascontiguousarray(tensor.numpy()).tobytes()
        place = [len(content), len(content) + len(numbers)]
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": place}
        content += numbers
    head = json.dumps(header).encode()
    file = len(head).to_bytes(8, "little") + head + content
    (tmp_path / "model.safetensors").write_bytes(file)
    (tmp_path / "vocab.json").write_text(json.dumps({f"Ġw{n}": n for n in range(50)}))
    return tmp_path, model


def test_the_public_file_loads_into_the_students_class(public, decoder_only, tmp_path_factory):
    folder, model = public
    cache = tmp_path_factory.mktemp("cache")
    found = public_gpt2(cache, address=f"{folder.as_uri()}/")
    assert found is not None
    assert found.sizes == {**SIZES, "max_length": 16}
    mapped = decoder_only(**found.sizes)
    load_weights(mapped, solution("gpt2-weights")(found.state))
    tokens = torch.randint(50, (2, 9))
    with torch.no_grad():
        assert torch.allclose(mapped(tokens), model(tokens), atol=1e-5)
    assert found.decode([3, 4]) == " w3 w4"
    assert public_gpt2(cache, address="file:///nowhere/") is not None  # kept from the first time


def test_without_a_network_there_is_one_sentence(tmp_path, capsys):
    assert public_gpt2(tmp_path / "none", address=f"{tmp_path.as_uri()}/missing/") is None
    assert capsys.readouterr().out.count("\n") == 1
    assert public_gpt2(tmp_path / "none", download=False) is None
    assert capsys.readouterr().out == "GPT-2's parameters are downloaded only in the full budget.\n"


def test_the_students_class_equals_the_transformers_package(decoder_only):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"n_embd": 64, "n_head": 4, "n_layer": 3, "n_positions": 32, "vocab_size": 90}
    theirs = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))  # biases and norms too
    state = {
        name.removeprefix("transformer."): value
        for name, value in theirs.state_dict().items()
        if not name.startswith("lm_head")
    }
    ours = decoder_only(90, 64, 4, 3, 256, 32)
    ours.load_state_dict(solution("gpt2-weights")(state))
    tokens = torch.randint(90, (2, 20))
    with torch.no_grad():
        assert torch.allclose(ours(tokens), theirs(tokens).logits, atol=1e-4)
