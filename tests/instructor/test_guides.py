"""What the guides promise apart from commands: links, routes, licences, the student's two lines."""

import re
import shutil
import sys

from course_utils import register
from tests.instructor.guides import DOCS, ROOT, commands_in, follow


def test_the_students_guide(tmp_path):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    said = follow(commands_in("students.md"), tmp_path)
    assert "install.py" in said and "open_lab.py" in said


def test_the_routes_are_what_the_register_says():
    sys.path.insert(0, str(DOCS))
    try:
        import make_routes
    finally:
        sys.path.remove(str(DOCS))
    assert (DOCS / "routes.md").read_text(encoding="utf-8") == make_routes.text()
    for entry in register.notebooks():
        assert entry.title in make_routes.text()


def test_links_in_the_guides_lead_somewhere():
    for guide in [*DOCS.glob("*.md"), ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#]+)", guide.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (guide.parent / target).exists(), f"{guide.name}: {target}"


def test_the_licences_and_the_citation_agree_with_the_package():
    import tomllib

    import yaml

    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == package["version"]
    assert citation["title"] == register.title()
    assert citation["repository-code"] == register.repository()
    licence = (ROOT / "LICENSE").read_text()
    assert "BSD 3-Clause" in licence and "CC BY 4.0" in licence
