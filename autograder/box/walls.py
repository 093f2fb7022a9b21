"""The outer wall: what the box can see of this machine, and why it may not be available."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
INSIDE = "/box"
INNER_FILES = ("zygote.py", "as_user.py", "seccomp.py")
SYSTEM_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/bin", "/lib", "/lib64", "/bin")
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives")
DEVICES = ("null", "zero", "full", "random", "urandom")
MASKED = ("autograder", "course_utils")
# the warm process allocates large pages from the start, and then removes this variable
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


class BoxUnavailable(RuntimeError):
    """The box is not available on this machine; the message explains why and what to do."""


def interpreter() -> Path:
    """The real interpreter, past the links of a virtual environment."""
    return Path(os.path.realpath(sys.executable))


def package_folders() -> list[Path]:
    """The site-packages folders that this interpreter uses."""
    found = []
    for entry in sys.path:
        folder = Path(entry)
        if folder.name in ("site-packages", "dist-packages") and folder.is_dir():
            found.append(folder.resolve())
    return found


def interpreter_folders() -> list[Path]:
    """The standard library and the shared library of the interpreter."""
    base = Path(sys.base_prefix).resolve()
    folders = [Path(sysconfig.get_path("stdlib")).resolve()]
    if base not in (Path("/usr"), Path("/usr/local")):
        folders.append(base / "lib")
    return folders


def bound_paths() -> list[tuple[str, Path, str]]:
    """Every (option, path here, path inside) of the whitelist, parents before children."""
    bound: dict[str, tuple[str, Path]] = {}
    for name in SYSTEM_FOLDERS:
        path = Path(name)
        if path.is_symlink():
            bound[name] = ("--symlink", Path(os.readlink(path)))
        elif path.is_dir():
            bound[name] = ("--ro-bind", path)
    for name in SYSTEM_FILES:
        if Path(name).exists():
            bound[name] = ("--ro-bind", Path(name))
    files = [interpreter()]
    library = sysconfig.get_config_var("INSTSONAME")
    if library:
        files.append(Path(sysconfig.get_config_var("LIBDIR")) / library)
    for path in [*interpreter_folders(), *package_folders(), *files]:
        if path.exists():
            bound.setdefault(str(path), ("--ro-bind", path))
    whole = {name for name, (option, path) in bound.items() if option == "--ro-bind"}
    return [
        (option, path, inside)
        for inside, (option, path) in sorted(bound.items())
        if not any(str(parent) in whole for parent in Path(inside).parents)
    ]


def bound_below(top: str) -> list[str]:
    """The part of the whitelist below folders that are new and empty for each submission."""
    return [inside for _, _, inside in bound_paths() if inside.startswith(f"{top}/")]


def masks() -> list[list[str]]:
    """Empty folders that cover our own packages wherever an installation put them."""
    covers = []
    for folder in {*package_folders(), *(f / "site-packages" for f in interpreter_folders())}:
        for name in MASKED:
            if (folder / name).is_dir():
                covers.append(["--tmpfs", str(folder / name), "--remount-ro", str(folder / name)])
    return covers


def command(boxed_course: Path, font_cache: Path | None) -> list[str]:
    """The bubblewrap command line, without the program that runs in it."""
    root = os.getuid() == 0
    line = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    if root:
        # a real uid other than 0 is needed, which a namespace made by root would not give:
        # start as root without capabilities and let the zygote change its user
        line += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        line += ["--unshare-user", "--uid", "65534", "--gid", "65534"]
    line += ["--hostname", "box", "--new-session", "--clearenv"]
    for name, value in {**environment("/tmp"), **LARGE_PAGES}.items():
        line += ["--setenv", name, value]
    # before the bound paths: an environment may itself be under /tmp
    line += ["--perms", "1777", "--tmpfs", "/tmp"]
    # bubblewrap creates missing parents for root alone, and the zygote is another user
    paths = bound_paths()
    for folder in sorted(
        {str(p) for _, _, inside in paths for p in Path(inside).parents} - {"/", "/tmp"}
    ):
        if not any(folder == inside for _, _, inside in paths):
            line += ["--perms", "0755", "--dir", folder]
    for option, path, inside in paths:
        line += [option, str(path), inside]
    for cover in masks():
        line += cover
    line += ["--perms", "0755", "--dir", INSIDE]
    for name in INNER_FILES:
        line += ["--ro-bind", str(HERE / name), f"{INSIDE}/{name}"]
    line += ["--ro-bind", str(boxed_course), f"{INSIDE}/packages"]
    line += ["--perms", "0755", "--dir", "/dev"]
    for name in DEVICES:
        line += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    line += [
        "--perms",
        "0755",
        "--dir",
        "/dev/shm",
        "--proc",
        "/proc",
    ]
    if font_cache is not None:
        for folder in ("/tmp/.cache", "/tmp/.cache/matplotlib"):
            line += ["--perms", "1777", "--dir", folder]
        line += ["--ro-bind", str(font_cache), f"/tmp/.cache/matplotlib/{font_cache.name}"]
    return [*line, "--remount-ro", "/", "--chdir", "/tmp", "--"]


def reading_room(visible: Iterable[Path]) -> list[str]:
    """The bubblewrap command line for a process that reads submissions but runs none of their code.

    It sees the interpreter, its packages and the `visible` paths, all read-only, and no network.
    """
    line = ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc"]
    line += ["--unshare-uts", "--hostname", "reader", "--cap-drop", "ALL", "--clearenv"]
    for name, value in environment("/tmp").items():
        line += ["--setenv", name, value]
    line += ["--tmpfs", "/tmp"]
    for option, path, inside in bound_paths():
        line += [option, str(path), inside]
    for path in visible:
        if path.exists():
            line += ["--ro-bind", str(path), str(path)]
    return [*line, "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/", "--chdir", "/", "--"]


def environment(home: str) -> dict[str, str]:
    """All the variables that a submission sees."""
    return {
        "HOME": home,
        "USER": "student",
        "LOGNAME": "student",
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TMPDIR": home,
        "MPLBACKEND": "Agg",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TQDM_DISABLE": "1",
    }


def why_unavailable() -> str | None:
    """None if the box is available; otherwise the reason and the remedy."""
    if platform.system() != "Linux":
        return (
            f"The box needs Linux namespaces, but this is {platform.system()}. "
            "Run the grader in a Linux container or on a Linux machine (README, 'What instructors get')."
        )
    if shutil.which("bwrap") is None:
        return (
            "The box needs bubblewrap, which is not installed. Install it: apt install bubblewrap."
        )
    trial = [
        *("bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/"),
        *("--proc", "/proc", "--", "/bin/sh", "-c", "exit 0"),
    ]
    result = subprocess.run(trial, capture_output=True, text=True, timeout=30, check=False)
    if result.returncode == 0:
        return None
    return explain(result.stderr.strip() or f"bwrap ended with status {result.returncode}")


def explain(reason: str) -> str:
    """Turn an error of bubblewrap or the kernel into a sentence with a remedy."""
    if not any(word in reason for word in ("bwrap", "namespace", "not permitted", "denied")):
        return f"The box could not be started: {reason}."
    remedy = (
        "Allow unprivileged user namespaces (sysctl user.max_user_namespaces above 0; "
        "on Debian also kernel.unprivileged_userns_clone=1)."
    )
    if Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").exists():
        remedy = (
            "Ubuntu 23.10 and later and hosted runners restrict namespaces: "
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0."
        )
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        remedy = (
            "Inside Docker, start the container with --security-opt seccomp=unconfined "
            "--security-opt systempaths=unconfined (and --security-opt apparmor=unconfined)."
        )
    return f"The box could not be created on this machine: {reason}. {remedy}"
