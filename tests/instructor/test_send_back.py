"""Feedback goes back under the names that each learning system gave, and reaches everybody."""

import csv
import io
import re
import zipfile
from dataclasses import replace

import pytest

from autograder.grading import archive
from autograder.grading.record import Flag, SubmissionRecord
from autograder.instructor.course import Course
from autograder.instructor.feedback import _not_graded
from autograder.instructor.send_back import name_in_zip, pack
from autograder.intake import Student
from autograder.intake.files import Entry
from autograder.intake.roster import Directory
from autograder.intake.submission import Sender
from autograder.intake.whose import arrivals

NAME = "03_attention"


def sender_of(name, tmp_path):
    """The sender as intake finds it in the name of a class's file."""
    return arrivals([Entry(name, tmp_path)], tmp_path, [NAME], Directory([]))[0].sender


def as_canvas_reads(name):
    """The student and the attachment, by the rules that Canvas's source has; None if it is ignored."""
    parts = [part for part in name.split("_") if part != "LATE"]
    if parts[0] == "anon":
        who, attachment = parts[1:3]
    else:
        who, attachment = [part for part in parts if re.fullmatch(r"[0-9]+", part)][:2]
    return None if parts[-1].startswith("link") or name.startswith("._") else (who, attachment)


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("anderssonann_4711_90210_03_attention.ipynb", "4711"),
        ("anderssonann_LATE_4711_90210_03_attention-2.ipynb", "4711"),
        ("anderssonann_4711_90210_hw.zip", "4711"),
        ("anderssonann_4711_90210_my_links.ipynb", "4711"),
        ("doe_jrjane_4711_90210_03_attention.ipynb", "4711"),
        ("doe_jrjane_LATE_4711_90210_03_attention.ipynb", "4711"),
        ("20261234_4711_90210_03_attention.ipynb", "4711"),
        ("öberğÜmit_4711_90210_Übung 3.ipynb", "4711"),
        ("anon_x7Yz1_90210_03_attention.ipynb", "x7Yz1"),
        ("LATE_anon_x7Yz1_90210_03_attention.ipynb", "x7Yz1"),
    ],
)
def test_canvas_finds_student_and_attachment_in_the_name_of_the_page(name, who, tmp_path):
    back = name_in_zip(sender_of(name, tmp_path), NAME)
    assert back.endswith(f"_{NAME}_feedback.html") and "/" not in back
    assert as_canvas_reads(back) == (who, "90210")


@pytest.mark.parametrize("late", ["", "_LATE"])
@pytest.mark.parametrize("kind", ["text", "link"])
def test_what_was_typed_into_canvas_is_the_students_and_takes_no_zip(kind, late, tmp_path):
    sender = sender_of(f"anderssonann{late}_4711_{kind}.html", tmp_path)
    assert (sender.system, sender.user, sender.attachment) == ("canvas", "4711", "")
    assert name_in_zip(sender, NAME) == ""


@pytest.mark.parametrize(
    "folder",
    ["Ann Andersson_123_assignsubmission_file", "Ann Andersson_123_assignsubmission_file_",
     "Participant_123_assignsubmission_onlinetext", "Group_A-Ann_Andersson_123_assignsubmission_file"],
)  # fmt: skip
def test_moodle_finds_the_participant_in_the_name_of_the_folder(folder, tmp_path):
    back = name_in_zip(sender_of(f"{folder}/{NAME}.ipynb", tmp_path), NAME)
    # Moodle splits the folder at its first four underscores: name, number, kind and plug-in.
    who, number, kind, plugin, rest = back.split("/")[0].split("_", 4)
    assert who == folder.split("_123_")[0].replace("_", " ")
    assert (number, kind, plugin, rest) == ("123", "assignfeedback", "file", "")
    assert back.split("/")[1:] == [f"{NAME}_feedback.html"]


@pytest.mark.parametrize(
    "sender",
    [
        Sender(),
        Sender("github", "eanders", "", "attention-eanders"),
        Sender("gradescope", "s1", "", "submission_1"),
        Sender("canvas", "4711", "", "ann_4711_text.html"),
    ],
)
def test_other_ways_take_no_zip(sender):
    assert name_in_zip(sender, NAME) == ""


def record(student, sender=None, **more):
    return SubmissionRecord(
        "run", student, NAME, f"{student}.ipynb", sender=sender or Sender(), **more
    )


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path, "")


def pages(course, *students):
    found = {}
    for student in students:
        path = course.folder("feedback", student, NAME) / f"{NAME}.html"
        path.parent.mkdir(parents=True)
        path.write_text(f"page of {student}", encoding="utf-8")
        found[student] = path
    return found


def test_everybody_is_in_a_zip_or_on_the_list(course):
    records = {
        "ann": record("ann", Sender("canvas", "1", "21", "ann_1_210_a.ipynb")),
        "bob": record("bob", Sender("canvas", "2", "22", "bob_2_220_b.ipynb")),
        "cem": record("cem", Sender("moodle", "3", "", "Cem Öz_3_assignsubmission_file_")),
        "dot": record("dot", Sender("github", "dotty", "", "attention-dotty")),
    }
    people = {"dot": Student("dot", "=Dot", "Doe", "dot@uni.example")}
    sent = pack(course, NAME, pages(course, *records), records, people)
    assert [(one.system, one.pages) for one in sent.zips] == [("canvas", 2), ("moodle", 1)]
    with zipfile.ZipFile(sent.zips[0].path) as file:
        assert file.read(f"ann_1_21_{NAME}_feedback.html") == b"page of ann"
        assert len(file.namelist()) == 2
    with zipfile.ZipFile(sent.zips[1].path) as file:
        assert file.namelist() == [f"Cem Öz_3_assignfeedback_file_/{NAME}_feedback.html"]
    assert sent.unreached == 1
    rows = list(csv.DictReader(io.StringIO(sent.by_hand.read_text(encoding="utf-8-sig"))))
    assert [(row["student_id"], row["email"]) for row in rows] == [("dot", "dot@uni.example")]
    assert rows[0]["name"] == "'=Dot Doe" and rows[0]["page"].endswith(f"dot/{NAME}/{NAME}.html")


def test_the_same_pages_give_the_same_zip(course):
    records = {"ann": record("ann", Sender("canvas", "1", "21", "ann_1_210_a.ipynb"))}
    found = pages(course, "ann")
    first = pack(course, NAME, found, records, {}).zips[0].path.read_bytes()
    assert pack(course, NAME, found, records, {}).zips[0].path.read_bytes() == first


def test_a_page_for_unread_work_says_what_to_do_and_repeats_no_flag(course):
    flag = Flag("intake", "<b>ann</b> may not be from Bob Doe (bob) on the roster.")
    page = _not_graded(course, replace(record("ann", flags=(flag,)), source_name="z.zip/<i>a.pdf"))
    assert "Hand it in again" in page and "Download .ipynb" in page
    assert "Bob" not in page and "<i>a.pdf" not in page and "&lt;i&gt;a.pdf" in page


def test_a_page_for_work_that_we_failed_on_asks_nothing_of_the_student(course):
    page = _not_graded(course, record("ann", flags=(Flag("grader", "It could not be graded."),)))
    assert "You don't need to do anything" in page and "Hand it in again" not in page


@pytest.mark.box
def test_everybody_who_handed_in_gets_a_page(course, demonstration, autograder, tmp_path):
    import shutil

    root = shutil.copytree(demonstration[0], tmp_path / "demo")
    shutil.rmtree(root / "feedback")
    known = archive.records(root, NAME)
    (unread,) = [entry for entry in known if not entry.graded]
    moodle = Sender("moodle", "77", "", "Zoë Q_77_assignsubmission_file")
    archive.write_record(root, replace(unread, sender=moodle))
    said = autograder("feedback", NAME, "--course", root).output
    written = sorted(path.parts[-3] for path in (root / "feedback").glob("*/*/*.html"))
    assert written == sorted(entry.student for entry in known)
    page = (root / "feedback" / unread.student / NAME / f"{NAME}.html").read_text(encoding="utf-8")
    assert "Your work is not graded yet" in page
    assert f"For Moodle: {root / 'send_back' / NAME}_moodle.zip, 1 page." in said
    assert "Not reached by a zip: 13 students" in said and f"{NAME}_by_hand.csv" in said
    assert "1 page for work that could not be graded" in said
    alone = autograder("feedback", NAME, "--course", root, "--student", unread.student)
    assert alone.exit_code == 0, alone.output
    assert "Not reached by a zip: 13 students" in alone.output  # the list still has everybody
