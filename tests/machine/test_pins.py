"""constraints.txt holds for every Python and system that the README promises."""

import ast
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from autograder.box import walls
from tools import pin
from tools.environment import NO_NETWORK

ROOT = Path(__file__).parents[2]
UV = shutil.which("uv", path=Path(sys.executable).parent) or shutil.which("uv")


def lines() -> list[str]:
    return (ROOT / "constraints.txt").read_text().splitlines()


def resolve(version: str, system: str) -> list[str]:
    command = [UV, "pip", "compile", "--quiet", "--all-extras", "--no-header", "--no-annotate"]
    command += ["--constraint", "constraints.txt", "--only-binary", ":all:"]
    command += ["--python-version", version, "--python-platform", system, "pyproject.toml"]
    macos = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"}  # what PyTorch asks for
    done = subprocess.run(command, cwd=ROOT, env=macos, capture_output=True, text=True)
    if NO_NETWORK.search(done.stderr):
        pytest.skip("the package index can't be reached, so nothing can be resolved")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(UV is None, reason="needs uv, which `make test` installs")
@pytest.mark.parametrize(
    ("version", "system"),
    [
        pytest.param("3.11.0", "x86_64-unknown-linux-gnu", marks=pytest.mark.thorough),
        ("3.11.2", "x86_64-unknown-linux-gnu"),  # Debian 12
        ("3.12.3", "x86_64-unknown-linux-gnu"),  # Ubuntu 24.04
        ("3.13.5", "x86_64-unknown-linux-gnu"),  # Debian 13
        # the newest that PyTorch has packages for
        pytest.param("3.14.0", "x86_64-unknown-linux-gnu", marks=pytest.mark.thorough),
        pytest.param("3.13.5", "aarch64-apple-darwin", marks=pytest.mark.thorough),
        pytest.param("3.13.5", "x86_64-pc-windows-msvc", marks=pytest.mark.thorough),
    ],
)
def test_the_pins_resolve_to_built_packages_without_installing(version, system):
    pinned = {str(Requirement(line.partition(";")[0])) for line in lines()}
    resolved = {line for line in resolve(version, system) if "==" in line}
    assert {"torch==2.13.0", "jupyterlab", "nbgrader"} <= resolved | {
        line.partition("==")[0] for line in resolved
    }
    assert {r for r in resolved if not r.startswith(pin.CHOSEN_BY_TORCH)} <= pinned


def test_the_pins_name_no_index_no_hash_and_nothing_that_pytorchs_build_decides():
    for line in lines():
        assert re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; .+)?", line), line
        assert not line.startswith(pin.CHOSEN_BY_TORCH)
    assert pin.TORCH in lines()


@pytest.mark.parametrize(
    ("package", "extras"), [("course_utils", ["lab"]), ("autograder", ["lab", "instructor"])]
)
def test_everything_that_is_imported_is_declared(package, extras):
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = list(project["dependencies"])
    for extra in extras:
        declared += project["optional-dependencies"][extra]
    names = {canonicalize_name(Requirement(line).name) for line in declared}
    known = packages_distributions()
    # IPython comes with every notebook, google with Colab; the box has its own files side by side.
    optional = {"IPython", "google", *(name.removesuffix(".py") for name in walls.INNER_FILES)}
    for module in imported(ROOT / package) - optional - {"course_utils", "autograder"}:
        assert module in known, f"{package} imports {module}, which is not installed"
        owners = {canonicalize_name(owner) for owner in known[module]}
        assert owners & names, f"{package} imports {module}, which pyproject.toml does not declare"


def imported(folder: Path) -> set[str]:
    found = set()
    for path in folder.rglob("*.py"):
        if "mutants" in path.parts or "source" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names)


def test_nothing_is_pinned_that_slows_every_start():
    """rfc3987-syntax builds 38 grammars whenever nbformat is imported, for addresses that no
    notebook contains; without it jsonschema leaves their check out."""
    assert not [line for line in lines() if line.startswith("rfc3987-syntax")]
