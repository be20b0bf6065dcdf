"""Databases as earlier versions of the program left them, and those of builds before the first release."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from grader_daemon.storage.sqlite import schema

UNRELEASED = Path(__file__).parent / "data" / "unreleased"
LATER = "CREATE TABLE of_a_later_version (id INTEGER); DELETE FROM daily_rollups; DELETE FROM monthly_rollups;"
"""A migration as later versions have them: with sums that are made anew when the database is opened."""


def add_migration(monkeypatch: pytest.MonkeyPatch, sql: str = LATER) -> int:
    """Have this program know one migration more; returns the version that databases were of until now."""
    known = schema.migrations()
    version = known[-1][0]
    monkeypatch.setattr(schema, "migrations", lambda: [*known, (version + 1, "later", sql)])
    schema.own_tables.cache_clear()
    return version


def make_unreleased(path: Path, build: str = "356d021") -> None:
    """Make a database as a build before the first release left it."""
    path.write_bytes(lzma.decompress((UNRELEASED / f"{build}.db.xz").read_bytes()))
