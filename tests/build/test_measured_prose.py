"""Measured numbers in prose come from the register of claims; a typed one stops the build."""

from pathlib import Path

import pytest

from autograder import build
from autograder.measured_prose import fill, typed_by_hand
from course_utils.measured.claims import figure, load_claims

ROOT = Path(__file__).parents[2]
GOOD = (build.SOURCES / "00_start_here.py").read_text(encoding="utf-8")


@pytest.fixture
def built(tmp_path, monkeypatch):
    """Build notebook 00 with one more paragraph: the text of that cell."""
    monkeypatch.setattr(build, "SOURCES", tmp_path)

    def build_with(paragraph: str) -> str:
        text = GOOD.replace(
            "# %% [markdown]\n# ## 2", f"# %% [markdown]\n# {paragraph}\n\n# %% [markdown]\n# ## 2"
        )
        assert text != GOOD
        (tmp_path / "00_start_here.py").write_text(text, encoding="utf-8")
        cells = build.read_source(tmp_path / "00_start_here.py").cells
        return next(c.source for c in cells if c.source.startswith(paragraph[:6]))

    return build_with


def test_a_placeholder_becomes_the_figure_of_its_table(built):
    text = built("Right: {{claim:channel-line.fits}}, {{claim:channel-line.fits\n# low}}.")
    claim = load_claims()["channel-line"]
    assert text == f"Right: {claim.values()['fits']}, {claim.value('fits', 'low')}."
    assert "{" not in text


def test_a_number_that_nobody_measured_is_allowed_by_name(built):
    assert built("A coin: {{given:50%}}.") == "A coin: 50%."


@pytest.mark.parametrize(
    "prose",
    [
        "The model gets 36% of them.",
        "It reached 36.5 BLEU.",
        "In BLEU, 36.5 against 39.9.",
        "A BLEU of 36 is what we saw.",
        "Our runs reached 36.4 to 36.6 on Multi30k.",
        "Our runs took 11 to 12 minutes of CPU time.",
        "It takes 40 CPU minutes.",
        "That is 3.5 times as fast.",
        r"A share of $36\%$.",
    ],
)
def test_a_measured_number_typed_by_hand_stops_the_build(built, prose):
    with pytest.raises(build.BuildError, match=r"typed by hand.*\{\{claim:NAME"):
        built(prose)


def test_sizes_steps_shapes_and_formats_are_no_measured_numbers():
    prose = "After 1,000 steps with D = 32, `[B, 16]`, 0.5 and `{x:.0%}`, section 2.1, 3 times."
    assert typed_by_hand(prose) == []


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("no-such.fits", "no claim 'no-such'"),
        ("channel-line.no_such", "has no figure 'no_such'"),
        ("channel-line.fits middle", "'middle' is not a form"),
    ],
)
def test_a_placeholder_that_names_nothing_is_a_sentence(built, reference, message):
    with pytest.raises(build.BuildError, match=message):
        built(f"Right: {{{{claim:{reference}}}}}.")


def test_the_forms_of_a_figure_fit_together():
    mean, low, high = (figure(f"translation.scaled {form}") for form in ("mean", "low", "high"))
    assert float(low) < float(mean) < float(high)
    assert figure("translation.scaled") == f"{mean} ({low} to {high})"
    assert figure("translation.scaled range") == f"{low} to {high}"


def test_other_placeholders_are_left_to_the_build():
    assert fill("points") is None and fill("other:thing") is None


def test_no_measured_number_is_typed_into_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    figures = text[text.index("## Figures") : text.index("## Where things are")]
    assert "<!--claim:" in figures
    assert typed_by_hand(figures) == []
