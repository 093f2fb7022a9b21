"""Writes docs/bibliography.md from autograder/bibliography.json and the sources that cite it."""

from pathlib import Path

from autograder import bibliography, build

HERE = Path(__file__).parent


def text() -> str:
    cited_in = citations()
    listed = bibliography.in_order(bibliography.works().values())
    taught = [work for work in listed if work.kind == "document"]
    published = [work for work in listed if work.kind != "document"]
    lines = [
        "# Bibliography",
        "",
        "This page is written by `python docs/make_bibliography.py`.",
        "[autograder/bibliography.json](../autograder/bibliography.json) has the same entries in "
        "CSL-JSON, which reference managers import.",
        "",
        "## Teaching material that the exercises grew out of",
        "",
        *(_line(work, cited_in) for work in taught),
        "",
        "## Works cited in the notebooks",
        "",
        *(_line(work, cited_in) for work in published),
        "",
    ]
    return "\n".join(lines)


def citations() -> dict[str, list[str]]:
    """The numbers of the notebooks that cite each work."""
    found: dict[str, list[str]] = {}
    for name in build.names():
        source = (build.SOURCES / f"{name}.py").read_text(encoding="utf-8")
        for work in bibliography.cited(source):
            found.setdefault(work.key, []).append(name[:2])
    return found


def _line(work: bibliography.Work, cited_in: dict[str, list[str]]) -> str:
    return f"- {work.reference} Cited in {', '.join(cited_in[work.key])}."


if __name__ == "__main__":
    (HERE / "bibliography.md").write_text(text(), encoding="utf-8")
    print(f"Wrote {HERE / 'bibliography.md'}.")
