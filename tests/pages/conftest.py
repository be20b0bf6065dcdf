"""A real page in a real browser: a home with graded sample sessions, the command that serves it, and Chromium.

All tests of this folder run on one worker (`tests.workers`), and each module has a browser of its own: while one is
open the thread has an event loop, which no other test may find.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.needs import require_chromium
from tests.pages.served import Served, make_sample_home, serve

_DEADLINE_MS = 10_000


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which eight weeks of sample sessions are graded; nobody changes it."""
    home = tmp_path_factory.mktemp("home")
    make_sample_home(home)
    return home


@pytest.fixture(scope="session")
def dashboard(sample_home: Path) -> Iterator[Served]:
    """The page of the sample home, which tests may read but not change."""
    with serve(sample_home) as served:
        yield served


@pytest.fixture
def own_dashboard(sample_home: Path, tmp_path: Path) -> Iterator[Served]:
    """The page of a copy of the sample home, which the test may change."""
    home = tmp_path / "home"
    shutil.copytree(sample_home, home)
    with serve(home) as served:
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium as Debian packages it."""
    program = require_chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser, dashboard: Served) -> Iterator[Page]:
    """A tab of somebody who has opened the printed address; what its console says fails the test."""
    yield from signed_in(browser, dashboard)


@pytest.fixture
def own_page(browser: Browser, own_dashboard: Served) -> Iterator[Page]:
    """The same, of `own_dashboard`."""
    yield from signed_in(browser, own_dashboard)


def signed_in(
    browser: Browser, served: Served, *, may_say: str = "", java_script_enabled: bool = True
) -> Iterator[Page]:
    """Open a tab at the printed address; in the end its console may have said nothing but `may_say`, a pattern."""
    context = browser.new_context(
        base_url=served.base,
        viewport={"width": 1440, "height": 900},
        locale="en-GB",
        java_script_enabled=java_script_enabled,
    )
    context.set_default_timeout(_DEADLINE_MS)
    wrong: list[str] = []
    tab = context.new_page()
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    tab.goto(served.entrance)
    yield tab
    context.close()
    assert [said for said in wrong if not re.fullmatch(may_say, said)] == []
