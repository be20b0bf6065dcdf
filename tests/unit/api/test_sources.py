from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from grader_daemon.api.context import GraderContext
from grader_daemon.api.source_switches import disable_source, enable_source
from grader_daemon.api.sources import found_sources
from grader_daemon.api.ungraded import SourceState, ungraded_agents
from grader_daemon.errors import InputError
from grader_daemon.settings import Settings, load_settings
from tests.e2e.session_files import write

CONFIG = Path(".config/grader-daemon/config.toml")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a person who set nothing."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in [*(name for name in os.environ if name.startswith("GRADER_")), "HERMES_HOME", "XDG_CONFIG_HOME"]:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def hermes(at: Path, *, sessions: int) -> Path:
    """A home of Hermes, with other files beside its sessions."""
    (at / "sessions").mkdir(parents=True)
    for name in ("sessions.json", "request_dump_1.json"):
        (at / "sessions" / name).touch()
    for number in range(sessions):
        write(at / "sessions", f"s{number}")
    return at


def settings(*roots: Path) -> Settings:
    return load_settings(watch_roots=roots or None)


def kept(home: Path) -> dict[str, object]:
    """The settings in the file."""
    return tomllib.loads((home / CONFIG).read_text("utf-8"))


def test_sessions_in_a_folder_that_is_not_watched_are_found(home: Path) -> None:
    place = hermes(home / ".hermes", sessions=3)

    [found] = ungraded_agents(settings())

    assert (found.agent, found.title, found.path, found.sessions) == ("hermes", "Hermes", str(place), 3)
    assert (found.is_more, found.fix) == (False, f"grader-daemon sources enable hermes --path {place}")


def test_the_home_that_hermes_is_told_to_use_is_the_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hermes(home / ".hermes", sessions=1)
    place = hermes(home / "else where", sessions=2)
    monkeypatch.setenv("HERMES_HOME", str(place))

    [found] = ungraded_agents(settings())

    assert (found.path, found.sessions) == (str(place), 2)
    assert found.fix == f"grader-daemon sources enable hermes --path '{place}'"


@pytest.mark.parametrize("watched", [".hermes", ".", "link"])
def test_what_is_watched_is_not_told(home: Path, watched: str) -> None:
    hermes(home / ".hermes", sessions=1)
    (home / "link").symlink_to(home / ".hermes")

    assert ungraded_agents(settings(home / watched)) == ()


@pytest.mark.parametrize("there", [[], ["sessions"], ["sessions/notes.json"], ["sessions/sessions.json"]])
def test_where_there_are_no_sessions_nobody_is_told(home: Path, there: list[str]) -> None:
    for name in there:
        place = home / ".hermes" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch() if place.suffix else place.mkdir()

    assert ungraded_agents(settings()) == ()


def test_a_look_in_passing_ends_after_a_thousand_sessions(home: Path) -> None:
    place = home / ".hermes" / "sessions"
    place.mkdir(parents=True)
    for number in range(1001):
        (place / f"session_{number}.json").touch()

    [found] = ungraded_agents(settings())

    assert (found.sessions, found.is_more) == (1000, True)


def test_a_look_in_passing_does_not_go_through_a_large_tree(home: Path) -> None:
    """Folders near the root come first: the sessions are found though the rest is not seen."""
    place = hermes(home / ".hermes", sessions=1)
    for number in range(500):
        (place / "venv" / str(number)).mkdir(parents=True)

    [found] = ungraded_agents(settings())

    assert (found.sessions, found.is_more) == (1, True)


def test_every_source_is_listed_with_what_lies_there(home: Path) -> None:
    hermes(home / ".timmy", sessions=2)

    found = {each.name: each for each in found_sources(GraderContext(load_settings()))}

    assert (found["hermes"].state, found["hermes"].folders) == (SourceState.ENABLED, (str(home / ".timmy"),))
    assert (found["hermes"].sessions, found["hermes"].active, found["hermes"].is_more) == (2, 2, False)
    assert "agent_version" in found["hermes"].unknown


def test_a_folder_is_added_to_those_that_are_there(home: Path) -> None:
    """The default as long as it is there."""
    hermes(home / ".hermes", sessions=1)
    (home / ".timmy").mkdir()

    done = enable_source("hermes", ["~/.hermes"])

    assert kept(home) == {"watch_roots": ["~/.timmy", "~/.hermes"]}
    assert (done.state, done.sessions) == (SourceState.ENABLED, 1)
    assert done.folders == (str(home / ".timmy"), str(home / ".hermes"))


def test_a_folder_that_somebody_set_stays_though_it_is_not_there(home: Path) -> None:
    (home / CONFIG).parent.mkdir(parents=True)
    (home / CONFIG).write_text('watch_roots = ["/gone"]  # on a disk\n')
    place = hermes(home / ".hermes", sessions=1)

    enable_source("hermes", [str(place)])

    assert (home / CONFIG).read_text() == 'watch_roots = ["/gone", "~/.hermes"]  # on a disk\n'


def test_what_is_so_already_is_not_written(home: Path) -> None:
    assert enable_source("hermes").written == ()
    assert not (home / CONFIG).exists()


def test_the_last_source_cannot_be_disabled(home: Path) -> None:
    with pytest.raises(InputError, match="Hermes is the only graded agent"):
        disable_source("hermes")
    assert not (home / CONFIG).exists()


@pytest.mark.parametrize(
    ("name", "paths", "says"),
    [
        pytest.param("hermes", ["/etc/passwd"], "/etc/passwd: is not a folder", id="a-file"),
        pytest.param("hermes", ["/no/such"], "/no/such: no such folder", id="no-folder"),
        pytest.param("hermse", [], "no source 'hermse'; did you mean hermes", id="no-source"),
    ],
)
def test_what_cannot_be_enabled_is_refused(home: Path, name: str, paths: list[str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        enable_source(name, paths)
    assert not (home / CONFIG).exists()


def test_folders_that_a_variable_names_are_kept_for_a_service_that_does_not_know_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(home / "elsewhere"))
    (home / "elsewhere" / "sessions").mkdir(parents=True)

    done = enable_source("codex")
    again = enable_source("codex")

    assert kept(home)["codex_roots"] == ["~/elsewhere/sessions"]
    assert done.folders == (str(home / "elsewhere" / "sessions"),)
    assert again.written == ()


def test_folders_that_nothing_moves_are_not_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEX_HOME", raising=False)
    (home / ".codex" / "sessions").mkdir(parents=True)

    enable_source("codex")

    assert "codex_roots" not in kept(home)
