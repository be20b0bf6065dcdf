"""Settings that were checked before are taken as they were, while all that they follow from is the same."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from grader_daemon import kept_settings
from grader_daemon.api.doctor import examine
from grader_daemon.errors import ConfigurationError
from grader_daemon.kept_settings import checked_settings
from grader_daemon.plain_settings import PlainSettings, plain
from grader_daemon.setting_properties import SettingProperties
from grader_daemon.settings import Settings, load_settings
from tests.strategies import NOW

_PROPERTIES = [name for name, value in vars(SettingProperties).items() if isinstance(value, property)]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a person who set nothing."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in [name for name in os.environ if name.startswith(("GRADER_", "XDG_"))]:
        monkeypatch.delenv(name)
    return tmp_path


class Reader:
    """Reads settings, and counts how often it was asked."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, flags: Mapping[str, Any]) -> PlainSettings:
        self.times += 1
        return plain(load_settings(**flags))

    def twice(self, **flags: Any) -> Any:
        """Read under the same flags again."""
        checked_settings(flags, self)
        return checked_settings(flags, self)


@pytest.fixture
def reader() -> Reader:
    return Reader()


def kept_file(home: Path) -> Path:
    return home / ".cache" / "grader-daemon" / "checked_settings.json"


def test_what_is_kept_says_what_was_read(reader: Reader, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = home / ".config" / "grader-daemon" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('sources = ["codex", "hermes"]\nwatch_roots = ["~/a", "/b"]\nquiet_seconds = 3\n')
    monkeypatch.setenv("GRADER_TIMEZONE", "Europe/Berlin")
    monkeypatch.setenv("GRADER_ALERT_COMMAND", '["true", "now"]')

    told, settings = reader.twice(db_path="/somewhere/grades.db"), load_settings(db_path="/somewhere/grades.db")

    assert reader.times == 1
    assert {name: getattr(told, name) for name in (*Settings.model_fields, *_PROPERTIES, "model_fields_set")} == {
        name: getattr(settings, name) for name in (*Settings.model_fields, *_PROPERTIES, "model_fields_set")
    }
    assert all(type(getattr(told, name)) is type(getattr(settings, name)) for name in Settings.model_fields)
    assert told.roots_of("hermes") == (home / "a", Path("/b"))
    assert told.given.said_by("quiet_seconds") == str(config)


@pytest.mark.parametrize("change", ["file", "variable", "flag", "home", "version", "code"])
def test_whatever_settings_follow_from_is_looked_at(
    reader: Reader, home: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    config = home / "config.toml"
    config.write_text("quiet_seconds = 3\n")
    flags: dict[str, Any] = {"config": str(config)}
    checked_settings(flags, reader)
    match change:
        case "file":
            config.write_text("quiet_seconds = 4\n")
        case "variable":
            monkeypatch.setenv("grader_quiet_seconds", "5")
        case "flag":
            flags["quiet_seconds"] = 6.0
        case "home":
            (home / "other").mkdir()
            (home / ".cache").rename(home / "other" / ".cache")
            monkeypatch.setenv("HOME", str(home / "other"))
        case "version":
            monkeypatch.setattr(kept_settings, "__version__", "9.9.9")
        case "code":
            monkeypatch.setattr(kept_settings, "_CHECKING", ("settings.py", "kept_settings.py"))

    again: Any = checked_settings(flags, reader)
    now = load_settings(**flags)

    assert reader.times == 2
    assert (again.quiet_seconds, again.db_path) == (now.quiet_seconds, now.db_path)


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param({"db_path": "grades.db"}, id="path in this folder"),
        pytest.param({"watch_roots": ("/a", "b")}, id="one of several in this folder"),
        pytest.param({"sources": ["acme"], "adapter_roots": ["acme=/a"]}, id="adapter"),
        pytest.param({"dashboard_token": "t" * 32}, id="secret"),
    ],
)
def test_what_follows_from_more_and_secrets_are_not_kept(reader: Reader, home: Path, flags: dict[str, Any]) -> None:
    reader.twice(**flags)

    assert reader.times == 2
    assert not kept_file(home).exists()


def test_a_path_in_this_folder_is_not_kept_from_the_file_either(reader: Reader, home: Path) -> None:
    (home / "config.toml").write_text('rules_file = "rules.toml"\n')

    reader.twice(config=str(home / "config.toml"))

    assert reader.times == 2


def test_a_relative_path_of_the_environment_is_not_kept(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_WATCH_ROOTS", '["~/a", "b"]')

    reader.twice()

    assert reader.times == 2


def test_what_is_wrong_is_said_each_time(reader: Reader, home: Path) -> None:
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="quiet_seconds"):
            checked_settings({"quiet_seconds": -1}, reader)

    assert (reader.times, kept_file(home).exists()) == (2, False)


def test_a_file_that_is_named_must_be_there_still(reader: Reader, home: Path) -> None:
    config = home / "config.toml"
    config.write_text("")
    flags = {"config": str(config)}
    checked_settings(flags, reader)
    config.unlink()
    config.mkdir()

    with pytest.raises(ConfigurationError, match="which is not a file"):
        checked_settings(flags, reader)


@pytest.mark.parametrize("spoil", ["broken", "another shape", "writable for others", "of another person", "a folder"])
def test_a_kept_file_that_cannot_be_trusted_is_passed_over(
    reader: Reader, home: Path, monkeypatch: pytest.MonkeyPatch, spoil: str
) -> None:
    checked_settings({}, reader)
    file = kept_file(home)
    assert file.stat().st_mode & 0o777 == 0o600
    match spoil:
        case "broken":
            file.write_bytes(file.read_bytes()[:-9])
        case "another shape":
            file.write_text('{"key": 1}')
        case "writable for others":
            file.chmod(0o602)
        case "of another person":
            status = os.fstat
            monkeypatch.setattr(
                os, "fstat", lambda number: os.stat_result((*status(number)[:4], 4711, *status(number)[5:]))
            )
        case "a folder":
            file.unlink()
            file.mkdir()

    again: Any = checked_settings({}, reader)

    assert (again.quiet_seconds, reader.times) == (load_settings().quiet_seconds, 2)


def test_a_path_that_is_not_utf8_is_read_each_time(reader: Reader, home: Path) -> None:
    told = reader.twice(db_path="/grades/\udcff.db")

    assert (str(told.db_path), reader.times) == ("/grades/\udcff.db", 2)
    assert not kept_file(home).exists()


def test_where_nothing_can_be_written_they_are_read_each_time(reader: Reader, home: Path) -> None:
    (home / ".cache").write_text("no folder")

    reader.twice()

    assert reader.times == 2


def test_the_doctor_finds_the_same_by_kept_settings(reader: Reader, home: Path) -> None:
    (home / "config.toml").write_text('watch_roots = ["~/sessions"]\nidle_minutes = 7\n')
    kept, read = reader.twice(config=str(home / "config.toml")), load_settings(config=home / "config.toml")

    by_kept, by_read = ([*examine(partial(_same, given), clock=lambda: NOW)] for given in (kept, read))

    assert " settings are set, " in by_kept[0].found
    assert by_kept == by_read


def _same(settings: Any) -> Any:
    return settings
