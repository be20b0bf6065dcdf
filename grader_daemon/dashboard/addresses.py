"""The pages in the bar, and the addresses to which several pages lead.

In the bar are those of every day, and behind "Grader" those about the grader itself.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import quote

from grader_daemon.errors import NotFoundError

_MOST_DIGITS: Final = 12

PAGE_MESSAGES: Final = 200
"""So many messages of a session are on one page."""


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


class Choice(NamedTuple):
    """A view that is a click away; `is_shown` says that it is this one."""

    words: str
    address: str
    is_shown: bool


def message_address(session_id: str, index: int | None) -> str:
    """Return where a message of a session is shown, on the page that holds it; without one, the session."""
    page = f"/session/{quote(session_id, safe='')}"
    if index is None:
        return page
    first = index // PAGE_MESSAGES * PAGE_MESSAGES
    return f"{page}{f'?from={first}' if first else ''}#m{index}"


def read_alert_number(given: str) -> int:
    """Return the number of an alert that stands in an address.

    Raises:
        NotFoundError: it is none.
    """
    if not (given.isascii() and given.isdigit() and len(given) <= _MOST_DIGITS):
        raise NotFoundError(f"{given[:40]!r} is not the number of an alert")
    return int(given)
