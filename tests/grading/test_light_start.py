"""Grading imports what it needs, and no server: most of the time of a small class is start-up."""

import subprocess
import sys

import pytest
from nbgrader.plugins import LateSubmissionPlugin
from traitlets.config import Config

from autograder.instructor.late import LateDays
from autograder.nbgrader_parts.late import late_plugin

HEAVY = ("jupyter_server", "nbconvert", "jupytext", "nbgrader.apps", "nbgrader.server_extensions")


def run(code: str) -> str:
    line = [sys.executable, "-c", code]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()


def test_grading_a_class_imports_no_server_and_no_converter():
    code = f"""
import sys
from autograder.grading.light_start import without_servers
without_servers()
import autograder.whole_class.grade_class
print([name for name in {HEAVY} if name in sys.modules])
"""
    assert run(code) == "[]"


def test_the_command_starts_without_servers():
    code = f"""
import sys
from click.testing import CliRunner
from autograder.box import Box
from autograder.cli import main
Box.start = Box.close = lambda self: None
done = CliRunner().invoke(main, ["grade", "no_such_assignment", "."])
print("no assignment called" in done.output, [name for name in {HEAVY} if name in sys.modules])
"""
    assert run(code) == "True []"


@pytest.mark.thorough
def test_nbgrader_is_whole_enough_for_a_courses_own_configuration():
    code = """
from autograder.grading.light_start import without_servers
without_servers()
import nbgrader
from nbgrader import utils
from nbgrader.converters import GenerateAssignment
print(nbgrader.__version__, utils.__name__, GenerateAssignment.__name__)
"""
    import nbgrader

    assert run(code) == f"{nbgrader.__version__} nbgrader.utils GenerateAssignment"


@pytest.mark.thorough
def test_what_is_imported_already_stays():
    code = """
import nbgrader
from autograder.grading.light_start import without_servers
without_servers()
print(hasattr(nbgrader, "load_formgrader"))
"""
    assert run(code) == "True"


@pytest.mark.parametrize("section", ["AssignLatePenalties", "NbGraderPreprocessor"])
def test_a_plugin_for_late_days_is_found_wherever_the_course_names_it(section):
    config = Config()
    assert type(late_plugin(config)) is type(late_plugin(None)) is LateSubmissionPlugin
    config[section].plugin_class = "autograder.instructor.late.LateDays"
    assert type(late_plugin(config)) is LateDays
