"""The attention editor's state: its numbers, its choices, its history, its code."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from course_utils.editor.attention_state import compute, make_setup, new_state
from course_utils.editor.numbers import BadNumber, exact, parse_number
from course_utils.editor.presets import PRESETS, preset
from course_utils.figures.numbers import shown, weight

SMALL = st.floats(-5, 5).map(lambda value: round(value, 2))


def state_of(name="self-attention"):
    return new_state(preset(name))


def test_one_query_on_x_gives_the_numbers_of_the_question():
    head = compute(preset("single-query")).heads[0]
    np.testing.assert_allclose(head.scaled[0], [2.59807621, 0, 2.59807621, 0], atol=1e-7)
    np.testing.assert_allclose(
        head.weights[0], [0.46536883, 0.03463117, 0.46536883, 0.03463117], atol=1e-8
    )
    np.testing.assert_allclose(head.output[0], [-1.66342208, 0.8961065, 0.03463117], atol=1e-7)


def test_self_attention_on_x_gives_the_numbers_of_the_question():
    chain = compute(preset("self-attention"))
    head = chain.heads[0]
    np.testing.assert_allclose(head.Q, [[-2.25, 4.5], [1.25, 2], [-1.25, 4.75], [-2.75, -3.5]])
    np.testing.assert_allclose(head.K, [[5.75, 1.5], [2, -0.5], [4.5, 2], [-2.5, 0.5]])
    np.testing.assert_allclose(head.V, [[-2.5, -7.5], [0.25, 0], [-2, -5.25], [-0.75, -1.5]])
    np.testing.assert_allclose(
        head.weights[1], [5.97319598e-1, 1.28333499e-3, 4.01298182e-1, 9.88847812e-5], rtol=1e-7
    )
    expected = [
        [-0.75220098, -1.50668721],
        [-2.29564869, -6.58686077],
        [-1.07141415, -2.47595506],
        [-0.74812187, -1.4971829],
    ]
    np.testing.assert_allclose(chain.output, expected, atol=1e-7)


def test_two_heads_on_x_give_the_numbers_of_the_question():
    chain = compute(preset("two-heads"))
    np.testing.assert_allclose(chain.heads[1].output[:, 0], chain.heads[1].output[:, 1])
    np.testing.assert_allclose(chain.heads[1].output[0, 0], -2.26628332, atol=1e-7)
    expected = [
        [-6.04664898, 3.77781072, -0.75731086],
        [8.28741825, 0.14750295, 10.57968068],
        [-7.3905735, 5.09982766, -0.01158073],
        [-8.25045389, 4.87428797, -1.50140321],
    ]
    np.testing.assert_allclose(chain.output, expected, atol=1e-7)


def test_the_question_with_columns_is_turned_so_that_its_scores_come_out():
    for name in ("column-vectors", "column-vectors-argmax"):
        np.testing.assert_array_equal(compute(preset(name)).heads[0].scores[1], [1054, 852, -396])
    chain = compute(preset("column-vectors-argmax"))
    np.testing.assert_array_equal(chain.heads[0].weights[1], [1, 0, 0])
    np.testing.assert_array_equal(chain.output[1], [23, 46])


def test_orthonormal_keys_are_orthonormal_and_noisy_ones_only_orthogonal():
    keys = preset("orthonormal-keys").matrices["K"]
    np.testing.assert_allclose(keys @ keys.T, np.eye(4), atol=1e-12)
    noisy = preset("noisy-keys").matrices["K"]
    gram = noisy @ noisy.T
    np.testing.assert_allclose(gram - np.diag(np.diag(gram)), 0, atol=1e-12)
    assert np.ptp(np.diag(gram)) > 0.5


def test_a_preset_of_an_unknown_name_says_which_there_are():
    with pytest.raises(ValueError, match="single-query"):
        preset("nothing")


@given(
    arrays(float, (3, 4), elements=SMALL),
    arrays(float, (5, 4), elements=SMALL),
    arrays(float, (5, 2), elements=SMALL),
    arrays(bool, (3, 5)),
    st.floats(0.01, 100),
    st.sampled_from(["softmax", "argmax"]),
)
@settings(max_examples=60, deadline=None)
def test_weights_of_a_row_sum_to_one_or_the_row_is_named_as_hidden(Q, K, V, seen, heat, rule):
    setup = make_setup(Q=Q, K=K, V=V, mask="custom", seen=seen, temperature=heat, rule=rule)
    chain = compute(setup)
    head = chain.heads[0]
    assert np.isfinite(head.weights).all() and np.isfinite(chain.output).all()
    assert (head.weights[~seen] == 0).all()
    hidden = [i for i in range(3) if not seen[i].any()]
    assert list(chain.hidden_rows) == hidden
    sums = head.weights.sum(axis=1)
    np.testing.assert_allclose(sums, [0.0 if i in hidden else 1.0 for i in range(3)], atol=1e-12)


def test_zero_singular_and_very_large_matrices_give_finite_numbers():
    zero = compute(make_setup(Q=np.zeros((2, 2)), K=np.zeros((3, 2)), V=np.ones((3, 2))))
    np.testing.assert_allclose(zero.heads[0].weights, 1 / 3)
    singular = make_setup(X=np.ones((4, 4)), **{n: np.ones((4, 4)) for n in ("W_Q", "W_K", "W_V")})
    assert np.isfinite(compute(singular).output).all()
    large = {n: np.full((8, 8), 1e6) for n in ("X", "W_Q", "W_K", "W_V")}
    assert np.isfinite(compute(make_setup(**large, temperature=0.01)).output).all()


def test_scale_temperature_and_argmax_change_the_weights_as_they_should():
    state = state_of("single-query")
    sharp = state.chain.heads[0].weights[0].max()
    state.set_temperature("100")
    assert state.chain.heads[0].weights[0].max() < sharp
    state.set_temperature("1")
    state.set_scale(False)
    np.testing.assert_array_equal(state.chain.heads[0].scaled, state.chain.heads[0].scores)
    state.set_rule("argmax")
    np.testing.assert_array_equal(state.chain.heads[0].weights[0], [1, 0, 0, 0])


def test_the_causal_mask_hides_what_comes_later():
    state = state_of()
    state.set_mask("causal")
    weights = state.chain.heads[0].weights
    np.testing.assert_array_equal(np.triu(weights, 1), 0)
    assert weights[0, 0] == 1


def test_a_custom_mask_starts_from_the_mask_that_was_there_and_can_hide_a_row():
    state = state_of()
    state.set_mask("causal")
    state.set_mask("custom")
    np.testing.assert_array_equal(state.setup.allowed, np.tri(4, dtype=bool))
    state.toggle(0, 0)
    assert state.chain.hidden_rows == (0,)
    np.testing.assert_array_equal(state.chain.output[0], 0)


def test_undo_redo_and_reset_walk_through_the_edits():
    state = state_of()
    first = state.chain.output
    state.set_cell("X", 0, 0, "7")
    second = state.chain.output
    state.set_scale(False)
    state.undo()
    np.testing.assert_array_equal(state.chain.output, second)
    state.undo()
    np.testing.assert_array_equal(state.chain.output, first)
    assert not state.history.can_undo
    state.undo()
    state.redo()
    np.testing.assert_array_equal(state.chain.output, second)
    state.redo()
    assert state.setup.scale is False and not state.history.can_redo
    state.reset()
    np.testing.assert_array_equal(state.chain.output, first)
    state.undo()
    assert state.setup.scale is False
    state.set_cell("X", 0, 0, "1")
    assert not state.history.can_redo


def test_typing_the_number_that_is_there_is_no_edit():
    state = state_of()
    state.set_cell("X", 0, 0, "-2.0")
    assert not state.history.can_undo


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("abc", "not a number"),
        ("", "empty"),
        ("   ", "empty"),
        ("1,5", "decimal point"),
        ("1e308", "from -1000000 to 1000000"),
        ("inf", "from -1000000"),
        ("nan", "NaN"),
        ("NaN", "NaN"),
        ("--1", "not a number"),
    ],
)
def test_bad_input_is_explained_and_changes_nothing(typed, says):
    state = state_of()
    before = state.chain.output
    with pytest.raises(BadNumber, match=says):
        state.set_cell("W_K", 1, 1, typed)
    np.testing.assert_array_equal(state.chain.output, before)
    assert not state.history.can_undo


def test_a_typographic_minus_is_a_minus():
    assert parse_number(" −1.5 ") == -1.5


@pytest.mark.parametrize(("smallest", "example"), [(-1e6, "-1.5"), (0.01, "1.5")])
def test_the_number_that_a_message_suggests_is_one_that_is_taken(smallest, example):
    with pytest.raises(BadNumber, match=f"such as {example}") as found:
        parse_number("warm", smallest, 100)
    suggested = str(found.value).split("such as ")[1].rstrip(".")
    assert parse_number(suggested, smallest, 100) == float(example)


def test_the_temperature_field_suggests_a_temperature():
    with pytest.raises(BadNumber, match=r"such as 1\.5"):
        state_of().set_temperature("warm")


def test_a_temperature_of_zero_is_refused():
    with pytest.raises(BadNumber, match=r"0\.01"):
        state_of().set_temperature("0")


@pytest.mark.parametrize("name", PRESETS)
def test_the_code_of_every_preset_rebuilds_it(name):
    state = state_of(name)
    state.set_temperature("2")
    state.set_mask("custom")
    state.toggle(0, 1)
    rebuilt: dict = {}
    exec(state.code(), rebuilt)
    again = rebuilt["editor"].state
    np.testing.assert_allclose(again.chain.output, state.chain.output, rtol=1e-9)
    assert again.code() == state.code()


def test_a_second_head_starts_as_a_copy_and_leaves_the_output_as_it_was():
    state = state_of()
    before = state.chain.output
    state.set_heads(2)
    np.testing.assert_allclose(state.chain.output, before)
    state.set_heads(1)
    np.testing.assert_allclose(state.chain.output, before)


@pytest.mark.parametrize("name", ["self-attention", "two-heads"])
def test_typing_q_k_v_directly_keeps_the_output_and_back_again(name):
    state = state_of(name)
    before = state.chain.output
    state.set_direct(True)
    np.testing.assert_allclose(state.chain.output, before)
    state.set_direct(False)
    np.testing.assert_allclose(state.chain.output, before)


def test_sizes_go_from_two_to_eight_and_keep_what_fits():
    state = state_of("two-heads")
    corner = state.setup.matrices["X"][0, 0]
    for size in state.setup.sizes:
        for length in (8, 2):
            state.resize(size, length)
            assert state.setup.sizes[size] == length
            assert np.isfinite(state.chain.output).all()
        with pytest.raises(ValueError, match="from 2 to 8"):
            state.resize(size, 9)
    assert state.setup.matrices["X"][0, 0] == corner


def test_a_wider_value_gives_each_head_its_own_rows_of_w_o():
    state = state_of("two-heads")
    before = state.chain.output
    state.resize("value", 4)
    np.testing.assert_allclose(state.chain.output, before)


def test_a_custom_mask_follows_the_sizes():
    state = state_of()
    state.set_mask("custom")
    state.toggle(0, 0)
    state.resize("tokens", 6)
    assert state.setup.allowed.shape == (6, 6)
    assert not state.setup.allowed[0, 0] and state.setup.allowed[5, 5]


@pytest.mark.parametrize(
    ("matrices", "says"),
    [
        ({"Q": [[1, 0]]}, "Missing: K, V"),
        ({"Q": [[1, 0]], "K": np.eye(3), "V": np.eye(3)}, "does not fit"),
        ({"Q": [[1, np.nan]], "K": np.eye(2), "V": np.eye(2)}, "NaN"),
        ({"Q": np.ones((9, 2)), "K": np.eye(2), "V": np.eye(2)}, "sizes go from 1 to 8"),
        ({"Q": [1, 0], "K": np.eye(2), "V": np.eye(2)}, "rows and columns"),
        ({"Q": [[1, 0]], "K": np.eye(2), "V": np.eye(2), "mask": "diagonal"}, "causal"),
        ({"Q": [[1, 0]], "K": np.eye(2), "V": np.eye(2), "rule": "max"}, "argmax"),
        ({"Q": [[1, 0]], "K": np.eye(2), "V": np.eye(2), "seen": [[1]]}, "1 by 2"),
    ],
)
def test_matrices_that_do_not_fit_are_refused_in_a_sentence(matrices, says):
    with pytest.raises(ValueError, match=says):
        make_setup(**matrices)


def test_the_result_holds_copies_of_all_arrays():
    state = state_of("two-heads")
    result = state.result()
    assert result["weights"].shape == (2, 4, 4)
    result["X"][0, 0] = 99
    assert state.setup.matrices["X"][0, 0] == -2


def test_small_numbers_are_never_shown_as_a_wrong_zero():
    assert shown(4.8e-5) == "4.8e−5"
    assert shown(0.0) == "0" and shown(-0.0) == "0"
    assert shown(-2.99952526) == "−3.000" and shown(-3.0) == "−3" and shown(1054.0) == "1054"
    assert weight(0.25) == "0.250" and weight(9e-9) == "9.0e−9" and weight(0.0) == "0.000"
    assert exact(-0.5) == "-0.5" and exact(-0.0) == "0"
