"""Sixty-four hostile or unlucky submissions beside honest ones: graded or flagged, never paid."""

import io
import json
import zipfile

import pytest

from autograder.box import Limits, why_unavailable
from autograder.instructor.course import open_course
from autograder.instructor.feedback import write_feedback
from autograder.whole_class.grade_class import Options, grade_class
from tests.grading.handing_in import (
    ASSIGNMENT,
    EXERCISE,
    NOTHING,
    RIGHT,
    cell_of,
    hand_in,
    submission,
)

pytestmark = [pytest.mark.box, pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")]
LIMITS = Limits(wall_seconds=8, cpu_seconds=4, together_seconds=12)
CHECK = f"{EXERCISE}-check"

# --- code that runs in the box ---

ANSWERS = {
    "exits": "import os; os._exit(0)",
    "exits_by_exception": "raise SystemExit(0)",
    "kills_itself": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "segfaults": "import ctypes; ctypes.string_at(0)",
    "prints_points": "print(8.0); 8.0",
    "displays_points": "get_ipython().displayhook(8.0)",
    "reads_passwords": "print(open('/etc/passwd').read())",
    "looks_for_the_judge": "import autograder.oracles",
    "imports_the_check": "from course_utils.checks.exercises import dot_prod_attention",
    "imports_ready_made": "class DotProdAttention(nn.MultiheadAttention): pass",
    "patches_torch": "torch.allclose = torch.equal = lambda *a, **k: True",
    "patches_the_wire": "import course_utils.checks.wire as w\nw.pack_response = lambda r: b''",
    "patches_probes": "from course_utils.checks import probes\nprobes.answer = lambda *a: b'x'",
    "writes_a_frame": "import os\nos.write(201, b'ATTN\\x01' + b'\\xff' * 100)",
    "closes_everything": "import os\nos.closerange(0, 4096)",
    "connects_out": "import socket\nsocket.create_connection(('1.1.1.1', 80), 2)",
    "forks": "import os\nfor _ in range(200):\n    try: os.fork()\n    except OSError: break",
    "fills_the_disk": "open('/tmp/x', 'wb').write(bytes(1 << 28))",
    "fills_memory": "kept = []\nwhile True: kept.append(bytearray(1 << 27))",
    "recurses": "def f(): return f()\nimport sys\nsys.setrecursionlimit(10**9)\nf()",
    "bad_syntax": "class DotProdAttention(nn.Module:",
    "nul_in_code": "x = 1\x00",
    "surrogate_in_error": "raise ValueError('\\ud800 \\x1b[31m')",
    "terminal_escapes": "print('\\x1b]0;owned\\x07\\x1b[2J')",
    "always_raises": "class DotProdAttention(nn.Module):\n    def __init__(self, n): raise ValueError",
    "huge_result": (
        "class DotProdAttention(nn.Module):\n    def __init__(self, n): super().__init__()\n"
        "    def forward(self, q, s): return torch.zeros(1, 1).expand(1 << 20, 1 << 20), s"
    ),
    "constant": (
        "class DotProdAttention(nn.Module):\n    def __init__(self, n): super().__init__()\n"
        "    def forward(self, q, s): return q * 0, torch.ones(q.shape[0], q.shape[1], s.shape[1])"
    ),
    "nan": (
        "class DotProdAttention(nn.Module):\n    def __init__(self, n): super().__init__()\n"
        "    def forward(self, q, s): return q / 0, (q @ s.transpose(1, 2)) / 0"
    ),
    "sleeps": "import time\ntime.sleep(1000)",
    "magic": "%run /etc/passwd\n!cat /proc/self/environ",
}


# --- files ---


def notebook(change):
    found = submission(NOTHING)
    change(found)
    return json.dumps(found).encode()


def points_in_metadata(found):
    cell_of(found, CHECK).metadata.nbgrader["points"] = 10**300


def surrogate_id(found):
    cell_of(found, EXERCISE).metadata.nbgrader["grade_id"] = "\ud800"


def list_for_a_cell(found):
    found["cells"].append(["not", "a", "cell"])


def thousand_cells(found):
    found["cells"] += [found["cells"][0]] * 1000


def checks_only(found):
    found["cells"] = [cell_of(found, CHECK)] * 50


def long_written(found):
    cell_of(found, "reversal-map").source = "](" + " " * 200_000


def script_written(found):
    cell_of(found, "reversal-map").source = "<script>alert(1)</script>]:[x](javascript:alert(1))"


def formulas(found):
    cell_of(found, "reversal-map").source = "$\\frac{1}{x}$ " * 3000


def attachments(found):
    cell = cell_of(found, "reversal-map")
    cell["attachments"] = {f"{n}.png": {"image/png": "!!not base64"} for n in range(300)}
    cell.source = "![](attachment:0.png)" * 1000


def saved_script(found):
    data = {"text/html": "<script>alert(1)</script>", "image/svg+xml": "<svg onload=alert(1)>"}
    cell = next(c for c in found.cells if c.cell_type == "code")
    cell.outputs = [{"output_type": "display_data", "metadata": {}, "data": data}]


CHANGES = (
    *(points_in_metadata, surrogate_id, list_for_a_cell, thousand_cells, checks_only),
    *(long_written, script_written, formulas, attachments, saved_script),
)


def zipped(contents):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return stream.getvalue()


NAME = f"{ASSIGNMENT}.ipynb"
EMPTY = json.dumps(submission(NOTHING)).encode()
FILES = {
    **{change.__name__: (NAME, notebook(change)) for change in CHANGES},
    "empty": (NAME, b""),
    "nul_bytes": (NAME, bytes(1000)),
    "not_utf8": (NAME, b"\xff\xfe" + EMPTY),
    "half": (NAME, EMPTY[: len(EMPTY) // 2]),
    "a_number": (NAME, b"8.0"),
    "a_list": (NAME, b"[[[]]]"),
    "deep": (NAME, b'{"cells":' + b"[" * 50_000),
    "wide": (NAME, b'{"cells": [' + b"[]," * 400_000 + b"0]}"),
    "digits": (NAME, b'{"nbformat": ' + b"9" * 100_000 + b"}"),
    "html_error_page": (NAME, b"<!doctype html><title>Sign in</title>"),
    "a_pdf": ("03_attention.pdf", b"%PDF-1.7"),
    "a_script": ("03_attention.py", RIGHT.encode()),
    "long_name": ("學" * 70 + ".ipynb", EMPTY),
    "bad_zip": ("hw.zip", b"PK\x03\x04 and no more"),
    "zip_of_nothing": ("hw.zip", zipped({})),
    "zip_upwards": ("hw.zip", zipped({f"../../honest1/{NAME}": EMPTY})),
    "zip_of_another": ("hw.zip", zipped({f"honest1/{NAME}": EMPTY})),
    "zip_bomb": ("hw.zip", zipped({NAME: bytes(100 << 20)})),
    "zip_in_zip": ("hw.zip", zipped({"a.zip": zipped({"b.zip": zipped({NAME: EMPTY})})})),
    "many_entries": ("hw.zip", zipped({f"{n}.ipynb": b"{}" for n in range(2100)})),
    "metadata_bomb": ("submission_metadata.yml", b"a: &a [x]\n" + b"b: [*a,*a]\n" * 200),
    "edge_of_time": ("timestamp.txt", b"9999-12-31 23:59:59.999999"),
    "says_it_is_another": ("submission_metadata.yml", b":submitters:\n- :sid: honest1\n"),
    "named_like_canvas": ("honest1_7_456_03_attention.ipynb", EMPTY),
}


def class_of(tmp_path_factory, write):
    folder, course = tmp_path_factory.mktemp("in"), tmp_path_factory.mktemp("course")
    for name in ("honest1", "honest2", "小明"):
        hand_in(folder, name, submission(RIGHT))
    write(folder)
    run, records = grade_class(Options(ASSIGNMENT, (folder,), course, jobs=2, limits=LIMITS))
    pages = write_feedback(open_course(course), ASSIGNMENT)
    return run, {record.student: record for record in records}, pages


@pytest.fixture(scope="module")
def hostile_code(tmp_path_factory):
    def write(folder):
        for name, source in ANSWERS.items():
            hand_in(folder, name, submission(source))

    return class_of(tmp_path_factory, write)


@pytest.fixture(scope="module")
def hostile_files(tmp_path_factory):
    def write(folder):
        for name, (file, content) in FILES.items():
            (folder / name).mkdir()
            (folder / name / file).write_bytes(content)

    return class_of(tmp_path_factory, write)


def test_there_are_at_least_sixty():
    assert len(ANSWERS) + len(FILES) >= 60


@pytest.mark.parametrize(("kind", "names"), [("hostile_code", ANSWERS), ("hostile_files", FILES)])
def test_everybody_is_graded_or_flagged_and_only_the_honest_are_paid(kind, names, request):
    run, records, pages = request.getfixturevalue(kind)
    assert set(names) <= set(records) and run.graded + run.flagged == run.submissions
    paid = {name for name, record in records.items() if record.points > 0}
    assert paid == {"honest1", "honest2", "小明"}
    assert {records[name].points for name in paid} == {8}
    assert all(record.graded or record.flags for record in records.values())
    assert len(pages) >= 3
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "<script>alert" not in text and 'href="javascript' not in text
        assert "onload=alert" not in text.replace("&lt;svg onload=alert", "")


def test_nothing_of_the_honest_changes_beside_them(hostile_files):
    _, records, _ = hostile_files
    for name in ("honest1", "honest2", "小明"):
        assert records[name].graded and not records[name].flags
