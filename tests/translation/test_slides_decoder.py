"""The lecture's decoder: linear scores over fixed places, attention before the recurrent step."""

import pytest
import torch

from course_utils.data.batches import Example, make_batch
from course_utils.training.devices import seed_everything
from course_utils.training.recipe import Recipe
from course_utils.translation.decoding import translate
from course_utils.translation.slides_decoder import (
    SlidesTranslator,
    short_enough,
    slides_greedy,
    slides_loss,
)
from course_utils.translation.training import train_translator


@pytest.fixture
def model():
    torch.manual_seed(0)
    return SlidesTranslator(12, 11, longest=6, size=4).double().eval()


def test_one_step_follows_the_equations(model):
    torch.manual_seed(1)
    source = torch.tensor([[4, 5], [6, 7], [8, 9]])
    states, hidden = model.encode(source)
    assert states.shape == (6, 2, 4) and not states[3:].any()
    token = torch.tensor([2, 5])
    scores, after, weights = model.step(token, hidden, states)
    for b in range(2):
        x, h = model.target_embedding.weight[token[b]], hidden[b]
        raw = model.scores_of_places.weight @ torch.cat([h, x]) + model.scores_of_places.bias
        alpha = raw.exp() / raw.exp().sum()
        c = sum(alpha[s] * states[s, b] for s in range(6))
        z = (model.combine.weight @ torch.cat([x, c]) + model.combine.bias).clamp(min=0)
        torch.testing.assert_close(weights[b], alpha)
        torch.testing.assert_close(after[b], model.decoder(z[None], h[None])[0])
        torch.testing.assert_close(scores[b], model.output(after[b]))


def test_the_weights_do_not_depend_on_the_source_words(model):
    _, hidden = model.encode(torch.tensor([[4], [5]]))
    one, other = (model.encode(torch.tensor([[a], [b]]))[0] for a, b in ((4, 5), (6, 7)))
    token = torch.tensor([2])
    torch.testing.assert_close(
        model.step(token, hidden, one)[2], model.step(token, hidden, other)[2]
    )


def test_a_source_that_is_too_long_is_refused(model):
    with pytest.raises(ValueError, match="7 words is longer than the 6 positions"):
        model.encode(torch.full((7, 1), 4))


def test_the_loss_is_the_mean_over_real_words(model):
    batch = make_batch([Example(0, [4, 5], [5, 6, 7]), Example(1, [6, 7], [8])])
    loss, words = slides_loss(model, batch)
    alone = [
        slides_loss(model, make_batch([Example(0, [4, 5], [5, 6, 7])])),
        slides_loss(model, make_batch([Example(0, [6, 7], [8])])),
    ]
    assert words == 6
    expected = sum(value * n for value, n in alone) / 6
    torch.testing.assert_close(loss, expected)


def test_it_trains_and_translates(data):
    seed_everything(0)
    short = short_enough(data, 10)
    assert max(len(example.source) for example in short.train) == 10
    model = SlidesTranslator(
        len(data.source_vocabulary), len(data.target_vocabulary), longest=10, size=32
    )
    recipe = Recipe(epochs=2, lr=5e-3, batch_size=32, rising_steps=10, examples=600)
    history = train_translator(model, short, recipe, loss_of=slides_loss, show=False)
    assert history.records[-1]["train_loss"] < history.records[0]["train_loss"]
    sources = [example.source for example in data.test[:30]]
    assert any(len(source) > 10 for source in sources)
    found = translate(model, data, sources, slides_greedy)
    for source, one in zip(sources, found, strict=True):
        assert one.weights.shape[1] == min(10, len(source))
        assert len(one.weights) - len(one.words) in (0, 1)
    alone = translate(model, data, sources[:1], slides_greedy)[0]
    assert alone.words == found[0].words
