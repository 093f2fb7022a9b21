#!/bin/bash
# Gradescope runs this once, as root, when it builds the image of an assignment.
set -euo pipefail
bash /autograder/source/course/autograder/platforms/files/install_grader.sh \
    /autograder/source/course /autograder/grader
# Submissions run as other users in their own root; this is the second lock on the same door.
chmod -R go-rwx /autograder/source
