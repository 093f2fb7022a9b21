"""The check of the environment in notebook 00 compares releases as pip does."""

from importlib import metadata

import pytest

from course_utils import environment


@pytest.mark.parametrize(
    ("version", "fine"),
    [("2.2.0+cu121", True), ("2.10", True), ("2.1.9", False), ("2.2.0rc1", False), ("2.2", True)],
)
def test_releases_are_ordered_as_pip_orders_them(version, fine, monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: version)
    found, line = environment._package("numpy", "2.2")
    assert found == fine
    assert ("older than 2.2" in line) == (not fine)


def test_the_oldest_torch_has_grouped_queries():
    """Notebook 08 calls scaled_dot_product_attention(..., enable_gqa=True), new in 2.5."""
    assert not environment._is_older(environment.NEEDED["torch"], "2.5")
