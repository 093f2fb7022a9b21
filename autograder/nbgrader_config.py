"""nbgrader's configuration for our courses: stock `nbgrader autograde` then grades as we do.

A course directory's own nbgrader_config.py needs three lines:

    from autograder.nbgrader_config import configure

    configure(get_config())
"""

STEPS = "autograder.grading.preprocessors"


def configure(c) -> None:
    """Put our steps into nbgrader's pipeline; everything else stays as nbgrader has it."""
    c.Autograde.sanitize_preprocessors = [
        f"{STEPS}.KeepStudentsOutputs",
        "nbgrader.preprocessors.DeduplicateIds",
        "nbgrader.preprocessors.OverwriteKernelspec",
        "nbgrader.preprocessors.OverwriteCells",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.Autograde.autograde_preprocessors = [
        f"{STEPS}.Execute",
        "nbgrader.preprocessors.IgnorePattern",
        "nbgrader.preprocessors.LimitOutput",
        "nbgrader.preprocessors.SaveAutoGrades",
        f"{STEPS}.WriteComments",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    # what a release is made with, so that nbgrader's own command makes the same one
    from pathlib import Path

    from autograder.build import nbgrader_config

    for section, values in nbgrader_config(Path(".")).items():
        if section != "CourseDirectory":
            c[section].update(values)
    # what students get back: rubrics and hidden tests are taken out first
    from autograder.instructor import feedback_settings

    feedback_settings.configure(c)


if "get_config" in globals():
    configure(get_config())  # noqa: F821 - traitlets puts it there when this is a config file
