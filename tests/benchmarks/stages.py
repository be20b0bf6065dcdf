"""Where the time of an ingest goes: clocks around the stages of the pipeline, for `backfill --profile`.

The stages are wrapped from outside while a measurement runs, so the product carries no clock of its own. A clock costs
about a quarter of a microsecond. Stages whose name is indented are part of the one above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from time import perf_counter_ns
from types import SimpleNamespace
from typing import Any

import xxhash

from grader_daemon.analysis import Analyzer
from grader_daemon.grading import Grader
from grader_daemon.sources import session_files
from grader_daemon.sources.hermes import snapshot
from grader_daemon.storage.sqlite.rivals import Rivals
from grader_daemon.storage.sqlite.store import SqliteStore

_TRANSACTION = "begin, commit"
_STAGES: tuple[tuple[str, Any, str], ...] = (
    ("ledger lookup", SqliteStore, "ledger_entries"),
    ("lstat", session_files, "look_at"),
    ("open, read, fstat", session_files, "read_file"),
    ("digest", session_files, "xxhash"),
    ("parse", snapshot, "parse"),
    ("  decode", snapshot, "_DECODER"),
    ("analyze", Analyzer, "analyze"),
    ("grade", Grader, "grade"),
    ("find rivals", Rivals, "of"),
    ("save grades", SqliteStore, "save_grades"),
    ("save ledger rows", SqliteStore, "save_entries"),
)


class StageClocks:
    """Nanoseconds spent in each stage while `running`."""

    def __init__(self) -> None:
        self.nanoseconds: dict[str, int] = {}
        self.total = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Have every stage measured for as long as the context lasts."""
        self.nanoseconds = {label: 0 for label, _, _ in _STAGES} | {_TRANSACTION: 0}
        with ExitStack() as stack:
            for label, owner, name in _STAGES:
                stack.enter_context(self._clocked(label, owner, name))
            stack.enter_context(self._clocked_transaction())
            started = perf_counter_ns()
            yield
            self.total = perf_counter_ns() - started

    def per_session(self, sessions: int) -> dict[str, float]:
        """Microseconds per session and stage; what no clock covers is the last line."""
        spent = {label: nanoseconds / sessions / 1000 for label, nanoseconds in self.nanoseconds.items()}
        covered = sum(value for label, value in spent.items() if not label.startswith(" "))
        total = self.total / sessions / 1000
        return spent | {"all between": total - covered, "total": total}

    @contextmanager
    def _clocked(self, label: str, owner: Any, name: str) -> Iterator[None]:
        original = getattr(owner, name, None)
        if original is None:
            raise SystemExit(f"there is no {owner}.{name} any more: bring the table of stages up to date")
        setattr(owner, name, self._wrapped(label, original))
        try:
            yield
        finally:
            setattr(owner, name, original)

    def _wrapped(self, label: str, original: Any) -> Any:
        if original is xxhash:
            return SimpleNamespace(xxh3_128_hexdigest=self._clock(label, xxhash.xxh3_128_hexdigest))
        if hasattr(original, "decode"):
            return SimpleNamespace(decode=self._clock(label, original.decode))
        return self._clock(label, original)

    def _clock(self, label: str, function: Callable[..., Any]) -> Callable[..., Any]:
        nanoseconds = self.nanoseconds

        def clocked(*arguments: Any, **named: Any) -> Any:
            started = perf_counter_ns()
            try:
                return function(*arguments, **named)
            finally:
                nanoseconds[label] += perf_counter_ns() - started

        return clocked

    @contextmanager
    def _clocked_transaction(self) -> Iterator[None]:
        """Only the two ends of a transaction: what happens inside has clocks of its own."""
        original = SqliteStore.transaction
        nanoseconds = self.nanoseconds

        @contextmanager
        def transaction(store: SqliteStore) -> Iterator[None]:
            started = perf_counter_ns()
            inner: AbstractContextManager[None] = original(store)
            with inner:
                nanoseconds[_TRANSACTION] += perf_counter_ns() - started
                yield
                started = perf_counter_ns()
            nanoseconds[_TRANSACTION] += perf_counter_ns() - started

        setattr(SqliteStore, "transaction", transaction)  # noqa: B010 - mypy forbids the assignment
        try:
            yield
        finally:
            setattr(SqliteStore, "transaction", original)  # noqa: B010
