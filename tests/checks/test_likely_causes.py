"""The likely cause of a crash, found by trying: what is said is a fact about the student's code."""

import pytest

from course_utils.checks import judge, panel
from course_utils.checks.wire import Reply
from tests.checks.test_crashes import verdict_on

HEAD = """
import math

import torch
from torch import nn

from course_utils.transformer.multi_head import MultiHeadAttention
"""
SINGLE_QUERY = """
class SingleQueryScaledDotProductAttention(nn.Module):
    def __init__(self, enc_hid_dim, dec_hid_dim, kq_dim=512):
        super().__init__()
        self.q, self.k = nn.Linear(dec_hid_dim, kq_dim), nn.Linear(KEY_SIZE, kq_dim)
        self.scale = math.sqrt(kq_dim)

    def forward(self, hidden, encoder_outputs):
"""
BATCH_FIRST = """
        scores = torch.bmm(self.k(encoder_outputs), self.q(hidden).unsqueeze(2)).squeeze(2)
        alpha = (scores / self.scale).softmax(-1)
        return torch.bmm(alpha.unsqueeze(1), encoder_outputs).squeeze(1), alpha
"""
TURNED = "        encoder_outputs = encoder_outputs.transpose(0, 1)" + BATCH_FIRST
EXCHANGED = "        hidden, encoder_outputs = encoder_outputs, hidden\n" + TURNED
WITH_ASSERTS = """
        scores = (self.k(encoder_outputs) * self.q(hidden)).sum(-1)
        alpha = (scores / self.scale).softmax(0)
        attended_val = (alpha.unsqueeze(-1) * encoder_outputs).sum(0)
        assert attended_val.shape == (hidden.shape[0], encoder_outputs.shape[2])
        assert alpha.shape == (hidden.shape[0], encoder_outputs.shape[0])
        return attended_val, alpha
"""
MULTI_HEAD = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model} is not a multiple of {num_heads}")
        self.h, self.d = num_heads, d_model // num_heads
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d_model, d_model) for _ in range(4))

    def split(self, x):
        return x.unflatten(-1, (self.h, self.d)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        Q, K, V = self.split(self.W_Q(query)), self.split(self.W_K(key)), self.split(self.W_V(value))
        scores = Q @ K.transpose(-1, -2) / math.sqrt(self.d)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = scores.softmax(-1)
        heads = weights @ V
        return self.W_O(JOINED), weights
"""
DECODER_LAYER = """
class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_first=False, dropout=0.0):
        super().__init__()
        self.norm_first = norm_first
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        sublayers = [
            (self.norm1, lambda y: self.attention(y, y, y, self_mask)[0]),
            (self.norm2, lambda y: self.cross_attention(CROSS)[0]),
            (self.norm3, self.feed_forward),
        ]
        for norm, sublayer in sublayers:
            if self.norm_first:
                x = x + self.dropout(sublayer(norm(x)))
            else:
                x = norm(x + self.dropout(sublayer(x)))
        return x
"""
DOT_PROD = """
class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.W = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, query, states):
        weights = (query @ KEYS).softmax(-1)
        return torch.tanh(self.W(torch.cat([weights @ states, query], dim=AXIS))), weights
"""
SELF_ATTENTION = """
def self_attention(X, W_Q, W_K, W_V, mask=None):
    Q, K, V = PROJECTED
    weights = (Q @ KEYS / math.sqrt(K.shape[-1])).softmax(-1)
    return weights @ V, weights
"""
ATTEND = """
def attend(query, states):
    weights = (states @ query).softmax(-1)
    return weights @ states, weights
"""


def single_query(body, key_size="2 * enc_hid_dim"):
    return "single-query-attention", SINGLE_QUERY.replace("KEY_SIZE", key_size) + body


def multi_head(joined):
    return "multi-head-attention", MULTI_HEAD.replace("JOINED", joined)


def decoder_layer(cross):
    return "decoder-layer", DECODER_LAYER.replace("CROSS", cross)


def dot_prod(keys, axis="-1"):
    return "dot-prod-attention", DOT_PROD.replace("KEYS", keys).replace("AXIS", axis)


def self_attention(projected, keys="K.T"):
    return "self-attention", SELF_ATTENTION.replace("PROJECTED", projected).replace("KEYS", keys)


# a mistake: the exercise and its answer, and how the sentence starts
MISTAKES = {
    "batch first": (single_query(BATCH_FIRST), "Your code runs with the axis B first."),
    "arguments swapped": (
        single_query(EXCHANGED),
        "Your code runs if `hidden` and `encoder_outputs` are swapped.",
    ),
    "a layer for another size": (
        single_query(TURNED, "enc_hid_dim"),
        "A linear layer gets [B, S, 2*enc], but its weight is [kq_dim, enc_hid_dim]",
    ),
    "an axis missing": (("attend", ATTEND), "Your code runs for one sentence, without the axis B."),
    "heads added": (multi_head("heads.sum(1)"), "The heads are added or averaged"),
    "heads averaged": (multi_head("heads.mean(1)"), "The heads are added or averaged"),
    "heads apart": (multi_head("heads"), "The heads are not joined"),
    "heads along time": (multi_head("heads.flatten(1, 2)"), "The heads are joined along the wrong"),
    "heads third": (
        (
            "multi-head-attention",
            MULTI_HEAD.replace(".transpose(1, 2)", "").replace("JOINED", "heads.flatten(2)"),
        ),
        "In a product [2, T, 2, D/num_heads] meets [2, S, D/num_heads, 2], with the heads in the third",
    ),
    "a mask without heads": (
        multi_head("heads.transpose(1, 2).flatten(2)"),
        "The mask has no axis for the heads: [B, num_heads, T, S] meets [B, T, S].",
    ),
    "memory asks": (
        decoder_layer("memory, y, y, memory_mask"),
        "Query and memory are swapped in a call of attention",
    ),
    "the other mask": (
        decoder_layer("y, memory, memory, self_mask"),
        "A mask [T, T] reaches an attention that needs [T, S]",
    ),
    "the other mask by name": (
        decoder_layer("y, memory, memory, mask=self_mask"),
        "A mask [T, T] reaches an attention that needs [T, S]",
    ),
    "no transpose": (dot_prod("states"), "In a product, [B, T, D] meets [B, S, D]. It runs with"),
    "all axes turned": (
        dot_prod("states.T"),
        "Your code runs for one sentence, without the axis B",
    ),
    "joined along time": (
        dot_prod("states.transpose(1, 2)", "1"),
        "[B, T, D] and [B, T, D] are joined along the wrong axis",
    ),
    "weights first": (
        self_attention("W_Q @ X, W_K @ X, W_V @ X"),
        "In a product, [D, d] comes before [L, D]. It runs the other way round.",
    ),
    "one size for another": (
        self_attention("X @ W_Q, X @ W_K, (X @ W_V)[: W_Q.shape[1]]"),
        "Your code runs if L and d are equal.",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_likely_cause_of_a_crash_is_found_by_trying(name):
    (exercise, answer), start = MISTAKES[name]
    verdict = verdict_on(HEAD + answer, exercise)
    assert verdict.sentence.startswith(start) and verdict.hint
    assert verdict.misconception == ""  # a cause that was tried is no known mistake of values
    page = panel.text(verdict)
    assert page.index(start) < page.index("Error: ")


def test_a_failed_assert_of_the_template_does_not_hide_the_diagnosis():
    verdict = verdict_on(HEAD + single_query(WITH_ASSERTS)[1], "single-query-attention")
    assert verdict.misconception == "weights-transposed" and verdict.points == 0
    assert "assert alpha.shape" in verdict.findings[0].message


def test_code_that_nothing_makes_run_gets_its_error_alone():
    verdict = verdict_on("def attend(query, states):\n    return query.nothing\n", "attend")
    assert verdict.sentence == "" and "AttributeError" in verdict.findings[0].message


def test_a_call_that_runs_as_it_is_is_not_blamed_for_an_error_elsewhere():
    """Without the parameters of a norm nothing can be filled in; the shapes are all right."""
    answer = decoder_layer("y, memory, memory, memory_mask")[1]
    verdict = verdict_on(
        HEAD + answer.replace("nn.LayerNorm(d_model)", "nn.Identity()"), "decoder-layer"
    )
    assert verdict.sentence == "" and "no parameter called norm1" in verdict.findings[0].message


def test_an_answer_that_is_right_but_for_a_refusal_is_told_of_no_crash():
    answer = multi_head("heads.transpose(1, 2).flatten(2)")[1]
    right = answer.replace("~mask", "~(mask[:, None] if mask.dim() == 3 else mask)")
    verdict = verdict_on(HEAD + right, "multi-head-attention")
    assert not verdict.passed and verdict.sentence == ""


@pytest.mark.parametrize(
    "cause, detail", [("<b>", ""), ("swapped", "<script> b"), ("swapped", "a")]
)
def test_what_the_students_process_notes_is_not_trusted(cause, detail):
    plan = judge.make_plan("attend")
    notes = {"raised": "RuntimeError", "cause": cause, "cause_detail": detail}
    replies = [Reply("error", notes=notes, error="RuntimeError: no")] * len(plan.flat)
    assert judge.verdict(plan, replies).sentence == ""


ONE_AXIS_TOO_FEW = """
import torch


def rotate(x, first=0, base=10000.0):
    T, d = x.shape[-2:]
    positions = torch.arange(first, first + T)
    speeds = base ** (-torch.arange(0, d, 2) / d)
    angles = positions * speeds
    one, other = x[..., 0::2], x[..., 1::2]
    return torch.stack([one * angles.cos() - other * angles.sin(),
                        one * angles.sin() + other * angles.cos()], dim=-1).flatten(-2)
"""


def test_an_axis_that_only_has_the_same_size_is_not_blamed():
    """Half of d is no axis of the signature, and nothing else may be taken for it."""
    verdict = verdict_on(ONE_AXIS_TOO_FEW, "rotary-positions")
    assert "num_heads" not in verdict.sentence and verdict.points == 0
    assert "is num_heads" not in verdict.findings[0].message
