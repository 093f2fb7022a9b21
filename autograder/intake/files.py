"""Opens folders, notebooks and zip files, and trusts none of them.

Finding the files of a class and reading them are two steps: a thousand notebooks with their plots
need not be in memory together. What lies in a zip is unpacked into a folder of ours first.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

MEGABYTE = 1 << 20
LARGEST_FILE = 64 * MEGABYTE
LARGEST_ZIP = 4096 * MEGABYTE
MOST_ENTRIES = 50_000
# A notebook full of one repeated number shrinks about a hundredfold; a bomb a thousandfold.
LARGEST_RATIO = 250
DEEPEST_ZIP = 2

READ_ALSO = ("submission_metadata.yml", "timestamp.txt")
JUNK = ("__MACOSX", ".ipynb_checkpoints", ".git", "__pycache__")
JUNK_FILES = (".DS_Store", "Thumbs.db", "desktop.ini")


@dataclass(frozen=True)
class Entry:
    """One file that was handed in.

    `path` is where its bytes are, None for a file that is not read; `data` are they, once read.
    """

    name: str
    path: Path | None = None
    problem: str = ""
    data: bytes | None = None

    def read(self) -> Entry:
        """The same with its bytes, or with the reason why they can't be had."""
        if self.path is None:
            return self
        try:
            return replace(self, data=self.path.read_bytes(), path=None)
        except OSError as error:
            return replace(self, path=None, problem=_unreadable(self.name, error))


class NoRoom(RuntimeError):
    """A zip can't be unpacked here; the message says where."""


def open_entries(path: Path, scratch: Path) -> Iterator[Entry]:
    """All files in a folder or a zip, or the one file itself, names relative to it.

    `scratch` is an empty folder for what comes out of a zip; the caller removes it.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} isn't there. Give a folder, a notebook or a zip file.")
    if path.is_dir():
        yield from _folder(path, scratch)
    else:
        yield from _file(path, path.name, scratch)


def _folder(root: Path, scratch: Path) -> Iterator[Entry]:
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = sorted(name for name in subfolders if name not in JUNK)
        here = Path(folder)
        for name in sorted(subfolders):
            if (here / name).is_symlink():
                yield Entry(
                    _relative(here / name, root),
                    problem=f"{name} is a symbolic link, which is not followed.",
                )
        for name in sorted(files):
            if name not in JUNK_FILES:
                yield from _file(here / name, _relative(here / name, root), scratch)


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _file(path: Path, name: str, scratch: Path) -> Iterator[Entry]:
    if path.is_symlink():
        yield Entry(name, problem=f"{path.name} is a symbolic link, which is not followed.")
        return
    if not path.is_file():
        yield Entry(name, problem=f"{path.name} is not an ordinary file.")
        return
    try:
        if _is_zip(name):
            with path.open("rb") as stream:
                yield from _zip(stream, name, scratch, depth=1)
        elif not _is_read(name):
            yield Entry(name)
        elif path.stat().st_size > LARGEST_FILE:
            yield Entry(name, problem=_too_large(path.name, path.stat().st_size))
        else:
            yield Entry(name, path)
    except OSError as error:
        yield Entry(name, problem=_unreadable(name, error))


def _unreadable(name: str, error: OSError) -> str:
    return f"{PurePosixPath(name).name} can't be read: {error.strerror or error}."


def _zip(stream: io.BufferedIOBase, name: str, scratch: Path, depth: int) -> Iterator[Entry]:
    short = PurePosixPath(name).name
    # Names inside the outermost zip stand alone; those of a zip in a zip keep the outer name,
    # which tells whose it is.
    prefix = f"{name}/" if depth > 1 else ""
    try:
        archive = zipfile.ZipFile(stream)
        infos = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        yield Entry(name, problem=f"{short} is not a zip file that can be opened ({error}).")
        return
    if len(infos) > MOST_ENTRIES:
        yield Entry(
            name, problem=f"{short} holds {len(infos)} files; more than {MOST_ENTRIES} are refused."
        )
        return
    left = LARGEST_ZIP
    for info in infos:
        inner = _entry_name(info)
        parts = PurePosixPath(inner).parts
        if info.is_dir() or any(part in JUNK for part in parts):
            continue
        if parts and (parts[-1] in JUNK_FILES or parts[-1].startswith("._")):
            continue
        problem = _refusal(info, inner, left)
        if problem:
            yield Entry(prefix + _harmless_name(inner), problem=problem)
            continue
        if not (_is_read(inner) or _is_zip(inner)):
            yield Entry(prefix + inner)
            continue
        try:
            with archive.open(info) as packed:
                data = packed.read(min(LARGEST_FILE, left) + 1)
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError) as error:
            yield Entry(prefix + inner, problem=f"{inner} is damaged in the zip file ({error}).")
            continue
        except (NotImplementedError, ValueError, MemoryError) as error:
            yield Entry(prefix + inner, problem=f"{inner} can't be unpacked ({error}).")
            continue
        left -= len(data)
        if len(data) > LARGEST_FILE or left < 0:
            yield Entry(prefix + inner, problem=_too_large(inner, len(data)))
        elif not _is_zip(inner):
            yield Entry(prefix + inner, _unpacked(data, scratch))
        elif depth >= DEEPEST_ZIP:
            yield Entry(prefix + inner, problem=f"{inner} is a zip in a zip in a zip: refused.")
        else:
            yield from _zip(io.BytesIO(data), prefix + inner, scratch, depth + 1)


def _unpacked(data: bytes, scratch: Path) -> Path:
    """Where the bytes lie now: under a name of ours, whatever the zip calls them."""
    try:
        descriptor, path = tempfile.mkstemp(dir=scratch)
        with open(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        raise NoRoom(f"The zip can't be unpacked into {scratch}: {error.strerror}.") from error
    return Path(path)


def _entry_name(info: zipfile.ZipInfo) -> str:
    """The name in a zip entry; older tools write UTF-8 without saying so."""
    name = info.filename.replace("\\", "/")
    if not info.flag_bits & 0x800:
        with contextlib.suppress(UnicodeEncodeError, UnicodeDecodeError):
            name = name.encode("cp437").decode("utf-8")
    return name


def _refusal(info: zipfile.ZipInfo, name: str, left: int) -> str:
    """Why an entry is not unpacked, in a sentence; an empty text when it is fine."""
    parts = PurePosixPath(name).parts
    kind = stat.S_IFMT(info.external_attr >> 16)
    if not parts or ".." in parts or name.startswith("/") or (":" in parts[0][:2]):
        return f"The zip entry {name!r} points outside its folder: refused."
    if kind == stat.S_IFLNK:
        return f"The zip entry {name} is a symbolic link: refused."
    if kind not in (0, stat.S_IFREG):
        return f"The zip entry {name} is not an ordinary file: refused."
    if info.flag_bits & 0x1:
        return f"The zip entry {name} is locked with a password: ask for it without."
    if info.file_size > min(LARGEST_FILE, left) and (_is_read(name) or _is_zip(name)):
        return _too_large(name, info.file_size)
    if info.file_size > MEGABYTE and info.file_size > LARGEST_RATIO * max(info.compress_size, 1):
        return (
            f"The zip entry {name} would grow {info.file_size // max(info.compress_size, 1)} times "
            "when unpacked, as a zip bomb does: refused."
        )
    return ""


def _harmless_name(name: str) -> str:
    return "/".join(part for part in PurePosixPath(name).parts if part not in ("..", "/", "."))


def _too_large(name: str, size: int) -> str:
    return (
        f"{name} has {size // MEGABYTE} MB; files over {LARGEST_FILE // MEGABYTE} MB are not read. "
        "Ask for it again with its outputs cleared."
    )


def _is_zip(name: str) -> bool:
    return name.lower().endswith(".zip")


def _is_read(name: str) -> bool:
    low = name.lower()
    return low.endswith((".ipynb", ".ipynb.txt", ".ipynb.json")) or low.endswith(READ_ALSO)
