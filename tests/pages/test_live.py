"""What is graded while somebody looks appears by itself."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.pages.served import Served
from tests.pictures import SampleHome
from tests.strategies import document, json_answer, json_user


def test_a_session_that_is_graded_appears_without_a_click(own_page: Page, own_dashboard: Served) -> None:
    expect(own_page.locator(".live")).to_have_attribute("data-live-state", "on")
    folder = own_dashboard.home / ".timmy" / "sessions"
    turns = [json_user("Draw a lighthouse, please."), json_answer("Done: it is in lighthouse.svg.")]
    (folder / "session_20301201_080000_abc123.json").write_bytes(document(turns, session_id="20301201_080000_abc123"))
    SampleHome(own_dashboard.home)  # grades what is new
    expect(own_page.get_by_text("Draw a lighthouse, please.")).to_be_visible()
