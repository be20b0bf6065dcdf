from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from grader_daemon.errors import ConfigurationError
from grader_daemon.service.demands import environment_for_others
from grader_daemon.settings import Settings, load_settings, settings_in, settings_of


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and no setting in the environment."""
    for name in ("GRADER_CONFIG", "GRADER_QUIET_SECONDS", "GRADER_WATCH_ROOTS", "GRADER_TIMEZONE", "GRADER_VERDICT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def configure(home: Path, text: str) -> Path:
    """Write the configuration file where it is looked for."""
    path = home / ".config" / "grader-daemon" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")
    return path


def test_defaults_are_those_of_the_contract(home: Path) -> None:
    settings = load_settings()
    assert settings.watch_roots == (home / ".timmy",)
    assert settings.db_path == home / ".timmy/uniwizard/session_grades.db"
    assert (settings.quiet_seconds, settings.max_wait_seconds, settings.idle_minutes) == (2.0, 30.0, 30.0)
    assert (settings.timezone, settings.zone) == (None, None)


@pytest.mark.parametrize(
    ("flag", "environment", "toml", "expected"),
    [
        pytest.param(7.0, "5", "quiet_seconds = 3", 7.0, id="flag-over-environment"),
        pytest.param(None, "5", "quiet_seconds = 3", 5.0, id="environment-over-file"),
        pytest.param(None, None, "quiet_seconds = 3", 3.0, id="file-over-default"),
        pytest.param(None, None, "", 2.0, id="default"),
        pytest.param(7.0, None, "quiet_seconds = 3", 7.0, id="flag-over-file"),
        pytest.param(0.0, "5", "", 0.0, id="a-flag-of-zero-is-given"),
    ],
)
def test_the_nearest_source_wins(
    *,
    flag: float | None,
    environment: str | None,
    toml: str,
    expected: float,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configure(home, toml)
    if environment is not None:
        monkeypatch.setenv("GRADER_QUIET_SECONDS", environment)
    assert load_settings(quiet_seconds=flag).quiet_seconds == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param(
            {"GRADER_QUIET_SECONDS": "soon"},
            ("quiet_seconds", "environment GRADER_QUIET_SECONDS", "'soon'", "number"),
            id="no-number",
        ),
        pytest.param(
            {"GRADER_QUIET_SECONDS": "-1"},
            ("quiet_seconds", "environment GRADER_QUIET_SECONDS", "-1", "give 0 or more"),
            id="too-small",
        ),
        pytest.param(
            {"GRADER_QUIET_SECONDS": "nan"}, ("quiet_seconds", "GRADER_QUIET_SECONDS", "nan"), id="not-a-number"
        ),
        pytest.param(
            {"GRADER_LOG_LEVEL": "loud"},
            ("log_level", "environment GRADER_LOG_LEVEL", "'loud'", "'debug', 'info', 'warning' or 'error'"),
            id="not-one-of-them",
        ),
        pytest.param(
            {"GRADER_TIMEZONE": "Europe/Nowhere"}, ("timezone", "'Europe/Nowhere'", "Europe/Berlin"), id="unknown-zone"
        ),
        pytest.param({"GRADER_TIMEZONE": "Europe"}, ("timezone", "'Europe'"), id="half-a-zone"),
        pytest.param(
            {"GRADER_RETRY_SECONDS": "often"},
            ("retry_seconds", "environment GRADER_RETRY_SECONDS", "often"),
            id="no-list",
        ),
        pytest.param(
            {"GRADER_RETRY_SECONDS": '["a"]'}, ("retry_seconds", "environment GRADER_RETRY_SECONDS"), id="no-numbers"
        ),
        pytest.param(
            {"GRADER_RETRY_SECONDS": "[-1]"}, ("retry_seconds", "environment GRADER_RETRY_SECONDS"), id="negative-pause"
        ),
        pytest.param(
            {"GRADER_RETRY_SECONDS": "[NaN]"}, ("retry_seconds", "environment GRADER_RETRY_SECONDS"), id="pause-of-nan"
        ),
        pytest.param({"GRADER_DB_PATH": "~nobody-has-this-name/x"}, ("home folder",), id="home-of-nobody"),
        pytest.param({"GRADER_CONFIG": "/nowhere/x.toml"}, ("GRADER_CONFIG", "/nowhere/x.toml"), id="no-such-file"),
    ],
)
def test_a_wrong_variable_is_told_in_one_line(
    given: dict[str, str], words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert [word for word in words if word not in str(caught.value)] == []
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param('quiet_seconds = "soon"', ("quiet_seconds", "'soon'", "number"), id="wrong-type"),
        pytest.param("quiet_secs = 3", ("no setting 'quiet_secs'",), id="unknown-setting"),
        pytest.param("quiet_seconds = \n", ("line 1",), id="no-toml"),
        pytest.param(f"quiet_seconds = {'[' * 9999}", ("nested too deeply",), id="nested-without-end"),
        pytest.param("watch_roots = []", ("watch_roots", "[] is too short; the least length is 1"), id="no-roots"),
        pytest.param('retry_seconds = [1, "x"]', ("retry_seconds", "'x'"), id="wrong-type-in-a-list"),
        pytest.param("queue_size = 0", ("queue_size", "0", "give 1 or more"), id="too-small"),
        pytest.param("quiet_seconds = true", ("quiet_seconds", "True", "a number is expected"), id="yes-for-a-number"),
        pytest.param("queue_size = true", ("queue_size", "True", "a number is expected"), id="yes-for-a-whole-number"),
        pytest.param(
            "retry_seconds = [true]", ("retry_seconds", "a number is expected"), id="yes-in-a-list-of-numbers"
        ),
        pytest.param("route_max_cost = true", ("route_max_cost", "a number is expected"), id="yes-for-a-limit"),
        pytest.param("route_max_cost = inf", ("route_max_cost", "not a finite number"), id="a-limit-without-end"),
        pytest.param(r'watch_roots = ["/a\u0000b"]', ("watch_roots", "null character"), id="null-in-a-list-of-folders"),
        pytest.param(r'db_path = "/a\u0000b"', ("db_path", "null character"), id="null-in-a-path"),
        pytest.param(r'route_file = "/a\u0000b"', ("route_file", "null character"), id="null-in-a-file-of-a-wing"),
        pytest.param(r'adapter_roots = ["acme=/a\u0000b"]', ("adapter_roots", "acme="), id="null-in-a-named-folder"),
        pytest.param(r'alert_command = ["a\u0000b"]', ("alert_command", "null character"), id="null-in-a-program"),
    ],
)
def test_a_wrong_file_is_told_in_one_line(text: str, words: tuple[str, ...], home: Path) -> None:
    path = configure(home, text)
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert [word for word in (*words, str(path)) if word not in str(caught.value)] == []
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [name for name, field in Settings.model_fields.items() if field.annotation is int])
def test_every_whole_number_has_a_largest_value_that_the_database_can_hold(name: str) -> None:
    """SQLite's largest whole number is 2 ** 63 - 1."""
    with pytest.raises(ConfigurationError, match=rf"{name} .* is too large"):
        settings_of(**{name: 2**63})


def test_a_byte_order_mark_as_editors_on_windows_write_it_is_passed_over(home: Path) -> None:
    configure(home, "\ufeffquiet_seconds = 3")

    assert load_settings().quiet_seconds == 3


def test_a_file_that_is_no_text_is_an_error(home: Path) -> None:
    path = configure(home, "")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match=r"config\.toml"):
        load_settings()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        pytest.param({"log_level": "loud"}, ("flag --log-level", "'loud'"), id="choice"),
        pytest.param({"quiet_seconds": -1}, ("flag --quiet-seconds", "-1"), id="number"),
    ],
)
def test_a_wrong_flag_is_named(flags: dict[str, Any], words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(**flags)
    assert [word for word in words if word not in str(caught.value)] == []


def test_the_config_file_may_be_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "elsewhere.toml"
    path.write_text("quiet_seconds = 9")
    monkeypatch.setenv("GRADER_CONFIG", str(path))
    assert load_settings().quiet_seconds == 9


@pytest.mark.parametrize("variable", ["GRADER_CONFIG", "GRADER_DB_PATH", "GRADER_WATCH_ROOTS", "GRADER_TIMEZONE"])
def test_nothing_is_guessed_from_an_empty_variable(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "")
    with pytest.raises(ConfigurationError, match=rf"{variable} is empty.*unset it"):
        load_settings()


@pytest.mark.parametrize("flags", [{"db_path": ""}, {"watch_roots": ("",)}, {"watch_roots": ""}, {"rules_file": ""}])
def test_nothing_is_guessed_from_an_empty_path(flags: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="not an empty text"):
        load_settings(**flags)


def test_a_file_that_a_flag_names_stands_above_the_one_of_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_text("quiet_seconds = 1")
    (tmp_path / "b.toml").write_text("quiet_seconds = 2.5")
    monkeypatch.setenv("GRADER_CONFIG", str(tmp_path / "a.toml"))
    assert load_settings(config=tmp_path / "b.toml").quiet_seconds == 2.5
    with pytest.raises(ConfigurationError, match=r"--config names .*none\.toml, which is not a file"):
        load_settings(config=tmp_path / "none.toml")


def test_every_value_knows_its_source(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = configure(home, "quiet_seconds = 3\nqueue_size = 5\nscan_seconds = 7")
    monkeypatch.setenv("GRADER_QUEUE_SIZE", "6")
    monkeypatch.setenv("GRADER_SCAN_SECONDS", "8")
    given = load_settings(scan_seconds=9).given
    names = ("scan_seconds", "queue_size", "quiet_seconds", "job_seconds")
    assert [given.said_by(name) for name in names] == [
        "flag --scan-seconds",
        "environment GRADER_QUEUE_SIZE",
        str(file),
        "default",
    ]


def test_a_variable_that_nobody_reads_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GRADER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GRADER_QUITE_SECONDS", "3")
    monkeypatch.setenv("GRADER_XYZZY", "3")
    monkeypatch.setenv("GRADER_DELIVERY", "3")
    assert load_settings().warnings == [
        "environment GRADER_QUITE_SECONDS is no setting and was not read; did you mean GRADER_QUIET_SECONDS?",
        "environment GRADER_XYZZY is no setting and was not read",
    ]


def test_a_program_that_is_not_there_is_told() -> None:
    warnings = load_settings(alert_command=["no-such-program-anywhere", "x"]).warnings
    assert any("alert_command" in each and "'no-such-program-anywhere'" in each for each in warnings)


def test_a_missing_file_at_the_usual_place_is_fine() -> None:
    assert load_settings().queue_size == 10_000


@pytest.mark.parametrize(
    ("value", "roots"),
    [
        pytest.param("/a", ("/a",), id="one"),
        pytest.param('["/a", "/b/c"]', ("/a", "/b/c"), id="several"),
        pytest.param('["/a:b"]', ("/a:b",), id="colon-in-a-name"),
        pytest.param("/a/../b", ("/b",), id="normalised"),
    ],
)
def test_roots_in_the_environment_are_one_or_a_list(
    value: str, roots: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADER_WATCH_ROOTS", value)
    assert load_settings().watch_roots == tuple(map(Path, roots))


def test_paths_in_the_file_may_begin_with_the_home(home: Path) -> None:
    configure(home, 'watch_roots = ["~/a", "/b"]\nrules_file = "~/r.toml"')
    settings = load_settings()
    assert (settings.watch_roots, settings.rules_file) == ((home / "a", Path("/b")), home / "r.toml")


def test_a_zone_is_known_by_its_name() -> None:
    settings = load_settings(timezone="Europe/Berlin")
    assert settings.zone is not None
    assert settings.zone.key == "Europe/Berlin"


# -- jobs and alerts -----------------------------------------------------------------------------------------------

SECRET = "correct horse battery staple"


def test_by_default_nobody_is_told_of_alerts() -> None:
    settings = load_settings()
    assert (settings.alert_webhook_url, settings.alert_webhook_secret, settings.alert_command) == (None, None, ())
    assert (settings.job_seconds, settings.alert_timeout_seconds) == (60.0, 10.0)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/hook?a=b",
        "https://example.org",
        "HTTPS://example.org/x",
        "http://[::1]:8080/",
        "http://localhost/",
    ],
)
def test_a_webhook_is_an_http_url(url: str) -> None:
    assert load_settings(alert_webhook_url=url).alert_webhook_url == url


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("", id="empty"),
        pytest.param("example.org/hook", id="no-scheme"),
        pytest.param("ftp://example.org/", id="another-scheme"),
        pytest.param("file:///etc/passwd", id="file"),
        pytest.param("http://", id="nothing-but-a-scheme"),
        pytest.param("http:///path", id="no-host"),
        pytest.param("http://:80/", id="nothing-but-a-port"),
        pytest.param("http://[::1/", id="half-an-address"),
        pytest.param("http://example.org:port/", id="port-that-is-no-number"),
        pytest.param("http://example.org:99999/", id="port-that-is-too-large"),
        pytest.param("http://example.org/a b", id="space"),
        pytest.param("http://example.org/\n", id="line-end"),
    ],
)
def test_a_wrong_webhook_is_told_in_one_line(url: str) -> None:
    with pytest.raises(ConfigurationError, match="alert_webhook_url") as caught:
        load_settings(alert_webhook_url=url)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "command"),
    [
        pytest.param("/opt/on-alert", ("/opt/on-alert",), id="program"),
        pytest.param('["notify-send", "Alert"]', ("notify-send", "Alert"), id="words"),
        pytest.param('["/opt/my tool", "$HOME", "; rm x"]', ("/opt/my tool", "$HOME", "; rm x"), id="no-shell"),
        pytest.param("[]", (), id="none"),
    ],
)
def test_a_command_in_the_environment_is_a_program_or_a_list(
    given: str, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADER_ALERT_COMMAND", given)
    assert load_settings().alert_command == command


def test_a_command_in_the_file_is_a_list(home: Path) -> None:
    configure(home, 'alert_command = ["notify-send", "a b", "$HOME"]')
    assert load_settings().alert_command == ("notify-send", "a b", "$HOME")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param({"GRADER_ALERT_COMMAND": "say hello"}, ("alert_command", '["notify-send", "Alert"]'), id="words"),
        pytest.param({"GRADER_ALERT_COMMAND": '["say", hello]'}, ("alert_command", "looks like a list"), id="no-JSON"),
        pytest.param({"GRADER_ALERT_COMMAND": "[" * 100_000}, ("alert_command", "looks like a list"), id="depth"),
        pytest.param({"GRADER_WATCH_ROOTS": "/a:/b"}, ("watch_roots", '["/a", "/b"]'), id="colons"),
        pytest.param({"GRADER_DB_PATH": '"/x.db"'}, ("db_path", "not JSON"), id="quoted-path"),
        pytest.param({"GRADER_DB_PATH": '["/x.db"]'}, ("db_path", "not JSON"), id="list-of-one"),
        pytest.param({"GRADER_JOB_SECONDS": "0"}, ("job_seconds", "give 1 or more"), id="no-pause"),
        pytest.param({"GRADER_JOB_SECONDS": "inf"}, ("job_seconds", "finite"), id="never"),
        pytest.param(
            {"GRADER_ALERT_TIMEOUT_SECONDS": "0"}, ("alert_timeout_seconds", "give more than 0"), id="no-time"
        ),
        pytest.param({"GRADER_ALERT_TIMEOUT_SECONDS": "301"}, ("alert_timeout_seconds", "300"), id="too-much-time"),
        pytest.param(
            {"GRADER_ALERT_WEBHOOK_SECRET": "x" * 15}, ("alert_webhook_secret", "the least length is 16"), id="short"
        ),
    ],
)
def test_a_wrong_variable_of_alerts_is_told_in_one_line(
    given: dict[str, str], words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert [word for word in words if word not in str(caught.value)] == []
    assert "\n" not in str(caught.value)


def test_a_secret_is_known_and_never_shown(home: Path) -> None:
    configure(home, f'alert_webhook_secret = "{SECRET}"')
    settings = load_settings()
    assert settings.alert_webhook_secret is not None
    assert settings.alert_webhook_secret.get_secret_value() == SECRET
    for shown in (repr(settings), str(settings), repr(settings.model_dump()), settings.model_dump_json()):
        assert SECRET not in shown


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('alert_webhook_secret = "hush hush"', id="too-short"),
        pytest.param('alert_webhook_secret = ["hush hush", 1]', id="a-list"),
        pytest.param('alert_webhook_secret = {is = "hush hush"}', id="a-table"),
        pytest.param('alert_webhook_secrets = "hush hush"', id="misspelt"),
        pytest.param('alert_webhook_secret = "hush hush"\nquiet_seconds = "soon"', id="beside-another-error"),
        pytest.param('alert_webhook_secret = "hush hush', id="no-toml"),
    ],
)
def test_an_error_never_shows_the_secret_not_even_with_its_traceback(home: Path, text: str) -> None:
    configure(home, text)
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert "hush" not in str(caught.value)
    assert "hush" not in "".join(traceback.format_exception(caught.value))


def test_a_secret_of_the_environment_is_not_shown_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_ALERT_WEBHOOK_SECRET", "hush hush")
    with pytest.raises(ConfigurationError, match="environment GRADER_ALERT_WEBHOOK_SECRET") as caught:
        load_settings()
    assert "hush" not in "".join(traceback.format_exception(caught.value))


# -- scorers of quality --------------------------------------------------------------------------------------------

JUDGE: dict[str, Any] = {"quality_judge_url": "http://127.0.0.1:8080/v1", "quality_judge_model": "m"}
HUSH = "hush-hush-0123456789"


def test_by_default_no_scorer_is_asked() -> None:
    settings = load_settings()
    assert (settings.quality_checks_per_day, settings.quality_judge_url, settings.quality_command) == (0, None, ())
    assert (settings.scorer_setting, settings.callers, settings.runners) == (None, (), ())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, (None, (), ()), id="nothing"),
        pytest.param({"quality_checks_per_day": 5}, (None, (), ()), id="a-number-and-no-scorer"),
        pytest.param(JUDGE, (None, (), ()), id="a-model-that-is-never-asked"),
        pytest.param({"quality_command": ["x"]}, (None, (), ()), id="a-program-that-is-never-asked"),
        pytest.param(
            {**JUDGE, "quality_checks_per_day": 5}, ("quality_judge_url", ("quality_judge_url",), ()), id="a-model"
        ),
        pytest.param(
            {"quality_command": ["x"], "quality_checks_per_day": 5},
            ("quality_command", (), ("quality_command",)),
            id="a-program",
        ),
        pytest.param(
            {**JUDGE, "quality_checks_per_day": 5, "alert_webhook_url": "https://h.invalid", "alert_command": ["x"]},
            ("quality_judge_url", ("alert_webhook_url", "quality_judge_url"), ("alert_command",)),
            id="alerts-too",
        ),
    ],
)
def test_what_the_daemon_calls_and_runs_is_known(
    given: dict[str, Any], expected: tuple[str | None, tuple[str, ...], tuple[str, ...]]
) -> None:
    settings = load_settings(**given)
    assert (settings.scorer_setting, settings.callers, settings.runners) == expected


@pytest.mark.parametrize(
    ("url", "plain_http"),
    [
        pytest.param("http://127.0.0.1:8080/v1", False, id="loopback"),
        pytest.param("http://127.9.9.9/v1", False, id="all-of-loopback"),
        pytest.param("http://[::1]:8080/v1", False, id="loopback-of-ipv6"),
        pytest.param("http://localhost:11434/v1", False, id="by-name"),
        pytest.param("https://api.example.org/v1", False, id="https"),
        pytest.param("http://192.168.1.7:8080/v1", True, id="http-that-is-allowed"),
    ],
)
def test_a_model_may_be_there(url: str, *, plain_http: bool) -> None:
    given = {**JUDGE, "quality_judge_url": url, "quality_judge_plain_http": plain_http}
    assert load_settings(**given).quality_judge_url == url


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param({"quality_judge_url": "http://192.168.1.7/v1"}, "https is expected", id="http-to-another"),
        pytest.param({"quality_judge_url": "http://localhost.example.org/v1"}, "https is expected", id="alike"),
        pytest.param({"quality_judge_url": "http://0.0.0.0/v1"}, "https is expected", id="any-address"),
        pytest.param({"quality_judge_url": "ftp://127.0.0.1/"}, "begins with http", id="no-http"),
        pytest.param({"quality_judge_url": f"https://me:{HUSH}@h.invalid/"}, "begins with http", id="credentials"),
        pytest.param({"quality_judge_model": None}, "quality_judge_model must be set", id="no-model"),
        pytest.param({"quality_command": ["x"]}, "unset one of them", id="a-program-too"),
    ],
)
def test_a_model_may_not_be_there(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match="quality_judge_url") as caught:
        load_settings(**{**JUDGE, **given})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'quality_judge_key = "{HUSH}\\u0000"', id="unprintable"),
        pytest.param(f'quality_judge_key = "{HUSH}\\nX-Other: 1"', id="another-header"),
        pytest.param(f'quality_judge_key = "{HUSH}ß"', id="no-ascii"),
        pytest.param(f'quality_judge_key = ["{HUSH}"]', id="a-list"),
    ],
)
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(home: Path, text: str) -> None:
    configure(home, text)
    with pytest.raises(ConfigurationError, match="quality_judge_key") as caught:
        load_settings()
    assert HUSH not in "".join(traceback.format_exception(caught.value))


def test_a_key_is_known_and_never_shown(home: Path) -> None:
    configure(home, f'quality_judge_key = "{HUSH}"')
    settings = load_settings()
    assert settings.quality_judge_key is not None
    assert settings.quality_judge_key.get_secret_value() == HUSH
    assert HUSH not in repr(settings) + settings.model_dump_json()


def test_another_process_gets_what_the_environment_says_with_absolute_paths(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    (home / "mine.toml").write_text("quiet_seconds = 7")
    for name, value in {
        "GRADER_CONFIG": "mine.toml",
        "GRADER_WATCH_ROOTS": '["one", "~/two"]',
        "grader_rules_file": "rules.toml",
        "GRADER_RETRY_SECONDS": "[1, 2]",
        "GRADER_OF_ANOTHER_PROGRAM": "x",
    }.items():
        monkeypatch.setenv(name, value)
    given = environment_for_others(load_settings(timezone="Asia/Tokyo"))
    assert given == {
        "GRADER_CONFIG": f"{home}/mine.toml",
        "GRADER_WATCH_ROOTS": f'["{home}/one", "{home}/two"]',
        "GRADER_TIMEZONE": "Asia/Tokyo",
        "grader_rules_file": f"{home}/rules.toml",
        "GRADER_RETRY_SECONDS": "[1.0, 2.0]",
    }


def test_what_is_given_otherwise_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_WATCH_ROOTS", "/one")
    assert environment_for_others(load_settings(watch_roots=["/two"]), but=["watch_roots"]) == {}


def test_a_secret_is_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "swordfish" * 3
    monkeypatch.setenv("GRADER_ALERT_WEBHOOK_SECRET", secret)
    with pytest.raises(ConfigurationError, match=r"alert_webhook_secret into .*config\.toml") as caught:
        environment_for_others(load_settings())
    assert secret not in str(caught.value)


# -- where the page answers --------------------------------------------------------------------------------------------

ELSEWHERE: dict[str, Any] = {
    "dashboard_address": "192.168.1.7",
    "dashboard_token": HUSH * 4,
    "dashboard_certificate_file": "~/page.pem",
    "dashboard_key_file": "~/page.key",
}


def test_page_answers_on_this_machine_unless_told_otherwise() -> None:
    assert load_settings().dashboard_address == "127.0.0.1"
    assert load_settings(dashboard_address="::1").dashboard_address == "::1"


def test_page_answers_other_machines_with_a_token_and_a_certificate(home: Path) -> None:
    settings = load_settings(**ELSEWHERE, dashboard_names="Grader.example.org")
    assert (settings.dashboard_address, settings.dashboard_names) == ("192.168.1.7", ("grader.example.org",))
    assert settings.dashboard_key_file == home / "page.key"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param({"dashboard_token": None}, "other machines can reach it", id="no-token"),
        pytest.param({"dashboard_token": HUSH}, "at least 32 characters", id="a-token-that-can-be-guessed"),
        pytest.param({"dashboard_token": f"{HUSH * 4}\n"}, "printable ASCII", id="a-token-of-two-lines"),
        pytest.param(
            {"dashboard_key_file": None, "dashboard_certificate_file": None}, "other machines can reach it", id="no-tls"
        ),
        pytest.param({"dashboard_key_file": None}, "or neither", id="no-key"),
        pytest.param({"dashboard_address": "0.0.0.0"}, "also set dashboard_names", id="every-address"),
        pytest.param({"dashboard_address": "localhost"}, "an address such as", id="a-name"),
        pytest.param({"dashboard_names": ["a:443"]}, "without a port", id="a-name-with-a-port"),
    ],
)
def test_page_that_others_could_read_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match="dashboard_") as caught:
        load_settings(**{**ELSEWHERE, **given})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert HUSH not in str(caught.value)


# -- scores for other programs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"otlp_logs_url": "http://collector.example.org:4318/v1/logs"}, id="plain-without-a-secret"),
        pytest.param(
            {"otlp_logs_url": "http://127.0.0.1:4318/v1/logs", "otlp_header_secret": "X-Key: a"}, id="this-machine"
        ),
        pytest.param({"otlp_logs_url": "https://otlp.example.org/v1/logs", "otlp_header_secret": "X-Key: a"}, id="tls"),
    ],
)
def test_scores_may_go_there(given: dict[str, str]) -> None:
    assert load_settings(**given).otlp_logs_url == given["otlp_logs_url"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param(
            {"otlp_logs_url": "http://otlp.example.org/v1/logs", "otlp_header_secret": "X-Key: a"},
            "https is expected for another machine",
            id="a-secret-in-plain-sight",
        ),
        pytest.param({"otlp_header_secret": "Bearer abc"}, "a line such as", id="no-name"),
        pytest.param({"otlp_header_secret": "X-Key: a\r\nX-Other: b"}, "a line such as", id="two-lines"),
        pytest.param({"otlp_logs_url": "127.0.0.1:4318"}, "begins with http", id="no-url"),
        pytest.param({"langfuse_url": "https://lf.example.org"}, "langfuse_secret_key must be set too", id="no-keys"),
        pytest.param(
            {"langfuse_url": "http://lf.example.org", "langfuse_public_key": "pk", "langfuse_secret_key": "sk"},
            "because langfuse_secret_key is sent there",
            id="keys-in-plain-sight",
        ),
        pytest.param(
            {"phoenix_url": "http://phoenix.example.org", "phoenix_api_key": "k"},
            "because phoenix_api_key is sent there",
            id="a-key-in-plain-sight",
        ),
    ],
)
def test_scores_may_not_go_there(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        load_settings(**given)


def test_no_fault_is_explained_in_the_words_of_the_settings_library() -> None:
    one_of_each_type = {repr((field.annotation, field.metadata)): name for name, field in Settings.model_fields.items()}
    told = []
    for name in one_of_each_type.values():
        for value in ("x y", "nan", -1, 1.5, [["a"]]):
            try:
                settings_of(**{name: value})
            except ConfigurationError as error:
                told.append(str(error))
    assert len(told) > len(one_of_each_type)
    for_no_known_fault = "see docs/settings.md"
    assert [words for words in told if "nput should" in words or for_no_known_fault in words] == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param({"quiet_seconds": "abc"}, "'abc' is not a number; give a number, such as 2.5", id="no-number"),
        pytest.param({"retry_seconds": [-1]}, "-1 is too small; give 0 or more", id="too-small"),
        pytest.param({"idle_minutes": 0}, "0 is too small; give more than 0", id="not-more"),
        pytest.param({"queue_size": "9" * 99}, f"'{'9' * 78}… is too large; give 10000000 or less", id="cut"),
        pytest.param({"log_format": "yaml"}, "'yaml' is not known; give 'auto', 'console' or 'json'", id="no-choice"),
        pytest.param({"alert_webhook_secret": HUSH[:9]}, "the value is too short; the least length is 16", id="secret"),
    ],
)
def test_a_fault_says_what_was_found_and_what_fits(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        settings_of(**given)
    assert str(caught.value).endswith(f"): {words}")


# -- what the settings library would do otherwise ----------------------------------------------------------------------


def test_capitals_win_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in (("GRADER_QUEUE_SIZE", "7"), ("grader_queue_size", "8"), ("Grader_Batch_Sessions", "9")):
        monkeypatch.setenv(variable, value)
    settings = load_settings()
    assert (settings.queue_size, settings.batch_sessions) == (7, 9)
    assert settings.given.said_by("batch_sessions") == "environment Grader_Batch_Sessions"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("Queue_Size = 5", "no setting 'Queue_Size'; did you mean queue_size?", id="capitals"),
        pytest.param('_env_file = "mine.env"', "no setting '_env_file'", id="parameter-of-the-library"),
        pytest.param("reading = 5", "no setting 'reading'", id="what-the-library-is-handed"),
    ],
)
def test_keys_of_the_file_are_settings_as_they_are_written(home: Path, text: str, words: str) -> None:
    configure(home, text)
    with pytest.raises(ConfigurationError, match=re.escape(words)):
        load_settings()


@pytest.mark.parametrize("name", ["Queue_Size", "_env_file", "_case_sensitive", "reading"])
def test_flags_are_settings_as_they_are_named(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"there is no setting '{name}'"):
        load_settings(config=None, **{name: 1})


def test_a_file_of_variables_is_not_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    (home / ".env").write_text("GRADER_QUEUE_SIZE=7")
    assert load_settings().queue_size == 10_000


@pytest.mark.parametrize(
    "make", [load_settings, settings_of, lambda: settings_in(Path("/x.toml"), {}, new="queue_size")]
)
def test_the_variable_that_writes_secrets_into_the_log_is_refused(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], Settings]
) -> None:
    monkeypatch.setenv("PYDANTIC_SETTINGS_DEBUG", "1")
    with pytest.raises(ConfigurationError, match=r"PYDANTIC_SETTINGS_DEBUG is set; .*secrets: unset it"):
        make()


@pytest.mark.parametrize("kind", ["folder", "unreadable"])
def test_a_file_that_cannot_be_read_is_told(home: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = configure(home, "queue_size = 7")
    if kind == "folder":
        path.unlink()
        path.mkdir()
    else:
        monkeypatch.setattr(Path, "read_text", Mock(side_effect=PermissionError(13, "Permission denied")))
    with pytest.raises(ConfigurationError, match=re.escape(str(path))):
        load_settings()


def test_settings_of_values_alone_ask_neither_environment_nor_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(home, "quiet_seconds = 3")
    monkeypatch.setenv("GRADER_QUEUE_SIZE", "7")
    settings = settings_of(batch_sessions=9)
    assert (settings.batch_sessions, settings.queue_size, settings.quiet_seconds) == (9, 10_000, 2.0)
    assert settings_in(home / "x.toml", {"queue_size": 8}, new="queue_size").queue_size == 8
    assert load_settings().model_copy(update={"batch_sessions": 9}).queue_size == 7


def test_settings_that_are_made_by_hand_ask_all_sources(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(home, "quiet_seconds = 3\nqueue_size = 5")
    monkeypatch.setenv("GRADER_QUEUE_SIZE", "7")
    flags: dict[str, Any] = {"batch_sessions": 9}
    for settings in (Settings(**flags), Settings.model_validate(flags)):
        assert (settings.batch_sessions, settings.queue_size, settings.quiet_seconds) == (9, 7, 3.0)
        with pytest.raises(ValueError, match="only settings from load_settings"):
            _ = settings.given
