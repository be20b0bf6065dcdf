"""The parts of the program put together for a test."""

from __future__ import annotations

import gc
import os
import signal
import socket
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import tests.examples  # noqa: F401  loads a profile before a test module is read
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.unit import Unit
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.pipeline.commit import Commit
from grader_daemon.pipeline.examine import Examiner
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.rules import load_rules
from grader_daemon.storage.sqlite.store import SqliteStore
from tests import rights
from tests.leftovers import nothing_left
from tests.needs import AGENTS, IN_CI, KERNELS
from tests.slow import mark_slow
from tests.strategies import NOW, document
from tests.telling import Progress, tell_skipped
from tests.units import hermes

for number in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:  # by a shell that started the tests in its background
        signal.signal(number, signal.SIG_DFL)

os.environ["GRADER_VERDICT"] = "rules"
"""Whose verdicts a reader can follow; tests of the model say so."""

IDLE = timedelta(minutes=30)
PAUSES = (timedelta(seconds=5), timedelta(seconds=30))
MAX_BYTES = 1_000_000
LIMITS = Limits(bytes=MAX_BYTES)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep tests together that share what is dear to start, where that is asked for."""
    if config.getvalue("dist") != "loadscope":
        return None
    from tests.workers import Groups

    return Groups(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a test that is skipped is one that failed, unless the kernel is to blame, or a program cannot be had."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""
        if reason not in KERNELS | AGENTS:
            report.outcome, report.longrepr = "failed", f"skipped in CI: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what is collected from the collector of garbage, which would look through all of it again and again."""
    thresholds = gc.get_threshold()
    gc.set_threshold(0)  # to disable it does not last: the command line, which is imported here, enables it
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*thresholds)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `python -m tests fast` leaves out."""
    mark_slow(items)


def pytest_configure(config: pytest.Config) -> None:
    """Name failures as they happen and say how far it is, in the process that prints."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(config), "progress")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Have a worker that asks pytest-rerunfailures about each test not wait 40 ms for something to send with it."""
    asking = getattr(getattr(session.config, "failures_db", None), "sock", None)
    if asking is not None:
        asking.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was skipped, and how to have it."""
    tell_skipped(terminalreporter)


SessionWriter = Callable[..., str]


@pytest.fixture(autouse=True)
def guarded(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test in this process that leaves a thread, a process or a descriptor behind fails."""
    if "e2e" in request.path.parts:
        yield
        return
    with nothing_left():
        yield


@pytest.fixture(scope="session")
def rules() -> Rules:
    """The shipped rules."""
    return load_rules()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """An empty database."""
    opened = SqliteStore(tmp_path / "database" / "session_grades.db", host="here")
    yield opened
    opened.close()


@pytest.fixture
def clock() -> Clock:
    """The time of a test; files of `write_session` were last written at its start."""
    return Clock()


@pytest.fixture
def examiner(rules: Rules) -> Examiner:
    """Times without a zone are UTC."""
    return Examiner(rules, CompletionPolicy(), hermes(limits=LIMITS), zone=UTC, idle=IDLE, limits=LIMITS)


@pytest.fixture
def bugs() -> list[tuple[Unit, Exception]]:
    """The units that `ingest` failed on, and how."""
    return []


@pytest.fixture
def ingest(examiner: Examiner, store: SqliteStore, clock: Clock, bugs: list[tuple[Unit, Exception]]) -> Ingest:
    """From unit to row."""
    return Ingest(
        examiner=examiner,
        recorder=Commit(store, retry_pauses=PAUSES, asked_again_within=timedelta(2)),
        store=store,
        clock=clock,
        on_bug=lambda failed, error: bugs.append((failed, error)),
    )


@pytest.fixture
def write_session(tmp_path: Path) -> SessionWriter:
    """Write ``sessions/session_<id>.json`` below the test's folder and give its path."""

    def write(
        messages: list[dict[str, Any]] | None = None,
        *,
        name: str | None = None,
        folder: str = "sessions",
        content: bytes | None = None,
        **fields: Any,
    ) -> str:
        identifier = fields.setdefault("session_id", "20261121_220000_abcdef")
        path = tmp_path / folder / (name or f"session_{identifier}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(document(messages or [], **fields) if content is None else content)
        os.utime(path, (NOW.timestamp(), NOW.timestamp()))
        return str(path)

    return write


@pytest.fixture
def without_rights() -> Callable[[], AbstractContextManager[None]]:
    """Act as a user who may not do everything; tests often run as root, who may."""
    return rights.of_nobody


@pytest.fixture
def rights_of_owner() -> Callable[[], AbstractContextManager[None]]:
    """Act as a user who owns the files, and is refused what their modes do not allow."""
    return rights.of_owner


@pytest.fixture
def right_to_read() -> Callable[[], AbstractContextManager[None]]:
    """Act as a user who may write nothing."""
    return rights.to_read_alone
