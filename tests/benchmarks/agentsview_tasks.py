"""The tasks of `tests/pages/test_tasks.py` in agentsview, on the same files: clicks and keys until the answer is seen.

Run it as ``python -m tests.benchmarks.agentsview_tasks``, after ``python -m tests.benchmarks.agentsview --install``.
It listens on 127.0.0.1 in a home of its own, and nothing that the browser asks for leaves the machine. What has no way
in its pages is named so: somebody who knew them looked for one.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as TooLate

from tests.benchmarks.agentsview import OTHER, PROGRAMS, TOOL
from tests.benchmarks.machine import add_folder_option, print_machine, print_table, progress, progress_done, work_folder
from tests.e2e.session_files import now
from tests.needs import require_chromium
from tests.pages.hands import Hands, see
from tests.pages.task_home import LONG, SESSIONS, TICKET, TICKETS, write_task_files
from tests.transcripts import Transcript

_PORT: Final = 18_765
_BASE: Final = f"http://127.0.0.1:{_PORT}"
_PATIENCE_MS: Final = 30_000
_MOST_WATCHED_MS: Final = 75_000
_LIED: Final = "Build an export of the sales table"


def all_right(hands: Hands, _: Path) -> str:
    """Return how good the work is said to be."""
    hands.click(hands.tab.get_by_role("button", name="Quality").first)
    see(hands.tab.get_by_text("Average score", exact=False).first)
    shown = " ".join(hands.tab.inner_text("body").split())
    return shown.partition("AVERAGE SCORE")[2].partition("SCORED")[0].strip()


def why_failed(hands: Hands, home: Path) -> str:
    """Return the grade beside the call that failed in a session whose answer says the opposite."""
    _open(hands.tab, home, _lied)
    hands.click(hands.tab.get_by_text("$ pytest -q").first)
    hands.click(hands.tab.get_by_text("Exit code 1").first)
    see(hands.tab.get_by_text("1 failed, 11 passed").first)
    return f"grade {hands.tab.get_by_title('Session health').inner_text()}"


def text(hands: Hands, _: Path) -> str:
    """Return how many sessions were found by a name."""
    hands.press("Control+k")
    hands.type(TICKET)
    found = hands.tab.get_by_text(f"belongs to {TICKET}")
    expect(found).to_have_count(TICKETS)
    return f"{found.count()} sessions, no verdict"


def cost(hands: Hands, _: Path) -> str:
    """Find the cost by day, then by model."""
    hands.click(hands.tab.get_by_role("button", name="Usage").first)
    see(hands.tab.get_by_text("Cost Over Time"))
    hands.click(hands.tab.get_by_role("button", name="Model", exact=True).first)
    see(hands.tab.get_by_text("claude-opus-4-5").first)
    return "the second is another split"


def tokens(hands: Hands, _: Path) -> str:
    """Find the tokens by day."""
    hands.click(hands.tab.get_by_role("button", name="Usage").first)
    hands.click(hands.tab.get_by_text("Tokens", exact=True).first)
    see(hands.tab.get_by_text("Tokens Over Time"))
    return ""


def long_session(hands: Hands, home: Path) -> str:
    """Find words in a long session."""
    _open(hands.tab, home, lambda content: LONG in content)
    hands.press("/")
    hands.type("revision")
    see(hands.tab.locator("table").last)
    hands.tab.wait_for_timeout(5000)
    coloured = hands.tab.locator("pre code span").count()
    return f"whole Markdown, {'' if coloured else 'no '}colours in code"


def export(hands: Hands, _: Path) -> str:
    """Export what the first page lists."""
    hands.tab.wait_for_timeout(5000)
    with hands.tab.expect_download() as coming:
        hands.click(hands.tab.get_by_text("Export CSV"))
    lines = coming.value.path().read_text("utf-8").splitlines()
    has_rows = any(_LIED in line for line in lines)
    return f"{len(lines)} lines, {'' if has_rows else 'none of '}the sessions"


def tell(hands: Hands, home: Path) -> str:
    """Make what one gives to somebody else of a session."""
    _open(hands.tab, home, _lied)
    with hands.tab.expect_download() as coming:
        hands.press("e")
    return f"a file: {Path(coming.value.suggested_filename).suffix}, the whole session"


TASKS: dict[str, Callable[[Hands, Path], str] | None] = {
    "is all right?": all_right,
    "yesterday's failed session": None,
    "why it failed": why_failed,
    "a text in all sessions": text,
    "cost by day": cost,
    "tokens by day": tokens,
    "a long session": long_session,
    "export the list": export,
    "tell somebody": tell,
    "did the new model help?": None,
    "what got worse": None,
    "correct the grader": None,
}


def _open(tab: Page, home: Path, which: Callable[[str], bool]) -> None:
    """Open the newest session whose file is meant; this is not counted."""
    paths = sorted(home.rglob("*.jsonl"), key=lambda path: -path.stat().st_mtime)
    tab.goto(f"{_BASE}/sessions/{next(path.stem for path in paths if which(path.read_text('utf-8')))}")
    tab.get_by_title("Session health").wait_for()


def _lied(content: str) -> bool:
    return "All 12 tests pass" in content and "12 passed" not in content


@contextmanager
def served(home: Path) -> Iterator[float]:
    """Serve its pages; yield the seconds until it answers."""
    program = PROGRAMS[OTHER]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC", **program.environment}
    del environment["AGENTSVIEW_NO_DAEMON"]
    command = [f"{TOOL}/bin/agentsview", "serve", "--no-browser", "--no-update-check", "--port", str(_PORT)]
    began = time.monotonic()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert any("listening at" in line for line in process.stdout), "it did not start"
        try:
            yield time.monotonic() - began
        finally:
            process.terminate()


def tab_of(browser: Browser) -> Page:
    """Open its first page in a tab that reaches only this machine."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB", timezone_id="UTC")
    context.set_default_timeout(_PATIENCE_MS)
    context.route(re.compile(r"^https?://(?!127\.0\.0\.1)"), lambda route: route.abort())
    tab = context.new_page()
    tab.goto(_BASE)
    return tab


def seconds_until_seen(tab: Page, home: Path) -> float | None:
    """Return how long a line of a session takes until it is seen by somebody who watches; None for too long."""
    path = home / SESSIONS / "-home-you-work-shop" / "00000000-1111-4222-8333-444455556666.jsonl"
    running = Transcript(cwd="/home/you/work/shop", sessionId=path.stem)
    running.prompt("Watch the lighthouse")
    running.answer("I look.", stop="tool_use")
    running.write(path)
    tab.wait_for_timeout(15_000)
    tab.goto(f"{_BASE}/sessions/{path.stem}")
    tab.get_by_text("I look.").first.wait_for()
    tab.wait_for_timeout(3000)
    running.answer("The lamp is lit.")
    running.write(path)
    began = time.monotonic()
    with suppress(TooLate):
        tab.get_by_text("The lamp is lit.").first.wait_for(timeout=_MOST_WATCHED_MS)
        return time.monotonic() - began
    return None


def counted(browser: Browser, home: Path) -> Iterator[tuple[str, str, str]]:
    """Do each task from the first page; yield its name, the clicks and keys, and what is seen then."""
    for name, task in TASKS.items():
        if task is None:
            yield name, "cannot", ""
            continue
        progress(name)
        tab = tab_of(browser)
        expect(tab.get_by_text("Top Sessions")).to_be_visible()
        hands = Hands(tab)
        said = task(hands, home)
        yield name, str(hands.used), said
        tab.context.close()


def main() -> None:
    """Parse the arguments, do the tasks, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_folder_option(parser)
    options = parser.parse_args()
    print_machine()
    expect.set_options(timeout=_PATIENCE_MS)
    with work_folder(options.folder) as home, sync_playwright() as playwright:
        sessions = write_task_files(home, at=now())
        browser = playwright.chromium.launch(executable_path=require_chromium(), args=["--no-sandbox"])
        with served(home) as seconds:
            rows = list(counted(browser, home))
            progress_done()
            print(f"{sessions:,} sessions; answers {seconds:.1f} s after its start\n")
            print_table(("task", "clicks and keys", "what is seen"), rows)
            watched = seconds_until_seen(tab_of(browser), home)
            seen = f"not seen in {_MOST_WATCHED_MS / 1000:.0f} s" if watched is None else f"seen after {watched:.1f} s"
            print(f"a new line of a session that is watched: {seen}")
        browser.close()


if __name__ == "__main__":
    main()
