"""Pages that stay open in Chromium: how soon a grade is seen, and what looking costs while nothing happens."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
from playwright.sync_api import Page, sync_playwright

from grader_daemon import bootstrap
from grader_daemon.domain.identity import Identity
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.settings import load_settings
from grader_daemon.storage.records import GradeFilter, NewGrade
from tests.benchmarks import machine
from tests.benchmarks.dashboard_server import Dashboard
from tests.benchmarks.machine import Figure, at_most
from tests.benchmarks.process import Sandbox
from tests.benchmarks.targets import PAGE_APPEARS_MILLISECONDS, PAGE_IDLE_CPU_PERCENT, PAGE_UNSEEN_CPU_TICKS
from tests.needs import require_browser

_SETTLE_SECONDS = 2.0
_PATIENCE_MS = 20_000
_PAUSES = (0.4, 1.2)
"""Seconds between two commits, so that each finds the page at rest."""

_NOTE_ROWS = """() => {
  window.seen = {};
  new MutationObserver(() => requestAnimationFrame(() => {
    for (const row of document.querySelectorAll("tr[data-id]"))
      window.seen[row.dataset.id] ??= performance.timeOrigin + performance.now();
  })).observe(document.body, { childList: true, subtree: true });
}"""
"""Notes in milliseconds when the frame begins that draws a row first."""


def appearing(sandbox: Sandbox, dashboard: Dashboard, *, count: int) -> list[Figure]:
    """Commit grades while the list of sessions is open, and return how long each took to be there."""
    context = multiprocessing.get_context("spawn")
    commits: multiprocessing.Queue[tuple[str, float]] = context.Queue()
    writer = context.Process(target=_commit, args=(sandbox.database, count, commits))
    with opened(dashboard, "/sessions") as page:
        page.evaluate(_NOTE_ROWS)
        writer.start()
        committed = dict(commits.get(timeout=_PATIENCE_MS / 1000) for _ in range(count))
        writer.join()
        page.wait_for_function("one => one in window.seen", arg=next(reversed(committed)), timeout=_PATIENCE_MS)
        seen = page.evaluate("window.seen")
    took = [seen[name] - at * 1000 for name, at in committed.items()]
    return [
        at_most("committed grade to its row on the screen, p50", machine.percentile(took, 0.5), target=None, unit="ms"),
        at_most("  p95", machine.percentile(took, 0.95), target=PAGE_APPEARS_MILLISECONDS, unit="ms"),
        at_most("  longest", max(took), target=None, unit="ms"),
    ]


def idle(dashboard: Dashboard, *, seconds: float) -> list[Figure]:
    """Leave a page open while nothing happens, then close it; return what that costs the server."""
    with opened(dashboard, "/"):
        _, cpu = _spent(dashboard, seconds)
    ticks, unseen = _spent(dashboard, seconds)
    return [
        at_most(
            f"one page open for {seconds:g} s, CPU",
            cpu / seconds * 100,
            target=PAGE_IDLE_CPU_PERCENT,
            unit="%",
            digits=2,
        ),
        at_most("nobody looks, CPU", ticks, target=PAGE_UNSEEN_CPU_TICKS, unit="ticks", digits=0),
        at_most("  by its clock", unseen / seconds * 100, target=None, unit="%", digits=4),
    ]


@contextmanager
def opened(dashboard: Dashboard, address: str) -> Iterator[Page]:
    """A page in Chromium that hears of changes."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=require_browser("chromium"), args=["--no-sandbox"])
        page = browser.new_page(base_url=dashboard.base)
        page.goto(dashboard.entrance)
        page.goto(address)
        page.wait_for_function("() => document.querySelector('.live').dataset.liveState === 'on'")
        try:
            yield page
        finally:
            browser.close()


def _spent(dashboard: Dashboard, seconds: float) -> tuple[int, float]:
    time.sleep(_SETTLE_SECONDS)
    ticks, cpu = dashboard.cpu_ticks, dashboard.cpu_clock
    machine.progress(f"watching an idle dashboard for {seconds:.0f} s")
    time.sleep(seconds)
    return dashboard.cpu_ticks - ticks, dashboard.cpu_clock - cpu


def _commit(database: Path, count: int, commits: multiprocessing.Queue[tuple[str, float]]) -> None:
    """Save grades like the newest one, and say when each was committed."""
    rng = random.Random(count)
    with closing(bootstrap.open_store(load_settings(db_path=database))) as store:
        [newest] = store.grades.page(GradeFilter(limit=1)).grades
        for number in range(count):
            time.sleep(rng.uniform(*_PAUSES))
            now = bootstrap.utc_now()
            grade = msgspec.structs.replace(
                newest.grade,
                session_id=f"{newest.grade.session_id}-seen-{number}",
                graded_at=now,
                ended_at=now,
                ended_on=now.date().isoformat(),
                failures=(),
            )
            identity = Identity(
                session_id=grade.session_id,
                unit=grade.unit,
                written_ns=0,
                state=grade.state,
                messages=1,
                started_at=None,
                updated_at=now,
                lineage=None,
                opening=None,
                conversation=None,
                compacted=False,
                named_after_id=False,
            )
            with store.transaction():
                save_grades(store, [NewGrade(grade=grade, identity=identity, digest=newest.digest or "")])
            commits.put((grade.session_id, time.clock_gettime(time.CLOCK_REALTIME)))
