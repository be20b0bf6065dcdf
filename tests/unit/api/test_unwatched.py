from __future__ import annotations

from pathlib import Path

import pytest

from grader_daemon.api.unwatched import UnwatchedAgent, unwatched_agent
from grader_daemon.settings import Settings, load_settings


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a person who set nothing."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HERMES_HOME", "GRADER_WATCH_ROOTS", "GRADER_CONFIG", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def hermes(at: Path, *, sessions: int, state: bool = True) -> Path:
    """A home of Hermes, with other files beside its sessions."""
    (at / "sessions").mkdir(parents=True)
    for name in ("sessions.json", "request_dump_1.json", *(f"session_{number}.json" for number in range(sessions))):
        (at / "sessions" / name).touch()
    if state:
        (at / "state.db").touch()
    return at


def settings(*roots: Path) -> Settings:
    return load_settings(watch_roots=roots or None)


@pytest.mark.parametrize(
    ("sessions", "state"),
    [
        pytest.param(3, True, id="sessions-and-a-database"),
        pytest.param(3, False, id="sessions-alone"),
        pytest.param(0, True, id="a-database-alone"),
    ],
)
def test_a_home_of_hermes_that_is_not_watched_is_found(home: Path, sessions: int, state: bool) -> None:
    place = hermes(home / ".hermes", sessions=sessions, state=state)

    assert unwatched_agent(settings()) == UnwatchedAgent(
        path=str(place), sessions=sessions, fix=f"grader-daemon config set watch_roots {place}"
    )


def test_the_command_keeps_what_is_watched(home: Path) -> None:
    """The default as long as it is there; what somebody set in any case."""
    place = hermes(home / ".hermes", sessions=1)
    (home / ".timmy").mkdir()

    by_default, by_choice = unwatched_agent(settings()), unwatched_agent(settings(home / "gone"))

    assert by_default is not None
    assert by_choice is not None
    assert by_default.fix == f"""grader-daemon config set watch_roots '["{home}/.timmy", "{place}"]'"""
    assert by_choice.fix == f"""grader-daemon config set watch_roots '["{home}/gone", "{place}"]'"""


def test_the_home_that_hermes_is_told_to_use_is_the_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hermes(home / ".hermes", sessions=1)
    place = hermes(home / "else where", sessions=2)
    monkeypatch.setenv("HERMES_HOME", str(place))

    found = unwatched_agent(settings())

    assert found is not None
    assert (found.path, found.sessions) == (str(place), 2)
    assert found.fix == f"grader-daemon config set watch_roots '{place}'"


@pytest.mark.parametrize("watched", [".hermes", ".", "link"])
def test_what_is_watched_is_not_elsewhere(home: Path, watched: str) -> None:
    hermes(home / ".hermes", sessions=1)
    (home / "link").symlink_to(home / ".hermes")

    assert unwatched_agent(settings(home / watched)) is None


@pytest.mark.parametrize("there", [[], ["sessions"], ["sessions/notes.json"]])
def test_where_no_hermes_works_nothing_is_found(home: Path, there: list[str]) -> None:
    for name in there:
        place = home / ".hermes" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch() if place.suffix else place.mkdir()

    assert unwatched_agent(settings()) is None
