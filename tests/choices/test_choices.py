"""course.toml: what a class may choose, and a sentence for every wrong value."""

from datetime import UTC, datetime

import pytest

from autograder import choices
from autograder.course_files import CourseError
from autograder.routes import ROUTES
from course_utils import register


def read(folder, text):
    (folder / "course.toml").write_text(text, encoding="utf-8")
    return choices.read(folder)


def test_without_a_file_everything_is_as_the_course_has_it(tmp_path):
    assert choices.read(tmp_path) == choices.Choices()
    choices.use(tmp_path)
    assert [n.name for n in register.notebooks()] == list(choices.Choices().names)
    assert {e.id for e in register.ever()} == {e["id"] for e in register.own()["exercise"]}


def test_a_route_chooses_its_notebooks_and_core_exercises(tmp_path):
    (tmp_path / "course.toml").write_text('route = "one lab"\noptional = ["two-head-queries"]\n')
    choices.use(tmp_path)
    assert tuple(n.name for n in register.notebooks()) == ROUTES[0].notebooks
    used = register.exercises()
    assert {e.notebook for e in used} <= set(ROUTES[0].notebooks)
    assert [e.id for e in used if not e.core] == ["two-head-queries"]
    assert register.exercise("two-head-queries").extra
    assert register.exercise("noisy-average").retired  # still readable
    assert register.points("04_translation") == 0


def test_every_route_can_be_chosen_by_name(tmp_path):
    for route in ROUTES:
        assert read(tmp_path, f'route = "{route.name}"\n').notebooks == route.notebooks


def test_points_numbers_address_and_title_reach_the_register(tmp_path):
    (tmp_path / "course.toml").write_text(
        'title = "Ours"\nrepository = "https://github.com/us/ours/"\nown_numbers = true\n'
        "[points]\ndot-prod-attention = 12\n"
    )
    before = register.points("03_attention")
    choices.use(tmp_path)
    assert (register.title(), register.repository()) == ("Ours", "https://github.com/us/ours")
    assert register.setting("own_numbers") is True
    assert register.points("03_attention") == before + 4
    register.use(None)
    assert register.points("03_attention") == before


def test_dates_are_read_in_the_classs_own_time_zone(tmp_path):
    found = read(
        tmp_path,
        'timezone = "Europe/Berlin"\n[due]\n03_attention = 2027-03-05T18:00:00\n'
        "04_translation = 2027-07-05T18:00:00\n05_self_attention = 2027-03-05T18:00:00Z\n"
        '[late]\nshare_a_day = 0.2\nfree_days = 1\n[sections."Group B".due]\n'
        "03_attention = 2027-03-08T18:00:00\n",
    )
    assert found.due["03_attention"] == datetime(2027, 3, 5, 17, tzinfo=UTC)
    assert found.due["04_translation"] == datetime(2027, 7, 5, 16, tzinfo=UTC)  # summer time
    assert found.due["05_self_attention"] == datetime(2027, 3, 5, 18, tzinfo=UTC)
    assert found.section_due["Group B"]["03_attention"] == datetime(2027, 3, 8, 17, tzinfo=UTC)
    assert found.late == choices.LateRule(0.2, 1)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("points = [", "is not valid TOML"),
        ('rout = "One lab"', "'rout' is not a setting. Did you mean route?"),
        ('route = "One lap"', "no such route. Did you mean One lab?"),
        ('route = "One lab"\nnotebooks = ["03_attention"]', "both `route` and `notebooks`"),
        ('notebooks = ["03_attentoin"]', "Did you mean 03_attention?"),
        ('notebooks = "03_attention"', "should be a list of names"),
        ('leave_out = ["dot-product"]', "no such exercise"),
        (
            'notebooks = ["03_attention"]\nleave_out = ["beam-search"]',
            "which this class does not use",
        ),
        ("[points]\ndot-prod-attention = 0", "Write a number above 0"),
        ("[points]\ndot-prod-attention = true", "Write a number above 0"),
        ('[points]\ndot-prod-attention = "8"', "Write a number above 0"),
        ("[points]\ndot-prod-attention = 1e9", "at most 1000"),
        ('leave_out = ["reversal-map"]\n[points]\nreversal-map = 2', "is left out, but `points`"),
        (
            'full_marks = ["reversal-map"]\ndoes_not_count = ["reversal-map"]',
            "is in `full_marks` and in `does_not_count`",
        ),
        ("[due]\n03_attention = 2027-03-05", "Write 2027-03-05T23:59:00"),
        ('[due]\n03_attention = "Friday"', "Write a date and a time"),
        ("[due]\n03_attention = 2027-03-05T18:00:00", "without a time zone"),
        ('timezone = "Berlin"', "not a time zone"),
        ('notebooks = ["03_attention"]\n[due]\n04_translation = 2027-03-05T18:00:00Z', "no such"),
        ("[late]\nshare_a_day = 10", "between 0 and 1"),
        ("[late]\nfree_days = 0.5", "a whole number"),
        ("[late]\nper_day = 0.1", "not a setting of [late]"),
        ('repository = "github.com/us/ours"', "the whole address"),
        ("own_numbers = 1", "write true or false"),
        ('packages = ["einops>=0.7"]', "without a version"),
        ('[sections."Group B"]\ndu = 1', "not a setting of a section"),
        ("late = 0.1", "should be a table"),
        ("title = 3", "write it between quotes"),
    ],
)
def test_every_wrong_value_gets_a_sentence(text, sentence, tmp_path):
    with pytest.raises(CourseError) as problem:
        read(tmp_path, text)
    assert sentence in str(problem.value)
    assert "course.toml" in str(problem.value)


def test_retired_exercises_may_be_named(tmp_path):
    (retired, *_) = [e["id"] for e in register.own()["exercise"] if e.get("retired")]
    assert read(tmp_path, f'does_not_count = ["{retired}"]\n').uncounted == {retired}


def test_a_package_that_the_grader_lacks_is_named_with_its_remedy(tmp_path):
    (tmp_path / "course.toml").write_text('packages = ["surely-not-installed"]\n')
    with pytest.raises(CourseError, match="pip install surely-not-installed"):
        choices.use(tmp_path)


def test_a_package_is_known_by_the_name_that_import_takes(tmp_path):
    (tmp_path / "course.toml").write_text('packages = ["pyyaml"]\n')
    choices.use(tmp_path)
    assert "yaml" in register.setting("packages")
