"""What saving costs, in statements: a batch takes as many as one session, whatever is in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw

from grader_daemon.domain.verdict import CompletionPolicy, VerdictBy
from grader_daemon.pipeline.examine import Examined
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.benchmarks.sessions import write_session
from tests.conftest import SessionWriter
from tests.priors import any_model
from tests.strategies import NOW, json_answer, json_user
from tests.units import unit

MOST = 37
"""Statements for whatever sessions that are new, with BEGIN and COMMIT."""

MOST_REDECIDED = 15
"""Statements for whatever verdicts another judge gives, with the same two."""


class _Counted:
    """A connection that counts what it is asked to do; many rows of one statement are one."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self.statements: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, sql: str, *values: Any) -> apsw.Cursor:
        self.statements.append(sql)
        return self._connection.execute(sql, *values)

    def executemany(self, sql: str, rows: Sequence[Any]) -> apsw.Cursor:
        self.statements.append(sql)
        return self._connection.executemany(sql, rows)


@contextmanager
def counted(store: SqliteStore) -> Iterator[list[str]]:
    """Give the statements that are made meanwhile."""
    connection, spy = store.connection, _Counted(store.connection)
    store.connection = spy  # type: ignore[assignment]
    try:
        yield spy.statements
    finally:
        store.connection = connection


def examined(ingest: Ingest, paths: Sequence[str | Path]) -> list[Examined]:
    return [ingest.examiner.examine(unit(str(path)), now=NOW) for path in paths]


def test_a_batch_takes_as_many_statements_however_many_sessions_are_in_it(
    ingest: Ingest, store: SqliteStore, tmp_path: Path
) -> None:
    store.live_since = NOW - timedelta(days=900)
    found = examined(ingest, [write_session(tmp_path, size=4_000, seed=seed) for seed in range(160)])
    made = []
    for start, end in ((0, 40), (40, 160)):
        with counted(store) as statements:
            ingest.save_examined(found[start:end])
        made.append(statements)
    assert made[0] == made[1]
    assert len(made[0]) <= MOST


def test_another_judge_takes_as_many_statements_however_many_sessions_there_are_and_reads_no_file(
    ingest: Ingest, store: SqliteStore, tmp_path: Path
) -> None:
    _judge(ingest, "m")
    paths = [write_session(tmp_path, size=4_000, seed=seed) for seed in range(18)]
    ingest.ingest([unit(str(path)) for path in paths], within_seconds=60)
    for path in paths:
        os.unlink(path)
    version, made = _judge(ingest, "m~other"), []
    for sessions in (2, 16):
        outdated = store.outdated_units(version, after=None, limit=sessions)
        with counted(store) as statements:
            redecided, others = ingest.redecide(outdated)
        assert (len(redecided), others) == (sessions, [])
        made.append(statements)
    assert made[0] == made[1]
    assert len(made[0]) <= MOST_REDECIDED


def _judge(ingest: Ingest, version: str) -> str:
    """Have another model judge, and return the version of what it gives."""
    model = any_model(version=version, intercept=float(len(version)))
    ingest.examiner = ingest.examiner.with_policy(CompletionPolicy(by=VerdictBy.MODEL, model=model))
    return ingest.examiner.rules_version


def test_one_session_takes_no_more_than_a_batch(ingest: Ingest, store: SqliteStore, tmp_path: Path) -> None:
    found = examined(ingest, [write_session(tmp_path, size=4_000, seed=1)])
    with counted(store) as statements:
        ingest.save_examined(found)
    assert len(statements) <= MOST


def test_sessions_of_one_request_share_what_is_read_for_them(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    def asking(number: int) -> str:
        start = f"2026-11-{number + 1:02}T08:00:00"
        return write_session(
            [
                json_user("Fix the test of the parser that fails since Monday, and run all of them"),
                json_answer(f"Done {number}"),
            ],
            session_id=f"s{number}",
            session_start=start,
            last_updated=start,
        )

    found = examined(ingest, [asking(number) for number in range(18)])
    with counted(store) as statements:
        ingest.save_examined(found)
    assert len([sql for sql in statements if "WHERE d.request = ?" in sql]) == 2
