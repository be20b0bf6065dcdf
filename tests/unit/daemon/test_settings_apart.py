from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader_daemon import kept_settings
from grader_daemon.daemon import settings_apart
from grader_daemon.daemon.settings_apart import read_apart, read_here
from grader_daemon.errors import ConfigurationError
from grader_daemon.plain_settings import PlainSecret, PlainSettings, plain
from grader_daemon.setting_properties import SettingProperties
from grader_daemon.settings import Settings, load_settings, settings_of

_SECRET = "never shown, whoever asks for it"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The home folder of a person who set nothing."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in [name for name in os.environ if name.startswith("GRADER_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings were read in this process."""
    monkeypatch.setattr(kept_settings, "_LIBRARY", "grader_daemon.not_loaded")


def _properties() -> list[str]:
    return [name for name, value in vars(SettingProperties).items() if isinstance(value, property)]


def test_plain_settings_say_what_the_settings_say() -> None:
    settings = load_settings(
        sources=["codex", "acme"], adapter_roots=["acme=/acme"], timezone="Europe/Berlin", alert_command=["true"]
    )

    told = plain(settings)

    ours = _properties()
    assert {"named_roots", "limits", "zone", "given", "warnings", "channels"} <= set(ours)
    assert {name: getattr(told, name) for name in (*Settings.model_fields, *ours)} == {
        name: getattr(settings, name) for name in (*Settings.model_fields, *ours)
    }
    for source in ("hermes", "codex", "acme", "unheard-of"):
        assert told.roots_of(source) == settings.roots_of(source)


def test_a_secret_is_kept_and_not_shown() -> None:
    told: Any = pickle.loads(pickle.dumps(plain(settings_of(alert_webhook_secret=_SECRET))))

    assert told.alert_webhook_secret.get_secret_value() == _SECRET
    assert _SECRET not in repr(told.alert_webhook_secret)
    assert isinstance(told.alert_webhook_secret, PlainSecret)


def test_plain_settings_do_not_change() -> None:
    told = plain(settings_of())

    with pytest.raises(AttributeError):
        told.quiet_seconds = 5.0
    with pytest.raises(AttributeError):
        told.quite_seconds = 5.0


@pytest.mark.usefixtures("apart")
def test_another_process_reads_flags_environment_and_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text("idle_minutes = 7.0\n")
    monkeypatch.setenv("GRADER_SCAN_SECONDS", "42")

    settings = read_apart({"quiet_seconds": 1.5, "log_level": None, "config": str(tmp_path / "config.toml")})

    assert settings.__class__.__name__ == PlainSettings.__name__
    assert (settings.quiet_seconds, settings.idle_minutes, settings.scan_seconds) == (1.5, 7.0, 42.0)
    assert settings.given.said_by("scan_seconds") == "environment GRADER_SCAN_SECONDS"


@pytest.mark.usefixtures("apart")
def test_what_is_wrong_is_told_as_by_the_settings() -> None:
    with pytest.raises(ConfigurationError) as here:
        load_settings(quiet_seconds=-1)

    with pytest.raises(ConfigurationError) as there:
        read_apart({"quiet_seconds": -1})

    assert str(there.value) == str(here.value)


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("program", ["/bin/false", "/no/such/program"], ids=["fails", "cannot-be-started"])
def test_without_another_process_they_are_read_here(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(sys, "executable", program)

    assert read_apart({"quiet_seconds": 1.5}).quiet_seconds == 1.5


@pytest.mark.parametrize(
    "given", [pytest.param(b"", id="before-it-asks"), pytest.param(pickle.dumps({}), id="before-it-reads-the-answer")]
)
def test_nothing_is_said_when_the_process_that_asks_is_killed(given: bytes) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody:
        command = [sys.executable, "-P", "-c", settings_apart._ASKED]  # as `read_apart` starts it
        ended = subprocess.run(command, input=given, stdout=nobody, stderr=subprocess.PIPE, check=False)

    assert ended.stderr == b""


@pytest.fixture
def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process can be started."""

    def start(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "run", start)


@pytest.mark.usefixtures("no_process")
def test_a_process_that_has_read_settings_reads_them_itself() -> None:
    assert read_apart({"quiet_seconds": 3.0}).quiet_seconds == 3.0


@pytest.mark.usefixtures("apart", "no_process")
def test_a_process_that_ends_soon_reads_them_itself() -> None:
    settings = read_here({"quiet_seconds": 3.0})

    assert (settings.quiet_seconds, settings.__class__.__name__) == (3.0, PlainSettings.__name__)
    with pytest.raises(ConfigurationError):
        read_here({"quiet_seconds": -1})
