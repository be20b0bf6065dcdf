"""Facts about the machine for the doctor: mounts, inotify, open files, the service. Only reads.

The kernel's files are documented in proc(5) and inotify(7). What cannot be read is None or left out: a container may
hide most of it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

PROC: Final = Path("/proc")
LABEL_PREFIX: Final = "io.github.grader-daemon"
"""First part of the names that launchd has for our services."""

_REMOTE = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs", "ncpfs"),
        *("virtiofs", "vboxsf", "prl_fs", "vmhgfs", "fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.glusterfs"),
        *("fuse.vmhgfs-fuse", "fuse.gvfsd-fuse", "fuse.davfs2", "davfs"),
    )
)
"""File systems on which others may write without this kernel noticing."""
_POINT: Final = 4
_OCTAL = re.compile(r"\\([0-7]{3})")


class Mount(msgspec.Struct, frozen=True):
    """A mounted file system."""

    point: str
    kind: str

    @property
    def is_remote(self) -> bool:
        """True if others may write there without this kernel noticing."""
        return self.kind in _REMOTE


class Inotify(msgspec.Struct, frozen=True):
    """Watches and instances of inotify: what a user may have, or has."""

    watches: int
    instances: int


class Space(msgspec.Struct, frozen=True):
    """Room on a file system."""

    free_bytes: int
    total_bytes: int
    is_read_only: bool


class Holder(msgspec.Struct, frozen=True):
    """A process that has a file open."""

    pid: int
    program: str


def machine_id(file: Path = Path("/etc/machine-id")) -> str:
    """Return what names this machine, by systemd, and is not to be told to others as it is; "": nothing does."""
    try:
        return file.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


def mounts(proc: Path = PROC) -> list[Mount]:
    """Mounted file systems as this process sees them, in the order of mounting; none if the kernel does not tell."""
    try:
        lines = (proc / "self" / "mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        head, _, tail = line.partition(" - ")
        point, kind = head.split(" ")[_POINT : _POINT + 1], tail.split(" ")[0]
        if point and kind:
            found.append(Mount(_OCTAL.sub(lambda code: chr(int(code.group(1), 8)), point[0]), kind))
    return found


def mount_of(path: Path, known: Sequence[Mount]) -> Mount | None:
    """Return the file system that holds `path`, which need not exist; the one mounted last counts."""
    real = os.path.realpath(path)
    holding = [mount for mount in known if real == mount.point or real.startswith(mount.point.rstrip("/") + "/")]
    return max(enumerate(holding), key=lambda each: (len(each[1].point), each[0]))[1] if holding else None


def space_at(path: Path) -> Space:
    """Room on the file system that holds `path`, or the nearest folder above it that exists.

    Raises:
        OSError: the kernel does not tell.
    """
    while not path.exists() and path != path.parent:
        path = path.parent
    status = os.statvfs(path)
    return Space(
        free_bytes=status.f_bavail * status.f_frsize,
        total_bytes=status.f_blocks * status.f_frsize,
        is_read_only=bool(status.f_flag & os.ST_RDONLY),
    )


def inotify_limits(proc: Path = PROC) -> Inotify | None:
    """Return what a user may have of inotify."""
    folder = proc / "sys" / "fs" / "inotify"
    try:
        return Inotify(
            watches=int((folder / "max_user_watches").read_text()),
            instances=int((folder / "max_user_instances").read_text()),
        )
    except (OSError, ValueError):
        return None


def inotify_use(*, besides: int | None, proc: Path = PROC) -> Inotify:
    """Count what this user's processes have of inotify, but for the process `besides`."""
    watches = instances = 0
    for descriptor, target in _open_files(proc, besides=besides):
        if target == "anon_inode:inotify":
            instances += 1
            details = descriptor.parent.parent / "fdinfo" / descriptor.name
            with suppress(OSError):
                watches += details.read_bytes().count(b"inotify wd:")
    return Inotify(watches, instances)


def holders(path: Path, proc: Path = PROC) -> list[Holder]:
    """Other processes of this user that have the file open."""
    wanted = os.path.realpath(path)
    pids = {
        int(descriptor.parent.parent.name)
        for descriptor, target in _open_files(proc, besides=os.getpid())
        if target == wanted
    }
    found = []
    for pid in sorted(pids):
        with suppress(OSError):
            found.append(Holder(pid, (proc / str(pid) / "comm").read_text("utf-8", "replace").strip()))
    return found


def unit_file(home: Path) -> Path:
    """Return the path of the daemon's file for the user's service manager."""
    if has_launchd():
        return home / "Library" / "LaunchAgents" / f"{LABEL_PREFIX}.grader-daemon.plist"
    return home / ".config" / "systemd" / "user" / "grader-daemon.service"


def has_launchd() -> bool:
    """Return whether services of this machine are launchd's."""
    return sys.platform == "darwin"


def has_systemd(run: Path = Path("/run")) -> bool:
    """Return whether this machine was booted with systemd; see sd_booted(3)."""
    return (run / "systemd" / "system").is_dir()


def lingers(user: str, state: Path = Path("/var/lib/systemd/linger")) -> bool | None:
    """Return whether services of this user run without a login, see loginctl(1); None if that cannot be told."""
    try:
        return user in os.listdir(state)
    except FileNotFoundError:
        return False
    except OSError:
        return None


def _open_files(proc: Path, *, besides: int | None) -> Iterator[tuple[Path, str]]:
    """Descriptors of this user's processes as far as they may be seen, and what each stands for."""
    user = os.getuid()
    for process in _numbered(proc):
        if process.name == str(besides):
            continue
        with suppress(OSError):
            if process.stat().st_uid == user:
                for descriptor in _numbered(process / "fd"):
                    with suppress(OSError):
                        yield descriptor, os.readlink(descriptor)


def _numbered(folder: Path) -> list[Path]:
    try:
        return [folder / name for name in os.listdir(folder) if name.isdecimal()]
    except OSError:
        return []
