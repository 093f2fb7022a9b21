"""What formgrader's pages are made with: nbconvert's filters, with the student's text sanitised.

Formgrader renders the stored notebook with nbconvert's HTMLExporter and its filters, in Jupyter's
own origin: a script there could do all that the instructor can. These filters take their place
(see `nbgrader_parts.configuration`). MathJax reads the instructor's text only; a student's formulas are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from autograder.grading.clean import GIVEN
from autograder.instructor import fragments


@pass_context
def markdown2html(context: Context, source: str) -> str:
    """A cell's text: nbconvert's rendering for the instructor's own, sanitised for all others."""
    cell = context.get("cell") or {}
    if is_given(cell) and source == cell.get("source"):
        return str(markdown2html_mistune(source))
    answer = fragments.written(source, cell.get("attachments"))
    return f'<div class="tex2jax_ignore">{answer}</div>'


def highlight_code(source: str, language: str | None = None, metadata: object = None) -> str:
    """A cell's code, which MathJax leaves alone."""
    return f'<div class="tex2jax_ignore">{fragments.code(source)}</div>'


def clean_html(element: str | bytes) -> str:
    """For raw cells, which nbconvert also cleans."""
    text = element.decode("utf-8", "replace") if isinstance(element, bytes) else str(element)
    return fragments.cleaned(text)


def is_given(cell: Mapping[str, Any]) -> bool:
    """Whether the text of a stored cell is the instructor's: marked by us, or locked by nbgrader."""
    metadata = cell.get("metadata", {})
    marks = metadata.get("nbgrader", {})
    locked = marks.get("locked") and marks.get("grade_id") and not marks.get("solution")
    return metadata.get(GIVEN) is True or bool(locked)
