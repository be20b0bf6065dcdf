from __future__ import annotations

import os
from pathlib import Path

from grader_daemon.sources.discovery import Walk
from grader_daemon.sources.reading import look_at, stamp_of
from tests.units import hermes, unit


def walk_of(root: Path) -> Walk:
    (walk,) = hermes([root]).walks()
    return walk


def names(walk: Walk) -> set[str]:
    return {Path(found.unit.locator).name for found in walk}


def test_sessions_are_found_at_any_depth_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a" / "b" / "sessions").mkdir(parents=True)
    wanted = ["session_1.json", "a/session_2.json", "a/b/sessions/session_3.json", "a/b/sessions/request_dump_1.json"]
    for name in [*wanted, "state.db", "a/session_2.json.bak", "a/b/sessions/.session_3_12345678.tmp"]:
        (tmp_path / name).touch()
    assert names(walk_of(tmp_path)) == {Path(name).name for name in wanted}


def test_a_found_file_has_its_stamp(tmp_path: Path) -> None:
    path = tmp_path / "session_1.json"
    path.write_text("x")
    (found,) = walk_of(tmp_path)
    assert (found.unit, found.stamp) == (unit(path), stamp_of(look_at(str(path))))


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "session_1.json").touch()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "other")
    (tmp_path / "root" / "loop").symlink_to(tmp_path / "root")
    assert names(walk_of(tmp_path / "root")) == set()


def test_a_link_to_a_file_is_found_as_a_link(tmp_path: Path) -> None:
    (tmp_path / "session_1.json").symlink_to("nowhere")
    (found,) = walk_of(tmp_path)
    assert found.stamp == stamp_of(os.lstat(found.unit.locator))


def test_a_folder_may_be_named_like_a_session(tmp_path: Path) -> None:
    (tmp_path / "session_1.json").mkdir()
    (tmp_path / "session_1.json" / "session_2.json").touch()
    assert names(walk_of(tmp_path)) == {"session_2.json"}


def test_a_folder_that_cannot_be_entered_is_named(tmp_path: Path) -> None:
    walk = walk_of(tmp_path / "absent")
    assert (list(walk), walk.unreadable, walk.folders) == ([], [str(tmp_path / "absent")], 0)


def test_what_was_passed_is_counted(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "session_1.json").touch()
    walk = walk_of(tmp_path)
    list(walk)
    assert (walk.folders, walk.files) == (3, 2)


def test_a_name_that_is_no_text_is_found(tmp_path: Path) -> None:
    os.close(os.open(os.fsencode(tmp_path) + b"/session_\xff.json", os.O_CREAT | os.O_WRONLY))
    (found,) = walk_of(tmp_path)
    assert os.fsencode(found.unit.locator).endswith(b"session_\xff.json")
