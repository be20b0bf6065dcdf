from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from grader_daemon.errors import GraderError
from grader_daemon.storage.records import OutboxMessage
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
PAYLOAD = '{"schema_version": 1, "text": "Größe"}'


def put(store: SqliteStore, *, channel: str = "webhook", payload: str = PAYLOAD, now: datetime = NOW) -> None:
    with store.transaction():
        store.outbox.put(kind="alert", subject="7", event="opened", channel=channel, payload=payload, now=now)


def delivered(store: SqliteStore, number: int, now: datetime = NOW) -> None:
    with store.transaction():
        store.outbox.delivered(number, now)


def failed(store: SqliteStore, number: int, *, again_at: datetime = NOW, error: str = "nobody there") -> None:
    with store.transaction():
        store.outbox.failed(number, error, again_at=again_at)


def next_number(store: SqliteStore, channel: str = "webhook") -> int | None:
    message = store.outbox.next(channel)
    return None if message is None else message.number


def test_a_message_waits_for_its_receiver_from_now_on(store: SqliteStore) -> None:
    put(store)
    assert store.outbox.next("webhook") == OutboxMessage(
        number=1, channel="webhook", payload=PAYLOAD, attempts=0, next_at=NOW
    )


def test_it_is_kept_with_the_alert_and_the_time(store: SqliteStore) -> None:
    put(store)
    assert store.rows("SELECT kind, subject, event, created_at, delivered_at, last_error FROM outbox") == [
        ("alert", "7", "opened", NOW.isoformat(), None, None)
    ]


def test_it_goes_with_the_transaction_that_makes_it_true(store: SqliteStore) -> None:
    with suppress(GraderError), store.transaction():
        store.outbox.put(kind="alert", subject="7", event="opened", channel="webhook", payload=PAYLOAD, now=NOW)
        raise GraderError("in the middle")
    assert next_number(store) is None


def test_the_oldest_of_a_channel_comes_first_whatever_the_clock_said(store: SqliteStore) -> None:
    put(store, channel="command")
    for number in range(3):
        put(store, payload=str(number), now=NOW - number * SECOND)
    given = []
    while (message := store.outbox.next("webhook")) is not None:
        given.append(message.payload)
        delivered(store, message.number)
    assert given == ["0", "1", "2"]
    assert next_number(store, "command") == 1


def test_a_message_that_failed_stays_the_next_with_its_number_and_counts_the_tries(store: SqliteStore) -> None:
    put(store)
    put(store)
    failed(store, 1, again_at=NOW + SECOND)
    failed(store, 1, again_at=NOW + HOUR)
    assert store.outbox.next("webhook") == OutboxMessage(
        number=1, channel="webhook", payload=PAYLOAD, attempts=2, next_at=NOW + HOUR
    )
    assert store.rows("SELECT last_error FROM outbox WHERE id = 1") == [("nobody there",)]


def test_a_message_that_was_tried_many_times_stands_back_behind_the_others(store: SqliteStore) -> None:
    put(store)
    put(store)
    for _ in range(7):
        failed(store, 1)
    assert next_number(store) == 1
    failed(store, 1)
    assert next_number(store) == 2
    delivered(store, 2)
    assert next_number(store) == 1


def test_messages_that_stand_back_take_turns(store: SqliteStore) -> None:
    put(store)
    put(store)
    for number in (1, 2):
        for _ in range(8):
            failed(store, number, again_at=NOW + number * HOUR)
    assert next_number(store) == 1
    failed(store, 1, again_at=NOW + 3 * HOUR)
    assert next_number(store) == 2


def test_what_arrived_is_not_given_any_more(store: SqliteStore) -> None:
    put(store)
    put(store)
    delivered(store, 1)
    assert next_number(store) == 2
    assert store.rows("SELECT attempts, delivered_at FROM outbox WHERE id = 1") == [(1, NOW.isoformat())]


def test_what_arrived_at_last_has_no_error_any_more(store: SqliteStore) -> None:
    put(store)
    failed(store, 1)
    delivered(store, 1)
    assert store.rows("SELECT attempts, last_error FROM outbox") == [(2, None)]


def test_why_it_failed_is_kept_though_it_is_no_unicode(store: SqliteStore) -> None:
    put(store)
    failed(store, 1, error="command /s/\udcff: missing")
    assert store.rows("SELECT last_error FROM outbox")[0][0].startswith("command /s/")


def test_messages_that_wait_are_counted_for_those_who_are_set(store: SqliteStore) -> None:
    for channel in ("webhook", "webhook", "command", "gone"):
        put(store, channel=channel)
    delivered(store, 1)
    failed(store, 2)
    assert store.outbox.waiting(["webhook", "command"]) == 2
    assert store.outbox.waiting([]) == 0
    assert store.outbox.waiting(["nobody"]) == 0


def test_only_what_arrived_long_ago_is_forgotten(store: SqliteStore) -> None:
    for number, at in enumerate((NOW - HOUR, NOW, NOW + HOUR), start=1):
        put(store)
        delivered(store, number, at)
    put(store, now=NOW - timedelta(days=400))
    with store.transaction():
        store.outbox.forget_delivered(NOW)
    assert [row[0] for row in store.rows("SELECT id FROM outbox ORDER BY id")] == [2, 3, 4]


def test_a_number_is_never_given_twice(store: SqliteStore) -> None:
    put(store)
    delivered(store, 1)
    with store.transaction():
        store.outbox.forget_delivered(NOW + SECOND)
    put(store)
    assert next_number(store) == 2
