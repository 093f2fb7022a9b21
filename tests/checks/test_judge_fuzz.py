"""The judge on whatever the wire lets through: a verdict for every exercise, and no exception."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.grading.verdict import Replies, judge_replies
from course_utils import register
from course_utils.checks import judge, wire

EXERCISES = [e.id for e in register.exercises() if e.checked]
SHAPES = st.sampled_from(
    [(), (0,), (1,), (3,), (1, 1), (0, 7), (2, 3, 4), (1,) * 8, (5, 0, 5), (40, 40), (1000,)]
)
KINDS = st.sampled_from(["float32", "float64", "int64", "uint8", "bool"])
FILLS = st.sampled_from([0, 1, -1, np.nan, np.inf, -np.inf, 1e300, 1e-300, 2**31])
NOTES = st.dictionaries(
    st.sampled_from(["cell", "package", "kind", "type", "odd"]), st.text(max_size=40), max_size=3
)


@st.composite
def arrays(draw):
    kind, shape, fill = draw(KINDS), draw(SHAPES), draw(FILLS)
    with np.errstate(all="ignore"):
        return np.full(shape, fill, dtype="float64").astype(kind)


@st.composite
def replies(draw, plan):
    """As many replies as were asked for, or a few more or less, with names that mean something."""
    known = sorted({name for ask in plan.flat for name in ("out0", "out1", "again0", "after0")})
    found = []
    for _ in range(max(0, len(plan.flat) + draw(st.integers(-1, 1)))):
        names = st.sampled_from([*known, "products", "tokens", "calls", "value", "state0", "x"])
        status = draw(st.sampled_from(["ok", "ok", *sorted(wire.STATUSES)]))
        content = draw(st.dictionaries(names, arrays(), max_size=4))
        found.append(wire.Reply(status, content, draw(NOTES), draw(st.text(max_size=30))))
    return found


@pytest.mark.parametrize("exercise", EXERCISES)
def test_odd_replies_get_a_verdict_and_no_full_marks(exercise):
    plan = judge.make_plan(exercise, (7,), student="ada")

    @settings(max_examples=12)
    @given(st.data())
    def ask(data):
        own = data.draw(replies(plan))
        # through the wire and back: what can't travel is refused there
        frame = wire.pack_response({exercise: own})
        found = wire.unpack_response(frame)
        judged = judge_replies(plan, Replies(found))
        assert judged.box != "forged", judged.message  # it raised, and was caught
        assert 0 <= judged.verdict.points <= judged.verdict.max_points
        assert not judged.verdict.passed

    ask()


LARGE = 4 << 20  # bytes of one array; the wire takes no frame above 32 MB


@pytest.mark.parametrize("exercise", EXERCISES)
def test_large_replies_get_a_verdict(exercise):
    plan = judge.make_plan(exercise, (7,), student="ada")
    large = np.zeros(LARGE // 8, dtype="int64")
    own = [
        wire.Reply("ok", {"out0": large, "out1": large[:9], "tokens": large}, {}, "")
        for _ in plan.flat
    ]
    judged = judge_replies(plan, Replies({exercise: own}))
    assert judged.box != "forged", judged.message
    assert not judged.verdict.passed
