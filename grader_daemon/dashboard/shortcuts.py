"""The keys of all pages: one table, of which the help is made, and what the script listens to."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec


class Shortcut(msgspec.Struct, frozen=True):
    """A key, or several one after the other ("g r"), what it does, and on which pages ("" is everywhere).

    `action` is an address to go to, or the name of what a script registered in `page.actions`. `page` is the first
    part of an address: "/sessions", and "/" for the overview.
    """

    keys: str
    action: str
    words: str
    page: str = ""


SHORTCUTS: Final = (
    Shortcut("?", "help", "Show or hide the keyboard shortcuts"),
    Shortcut("/", "search", "Search sessions, or jump to a page, an error or a command"),
    Shortcut("Ctrl K", "search", "Search or jump, also inside a text field"),
    Shortcut("t", "theme", "Switch between light and dark"),
    Shortcut("g t", "/", "Go to Today"),
    Shortcut("g s", "/sessions", "Go to Sessions"),
    Shortcut("g m", "/search", "Search messages"),
    Shortcut("g p", "/errors", "Go to Errors"),
    Shortcut("g a", "/alerts", "Go to Alerts"),
    Shortcut("g c", "/changes", "Go to Changes"),
    Shortcut("g u", "/usage", "Go to Usage"),
    Shortcut("g r", "/reports", "Go to Reports"),
    Shortcut("g g", "/trust", "Go to Trust"),
    Shortcut("g v", "/review", "Go to Review"),
    Shortcut("g h", "/health", "Go to Health"),
    Shortcut("j", "next-row", "Select the next session", "/sessions"),
    Shortcut("k", "previous-row", "Select the previous session", "/sessions"),
    Shortcut("Enter", "open-row", "Open the selected session", "/sessions"),
    Shortcut("x", "compare-row", "Mark the session for comparison", "/sessions"),
    Shortcut("n", "next-page", "Go to the next page", "/sessions"),
    Shortcut("p", "previous-page", "Go to the previous page", "/sessions"),
    Shortcut("y", "answer-yes", "The task was done", "/review"),
    Shortcut("n", "answer-no", "The task was not done", "/review"),
    *(Shortcut(str(score), f"quality-{score}", f"Quality {score} of 5", "/review") for score in range(1, 6)),
    Shortcut("s", "skip", "Skip this session", "/review"),
    Shortcut("u", "undo", "Undo the last label and ask again", "/review"),
    Shortcut("m", "whole", "Show the session's messages", "/review"),
    Shortcut("j", "next-row", "Select the next error", "/errors"),
    Shortcut("k", "previous-row", "Select the previous error", "/errors"),
    Shortcut("Enter", "open-row", "Open the selected error", "/errors"),
    Shortcut("/", "find", "Find words in this session", "/session"),
    Shortcut("]", "next-finding", "Go to the next failure, claim or comment by a person", "/session"),
    Shortcut("[", "previous-finding", "Go to the previous failure, claim or comment", "/session"),
    Shortcut("j", "next-message", "Go to the next message", "/session"),
    Shortcut("k", "previous-message", "Go to the previous message", "/session"),
    Shortcut("f", "failures", "Show only messages with failures, or all again", "/session"),
    Shortcut("o", "unfold", "Expand or collapse all messages", "/session"),
)


def for_page(path: str, *, closed: Collection[str] = ()) -> list[Shortcut]:
    """Return the keys that do something on a page, its own before those of all; none leads to `closed` addresses."""
    here = "/" + path.strip("/").partition("/")[0]
    found = {each.keys: each for page in ("", here) for each in SHORTCUTS if each.page == page}
    return [each for each in found.values() if each.action not in closed]


def for_script(path: str, *, closed: Collection[str] = ()) -> str:
    """Return the same as JSON: actions by keys."""
    return msgspec.json.encode({each.keys: each.action for each in for_page(path, closed=closed)}).decode()
