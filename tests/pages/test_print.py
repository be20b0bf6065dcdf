"""Pages on paper: A4 between margins of 12 mm, black on white whatever the colours of the screen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.pages.conftest import signed_in
from tests.pages.every_page import address, each_of, patterns, sticking_out
from tests.pages.served import Served

_WIDTH = 703
"""186 mm at 96 pixels to the inch."""


@pytest.fixture(scope="module")
def paper(browser: Browser, dashboard: Served) -> Iterator[Page]:
    """A tab that shows pages as they are printed, of somebody who likes dark colours."""
    for tab in signed_in(browser, dashboard):
        tab.set_viewport_size({"width": _WIDTH, "height": 1032})
        tab.emulate_media(media="print", color_scheme="dark")
        yield tab


@pytest.mark.parametrize("pattern", [*each_of(patterns())])
def test_nothing_is_lost_at_the_margin(paper: Page, pattern: str) -> None:
    paper.goto(address(paper, pattern))

    assert sticking_out(paper) == []
    expect(paper.locator("header.bar")).to_be_hidden()
    expect(paper.locator("button:visible, input:visible")).to_have_count(0)
    assert paper.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"


def test_session_is_printed_whole(paper: Page) -> None:
    paper.goto(address(paper, "/session/{session_id}"))
    messages = paper.locator(".said")

    assert all(message.is_visible() for message in messages.all())
    expect(paper.get_by_role("heading", name="Why this grade")).to_be_visible()
    assert paper.locator(".side, .said pre").evaluate_all(
        "all => all.every((one) => one.scrollHeight - one.clientHeight < 3)"
    )


def test_list_of_sessions_is_printed_though_it_stands_in_a_form(paper: Page) -> None:
    paper.goto("/sessions")

    expect(paper.locator("table.sessions")).to_be_visible()


def test_report_is_printed_with_tables_and_bars(paper: Page) -> None:
    paper.goto(address(paper, "/reports/{week}"))

    expect(paper.get_by_role("columnheader", name="This week").first).to_be_visible()
    expect(paper.locator("svg rect.bar").first).to_be_visible()
