"""Answers and our own models on a GPU that is not there: only a mix of devices is a warning."""

import pytest
import torch

from autograder.solutions import solution
from course_utils import notebook, register
from course_utils.checks import devices, judge
from course_utils.language_model.model import LanguageModel
from course_utils.recurrent.seq2seq import Seq2Seq
from course_utils.transformer.multi_head import MultiHeadAttention
from course_utils.transformer.sizes import Sizes
from course_utils.translation.model import MeanPool, Translator

CODE = [e.id for e in register.exercises() if e.kind == "code"]


def asks(exercise: str) -> list:
    return judge.make_plan(exercise, judge.VISIBLE_SEEDS[:1]).flat


def definitions(exercise: str, change=("", "")) -> dict:
    from autograder.solutions import setup_source, solution_source

    namespace: dict = {}
    entry = register.exercise(exercise)
    exec(setup_source(entry.notebook), namespace)
    before = [e for e in register.exercises(entry.notebook) if e.kind == "code"]
    for other in before[: before.index(entry) + 1]:
        source = solution_source(other.id)
        exec(source.replace(*change) if other is entry else source, namespace)
    return namespace


@pytest.mark.parametrize("exercise", CODE)
def test_our_own_answers_run_on_a_gpu(exercise):
    namespace = {name: solution(exercise, name) for name in register.exercise(exercise).names}
    assert not devices.stays_on_cpu(asks(exercise), namespace)


MASK = """
def self_attention(X, W_Q, W_K, W_V, mask=None):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    scores = Q @ K.T / K.shape[1] ** 0.5
    scores = scores + torch.zeros(len(X), len(X){device})
    if mask is not None:
        if not mask.any(-1).all():
            raise ValueError("a row of the mask is False")
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ V, weights
"""


@pytest.mark.parametrize("device, warned", [("", True), (", device=X.device", False)])
def test_a_tensor_without_a_device_is_a_warning(device, warned):
    namespace: dict = {"torch": torch}
    exec(MASK.replace("{device}", device), namespace)
    assert devices.stays_on_cpu(asks("self-attention"), namespace) is warned


def test_positions_on_the_cpu_are_found_inside_a_whole_model():
    source = definitions("transformer")
    assert not devices.stays_on_cpu(asks("transformer"), source)
    model = source["Transformer"]

    class OnTheCpu(model):  # type: ignore[misc, valid-type]
        def embed(self, tokens, embedding, positions):
            return super().embed(tokens, embedding, positions) + torch.zeros(tokens.shape[1], 1)

    assert devices.stays_on_cpu(asks("transformer"), {**source, "Transformer": OnTheCpu})


def test_the_warning_costs_no_points_and_is_shown_once(capsys):
    namespace: dict = {"torch": torch, "check": notebook.check}
    right = (
        "def weighted_average(weights, values):\n"
        "    return weights @ values / (weights.sum() + torch.zeros(1))\n"
    )
    exec(right + "verdict = check('weighted-average')", namespace)
    assert namespace["verdict"].passed
    assert capsys.readouterr().out.count("Warning: On a GPU this would stop") == 1


def test_other_errors_mean_nothing():
    def weighted_average(weights, values):
        raise RuntimeError("Expected all tensors to be on the same device")

    assert not devices.stays_on_cpu(
        asks("weighted-average"), {"weighted_average": weighted_average}
    )


DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
LINES = {
    # what is done with x, which is on the GPU: whether that stops there
    "x + torch.zeros(3)": True,
    "x + torch.zeros(3, device='cpu')": True,
    "x + torch.zeros(3).to(torch.float64)": True,
    "x + torch.zeros(3, device=torch.zeros(3).device)": True,
    "torch.cat([x, torch.zeros(3)])": True,
    "x.masked_fill(torch.ones(3).bool(), 0)": True,
    "torch.ones(3)[x.long() * 0]": True,
    "nn.Linear(3, 2)(x)": True,
    "x.cpu() + x": True,
    "x + torch.arange(3).type_as(torch.zeros(3))": True,
    "x + torch.tensor(2.0)": False,
    "x + torch.zeros(3, device=x.device)": False,
    "x + torch.zeros(3, device='cuda')": False,
    "x + torch.zeros(3).to(x)": False,
    "x + torch.zeros(3).to(x.device)": False,
    "x + torch.zeros(3).to(device=x.device, dtype=x.dtype)": False,
    "x + torch.zeros(3).cuda()": False,
    "x + torch.arange(3).type_as(x)": False,
    "x + torch.zeros(3, device=DEVICE)": False,
    "x + torch.zeros(3).to(DEVICE)": False,
    "x + x.new_zeros(3) + torch.zeros_like(x) + x.data + x[None, :].T.squeeze()": False,
    "x[torch.arange(3)] + x": False,
    "x.clone().copy_(torch.zeros(3)) + x": False,
    "x.cpu() + torch.zeros(3)": False,
    "nn.Linear(3, 2, device=x.device)(x)": False,
    "nn.Linear(3, 2).to(x.device)(x)": False,
    "nn.Parameter(torch.zeros(3, device=x.device)) + x": False,
    "torch.tensor([1.0, 2.0, 3.0], device=x.device) * x": False,
    "x if x.is_cuda else x + nothing": False,
}


@pytest.mark.parametrize("line, stops", LINES.items())
def test_a_line_stops_where_it_would_on_a_gpu(line, stops):
    gpu = devices.FakeGPU()
    names = {"torch": torch, "nn": torch.nn, "DEVICE": DEVICE, "x": gpu.on_gpu(torch.ones(3))}
    with torch.no_grad(), gpu:
        try:
            eval(line, names)
            stopped = False
        except devices.Mismatch:
            stopped = True
    assert stopped is stops


WORDS = torch.ones(2, 5, dtype=torch.long)


def dot_scores(query, states):
    weights = (query @ states.transpose(1, 2)).softmax(-1)
    return weights @ states, weights


OURS = {
    "LanguageModel": (lambda: LanguageModel(7, 9, Sizes(d_model=8, num_heads=2)), (WORDS, 2)),
    "Translator": (lambda: Translator(7, 9, MeanPool()), (WORDS.T, WORDS.T)),
    "Seq2Seq": (lambda: Seq2Seq(9, attention=dot_scores, positions=torch.eye(8)), (WORDS, WORDS)),
    "MultiHeadAttention": (
        lambda: MultiHeadAttention(8, 2),
        (*[torch.zeros(2, 5, 8)] * 3, torch.ones(5, 5, dtype=torch.bool)),
    ),
}


def mixed(name: str, inputs_moved: bool) -> list[str]:
    """The mismatches of one call of one of our models."""
    make, given = OURS[name]
    gpu, model = devices.FakeGPU(), make().eval()
    gpu.move(model)
    moved = [gpu.on_gpu(a) if inputs_moved and isinstance(a, torch.Tensor) else a for a in given]
    with devices.mismatches() as found, torch.no_grad(), gpu:
        model(*moved)
    return found


@pytest.mark.parametrize("name", OURS)
def test_our_own_models_mix_no_devices(name):
    assert mixed(name, inputs_moved=True) == []


@pytest.mark.parametrize("name", OURS)
def test_our_own_models_with_inputs_left_on_the_cpu_are_caught(name):
    """Else the test above could not fail."""
    assert mixed(name, inputs_moved=False)
