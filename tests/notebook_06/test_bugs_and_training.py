"""The record of the six suspects shows their symptoms, and what training needs does what it says."""

import json

import pytest
import torch

from autograder.oracles.find_the_bug import ANSWERS as FAULTS
from autograder.reference import suspects as bugs
from autograder.solutions import solution
from course_utils.checks import judge
from course_utils.checks.exercises import find_the_bug
from course_utils.checks.quoted import quotes
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


@pytest.mark.thorough
@pytest.mark.slow
def test_a_model_that_is_trained_again_behaves_as_recorded():
    model = bugs.faulty_model("e")
    assert bugs.trained(model, epochs=2)[-1] < 0.1
    lines = bugs.draw(10, 6, seed=5)
    assert not any(model.write([line])[0] == line[::-1] for line in lines)


NOTES = {
    "a": "four orders of the same letters all get bchaeb",
    "b": "the loss ends at 0.001, yet 0% of the samples are right",
    "c": "18 of 18 answers change beside a longer line",
    "d": "100% of the lines of 4 letters are right, and 0% of those of 7",
    "e": "in layer 1, head 1 the map is bright on the diagonal",
    "f": "asked twice, it changes 5 of 30 answers",
}
# Notes that a student may write who has not looked, or not where the fault shows.
WITHOUT_EVIDENCE = {
    "none": dict.fromkeys(LETTERS, ""),
    "words": dict.fromkeys(LETTERS, "I am quite sure that it is this one"),
    "the example of the text": dict.fromkeys(
        LETTERS, "7 of 12 answers change, layer 2, head 5, and it writes gfa"
    ),
    "another experiment": {
        "a": "its loss ends at 0.929, higher than the others",
        "b": "0 of 18 answers change beside a longer line",
        "c": "its loss ends at 0.001, as it should",
        "d": "its loss ends at 0.21, higher than it should",
        "e": "0 of 18 answers change beside a longer line",
        "f": "its loss ends at 0.113, higher than it should",
    },
}


def found(bugs: dict[str, str], reasons: dict[str, str], notes: dict[str, str]) -> judge.Verdict:
    answers = {f"bug_{letter}": bug for letter, bug in bugs.items()}
    answers |= {f"reason_{letter}": reason for letter, reason in reasons.items()}
    answers["notes"] = "\n".join(f"{letter.upper()}: {note}" for letter, note in notes.items())
    return judge_here(judge.make_plan("find-the-bug"), answers)


RIGHT_BUGS = {letter: fault for letter, (fault, _) in FAULTS.items()}
RIGHT_REASONS = {letter: reasons[0] for letter, (_, reasons) in FAULTS.items()}


def test_what_a_wrong_guess_is_told_is_in_the_record():
    verdict = found(RIGHT_BUGS | {"a": "the future leaks"}, RIGHT_REASONS, NOTES)
    assert f"it ends at {suspect('a').losses[-1]}" in verdict.findings[0].message
    assert all(finding.passed for finding in verdict.findings[2:])


@pytest.mark.parametrize("notes", WITHOUT_EVIDENCE.values(), ids=list(WITHOUT_EVIDENCE))
def test_clicking_through_all_faults_earns_nothing_without_what_shows_them(notes):
    """Even the right guess: so it does not matter how often a student may guess."""
    for guess in suspect_choices.FAULTS:
        bugs = dict.fromkeys(LETTERS, guess)
        assert found(bugs, RIGHT_REASONS, notes).points == 0
    assert found(RIGHT_BUGS, RIGHT_REASONS, notes).points == 0
    assert found(RIGHT_BUGS, RIGHT_REASONS, NOTES).points == 3


def test_a_guess_without_a_note_is_told_nothing_about_the_fault():
    said = {
        guess: found(dict.fromkeys(LETTERS, guess), RIGHT_REASONS, WITHOUT_EVIDENCE["words"])
        for guess in suspect_choices.FAULTS
    }
    assert len({tuple(f.message for f in verdict.findings) for verdict in said.values()}) == 1
    first = said["no learning"].findings[0]
    assert first.message == "Your note on model A quotes nothing from its record."


def test_a_note_goes_on_until_the_next_one_and_is_not_taken_for_another_model():
    text = "A:\nB: the loss is low, but\n it writes bbb\n\nmodel c) 18 of 18"
    notes = find_the_bug.notes_of(text)
    assert list(notes) == ["a", "b", "c"] and not notes["a"].strip()
    assert notes["b"].split()[-1] == "bbb" and notes["c"].strip() == "18 of 18"


@pytest.mark.parametrize(
    "note, reason",
    [
        ("the loss is 0.25 after two epochs", "low loss, wrong samples"),
        ("the loss is 0,247 after two epochs", "low loss, wrong samples"),
        ("0 out of 18 answers change", "neighbours matter"),
        ("0 per cent are right", "low loss, wrong samples"),
        ('it answers "BBB" again', "low loss, wrong samples"),
        ("layer 0, head 1 looks ahead", "looks one step ahead"),
        ("Layer 0 and head 1 looks ahead", "looks one step ahead"),
    ],
)
def test_a_quote_counts_in_every_usual_form(note, reason):
    assert quotes(note, suspect("b"), [reason])
    assert not quotes(note, suspect("c"), [reason])


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
