"""What becomes of a unit that somebody edited; with a real systemd the service is tested in tests/e2e/service."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader_daemon import bootstrap
from grader_daemon.api.service import UserService
from grader_daemon.api.service_fit import serves_daemon
from grader_daemon.errors import ServiceError
from grader_daemon.integrations.unit_file import DAEMON, directives
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
    done = UserService(clock=bootstrap.utc_now).install(settings)
    assert (done.written, done.kept) == (True, None)
    return tmp_path / ".config" / "systemd" / "user" / DAEMON.name


def test_an_edited_unit_is_left_alone_and_it_is_said_what_differs(unit: Path, settings: Settings) -> None:
    edited = unit.read_text().replace("Restart=", "Restart=no\n#") + "Environment=HTTP_PROXY=http://proxy\n"
    unit.write_text(edited)

    with pytest.raises(ServiceError) as refused:
        UserService(clock=bootstrap.utc_now).install(settings)

    assert all(told in str(refused.value) for told in (str(unit), "+Restart=no", "+Environment=HTTP_PROXY", "--force"))
    assert "\n" not in str(refused.value)
    assert unit.read_text() == edited


def test_force_replaces_an_edited_unit_and_keeps_each(unit: Path, settings: Settings) -> None:
    written = unit.read_text()
    kept = []
    for edit in ("# one\n", "# two\n"):
        unit.write_text(written + edit)
        done = UserService(clock=bootstrap.utc_now).install(settings, force=True)
        assert done.kept is not None
        kept.append((done.kept.name, done.kept.read_text()))

    assert kept == [(f"{DAEMON.name}.edited1", f"{written}# one\n"), (f"{DAEMON.name}.edited2", f"{written}# two\n")]
    assert unit.read_text() == written


@pytest.mark.parametrize(
    ("edit", "edited"), [pytest.param("", False, id="as-written"), pytest.param("#\n", True, id="edited")]
)
def test_status_tells_an_edited_unit(unit: Path, settings: Settings, edit: str, edited: bool) -> None:
    unit.write_text(unit.read_text() + edit)

    status = UserService(clock=bootstrap.utc_now).status(settings)

    assert (status.edited, status.outdated) == (edited, False)


def test_what_another_version_wrote_is_replaced_without_a_word(unit: Path, settings: Settings) -> None:
    written = unit.read_text()
    first, rest = written.split("\n", 1)
    unit.write_text(f"{first.partition(', version')[0]}, version 0.0.9.\n{rest}")

    done = UserService(clock=bootstrap.utc_now).install(settings)

    assert (done.written, done.kept, unit.read_text()) == (True, None, written)


def test_the_folder_of_metrics_can_be_written_once_installed_again(unit: Path, settings: Settings) -> None:
    asked = load_settings(metrics_file=str(unit.parents[3] / "collector" / "grader.prom"))
    service = UserService(clock=bootstrap.utc_now)
    assert (service.status(settings).outdated, service.status(asked).outdated) == (False, True)

    done = service.install(asked)

    assert (unit.parents[3] / "collector") in done.writable
    assert (service.status(settings).outdated, service.status(asked).outdated) == (False, False)


def test_the_daemon_may_write_where_routers_look(tmp_path: Path, unit: Path) -> None:
    elsewhere = load_settings(route_file=tmp_path / "router" / "route.json")
    assert not serves_daemon(unit.read_text(), elsewhere)

    UserService(clock=bootstrap.utc_now).install(elsewhere)

    assert str(tmp_path / "router") in directives(unit.read_text())["ReadWritePaths"].split()
    assert serves_daemon(unit.read_text(), elsewhere)
    assert (tmp_path / "router").is_dir()


def test_the_daemon_sees_the_folders_of_projects_that_are_named(tmp_path: Path, unit: Path) -> None:
    asked = load_settings(outcomes_roots=(tmp_path / "src",))
    assert not serves_daemon(unit.read_text(), asked)

    UserService(clock=bootstrap.utc_now).install(asked)

    assert f"-{tmp_path / 'src'}" in directives(unit.read_text())["BindReadOnlyPaths"].split()
    assert serves_daemon(unit.read_text(), asked)


def test_the_daemon_sees_skills_and_what_sets_agents_up(tmp_path: Path, unit: Path) -> None:
    (tmp_path / "projects").mkdir()
    asked = load_settings(
        sources=("claude-code",), claude_code_roots=(tmp_path / "projects",), skill_roots=(tmp_path / "shared-skills",)
    )

    UserService(clock=bootstrap.utc_now).install(asked)

    seen = directives(unit.read_text())["BindReadOnlyPaths"].split()
    for name in ("shared-skills", "skills", "settings.json", "CLAUDE.md", "projects"):
        assert f"-{tmp_path / name}" in seen, name
    assert f"-{tmp_path}" not in seen
