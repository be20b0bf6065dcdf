"""What all pages have: the way in, the bar, the keys, the colours."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from tests.pages.served import Served


def test_the_printed_address_lets_one_in_and_leaves_no_token_in_it(page: Page, dashboard: Served) -> None:
    assert page.url == f"{dashboard.base}/"
    expect(page.get_by_role("heading", level=1)).to_have_text("3 things need you")


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


def test_two_keys_go_to_a_page_and_none_while_one_writes(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.press("?")
    expect(page.get_by_role("searchbox")).to_have_value("?")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("s")
    expect(page).to_have_url("/sessions")


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
