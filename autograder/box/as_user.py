"""The second wall from inside: a root folder with only a whitelist in it, and an unused user.

The warm process uses it on machines without namespaces, so it imports nothing of ours. That
process is root and has read nothing but the whitelist. Each submission gets a user number that
no other process has, so "all processes of this user" means "all processes of this submission".
"""

import contextlib
import ctypes
import os
import signal
import tempfile

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def required(libc: ctypes.CDLL, option: int, value: int) -> None:
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option} was refused")


def watch_over(libc: ctypes.CDLL, user: int) -> None:
    """Before the submission starts: adopt whatever it leaves behind, and die with the grader."""
    required(libc, PR_SET_CHILD_SUBREAPER, 1)

    def leave(signum, frame):
        end_all(user)
        os._exit(0)

    signal.signal(signal.SIGTERM, leave)
    required(libc, PR_SET_PDEATHSIG, signal.SIGTERM)


def enter(root: str, user: int) -> None:
    """Lock this process into its root folder and its user, with no way back from either."""
    os.chroot(root)
    os.chdir("/tmp")
    os.umask(0o077)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    for name in ("HOME", "TMPDIR"):
        os.environ[name] = "/tmp"
    os.environ["XDG_CACHE_HOME"] = "/tmp/.cache"
    tempfile.tempdir = None  # the warm process may have asked for it


def end_all(user: int) -> None:
    """Kill every process of this user and wait until the last one is gone.

    The kernel signals all of them at once, so none can fork in the meantime. The sender takes the
    user's number as its effective id only, so the submission has no right to signal it.
    """
    while True:
        sender = os.fork()
        if sender == 0:
            with contextlib.suppress(OSError):
                os.setresuid(user + 1, user, user + 1)
                os.kill(-1, signal.SIGKILL)
            os._exit(0)
        os.waitpid(sender, 0)
        try:
            while os.waitpid(-1, 0):
                pass
        except ChildProcessError:
            return
