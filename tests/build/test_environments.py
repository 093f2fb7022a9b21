"""pyproject.toml, constraints.txt and environment.yml describe one environment."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def name_of(requirement: str) -> str:
    return re.match(r"[A-Za-z0-9._-]+", requirement).group(0).lower().replace("_", "-")


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (line.partition(" ;")[0].split("==") for line in lines if "==" in line)
    return {name.lower().replace("_", "-"): version for name, version in pairs}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version))


def required() -> list[str]:
    extras = PROJECT["optional-dependencies"]
    listed = [PROJECT["dependencies"], *extras.values()]
    return [line for lines in listed for line in lines if name_of(line) != PROJECT["name"]]


def test_every_requirement_is_pinned_within_its_range():
    pinned = pins()
    for requirement in required():
        oldest = requirement.split(">=")[1]
        version = pinned[name_of(requirement)]
        assert numbers(version) >= numbers(oldest), requirement


def test_torch_is_pinned_to_the_tested_release():
    assert pins()["torch"] == "2.13.0"


def test_students_install_little_and_nothing_of_the_instructor():
    assert [name_of(r) for r in PROJECT["dependencies"]] == [
        "torch", "numpy", "matplotlib", "ipywidgets", "tqdm", "sacrebleu", "packaging",
    ]  # fmt: skip
    assert all(re.fullmatch(r"[a-z0-9]+>=[0-9.]+", r) for r in PROJECT["dependencies"])


def test_the_notebooks_environment_check_asks_for_the_same():
    from course_utils.environment import NEEDED

    wanted = dict(r.split(">=") for r in PROJECT["dependencies"])
    assert wanted == NEEDED


def test_conda_installs_what_a_student_needs_from_the_same_two_files():
    text = (ROOT / "environment.yml").read_text()
    assert "--constraint constraints.txt" in text
    assert "--editable .[lab]" in text
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert f"python>={oldest}" in text
