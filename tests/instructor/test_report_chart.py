"""The chart of the class report: its bars, its words, its colours."""

import re

from autograder.instructor import report
from course_utils.figures.theme import RULES

BINS = [
    {"label": "0 to 1 points", "short": "1", "count": 2},
    {"label": "more than 1 to 2 points", "short": "2", "count": 0},
    {"label": "more than 2 to 3 points", "short": "<3", "count": 5},
]


def test_the_histogram_says_who_has_how_many_points():
    page = report.histogram(BINS)
    told = "Students by points: 2 with 0 to 1 points; 5 with more than 2 to 3 points."
    assert f'aria-label="{told}"' in page
    assert page.count("<rect") == 3 and ">5<" in page and "&lt;3" in page


def test_the_page_sets_every_colour_that_its_chart_uses():
    kinds = set(re.findall(r'class="(\w+)"', report.histogram(BINS))) - {"cw"}
    assert kinds == {"d1", "axis", "q"}
    rules = [rule for rule in RULES.split("}") if re.search(r"\.(cw|d1|axis|q|text)\{", rule + "}")]
    used = {name for rule in rules for name in re.findall(r"var\(--cw-(\w+)", rule)}
    used |= {"ink", "paper", "series1"}
    assert used <= set(re.findall(r"--cw-(\w+):", report.style()))
