from __future__ import annotations

from typing import Any

import pytest

from grader_daemon.domain.analysis import Category, Failure, FailureKind
from grader_daemon.domain.people import PersonSignal, SignalKind
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.reports.worries import worry_words
from tests.strategies import grade

HARMFUL = Failure(2, "terminal", Category.TIMEOUT)
RECOVERED = Failure(4, "terminal", Category.TIMEOUT, kind=FailureKind.RECOVERED)
COMPLAINT, THANKS = PersonSignal(SignalKind.COMPLAINT, 3), PersonSignal(SignalKind.THANKS, 5)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"standing": ResultStanding.CONTRADICTED, "ending": EndingKind.LEFT}, "claims something that was not done"),
        ({"standing": ResultStanding.CHECK_FAILED}, "its last check failed"),
        ({"ending": EndingKind.LIMIT, "failures": (HARMFUL,)}, "cut short by a limit"),
        ({"ending": EndingKind.GAVE_UP, "standing": ResultStanding.ADMITTED}, "gave up"),
        ({"signals_from_people": (COMPLAINT,)}, "the person was not satisfied"),
        ({"signals_from_people": (COMPLAINT, THANKS), "p_completed": 0.25}, "25 % likely done"),
        ({"asked_again": "b", "failures": (HARMFUL,)}, "the same task was given again"),
        ({"standing": ResultStanding.ADMITTED, "failures": (HARMFUL,)}, "admits that a part is not done"),
        ({"failures": (HARMFUL, HARMFUL, RECOVERED)}, "2 failed calls never worked later"),
        ({"failures": (RECOVERED,), "p_completed": 0.4}, "40 % likely done"),
        ({"p_completed": None}, None),
    ],
)
def test_the_gravest_fact_is_told(known: dict[str, Any], words: str | None) -> None:
    assert worry_words(grade(**known)) == words
