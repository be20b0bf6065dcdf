"""The page of a session: its map, its keys, and what is folded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from grader_daemon.api.grader import SelfGrader
from grader_daemon.domain.claims import Support
from grader_daemon.storage.records import GradeFilter
from tests.e2e.session_files import turns, write
from tests.pages.served import Served

DATABASE = Path(".timmy", "uniwizard", "session_grades.db")


@pytest.fixture(scope="module")
def contradicted(sample_home: Path) -> str:
    """The address of a session in which a tool failed, and a claim is contradicted by the record."""
    with SelfGrader(db_path=sample_home / DATABASE) as grader:
        found = grader.grades.every(GradeFilter(claim=Support.CONTRADICTED))
        return next(f"/session/{each.grade.session_id}" for each in found if each.grade.failures)


def test_a_key_goes_to_the_next_finding_and_unfolds_it(page: Page, contradicted: str) -> None:
    page.goto(contradicted)
    page.keyboard.press("]")
    first = page.locator(".said:focus")
    expect(first).to_have_attribute("data-finding", "")
    expect(first.locator("details:not([open])")).to_have_count(0)
    index = first.get_attribute("id")
    page.keyboard.press("]")
    expect(page.locator(".said:focus")).not_to_have_id(str(index))
    page.keyboard.press("[")
    expect(page.locator(".said:focus")).to_have_id(str(index))


def test_a_claim_leads_to_the_message_that_speaks_against_it(page: Page, contradicted: str) -> None:
    page.goto(contradicted)
    claim = page.locator("li", has=page.locator(".support.contradicted")).first
    evidence = claim.get_by_role("link").last
    index = evidence.inner_text().removeprefix("message ")
    evidence.click()
    expect(page).to_have_url(re.compile(rf"#m{index}$"))
    expect(page.locator(f"#m{index}")).to_be_in_viewport()
    expect(page.locator(f"#m{index}")).to_contain_text("contradicts the claim")


def test_what_was_said_and_what_happened_is_seen_at_once(page: Page, contradicted: str) -> None:
    for width, height in ((1440, 900), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(contradicted)
        happened = page.locator(".claims pre").first.bounding_box()
        assert happened is not None
        assert happened["y"] < 400


def test_a_report_is_copied_by_a_click(page: Page, contradicted: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(contradicted)
    page.get_by_role("link", name="Copy as bug report").click()
    expect(page.get_by_role("link", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith("# `Build an export")


def test_the_map_leads_to_the_message_that_is_clicked(page: Page, contradicted: str) -> None:
    page.goto(contradicted)
    map_of_it = page.locator(".map")
    box = map_of_it.bounding_box()
    total, part = (map_of_it.get_attribute(f"data-{name}") for name in ("messages", "part"))
    assert box is not None
    across = box["width"] * float(part or 1) * 0.5 / int(total or 1)
    map_of_it.click(position={"x": across, "y": box["height"] - 20})
    expect(page).to_have_url(re.compile(r"#m0$"))


def test_the_map_says_which_message_the_pointer_is_on(page: Page, contradicted: str) -> None:
    page.goto(contradicted)
    page.locator(".map").hover(position={"x": 1, "y": 40})
    expect(page.locator(".map > title")).to_have_text("Message 0, user")


def test_keys_go_from_message_to_message(page: Page, contradicted: str) -> None:
    page.goto(contradicted)
    for key, index in (("j", 0), ("j", 1), ("k", 0)):
        page.keyboard.press(key)
        expect(page.locator(".said:focus")).to_have_id(f"m{index}")


def test_a_telephone_shows_messages_on_its_first_screen(page: Page, contradicted: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(contradicted)
    first = page.locator(".said").first.bounding_box()
    assert first is not None
    assert first["y"] < 844
    page.get_by_role("link", name="Go to the verdict").click()
    expect(page.get_by_role("heading", name="Verdict")).to_be_in_viewport()


def test_a_key_opens_and_closes_what_is_folded(page: Page, contradicted: str) -> None:
    page.goto(contradicted)
    folded = page.locator(".said details")
    expect(page.locator(".said details:not([open])").first).to_be_attached()
    page.keyboard.press("o")
    expect(page.locator(".said details[open]")).to_have_count(folded.count())
    page.keyboard.press("o")
    expect(page.locator(".said details[open]")).to_have_count(0)


def test_all_of_it_can_be_read_without_script(browser: Browser, dashboard: Served, contradicted: str) -> None:
    context = browser.new_context(base_url=dashboard.base, java_script_enabled=False)
    tab = context.new_page()
    tab.goto(dashboard.entrance)
    tab.goto(contradicted)
    failure = tab.locator(".failures .at").first
    index = failure.inner_text().removeprefix("message ")
    failure.click()
    expect(tab.locator(f"#m{index}")).to_be_in_viewport()
    tab.locator(".said details:not([open]) summary").first.click()
    expect(tab.locator(".said details[open] pre").first).to_be_visible()
    context.close()


def test_words_are_found_while_one_types_in_messages_of_all_pages(own_page: Page, own_dashboard: Served) -> None:
    said = [*turns(110, answer=None), *turns(1, answer="The **keel** is dry, and the Keel is clean.")[-1:]]
    write(own_dashboard.home / ".timmy" / "sessions", "long", said)
    _grade(own_dashboard.home)
    own_page.goto("/session/long")
    shown, count = own_page.locator(".said"), own_page.locator("#found")
    expect(shown).to_have_count(200)
    own_page.keyboard.press("/")
    own_page.keyboard.type("keel is")

    expect(count).to_have_text(f"1 of {len(said)} messages with these words")
    expect(count).to_have_attribute("role", "status")
    expect(shown).to_have_count(1)
    expect(shown).to_be_in_viewport()
    expect(own_page.get_by_role("searchbox", name="Find in this session")).to_be_focused()
    assert own_page.url.endswith("/session/long?find=keel%20is")
    marked = own_page.evaluate("[...CSS.highlights.get('found')].map(String)")
    assert marked == ["keel is", "Keel is"], "also over what is bold in parts"

    own_page.keyboard.press("Control+a")
    own_page.keyboard.press("Delete")
    expect(shown).to_have_count(200)
    expect(count).to_have_text("")
    assert own_page.url.endswith("/session/long")
    assert own_page.evaluate("CSS.highlights.get('found').size") == 0


def test_enter_goes_from_hit_to_hit_and_opens_what_is_folded(page: Page, contradicted: str) -> None:
    page.goto(contradicted)
    page.keyboard.press("/")
    page.keyboard.type("export")
    hits, here = page.locator(".said"), page.locator(".said[aria-current]")
    expect(page.locator("#found")).to_contain_text("messages with these words")
    total = hits.count()
    assert total > 1
    for key, at in (("Enter", 1), ("Shift+Enter", 0), ("Shift+Enter", total - 1)):
        page.keyboard.press(key)
        expect(here).to_have_id(str(hits.nth(at).get_attribute("id")))
        expect(page.locator("#found")).to_contain_text(f"Hit {at + 1} · {total} of")
    expect(here).to_be_in_viewport()
    folded = page.locator(".said details:not([open])").filter(has_text="export")
    expect(folded).to_have_count(0)


@pytest.mark.thorough
def test_a_session_that_goes_on_grows_while_it_is_read(own_page: Page, own_dashboard: Served) -> None:
    sessions = own_dashboard.home / ".timmy" / "sessions"
    write(sessions, "goes_on", turns(2, answer=None))
    _grade(own_dashboard.home)
    own_page.goto("/session/goes_on")
    expect(own_page.locator(".said")).to_have_count(5)
    own_page.locator(".said summary").first.click()
    own_page.wait_for_function("() => document.querySelector('.live').dataset.liveState === 'on'")

    write(sessions, "goes_on", turns(3, answer=None))
    _grade(own_dashboard.home)

    expect(own_page.locator(".said")).to_have_count(7)
    expect(own_page.locator(".said details[open]")).to_have_count(1)

    write(sessions, "goes_on", turns(3))
    _grade(own_dashboard.home)

    expect(own_page.locator(".claims")).to_be_visible()
    expect(own_page.locator(".said")).to_have_count(8)


def _grade(home: Path) -> None:
    """Grade what is new, as the daemon does."""
    with SelfGrader(db_path=home / DATABASE, watch_roots=home / ".timmy" / "sessions") as grader:
        grader.grade_latest_sessions()
