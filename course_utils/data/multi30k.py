"""Find the Multi30k captions on this computer, or download them once and check them."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable
from pathlib import Path

REPOSITORY = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
SPLITS = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
LANGUAGES = {"de": "German", "fr": "French", "en": "English"}

# From the repository; a download that does not match is thrown away.
SHA256 = {
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
}


class DataError(Exception):
    """A data file is damaged or does not fit the others."""


class CannotDownload(Exception):
    """A data file is missing and can't be downloaded now."""


def cache_folder() -> Path:
    """Where this user's downloads are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "attention-course" / "multi30k"


def names(languages: tuple[str, str]) -> list[str]:
    """The six files that a pair of languages needs."""
    return [f"{split}.{language}.gz" for split in SPLITS.values() for language in languages]


def find_or_download(
    languages: tuple[str, str],
    *,
    address: str = REPOSITORY,
    cache: Path | None = None,
    timeout: float = 20,
    say: Callable[[str], None] = print,
) -> Path:
    """The folder with the files of these languages.

    If `COURSE_DATA` is set, it is the folder `multi30k` inside the one named there. Otherwise it is
    the user's cache, and missing files are downloaded into it.
    """
    given = os.environ.get("COURSE_DATA")
    if given:
        folder = Path(given).expanduser() / "multi30k"
        missing = [name for name in names(languages) if not (folder / name).is_file()]
        if missing:
            raise FileNotFoundError(
                f"COURSE_DATA is set to {given}, but {folder} has no {missing[0]}. "
                "Put the files there, or unset COURSE_DATA to download them."
            )
        return folder
    folder = cache or cache_folder()
    missing = [name for name in names(languages) if not (folder / name).is_file()]
    if missing:
        say(f"Downloading {len(missing)} files of Multi30k to {folder} (2 MB, only once).")
    for name in missing:
        download(name, folder, address=address, timeout=timeout)
    return folder


def download(name: str, folder: Path, *, address: str = REPOSITORY, timeout: float = 20) -> Path:
    """Download one file, from where an earlier attempt stopped, and keep it only if it is whole.

    The bytes go to `name.part`. Only if the SHA-256 sum is right does the file get its name, in one
    step, so that nobody ever finds half a file under that name.
    """
    target, part = folder / name, folder / f"{name}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        resumed = _fetch(f"{address}/{name}", part, timeout)
        if resumed and _sha256(part) != SHA256[name]:
            # The rest belongs to another version of the file than the beginning.
            part.unlink()
            _fetch(f"{address}/{name}", part, timeout)
        if _sha256(part) != SHA256[name]:
            part.unlink()
            raise DataError(
                f"{name} arrived from {address}, but its contents are not the expected ones "
                "(the SHA-256 sum differs), so it was discarded. Try again; if that does not help, "
                "something between you and the server is changing the file."
            )
        os.replace(part, target)
    except urllib.error.URLError as error:
        reason = getattr(error, "reason", error)
        raise CannotDownload(f"{name} could not be downloaded from {address}: {reason}.") from error
    except (ConnectionError, TimeoutError, http.client.HTTPException, _CutShort) as error:
        raise CannotDownload(
            f"The connection broke while downloading {name}: {error}. What arrived is kept; "
            "run this again to continue from there."
        ) from error
    except OSError as error:
        part.unlink(missing_ok=True)
        raise CannotDownload(
            f"{name} could not be written to {folder}: {error.strerror or error}. "
            "Free some space or make the folder writable, then try again."
        ) from error
    return target


class _CutShort(Exception):
    """The server promised more bytes than it sent."""


def _fetch(url: str, part: Path, timeout: float) -> bool:
    """Append to `part` what is missing; True if an earlier part was continued."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        if have and error.code == 416:  # Nothing is left to send: the part may be whole.
            return True
        raise
    with response:
        resumed = bool(have) and response.status == 206
        promised = response.headers.get("Content-Length")
        received = 0
        with part.open("ab" if resumed else "wb") as file:
            while block := response.read(1 << 16):
                file.write(block)
                received += len(block)
        if promised is not None and received < int(promised):
            raise _CutShort(f"{received} of {promised} bytes came")
    return resumed


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_lines(path: Path) -> list[str]:
    """The lines of one compressed text file."""
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            return [line.rstrip("\r\n") for line in file]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{path} is damaged or was cut short ({error}). Delete it, and the next run downloads "
            "it again; or put a good copy there."
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} contains bytes that are not UTF-8 text (byte {error.start}). "
            "Delete it and download a good copy."
        ) from error


def read_split(folder: Path, split: str, languages: tuple[str, str]) -> tuple[list[str], list[str]]:
    """Both sides of `train`, `valid` or `test`, line by line."""
    paths = [folder / f"{SPLITS[split]}.{language}.gz" for language in languages]
    source, target = (read_lines(path) for path in paths)
    if len(source) != len(target):
        raise DataError(
            f"{paths[0].name} has {len(source)} lines and {paths[1].name} has {len(target)}: "
            f"the two sides in {folder} do not belong together. Download both again."
        )
    return source, target
