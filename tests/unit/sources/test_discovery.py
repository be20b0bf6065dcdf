from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from grader_daemon.domain.unit import Found, Unit
from grader_daemon.errors import ReadError
from grader_daemon.sources.discovery import UnitsOf, Walk
from grader_daemon.sources.file_reading import found_file, look_at, stamp_of
from grader_daemon.sources.protocol import Sources
from tests.lines_source import Line, Lines, write_lines
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


def test_whoever_stops_early_can_begin_with_the_last_names(tmp_path: Path) -> None:
    for name in ["2025/session_1.json", "2026/session_2.json", "2026/session_3.json", "session_0.json"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    walk = walk_of(tmp_path)
    walk.newest_first = True
    assert [Path(found.unit.locator).stem[-1] for found in walk] == ["0", "3", "2", "1"]


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


class Seen(Walk):
    """Counts how often a folder is listed."""

    listed = 0

    def _list(self, *arguments: Any) -> Any:
        type(self).listed += 1
        return super()._list(*arguments)


def _units(source: str) -> UnitsOf:
    return lambda path, status: [found_file(Unit(source, path), status)]


def test_below_a_root_of_two_sources_each_folder_is_listed_once_and_a_file_is_of_the_first(tmp_path: Path) -> None:
    for name in ("both", "second", "none"):
        (tmp_path / name).touch()
    first = Seen(str(tmp_path), claims=lambda path: path.endswith("both"), units_of=_units("first"))
    second = Seen(str(tmp_path), claims=lambda path: not path.endswith("none"), units_of=_units("second"))

    found = [(each.unit.source, Path(each.unit.locator).name) for each in first.joined([second])]

    assert found == [("first", "both"), ("second", "second")]
    assert Seen.listed == 1


def test_a_database_that_cannot_be_looked_into_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").touch()

    def fail(path: str, _: os.stat_result) -> list[Found]:
        raise ReadError(path)

    walk = Walk(str(tmp_path), claims=lambda _: True, units_of=fail)

    assert (list(walk), walk.unreadable) == ([], [str(tmp_path / "a")])


def test_a_file_that_two_sources_claim_belongs_to_the_first_in_events_walks_and_by_name(tmp_path: Path) -> None:
    """Below a root of the second that lies in one of the first."""
    inner = tmp_path / "inner"
    inner.mkdir()
    write_lines(inner / "all.lines", Line("a"), Line("b"))
    path = str(inner / "all.lines")
    first, second = Lines([tmp_path]), Lines([inner])
    second.name = "second"
    sources = Sources([first, second])

    assert [each.unit.source for walk in sources.walks() for each in walk] == ["lines", "lines"]
    assert [unit.source for unit in sources.touched(path)] == ["lines", "lines"]
    assert sources.named(path) == [Unit("lines", path, "a"), Unit("lines", path, "b")]
    assert len(list(sources.walk_below(str(inner)))) == 2
    assert [walk.root for walk in sources.walks("second")] == [str(inner)]
