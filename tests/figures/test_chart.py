"""The chart kit: what is drawn, where, and what is said about it."""

import itertools
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_utils.figures.chart import (
    Line,
    bar_chart,
    heat_table,
    line_chart,
    round_numbers,
    row_chart,
)


def points(html: str, series: int = 1) -> list[tuple[float, float]]:
    found = re.search(rf'<polyline class="s{series}"[^>]*points="([^"]*)"', html)
    return [tuple(map(float, pair.split(","))) for pair in found[1].split()]


def texts(html: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", html)


def places_of(html: str, words: str) -> tuple[float, float]:
    found = re.search(rf'<text x="([\d.-]+)" y="([\d.-]+)"[^>]*>{words}</text>', html)
    return float(found[1]), float(found[2])


def test_a_line_goes_through_its_points_and_has_its_name_at_its_end():
    chart = line_chart([Line("loss", [1, 2, 3], [4, 2, 1])], x_label="epoch", y_label="loss")
    (x1, y1), (x2, y2), (x3, y3) = points(chart.html)
    assert x2 - x1 == pytest.approx(x3 - x2) and y1 < y2 < y3
    assert (y2 - y1) == pytest.approx(2 * (y3 - y2), abs=0.2)
    name_x, name_y = places_of(chart.html, "loss")
    assert name_x > x3 or "loss" in texts(chart.html)
    assert {"1", "2", "3", "epoch"} <= set(texts(chart.html))
    assert chart.words == "loss against epoch. loss: from 4 to 1."


def test_a_line_without_words_says_where_each_series_begins_and_ends():
    lines = [Line("a", [0, 1], [0.5, 0.25]), Line("b", [0, 1], [1, 1e-5])]
    chart = line_chart(lines, x_label="x", y_label="y")
    assert chart.words == "y against x. a: from 0.5 to 0.25; b: from 1 to 1e−5."
    assert line_chart(lines, x_label="x", y_label="y", words="My words.").words == "My words."


def test_every_line_has_its_own_colour_and_marker_so_that_colour_is_not_needed():
    lines = [Line(f"l{i}", [0, 1], [i, i], markers=True) for i in range(6)]
    html = line_chart(lines, x_label="x", y_label="y").html
    assert [f'<polyline class="s{i}"' in html for i in range(1, 7)] == [True] * 6
    found = re.findall(r'<(circle|rect|path) class="[ds]\d"([^>]*)/>', html)
    # A path's shape is what follows its first point.
    shapes = {(tag, re.sub(r'^.*d="M[\d.]+ [\d.]+|^ c?x=.*', "", rest)) for tag, rest in found}
    assert len(shapes) == 6


def test_between_whole_numbers_only_whole_ones_are_named():
    html = line_chart([Line("a", [1, 2, 3], [10, 20, 30])], x_label="x", y_label="y").html
    assert {"1", "2", "3"} <= set(texts(html)) and "1.5" not in texts(html)


def test_names_of_lines_that_end_together_do_not_overlap():
    lines = [Line(f"line {i}", [0, 1], [0.5, 0.5]) for i in range(6)]
    html = line_chart(lines, x_label="x", y_label="y").html
    heights = sorted(places_of(html, f"line {i}")[1] for i in range(6))
    assert all(b - a >= 14.9 for a, b in itertools.pairwise(heights))


def test_what_has_no_value_yet_is_left_out_and_a_single_point_can_be_seen():
    lines = [Line("a", [1, 2, 3], [1.0, math.nan, math.inf])]
    html = line_chart(lines, x_label="x", y_label="y").html
    assert len(points(html)) == 1 and "<circle" in html
    assert "nan" not in html and "inf" not in html


def test_a_chart_of_nothing_but_missing_values_is_an_empty_chart():
    html = line_chart([Line("a", [1, 2], [math.nan] * 2)], x_label="x", y_label="y").html
    assert "<svg" in html and "nan" not in html


def test_on_a_logarithmic_axis_equal_factors_are_equal_distances():
    lines = [Line("a", [0, 1, 2, 3], [1, 0.1, 0.01, 0.0])]
    html = line_chart(lines, x_label="x", y_label="y", log=True).html
    (_, y1), (_, y2), (_, y3) = points(html)
    assert y2 - y1 == pytest.approx(y3 - y2, abs=0.2)
    assert {"1", "0.1", "0.01"} <= set(texts(html))


def test_a_mark_a_span_and_a_title_are_named():
    html = line_chart(
        [Line("a", [0, 10], [0, 1])],
        x_label="x",
        y_label="y",
        title="Which one?",
        mark=(8, "longest"),
        span=(0, 5, "trained on"),
    ).html
    assert {"Which one?", "longest", "trained on"} <= set(texts(html))
    assert places_of(html, "longest")[0] < places_of(html, "10")[0]
    assert 'text-anchor="end"' in re.search(r"<text[^>]*>longest", html)[0]


def test_a_spread_is_a_band_around_its_line():
    line = Line("a", [0, 1], [0.5, 0.5], low=[0.4, 0.3], high=[0.6, 0.7])
    band = re.search(
        r'<polygon class="b1" points="([^"]*)"', line_chart([line], x_label="x", y_label="y").html
    )
    assert len(band[1].split()) == 4


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_round_numbers_are_few_and_reach_around_or_stay_inside(low, reach):
    high = low + reach
    around, inside = round_numbers(low, high), round_numbers(low, high, inside=True)
    slack = 1e-6 * max(abs(low), abs(high), 1)
    assert 2 <= len(around) <= 8 and around[0] <= low + slack and around[-1] >= high - slack
    assert len(inside) <= 7
    assert all(low - slack <= number <= high + slack for number in inside)


def test_bars_are_as_tall_as_their_values_and_say_them():
    chart = bar_chart(["a", "b"], [1, 4], title="students", x_label="points", words="One and four.")
    heights = [float(h) for h in re.findall(r'<rect class="d1"[^>]*height="([\d.]+)"', chart.html)]
    assert heights[1] == pytest.approx(4 * heights[0], abs=0.3)
    assert {"students", "points", "a", "b", "1", "4"} <= set(texts(chart.html))
    assert 'aria-label="One and four."' in chart.html


def test_a_bar_of_the_highest_value_fills_the_chart_and_no_value_is_a_thin_line():
    half = bar_chart(["a"], [0.5], title="", words="w", highest=1.0).html
    whole = bar_chart(["a"], [1.0], title="", words="w", highest=1.0).html
    none = bar_chart(["a"], [0.0], title="", words="w").html
    height = r'<rect class="d1"[^>]*height="([\d.]+)"'
    assert float(re.search(height, whole)[1]) == 2 * float(re.search(height, half)[1])
    assert float(re.search(height, none)[1]) == 1


def test_rows_are_as_long_as_their_values():
    html = row_chart(["the", "cat"], [0.25, 0.5], title="looks at", words="w").html
    lengths = [float(w) for w in re.findall(r'<rect class="d1"[^>]*width="([\d.]+)"', html)]
    assert lengths[1] == 2 * lengths[0]


def test_a_heat_table_has_a_caption_headings_numbers_and_tints():
    html = heat_table("scores", [[1, -2], [0.5, float("-inf")]], ["q1", "q2"], ["k1", "<k2>"])
    assert "<caption>scores</caption>" in html and '<th scope="row">q1</th>' in html
    assert '<th scope="col">&lt;k2&gt;</th>' in html
    assert '<td class="p" style="--a:0.50">1</td>' in html
    assert '<td class="m" style="--a:1.00">−2</td>' in html and "<td>−∞</td>" in html


def test_a_heat_table_marks_the_one_largest_value_of_a_row_and_shows_what_is_missing():
    html = heat_table("c", [[0.2, 0.8], [0.5, 0.5], [math.nan, 1]], mark_largest=False)
    assert "best" not in html and "<td>–</td>" in html
    html = heat_table("c", [[0.2, 0.8], [0.5, 0.5]], mark_largest=True)
    assert html.count("best") == 1 and 'class="p best" style="--a:1.00">0.8<' in html


def test_texts_replace_what_a_heat_table_writes():
    html = heat_table("c", [[0.2]], texts=[["0.20 ± 0.1"]], highest=1.0)
    assert '<td class="p" style="--a:0.20">0.20 ± 0.1</td>' in html
