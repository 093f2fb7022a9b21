"""What makes nbgrader's own generate_feedback write our pages; it imports none of what they need."""

from pathlib import Path

from traitlets.config import Config

PAGES = Path(__file__).with_name("pages")


def configure(c: Config) -> None:
    """Our page in nbgrader's own generate_feedback, with hidden tests and rubrics taken out first.

    In a course's nbgrader_config.py it makes formgrader's button write the same pages.
    """
    c.GenerateFeedback.preprocessors = [
        "nbgrader.preprocessors.ClearHiddenTests",
        "nbgrader.preprocessors.ClearMarkScheme",
        "nbgrader.preprocessors.GetGrades",
        "autograder.instructor.feedback.FeedbackSheet",
    ]
    c.ClearMarkScheme.enforce_metadata = False
    c.ClearHiddenTests.enforce_metadata = False
    # An exporter of our own: formgrader's pages are made by nbgrader's, with its template.
    c.GenerateFeedback.exporter_class = "autograder.instructor.feedback.FeedbackPage"
    c.FeedbackPage.template_name = "feedback"
    c.FeedbackPage.extra_template_basedirs = [str(PAGES)]
