"""Folders, notebooks and zip files, as learning systems and students really give them."""

import io
import json
import stat
import zipfile
from datetime import UTC, datetime

import pytest

from autograder.intake import RosterError, collect, files, find_files, read_roster
from tests.intake.handed_in import (
    ATTEND,
    cell_of,
    make_release,
    solved,
    to_bytes,
    to_colab,
    without_marks,
)

RELEASES = {"03_attention": make_release()}
BOTH = {"03_attention": make_release(), "04_scaled": make_release("04_scaled")}
GOOD = to_bytes(solved())

ROSTER = (
    "id,first_name,last_name,email,lms_user_id\n"
    "jdoe,Jane,Doe,jane.doe@uni.example,123\n"
    'obrien,"Seán, Jr.",O\'Brien,sean@uni.example,124\n'
    "mueller,Ana,Müller,ana@uni.example,125\n"
    "wang,小明,王,wang@uni.example,126\n"
)


@pytest.fixture
def roster(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text(ROSTER, encoding="utf-8")
    return path


def zipped(tmp_path, contents, name="class.zip"):
    path = tmp_path / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, data in contents.items():
            archive.writestr(entry, data)
    return path


def only(submissions):
    assert len(submissions) == 1, submissions
    return submissions[0]


def test_a_canvas_zip_finds_students_by_number_and_tells_lateness(tmp_path, roster):
    path = zipped(
        tmp_path,
        {
            "doejane_123_456_03_attention-1.ipynb": GOOD,
            "mullerana_LATE_125_457_Copy of 03_attention.ipynb": GOOD,
        },
    )
    first, second = collect([path], RELEASES, roster)
    assert (first.student, first.assignment) == ("jdoe", "03_attention")
    assert second.student == "mueller"
    assert "Canvas marks it as late." in second.repairs
    assert first.flags == second.flags == ()


def test_a_canvas_zip_without_a_roster_still_tells_students_apart(tmp_path):
    path = zipped(
        tmp_path,
        {
            "lastname_123_456_03_attention-1.ipynb": GOOD,
            "lastname_124_459_03_attention.ipynb": GOOD,
        },
    )
    assert [s.student for s in collect(path, RELEASES)] == ["lastname_123", "lastname_124"]


def test_a_moodle_zip_with_and_without_folders(tmp_path, roster):
    path = zipped(
        tmp_path,
        {
            "Jane Doe_990_assignsubmission_file_/03_attention.ipynb": GOOD,
            "小明 王_991_assignsubmission_file_03_attention (2).ipynb": GOOD,
        },
    )
    assert [s.student for s in collect(path, RELEASES, roster)] == ["jdoe", "wang"]


def test_a_gradescope_export_gives_names_and_times(tmp_path, roster):
    about = (
        "submission_771:\n  :submitters:\n  - :name: Ana Müller\n    :sid: mueller\n"
        "    :email: ana@uni.example\n  :created_at: 2026-11-02 18:04:05.123 Z\n"
    )
    path = zipped(
        tmp_path,
        {
            "assignment_9_export/submission_metadata.yml": about,
            "assignment_9_export/submission_771/03_attention.ipynb": GOOD,
        },
    )
    submission = only(collect(path, RELEASES, roster))
    assert submission.student == "mueller"
    assert submission.timestamp.astimezone(UTC).date() == datetime(2026, 11, 2).date()


def test_nbgraders_own_folders_keep_the_time(tmp_path):
    folder = tmp_path / "submitted" / "jdoe" / "03_attention"
    folder.mkdir(parents=True)
    (folder / "03_attention.ipynb").write_bytes(GOOD)
    (folder / "timestamp.txt").write_text("2026-11-02 18:04:05.123456 UTC")
    submission = only(collect(tmp_path / "submitted", RELEASES))
    assert (submission.student, submission.timestamp.hour) == ("jdoe", 18)
    assert submission.repairs == ()


def test_nbgraders_exchange_folders(tmp_path):
    folder = tmp_path / "jdoe+03_attention+2026-11-02 18:04:05 UTC+abc"
    folder.mkdir()
    (folder / "03_attention.ipynb").write_bytes(GOOD)
    submission = only(collect(tmp_path, RELEASES))
    assert (submission.student, submission.timestamp.year) == ("jdoe", 2026)


def test_the_time_of_a_plain_file_is_not_trusted(tmp_path):
    (tmp_path / "jdoe").mkdir()
    (tmp_path / "jdoe" / "03_attention.ipynb").write_bytes(GOOD)
    assert only(collect(tmp_path, RELEASES)).timestamp is None


@pytest.mark.parametrize(
    "name",
    [
        "Copy of 03_attention.ipynb",
        "03_attention (2).ipynb",
        "Kopie von 03_attention.ipynb",
        "03-Attention_final_v2.ipynb",
        "03 attention.ipynb",
        "03_attention.ipynb.txt",
        "03_ATTENTION.IPYNB",
        "my homework.ipynb",
    ],
)
def test_a_folder_a_student_whatever_the_file_is_called(tmp_path, name):
    (tmp_path / "jdoe").mkdir()
    (tmp_path / "jdoe" / name).write_bytes(GOOD)
    submission = only(collect(tmp_path, BOTH))
    assert (submission.student, submission.assignment) == ("jdoe", "03_attention")
    assert cell_of(submission.notebook, "attend").source == ATTEND
    assert any(f"called '{name}'" in repair for repair in submission.repairs)


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("jdoe_03_attention.ipynb", "jdoe"),
        ("03_attention_jdoe.ipynb", "jdoe"),
        ("03_attention-Jane Doe (1).ipynb", "jdoe"),
        ("Doe Jane 03_attention.ipynb", "jdoe"),
        ("Müller_Ana_03_attention.ipynb", "mueller"),
        ("Mu\u0308ller_Ana_03_attention.ipynb", "mueller"),
    ],
)
def test_students_are_found_in_the_names_of_single_notebooks(tmp_path, roster, name, student):
    path = tmp_path / name
    path.write_bytes(GOOD)
    submission = only(collect([path], RELEASES, roster))
    assert submission.student == student
    assert submission.flags == ()


def test_a_flat_folder_without_a_roster_takes_names_from_the_files(tmp_path):
    folder = tmp_path / "hw3"
    folder.mkdir()
    (folder / "03_attention_alice.ipynb").write_bytes(GOOD)
    (folder / "bob_03_attention.ipynb").write_bytes(GOOD)
    assert [s.student for s in collect(tmp_path, RELEASES)] == ["alice", "bob"]


def test_a_year_in_a_file_name_is_not_taken_for_canvas(tmp_path):
    path = tmp_path / "alice_2026_03_attention.ipynb"
    path.write_bytes(GOOD)
    assert only(collect([path], RELEASES)).student == "alice_2026"


def test_a_colab_account_is_named_to_a_person_and_proves_nothing(tmp_path, roster):
    path = tmp_path / "Copy of 03_attention.ipynb"
    path.write_bytes(to_bytes(to_colab(solved())))
    submission = only(collect([path], RELEASES, roster))
    assert submission.student == "unknown-Copy_of_03_attention"
    assert "Colab account is 'Jane Doe'" in submission.flags[0]


def test_a_notebook_of_nobody_is_flagged_not_dropped(tmp_path):
    path = tmp_path / "03_attention.ipynb"
    path.write_bytes(GOOD)
    submission = only(collect([path], RELEASES))
    assert submission.student == "unknown-03_attention"
    assert submission.notebook is not None
    assert "It is not known who" in submission.flags[0]


def test_a_student_who_is_not_on_the_roster_is_flagged(tmp_path, roster):
    path = zipped(tmp_path, {"strangerpat_999_4711_03_attention.ipynb": GOOD})
    submission = only(collect(path, RELEASES, roster))
    assert submission.student == "strangerpat_999"
    assert "not on the roster" in submission.flags[0]


def test_one_bad_file_does_not_stop_the_class(tmp_path):
    contents = {f"s{n}/03_attention.ipynb": GOOD for n in range(5)}
    contents["s2/03_attention.ipynb"] = b"{ not json"
    contents["s3/03_attention.ipynb"] = b""
    submissions = collect(zipped(tmp_path, contents), RELEASES)
    assert [s.student for s in submissions] == [f"s{n}" for n in range(5)]
    assert [s.notebook is None for s in submissions] == [False, False, True, True, False]
    assert all(s.flags for s in submissions if s.notebook is None)


def test_the_wrong_assignment_is_flagged_and_filed_by_its_contents(tmp_path):
    wrong = to_bytes(BOTH["04_scaled"])
    path = zipped(tmp_path, {"jdoe/03_attention.ipynb": wrong})
    submission = only(collect(path, BOTH))
    assert submission.assignment == "04_scaled"
    assert "named after 03_attention" in submission.flags[0]


def test_a_notebook_of_another_course_is_flagged(tmp_path):
    other = json.dumps(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {},
            "cells": [
                {"cell_type": "code", "source": "print('biology')", "metadata": {}, "outputs": []}
            ],
        }
    )
    path = zipped(tmp_path, {"jdoe/biology.ipynb": other, "ann/03_attention.ipynb": other})
    named, unnamed = collect(path, BOTH)
    assert named.notebook is None and "a different notebook" in named.flags[0]
    assert unnamed.notebook is None and "isn't one of the assignments" in unnamed.flags[0]


def test_several_assignments_in_one_folder_are_kept_apart(tmp_path):
    path = zipped(
        tmp_path,
        {"jdoe/03_attention.ipynb": GOOD, "jdoe/04_scaled.ipynb": to_bytes(BOTH["04_scaled"])},
    )
    assert [s.assignment for s in collect(path, BOTH)] == ["03_attention", "04_scaled"]


def test_two_different_files_of_one_student_are_flagged_and_the_newer_graded(tmp_path):
    older = to_bytes(make_release())
    path = zipped(tmp_path, {"jdoe/03_attention.ipynb": older, "jdoe/03_attention (1).ipynb": GOOD})
    submission = only(collect(path, RELEASES))
    assert submission.source_name == "jdoe/03_attention (1).ipynb"
    assert "Two different notebooks" in submission.flags[0]


def test_the_same_file_twice_is_no_trouble(tmp_path):
    path = zipped(
        tmp_path, {"jdoe/03_attention.ipynb": GOOD, "jdoe/Copy of 03_attention.ipynb": GOOD}
    )
    submission = only(collect(path, RELEASES))
    assert submission.flags == ()
    assert any("twice with the same answers" in repair for repair in submission.repairs)


def test_extra_files_are_ignored_and_named(tmp_path):
    path = zipped(
        tmp_path,
        {
            "jdoe/03_attention.ipynb": GOOD,
            "jdoe/torch.py": "evil = 1",
            "__MACOSX/jdoe/._03_attention.ipynb": b"junk",
            "jdoe/.ipynb_checkpoints/03_attention-checkpoint.ipynb": GOOD,
        },
    )
    submission = only(collect(path, RELEASES))
    assert submission.repairs == ("Extra files, ignored: jdoe/torch.py.",)


def test_a_student_who_hands_in_no_notebook_is_flagged(tmp_path):
    path = zipped(tmp_path, {"jdoe/answers.pdf": b"%PDF"})
    submission = only(collect(path, RELEASES))
    assert submission.notebook is None
    assert "No notebook was handed in, only jdoe/answers.pdf" in submission.flags[0]


def test_a_zip_in_a_zip_is_opened_and_belongs_to_the_outer_name(tmp_path, roster):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("work/03_attention.ipynb", GOOD)
    path = zipped(tmp_path, {"doejane_123_456_work.zip": inner.getvalue()})
    submission = only(collect(path, RELEASES, roster))
    assert submission.student == "jdoe"
    assert submission.notebook is not None


def test_names_that_point_outside_are_refused_and_the_rest_is_read(tmp_path):
    path = zipped(
        tmp_path,
        {
            "../../mallory/03_attention.ipynb": GOOD,
            "jdoe/03_attention.ipynb": GOOD,
            "/etc/eve/03_attention.ipynb": GOOD,
            "C:\\ann\\03_attention.ipynb": GOOD,
        },
    )
    submissions = {s.student: s for s in collect(path, RELEASES)}
    assert submissions.pop("jdoe").notebook is not None
    assert len(submissions) == 3
    for submission in submissions.values():
        assert submission.notebook is None
        assert "points outside its folder, so it was refused" in submission.flags[-1]


def test_symbolic_links_in_a_zip_are_refused(tmp_path):
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("mallory/03_attention.ipynb")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    submission = only(collect(path, RELEASES))
    assert (submission.student, submission.notebook) == ("mallory", None)
    assert "symbolic link, so it was refused" in submission.flags[-1]


def test_symbolic_links_in_a_folder_are_not_followed(tmp_path):
    secret = tmp_path / "secret.ipynb"
    secret.write_bytes(GOOD)
    folder = tmp_path / "class" / "mallory"
    folder.mkdir(parents=True)
    (folder / "03_attention.ipynb").symlink_to(secret)
    submission = only(collect(tmp_path / "class", RELEASES))
    assert submission.notebook is None and "symbolic link" in submission.flags[-1]


def test_a_zip_bomb_is_refused_without_unpacking(tmp_path):
    path = zipped(
        tmp_path,
        {"mallory/03_attention.ipynb": b"0" * (20 << 20), "jdoe/03_attention.ipynb": GOOD},
    )
    good, bomb = collect(path, RELEASES)
    assert good.student == "jdoe" and good.notebook is not None
    assert "zip bomb" in bomb.flags[-1]


def test_a_zip_that_lies_about_its_sizes_is_cut_off(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_FILE", 1 << 16)
    monkeypatch.setattr(files, "_refusal", lambda *_: "")
    path = zipped(tmp_path, {"mallory/03_attention.ipynb": b"0" * (1 << 20)})
    submission = only(collect(path, RELEASES))
    assert submission.notebook is None and "not read" in submission.flags[-1]


def test_zips_nested_too_deep_are_refused(tmp_path):
    data = GOOD
    for level in range(3):
        box = io.BytesIO()
        with zipfile.ZipFile(box, "w") as archive:
            archive.writestr("03_attention.ipynb" if level == 0 else f"{level}.zip", data)
        data = box.getvalue()
    path = zipped(tmp_path, {"mallory_123_456_all.zip": data})
    submission = only(collect(path, RELEASES))
    assert submission.notebook is None and "refused" in submission.flags[-1]


def test_a_damaged_zip_and_a_damaged_entry_are_flagged(tmp_path):
    path = zipped(tmp_path, {"jdoe/03_attention.ipynb": GOOD})
    raw = bytearray(path.read_bytes())
    raw[120:160] = bytes(40)
    path.write_bytes(raw)
    assert "damaged" in only(collect(path, RELEASES)).flags[-1]
    broken = tmp_path / "doejane_123_456_x.zip"
    broken.write_bytes(b"PK not really")
    assert "not a zip file" in only(collect(broken, RELEASES)).flags[-1]


def test_names_in_other_scripts_survive_old_zip_tools(tmp_path, roster):
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("小明 王_991_assignsubmission_file_/03_attention.ipynb")
        archive.writestr(info, GOOD)
    raw = path.read_bytes().replace(b"\x14\x00\x00\x08", b"\x14\x00\x00\x00")
    path.write_bytes(raw)
    assert only(collect(path, RELEASES, roster)).student == "wang"


def test_lost_metadata_and_a_foreign_name_are_found_by_contents(tmp_path):
    path = zipped(tmp_path, {"jdoe/Untitled7.ipynb": to_bytes(without_marks(solved(), ids=True))})
    submission = only(collect(path, BOTH))
    assert submission.assignment == "03_attention"
    assert cell_of(submission.notebook, "attend").source == ATTEND


def test_a_path_that_is_not_there_is_an_error_of_the_run(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        collect([tmp_path / "nowhere"], RELEASES)


def test_an_empty_class_is_no_error(tmp_path):
    assert collect(tmp_path, RELEASES) == []


# The roster ---------------------------------------------------------------------------------


def write(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "roster.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_canvas_rosters_use_the_login_as_id(tmp_path):
    text = (
        "Student,ID,SIS User ID,SIS Login ID,Section,03_attention (77)\n"
        "    Points Possible,,,,,10\n"
        '"Doe, Jane",123,S-1,jdoe,A,\n'
    )
    student = only(read_roster(write(tmp_path, text)))
    assert (student.id, student.lms_id, student.first_name) == ("jdoe", "123", "Jane")
    assert student.section == "A"


def test_moodle_rosters_may_use_semicolons(tmp_path):
    text = "First name;Surname;ID number;Email address\nJane;Doe;jdoe;jane@uni.example\n"
    assert only(read_roster(write(tmp_path, text))).sortable_name == "Doe, Jane"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_rosters_in_other_encodings_are_read(tmp_path, encoding):
    path = write(tmp_path, "id,first_name,last_name\nam,Ana,Müller\n", encoding)
    assert only(read_roster(path)).last_name == "Müller"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("name,town\nJane,Ulm\n", "no column for the student's id"),
        ("id,name\njdoe,Jane\njdoe,John\n", "twice, in lines 2 and 3"),
        ("id,name,section\ns1,Jane Doe,A\ns1,Jane Doe,B\n", "one person in two sections, keep"),
        ("id,name\n,Jane\n", "Line 2 .* has no student id"),
        ("id,name\n../x,Jane\n", "can't be the name of a folder"),
    ],
)
def test_a_bad_roster_is_one_sentence(tmp_path, text, sentence):
    with pytest.raises(RosterError, match=sentence):
        read_roster(write(tmp_path, text))


def test_a_roster_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(RosterError, match="can't be read"):
        read_roster(tmp_path / "none.csv")


def test_finding_the_files_of_a_class_reads_no_notebook(tmp_path):
    contents = {f"{name}/03_attention.ipynb": GOOD for name in ("ann", "bob")}
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    found = find_files([zipped(tmp_path, contents)], RELEASES, scratch)
    assert [one.student for one in found] == ["ann", "bob"]
    entries = [arrival.entry for one in found for arrival in one.arrivals]
    assert all(entry.data is None and entry.path.parent == scratch for entry in entries)
    (arrival,) = found[0].read().arrivals
    assert arrival.entry.data == GOOD
    entries[1].path.unlink()
    (gone,) = found[1].read().arrivals
    assert "can't be read" in gone.entry.problem


def test_no_room_to_unpack_ends_the_run_with_the_place(tmp_path):
    path = zipped(tmp_path, {"ann/03_attention.ipynb": GOOD})
    with pytest.raises(files.NoRoom, match="gone"):
        find_files([path], RELEASES, tmp_path / "gone")
