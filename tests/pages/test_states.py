"""Homes in which there is little yet, and browsers that run no script."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.pages.conftest import signed_in
from tests.pages.every_page import address, each_of, patterns
from tests.pages.picture import FIRST_EVENING
from tests.pages.served import serve
from tests.pictures import SampleHome

_SINGLE = [each for each in patterns() if "{" not in each and each != "/compare"]
_EVERY_LIST = pytest.mark.parametrize("pattern", [*each_of(_SINGLE)])


@pytest.fixture(scope="module")
def nothing(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A tab in a home without a database."""
    with serve(tmp_path_factory.mktemp("nothing")) as served:
        yield from signed_in(browser, served)


@pytest.fixture(scope="module")
def first_session(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A tab in a home with one session."""
    home = tmp_path_factory.mktemp("first")
    SampleHome(home, at=FIRST_EVENING, last=1)
    with serve(home, at=FIRST_EVENING) as served:
        yield from signed_in(browser, served)


@pytest.fixture(scope="module")
def plain(browser: Browser, sample_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A tab that runs no script; each test changes something else."""
    home = tmp_path_factory.mktemp("plain") / "home"
    shutil.copytree(sample_home, home)
    with serve(home) as served:
        yield from signed_in(browser, served, java_script_enabled=False)


@_EVERY_LIST
def test_home_without_a_database_says_on_each_page_how_to_begin(nothing: Page, pattern: str) -> None:
    nothing.goto(pattern)

    if pattern == "/health":
        expect(nothing.get_by_text("grader-daemon service install")).to_be_visible()
    else:
        expect(nothing.get_by_role("heading", level=1)).to_have_text("No session is graded yet")
        expect(nothing.get_by_text("grader-daemon grade --demo")).to_be_visible()


def test_first_grade_appears_by_itself(browser: Browser, tmp_path: Path) -> None:
    with serve(tmp_path) as served:
        for tab in signed_in(browser, served):
            tab.wait_for_function("() => document.querySelector('.live').dataset.liveState === 'on'")
            SampleHome(tmp_path, at=FIRST_EVENING, last=1)

            expect(tab.get_by_text("Implement the CSV export of the table")).to_be_visible()


@_EVERY_LIST
def test_one_session_fills_every_page(first_session: Page, pattern: str) -> None:
    first_session.goto(pattern)

    expect(first_session.get_by_role("heading", level=1)).to_be_visible()


def test_one_session_is_read_and_judged(first_session: Page) -> None:
    first_session.goto(address(first_session, "/session/{session_id}"))
    expect(first_session.locator(".said")).to_have_count(12)
    first_session.goto("/review")
    first_session.locator("#yes").click()

    expect(first_session.get_by_text("No finished session is left to label.")).to_be_visible()


@pytest.mark.thorough
def test_lists_are_filtered_and_paged_without_script(plain: Page) -> None:
    plain.goto("/sessions")
    newest = _first(plain)
    plain.get_by_role("link", name="Next page").click()
    assert _first(plain) != newest
    plain.goto("/sessions")
    plain.locator("select[name=verdict]").select_option("unsure")
    plain.get_by_role("button", name="Show").click()

    expect(plain.locator("tbody .verdict.unsure")).to_have_count(plain.locator("tbody tr").count())


def test_two_sessions_are_compared_without_script(plain: Page) -> None:
    plain.goto("/sessions")
    for box in plain.locator("tbody input[type=checkbox]").all()[:2]:
        box.check()
    plain.get_by_role("button", name="Compare").click()

    expect(plain.get_by_role("heading", level=1)).to_have_text("Two sessions")


@pytest.mark.thorough
def test_session_is_labelled_without_script(plain: Page) -> None:
    plain.goto(address(plain, "/session/{session_id}"))
    plain.get_by_label("quality").select_option("4")
    plain.get_by_label("note").fill("tried it")
    plain.get_by_role("button", name="Done", exact=True).click()
    expect(plain.locator(".line .verdict")).to_contain_text("done*")
    plain.get_by_role("button", name="Undo the last label").click()

    expect(plain.locator(".line .verdict")).not_to_contain_text("*")


@pytest.mark.parametrize(
    ("pattern", "press", "seen"),
    [
        pytest.param("/errors/{fingerprint}", "Resolve", "Reopen", id="an-error"),
        pytest.param("/alerts/{number}", "Acknowledge", "Undo the acknowledgement", id="an-alert"),
        pytest.param("/review", "Done", "Undo", id="a-review"),
    ],
)
def test_forms_are_taken_without_script(plain: Page, pattern: str, press: str, seen: str) -> None:
    plain.goto(address(plain, pattern))
    plain.get_by_role("button", name=press).first.click()

    expect(plain.get_by_role("button", name=seen)).to_be_visible()


def test_menu_of_the_grader_opens_and_colours_change_without_script(plain: Page) -> None:
    plain.get_by_text("Grader", exact=True).click()
    plain.get_by_role("button", name="Dark colours").click()

    expect(plain.locator("html")).to_have_attribute("data-theme", "dark")


def _first(tab: Page) -> str | None:
    return tab.locator("table.sessions tbody tr").first.get_attribute("data-id")
