"""The student's own language model: trained, writing, with a cache, and with real weights."""

import math
import zipfile

import pytest
import torch
from torch.nn import functional as F

from autograder.solutions import solution
from course_utils.language_model.byte_training import (
    ByteRecipe,
    as_tokens,
    bits_per_byte,
    byte_losses,
    start_small,
    train_on_bytes,
)
from course_utils.language_model.cache import copy_weights, with_cache
from course_utils.language_model.python_source import (
    HELD_OUT,
    bigram_bits,
    gzip_bits,
    standard_library,
)
from course_utils.language_model.writing import write, write_text


@pytest.fixture(scope="module")
def decoder_only():
    return solution("decoder-only-model")


@pytest.fixture(scope="module")
def cached():
    return solution("cached-self-attention")


@pytest.fixture
def model(decoder_only):
    torch.manual_seed(0)
    made = decoder_only(256, 16, 4, 2, 32, max_length=40)
    start_small(made, std=0.3)
    return made.eval()


# ---- text ---------------------------------------------------------------------


def test_held_out_files_are_not_learned_from_and_the_note_counts_them():
    texts = standard_library()
    assert b"class ConfigParser" in texts.held_out
    assert b"class ConfigParser" not in texts.train
    assert b"class ArgumentParser" in texts.train
    assert f"{len(HELD_OUT)} held out" in texts.note
    assert len(texts.train) > 1_000_000


def small_library(add):
    for name in (*HELD_OUT, "one.py", "_private.py"):
        add(name, f"# {name}\n")


def test_a_zipped_library_gives_the_same_text_as_a_folder(tmp_path):
    folder, packed = tmp_path / "lib", tmp_path / "python.zip"
    folder.mkdir()
    small_library(lambda name, text: (folder / name).write_text(text))
    with zipfile.ZipFile(packed, "w") as archive:
        small_library(archive.writestr)
    one, other = standard_library(folder), standard_library(packed)
    assert one == other
    assert one.train == b"# one.py\n"


def test_without_a_library_another_text_is_used_and_a_sentence_says_so(tmp_path):
    texts = standard_library(tmp_path / "nothing")
    assert "no Python source" in texts.note and "PyTorch" in texts.note
    assert b"class Linear" in texts.train + texts.held_out
    assert not set(texts.held_out[:5000].splitlines()[5:9]) <= set(texts.train.splitlines())


def test_bits_of_the_rivals():
    assert gzip_bits(b"a" * 10_000) < 0.1
    assert bigram_bits(b"ab" * 5_000, b"abababab") == pytest.approx(0.0, abs=0.02)
    assert bigram_bits(b"", bytes(range(256))) == pytest.approx(8.0)


# ---- training and measuring ---------------------------------------------------


def test_every_byte_but_the_first_is_measured_once(model):
    text = bytes(range(97, 123)) * 4
    losses = byte_losses(model, text, context=40)
    assert len(losses) == len(text) - 1
    whole = as_tokens(text[:41])[None]
    with torch.no_grad():
        direct = F.cross_entropy(model(whole[:, :-1])[0], whole[0, 1:], reduction="none")
    assert torch.allclose(losses[:40], direct, atol=1e-5)
    # The piece that starts at 20 gives the losses of bytes 41 to 60.
    part = as_tokens(text[20:61])[None]
    with torch.no_grad():
        direct = F.cross_entropy(model(part[:, :-1])[0], part[0, 1:], reduction="none")
    assert torch.allclose(losses[40:60], direct[20:], atol=1e-5)


def test_an_untrained_model_needs_about_eight_bits(decoder_only):
    torch.manual_seed(0)
    model = decoder_only(256, 16, 2, 1, 32, 32)
    start_small(model, std=1e-4)
    assert bits_per_byte(model, b"import this\n" * 20, 32) == pytest.approx(8.0, abs=0.01)


def test_training_learns_a_text_that_repeats(decoder_only):
    torch.manual_seed(0)
    model = decoder_only(256, 32, 2, 2, 64, 32)
    start_small(model)
    recipe = ByteRecipe(32, 2, 2, 32, rounds=2, steps=60, batch_size=8)
    text = b"for i in range(10):\n    print(i)\n" * 200
    history = train_on_bytes(
        model, text, solution("shifted-targets"), recipe, held_out=text[:500], show=False
    )
    assert history.records[-1]["val_bits"] < 0.5 * history.records[0]["val_bits"]
    assert history.records[-1]["val_loss"] == pytest.approx(
        history.records[-1]["val_bits"] * math.log(2)
    )
    assert write_text(model, "for i in r", 7) == "for i in range(10"


def test_matrices_that_write_into_the_sum_start_smaller(model):
    torch.manual_seed(0)
    start_small(model, std=0.1)
    spread = {name: float(p.std()) for name, p in model.named_parameters() if p.dim() == 2}
    assert spread["layers.0.attention.in_proj_weight"] == pytest.approx(0.1, rel=0.1)
    assert spread["layers.0.attention.out_proj.weight"] == pytest.approx(0.05, rel=0.2)


# ---- writing and the cache ----------------------------------------------------


def test_the_cache_writes_the_same_tokens_and_leaves_the_model_as_it_was(model, cached):
    before = [layer.attention for layer in model.layers]
    start = torch.randint(256, (1, 5))
    without = write(model, start, 30)
    with_it = write(model, start, 30, attention=cached)
    assert without.words == with_it.words
    assert len(with_it.words) == len(with_it.seconds) == 30
    assert [layer.attention for layer in model.layers] == before


@torch.no_grad()
def test_positions_that_start_again_give_other_logits(model, cached):
    tokens = torch.randint(256, (1, 6))
    whole = model(tokens)
    with with_cache(model, cached):
        model(tokens[:, :5])
        goes_on = model(tokens[:, 5:], 5)
    with with_cache(model, cached):
        model(tokens[:, :5])
        starts_again = model(tokens[:, 5:])
    assert torch.allclose(goes_on[:, 0], whole[:, 5], atol=1e-5)
    assert not torch.allclose(starts_again[:, 0], whole[:, 5], atol=1e-2)


def test_writing_goes_on_past_the_positions_without_a_cache_and_is_refused_with_one(model, cached):
    start = torch.randint(256, (1, 38))
    assert len(write(model, start, 10).words) == 10
    with pytest.raises(ValueError, match=r"41 positions .* 40"):
        write(model, start, 10, attention=cached)


def test_writing_stops_after_the_end_token(model):
    start = torch.randint(256, (1, 5))
    words = write(model, start, 20).words
    assert write(model, start, 20, end=words[0]).words == words[:1]


def test_an_attention_that_does_not_keep_its_heads_is_named(model, cached):
    del model.layers[0].attention.num_heads
    with pytest.raises(ValueError, match=r"self\.num_heads"), with_cache(model, cached):
        pass


def test_weights_are_copied_from_a_students_own_attention_too(cached):
    own, copy = cached(16, 4), cached(16, 4)
    copy_weights(own, copy)
    assert all(torch.equal(a, b) for a, b in zip(own.parameters(), copy.parameters()))


def test_heads_that_do_not_divide_are_refused_by_the_solution(cached):
    with pytest.raises(ValueError, match=r"3 heads .* 16"):
        cached(16, 3)
