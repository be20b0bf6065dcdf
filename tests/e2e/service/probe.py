"""Tries what a hardened service must not be able to do, and prints as JSON what became of each try.

Runs inside of a unit, with nothing but the standard library: ``python3 probe.py ATTEMPT…``. A try that succeeds gives
``null``, one that is refused says why. Without arguments it prints what a program has from which nothing is taken;
the others are told of it in the environment, with ``OUTSIDE_`` before each name.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import platform
import resource
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HOME = Path.home()
WRITABLE = HOME / ".timmy" / "uniwizard"
RUNTIME = Path(f"/run/user/{os.getuid()}")
OPEN_FOLDER = Path("/srv/open")
OPEN_DEVICE = Path("/dev/open")
AS_ROOT = Path("/usr/local/bin/as_root")
KEY = 0x67726164

_CLONE_NEWUSER = 0x10000000
_PTRACE_TRACEME = 0
_SCHED_FIFO = 1
_ADDR_NO_RANDOMIZE = 0x0040000
_PR_CAPBSET_READ, _CAP_SYS_ADMIN = 23, 21
_IPC_CREATE = 0o1000
_32_BIT_GETPID = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, 20; int 0x80; ret
_NUMBERS = {
    "x86_64": {"keyctl": 250, "userfaultfd": 323, "io_setup": 206},
    "aarch64": {"keyctl": 219, "userfaultfd": 282, "io_setup": 0},
}[platform.machine()] | {"io_uring_setup": 425, "process_madvise": 440}

_libc = ctypes.CDLL(None, use_errno=True)


class RefusedError(Exception):
    """It did not work, though no system call said so."""


def _call(name: str, *arguments: object) -> int:
    """Call a function of the C library, or a system call that has none there.

    Arguments may be nonsense: a refusal comes before the kernel looks at them. So only EPERM and its like count.
    """
    if name in _NUMBERS:
        result = int(_libc.syscall(ctypes.c_long(_NUMBERS[name]), *arguments))
    else:
        result = int(getattr(_libc, name)(*arguments))
    number = ctypes.get_errno()
    if result == -1 and number in {1, 13, 97}:  # EPERM, EACCES, EAFNOSUPPORT
        raise OSError(number, os.strerror(number))
    return result


def _write(folder: Path) -> None:
    path = folder / f"probe-{os.getpid()}"
    path.write_text("x")
    path.unlink()


def _connect(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(str(path))


def _execute_what_it_wrote(folder: Path) -> None:
    program = folder / f"probe-{os.getpid()}"
    shutil.copy("/bin/true", program)
    program.chmod(0o700)
    try:
        subprocess.run([program], check=True)
    finally:
        program.unlink()


def _gain_privileges() -> None:
    if int(subprocess.check_output([AS_ROOT, "-u"])) != 0:
        raise RefusedError("still the user")


def _make_set_uid_program() -> None:
    path = HOME / f"probe-{os.getpid()}"
    path.touch()
    try:
        path.chmod(0o4755)
    finally:
        path.unlink()


def _leave_file_readable() -> None:
    path = WRITABLE / f"probe-{os.getpid()}"
    path.touch()
    mode = stat.S_IMODE(path.stat().st_mode)
    path.unlink()
    if mode & 0o077 == 0:
        raise RefusedError(f"mode {mode:o}")


def _make_control_group() -> None:
    ours = next(line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines() if line[:1] == "0")
    mounts = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    root = next(mount[1] for mount in mounts if mount[2] == "cgroup2")
    group = Path(root + os.path.dirname(ours)) / f"probe-{os.getpid()}"
    group.mkdir()
    group.rmdir()


def _map_writable_and_executable() -> None:
    mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()


def _call_as_32_bit_program() -> None:
    """In a process of its own, which a kernel that knows no such calls ends as well."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(_32_BIT_GETPID)
    child = os.fork()
    if child == 0:
        answer = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
        os._exit(0 if answer == os.getpid() else 1)
    if os.waitpid(child, 0)[1] != 0:
        raise RefusedError("ended")


def _is_as_outside(name: str) -> None:
    here, there = outside()[name], os.environ[f"OUTSIDE_{name}"]
    if here != there:
        raise RefusedError(f"{here}, not {there}")


def _status(name: str) -> str:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(f"{name}:"))


def _has_capabilities() -> None:
    if _call("prctl", _PR_CAPBSET_READ, _CAP_SYS_ADMIN) != 1:
        raise RefusedError("none")


def _may_dump_memory() -> None:
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        raise RefusedError("no byte of it")


def _find_memory_of_others() -> None:
    if _call("shmget", KEY, 0, 0) == -1:
        raise RefusedError("there is none")


def _io_class() -> str:
    return subprocess.check_output(["ionice"], text=True).strip().replace(" ", "")


def outside() -> dict[str, str]:
    """Give what a program has that nothing was taken from."""
    return {
        "UTS": os.readlink("/proc/self/ns/uts"),
        "FILTERS": _status("Seccomp_filters"),
        "NICE": str(os.nice(0)),
        "IO": _io_class(),
        "OOM": Path("/proc/self/oom_score_adj").read_text().strip(),
    }


ATTEMPTS: dict[str, Callable[[], object]] = {
    "read the environment of another program": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
    "write into another program's memory": lambda: os.close(os.open(f"/proc/{os.getppid()}/mem", os.O_RDWR)),
    "gain privileges": _gain_privileges,
    "write into the home folder": lambda: _write(HOME),
    "write beside the sessions": lambda: _write(HOME / ".timmy"),
    "write where everybody may": lambda: _write(OPEN_FOLDER),
    "write into shared memory": lambda: _write(Path("/dev/shm")),
    "write beside its database": lambda: _write(WRITABLE),
    "leave files readable to others": _leave_file_readable,
    "execute what it wrote beside its database": lambda: _execute_what_it_wrote(WRITABLE),
    "execute what it wrote as a temporary file": lambda: _execute_what_it_wrote(Path("/tmp")),
    "see temporary files of others": lambda: Path("/tmp/outside").read_text(),
    "read what is none of its business": (HOME / "secret").read_text,
    "read the sessions": lambda: list((HOME / ".timmy" / "hermes" / "sessions").iterdir()),
    "read the keys of ssh": lambda: list((HOME / ".ssh").iterdir()),
    "use a device": OPEN_DEVICE.read_bytes,
    "ask the service manager": lambda: _connect(RUNTIME / "systemd" / "private"),
    "use the session bus": lambda: _connect(RUNTIME / "bus"),
    "use the system bus": lambda: _connect(Path("/run/dbus/system_bus_socket")),
    "open an internet socket": lambda: socket.socket(socket.AF_INET).close(),
    "open an IPv6 socket": lambda: socket.socket(socket.AF_INET6).close(),
    "open a netlink socket": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(),
    "connect to a server": lambda: socket.create_connection(("127.0.0.1", int(os.environ["OUTSIDE_PORT"]))).close(),
    "make a name space": lambda: _call("unshare", _CLONE_NEWUSER),
    "map memory writable and executable": _map_writable_and_executable,
    "make a set-uid program": _make_set_uid_program,
    "change the personality": lambda: _call("personality", ctypes.c_ulong(_ADDR_NO_RANDOMIZE)),
    "ask for real time": lambda: _call("sched_setscheduler", 0, _SCHED_FIFO, ctypes.byref(ctypes.c_int(1000))),
    "call as a 32-bit program": _call_as_32_bit_program,
    "have capabilities": _has_capabilities,
    "read addresses of the kernel": lambda: Path("/proc/kallsyms").read_bytes()[:1],
    "read modules of the kernel": lambda: list(Path("/usr/lib/modules").iterdir()),
    "make a control group": _make_control_group,
    "ask the kernel's clock": lambda: _call("adjtimex", ctypes.create_string_buffer(512)),
    "share the host's name": lambda: _is_as_outside("UTS"),
    "do without a further filter": lambda: _is_as_outside("FILTERS"),
    "run as soon as others": lambda: _is_as_outside("NICE"),
    "read as soon as others": lambda: _is_as_outside("IO"),
    "outlive others": lambda: _is_as_outside("OOM"),
    "use memory of other programs": _find_memory_of_others,
    "dump its memory": _may_dump_memory,
    **{
        f"call {name}": lambda name=name, arguments=arguments: _call(name, *arguments)  # type: ignore[misc]
        for name, arguments in {
            "io_uring_setup": (1, None),
            "io_setup": (0, None),
            "keyctl": (0, -3, 0),
            "memfd_create": (b"probe", 0),
            "mlock": (None, 0),
            "mq_open": (b"/probe", 0),
            "pkey_alloc": (0, 0),
            "process_madvise": (-1, None, 0, 0, 0),
            "process_vm_readv": (os.getpid(), None, 0, None, 0, 0),
            "process_vm_writev": (os.getpid(), None, 0, None, 0, 0),
            "ptrace": (_PTRACE_TRACEME, 0, None, None),
            "setresuid": (os.getuid(), os.getuid(), os.getuid()),
            "shmget": (KEY + 1, 1, _IPC_CREATE),
            "timer_create": (0, None, ctypes.create_string_buffer(8)),
            "userfaultfd": (1,),
        }.items()
    },
}


def main(names: list[str]) -> None:
    """Try, and print."""
    told: dict[str, str | None] = {} if names else {**outside()}
    for name in names:
        try:
            ATTEMPTS[name]()
        except (OSError, RefusedError, subprocess.SubprocessError) as error:
            told[name] = str(error)
        else:
            told[name] = None
    sys.stdout.write(f"{json.dumps(told)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
