"""`progress` reads saved notebooks: what has passed, what is left, and the points so far."""

import copy
import json
import os

import nbformat
import pytest
from nbformat.v4 import new_output

from autograder.grading.releases import release_notebook
from course_utils import progress, register, saved_work
from course_utils.checks import judge, panel
from tests.grading.handing_in import cell_of

NAME = "00_start_here"


def checked(exercise: str, passed: bool) -> list:
    """What a check leaves in its cell, as text and as HTML."""
    verdict = judge.failed_verdict(exercise, "Not so.")
    if passed:
        right = [judge.Finding(f.name, True, f.max_points, f.max_points) for f in verdict.findings]
        verdict = judge.Verdict(exercise, verdict.max_points, verdict.max_points, tuple(right))
    data = {"text/html": panel.html(verdict), "text/plain": panel.text(verdict)}
    return [new_output("display_data", data=data)]


def saved(folder, name=NAME, file=None, **passed):
    """A saved notebook in which some checks were run, each with how it went."""
    notebook = copy.deepcopy(release_notebook(name))
    for number, (exercise, went_well) in enumerate(passed.items()):
        exercise = exercise.replace("_", "-")
        cell_of(notebook, exercise).execution_count = 2 * number + 1
        check = cell_of(notebook, f"{exercise}-check")
        check.execution_count, check.outputs = 2 * number + 2, checked(exercise, went_well)
    path = folder / (file or f"{name}.ipynb")
    nbformat.write(notebook, path)
    return path


def test_what_passed_what_failed_and_what_is_left_are_told_apart(tmp_path, capsys):
    saved(tmp_path, weighted_average=True, first_module=False)
    progress(tmp_path)
    said = capsys.readouterr().out
    assert "00 · Start here: 1 of 2 done, 1 of 2 points. Left: Scorer (not yet right)." in said
    assert (
        "01 · Attention with pen and paper: 0 of 11 done" in said
        and "Left: everything (not started)." in said
    )
    assert said.startswith("Your course: 1 of ")
    assert "To count your latest work, save (Ctrl+S) and run this cell again." in said


def test_exercises_in_the_same_state_are_listed_together(tmp_path, capsys):
    saved(tmp_path, "06_transformer", encoder_layer=False, transformer=False)
    progress(tmp_path)
    said = capsys.readouterr().out
    assert (
        "Left: EncoderLayer, Transformer (not yet right); "
        "DecoderLayer, greedy_decode, without_head, find the bug (not checked yet)." in said
    )


def test_a_notebook_with_everything_done_has_nothing_left(tmp_path, capsys):
    saved(tmp_path, weighted_average=True, first_module=True)
    progress(tmp_path)
    assert "00 · Start here: 2 of 2 done, 2 of 2 points. Left: nothing." in capsys.readouterr().out


def test_extra_credit_comes_on_top_of_the_total(tmp_path, capsys):
    saved(tmp_path, "04_translation", single_query_attention=True, beam_search=True)
    progress(tmp_path)
    said = capsys.readouterr().out
    assert "2 of 4 done, 8 of 8 and 3 extra points." in said
    assert " points on the visible checks and 3 extra." in said.split("\n")[0]


def test_an_answer_that_was_run_after_its_check_has_to_be_checked_again(tmp_path, capsys):
    path = saved(tmp_path, weighted_average=True)
    notebook = nbformat.read(path, as_version=4)
    cell_of(notebook, "weighted-average").execution_count = 99
    nbformat.write(notebook, path)
    progress(tmp_path)
    said = capsys.readouterr().out
    assert "weighted_average (changed since its check; run the check again)" in said
    assert "0 of 2 done, 0 of 2 points" in said


def test_written_answers_count_for_the_person_who_reads_them(tmp_path, capsys):
    path = saved(tmp_path, "03_attention")
    notebook = nbformat.read(path, as_version=4)
    cell_of(notebook, "reversal-map").source = "The map is an anti-diagonal."
    nbformat.write(notebook, path)
    progress(tmp_path)
    said = capsys.readouterr().out
    assert "and 1 in written answers, which a person reads." in said
    assert "DotProdAttention (not checked yet)" in said and "what does the map show?" not in said


def test_the_newest_copy_counts_and_files_that_are_no_notebooks_do_not(tmp_path, capsys):
    old = saved(tmp_path, file=f"Copy of {NAME}.ipynb", weighted_average=False)
    new = saved(tmp_path, file=f"{NAME} (1).ipynb", weighted_average=True)
    broken = tmp_path / f"{NAME}.ipynb"
    broken.write_text("<html>", encoding="utf-8")
    for age, path in enumerate((broken, new, old)):
        os.utime(path, (1e9 - age, 1e9 - age))
    progress(tmp_path)
    assert "00 · Start here: 1 of 2 done" in capsys.readouterr().out


def test_a_lost_cell_is_said_to_be_missing(tmp_path, capsys):
    path = saved(tmp_path, weighted_average=True)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["cells"] = [c for c in content["cells"] if c["id"] != "weighted-average"]
    path.write_text(json.dumps(content), encoding="utf-8")
    progress(tmp_path)
    assert "weighted_average (cell missing)" in capsys.readouterr().out


def test_in_colab_the_drive_is_looked_at_and_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setitem(__import__("sys").modules, "google.colab", object())
    progress()
    said = capsys.readouterr().out
    assert "No notebook of the course was found" in said and "drive.mount" in said
    drive = tmp_path / "drive"
    (drive / "Colab Notebooks").mkdir(parents=True)
    monkeypatch.setattr(saved_work, "DRIVE", drive)
    monkeypatch.setattr(saved_work, "COLAB_NOTEBOOKS", drive / "Colab Notebooks")
    saved(drive / "Colab Notebooks", weighted_average=True)
    progress()
    assert "00 · Start here: 1 of 2 done" in capsys.readouterr().out


def test_the_table_is_html_with_words_and_heads_its_rows_and_columns(tmp_path):
    saved(tmp_path, weighted_average=True)
    work = [saved_work._read(notebook, [tmp_path]) for notebook in register.notebooks()]
    page = saved_work._as_html(work)
    assert page.count('scope="row"') == len(register.notebooks())
    assert page.count('scope="col"') == 4
    assert "Scorer (not checked yet)" in page


@pytest.mark.parametrize("content", ["[]", '{"cells": 3}', '{"cells": [3]}', "{}", ""])
def test_odd_files_are_passed_over(tmp_path, content, capsys):
    (tmp_path / f"{NAME}.ipynb").write_text(content, encoding="utf-8")
    progress(tmp_path)
    assert "No notebook of the course was found in" in capsys.readouterr().out
