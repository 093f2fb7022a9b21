"""The views without a browser: fields, messages, the kept picture, and what they are made of."""

import re
import subprocess
import sys

import ipywidgets
import numpy as np
import pytest

from course_utils.recurrent.capacity import ChannelPoint
from course_utils.widgets import (
    CHALLENGES,
    PRESETS,
    attention_editor,
    attention_map,
    beam_tree,
    bottleneck_explorer,
    permutation_explorer,
    position_explorer,
    predict,
    softmax_explorer,
)

RUN = ChannelPoint("one message", 8, 4, 2.0, 1000, 0, 0.3, 0.7, 0.5, 1.0)
VIEWS = {
    "attention_editor": attention_editor,
    "attention_map": lambda: attention_map([[0.2, 0.8]], ["a", "b"], ["c"]),
    "beam_tree": lambda: beam_tree([[{"token": "a", "score": -1}]]),
    "bottleneck_explorer": lambda: bottleneck_explorer([RUN]),
    "permutation_explorer": permutation_explorer,
    "position_explorer": position_explorer,
    "predict": lambda: predict("number", "How many?", unit=" %"),
    "predict_choice": lambda: predict("choice", "Which?", ["a", "b"]),
    "softmax_explorer": softmax_explorer,
}
# What Colab's 7.7.1 and JupyterLab's 8.1 both have, without Output and Accordion.
SHARED = {
    "Box",
    "Button",
    "Checkbox",
    "Dropdown",
    "GridBox",
    "HBox",
    "HTML",
    "Text",
    "Textarea",
    "ToggleButton",
    "VBox",
}


def tree(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from tree(child)


@pytest.fixture
def published(monkeypatch):
    """What would go to the notebook: (bundle, keyword arguments) for each display."""
    seen = []
    monkeypatch.setattr(
        "course_utils.widgets.view.display", lambda bundle, **more: seen.append((bundle, more))
    )
    return seen


@pytest.mark.parametrize("name", VIEWS)
def test_views_use_only_core_widgets_that_both_versions_have(name):
    for widget in tree(VIEWS[name]().widget):
        assert type(widget).__name__ in SHARED
        assert type(widget).__module__.startswith("ipywidgets.")


@pytest.mark.parametrize("name", VIEWS)
def test_every_control_has_a_label(name):
    for widget in tree(VIEWS[name]().widget):
        if isinstance(widget, ipywidgets.HTML) or hasattr(widget, "children"):
            continue
        assert widget.description.strip(), widget


@pytest.mark.parametrize("name", VIEWS)
def test_every_drawing_has_a_text_alternative(name):
    html = VIEWS[name]().picture.value
    for tag in re.findall(r"<svg[^>]*>", html):
        assert 'role="img"' in tag and re.search(r'aria-label="[^"]{10,}"', tag)
    for table in re.findall(r"<table>.*?</table>", html, re.DOTALL):
        assert "<caption>" in table
    assert "<svg" in html or "<table" in html


@pytest.mark.parametrize("name", VIEWS)
def test_no_picture_contains_a_script_or_a_nan(name):
    html = VIEWS[name]().picture.value
    assert "<script" not in html.lower() and not re.search(r"\bnan\b", html, re.IGNORECASE)


@pytest.mark.parametrize("name", VIEWS)
def test_the_notebook_gets_the_live_view_and_the_same_picture_as_plain_html(name, published):
    view = VIEWS[name]()
    view._ipython_display_()
    (live, _), (kept, how) = published
    assert live["application/vnd.jupyter.widget-view+json"]["model_id"] == view.widget.model_id
    assert view.kept.html in kept["text/html"] and view.kept.html in view.html
    assert "application/vnd.jupyter.widget-view+json" not in kept
    assert kept["text/plain"].strip() and how["display_id"]


def test_an_edit_updates_the_picture_that_is_kept_in_the_notebook(published):
    editor = attention_editor("single-query")
    editor._field("Q", 0, 0).value = "5"
    assert published == []
    editor._ipython_display_()
    editor._field("Q", 0, 0).value = "6"
    kept, how = published[-1]
    assert how["update"] is True and how["display_id"] == published[1][1]["display_id"]
    assert ">6<" in kept["text/html"]


def test_the_kept_picture_shows_the_typed_matrices_that_the_live_fields_show():
    editor = attention_editor("self-attention")
    assert "W<sub>Q</sub></caption>" in editor.html
    assert "W<sub>Q</sub></caption>" not in editor.picture.value.replace("X W", "")


@pytest.mark.parametrize("typed", ["abc", "", "1e308", "NaN", "1,5"])
def test_a_bad_field_says_what_is_wrong_and_the_last_good_picture_stays(typed):
    editor = attention_editor("self-attention")
    editor._field("W_K", 0, 0).value = "2"
    good = editor.picture.value
    box = editor._field("W_K", 0, 1)
    box.value = typed
    assert editor.picture.value == good
    assert "W_K row 1 column 2" in editor._message.value
    assert "cw-wrong" in box._dom_classes and box.value == typed
    box.value = "3"
    assert editor._message.value == "" and "cw-wrong" not in box._dom_classes
    assert editor.picture.value != good


def test_a_bad_field_stays_marked_while_others_are_edited_and_undo_clears_it():
    editor = attention_editor("self-attention")
    editor._field("X", 0, 0).value = "oops"
    editor._field("X", 0, 1).value = "4"
    assert editor.state.setup.matrices["X"][0, 1] == 4
    assert "X row 1 column 1" in editor._message.value
    editor._undo.click()
    assert editor._field("X", 0, 0).value == "-2" and editor._field("X", 0, 1).value == "1"
    assert editor._message.value == ""


def test_two_bad_fields_are_both_named():
    editor = attention_editor("single-query")
    editor._field("K", 0, 0).value = "x"
    editor._temperature.value = "-1"
    assert "K row 1 column 1" in editor._message.value
    assert "Temperature" in editor._message.value


def test_what_is_typed_is_shown_as_text_not_as_markup():
    editor = attention_editor("single-query")
    editor._field("K", 0, 0).value = "<b>1"
    assert "<b>1" not in editor._message.value and "&lt;b&gt;1" in editor._message.value


def test_a_mask_that_hides_a_row_says_so():
    editor = attention_editor("self-attention", mask="custom", seen=np.eye(4))
    editor._switch(2, 2).value = False
    assert "hides every key from row 3" in editor.picture.value
    assert not re.search(r"\bnan\b", editor.picture.value, re.IGNORECASE)
    assert editor._switch(2, 2).description.startswith("off")


def test_the_words_name_every_key_that_a_row_looks_at_most():
    assert "Row 1 looks most at keys 1 and 3 (0.465)" in attention_editor("single-query").html
    assert "looks at all keys equally (0.250)" in attention_editor("orthonormal-keys").html


def test_controls_follow_undo():
    editor = attention_editor("self-attention")
    editor._mask.value = "causal"
    editor._heads.value = 2
    editor._sizes["tokens"].value = 5
    assert len(editor._grids.children) == 8
    for _ in range(3):
        editor._undo.click()
    assert (editor._mask.value, editor._heads.value, editor._sizes["tokens"].value) == (
        "none",
        1,
        4,
    )
    assert len(editor._grids.children) == 4 and editor._undo.disabled
    editor._redo.click()
    assert editor._mask.value == "causal"


def test_a_challenge_locks_what_it_fixes_and_choosing_none_frees_it():
    editor = attention_editor("self-attention")
    editor._challenge.value = "copy-one"
    assert editor._field("K", 0, 0).disabled and not editor._field("Q", 0, 0).disabled
    assert editor._mask.disabled and "Distance" in editor.picture.value
    editor._challenge.value = ""
    assert not editor._field("K", 0, 0).disabled and not editor._mask.disabled
    editor._undo.click()
    editor._undo.click()
    assert editor._preset.value == "self-attention" and editor._challenge.value == ""


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_chosen_from_the_menu(name):
    editor = attention_editor("orthonormal-keys")
    editor._preset.value = name
    assert editor.state.setup.origin == name
    shapes = [matrix.size for matrix in editor.state.setup.matrices.values()]
    assert [len(grid.children[1].children) for grid in editor._grids.children] == shapes


@pytest.mark.parametrize("name", CHALLENGES)
def test_every_challenge_can_be_chosen_from_the_menu(name):
    editor = attention_editor()
    editor._challenge.value = name
    assert editor.challenge_result().challenge == name


def test_choices_alone_change_the_first_preset_and_matrices_of_your_own_replace_it():
    assert attention_editor(mask="causal").state.setup.mask == "causal"
    assert attention_editor("two-heads", scale=False).state.setup.heads == 2
    own = attention_editor(Q=[[1, 0]], K=[[1, 0], [0, 1]], V=[[1, 2], [3, 4]])
    assert own.state.setup.sizes == {"queries": 1, "key": 2, "keys": 2, "value": 2}
    with pytest.raises(ValueError, match="Not expected: W_X"):
        attention_editor(W_X=[[1]])


def test_the_code_to_copy_appears_on_demand():
    editor = attention_editor("single-query")
    assert editor._code.layout.display == "none"
    editor._copy.value = True
    assert editor._code.layout.display != "none" and "attention_editor(" in editor._code.value
    editor._field("Q", 0, 0).value = "9"
    assert "[9, 1, -1]" in editor._code.value


def test_an_edit_at_eight_by_eight_sends_its_picture_and_leaves_every_other_widget_alone(
    published, monkeypatch
):
    """What keeps an edit quick; benchmarks/widget_latency.py says how quick."""
    rng = np.random.default_rng(0)
    matrices = {name: rng.normal(size=(8, 8)).round(2) for name in ("X", "W_Q", "W_K", "W_V")}
    editor = attention_editor(mask="causal", **matrices)
    editor._ipython_display_()
    edited = editor._field("W_K", 3, 4)
    edited.value = "0.5"  # the first edit frees the button for undo too
    sent = []
    monkeypatch.setattr(ipywidgets.Widget, "send_state", lambda self, key=None: sent.append(self))
    edited.value = "1.5"
    assert editor.picture in sent and set(sent) <= {edited, editor.picture}
    assert len(published) == 2 + 2


def test_the_widgets_need_neither_torch_nor_matplotlib():
    code = (
        "import sys, course_utils.widgets; "
        "print([name for name in ('torch', 'matplotlib', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
