"""The pictures of the documents, made from sample sessions: ``python -m tests.pictures`` writes them anew.

The real commands grade the sessions of `tests/sample_weeks.py` and print what is shown. The picture of the weekly page
needs Chromium; its PNG keeps a digest of the words of the page, so that the test which says that it is stale needs
none. Those of the dashboard `tests.pages.picture` takes.
"""

from __future__ import annotations

import hashlib
import io
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from xml.etree.ElementTree import fromstring

from rich.console import Console
from rich.text import Text

from tests.needs import stopped_clock
from tests.sample_weeks import WEEK, write_weeks

TERMINAL = Path(__file__).parent.parent / "docs" / "pictures" / "terminal.svg"
WEEKLY = TERMINAL.with_name("weekly.png")

_COLUMNS = 100
_SCREEN = (1040, 830)
"""The head of the page and the week in numbers."""
_FONTS = 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace'
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEAD_CHUNK_END = len(_SIGNATURE) + 4 + 4 + 13 + 4
_DIGEST_KEY = b"words-sha256\0"


class Home:
    """A home folder, and commands that are run in it, now or `at` another time."""

    def __init__(self, folder: Path, *, at: datetime | None = None) -> None:
        self._folder = folder
        self._clock = {} if at is None else stopped_clock(at)

    def run(self, *arguments: str) -> str:
        """Run a command, which must end well; return what it prints."""
        done = subprocess.run(
            self._command(arguments), env=self._environment(), check=True, capture_output=True, text=True
        )
        return done.stdout

    def shell(self, block: str) -> str:
        """Run a block as a person copies it, which must end well; return what it prints."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-ec", block],
            env=self._environment() | {"PATH": path},
            input="a-word-for-what-asks\n",
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def _command(self, arguments: Sequence[str]) -> list[str]:
        return [sys.executable, "-m", "grader_daemon", *arguments]

    def _environment(self) -> dict[str, str]:
        return {
            "HOME": str(self._folder),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "xterm-256color",
            "COLUMNS": str(_COLUMNS),
            "PAGER": "cat",
            "PYTHONPATH": str(Path(__file__).parent.parent),
            **self._clock,
        }


class SampleHome(Home):
    """One with sample sessions, all or the `last` ones, in the folder of an agent, after a run of the daemon."""

    def __init__(
        self, folder: Path, *, agent: str = ".timmy", at: datetime | None = None, last: int | None = None
    ) -> None:
        super().__init__(folder, at=at)
        write_weeks(folder / agent / "sessions", last=last)
        self.run("run", "--once")

    def terminal(self) -> str:
        """Return what a terminal shows, as SVG: the latest sessions, and why one of them was graded so."""
        [claimed] = self.run("list", "--claim", "contradicted", "-n", "1", "-o", "ndjson").splitlines()
        session_id = re.findall(r'"session_id":"(\w+)"', claimed)[0]
        shown = "\n".join(self._shown(*command) for command in (("list", "-n", "6"), ("why", session_id)))
        console = Console(width=_COLUMNS, record=True, file=io.StringIO(), force_terminal=True)
        console.print(Text.from_ansi(shown))
        return _without_foreign_fonts(console.export_svg(title="", unique_id="terminal"))

    def weekly_page(self) -> str:
        """Return the weekly page as HTML."""
        return self.run("report", "--week", WEEK, "--format", "html")

    def _shown(self, *arguments: str) -> str:
        """Return what a person types and what a terminal then shows."""
        leader, follower = pty.openpty()
        process = subprocess.Popen(
            self._command(arguments), env=self._environment(), stdin=follower, stdout=follower, stderr=follower
        )
        os.close(follower)
        shown = b"".join(iter(lambda: _read(leader), b""))
        os.close(leader)
        assert process.wait() == 0
        return f"$ grader-daemon {' '.join(arguments)}\n{shown.decode()}".replace("\r\n", "\n")


def words(markup: str) -> list[str]:
    """Return the words of an SVG or HTML text in their order."""
    without_style = re.sub(r"<style>.*?</style>|<!DOCTYPE html>|<meta[^>]*>", "", markup, flags=re.DOTALL)
    return " ".join(fromstring(without_style).itertext()).split()


def digest(markup: str) -> str:
    """Return the digest of the words of an HTML page."""
    return hashlib.sha256(" ".join(words(markup)).encode()).hexdigest()


def kept_digest(picture: bytes) -> str | None:
    """Return the digest that stands in a PNG; None without one."""
    found = re.search(re.escape(_DIGEST_KEY) + rb"([0-9a-f]{64})", picture)
    return found[1].decode() if found else None


def _read(leader: int) -> bytes:
    """Return what comes next; nothing once the other end is closed."""
    try:
        return os.read(leader, 65536)
    except OSError:
        return b""


def _without_foreign_fonts(svg: str) -> str:
    """Return a picture that asks nobody for a font: any font of fixed width does."""
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL).replace("Fira Code, monospace", _FONTS)


def _screenshot(page: Path, picture: Path) -> None:
    programs = ("chromium-headless-shell", "chromium", "google-chrome")
    chromium = next(filter(None, map(shutil.which, programs)), None)
    if chromium is None:
        sys.exit("the picture of the page needs Chromium: apt-get install chromium-headless-shell")
    across, down = _SCREEN
    subprocess.run(
        [
            *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),  # the page is ours
            *(f"--user-data-dir={page.parent / 'chromium'}", f"--window-size={across},{down}"),
            *(f"--screenshot={picture}", page.as_uri()),
        ],
        check=True,
        capture_output=True,
    )


def _with_digest(picture: bytes, said: str) -> bytes:
    """Return a PNG with a digest as its comment, behind the head."""
    content = b"tEXt" + _DIGEST_KEY + said.encode()
    chunk = struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))
    return picture[:_HEAD_CHUNK_END] + chunk + picture[_HEAD_CHUNK_END:]


def main() -> None:
    """Write all pictures."""
    from tests.pages.picture import keep_all  # it needs the homes of this module

    with tempfile.TemporaryDirectory(prefix="grader-pictures-") as name:
        folder = Path(name)
        home = SampleHome(folder)
        TERMINAL.write_text(home.terminal(), "utf-8")
        page = folder / "weekly.html"
        page.write_text(home.weekly_page(), "utf-8")
        _screenshot(page, folder / "weekly.png")
        WEEKLY.write_bytes(_with_digest((folder / "weekly.png").read_bytes(), digest(page.read_text("utf-8"))))
    keep_all()


if __name__ == "__main__":
    main()
