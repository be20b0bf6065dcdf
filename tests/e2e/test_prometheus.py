"""A real Prometheus scrapes a real page, and answers every query of the dashboard for Grafana."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from msgspec.structs import replace

from grader_daemon.domain.feedback import FeedbackSource, Said, Sampling
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.pipeline.save_labels import add_feedback
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.records import DaemonStatus
from grader_daemon.storage.sqlite.store import SqliteStore
from tests import demo_home
from tests.e2e.daemon_process import environment
from tests.e2e.session_files import now
from tests.grafana import QUERIES
from tests.needs import require_prometheus
from tests.strategies import grade, new_grade
from tests.units import unit
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

_CONFIGURATION = """
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: grader
    authorization:
      credentials_file: {token}
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""
_CHOSEN = {"$instance": ".*", "$__rate_interval": "1m"}


class _Prometheus:
    """Prometheus as it answers by its API."""

    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}/api/v1"

    def ask(self, query: str) -> list[dict[str, Any]]:
        """Give what there is now; nothing while it does not answer yet."""
        return list(self._get("query", query=query).get("result", []))

    def exemplars(self, query: str) -> list[str]:
        """Give the sessions that exemplars of a series name."""
        today = now().timestamp()
        found = self._get("query_exemplars", query=query, start=today - 86_400, end=today + 60)
        return [one["labels"]["session_id"] for series in found for one in series["exemplars"]]

    def _get(self, what: str, **values: Any) -> Any:
        try:
            with urlopen(f"{self._address}/{what}?{urlencode(values)}", timeout=30) as answer:
                return json.load(answer)["data"]
        except URLError:
            return {}


@contextmanager
def _process(*command: str, **given: Any) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, text=True, **given) as process:
        try:
            yield process
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def _grade_live(database: Path, number: int) -> None:
    """Add a grade as a daemon does that sees a session end."""
    name, ended = f"live_{number}", now()
    written = int((ended - timedelta(seconds=2)).timestamp() * 1e9)
    entry = LedgerEntry(
        unit=unit(f"/{name}"), stamp=b"1", written_ns=written, state=FileState.GRADED, session_id=name, digest="d"
    )
    priced = grade(
        session_id=name, session_file=f"/{name}", model="priced", cost_usd=0.5, graded_at=ended, ended_at=ended
    )
    with closing(SqliteStore(database)) as store, store.transaction():
        store.live_since = ended - timedelta(hours=1)
        save_grades(store, [new_grade(priced)])
        store.save_entries([entry], now=ended)
        store.daemon.save(DaemonStatus(pid=1, started_at=ended, said_at=ended, backlog=0, watching={}))


def _label(database: Path) -> None:
    """Add twenty sessions, judged as by a person whom a review asked by chance."""
    ended = now() - timedelta(hours=1)
    asked = Said(session_id="", by="t", source=FeedbackSource.REVIEW, sampled=Sampling.RANDOM, completed=True)
    names = [f"judged_{number}" for number in range(20)]
    made = [
        grade(session_id=name, session_file=f"/{name}", ended_at=ended, ended_on=ended.date().isoformat())
        for name in names
    ]
    with closing(SqliteStore(database)) as store, store.transaction():
        save_grades(store, [new_grade(one) for one in made])
        add_feedback(store, [replace(asked, session_id=name) for name in names], now=ended)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Prometheus]:
    """A Prometheus that has scraped a page before and after sessions were graded."""
    program = require_prometheus()
    home = tmp_path_factory.mktemp("home")
    database = demo_home.make(home)
    _label(database)
    with ExitStack() as stack:
        page = stack.enter_context(
            _process(
                *(sys.executable, "-m", "grader_daemon", "dashboard", "--port", "0"),
                env=environment(home, {}),
                stdout=subprocess.PIPE,
            )
        )
        assert page.stdout is not None
        port = page.stdout.readline().partition("/?token=")[0].rpartition(":")[2]
        folder = tmp_path_factory.mktemp("prometheus")
        (folder / "prometheus.yml").write_text(_CONFIGURATION.format(token=f"{database}.token", port=port))
        listening = _free_port()
        stack.enter_context(
            _process(
                program,
                f"--config.file={folder}/prometheus.yml",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{listening}",
                "--enable-feature=exemplar-storage",
                stderr=subprocess.DEVNULL,
            )
        )
        found = _Prometheus(listening)
        wait_until(lambda: found.ask("grader_up"), "a first scrape")
        for number in range(3):
            _grade_live(database, number)
            scraped = f"grader_grade_lag_seconds_count > {number}"
            wait_until(partial(found.ask, scraped), "a scrape of what was graded")
        yield found


@pytest.mark.parametrize(("title", "legend", "query"), QUERIES)
def test_a_panel_has_something_to_show(prometheus: _Prometheus, title: str, legend: str, query: str) -> None:
    for variable, value in _CHOSEN.items():
        query = query.replace(variable, value)
    shown = prometheus.ask(query)
    assert shown, (title, legend)
    assert [one for one in shown if one["value"][1] != "NaN"], (title, legend)


def test_exemplars_lead_to_sessions(prometheus: _Prometheus) -> None:
    assert "live_2" in prometheus.exemplars("grader_grade_lag_seconds_bucket")


def test_what_was_scraped_is_what_the_page_says(prometheus: _Prometheus) -> None:
    [cost] = prometheus.ask('grader_model_cost_dollars{model="priced"}')
    [lag] = prometheus.ask("grader_grade_lag_seconds_count")
    assert (float(cost["value"][1]), float(lag["value"][1])) == (1.5, 3)
