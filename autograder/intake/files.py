"""Opens folders, notebooks and zip files, and trusts none of them.

Finding the files of a class and reading them are two steps: a thousand notebooks with their plots
need not be in memory together. What is in a zip is unpacked into our own folder first.

A file's name here is its whole path, zips included: `s042/hw.zip/work/03_attention.ipynb`.
Only the first part was written by the learning system or the instructor (see `whose`).
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from autograder.intake.text import clean_name

MEGABYTE = 1 << 20
LARGEST_FILE = 64 * MEGABYTE
LARGEST_ZIP = 128 * MEGABYTE  # unpacked, in all zips of one student
MOST_ENTRIES = 2_000  # in all zips of one student
MOST_ENTRIES_OF_CLASS = 500_000
# A notebook full of one repeated number shrinks about a hundredfold; a bomb a thousandfold.
LARGEST_RATIO = 250
DEEPEST_ZIP = 2
DEEPEST_FOLDER = 40

METADATA = "submission_metadata.yml"  # Gradescope's
TIMESTAMP = "timestamp.txt"  # nbgrader's
READ_ALSO = (METADATA, TIMESTAMP)
JUNK = ("__MACOSX", ".ipynb_checkpoints", ".git", "__pycache__")
JUNK_FILES = (".DS_Store", "Thumbs.db", "desktop.ini")
CENTRAL = b"PK\x01\x02"  # begins every entry in a zip's table of contents


@dataclass(frozen=True)
class Entry:
    """One file that was handed in.

    `path` is where its bytes are, None for a file that is not read; `data` holds them once read.
    """

    name: str
    path: Path | None = None
    problem: str = ""
    data: bytes | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.name.split("/"))

    @property
    def is_about_others(self) -> bool:
        """Whether it is a file in which a system records who handed in and when."""
        return self.parts[-1] in READ_ALSO and not self.problem

    def read(self) -> Entry:
        """The same with its bytes, or with the reason why they can't be read."""
        if self.path is None:
            return self
        try:
            return replace(self, data=self.path.read_bytes(), path=None)
        except OSError as error:
            return replace(self, path=None, problem=_unreadable(self.name, error))

    def size(self) -> int:
        with contextlib.suppress(OSError):
            return self.path.stat().st_size if self.path is not None else len(self.data or b"")
        return 0


class NoRoom(RuntimeError):
    """A zip can't be unpacked here; the message explains where and why."""


@dataclass
class Allowance:
    """How much may still be unpacked for one student, so that nobody takes the others' space."""

    entries: int = MOST_ENTRIES
    size: int = field(default_factory=lambda: LARGEST_ZIP)


class Zip(Protocol):
    """A zip that was opened, here or in another process."""

    size: int
    infos: list[zipfile.ZipInfo]

    def read(self, info: zipfile.ZipInfo, most: int) -> bytes: ...


class ZipHere:
    """A zip that this process reads. Raises whatever a damaged one makes the library raise."""

    def __init__(self, stream: IO[bytes]):
        self.size = stream.seek(0, os.SEEK_END)
        self.archive = zipfile.ZipFile(stream)
        self.infos = self.archive.infolist()

    def read(self, info: zipfile.ZipInfo, most: int) -> bytes:
        with self.archive.open(info) as packed:
            return packed.read(most)


@contextlib.contextmanager
def open_zip(path: Path) -> Iterator[Zip]:
    with path.open("rb") as stream:
        yield ZipHere(stream)


def unzip(data: bytes, name: str, depth: int, allowance: Allowance) -> list[Entry]:
    """The files in a student's zip, with their bytes, within the student's allowance."""
    found = list(_zip_of_student(data, name, depth, allowance))
    return found or [Entry(name, problem=f"{PurePosixPath(name).name} contains no files.")]


@dataclass(frozen=True)
class Opening:
    """Where the files from zips go (None: they stay in memory), and who opens the zips."""

    scratch: Path | None
    unzip: Callable[[bytes, str, int, Allowance], list[Entry]] = unzip  # a student's
    open_zip: Callable[[Path], AbstractContextManager[Zip]] = open_zip  # a class's

    def keep(self, name: str, data: bytes) -> Entry:
        if self.scratch is None:
            return Entry(name, data=data)
        return Entry(name, _unpacked(data, self.scratch))

    def unpack(self, data: bytes, name: str, depth: int, own: Allowance) -> Iterator[Entry]:
        for entry in self.unzip(data, name, depth, own):
            yield entry if entry.data is None else self.keep(entry.name, entry.data)


def open_entries(path: Path, opening: Opening) -> Iterator[Entry]:
    """All files in a folder or a zip, or the one file itself, names relative to it.

    The folder for what comes out of zips is the caller's, who removes it.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist. Give a folder, a notebook or a zip file.")
    if not path.is_dir():
        yield from (
            _zip_of_class(path, opening)
            if _is_zip(path.name)
            else _file(path, name_of(path.name), opening, Allowance())
        )
        return
    inside = [child for child in path.iterdir() if child.name not in (*JUNK, *JUNK_FILES)]
    if len(inside) == 1 and _is_zip(inside[0].name) and inside[0].is_file():
        yield from _zip_of_class(inside[0], opening)
    else:
        yield from _folder(path, opening)


def name_of(name: str) -> str:
    """The cleaned name of a file or folder; it stays unique even if it isn't UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        name = os.fsencode(name).decode("latin-1")
    return clean_name(name, 255).replace("/", "_") or "unnamed"


def _zip_of_class(path: Path, opening: Opening) -> Iterator[Entry]:
    """A zip from the instructor: its own name means nothing, and the names in it are outermost."""
    if path.is_symlink() or not path.is_file():
        yield from _file(path, name_of(path.name), opening, Allowance())
        return
    name = name_of(path.name)
    with contextlib.ExitStack() as until_the_end:
        try:
            archive = until_the_end.enter_context(opening.open_zip(path))
        except OSError as error:
            yield Entry(name, problem=_unreadable(path.name, error))
        except Exception as error:
            yield Entry(name, problem=_unopened(name, error))
        else:
            yield from _entries(archive, name, "", opening, 1, None)


def _folder(root: Path, opening: Opening) -> Iterator[Entry]:
    """Depth first and without recursion, because folders may be nested a thousand deep."""
    allowances: dict[str, Allowance] = {}
    waiting: list[tuple[Path, tuple[str, ...]]] = [(root, ())]
    while waiting:
        here, parts = waiting.pop()
        name = "/".join(parts)
        try:
            with os.scandir(here) as found:
                children = sorted(found, key=lambda child: child.name)
        except OSError as error:
            yield Entry(name or name_of(root.name), problem=_unreadable(here.name, error))
            continue
        below: list[tuple[Path, tuple[str, ...]]] = []
        for child in children:
            inner = (*parts, name_of(child.name))
            own = allowances.setdefault(inner[0], Allowance())
            if child.is_symlink() or not child.is_dir(follow_symlinks=False):
                if child.name not in JUNK_FILES:
                    yield from _file(Path(child.path), "/".join(inner), opening, own)
            elif len(inner) > DEEPEST_FOLDER:
                yield Entry(
                    "/".join(inner),
                    problem=f"Folders nested more than {DEEPEST_FOLDER} deep are not read.",
                )
            elif child.name not in JUNK:
                below.append((Path(child.path), inner))
        waiting += reversed(below)


def _file(path: Path, name: str, opening: Opening, allowance: Allowance) -> Iterator[Entry]:
    short = PurePosixPath(name).name
    try:
        if path.is_symlink():
            yield Entry(name, problem=f"{short} is a symbolic link, which is not followed.")
        elif not path.is_file():
            yield Entry(name, problem=f"{short} is not an ordinary file.")
        elif not (_is_read(name) or _is_zip(name)):
            yield Entry(name)
        elif path.stat().st_size > LARGEST_FILE:
            yield Entry(name, problem=_too_large(short, path.stat().st_size))
        elif _is_zip(name):
            data = path.read_bytes()
            yield from opening.unpack(data, name, 1, allowance)
        else:
            yield Entry(name, path)
    except OSError as error:
        yield Entry(name, problem=_unreadable(name, error))


def _unreadable(name: str, error: OSError) -> str:
    return f"{name_of(PurePosixPath(name).name)} can't be read: {error.strerror or error}."


def _unopened(name: str, error: Exception) -> str:
    return f"{PurePosixPath(name).name} is not a zip file that can be opened ({error})."


def _zip_of_student(data: bytes, name: str, depth: int, allowance: Allowance) -> Iterator[Entry]:
    listed = data.count(CENTRAL)
    if listed > MOST_ENTRIES:
        yield Entry(name, problem=_too_many(PurePosixPath(name).name, listed, MOST_ENTRIES))
        return
    try:
        archive = ZipHere(io.BytesIO(data))
    except Exception as error:  # the library raises whatever a damaged table of contents leads to
        yield Entry(name, problem=_unopened(name, error))
        return
    yield from _entries(archive, name, f"{name}/", Opening(None), depth, allowance)


def _entries(
    archive: Zip,
    name: str,
    prefix: str,
    opening: Opening,
    depth: int,
    allowance: Allowance | None,
) -> Iterator[Entry]:
    """The files in a zip. Without an allowance it is a class's zip: each student gets their own."""
    short, infos = PurePosixPath(name).name, archive.infos
    if len(infos) > MOST_ENTRIES_OF_CLASS:
        yield Entry(name, problem=_too_many(short, len(infos), MOST_ENTRIES_OF_CLASS))
        return
    if sum(info.compress_size for info in infos) > archive.size:
        yield Entry(
            name,
            problem=f"The entries of {short} overlap, as in a zip bomb: it is not unpacked.",
        )
        return
    allowances = _allowances(infos) if allowance is None else {}
    for info, parts in _worth_a_look(infos):
        own = allowance or allowances[_owner(parts, allowances)]
        yield from _unpack(archive, info, parts, prefix, opening, depth, own)


def _worth_a_look(infos: Sequence[zipfile.ZipInfo]) -> Iterator[tuple[zipfile.ZipInfo, tuple]]:
    for info in infos:
        parts = _parts(info)
        junk = any(part in JUNK for part in parts) or parts[-1] in JUNK_FILES
        if not (info.is_dir() or junk or parts[-1].startswith("._")):
            yield info, parts


def _allowances(infos: Sequence[zipfile.ZipInfo]) -> dict[tuple[str, ...], Allowance]:
    """One allowance per student of a class, by the first folder in which they differ."""
    firsts = Counter(_parts(info)[0] for info in infos)
    depth = 2 if len(firsts) == 1 else 1
    return {key: Allowance() for info in infos for key in [_parts(info)[:depth]]}


def _owner(parts: tuple[str, ...], allowances: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return parts[:2] if parts[:2] in allowances else parts[:1]


def _unpack(
    archive: Zip,
    info: zipfile.ZipInfo,
    parts: tuple[str, ...],
    prefix: str,
    opening: Opening,
    depth: int,
    allowance: Allowance,
) -> Iterator[Entry]:
    inner = "/".join(parts)
    name = prefix + inner
    allowance.entries -= 1
    if allowance.entries < 0:
        if allowance.entries == -1:
            yield Entry(name, problem=_too_many(parts[0], MOST_ENTRIES + 1, MOST_ENTRIES))
        return
    problem = _refusal(info, inner, allowance.size)
    if problem:
        yield Entry(name, problem=problem)
        return
    if not (_is_read(inner) or _is_zip(inner)):
        yield Entry(name)
        return
    room = min(LARGEST_FILE, allowance.size)
    try:
        data = archive.read(info, room + 1)
    except Exception as error:  # whatever a damaged entry makes the library raise
        yield Entry(name, problem=f"{inner} is damaged in the zip file ({error}).")
        return
    allowance.size -= len(data)
    if len(data) > room:
        yield Entry(name, problem=_too_large(inner, len(data)))
    elif not _is_zip(inner):
        yield opening.keep(name, data)
    elif depth >= DEEPEST_ZIP:
        yield Entry(name, problem=f"{inner} is a zip in a zip in a zip, which is refused.")
    else:
        yield from opening.unpack(data, name, depth + 1, allowance)


def _unpacked(data: bytes, scratch: Path) -> Path:
    """Where the bytes are now: under a name that we chose, whatever it is called in the zip."""
    try:
        descriptor, path = tempfile.mkstemp(dir=scratch)
        with open(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        raise NoRoom(f"The zip can't be unpacked into {scratch}: {error.strerror}.") from error
    return Path(path)


def _entry_name(info: zipfile.ZipInfo) -> str:
    """The name of a zip entry; older tools write UTF-8 without declaring it."""
    name = info.filename.replace("\\", "/")
    if not info.flag_bits & 0x800:
        with contextlib.suppress(UnicodeEncodeError, UnicodeDecodeError):
            name = name.encode("cp437").decode("utf-8")
    return name


def _parts(info: zipfile.ZipInfo) -> tuple[str, ...]:
    """The cleaned parts of an entry's name: at least one, and none that leads elsewhere."""
    found = [part for part in _entry_name(info).split("/") if part not in ("", ".", "..")]
    return tuple(name_of(part) for part in found[:DEEPEST_FOLDER]) or ("unnamed",)


def _refusal(info: zipfile.ZipInfo, name: str, left: int) -> str:
    """Why an entry is not unpacked, in a sentence; empty if it is fine."""
    raw = _entry_name(info)
    parts = raw.split("/")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if ".." in parts or raw.startswith("/") or ":" in parts[0][:2]:
        return f"The zip entry {name} points outside its folder, so it was refused."
    if len(parts) > DEEPEST_FOLDER:
        return f"Folders nested more than {DEEPEST_FOLDER} deep are not read."
    if kind == stat.S_IFLNK:
        return f"The zip entry {name} is a symbolic link, so it was refused."
    if kind not in (0, stat.S_IFREG):
        return f"The zip entry {name} is not an ordinary file, so it was refused."
    if info.flag_bits & 0x1:
        return f"The zip entry {name} is protected by a password. Ask for it without one."
    if info.file_size > min(LARGEST_FILE, left) and (_is_read(name) or _is_zip(name)):
        return _too_large(name, info.file_size)
    if info.file_size > MEGABYTE and info.file_size > LARGEST_RATIO * max(info.compress_size, 1):
        return (
            f"The zip entry {name} would grow {info.file_size // max(info.compress_size, 1)} times "
            "when unpacked, like a zip bomb, so it was refused."
        )
    return ""


def _too_large(name: str, size: int) -> str:
    return (
        f"{name} has {size // MEGABYTE} MB. Files over {LARGEST_FILE // MEGABYTE} MB, and more than "
        f"{LARGEST_ZIP // MEGABYTE} MB in one student's zips, are not read. Ask for it again with "
        "its outputs cleared."
    )


def _too_many(name: str, count: int, most: int) -> str:
    return f"{name} contains {count} files; at most {most} can be read."


def _is_zip(name: str) -> bool:
    return name.lower().endswith(".zip")


def _is_read(name: str) -> bool:
    low = name.lower()
    return low.endswith((".ipynb", ".ipynb.txt", ".ipynb.json")) or low.split("/")[-1] in READ_ALSO
