"""The zip of a whole class is read by a worker: what one entry does costs that entry alone."""

import io
import json
import signal
import struct
import warnings
import zipfile
from functools import partial

import pytest

from autograder.box import why_unavailable
from autograder.grading.reading import Readers, Worker
from autograder.intake import find_files
from autograder.intake.files import Opening
from tests.grading.handing_in import ASSIGNMENT, RIGHT, submission

pytestmark = [pytest.mark.box, pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")]
NOTEBOOK = f"{ASSIGNMENT}.ipynb"
HONEST = json.dumps(submission(RIGHT)).encode()


@pytest.fixture(scope="module")
def readers():
    with Readers() as found:
        yield found


def found_in(content: bytes, readers, tmp_path):
    path = tmp_path / "submissions.zip"
    path.write_bytes(content)
    opening = partial(Opening, unzip=readers.unzip, open_zip=readers.open_zip)
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    return {one.student: one for one in find_files(path, [ASSIGNMENT], scratch, opening=opening)}


def problems(handed_in) -> str:
    return " ".join(arrival.entry.problem for arrival in handed_in.arrivals)


def data_of(handed_in) -> list[bytes]:
    return [arrival.entry.data for arrival in handed_in.read().arrivals if arrival.entry.data]


def with_entries(*entries) -> bytearray:
    """ann's and zoe's notebooks, and between them the entries: name, bytes, kind of packing."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name may come twice
        archive.writestr(f"ann/{NOTEBOOK}", HONEST, zipfile.ZIP_DEFLATED)
        for name, data, packing in entries:
            archive.writestr(name, data, packing)
        archive.writestr(f"zoe/{NOTEBOOK}", HONEST, zipfile.ZIP_DEFLATED)
    return bytearray(stream.getvalue())


def headers(content: bytes, name: str) -> tuple[int, int]:
    """Where the entry's own header and its line in the table of contents begin."""
    at = content.find(name.encode())
    local = content.rfind(b"PK\x03\x04", 0, at)
    central = content.rfind(b"PK\x01\x02", 0, content.rfind(name.encode()))
    return local, central


def locked(content: bytearray, name: str) -> bytearray:
    local, central = headers(content, name)
    content[local + 6] |= 1
    content[central + 8] |= 1
    return content


def with_large_dictionary(content: bytearray, name: str) -> bytearray:
    """An entry that asks for 4 GB of memory before its first byte is unpacked."""
    local, _ = headers(content, name)
    start = local + 30 + len(name)
    content[start + 5 : start + 9] = b"\xff\xff\xff\xff"
    return content


def damaged(content: bytearray, name: str) -> bytearray:
    local, _ = headers(content, name)
    start = local + 30 + len(name)
    content[start + 50 : start + 60] = bytes(10)
    return content


def plain(name=f"eve/{NOTEBOOK}", data=HONEST, packing=zipfile.ZIP_DEFLATED):
    return with_entries((name, data, packing))


EVE = f"eve/{NOTEBOOK}"
CASES = {
    "bomb": (lambda: plain(data=bytes(50 << 20)), "like a zip bomb"),
    "many bombs": (
        lambda: with_entries(
            *((f"eve/{n}.ipynb", b"{}" + bytes(900_000), zipfile.ZIP_DEFLATED) for n in range(300))
        ),
        "are not read",
    ),
    "locked": (lambda: locked(plain(), EVE), "password"),
    "damaged": (lambda: damaged(plain(), EVE), "is damaged"),
    "memory": (
        lambda: with_large_dictionary(plain(packing=zipfile.ZIP_LZMA), EVE),
        "is damaged",
    ),
    "zip in a zip": (lambda: plain("eve/hw.zip", bytes(plain())[:-30]), "not a zip file"),
    "bomb in a zip": (
        lambda: plain("eve/hw.zip", bytes(plain(data=bytes(50 << 20)))),
        "zip bomb",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_one_entry_does_costs_nobody_else_anything(case, readers, tmp_path):
    make, said = CASES[case]
    found = found_in(bytes(make()), readers, tmp_path)
    assert data_of(found["ann"]) == data_of(found["zoe"]) == [HONEST]
    assert said in problems(found["eve"]) + " ".join(found["eve"].flags)


@pytest.mark.parametrize(
    "name",
    ["../ann/x.ipynb", "/etc/passwd.ipynb", "..", "C:\\x.ipynb", "\\\\host\\x.ipynb", "a\0b.ipynb"]
    + ["/", "e" * 3000 + ".ipynb", "‮eve/x.ipynb", "eve/\x1b[2J.ipynb", "./././.ipynb"],
)
def test_an_odd_name_belongs_to_nobody_who_is_there(name, readers, tmp_path):
    found = found_in(bytes(plain(name)), readers, tmp_path)
    assert data_of(found["ann"]) == data_of(found["zoe"]) == [HONEST]
    if name == "../ann/x.ipynb":  # the part that leads elsewhere goes; the file is not read
        assert "points outside" in problems(found["ann"])
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.parent.name for path in written} <= {tmp_path.name, "scratch"}


def test_a_name_that_comes_twice_is_read_twice(readers, tmp_path):
    found = found_in(bytes(plain(f"ann/{NOTEBOOK}", b"{}")), readers, tmp_path)
    assert sorted(map(len, data_of(found["ann"]))) == [2, len(HONEST)]
    assert data_of(found["zoe"]) == [HONEST]


def test_entries_that_share_their_bytes_are_not_unpacked(readers, tmp_path):
    content = plain()
    start = content.index(b"PK\x01\x02")
    line = content[start : content.index(b"PK\x01\x02", start + 4)]
    end = content.rindex(b"PK\x05\x06")
    many = bytes(content[:end]) + bytes(line) * 50
    size = len(many) - start
    closing = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 53, 53, size, start, 0)
    found = found_in(many + closing, readers, tmp_path)
    (only,) = found.values()
    assert "overlap" in problems(only)


def test_an_entry_on_which_the_worker_hangs_is_the_only_one_that_is_lost(tmp_path, monkeypatch):
    send = Worker.send

    def stop_at_the_second(worker, what):
        if what[0] == "entry" and what[1][0] == 1:
            signal.pidfd_send_signal(worker.handle, signal.SIGSTOP)
        send(worker, what)

    monkeypatch.setattr(Worker, "send", stop_at_the_second)
    with Readers(seconds=2.0) as readers:
        found = found_in(bytes(plain()), readers, tmp_path)
        assert not readers._busy
    assert data_of(found["ann"]) == data_of(found["zoe"]) == [HONEST]
    assert "took longer than 2 s" in problems(found["eve"])


def test_a_worker_that_is_killed_while_it_reads_is_replaced(tmp_path, monkeypatch):
    send, killed = Worker.send, []

    def kill_once(worker, what):
        if what[0] == "entry" and not killed:
            killed.append(worker.handle)
            signal.pidfd_send_signal(worker.handle, signal.SIGKILL)
        send(worker, what)

    monkeypatch.setattr(Worker, "send", kill_once)
    with Readers() as readers:
        found = found_in(bytes(plain()), readers, tmp_path)
    assert killed and [data_of(found[name]) for name in ("ann", "eve", "zoe")] == [[HONEST]] * 3


@pytest.mark.parametrize(
    "content", [b"", b"PK\x05\x06", b"PK\x03\x04" + bytes(100), bytes(range(99))]
)
def test_what_is_no_zip_is_a_sentence(content, readers, tmp_path):
    (only,) = found_in(content, readers, tmp_path).values()
    assert "is not a zip file that can be opened" in problems(only)
