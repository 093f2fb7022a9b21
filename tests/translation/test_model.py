"""The model is equations 1 to 10, and its fast ways give the numbers of the slow ones."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from autograder.reference.translation import SingleQueryScaledDotProductAttention
from course_utils.data.batches import Example, make_batch
from course_utils.data.tokens import PAD
from course_utils.translation.all_steps import attend_all_steps
from course_utils.translation.model import Dummy, MeanPool, Translator, Widths, attend_step_by_step
from course_utils.translation.training import mean_loss, translation_loss

WIDTHS = Widths(words=6, encoder=5, decoder=7, dropout=0.3)


def attention():
    return SingleQueryScaledDotProductAttention(WIDTHS.encoder, WIDTHS.decoder, 4)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Translator(20, 15, attention(), WIDTHS).double().eval()


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(1)

    def draw(high, n):
        return torch.randint(4, high, (n,), generator=generator).tolist()

    return make_batch([Example(i, draw(20, 4), draw(15, n)) for i, n in enumerate((3, 5, 2))])


def gru(cell: nn.GRU, suffix: str, x, h):
    """One step of a GRU by its equations."""

    def get(name):
        return getattr(cell, f"{name}_l0{suffix}")

    gates_x = get("weight_ih") @ x + get("bias_ih")
    gates_h = get("weight_hh") @ h + get("bias_hh")
    (rx, zx, nx), (rh, zh, nh) = gates_x.chunk(3), gates_h.chunk(3)
    r, z = torch.sigmoid(rx + rh), torch.sigmoid(zx + zh)
    n = torch.tanh(nx + r * nh)
    return (1 - z) * n + z * h


def test_the_model_is_equations_3_to_12_word_by_word(model, batch):
    scores, weights = model(batch.source.T, batch.given.T)
    for b in range(len(batch.source)):
        z = [model.source_embedding.weight[w] for w in batch.source[b]]  # 3
        forward, backward = [torch.zeros(5).double()], [torch.zeros(5).double()]
        for word in z:
            forward.append(gru(model.encoder, "", word, forward[-1]))  # 4
        for word in reversed(z):
            backward.insert(0, gru(model.encoder, "_reverse", word, backward[0]))  # 5
        states = [torch.cat(pair) for pair in zip(forward[1:], backward[:-1], strict=True)]  # 6
        ends = torch.cat([forward[-1], backward[0]])
        hidden = F.relu(model.sentence.weight @ ends + model.sentence.bias)  # 7, 8
        W_d = model.output.weight @ model.narrow.weight
        for step, given in enumerate(batch.given[b]):
            hidden = gru(model.decoder, "", model.target_embedding.weight[given], hidden)  # 9, 10
            q = model.attention.query(hidden)
            raw = [torch.dot(q, model.attention.key(state)) / math.sqrt(4) for state in states]
            alpha = torch.softmax(torch.stack(raw), dim=0)
            a = sum(weight * state for weight, state in zip(alpha, states, strict=True))  # 11
            expected = W_d @ torch.cat([a, hidden]) + model.output.bias  # 12
            torch.testing.assert_close(weights[step, b], alpha)
            torch.testing.assert_close(scores[step, b], expected)


class WithItem(nn.Module):
    """A right answer that vmap cannot run, because it looks at a number."""

    def __init__(self):
        super().__init__()
        self.inner = attention()
        self.calls = 0

    def forward(self, hidden, encoder_outputs):
        self.calls += 1
        assert hidden.sum().item() == hidden.sum().item()
        return self.inner(hidden, encoder_outputs)


class WithFunction(nn.Module):
    """The library's own attention, and einsum."""

    def forward(self, hidden, encoder_outputs):
        values = encoder_outputs.transpose(0, 1)
        query = F.pad(hidden, (0, values.shape[-1] - hidden.shape[-1])).unsqueeze(1)
        attended = F.scaled_dot_product_attention(query, values, values).squeeze(1)
        weights = torch.einsum("bd,bsd->bs", query[:, 0], values) / values.shape[-1] ** 0.5
        return attended, weights.softmax(-1)


class WithProducts(nn.Module):
    """Every kind of batched product: keys that depend on the step too, and the step on the right."""

    def forward(self, hidden, encoder_outputs):
        states = encoder_outputs.transpose(0, 1)
        keys = states[:, :, :7] * hidden.unsqueeze(1)
        scores = torch.matmul(states[:, :, :7], hidden.unsqueeze(2)).squeeze(2)
        scores = scores + torch.bmm(hidden.unsqueeze(1), keys.transpose(1, 2)).squeeze(1)
        weights = scores.softmax(-1)
        return (weights.unsqueeze(1) @ states).squeeze(1), weights


class WithLoop(nn.Module):
    """Sentence by sentence."""

    def __init__(self):
        super().__init__()
        self.inner = attention()

    def forward(self, hidden, encoder_outputs):
        parts = [
            self.inner(hidden[b : b + 1], encoder_outputs[:, b : b + 1])
            for b in range(hidden.shape[0])
        ]
        return torch.cat([p[0] for p in parts]), torch.cat([p[1] for p in parts])


@pytest.mark.parametrize(
    "make", [attention, Dummy, MeanPool, WithItem, WithFunction, WithProducts, WithLoop]
)
def test_all_steps_at_once_give_what_single_steps_give(make):
    torch.manual_seed(2)
    module = make().double()
    hiddens = torch.randn(6, 3, 7, dtype=torch.double, requires_grad=True)
    states = torch.randn(4, 3, 10, dtype=torch.double, requires_grad=True)
    fast = attend_all_steps(module, hiddens, states)
    slow = attend_step_by_step(module, hiddens, states)
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other)
    if slow[0].requires_grad:
        flow = torch.randn_like(slow[0])
        gradients = [
            torch.autograd.grad(result[0], [hiddens, states], flow, allow_unused=True)
            for result in (fast, slow)
        ]
        for one, other in zip(*gradients, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                torch.testing.assert_close(one, other)


def test_a_module_that_vmap_cannot_run_is_tried_once_only():
    module = WithItem().double()
    hiddens, states = torch.randn(3, 2, 7).double(), torch.randn(4, 2, 10).double()
    attend_all_steps(module, hiddens, states)
    before = module.calls
    attend_all_steps(module, hiddens, states)
    assert module.calls == before + 3


def test_an_error_in_the_students_module_is_the_students_error():
    class Broken(nn.Module):
        def forward(self, hidden, encoder_outputs):
            raise RuntimeError("my own mistake")

    with pytest.raises(RuntimeError, match="my own mistake"):
        attend_all_steps(Broken(), torch.randn(3, 2, 7), torch.randn(4, 2, 10))


def test_the_baselines_do_what_they_say():
    states = torch.randn(4, 3, 10)
    attended, alpha = Dummy()(torch.randn(3, 7), states)
    assert attended.shape == (3, 10) and alpha.shape == (3, 4)
    assert not attended.any() and not alpha.any()
    attended, alpha = MeanPool()(torch.randn(3, 7), states)
    torch.testing.assert_close(attended, states.mean(0))
    torch.testing.assert_close(alpha, torch.full((3, 4), 0.25))


def test_padding_costs_nothing(model, batch):
    loss, words = translation_loss(model, batch)
    assert words == 3 + 5 + 2 + 3
    scores, _ = model(batch.source.T, batch.given.T)
    expected = F.cross_entropy(
        scores.reshape(-1, 15), batch.wanted.T.reshape(-1), ignore_index=PAD, reduction="mean"
    )
    torch.testing.assert_close(loss, expected)


def test_the_loss_per_word_does_not_depend_on_the_batches(model):
    examples = [Example(i, [4 + i % 3] * (1 + i % 2), [5] * (1 + i % 4)) for i in range(9)]
    alone = [translation_loss(model, make_batch([example])) for example in examples]
    expected = sum(loss.item() * n for loss, n in alone) / sum(n for _, n in alone)
    assert mean_loss(model, examples) == pytest.approx(expected, rel=1e-6)
