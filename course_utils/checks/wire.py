"""How questions and answers travel between the judge and the place where a student's code runs.

A frame is: a magic word, the length of a JSON header, the header, then the raw bytes of each
array one after the other, and nothing after that. There is no pickle: a frame from a student's
process can only ever become numbers and short strings.
"""

import json
import math
import struct
from dataclasses import dataclass, field

import numpy as np

MAGIC = b"ATTN\x01"
MAX_HEADER = 4 << 20
MAX_FRAME = 256 << 20
MAX_DIMENSIONS = 8
DTYPES = ("float64", "float32", "int64", "int32", "bool", "uint8")
STATUSES = ("ok", "missing", "error")
TYPES = {name: np.dtype(name) for name in DTYPES}
NAMES = {dtype: name for name, dtype in TYPES.items()}


class BadFrame(ValueError):
    """Bytes that are not a frame of ours; whoever sent them gets no points for them."""


@dataclass(frozen=True)
class Ask:
    """One thing to ask of a student's object: which probe, and what it needs.

    `options` holds numbers, strings, None, lists, dicts and NumPy arrays. Every number the
    verdict relies on is in here, so it is drawn where the verdict is reached.
    """

    label: str
    probe: str
    options: dict


@dataclass(frozen=True)
class Reply:
    """What came back: arrays by name, short notes, and an error if the student's code raised."""

    status: str
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    error: str = ""


def name_of(dtype: np.dtype) -> str:
    """NumPy's name for a type; NumPy itself puts it together again each time."""
    return NAMES.get(dtype) or dtype.name


def pack_request(asks: dict[str, list[Ask]]) -> bytes:
    """The questions to each exercise, as one frame."""
    return _pack(
        {
            exercise: [{"label": a.label, "probe": a.probe, "options": a.options} for a in batch]
            for exercise, batch in asks.items()
        }
    )


def unpack_request(frame: bytes) -> dict[str, list[Ask]]:
    return {exercise: [Ask(**a) for a in batch] for exercise, batch in _unpack(frame).items()}


def pack_response(replies: dict[str, list[Reply]]) -> bytes:
    return _pack({exercise: [vars(r) for r in batch] for exercise, batch in replies.items()})


def unpack_response(frame: bytes) -> dict[str, list[Reply]]:
    """The replies in a frame. Nothing in it is trusted: every part is checked or refused."""
    content = _unpack(frame)
    if not isinstance(content, dict):
        raise BadFrame("The frame holds no table of exercises.")
    return {
        str(exercise): [_reply(item) for item in _as(list, batch)]
        for exercise, batch in content.items()
    }


def _reply(item) -> Reply:
    item = _as(dict, item)
    if set(item) != {"status", "arrays", "notes", "error"} or item["status"] not in STATUSES:
        raise BadFrame("A reply in the frame has the wrong fields.")
    arrays = _as(dict, item["arrays"])
    notes = _as(dict, item["notes"])
    if not all(isinstance(a, np.ndarray) for a in arrays.values()):
        raise BadFrame("A reply names something that is not an array.")
    if not all(isinstance(n, str) for n in [*notes.values(), item["error"]]):
        raise BadFrame("A reply has a note that is not text.")
    return Reply(item["status"], arrays, notes, item["error"])


def _as(kind, value):
    if not isinstance(value, kind):
        raise BadFrame(f"The frame has a {type(value).__name__} where a {kind.__name__} belongs.")
    return value


def _pack(content) -> bytes:
    arrays: list[np.ndarray] = []

    def shelve(value):
        if isinstance(value, np.ndarray):
            name = name_of(value.dtype)
            if name not in DTYPES:
                raise TypeError(f"Arrays of type {value.dtype} do not travel.")
            arrays.append(np.ascontiguousarray(value, TYPES[name]))  # in this machine's byte order
            return {"__array__": [name, list(value.shape)]}
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, dict):
            return {str(k): shelve(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [shelve(v) for v in value]
        return value

    header = json.dumps(shelve(content)).encode()
    return b"".join([MAGIC, struct.pack("<Q", len(header)), header, *(a.tobytes() for a in arrays)])


def _unpack(frame: bytes):
    start = len(MAGIC) + 8
    if len(frame) > MAX_FRAME:
        raise BadFrame("The frame is too long.")
    if len(frame) < start or frame[: len(MAGIC)] != MAGIC:
        raise BadFrame("The frame does not start with the magic word.")
    (length,) = struct.unpack("<Q", frame[len(MAGIC) : start])
    if length > min(MAX_HEADER, len(frame) - start):
        raise BadFrame("The frame's header is longer than allowed.")
    try:
        header = json.loads(frame[start : start + length])
    except (ValueError, RecursionError) as problem:
        raise BadFrame(f"The frame's header is not JSON: {problem}") from None
    position = start + length

    def restore(value):
        nonlocal position
        kind = type(value)  # JSON gives these types and no others
        if kind is list:
            return [restore(v) for v in value]
        if kind is not dict:
            return value
        if "__array__" not in value:
            return {k: restore(v) for k, v in value.items()}
        dtype, shape = _array_header(value)
        size = math.prod(shape) * dtype.itemsize
        if position + size > len(frame):
            raise BadFrame("The frame ends before its last array does.")
        # A copy, so that the array is writable and aligned, and the frame can be freed.
        array = np.frombuffer(frame, dtype, math.prod(shape), position).reshape(shape).copy()
        position += size
        return array

    try:
        content = restore(header)
    except RecursionError:
        raise BadFrame("The frame's header is nested too deeply.") from None
    if position != len(frame):
        raise BadFrame("There are bytes after the end of the frame.")
    return content


def _array_header(value: dict) -> tuple[np.dtype, list[int]]:
    try:
        name, shape = value["__array__"]
    except (TypeError, ValueError):
        raise BadFrame("An array in the frame has no type and shape.") from None
    plain = isinstance(shape, list) and all(type(n) is int and 0 <= n < 1 << 32 for n in shape)
    if len(value) != 1 or name not in DTYPES or not plain or len(shape) > MAX_DIMENSIONS:
        raise BadFrame("An array in the frame has a type or shape that is not allowed.")
    return TYPES[name], shape
