"""The box and the readers as an ordinary user has them: the attacks on the walls, once more."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from autograder.box import why_unavailable
from autograder.paths import ROOT
from tests.attacks.hostile import BREAKS_OUT, LOOKS_AROUND
from tests.box.test_box import opened_in_a_sandbox

pytestmark = [
    pytest.mark.box,
    pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces"),
    pytest.mark.skipif(os.getuid() != 0, reason="an ordinary user runs the whole suite as such"),
]
SOMEBODY = 12345
SCRIPT = """
import io, json, os, sys, zipfile
from autograder.box import Box, Limits
from autograder.grading.reading import Readers
from autograder.intake.files import Allowance
from tests.attacks.hostile import BREAKS_OUT, LOOKS_AROUND
from tests.attacks.one_exercise import grade_answer
from tests.grading.handing_in import RIGHT

secret = sys.argv[1]
os.environ["GRADEBOOK_PASSWORD"] = open(secret).read()
found = {"user": os.getuid(), "attacks": {}}
with Box(1, Limits(wall_seconds=6, cpu_seconds=3)) as box:
    for name, attack in {**LOOKS_AROUND, **BREAKS_OUT}.items():
        grades = grade_answer(attack.replace("{secret!r}", repr(secret)), box)
        found["attacks"][name] = [grades.points, grades.printed]
    found["honest"] = grade_answer(RIGHT, box).points
stream = io.BytesIO()
with zipfile.ZipFile(stream, "w") as archive:
    archive.writestr("a.ipynb", "{}")
with Readers() as readers:
    found["unzipped"] = [e.name for e in readers.unzip(stream.getvalue(), "x.zip", 1, Allowance())]
print("RESULT" + json.dumps(found))
"""


@pytest.fixture
def place():
    """A folder that all may enter; pytest closes its own to others whenever a session begins."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.thorough
def test_the_walls_hold_for_an_ordinary_user(place):
    home, secret = place / "home", place / "gradebook.db"
    home.mkdir()
    os.chown(home, SOMEBODY, SOMEBODY)
    secret.write_text("a-word-that-nobody-may-read")
    secret.chmod(0o644)
    opened = opened_in_a_sandbox(Path(sys.base_prefix), Path(sys.prefix), ROOT)
    line = [
        *("bwrap", "--dev-bind", "/", "/", *opened, "--cap-add", "ALL"),
        *("setpriv", "--reuid", str(SOMEBODY), "--regid", str(SOMEBODY), "--clear-groups"),
        *("env", f"HOME={home}", f"TMPDIR={home}", f"PYTHONPATH={ROOT}"),
        *(sys.executable, "-c", SCRIPT, str(secret)),
    ]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert "RESULT" in done.stdout, done.stderr[-2000:]
    found = json.loads(done.stdout.partition("RESULT")[2])
    assert found["user"] == SOMEBODY
    assert found["honest"] == 8 and found["unzipped"] == ["x.zip/a.ipynb"]
    assert found["attacks"].keys() == {*LOOKS_AROUND, *BREAKS_OUT}
    for name, (points, printed) in found["attacks"].items():
        assert points == 0, name
        assert "a-word-that-nobody-may-read" not in printed, name
        assert "FOUND" not in [line.lstrip("['\" ")[:5] for line in printed.splitlines()], name
