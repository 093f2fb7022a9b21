"""What a student saved in a notebook: outputs as text and PNG pictures, and pasted pictures."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Literal

from nbformat import NotebookNode

from autograder.intake.text import clean_name, clean_text

LONGEST_TEXT = 100_000
LARGEST_PICTURE = 4_000_000  # characters of base64
MOST_PIXELS = 50_000_000  # of one picture; a few kilobytes can unpack to a browser's whole memory
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
    if not content.startswith(PIXELS[kind]):
        return False
    width, height = pixels(content) or (0, 0)
    # a JPEG may give its size only at its end; the others show nothing without it
    return width * height <= MOST_PIXELS and (width * height > 0 or kind != "image/jpeg")


def pixels(content: bytes) -> tuple[int, int] | None:
    """Width and height from the head of a picture; None where it has no such head."""
    if content.startswith(b"\x89PNG") and content[12:16] == b"IHDR":
        return _number(content[16:20], "big"), _number(content[20:24], "big")
    if content.startswith(b"GIF8"):
        return _number(content[6:8], "little"), _number(content[8:10], "little")
    if content.startswith(b"RIFF"):
        return _pixels_of_webp(content)
    return _pixels_of_jpeg(content)


def _number(content: bytes, order: Literal["big", "little"]) -> int:
    return int.from_bytes(content, order)


def _pixels_of_webp(content: bytes) -> tuple[int, int] | None:
    form = content[8:16]
    if form == b"WEBPVP8X":
        return _number(content[24:27], "little") + 1, _number(content[27:30], "little") + 1
    if form == b"WEBPVP8L":
        both = _number(content[21:25], "little")
        return (both & 0x3FFF) + 1, (both >> 14 & 0x3FFF) + 1
    if form == b"WEBPVP8 ":
        width, height = content[26:28], content[28:30]
        return _number(width, "little") & 0x3FFF, _number(height, "little") & 0x3FFF
    return None


def _pixels_of_jpeg(content: bytes) -> tuple[int, int] | None:
    """Walk through the segments up to the one that holds the size."""
    place = 2
    while place + 9 <= len(content) and content[place] == 0xFF:
        if content[place + 1] == 0xFF:  # any number of them may come before a segment
            place += 1
            continue
        kind, length = content[place + 1], _number(content[place + 2 : place + 4], "big")
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = content[place + 5 : place + 7], content[place + 7 : place + 9]
            return _number(width, "big"), _number(height, "big")
        place += 2 + max(length, 2)
    return None


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _joined(value: object) -> str:
    if isinstance(value, list):
        return "".join(filter(_is_text, value))
    return value if isinstance(value, str) else ""
