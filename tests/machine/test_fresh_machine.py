"""The clean roots: they have the README's prerequisites, and this machine's way to packages."""

import os
from pathlib import Path
from types import SimpleNamespace

from tools import environment, fresh_machine
from tools.fresh_machine import Row

ROOT = Path(__file__).parents[2]


def test_the_roots_have_just_what_the_readme_asks_for():
    asked = f"`sudo apt-get install {' '.join(fresh_machine.PREREQUISITES)}`"
    assert asked in (ROOT / "README.md").read_text(encoding="utf-8")


def test_pips_settings_become_variables_and_their_folders_are_bound(tmp_path, monkeypatch):
    (tmp_path / "mirror" / "simple").mkdir(parents=True)
    (tmp_path / "wheels").mkdir()
    said = (
        f"global.extra-index-url='file://{tmp_path}/mirror/simple file://{tmp_path}/none/simple'\n"
        f":env:.find-links='{tmp_path}/wheels'\n:env:.default-timeout='180'\n"
    )
    monkeypatch.setattr(
        environment.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=said)
    )
    settings = fresh_machine.pip_settings()
    assert settings["PIP_DEFAULT_TIMEOUT"] == "180"
    assert settings["PIP_FIND_LINKS"] == f"{tmp_path}/wheels"
    assert fresh_machine.local_folders(settings.values()) == [
        f"{tmp_path}/mirror",
        f"{tmp_path}/wheels",
    ]


def test_wheels_from_this_machines_disk_count_as_downloads(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    for wheel in ("torch-2.13.0+cpu-cp311-cp311-manylinux.whl", "six-1.17.0-py3-none-any.whl"):
        (tmp_path / wheel).write_bytes(bytes(3_000_000))
    venv = tmp_path / "venv"
    (venv / "lib/python3.11/site-packages/torch-2.13.0+cpu.dist-info").mkdir(parents=True)
    assert fresh_machine.local_wheels(venv) == 3
    assert fresh_machine.local_wheels(tmp_path / "none") == 0


def test_an_ordinary_user_is_told_to_become_root(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    assert "sudo python3 tools/fresh_machine.py" in fresh_machine.refusal()


def test_the_table_has_a_row_for_each_case_and_names_what_failed():
    row = Row("trixie", "student", "lab", 151.4, 3.2, 340, 1200, 1300, "2.13.0+cpu", "no answer")
    text = fresh_machine.table([row])
    assert "| Debian 13 | student | make lab | 151 | 3 | 340 | 1200 | 1300 | 2.13.0+cpu |" in text
    assert text.endswith("| no answer |")
