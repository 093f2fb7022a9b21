"""What travels to and from the box: a job, its limits and its outcome."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """What one submission may use. Honest answers need about a tenth of each.

    wall_seconds applies to one run in the box, together_seconds to all runs of a submission. There
    is a second run only if the first one failed: then each answer is tried alone and has
    alone_seconds, until it is known how much time the others leave.
    """

    wall_seconds: float = 40.0
    together_seconds: float = 120.0
    alone_seconds: float = 4.0
    cpu_seconds: int = 15
    memory_bytes: int = 2560 * MEGABYTE
    processes: int = 64
    file_bytes: int = 64 * MEGABYTE
    output_bytes: int = 32 * MEGABYTE


@dataclass(frozen=True)
class Job:
    """The code cells of one submission, in order, then the packed probe request.

    answers: the exercise that each cell answers, or an empty string if it answers none.
    """

    cells: tuple[str, ...]
    request: bytes
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What came back from one job.

    status: "ok" (there is a frame), "timeout", "memory", "crashed", "output" (more bytes than
    allowed), "killed" (from outside, with its limits not used up: the box tries such a job
    again) or "refused" (the box itself could not run this job).
    frame: raw bytes, still untrusted; only course_utils.checks.wire may read them.
    message: a sentence for the person who reads the grade; empty when all went well.
    printed: what the submission printed, cut to a readable length.
    """

    status: str
    frame: bytes | None
    message: str
    printed: str


def pack_job(job: Job) -> bytes:
    """A length, the cells as JSON, then the request: the child needs only two slices to read it."""
    answers = job.answers or ("",) * len(job.cells)
    cells = json.dumps(list(zip(job.cells, answers, strict=True))).encode()
    return struct.pack("<Q", len(cells)) + cells + job.request
