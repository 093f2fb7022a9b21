"""Who handed in and when: the outermost name says it, and what is inside can only raise a flag."""

import os

import pytest

from autograder.intake import RosterError, collect, find_files, read_roster, read_settled
from tests.intake.handed_in import ANSWERS, cell_of, make_release, packed, solved, to_bytes

RELEASES = {"03_attention": make_release()}
GOOD = to_bytes(solved())
BAD = to_bytes(solved(answers={**ANSWERS, "attend": "def attend(query, states):\n    return 0, 0"}))
ROSTER = (
    "id,first_name,last_name,email,lms_user_id,github\n"
    "alice,Alice,Adams,alice@uni.example,11,eanders\n"
    "bob,Bob,Brown,bob@uni.example,12,bob-b\n"
    "mallory,Mallory,Moss,mallory@uni.example,13,mal\n"
    "ada,Ada,Lee,ada@uni.example,,\n"
)


@pytest.fixture
def roster(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text(ROSTER, encoding="utf-8")
    return path


def laid_out(tmp_path, contents):
    for name, data in contents.items():
        path = tmp_path / "class" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return tmp_path / "class"


def zipped(tmp_path, contents):
    path = tmp_path / "class.zip"
    path.write_bytes(packed(contents))
    return path


def by_student(path, roster=None):
    return {s.student: s for s in collect(path, RELEASES, roster)}


def answer(submission):
    return cell_of(submission.notebook, "attend").source


HONEST = {"alice/03_attention.ipynb": GOOD, "bob/03_attention.ipynb": GOOD}
METADATA = (
    "submission_1:\n  :submitters:\n  - :name: Alice Adams\n    :sid: alice\n"
    "  :created_at: 2020-01-01 00:00:00 Z\n"
)
CLAIMS = {
    "a file named like Canvas's": {"mallory/adamsalice_11_456_03_attention.ipynb": BAD},
    "a folder named like Moodle's": {
        "mallory/Alice Adams_11_assignsubmission_file_/03_attention.ipynb": BAD
    },
    "a folder named like hers": {"mallory/alice/03_attention.ipynb": BAD},
    "a file named like hers": {"mallory/alice_03_attention.ipynb": BAD},
    "an exchange folder": {"mallory/alice+03_attention+2020-01-01 00:00:00 UTC/03_attention.ipynb": BAD},
    "a zip with her folder": {"mallory/work.zip": packed({"alice/03_attention.ipynb": BAD})},
    "a zip with her name": {"mallory/alice.zip": packed({"03_attention.ipynb": BAD})},
    "a zip with Canvas's names": {
        "mallory/work.zip": packed({"adamsalice_11_456_03_attention.ipynb": BAD})
    },
    "Gradescope's file": {
        "mallory/submission_metadata.yml": METADATA,
        "mallory/submission_1/03_attention.ipynb": BAD,
    },
    "an export in a zip": {
        "mallory/e.zip": packed(
            {"x_export/submission_metadata.yml": METADATA, "x_export/submission_1/03_attention.ipynb": BAD}
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("layout", [laid_out, zipped])
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_inside_a_students_folder_is_a_flag_and_costs_nobody_anything(
    tmp_path, roster, claim, layout
):
    found = by_student(layout(tmp_path, {**HONEST, **CLAIMS[claim]}), roster)
    assert set(found) == {"alice", "bob", "mallory"}
    for student in ("alice", "bob"):
        assert answer(found[student]) == ANSWERS["attend"]
        assert found[student].flags == ()
    mallory = found["mallory"]
    assert answer(mallory) != ANSWERS["attend"]
    assert mallory.timestamp is None
    assert any(("alice" in f and "mallory" in f) or "is ignored" in f for f in mallory.flags)


@pytest.mark.parametrize("claim", CLAIMS)
def test_without_a_roster_nobody_else_is_harmed_either(tmp_path, claim):
    found = by_student(laid_out(tmp_path, {**HONEST, **CLAIMS[claim]}))
    assert set(found) == {"alice", "bob", "mallory"}
    assert answer(found["alice"]) == answer(found["bob"]) == ANSWERS["attend"]
    assert found["mallory"].timestamp is None


def test_in_canvas_and_moodle_zips_only_the_systems_part_of_a_name_counts(tmp_path, roster):
    for contents in (
        {
            "adamsalice_11_901_03_attention.ipynb": GOOD,
            "strangermal_99_902_alice_03_attention.ipynb": BAD,
            "mossmallory_13_903_adamsalice_11_904_03_attention.ipynb": BAD,
        },
        {
            "Alice Adams_501_assignsubmission_file_/03_attention.ipynb": GOOD,
            "Stranger Mal_502_assignsubmission_file_/alice/03_attention.ipynb": BAD,
            "Mallory Moss_503_assignsubmission_file_/alice_03_attention.ipynb": BAD,
        },
    ):
        found = by_student(zipped(tmp_path, contents), roster)
        assert len(found) == 3
        assert answer(found["alice"]) == ANSWERS["attend"] and found["alice"].flags == ()
        assert answer(found["mallory"]) != ANSWERS["attend"]
        assert any("alice" in flag for flag in found["mallory"].flags)


def test_a_zip_in_a_students_folder_is_that_students(tmp_path):
    contents = {f"s{n:03d}/hw.zip": packed({"03_attention.ipynb": GOOD}) for n in (41, 42)}
    found = by_student(laid_out(tmp_path, contents))
    assert set(found) == {"s041", "s042"}
    assert all(s.notebook is not None and s.flags == () for s in found.values())
    assert found["s042"].source_name == "s042/hw.zip/03_attention.ipynb"


def test_a_folder_of_zips_has_one_student_for_each(tmp_path, roster):
    contents = {"alice.zip": packed({"work/03_attention.ipynb": GOOD}),
                "mallory.zip": packed({"bob/03_attention.ipynb": BAD})}  # fmt: skip
    found = by_student(laid_out(tmp_path, contents), roster)
    assert set(found) == {"alice", "mallory"}
    assert any("bob" in flag for flag in found["mallory"].flags)


def test_a_single_zip_in_a_folder_is_the_class(tmp_path):
    path = laid_out(tmp_path, {"download.zip": packed(HONEST)})
    assert set(by_student(path)) == {"alice", "bob"}


def test_a_students_zip_that_is_given_alone_is_theirs(tmp_path, roster):
    path = tmp_path / "mossmallory_13_456_work.zip"
    path.write_bytes(packed({"alice/03_attention.ipynb": BAD, "bob/x.txt": b""}))
    found = by_student(path, roster)
    assert set(found) == {"mallory"}
    assert any("alice" in flag for flag in found["mallory"].flags)


def test_folders_around_the_whole_class_are_nobody(tmp_path):
    contents = {f"term 1/03_attention/{name}": data for name, data in HONEST.items()}
    assert set(by_student(laid_out(tmp_path, contents))) == {"alice", "bob"}


# Times -------------------------------------------------------------------------------------------


def test_a_timestamp_of_ones_own_is_not_believed(tmp_path):
    contents = {
        **HONEST,
        "mallory/03_attention.ipynb": GOOD,
        "mallory/timestamp.txt": "2020-01-01 00:00:00 UTC",
    }
    mallory = by_student(laid_out(tmp_path, contents))["mallory"]
    assert mallory.timestamp is None
    assert any("timestamp.txt" in flag and "is ignored" in flag for flag in mallory.flags)


@pytest.mark.parametrize("inner", ["", "03_attention/", "deeper/"])
def test_in_a_systems_folder_no_timestamp_is_believed(tmp_path, inner):
    folder = "Ada Lee_101_assignsubmission_file_"
    contents = {
        f"{folder}/{inner}03_attention.ipynb": GOOD,
        f"{folder}/{inner}timestamp.txt": "2020-01-01 00:00:00 UTC",
    }
    (submission,) = collect(zipped(tmp_path, contents), RELEASES)
    assert submission.timestamp is None
    assert "is ignored" in submission.flags[0]


def test_nbgraders_own_timestamps_are_believed_where_all_have_one(tmp_path):
    contents = {}
    for name in ("alice", "bob"):
        contents[f"{name}/03_attention/03_attention.ipynb"] = GOOD
        contents[f"{name}/03_attention/timestamp.txt"] = "2026-11-02 18:04:05 UTC"
    found = by_student(laid_out(tmp_path, contents))
    assert [s.timestamp.year for s in found.values()] == [2026, 2026]
    assert all(s.flags == () for s in found.values())


@pytest.mark.parametrize(
    "time",
    [
        "0001-01-01 00:00:00 +14:00",
        "9999-12-31 23:59:59 -14:00",
        "1" * 1_000_000,
        "2026-11-02 18:04:05 " + "9" * 1_000_000,
        "2026-11-02 18:04:05 +99:99",
        "\ud800".encode("utf-8", "surrogatepass"),
        b"\xff\xfe\x00",
        "10",
        "",
    ],
    ids=range(9),
)
def test_odd_times_are_no_times(tmp_path, time):
    contents = {"ann/03_attention.ipynb": GOOD, "ann/timestamp.txt": time}
    (submission,) = collect(laid_out(tmp_path, contents), RELEASES)
    assert submission.timestamp is None and submission.notebook is not None


def test_a_bomb_of_yaml_is_not_set_off(tmp_path):
    levels = ["a: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    bomb = "\n".join(levels) + "\nsubmission_1: {':submitters': [{':name': *a8}]}\n"
    contents = {"submission_metadata.yml": bomb, "submission_1/03_attention.ipynb": GOOD}
    (submission,) = collect(zipped(tmp_path, contents), RELEASES)
    assert submission.student == "submission_1"


# Names and numbers -------------------------------------------------------------------------------


def test_people_with_one_name_are_told_apart_by_number(tmp_path, roster):
    contents = {
        "Ada Lee_101_assignsubmission_file_/03_attention.ipynb": GOOD,
        "Ada Lee_107_assignsubmission_file_/03_attention.ipynb": BAD,
    }
    found = by_student(zipped(tmp_path, contents), roster)
    assert set(found) == {"ada", "Ada_Lee_107"}
    assert answer(found["ada"]) == ANSWERS["attend"] != answer(found["Ada_Lee_107"])
    for submission in found.values():
        assert any("101, 107" in flag for flag in submission.flags)


def test_the_rosters_number_decides_between_two_of_one_name(tmp_path, roster):
    contents = {
        "adamsalice_77_901_03_attention.ipynb": BAD,
        "adamsalice_11_902_03_attention.ipynb": GOOD,
    }
    found = by_student(zipped(tmp_path, contents), roster)
    assert answer(found["alice"]) == ANSWERS["attend"] and found["alice"].flags == ()
    assert any("decide who is who" in flag for flag in found["adamsalice_77"].flags)


def test_what_feedback_needs_to_go_back_is_kept(tmp_path, roster):
    canvas = "adamsalice_LATE_11_901_03_attention-1.ipynb"
    moodle = "Bob Brown_502_assignsubmission_file_"
    path = zipped(tmp_path, {canvas: GOOD, f"{moodle}/03_attention.ipynb": GOOD})
    found = by_student(path, roster)
    sender = found["alice"].sender
    assert (sender.system, sender.user, sender.attachment) == ("canvas", "11", "901")
    assert sender.name == canvas
    sender = found["bob"].sender
    assert (sender.system, sender.user, sender.name) == ("moodle", "502", moodle)


def test_github_classroom_folders_end_in_the_login(tmp_path, roster):
    contents = {
        "attention-eanders/03_attention.ipynb": GOOD,
        "attention-bob-b/03_attention.ipynb": GOOD,
        "attention-some-body/03_attention.ipynb": GOOD,
    }
    path = laid_out(tmp_path, contents)
    assert set(by_student(path, roster)) == {"alice", "bob", "some-body"}
    assert set(by_student(path)) == {"eanders", "bob-b", "some-body"}
    (tmp_path / "other").mkdir()
    path = laid_out(tmp_path / "other", {"ml-course-hw1-eanders/03_attention.ipynb": GOOD,
                                         "ml-course-hw1-mal/03_attention.ipynb": GOOD})  # fmt: skip
    assert set(by_student(path, roster)) == {"alice", "mallory"}


@pytest.mark.parametrize(
    ("ids", "neither"),
    [(("12-3", "1-23"), "123"), (("ann", "Ann"), "ANN"), (("müller", "muller"), "MULLER")],
)
def test_ids_that_differ_in_signs_alone_are_two_students(tmp_path, ids, neither):
    roster = tmp_path / "roster.csv"
    roster.write_text("id,first_name,last_name\n" + "".join(f"{one},,\n" for one in ids), "utf-8")
    contents = dict(zip([f"{one}/03_attention.ipynb" for one in ids], (GOOD, BAD), strict=True))
    found = by_student(laid_out(tmp_path, contents), roster)
    assert [(one, found[one].source_name) for one in ids] == [
        (n.split("/")[0], n) for n in contents
    ]
    assert all(not submission.flags for submission in found.values())
    # a name that fits both is nobody's
    other = laid_out(tmp_path / "other", {f"{neither}/03_attention.ipynb": GOOD})
    assert not set(ids) & set(by_student(other, roster))


def test_a_number_that_two_students_have_on_the_roster_decides_nothing(tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text("id,first_name,last_name,lms_user_id\ns1,Ann,Ames,7\ns2,Bob,Bell,7\n")
    folder = "Ann Ames_7_assignsubmission_file_"
    found = by_student(laid_out(tmp_path, {f"{folder}/03_attention.ipynb": GOOD}), roster)
    assert set(found) == {"s1"}


def test_two_thousand_people_are_told_apart_by_number_or_by_name(tmp_path):
    people = [(f"s{n:04d}", f"Given{n % 97}", f"Family{n % 89}", 5000 + n) for n in range(2000)]
    roster = tmp_path / "roster.csv"
    lines = [
        f"{who},{first},{last},{'' if number % 2 else number}"
        for who, first, last, number in people
    ]
    roster.write_text("\n".join(["id,first_name,last_name,lms_user_id", *lines]))
    contents = {
        f"{first} {last}_{number}_assignsubmission_file/03_attention.ipynb": b"{}"
        for _, first, last, number in people
    }
    path = zipped(tmp_path, contents)
    found = find_files(path, ["03_attention"], tmp_path, roster)
    senders = {one.student: one.arrivals[0].sender.user for one in found}
    assert senders == {who: str(number) for who, _, _, number in people}


def test_a_student_whose_id_begins_like_ours_for_nobody_is_not_dropped(tmp_path):
    path = laid_out(tmp_path, {"unknown-joe/essay.pdf": b"%PDF", **HONEST, "03_attention": b""})
    found = by_student(path)
    assert set(found) == {"alice", "bob", "unknown-joe"}
    assert "No notebook was handed in" in " ".join(found["unknown-joe"].flags)


def test_two_names_never_share_an_id_that_is_made_up(tmp_path):
    contents = {"A B/03_attention.ipynb": GOOD, "A_B/03_attention.ipynb": BAD}
    assert len(by_student(laid_out(tmp_path, contents))) == 2


# Rosters as systems export them ------------------------------------------------------------------

ROSTERS = {
    "Canvas": (
        "Student,ID,SIS User ID,SIS Login ID,Section,HW (77)\n"
        ",,,,,Manual Posting\n"
        "    Points Possible,,,,,10\n"
        '"Doe, Jane",123,S-1,jdoe,A,\n'
        '"Student, Test",999,,f00f,A,\n'
    ),
    "Canvas, names split": (
        "LastName,FirstName,ID,SIS User ID,SIS Login ID,Section,HW (77)\n"
        ",,,,,,Manual Posting\n"
        "    Points Possible,,,,,,10\n"
        "Doe,Jane,123,S-1,jdoe,A,\n"
        "Student,Test,999,,,A,\n"
    ),
    "GitHub Classroom": (
        '"identifier","github_username","github_id","name"\n"jdoe","jd-hub","55","Jane Doe"\n'
    ),
    "Moodle, participants": (
        'First name,Last name,ID number,Email address,Groups\nJane,Doe,jdoe,jdoe@uni.example,A\n'
    ),
    "Moodle, without an id": (
        "\ufeffFirst name,Surname,Email address\nJane,Doe,jdoe@uni.example\n"
    ),
    "Moodle, worksheet": (
        "Identifier,Full name,ID number,Email address,Status,Grade\n"
        "Participant 123,Jane Doe,jdoe,jane@uni.example,Submitted,-\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("system", ROSTERS)
def test_rosters_are_read_as_systems_export_them(tmp_path, system):
    path = tmp_path / "roster.csv"
    path.write_text(ROSTERS[system], encoding="utf-8")
    (student,) = read_roster(path)
    assert (student.id, student.first_name, student.last_name) == ("jdoe", "Jane", "Doe")
    if "Canvas" in system or "worksheet" in system:
        assert student.lms_id == "123"


def test_a_canvas_user_without_a_login_is_known_by_canvas_number(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text(ROSTERS["Canvas"].replace("S-1,jdoe", ","), encoding="utf-8")
    assert read_roster(path)[0].id == "123"


def test_names_on_a_roster_are_no_html(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("id,first_name,last_name\nx,<script>a()</script>,Doe\n")
    assert read_roster(path)[0].full_name == "scripta()/script Doe"


# Names of all the world ---------------------------------------------------------------------------

NAMES = [
    "王小明",
    "學" * 33,
    "สมชาย " + "ทดสอบชื่อยาวมาก" * 8,
    "محمد عبد الله",
    "🙂👩‍👩‍👧‍👦",
    "Z" + "\u0301" * 2000 + "oe",
    "é" * 120,
    "अनुष्का शर्मा",
    "\u202egnp.evil",
    "O'Brien; DROP",
]


def test_a_class_with_names_of_all_the_world_is_found(tmp_path):
    notebook = "注意力机制的作业" * 8 + ".ipynb"
    contents = {f"{name}/{notebook}": GOOD for name in NAMES}
    found = collect(zipped(tmp_path, contents), RELEASES)
    assert len({s.student for s in found}) == len(NAMES)
    for submission in found:
        assert submission.notebook is not None and submission.flags == ()
        assert submission.student.isprintable() and len(submission.student.encode()) <= 60
        submission.source_name.encode()


def test_thai_names_that_differ_in_a_vowel_are_two_people(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("id,first_name,last_name\ns1,กิน,ดี\ns2,กัน,ดี\n", encoding="utf-8")
    contents = {f"{name} ดี_{n}_assignsubmission_file_/03_attention.ipynb": GOOD
                for n, name in ((1, "กิน"), (2, "กัน"))}  # fmt: skip
    assert set(by_student(zipped(tmp_path, contents), path)) == {"s1", "s2"}


def test_names_that_are_not_utf8_stay_apart(tmp_path):
    for name in (b"m\xfcller", b"m\xf6ller"):
        folder = str(tmp_path / "class").encode() + b"/" + name
        os.makedirs(folder)
        with open(folder + b"/03_attention.ipynb", "wb") as file:
            file.write(GOOD)
    found = by_student(tmp_path / "class")
    assert set(found) == {"müller", "möller"}


def test_finding_files_gives_who_is_who_without_reading(tmp_path, roster):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    path = laid_out(tmp_path, {**HONEST, **CLAIMS["a file named like hers"]})
    found = find_files(path, RELEASES, scratch, roster)
    assert [one.student for one in found] == ["alice", "bob", "mallory"]
    assert all(a.entry.data is None for one in found for a in one.arrivals)


def test_what_the_instructor_settled_counts_more_than_any_name(tmp_path):
    folder = tmp_path / "class"
    for name in ("Jane Doe_102_assignsubmission_file", "Jane Doe_107_assignsubmission_file", "x"):
        (folder / name).mkdir(parents=True)
        (folder / name / "03_attention.ipynb").write_text("{}")
    roster, settled = tmp_path / "roster.csv", tmp_path / "who_is_who.csv"
    roster.write_text("id,first_name,last_name\ns002,Jane,Doe\ns004,Jane,Doe\n")
    settled.write_text(
        "handed_in,number,student,note\n"
        "Jane Doe_107_assignsubmission_file,107,s004,\nx,,s009,\nundecided,,,\n"
    )
    found = find_files(folder, ["03_attention"], tmp_path / "scratch", roster, settled=settled)
    owners = {one.arrivals[0].sender.name: one.student for one in found}
    assert owners["Jane Doe_107_assignsubmission_file"] == "s004"
    assert owners["x"] == "s009"  # also somebody whom the roster does not have
    assert not [
        flag for one in found for a in one.arrivals if one.student == "s004" for flag in a.flags
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("name,id\nx,s1\n", "should have the columns"), ("handed_in,student\nx,../s1\n", "Line 2")],
)
def test_a_file_that_settles_nothing_is_refused(text, sentence, tmp_path):
    path = tmp_path / "who_is_who.csv"
    path.write_text(text)
    with pytest.raises(RosterError, match=sentence):
        read_settled(path)
