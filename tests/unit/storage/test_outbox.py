from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

import pytest

from grader_daemon.errors import GraderError
from grader_daemon.storage import Store
from grader_daemon.storage.outbox import Letter
from tests.strategies import NOW

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
PAYLOAD = '{"schema_version": 1, "text": "Größe"}'


def put(store: Store, *, channel: str = "webhook", payload: str = PAYLOAD, now: datetime = NOW) -> None:
    with store.transaction():
        store.outbox.put(alert=7, event="opened", channel=channel, payload=payload, now=now)


def due(store: Store, now: datetime = NOW, *, limit: int = 10) -> list[Letter]:
    return store.outbox.due(now, longest_pause=HOUR, limit=limit)


def failed(store: Store, number: int, *, again_at: datetime, error: str = "nobody there") -> None:
    with store.transaction():
        store.outbox.failed(number, error, again_at=again_at)


def test_a_message_is_due_at_once(store: Store) -> None:
    put(store)
    assert due(store) == [Letter(number=1, channel="webhook", payload=PAYLOAD, attempts=0)]
    assert store.outbox.waiting() == 1


def test_it_is_kept_with_the_alert_and_the_time(store: Store) -> None:
    put(store)
    assert store.rows("SELECT alert, event, created_at, delivered_at, last_error FROM alert_outbox") == [
        (7, "opened", NOW.isoformat(), None, None)
    ]


def test_it_goes_with_the_transaction_that_makes_it_true(store: Store) -> None:
    with suppress(GraderError), store.transaction():
        store.outbox.put(alert=7, event="opened", channel="webhook", payload=PAYLOAD, now=NOW)
        raise GraderError("in the middle")
    assert due(store) == []


def test_the_oldest_come_first_and_no_more_than_asked_for(store: Store) -> None:
    for number in range(5):
        put(store, payload=str(number), now=NOW - number * SECOND)
    assert [letter.payload for letter in due(store, limit=3)] == ["0", "1", "2"]


def test_what_arrived_is_not_due_any_more(store: Store) -> None:
    put(store)
    put(store, channel="command")
    with store.transaction():
        store.outbox.delivered(1, NOW)
    assert [letter.number for letter in due(store)] == [2]
    assert store.outbox.waiting() == 1
    assert store.rows("SELECT attempts, delivered_at FROM alert_outbox WHERE id = 1") == [(1, NOW.isoformat())]


@pytest.mark.parametrize(
    ("late", "is_due"),
    [
        pytest.param(-SECOND, False, id="just-before"),
        pytest.param(-timedelta(microseconds=1), False, id="the-last-moment-before"),
        pytest.param(0 * SECOND, True, id="in-time"),
        pytest.param(timedelta(microseconds=1), True, id="just-after"),
    ],
)
def test_what_failed_waits_until_it_is_tried_again(store: Store, late: timedelta, is_due: bool) -> None:
    put(store)
    failed(store, 1, again_at=NOW + HOUR)
    assert bool(due(store, NOW + HOUR + late)) is is_due


def test_what_failed_keeps_its_number_and_counts_the_tries(store: Store) -> None:
    put(store)
    failed(store, 1, again_at=NOW)
    failed(store, 1, again_at=NOW)
    assert due(store) == [Letter(number=1, channel="webhook", payload=PAYLOAD, attempts=2)]
    assert store.rows("SELECT last_error FROM alert_outbox") == [("nobody there",)]


def test_what_arrived_at_last_has_no_error_any_more(store: Store) -> None:
    put(store)
    failed(store, 1, again_at=NOW)
    with store.transaction():
        store.outbox.delivered(1, NOW)
    assert store.rows("SELECT attempts, last_error FROM alert_outbox") == [(2, None)]


def test_why_it_failed_is_kept_though_it_is_no_unicode(store: Store) -> None:
    put(store)
    failed(store, 1, again_at=NOW, error="command /s/\udcff: missing")
    assert store.rows("SELECT last_error FROM alert_outbox")[0][0].startswith("command /s/")


@pytest.mark.parametrize("ahead", [2 * HOUR, timedelta(days=365)])
def test_a_clock_that_was_ahead_holds_no_message_back(store: Store, ahead: timedelta) -> None:
    put(store, now=NOW + ahead)
    put(store)
    failed(store, 2, again_at=NOW + ahead + HOUR)
    assert [letter.number for letter in due(store)] == [1, 2]


def test_only_what_arrived_long_ago_is_forgotten(store: Store) -> None:
    for at in (NOW - HOUR, NOW, NOW + HOUR):
        put(store)
        number = store.rows("SELECT max(id) FROM alert_outbox")[0][0]
        with store.transaction():
            store.outbox.delivered(number, at)
    put(store, now=NOW - timedelta(days=400))
    with store.transaction():
        store.outbox.forget_delivered(NOW)
    assert [row[0] for row in store.rows("SELECT id FROM alert_outbox ORDER BY id")] == [2, 3, 4]


def test_a_number_is_never_given_twice(store: Store) -> None:
    put(store)
    with store.transaction():
        store.outbox.delivered(1, NOW)
        store.outbox.forget_delivered(NOW + SECOND)
    put(store)
    assert [letter.number for letter in due(store)] == [2]
