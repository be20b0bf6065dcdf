from __future__ import annotations

import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.identity import (
    MOST_COMPARED_CALLS,
    Decision,
    Fallen,
    Identities,
    Identity,
    beaten_by,
    calls_of,
    decide,
    is_like,
    outranks,
    rival_keys,
)
from grader_daemon.domain.session import Message, Session, SessionKind, SkipReason, ToolCall
from grader_daemon.domain.unit import Unit
from tests.strategies import NOW, identities, identity, session, user
from tests.units import unit

LATER = NOW + timedelta(seconds=1)
EARLIER = NOW - timedelta(seconds=1)
OPEN = SessionState.OPEN

NEW, OLD = unit("/new/b.json"), unit("/old/b.json")


def link(name: str, **changes: object) -> Identity:
    """A link of one compression chain."""
    return identity(
        **({"session_id": name, "unit": unit(f"/s/session_{name}.json"), "lineage": 1, "state": OPEN} | changes)
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param({"updated_at": LATER}, {}, id="newer-content-counts"),
        pytest.param({"messages": 5}, {}, id="of-equal-age-the-longer-counts"),
        pytest.param({"written_ns": 1}, {}, id="of-equal-content-the-one-written-later"),
        pytest.param({"unit": unit("/a/session_x.json")}, {}, id="of-equals-the-first-by-name"),
        pytest.param(
            {},
            {"named_after_id": False, "updated_at": LATER, "messages": 9},
            id="a-file-of-another-name-does-not-count",
        ),
        pytest.param({"updated_at": EARLIER}, {"updated_at": None}, id="any-time-is-later-than-none"),
    ],
)
def test_of_two_files_of_a_session_one_counts(one: dict[str, object], other: dict[str, object]) -> None:
    first, second = identity(**({"unit": unit("/new/session_x.json")} | one)), identity(**other)
    assert (outranks(first, second), outranks(second, first)) == (True, False)


def test_a_file_does_not_outrank_itself() -> None:
    assert not outranks(identity(), identity())


@pytest.mark.parametrize(
    ("newer", "older", "beaten"),
    [
        pytest.param(link("b", updated_at=LATER), link("a"), True, id="newer-link"),
        pytest.param(link("b", messages=9), link("a"), True, id="of-equal-age-the-longer"),
        pytest.param(link("b"), link("a"), True, id="of-equal-length-the-later-id"),
        pytest.param(
            link("b", updated_at=LATER),
            link("a", state=SessionState.INTERRUPTED),
            True,
            id="the-older-was-given-up-by-idleness",
        ),
        pytest.param(
            link("b", updated_at=LATER), link("a", state=SessionState.COMPLETE), False, id="the-older-was-answered"
        ),
        pytest.param(
            link("b", updated_at=LATER, compacted=True),
            link("a", state=SessionState.COMPLETE),
            True,
            id="the-newer-sums-up-the-answered-older",
        ),
        pytest.param(
            link("b", updated_at=LATER), link("a", compacted=True), False, id="the-older-sums-up-and-the-newer-does-not"
        ),
        pytest.param(link("b", updated_at=LATER, compacted=True), link("a", compacted=True), True, id="both-sum-up"),
        pytest.param(link("b", lineage=2), link("a"), False, id="another-chain"),
        pytest.param(link("b", opening=2), link("a"), False, id="another-opening"),
        pytest.param(link("b", lineage=None), link("a", lineage=None), False, id="no-chains"),
    ],
)
def test_a_link_ends_an_older_one(newer: Identity, older: Identity, beaten: bool) -> None:
    assert beaten_by(newer, older) is (SkipReason.SUPERSEDED if beaten else None)
    assert beaten_by(older, newer) is None


@pytest.mark.parametrize(
    ("copy", "beaten"),
    [
        pytest.param({"started_at": NOW, "updated_at": LATER}, True, id="began-when-the-other-had-ended"),
        pytest.param({"started_at": LATER, "updated_at": None}, True, id="began-later-and-has-no-end"),
        pytest.param({"updated_at": LATER}, False, id="at-the-same-time"),
        pytest.param({"started_at": None, "updated_at": None}, False, id="times-unknown"),
        pytest.param({"conversation": 4, "started_at": LATER}, False, id="another-conversation"),
        pytest.param({"conversation": None, "started_at": LATER}, False, id="no-conversation"),
    ],
)
def test_one_conversation_under_two_ids(copy: dict[str, object], beaten: bool) -> None:
    original = identity(conversation=3)
    later = identity(**({"session_id": "other", "unit": unit("/s/session_other.json"), "conversation": 3} | copy))
    assert beaten_by(original, later) is (SkipReason.COPY if beaten else None)
    assert beaten_by(later, original) is None


def test_of_two_moments_of_a_conversation_none_is_a_copy() -> None:
    """Else each would be the copy of the other, and none would be graded."""
    moment = identity(session_id="a", conversation=3, started_at=NOW, updated_at=NOW)
    other = identity(session_id="b", conversation=3, started_at=NOW, updated_at=NOW)
    assert (beaten_by(moment, other), beaten_by(other, moment)) == (None, None)


def test_an_end_without_a_start_at_that_moment_is_no_original() -> None:
    original = identity(session_id="a", conversation=3, started_at=None, updated_at=NOW)
    assert beaten_by(original, identity(session_id="b", conversation=3, started_at=NOW)) is None
    assert beaten_by(original, identity(session_id="b", conversation=3, started_at=LATER)) is SkipReason.COPY


def test_a_finished_link_may_still_be_a_copy() -> None:
    original = identity(session_id="a", lineage=1, conversation=3)
    copy = identity(session_id="b", lineage=1, conversation=3, started_at=NOW, updated_at=LATER)
    assert beaten_by(original, copy) is SkipReason.COPY


def fork(name: str, calls: bytes, **changes: object) -> Identity:
    """A session that is known by its calls, each a letter."""
    known = b"".join(bytes([letter]) * 4 for letter in calls)
    return identity(**({"session_id": name, "first_call": 1, "calls": known} | changes))


@pytest.mark.parametrize(
    ("whole", "part", "beaten"),
    [
        pytest.param(fork("b", b"12"), fork("a", b"1"), True, id="a-fork-that-went-on"),
        pytest.param(fork("b", b"1", messages=9), fork("a", b"1"), True, id="that-went-on-without-a-call"),
        pytest.param(fork("a", b"1"), fork("b", b"1"), True, id="of-equals-the-first-by-id"),
        pytest.param(fork("b", b"1", conversation=5), fork("a", b"1", conversation=5), False, id="copies"),
        pytest.param(fork("b", b"12"), fork("a", b"13"), False, id="both-went-on"),
        pytest.param(fork("b", b"12"), fork("a", b"2", first_call=2), False, id="another-beginning"),
        pytest.param(fork("b", b"12"), fork("a", b"1", kind=SessionKind.SUB_AGENT), False, id="a-sub-agent-of-it"),
        pytest.param(fork("b", b"12", kind=SessionKind.MAIN), fork("a", b"1"), True, id="mostly-a-persons"),
        pytest.param(fork("b", b"12"), fork("a", b"1", unit=Unit("codex", "/x")), False, id="another-source"),
        pytest.param(
            fork("b", b"1" * (MOST_COMPARED_CALLS + 1)), fork("a", b"1" * MOST_COMPARED_CALLS), False, id="too-long"
        ),
    ],
)
def test_a_session_whose_calls_are_the_beginning_of_anothers_is_a_part_of_it(
    whole: Identity, part: Identity, beaten: bool
) -> None:
    assert beaten_by(whole, part) is (SkipReason.SUPERSEDED if beaten else None)
    assert beaten_by(part, whole) is None


def test_a_chain_and_a_fork_are_no_copies_of_each_other() -> None:
    """Else a link could beat a fork through a copy of it, and none would stand."""
    original = link("a", conversation=3)
    copy = fork("b", b"1", conversation=3, started_at=LATER, updated_at=LATER)
    assert (beaten_by(original, copy), beaten_by(copy, original)) == (None, None)


def calling(*ids: str, **changes: object) -> Session:
    calls = [Message(role="assistant", tool_calls=(ToolCall(id=each),)) for each in ids]
    return session(user("Do it"), *calls, **({"started_at": NOW} | changes))


RANDOM = "toolu_91d65b01dfb0460ba87e"


def test_the_calls_of_a_session_begin_those_of_its_fork() -> None:
    first, calls = calls_of(calling(RANDOM, "call_2"))
    forked_first, forked = calls_of(calling(RANDOM, "call_2", "call_3", session_id="fork"))
    assert first == forked_first is not None
    assert (len(calls), len(forked), forked.startswith(calls)) == (8, 12, True)


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(calling(), id="no-call"),
        pytest.param(calling("call_1", RANDOM), id="an-id-that-counts"),
        pytest.param(calling(RANDOM, lineage=1), id="a-link-of-a-chain"),
        pytest.param(calling(RANDOM, started_at=None), id="no-beginning"),
    ],
)
def test_a_session_that_is_not_known_by_its_calls_is_no_fork(made: Session) -> None:
    assert calls_of(made) == (None, b"")


def test_of_a_long_session_so_many_calls_are_compared() -> None:
    assert len(calls_of(calling(*[RANDOM] * (MOST_COMPARED_CALLS + 5)))[1]) == MOST_COMPARED_CALLS * 4


@pytest.mark.parametrize(
    ("new", "own", "rivals", "decision"),
    [
        pytest.param(link("b"), None, [], Decision(), id="alone"),
        pytest.param(
            link("b", unit=NEW),
            link("b", messages=9),
            [],
            Decision(SkipReason.COPY),
            id="a-copy-of-itself",
        ),
        pytest.param(link("b", messages=9), link("b", unit=OLD), [], Decision(), id="better-than-its-copy"),
        pytest.param(
            link("b"),
            None,
            [link("a"), identity(session_id="z")],
            Decision(fallen=(Fallen("a", SkipReason.SUPERSEDED),)),
            id="it-ends-another",
        ),
        pytest.param(
            link("b", messages=9),
            link("b", unit=OLD),
            [link("a"), link("c", updated_at=LATER)],
            Decision(SkipReason.SUPERSEDED, own_falls=True),
            id="who-loses-takes-nobody-down-and-falls-in-all-its-files",
        ),
    ],
)
def test_what_becomes_of_a_session_is_decided_at_once(
    new: Identity, own: Identity | None, rivals: list[Identity], decision: Decision
) -> None:
    assert decide(new, own, rivals) == decision


@given(sessions=st.lists(identities(), max_size=6, unique_by=lambda one: one.session_id), chance=st.randoms())
def test_whoever_is_beaten_is_beaten_by_one_that_stands_in_any_order(
    sessions: list[Identity], chance: random.Random
) -> None:
    """Each is decided about until nothing changes, as files are looked at again: always the same ones stand."""
    outcomes = []
    for _ in range(2):
        standing: dict[str, Identity] = {}
        for new in chance.sample(sessions, len(sessions)) * (len(sessions) + 1):
            decision = decide(new, None, [one for one in standing.values() if one.session_id != new.session_id])
            if decision.lost is None:
                standing[new.session_id] = new
            elif decision.own_falls:
                standing.pop(new.session_id, None)
            for fallen in decision.fallen:
                del standing[fallen.session_id]
        outcomes.append(standing)
    assert outcomes[0] == outcomes[1]
    assert bool(standing) == bool(sessions)
    for one in sessions:
        beaten = any(beaten_by(other, one) for other in standing.values() if other.session_id != one.session_id)
        assert beaten == (one.session_id not in standing)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        pytest.param({"lineage": 1, "opening": 2}, ["chain"], id="a-chain"),
        pytest.param({"lineage": 1}, [], id="a-start-alone"),
        pytest.param({"conversation": 3}, ["conversation"], id="a-conversation"),
        pytest.param({"lineage": 1, "opening": 2, "conversation": 3}, ["chain", "conversation"], id="both"),
        pytest.param({}, [], id="nothing"),
    ],
)
def test_identities_are_found_by_what_rivals_share(changes: dict[str, int], found: list[str]) -> None:
    identities = Identities()
    identities.add(identity(session_id="chain", lineage=9))
    for one in (
        identity(session_id="chain", lineage=1, opening=2),
        identity(session_id="conversation", conversation=3),
        identity(session_id="new", lineage=1, opening=2, conversation=3),
        identity(session_id="gone", lineage=1, opening=2, conversation=3),
    ):
        identities.add(one)
    identities.remove("gone")
    identities.remove("never there")
    rivals = identities.rivals(identity(session_id="new", **changes))
    assert sorted(rival.session_id for rival in rivals) == found
    assert (identities.get("gone"), identities.get("chain")) == (
        None,
        identity(session_id="chain", lineage=1, opening=2),
    )


@pytest.mark.parametrize(
    ("changes", "alike"),
    [
        pytest.param({"unit": unit("/moved/session_x.json"), "written_ns": 7}, True, id="moved-or-touched"),
        pytest.param({"messages": 5}, False, id="grown"),
    ],
)
def test_a_session_is_like_before_wherever_its_file_is(changes: dict[str, object], alike: bool) -> None:
    assert is_like(identity(), identity(**changes)) is alike


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        pytest.param({}, [], id="like-no-other"),
        pytest.param({"lineage": 1, "opening": 2}, [(1, 2)], id="chain"),
        pytest.param({"conversation": 3, "first_call": 4}, [(3,), (4, None, None)], id="conversation-and-first-call"),
    ],
)
def test_rivals_are_found_by_what_they_share(changes: dict[str, object], keys: list[tuple[int | None, ...]]) -> None:
    assert rival_keys(identity(**changes)) == keys
