"""A plugin of pytest, this machine as if it were a Mac: ``python -m pytest -p tests.darwin tests/unit/system``.

What only Linux has is taken away, and what only macOS has put in its place, as far as this kernel can do it. That shows
which calls are made, not how a Mac answers them; services are launchd's then (`tests/unit/service/test_launchd.py`).
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from tests import fsevents

LINUX_ALONE: Final = {
    "os": [
        *("O_PATH", "O_TMPFILE", "sched_getaffinity", "sched_setaffinity", "memfd_create", "pidfd_open", "eventfd"),
        *("posix_fadvise", "prlimit", "getrandom", "splice", "unshare", "setns"),
    ],
    "fcntl": ["F_OFD_GETLK", "F_OFD_SETLK", "F_OFD_SETLKW", "F_ADD_SEALS", "F_SETPIPE_SZ"],
    "resource": ["prlimit"],
    "select": ["epoll"],
    "signal": ["pidfd_send_signal", "SIGPWR", "SIGSTKFLT", "sigtimedwait"],
    "socket": ["SOCK_CLOEXEC", "SOCK_NONBLOCK", "SO_PEERCRED", "AF_NETLINK"],
    "time": ["CLOCK_BOOTTIME"],
}
"""What the same modules of Python have on Linux, and not on macOS."""

_F_GETPATH: Final = 50
_F_FULLFSYNC: Final = 51
_F_OFD_SETLK: Final = 90
_LOCAL_PEERCRED: Final = 1
_OFD_SETLK_OF_LINUX: Final = 37
_PEERCRED_OF_LINUX: Final = 17
_call = fcntl.fcntl
_getsockopt: Any = socket.socket.getsockopt
_NOWHERE: Final = Path("/nonexistent/proc")


def _fcntl(descriptor: int, command: int, argument: Any = 0) -> Any:
    """Do what macOS does, by the calls of Linux."""
    number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
    if command == _F_OFD_SETLK:
        start, length, _, kind, whence = struct.unpack("qqihh", argument)
        return _call(number, _OFD_SETLK_OF_LINUX, struct.pack("hhqqi4x", kind, whence, start, length, 0))
    if command == _F_FULLFSYNC:
        return os.fsync(number)
    if command == _F_GETPATH:
        return os.fsencode(os.readlink(f"/proc/self/fd/{number}")).ljust(len(argument), b"\0")
    return _call(number, command, argument)


def _option(peer: socket.socket, level: int, option: int, length: int = 0) -> Any:
    """Tell who asks as macOS does."""
    if (level, option) == (0, _LOCAL_PEERCRED):
        _, user, _ = struct.unpack("3i", _getsockopt(peer, socket.SOL_SOCKET, _PEERCRED_OF_LINUX, 12))
        return struct.pack("=II", 0, user).ljust(length, b"\0")
    return _getsockopt(peer, level, option, length) if length else _getsockopt(peer, level, option)


def become() -> None:
    """Have this process be one of a Mac from now on; whatever was imported before keeps what it took."""
    import importlib

    for module, names in LINUX_ALONE.items():
        for name in names:
            vars(importlib.import_module(module)).pop(name, None)
    vars(fcntl).update(F_GETPATH=_F_GETPATH, F_FULLFSYNC=_F_FULLFSYNC, fcntl=_fcntl)
    vars(socket).update(LOCAL_PEERCRED=_LOCAL_PEERCRED)
    setattr(socket.socket, "getsockopt", _option)  # noqa: B010  mypy takes it for another one
    fsevents.install()
    proxies = ModuleType("_scproxy")  # which urllib asks for the settings of macOS
    vars(proxies).update(_get_proxies=dict, _get_proxy_settings=dict)
    sys.modules[proxies.__name__] = proxies
    sysconfig.get_config_vars()  # which asks by the name of the system
    vars(tempfile)["_O_TMPFILE_WORKS"] = False
    sys.platform = "darwin"
    from grader_daemon.integrations import machine
    from grader_daemon.system import open_files, running

    for place, name in ((machine, "PROC"), (open_files, "_DESCRIPTORS"), (running, "_PROC")):
        setattr(place, name, _NOWHERE)


become()
