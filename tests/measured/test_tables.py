"""Measured tables: what is written is read again, and nothing is measured twice."""

from dataclasses import dataclass

from course_utils.measured.tables import measure_missing, read_table, write_table


@dataclass(frozen=True)
class Run:
    name: str
    seed: int
    share: float


def test_a_table_names_its_command_and_comes_back_as_it_was(tmp_path):
    path, rows = tmp_path / "t.csv", [Run("a, b", 1, 0.5), Run("c", 2, 1.0)]
    write_table(path, rows, "python benchmarks/t.py")
    assert path.read_text().splitlines()[0] == "# python benchmarks/t.py"
    assert read_table(path, Run) == rows


def test_no_file_is_an_empty_table(tmp_path):
    assert read_table(tmp_path / "none.csv", Run) == []


def test_only_what_is_missing_is_measured(tmp_path):
    path, asked = tmp_path / "t.csv", []
    write_table(path, [Run("a", 0, 0.1)], "x")

    def measure(name: str, seed: int) -> Run:
        asked.append((name, seed))
        return Run(name, seed, 0.2)

    settings = [{"name": "a", "seed": seed} for seed in (0, 1)]
    measure_missing(path, Run, settings, measure, "x")
    assert asked == [("a", 1)]
    assert [run.seed for run in read_table(path, Run)] == [0, 1]
