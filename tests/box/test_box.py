"""The box by itself: what comes back, what it costs, and how it says that it cannot be had."""

import importlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from autograder.box import (
    Box,
    BoxUnavailable,
    Job,
    Limits,
    folders,
    inside,
    other_user,
    seccomp,
    supervisor,
    walls,
    watch,
    why_unavailable,
)
from course_utils.checks import wire

ROOT = Path(__file__).parents[2]

needs_box = pytest.mark.skipif(bool(walls.why_unavailable()), reason="no namespaces")
pytestmark = pytest.mark.box
REQUEST = wire.pack_request({"any": [wire.Ask("x", "value", {"names": ["x"]})]})


@pytest.fixture(scope="module")
def box():
    with Box(workers=2, limits=Limits(wall_seconds=30, cpu_seconds=8)) as box:
        yield box


def test_there_is_one_worker_per_core_unless_another_number_is_asked_for():
    assert Box().workers == os.cpu_count()
    assert Box(workers=3).workers == 3


def value_of(outcome):
    """The list of numbers that the submission called x."""
    assert outcome.status == "ok", outcome
    return wire.unpack_response(outcome.frame)["any"][0].arrays["x"].ravel().tolist()


@needs_box
def test_arrays_come_back_as_they_are(box):
    outcome = box.run(Job(("import torch", "x = torch.arange(6.).reshape(2, 3)"), REQUEST))
    assert value_of(outcome) == [0, 1, 2, 3, 4, 5]


@needs_box
def test_an_exception_ends_its_cell_and_the_next_one_runs(box):
    outcome = box.run(Job(("x = 1", "1 / 0", "x = x + 1"), REQUEST))
    assert value_of(outcome) == [2]
    assert "ZeroDivisionError" in outcome.printed


@needs_box
def test_magics_and_shell_commands_work_and_write_to_their_own_folder(box):
    cells = ("%matplotlib inline", "!echo hello > note.txt", "x = [len(open('note.txt').read())]")
    outcome = box.run(Job(cells, REQUEST))
    assert value_of(outcome) == [6]


def large_pages_available() -> bool:
    switch = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    return release >= (6, 1) and switch.exists() and "[never]" not in switch.read_text()


@needs_box
@pytest.mark.skipif(not large_pages_available(), reason="the kernel has no large pages")
def test_the_warm_process_is_in_large_pages_so_that_forks_are_cheap(box):
    box.wait()
    warm = watch.descendants(box._process.pid, 100)[-1]
    lines = Path(f"/proc/{warm}/smaps_rollup").read_text().splitlines()[1:]
    size = {line.split()[0]: int(line.split()[1]) for line in lines}
    assert size["AnonHugePages:"] > size["Anonymous:"] / 2


@needs_box
def test_a_submission_does_not_see_the_variable_of_the_warm_process(box):
    names = ", ".join(map(repr, walls.LARGE_PAGES))
    cells = ("import os", f"x = [name in os.environ for name in [{names}]]")
    assert value_of(box.run(Job(cells, REQUEST))) == [False]


@needs_box
def test_check_and_ready_do_nothing_inside(box):
    cells = ("from course_utils import check, ready", "x = [bool(ready('a')), bool(check('a'))]")
    assert value_of(box.run(Job(cells, REQUEST))) == [False, False]


@needs_box
def test_a_loop_without_end_costs_its_cell_only(box):
    outcome = box.run(Job(("while True: pass", "x = 3"), REQUEST))
    assert value_of(outcome) == [3]
    assert "share of the time" in outcome.printed


@needs_box
def test_outcomes_come_in_the_order_of_the_jobs(box):
    jobs = [
        Job((f"import time; time.sleep({0.3 if n == 0 else 0}); x = {n}",), REQUEST)
        for n in range(12)
    ]
    numbers = [value_of(outcome) for outcome in box.map(jobs)]
    assert numbers == [[n] for n in range(12)]


@needs_box
def test_memory_of_the_whole_tree_is_counted():
    limits = Limits(wall_seconds=60, cpu_seconds=40, memory_bytes=1000 << 20)
    grow = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        kept = bytearray(b"x") * (250 << 20); time.sleep(60); os._exit(0)
time.sleep(60)
"""
    with Box(workers=1, limits=limits) as box:
        assert box.run(Job((grow,), REQUEST)).status == "memory"


@pytest.mark.parametrize("unsafe", [pytest.param(False, marks=needs_box), True])
def test_the_address_space_of_the_libraries_does_not_count(unsafe):
    """PyTorch's build for GPUs maps more than a submission may use, before any of it runs."""
    code = "import resource\nprint(resource.getrlimit(resource.RLIMIT_AS)[0] >> 20)\nx = 1"
    limits = Limits(wall_seconds=60, cpu_seconds=40, memory_bytes=400 << 20)
    with Box(workers=1, limits=limits, unsafe=unsafe) as box:
        outcome = box.run(Job((code,), REQUEST))
        most = int(outcome.printed.split()[0])
        assert outcome.status == "ok" and most > 400 + 300
        # and that is no way to more memory
        more = box.run(Job((f"kept = bytearray(b'x') * ({most} << 20)",), REQUEST))
        assert "MemoryError" in more.printed
        held = box.run(
            Job(("import time\nkept = bytearray(b'x') * (340 << 20)\ntime.sleep(60)",), REQUEST)
        )
        assert held.status == "memory"


@needs_box
def test_a_zygote_that_died_is_replaced(box):
    box.run(Job(("x = 1",), REQUEST))
    box._process.kill()
    box._process.wait()
    assert value_of(box.run(Job(("x = 2",), REQUEST))) == [2]


@needs_box
@pytest.mark.parametrize("missing", ["torch", "probes"])
def test_a_zygote_that_cannot_start_is_told_at_once(missing, monkeypatch):
    """Otherwise a broken installation would give everybody 0 points."""
    if missing == "torch":
        monkeypatch.setattr(walls, "package_folders", list)
    else:
        monkeypatch.setattr(inside, "INSIDE_CHECKS", ("wire.py",))
    box = Box(workers=1)
    box.start()
    try:
        with pytest.raises(BoxUnavailable, match=missing):
            box.wait()
    finally:
        box.close()


@needs_box
def test_nothing_stays_behind_when_the_box_is_closed():
    with Box(workers=1) as box:
        box.run(Job(("x = 1",), REQUEST))
        folder, process = box._folder, box._process
    assert not folder.exists()
    assert process.poll() is not None


@needs_box
def test_nothing_of_a_killed_supervisor_stays(tmp_path, monkeypatch):
    # in a place of its own: any other box that starts meanwhile would tidy up too
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = tmp_path / "supervisor.py"
    script.write_text(
        "import time\nfrom autograder.box import Box, Job\n"
        "from course_utils.checks import wire\n"
        "box = Box(workers=1); box.start()\n"
        "box.run(Job(('x = 1',), wire.pack_request({})))\n"
        "print(box._process.pid, box._folder, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        zygote, folder = process.stdout.readline().split()
        zygote = int(zygote)
        process.kill()
    deadline = time.monotonic() + 10
    while running(zygote) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not running(zygote)
    assert Path(folder).exists()
    with Box(workers=1):
        assert not Path(folder).exists()


def test_only_folders_whose_owner_is_gone_are_removed(tmp_path, monkeypatch):
    script = "from autograder.box import folders; import time\n"
    script += "kept = folders.new_folder(); print(kept[0], flush=True); time.sleep(60)"
    owners = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        for _ in range(2)
    ]
    try:
        living, dead = (Path(owner.stdout.readline().strip()) for owner in owners)
        owners[1].kill()
        owners[1].wait()
        (tmp_path / "box-of-another-program").mkdir()
        elsewhere = tmp_path / "elsewhere"
        shutil.copytree(dead, elsewhere)
        (tmp_path / "box-link").symlink_to(elsewhere)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        assert folders.remove_abandoned() == [dead]
        assert living.exists() and not dead.exists()
        assert (elsewhere / folders.OWNER).exists()
        assert (tmp_path / "box-of-another-program").exists()
        assert folders.remove_abandoned() == []
    finally:
        for owner in owners:
            owner.kill()
            owner.wait()
            owner.stdout.close()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder, lock = folders.new_folder()
    lock.close()
    os.chown(folder, 65534, 65534)
    assert folders.remove_abandoned() == []
    os.chown(folder, 0, 0)
    assert folders.remove_abandoned() == [folder]


def open_to_all(folder: Path) -> None:
    """Let another user reach a folder that pytest made for root alone."""
    for place in [folder, *folder.parents]:
        if place == Path(tempfile.gettempdir()):
            return
        place.chmod(0o755)


def opened_in_a_sandbox(*needed: Path) -> list[str]:
    """Options for bwrap: folders that only root may enter are open, and hold only what is needed."""
    options, seen = [], set()
    for path in needed:
        above = list(reversed(path.parents))
        closed = next((p for p in above if not p.stat().st_mode & stat.S_IXOTH), None)
        if closed is None:
            continue
        if closed not in seen:
            options += ["--perms", "0755", "--tmpfs", str(closed)]
        for folder in [*above[above.index(closed) + 1 :], path]:
            if folder not in seen:
                options += ["--perms", "0755", "--dir", str(folder)]
        seen |= {closed, *above, path}
        options += ["--ro-bind", str(path), str(path)]
    return options


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@needs_box
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_it_works_for_an_ordinary_user_as_well(tmp_path):
    """The same run as uid 12345; folders of root's that the interpreter needs are opened up."""
    script = tmp_path / "ordinary.py"
    script.write_text(
        "import os\nfrom autograder.box import Box, Job\n"
        "from course_utils.checks import wire\n"
        "with Box(workers=1) as box:\n"
        "    outcome = box.run(Job(('import os; print(os.getuid(), os.listdir(\"/proc\"))',), "
        "wire.pack_request({})))\n"
        "print(os.getuid(), outcome.status, outcome.printed)\n"
    )
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 12345, 12345)
    open_to_all(tmp_path)
    opened = opened_in_a_sandbox(Path(sys.base_prefix), Path(sys.prefix), ROOT)
    line = [
        *("bwrap", "--dev-bind", "/", "/", *opened, "--cap-add", "ALL"),
        *("setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups"),
        *("env", f"HOME={home}", f"TMPDIR={home}", sys.executable, str(script)),
    ]
    result = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout.split("\n")[0] == "12345 ok 65534 []", result.stderr


def test_the_boxed_course_holds_nothing_that_judges(tmp_path):
    inside.copy_course(tmp_path / "packages")
    here = {str(p.relative_to(tmp_path / "packages")) for p in tmp_path.rglob("*") if p.is_file()}
    checks = {name for name in here if name.startswith("course_utils/checks/")}
    assert checks >= {"course_utils/checks/wire.py", "course_utils/checks/probes/__init__.py"}
    for name in checks:
        rest = name.removeprefix("course_utils/checks/")
        given = rest in ("axes.py", "wire.py", "next_words.py", "__init__.py")
        assert given or rest.startswith("probes/"), name
    assert not [name for name in here if name.endswith((".npz", ".ipynb"))]
    assert not [name for name in here if name.startswith("autograder")]


def test_the_probe_side_imports_nothing_that_judges(tmp_path):
    """The copy must work by itself, without the course beside it."""
    inside.copy_course(tmp_path / "packages")
    code = (
        f"import sys; sys.path = [{str(tmp_path / 'packages')!r}] + "
        "[p for p in sys.path if 'site-packages' in p or 'lib' in p and 'editable' not in p]; "
        "sys.meta_path = [f for f in sys.meta_path if 'editable' not in str(f).lower()]; "
        "import course_utils.checks.probes, pkgutil, importlib; "
        "[importlib.import_module(m.name) for m in pkgutil.walk_packages("
        "course_utils.checks.probes.__path__, 'course_utils.checks.probes.')]; "
        "print(sorted(m for m in sys.modules if m.startswith(('course_utils.checks.', 'autograder')) "
        "and 'probes' not in m))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    beside = [f"course_utils.checks.{name}" for name in ("axes", "next_words", "wire")]
    assert result.stdout.strip() == str(beside)


def test_only_a_whitelist_is_bound():
    line = walls.command(Path("/nowhere/packages"), None)
    bound = [line[i + 1] for i, word in enumerate(line) if word in ("--bind", "--ro-bind")]
    assert "/" not in bound and "--bind" not in line
    repository = Path(walls.__file__).parents[2]
    for path in bound:
        inside_repository = Path(path).is_relative_to(repository)
        packages = any(
            f.is_relative_to(path) or Path(path).is_relative_to(f) for f in walls.package_folders()
        )
        ours = Path(path) == walls.interpreter() or Path(path).name in walls.INNER_FILES
        assert not inside_repository or packages or ours, path
        assert not repository.is_relative_to(path), path


@pytest.fixture
def no_second_wall(monkeypatch):
    monkeypatch.setattr(other_user, "why_unavailable", lambda: "not root")


def test_without_bubblewrap_it_says_so_and_what_to_do(monkeypatch, no_second_wall):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(BoxUnavailable, match=r"apt install bubblewrap.*--unsafe"):
        Box().start()


def test_without_namespaces_it_gives_the_reason_and_the_remedy(monkeypatch, no_second_wall):
    class Refused:
        returncode, stderr = 1, "bwrap: setting up uid map: Permission denied"

    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/bwrap")
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: Refused)
    with pytest.raises(
        BoxUnavailable, match=r"uid map: Permission denied.*(sysctl|Docker).*--unsafe"
    ):
        Box().start()


def test_on_another_system_it_points_to_linux(monkeypatch, no_second_wall):
    monkeypatch.setattr(walls.platform, "system", lambda: "Darwin")
    assert "Linux container" in why_unavailable()


def test_unsafe_runs_with_limits_and_without_walls(monkeypatch):
    monkeypatch.setattr(walls, "why_unavailable", lambda: "no namespaces here.")
    with Box(workers=1, limits=Limits(wall_seconds=6, cpu_seconds=2), unsafe=True) as box:
        assert value_of(box.run(Job(("x = [2]",), REQUEST))) == [2]
        assert box.run(Job(("import os; os._exit(3)",), REQUEST)).status == "crashed"
        outcome = box.run(
            Job(("import signal; signal.signal(26, signal.SIG_IGN)\nwhile 1: pass",), REQUEST)
        )
        assert outcome.status == "timeout"


@pytest.mark.parametrize("sockets", [True, False])
@pytest.mark.parametrize("machine", seccomp.MACHINES)
def test_the_filter_is_a_list_of_whole_instructions_that_ends_in_allow(machine, sockets):
    code = seccomp.program(machine, sockets)
    assert len(code) % 8 == 0 and len(code) // 8 < 4096
    assert code[-8:] == b"\x06\x00\x00\x00\x00\x00\xff\x7f"


@needs_box
@pytest.mark.parametrize("also", [(), ("colorsys", "course_utils.transformer.check_mask", "no")])
def test_what_a_class_needs_is_imported_before_its_submissions_run(also):
    asked = ("colorsys", "course_utils.transformer.masks")
    loaded = f"import sys; x = [float(name in sys.modules) for name in {asked}]"
    with Box(workers=1) as box:
        box.also = also
        box.wait()
        assert value_of(box.run(Job((loaded,), REQUEST))) == [float(bool(also))] * 2


@needs_box
def test_what_plots_is_imported_once_a_job_speaks_of_it():
    loaded = "import sys; x = [float('mat' 'plotlib.pyplot' in sys.modules)]"
    with Box(workers=1) as box:
        assert value_of(box.run(Job((loaded,), REQUEST))) == [0.0]
        assert value_of(box.run(Job((loaded, "# matplotlib"), REQUEST))) == [1.0]
        assert value_of(box.run(Job((loaded,), REQUEST))) == [1.0]


KILLED = """
import threading, time
from autograder.box import Box, Job, Limits
box = Box(1, Limits(wall_seconds=900))
box.start()
box.wait()
job = Job(("import time\\ntime.sleep(10_000)",), b"")
threading.Thread(target=box.run, args=(job,), daemon=True).start()
print(box._process.pid, flush=True)
time.sleep(900)
"""


@needs_box
def test_nothing_goes_on_when_the_grader_is_killed():
    grader = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True)
    warm = int(grader.stdout.readline())
    below: list[int] = []
    while len(below) < 5:  # two of bubblewrap, the zygote, and the two of the submission
        below = watch.descendants(warm, 20)
    grader.kill()
    grader.wait()
    grader.stdout.close()
    assert all(ended(pid) for pid in below)


def ended(pid):
    """Whether a process ends: at once if all is well, and else not at all."""
    for _ in range(600):
        if not psutil.pid_exists(pid):
            return True
        time.sleep(0.05)
    return False


def test_what_a_killed_run_unpacked_is_removed_at_the_next_start(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with folders.scratch() as living:
        (living / "notebook").write_text("{}")
        dead, lock = folders.new_folder(folders.HANDED_IN)
        lock.close()
        with folders.scratch() as another:
            assert not dead.exists() and (living / "notebook").exists() and another.is_dir()
    assert not list(tmp_path.iterdir())


@pytest.fixture
def zygote(monkeypatch):
    """The script of the warm process, which is no part of a package."""
    monkeypatch.syspath_prepend(str(walls.HERE))
    return importlib.import_module("zygote")


SPECIAL = (
    *("%time x", "x = %pwd", "!ls", "x = !ls", "len?", "?len", "??len", "len??", "%%time\nx = 1"),
    *(",f a b", ";f a b", "/f a b", "if x:\n    %time y", "if x:\n\t/f a", "x = 1\n!ls\ny = 2"),
)


@pytest.mark.parametrize("cell", SPECIAL)
def test_every_syntax_of_ipythons_own_is_noticed(zygote, cell):
    assert any(map(zygote.may_be_special, cell.splitlines(keepends=True)))


@given(st.text("ab=,;/ \n\t()#'\"\\\x0c\x0b:0\N{NO-BREAK SPACE}", max_size=30))
def test_ipython_would_not_change_a_cell_without_its_own_syntax(cell):
    sys.path.insert(0, str(walls.HERE))
    try:
        special = importlib.import_module("zygote").may_be_special
    finally:
        sys.path.remove(str(walls.HERE))
    lines = f"{cell}\n".splitlines(keepends=True)
    if not any(map(special, lines)):
        assert TransformerManager().do_token_transforms(lines) == lines


@needs_box
def test_a_cell_without_ipythons_syntax_is_not_split_into_tokens(box):
    count = """
from IPython.core import inputtransformer2 as theirs
calls, before = [], theirs.make_tokens_by_line
theirs.make_tokens_by_line = lambda lines: calls.append(lines) or before(lines)
"""
    assert value_of(box.run(Job((count, "y = 1", "x = [len(calls)]"), REQUEST))) == [0]
    assert value_of(box.run(Job((count, "y = 5 % 2", "x = [len(calls)]"), REQUEST))) == [1]


@pytest.mark.parametrize("available", [True, False])
def test_a_job_is_written_to_a_file_that_nobody_can_find(available, monkeypatch):
    if not available:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    with supervisor.new_paper() as paper:
        paper.write(b"job")
        paper.seek(0)
        assert os.fstat(paper.fileno()).st_nlink == 0
        in_memory = "memfd" in os.readlink(f"/proc/self/fd/{paper.fileno()}")
        assert (paper.read(), in_memory) == (b"job", available)
