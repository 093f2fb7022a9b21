"""The zip for Gradescope, and results.json in its documented form."""

import json
import subprocess
import zipfile
from dataclasses import replace

import nbformat
import pytest
from click.testing import CliRunner

from autograder.box import BoxUnavailable, why_unavailable
from autograder.cli import main as command_line
from autograder.grading.record import (
    ExerciseRecord,
    FindingRecord,
    Flag,
    SubmissionRecord,
    WrittenRecord,
)
from autograder.grading.releases import release_of
from autograder.paths import ROOT
from autograder.platforms import on_gradescope
from autograder.platforms.gradescope import SHOW, Settings, points_to_set, results, write_zip
from autograder.publish import TELLING
from course_utils import register
from tests.grading.handing_in import (
    ASSIGNMENT,
    EXERCISE,
    NO_TANH,
    RIGHT,
    WRITTEN,
    cell_of,
    submission,
)

# "Autograder Specifications", output format: every key that there is, and its kind
TOP = {
    "score": float,
    "execution_time": int,
    "output": str,
    "output_format": str,
    "test_output_format": str,
    "test_name_format": str,
    "visibility": str,
    "stdout_visibility": str,
    "extra_data": dict,
    "tests": list,
    "leaderboard": list,
}
TEST = {
    "score": float,
    "max_score": float,
    "status": str,
    "name": str,
    "name_format": str,
    "number": str,
    "output": str,
    "output_format": str,
    "tags": list,
    "visibility": str,
    "extra_data": dict,
}
VISIBILITY = {"visible", "hidden", "after_due_date", "after_published"}
FORMATS = {"text", "html", "simple_format", "md", "ansi"}


def assert_documented(found: dict) -> None:
    """Nothing in it that the specification does not have, and a score that can be found."""
    found = json.loads(json.dumps(found))
    for entry, kinds in [(found, TOP), *((test, TEST) for test in found["tests"])]:
        for key, value in entry.items():
            number = kinds[key] is float and isinstance(value, int) and not isinstance(value, bool)
            assert isinstance(value, kinds[key]) or number, key
        assert entry.get("visibility", "visible") in VISIBILITY
        assert entry.get("output_format", "text") in FORMATS
        assert entry.get("status", "passed") in ("passed", "failed")
    assert "score" in found or any("score" in test for test in found["tests"])
    assert found["stdout_visibility"] == "hidden"
    numbers = [test["number"] for test in found["tests"]]
    assert len(numbers) == len(set(numbers)), "without a number a test is counted by its place"
    assert "hidden" not in {test["visibility"] for test in found["tests"]}, "it hides the total too"
    for test in found["tests"]:
        assert ("score" in test) == ("max_score" in test)


def results_of(entry, show="at-once", **rules):
    return results(entry, Settings(ASSIGNMENT, show, **rules))


def record(**more) -> SubmissionRecord:
    findings = (
        FindingRecord("the output has the right shape", True, 2.0, 2.0),
        FindingRecord("weights add up to 1", False, 0.0, 6.0, "They add up to 0.4.", "Which axis?"),
    )
    exercise = ExerciseRecord(
        EXERCISE, 2.0, 8.0, False, findings, "wrong-axis", "The softmax is over the batch.",
        "Look at dim.", seeds=(1, 2),
    )  # fmt: skip
    plain = SubmissionRecord("run", "ann", ASSIGNMENT, "my.ipynb", status="graded")
    return replace(plain, exercises=(exercise,), **more)


def test_each_property_is_a_test_with_its_points_diagnosis_and_hint():
    found = results_of(record(repairs=("The file had a second ending.",)))
    assert_documented(found)
    first, second = found["tests"]
    assert (first["score"], first["max_score"], first["status"]) == (2.0, 2.0, "passed")
    assert (second["score"], second["max_score"], second["status"]) == (0.0, 6.0, "failed")
    assert first["output"] == "The softmax is over the batch.\nLook at dim."
    assert second["output"] == "They add up to 0.4.\nWhich axis?"
    assert [first["number"], second["number"]] == ["1.1", "1.2"]
    assert "score" not in found, "a score at the top would replace the sum of the tests"
    assert "Mended: The file had a second ending." in found["output"]
    assert found["extra_data"]["seeds"] == {EXERCISE: [1, 2]}


@pytest.mark.parametrize(("show", "visibility"), SHOW.items())
def test_students_see_verdicts_when_the_instructor_says_and_flags_never(show, visibility):
    found = results_of(record(flags=(Flag("box", "It wrote 100 MB.", EXERCISE),)), show)
    assert_documented(found)
    assert {test["visibility"] for test in found["tests"]} == {visibility}
    assert "100 MB" not in json.dumps(found), "it is in the log, which students never see"


def test_written_answers_are_numbered_after_the_exercises_and_have_no_points():
    found = results_of(record(written={WRITTEN: WrittenRecord(True, "sha")}))
    assert_documented(found)
    assert [test["number"] for test in found["tests"]] == ["1.1", "1.2", "2"]
    assert "score" not in found["tests"][-1]


def test_full_marks_for_everybody_give_every_test_its_points_and_keep_the_diagnosis():
    found = results_of(record(), full_marks=(EXERCISE,))
    assert_documented(found)
    assert [test["score"] for test in found["tests"]] == [2.0, 6.0]
    assert [test["status"] for test in found["tests"]] == ["passed", "failed"]
    assert all("full marks for everybody" in test["name"] for test in found["tests"])


def test_an_exercise_that_does_not_count_only_informs():
    found = results_of(record(), uncounted=(EXERCISE,))
    assert_documented(found)
    assert found["score"] == 0.0 and points(found) == 0
    assert all("does not count" in test["name"] for test in found["tests"])


def test_a_run_that_was_stopped_tells_why():
    stopped = replace(record().exercises[0], box="timeout", message="It was stopped after 40 s.")
    found = results_of(replace(record(), exercises=(stopped,)))
    assert found["tests"][0]["output"].startswith("It was stopped after 40 s.")


def test_extra_credit_counts_beyond_the_points_to_set():
    extra = ExerciseRecord("beam-search", 3.0, 3.0, True, ())
    found = results_of(replace(record(), exercises=(extra,)))
    assert_documented(found)
    assert found["tests"][0]["score"] == 3.0
    assert (
        "extra credit" in found["tests"][0]["name"] and "extra credit" in found["tests"][0]["tags"]
    )
    assert points_to_set("04_translation") == 8
    assert points_to_set(ASSIGNMENT) == 8, "without the written answer"


def test_what_could_not_be_graded_has_a_score_and_says_what_to_do():
    found = results_of(replace(record(), exercises=(), status="flagged"))
    assert_documented(found)
    assert found["score"] == 0.0 and "again" in found["output"]


# --- the zip ---


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("autograder")
    target = folder / "upload.zip"
    said = CliRunner().invoke(command_line, ["gradescope", ASSIGNMENT, "--to", str(target)])
    assert said.exit_code == 0 and "8 points" in said.output and "3 GB" in said.output
    with zipfile.ZipFile(target) as archive:
        archive.extractall(folder / "source")
    return folder


def test_the_zip_has_what_the_platform_looks_for_at_its_top(unpacked):
    with zipfile.ZipFile(unpacked / "upload.zip") as archive:
        modes = {i.filename: i.external_attr >> 16 for i in archive.infolist()}
    for name in ("setup.sh", "run_autograder"):
        assert modes[name] & 0o777 == 0o755
        script = unpacked / "source" / name
        assert script.read_bytes().startswith(b"#!/bin/bash\n") and b"\r" not in script.read_bytes()
        subprocess.run(["bash", "-n", script], check=True)
    install = unpacked / "source" / "course/autograder/platforms/files/install_grader.sh"
    subprocess.run(["bash", "-n", install], check=True)
    assert all(not mode & 0o077 for name, mode in modes.items() if name.startswith("course/"))


def test_the_zip_has_the_course_without_sources_and_collected_answers(unpacked):
    course = unpacked / "source" / "course"
    for name in ("source", "mutants", "reference"):
        assert not (course / "autograder" / name).exists()
    assert (course / "course_utils" / "exercises.toml").is_file()
    assert (course / "tools" / "install.py").is_file()
    released = (unpacked / "source" / "release.ipynb").read_text(encoding="utf-8")
    assert released == release_of(ROOT, ASSIGNMENT)
    assert not any(word in released for word in TELLING)


def test_the_same_course_gives_the_same_zip(tmp_path):
    for name in ("one.zip", "two.zip"):
        write_zip(tmp_path / name, Settings(ASSIGNMENT))
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_the_notebook_of_a_course_directory_goes_into_its_zip(tmp_path):
    own = tmp_path / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    own.parent.mkdir(parents=True)
    own.write_text(release_of(ROOT, ASSIGNMENT).replace("attention", "Attention"))
    write_zip(tmp_path / "own.zip", Settings(ASSIGNMENT), tmp_path)
    with zipfile.ZipFile(tmp_path / "own.zip") as archive:
        assert archive.read("release.ipynb").decode() == own.read_text()


@pytest.fixture
def own_register_afterwards():
    yield
    register.use(None)


def zipped(tmp_path, text, assignment=ASSIGNMENT):
    (tmp_path / "course.toml").write_text(text)
    target = tmp_path / "upload.zip"
    line = ["gradescope", assignment, "--to", str(target), "--course", str(tmp_path)]
    return CliRunner().invoke(command_line, line), target


@pytest.mark.usefixtures("own_register_afterwards")
def test_a_classs_choices_go_into_its_zip(tmp_path):
    text = f'packages = ["pyyaml"]\nleave_out = ["{WRITTEN}"]\n[points]\n{EXERCISE} = 12\n'
    said, target = zipped(tmp_path, text)
    assert said.exit_code == 0 and "12 points" in said.output, said.output
    with zipfile.ZipFile(target) as archive:
        given = nbformat.reads(archive.read("release.ipynb").decode(), as_version=4)
        assert archive.read("packages.txt") == b"pyyaml\n"
        settings = Settings(**json.loads(archive.read("settings.json")))
    assert cell_of(given, f"{EXERCISE}-check").metadata["nbgrader"]["points"] == 12
    with pytest.raises(KeyError):
        cell_of(given, WRITTEN)
    assert "yaml" in settings.register["course"]["packages"] and WRITTEN in settings.uncounted


@pytest.mark.usefixtures("own_register_afterwards")
def test_what_does_not_count_is_not_in_the_points_to_set(tmp_path):
    said, target = zipped(tmp_path, f'does_not_count = ["{EXERCISE}"]\n')
    assert said.exit_code == 0 and "with 0 points" in said.output


@pytest.mark.usefixtures("own_register_afterwards")
@pytest.mark.parametrize(
    ("text", "assignment", "sentence"),
    [
        ("own_numbers = true\n", "01_pen_and_paper", "does not report whose numbers"),
        ('notebooks = ["00_start_here"]\n', ASSIGNMENT, f"does not use {ASSIGNMENT}"),
        ('notebooks = ["nothing"]\n', ASSIGNMENT, "there is no such notebook"),
    ],
)
def test_choices_that_the_platform_can_not_follow_are_refused(text, assignment, sentence, tmp_path):
    said, target = zipped(tmp_path, text, assignment)
    assert said.exit_code == 1 and sentence in " ".join(said.output.split())
    assert not target.exists()


def test_an_unknown_assignment_is_one_sentence():
    said = CliRunner().invoke(command_line, ["gradescope", "99_nothing"])
    assert said.exit_code == 1 and "There is no assignment called 99_nothing" in said.output


# --- in a tree like the platform's ---

needs_box = pytest.mark.skipif(bool(why_unavailable()), reason="no box")


def graded(unpacked, tmp_path, files: dict[str, bytes]) -> dict:
    """What the platform would find after one submission."""
    (tmp_path / "submission").mkdir(parents=True)
    (tmp_path / "source").symlink_to(unpacked / "source")
    for name, content in files.items():
        path = tmp_path / "submission" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    on_gradescope.main(tmp_path)
    found = json.loads((tmp_path / "results" / "results.json").read_text())
    assert_documented(found)
    return found


def points(found: dict) -> float:
    return sum(test.get("score", 0) for test in found["tests"])


def notebook(answer: str, written: str | None = None) -> bytes:
    return json.dumps(submission(answer, written)).encode()


@needs_box
@pytest.mark.box
def test_a_right_answer_in_a_file_of_any_name_gets_its_points(unpacked, tmp_path, capsys):
    name = "Copy of 03_attention (2).ipynb"
    found = graded(unpacked, tmp_path, {name: notebook(RIGHT, "Each row looks back.")})
    assert points(found) == pytest.approx(8)
    written = [test for test in found["tests"] if "score" not in test]
    assert [test["output"] for test in written] == ["A person marks this answer."]
    assert "Submissions run each" in capsys.readouterr().out


@needs_box
@pytest.mark.box
def test_a_damaged_notebook_is_mended_and_its_mistake_named(unpacked, tmp_path):
    own = submission(NO_TANH)
    own.cells = [cell for cell in own.cells if not cell.metadata.get("nbgrader", {}).get("locked")]
    damaged = b"\xef\xbb\xbf" + json.dumps(own).encode()
    found = graded(unpacked, tmp_path, {"upload/attention.ipynb": damaged, "notes.txt": b"x"})
    assert "Mended: " in found["output"]
    assert 0 < points(found) < 8
    assert "tanh" in json.dumps(found["tests"])


@needs_box
@pytest.mark.box
@pytest.mark.parametrize("files", [{}, {"essay.pdf": b"%PDF-1.4"}])
def test_an_upload_without_a_notebook_is_told_so(files, unpacked, tmp_path):
    found = graded(unpacked, tmp_path, files)
    assert found["score"] == 0.0 and "could not be graded" in found["output"]


def test_where_the_machine_fails_no_results_are_written(unpacked, tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise BoxUnavailable("No wall can be had here.")

    monkeypatch.setattr(on_gradescope, "Box", refuse)
    with pytest.raises(SystemExit, match="No wall can be had here"):
        graded(unpacked, tmp_path, {"a.ipynb": notebook(RIGHT)})
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("limit", "said"), [("805306368", "768 MB"), ("max", ""), (str(3 << 30), "")]
)
def test_too_little_memory_is_said_to_instructors(limit, said, tmp_path):
    place = tmp_path / on_gradescope.MEMORY_LIMITS[0]
    place.parent.mkdir(parents=True)
    place.write_text(limit)
    warning = on_gradescope.too_little_memory(tmp_path)
    assert said in warning and bool(warning) == bool(said)


@needs_box
@pytest.mark.box
@pytest.mark.usefixtures("own_register_afterwards")
def test_a_classs_points_and_packages_count_in_the_container(tmp_path):
    course = tmp_path / "course"
    course.mkdir()
    text = f'packages = ["pyyaml"]\n[points]\n{EXERCISE} = 12\n'
    said, target = zipped(course, text)
    assert said.exit_code == 0, said.output
    register.use(None)  # the container has no course directory
    with zipfile.ZipFile(target) as archive:
        archive.extractall(tmp_path / "source")
    answer = notebook(f"import yaml\n{RIGHT}")
    found = graded(tmp_path, tmp_path / "platform", {"a.ipynb": answer})
    assert points(found) == pytest.approx(12)
    assert sum(test.get("max_score", 0) for test in found["tests"]) == pytest.approx(12)
