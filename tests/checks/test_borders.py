"""The borders between the rooms, as `pyproject.toml` draws them."""

from pathlib import Path

from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[2]


def test_no_room_imports_what_its_border_forbids(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    failed = lint_imports(config_filename="pyproject.toml", no_cache=True)
    assert not failed, capsys.readouterr().out
