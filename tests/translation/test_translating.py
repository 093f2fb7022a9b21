"""Training learns, decoding together equals decoding alone, and the scores mean what they say."""

import dataclasses
import math

import pytest
import torch

from course_utils.data.tokens import END, NEVER_WRITTEN, START
from course_utils.training.devices import seed_everything
from course_utils.training.history import History
from course_utils.translation.decoding import gold_weights, prefix_scorer, translate
from course_utils.translation.drawing import (
    comparison_plot,
    describe_attention,
    draw_attention,
    save_diagrams,
)
from course_utils.translation.model import Dummy, MeanPool, length_limit
from course_utils.translation.results import (
    LengthResult,
    Result,
    add_result,
    comparison_text,
    length_text,
    read_results,
    summarise,
)
from course_utils.translation.scores import (
    Bleu,
    aligned_error_rate,
    alignment_error_rate,
    best_possible_error_rate,
    bleu,
    bleu_by_length,
    links,
)
from course_utils.translation.training import RECIPES, make_translator, mean_loss, train_translator


def test_seconds_of_training_learn_the_grammar(data, trained):
    model, history = trained
    assert history.best["val_perplexity"] < 3
    score = bleu([one.words for one in translate(model, data)], data)
    assert score.tokens > 40
    assert "tok:none" in score.tokens_signature and "tok:13a" in score.plain_signature


def test_the_validation_loss_is_that_of_the_weights_that_were_kept(data, trained):
    model, history = trained
    assert mean_loss(model, data.valid) == pytest.approx(history.best_loss, rel=1e-5)


def test_sentences_decoded_together_are_those_decoded_alone(data, trained):
    model, _ = trained
    sources = [example.source for example in data.test[:60]]
    together = translate(model, data, sources)
    for source, one in zip(sources, together, strict=True):
        (alone,) = translate(model, data, [source])
        assert alone.words == one.words
        torch.testing.assert_close(alone.weights, one.weights, rtol=1e-4, atol=1e-5)


def test_a_translation_is_the_most_probable_word_each_time(data, trained):
    model, _ = trained
    source = data.test[0].source
    (found,) = translate(model, data, [source])
    step, prefix = prefix_scorer(model, data, source), [START]
    for _ in range(length_limit(len(source))):
        prefix.append(int(step(torch.tensor([prefix]))[0].argmax()))
        if prefix[-1] == END:
            break
    assert data.target_vocabulary.decode(prefix) == found.words


def test_prefix_scores_are_the_models_whatever_was_asked_before(data, trained):
    model, _ = trained
    example = data.test[1]
    prefixes = torch.tensor([[START, *example.target[:3]], [START, 7, 8, 9]])
    fresh = prefix_scorer(model, data, example.source)(prefixes)
    used = prefix_scorer(model, data, example.source)
    for length in range(1, 4):
        used(prefixes[:, :length])
    torch.testing.assert_close(used(prefixes), fresh)
    torch.testing.assert_close(fresh.exp().sum(-1), torch.ones(2))
    with torch.no_grad():
        scores, _ = model(torch.tensor([example.source]).T, prefixes[:1].T)
    scores = scores[-1, 0]
    scores[NEVER_WRITTEN] = -math.inf
    torch.testing.assert_close(fresh[0], scores.log_softmax(-1), rtol=1e-4, atol=1e-4)


def test_a_model_that_never_ends_is_cut_off(data):
    seed_everything(0)
    model = make_translator(data, Dummy(), RECIPES["smoke"].sizes)
    with torch.no_grad():
        model.output.bias[END] = -1e9
    source = data.test[0].source
    (found,) = translate(model, data, [source])
    assert len(found.words) == length_limit(len(source)) == len(found.weights)


def test_the_same_seed_trains_the_same_model(data):
    losses = []
    for _ in range(2):
        seed_everything(3)
        recipe = RECIPES["smoke"]
        model = make_translator(data, MeanPool(), recipe.sizes)
        from dataclasses import replace

        history = train_translator(
            model, data, replace(recipe, epochs=1, examples=300), seed=3, show=False
        )
        losses.append(history.best_loss)
    assert losses[0] == losses[1]


def test_an_interrupted_training_goes_on_from_its_checkpoint(data, tmp_path):
    from dataclasses import replace

    recipe = replace(RECIPES["smoke"], epochs=2, examples=300)
    path = tmp_path / "run.pt"

    def run(**how):
        seed_everything(0)
        model = make_translator(data, MeanPool(), recipe.sizes)
        return train_translator(model, data, recipe, show=False, **how)

    whole = run()
    cut = run(checkpoint=path, max_seconds=0.0)
    assert len(cut.records) == 1
    rest = run(checkpoint=path)
    assert [r["epoch"] for r in rest.records] == [1, 2]
    assert whole.records[0].keys() == rest.records[1].keys()


# --- scores


def test_perfect_translations_have_bleu_100(data):
    score = bleu(data.target_tokens("test"), data)
    assert score.tokens == pytest.approx(100) and score.plain == pytest.approx(100)


def test_a_missing_translation_is_refused(data):
    with pytest.raises(ValueError, match="499 translations for 500 references"):
        bleu(data.target_tokens("test")[1:], data)


def test_true_alignments_have_the_least_error_there_is(data):
    pairs = data.corpus.test
    weights = []
    for example, gold in zip(data.test, pairs.alignments, strict=True):
        weight = torch.zeros(len(example.target), len(example.source))
        for source, target in gold:
            weight[target, source] = 1.0
        weights.append(weight)
    least = best_possible_error_rate(pairs.alignments)
    assert 0 < least < 0.05
    assert alignment_error_rate(weights, pairs.alignments) == pytest.approx(least)


def test_the_alignment_error_rate_of_a_small_case():
    weights = torch.tensor([[0.9, 0.1], [0.8, 0.2]])
    assert links(weights) == {(0, 0), (0, 1)}
    assert alignment_error_rate([weights], [frozenset({(0, 0), (1, 1)})]) == pytest.approx(0.5)


def test_no_preference_is_no_link():
    assert links(torch.zeros(2, 3)) == set()
    assert links(torch.full((2, 3), 1 / 3)) == set()


def test_attention_finds_the_words_and_the_baselines_do_not(data, trained):
    model, _ = trained
    assert aligned_error_rate(model, data) < 0.45
    seed_everything(0)
    pooled = make_translator(data, MeanPool(), RECIPES["smoke"].sizes)
    assert aligned_error_rate(pooled, data) == 1


def test_gold_weights_have_a_row_for_each_reference_word(data, trained):
    model, _ = trained
    for weight, example in zip(gold_weights(model, data), data.test, strict=True):
        assert weight.shape == (len(example.target), len(example.source))
        torch.testing.assert_close(weight.sum(-1), torch.ones(len(example.target)))


# --- diagrams and the table


def test_diagrams_are_saved_one_for_each_sentence(data, trained, tmp_path):
    model, _ = trained
    translations = translate(model, data)
    paths = save_diagrams(translations, data, [0, 3], folder=tmp_path / "examples")
    assert [path.name for path in paths] == ["test_0000.png", "test_0003.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def test_a_diagram_needs_a_weight_for_each_pair_of_words():
    with pytest.raises(ValueError, match="2 target words and 3 source words"):
        draw_attention(["a", "b", "c"], ["x", "y"], torch.zeros(3, 2))


def test_a_diagram_in_a_notebook_has_a_text_alternative():
    shown = draw_attention(["der"], ["the"], [[1.0]])._repr_mimebundle_()
    assert 'alt="Attention diagram\nthe: der 1.00"' in shown["text/html"]
    assert shown["text/plain"].endswith("the: der 1.00")


def test_a_diagram_can_be_read_aloud():
    text = describe_attention(["der", "hund"], ["the", "dog"], [[0.9, 0.1], [0.2, 0.8]])
    assert text == "the: der 0.90, hund 0.10\ndog: hund 0.80, der 0.20"


RUNS = [
    Result("Dummy", 0, "quick", 5.0, 9.0, 2.5, 15.0, 14.0),
    Result("Dummy", 1, "quick", 5.0, 9.0, 2.7, 17.0, 15.0),
    Result("scaled dot-product", 0, "quick", 7.0, 12.0, 1.7, 35.0, 34.0),
]


def test_a_finished_run_is_rounded_to_the_digits_of_the_table():
    history = History(best_loss=1.72345, seconds=100.0)
    run = Result.of("Dummy", 1, "quick", history, Bleu(36.6449, 35.1, "", ""), cpu_minutes=1.236)
    assert run == Result("Dummy", 1, "quick", 1.67, 1.24, 1.7234, 36.64, 35.1)


def test_results_are_added_one_by_one_and_read_back(tmp_path):
    path = tmp_path / "results.csv"
    assert read_results(path) == []
    for run in RUNS:
        add_result(run, path)
    assert read_results(path) == RUNS
    assert [p.name for p in tmp_path.iterdir()] == ["results.csv"]


def test_the_summary_has_mean_and_sample_variance():
    dummy, scaled = summarise(RUNS)
    assert (dummy.runs, dummy.bleu_mean, dummy.bleu_variance) == (2, 16.0, 2.0)
    assert dummy.loss_variance == pytest.approx(0.02)
    assert scaled.runs == 1 and math.isnan(scaled.bleu_variance)
    text = comparison_text([dummy, scaled])
    assert "28.27" in text and "34.6" in text
    # One run has no variance, and a mechanism of ours no published figure: a dash, not "nan".
    ours = summarise([dataclasses.replace(RUNS[-1], mechanism="transformer")])
    assert comparison_text(ours).splitlines()[1].split()[-5:].count("–") == 4
    assert "nan" not in comparison_text([dummy, scaled, *ours])
    assert len({len(row) for row in comparison_text([dummy, scaled, *ours]).splitlines()}) == 1
    assert comparison_plot(RUNS).words.startswith("Test BLEU by mechanism")


def test_the_table_that_comes_with_the_course_was_measured():
    runs = read_results()
    keys = [(r.mechanism, r.seed, r.budget) for r in runs]
    assert len(set(keys)) == len(keys)
    assert all(0 < r.bleu_tokens < 100 and r.minutes > 0 for r in runs)


def test_bleu_by_length_takes_every_sentence_once_and_scores_its_part(data):
    perfect = data.target_tokens("test")
    parts = bleu_by_length(perfect, data, "perfect", "smoke")
    assert sum(part.sentences for part in parts) == len(data.test)
    assert [part.shortest for part in parts] == sorted(part.shortest for part in parts)
    assert all(part.bleu_tokens == pytest.approx(100) for part in parts)
    longest = parts[-1]
    cut = [
        words[:2] if len(example.source) >= longest.shortest else words
        for words, example in zip(perfect, data.test, strict=True)
    ]
    worse = bleu_by_length(cut, data, "cut", "smoke")
    assert [part.bleu_tokens for part in worse[:-1]] == pytest.approx([100] * (len(parts) - 1))
    assert worse[-1].bleu_tokens < 50


def test_bleu_by_length_is_side_by_side():
    def run(mechanism, low, high, score):
        return LengthResult(mechanism, "quick", 0, low, high, 10, score)

    text = length_text([run("one", 3, 9, 40.04), run("one", 10, 30, 31), run("two", 10, 30, 33.3)])
    head, one, two = text.splitlines()
    assert head.split()[-6:] == ["3", "to", "9", "10", "to", "30"]
    assert one.split() == ["one", "40.0", "31.0"] and two.split() == ["two", "33.3"]
    assert len(one) == len(two) == len(head)
