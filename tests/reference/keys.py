"""The keys of the dashboard, as a table."""

from __future__ import annotations

from grader_daemon.dashboard.shortcuts import SHORTCUTS
from tests.reference.blocks import table


def keys_table() -> str:
    """Return every key, where it does something, and what."""
    rows: list[tuple[str, ...]] = [
        (f"`{each.keys}`", f"`{each.page}`" if each.page else "everywhere", each.words) for each in SHORTCUTS
    ]
    return table(("key", "on", "does"), rows)
