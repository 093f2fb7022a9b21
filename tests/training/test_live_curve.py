"""The pictures of a training run, without training."""

import math
import re

import pytest

from course_utils.training.history import History
from course_utils.training.live_curve import LiveCurve, history_picture, loss_chart


def records(count: int, **more) -> list[dict]:
    return [
        {"epoch": n, "train_loss": 3 / n, "val_loss": 4 / n, "seconds": 1.0, **more}
        for n in range(1, count + 1)
    ]


def test_the_last_losses_are_beside_their_curves_and_in_the_words():
    chart = loss_chart(records(4), epochs=10)
    assert ">training 0.75<" in chart.html and ">validation 1<" in chart.html
    assert chart.words == "Loss after epoch 4 of 10: training loss 0.75; validation loss 1"
    assert [f">{tick}<" in chart.html for tick in (1, 5, 10)] == [True] * 3
    # The curve ends where the run is, not at the right edge.
    last = re.search(r'<polyline class="s1"[^>]*points="([^"]*)"', chart.html)[1].split()[-1]
    assert float(last.split(",")[0]) < 200


def test_before_the_first_epoch_there_is_a_bar_and_no_chart():
    picture = LiveCurve(5, show=False)._picture([], 0, "batch 1")
    assert "0/5" in picture.html and "<svg" not in picture.html
    assert picture.words.endswith("batch 1")


def test_a_run_without_validation_has_one_curve():
    alone = [{"epoch": n, "train_loss": 1.0} for n in (1, 2)]
    assert loss_chart(alone, 2).html.count("<polyline") == 1


def test_a_loss_that_is_not_a_number_breaks_nothing():
    broken = [*records(2), {"epoch": 3, "train_loss": math.nan, "val_loss": math.inf}]
    html = loss_chart(broken, 3).html
    assert "training nan" in html and re.search(r'points="[^"]*(nan|inf)', html) is None


def test_a_history_shows_what_else_was_measured_beside_the_losses():
    picture = history_picture(records(3, val_bleu=30.0))
    assert picture.html.count("<svg") == 2 and ">bleu<" in picture.html
    assert "bleu: from 30 to 30" in picture.words and "training loss 1" in picture.words
    assert history_picture(records(3)).html.count("<svg") == 1


def test_a_history_plots_itself_and_says_so_where_there_is_nothing_to_plot():
    assert History(records=records(2)).plot() == history_picture(records(2))
    with pytest.raises(ValueError, match="Train first"):
        History().plot()
