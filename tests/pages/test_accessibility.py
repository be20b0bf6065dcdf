"""What people need who see, hear or point otherwise, and screens of every width: on each page there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from tests.needs import require_axe
from tests.pages.conftest import signed_in
from tests.pages.every_page import address, named, patterns, sticking_out
from tests.pages.served import Served

_WIDTHS: tuple[ViewportSize, ...] = (
    {"width": 360, "height": 740},
    {"width": 720, "height": 450},  # 1440 x 900 at 200 %
    {"width": 1440, "height": 900},
    {"width": 3840, "height": 2160},
)
_EVERY_PAGE = pytest.mark.parametrize("pattern", [pytest.param(each, id=named(each)) for each in patterns()])


@pytest.fixture(scope="module")
def tab(browser: Browser, dashboard: Served) -> Iterator[Page]:
    """One tab for all pages: they are only looked at."""
    yield from signed_in(browser, dashboard)


@_EVERY_PAGE
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_rules_of_accessibility_hold(tab: Page, pattern: str, colours: Any) -> None:
    tab.emulate_media(color_scheme=colours)
    tab.set_viewport_size({"width": 1440, "height": 900})
    tab.goto(address(tab, pattern))
    assert _broken_rules(tab) == []


@_EVERY_PAGE
def test_nothing_sticks_out_at_any_width(tab: Page, pattern: str) -> None:
    tab.goto(address(tab, pattern))
    for width in _WIDTHS:
        tab.set_viewport_size(width)
        assert (width, sticking_out(tab)) == (width, [])


@_EVERY_PAGE
def test_narrow_screens_break_no_rule(tab: Page, pattern: str) -> None:
    tab.set_viewport_size(_WIDTHS[0])
    tab.goto(address(tab, pattern))
    assert _broken_rules(tab) == []


def test_keys_are_told_by_the_rules_too(tab: Page) -> None:
    tab.set_viewport_size({"width": 1440, "height": 900})
    tab.goto("/")
    tab.keyboard.press("?")
    assert _broken_rules(tab) == []


def _broken_rules(tab: Page) -> list[tuple[str, list[str]]]:
    """Return what axe-core finds: each rule, and where it is broken."""
    tab.evaluate(require_axe())
    found = tab.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        (rule["id"], [f"{node['target']} {node['html'][:200]}" for node in rule["nodes"]])
        for rule in found["violations"]
    ]
