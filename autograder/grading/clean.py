"""Makes a student's notebook safe to show: text and PNG stay, everything that could run goes.

A notebook is a web page once formgrader, feedback or the report shows it, and then a script in
a student's markdown or saved output would run with the instructor's login.
"""

from __future__ import annotations

import base64
import binascii
import re

from nbformat import NotebookNode
from nbformat.v4 import new_output

OWN_OUTPUT = "[Saved by the student, not run by the grader]\n"
MAX_TEXT = 100_000
MAX_PNG_BYTES = 4 << 20
MAX_OUTPUTS = 200
CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEPT_CELL_METADATA = ("nbgrader", "tags", "id", "deletable", "editable")
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

# A word joiner (it has no width) keeps "<b" from being a tag for any parser, and unlike an
# entity it also reads well inside code and formulas.
JOINER = "\u2060"
TAG_START = re.compile(r"<(?=[A-Za-z/!?])")
HIDDEN_LETTER = re.compile(r"&(?=#|colon;|tab;|newline;|lpar;|sol;|bsol;)", re.IGNORECASE)
SCRIPT_ADDRESS = re.compile(r"(javascript|vbscript|data)(?=\s*:)", re.IGNORECASE)
TEX_THAT_REACHES_OUT = re.compile(
    r"\\(href|url|require|class|cssId|style|unicode|html\w*|includegraphics)", re.IGNORECASE
)


def harmless_markdown(text: str) -> str:
    """Markdown that shows what the student wrote and holds no HTML, script link or TeX link."""
    text = TAG_START.sub("<" + JOINER, text)
    text = HIDDEN_LETTER.sub("&" + JOINER, text)
    text = SCRIPT_ADDRESS.sub(lambda found: found[1] + JOINER, text)
    return TEX_THAT_REACHES_OUT.sub(lambda found: "\\" + JOINER + found[1], text)


def as_text(value: object) -> str:
    """Notebook text may be a string or a list of lines; anything else is shown as it prints."""
    if isinstance(value, list):
        value = "".join(str(line) for line in value)
    return str(value)[:MAX_TEXT]


def harmless_png(value: object) -> str | None:
    """The picture, decoded and encoded again, or None if it is no PNG."""
    try:
        picture = base64.b64decode("".join(as_png_text(value).split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    if not picture.startswith(b"\x89PNG\r\n\x1a\n") or len(picture) > MAX_PNG_BYTES:
        return None
    return base64.b64encode(picture).decode()


def as_png_text(value: object) -> str:
    return "".join(str(line) for line in value) if isinstance(value, list) else str(value)


def harmless_output(output: dict) -> NotebookNode | None:
    """One saved output reduced to text and PNG; None if nothing is left of it."""
    kind = output.get("output_type")
    if kind == "stream":
        return new_output("stream", name="stdout", text=as_text(output.get("text", "")))
    if kind == "error":
        lines = output.get("traceback") or [f"{output.get('ename')}: {output.get('evalue')}"]
        return new_output("stream", name="stdout", text=as_text("\n".join(map(str, lines))))
    if kind not in ("display_data", "execute_result"):
        return None
    data, kept = output.get("data"), {}
    if not isinstance(data, dict):
        return None
    picture = harmless_png(data["image/png"]) if "image/png" in data else None
    if picture is not None:
        kept["image/png"] = picture
    if "text/plain" in data:
        kept["text/plain"] = as_text(data["text/plain"])
    # never an execute_result: nbgrader would read the first one in a test cell as points
    return new_output("display_data", data=kept) if kept else None


def harmless_outputs(outputs: object) -> list[NotebookNode]:
    """What a student's cell had saved, marked as the student's own."""
    kept = []
    for output in outputs[:MAX_OUTPUTS] if isinstance(outputs, list) else []:
        if isinstance(output, dict) and (clean := harmless_output(output)) is not None:
            kept.append(clean)
    if not kept or kept[0].get("text", "").startswith(OWN_OUTPUT):
        return kept
    return [new_output("stream", name="stdout", text=OWN_OUTPUT), *kept]


def is_graded(cell: dict) -> bool:
    own = cell.get("metadata", {}).get("nbgrader")
    return isinstance(own, dict) and bool(own.get("grade"))


def harmless_tags(value: object) -> list[str]:
    tags = value if isinstance(value, list) else []
    return [tag for tag in tags if isinstance(tag, str) and CELL_ID.fullmatch(tag)]


def clean_notebook(notebook: NotebookNode, trusted: frozenset[str] = frozenset()) -> NotebookNode:
    """Clean every cell in place. `trusted` holds the markdown that came from the instructor."""
    for cell in notebook.cells:
        cell.metadata = NotebookNode(
            {name: cell.metadata[name] for name in KEPT_CELL_METADATA if name in cell.metadata}
        )
        if "tags" in cell.metadata:
            cell.metadata.tags = harmless_tags(cell.metadata.tags)
        for holder, key in ((cell, "id"), (cell.metadata, "id")):
            if key in holder and not CELL_ID.fullmatch(str(holder[key])):
                del holder[key]
        cell.pop("attachments", None)
        cell.source = cell.source if isinstance(cell.source, str) else as_text(cell.source)
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [] if is_graded(cell) else harmless_outputs(cell.get("outputs"))
        elif cell.source not in trusted:
            cell.source = harmless_markdown(cell.source)
    notebook.metadata = NotebookNode({name: NotebookNode(value) for name, value in KERNEL.items()})
    return notebook
