"""The addresses to which several pages lead."""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import quote

from grader_daemon.errors import NotFoundError

_MOST_DIGITS: Final = 12

PAGE_MESSAGES: Final = 200
"""So many messages of a session are on one page."""


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
