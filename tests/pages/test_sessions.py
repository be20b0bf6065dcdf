"""The list in a browser: by keys alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.pages.every_page import address


def test_keys_mark_a_row_and_open_it(page: Page) -> None:
    page.goto("/sessions")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    marked = page.locator("tr[aria-selected=true]")
    expect(marked).to_have_count(1)
    chosen = page.locator("table.sessions tbody tr").first.get_attribute("data-id")
    expect(marked).to_have_attribute("data-id", str(chosen))
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"/session/{chosen}")


@pytest.mark.thorough
def test_the_marked_row_is_found_again_on_the_way_back(page: Page) -> None:
    page.goto("/sessions")
    for _ in range(3):
        page.keyboard.press("j")
    chosen = page.locator("tr[aria-selected=true]").get_attribute("data-id")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"/session/{chosen}")
    page.go_back()
    expect(page.locator("tr[aria-selected=true]")).to_have_attribute("data-id", str(chosen))


def test_what_was_asked_for_stands_alone_in_the_address(page: Page) -> None:
    page.goto("/sessions")
    page.get_by_label("verdict").select_option("done")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile(r"/sessions\?verdict=done$"))


def test_a_telephone_shows_sessions_on_its_first_screen(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/sessions")
    first = page.locator("table.sessions tbody tr").first.bounding_box()
    assert first is not None
    assert first["y"] < 844 / 3
    page.get_by_text("More filters").click()
    expect(page.get_by_label("verdict")).to_be_visible()
    expect(page.get_by_label("task type")).to_be_visible()


def test_the_line_of_filters_completes_its_last_word(page: Page) -> None:
    page.goto("/sessions")
    line = page.get_by_label("Filters in one line")
    line.fill("unsure model:qw")
    assert page.locator("#line-words option").evaluate_all("all => all.map(one => one.value)") == [
        "unsure model:qwen3-coder"
    ]
    line.fill("unsure model:qwen3-coder")
    line.press("Enter")
    expect(page).to_have_url(re.compile(r"/sessions\?verdict=unsure&model=qwen3-coder$"))
    expect(line).to_have_value("unsure model:qwen3-coder")


def test_two_rows_are_compared_by_keys_and_a_button(page: Page) -> None:
    page.goto("/sessions")
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("x")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Two sessions")


@pytest.mark.thorough
def test_two_sessions_are_compared_on_a_telephone_without_pushing_anything_aside(page: Page) -> None:
    page.goto(address(page, "/compare"))
    page.set_viewport_size({"width": 360, "height": 740})
    wider = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.outerHTML.slice(0, 80))"
    assert page.locator("main :is(.scroll, table, pre)").evaluate_all(wider) == []
    sides = page.get_by_role("row").last.get_by_role("cell")
    left, right = (sides.nth(place).bounding_box() for place in range(2))
    assert left is not None
    assert right is not None
    assert (left["y"], left["x"] + left["width"] <= right["x"]) == (right["y"], True)


@pytest.mark.thorough
def test_next_page_by_key(page: Page) -> None:
    page.goto("/sessions")
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile(r"\?before="))
    expect(page.locator("table.sessions tbody tr").first).to_be_visible()
