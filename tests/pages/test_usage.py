"""Usage in a browser that runs no script: one click from the first page, and days that are links."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.pages.conftest import signed_in
from tests.pages.served import make_priced_home, serve


@pytest.fixture(scope="module")
def priced(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A tab that runs no script, in a home in which it is known what sessions cost."""
    home = tmp_path_factory.mktemp("priced")
    make_priced_home(home)
    with serve(home) as served:
        yield from signed_in(browser, served, java_script_enabled=False)


def test_cost_and_tokens_by_day_are_a_click_away_and_another_split_is_one_more(priced: Page) -> None:
    priced.goto("/")
    priced.get_by_role("link", name="Usage").click()
    expect(priced.get_by_role("heading", name="Cost by day and model")).to_be_visible()
    priced.get_by_role("link", name="project", exact=True).click()
    expect(priced.get_by_role("heading", name="Cost by day and project")).to_be_visible()
    priced.get_by_role("link", name="tokens", exact=True).click()

    expect(priced.get_by_role("heading", name="Tokens by day and project")).to_be_visible()


def test_click_on_a_day_leads_to_the_sessions_of_that_day(priced: Page) -> None:
    priced.goto("/usage")
    bar = priced.get_by_role("group", name="Cost by day").locator("a").last
    said = bar.locator("title").text_content() or ""
    bar.click()

    expect(priced.locator("table.sessions tbody tr")).to_have_count(6)
    assert said.startswith("2026-11-09: $")
    assert " 6 sessions " in said


@pytest.mark.thorough
def test_days_are_reached_by_the_keyboard(priced: Page) -> None:
    priced.goto("/usage")
    priced.get_by_text("Values by day").focus()
    priced.keyboard.press("Enter")
    priced.keyboard.press("Tab")
    priced.keyboard.press("Enter")

    expect(priced).to_have_url("/sessions?since=2026-11-09&until=2026-11-10")
