"""Completions of a word that is begun: ids, names and weeks of the database. Nothing heavy is imported."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

from grader_daemon.errors import GraderError
from grader_daemon.setting_sources import database_path
from grader_daemon.storage.sqlite.beginnings import Beginnings

_HARMLESS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@+-]*")
"""What a shell takes as it is: names come from session files, and would be typed for the person."""


def known(kind: str, begun: str, *, db_path: str | None = None, config: str | None = None) -> list[str]:
    """Return what is known of a kind and may begin like that; without a database, or if settings are wrong, nothing.

    Kinds are sessions, issues, alerts, weeks, settings, zones, and the dimensions whose names are known.
    """
    match kind:
        case "":
            return []
        case "settings":
            return _settings()
        case "zones":
            from zoneinfo import available_timezones

            return sorted(available_timezones())
    try:
        with Beginnings(database_path(db_path, config=config)) as beginnings:
            found = _asked(beginnings, kind, begun)
    except (GraderError, OSError):
        return []
    return [word for word in found if _HARMLESS.fullmatch(word)]


def _asked(beginnings: Beginnings, kind: str, begun: str) -> Iterable[str]:
    match kind:
        case "sessions":
            return beginnings.sessions(begun)
        case "issues":
            return beginnings.issues(begun)
        case "alerts":
            return map(str, beginnings.alerts())
        case "weeks":
            return map(_week, beginnings.weeks())
        case _:
            return beginnings.names(kind)


def _week(monday: str) -> str:
    year, week, _ = date.fromisoformat(monday[:10]).isocalendar()
    return f"{year:04}-W{week:02}"


def _settings() -> list[str]:
    from grader_daemon.settings import Settings  # nobody changes settings all the time

    return list(Settings.model_fields)
