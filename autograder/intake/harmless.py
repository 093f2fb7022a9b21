"""Makes a student's text and saved outputs safe to show in a browser."""

from __future__ import annotations

import base64
import binascii
import html
import re

from nbformat import NotebookNode

LONGEST_TEXT = 100_000
LARGEST_IMAGE = 4_000_000
MOST_OUTPUTS = 200

# nbgrader would cut a student's cell at these words, or fail for want of the second one.
DELIMITERS = re.compile(r"(BEGIN|END) (HIDDEN TESTS|MARK SCHEME)")
TAG = re.compile(r"<(?=[A-Za-z/!?])")
# MathJax commands that make links or load code.
ACTIVE_MATH = re.compile(r"\\(href|url|class|cssId|style|require|html\w*|data|include\w*)\b")
LINK = re.compile(r"(\](?:\(|:)\s*)(<?\s*([^\s)>]+))")
# What begins with # leads to a place in the same page, whatever follows.
SAFE_LINK = re.compile(
    r"#|https?:|mailto:|attachment:|data:image/(?:png|jpe?g|gif);base64,|[^:]*$", re.I
)
INVISIBLE = {number: None for number in range(32) if chr(number) not in "\n\t"}
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def clean_text(text: str) -> str:
    """Text that can be stored as UTF-8, with one kind of line end and nothing invisible."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.translate(INVISIBLE)


def harmless_code(source: str) -> str:
    """Code is shown as text, so only nbgrader's own marks must go."""
    return DELIMITERS.sub(r"\1-\2", source)


def harmless_markdown(source: str) -> str:
    """Markdown in which no HTML tag, script link or active formula is left.

    A space after `<` keeps `a < b`, formulas and code readable, and no browser sees a tag there.
    Doing it again changes nothing: a text is cleaned more than once on its way, and an answer
    must not look changed for that.
    """
    source = TAG.sub("< ", harmless_code(source))
    source = ACTIVE_MATH.sub(r"\\text{\1}", source)
    return LINK.sub(_harmless_link, source)


def _harmless_link(found: re.Match) -> str:
    target = html.unescape(re.sub(r"\\(?=\W)", "", found[2])).lstrip("<")
    target = "".join(letter for letter in target if letter.isprintable() and letter != " ")
    # Without the `<` and the blank that it may begin with: they would end the new link early.
    return found[0] if SAFE_LINK.match(target) else f"{found[1]}#link-removed-{found[3]}"


def harmless_outputs(outputs: object) -> list[NotebookNode]:
    """Saved outputs reduced to text and PNG pictures, as they were, in order."""
    kept: list[NotebookNode] = []
    for output in outputs if isinstance(outputs, list) else []:
        if len(kept) >= MOST_OUTPUTS:
            break
        if not isinstance(output, dict):
            continue
        kind = output.get("output_type")
        if kind == "stream":
            text = _joined(output.get("text"))
            kept.append(_stream(text))
        elif kind == "error":
            text = _joined([str(line) + "\n" for line in _as_list(output.get("traceback"))])
            kept.append(_stream(text or f"{output.get('ename')}: {output.get('evalue')}"))
        elif kind in ("display_data", "execute_result") and isinstance(output.get("data"), dict):
            data = _data(output["data"])
            if data:
                # Always display_data: a student's execute_result must never be read as points.
                kept.append(NotebookNode(output_type="display_data", metadata={}, data=data))
    return kept


def harmless_attachments(attachments: object) -> NotebookNode | None:
    """Pictures pasted into a text cell: PNG and JPEG only."""
    kept = {}
    for name, bundle in attachments.items() if isinstance(attachments, dict) else ():
        if not isinstance(bundle, dict):
            continue
        good = {
            kind: value
            for kind, value in bundle.items()
            if kind in ("image/png", "image/jpeg") and isinstance(value, str) and _is_base64(value)
        }
        if good:
            kept[str(name)] = good
    return NotebookNode(kept) if kept else None


def _stream(text: str) -> NotebookNode:
    # Standard output even for an error: nbgrader gives 0 for a cell with text on stderr.
    text = clean_text(ANSI.sub("", text))[:LONGEST_TEXT]
    return NotebookNode(output_type="stream", name="stdout", text=text)


def _data(data: dict) -> NotebookNode:
    kept = NotebookNode()
    picture = _joined(data.get("image/png")).replace("\n", "")
    if picture and len(picture) <= LARGEST_IMAGE and _is_png(picture):
        kept["image/png"] = picture
    text = _joined(data.get("text/plain"))
    if text:
        kept["text/plain"] = clean_text(ANSI.sub("", text))[:LONGEST_TEXT]
    return kept


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _is_png(text: str) -> bool:
    return _is_base64(text) and base64.b64decode(text[:16]).startswith(b"\x89PNG")


def _as_list(value: object) -> list:
    return value if isinstance(value, list) else []


def _joined(value: object) -> str:
    if isinstance(value, list):
        return "".join(str(part) for part in value)
    return value if isinstance(value, str) else ""
