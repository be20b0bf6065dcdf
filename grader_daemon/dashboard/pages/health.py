"""Health: does it run, how far is it, with which settings; and what the doctor finds, when one asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.domain.check import CheckState
from grader_daemon.domain.fleet_hosts import left_of
from grader_daemon.setting_sources import Source

if TYPE_CHECKING:
    from grader_daemon.api.configuration import SettingValue

_STATES: Final = {CheckState.PROBLEM: 0, CheckState.WARNING: 1, CheckState.UNKNOWN: 2, CheckState.OK: 3}


def health(visit: Visit) -> Response:
    """Answer with the state of the daemon, and what was found when somebody asked last."""
    from grader_daemon.api.configuration import (
        setting_values,  # with the library of settings, which no other page needs
    )

    found = visit.site.examination.found
    values = setting_values(visit.site.settings)
    fleet = visit.grader.context.fleet_view() if visit.grader.context.has_database else None
    return visit.show(
        "health.html",
        service=visit.grader.status(),
        fleet=fleet,
        is_reading=fleet is not None and left_of(fleet) > 0,
        found=found,
        goes_on=found is not None and found.ended_at is None,
        checks=[] if found is None else sorted(found.checks, key=lambda check: _STATES[check.state]),
        given=[(each, _written(each)) for each in values if each.source is not Source.DEFAULT],
        others=[(each, _written(each)) for each in values if each.source is Source.DEFAULT],
    )


def examine(visit: Visit) -> Response:
    """Begin to look at everything, and show what is found as it comes."""
    visit.site.examination.begin()
    return visit.go_to("/health")


def _written(setting: SettingValue) -> str:
    """Return a value as it is written in the file of settings, but for quotation marks."""
    value: Any = setting.value
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else "not set" if value is None else str(value)


PAGES: Final = (Page("/health", health, bare=True), Page("/health/examine", examine, writes=True, bare=True))
