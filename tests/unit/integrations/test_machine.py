from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader_daemon.integrations.machine import (
    Inotify,
    Mount,
    has_systemd,
    holders,
    inotify_limits,
    inotify_use,
    lingers,
    mount_of,
    mounts,
    space_at,
    unit_file,
)

MOUNTINFO = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /home/with\\040space rw - nfs4 server:/export rw,vers=4.2
31 22 0:27 / /mnt rw,nosuid master:5 propagate_from:2 - fuse.sshfs user@host:/ rw
32 22 0:28 / /mnt rw - tmpfs tmpfs rw
a line that is none
"""


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A /proc of our own."""
    made = tmp_path / "proc"
    (made / "self").mkdir(parents=True)
    (made / "self" / "mountinfo").write_text(MOUNTINFO)
    (made / "sys" / "fs" / "inotify").mkdir(parents=True)
    (made / "sys" / "fs" / "inotify" / "max_user_watches").write_text("8192\n")
    (made / "sys" / "fs" / "inotify" / "max_user_instances").write_text("128\n")
    return made


def add_process(proc: Path, pid: int, files: dict[int, str], *, watches: int = 0) -> None:
    (proc / str(pid) / "fd").mkdir(parents=True)
    (proc / str(pid) / "fdinfo").mkdir()
    (proc / str(pid) / "comm").write_text(f"program{pid}\n")
    for number, target in files.items():
        (proc / str(pid) / "fd" / str(number)).symlink_to(target)
        lines = [f"inotify wd:{watch} ino:1\n" for watch in range(watches)] if "inotify" in target else []
        (proc / str(pid) / "fdinfo" / str(number)).write_text("pos:\t0\n" + "".join(lines))


def test_mounts_are_read_with_their_spaces(proc: Path) -> None:
    assert mounts(proc) == [
        Mount("/", "ext4"),
        Mount("/home/with space", "nfs4"),
        Mount("/mnt", "fuse.sshfs"),
        Mount("/mnt", "tmpfs"),
    ]


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/home/with space/x/y", "nfs4"), ("/home/with space", "nfs4"), ("/home/without", "ext4"), ("/mnt/a", "tmpfs")],
)
def test_the_deepest_mount_counts_and_of_several_the_last(proc: Path, path: str, kind: str) -> None:
    found = mount_of(Path(path), mounts(proc))

    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize(
    ("kind", "remote"),
    [("nfs4", True), ("9p", True), ("fuse.sshfs", True), ("cifs", True), ("ext4", False), ("overlay", False)],
)
def test_a_network_file_system_is_remote(kind: str, remote: bool) -> None:
    assert Mount("/", kind).is_remote is remote


def test_what_the_kernel_does_not_tell_is_unknown(tmp_path: Path) -> None:
    assert mounts(tmp_path) == []
    assert mount_of(Path("/x"), []) is None
    assert inotify_limits(tmp_path) is None
    assert inotify_use(besides=None, proc=tmp_path / "none") == Inotify(0, 0)
    assert holders(Path("/x"), tmp_path / "none") == []


def test_a_limit_that_is_no_number_is_unknown(proc: Path) -> None:
    (proc / "sys" / "fs" / "inotify" / "max_user_watches").write_text("many\n")

    assert inotify_limits(proc) is None


def test_watches_of_all_processes_but_one_are_counted(proc: Path) -> None:
    add_process(proc, 10, {3: "anon_inode:inotify", 4: "/dev/null"}, watches=5)
    add_process(proc, 11, {3: "anon_inode:inotify", 9: "anon_inode:inotify"}, watches=2)
    add_process(proc, 12, {3: "anon_inode:inotify"}, watches=100)

    assert inotify_limits(proc) == Inotify(8192, 128)
    assert inotify_use(besides=12, proc=proc) == Inotify(watches=9, instances=3)


def test_programs_that_have_a_file_open_are_named(proc: Path, tmp_path: Path) -> None:
    wanted = tmp_path / "grades.db"
    wanted.touch()
    add_process(proc, 10, {3: str(wanted), 4: str(wanted)})
    add_process(proc, 11, {3: "/dev/null"})

    assert [(holder.pid, holder.program) for holder in holders(wanted, proc)] == [(10, "program10")]


def test_room_is_asked_for_where_the_folder_will_be(tmp_path: Path) -> None:
    there, later = space_at(tmp_path), space_at(tmp_path / "not" / "yet")

    assert later.total_bytes == there.total_bytes > 0
    assert not there.is_read_only


def test_lingering_is_a_file_with_the_name_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "anna").touch()

    assert (lingers("anna", tmp_path), lingers("ben", tmp_path), lingers("anna", tmp_path / "none")) == (
        True,
        False,
        False,
    )
    assert lingers("anna", tmp_path / "anna") is None


def test_systemd_is_known_by_its_folder(tmp_path: Path) -> None:
    before = has_systemd(tmp_path)
    (tmp_path / "systemd" / "system").mkdir(parents=True)

    assert (before, has_systemd(tmp_path)) == (False, True)
    assert unit_file(Path("/home/x")) == Path("/home/x/.config/systemd/user/grader-daemon.service")


def test_the_real_machine_can_be_asked() -> None:
    assert mount_of(Path("/"), mounts()) is not None
    assert inotify_use(besides=None).instances >= 0
    assert all(holder.pid != os.getpid() for holder in holders(Path("/dev/null")))
