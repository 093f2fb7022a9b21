#!/bin/bash
# Installs the grader from a copy of the course: install_grader.sh COURSE ENVIRONMENT
# Gradescope's setup.sh and the Dockerfile both run it, as root, on Debian or Ubuntu.
set -euo pipefail
course=$1
environment=$2
export DEBIAN_FRONTEND=noninteractive

apt-get update
apt-get install --yes --no-install-recommends bubblewrap ca-certificates python3 python3-venv

# The system's Python may be older than the course needs (Ubuntu 22.04 has 3.10).
python=""
for name in python3 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then
        python=$(command -v "$name")
        break
    fi
done
if [ -z "$python" ]; then
    echo "This system's Python is older than 3.11: uv brings a newer one."
    python3 -m venv /opt/uv
    /opt/uv/bin/pip install --quiet --constraint "$course/constraints.txt" uv
    export UV_PYTHON_INSTALL_DIR=/opt/python
    /opt/uv/bin/uv python install 3.12
    python=$(/opt/uv/bin/uv python find 3.12)
fi

"$python" "$course/tools/install.py" --layer instructor "$environment"
# What was only needed to install takes no place in an image.
rm -rf /root/.cache/uv /root/.cache/pip /var/lib/apt/lists/*
# Tell now, not at the first submission, whether the judge can be imported and which wall there is.
"$environment/bin/python" -c '
from autograder.box import why_unavailable
from autograder.grading import student
print(why_unavailable() or "Submissions can be isolated on this machine.")'
