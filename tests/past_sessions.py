"""Databases of earlier sessions, for what agents ask of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import msgspec

from grader_daemon.domain.analysis import Category, ErrorSign, Failure, FailureKind, Step
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade

PUSH_REFUSED = ErrorSign(
    fingerprint="2-push",
    tool="terminal",
    command="git push",
    category=Category.PERMISSION_DENIED,
    signal="remote: Permission to <path> denied to <name>",
    example="remote: Permission to x/y denied to z",
)
LOGIN = Step("terminal", "gh auth", worked=True)


def refused(step: Step | None = None, *, kind: FailureKind = FailureKind.HARMFUL, index: int = 2) -> Failure:
    """A push that was refused, and what was tried next."""
    return Failure(index, "terminal", Category.PERMISSION_DENIED, "git push", PUSH_REFUSED.fingerprint, step, kind)


def remember(
    store: SqliteStore,
    session_id: str,
    task: str | None,
    *,
    failures: Sequence[Failure] = (),
    signs: Sequence[ErrorSign] = (PUSH_REFUSED,),
    minutes: int = 0,
    **changes: object,
) -> None:
    """Save a session that ended so many minutes after all others did."""
    ended = NOW + timedelta(minutes=minutes)
    made = grade(
        session_id=session_id,
        session_file=f"/s/{session_id}.json",
        task_summary=task,
        failures=tuple(failures),
        total_errors=sum(failure.kind is not FailureKind.PROBE for failure in failures),
        **{"ended_at": ended, "ended_on": ended.date().isoformat(), **changes},
    )
    with store.transaction():
        save_grades(store, [msgspec.structs.replace(new_grade(made), signs=tuple(signs) if failures else ())])


def known_database(path: Path) -> Path:
    """Make a database with three sessions: two deployments, of which the later one failed, and a report."""
    store = SqliteStore(path, host="here")
    remember(store, "20261121_a", "Deploy the release to staging", request=1)
    remember(
        store,
        "20261121_b",
        "Deploy the release to production",
        failures=[refused(LOGIN), refused(index=8)],
        minutes=5,
        project="/home/x/site",
        task_completed=False,
        p_completed=0.2,
        errors_recovered=False,
        tool_calls=12,
        request=2,
    )
    remember(store, "20261121_c", "Write the weekly report", minutes=9, request=3)
    store.close()
    return path
