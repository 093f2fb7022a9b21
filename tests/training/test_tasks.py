"""The toy tasks: right answers, batches of one length, and sentences for bad input."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_utils.data.string_tasks import (
    BLANK,
    PLACES,
    change_case,
    epoch_of,
    remove_spaces,
    reverse,
)
from course_utils.data.tokens import END, PAD, START
from course_utils.recurrent.seq2seq import Seq2Seq, answer


def tokens_of(task, numbers):
    return [task.tokens[number] for number in numbers.tolist()]


def test_the_prompt_decides_the_case():
    task = change_case()
    batch = task.batch(["<U> I am a student", "<L> I am a student"])
    assert task.write(batch.wanted[0]) == "I AM A STUDENT"
    assert task.write(batch.wanted[1]) == "i am a student"
    assert tokens_of(task, batch.source[0])[:4] == ["<U>", "I", " ", "a"]
    assert batch.given[:, 0].tolist() == [START, START]
    assert torch.equal(batch.given[:, 1:], batch.wanted[:, :-1])


def test_the_prompt_goes_where_it_is_told():
    seen = {}
    for place in PLACES:
        task = change_case(place=place)
        batch = task.batch(["<U> ab"])
        source = batch.source[0]
        seen[place] = (
            [tokens_of(task, step) for step in source] if source.dim() == 2
            else tokens_of(task, source),
            task.tokens[int(batch.given[0, 0])],
        )  # fmt: skip
    assert seen == {
        "start": (["<U>", "a", "b"], "<s>"),
        "end": (["a", "b", "<U>"], "<s>"),
        "both": (["<U>", "a", "b", "<U>"], "<s>"),
        "each step": ([["a", "<U>"], ["b", "<U>"]], "<s>"),
        "decoder": (["a", "b"], "<U>"),
    }


@given(st.text(alphabet="abcd", min_size=1, max_size=20))
def test_reversing_twice_gives_the_text_back(text):
    task = reverse()
    once = task.write(task.batch([text]).wanted[0])
    assert task.write(task.batch([once]).wanted[0]) == text


@given(st.text(alphabet="xyz ", min_size=1, max_size=20))
def test_spaces_go_or_become_blanks(text):
    plain, blanks = remove_spaces(blank=False), remove_spaces(blank=True)
    assert plain.write(plain.batch([text]).wanted[0]) == text.replace(" ", "")
    kept = tokens_of(blanks, blanks.batch([text]).wanted[0])
    assert kept == [BLANK if c == " " else c for c in text] + ["</s>"]


def test_answers_of_different_length_are_padded_behind_their_end():
    task = remove_spaces(blank=False)
    batch = task.batch(["ab c", "    "])
    assert tokens_of(task, batch.wanted[0]) == ["a", "b", "c", "</s>"]
    assert batch.wanted[1].tolist() == [END, PAD, PAD, PAD]


def test_drawn_batches_repeat_for_a_seed_and_differ_between_seeds():
    task = change_case()
    first, again, other = (task.draw(8, 6, seed=seed) for seed in (1, 1, 2))
    assert all(torch.equal(a, b) for a, b in zip(first[:3], again[:3], strict=True))
    assert not torch.equal(first.source, other.source)
    assert first.source.shape == (8, 7) and first.wanted.shape == (8, 7)


def test_epochs_bring_new_batches_of_the_lengths_asked_for():
    task = reverse()
    batches_of = epoch_of(task, batches=12, size=4, lengths=[3, 5], seed=1)
    epoch = batches_of(0)
    assert len(epoch) == 12
    assert {batch.source.shape[1] for batch in epoch} == {3, 5}
    assert all(torch.equal(a.source, b.source) for a, b in zip(epoch, batches_of(0), strict=True))
    assert any(
        a.source.shape != b.source.shape or not torch.equal(a.source, b.source)
        for a, b in zip(epoch, batches_of(1), strict=True)
    )


@pytest.mark.parametrize(
    ("task", "lines", "sentence"),
    [
        (change_case(), ["<U> "], "The text is empty"),
        (change_case(), ["<U>"], "The text is empty"),
        (change_case(), [""], "has no prompt"),
        (change_case(), ["I am"], "has no prompt"),
        (change_case(), ["<X> I am"], "'<X>' is not a prompt. The prompts are <U>, <L>."),
        (change_case(), ["<U> it's 5"], "characters that the task 'change case' does not know"),
        (reverse(), ["abe"], "does not know: 'e'"),
        (reverse(), [""], "The text is empty"),
        (reverse(), ["ab", "abc"], r"the same length, but these have \[2, 3\]"),
        (reverse(), [], "at least one line"),
    ],
)
def test_bad_input_is_answered_with_a_sentence(task, lines, sentence):
    with pytest.raises(ValueError, match=sentence):
        task.batch(lines)


def test_an_unknown_place_and_an_empty_draw_are_answered_with_a_sentence():
    with pytest.raises(ValueError, match="place is 'middle'"):
        change_case(place="middle")
    with pytest.raises(ValueError, match="lines of length 0"):
        reverse().draw(3, 0, seed=1)


def test_a_model_answers_a_line_with_text_and_its_weights():
    def even(query, states):
        weights = torch.full((*query.shape[:2], states.shape[1]), 1 / states.shape[1])
        return weights @ states, weights

    task = change_case()
    model = Seq2Seq(len(task.tokens), attention=even)
    text, weights = answer(model, task, "<U> I am")
    assert isinstance(text, str)
    assert weights.shape == (5, 5)
    assert answer(Seq2Seq(len(task.tokens)), task, "<U> I am")[1] is None
