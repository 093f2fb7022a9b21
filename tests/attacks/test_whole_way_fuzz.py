"""Whatever trees of files are handed in: the run ends, nobody honest loses, no page runs a script.

From files to gradebook, feedback, report and what is sent back. Each example is a class with some
hostile students at once. More examples: FUZZ_EXAMPLES=50.
"""

import json
import os
import re
import zipfile
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from nbgrader.api import Gradebook

from autograder.box import Limits, why_unavailable
from autograder.cli import main
from autograder.whole_class.grade_class import Options, grade_class
from tests.grading.handing_in import ASSIGNMENT, EXERCISE, RIGHT, WRITTEN, cell_of, submission
from tests.intake.test_fuzz import ENDINGS, TREE, write, zipped

pytestmark = [pytest.mark.box, pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")]
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "2"))
LIMITS = Limits(wall_seconds=8, cpu_seconds=4, together_seconds=12)
HONEST = ("ann", "李小龙", "สมหญิง")
RUN = "window.pwned=1"
SCRIPTS = (
    f"<script>{RUN}</script>",
    f'<img src=x onerror="{RUN}">',
    f"[x](javascript:{RUN})",
    f"]:[x](javascript:{RUN})",
    f'<svg onload="{RUN}"><a href="javascript:{RUN}">y</a></svg>',
    f"$\\href{{javascript:{RUN}}}{{y}}$",
    f"<iframe srcdoc='<script>{RUN}</script>'></iframe>",
    f"```\n</code></pre><script>{RUN}</script>\n```",
    f'"><script>{RUN}</script>',
    f'<https://x"onmouseover={RUN}>',
    f'![x](attachment:a.png"onerror={RUN})',
    "<style>*{background:url(//x)}</style><base href=//x><meta http-equiv=refresh content=0>",
)
TEXTS = st.lists(st.sampled_from(SCRIPTS) | st.text(max_size=12), max_size=4).map("\n\n".join)


def poisoned(code, text, output, title):
    """A notebook with a student's texts wherever they can be put."""
    notebook = submission(code, text)
    cell_of(notebook, EXERCISE)["outputs"] = [
        {"output_type": "display_data", "metadata": {}, "data": {"text/html": output, "text/plain": output}},
        {"output_type": "stream", "name": "stdout", "text": output},
    ]  # fmt: skip
    cell_of(notebook, WRITTEN)["attachments"] = {title: {"image/svg+xml": output}}
    notebook.metadata["title"] = title
    return json.dumps(notebook).encode()


CODE = (
    st.sampled_from(
        [
            RIGHT.replace("torch.tanh(", "("),
            "raise ValueError('<script>window.pwned=1</script>')",
            "class DotProdAttention(nn.Module:",
            "import os; os._exit(0)",
            "x = 0x" + "f" * 5000,
        ]
    )
    | TEXTS
)
NOTEBOOK = st.builds(poisoned, CODE, TEXTS, TEXTS, TEXTS)
NAMED = st.tuples(
    st.lists(st.sampled_from(["a", f"<script>{RUN}", "=1+1", "ann"]), max_size=2), ENDINGS, NOTEBOOK
)
NAMES = st.sampled_from(["mallory", f"<img src=x onerror={RUN}>", "=cmd|x", "学" * 70, "e\u0301ve"])
CLASS = st.lists(
    st.tuples(NAMES, TREE | st.lists(NAMED, min_size=1, max_size=3), TREE), min_size=3, max_size=5
)


class Scripts(HTMLParser):
    """Collects what in a page would run, and where its links lead."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag in ("script", "iframe", "object", "embed", "base", "form", "link"):
            self.found.append(tag)
        for name, value in attributes:
            address = re.sub(r"[\s\x00-\x1f]", "", (value or "").lower())
            if name.startswith("on") or address.startswith(("javascript:", "vbscript:")):
                self.found.append(f"{tag} {name}={value}")
            if address.startswith("data:") and not address.startswith("data:image/"):
                self.found.append(f"{tag} {name}={value}")


def test_the_look_for_scripts_finds_them():
    for text in (SCRIPTS[0], SCRIPTS[1], SCRIPTS[4], '<a href=" java\nscript:x">', SCRIPTS[-1]):
        assert Scripts(text).found


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="FUZZ_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
@given(CLASS, st.booleans())
def test_whatever_is_handed_in_the_class_is_graded_and_no_page_runs_anything(
    tmp_path_factory, hostile, as_zip
):
    top = tmp_path_factory.mktemp("whole")
    course, handed_in = top / "course", top / "in"
    files = [([name], f"{ASSIGNMENT}.ipynb", json.dumps(submission(RIGHT, f"Text of {name}.")).encode())
             for name in HONEST]  # fmt: skip
    for number, (name, tree, inner) in enumerate(hostile):
        own = f"{name}{number}"
        files += [
            ([own, *folders], file, data) for folders, file, data in tree if ".." not in folders
        ]
        files += [([own], "all.zip", zipped(inner)), ([own], "notes.pdf", b"")]
    if as_zip:
        handed_in.mkdir()
        (handed_in / "class.zip").write_bytes(zipped(files))
    else:
        for folders, file, data in files:
            write(handed_in, folders, file, data)
    run, records = grade_class(Options(ASSIGNMENT, (handed_in,), course, jobs=2, limits=LIMITS))

    by_student = {record.student: record for record in records}
    assert run.finished and run.graded + run.flagged == run.submissions == len(records)
    for name in HONEST:
        assert by_student[name].points == 8 and not by_student[name].timestamp
    for record in records:
        assert record.graded or record.flags
        assert record.student in HONEST or record.points < 8
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        scores = {s.student_id: s.score for s in book.assignment_submissions(ASSIGNMENT)}
    assert set(scores) == {record.student for record in records if record.graded}

    for command in (["feedback", ASSIGNMENT], ["report"], ["export", "--format", "csv"]):
        said = CliRunner().invoke(main, [*command, "--course", str(course)])
        assert said.exit_code == 0, said.output
        assert "\x1b" not in said.output
    pages = list(course.rglob("*.html"))
    assert len([page for page in pages if "feedback" in page.parts]) == len(records)
    assert len([page for page in pages if "reports" in page.parts]) == 2
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert Scripts(text).found == [], page
        assert "Content-Security-Policy" in text
    for packed in course.glob("send_back/*.zip"):
        with zipfile.ZipFile(packed) as archive:
            assert all(".." not in name.split("/") for name in archive.namelist())
