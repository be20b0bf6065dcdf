"""150 sessions that were written to run, load, lie or break something: every page shows them as text, and whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page

from tests.examples import repeats
from tests.hostile_pages import COUNT, TEXTS, write_hostile_sessions
from tests.pages.conftest import signed_in
from tests.pages.every_page import links, patterns, sticking_out
from tests.pages.served import AT, Served, keep_reports_and_an_alert, serve
from tests.pictures import Home

_REFUSED = r"Failed to load resource: the server responded with a status of (400|404) \(.*\)"
_NARROW, _WIDE = 360, 1440

EVERY = repeats(29, thorough=1)
"""Each text stands at six places: by this step each place is looked at, with texts of every kind of harm."""

_STRANGE = """() => {
  const ours = new RegExp("^(/(?!/)|#|\\\\?|$)");
  const isStrange = (one) => [...one.attributes].some(({name}) => /^(on|style$|srcdoc$)/.test(name))
    || [one.getAttribute("href"), one.getAttribute("action"), one.getAttribute("src")]
      .some((link) => link !== null && !ours.test(link) && !link.startsWith("data:,"));
  const named = "body script, main style, iframe, object, embed, base, meta[http-equiv], body link, img, [autofocus]";
  const all = [...document.querySelectorAll(named), ...[...document.querySelectorAll("*")].filter(isStrange)];
  return all.map((one) => one.outerHTML.slice(0, 160));
}"""
"""Elements and attributes that no page of ours has."""

_READING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page of a home with nothing but hostile sessions."""
    folder = tmp_path_factory.mktemp("hostile")
    write_hostile_sessions(folder / ".timmy" / "sessions", until=AT)
    Home(folder, at=AT).run("run", "--once")
    keep_reports_and_an_alert(folder)
    with serve(folder) as served:
        yield served


@pytest.fixture(scope="module")
def tab(browser: Browser, hostile: Served) -> Iterator[Page]:
    """A tab that asks for nothing but our page, and in which nothing is wrong."""
    asked: list[str] = []
    for page in signed_in(browser, hostile, may_say=_REFUSED):
        page.context.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: asked.append(dialog.message))
        yield page
    assert [url for url in asked if not url.startswith((f"{hostile.base}/", "data:,"))] == []


@pytest.fixture(scope="module")
def session_links(hostile: Served) -> list[str]:
    """Where each session is shown."""
    listed = Home(hostile.home, at=AT).run("list", "-n", str(2 * COUNT), "-o", "ndjson").splitlines()
    return [f"/session/{quote(json.loads(line)['session_id'])}" for line in listed]


def _wrong(tab: Page, path: str) -> list[Any]:
    """Return what is wrong with a page: what ran, what it is made of, what it says, how wide it is."""
    answer = tab.goto(path)
    assert answer is not None
    wrong: list[Any] = [] if answer.status in (200, 400, 404) else [answer.status]
    wrong += tab.evaluate(_STRANGE)
    wrong += tab.evaluate("() => 'struck' in window || Object.prototype.struck ? ['it ran'] : []")
    wrong += [repr(found) for found in set(_READING.findall(tab.locator("body").inner_text()))]
    for width in (_NARROW, _WIDE):
        tab.set_viewport_size({"width": width, "height": 900})
        wrong += [(width, each) for each in sticking_out(tab)]
    if tab.locator("header.bar").bounding_box() is None or not tab.locator("main h1").is_visible():
        wrong.append("the frame is gone")
    return [(path, each) for each in wrong]


@pytest.mark.thorough
def test_every_hostile_session_is_there(session_links: list[str]) -> None:
    assert len(session_links) == COUNT


def test_every_hostile_session_is_shown_as_text(tab: Page, session_links: list[str]) -> None:
    assert [wrong for link in session_links[::EVERY] for wrong in _wrong(tab, link)] == []


@pytest.mark.thorough
def test_every_page_about_them_shows_text(tab: Page, session_links: list[str]) -> None:
    first, second, *_ = session_links
    ids = [link.rpartition("/")[2] for link in (first, second)]
    paths = [pattern for pattern in patterns() if "{" not in pattern]
    paths += [
        link
        for pattern in patterns()
        if re.match(r"/(errors|alerts|reports)/\{", pattern)
        for link in [*links(tab, pattern.partition("{")[0])][::EVERY]
    ]
    paths.append(f"/compare?id={ids[0]}&id={ids[1]}")
    assert [wrong for path in paths for wrong in _wrong(tab, path)] == []


@pytest.mark.parametrize(
    "name",
    [
        "script-behind-everything",
        *(
            pytest.param(each, marks=pytest.mark.thorough)
            for each in ("controls", "handler", "other-direction", "template-braces")
        ),
    ],
)
def test_addresses_that_others_wrote_show_text(tab: Page, name: str) -> None:
    text = quote(TEXTS[name], safe="")
    asked = [
        f"/{text}",
        f"/sessions?text={text}",
        f"/session/{text}",
        f"/errors/{text}",
        f"/alerts/{text}",
        f"/reports/{text}",
        f"/sessions?task={text}&model={text}&state={text}&before={text}&days={text}",
        f"/compare?id={text}&id={text}",
        f"/?days={text}",
    ]
    assert [wrong for path in asked for wrong in _wrong(tab, path)] == []
