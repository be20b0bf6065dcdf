"""What people need who see, hear or point otherwise, and screens of every width: on each page there is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from tests.e2e.session_files import write_ended
from tests.examples import repeats
from tests.needs import require_axe
from tests.pages.conftest import signed_in
from tests.pages.every_page import address, each_of, patterns, sticking_out
from tests.pages.served import AT, Served, make_priced_home, serve
from tests.pictures import Home
from tests.strategies import json_answer, json_round, json_user

_WIDTHS: tuple[ViewportSize, ...] = (
    {"width": 360, "height": 740},
    {"width": 720, "height": 450},  # 1440 x 900 at 200 %
    {"width": 1440, "height": 900},
    {"width": 3840, "height": 2160},
)
_LOOKED_AT = _WIDTHS[:: repeats(2, thorough=1)]
_EVERY_PAGE = pytest.mark.parametrize("pattern", [*each_of(patterns())])


_ALSO = {name: {"enabled": True} for name in ("target-size", "label-content-name-mismatch")}
"""Rules that axe-core leaves out unless it is asked."""

_OF_COLOURS = ("color-contrast", "link-in-text-block")
"""The rules that other colours may break."""

_LENGTHEN = """() => document.querySelectorAll("main a[title]").forEach((each) => {
  each.textContent = "A request in so many words that no column holds them all, ".repeat(5);
})"""
"""Titles are what sessions were asked for: no one is too long."""

_LONG = "\n".join(f"line {number} of a long text" for number in range(90))
_DIFF = "\n".join(["--- a/x.py", "+++ b/x.py", "@@ -1,60 +1,60 @@", *(f"-old {n}\n+new {n}" for n in range(60))])
_TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n"
_RICH = (
    "/session/rich",
    "/session/rich/message/1",
    "/sessions?verdict=unsure&days=30",
    "/compare?id=rich&id=rich2",
    "/review",
    "/errors",
)
"""Where sessions with long code, a long diff, a table and many failures are seen, and a list that is filtered."""


@pytest.fixture(scope="module")
def rich_tab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A tab of a home in which texts are longer than their boxes, and numbers of messages stand beside each other."""
    home = tmp_path_factory.mktemp("rich")
    for name in ("rich", "rich2"):
        write_ended(home / ".timmy" / "sessions", name, AT - timedelta(hours=2), _rich_session())
    Home(home, at=AT).run("run", "--once")
    with serve(home) as served:
        yield from signed_in(browser, served)


@pytest.fixture(scope="module")
def priced_tab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A tab of a home in which it is known what sessions cost."""
    home = tmp_path_factory.mktemp("priced")
    make_priced_home(home)
    with serve(home) as served:
        yield from signed_in(browser, served)


def _rich_session() -> list[dict[str, Any]]:
    failed = json.dumps({"output": f"{_LONG}\ncat: notes.md: No such file or directory", "exit_code": 1, "error": None})
    red = json.dumps({"output": f"{'a long line ' * 40}\n1 failed, 2 passed", "exit_code": 1, "error": None})
    asked = json.dumps({"command": "cat notes.md\n" * 60})
    rounds = [each for number in range(39) for each in json_round(failed, call_id=f"c{number}", arguments=asked)]
    rounds += json_round(red, call_id="red", arguments=json.dumps({"command": "pytest -q " + "a_test.py " * 20}))
    said = f"Done. All tests pass.\n\n```python\n{_LONG}\n```\n\n```diff\n{_DIFF}\n```\n\n{_TABLE}"
    return [json_user(f"Write the notes\n\n```\n{_LONG}\n```"), *rounds, json_answer(said)]


@pytest.fixture(scope="module")
def tab(browser: Browser, dashboard: Served) -> Iterator[Page]:
    """One tab for all pages: they are only looked at."""
    yield from signed_in(browser, dashboard)


@_EVERY_PAGE
def test_rules_of_accessibility_hold_and_nothing_sticks_out_at_any_width(tab: Page, pattern: str) -> None:
    tab.emulate_media(color_scheme="light")
    tab.set_viewport_size({"width": 1440, "height": 900})
    tab.goto(address(tab, pattern))
    tab.evaluate(_LENGTHEN)
    assert _broken_rules(tab) == []
    tab.emulate_media(color_scheme="dark")
    tab.set_viewport_size(_WIDTHS[0])
    assert _broken_rules(tab) == []
    for width in _LOOKED_AT:
        tab.set_viewport_size(width)
        assert (width, sticking_out(tab)) == (width, [])


@pytest.mark.thorough
@pytest.mark.parametrize("width", [0, 2], ids=["narrow", "wide"])
@pytest.mark.parametrize("address", _RICH)
def test_rules_hold_for_texts_that_need_room(rich_tab: Page, address: str, width: int) -> None:
    rich_tab.set_viewport_size(_WIDTHS[width])
    rich_tab.goto(address)
    rich_tab.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
    assert _broken_rules(rich_tab) == []


@pytest.mark.thorough
@pytest.mark.parametrize("place", ["/usage?days=90&by=kind&show=sessions", "/usage", "/usage?days=30&by=project"])
def test_rules_hold_for_usage_of_which_something_is_known(priced_tab: Page, place: str) -> None:
    priced_tab.emulate_media(color_scheme="light")
    priced_tab.set_viewport_size(_WIDTHS[0])
    priced_tab.goto(place)
    priced_tab.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
    assert _broken_rules(priced_tab) == []
    priced_tab.emulate_media(color_scheme="dark")
    assert _broken_rules(priced_tab, only=_OF_COLOURS) == []
    assert sticking_out(priced_tab) == []
    priced_tab.set_viewport_size(_WIDTHS[2])
    assert sticking_out(priced_tab) == []


def test_keys_are_told_by_the_rules_too(tab: Page) -> None:
    tab.set_viewport_size({"width": 1440, "height": 900})
    tab.goto("/")
    tab.keyboard.press("?")
    assert _broken_rules(tab) == []


def test_palette_and_menu_keep_the_rules(tab: Page) -> None:
    tab.set_viewport_size({"width": 1440, "height": 900})
    tab.goto("/")
    tab.get_by_text("Grader", exact=True).click()
    assert _broken_rules(tab) == []
    tab.keyboard.press("Control+k")
    tab.locator("[role=option]").first.wait_for()
    assert _broken_rules(tab) == []


def _broken_rules(tab: Page, *, only: Sequence[str] = ()) -> list[tuple[str, list[str]]]:
    """Return what axe-core finds: each rule, of all or of some, and where it is broken."""
    if not tab.evaluate("'axe' in window"):
        tab.evaluate(require_axe())
    rules = {"runOnly": list(only)} if only else {"rules": _ALSO}
    found = tab.evaluate(f"axe.run(document, {json.dumps({'resultTypes': ['violations'], **rules})})")
    return [
        (rule["id"], [f"{node['target']} {node['html'][:200]}" for node in rule["nodes"]])
        for rule in found["violations"]
    ]
