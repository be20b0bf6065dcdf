"""Pictures of pages: how they are taken, where they are kept, and how one is held against another.

Letters are drawn a little differently on every machine, so pictures are compared by the mean colours of small squares,
of which a few may differ. Whatever a page says of its machine is replaced by something fixed before it is taken.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from PIL import Image, ImageChops
from playwright.sync_api import Browser, FloatRect, Page, sync_playwright

from grader_daemon.storage.lock import DaemonLock
from tests.demo_home import DATABASE
from tests.needs import require_chromium
from tests.pages.every_page import address, named, patterns
from tests.pages.served import AT, Served, make_priced_home, make_sample_home, serve
from tests.pictures import SampleHome

Colours = Literal["light", "dark"]
COLOURS: Final[tuple[Colours, ...]] = ("light", "dark")

FIRST_EVENING: Final = datetime.fromisoformat("2026-11-08T18:00:00Z")
"""A few minutes after the last of the sample sessions."""

MOST_DIFFERENT: Final = 0.0005
"""The share of squares that may differ: other hinting makes none differ, a heading that moves by 10 pixels 0.0007."""

_KEPT: Final = Path(__file__).with_name("pictures")
_DOCUMENTS: Final = Path(__file__).parents[2] / "docs" / "pictures"
_WIDTH, _UPPER_PART, _SCREEN, _MOST_HEIGHT = 1440, 560, 900, 1000
_COLOURS_KEPT, _COLOURS_SHOWN = 32, 128
"""In a picture that is compared alone, and in one that people see in a document."""
_SQUARE: Final = 6
_STEP: Final = 32
"""How far the mean colours of a square may lie apart, of 255."""

_LETTERS: Final = """
* { text-rendering: geometricPrecision !important }
body { font-family: "DejaVu Sans" !important }
code, pre, kbd, .at, .said .brief { font-family: "DejaVu Sans Mono" !important }
"""
_STAND_IN: Final = """([home, letters]) => {
  document.head.append(Object.assign(document.createElement("style"), {textContent: letters}));
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    text.data = text.data.replaceAll(home, "/home/you").replace(/pid [0-9]+/, "pid 4711");
  }
}"""
_IS_LIVE: Final = """() => document.querySelector(".live").dataset.liveState === "on"
  || document.querySelector("[data-live]") === null"""


@dataclass(frozen=True, slots=True)
class Picture:
    """One that is kept: of a page, as `address` finds it, in a home of `HOMES`; a light one may stand in a document."""

    name: str
    home: str
    pattern: str
    listing: str | None = None
    document: str | None = None
    height: int = _MOST_HEIGHT

    def path(self, colours: Colours) -> Path:
        """Return where it is kept."""
        if self.document and colours == "light":
            return _DOCUMENTS / self.document
        return _KEPT / f"{self.name}-{colours}.png"


def pictures() -> Iterator[Picture]:
    """Yield all that are kept: of every page, of a session with a false claim, and of homes that are new."""
    for pattern in patterns():
        name = named(pattern)
        yield Picture(name, "weeks", pattern, document="overview.png" if name == "overview" else None)
    yield Picture(
        *("session-contradicted", "weeks", "/session/{session_id}"),
        listing="/sessions?claim=contradicted",
        document="session.png",
        height=_SCREEN,
    )
    yield Picture("usage-priced", "priced", "/usage", document="usage.png", height=_UPPER_PART)
    for home in ("nothing", "first-session", "first-evening"):
        yield Picture(home, home, "/")


def _make_first(sessions: int) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        SampleHome(folder, at=FIRST_EVENING, last=sessions)

    return make


HOMES: Final[dict[str, tuple[datetime, Callable[[Path], None]]]] = {
    "weeks": (AT, make_sample_home),
    "priced": (AT, make_priced_home),
    "first-evening": (FIRST_EVENING, _make_first(5)),
    "first-session": (FIRST_EVENING, _make_first(1)),
    "nothing": (AT, Path.touch),
}
"""When each is looked at, and how it is made."""


@contextmanager
def opened(browser: Browser, served: Served) -> Iterator[Page]:
    """Open a tab in which nothing moves."""
    context = browser.new_context(
        base_url=served.base,
        viewport={"width": _WIDTH, "height": _SCREEN},
        locale="en-GB",
        reduced_motion="reduce",
        bypass_csp=True,
    )
    tab = context.new_page()
    tab.goto(served.entrance)
    yield tab
    context.close()


@contextmanager
def seeming_to_run(home: Path) -> Iterator[None]:
    """Let a home look as if a daemon ran, where there is anything for it to look after."""
    with DaemonLock(home / DATABASE) if (home / DATABASE).exists() else nullcontext():
        yield


def take(tab: Page, home: Path, picture: Picture, colours: Colours) -> Image.Image:
    """Return a page as it looks now, down to the height of the picture."""
    tab.emulate_media(color_scheme=colours)
    tab.goto(address(tab, picture.pattern, listing=picture.listing))
    tab.wait_for_function(_IS_LIVE)
    tab.evaluate(_STAND_IN, [str(home), _LETTERS])
    return shot(tab, most_height=picture.height)


def shot(tab: Page, *, most_height: int = _MOST_HEIGHT) -> Image.Image:
    """Return what a tab shows, also below its window."""
    height = tab.evaluate("document.documentElement.scrollHeight")
    clip: FloatRect = {"x": 0, "y": 0, "width": _WIDTH, "height": min(height, most_height)}
    return Image.open(io.BytesIO(tab.screenshot(full_page=True, clip=clip, animations="disabled"))).convert("RGB")


def keep(taken: Image.Image, path: Path) -> None:
    """Keep a picture in as few bytes as its letters can be read in."""
    path.parent.mkdir(exist_ok=True)
    colours = _COLOURS_SHOWN if path.parent == _DOCUMENTS else _COLOURS_KEPT
    taken.quantize(colours, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(path, optimize=True)


def share_of_difference(one: Image.Image, other: Image.Image) -> float:
    """Return the part of the squares, 0 to 1, that look otherwise; all of them where the width is another.

    What only the higher picture has is compared with nothing, which is black.
    """
    if one.width != other.width:
        return 1.0
    area = (0, 0, one.width, max(one.height, other.height))
    squares = [each.convert("RGB").crop(area).reduce(_SQUARE) for each in (one, other)]
    red, green, blue = ImageChops.difference(*squares).split()
    farthest = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    return sum(farthest.histogram()[_STEP + 1 :]) / (farthest.width * farthest.height)


def keep_all() -> None:
    """Take all pictures anew."""
    with tempfile.TemporaryDirectory(prefix="grader-pages-") as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=require_chromium(), args=["--no-sandbox"])
        for home, (at, make) in HOMES.items():
            folder = Path(name) / home
            folder.mkdir()
            make(folder)
            with serve(folder, at=at) as served, seeming_to_run(folder), opened(browser, served) as tab:
                for picture in (each for each in pictures() if each.home == home):
                    for colours in COLOURS:
                        keep(take(tab, folder, picture, colours), picture.path(colours))
        browser.close()
