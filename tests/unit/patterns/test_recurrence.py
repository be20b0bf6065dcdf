from __future__ import annotations

import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.analysis import Called
from grader_daemon.domain.installed import SkillHow, SkillUse
from grader_daemon.domain.similar import AskedAlike, Similar
from grader_daemon.domain.wording import wording_of
from grader_daemon.patterns.recurrence import parting_call, similar
from tests.strategies import NOW

READ, TEST, PUSH, LIST = Called("read_file", None), *(Called("terminal", each) for each in ("pytest", "git push", "ls"))
CALLS = st.lists(st.sampled_from([READ, TEST, PUSH, LIST]), max_size=6)
TASK = wording_of("deploy the release to production")
_CALLS_OF: dict[str, tuple[Called, ...]] = {}


def session(number: int, *, completed: bool | None, calls: tuple[Called, ...] = (), **changes: object) -> AskedAlike:
    made = AskedAlike(f"s{number:02}", NOW + timedelta(minutes=number), "m", completed, 7, TASK)
    _CALLS_OF[made.session_id] = calls
    return made._replace(**changes)  # type: ignore[arg-type]


def found_of(*sessions: AskedAlike, session_id: str | None = None, most: int = 100, listed: int = 10) -> Similar:
    return similar(
        sessions,
        session_id=session_id,
        request=7,
        wording=TASK,
        most=most,
        listed=listed,
        calls_of=_CALLS_OF.__getitem__,
    )


# -- what became of it ---------------------------------------------------------------------------------------------


def test_other_sessions_are_counted_by_likeness_model_and_verdict() -> None:
    near = wording_of("deploy the release to production now")
    other = wording_of("write a poem about the sea")
    sessions = [session(number, completed=number != 1) for number in range(5)]
    sessions += [
        session(5, completed=None, model="n"),
        session(6, completed=True, request=None, model="n"),  # of a timer, which has no digest
        session(7, completed=True, request=8, wording=near, model="n"),
        session(8, completed=True, request=9, wording=other),
        session(9, completed=True, request=9, wording=None),
    ]

    found = found_of(*sessions, session_id="s00", listed=2)

    assert (found.same, found.near, found.more) == (6, 1, False)
    assert (found.completion.sample, found.completion.value) == (6, 5 / 6)
    assert [(each.model, each.sessions, each.completion.sample) for each in found.models] == [("m", 4, 4), ("n", 3, 2)]
    assert [each.completion.value for each in found.models] == [None, None]  # of fewer than five
    assert [(each.session_id, each.likeness == 1) for each in found.sessions] == [("s07", False), ("s06", True)]


def test_other_sessions_are_counted_by_the_skills_that_they_used() -> None:
    view, manage = (SkillUse("deploy", how) for how in (SkillHow.VIEW, SkillHow.MANAGE))
    pdf = SkillUse("pdf", SkillHow.COMMAND)
    sessions = [session(number, completed=number > 1, skills=(view, manage)) for number in range(6)]
    sessions += [
        session(6, completed=False, skills=(view, pdf)),
        session(7, completed=True, skills=(manage,)),
        session(8, completed=True, skills=None),
    ]

    found = found_of(*sessions)

    assert [(each.skill, each.sessions) for each in found.skills] == [("deploy", 7), ("pdf", 1)]
    assert [each.completion.value for each in found.skills] == [4 / 7, None]


def test_that_only_the_newest_were_looked_at_is_said() -> None:
    assert found_of(session(1, completed=True), session(2, completed=True), most=2).more


def test_nothing_is_like_a_request_that_is_not_known() -> None:
    found = similar([session(1, completed=True)], session_id="x", request=None, wording=None, most=9, listed=9)
    assert (found.same, found.near, found.sessions, found.completion.value) == (0, 0, (), None)


# -- where failed and completed ones part --------------------------------------------------------------------------


def test_each_failed_session_is_compared_with_one_that_completed_it() -> None:
    failed = [session(n, completed=False, calls=(READ, PUSH)) for n in range(5)]
    completed = [session(10 + n, completed=True, calls=(READ, TEST, PUSH)) for n in range(7)]

    found = found_of(*failed, *completed, session(30, completed=True), session(31, completed=False))  # of these no call

    assert found.pairs == 5
    assert found.parting is not None
    assert (found.parting.command, found.parting.by_completed) == ("pytest", True)
    assert (found.parting.times, found.parting.pairs) == (5, 5)
    assert found.parting.share.low == pytest.approx(0.566, abs=0.001)  # Wilson, of 5 of 5


def test_a_call_that_only_failed_ones_make_is_told_as_theirs() -> None:
    others = [(READ,), (LIST,), (PUSH,), (READ,), (LIST,), (PUSH,)]
    found = parting_call([((TEST,), calls) for calls in others])
    assert found is not None
    assert (found.command, found.by_completed, found.times, found.pairs) == ("pytest", False, 6, 6)


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param([((READ,), (TEST,))] * 4, id="too-few-pairs"),
        pytest.param([((READ,), (READ, TEST))] * 9, id="one-only-goes-on-farther"),
        pytest.param([((READ,), (TEST,)), ((TEST,), (READ,))] * 5, id="as-often-the-one-as-the-other"),
        pytest.param([((READ,), (READ,))] * 9, id="the-same-calls"),
    ],
)
def test_nothing_is_told_where_no_call_tells_them_apart(
    pairs: list[tuple[tuple[Called, ...], tuple[Called, ...]]],
) -> None:
    assert parting_call(pairs) is None


@given(pairs=st.lists(st.tuples(CALLS, CALLS), max_size=20))
def test_what_is_told_holds_beyond_doubt_and_turns_with_the_outcomes(
    pairs: list[tuple[list[Called], list[Called]]],
) -> None:
    found, turned = parting_call(pairs), parting_call([(completed, failed) for failed, completed in pairs])

    assert (found is None) is (turned is None)
    if found is not None and turned is not None:
        assert found.pairs >= 5
        assert found.share.low is not None
        assert found.share.low >= 0.5
        assert found.share.low == turned.share.low


def test_outcomes_that_have_nothing_to_do_with_calls_are_seldom_told_of() -> None:
    """A valid test at this level tells of less than 5 % of such requests, whatever calls there are."""
    chance, told = random.Random(3), 0
    for _ in range(400):
        calls = [chance.choices([READ, TEST, PUSH, LIST], weights=[5, 3, 1, 1], k=4) for _ in range(24)]
        told += parting_call(list(zip(calls[:12], calls[12:], strict=True))) is not None
    assert told < 20
