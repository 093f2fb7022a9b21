"""The other widgets' states and pictures, without a browser."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_utils.recurrent.capacity import ChannelPoint
from course_utils.widgets import (
    attention_map,
    attention_map_html,
    beam_tree,
    bottleneck_explorer,
    permutation_explorer,
    position_explorer,
    softmax_explorer,
)
from course_utils.widgets.permutation_explorer import PermutationState
from course_utils.widgets.position_explorer import PositionState
from course_utils.widgets.softmax_explorer import SoftmaxState

# Softmax -------------------------------------------------------------------------------------


def test_the_softmax_gradient_is_the_one_that_finite_differences_give():
    state = SoftmaxState("1, 0.5, -2", size=1, scaled=True, temperature=0.5)
    step = 1e-6
    for j in range(3):
        up = state.base.copy()
        up[j] += step
        moved = SoftmaxState(", ".join(f"{v:.9f}" for v in up), 1, True, 0.5)
        numeric = (moved.weights() - state.weights()) / step
        np.testing.assert_allclose(state.gradient()[:, j], numeric, atol=1e-4)


def test_without_the_division_the_softmax_saturates_as_d_grows():
    gradients = [
        np.abs(SoftmaxState(size=d, scaled=False).gradient()).max() for d in (1, 16, 64, 512)
    ]
    assert gradients == sorted(gradients, reverse=True) and gradients[-1] < 1e-6
    divided = [np.abs(SoftmaxState(size=d).gradient()).max() for d in (1, 16, 512)]
    np.testing.assert_allclose(divided, divided[0])
    assert "saturated" in softmax_explorer(scaled=False, size=512).html


def test_a_higher_temperature_gives_more_entropy():
    cool, hot = SoftmaxState(temperature=0.5), SoftmaxState(temperature=4.0)
    assert cool.entropy < hot.entropy < np.log2(4)


@pytest.mark.parametrize(
    "typed", ["1, x", "1,", "", "1", "nan, 1", "1e308, 1", "1,2,3,4,5,6,7,8,9"]
)
def test_scores_that_can_not_be_read_are_explained_and_the_picture_stays(typed):
    view = softmax_explorer()
    before = view.picture.value
    view._controls["scores"].value = typed
    assert view.picture.value == before
    assert 'role="alert"' in view._message.value
    view._controls["scores"].value = "3, 1"
    assert view._message.value == "" and view.picture.value != before


# Permutation ---------------------------------------------------------------------------------


@given(st.permutations(range(5)), st.integers(0, 50))
@settings(max_examples=40, deadline=None)
def test_without_positions_and_mask_outputs_move_with_their_tokens(order, seed):
    state = PermutationState(("a", "b", "c", "d", "e"), tuple(order), seed=seed)
    assert state.moves_along
    np.testing.assert_allclose(state.now, state.before[list(order)], atol=1e-9)


@pytest.mark.parametrize("choice", ["positions", "mask"])
def test_positions_and_the_mask_make_the_order_matter(choice):
    state = PermutationState(order=(3, 2, 1, 0), **{choice: True})
    assert not state.moves_along and state.change.max() > 0.01


def test_tokens_move_stop_at_the_edge_and_come_back_with_undo():
    view = permutation_explorer(["x", "y", "z"])
    view.show(view.state.moved(+1))
    assert view.state.order == (1, 0, 2)
    view.show(view.state.moved(-1))
    view.show(view.state.moved(-1))
    assert view.state.order == (0, 1, 2)
    view._travel(view.history.undo)
    assert view.state.order == (1, 0, 2)
    view._travel(view.history.redo)
    assert view.state.order == (0, 1, 2)
    view._controls["positions"].value = True
    view.show(view.state.reversed())
    assert "order matter" in view.html
    view._travel(view.history.reset)
    assert view.state == PermutationState(("x", "y", "z"))


def test_one_token_alone_can_not_be_moved_and_is_refused():
    with pytest.raises(ValueError, match="2 to 8 tokens"):
        permutation_explorer(["alone"])


# Positions -----------------------------------------------------------------------------------


def test_positions_are_sines_and_cosines_of_t_over_a_power_of_the_base():
    state = PositionState(size=6, length=9, base=10000)
    for t, i in ((0, 0), (3, 0), (8, 1), (5, 2)):
        angle = t / 10000 ** (2 * i / 6)
        np.testing.assert_allclose(
            state.values[t, 2 * i : 2 * i + 2], [np.sin(angle), np.cos(angle)], atol=1e-12
        )


def test_similarity_depends_only_on_the_distance_and_is_one_at_home():
    state = PositionState(size=16, length=32, position=5)
    assert state.similarity[5] == pytest.approx(1)
    np.testing.assert_allclose(state.similarity[4], state.similarity[6])
    norms = np.linalg.norm(state.values, axis=1)
    cosine = state.values @ state.values[5] / norms / norms[5]
    np.testing.assert_allclose(state.similarity, cosine, atol=1e-12)


def test_a_smaller_size_takes_the_chosen_pair_and_position_along():
    view = position_explorer(size=16, length=32, pair=7, position=31)
    view._controls["size"].value = 4
    assert view.state.pair == 1 and list(view._controls["pair"].options) == [0, 1]
    view._controls["length"].value = 8
    assert view.state.position == 7 == view._controls["position"].value
    with pytest.raises(ValueError, match="even"):
        position_explorer(size=5)


# Attention map -------------------------------------------------------------------------------

WEIGHTS = np.array([[[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]], [[0, 1, 0], [0.5, 0.25, 0.25]]])


def test_the_map_puts_the_number_in_each_cell_and_says_where_each_row_looks():
    view = attention_map(WEIGHTS, ["eins", "zwei", "drei"], ["one", "two"])
    for number in (">0.70<", ">0.20<", ">0.80<"):
        assert number in view.html
    assert "one looks most at eins (0.700)" in view.html
    view._controls["head"].value = 1
    assert "one looks most at zwei (1.000)" in view.html
    view._controls["head"].value = -1
    assert ">0.60<" in view.html and "mean of all heads" in view.html
    view._controls["head"].value = -2
    assert view.html.count("<svg") == 2


def test_rows_are_shown_one_at_a_time_and_all_again():
    view = attention_map(WEIGHTS, ["eins", "zwei", "drei"], ["one", "two"])
    view._step(+1)
    assert view.state.row == 0 and "one looks at" in view.html
    view._step(+1)
    view._step(+1)
    assert view.state.row == -1
    view._step(-1)
    assert view.state.row == 1


def test_the_map_takes_tensors_and_two_dimensional_weights():
    torch = pytest.importorskip("torch")
    weights = torch.tensor([[0.9, 0.1]], requires_grad=True)
    assert ">0.90<" in attention_map(weights, ["a", "b"], ["c"]).html
    assert ">0.90<" in attention_map_html(weights, ["a", "b"], ["c"]).page


def test_markup_in_tokens_is_shown_not_run():
    html = attention_map_html([[1.0]], ["<script>"], ["<eos>&"]).page
    assert "<script>" not in html and "&lt;script&gt;" in html
    view = attention_map([[1.0]], ["<b>"], ["<eos>"])
    view._step(+1)
    assert "<eos>" not in view.html and "&lt;eos&gt;" in view.html


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        (np.ones((1, 2, 2, 2)), "one sentence of the batch"),
        ([[np.nan, 1]], "NaN"),
        ([[1.0, 0, 0]], "3 columns"),
    ],
)
def test_weights_that_can_not_be_drawn_are_refused_in_a_sentence(weights, says):
    with pytest.raises(ValueError, match=says):
        attention_map(weights, ["a", "b"], ["c"])


# Bottleneck ----------------------------------------------------------------------------------


def channel_run(model, bits, length, steps, seed, share):
    return ChannelPoint(model, bits, length, bits / length, steps, seed, share, 1.0, 1.0, 0.0)


def runs():
    one = [
        channel_run(
            "one message", bits, length, steps, seed, min(1, bits / length / 10) + seed / 50
        )
        for bits in (8, 16)
        for length in (2, 4)
        for steps in (1000, 10_000)
        for seed in (0, 1, 2)
    ]
    return one + [channel_run("attention", 8, length, 1000, 0, 1.0) for length in (2, 4)]


def test_the_bottleneck_shows_mean_and_spread_over_seeds_below_its_line():
    view = bottleneck_explorer(runs())
    point = view.state.measured("one message", 8)[1]
    assert (point.length, point.seeds) == (4, 3)
    assert point.mean == pytest.approx(0.22) and point.high - point.low == pytest.approx(0.04)
    assert view.html.count("<polyline") == 4  # two sizes, each with its line
    assert "8 bits: 42% of 2 symbols, 22% of 4" in view.kept.words
    view._controls["attention"].value = True
    assert view.html.count("<polyline") == 5 and "attention: 100% of 2 symbols" in view.kept.words
    view._controls["bits"].value = 16
    assert "line, 16 bits" in view.html and "keep the first" in view.html
    assert "8 bits:" not in view.kept.words


def test_a_choice_without_runs_and_an_empty_list_are_told_in_a_sentence():
    with pytest.raises(ValueError, match="empty"):
        bottleneck_explorer([])
    view = bottleneck_explorer([run for run in runs() if run.bits == 8 or run.steps == 1000])
    view._controls["bits"].value = 16
    view._controls["steps"].value = 10_000
    assert "No run fits this choice." in view.html


# Beam tree -----------------------------------------------------------------------------------

STEPS = [
    [{"token": "a", "score": -0.5}, {"token": "the", "score": -1.0}],
    [
        {"token": "dog", "score": -1.5, "parent": 0},
        {"token": "cat", "score": -1.2, "parent": 1},
        {"token": "<eos>", "score": -3.0, "parent": 0, "kept": False},
    ],
    [{"token": ".", "score": -1.3, "parent": 1, "finished": True}],
]


def test_the_tree_follows_parents_back_to_the_first_step():
    view = beam_tree(STEPS)
    assert view.state.sentence(2, 0) == "the cat ."
    assert view.state.best == (2, 0) and "finished" in view.html
    view._go(-1)
    assert view.state.step == 1 and "Best so far: the cat (−1.20)" in view.html
    assert "dropped" in view.html and "&lt;eos&gt;" in view.html
    view._controls["dropped"].value = False
    assert "&lt;eos&gt;" not in view.html
    for _ in range(5):
        view._go(-1)
    assert view.state.step == 0


def test_the_tree_opens_where_the_answer_ends_not_where_the_search_gave_up():
    longer = [*STEPS, [{"token": "and", "score": -9.0, "parent": 0}]]
    view = beam_tree(longer)
    assert view.state.step == 2 and "step 4" not in view.html
    assert view._controls["step"].value == 2
    view._go(+1)
    assert view.state.step == 3 and "Best so far: the cat . (−1.30)" in view.html


def test_a_wide_search_starts_without_what_was_dropped():
    wide = [[{"token": f"t{i}", "score": -i, "kept": i < 2} for i in range(13)]]
    view = beam_tree(wide)
    assert "t12" not in view.html and "t1" in view.html
    view._controls["dropped"].value = True
    assert "t12" in view.html


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([], "no steps"),
        ([[]], "Step 1 is empty"),
        ([[{"token": "a"}]], "needs a token and a score"),
        ([[{"token": "a", "score": 0}], [{"token": "b", "score": 0, "parent": 1}]], "from 0 to 0"),
        ([[{"token": "a", "score": 0, "parent": 0}]], "follows nothing"),
    ],
)
def test_a_tree_that_does_not_hang_together_is_refused_in_a_sentence(steps, says):
    with pytest.raises(ValueError, match=says):
        beam_tree(steps)
