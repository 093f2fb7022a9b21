"""Words in, words out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_utils.data.tokens import END, START, UNKNOWN, Vocabulary, detokenise, tokenise


def test_words_and_marks_are_apart_and_lower_cased():
    assert tokenise("Zwei Männer, die grüßen!") == ["zwei", "männer", ",", "die", "grüßen", "!"]


def test_typographic_quotes_and_odd_spaces_do_not_make_new_words():
    assert tokenise("A man\u2019s  t-shirt\u00a0.") == ["a", "man", "'s", "t", "-", "shirt", "."]


def test_an_accent_in_two_characters_is_the_same_word():
    assert tokenise("Ma\u0308nner") == tokenise("Männer") == ["männer"]


@given(st.text())
def test_any_text_can_be_cut_into_words_without_spaces(text):
    assert not any(any(c.isspace() for c in token) for token in tokenise(text))


@pytest.mark.parametrize(
    "text",
    [
        "A man in a t-shirt, with a dog.",
        'A sign says "stop" here.',
        "The boy's hat isn't red.",
        "Two people (a couple) walk.",
    ],
)
def test_a_sentence_comes_back_as_it_was(text):
    assert detokenise(tokenise(text)) == text


def test_nothing_comes_back_from_nothing():
    assert tokenise("  ") == [] and detokenise([]) == ""


def test_rare_words_are_unknown_and_frequent_ones_come_first():
    vocabulary = Vocabulary.from_sentences([["a", "b", "a"], ["b", "a", "rare"]], min_count=2)
    assert vocabulary.words[4:] == ["a", "b"]
    assert vocabulary.encode(["a", "rare"]) == [4, UNKNOWN]


def test_decoding_stops_at_the_end_mark():
    vocabulary = Vocabulary(["a", "b"])
    assert vocabulary.decode([START, 4, 5, END, 4]) == ["a", "b"]


def test_a_word_twice_is_refused():
    with pytest.raises(ValueError, match="same word twice"):
        Vocabulary(["a", "a"])
