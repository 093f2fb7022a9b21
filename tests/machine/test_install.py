"""Installing on a machine that nobody prepared: what goes wrong is a sentence with a remedy."""

import ast
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools import environment, install
from tools.environment import LAYERS, Trouble

ROOT = Path(__file__).parents[2]


def older_pythons() -> list[str]:
    """Pythons of this machine that are too old for the course."""
    names = ["python2", "python2.7", *(f"python3.{minor}" for minor in range(11))]
    on_path = [shutil.which(name) for name in names]
    by_pyenv = Path.home().glob(".pyenv/versions/*/bin/python")
    found = [str(p) for p in by_pyenv if re.match(r"2|3\.\d\.|3\.10", p.parts[-3])]
    return found + [path for path in on_path if path]


def test_every_python_can_read_the_file_that_refuses_it():
    tree = ast.parse((ROOT / "tools" / "install.py").read_text())
    modern = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Match, ast.AsyncFunctionDef)
    assert not [node for node in ast.walk(tree) if isinstance(node, modern)]
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.arg) and node.annotation]
    for python in older_pythons():
        done = subprocess.run(
            [python, ROOT / "tools" / "install.py"], capture_output=True, text=True
        )
        if "pyenv: " in done.stderr:
            continue  # a stand-in for a Python that is not chosen here
        assert done.returncode == 1
        assert done.stderr.startswith("The course needs Python 3.11 or newer")


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 9, 2), (3, 10, 12)])
def test_a_python_that_is_too_old_is_told_how_to_name_a_newer_one(version):
    said = install.refusal(version)
    assert f"this is Python {version[0]}.{version[1]}" in said
    assert "make lab PYTHON=python3.12" in said


def test_a_python_that_pytorch_does_not_know_yet_is_told_which_to_use():
    assert "make lab PYTHON=python3.13" in install.refusal((3, 15, 0))


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 12, 3), (3, 13, 5), (3, 14, 0)])
def test_every_promised_python_is_accepted(version):
    assert install.refusal(version) is None


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_without_venv_is_told_which_package_brings_it(tmp_path, monkeypatch, module):
    find = environment.importlib.util.find_spec
    monkeypatch.setattr(
        environment.importlib.util, "find_spec", lambda name: None if name == module else find(name)
    )
    with pytest.raises(Trouble, match=r"module \w+ is missing.*apt-get install python3-venv"):
        environment.make_environment(tmp_path / "venv", LAYERS["student"])


def test_too_little_space_is_said_before_anything_is_fetched(tmp_path, monkeypatch):
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda _: SimpleNamespace(free=300e6))
    with pytest.raises(Trouble, match=r"0\.3 GB are free there.*make lab VENV="):
        environment.make_environment(tmp_path / "new" / "venv", LAYERS["student"])
    assert list(tmp_path.iterdir()) == []


def print_and_fail(text: str) -> list[str]:
    return [sys.executable, "-c", f"import sys; print({text!r}); sys.exit(1)"]


def test_space_that_runs_out_on_the_way_is_a_sentence(tmp_path):
    said = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
    with pytest.raises(Trouble, match=r"too little disk space.*make lab VENV="):
        environment.run_quietly(print_and_fail(said), tmp_path / "install.log")


@pytest.mark.parametrize(
    "said",
    [
        "Temporary failure in name resolution",
        "NewConnectionError: Failed to establish a new connection: [Errno 111] Connection refused",
        "  cause: dns error\n  cause: failed to lookup address information",
    ],
)
def test_a_network_that_is_lost_on_the_way_is_a_sentence(tmp_path, said):
    with pytest.raises(Trouble, match=r"can't be reached.*run the same command again"):
        environment.run_quietly(print_and_fail(said), tmp_path / "install.log")


def test_without_network_the_command_ends_with_one_sentence(tmp_path):
    tools = {**os.environ, "PATH": "/usr/bin:/bin", "PIP_CONFIG_FILE": os.devnull}
    for name in [name for name in tools if name.startswith("PIP_") and name != "PIP_CONFIG_FILE"]:
        del tools[name]
    tools["PIP_INDEX_URL"] = "http://127.0.0.1:9/simple"  # nobody listens on this port
    done = subprocess.run(
        [sys.executable, "tools/install.py", str(tmp_path / "venv")],
        cwd=ROOT,
        env=tools,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("The package index can't be reached.")
    assert "-m pip download" in done.stderr and done.stderr.count("\n") == 1


def test_any_other_failure_shows_the_output_and_where_all_of_it_is(tmp_path, capsys):
    with pytest.raises(Trouble, match=r"see the lines above.*install\.log"):
        environment.run_quietly(print_and_fail("a strange thing"), tmp_path / "install.log")
    assert "a strange thing" in capsys.readouterr().out


def test_all_that_is_shown_of_a_good_run_are_large_downloads(tmp_path, capsys):
    lines = [
        "WARNING: Location 'file:///x' is ignored",
        "Requirement already satisfied: six",
        "  Downloading six-1.17.0-py2.py3-none-any.whl (11 kB)",
        "  Downloading torch-2.13.0-cp313-cp313-manylinux_2_28_x86_64.whl (527.3 MB)",
        "Downloading jupyterlab (16.5MiB)",
        "Installing collected packages: torch",
    ]
    command = [sys.executable, "-c", f"print({chr(10).join(lines)!r})"]
    environment.run_quietly(command, tmp_path / "install.log")
    assert capsys.readouterr().out == "  torch (527.3 MB)\n  jupyterlab (16.5 MiB)\n  unpacking\n"
    assert "already satisfied" in (tmp_path / "install.log").read_text()


def test_an_environment_that_was_left_half_made_is_made_again(tmp_path, monkeypatch):
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    assert not environment.works(environment.python_of(folder))
    made = []
    monkeypatch.setattr(venv, "create", lambda *a, **options: made.append(options))
    environment.make_environment(folder, LAYERS["student"])
    assert made[0]["clear"] and made[0]["with_pip"]


def fake_uv(folder: Path, script: str) -> Path:
    """An environment's Python with a uv beside it that does what the script says."""
    python = folder / "bin" / "python"
    python.parent.mkdir()
    python.with_name("uv").write_text(f"#!/bin/sh\n{script}\n")
    python.with_name("uv").chmod(0o755)
    return python


def test_uv_chooses_the_build_of_pytorch_and_the_command_says_so(tmp_path):
    python = fake_uv(tmp_path, "echo ' + torch==2.13.0+cpu'")
    command, torch = environment.choose_installer(python, ["--editable", ".[lab]"])
    assert command[:3] == [python.with_name("uv"), "pip", "install"]
    assert "--torch-backend=auto" in command and "--dry-run" not in command
    assert torch == "cpu"
    assert "GPU" not in environment.announcement(LAYERS["student"], torch)


def test_with_a_gpu_the_larger_download_is_announced(tmp_path):
    python = fake_uv(tmp_path, "echo ' + nvidia-cublas==13.1'; echo ' + torch==2.13.0+cu130'")
    _, torch = environment.choose_installer(python, [])
    assert torch == "cuda"
    larger = f"{environment.CUDA_DOWNLOAD_GB} GB more to download"
    assert larger in environment.announcement(LAYERS["student"], torch)


UNREACHABLE = "PyTorch's own package server can't be reached, so PyTorch comes from the index that pip uses.\n"


def offline_uv(folder: Path, elsewhere: str) -> Path:
    """A uv that can't reach PyTorch's own packages, and does as the script says without them."""
    own = "case \"$*\" in *--torch-backend=auto*) echo '  cause: dns error'; exit 2;; esac\n"
    return fake_uv(folder, own + elsewhere)


def test_where_pytorchs_own_packages_are_out_of_reach_uv_looks_where_pip_does(
    tmp_path, capsys, monkeypatch
):
    settings = [("find-links", "/a /b"), ("timeout", "180"), ("extra-index-url", "https://x.test")]
    monkeypatch.setattr(environment, "pip_settings", lambda _: settings)
    python = offline_uv(tmp_path, "echo ' + torch==2.13.0+cpu'")
    command, torch = environment.choose_installer(python, ["--editable", ".[lab]"])
    assert command[0] == python.with_name("uv") and "--torch-backend=auto" not in command
    places = command[command.index("--find-links") :]
    assert places == ["--find-links", "/a", "--find-links", "/b"] + [
        "--extra-index-url",
        "https://x.test",
    ]
    assert capsys.readouterr().out == UNREACHABLE
    assert torch == "cpu"


def test_a_build_for_gpus_without_a_choice_is_announced_as_such(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "pip_settings", lambda _: [])
    python = offline_uv(tmp_path, "echo ' + nvidia-cublas==13.1'; echo ' + torch==2.13.0'")
    _, torch = environment.choose_installer(python, [])
    said = environment.announcement(LAYERS["student"], torch)
    assert "The only build of PyTorch within reach is the one for GPUs" in said
    assert f"{environment.CUDA_DOWNLOAD_GB} GB more to download" in said
    assert "This machine has a GPU" not in said


def test_where_uv_reaches_nothing_pip_installs(tmp_path, capsys):
    python = Path(sys.executable)
    uv = fake_uv(tmp_path, "echo '  cause: dns error'; exit 2").with_name("uv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment, "find_uv", lambda _: uv)
        command, torch = environment.choose_installer(python, ["--editable", ".[lab]"])
    assert command[:4] == [python, "-m", "pip", "install"]
    assert capsys.readouterr().out == UNREACHABLE + (
        "uv doesn't work here (cause: dns error), so pip installs the packages.\n"
    )
    said = environment.announcement(LAYERS["student"], torch)
    if sys.platform == "linux":
        assert "may take PyTorch's build for GPUs" in said and "GB more to download" in said


def test_what_is_fetched_and_how_much_is_said_for_every_layer():
    for layer in LAYERS.values():
        said = environment.announcement(layer, "cpu")
        assert layer.contents in said
        assert f"{layer.download_mb} MB to download" in said and "GB on disk" in said


def test_a_layer_leaves_its_stamp_and_those_of_the_layers_in_it(tmp_path, monkeypatch):
    python = Path(sys.executable)
    monkeypatch.setattr(environment, "make_environment", lambda *_: python)
    monkeypatch.setattr(environment, "choose_installer", lambda *_: ([python, "-V"], "cpu"))
    environment.install(tmp_path, "instructor")
    stamps = {path.name for path in tmp_path.glob(".installed-*")}
    assert stamps == {".installed-student", ".installed-instructor"}


def make(tmp_path: Path, target: str) -> str:
    command = ["make", "--dry-run", target, f"VENV={tmp_path}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("target", "layer"), [("lab", "student"), ("demo", "instructor"), ("test", "dev")]
)
def test_each_target_installs_its_layer_once(tmp_path, target, layer):
    assert f"tools/install.py --layer {layer}" in make(tmp_path, target)
    (tmp_path / f".installed-{layer}").touch()
    assert "install.py" not in make(tmp_path, target)


def test_a_student_gets_no_package_of_the_grader():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert LAYERS["student"].extra == "lab"
    students = " ".join(project["dependencies"] + project["optional-dependencies"]["lab"])
    for package in ("nbgrader", "papermill", "distributed", "pytest", "playwright"):
        assert package not in students
