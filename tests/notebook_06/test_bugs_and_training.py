"""The record of the six suspects shows their symptoms, and what training needs does what it says."""

import json

import pytest
import torch

from autograder.oracles.find_the_bug import ANSWERS as FAULTS
from autograder.reference import suspects as bugs
from autograder.solutions import solution
from course_utils.checks import judge
from course_utils.checks.exercises import find_the_bug
from course_utils.data import builtin_corpus, encode
from course_utils.data.batches import padded_batches
from course_utils.data.tokens import PAD, START
from course_utils.figures.transformer import PARTS, transformer_diagram
from course_utils.notebook import judge_here
from course_utils.register import exercises
from course_utils.transformer import suspect_choices
from course_utils.transformer.suspects import RECORD, suspect
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


LETTERS = tuple(FAULTS)


def test_the_record_names_no_fault_and_holds_all_models():
    text = RECORD.read_text()
    assert tuple(json.loads(text)) == LETTERS
    words = [*suspect_choices.FAULTS, *suspect_choices.REASONS, "fault", "dropout", "mask"]
    assert not [word for word in words if word in text]


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("guess", suspect_choices.FAULTS)
def test_every_wrong_guess_has_evidence_against_it_and_the_right_one_has_none(letter, guess):
    said = find_the_bug.against(letter, guess)
    assert (said == "") is (FAULTS[letter][0] == guess)


def test_the_record_shows_what_each_reason_says():
    records = {fault: suspect(letter) for letter, (fault, _) in FAULTS.items()}
    leak, shift = records["the future leaks"], records["target not shifted"]
    assert leak.losses[-1] < 0.05 and shift.losses[-1] < 0.05
    assert leak.share_right(6) == shift.share_right(6) == 0
    padding = records["attends to padding"]
    assert padding.share_right(5) == 1
    assert all(alone != beside for _, alone, beside in padding.neighbours)
    assert len({answer for _, answer in records["no source positions"].orders}) == 1
    early = records["positions stop early"]
    assert early.share_right(4) == 1 and early.share_right(8) < 0.5
    assert any(first != second for _, first, second in records["dropout stays on"].twice)


def test_a_suspect_that_is_not_there_is_said():
    with pytest.raises(ValueError, match="There are: a, b, c, d, e, f"):
        suspect("g")


@pytest.mark.slow
def test_a_model_that_is_trained_again_behaves_as_recorded():
    model = bugs.faulty_model("e")
    assert bugs.trained(model, epochs=2)[-1] < 0.1
    lines = bugs.draw(10, 6, seed=5)
    assert not any(model.write([line])[0] == line[::-1] for line in lines)


def test_what_a_wrong_guess_is_told_is_in_the_record():
    answers = {
        f"{kind}_{letter}": text
        for letter, (fault, reasons) in FAULTS.items()
        for kind, text in (("bug", fault), ("reason", reasons[0]))
    }
    answers["bug_a"] = "the future leaks"
    verdict = judge_here(judge.make_plan("find-the-bug"), answers)
    message = verdict.findings[0].message
    assert f"it ends at {suspect('a').losses[-1]}" in message
    assert "`notes` has no sentence for model B yet." in verdict.findings[3].message


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


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("padded", [False, True])
def test_maps_of_a_suspect_have_rows_that_sum_to_one(letter, padded):
    for kind in ("itself", "source"):
        weights = suspect(letter).look(kind, padded)
        assert weights.shape[0] == 8
        assert abs(weights.sum(-1) - 1).max() <= 0.06  # each is rounded to a hundredth


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
