"""The three faulty models show their symptoms, and what training needs does what it says."""

import pytest
import torch

from autograder.oracles.find_the_bug import ANSWERS as FAULTS
from autograder.solutions import solution
from course_utils.data import builtin_corpus, encode
from course_utils.data.batches import padded_batches
from course_utils.data.tokens import PAD, START
from course_utils.figures.transformer import PARTS, transformer_diagram
from course_utils.register import exercises
from course_utils.training.loop import fit
from course_utils.transformer import bugs
from course_utils.transformer.training import (
    RECIPES,
    make_transformer,
    next_word,
    smoothed_loss,
    written_by,
)
from course_utils.translation.decoding import translate

ANSWERS = {n: solution(e.id, n) for e in exercises("06_transformer") if e.checked for n in e.names}


@pytest.fixture(scope="module")
def data():
    return encode(builtin_corpus())


def trained(model, epochs=4):
    fit(
        model,
        lambda epoch: list(bugs.training_batches(epoch)),
        bugs.reversal_loss,
        epochs=epochs,
        lr=3e-3,
        show=False,
        device="cpu",
    )
    return model


def letter_of(fault: str) -> str:
    return next(letter for letter, (name, _) in FAULTS.items() if name == fault)


def test_each_letter_builds_the_model_that_the_oracle_says():
    for letter, (fault, _) in FAULTS.items():
        assert bugs.faulty_model(letter)._fault == fault
    with pytest.raises(ValueError, match="a, b, c"):
        bugs.faulty_model("d")


@pytest.mark.slow
def test_a_leak_gives_a_low_loss_and_wrong_samples():
    model = trained(bugs.faulty_model(letter_of("the future leaks")))
    lines = bugs.draw(20, 6, seed=5)
    assert bugs.reversal_loss(model, bugs.batch_of(lines))[0] < 0.1
    assert sum(model.write([line])[0] == line[::-1] for line in lines) <= 2


@pytest.mark.slow
def test_without_source_positions_the_order_of_the_source_does_not_matter():
    model = trained(bugs.faulty_model(letter_of("no source positions")), epochs=2)
    assert model.write(["abbceh"]) == model.write(["hbcabe"]) == model.write(["ecbabh"])


@pytest.mark.slow
def test_attention_to_padding_makes_neighbours_matter():
    model = trained(bugs.faulty_model(letter_of("attends to padding")), epochs=8)
    lines = bugs.draw(20, 5, seed=5)
    alone = sum(model.write([line])[0] == line[::-1] for line in lines)
    beside = sum(model.write([line, "abcdefgh"])[0] == line[::-1] for line in lines)
    assert alone >= 15
    assert beside <= 5


def test_a_sound_model_is_deaf_to_padding_and_causal():
    torch.manual_seed(0)
    model = bugs.Reverser().eval()
    batch, padded = bugs.batch_of(["abc"]), bugs.batch_of(["abc", "abcdefgh"])
    with torch.no_grad():
        alone = model(batch.source, batch.given)
        beside = model(padded.source[:1], batch.given)
        longer = model(batch.source, torch.cat([batch.given, batch.given[:, 1:]], dim=1))
    torch.testing.assert_close(alone, beside, atol=1e-5, rtol=0)
    torch.testing.assert_close(alone, longer[:, : alone.shape[1]], atol=1e-5, rtol=0)


def test_maps_of_a_suspect_have_rows_that_sum_to_one():
    maps = bugs.faulty_model("a").look("abcd", beside="abcdefgh")
    assert len(maps) == 4
    for weights in maps.values():
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


def test_the_loss_ignores_padding_and_smoothing_costs_the_too_sure(data):
    torch.manual_seed(0)
    model = make_transformer(ANSWERS["Transformer"], data, RECIPES["smoke"].sizes).eval()
    (batch,) = padded_batches(data.train[:6], 10_000)
    value, count = smoothed_loss(0.0)(model, batch)
    assert count == int((batch.wanted != PAD).sum())
    more = type(batch)(*(torch.nn.functional.pad(part, (0, 3)) for part in batch[:3]))
    again, _ = smoothed_loss(0.0)(model, more)
    torch.testing.assert_close(value, again, atol=1e-4, rtol=0)


def test_many_prefixes_of_one_source_are_asked_together(data):
    torch.manual_seed(0)
    model = make_transformer(ANSWERS["Transformer"], data, RECIPES["smoke"].sizes).eval()
    source = torch.tensor([data.train[0].source])
    prefixes = torch.tensor([[START, 7, 8], [START, 9, 7]])
    together = next_word(model, source)(prefixes)
    alone = torch.cat([next_word(model, source)(prefix[None]) for prefix in prefixes])
    torch.testing.assert_close(together, alone)


def test_translations_come_back_in_the_order_of_their_sources(data):
    torch.manual_seed(0)
    model = make_transformer(ANSWERS["Transformer"], data, RECIPES["smoke"].sizes)
    sources = [example.source for example in data.test[:30]]
    together = translate(model, data, sources, written_by(ANSWERS["greedy_decode"], size=7))
    decode = written_by(ANSWERS["greedy_decode"])
    alone = [translate(model, data, [source], decode)[0].words for source in sources[:3]]
    longest = max(map(len, alone))
    assert [one.words[:longest] for one in together[:3]] == alone


def test_the_diagram_says_in_words_what_is_built():
    picture = transformer_diagram(["embedding"], new="encoder attention")
    assert "Built so far: embedding, encoder attention." in picture.words
    assert 'role="img"' in picture.html and "aria-label" in picture.html
    assert "Still to come" not in transformer_diagram(PARTS).words
    with pytest.raises(ValueError, match="wheel"):
        transformer_diagram(["wheel"])
