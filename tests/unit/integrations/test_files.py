from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from grader_daemon.integrations.files import replace_file, replaced


def test_a_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, "Größe\n")
    assert path.read_bytes() == "Größe\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    other, path = tmp_path / "other", tmp_path / "file"
    other.write_text("theirs")
    path.symlink_to(other)
    replace_file(path, "ours")
    assert (other.read_text(), path.read_text(), path.is_symlink()) == ("theirs", "ours", False)


@pytest.mark.parametrize("name", [pytest.param("pipe", id="itself"), pytest.param("link", id="by-a-link")])
def test_a_pipe_is_not_replaced(tmp_path: Path, name: str) -> None:
    """As root one could replace /dev/null, and /dev/stdout, which is a link."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    before = sorted(tmp_path.iterdir())

    with pytest.raises(OSError, match="a device or a pipe"):
        replace_file(tmp_path / name, "x")

    assert (tmp_path / "pipe").is_fifo()
    assert (sorted(tmp_path.iterdir()), (tmp_path / "link").is_symlink()) == (before, True)


def test_nothing_is_left_when_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    (path / "full").touch()
    with pytest.raises(OSError, match="directory"):
        replace_file(path, "x")
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_is_removed_and_what_is_being_written_is_not(tmp_path: Path) -> None:
    path, theirs = tmp_path / "file[1]", tmp_path / ".file[1].original"
    with replaced(path) as beside:
        old, new = beside, beside.with_name(beside.name.replace("file[1].", "file[1].other"))
    for left in (old, theirs, new):
        left.touch()
    for left in (old, theirs):
        os.utime(left, (0, 0))
    replace_file(path, "x")
    assert sorted(tmp_path.iterdir()) == sorted([path, new, theirs])
