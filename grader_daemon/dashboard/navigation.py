"""The pages in the bar: those of every day, and behind "Grader" those about the grader itself."""

from __future__ import annotations

from typing import Final, NamedTuple


class Entry(NamedTuple):
    """A page in the bar; `holds` are the first parts of the addresses of what lies below it."""

    words: str
    address: str
    holds: tuple[str, ...] = ()

    def is_above(self, path: str) -> bool:
        """Return whether a path is this page, or lies below it."""
        here = f"/{path.strip('/').partition('/')[0]}"
        return here in (self.address, *self.holds)


BAR: Final = (
    Entry("Today", "/"),
    Entry("Sessions", "/sessions", ("/session", "/compare", "/search")),
    Entry("Problems", "/errors", ("/alerts",)),
    Entry("Changes", "/changes"),
    Entry("Usage", "/usage"),
    Entry("Reports", "/reports"),
)
GRADER: Final = (Entry("Trust", "/trust"), Entry("Review", "/review"), Entry("Health", "/health"))
PROBLEMS: Final = (Entry("Errors", "/errors"), Entry("Alerts", "/alerts"))
"""Tabs of the page of problems."""
