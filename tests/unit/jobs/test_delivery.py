from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from grader_daemon.errors import DeliveryError, StoreError
from grader_daemon.integrations.receivers import Receiver, Webhook
from grader_daemon.jobs.delivery import Delivery
from grader_daemon.storage.sqlite.runs import Outbox
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import Clock
from tests.strategies import NOW

MINUTE = timedelta(minutes=1)
Logs = list[MutableMapping[str, Any]]


class Friend:
    """A receiver that takes everything while it is at home."""

    def __init__(self, *, at_home: bool = True) -> None:
        self.at_home = at_home
        self.asked: list[tuple[int, datetime]] = []
        self.got: list[tuple[int, str]] = []

    def send(self, payload: str, *, delivery: int, now: datetime) -> None:
        self.asked.append((delivery, now))
        if not self.at_home:
            raise DeliveryError("webhook: nobody there")
        self.got.append((delivery, payload))


@pytest.fixture(autouse=True)
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between the tries of one round, which nobody waits for here."""
    taken: list[float] = []
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=taken.append))
    return taken


@pytest.fixture
def logs() -> Iterator[Logs]:
    with capture_logs() as captured:
        yield captured


def put(store: SqliteStore, *channels: str, now: datetime = NOW) -> None:
    with store.transaction():
        for channel in channels:
            store.outbox.put(
                kind="alert", subject="1", event="opened", channel=channel, payload=f"to {channel}", now=now
            )


def waiting(store: SqliteStore) -> int:
    return store.outbox.waiting(["webhook", "command"])


def rounds(delivery: Delivery, clock: Clock, minutes: int) -> None:
    """A round every minute."""
    for _ in range(minutes):
        delivery.run(clock.now)
        clock.now += MINUTE


def minutes(friend: Friend) -> list[int]:
    """When a receiver was asked, each minute once."""
    return list(dict.fromkeys(int((at - NOW) / MINUTE) for _, at in friend.asked))


def test_nothing_due_is_nothing_done(store: SqliteStore, clock: Clock) -> None:
    assert not Delivery(store, {"webhook": Friend()}, clock=clock).run(clock.now)


def test_what_is_due_goes_out_in_order_to_its_receiver(store: SqliteStore, clock: Clock) -> None:
    webhook, command = Friend(), Friend()
    put(store, "webhook", "command", "webhook")
    assert Delivery(store, {"webhook": webhook, "command": command}, clock=clock).run(clock.now)
    assert webhook.got == [(1, "to webhook"), (3, "to webhook")]
    assert command.got == [(2, "to command")]
    assert {at for _, at in webhook.asked} == {clock.now}
    assert waiting(store) == 0


def test_what_arrived_is_not_sent_again(store: SqliteStore, clock: Clock) -> None:
    friend = Friend()
    put(store, "webhook")
    delivery = Delivery(store, {"webhook": friend}, clock=clock)
    delivery.run(clock.now)
    assert not delivery.run(clock.now + timedelta(days=1))
    assert len(friend.got) == 1


def test_a_round_takes_a_few_messages_at_a_time(store: SqliteStore, clock: Clock) -> None:
    friend = Friend()
    put(store, *["webhook"] * 25)
    delivery = Delivery(store, {"webhook": friend}, clock=clock)
    sent = []
    while delivery.run(clock.now):
        sent.append(len(friend.got))
    assert sent == [10, 20, 25]
    assert [number for number, _ in friend.got] == list(range(1, 26))


# -- what goes wrong -----------------------------------------------------------------------------------------------


def test_a_hiccup_is_bridged_within_the_round(
    store: SqliteStore, clock: Clock, logs: Logs, naps: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    friend = Friend()
    trouble = iter([True, True, False])

    def send(payload: str, *, delivery: int, now: datetime) -> None:
        friend.at_home = not next(trouble)
        Friend.send(friend, payload, delivery=delivery, now=now)

    monkeypatch.setattr(friend, "send", send)
    put(store, "webhook")
    Delivery(store, {"webhook": friend}, clock=clock).run(clock.now)
    assert (len(friend.asked), len(friend.got), logs) == (3, 1, [])
    assert len(naps) == 2
    assert max(naps) <= 2


def test_pauses_between_tries_grow_to_an_hour_and_never_end(store: SqliteStore, clock: Clock) -> None:
    friend = Friend(at_home=False)
    put(store, "webhook")
    rounds(Delivery(store, {"webhook": friend}, clock=clock), clock, 6 * 60)
    assert minutes(friend) == [0, 1, 6, 21, 81, 141, 201, 261, 321]
    assert {number for number, _ in friend.asked} == {1}
    assert waiting(store) == 1


def test_it_arrives_when_the_receiver_is_back(store: SqliteStore, clock: Clock) -> None:
    friend = Friend(at_home=False)
    put(store, "webhook")
    delivery = Delivery(store, {"webhook": friend}, clock=clock)
    rounds(delivery, clock, 100)
    friend.at_home = True
    rounds(delivery, clock, 60)
    assert friend.got == [(1, "to webhook")]


def test_a_failure_is_told_without_the_document(store: SqliteStore, clock: Clock, logs: Logs) -> None:
    put(store, "webhook")
    delivery = Delivery(store, {"webhook": Friend(at_home=False)}, clock=clock)
    rounds(delivery, clock, 2)
    assert [dict(line) for line in logs] == [
        {
            "event": "delivery.failed",
            "log_level": "warning",
            "delivery": 1,
            "channel": "webhook",
            "error": "webhook: nobody there",
            "attempts": attempts,
            "retry_seconds": seconds,
        }
        for attempts, seconds in ((1, 60.0), (2, 300.0))
    ]


def test_a_dead_receiver_keeps_no_other_waiting(store: SqliteStore, clock: Clock) -> None:
    dead, alive = Friend(at_home=False), Friend()
    put(store, "webhook", "command", "webhook", "command")
    Delivery(store, {"webhook": dead, "command": alive}, clock=clock).run(clock.now)
    assert [number for number, _ in alive.got] == [2, 4]
    assert waiting(store) == 2


def test_what_a_dead_receiver_heaps_up_keeps_no_other_waiting(store: SqliteStore, clock: Clock) -> None:
    dead, alive = Friend(at_home=False), Friend()
    put(store, *["webhook"] * 100)
    delivery = Delivery(store, {"webhook": dead, "command": alive}, clock=clock)
    rounds(delivery, clock, 3 * 60)
    put(store, "command", now=clock.now)
    rounds(delivery, clock, 5)
    assert len(alive.got) == 1


def test_nor_does_one_that_takes_its_time_to_be_dead(store: SqliteStore, clock: Clock) -> None:
    dead, alive = Friend(at_home=False), Friend()
    ask = dead.send

    def time_out(payload: str, *, delivery: int, now: datetime) -> None:
        clock.now += timedelta(seconds=10)
        ask(payload, delivery=delivery, now=now)

    put(store, *["webhook"] * 100)
    receivers: dict[str, Receiver] = {"webhook": SimpleNamespace(send=time_out), "command": alive}
    delivery = Delivery(store, receivers, clock=clock)
    rounds(delivery, clock, 60)
    put(store, "command", now=clock.now)
    put_at = clock.now
    while not alive.got:
        rounds(delivery, clock, 1)
    assert clock.now - put_at <= 10 * MINUTE


def test_a_receiver_that_is_not_set_any_more_is_waited_for(store: SqliteStore, clock: Clock, logs: Logs) -> None:
    put(store, "webhook")
    assert not Delivery(store, {}, clock=clock).run(clock.now)
    assert logs == []
    friend = Friend()
    assert Delivery(store, {"webhook": friend}, clock=clock).run(clock.now)
    assert len(friend.got) == 1


def test_messages_arrive_in_order_though_the_first_fails(store: SqliteStore, clock: Clock) -> None:
    friend = Friend(at_home=False)
    put(store, "webhook", "webhook", "webhook")
    delivery = Delivery(store, {"webhook": friend}, clock=clock)
    delivery.run(clock.now)
    assert {number for number, _ in friend.asked} == {1}
    friend.at_home = True
    assert not delivery.run(clock.now)
    clock.now += MINUTE
    delivery.run(clock.now)
    assert [number for number, _ in friend.got] == [1, 2, 3]


def test_a_message_that_is_never_taken_holds_the_others_up_for_some_hours_only(
    store: SqliteStore, clock: Clock
) -> None:
    class Fastidious(Friend):
        def send(self, payload: str, *, delivery: int, now: datetime) -> None:
            self.at_home = delivery != 1
            super().send(payload, delivery=delivery, now=now)

    friend = Fastidious()
    put(store, "webhook", "webhook")
    delivery = Delivery(store, {"webhook": friend}, clock=clock)
    rounds(delivery, clock, 6 * 60)
    put(store, "webhook", now=clock.now)
    rounds(delivery, clock, 1)
    assert [number for number, _ in friend.got] == [2, 3]
    rounds(delivery, clock, 61)
    assert minutes(friend)[-1] >= 6 * 60
    assert waiting(store) == 1


def test_a_bug_of_one_receiver_is_told_and_keeps_no_other_waiting(store: SqliteStore, clock: Clock, logs: Logs) -> None:
    class Buggy:
        def send(self, payload: str, *, delivery: int, now: datetime) -> None:  # noqa: ARG002
            raise ZeroDivisionError("bug")

    alive = Friend()
    receivers: dict[str, Receiver] = {"webhook": Buggy(), "command": alive}
    put(store, "webhook", "command")
    delivery = Delivery(store, receivers, clock=clock)
    rounds(delivery, clock, 7)
    assert len(alive.got) == 1
    assert waiting(store) == 1
    crashed = [line for line in logs if line["event"] == "job.crashed"]
    failed = [line for line in logs if line["event"] == "delivery.failed"]
    assert [bool(line["exc_info"]) for line in crashed] == [True] * 3
    assert [(line["error"], line["attempts"]) for line in failed] == [
        ("ZeroDivisionError: bug", attempts) for attempts in (1, 2, 3)
    ]


# -- clocks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("back", [timedelta(hours=2), timedelta(days=365)])
def test_a_clock_that_went_back_holds_nothing_up(store: SqliteStore, clock: Clock, back: timedelta) -> None:
    friend = Friend(at_home=False)
    put(store, "webhook")
    delivery = Delivery(store, {"webhook": friend}, clock=clock)
    rounds(delivery, clock, 30)
    clock.now -= back
    put(store, "webhook", now=clock.now + back)
    friend.at_home = True
    rounds(delivery, clock, 61)
    assert [number for number, _ in friend.got] == [1, 2]


def test_the_time_of_a_try_is_its_own(store: SqliteStore, clock: Clock) -> None:
    friend = Friend()
    put(store, "webhook")
    clock.now += MINUTE
    Delivery(store, {"webhook": friend}, clock=clock).run(NOW)
    assert friend.asked == [(1, clock.now)]
    assert store.rows("SELECT delivered_at FROM outbox") == [(clock.now.isoformat(),)]


# -- at least once -------------------------------------------------------------------------------------------------


def test_what_was_sent_and_not_noted_is_sent_again_with_its_number(
    store: SqliteStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    friend = Friend()
    put(store, "webhook")
    delivery = Delivery(store, {"webhook": friend}, clock=clock)

    def crash(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(Outbox, "delivered", crash)
        with pytest.raises(StoreError):
            delivery.run(clock.now)
    assert waiting(store) == 1
    delivery.run(clock.now)
    assert friend.got == [(1, "to webhook")] * 2
    assert waiting(store) == 0


def test_what_arrived_is_forgotten_after_a_month(store: SqliteStore, clock: Clock) -> None:
    put(store, "webhook", "elsewhere")
    delivery = Delivery(store, {"webhook": Friend()}, clock=clock)
    delivery.run(clock.now)
    for days, kept in ((29, [1, 2, 3]), (31, [2, 3, 4])):
        clock.now = NOW + timedelta(days=days)
        put(store, "webhook", now=clock.now)
        delivery.run(clock.now)
        assert [row[0] for row in store.rows("SELECT id FROM outbox ORDER BY id")] == kept


@pytest.fixture
def server() -> Iterator[tuple[HTTPServer, list[str]]]:
    """A receiver over the wire: it takes a delivery, then says that it broke, then takes it again."""
    numbers: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            numbers.append(self.headers["X-Grader-Delivery"])
            self.send_response(503 if len(numbers) <= 3 else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    listening = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield listening, numbers
    listening.shutdown()
    thread.join()
    listening.server_close()


def test_over_the_wire_a_delivery_keeps_its_number_until_it_is_taken(
    store: SqliteStore, clock: Clock, server: tuple[HTTPServer, list[str]]
) -> None:
    listening, numbers = server
    webhook = Webhook(f"http://127.0.0.1:{listening.server_port}/", secret=None, timeout_seconds=60)
    put(store, "webhook", "webhook")
    delivery = Delivery(store, {"webhook": webhook}, clock=clock)
    rounds(delivery, clock, 2)
    assert sorted(set(numbers)) == ["1", "2"]
    assert numbers[:3] == ["1"] * 3
    assert waiting(store) == 0
