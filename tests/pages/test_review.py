"""The review by keys alone, in a browser."""

from __future__ import annotations

from playwright.sync_api import Page, expect


def test_a_session_is_judged_and_taken_back_by_keys(own_page: Page) -> None:
    own_page.keyboard.press("g")
    own_page.keyboard.press("v")
    asked = own_page.locator("form.judge [name=session]").get_attribute("value")
    own_page.keyboard.press("4")
    own_page.keyboard.press("y")
    expect(own_page.get_by_text("Saved: done, quality 4 of 5")).to_be_visible()
    expect(own_page.get_by_text("The grader says:")).to_be_visible()
    own_page.keyboard.press("u")
    expect(own_page.locator("form.judge [name=session]")).to_have_attribute("value", str(asked))
    expect(own_page.get_by_text("The grader says:")).to_be_hidden()
