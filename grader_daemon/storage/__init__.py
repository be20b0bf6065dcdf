"""The only SQL: one database file for grades, details, failures and the ledger of files."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader_daemon.storage.sqlite.listing import GradeFilter, PageKey, SortKey
    from grader_daemon.storage.sqlite.store import DaemonStatus, NewGrade, Page, Store

__all__ = ["DaemonStatus", "GradeFilter", "NewGrade", "Page", "PageKey", "SortKey", "Store"]

_HOMES = {
    "sqlite.listing": ("GradeFilter", "PageKey", "SortKey"),
    "sqlite.store": ("DaemonStatus", "NewGrade", "Page", "Store"),
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for: completion asks for one small part of this."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
