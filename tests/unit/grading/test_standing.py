"""How a result stands by the record, and what proves it."""

from __future__ import annotations

from typing import Any

import pytest

from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.domain.grade import Reason
from grader_daemon.domain.session_result import Check, CheckKind, CheckResult, EndingKind, ResultStanding
from grader_daemon.grading import CATALOG
from grader_daemon.grading.standing import evidence_of
from tests.strategies import analysis

TESTS = Check(CheckKind.TESTS, CheckResult.PASSED, index=6, change=4)
RED = Check(CheckKind.TESTS, CheckResult.SOME_FAILED, index=6, change=4)
SENT = Claim(ClaimKind.SENT, Support.UNSUPPORTED, None, 9)
NOT_SENT = Claim(ClaimKind.SENT, Support.CONTRADICTED, None, 9, (3,))
SAYS_DONE = Reason("task_completed", "completion.phrase", 1.0, (9,))


@pytest.mark.parametrize(
    ("found", "said", "standing", "rule", "messages"),
    [
        ({"check": TESTS, "claims": (SENT, NOT_SENT)}, (), "contradicted", "standing.contradicted", (3, 9)),
        ({"check": RED, "admitted": True}, (), "check_failed", "standing.check_failed", (4, 6)),
        ({"check": TESTS, "admitted": True}, (), "admitted", "standing.admitted", (9,)),
        ({"check": TESTS, "ending": EndingKind.GAVE_UP}, (), "admitted", "standing.admitted", (9,)),
        ({"check": TESTS, "claims": (SENT,)}, (), "checked", "standing.checked.tests", (4, 6)),
        (
            {"check": Check(CheckKind.CONFIRMED, CheckResult.PASSED, index=4, change=4)},
            (),
            "checked",
            "standing.checked.confirmed",
            (4,),
        ),
        ({"check": Check(CheckKind.TESTS, CheckResult.PASSED, index=6)}, (), "checked", "standing.checked.tests", (6,)),
        ({"claims": (SENT,)}, (), "claimed", "standing.claimed", (9,)),
        ({}, (SAYS_DONE,), "claimed", "standing.claimed", (9,)),
        ({}, (), "no_claim", "standing.no_claim", (9,)),
    ],
)
def test_of_several_the_first_that_holds(
    found: dict[str, Any], said: tuple[Reason, ...], standing: str, rule: str, messages: tuple[int, ...]
) -> None:
    made = analysis(**{"ending": EndingKind.ANSWERED, "final_index": 9, **found})
    ending, told, reasons = evidence_of(made, said, messages=10)
    assert (ending, told) == (made.ending, ResultStanding(standing))
    assert reasons[0] == Reason("ending", f"ending.{made.ending}", None, (9,))
    assert reasons[1] == Reason("standing", rule, None, messages)
    assert all(reason.rule in CATALOG for reason in reasons)


def test_an_open_session_has_neither() -> None:
    assert evidence_of(analysis(check=TESTS), (), messages=10) == (None, None, ())


def test_a_session_without_a_message_has_none_to_show() -> None:
    assert evidence_of(analysis(ending=EndingKind.NO_ANSWER), (), messages=0)[2][0].messages == ()


def test_each_ending_check_and_standing_has_a_sentence() -> None:
    rules = {f"ending.{kind}" for kind in EndingKind} | {f"standing.checked.{kind}" for kind in CheckKind}
    rules |= {f"standing.{each}" for each in ResultStanding if each is not ResultStanding.CHECKED}
    assert rules <= CATALOG.keys()
