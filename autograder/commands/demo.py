"""autograder demo: an invented class to try everything on."""

import os
import random
import time
from pathlib import Path

import click

from autograder.course_files import CourseError


@click.command(name="demo", short_help="Invent a class to try everything on, and grade it.")
@click.argument("folder", type=click.Path(path_type=Path), default="demo_course")
@click.option(
    "--students",
    type=click.IntRange(5, 2000),
    default=30,
    show_default=True,
    help="How many students to invent.",
)
@click.option(
    "--assignment",
    "wanted",
    multiple=True,
    help="Only this assignment (may be repeated; default: 03 and 04).",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=lambda: os.cpu_count() or 1,
    help="How many submissions to grade at a time.  [default: one per core]",
)
@click.option("--seed", type=int, default=0, help="Change it to get another class.")
@click.option("--unsafe", is_flag=True, help="Run submissions without isolation.")
def command(folder, students, wanted, jobs, seed, unsafe):
    """Make a course directory in FOLDER with an invented class, and grade it.

    The command also writes the report and the feedback, and tells you where to look.
    """
    from autograder.box import BoxUnavailable
    from autograder.commands.grade import outcome
    from autograder.instructor import demo
    from autograder.whole_class.grade_class import Options, grade_class

    started, rng = time.monotonic(), random.Random(seed)
    try:
        assignments = demo.available_assignments(wanted)
        people = demo.make_students(students, rng)
        files = demo.make_class(people, assignments, rng, hostile=not unsafe)
        demo.write_course(folder, people, files, assignments)
        click.echo(f"{len(people)} students handed in {len(files)} files:")
        for kind in dict.fromkeys(file.kind for file in files):
            click.echo(f"  {sum(file.kind == kind for file in files):3} {kind}")
        shown, known = demo.misconceptions_shown(files), demo.known_misconceptions(assignments)
        click.echo(
            f"  They show {len(shown)} of the {len(known)} misconceptions that the checks know."
        )
        for name in assignments:
            click.echo(f"Grading {name} …")
            options = Options(
                name,
                (folder / "handed_in" / name,),
                course=folder,
                jobs=jobs,
                roster=folder / "roster.csv",
                unsafe=unsafe,
            )
            run, records = grade_class(options)
            click.echo(f"  {outcome(run, records)}, in {run.seconds:.1f} s.")
        pages(folder, assignments)
    except BoxUnavailable as problem:
        raise click.ClickException(f"{problem}\nOr try: autograder demo --unsafe") from None
    except (CourseError, RuntimeError, OSError) as problem:
        raise click.ClickException(str(problem)) from None
    tell(folder, assignments, time.monotonic() - started)


def pages(folder, assignments) -> None:
    """Write report and feedback with the commands that an instructor uses."""
    from autograder.commands import feedback, report

    for name in assignments:
        for module in (report, feedback):
            module.command.main([name, "--course", str(folder)], standalone_mode=False)


def tell(folder, assignments, seconds) -> None:
    name = assignments[0]
    click.echo(f"\nDone in {seconds:.0f} s. Now look at:")
    for what, where in (
        ("the class report", folder / "reports" / f"{name}.html"),
        ("a student's feedback", folder / "feedback" / "s001" / name / f"{name}.html"),
        ("the students' files", folder / "handed_in"),
    ):
        click.echo(f"  {what:21} {where}")
    click.echo("\nThen try:")
    for line in (
        f"cd {folder}",
        "autograder mark                               # the written answers",
        f"autograder feedback {name}",
        f"autograder regrade {name} --student s001",
        "autograder export --format canvas",
    ):
        click.echo(f"  {line}")
