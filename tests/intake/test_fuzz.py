"""Whatever is handed in beside three honest students: intake ends, and loses none of them."""

import io
import json
import os
import zipfile

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from autograder.intake import collect
from tests.intake.handed_in import ANSWERS, cell_of, make_release, solved, to_bytes

RELEASES = {"03_attention": make_release()}
HONEST = {
    name: to_bytes(solved(answers={**ANSWERS, "attend": ANSWERS["attend"] + f"  # {name}"}))
    for name in ("ann", "李小龙", "สมหญิง")
}
ROSTER = "id,first_name,last_name,lms_user_id\nann,Ann,Orr,7\n李小龙,小龙,李,8\nสมหญิง,สมหญิง,ดี,9\n"

PARTS = st.sampled_from(
    [
        "ann",
        "李小龙",
        "03_attention",
        "Ann Orr_7_assignsubmission_file_",
        "orrann_7_456_03_attention.ipynb",
        "ann+03_attention+2020-01-01 00:00:00 UTC",
        "submission_1",
        "x_export",
        "submitted",
        "work",
        "..",
        ".",
        "a" * 300,
        "學" * 70,
        "é\u0301" * 50,
        "\u202eevil",
        "C:",
        "__MACOSX",
        "-",
    ]
) | st.text(max_size=12)
ENDINGS = st.sampled_from(
    [
        "03_attention.ipynb",
        "ann_03_attention.ipynb",
        "x.ipynb",
        "timestamp.txt",
        "submission_metadata.yml",
        "notes.pdf",
        "hw.zip",
        "03_attention (2).ipynb",
        ".ipynb",
    ]
)
ODD_CELLS = st.lists(
    st.fixed_dictionaries(
        {"cell_type": st.sampled_from(["code", "markdown", "raw", "odd", None, 3])},
        optional={
            "source": st.text(max_size=30) | st.lists(st.text(max_size=9), max_size=3) | st.none(),
            "metadata": st.dictionaries(
                st.sampled_from(["nbgrader", "id", "tags", "colab"]),
                st.text(max_size=5)
                | st.fixed_dictionaries({"grade_id": st.sampled_from(["attend", "why-scale", "\ud800", 3, None])}),
                max_size=3,
            ),
            "outputs": st.lists(st.dictionaries(st.sampled_from(["output_type", "data", "text"]), st.text(max_size=5)), max_size=2),
            "attachments": st.dictionaries(st.text(max_size=5), st.none() | st.dictionaries(st.text(max_size=5), st.text(max_size=5)), max_size=2),
        },
    ),
    max_size=4,
).map(lambda cells: json.dumps({"cells": cells, "nbformat": 4}).encode())  # fmt: skip
BYTES = (
    st.binary(max_size=60)
    | ODD_CELLS
    | st.sampled_from(
        [
            HONEST["ann"],
            HONEST["ann"][:900],
            b"9999-12-31 23:59:59 -14:00",
            b"2020-01-01 00:00:00 UTC",
            b"submission_1:\n  :submitters:\n  - :name: Ann Orr\n    :sid: ann\n",
            b"a: &a [*a]",
            b'{"cells": ' + b"[" * 5000,
            b"PK\x03\x04 broken",
            b"",
        ]
    )
)
TREE = st.lists(st.tuples(st.lists(PARTS, max_size=4), ENDINGS, BYTES), max_size=5)


def zipped(tree):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for folders, name, data in tree:
            inner = "/".join([*folders, name]).encode("utf-8", "replace").decode()
            archive.writestr(inner.replace("\0", ""), data)
    return stream.getvalue()


def write(top, folders, name, data):
    """As far as a file system takes it."""
    try:
        path = os.path.join(top, *(part.strip("/") or "_" for part in folders if part != ".."))
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, name), "wb") as file:
            file.write(data)
    except (OSError, ValueError):
        pass


def check(found):
    by_student = {submission.student: submission for submission in found}
    for name in HONEST:
        source = cell_of(by_student[name].notebook, "attend").source
        assert source == ANSWERS["attend"] + f"  # {name}"
        assert by_student[name].timestamp is None
    for submission in found:
        assert submission.notebook is not None or submission.flags
        text = "\n".join(
            [submission.student, submission.source_name, *submission.repairs, *submission.flags]
        )
        text.encode()
        assert "\0" not in text
        if submission.notebook is not None:
            json.dumps(submission.notebook, ensure_ascii=False).encode()
    assert any(student not in HONEST for student in by_student)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(TREE, TREE, st.booleans(), st.booleans())
@example([(["ann"], "03_attention.ipynb", b"{}")], [], True, True)
def test_whatever_one_student_hands_in_nobody_else_is_touched(
    tmp_path_factory, tree, inner, as_zip, with_roster
):
    top = tmp_path_factory.mktemp("class")
    roster = top.parent / f"{top.name}.csv"
    roster.write_text(ROSTER, encoding="utf-8")
    own = [("mallory", folders, name, data) for folders, name, data in tree]
    own += [("mallory", [], "all.zip", zipped(inner)), ("mallory", [], "notes.pdf", b"")]
    if as_zip:
        with_names = [([f"{name}"], "03_attention.ipynb", data) for name, data in HONEST.items()]
        path = top / "class.zip"
        path.write_bytes(zipped(with_names + [([who, *f], n, d) for who, f, n, d in own
                                              if ".." not in f]))  # fmt: skip
    else:
        path = top / "all"
        for name, data in HONEST.items():
            write(path, [name], "03_attention.ipynb", data)
        for who, folders, name, data in own:
            write(path, [who, *folders], name, data)
    check(collect(path, RELEASES, roster if with_roster else None))
