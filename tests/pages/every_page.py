"""Every page there is, as a person gets to it: the addresses of the app, those with a name in them found by links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import urlsplit

import pytest
from _pytest.mark import ParameterSet
from playwright.sync_api import Page

from grader_daemon.dashboard.app import PAGES

_LISTS: Final = {"session": "/", "errors": "/errors", "alerts": "/alerts", "reports": "/reports"}
"""Which page links to those whose addresses begin so."""

_SELDOM: Final = frozenset({"compare", "search", "errors-one", "alerts-one", "reports", "trust", "health"})
"""Pages that have nothing on them that others have not; those are left to `python -m tests thorough`."""

_QUERIES: Final = {"/compare": "id={0}&id={1}"}
"""Pages that show nothing without a question; `{0}` and `{1}` are the first sessions of the list."""

_NO_PAGES: Final = (
    "/api",
    "/changes/twins",
    "/events",
    "/metrics",
    "/palette.json",
    "/sessions.csv",
    "/static",
    "/usage.csv",
)
_NO_PAGE: Final = "/report"
"""End of the address of a text that is copied."""

_FOUND: Final[dict[tuple[str, str, str | None], str]] = {}
"""By host with port, pattern and listing: to open a list takes longer than most of what is asked of a page."""

TOO_WIDE: Final = """() => {
  const seen = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= seen + 1) return [];
  const isHeld = (one) => one && (getComputedStyle(one).overflowX !== "visible" || isHeld(one.parentElement));
  const sticksOut = (one) => one.getBoundingClientRect().right > seen + 1 && !isHeld(one.parentElement);
  const all = [...document.querySelectorAll("body *")].filter(sticksOut).map((one) => one.outerHTML.slice(0, 120));
  return ["the page can be pushed aside", ...all.slice(0, 5)];
}"""
"""What sticks out of the page to the right, so that all of it must be pushed aside to be read."""


def patterns() -> list[str]:
    """Return the addresses that show something, as the app has them."""
    shown = [page.address for page in PAGES if not page.writes and not page.address.startswith(_NO_PAGES)]
    return [address for address in shown if not address.endswith(_NO_PAGE)]


def named(pattern: str) -> str:
    """Return a name for a page that can be one of a file: overview, sessions, session-one."""
    return re.sub(r"/\{[^}]*\}", "-one", pattern).strip("/").replace("/", "-") or "overview"


def each_of(some: Iterable[str]) -> Iterator[ParameterSet]:
    """Yield addresses as parameters of a test, each with its name."""
    for pattern in some:
        marks = pytest.mark.thorough if named(pattern) in _SELDOM else ()
        yield pytest.param(pattern, id=named(pattern), marks=marks)


def address(tab: Page, pattern: str, *, listing: str | None = None) -> str:
    """Return an address of the pattern that there is: the first on the page that lists such, or on `listing`."""
    asked = (urlsplit(tab.url).netloc, pattern, listing)
    if asked not in _FOUND:
        _FOUND[asked] = _address(tab, pattern, listing)
    return _FOUND[asked]


def _address(tab: Page, pattern: str, listing: str | None) -> str:
    beginning, brace, rest = pattern.partition("{")
    if brace:
        return next(links(tab, beginning, listing=listing)) + rest.partition("}")[2].replace("{index}", "1")
    if pattern in _QUERIES:
        first, second, *_ = [link.rpartition("/")[2] for link in links(tab, "/session/")]
        return f"{pattern}?{_QUERIES[pattern].format(first, second)}"
    return pattern


def links(tab: Page, beginning: str, *, listing: str | None = None) -> Iterator[str]:
    """Yield the different links that begin so, from the page that lists them."""
    tab.goto(listing or _LISTS[beginning.strip("/")])
    hrefs = tab.locator(f'main :is(tbody, h2) a[href^="{beginning}"]').evaluate_all(
        "all => all.map(one => one.getAttribute('href'))"
    )
    plain = re.compile(re.escape(beginning) + r"[^/?#]+")
    yield from dict.fromkeys(found[0] for href in hrefs if (found := plain.match(href)))


def sticking_out(tab: Page) -> list[str]:
    """Return what makes the page wider than its window; nothing if nothing does."""
    return list(tab.evaluate(TOO_WIDE))
