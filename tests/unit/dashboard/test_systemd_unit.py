"""What is told of the page as a service; with a real systemd it is tested in tests/e2e/service."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader_daemon.dashboard.systemd_unit import PAGE, page_status
from grader_daemon.errors import ServiceError
from grader_daemon.service.install import UserService
from grader_daemon.settings import load_settings

_MANAGER = """#!/bin/sh
case "$*" in
*show\\ --timestamp*.socket)
    echo LoadState=loaded; echo ActiveState=active; echo UnitFileState=enabled
    echo FragmentPath=$HOME/.config/systemd/user/grader-dashboard.socket ;;
esac
"""
"""A systemd in which the port is always open, and whatever is asked of it succeeds."""


@pytest.fixture(autouse=True)
def units(tmp_path: Path, install_systemd: Callable[[str], None]) -> Path:
    """Install the page on a machine with that systemd; return the folder of its units."""
    install_systemd(_MANAGER)
    UserService("page").install(load_settings())
    return tmp_path / ".config" / "systemd" / "user"


def test_as_installed_it_is_here_and_not_outdated() -> None:
    told = page_status(load_settings())

    assert (told.is_here, told.outdated, told.edited) == (True, False, False)


def test_at_another_port_than_the_settings_name_it_is_not_here() -> None:
    told = page_status(load_settings(dashboard_port=7655))

    assert (told.listening, told.is_here, told.outdated) == (True, False, True)


def test_another_database_makes_it_outdated(tmp_path: Path) -> None:
    assert page_status(load_settings(db_path=tmp_path / "other" / "grades.db")).outdated


def test_what_cannot_be_passed_on_makes_it_outdated_and_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_DASHBOARD_TOKEN", "t" * 40)

    assert page_status(load_settings()).outdated


def test_what_somebody_edited_is_theirs(units: Path) -> None:
    with (units / PAGE.service).open("a") as unit:
        unit.write("Environment=A=1\n")

    told = page_status(load_settings())

    assert (told.edited, told.outdated) == (True, False)


def test_uninstalled_units_are_gone(units: Path) -> None:
    assert UserService("page").uninstall() is not None
    assert not any((units / file).exists() for file in PAGE.files)
    assert UserService("page").uninstall() is None


def test_a_port_that_cannot_be_opened_is_told_with_the_way_out(tmp_path: Path) -> None:
    refusing = """*restart*) echo Job failed. >&2; exit 1 ;;\n*show\\ --timestamp*.socket)"""
    systemctl = tmp_path / "bin/systemctl"
    systemctl.write_text(_MANAGER.replace("*show\\ --timestamp*.socket)", refusing))

    with pytest.raises(ServiceError) as failed:
        UserService("page").install(load_settings(dashboard_port=7655))

    assert str(failed.value) == (
        "grader-dashboard.socket could not open its port, which another program may use: choose another with"
        " dashboard_port: Job failed."
    )
