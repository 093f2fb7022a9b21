"""`autograder stored` writes what changed, and leaves every other file alone."""

import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from autograder import stored
from autograder.cli import main
from course_utils import register
from course_utils.checks import judge


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of some of the stored arrays, which a test may change; the others are left out."""
    some = [entry for entry in register.ever() if (judge.STORED / f"{entry.id}.npz").exists()][:6]
    monkeypatch.setattr(register, "ever", lambda: some)
    copy = tmp_path / "stored"
    copy.mkdir()
    for entry in some:
        shutil.copy(judge.STORED / f"{entry.id}.npz", copy)
    monkeypatch.setattr(judge, "STORED", copy)
    return copy


def change_numbers(path, change):
    with np.load(path) as file:
        arrays = dict(file)
    name = next(name for name, array in arrays.items() if array.dtype == np.float64)
    arrays[name] = change(arrays[name])
    np.savez_compressed(path, **arrays)
    return path.read_bytes()


def test_only_what_differs_by_more_than_rounding_is_written(folder):
    rounded, wrong, gone, *others = sorted(folder.glob("*.npz"))
    before = {path: path.read_bytes() for path in others}
    before[rounded] = change_numbers(rounded, lambda array: array + 3e-14)
    spoilt = change_numbers(wrong, lambda array: array + 1e-6)
    gone.unlink()
    said = CliRunner().invoke(main, ["stored"])
    assert said.exit_code == 0, said.output
    assert set(said.output.strip().removeprefix("Wrote ").removesuffix(".").split(", ")) == {
        wrong.stem,
        gone.stem,
    }
    assert all(path.read_bytes() == content for path, content in before.items())
    assert wrong.read_bytes() != spoilt
    assert stored.holds(gone, stored.stored_arrays(gone.stem))
    assert "Every stored array is up to date." in CliRunner().invoke(main, ["stored"]).output
