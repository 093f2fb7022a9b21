"""The rooms in the design's listing are those of the tree, and their imports go one way."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = (
    {"data", "training", "measured"},
    {"recurrent", "translation", "by_hand"},
    {"transformer"},
    {"language_model"},
)


def listing() -> str:
    return (ROOT / "docs" / "design.md").read_text()


def rooms_of(package: str) -> set[str]:
    """Every folder below a package that is a package itself."""
    found = (ROOT / package).rglob("__init__.py")
    return {f"{path.parent.relative_to(ROOT)}/" for path in found} - {f"{package}/"}


@pytest.mark.parametrize("package", ["course_utils", "autograder"])
def test_the_listing_has_every_room_once_and_no_other(package):
    listed = re.findall(rf"^\| `({package}/\S+/)` \|", listing(), flags=re.M)
    assert sorted(listed) == sorted(rooms_of(package))


@pytest.mark.parametrize("room", ["by_hand", "recurrent", "translation", "transformer",
                                  "language_model", "training", "data"])  # fmt: skip
def test_a_room_names_the_notebooks_that_use_it(room):
    source = (ROOT / "course_utils" / room / "__init__.py").read_text()
    assert re.search(r"notebooks? \d\d", ast.get_docstring(ast.parse(source)))


@pytest.mark.parametrize(("level", "rooms"), list(enumerate(LAYERS)))
def test_lower_rooms_do_not_import_higher_ones(level, rooms):
    higher = set().union(*LAYERS[level + 1 :])
    for room in rooms:
        for path in (ROOT / "course_utils" / room).glob("*.py"):
            imported = set(re.findall(r"^from course_utils\.(\w+)", path.read_text(), flags=re.M))
            assert not imported & higher, path


def test_names_that_rooms_offer_are_there():
    import importlib

    for room in ("by_hand", "recurrent", "translation", "transformer", "language_model",
                 "training", "data"):  # fmt: skip
        module = importlib.import_module(f"course_utils.{room}")
        for name in module.__all__:
            assert getattr(module, name) is not None
        with pytest.raises(AttributeError):
            _ = module.no_such_name
