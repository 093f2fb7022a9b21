"""Every text colour can be read: at least 4.5:1 on its background, light and dark."""

import pytest

from course_utils.figures.theme import DARK, LIGHT, SERIES, STYLE

PALETTES = {"light": LIGHT, "dark": DARK}


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def blend(colour: str, paper: str, share: float) -> str:
    """The colour that a cell has when its tint is only partly opaque."""
    mixed = (
        round(share * int(colour[i : i + 2], 16) + (1 - share) * int(paper[i : i + 2], 16))
        for i in (1, 3, 5)
    )
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def test_the_contrast_function_knows_its_two_fixed_points():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", PALETTES)
def test_text_can_be_read_on_paper_and_on_its_chip(theme):
    colours = PALETTES[theme]
    texts = ["ink", "quiet", *(f"series{i + 1}" for i in range(SERIES))]
    ratios = {name: contrast(colours[name], colours["paper"]) for name in texts}
    ratios |= {n: contrast(colours[n], colours[f"{n}_paper"]) for n in ("good", "bad", "note")}
    assert min(ratios.values()) >= 4.5, ratios


@pytest.mark.parametrize("theme", PALETTES)
@pytest.mark.parametrize("tint", ["plus", "minus"])
def test_numbers_can_be_read_on_every_strength_of_a_tint(theme, tint):
    colours = PALETTES[theme]
    for share in (0, 0.25, 0.5, 0.75, 1):
        cell = blend(colours[tint], colours["paper"], share)
        assert contrast(colours["ink"], cell) >= 4.5


@pytest.mark.parametrize("theme", PALETTES)
def test_words_can_be_read_in_every_box_of_a_diagram(theme):
    colours = PALETTES[theme]
    papers = [name for name in colours if name.startswith("box_")] + ["panel"]
    assert len(papers) == 8
    assert min(contrast(colours["ink"], colours[name]) for name in papers) >= 4.5
    assert min(contrast(colours["quiet"], colours[name]) for name in ("panel", "box_plain")) >= 4.5


@pytest.mark.parametrize("theme", PALETTES)
def test_lines_and_bars_stand_out_from_the_paper(theme):
    colours = PALETTES[theme]
    names = ["rule", *(f"series{i + 1}" for i in range(SERIES))]
    assert min(contrast(colours[name], colours["paper"]) for name in names) >= 3


def test_both_palettes_are_in_the_style_sheet_and_name_the_same_roles():
    assert set(LIGHT) == set(DARK)
    assert f"--cw-paper:{LIGHT['paper']}" in STYLE and f"--cw-paper:{DARK['paper']}" in STYLE
