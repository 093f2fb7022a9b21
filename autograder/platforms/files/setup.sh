#!/bin/bash
# Gradescope runs this once, as root, when it builds the image of an assignment.
set -euo pipefail
bash /autograder/source/course/autograder/platforms/files/install_grader.sh \
    /autograder/source/course /autograder/grader
# Packages that course.toml allows answers to import.
if [ -s /autograder/source/packages.txt ]; then
    /autograder/grader/bin/python -m pip install --quiet \
        --constraint /autograder/source/course/constraints.txt \
        --requirement /autograder/source/packages.txt
fi
# Submissions run as other users in their own root; this is the second lock on the same door.
chmod -R go-rwx /autograder/source
