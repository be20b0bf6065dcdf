"""Errors, alerts, changes and reports: from what is wrong to the message that proves it, and what people say of it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect


def test_from_the_list_of_errors_two_steps_lead_to_the_message_that_proves_one(page: Page) -> None:
    for key in ("g", "p"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", level=1)).to_have_text("Errors")
    for key in ("j", "j", "Enter"):
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile("/errors/.+"))
    page.locator('main a[href*="#m"]').first.click()

    expect(page.locator(".said:target")).to_be_in_viewport()


@pytest.mark.thorough
def test_errors_are_chosen_by_days_and_state(page: Page) -> None:
    page.goto("/errors")
    page.get_by_role("link", name="90 days").click()
    page.get_by_role("link", name="ignored", exact=True).click()

    expect(page).to_have_url("/errors?days=90&state=ignored")
    expect(page.get_by_text("No such errors in this period.")).to_be_visible()


@pytest.mark.thorough
def test_error_is_resolved_and_opened_again(own_page: Page) -> None:
    own_page.goto("/errors")
    own_page.locator("tbody a").first.click()
    own_page.get_by_role("button", name="Resolve").click()
    expect(own_page.locator(".state.resolved").first).to_have_text("resolved")
    own_page.get_by_role("button", name="Reopen").click()

    expect(own_page.get_by_role("button", name="Resolve")).to_be_visible()


def test_alert_is_acknowledged_with_a_note_and_silenced_for_a_time(own_page: Page) -> None:
    own_page.goto("/alerts")
    own_page.locator("main h2 a").first.click()
    own_page.get_by_label("Note").fill("the mirror was down")
    own_page.get_by_role("button", name="Acknowledge").click()
    expect(own_page.get_by_role("button", name="Undo the acknowledgement")).to_be_visible()
    own_page.get_by_label("For").select_option("12 hours")
    own_page.get_by_role("button", name="Silence").click()
    expect(own_page.get_by_text("silent until")).to_be_visible()
    own_page.get_by_role("button", name="End silence").click()

    expect(own_page.get_by_role("button", name="Silence")).to_be_visible()
    expect(own_page.get_by_label("Note")).to_have_value("the mirror was down")


@pytest.mark.thorough
def test_report_of_a_week_leads_to_the_week_before_it(page: Page) -> None:
    page.goto("/reports")
    newest = page.locator("tbody a").first
    week = newest.inner_text()
    newest.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Weekly report, {week}")
    page.locator("a[rel=prev]").click()

    expect(page.locator("a[rel=next]")).to_contain_text(week)


def test_from_a_change_one_step_leads_to_the_sessions_since(page: Page) -> None:
    for key in ("g", "c"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", level=1)).to_have_text("Changes")
    page.get_by_role("link", name="30 days").click()
    swap = page.locator("section.change", has=page.get_by_role("heading", name="since the model of hermes changed"))
    expect(swap.locator(".state")).to_have_text("better")  # by bad endings: labels are too few
    swap.get_by_role("link", name="Sessions since").click()

    expect(page.locator("table.sessions tbody")).to_contain_text("hermes-4-70b")
    expect(page.locator("table.sessions tbody")).not_to_contain_text("hermes-4-14b")


@pytest.mark.thorough
def test_change_with_too_few_sessions_is_said_and_not_drawn(page: Page) -> None:
    page.goto("/changes")
    edit = page.locator("section.change", has_text="skill deploy of hermes was edited").first

    expect(edit.locator(".state")).to_have_text("too few")
    expect(edit.locator("svg")).to_have_count(0)


@pytest.mark.thorough
def test_changes_are_those_of_the_days_that_are_chosen(page: Page) -> None:
    page.goto("/changes?days=90")
    expect(page.locator("section.change").nth(1)).to_be_visible()
    page.get_by_role("link", name="7 days").click()

    expect(page).to_have_url("/changes")
    expect(page.locator("section.change")).to_have_count(1)


def test_the_overview_marks_changes_and_leads_to_them(page: Page) -> None:
    marks = page.locator("svg.chart text.event")
    expect(marks.first).to_have_text("model")
    page.get_by_role("link", name="what changed").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Changes")
