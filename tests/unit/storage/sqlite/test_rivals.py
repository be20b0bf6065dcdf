from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.identity import Identity, beaten_by
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.records import NewGrade
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, identities, identity
from tests.units import unit

SECOND = timedelta(seconds=1)
MANY = 300
STEPS = 3_000
"""Of SQLite's machine, for one session; a row that is read takes about 20."""


def save(store: SqliteStore, *sessions: Identity) -> None:
    with store.transaction():
        save_grades(
            store,
            [
                NewGrade(
                    grade=grade(
                        session_id=one.session_id,
                        session_file=one.unit.locator,
                        session_start=one.started_at,
                        state=one.state,
                        kind=one.kind,
                    ),
                    identity=one,
                    digest="d",
                )
                for one in sessions
            ],
        )


def test_a_session_stands_as_it_was_saved(store: SqliteStore) -> None:
    saved = identity(session_id="a", lineage=1, opening=2, conversation=3, compacted=True, named_after_id=False)
    saved = msgspec.structs.replace(saved, first_call=4, calls=b"\x00abc")
    save(store, saved)
    assert store.rivals.standing("a") == saved
    assert store.rivals.standing("b") is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(found=st.lists(identities(), max_size=6, unique_by=lambda one: one.session_id), new=identities())
def test_whoever_beats_a_session_or_is_beaten_by_it_is_found(
    store: SqliteStore, found: list[Identity], new: Identity
) -> None:
    """Among sessions of which none beats another one, as graded ones are."""
    standing: list[Identity] = []
    for one in found:
        if one.session_id != new.session_id and not any(
            beaten_by(one, other) or beaten_by(other, one) for other in standing
        ):
            standing.append(one)
    with store.transaction():
        for table in ("session_grades", "session_details", "session_list"):
            store.connection.execute(f"DELETE FROM {table}")
    save(store, *standing)

    rivals = store.rivals.of(new)

    assert all(rival in standing for rival in rivals)
    assert store.rivals.related([new]) == (frozenset({new.session_id}) if _is_related(new, standing) else frozenset())
    loses = any(beaten_by(other, new) for other in standing)
    assert loses == any(beaten_by(rival, new) for rival in rivals)
    if not loses:
        beaten = {other.session_id for other in standing if beaten_by(new, other)}
        assert {rival.session_id for rival in rivals if beaten_by(new, rival)} == beaten


def _is_related(new: Identity, standing: list[Identity]) -> bool:
    """Does it share a chain or a conversation with one of them?"""
    chain, conversation = (new.lineage, new.opening), new.conversation
    return any(
        (new.lineage is not None and (one.lineage, one.opening) == chain)
        or (conversation is not None and one.conversation == conversation)
        or (new.first_call is not None and one.first_call == new.first_call)
        for one in standing
    )


def test_only_sessions_that_the_database_may_know_are_asked_for(store: SqliteStore) -> None:
    save(store, identity(session_id="a", lineage=1, opening=None, conversation=3, first_call=7))

    with store.transaction():
        passed = LedgerEntry(
            unit=unit("/s/copy"),
            stamp=b"s",
            written_ns=1,
            state=FileState.SKIPPED,
            session_id="passed-over",
            reason="copy",
        )
        store.save_entries([passed], now=NOW)

    related = store.rivals.related(
        [
            identity(session_id="passed-over", lineage=None, conversation=None),
            identity(session_id="a", lineage=None, conversation=None),
            identity(session_id="same-start", lineage=1, opening=None, conversation=None),
            identity(session_id="other-chain", lineage=1, opening=2, conversation=None),
            identity(session_id="same-conversation", lineage=None, conversation=3),
            identity(session_id="same-first-call", first_call=7, calls=b"abcd"),
            identity(session_id="other-first-call", first_call=1, calls=b"abcd"),
            identity(session_id="neither", lineage=3, conversation=1),
            identity(session_id="no-keys", lineage=None, conversation=None),
        ]
    )

    assert related == {"a", "same-start", "same-conversation", "same-first-call", "passed-over"}


def many(**changes: object) -> list[Identity]:
    """Sessions that share what `changes` says, and that all stand."""
    return [
        identity(**({"session_id": f"s{number:03}", "unit": unit(f"/s/{number:03}")} | changes))
        for number in range(MANY)
    ]


def at(moment: datetime, **changes: object) -> dict[str, object]:
    return {"started_at": moment, "updated_at": moment} | changes


@pytest.mark.parametrize(
    ("standing", "new"),
    [
        pytest.param({"lineage": 1}, {"lineage": 1}, id="one-start"),
        pytest.param({"lineage": 1, "opening": 2}, {"lineage": 1, "opening": 2}, id="one-chain-of-answered-links"),
        pytest.param(
            {"lineage": 1, "opening": 2},
            {"lineage": 1, "opening": 2, "state": SessionState.OPEN, "updated_at": NOW + SECOND},
            id="one-chain-that-goes-on",
        ),
        pytest.param(
            {"lineage": 1, "opening": 2},
            {"lineage": 1, "opening": 2, "compacted": True, "updated_at": NOW - SECOND},
            id="one-chain-with-an-old-summary",
        ),
        pytest.param({"conversation": 3}, {"conversation": 3}, id="one-conversation-at-the-same-time"),
        pytest.param(at(NOW, conversation=3), at(NOW, conversation=3), id="one-conversation-of-one-moment"),
        pytest.param({"conversation": 3}, at(NOW + SECOND, conversation=3), id="a-copy-of-a-conversation"),
    ],
)
def test_a_session_finds_its_rivals_among_many_by_reading_a_few_rows(
    store: SqliteStore, standing: dict[str, object], new: dict[str, object]
) -> None:
    save(store, *many(**standing))
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += 10
        return False

    store.connection.set_progress_handler(count, 10)
    rivals = store.rivals.of(identity(**({"session_id": "z"} | new)))
    store.connection.set_progress_handler(None)

    assert len(rivals) <= 3
    assert steps < STEPS
