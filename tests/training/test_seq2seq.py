"""The encoder-decoder with slots: all steps at once equal one step at a time, whatever it holds."""

import pytest
import torch
from torch import nn

from course_utils.data.batches import Batch
from course_utils.data.tokens import PAD
from course_utils.recurrent.seq2seq import Encoded, Seq2Seq, evaluate, every_step, sequence_loss
from course_utils.training.devices import seed_everything
from course_utils.training.loop import fit

VOCABULARY, B, S, T, D = 11, 3, 5, 4, 6


def mean_context(query, states):
    """Not attention: every state weighs the same. Enough to test the slot."""
    weights = torch.full((*query.shape[:2], states.shape[1]), 1 / states.shape[1])
    return weights @ states, weights


def sharp_context(query, states):
    """Weights that depend on the query, so that a wrong query is seen."""
    weights = torch.softmax(query @ states.transpose(1, 2), dim=-1)
    return weights @ states, weights


class Joined(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2 * D, D)

    def forward(self, query, states):
        context, weights = sharp_context(query, states)
        return torch.tanh(self.layer(torch.cat([context, query], dim=-1))), weights


VARIANTS = {
    "plain": {},
    "context": {"attention": sharp_context},
    "hidden": {"attention": Joined(), "attention_gives": "hidden"},
    "appended": {"positions": torch.eye(9)},
    "added": {"positions": torch.rand(9, 4), "position_mode": "add"},
    "stepwise": {
        "attention": sharp_context,
        "positions": torch.rand(9, 4),
        "position_mode": "add",
        "encoder": "stepwise",
    },
    "counting": {"attention": sharp_context, "counts_only": True},
    "positions only": {
        "attention": sharp_context,
        "positions": torch.eye(9),
        "encoder": "positions",
    },
}


def model_of(cell="gru", **options):
    seed_everything(3)
    return Seq2Seq(VOCABULARY, hidden=D, embed=4, cell=cell, **options)


def some_batch():
    generator = torch.Generator().manual_seed(1)
    draw = lambda *shape: torch.randint(1, VOCABULARY, shape, generator=generator)  # noqa: E731
    return shifted(draw(B, S), draw(B), draw(B, T))


def shifted(source, first, wanted):
    """A batch in which the decoder reads what is wanted, one step late."""
    return Batch(source, torch.cat([first[:, None], wanted[:, :-1]], dim=1), wanted)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_all_target_steps_at_once_equal_one_step_at_a_time(cell, variant):
    model = model_of(cell, **VARIANTS[variant])
    batch = some_batch()
    logits, weights = model(batch.source, batch.given)
    encoded = model.encode(batch.source)
    hidden = encoded.bottleneck
    for t in range(T):
        step, row, hidden = model.decode(encoded.states, hidden, batch.given[:, t : t + 1])
        torch.testing.assert_close(step[:, 0], logits[:, t])
        if weights is not None:
            torch.testing.assert_close(row[:, 0], weights[:, t])
    assert logits.shape == (B, T, VOCABULARY)
    assert (weights is None) == ("attention" not in VARIANTS[variant])


def test_greedy_feeds_its_own_choice_back():
    model = model_of(attention=sharp_context)
    batch = some_batch()
    tokens, weights = model.greedy(batch.source, batch.given[:, 0], T)
    logits, forced = model(batch.source, shifted(batch.source, batch.given[:, 0], tokens).given)
    assert torch.equal(logits.argmax(-1), tokens)
    torch.testing.assert_close(weights, forced)


def test_greedy_takes_a_bottleneck_that_was_changed():
    model = model_of()
    batch = some_batch()
    encoded = model.encode(batch.source)
    swapped = Encoded(encoded.states, encoded.bottleneck.flip(1))
    tokens, _ = model.greedy(batch.source, batch.given[:, 0], T, encoded=swapped)
    expected, _ = model.greedy(batch.source.flip(0), batch.given[:, 0], T)
    assert torch.equal(tokens, expected)


def test_a_function_for_one_query_serves_all_steps():
    def attend(query, states):
        assert query.dim() == 2 and states.dim() == 3
        weights = torch.softmax((query[:, None] * states).sum(-1), dim=-1)
        return (weights[..., None] * states).sum(1), weights

    query, states = torch.randn(B, T, D), torch.randn(B, S, D)
    context, weights = every_step(attend)(query, states)
    expected_context, expected_weights = sharp_context(query, states)
    torch.testing.assert_close(context, expected_context)
    torch.testing.assert_close(weights, expected_weights)


def test_keys_that_hold_positions_give_the_same_scores_for_any_text():
    model = model_of(**VARIANTS["positions only"])
    batch, other = some_batch(), some_batch().source.flip(0)
    _, weights = model(batch.source, batch.given)
    _, weights_of_other = model(other, batch.given)
    torch.testing.assert_close(weights, weights_of_other)


def test_a_stepwise_encoder_makes_each_state_from_its_own_step():
    model = model_of(**VARIANTS["stepwise"])
    batch = some_batch()
    changed = batch.source.clone()
    changed[:, 2] = changed[:, 2] % (VOCABULARY - 1) + 1
    before, after = model.encode(batch.source), model.encode(changed)
    same = (before.states == after.states).all(dim=2).all(dim=0)
    assert same.tolist() == [True, True, False, True, True]
    assert not before.bottleneck.any()


def test_a_decoder_that_only_counts_does_not_read_its_answers():
    model = model_of(**VARIANTS["counting"])
    batch = some_batch()
    other = batch.given.flip(0)
    torch.testing.assert_close(model(batch.source, batch.given), model(batch.source, other))


def test_a_step_with_two_tokens_adds_their_embeddings():
    model = model_of("rnn")
    source = torch.tensor([[[1, 2], [3, 2]]])
    embedded = model.embedding(source[..., 0]) + model.embedding(source[..., 1])
    expected, _ = model.encoder(embedded)
    torch.testing.assert_close(model.encode(source).states, expected)


def test_positions_are_kept_with_the_model_and_not_trained():
    model = model_of(positions=torch.eye(9))
    assert "positions" in model.state_dict()
    assert all(parameter.shape != (9, 9) for parameter in model.parameters())


def test_padding_counts_neither_in_the_loss_nor_in_the_accuracy():
    model = model_of()
    batch = some_batch()
    padded = shifted(
        batch.source,
        batch.given[:, 0],
        torch.cat([batch.wanted, torch.full((B, 2), PAD)], dim=1),
    )
    assert float(sequence_loss(model, padded)[0]) == pytest.approx(
        float(sequence_loss(model, batch)[0]), rel=1e-5
    )
    assert sequence_loss(model, padded)[1] == B * T
    assert evaluate(model, [padded]) == pytest.approx(evaluate(model, [batch]), rel=1e-5)


def test_evaluation_counts_characters_and_whole_sequences():
    model = model_of()
    batch = some_batch()
    tokens, _ = model.greedy(batch.source, batch.given[:, 0], T)
    wrong_in_one = tokens.clone()
    wrong_in_one[0, -1] = tokens[0, -1] % (VOCABULARY - 1) + 1
    figures = evaluate(model, [shifted(batch.source, batch.given[:, 0], wrong_in_one)])
    pads = int((wrong_in_one == PAD).sum())
    assert figures["characters"] == pytest.approx((B * T - 1 - pads) / (B * T - pads))
    assert figures["exact"] == pytest.approx((B - 1) / B)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"cell": "tree"}, "cell is 'tree'"),
        ({"attention_gives": "x"}, "attention_gives"),
        ({"positions": torch.rand(4)}, "must be a table"),
        ({"positions": torch.rand(9, 3), "position_mode": "add"}, "both need one size"),
        ({"encoder": "positions", "attention": mean_context}, "needs a table of positions"),
        ({"encoder": "stepwise"}, "has no bottleneck, so it needs an attention"),
    ],
)
def test_a_slot_filled_wrongly_is_answered_with_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        Seq2Seq(VOCABULARY, hidden=D, embed=4, **options)


def test_a_source_beyond_the_table_of_positions_is_answered_with_a_sentence():
    model = model_of(positions=torch.eye(4))
    with pytest.raises(ValueError, match="The source has 5 steps, but the table"):
        model(some_batch().source, some_batch().given)


def test_the_trainer_teaches_it_and_repeats_itself():
    batch = some_batch()
    results = []
    for _ in range(2):
        model = model_of(attention=mean_context)
        history = fit(
            model, lambda epoch: [batch] * 10, sequence_loss, epochs=8, lr=0.02, show=False
        )
        results.append(history.column("train_loss"))
    assert results[0] == results[1]
    assert results[0][-1] < 0.3 * results[0][0]
