"""Hostile answers to DotProdAttention: none of them solves it, so none may get a point.

Each is the text of the answer cell. Those in ENDED are stopped from outside, the others run to
their end and must simply have no effect. `{secret}` is a file that only the grader may read.
"""

LIE = """
class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.w = nn.Linear(hidden_size, hidden_size)

    def forward(self, query, states):
        B, T, S = query.shape[0], query.shape[1], states.shape[1]
        return LYING(query.shape), LYING((B, T, S))
"""

# --- it tries to look right --------------------------------------------------------------------

LOOKS_RIGHT = {
    "displayhook": "get_ipython().displayhook(8.0)",
    "displays an execute_result": """
from IPython.display import publish_display_data
publish_display_data({"text/plain": "8.0"})
8.0
""",
    "a tensor that equals everything": """
class Yes(torch.Tensor):
    __eq__ = __le__ = __lt__ = __ge__ = __gt__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = None
LYING = lambda shape: torch.zeros(shape).as_subclass(Yes)
"""
    + LIE,
    "a tensor that answers every torch function": """
class Echo(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return next((a for a in args if isinstance(a, torch.Tensor)), True)
LYING = lambda shape: torch.zeros(shape).as_subclass(Echo)
"""
    + LIE,
    "an array with its own __array__": """
class Chameleon:
    def __init__(self, shape): self.shape, self.dtype, self.ndim = shape, float, len(shape)
    def __array__(self, *args, **kwargs): return self
    __eq__ = lambda self, other: True
LYING = Chameleon
"""
    + LIE,
    "NaN everywhere": "LYING = lambda shape: torch.full(shape, float('nan'))\n" + LIE,
    "comparison functions patched": """
import math, numpy as np
yes = lambda *a, **k: True
np.allclose = np.array_equal = np.isclose = torch.allclose = torch.equal = math.isclose = yes
np.testing.assert_allclose = torch.testing.assert_close = yes
LYING = torch.zeros
"""
    + LIE,
    "builtins patched": """
import builtins
true = lambda *a, **k: True
builtins.all = builtins.any = builtins.isinstance = builtins.issubclass = true
builtins.abs = builtins.max = builtins.sum = lambda *a, **k: 0
LYING = torch.zeros
"""
    + LIE,
    "an AST transformer that drops asserts and comparisons": """
import ast
class Drop(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.Pass()
    def visit_Compare(self, node): return ast.Constant(True)
get_ipython().ast_transformers.append(Drop())
""",
    "an input transformer that rewrites the next cells": """
get_ipython().input_transformers_post.append(lambda lines: ["result = 8.0\\n", "result\\n"])
""",
    "post-run hooks": """
ip = get_ipython()
for event in ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell"):
    ip.events.register(event, lambda *a: ip.displayhook(8.0))
""",
    "its own check and result": """
import course_utils, types
check = hidden_check = lambda *a: types.SimpleNamespace(points=8.0, passed=True)
course_utils.check = course_utils.ready = check
result = check()
""",
    "the probe replaced": """
import sys
from course_utils.checks import probes, wire
import numpy as np
def answer(request, namespace):
    asked = wire.unpack_request(request)
    ones = {f"{kind}{i}": np.ones((4, 7, 5)) for kind in ("out", "again", "after", "grad")
            for i in (0, 1)}
    return wire.pack_response({e: [wire.Reply("ok", ones, {"out_count": "2"})] * len(asks)
                               for e, asks in asked.items()})
probes.answer = answer
sys.modules["course_utils.checks.probes"].answer = answer
""",
    "the probe echoes its question": """
from course_utils.checks import probes, wire
def answer(request, namespace):
    asked = wire.unpack_request(request)
    def reply(ask):
        arrays = {f"{kind}{i}": a for kind in ("out", "again", "after", "grad")
                  for i, a in enumerate(ask.options["args"])}
        return wire.Reply("ok", arrays, {"out_count": "2", "parameters_reached": "9"})
    return wire.pack_response({e: [reply(a) for a in asks] for e, asks in asked.items()})
probes.answer = answer
""",
    "notes that are not numbers": """
from course_utils.checks import probes, wire
import numpy as np
def answer(request, namespace):
    asked = wire.unpack_request(request)
    strange = wire.Reply("ok", {"out0": np.zeros((0, 3)), "products": np.zeros(7)},
                         {"out_count": "many", "precision": "32" * 9, "parameters_reached": "-"})
    return wire.pack_response({e: [strange] * len(asks) for e, asks in asked.items()})
probes.answer = answer
""",
    "the trainer's modules patched": """
nn.Linear.forward = nn.Module.__call__ = lambda self, x, *a: x
torch.softmax = torch.tanh = lambda x, *a, **k: x
torch.autograd.grad = lambda outputs, inputs, **k: [torch.ones_like(i) for i in inputs]
LYING = torch.zeros
"""
    + LIE,
}

# --- it tries to find the answer -----------------------------------------------------------------

LOOKS_AROUND = {
    "imports our own modules": """
import importlib
for name in ("autograder", "autograder.grading.grade", "autograder.build", "autograder.oracles",
             "course_utils.checks.judge", "course_utils.checks.exercises.dot_prod_attention",
             "course_utils.checks.equations", "course_utils.checks.variants",
             "course_utils.checks.panel"):
    try:
        importlib.import_module(name); print("FOUND", name)
    except ImportError:
        pass
""",
    "loads stored arrays": """
import glob, os
import course_utils
root = os.path.dirname(course_utils.__file__)
print(["FOUND " + p for p in glob.glob(root + "/**/*.npz", recursive=True)])
print(["FOUND " + p for p in glob.glob(root + "/checks/**/*", recursive=True)
       if "probes" not in p
       and not p.endswith(("wire.py", "next_words.py", "axes.py", "__init__.py"))])
""",
    "searches the disk for our files": """
import os
wanted = ("gradebook.db", "judge.py", "exercises", "oracles", "mutants", "verdict.py")
for top in ("/home", "/root", "/data", "/srv", "/opt", "/mnt", "/var", "/box", "/etc", "/tmp"):
    for folder, names, files in os.walk(top):
        if "site-packages" in folder or "/lib/python3" in folder:
            names.clear(); continue
        for name in names + files:
            if name in wanted or name.endswith((".db", ".ipynb")):
                print("FOUND", folder, name)
""",
    "reads a file of the grader": """
for way in (lambda p: open(p).read(), lambda p: __import__("os").popen("cat " + p).read()):
    try: print(way({secret!r}))
    except Exception as problem: print(type(problem))
""",
    "reads through links and dots": """
import os
os.symlink({secret!r}, "/tmp/link")
for path in ("/tmp/link", "/tmp/../../../.." + {secret!r}, "/proc/1/root" + {secret!r},
             "/proc/self/root" + {secret!r}, "/proc/self/cwd/../.." + {secret!r}):
    try: print(open(path).read())
    except OSError as problem: print(problem)
""",
    "reads /proc": """
import os
print(["FOUND " + name for name in os.listdir("/proc")])
for name in ("self/environ", "1/environ", "self/maps", "1/cmdline", "mounts", "keys", "kcore"):
    try: print("FOUND", open("/proc/" + name, "rb").read(100))
    except OSError: pass
""",
    "reads environment variables": """
import os, subprocess
print(dict(os.environ)); print(subprocess.run("env", capture_output=True, text=True).stdout)
""",
    "walks frames for expected values": """
import sys
frame = sys._getframe()
while frame:
    for name, value in frame.f_locals.items():
        if "expected" in name or "oracle" in name or "verdict" in name: print("FOUND", name)
    frame = frame.f_back
""",
    "walks the garbage collector": """
import gc, types
gc.unfreeze() if hasattr(gc, "unfreeze") else None
for thing in gc.get_objects():
    try:
        module = thing.__module__ if isinstance(thing, (types.FunctionType, type)) else ""
        if module and (module.startswith("autograder") or "checks.judge" in module
                       or "checks.exercises" in module): print("FOUND", module)
        if isinstance(thing, bytes) and b"TRACE-OF-ANOTHER" in thing: print("FOUND other")
        if isinstance(thing, str) and "TRACE-OF-" + "ANOTHER" in thing: print("FOUND other")
    except Exception:
        pass
""",
    "traces the probe": """
import sys
def tracer(frame, event, arg):
    for name in frame.f_locals:
        if name in ("expected", "oracle", "verdict", "seed_of_run"): print("FOUND", name)
    return tracer
sys.settrace(tracer)
""",
    "reads its memory through ptrace": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for pid in list(range(1, 40)) + [0, -1]:
    if libc.ptrace(16, pid, 0, 0) == 0: print("FOUND attached", pid)
print("ptrace", ctypes.get_errno())
""",
    "process_vm_readv": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for pid in range(2, 40):
    if libc.process_vm_readv(pid, 0, 0, 0, 0, 0) == 0: print("FOUND", pid)
""",
    "open descriptors": """
import os
for number in range(3, 300):
    try: print("FOUND", number, os.read(number, 10))
    except OSError: pass
""",
    "the network": """
import socket
for family, address in ((socket.AF_INET, ("1.1.1.1", 53)), (socket.AF_INET, ("127.0.0.1", 22)),
                        (socket.AF_INET6, ("::1", 80))):
    try:
        s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(1); s.connect(address)
        print("FOUND", address)
    except OSError as problem: print(problem)
try: print("FOUND", socket.gethostbyname("example.org"))
except OSError as problem: print(problem)
""",
    "other socket families": """
import socket
for name in ("AF_VSOCK", "AF_NETLINK", "AF_PACKET", "AF_ALG", "AF_BLUETOOTH", "AF_CAN"):
    if hasattr(socket, name):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
            try: socket.socket(getattr(socket, name), kind); print("FOUND", name)
            except OSError: pass
""",
    "pip": "!pip install --quiet attention-answers && echo FOUND",
    "unpickles to run code": """
import pickle
class Run:
    def __reduce__(self): return (print, ("ran in the box only",))
import course_utils.checks.wire as wire
wire.pack_response = lambda replies: pickle.dumps(Run())
""",
}

# --- it tries to break out or to gain rights ----------------------------------------------------

BREAKS_OUT = {
    "new namespaces": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for flag in (0x10000000, 0x20000000, 0x40000000, 0x00020000, 0x08000000):
    if libc.unshare(flag) == 0: print("FOUND unshare")
""",
    "clone with a new user namespace": """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
pid = libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
if pid > 0: print("FOUND clone")
""",
    "mounts": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"proc", b"/proc", b"proc", 0, None) == 0: print("FOUND mount")
if libc.umount2(b"/proc", 2) == 0: print("FOUND umount")
if libc.chroot(b"/tmp") == 0: print("FOUND chroot")
""",
    "becomes root": """
import os
for call in (lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0), lambda: os.setgroups([0])):
    try: call(); print("FOUND")
    except OSError: pass
print("uid", os.getuid())
""",
    "raises its limits": """
import resource
for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE):
    try: resource.setrlimit(kind, (resource.RLIM_INFINITY,) * 2); print("FOUND")
    except (ValueError, OSError): pass
""",
    "rare system calls": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for number in (321, 425, 323, 298, 175, 313, 246, 304, 310, 248, 250, 319, 29, 435):
    if libc.syscall(number, 0, 0, 0, 0, 0) >= 0: print("FOUND", number)
""",
    "writes everywhere": """
import os, sys
for folder in ("/", "/box", "/box/packages", "/usr/bin", "/dev", "/etc", *sys.path):
    try:
        open(os.path.join(folder or ".", "left.py"), "w").write("x = 1")
        if folder: print("FOUND", folder)
    except OSError: pass
""",
    "signals to every process": """
import os, signal
for pid in [-1, *range(2, 200)]:
    for number in (signal.SIGSTOP, signal.SIGKILL, signal.SIGTERM):
        try: os.kill(pid, number)
        except OSError: pass
""",
    "signals to its group": """
import os, signal
os.kill(0, signal.SIGKILL); os.killpg(0, signal.SIGKILL); os.kill(os.getppid(), signal.SIGKILL)
""",
    "a terminal's input": """
import fcntl, termios
for number in (0, 1, 2):
    try: fcntl.ioctl(number, termios.TIOCSTI, b"x"); print("FOUND")
    except OSError: pass
""",
    "asks for input": "input('your password? ')",
    "ends the shell": "get_ipython().ask_exit(); exit; quit(); raise SystemExit(0)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "a syntax error": "class DotProdAttention(nn.Module:",
}

# --- it leaves something for the next one ------------------------------------------------------

LEAVES_TRACES = {
    "a poisoned zygote": """
import sys, builtins, torch, course_utils.checks.probes as probes, course_utils.checks.wire as wire
torch.softmax = torch.Tensor.softmax = torch.tanh = lambda *a, **k: None
torch.nn.Linear = torch.nn.Module = object
probes.answer = wire.unpack_request = None
builtins.print = builtins.isinstance = None
sys.modules["torch"] = sys.modules["numpy"] = None
""",
    "torch.py in the folder": """
import sys, importlib
open("torch.py", "w").write("raise SystemExit(9)")
open("sitecustomize.py", "w").write("raise SystemExit(9)")
for name in [n for n in sys.modules if n.split(".")[0] == "torch"]: del sys.modules[name]
import torch
""",
    "files for the next one": """
import os
for folder in ("/tmp", "/dev/shm", os.getcwd(), os.path.expanduser("~")):
    open(folder + "/TRACE-OF-ANOTHER", "w").write("TRACE-OF-ANOTHER")
kept = "TRACE-OF-ANOTHER" * 1000
""",
    "a key in the keyring": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(248, b"user", b"trace", b"x", 1, -4) >= 0: print("FOUND key")
""",
    "shared memory": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.shmget(4711, 4096, 0o1666) >= 0: print("FOUND shm")
if libc.msgget(4711, 0o1666) >= 0: print("FOUND msg")
""",
    "an abstract socket": """
import os, socket, time
if os.fork() == 0:
    s = socket.socket(socket.AF_UNIX); s.bind("\\0trace-of-another"); s.listen(); time.sleep(600)
""",
    "a daemon": """
import os, time, signal
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 32):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        os.closerange(0, 300)
        time.sleep(600)
    os._exit(0)
""",
    "an exit handler that answers again": """
import atexit, os, threading, time
def again():
    for number in range(3, 256):
        try: os.write(number, b"ATTN\\x01")
        except OSError: pass
atexit.register(again)
threading.Thread(target=lambda: (time.sleep(0.05), again()), daemon=True).start()
""",
}

# --- it is stopped from outside: status and a word of the message ------------------------------

ENDED = {
    "os._exit": ("crashed", "import os; os._exit(0)"),
    "aborts": ("crashed", "import os; os.abort()"),
    "a segmentation fault": ("crashed", "import ctypes; ctypes.string_at(0)"),
    "a forged frame, then the end": (
        "forged",
        """
import os, struct, json
header = json.dumps({"dot-prod-attention": [{"status": "ok", "points": 8}]}).encode()
for number in range(3, 256):
    try: os.write(number, b"ATTN\\x01" + struct.pack("<Q", len(header)) + header)
    except OSError: pass
os._exit(0)
""",
    ),
    "two frames": (
        "forged",
        """
import os
from course_utils.checks import wire
frame = wire.pack_response({"dot-prod-attention": []})
for number in range(3, 256):
    try: os.write(number, frame)
    except OSError: pass
""",
    ),
    "a header longer than the frame": (
        "forged",
        """
import os, struct
for number in range(3, 256):
    try: os.write(number, b"ATTN\\x01" + struct.pack("<Q", 2**62) + b"{}")
    except OSError: pass
os._exit(0)
""",
    ),
    "a header nested without end": (
        "forged",
        """
import os, struct
header = b"[" * 60000
for number in range(3, 256):
    try: os.write(number, b"ATTN\\x01" + struct.pack("<Q", len(header)) + header)
    except OSError: pass
os._exit(0)
""",
    ),
    "an array of objects": (
        "forged",
        """
from course_utils.checks import wire
import json, struct
def pack(replies):
    array = {"__array__": ["object", [1]]}
    reply = {"status": "ok", "arrays": {"out0": array}, "notes": {}, "error": ""}
    header = json.dumps({e: [reply] * len(r) for e, r in replies.items()}).encode()
    return wire.MAGIC + struct.pack("<Q", len(header)) + header + b"x" * 8
wire.pack_response = pack
""",
    ),
    "a pickle": (
        "forged",
        "import pickle, course_utils.checks.wire as w\n"
        "w.pack_response = lambda r: pickle.dumps(print)",
    ),
    "a frame of 100 MB": (
        "output",
        "import course_utils.checks.wire as w\nw.pack_response = lambda r: bytes(100 << 20)",
    ),
    "an endless loop": ("cell", "while True: pass"),
    "an endless loop that ignores every signal": (
        "timeout",
        """
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True: pass
""",
    ),
    "sleeps for ever": ("timeout", "import time\nwhile True: time.sleep(1000)"),
    "stops itself": ("timeout", "import os, signal\nos.kill(0, signal.SIGSTOP)\nsignal.pause()"),
    "an endless call": (
        "timeout",
        "class DotProdAttention(nn.Module):\n"
        "    def __init__(self, n):\n        super().__init__()\n        while True: pass",
    ),
    "endless output": ("output", "while True: print('x' * 100_000)"),
    "endless output past Python": ("output", "import os\nwhile True: os.write(2, b'x' * 100_000)"),
    "a fork bomb": (
        None,
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    ),
    "a thread bomb": (
        None,
        "import threading, time\nwhile True:\n"
        "    try: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "    except RuntimeError: break",
    ),
    "a memory bomb": (None, "kept = []\nwhile True: kept.append(bytearray(1 << 26))"),
    "a memory bomb over many processes": (
        None,
        """
import os, time
for _ in range(30):
    if os.fork() == 0:
        kept = bytearray(b"x") * (300 << 20); time.sleep(60); os._exit(0)
time.sleep(60)
""",
    ),
    "a bomb of memfds": (
        "cell",
        "import os\nkept = []\nwhile True:\n"
        "    f = os.memfd_create('x'); kept.append(f); os.write(f, bytes(1 << 26))",
    ),
    "a disk filler": (
        "cell",
        "n = 0\nwhile True:\n    n += 1\n    open(f'/tmp/{n}', 'wb').write(bytes(1 << 24))",
    ),
    "a filler of /dev/shm": (
        "cell",
        "n = 0\nwhile True:\n    n += 1\n    open(f'/dev/shm/{n}', 'wb').write(bytes(1 << 24))",
    ),
    "a filler of inodes": (
        "cell",
        "n = 0\nwhile True:\n    n += 1\n    open(f'/tmp/{n}', 'w').close()",
    ),
    "a filler of descriptors": ("cell", "kept = []\nwhile True: kept.append(open('/dev/null'))"),
    "a tensor of 10 TB": (
        "ok",
        "LYING = lambda shape: torch.zeros(1).expand(10**13)\n" + LIE,
    ),
    "10 GB for real": ("ok", "LYING = lambda shape: torch.zeros(10 << 30)\n" + LIE),
    "recursion without end": ("cell", "def f(): return f()\nf()"),
    "a regular expression without end": ("cell", "import re\nre.match('(a|a)*b', 'a' * 60)"),
    "a sum in C without end": ("timeout", "sum(range(10**12))"),
}

HARMLESS = {**LOOKS_RIGHT, **LOOKS_AROUND, **BREAKS_OUT, **LEAVES_TRACES}
