"""Takes in what students hand in, and rebuilds the release notebook around their answers.

`collect` reads folders, notebooks and zip files; `find_files` and `read_submissions` do so one
student at a time; `rebuild` repairs one notebook. None of them lets a bad file stop a class: what
was repaired is in `repairs`, and what a person must look at is in `flags`.
"""

from autograder.intake.collect import HandedIn, collect, find_files, read_submissions
from autograder.intake.rebuild import rebuild
from autograder.intake.roster import RosterError, Student, read_roster, read_settled
from autograder.intake.submission import Rebuilt, Submission

__all__ = [
    "HandedIn",
    "Rebuilt",
    "RosterError",
    "Student",
    "Submission",
    "collect",
    "find_files",
    "read_roster",
    "read_settled",
    "read_submissions",
    "rebuild",
]
