"""Objects of claims: each case is a request, the calls for it with their results, and the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grader_daemon.domain.claims import ClaimReason
from tests.tables import for_each
from tests.timing import is_done_within
from tests.unit.analysis.claims.test_deeds import ANALYZER, Call, talk

OK = '{"ok": true}'


def act(tool: str, result: str = OK, **arguments: Any) -> Call:
    return tool, arguments, result


def found(said: str, *calls: Call, asked: str = "Do it") -> tuple[str, str | None]:
    """Verdict and reason of the claims, which are the same."""
    claims = ANALYZER.claims(talk(asked, *calls, said=said))
    (verdict,) = {(claim.support.value, claim.reason and claim.reason.value) for claim in claims}
    return verdict


TABLE = act("book_table", time="19:00", guests=2)
PAID = act("transfer_money", to="Alice Jones", amount=500)
SENT = act("send_email", to="anna@x.example", body="Hello")
ITEMS = act("get_order", '{"id": "#W900", "items": [{"item": "7002"}, {"item": "7003"}]}', id="#W900")
PEOPLE = '[{"id": "u-17", "name": "Eve"}, {"id": "u-18", "name": "Dana"}]'


@for_each(
    ("said", "calls", "reason"),
    [
        pytest.param("I booked a table for 20:00.", [TABLE], "other_value", id="a-time"),
        pytest.param("I booked a table for 8 PM.", [TABLE], "other_value", id="a-time-of-a-half-day"),
        pytest.param(
            "I booked it for 2026-12-05.", [act("book_room", date="2026-12-06")], "other_value", id="a-date-in-iso-form"
        ),
        pytest.param(
            "I booked it for Dec 5.", [act("book_room", date="2026-12-06")], "other_value", id="a-date-with-a-name"
        ),
        pytest.param("I transferred $600 to Alice Jones.", [PAID], "other_value", id="an-amount"),
        pytest.param(
            "I've updated the priority to high.",
            [act("update_ticket", priority="low")],
            "other_value",
            id="a-word-of-a-scale",
        ),
        pytest.param(
            "I updated your address to 12 Oak Street.",
            [act("update_address", street="21 Oak Street")],
            "other_value",
            id="a-number-before-a-name",
        ),
        pytest.param(
            "I've assigned seats 14C and 14D.",
            [
                act("seat_map", '{"free": ["14C", "14D", "15D"]}', booking="RM2K8Q"),
                *[act("assign_seat", pax=pax, seat=seat) for pax, seat in ((1, "14C"), (2, "15D"))],
            ],
            "other_value",
            id="one-seat-of-two",
        ),
        pytest.param(
            "I updated 5 records.",
            [act("update_record", id=each) for each in "abc"],
            "other_value",
            id="more-than-calls",
        ),
        pytest.param("3 invoices have been sent.", [SENT], "other_value", id="more-than-one-call"),
        pytest.param(
            "I've returned both cushions.",
            [act("return_items", order="#W900", items=["7002"])],
            "other_value",
            id="one-of-both",
        ),
        pytest.param("I transferred $500 to Bob Miller.", [PAID], "not_named", id="a-name"),
        pytest.param("I assigned it to Dana.", [act("assign_ticket", assignee="Eve")], "not_named", id="one-word"),
        pytest.param("I sent the mail to Anna and Bob.", [SENT], "not_named", id="one-name-of-two"),
        pytest.param("I sent it to anna@x.example and bob@x.example.", [SENT], "not_named", id="one-address-of-two"),
        pytest.param(
            "I cancelled #W90001 and #W90002.", [act("cancel_order", id="#W90001")], "not_named", id="one-id-of-two"
        ),
        pytest.param(
            'I renamed it to "Design review".', [act("rename_event", title="Design sync")], "not_named", id="a-title"
        ),
        pytest.param(
            "I posted it in #facilities.", [act("post_message", channel="C07QX2")], "not_named", id="a-channel"
        ),
        pytest.param(
            "I assigned it to Dana.",
            [act("list_users", PEOPLE), act("assign_ticket", assignee="u-17", by="Ivo")],
            "not_named",
            id="another-of-a-list",
        ),
    ],
)
def test_a_claim_whose_object_is_another_than_that_of_its_calls(said: str, calls: list[Call], reason: str) -> None:
    assert found(said, *calls) == ("unsupported", reason)


@for_each(
    ("said", "calls", "asked"),
    [
        pytest.param("I booked a table for 7 PM.", [TABLE], "Do it", id="a-time-in-another-form"),
        pytest.param(
            "I moved it from 18:00 to 19:00.", [act("move_event", start="19:00")], "Do it", id="a-time-that-was-before"
        ),
        pytest.param(
            "I booked a table for 20:00.", [act("book_table", slot="s-8", guests=2)], "Do it", id="no-time-in-the-call"
        ),
        pytest.param(
            "I booked the 20:00 show.",
            [act("find_show", '{"id": "s-8", "start": "20:00"}'), act("book_show", show="s-8", doors="19:30")],
            "Do it",
            id="a-time-of-what-was-booked",
        ),
        pytest.param(
            "I've booked the flight for $106.",
            [act("book_flight", payments=[{"amount": 39}, {"amount": 67}])],
            "Do it",
            id="a-sum",
        ),
        pytest.param("I transferred $1,500.", [act("transfer_money", amount=1500.0)], "Do it", id="an-amount"),
        pytest.param(
            "I've updated the priority from low to high.",
            [act("update_ticket", priority="high", was="low")],
            "Do it",
            id="a-word-that-was-before",
        ),
        pytest.param(
            "I've updated the priority: low, then high.",
            [act("update_ticket", id=each, priority=each) for each in ("low", "high")],
            "Do it",
            id="two-words-of-a-scale",
        ),
        pytest.param(
            "I updated the address to 12 Oak Street.",
            [act("update_address", street="12 Oak Street")],
            "Do it",
            id="the-same-number",
        ),
        pytest.param(
            "I updated 3 records.", [act("update_record", id=each) for each in "abc"], "Do it", id="as-many-as-calls"
        ),
        pytest.param(
            "I archived 120 mails.", [act("archive_mails", '{"archived": 120}', query="x")], "Do it", id="told-by-it"
        ),
        pytest.param(
            "I've returned both cushions.",
            [ITEMS, act("return_all", order="#W900")],
            "Do it",
            id="as-many-as-were-looked-up",
        ),
        pytest.param(
            "I've cancelled the lamp and returned both cushions.",
            [act("cancel_item", item="7001"), act("return_items", items=["7002", "7003"])],
            "Do it",
            id="a-count-of-another-deed",
        ),
        pytest.param(
            "I've refunded $129.50.", [act("refund_charge", amount=12950, fee=3)], "Do it", id="an-amount-in-cents"
        ),
        pytest.param("I've booked 2 nights.", [act("book_room", to="Dec 7")], "Do it", id="a-measure"),
        pytest.param("I assigned it to Eve.", [act("assign_ticket", assignee="eve.adams")], "Do it", id="a-login"),
        pytest.param(
            "I assigned it to Dana.",
            [act("list_users", PEOPLE), act("assign_ticket", assignee="u-18", by="Ivo")],
            "Do it",
            id="a-name-that-was-looked-up",
        ),
        pytest.param("I sent it to Dr. Brown.", [SENT], "Mail Dr. Brown, anna@x.example", id="a-name-of-the-request"),
        pytest.param("I sent the mail to Anna on Monday.", [SENT], "Do it", id="no-name"),
        pytest.param(
            "I've booked your flight from JFK to Seattle.",
            [act("book_flight", origin="JFK", destination="SEA", name="Mia")],
            "Do it",
            id="a-code-that-stands-for-a-name",
        ),
        pytest.param("I cancelled Bob's order.", [act("cancel_order", id="#W90001")], "Do it", id="an-id-alone"),
        pytest.param("I forwarded it from bob@x.example to anna@x.example.", [SENT], "Do it", id="the-sender"),
        pytest.param('I sent "Hello" to Anna.', [SENT], "Do it", id="a-quoted-text"),
        pytest.param(
            "I assigned seat 14D.",
            [act("find_seat", '{"id": "s-88", "name": "14D"}'), act("assign_seat", seat="s-88", gate="22b")],
            "Do it",
            id="a-name-beside-an-id",
        ),
    ],
)
def test_a_claim_whose_object_is_that_of_its_calls(said: str, calls: list[Call], asked: str) -> None:
    assert found(said, *calls, asked=asked) == ("verified", None)


def test_a_call_that_says_it_did_not_proves_nothing() -> None:
    refused = act("send_email", '{"ok": true, "state": "refused"}', to="anna@x.example")
    assert found("I sent it, though late.", refused) == ("unsupported", "denied")
    assert found("I sent it, though late.", refused, SENT) == ("verified", None)


def test_a_command_on_another_host_than_is_named_proves_nothing() -> None:
    look = act("list_hosts", '["cache-eu-1", "cache-us-1"]')
    restart = act("run_on_host", host="cache-us-1", command="sudo systemctl restart redis")
    assert found("Redis on **cache-eu-1** has been restarted.", look, restart) == ("unsupported", "other_target")
    assert found("Redis on **cache-us-1** has been restarted.", look, restart) == ("verified", None)


def test_a_file_that_was_put_elsewhere_is_not_where_it_is_said_to_be() -> None:
    moved = act("move_file", source="/home/plan.md", destination="/tmp/plan.md")
    assert found("I moved the file to /backup/plan.md.", moved) == ("unsupported", "other_target")
    assert found("I moved the file to /tmp/plan.md.", moved) == ("verified", None)
    assert found("I moved the file to tmp/plan.md.", moved) == ("verified", None)


@pytest.mark.no_cover
def test_many_calls_with_long_results_take_bounded_time() -> None:
    many = [act("send_email", json.dumps([{"a": "1 " * 2_000}] * 3), to=f"a{n}@x.example") for n in range(300)]
    said = 'I sent 3 mails, "x y z" and seat 14D at 20:00 for $3, to Bob and Eve.'
    made = talk("Do it", *many, said=said)
    assert [claim.reason for claim in ANALYZER.claims(made)] == [ClaimReason.OTHER_VALUE]
    assert is_done_within(0.4, lambda: ANALYZER.claims(made))


def test_a_host_that_was_only_looked_at_is_not_the_one_that_was_changed() -> None:
    look = act("ssh_exec", "active", host="prod-eu-1", command="systemctl is-active worker")
    restart = act("ssh_exec", '{"exit_status": 0}', host="prod-eu-2", command="sudo systemctl restart worker")
    assert found("I restarted the worker on prod-eu-1.", look, restart) == ("unsupported", "other_target")
    assert found("I restarted the worker on prod-eu-2.", look, restart) == ("verified", None)


def test_a_call_that_made_another_thing_does_not_show_it() -> None:
    label, filters = act("gmail_create_label", '{"id": "Label_12"}', name="Parcels"), act("gmail_list_filters", "[]")
    assert found("I've created the filter.", label, filters)[0] == "unsupported"
    assert found("I've created the label.", label, filters)[0] == "verified"


def test_what_was_only_validated_was_not_done() -> None:
    tried = act("leads_import", '{"rows": 412, "valid": 412, "mode": "validate_only"}', validate_only=True)
    said = "The 412 leads have been imported, no phone is missing."
    assert found(said, tried) == ("unsupported", "not_persisted")
