"""What all pages have: the way in, the bar, the keys, the colours."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.pages.served import Served


def test_the_printed_address_lets_one_in_and_leaves_no_token_in_it(page: Page, dashboard: Served) -> None:
    assert page.url == f"{dashboard.base}/"
    expect(page.get_by_role("heading", level=1)).to_have_text("3 things need your attention")


def test_nobody_sees_anything_without_the_token(browser: Browser, dashboard: Served) -> None:
    context = browser.new_context()
    answer = context.new_page().goto(f"{dashboard.base}/")
    assert answer is not None
    assert answer.status == 401
    assert "grader-daemon dashboard" in answer.text()
    context.close()


def test_question_mark_shows_the_keys_and_takes_them_away(page: Page) -> None:
    keys = page.get_by_role("dialog", name="Keys")
    page.keyboard.press("?")
    expect(keys).to_be_visible()
    page.keyboard.press("?")
    expect(keys).to_be_hidden()


def test_a_button_shows_the_keys_too(page: Page) -> None:
    page.get_by_text("Grader", exact=True).click()
    page.get_by_role("button", name="Keys").click()
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


@pytest.mark.thorough
def test_two_keys_go_to_a_page_and_none_while_one_writes(page: Page) -> None:
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Words")
    expect(field).to_be_focused()
    page.keyboard.press("?")
    expect(field).to_have_value("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("s")
    expect(page).to_have_url("/sessions")


def test_palette_leads_to_a_page_by_a_few_letters(page: Page) -> None:
    page.keyboard.press("Control+k")
    chosen = page.locator("[role=option][aria-selected=true]")
    expect(chosen).to_contain_text("Today")
    page.keyboard.press("ArrowDown")
    expect(chosen).to_contain_text("Sessions")
    expect(page.get_by_role("combobox", name="Words")).to_have_attribute("aria-activedescendant", "palette-1")
    page.keyboard.type("chan")
    expect(chosen).to_contain_text("Changes")
    page.keyboard.press("Enter")
    expect(page).to_have_url("/changes")


def test_palette_finds_sessions_by_what_they_were_asked_for(page: Page) -> None:
    page.get_by_role("searchbox", name="Search sessions").click()
    page.keyboard.type("csv export")
    found = page.get_by_role("option").filter(has_text="Implement the CSV export").first
    expect(found).to_contain_text("session")


def test_palette_copies_a_command_and_says_so(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("Control+k")
    page.keyboard.type("doctor")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "grader-daemon doctor"


def test_palette_waits_for_its_entries_before_it_follows_one(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/palette.json", hold)
    page.keyboard.press("Control+k")
    page.keyboard.type("doctor")
    expect(page.get_by_role("option").first).to_contain_text("Search sessions")
    page.keyboard.press("Enter")
    held[0].continue_()
    expect(page.get_by_text("Copied")).to_be_visible()


@pytest.mark.thorough
def test_scope_that_is_chosen_is_shown_at_once(page: Page) -> None:
    page.goto("/usage?show=sessions")
    page.get_by_role("link", name="30 days").click()
    expect(page).to_have_url("/usage?days=30&show=sessions")
    page.get_by_role("link", name="Sessions", exact=True).click()
    expect(page).to_have_url("/sessions?days=30")


def test_menu_of_the_grader_closes_by_escape_and_by_a_click_elsewhere(page: Page) -> None:
    summary, trust = page.get_by_text("Grader", exact=True), page.get_by_role("link", name="Trust")
    summary.click()
    expect(trust).to_be_visible()
    page.keyboard.press("Escape")
    expect(trust).to_be_hidden()
    expect(summary).to_be_focused()
    summary.click()
    page.get_by_role("heading", level=1).click()
    expect(trust).to_be_hidden()


def test_a_telephone_has_name_field_and_menu_in_one_line(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    seen = (page.locator(f"header {each}").bounding_box() for each in (".brand", "input[type=search]", ".menu"))
    middles = [each["y"] + each["height"] / 2 for each in seen if each is not None]
    assert len(middles) == 3
    assert max(middles) - min(middles) < 4


def test_colours_that_were_chosen_stay(page: Page) -> None:
    page.keyboard.press("t")
    expect(page.locator("html[data-theme=dark]")).to_be_attached()
    page.reload()
    expect(page.locator("html[data-theme=dark]")).to_be_attached()
    page.keyboard.press("t")
    expect(page.locator("html[data-theme=light]")).to_be_attached()
