"""Attacks on what stands around the box: pictures, tables, zips, rosters, pages, saved files."""

import base64
import csv
import io
import json
import os
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.box import why_unavailable
from autograder.cli import main
from autograder.course_files import CourseError
from autograder.grading import archive
from autograder.grading.record import ExerciseRecord, FindingRecord, Flag, SubmissionRecord
from autograder.instructor import send_back
from autograder.instructor.course import Course
from autograder.instructor.similar import pieces, similar_work
from autograder.intake import find_files
from autograder.intake.roster import Directory, RosterError, read_roster, read_settled
from autograder.intake.saved import is_picture, pixels
from autograder.intake.submission import Sender
from autograder.intake.text import FORMULA, made_id
from autograder.nbgrader_parts.times import timetable
from autograder.platforms import gradescope
from autograder.whole_class.people import WHO_IS_WHO, Match, write_who_is_who
from course_utils import saved_work
from course_utils.checks import may_use
from tests.grading.handing_in import ASSIGNMENT, EXERCISE, WRITTEN

SCRIPT = "<script>alert(1)</script>"


# ---- pictures that unpack to more than a browser has


def png(width, height):
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunk = struct.pack(">I", len(head)) + b"IHDR" + head
    return b"\x89PNG\r\n\x1a\n" + chunk + struct.pack(">I", zlib.crc32(b"IHDR" + head))


def gif(width, height):
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(3)


def jpeg(width, height):
    app = b"\xff\xe0\x00\x10" + bytes(14)
    return (
        b"\xff\xd8" + app + b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + bytes(9)
    )


def webp(width, height):
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00" + bytes(4) + size


KINDS = {"image/png": png, "image/gif": gif, "image/jpeg": jpeg, "image/webp": webp}


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_of_billions_of_pixels_is_not_shown(kind):
    make = KINDS[kind]
    assert pixels(make(640, 480)) == (640, 480)
    assert is_picture(base64.b64encode(make(640, 480)).decode(), kind)
    assert not is_picture(base64.b64encode(make(60_000, 60_000)).decode(), kind)
    assert not is_picture(base64.b64encode(make(640, 480)[:3]).decode(), kind)


def test_a_jpeg_that_hides_its_size_is_not_shown():
    for content in (jpeg(640, 0), jpeg(640, 480)[:12], b"\xff\xd8\xff" + bytes(99)):
        assert not is_picture(base64.b64encode(content).decode(), "image/jpeg")
    padded = jpeg(640, 480)[:20] + b"\xff" * 7 + jpeg(640, 480)[20:]
    assert pixels(padded) == (640, 480)


# ---- tables that a spreadsheet would run


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "@SUM(1)", "-2+3", "'=1", "a;=1+1", "＝1"])
def test_no_id_that_we_make_begins_as_a_formula(name):
    found = made_id(name)
    assert found and not found.startswith(("'", *(f for f in FORMULA if f != "＝")))
    assert ";=" not in found


def test_the_list_of_doubtful_senders_holds_no_formula_and_is_still_understood(tmp_path):
    name = '=HYPERLINK("http://x";"y")'
    assert write_who_is_who(tmp_path, [Match(name, "", "someone", "", "")]) == [name]
    assert write_who_is_who(tmp_path, [Match(name, "", "someone", "", "")]) == []
    path = tmp_path / WHO_IS_WHO
    rows = list(csv.reader(io.StringIO(path.read_text())))
    assert not any(cell.startswith(FORMULA) for row in rows for cell in row)
    place = rows[0].index("student")
    rows[1][place] = "ann"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    assert Directory([], read_settled(path)).settled(name, "").id == "ann"


# ---- zips that we write for others to unpack


@pytest.mark.parametrize("name", ["..\\..\\evil", "../../evil", "C:\\evil", "..", "a|b<c>", "‮"])
@pytest.mark.parametrize("system", ["moodle", "canvas"])
def test_a_students_name_leads_nowhere_in_a_zip_that_we_write(name, system):
    sender = Sender(system, "77", "88", f"{name}_77_assignsubmission_file_")
    if system == "canvas":
        sender = replace(sender, name=f"{name}_77_88_hw.ipynb")
    inside = send_back.name_in_zip(sender, ASSIGNMENT)
    assert inside.count("/") == (system == "moodle") and "_77_" in inside
    assert not any(mark in inside for mark in '\\:*?"<>|') and not inside.startswith((".", "_"))


# ---- tables that an instructor gives us, damaged or odd


@pytest.mark.parametrize(
    "content",
    [b"\0\0\0", b"\n\n\n", b"id\n" + b"x" * 200_000, b'id\n"' + b"y" * 200_000, b"\xff\xfe\x00"]
    + [b"id\n..\n", b"id\n../x\n", b"id,name\n<b>,\n,,\n", b"name\nann\n"],
)
def test_a_roster_that_can_not_be_used_is_a_sentence(tmp_path, content):
    path = tmp_path / "roster.csv"
    path.write_bytes(content)
    try:
        people = read_roster(path)
    except RosterError as problem:
        assert "oster" in str(problem) and len(str(problem)) < 2000
    else:
        assert all(person.id and "/" not in person.id for person in people)


@pytest.mark.parametrize(
    "content",
    [
        b"student,assignment,due_at\nann," + b"x" * 200_000 + b",\n",
        b"student,due_at\nann,999999999-01-01 00:00\n",
        b"student,due_at\nann,0001-01-01 00:00+14:00\n",
        b"student,section\nann,A\n",
        b"student,excused\nann," + SCRIPT.encode() + b"\n",
        b'student,due_at\nann,"2027-03-05 18:00\n',
    ],
)
def test_a_table_of_times_that_can_not_be_used_is_a_sentence(tmp_path, content):
    (tmp_path / "times.csv").write_bytes(content)
    with pytest.raises(CourseError, match=r"times\.csv"):
        timetable(tmp_path)


# ---- the report, on what nbgrader's own command stored as it came


def test_a_stored_file_with_odd_marks_does_not_stop_the_report(tmp_path):
    cells = [
        {"cell_type": "code", "source": "x = 1", "metadata": {"nbgrader": "not marks"}},
        {"cell_type": "code", "source": 3, "metadata": {"nbgrader": {"solution": True}}},
        {"cell_type": "code", "metadata": None},
        "no cell",
    ]
    records = []
    contents = ({"cells": cells}, [1, 2], {"cells": 7})
    for student, content in zip(("eve", "mal", "zed"), contents, strict=True):
        folder = tmp_path / "submitted" / student / ASSIGNMENT
        folder.mkdir(parents=True)
        (folder / f"{ASSIGNMENT}.ipynb").write_text(json.dumps(content))
        records.append(SubmissionRecord("r", student, ASSIGNMENT, "x", status="graded"))
    assert similar_work(Course(tmp_path, ""), records).groups == ()


@pytest.mark.parametrize(
    "source",
    ["(" * 9_000 + ")" * 9_000, "-" * 19_000 + "1", "+".join("a" * 9_000), "x = 0x" + "f" * 19_000]
    + ["lambda: " * 2_400 + "1", "[" * 150 + "]" * 150, "f" + "(1)" * 6_000, "a" + ".b" * 9_000],
)
def test_no_code_is_too_odd_for_comparing_or_for_reading_what_it_uses(source):
    assert isinstance(pieces(source), frozenset)
    assert may_use.refusal(EXERCISE, [source]) == ""
    assert isinstance(may_use.is_hidden(source), str)
    assert may_use.own_cells(["x"], ["", source]) in ([], [source])


# ---- results for Gradescope


def test_results_for_gradescope_show_everything_of_a_student_as_text():
    finding = FindingRecord(SCRIPT, False, 0.0, 8.0, f"{SCRIPT}\x1b[2J", SCRIPT)
    exercise = ExerciseRecord(
        EXERCISE, 0.0, 8.0, False, (finding,), None, SCRIPT, SCRIPT, "crashed", SCRIPT, (1,)
    )
    record = SubmissionRecord(
        "r", "the-student", ASSIGNMENT, f"{SCRIPT}.ipynb", status="graded", repairs=(SCRIPT,),
        flags=(Flag("box", "for instructors", EXERCISE),), exercises=(exercise,),
    )  # fmt: skip
    found = gradescope.results(record, gradescope.Settings(ASSIGNMENT))
    json.loads(json.dumps(found))
    shown = [found, *found["tests"]]
    assert all(part["output_format"] == "text" for part in shown)
    seen = [test for test in found["tests"] if test["visibility"] != "hidden"]
    assert "for instructors" not in json.dumps([found["output"], *seen])
    assert sum(test.get("score", 0) for test in found["tests"]) == 0


# ---- a student's own view of saved notebooks


def test_no_saved_file_stops_the_view_over_all_notebooks(tmp_path, capsys):
    (tmp_path / f"Copy of {ASSIGNMENT}.ipynb").symlink_to(tmp_path / "gone")
    (tmp_path / f"{ASSIGNMENT} (1).ipynb").write_text('{"cells": ' + "[" * 100_000)
    (tmp_path / f"{ASSIGNMENT} (2).ipynb").mkdir()
    check = {"cell_type": "code", "metadata": {"nbgrader": {"grade_id": f"{EXERCISE}-check"}}}
    for number, text in enumerate(["(1.2.3 of 8 points)", "(… of 8 points)", None, 3, ["x", 4]]):
        cell = {**check, "outputs": [{"text": text}], "execution_count": "many"}
        answer = {"metadata": {"nbgrader": {"grade_id": EXERCISE}}, "execution_count": 3}
        content = {"cells": [answer, cell, {"metadata": {"nbgrader": {"grade_id": WRITTEN}}}]}
        (tmp_path / f"{number}{ASSIGNMENT}.ipynb").write_text(json.dumps(content))
    saved_work.progress(tmp_path)
    said = capsys.readouterr().out
    assert said.startswith(("Your course", "No notebook"))


# ---- names that look like another's


@pytest.mark.parametrize(
    "twin", ["ann\u200b", "ann\u00ad", "ann\u2060", "\ufeffann", "ann\x7f", "ANN"]
)
def test_a_name_that_looks_like_anothers_is_never_taken_for_it_in_silence(twin, tmp_path):
    top = tmp_path / "in"
    for name, content in (("ann", "{}"), (twin, '{"a": 1}')):
        (top / name).mkdir(parents=True)
        (top / name / f"{ASSIGNMENT}.ipynb").write_text(content)
    found = {one.student: one for one in find_files(top, [ASSIGNMENT], tmp_path)}
    ann = found.pop("ann")
    if found:  # somebody else, with a file of their own
        assert len(ann.arrivals) == 1 and all(archive.folder_name(name) for name in found)
    else:  # one student then: both files are read, and a person sees both names
        assert {a.entry.parts[0] for a in ann.arrivals} >= {"ann"} and len(ann.arrivals) == 2


def test_two_long_names_that_begin_alike_are_two_students(tmp_path):
    names = ["學" * 60 + end for end in ("甲", "乙")]
    for name in names:
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / f"{ASSIGNMENT}.ipynb").write_text("{}")
    found = find_files(tmp_path / "in", [ASSIGNMENT], tmp_path)
    assert len({one.student for one in found}) == 2
    assert len({archive.record_path(Path("c"), ASSIGNMENT, one.student) for one in found}) == 2


def test_files_that_are_no_files_are_not_opened(tmp_path):
    folder = tmp_path / "in" / "eve"
    folder.mkdir(parents=True)
    os.mkfifo(folder / f"{ASSIGNMENT}.ipynb")  # opening it would wait for ever
    (folder / "zero.ipynb").symlink_to("/dev/zero")
    (folder / "hw.zip").symlink_to("/dev/zero")
    (one,) = find_files(tmp_path / "in", [ASSIGNMENT], tmp_path)
    said = " ".join(arrival.entry.problem for arrival in one.read().arrivals)
    assert "not an ordinary file" in said and said.count("symbolic link") == 2


# ---- the command that checks single files


@pytest.mark.box
@pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")
def test_checking_a_file_prints_a_verdict_and_no_traceback_whatever_it_does(tmp_path):
    start = "import torch\nfrom torch import nn\nclass DotProdAttention(nn.Module):\n"
    start += "    def __init__(self, n): super().__init__()\n    def forward(self, q, s): "
    answers = {
        "surrogate": start + "raise ValueError('\\ud800 \\x1b]0;owned\\x07\\x1b[2J')",
        "huge_and_empty": start
        + "return torch.empty(1 << 31, 1 << 31, 0), torch.empty(0, 1 << 40)",
    }
    files = []
    for name, source in answers.items():
        files.append(tmp_path / f"{name}.py")
        files[-1].write_text(source)
    for more in ([], ["--json"]):
        said = CliRunner().invoke(main, ["check", EXERCISE, *map(str, files), *more])
        assert said.exception is None or isinstance(said.exception, SystemExit), said.exception
        assert "Traceback" not in said.output and "\x1b" not in said.output
        assert said.output.strip()
