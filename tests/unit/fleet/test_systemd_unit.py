"""What is told of what sends to the fleet as a service; with a real systemd it is tested in tests/e2e/service."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from grader_daemon import bootstrap
from grader_daemon.api.doctor.doctor_context import DoctorContext
from grader_daemon.domain.check import CheckState
from grader_daemon.errors import ConfigurationError
from grader_daemon.fleet.doctor import pusher, watched
from grader_daemon.fleet.systemd_unit import PUSHER, SERVER, pusher_status, unsent
from grader_daemon.service.install import UserService
from grader_daemon.service.unit_file import directives
from grader_daemon.settings import Settings, load_settings
from tests.damage import make_database
from tests.postgres import free_port
from tests.scripted_model import scripted, status

_STARTED = datetime(2026, 11, 24, 9, 0, tzinfo=UTC)
_MANAGER = f"""#!/bin/sh
case "$*" in
*show\\ --timestamp*)
    echo LoadState=${{LOAD:-loaded}}; echo ActiveState=${{STATE:-active}}; echo UnitFileState=enabled; echo MainPID=7
    echo ExecMainCode=$CODE; echo ExecMainStatus=$CODE; echo FragmentPath=$HOME/.config/systemd/user/grader-push.service
    echo ActiveEnterTimestamp=@{_STARTED.timestamp():.0f}; echo ExecMainStartTimestamp=@{_STARTED.timestamp():.0f} ;;
esac
"""
"""A systemd in which it runs since then, unless the environment says otherwise; what is asked of it succeeds."""

_URL = "postgresql://grader_host_laptop:a-secret-word@db.example.org/grader"


@pytest.fixture
def settings_file(tmp_path: Path, install_systemd: Callable[[str], None]) -> Path:
    """The settings of a person who was let into a fleet, written before it was started; a machine with that systemd."""
    install_systemd(_MANAGER)
    file = tmp_path / ".config/grader-daemon/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'fleet_url = "{_URL}"\n')
    _date(file, _STARTED - timedelta(hours=1))
    return file


@pytest.fixture
def complain(tmp_path: Path, settings_file: Path) -> Callable[..., None]:
    """Have the journal hold lines, each with its source and when it was said after the start."""
    del settings_file

    def said(*lines: tuple[str, str, timedelta]) -> None:
        entries = [
            {
                "__REALTIME_TIMESTAMP": str(int((_STARTED + after).timestamp() * 1e6)),
                "PRIORITY": "4",
                "SYSLOG_IDENTIFIER": source,
                "MESSAGE": message,
            }
            for source, message, after in lines
        ]
        (tmp_path / "journal").write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
        (tmp_path / "bin/journalctl").write_text(f"#!/bin/sh\ncat {tmp_path}/journal\n")
        (tmp_path / "bin/journalctl").chmod(0o755)

    said()
    return said


def _date(file: Path, when: datetime) -> None:
    os.utime(file, (when.timestamp(), when.timestamp()))


def _service() -> UserService:
    return UserService("pusher")


def _unit(home: Path) -> Path:
    return home / ".config/systemd/user" / PUSHER.service


# -- installing --------------------------------------------------------------------------------------------------------


def test_it_sends_from_its_sandbox_and_the_unit_holds_no_secret(tmp_path: Path, settings_file: Path) -> None:
    _service().install(load_settings())

    unit = _unit(tmp_path).read_text()
    assert "a-secret-word" not in unit
    assert directives(unit)["ExecStart"] == f"{sys.executable} -P -m grader_daemon fleet push --follow"
    shown = directives(unit)["BindReadOnlyPaths"].split()
    assert {f"-{tmp_path}/{name}" for name in (".pgpass", ".pg_service.conf", ".postgresql")} < set(shown)
    assert f"-{settings_file.parent}" in shown


def test_a_database_behind_a_link_is_named_by_where_it_is(tmp_path: Path, settings_file: Path) -> None:
    """The fleet knows this machine by that place, and a sandbox has no links to it."""
    del settings_file
    (tmp_path / "disk").mkdir()
    (tmp_path / ".timmy").symlink_to(tmp_path / "disk")

    _service().install(load_settings())

    place = tmp_path / "disk/uniwizard/session_grades.db"
    assert directives(_unit(tmp_path).read_text())["ExecStart"].endswith(f"fleet push --follow --db-path {place}")


def test_without_a_fleet_nothing_is_installed(tmp_path: Path, settings_file: Path) -> None:
    settings_file.write_text("")

    with pytest.raises(ConfigurationError, match="setting fleet_url is missing"):
        _service().install(load_settings())

    assert not _unit(tmp_path).exists()


@pytest.fixture
def no_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "grader_daemon.fleet.client_files", raising=False)


@pytest.mark.usefixtures("no_psycopg", "settings_file")
def test_without_psycopg_nothing_is_installed(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"psycopg.* is not installed. Add it: .* install .*'psycopg\[binary\]>=3.2'"
    ):
        _service().install(load_settings())

    assert not _unit(tmp_path).exists()


@pytest.mark.usefixtures("settings_file")
def test_a_url_of_the_environment_is_not_written_into_the_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_FLEET_URL", _URL)

    with pytest.raises(
        ConfigurationError, match="GRADER_FLEET_URL cannot be passed to the service; put fleet_url into"
    ):
        _service().install(load_settings())

    assert not _unit(tmp_path).exists()


# -- how it is ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [".config/grader-daemon/config.toml", ".pgpass"])
def test_what_it_reads_at_its_start_and_changed_since_makes_it_outdated(
    tmp_path: Path, settings_file: Path, name: str
) -> None:
    _service().install(load_settings())
    assert not pusher_status(load_settings(), behind=0).outdated

    (tmp_path / name).write_bytes(settings_file.read_bytes())
    _date(tmp_path / name, _STARTED + timedelta(hours=1))

    assert pusher_status(load_settings(), behind=0).outdated


def test_another_database_makes_it_outdated(tmp_path: Path, settings_file: Path) -> None:
    del settings_file
    _service().install(load_settings())

    assert pusher_status(load_settings(db_path=tmp_path / "other/grades.db"), behind=0).outdated


def test_a_fleet_that_is_gone_from_the_settings_makes_it_outdated(settings_file: Path) -> None:
    _service().install(load_settings())
    settings_file.write_text("")

    assert pusher_status(load_settings(), behind=0).outdated


def test_its_last_complaint_is_told_and_neither_those_before_its_start_nor_those_of_systemd(
    complain: Callable[..., None],
) -> None:
    complain(
        ("grader-push", "grader-daemon: warning: before", timedelta(minutes=-1)),
        ("grader-push", "grader-daemon: warning: PostgreSQL: away; tried again in 5 s", timedelta(minutes=1)),
        ("systemd", "Failed with result 'exit-code'", timedelta(minutes=2)),
    )

    told = pusher_status(load_settings(), behind=3)

    assert (told.behind, told.trouble) == (3, "PostgreSQL: away; tried again in 5 s")
    assert told.trouble_at == _STARTED + timedelta(minutes=1)

    complain(("grader-push", "grader-daemon: warning: before", timedelta(minutes=-1)))
    assert pusher_status(load_settings(), behind=3).trouble is None


def test_how_much_is_unsent_is_what_changed_since_the_last_push(tmp_path: Path) -> None:
    settings = load_settings(db_path=tmp_path / "grades.db")
    make_database(settings.db_path, sessions=3)
    with closing(bootstrap.open_store(settings)) as store:
        assert unsent(store) == store.changes.newest() > 0
        with store.transaction():
            store.changes.advance("fleet", store.changes.newest())
        assert unsent(store) == 0


# -- the doctor --------------------------------------------------------------------------------------------------------


def _diagnosed(settings: Settings) -> tuple[CheckState, str, str | None]:
    with DoctorContext(lambda: settings, now=_STARTED + timedelta(minutes=10)) as context:
        finding = pusher(context)
    return finding.state, finding.found, finding.fix


def _with_grades() -> Settings:
    settings = load_settings()
    make_database(settings.db_path, sessions=2)
    return settings


def test_without_a_fleet_the_doctor_has_nothing_to_say(settings_file: Path) -> None:
    settings_file.write_text("")

    assert _diagnosed(load_settings()) == (
        "ok",
        "no fleet (shared database of many machines) is set: no grade leaves this machine",
        None,
    )


@pytest.mark.usefixtures("no_psycopg", "settings_file")
def test_the_doctor_misses_psycopg() -> None:
    state, found, fix = _diagnosed(load_settings())

    assert (state, fix) == ("warning", "install it in the environment of grader-daemon")
    assert "the fleet needs psycopg, which is not installed. Add it: " in found


_AWAY = ("grader-push", "grader-daemon: warning: PostgreSQL: away", timedelta(minutes=9))


@pytest.mark.parametrize(
    ("environment", "complaints", "state", "found", "fix"),
    [
        pytest.param({}, [], "ok", "it runs, pid 7, 2 changes not sent yet", None, id="it-catches-up"),
        pytest.param(
            {},
            [_AWAY],
            "warning",
            "it runs, pid 7, 2 changes not sent yet: PostgreSQL: away",
            "correct what it reports; systemctl --user restart grader-push does not wait",
            id="the-server-is-away",
        ),
        pytest.param(
            {},
            [(*_AWAY[:2], timedelta(minutes=1))],
            "ok",
            "it runs, pid 7, 2 changes not sent yet",
            None,
            id="the-server-was-away",
        ),
        pytest.param(
            {"STATE": "failed", "CODE": "1"},
            [_AWAY],
            "warning",
            "its service does not run (exit code 1), 2 changes not sent yet: PostgreSQL: away",
            "grader-daemon fleet install",
            id="it-ended",
        ),
        pytest.param(
            {"STATE": "inactive"},
            [],
            "warning",
            "its service does not run (inactive), 2 changes not sent yet",
            "grader-daemon fleet install",
            id="it-was-stopped",
        ),
        pytest.param(
            {"STATE": "inactive", "LOAD": "not-found"},
            [],
            "warning",
            "2 changes not sent yet, and no service sends",
            "grader-daemon fleet install; to send once: grader-daemon fleet push",
            id="it-is-not-installed",
        ),
    ],
)
def test_the_doctor_tells_whether_it_runs_and_how_far_it_is_behind(
    *,
    complain: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    complaints: list[tuple[str, str, timedelta]],
    state: str,
    found: str,
    fix: str | None,
) -> None:
    _service().install(load_settings())
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    complain(*complaints)

    assert _diagnosed(_with_grades()) == (state, found, fix)


def test_the_doctor_is_content_where_all_was_sent_by_hand(
    complain: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    complain()
    monkeypatch.setenv("LOAD", "not-found")
    monkeypatch.setenv("STATE", "inactive")

    assert _diagnosed(load_settings()) == ("ok", "nothing waits to be sent; no service is installed", None)


def test_the_doctor_has_an_outdated_one_installed_again(complain: Callable[..., None], settings_file: Path) -> None:
    complain()
    _service().install(load_settings())
    _date(settings_file, _STARTED + timedelta(minutes=5))

    found = "it runs, pid 7, nothing waits to be sent; settings or version changed since its start"
    assert _diagnosed(load_settings()) == ("warning", found, "grader-daemon fleet install")


@pytest.mark.parametrize(
    ("settings", "state", "left", "fix"),
    [
        pytest.param(_with_grades, "unknown", "2 changes not sent yet", "grader-daemon fleet push", id="some"),
        pytest.param(load_settings, "ok", "nothing waits to be sent", None, id="none"),
    ],
)
@pytest.mark.usefixtures("settings_file")
def test_without_systemd_the_doctor_tells_what_is_left(
    *, tmp_path: Path, settings: Callable[[], Settings], state: str, left: str, fix: str | None
) -> None:
    (tmp_path / "bin/systemctl").write_text("#!/bin/sh\nexit 1\n")

    found = f"{left}; without systemd it is unknown whether anything sends automatically"
    assert _diagnosed(settings()) == (state, found, fix)


@pytest.mark.parametrize(
    ("code", "state", "found"),
    [
        pytest.param(401, "ok", "answers, and watches the fleet", id="it-lets-nobody-in"),
        pytest.param(502, "warning", "answers 502, which no fleet server does", id="a-proxy-before-nothing"),
    ],
)
def test_the_doctor_asks_the_server_of_a_fleet(tmp_path: Path, code: int, state: str, found: str) -> None:
    with scripted(status(code)) as server:
        url = server.url.removesuffix("/v1")
        assert _watched(url, tmp_path) == (state, f"{url} {found}")


def test_the_doctor_says_that_the_server_of_a_fleet_is_away(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    state, found = _watched(url, tmp_path)
    assert (state, found.partition(": ")[0]) == ("warning", f"{url} does not answer")


def _watched(url: str, folder: Path) -> tuple[CheckState, str]:
    (folder / "token").write_text("t")
    settings = load_settings(fleet_read_url=url, fleet_read_token_file=str(folder / "token"))
    with DoctorContext(lambda: settings, now=_STARTED) as context:
        finding = watched(context)
    return finding.state, finding.found


def test_a_server_of_a_fleet_sees_its_certificate_and_writes_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    config = tmp_path / ".config/grader-daemon/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f'fleet_read_url = "{_URL}"\nfleet_tokens_file = "~/tokens/fleet.json"\n'
        'fleet_serve_certificate_file = "~/tls/page.pem"\nfleet_serve_key_file = "~/tls/page.key"\n'
    )
    fit = SERVER.fit(load_settings())
    assert fit.command[-2:] == ("fleet", "serve")
    assert fit.network == ("fleet_read_url",)
    seen = {tmp_path / each for each in ("tls/page.pem", "tls/page.key", "tokens", ".pgpass")}
    assert seen <= {*fit.needed}
    assert set(fit.writable) == {tmp_path / ".timmy/uniwizard", tmp_path / ".cache/grader-daemon"}
    assert {tmp_path / "tls/page.pem", config} <= {*fit.read_once}
    assert "a-secret-word" not in str(fit)


@pytest.mark.parametrize("given", ["", 'fleet_read_url = "http://127.0.0.1:7655"\nfleet_read_token_file = "/t"\n'])
def test_a_server_needs_the_login_of_a_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    config = tmp_path / "config.toml"
    config.write_text(given)
    with pytest.raises(ConfigurationError, match="fleet add-member"):
        SERVER.fit(load_settings(config=config))
