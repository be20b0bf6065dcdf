"""What is told of the page as a service; with a real systemd it is tested in tests/e2e/service."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader_daemon.dashboard.systemd_unit import DashboardService
from grader_daemon.service.unit_file import DASHBOARD, DASHBOARD_SOCKET
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
    DashboardService().install(load_settings())
    return tmp_path / ".config" / "systemd" / "user"


def test_as_installed_it_is_here_and_not_outdated() -> None:
    told = DashboardService().status(load_settings())

    assert (told.is_here, told.outdated, told.edited) == (True, False, False)


def test_at_another_port_than_the_settings_name_it_is_not_here() -> None:
    told = DashboardService().status(load_settings(dashboard_port=7655))

    assert (told.listening, told.is_here, told.outdated) == (True, False, True)


def test_another_database_makes_it_outdated(tmp_path: Path) -> None:
    assert DashboardService().status(load_settings(db_path=tmp_path / "other" / "grades.db")).outdated


def test_what_cannot_be_passed_on_makes_it_outdated_and_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_DASHBOARD_TOKEN", "t" * 40)

    assert DashboardService().status(load_settings()).outdated


def test_what_somebody_edited_is_theirs(units: Path) -> None:
    with (units / DASHBOARD.name).open("a") as unit:
        unit.write("Environment=A=1\n")

    told = DashboardService().status(load_settings())

    assert (told.edited, told.outdated) == (True, False)


def test_uninstalled_units_are_gone(units: Path) -> None:
    assert DashboardService().uninstall()
    assert not any((units / unit.name).exists() for unit in (DASHBOARD, DASHBOARD_SOCKET))
    assert not DashboardService().uninstall()
