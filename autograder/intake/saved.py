"""What a student saved in a notebook: outputs as text and PNG pictures, and pasted pictures."""

from __future__ import annotations

import base64
import binascii
import re

from nbformat import NotebookNode

from autograder.intake.text import clean_name, clean_text

LONGEST_TEXT = 100_000
LARGEST_PICTURE = 4_000_000  # characters of base64
MOST_OUTPUTS = 200
MOST_PICTURES = 50

# Kinds of pictures that are pixels and nothing else, and how their bytes begin.
PIXELS = {
    "image/png": (b"\x89PNG",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def saved_outputs(outputs: object) -> list[NotebookNode]:
    """Saved outputs reduced to text and PNG pictures, in order."""
    kept: list[NotebookNode] = []
    for output in outputs if isinstance(outputs, list) else []:
        if len(kept) >= MOST_OUTPUTS:
            break
        if not isinstance(output, dict):
            continue
        kind = output.get("output_type")
        if kind == "stream":
            kept.append(_stream(_joined(output.get("text"))))
        elif kind == "error":
            lines = output.get("traceback")
            text = "\n".join(filter(_is_text, lines)) if isinstance(lines, list) else ""
            said = f"{_joined(output.get('ename'))}: {_joined(output.get('evalue'))}"
            kept.append(_stream(text or said))
        elif kind in ("display_data", "execute_result") and isinstance(output.get("data"), dict):
            data = _data(output["data"])
            if data:
                # Always display_data: a student's execute_result must never be read as points.
                kept.append(NotebookNode(output_type="display_data", metadata={}, data=data))
    return kept


def pictures(attachments: object) -> NotebookNode:
    """Pictures pasted into a text cell, if they are made of pixels; no other attachments."""
    kept = NotebookNode()
    for name, bundle in attachments.items() if isinstance(attachments, dict) else ():
        if len(kept) >= MOST_PICTURES:
            break
        if not isinstance(bundle, dict):
            continue
        good = {kind: text for kind, text in bundle.items() if is_picture(text, kind)}
        if good and clean_name(name):
            kept[clean_name(name)] = NotebookNode(good)
    return kept


def _stream(text: str) -> NotebookNode:
    # Standard output even for an error: nbgrader gives 0 for a cell with text on stderr.
    return NotebookNode(output_type="stream", name="stdout", text=_shown(text))


def _shown(text: str) -> str:
    return clean_text(ANSI.sub("", text[: 2 * LONGEST_TEXT]))[:LONGEST_TEXT]


def _data(data: dict) -> NotebookNode:
    kept = NotebookNode()
    picture = _joined(data.get("image/png")).replace("\n", "")
    if is_picture(picture, "image/png"):
        kept["image/png"] = picture
    text = _joined(data.get("text/plain"))
    if text:
        kept["text/plain"] = _shown(text)
    return kept


def is_picture(text: object, kind: str) -> bool:
    """Whether a text is the base64 of a picture of this kind, a kind made only of pixels."""
    if not isinstance(text, str) or kind not in PIXELS or not 0 < len(text) <= LARGEST_PICTURE:
        return False
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return content.startswith(PIXELS[kind])


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _joined(value: object) -> str:
    if isinstance(value, list):
        return "".join(filter(_is_text, value))
    return value if isinstance(value, str) else ""
