"""The grammar makes right German, and knows which words belong together."""

import random
import re

import pytest

from course_utils.data import builtin, builtin_corpus, encode, tokenise
from course_utils.data.tokens import UNKNOWN


@pytest.fixture(scope="module")
def pairs():
    return [pair for split in builtin.splits().values() for pair in split]


def test_there_are_thousands_of_distinct_pairs_and_splits_share_none(pairs):
    assert len(pairs) == 7000
    assert len({pair.german for pair in pairs}) == 7000


def test_the_corpus_is_the_same_each_time():
    first = builtin.make_pair(random.Random(7))
    assert first == builtin.make_pair(random.Random(7))
    before = builtin.splits()["test"][:3]
    builtin.splits.cache_clear()
    assert builtin.splits()["test"][:3] == before


def test_one_german_sentence_has_one_translation_for_the_same_meaning(pairs):
    assert all(pair.german[0].isupper() and pair.english[0].isupper() for pair in pairs)
    assert all(pair.german[-1] in ".?" and pair.german[-1] == pair.english[-1] for pair in pairs)


def test_alignments_point_at_words_and_every_english_word_has_one(pairs):
    for pair in pairs:
        german, english = tokenise(pair.german), tokenise(pair.english)
        assert all(s < len(german) and t < len(english) for s, t in pair.alignment)
        assert {t for _, t in pair.alignment} == set(range(len(english))), pair
        # Only commas of German may stand alone.
        alone = set(range(len(german))) - {s for s, _ in pair.alignment}
        assert all(german[place] == "," for place in alone), pair


def test_words_are_aligned_with_their_translations(pairs):
    nouns = {noun.german.lower(): noun.english for noun in builtin.NOUNS}
    checked = 0
    for pair in pairs[:500]:
        german, english = tokenise(pair.german), tokenise(pair.english)
        for source, target in pair.alignment:
            if german[source] in nouns and english[target] in nouns.values():
                singular = nouns[german[source]]
                plural = next(
                    n.english_plural for n in builtin.NOUNS if n.german.lower() == german[source]
                )
                assert english[target] in (singular, plural)
                checked += 1
    assert checked > 400


def noun_phrases(pairs):
    """(article, adjective or "", noun) wherever one stands, with the noun's entry."""
    by_form = {}
    for noun in builtin.NOUNS:
        by_form.setdefault(noun.german, noun)
    articles = "der|die|das|den|dem|ein|eine|einen|einem|einer"
    stems = "|".join(stem for stem, _, _ in builtin.ADJECTIVES)
    adjectives = f"(?:{stems})e[a-z]*"
    pattern = re.compile(rf"\b({articles}) ({adjectives} )?([A-ZÄÖÜ][a-zäöüß]+)", re.IGNORECASE)
    for pair in pairs:
        for article, adjective, noun in pattern.findall(pair.german):
            if noun in by_form and noun[0].isupper():
                yield article.lower(), adjective.strip(), by_form[noun], pair


# What may stand before the basic form of a noun that is the same in all cases of the singular.
ALLOWED = {
    "m": {"der", "den", "dem", "ein", "einen", "einem"},
    "f": {"die", "der", "eine", "einer"},
    "n": {"das", "dem", "ein", "einem"},
}
ENDINGS = {
    ("der", "m"): "e", ("den", "m"): "en", ("dem", "m"): "en",
    ("ein", "m"): "er", ("einen", "m"): "en", ("einem", "m"): "en",
    ("die", "f"): "e", ("der", "f"): "en", ("eine", "f"): "e", ("einer", "f"): "en",
    ("das", "n"): "e", ("dem", "n"): "en", ("ein", "n"): "es", ("einem", "n"): "en",
}  # fmt: skip


def test_articles_and_adjectives_agree_with_gender_and_case(pairs):
    seen = set()
    for article, adjective, noun, pair in noun_phrases(pairs):
        if noun.plural == noun.german:
            continue  # "die Lehrer" may be many
        assert article in ALLOWED[noun.gender], (article, noun.german, pair.german)
        if adjective:
            ending = ENDINGS[article, noun.gender]
            assert adjective.endswith(ending), (article, adjective, noun.german)
            seen.add((article, noun.gender))
    assert seen == set(ENDINGS)


def test_weak_nouns_change_outside_the_nominative(pairs):
    text = " ".join(pair.german for pair in pairs)
    assert "den Studenten" in text and "einem Bauern" in text
    assert not re.search(r"\b(den|dem|einen|einem)( \w+en)? (Student|Bauer|Junge|Hase|Bär)\b", text)


@pytest.mark.parametrize("conjunction", ["weil", "obwohl", "während", "wenn", "bevor", "dass"])
def test_subordinate_clauses_end_with_their_finite_verb(pairs, conjunction):
    finite = {verb.prefix + form for verb in builtin.VERBS for form in (verb.singular, verb.plural)}
    finite |= {form for forms in builtin.AUXILIARIES.values() for form in forms}
    finite |= {form for modal in builtin.MODALS for form in modal[:2]}
    clauses = [
        match.group(1)
        for pair in pairs
        for match in [re.search(rf"\b{conjunction} ([^,.]*)[,.]", pair.german, re.IGNORECASE)]
        if match
    ]
    assert len(clauses) > 50
    assert all(clause.split()[-1] in finite for clause in clauses)


def test_separable_verbs_part_in_a_main_clause_and_join_at_the_end(pairs):
    parted = [p for p in pairs if re.search(r"\bhebt\b.*\bauf\.$", p.german)]
    joined = [p for p in pairs if "aufhebt" in p.german]
    assert len(parted) > 5 and len(joined) > 5
    for pair in parted + joined:
        assert "pick" in pair.english


def test_plural_subjects_take_plural_verbs(pairs):
    for pair in pairs:
        found = re.match(r"(Zwei|Drei|Vier) (?:\w+ )?\w+ (\w+)", pair.german)
        if found and found.group(2) in {"hat", "ist", "kann", "muss", "will", "darf", "soll"}:
            pytest.fail(pair.german)
    assert any(re.match(r"Zwei \w+ haben", pair.german) for pair in pairs)


def test_an_stands_before_vowels_only(pairs):
    text = " ".join(pair.english.lower() for pair in pairs)
    assert not re.search(r"\ba [aeiou]", text)
    assert not re.search(r"\ban [^aeiou]", text)


def test_training_knows_the_words_of_the_test():
    data = encode(builtin_corpus())
    assert not any(UNKNOWN in example.source + example.target for example in data.test)
