"""Deeds and items for which there is no call."""

from __future__ import annotations

import pytest

from tests.unit.analysis.claims.test_deeds import Call, against

DEAL: Call = ("update_deal", {"id": "30119", "stage": "pilot"}, '{"id": "30119", "stage": "pilot"}')
ASKED = "Move the deal to Pilot and log the call"

MISSING = [
    pytest.param(
        "- moved to *pilot*\n- logged the call as an activity", "- logged the call as an activity", id="an-item"
    ),
    pytest.param("I've also notified Beatrix.", "I've also notified Beatrix.", id="in-the-first-person"),
    pytest.param("Done. We have archived the old deal.", None, id="an-update-may-have-archived"),
    pytest.param("✅ Unsubscribed you from TravelHit", "✅ Unsubscribed you from TravelHit", id="a-tick"),
    pytest.param("- Logged: 5 calls", None, id="a-field"),
    pytest.param("- cancelled by the customer in May", None, id="the-deed-of-another"),
    pytest.param("I haven't notified Beatrix, as I have sent nothing.", None, id="denied"),
    pytest.param('She wrote "I sent it" to him.', None, id="quoted"),
]


@pytest.mark.parametrize(("said", "words"), MISSING)
def test_a_deed_that_no_call_can_have_done_is_contradicted(said: str, words: str | None) -> None:
    expected = words and ("contradicted", "no_call", (), words)
    assert against(ASKED, DEAL, said=said) == expected


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(("add_note", {"id": "30119"}, "ok"), id="by-the-name-of-a-tool"),
        pytest.param(("update_deal", {"id": "30119", "activity": "call"}, "ok"), id="by-what-it-was-given"),
        pytest.param(("update_deal", {"id": "30119"}, '{"logged": true}'), id="by-what-it-answered"),
        pytest.param(("fetch", {"url": "https://crm.example/30119/l"}, "Logged."), id="by-a-page-that-was-opened"),
        pytest.param(("frobnicate", {}, "ok"), id="by-a-tool-of-which-nothing-is-known"),
    ],
)
def test_a_call_that_may_have_done_it_is_believed(call: Call) -> None:
    assert against(ASKED, DEAL, call, said="- logged the call for Alderney Foods") is None


def test_what_is_switched_off_does_nothing() -> None:
    call: Call = ("update_deal", {"id": "30119", "email_owner": False}, "ok")
    said = "I've notified the owner."
    assert against(ASKED, call, said=said) == ("contradicted", "no_call", (), said)


def test_each_deed_is_held_against_the_calls() -> None:
    said = "- logged the call\n- archived the thread"
    note: Call = ("add_note", {"id": "30119"}, "ok")
    assert against(ASKED, note, said=said) == ("contradicted", "no_call", (), "- archived the thread")


FREE: Call = ("freebusy", {"from": "2026-11-09T08:00"}, '{"free": [["10:00", "12:00"]]}')


@pytest.mark.parametrize(
    ("asked", "said", "is_told"),
    [
        pytest.param("Set up a kickoff on Monday", "The kickoff is booked for Monday, 10 am.", True, id="settled"),
        pytest.param("Is the kickoff booked?", "The kickoff is booked for Monday, 10 am.", False, id="a-question"),
        pytest.param("Set up a kickoff on Monday", "The kickoff is not booked.", False, id="denied"),
        pytest.param("Set up a kickoff on Monday", "The room is booked by Amy.", False, id="by-another"),
        pytest.param("Set up a kickoff on Monday", "Monday, 10 am is free.", False, id="no-deed"),
    ],
)
def test_a_deed_is_not_settled_by_looking(asked: str, said: str, is_told: bool) -> None:
    assert against(asked, FREE, said=said) == (("contradicted", "no_call", (), said) if is_told else None)


def test_a_deed_that_a_result_tells_of_may_be_settled() -> None:
    call: Call = ("freebusy", {}, '{"busy": ["Kickoff, booked by Amy"]}')
    assert against("Set up a kickoff", call, said="The kickoff is booked for Monday.") is None


def lead(number: int, result: str = '{"ok": true}') -> Call:
    return "lead_update", {"id": number, "state": "qualified"}, result


LEADS = "Set the leads 11, 12, 15 and 19 to qualified"
ALL = "All four leads (11, 12, 15 and 19) are qualified now."


def test_an_item_without_a_call_is_missing() -> None:
    assert against(LEADS, lead(11), lead(12), said=ALL) == ("partial", "fewer_done", (4,), ALL)


def test_a_name_without_a_call_is_missing() -> None:
    calls: list[Call] = [("cal_add", {"title": f"Interview {name}"}, "added") for name in ("Adeyemi", "Holm")]
    found = against("Put in 9:00 Adeyemi, 11:00 Holm, 14:00 Petrakis", *calls, said="All are in.\n- 14:00 Petrakis")
    assert found == ("partial", "fewer_done", (4,), "- 14:00 Petrakis")


@pytest.mark.parametrize(
    ("asked", "calls", "said"),
    [
        pytest.param(LEADS, [lead(11), lead(12), lead(15), lead(19)], ALL, id="each-has-one"),
        pytest.param(LEADS, [lead(11), lead(12)], "The leads 11 and 12 are qualified now.", id="not-told"),
        pytest.param(LEADS, [lead(11), lead(12)], ALL + " But 15 is locked.", id="admitted"),
        pytest.param(LEADS, [lead(11), lead(12), lead(7_001), lead(7_002)], ALL, id="under-another-number"),
        pytest.param(LEADS, [("leads_update", {"ids": [11, 12]}, "ok")], ALL, id="one-call-for-all"),
        pytest.param(
            LEADS, [("lead_update", {"ids": [11, 12]}, "ok"), lead(7_001)], ALL, id="one-call-for-two-of-them"
        ),
        pytest.param("Set the leads 11 and 15", [lead(11), lead(12)], "The lead 15 is set.", id="a-short-list"),
        pytest.param("Set 11, 12, then all others", [lead(11), lead(12)], "All others are set.", id="no-names"),
        pytest.param(LEADS, [lead(112), lead(115)], ALL, id="other-numbers"),
        pytest.param("Set 11, 12, 11", [lead(11), lead(13)], "12 is set.", id="one-named-twice"),
    ],
)
def test_other_items_are_let_be(asked: str, calls: list[Call], said: str) -> None:
    assert against(asked, *calls, said=said) is None
