"""The first page, in a browser."""

from __future__ import annotations

from playwright.sync_api import Page


def test_all_of_it_is_seen_without_scrolling(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollHeight") <= 900


def test_nothing_is_wider_than_a_telephone(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_what_needs_a_person_comes_first(page: Page) -> None:
    for width, height in ((1440, 900), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        card = page.locator(".need", has_text="False claim").bounding_box()
        assert card is not None
        assert card["y"] < 300
