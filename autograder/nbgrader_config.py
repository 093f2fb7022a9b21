"""nbgrader's configuration for our courses: stock `nbgrader autograde` then grades as we do.

The address that course directories import; the settings are in `nbgrader_parts.configuration`.
A course directory's own nbgrader_config.py needs three lines:

    from autograder.nbgrader_config import configure

    configure(get_config())
"""

from autograder.nbgrader_parts.configuration import configure

if "get_config" in globals():
    # traitlets puts it there when this is a config file
    configure(get_config())  # type: ignore[name-defined]  # noqa: F821
