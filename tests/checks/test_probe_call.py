"""How often the probe `call` runs an answer, and that lazy layers get their values all the same."""

import numpy as np
import torch
from torch import nn

from course_utils.checks.probes import call

INPUT = np.arange(6.0).reshape(2, 3)


class Counting(nn.Linear):
    calls = 0

    def __init__(self, size):
        super().__init__(size, size)

    def forward(self, x):
        type(self).calls += 1
        return super().forward(x)


class MadeInForward(nn.Module):
    """Layers exist from the start for one size, and for others only after the first call."""

    def __init__(self, size):
        super().__init__()
        self.layer = nn.Linear(size, size, bias=False) if size == 2 else None

    def forward(self, x):
        if self.layer is None:
            self.layer = nn.Linear(x.shape[-1], x.shape[-1], bias=False)
        return self.layer(x)


def ask(answer, **more) -> dict:
    options = {"target": "Answer", "init": [3], "args": [INPUT], "fill": {"constant": 0.5}}
    reply = call.run({"Answer": answer}, {**options, **more})
    assert reply.status == "ok"
    return reply.arrays


def test_a_question_asked_once_has_no_second_result():
    arrays = ask(Counting, once=True)
    assert set(arrays) == {"out0"}
    assert set(ask(Counting)) == {"out0", "again0", "after0"}


def test_only_the_first_module_of_a_class_is_called_in_advance():
    class Answer(Counting):
        calls = 0

    ask(Answer, once=True)
    assert Answer.calls == 2  # one to see which parameters there are, and one for the result
    ask(Answer, once=True)
    assert Answer.calls == 3


def test_lazy_layers_get_the_values_that_were_drawn_each_time():
    class Lazy(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.layer = nn.LazyLinear(size, bias=False)

        def forward(self, x):
            return self.layer(x)

    expected = torch.nn.functional.linear(torch.from_numpy(INPUT), torch.full((3, 3), 0.5).double())
    for answer in (Lazy, MadeInForward):
        for _ in range(3):
            np.testing.assert_allclose(ask(answer, once=True)["out0"], expected)


def test_layers_that_only_some_sizes_make_late_get_their_values():
    pair = INPUT[:, :2]
    np.testing.assert_allclose(
        ask(MadeInForward, init=[2], args=[pair], once=True)["out0"][:, 0], pair.sum(1) / 2
    )
    np.testing.assert_allclose(ask(MadeInForward, once=True)["out0"][:, 0], INPUT.sum(1) / 2)
