"""What tests need from Debian: each package is looked for, and what is missing is named."""

import pytest

from tools import system_packages


def test_a_package_that_is_missing_is_named_with_what_is_left_out(monkeypatch, capsys):
    def no_library(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(system_packages.ctypes, "CDLL", no_library)
    monkeypatch.setattr(system_packages.sys, "platform", "linux")
    monkeypatch.setattr(system_packages.shutil, "which", lambda name: None)
    assert list(system_packages.missing()) == ["chromium", "libatomic1", "bubblewrap"]
    system_packages.main()  # without apt-get
    said = capsys.readouterr().out
    assert "libatomic1 is missing: without it, the tests in a real browser are left out." in said
    assert "sudo apt-get install bubblewrap" in said


@pytest.mark.parametrize("uid", [0, 1000])
def test_only_root_installs_and_only_what_is_missing(monkeypatch, uid):
    ran = []
    monkeypatch.setattr(system_packages, "missing", lambda: {"libatomic1": "nothing"})
    monkeypatch.setattr(system_packages.shutil, "which", lambda name: name)
    monkeypatch.setattr(system_packages.os, "geteuid", lambda: uid)
    monkeypatch.setattr(system_packages.subprocess, "run", lambda line, **_: ran.append(line))
    system_packages.main()
    installed = [line[-1] for line in ran if "install" in line]
    assert installed == (["libatomic1"] if uid == 0 else [])
