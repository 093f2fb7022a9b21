"""A class graded on a dask cluster over TLS, with certificates made for the test."""

import contextlib
import json
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import dask.config
import distributed  # noqa: F401 - its settings must be there before some of them are changed
import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from autograder.box import why_unavailable
from autograder.cli import main
from autograder.nbgrader_parts.database import gradebook_url
from autograder.whole_class.course_directory import prepare_course
from autograder.whole_class.grade_class import Options, grade_class
from tests.grading.handing_in import ASSIGNMENT, NO_TANH, NOTHING, RIGHT, hand_in, submission

pytestmark = [
    pytest.mark.box,
    pytest.mark.slow,
    pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces"),
]
ANSWERS = {"ann": RIGHT, "bob": NO_TANH, "cem": NOTHING}


def new_certificate(name: str, key, issuer_name: str, issuer_key, authority: bool):
    """A certificate for this machine, good for an hour."""
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer_name)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(issuer_key, hashes.SHA256())
    )


def write_keys(folder: Path) -> dict[str, str]:
    """An authority, and one certificate of it for scheduler, worker and client alike."""
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = new_certificate("authority", authority_key, "authority", authority_key, True)
    own = new_certificate("grading", key, "authority", authority_key, False)
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    files = {
        "ca-file": authority.public_bytes(pem),
        "cert": own.public_bytes(pem),
        "key": key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain),
    }
    for name, content in files.items():
        (folder / f"{name}.pem").write_bytes(content)
    return {name: str(folder / f"{name}.pem") for name in files}


@contextlib.contextmanager
def dask_process(kind: str, folder: Path, keys: dict[str, str], *more: str):
    """`dask scheduler` or `dask worker`, as one starts them by hand."""
    program = str(Path(sys.executable).with_name("dask"))
    line = [program, kind, *(f"--tls-{name}={path}" for name, path in keys.items()), *more]
    line += ["--host=127.0.0.1", "--protocol=tls", "--no-dashboard"]
    line += [f"--scheduler-file={folder / 'scheduler.json'}"]
    with (folder / f"{kind}.log").open("w") as log:
        process = subprocess.Popen(line, stdout=log, stderr=log, cwd=folder)
        try:
            yield process
        finally:
            process.terminate()
            process.wait()


def address_in(folder: Path, process: subprocess.Popen) -> str:
    """The scheduler's address, once it has written it down."""
    while process.poll() is None:
        with contextlib.suppress(OSError, ValueError):
            return json.loads((folder / "scheduler.json").read_text())["address"]
        time.sleep(0.05)
    raise AssertionError((folder / "scheduler.log").read_text())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a scheduler with one worker, and the keys to it."""
    folder = tmp_path_factory.mktemp("cluster")
    keys = write_keys(folder)
    with dask_process("scheduler", folder, keys, "--port=0") as scheduler:
        address = address_in(folder, scheduler)
        with dask_process("worker", folder, keys, "--nthreads=1", "--no-nanny"):
            yield address, keys


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    folder = tmp_path_factory.mktemp("handed_in")
    for student, answer in ANSWERS.items():
        hand_in(folder, student, submission(answer))
    return folder


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A course directory with the assignment in its gradebook: making one takes seconds."""
    folder = tmp_path_factory.mktemp("prepared")
    prepare_course(folder, ASSIGNMENT, gradebook_url(folder))
    return folder


@pytest.fixture
def courses(prepared, tmp_path):
    return [Path(shutil.copytree(prepared, tmp_path / name)) for name in ("here", "there")]


def grade_there(address: str, folder: Path, course: Path):
    line = ["grade", ASSIGNMENT, str(folder), "--course", str(course), "--json"]
    return CliRunner().invoke(main, [*line, "--cluster", address])


@pytest.mark.thorough
def test_a_class_on_a_cluster_over_tls_gets_the_grades_it_gets_here(cluster, handed_in, courses):
    address, keys = cluster
    assert address.startswith("tls://127.0.0.1:")
    tls, client = "distributed.comm.tls", "distributed.comm.tls.client"
    own = {
        f"{tls}.ca-file": keys["ca-file"],
        f"{client}.cert": keys["cert"],
        f"{client}.key": keys["key"],
    }
    with dask.config.set(own):
        result = grade_there(address, handed_in, courses[1])
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said["where"] == address and said["graded"] == len(ANSWERS)
    _, here = grade_class(Options(ASSIGNMENT, (handed_in,), courses[0]))
    there = [(r["student"], r["points"], r["flags"]) for r in said["results"]]
    assert there == [(v.student, v.points, list(map(str, v.flags))) for v in here]
    assert there[0][1] == 8


def test_without_the_keys_the_cluster_cannot_be_used(cluster, handed_in, courses):
    result = grade_there(cluster[0], handed_in, courses[1])
    assert result.exit_code == 1
    assert f"The scheduler {cluster[0]} cannot be used" in result.output
    assert "TLS__CA_FILE" in result.output
