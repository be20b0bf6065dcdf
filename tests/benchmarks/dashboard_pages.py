"""Every page of the dashboard, as often as it takes to say what one costs: warm, in a new process, and in bytes."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from typing import NamedTuple
from urllib.parse import quote, urlencode

from grader_daemon import SelfGrader, bootstrap
from grader_daemon.bootstrap import periodic
from grader_daemon.domain.calendar import week_of
from grader_daemon.settings import Settings
from tests.alert_examples import alert
from tests.benchmarks import machine
from tests.benchmarks.dashboard_server import Answer, Dashboard, served
from tests.benchmarks.machine import Figure, at_most
from tests.benchmarks.multiplied import SELDOM
from tests.benchmarks.process import Sandbox
from tests.benchmarks.sessions import make_session
from tests.benchmarks.targets import (
    PAGE_CPU_MILLISECONDS,
    PAGE_FIRST_MILLISECONDS,
    PAGE_MILLISECONDS,
    PAGE_OVERVIEW_BYTES,
    PAGE_SESSION_BYTES,
    PAGE_STATIC_ZIPPED_BYTES,
)
from tests.pages.every_page import patterns

_TIMES = 5
_LONG_BYTES = 600_000
"""So large is a made session of some more than 200 messages."""

_LONG_SEED = 10_000_000
_WEEKS = 8
_FILTERS: Mapping[str, Mapping[str, str]] = {
    "nothing found": {"text": "absent"},
    "a model of one session": {"model": SELDOM},
    "lowest probability": {"sort": "probability", "reverse": "1"},
    "view: running": {"state": "open"},
    "view: not done": {"days": "7", "verdict": "not_done"},
    "view: unsure": {"verdict": "unsure"},
    "view: contradicted": {"claim": "contradicted"},
    "view: most failures": {"days": "7", "sort": "errors"},
    "view: dearest": {"sort": "cost"},
    "view: judged": {"person": "1"},
}
"""The views that are a click away, and filters that few or no sessions meet."""


class Cost(NamedTuple):
    """What a page costs: the middle one of several, and the first of a process."""

    name: str
    warm: Answer
    cpu_ms: float
    wall_ms: float
    first_ms: float

    @property
    def met(self) -> bool:
        return (
            self.cpu_ms <= PAGE_CPU_MILLISECONDS
            and self.wall_ms <= PAGE_MILLISECONDS
            and self.first_ms <= PAGE_FIRST_MILLISECONDS
        )


def furnish(sandbox: Sandbox, settings: Settings) -> str:
    """Add what a daemon would have kept, unless it is there: a long session, an alert, reports; gives the session."""
    made = make_session(_LONG_BYTES, _LONG_SEED)
    path = sandbox.root / made.name
    now = bootstrap.utc_now()
    if not path.exists():
        path.write_bytes(made.content)
        with SelfGrader(settings=settings) as grader:
            grader.grading.grade_file(path)
    with closing(bootstrap.open_store(settings)) as store:
        if not store.alerts.latest(1):
            with store.transaction():
                store.alerts.add(alert(opened_at=now - timedelta(hours=2), sessions=(made.session_id,)))
        if not store.reports.bases():
            reports = periodic.make_reports(settings, store)
            for back in range(1, _WEEKS + 1):
                machine.progress(f"report of {back} weeks ago")
                reports.write(week_of((now - timedelta(weeks=back)).date()), now)
    return made.session_id


def addresses(dashboard: Dashboard, *, session: str, word: str) -> dict[str, str]:
    """Return the address of each page by its name, and of the list of sessions by filters."""
    found = {pattern: _address(dashboard, pattern, session) for pattern in patterns()}
    found["/reports/{week}, of this week"] = _links(dashboard, "/reports/")[0]
    found["/sessions, text that all have"] = f"/sessions?{urlencode({'text': word})}"
    found |= {f"/sessions, {name}": f"/sessions?{urlencode(query)}" for name, query in _FILTERS.items()}
    return found


def measure(sandbox: Sandbox, dashboard: Dashboard, asked: Mapping[str, str]) -> list[Cost]:
    """Ask for every page, in a process that stays and in one that begins with it."""
    return [_cost(sandbox, dashboard, name, address) for name, address in asked.items()]


def print_costs(costs: Iterable[Cost]) -> None:
    """Print what pages cost, and whether that is as it should be."""
    print(
        f"targets: {PAGE_CPU_MILLISECONDS:g} ms of CPU, {PAGE_MILLISECONDS:g} ms by the clock,"
        f" {PAGE_FIRST_MILLISECONDS:g} ms for the first of a process"
    )
    machine.print_table(
        ("page", "CPU ms", "ms", "first ms", "KB", "KB sent", ""),
        [
            (
                cost.name,
                f"{cost.cpu_ms:.1f}",
                f"{cost.wall_ms:.1f}",
                f"{cost.first_ms:.0f}",
                f"{len(cost.warm.body) / 1000:.1f}",
                f"{cost.warm.sent / 1000:.1f}",
                machine.verdict(cost.met),
            )
            for cost in costs
        ],
    )


def weights(dashboard: Dashboard, costs: Iterable[Cost]) -> Iterator[Figure]:
    """Yield what pages and what they load weigh."""
    by_name = {cost.name: cost.warm for cost in costs}
    overview, session = by_name["/"], by_name["/session/{session_id:path}"]
    loaded = [dashboard.ask(found) for found in re.findall(r'"(/static/[^"]+)"', overview.text)]
    for name, answers, as_sent, target in (
        ("overview", [overview], False, PAGE_OVERVIEW_BYTES),
        ("overview, as it is sent", [overview], True, None),
        ("200 messages of a session", [session], False, PAGE_SESSION_BYTES),
        ("200 messages of a session, as they are sent", [session], True, None),
        ("scripts and style", loaded, False, None),
        ("scripts and style, as they are sent", loaded, True, PAGE_STATIC_ZIPPED_BYTES),
    ):
        size = sum(each.sent if as_sent else len(each.body) for each in answers)
        yield at_most(name, size / 1000, target=None if target is None else target / 1000, unit="KB")


def memory(dashboard: Dashboard, asked: Iterable[str], *, target: float, sessions: int) -> Figure:
    """Ask for all pages and return how much memory the process then has."""
    for address in asked:
        dashboard.ask(address)
    name = f"memory after all pages, {sessions:,} sessions"
    return at_most(name, dashboard.resident_bytes() / 1e6, target=target, unit="MB")


def _address(dashboard: Dashboard, pattern: str, session: str) -> str:
    beginning, brace, rest = pattern.partition("{")
    if pattern == "/compare":
        ids = re.findall(r'data-id="([^"]+)"', dashboard.ask("/sessions").text)
        return f"/compare?{urlencode([('id', session), ('id', ids[0])])}"
    if beginning == "/session/":
        return f"/session/{quote(session)}{rest.partition('}')[2].replace('{index}', '1')}"
    if brace:
        return _links(dashboard, beginning)[-1]
    return pattern


def _links(dashboard: Dashboard, beginning: str) -> list[str]:
    """Return the addresses that begin so, from the page that lists them."""
    return re.findall(rf'href="({re.escape(beginning)}[^/"?#]+)"', dashboard.ask(beginning.rstrip("/")).text)


def _cost(sandbox: Sandbox, dashboard: Dashboard, name: str, address: str) -> Cost:
    machine.progress(name)
    warm, *others = [dashboard.ask(address) for _ in range(1 + _TIMES)]
    with served(sandbox) as fresh:
        first = fresh.ask(address).seconds
    return Cost(
        name,
        warm,
        statistics.median(each.cpu_seconds for each in others) * 1000,
        statistics.median(each.seconds for each in others) * 1000,
        first * 1000,
    )
