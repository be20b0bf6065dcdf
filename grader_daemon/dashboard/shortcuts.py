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
    Shortcut("?", "help", "Show or hide these keys"),
    Shortcut("/", "search", "Search sessions"),
    Shortcut("t", "theme", "Light or dark"),
    Shortcut("g t", "/", "Go to today"),
    Shortcut("g s", "/sessions", "Go to the sessions"),
    Shortcut("g m", "/search", "Search messages"),
    Shortcut("g p", "/errors", "Go to the problems: errors"),
    Shortcut("g a", "/alerts", "Go to the problems: alerts"),
    Shortcut("g c", "/changes", "Go to the changes"),
    Shortcut("g u", "/usage", "Go to the usage"),
    Shortcut("g r", "/reports", "Go to the weekly reports"),
    Shortcut("g g", "/trust", "Go to the grader: trust"),
    Shortcut("g v", "/review", "Go to the grader: review"),
    Shortcut("g h", "/health", "Go to the grader: health"),
    Shortcut("j", "next-row", "Mark the next session", "/sessions"),
    Shortcut("k", "previous-row", "Mark the one before", "/sessions"),
    Shortcut("Enter", "open-row", "Open the marked session", "/sessions"),
    Shortcut("x", "compare-row", "Mark it for comparison", "/sessions"),
    Shortcut("n", "next-page", "Go to the next page", "/sessions"),
    Shortcut("p", "previous-page", "Go to the page before", "/sessions"),
    Shortcut("y", "answer-yes", "It was completed", "/review"),
    Shortcut("n", "answer-no", "It was not completed", "/review"),
    *(Shortcut(str(score), f"quality-{score}", f"Quality {score} of 5", "/review") for score in range(1, 6)),
    Shortcut("s", "skip", "Skip this session", "/review"),
    Shortcut("u", "undo", "Take the last answer back, and ask again", "/review"),
    Shortcut("m", "whole", "Its messages", "/review"),
    Shortcut("j", "next-row", "Mark the next error", "/errors"),
    Shortcut("k", "previous-row", "Mark the one before", "/errors"),
    Shortcut("Enter", "open-row", "Open the marked error", "/errors"),
    Shortcut("]", "next-finding", "Go to the next failure, claim or word of a person", "/session"),
    Shortcut("[", "previous-finding", "Go to the one before", "/session"),
    Shortcut("j", "next-message", "Go to the next message", "/session"),
    Shortcut("k", "previous-message", "Go to the one before", "/session"),
    Shortcut("o", "unfold", "Open or close what is folded", "/session"),
)


def for_page(path: str, *, closed: Collection[str] = ()) -> list[Shortcut]:
    """Return the keys that do something on a page; none leads to `closed` addresses."""
    here = "/" + path.strip("/").partition("/")[0]
    return [each for each in SHORTCUTS if each.page in ("", here) and each.action not in closed]


def for_script(path: str, *, closed: Collection[str] = ()) -> str:
    """Return the same as JSON: actions by keys."""
    return msgspec.json.encode({each.keys: each.action for each in for_page(path, closed=closed)}).decode()
