"""`make test` is quiet when all is well, and shows everything of a step that failed."""

import sys
from fnmatch import fnmatch

import pytest

from tools import run_tests


def step(name: str, said: str, code: int = 0) -> tuple[str, list[str]]:
    return name, [sys.executable, "-c", f"import sys; print({said!r}); sys.exit({code})"]


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    def run_steps(*steps) -> tuple[int, str]:
        monkeypatch.setattr(run_tests, "LOGS", tmp_path / "steps")
        monkeypatch.setattr(run_tests, "steps", lambda everything: list(steps))
        with pytest.raises(SystemExit) as ended:
            run_tests.main()
        return ended.value.code, capsys.readouterr().out

    return run_steps


def test_a_step_that_passes_prints_its_time_and_none_of_its_noise(run, tmp_path):
    code, said = run(step("the grader's own test", "KeyboardInterrupt caught in kernel"))
    assert code == 0
    assert "KeyboardInterrupt" not in said
    assert "passed" in said and "cores  the grader's own test" in said
    assert said.endswith("\n1 passed, 0 failed\n")
    kept = tmp_path / "steps" / "the_grader_s_own_test.log"
    assert "KeyboardInterrupt caught in kernel" in kept.read_text()


def test_tests_that_were_left_out_and_pytests_closing_line_are_shown(run):
    pytest_said = (
        "..s\n12.1s call tests/x.py\nautograder/cli.py 98 2 98 7-8\n(summary) 900 2 99\n"
        "SKIPPED [3] x.py: needs Debian's chromium\n"
        "1692 passed, 3 skipped in 812.33s (0:13:32)"
    )
    _, said = run(step("tests", pytest_said))
    assert "\nSKIPPED [3] x.py: needs Debian's chromium\n" in said
    assert "\n1692 passed, 3 skipped in 812.33s (0:13:32)\n" in said
    assert "\n(summary) 900 2 99\n" in said
    assert "12.1s call" not in said and "98 7-8" not in said


def test_a_step_that_fails_shows_its_output_and_the_next_steps_still_run(run):
    code, said = run(step("lint", "F401 unused import", 1), step("format", "all formatted"))
    assert code == 1
    assert "F401 unused import" in said and "FAILED" in said
    assert "all formatted" not in said
    assert said.endswith("Failed: lint.\n1 passed, 1 failed\n")


def test_two_steps_run_side_by_side_and_the_tests_after_them(run, tmp_path):
    def meets(mine: str, other: str) -> tuple[str, list[str]]:
        wait = "import pathlib, time\nhere = pathlib.Path({!r})\n(here / {!r}).touch()\n"
        wait += "while not (here / {!r}).exists(): time.sleep(0.01)"
        return mine, [sys.executable, "-c", wait.format(str(tmp_path), mine, other)]

    last = f"import pathlib; assert len(list(pathlib.Path({str(tmp_path)!r}).glob('?'))) == 2"
    code, said = run(meets("a", "b"), meets("b", "a"), ("tests", [sys.executable, "-c", last]))
    assert (code, said.splitlines()[-1]) == (0, "3 passed, 0 failed")


def test_thorough_tests_are_left_to_make_test_all():
    (_, few), (_, all_of_them) = run_tests.steps()[-1], run_tests.steps(True)[-1]
    assert "-m not thorough" in " ".join(map(str, few))
    assert "not thorough" not in all_of_them


def test_make_test_leaves_no_step_of_make_test_all_out():
    assert [name for name, _ in run_tests.steps()] == [name for name, _ in run_tests.steps(True)]


def test_no_folder_of_tests_is_passed_over(request):
    """pytest leaves out folders by their names, "build" among them, unless it is told otherwise."""
    passed_over = request.config.getini("norecursedirs")
    for path in (run_tests.ROOT / "tests").rglob("test_*.py"):
        folders = path.relative_to(run_tests.ROOT).parts[:-1]
        assert not any(fnmatch(name, pattern) for name in folders for pattern in passed_over), path
