"""A check by `doctor` of the machine or the set-up: its finding, and what to do about it."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class CheckState(StrEnum):
    """Result of a check.

    A warning works, but not as well as it could; a problem leaves sessions ungraded or endangers grades.
    """

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    UNKNOWN = "unknown"


class Finding(msgspec.Struct, frozen=True):
    """The finding of a check, in one line; `fix` says in another what to do, if anything."""

    state: CheckState
    found: str
    fix: str | None = None


class Check(msgspec.Struct, frozen=True):
    """A finding under the name of its check."""

    name: str
    state: CheckState
    found: str
    fix: str | None = None


def ok(found: str) -> Finding:
    """Return the finding that all is well."""
    return Finding(CheckState.OK, found)


def warning(found: str, fix: str) -> Finding:
    """Return the finding that it works, but not as well as it could."""
    return Finding(CheckState.WARNING, found, fix)


def problem(found: str, fix: str) -> Finding:
    """Return the finding that sessions stay ungraded, or grades are in danger."""
    return Finding(CheckState.PROBLEM, found, fix)


def unknown(found: str, fix: str | None = None) -> Finding:
    """Return the finding that it could not be found out."""
    return Finding(CheckState.UNKNOWN, found, fix)
