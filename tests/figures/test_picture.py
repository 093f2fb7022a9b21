"""A picture and its words travel together, whatever the picture is made of."""

import dataclasses
import subprocess
import sys

import pytest

from course_utils.figures.bottleneck_plots import curves, table
from course_utils.figures.drawing import drawing, text
from course_utils.figures.encoder_decoder import encoder_decoder, one_to_one
from course_utils.figures.joined_masks import draw_masks
from course_utils.figures.pen_and_paper import one_query, one_step, two_heads
from course_utils.figures.picture import Picture, from_figure
from course_utils.figures.transformer import (
    gradient_plot,
    heads_diagram,
    self_attention_diagram,
    transformer_diagram,
)
from course_utils.figures.translator import slides_diagram, translator_diagram

FIGURES = {
    "one_to_one": one_to_one,
    "encoder_decoder": encoder_decoder,
    "encoder_decoder with attention": lambda: encoder_decoder(True),
    "one_query": one_query,
    "one_step": one_step,
    "two_heads": two_heads,
    "self_attention": self_attention_diagram,
    "heads": heads_diagram,
    "transformer": transformer_diagram,
    "translator": translator_diagram,
    "slides": slides_diagram,
    "masks": lambda: draw_masks(["der", "hund"], ["<s>", "the", "dog"]),
    "gradients": lambda: gradient_plot([2, 4], {"before": [[1, 2], [1, 2]], "after": [[2, 1]] * 2}),
    "curves": lambda: curves({"a": [0.1, 0.9]}, [1, 2], x_label="x", y_label="y of a curve"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_words_for_the_ear_and_for_a_page_without_html(name):
    picture = FIGURES[name]()
    assert isinstance(picture, Picture) and len(picture.words) > 25
    bundle = picture._repr_mimebundle_()
    assert bundle["text/plain"] == picture.words
    assert 'role="img" aria-label="' in bundle["text/html"] or '<img alt="' in bundle["text/html"]


def test_a_table_is_read_cell_by_cell_so_it_needs_no_alternative():
    picture = table({("row", "x"): [0.2]}, "what")
    assert 'scope="col"' in picture.html.replace("'", '"') and picture.words == "row: x 20%"


def test_words_with_quotes_and_markup_stay_words():
    picture = drawing(10, 10, 'a "b" <c>', [text(0, 0, "<d>")])
    assert 'aria-label="a &quot;b&quot; &lt;c&gt;"' in picture.html and "&lt;d&gt;" in picture.html
    assert picture.words == 'a "b" <c>'


def test_a_picture_can_not_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Picture("", "").words = "other"


def test_a_figure_is_shown_once_and_not_again_by_pyplot():
    import matplotlib.pyplot as plt

    figure, _ = plt.subplots()
    picture = from_figure(figure, "an empty plot")
    assert 'alt="an empty plot"' in picture.html and "data:image/png;base64," in picture.html
    assert plt.get_fignums() == []


def test_a_wide_picture_shrinks_only_as_long_as_it_can_be_read():
    assert 'style="min-width:300px"' in drawing(400, 100, "words", []).html
    from matplotlib.figure import Figure

    assert "min-width:825px" in from_figure(Figure(figsize=(10, 2)), "words").html


def test_two_drawings_on_a_page_do_not_share_their_arrow_heads():
    first, second = (one_query().html.partition('<marker id="')[2].split('"')[0] for _ in "ab")
    assert first and first != second


def test_pictures_and_charts_need_neither_torch_nor_ipywidgets_nor_matplotlib():
    code = (
        "import sys, importlib, pkgutil, course_utils.figures as room\n"
        "for module in pkgutil.iter_modules(room.__path__):\n"
        "    importlib.import_module(f'course_utils.figures.{module.name}')\n"
        "print([n for n in ('torch', 'ipywidgets', 'matplotlib', 'IPython') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
