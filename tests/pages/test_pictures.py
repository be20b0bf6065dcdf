"""Every page, and the first page of a home that is new, looks as it did: compared with the pictures that are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from PIL import Image
from playwright.sync_api import Browser, Page

from tests.needs import require_chromium, require_fonts
from tests.pages.picture import (
    COLOURS,
    HOMES,
    MOST_DIFFERENT,
    Colours,
    Picture,
    opened,
    pictures,
    seeming_to_run,
    share_of_difference,
    shot,
    take,
)
from tests.pages.served import Served, serve

_OVERVIEW = next(pictures())
_MOST_BYTES = 1_800_000
_OTHER_HINTING = ("--no-sandbox", "--font-render-hinting=full", "--disable-font-subpixel-positioning")

_CHANGES = ("display: none", "visibility: hidden", "position: relative; top: 10px", "position: relative; left: 10px")

Tabs = Mapping[str, tuple[Page, Path]]


@pytest.fixture(scope="module")
def tabs(
    request: pytest.FixtureRequest, browser: Browser, dashboard: Served, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tabs]:
    """Open a tab in each home of which this run compares a picture."""
    require_fonts()
    asked = [item.callspec.params.get("picture") for item in request.session.items if hasattr(item, "callspec")]
    homes = {picture.home for picture in asked if isinstance(picture, Picture)}
    with ExitStack() as stack:
        served = {"weeks": dashboard}
        for name in homes - served.keys():
            at, make = HOMES[name]
            home = tmp_path_factory.mktemp(name)
            make(home)
            served[name] = stack.enter_context(serve(home, at=at))
        for each in served.values():
            stack.enter_context(seeming_to_run(each.home))
        yield {name: (stack.enter_context(opened(browser, each)), each.home) for name, each in served.items()}


_IN_THE_DARK = ("overview", "session-one", "changes")
"""Pages with every kind of chart and text; that of the others nothing is too dark to read, axe-core tells."""


_MAIN = ("sessions", "session-contradicted", "usage")
"""Pages that are compared in light colours each time, like those that are in dark ones; all others before a release."""


def _looks() -> Iterator[ParameterSet]:
    """Yield each picture in its colours."""
    for each in pictures():
        for colours in COLOURS:
            is_usual = each.home == "weeks" and (
                each.name in _IN_THE_DARK or (colours == "light" and each.name in _MAIN)
            )
            marks = () if is_usual else pytest.mark.thorough
            yield pytest.param(each, colours, id=f"{each.name}-{colours}", marks=marks)


@pytest.mark.parametrize(("picture", "colours"), [*_looks()])
def test_page_looks_as_it_did(tabs: Tabs, picture: Picture, colours: Colours, tmp_path: Path) -> None:
    taken = take(*tabs[picture.home], picture, colours)

    share = share_of_difference(Image.open(picture.path(colours)), taken)
    if share > MOST_DIFFERENT:
        taken.save(tmp_path / "now.png")
    assert share <= MOST_DIFFERENT, f"see {tmp_path}/now.png; python -m tests.pictures takes the pictures anew"


@pytest.mark.thorough
def test_other_hinting_of_letters_is_no_difference(tabs: Tabs, browser: Browser, dashboard: Served) -> None:
    with (
        browser.browser_type.launch(executable_path=require_chromium(), args=_OTHER_HINTING) as other,
        opened(other, dashboard) as tab,
    ):
        taken = take(tab, dashboard.home, _OVERVIEW, "light")

    assert share_of_difference(take(*tabs["weeks"], _OVERVIEW, "light"), taken) <= MOST_DIFFERENT


@pytest.mark.parametrize(
    "selector",
    [
        "main h1",
        *(
            pytest.param(each, marks=pytest.mark.thorough)
            for each in (".need", ".figures .panel:last-child", ".columns .panel >> nth=-1")
        ),
    ],
)
def test_what_moves_or_disappears_is_noticed(tabs: Tabs, selector: str) -> None:
    tab, home = tabs["weeks"]
    as_it_is = take(tab, home, _OVERVIEW, "light")
    for change in _CHANGES:
        tab.locator(selector).first.evaluate(f"one => {{ one.style.cssText = '{change}' }}")
        assert share_of_difference(as_it_is, shot(tab)) > MOST_DIFFERENT, change


def test_page_of_another_width_is_another_page() -> None:
    assert share_of_difference(Image.new("RGB", (60, 60)), Image.new("RGB", (66, 60))) == 1


def test_what_only_one_page_has_below_is_a_difference() -> None:
    shorter, longer = (Image.new("RGB", (60, height), "white") for height in (60, 120))

    assert share_of_difference(shorter, longer) == share_of_difference(longer, shorter) == 0.5


def test_pictures_are_those_that_are_compared_and_small() -> None:
    kept = {each.path(colours) for each in pictures() for colours in COLOURS}
    folder = next(path.parent for path in kept if path.is_relative_to(Path(__file__).parent))

    assert set(folder.iterdir()) == {path for path in kept if path.parent == folder}
    assert sum(path.stat().st_size for path in kept) <= _MOST_BYTES
