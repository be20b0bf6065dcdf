from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader_daemon.sources.hermes.homes import HermesHome, look_at_home, survey


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home of Hermes without sessions."""
    made = tmp_path / "hermes"
    (made / "sessions").mkdir(parents=True)
    (made / "state.db").touch()
    os.utime(made / "state.db", (1000, 1000))
    return made


def configured(home: Path, text: str) -> bool | None:
    (home / "config.yaml").write_text(text)
    looked = look_at_home(str(home))
    assert looked is not None
    return looked.writes_snapshots


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("sessions:\n  write_json_snapshots: true\n", True, id="set"),
        pytest.param("sessions: {other: 1, write_json_snapshots: yes}\n", True, id="inline"),
        pytest.param('"sessions":\n    "write_json_snapshots": "on"  # for the grader\n', True, id="quoted"),
        pytest.param("sessions:\r\n  write_json_snapshots: True\r\n", True, id="of-windows"),
        pytest.param("sessions:\n  write_json_snapshots: false\n", False, id="refused"),
        pytest.param("sessions:\n  # write_json_snapshots: true\n", None, id="commented-out"),
        pytest.param("sessions:\n  do_not_write_json_snapshots_ever: true\n", None, id="another-key"),
        pytest.param("a: true\nwrite_json_snapshots: true\nwrite_json_snapshots: false\n", False, id="the-last-counts"),
        pytest.param("", None, id="empty"),
    ],
)
def test_configuration_is_searched_by_line(home: Path, text: str, says: bool | None) -> None:
    assert configured(home, text) is says


def test_a_configuration_that_is_no_text_says_nothing(home: Path) -> None:
    (home / "config.yaml").write_bytes(b"\xff\xfe\x00" * 1000)

    looked = look_at_home(str(home))

    assert looked is not None
    assert looked.writes_snapshots is None


def test_a_home_tells_when_it_worked_and_its_newest_session(home: Path) -> None:
    before = look_at_home(str(home))
    for name, moment in (("session_a.json", 500), ("session_b.json", 700), ("request_dump_c.json", 900)):
        (home / "sessions" / name).touch()
        os.utime(home / "sessions" / name, (moment, moment))
    (home / "state.db-wal").touch()
    os.utime(home / "state.db-wal", (1500, 1500))

    after = look_at_home(str(home))

    assert before == HermesHome(path=str(home), worked_at=1000, newest_session=None, writes_snapshots=None)
    assert after == HermesHome(path=str(home), worked_at=1500, newest_session=700, writes_snapshots=None)


def test_a_survey_finds_homes_and_counts_folders_without_following_links(tmp_path: Path, home: Path) -> None:
    profile = home / "profiles" / "work"
    (profile / "sessions").mkdir(parents=True)
    (profile / "state.db").touch()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "state.db").touch()
    (tmp_path / "loop").symlink_to(tmp_path)

    found = survey(tmp_path)

    assert sorted(each.path for each in found.homes) == [str(home), str(profile)]
    assert found.folders == 7
    assert found.unreadable == ()


def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path) -> None:
    assert survey(tmp_path / "none").unreadable == (str(tmp_path / "none"),)


def test_what_is_no_home_is_none(tmp_path: Path) -> None:
    assert look_at_home(str(tmp_path)) is None
