"""The same pages in Firefox: every page opens without a complaint, keys and forms work, nothing sticks out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pages.every_page import TOO_WIDE, patterns
from tests.pages.firefox import Firefox, started_firefox
from tests.pages.served import Served
from tests.waiting import wait_until

pytestmark = pytest.mark.releases  # CI looks at the same pages in a Chromium

_FIRST_LINKS = """
return [...document.querySelectorAll("main a[href^='" + arguments[0] + "']")].map((one) => one.getAttribute("href"));
"""


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory, dashboard: Served) -> Iterator[Firefox]:
    """A Firefox in which somebody has opened the printed address."""
    with started_firefox(tmp_path_factory.mktemp("firefox") / "profile") as started:
        started.open(dashboard.entrance)
        yield started


@pytest.mark.parametrize("width", [500, 1440])
def test_every_page_opens_without_a_complaint_and_nothing_sticks_out(
    firefox: Firefox, dashboard: Served, width: int
) -> None:
    firefox.resize(width, 900)
    for pattern in patterns():
        if "{" in pattern:
            continue
        firefox.open(dashboard.base + pattern)
        assert firefox.script("return document.querySelector('main h1') !== null"), pattern
        assert (pattern, firefox.script(f"return ({TOO_WIDE})()")) == (pattern, [])
    assert firefox.complaints(dashboard.base) == []


def test_complaints_are_noticed(firefox: Firefox, dashboard: Served) -> None:
    firefox.open(f"{dashboard.base}/")
    firefox.script("document.body.append(Object.assign(document.createElement('img'), {src: 'http://127.0.0.2/'}))")
    wait_until(lambda: firefox.complaints(dashboard.base), "a complaint")


def test_keys_go_to_a_page(firefox: Firefox, dashboard: Served) -> None:
    firefox.open(f"{dashboard.base}/health")
    firefox.press("g", "t")
    loaded = "return location.pathname === '/' && document.readyState === 'complete'"
    wait_until(lambda: firefox.script(loaded), "the first page")
    firefox.press("?")
    assert firefox.script("return document.querySelector('#keys').open")


def test_form_of_ours_is_taken(firefox: Firefox, dashboard: Served) -> None:
    firefox.open(f"{dashboard.base}/")
    firefox.script("document.querySelector('.theme [value=dark]').click()")
    wait_until(lambda: firefox.script("return document.documentElement?.dataset.theme === 'dark'"), "dark colours")
