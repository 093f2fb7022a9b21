"""Downloads are whole or not there, and every problem is a sentence. The server is our own."""

import errno
import gzip
import hashlib
import http.server
import os
import threading
from pathlib import Path

import pytest

from course_utils.data import CannotDownload, DataError, load_corpus, multi30k

SOURCE = ["Ein Hund läuft.", "Zwei Frauen lachen.", "Ein Kind schläft."]
TARGET = ["A dog runs.", "Two women laugh.", "A child sleeps."]


def packed(lines) -> bytes:
    return gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)


@pytest.fixture
def files(monkeypatch):
    """Small files under the real names, with their sums in place of the real ones."""
    contents = {
        name: packed(TARGET if ".en." in name else SOURCE)
        for name in multi30k.names(("de", "en")) + multi30k.names(("fr", "en"))
    }
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
    monkeypatch.setattr(multi30k, "SHA256", sums)
    monkeypatch.delenv("COURSE_DATA", raising=False)
    return contents


class Server:
    """Serves files with ranges; can cut the first answers short or change what it sends."""

    def __init__(self, files):
        self.files, self.cut, self.damage = files, {}, set()
        self.requests: list[tuple[str, str | None]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, handler):
        name = handler.path.lstrip("/")
        wanted = handler.headers.get("Range")
        self.requests.append((name, wanted))
        if name not in self.files:
            handler.send_error(404)
            return
        body = self.files[name]
        if name in self.damage:
            body = body[:-4] + b"oops"
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if start >= len(body):
            handler.send_error(416)
            return
        body = body[start:]
        handler.send_response(206 if wanted else 200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: self.cut.pop(name, len(body))])

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def server(files):
    server = Server(files)
    yield server
    server.close()


def load(server, cache, source="de", lines=None):
    say = lines.append if lines is not None else (lambda _: None)
    return load_corpus(source, address=server.address, cache=cache, timeout=5, say=say)


@pytest.mark.parametrize("source", ["de", "fr"])
def test_files_are_downloaded_once_and_read_from_the_cache_afterwards(server, tmp_path, source):
    lines = []
    corpus = load(server, tmp_path, source, lines)
    assert corpus.train.source == SOURCE and corpus.test.target == TARGET
    assert "Multi30k" in lines[-1] and "to English" in lines[-1]
    count = len(server.requests)
    assert count == 6
    load(server, tmp_path, source)
    assert len(server.requests) == count
    assert not list(tmp_path.glob("*.part"))


def test_a_download_that_was_cut_off_goes_on_where_it_stopped(server, tmp_path):
    server.cut["train.de.gz"] = 20
    with pytest.raises(CannotDownload, match="kept; run this again"):
        multi30k.download("train.de.gz", tmp_path, address=server.address)
    assert not (tmp_path / "train.de.gz").exists()
    assert (tmp_path / "train.de.gz.part").stat().st_size == 20
    multi30k.download("train.de.gz", tmp_path, address=server.address)
    assert server.requests[-1] == ("train.de.gz", "bytes=20-")
    assert (tmp_path / "train.de.gz").read_bytes() == server.files["train.de.gz"]


def test_a_part_of_another_version_is_thrown_away_and_fetched_anew(server, tmp_path):
    (tmp_path / "train.de.gz.part").write_bytes(b"something else")
    multi30k.download("train.de.gz", tmp_path, address=server.address)
    assert (tmp_path / "train.de.gz").read_bytes() == server.files["train.de.gz"]


def test_a_whole_part_needs_no_more_bytes(server, tmp_path):
    (tmp_path / "train.de.gz.part").write_bytes(server.files["train.de.gz"])
    multi30k.download("train.de.gz", tmp_path, address=server.address)
    assert (tmp_path / "train.de.gz").read_bytes() == server.files["train.de.gz"]


def test_changed_contents_are_refused_and_leave_nothing_behind(server, tmp_path):
    server.damage.add("train.de.gz")
    with pytest.raises(DataError, match="SHA-256 sum differs"):
        multi30k.download("train.de.gz", tmp_path, address=server.address)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_page_is_named(server, tmp_path):
    del server.files["val.de.gz"]
    with pytest.raises(CannotDownload, match=r"val.de.gz could not be downloaded .*Not Found"):
        multi30k.download("val.de.gz", tmp_path, address=server.address)


def test_without_a_net_the_built_in_corpus_is_used_and_a_line_says_so(files, tmp_path):
    lines = []
    corpus = load_corpus(
        "fr", address="http://127.0.0.1:9", cache=tmp_path, timeout=2, say=lines.append
    )
    assert corpus.name == "Built-in corpus" and corpus.languages == ("de", "en")
    assert any("built-in corpus, which is German to English" in line for line in lines)


def test_a_full_disk_leaves_no_half_file(server, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(CannotDownload, match=r"No space left on device. Free some space"):
        multi30k.download("train.de.gz", tmp_path, address=server.address)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def folder(files, tmp_path, monkeypatch) -> Path:
    """A folder that COURSE_DATA names."""
    place = tmp_path / "multi30k"
    place.mkdir()
    for name, data in files.items():
        (place / name).write_bytes(data)
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    return place


def quiet(source="de"):
    return load_corpus(source, say=lambda _: None)


def test_the_folder_of_course_data_comes_first(folder, monkeypatch):
    def never(*_, **__):
        raise AssertionError("nothing is downloaded")

    monkeypatch.setattr(multi30k, "download", never)
    assert quiet().train.source == SOURCE


def test_a_folder_without_the_files_is_named(folder):
    (folder / "val.en.gz").unlink()
    with pytest.raises(FileNotFoundError, match=r"COURSE_DATA is set to .* has no val.en.gz"):
        quiet()


def test_a_cut_file_is_named_with_what_to_do(folder):
    path = folder / "train.de.gz"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataError, match=r"train.de.gz is damaged or was cut short"):
        quiet()


def test_a_file_that_is_no_archive_is_named(folder):
    (folder / "train.de.gz").write_bytes(b"<html>not here</html>")
    with pytest.raises(DataError, match="damaged"):
        quiet()


def test_bytes_that_are_no_text_are_named(folder):
    (folder / "train.de.gz").write_bytes(gzip.compress(b"Ein H\xfcnd\n"))
    with pytest.raises(DataError, match="not UTF-8"):
        quiet()


def test_sides_of_different_length_are_refused(folder):
    (folder / "train.de.gz").write_bytes(packed(SOURCE[:2]))
    with pytest.raises(DataError, match=r"train.de.gz has 2 lines and train.en.gz has 3"):
        quiet()


def test_pairs_with_an_empty_side_are_left_out_and_counted(folder):
    (folder / "train.de.gz").write_bytes(packed([SOURCE[0], "", SOURCE[2]]))
    lines = []
    corpus = load_corpus("de", say=lines.append)
    assert corpus.train.source == [SOURCE[0], SOURCE[2]]
    assert corpus.train.target == [TARGET[0], TARGET[2]]
    assert any(line == "1 pair is left out of train: one side is empty." for line in lines)


def test_files_of_empty_lines_are_refused(folder):
    (folder / "val.de.gz").write_bytes(packed(["", "", ""]))
    with pytest.raises(DataError, match="contain no sentence pairs"):
        quiet()


def test_unknown_characters_become_unknown_words_not_errors(folder):
    from course_utils.data import encode
    from course_utils.data.tokens import UNKNOWN

    (folder / "test_2016_flickr.de.gz").write_bytes(
        packed(["\u4f60\u597d \U0001f600", *SOURCE[1:]])
    )
    data = encode(quiet(), min_count=1)
    assert set(data.test[0].source) == {UNKNOWN}


def test_another_language_is_refused():
    with pytest.raises(ValueError, match='"de" or "fr"'):
        load_corpus("es")
