"""What becomes of a unit that somebody edited; with a real systemd the service is tested in tests/e2e/service."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader_daemon.errors import ServiceError
from grader_daemon.service.daemon_unit import DAEMON
from grader_daemon.service.install import UserService
from grader_daemon.service.unit_file import directives
from grader_daemon.settings import Settings, load_settings

_MANAGER = """#!/bin/sh
case "$*" in
*show\\ --timestamp*)
    echo LoadState=loaded; echo ActiveState=active; echo UnitFileState=enabled; echo MainPID=7
    echo FragmentPath=$HOME/.config/systemd/user/grader-daemon.service ;;
esac
"""
"""A systemd in which the service always runs, and whatever is asked of it succeeds."""


@pytest.fixture
def settings(install_systemd: Callable[[str], None]) -> Settings:
    """Those of a person who set nothing, on a machine with that systemd."""
    install_systemd(_MANAGER)
    return load_settings()


@pytest.fixture
def unit(tmp_path: Path, settings: Settings) -> Path:
    """The unit as it was installed."""
    done = UserService("daemon").install(settings)
    assert (done.written, done.kept) == (True, ())
    return tmp_path / ".config" / "systemd" / "user" / DAEMON.service


def test_an_edited_unit_is_left_alone_and_it_is_said_what_differs(unit: Path, settings: Settings) -> None:
    edited = unit.read_text().replace("Restart=", "Restart=no\n#") + "Environment=HTTP_PROXY=http://proxy\n"
    unit.write_text(edited)

    with pytest.raises(ServiceError) as refused:
        UserService("daemon").install(settings)

    assert all(told in str(refused.value) for told in (str(unit), "+Restart=no", "+Environment=HTTP_PROXY", "--force"))
    assert "\n" not in str(refused.value)
    assert unit.read_text() == edited


def test_force_replaces_an_edited_unit_and_keeps_each(unit: Path, settings: Settings) -> None:
    written = unit.read_text()
    kept = []
    for edit in ("# one\n", "# two\n"):
        unit.write_text(written + edit)
        done = UserService("daemon").install(settings, force=True)
        (copy,) = done.kept
        kept.append((copy.name, copy.read_text()))

    assert kept == [
        (f"{DAEMON.service}.edited1", f"{written}# one\n"),
        (f"{DAEMON.service}.edited2", f"{written}# two\n"),
    ]
    assert unit.read_text() == written


@pytest.mark.parametrize(
    ("edit", "edited"), [pytest.param("", False, id="as-written"), pytest.param("#\n", True, id="edited")]
)
def test_status_tells_an_edited_unit(unit: Path, settings: Settings, edit: str, edited: bool) -> None:
    unit.write_text(unit.read_text() + edit)

    status = UserService("daemon").status(settings)

    assert (status.edited, status.outdated) == (edited, False)


def test_what_another_version_wrote_is_replaced_without_a_word(unit: Path, settings: Settings) -> None:
    written = unit.read_text()
    first, rest = written.split("\n", 1)
    unit.write_text(f"{first.partition(', version')[0]}, version 0.0.9.\n{rest}")

    done = UserService("daemon").install(settings)

    assert (done.written, done.kept, unit.read_text()) == (True, (), written)


def test_sessions_that_take_more_memory_than_it_may_have_make_it_outdated(unit: Path) -> None:
    asked = load_settings(max_file_bytes=1 << 30)
    service = UserService("daemon")
    assert service.status(asked).outdated

    assert service.install(asked).written

    assert directives(unit.read_text())["MemoryHigh"] == "3712M"
    assert not service.status(asked).outdated


def test_a_secret_that_cannot_be_passed_on_makes_it_outdated(
    unit: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert unit.exists()
    monkeypatch.setenv("GRADER_ALERT_WEBHOOK_SECRET", "s" * 20)

    assert UserService("daemon").status(load_settings()).outdated
    assert not UserService("daemon").status(settings).outdated


def test_a_masked_unit_is_refused_with_what_ends_that(tmp_path: Path, settings: Settings) -> None:
    systemctl = tmp_path / "bin/systemctl"
    systemctl.write_text(systemctl.read_text().replace("LoadState=loaded", "LoadState=masked"))

    with pytest.raises(ServiceError, match=rf"{DAEMON.service} is masked: systemctl --user unmask {DAEMON.service}"):
        UserService("daemon").install(settings)

    assert not (tmp_path / ".config/systemd").exists()


def test_what_is_not_installed_is_neither_edited_nor_outdated(settings: Settings) -> None:
    status = UserService("daemon").status(settings)

    assert (status.edited, status.outdated) == (False, False)
    assert UserService("daemon").uninstall() is None


def test_the_folder_of_metrics_can_be_written_once_installed_again(unit: Path, settings: Settings) -> None:
    asked = load_settings(metrics_file=str(unit.parents[3] / "collector" / "grader.prom"))
    service = UserService("daemon")
    assert (service.status(settings).outdated, service.status(asked).outdated) == (False, True)

    done = service.install(asked)

    assert (unit.parents[3] / "collector") in done.writable
    assert (service.status(settings).outdated, service.status(asked).outdated) == (False, False)


def test_the_daemon_may_write_where_routers_look(tmp_path: Path, unit: Path) -> None:
    elsewhere = load_settings(route_file=tmp_path / "router" / "route.json")
    service = UserService("daemon")
    assert service.status(elsewhere).outdated

    service.install(elsewhere)

    assert str(tmp_path / "router") in directives(unit.read_text())["ReadWritePaths"].split()
    assert not service.status(elsewhere).outdated
    assert (tmp_path / "router").is_dir()


def test_the_daemon_sees_the_folders_of_projects_that_are_named(tmp_path: Path, unit: Path) -> None:
    asked = load_settings(outcomes_roots=(tmp_path / "src",))
    service = UserService("daemon")
    assert service.status(asked).outdated

    service.install(asked)

    assert f"-{tmp_path / 'src'}" in directives(unit.read_text())["BindReadOnlyPaths"].split()
    assert not service.status(asked).outdated


def test_the_daemon_sees_skills_and_what_sets_agents_up(tmp_path: Path, unit: Path) -> None:
    (tmp_path / "projects").mkdir()
    asked = load_settings(
        sources=("claude-code",), claude_code_roots=(tmp_path / "projects",), skill_roots=(tmp_path / "shared-skills",)
    )

    UserService("daemon").install(asked)

    seen = directives(unit.read_text())["BindReadOnlyPaths"].split()
    for name in ("shared-skills", "skills", "settings.json", "CLAUDE.md", "projects"):
        assert f"-{tmp_path / name}" in seen, name
    assert f"-{tmp_path}" not in seen
