"""The translation notebook: its pictures, its beam tree, and answers that agree with ours."""

import math

import jupytext
import pytest
import torch
from torch import nn

from autograder.build import SOURCES
from autograder.reference import translation as reference
from course_utils.data import Corpus, Pairs
from course_utils.data.tokens import END, START
from course_utils.figures.translator import slides_diagram, translator_diagram
from course_utils.training.history import History
from course_utils.translation.beam_trace import BeamTrace
from course_utils.translation.scores import Bleu
from course_utils.widgets import beam_tree

WORDS = ["<s>", "</s>", "a", "the", "dog"]
TABLE = {
    (0,): [0.0, 0.0, 0.6, 0.4, 0.0],
    (0, 2): [0.0, 0.35, 0.15, 0.2, 0.3],
    (0, 3): [0.0, 0.05, 0.0, 0.0, 0.95],
}


def tiny_step(prefixes):
    ends = [0.0, 1.0, 0.0, 0.0, 0.0]
    rows = [TABLE.get(tuple(int(n) for n in prefix), ends) for prefix in prefixes]
    return torch.tensor(rows).clamp(min=1e-9).log()


@pytest.fixture(scope="module")
def answers():
    """What the notebook's own solution cells define."""
    notebook = jupytext.read(SOURCES / "04_translation.py")
    namespace = {"torch": torch, "nn": nn, "math": math}
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution"):
            exec(cell.source, namespace)
    return namespace


def test_the_notebooks_attention_is_the_one_that_was_measured(answers):
    torch.manual_seed(0)
    ours = reference.SingleQueryScaledDotProductAttention(5, 7, 6)
    theirs = answers["SingleQueryScaledDotProductAttention"](5, 7, 6)
    theirs.load_state_dict(ours.state_dict())
    hidden, states = torch.randn(3, 7), torch.randn(4, 3, 10)
    for one, other in zip(ours(hidden, states), theirs(hidden, states), strict=True):
        torch.testing.assert_close(one, other)


def test_greedy_misses_what_a_beam_of_two_finds(answers):
    search = answers["beam_search"]
    tokens, score = search(tiny_step, 0, 1, beam=1, max_length=4)
    assert [WORDS[n] for n in tokens] == ["a", "</s>"]
    assert math.exp(score) == pytest.approx(0.21)
    tokens, score = search(tiny_step, 0, 1, beam=2, max_length=4)
    assert [WORDS[n] for n in tokens] == ["the", "dog", "</s>"]
    assert math.exp(score) == pytest.approx(0.38)


def test_the_batched_search_of_the_table_is_the_notebooks_search(answers):
    """Ours runs many sentences together; on each it must find what the notebook's one finds."""
    from course_utils.data import builtin_corpus, encode
    from course_utils.translation.decoding import prefix_scorer
    from course_utils.translation.model import Widths, length_limit
    from course_utils.translation.training import make_translator

    data = encode(builtin_corpus())
    torch.manual_seed(1)
    sizes = Widths(words=12, encoder=10, decoder=11, dropout=0.0)
    attention = reference.SingleQueryScaledDotProductAttention(10, 11, 6)
    model = make_translator(data, attention, sizes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
        model.output.bias[END] = 4.0
    sources = [example.source for example in data.test[:25]]
    for beam, penalty in ((1, 1.0), (3, 1.0), (4, 0.0)):
        together = reference.beam_translate(model, data, sources, beam, penalty, rows_at_once=20)
        for source, found in zip(sources, together, strict=True):
            tokens, _ = answers["beam_search"](
                prefix_scorer(model, data, source),
                START,
                END,
                beam,
                length_limit(len(source)),
                length_penalty=penalty,
            )
            assert data.target_vocabulary.decode(tokens) == found


def test_a_watched_search_becomes_a_tree(answers):
    trace = BeamTrace(tiny_step)
    answers["beam_search"](trace, 0, 1, beam=2, max_length=4)
    first, second, third, *_ = trace.tree(WORDS, end=1, beam=2)
    assert {entry["token"] for entry in first if entry["kept"]} == {"a", "the"}
    kept = [entry for entry in second if entry["kept"]]
    assert [entry["token"] for entry in kept] == ["dog", "</s>"]
    assert first[kept[0]["parent"]]["token"] == "the"
    assert kept[0]["score"] == pytest.approx(math.log(0.38), abs=1e-5)
    assert [entry["finished"] for entry in kept] == [False, True]
    assert third[0]["token"] == "</s>" and third[0]["finished"]
    assert "the dog" in beam_tree([first, second, third]).state.sentence(2, 0)


@pytest.mark.parametrize("draw", [translator_diagram, slides_diagram])
def test_drawings_have_a_text_alternative(draw):
    picture = draw()
    assert 'role="img" aria-label="' in picture.html
    assert len(picture.words) > 100


@pytest.mark.parametrize(
    ("corpus", "comparable"),
    [
        (("Multi30k", "de"), True),
        (("Multi30k", "fr"), False),
        (("Built-in corpus", "de"), False),
    ],
)
def test_only_german_multi30k_is_compared_with_the_table(corpus, comparable, capsys):
    name, language = corpus
    nothing = Pairs([], [])
    cells = jupytext.read(SOURCES / "04_translation.py").cells
    (cell,) = (c.source for c in cells if "validation loss {history.best_loss" in c.source)
    known = {
        "ready": lambda exercise: True,
        "corpus": Corpus(name, (language, "en"), nothing, nothing, nothing),
        "score": Bleu(36.5, 36.0, "", ""),
        "history": History(best_loss=1.73),
    }
    exec(cell, known)
    first, *more = capsys.readouterr().out.splitlines()
    spoken = {"de": "German", "fr": "French"}[language]
    assert first == f"{name}, {spoken} to English: test BLEU 36.50, validation loss 1.730"
    assert [("can't be compared" in line) for line in more] == ([] if comparable else [True])
