"""System calls that an answer to an exercise never needs, which the kernel is told to refuse.

This is a list of refusals, not of permissions: torch, NumPy and IPython use a great many calls, and
the namespaces are the wall. The list closes what they leave open: new namespaces, memory that no
limit counts, keyrings, socket families that a network namespace does not contain, and the rarely
used calls in which kernel bugs are found. It is used inside the box, so it imports nothing of ours.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

# name: (number on x86_64, number on aarch64); None where the machine has no such call
REFUSED = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "vhangup": (153, 58),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "syslog": (103, 116),
    "personality": (135, 92),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # memory that belongs to no process, so no limit counts it
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
}
# clone3 hides its flags behind a pointer; told that it doesn't exist, the C library uses clone
ABSENT = {"clone3": (435, 435)}
CLONE = (56, 220)
SOCKET = (41, 198)
SOCKETPAIR = (53, 199)
# without a network namespace around the sockets, nothing may bind or connect to an address
ADDRESSED = {"socket": SOCKET, "bind": (49, 200), "connect": (42, 203)}
DATAGRAM, KIND_OF_SOCKET = 2, 0xF
NAMESPACE_FLAGS = 0x7E020080  # every CLONE_NEW...: user, pid, net, mount, ipc, uts, cgroup, time
SOCKET_FAMILIES = (1, 2, 10)  # Unix and internet; vsock and netlink leave the namespace

MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

LOAD, EQUAL, ANY_BIT, AT_LEAST, RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
KEEP_BITS = 0x54
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER_AT, ARCH_AT, FIRST_ARGUMENT_AT, SECOND_ARGUMENT_AT = 0, 4, 16, 24
X32 = 0x40000000

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def supported() -> bool:
    """Whether this machine's system call numbers are known here."""
    return platform.system() == "Linux" and platform.machine() in MACHINES


def program(machine: str, sockets: bool = True) -> bytes:
    """The filter as the kernel expects it: a list of eight-byte instructions.

    sockets: whether a network namespace contains them. If not, they are refused, except for pairs
    that are permanently connected to each other.
    """
    column, architecture = MACHINES[machine]
    code: list[tuple[int, int, int, int]] = []

    def add(operation: int, value: int, yes: int = 0, no: int = 0) -> None:
        code.append((operation, yes, no, value))

    add(LOAD, ARCH_AT)
    add(EQUAL, architecture, 1, 0)
    add(RETURN, KILL)
    add(LOAD, NUMBER_AT)
    if machine == "x86_64":
        add(AT_LEAST, X32, 0, 1)
        add(RETURN, KILL)
    for table, answer in ((REFUSED, errno.EPERM), (ABSENT, errno.ENOSYS)):
        for numbers in table.values():
            number = numbers[column]
            if number is not None:
                add(EQUAL, number, 0, 1)
                add(RETURN, ERRNO | answer)
    add(EQUAL, CLONE[column], 0, 4)
    add(LOAD, FIRST_ARGUMENT_AT)
    add(ANY_BIT, NAMESPACE_FLAGS, 0, 1)
    add(RETURN, ERRNO | errno.EPERM)
    add(RETURN, ALLOW)
    if not sockets:
        for numbers in ADDRESSED.values():
            add(EQUAL, numbers[column], 0, 1)
            add(RETURN, ERRNO | errno.EACCES)
        add(EQUAL, SOCKETPAIR[column], 0, 4)
        add(LOAD, SECOND_ARGUMENT_AT)
        add(KEEP_BITS, KIND_OF_SOCKET)
        add(EQUAL, DATAGRAM, 0, 1)  # one of these can still send to any address
        add(RETURN, ERRNO | errno.EACCES)
        add(RETURN, ALLOW)
        return b"".join(struct.pack("<HBBI", *line) for line in code)
    add(EQUAL, SOCKET[column], 0, 2 + len(SOCKET_FAMILIES))
    add(LOAD, FIRST_ARGUMENT_AT)
    for place, family in enumerate(SOCKET_FAMILIES):
        add(EQUAL, family, len(SOCKET_FAMILIES) - place, 0)
    add(RETURN, ERRNO | errno.EAFNOSUPPORT)
    add(RETURN, ALLOW)
    return b"".join(struct.pack("<HBBI", *line) for line in code)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def install(libc: ctypes.CDLL, sockets: bool = True) -> None:
    """Put the filter on this process and everything it starts; it cannot be removed again."""
    code = program(platform.machine(), sockets)
    buffer = ctypes.create_string_buffer(code, len(code))
    filled = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_NO_NEW_PRIVS was refused")
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filled), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the system call filter was refused")
