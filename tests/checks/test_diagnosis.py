"""A mistake is named only if it, and nothing else, explains what an answer returns."""

import numpy as np
import pytest

from autograder.selftest import MUTANTS
from autograder.switches import switched
from course_utils.checks import judge, signatures
from course_utils.notebook import judge_here

SEEDS = (11, 12)


def verdict_on(exercise: str, source: str, seeds=SEEDS) -> judge.Verdict:
    namespace: dict = {"__name__": "student"}
    exec(compile(source, "answer.py", "exec"), namespace)
    return judge_here(judge.make_plan(exercise, seeds), namespace)


def edited(exercise: str, old: str, new: str) -> str:
    source = (MUTANTS / exercise / "right_switchable.py").read_text(encoding="utf-8")
    assert old in source
    return source.replace(old, new)


@pytest.mark.parametrize(
    "mistakes",
    [{"scaled-by-d", "softmax-over-queries"}, {"no-scale", "mask-inverted"}],
    ids=lambda mistakes: " and ".join(sorted(mistakes)),
)
@pytest.mark.parametrize("seeds", [judge.VISIBLE_SEEDS, SEEDS], ids=["visible", "fresh"])
def test_two_mistakes_are_both_named(mistakes, seeds):
    answer = next(s for s in switched("self-attention") if s.mistakes == mistakes)
    verdict = verdict_on("self-attention", answer.source, seeds)
    assert set(verdict.misconception.split(judge.TOGETHER)) == mistakes
    assert verdict.sentence.startswith("Two things.")


def test_a_mistake_that_no_variant_predicts_gets_no_name():
    source = edited("self-attention", "math.sqrt(Q.shape[1])", "(math.sqrt(Q.shape[1]) + 0.1)")
    verdict = verdict_on("self-attention", source)
    assert not verdict.passed and verdict.misconception == ""


def test_exchanged_branches_are_not_called_a_norm_first_without_effect():
    source = edited("encoder-layer", "if self.norm_first:", "if not self.norm_first:")
    assert verdict_on("encoder-layer", source).misconception == "norm-first-exchanged"


def test_a_wrong_output_is_not_called_right_but_cut_off():
    source = edited(
        "encoder-layer",
        "return self.sublayer(x, self.norm2, *second)",
        "return self.norm2(x + 2 * self.feed_forward(x))",
    )
    assert verdict_on("encoder-layer", source).misconception == ""


def test_a_wrong_norm_is_not_called_a_wrong_mask():
    source = edited("encoder-layer", "norm = norm", "norm = nn.Identity()")
    masked = next(f for f in verdict_on("encoder-layer", source).findings if "mask" in f.name)
    assert masked.message.startswith("Waiting for: ")


def test_not_a_number_differs_from_everything():
    assert judge.differ(np.zeros(2), np.full(2, np.nan), 1e-4)


def test_arrays_that_differ_in_one_number_or_in_shape_have_other_signatures():
    array = np.arange(60.0).reshape(3, 4, 5) / 60
    other = array.copy()
    other[1, 2, 3] += 0.1
    own = signatures.signature([array])
    assert signatures.alike(own, signatures.signature([array + 1e-7]), 1e-4)
    for changed in ([other], [array.reshape(4, 3, 5)], [array, array], None):
        assert not signatures.alike(own, signatures.signature(changed), 1e-4)


def test_a_name_that_explains_other_numbers_no_longer_is_told():
    answer = next(s for s in switched("attend") if s.mistakes == {"scaled-by-d"})
    namespace: dict = {}
    exec(answer.source, namespace)
    from course_utils.checks import probes, wire

    plan = judge.make_plan("attend", (5,))
    frame = probes.answer(wire.pack_request({"attend": plan.flat}), namespace)
    replies = wire.unpack_response(frame)["attend"]
    assert judge.still_fits(plan, replies, "scaled-by-d")
    assert not judge.still_fits(plan, replies, "scaled-by-sqrt-d")


def test_some_pairs_keeps_every_single_mistake_and_so_many_pairs():
    from autograder import selftest, switches

    found = list(switches.switched("attend"))
    alone = [one for one in found if len(one.mistakes) == 1]
    assert len(found) > len(alone) + 3
    few = selftest.some_pairs(found, 3)
    assert [one for one in few if len(one.mistakes) == 1] == alone
    assert len(few) == len(alone) + 3
    assert selftest.some_pairs(found, None) == found


def test_the_same_number_draws_the_same_seeds_and_none_draws_new_ones():
    from autograder import seeds

    try:
        seeds.repeat(1)
        first = seeds.fresh_seeds(4)
        assert seeds.fresh_seeds(4) != first
        seeds.repeat(1)
        assert seeds.fresh_seeds(4) == first
    finally:
        seeds.repeat(None)
    assert seeds.fresh_seeds(4) != seeds.fresh_seeds(4)
    assert all(seed > 1 for seed in seeds.fresh_seeds(100)), "0 and 1 are the visible ones"
