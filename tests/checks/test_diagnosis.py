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


PAIRS = {
    "single-query-attention": {"hard-coded-512", "layers-of-512"},
    "cached-self-attention": {"scale-of-model-size", "reset-forgotten"},
    "beam-search": {"worst-kept", "start-counted"},
    "sample-next": {"temperature-ignored", "top-k-smallest"},
    "silence-a-head": {"interleaved", "rows-not-columns"},
}


@pytest.mark.parametrize("exercise, mistakes", PAIRS.items())
@pytest.mark.parametrize("seeds", [judge.VISIBLE_SEEDS, SEEDS], ids=["visible", "fresh"])
def test_pairs_are_named_where_answers_are_kept_searched_or_drawn_too(exercise, mistakes, seeds):
    answer = next(s for s in switched(exercise) if s.mistakes == mistakes)
    found = verdict_on(exercise, answer.source, seeds).misconception
    assert set(found.split(judge.TOGETHER)) == mistakes


@pytest.mark.parametrize(
    "mistakes",
    [{"returns-a-tensor", "generator-ignored"}, {"returns-a-tensor", "top-k-ignored"}],
    ids=lambda mistakes: " and ".join(sorted(mistakes)),
)
def test_what_is_wrong_beside_the_values_is_named_too(mistakes):
    answer = next(s for s in switched("sample-next") if s.mistakes == mistakes)
    found = verdict_on("sample-next", answer.source).misconception
    assert set(found.split(judge.TOGETHER)) == mistakes


def test_a_mistake_is_named_whichever_right_way_the_rest_follows():
    """Sequences that have ended may stay in the beam; a start that is counted shows all the same."""
    source = (MUTANTS / "beam-search" / "right_ended_stay.py").read_text(encoding="utf-8")
    counted = source.replace("(len(h[0]) - 1) ** length_penalty", "len(h[0]) ** length_penalty")
    assert counted != source
    assert verdict_on("beam-search", source).passed
    assert verdict_on("beam-search", counted).misconception == "start-counted"


def test_a_greedy_search_is_not_blamed_for_asking_about_one_prefix_at_a_time():
    source = edited("beam-search", "places = beam", "places = 1")
    assert verdict_on("beam-search", source).misconception == "greedy"


def test_a_search_that_forgets_what_has_not_ended_is_named_where_it_crashes():
    source = edited("beam-search", " or length == max_length", "")
    verdict = verdict_on("beam-search", source)
    assert verdict.findings[0].stopped
    assert verdict.misconception == "unfinished-forgotten"


def test_a_search_that_crashes_where_a_sequence_has_ended_is_not_called_forgetful():
    source = edited("beam-search", "        finished += ended", "        assert not finished")
    assert verdict_on("beam-search", source).misconception == ""


def test_a_step_too_few_is_not_called_an_end_mark_that_was_not_kept():
    source = edited("beam-search", "range(1, max_length + 1)", "range(1, max_length)")
    source = source.replace("length == max_length", "length == max_length - 1")
    whole = verdict_on("beam-search", source, judge.VISIBLE_SEEDS).findings[0]
    assert whole.message.startswith("A sequence stops after 3 tokens without the end mark")
    assert "How many steps does your loop take" in whole.hint


def test_the_end_mark_alone_is_not_called_an_end_mark_left_out():
    source = "def beam_search(step, start, end, *_, **__):\n    return [end], 0.0"
    assert verdict_on("beam-search", source).misconception == ""


def test_a_table_with_a_column_too_many_is_told_which_positions_there_are():
    source = "import torch\n\n\ndef one_hot_positions(T):\n    return torch.eye(T, T + 1)"
    (finding,) = verdict_on("positions", source, judge.VISIBLE_SEEDS).findings
    assert "should have 5 rows and 5 columns, but it has 5 and 6." in finding.message
    assert "the last one is position T - 1" in finding.hint


def test_a_mask_times_infinity_is_among_the_reasons_for_not_a_number():
    """It has no name here: a mask that hides whole rows gives the same."""
    source = (MUTANTS / "cached-self-attention" / "right_concatenate.py").read_text(
        encoding="utf-8"
    )
    filled = 'scores.masked_fill(future, float("-inf"))'
    assert filled in source
    source = source.replace(filled, '(scores + future * float("-inf"))')
    verdict = verdict_on("cached-self-attention", source)
    assert verdict.misconception == "" and "0 times infinity is NaN" in verdict.findings[0].hint


def test_a_first_call_is_not_said_to_come_after_what_happens_later():
    """The scale is wrong from the first call on: before reset(), or a change of parameters."""
    answer = next(
        s for s in switched("cached-self-attention") if s.mistakes == {"scale-of-model-size"}
    )
    found = verdict_on("cached-self-attention", answer.source).findings
    told = {f.message.split(": ", 1)[1] for f in found if f.message.startswith("Call 1")}
    assert told == {"the output is not that of causal self-attention."}


@pytest.mark.parametrize(
    "shift, named",
    [
        ("target = target[:, :-1]", "target-cut"),
        ("target = target[:, 1:]", "target-cut"),
        ("target = nn.functional.pad(target, (1, -1))", "target-shifted"),
        ("target = nn.functional.pad(target, (1, -1), value=2)", "target-shifted"),
        ("target = target.roll(1, dims=1)", "target-rolled"),
        ("target = target.roll(-1, dims=1)", "target-rolled-back"),
        ("target = target.roll(1)", "target-rolled-across-texts"),
        ("target = target.roll(1, dims=0)", ""),
    ],
)
def test_a_shift_inside_the_model_is_named(shift, named):
    source = edited("transformer", "T = target.shape[1]", f"{shift}; T = target.shape[1]")
    assert verdict_on("transformer", source).misconception == named


def test_shares_near_a_known_mistake_get_no_name():
    source = edited("sample-next", "logits / temperature", "logits / temperature**1.5")
    verdict = verdict_on("sample-next", source)
    assert not verdict.passed and verdict.misconception == ""


def test_a_mistake_that_no_variant_predicts_gets_no_name():
    source = edited("self-attention", "math.sqrt(Q.shape[1])", "(math.sqrt(Q.shape[1]) + 0.1)")
    verdict = verdict_on("self-attention", source)
    assert not verdict.passed and verdict.misconception == ""


def test_exchanged_branches_are_not_called_a_norm_first_without_effect():
    source = edited("encoder-layer", "if self.norm_first:", "if not self.norm_first:")
    assert verdict_on("encoder-layer", source).misconception == "norm-first-exchanged"


@pytest.mark.parametrize("wrong", ["x + 2 * self.feed_forward(x)", "start + self.feed_forward(x)"])
def test_a_wrong_output_is_not_called_right_but_cut_off(wrong):
    source = edited(
        "encoder-layer",
        "return self.sublayer(x, self.norm2, *second)",
        f"return self.norm2({wrong})",
    ).replace(
        "        x = self.sublayer(x, self.norm1",
        "        start = x\n        x = self.sublayer(x, self.norm1",
    )
    assert "start = x" in source
    assert verdict_on("encoder-layer", source).misconception == ""


def test_a_wrong_norm_is_not_called_a_wrong_mask():
    source = edited("encoder-layer", "norm = norm", "norm = nn.Identity()")
    masked = next(f for f in verdict_on("encoder-layer", source).findings if "mask" in f.name)
    assert masked.message.startswith("Waiting for: ")


@pytest.mark.parametrize(
    "exercise, mistake",
    [
        ("self-attention", "softmax-over-queries"),
        ("multi-head-attention", "softmax-over-queries"),
        ("attention-with-scores", "softmax-over-batch"),
        ("attend", "softmax-over-batch"),
    ],
)
def test_a_sum_of_wrong_weights_is_not_called_something_else(exercise, mistake):
    answer = next(s for s in switched(exercise) if s.mistakes == {mistake})
    verdict = verdict_on(exercise, answer.source)
    first, second = verdict.findings[:2]
    assert not first.passed and not second.passed
    assert second.message == f"Waiting for: {first.name}."


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
