from __future__ import annotations

from datetime import timedelta

from grader_daemon.domain.installed import SkillHow, SkillUse
from grader_daemon.domain.similar import AskedAlike, Similar
from grader_daemon.domain.verdict import Outcome, VerdictCounts
from grader_daemon.domain.wording import wording_of
from grader_daemon.patterns.recurrence import similar
from tests.strategies import NOW

TASK = wording_of("deploy the release to production")
DONE, NOT_DONE, UNSURE, NO_ANSWER = Outcome


def session(number: int, outcome: Outcome = UNSURE, *, badly: bool | None = False, **changes: object) -> AskedAlike:
    made = AskedAlike(f"s{number:02}", NOW + timedelta(minutes=number), "m", outcome, badly, 7, TASK)
    return made._replace(**changes)  # type: ignore[arg-type]


def found_of(*sessions: AskedAlike, session_id: str | None = None, most: int = 100, listed: int = 10) -> Similar:
    return similar(sessions, session_id=session_id, request=7, wording=TASK, most=most, listed=listed)


def test_other_sessions_are_counted_by_likeness_model_and_verdict() -> None:
    near = wording_of("deploy the release to production now")
    other = wording_of("write a poem about the sea")
    sessions = [session(number, NOT_DONE if number == 1 else DONE, badly=number == 1) for number in range(5)]
    sessions += [
        session(5, NO_ANSWER, badly=None, model="n"),
        session(6, request=None, model="n"),  # of a timer, which has no digest
        session(7, request=8, wording=near, model="n"),
        session(8, request=9, wording=other),
        session(9, request=9, wording=None),
    ]

    found = found_of(*sessions, session_id="s00", listed=2)

    assert (found.same, found.near, found.more) == (6, 1, False)
    assert found.verdicts == VerdictCounts(done=3, not_done=1, unsure=2, no_answer=1)
    assert (found.ended_badly.sample, found.ended_badly.value) == (6, 1 / 6)
    assert [(each.model, each.sessions, each.ended_badly.sample) for each in found.models] == [("m", 4, 4), ("n", 3, 2)]
    assert [each.verdicts.unsure for each in found.models] == [0, 2]
    assert [each.ended_badly.value for each in found.models] == [None, None]  # of fewer than five
    assert [(each.session_id, each.likeness == 1) for each in found.sessions] == [("s07", False), ("s06", True)]


def test_other_sessions_are_counted_by_the_skills_that_they_used() -> None:
    view, manage = (SkillUse("deploy", how) for how in (SkillHow.VIEW, SkillHow.MANAGE))
    pdf = SkillUse("pdf", SkillHow.COMMAND)
    sessions = [session(number, badly=number > 1, skills=(view, manage)) for number in range(6)]
    sessions += [
        session(6, skills=(view, pdf)),
        session(7, badly=True, skills=(manage,)),
        session(8, badly=True, skills=None),
    ]

    found = found_of(*sessions)

    assert [(each.skill, each.sessions) for each in found.skills] == [("deploy", 7), ("pdf", 1)]
    assert [each.ended_badly.value for each in found.skills] == [4 / 7, None]


def test_that_only_the_newest_were_looked_at_is_said() -> None:
    assert found_of(session(1), session(2), most=2).more


def test_nothing_is_like_a_request_that_is_not_known() -> None:
    found = similar([session(1)], session_id="x", request=None, wording=None, most=9, listed=9)
    assert (found.same, found.near, found.sessions, found.ended_badly.value) == (0, 0, (), None)
