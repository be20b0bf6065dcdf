from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.identity import Identity, Verdict, compare
from tests.strategies import NOW, identity

LATER = NOW + timedelta(seconds=1)
EARLIER = NOW - timedelta(seconds=1)
OPEN = SessionState.OPEN


def link(name: str, **changes: object) -> Identity:
    """A link of one compression chain."""
    return identity(**({"session_id": name, "file": f"/s/session_{name}.json", "lineage": 1, "state": OPEN} | changes))


@pytest.mark.parametrize(
    ("new", "rival", "exists", "verdict"),
    [
        pytest.param(identity(), identity(), True, Verdict.NEW_REPLACES_RIVAL, id="the-same-file-again"),
        pytest.param(
            identity(file="/new/session_x.json"), identity(), False, Verdict.NEW_REPLACES_RIVAL, id="moved-file"
        ),
        pytest.param(
            identity(file="/new/session_x.json"), identity(), True, Verdict.NEW_IS_COPY, id="copied-file-is-the-copy"
        ),
        pytest.param(
            identity(file="/new/session_x.json", updated_at=LATER),
            identity(),
            True,
            Verdict.NEW_REPLACES_RIVAL,
            id="newer-content-counts",
        ),
        pytest.param(
            identity(file="/new/session_x.json", updated_at=EARLIER),
            identity(),
            True,
            Verdict.NEW_IS_COPY,
            id="older-content-does-not",
        ),
        pytest.param(
            identity(file="/new/session_x.json", messages=5),
            identity(),
            True,
            Verdict.NEW_REPLACES_RIVAL,
            id="of-equal-age-the-longer-counts",
        ),
        pytest.param(
            identity(file="/s/session_fork.json", named_after_id=False, updated_at=LATER, messages=9),
            identity(),
            True,
            Verdict.NEW_IS_COPY,
            id="a-file-of-another-name-is-a-copy-though-newer",
        ),
        pytest.param(
            identity(updated_at=EARLIER),
            identity(file="/s/session_fork.json", named_after_id=False),
            True,
            Verdict.NEW_REPLACES_RIVAL,
            id="the-file-named-after-the-id-counts-though-older",
        ),
        pytest.param(
            identity(file="/s/session_fork.json", named_after_id=False),
            identity(),
            False,
            Verdict.NEW_REPLACES_RIVAL,
            id="any-file-is-better-than-none",
        ),
    ],
)
def test_one_id_in_two_files(new: Identity, rival: Identity, exists: bool, verdict: Verdict) -> None:
    assert compare(new, rival, rival_exists=exists) is verdict


@pytest.mark.parametrize(
    ("new", "rival", "verdict"),
    [
        pytest.param(link("b", updated_at=LATER), link("a"), Verdict.RIVAL_IS_SUPERSEDED, id="newer-link"),
        pytest.param(link("a"), link("b", updated_at=LATER), Verdict.NEW_IS_SUPERSEDED, id="older-link"),
        pytest.param(link("b", messages=9), link("a"), Verdict.RIVAL_IS_SUPERSEDED, id="of-equal-age-the-longer"),
        pytest.param(link("b"), link("a"), Verdict.RIVAL_IS_SUPERSEDED, id="of-equal-length-the-later-id"),
        pytest.param(
            link("b", updated_at=LATER),
            link("a", state=SessionState.INTERRUPTED),
            Verdict.RIVAL_IS_SUPERSEDED,
            id="the-older-was-given-up-by-idleness",
        ),
        pytest.param(
            link("b", updated_at=LATER),
            link("a", state=SessionState.COMPLETE),
            Verdict.INDEPENDENT,
            id="the-older-was-answered",
        ),
        pytest.param(
            link("b", updated_at=LATER, compacted=True),
            link("a", state=SessionState.COMPLETE),
            Verdict.RIVAL_IS_SUPERSEDED,
            id="the-newer-sums-up-the-answered-older",
        ),
        pytest.param(link("b", lineage=2), link("a"), Verdict.INDEPENDENT, id="another-chain"),
        pytest.param(link("b", lineage=None), link("a", lineage=None), Verdict.INDEPENDENT, id="no-chains"),
    ],
)
def test_links_of_a_chain(new: Identity, rival: Identity, verdict: Verdict) -> None:
    assert compare(new, rival, rival_exists=True) is verdict


@pytest.mark.parametrize(
    ("new", "verdict"),
    [
        pytest.param(
            {"started_at": NOW, "updated_at": LATER}, Verdict.NEW_IS_COPY, id="began-when-the-other-had-ended"
        ),
        pytest.param(
            {"started_at": NOW - timedelta(hours=2), "updated_at": NOW - timedelta(hours=1)},
            Verdict.RIVAL_IS_COPY,
            id="had-ended-when-the-other-began",
        ),
        pytest.param({"updated_at": LATER}, Verdict.INDEPENDENT, id="at-the-same-time"),
        pytest.param({"started_at": None, "updated_at": None}, Verdict.INDEPENDENT, id="times-unknown"),
        pytest.param({"conversation": 4, "started_at": LATER}, Verdict.INDEPENDENT, id="another-conversation"),
        pytest.param({"conversation": None, "started_at": LATER}, Verdict.INDEPENDENT, id="no-conversation"),
    ],
)
def test_one_conversation_under_two_ids(new: dict[str, object], verdict: Verdict) -> None:
    rival = identity(conversation=3)
    changed = identity(**({"session_id": "other", "file": "/s/session_other.json", "conversation": 3} | new))
    assert compare(changed, rival, rival_exists=True) is verdict


def test_a_finished_link_may_still_be_a_copy() -> None:
    rival = identity(session_id="a", lineage=1, conversation=3)
    new = identity(session_id="b", lineage=1, conversation=3, started_at=NOW, updated_at=LATER)
    assert compare(new, rival, rival_exists=True) is Verdict.NEW_IS_COPY


@given(
    first=st.integers(0, 3),
    second=st.integers(0, 3),
    states=st.tuples(*[st.sampled_from(list(SessionState))] * 2),
    compacted=st.tuples(st.booleans(), st.booleans()),
)
def test_two_links_are_judged_alike_in_either_order(
    first: int, second: int, states: tuple[SessionState, SessionState], compacted: tuple[bool, bool]
) -> None:
    a = link("a", updated_at=NOW + timedelta(seconds=first), state=states[0], compacted=compacted[0])
    b = link("b", updated_at=NOW + timedelta(seconds=second), state=states[1], compacted=compacted[1])
    mirrored = {
        Verdict.INDEPENDENT: Verdict.INDEPENDENT,
        Verdict.NEW_IS_SUPERSEDED: Verdict.RIVAL_IS_SUPERSEDED,
        Verdict.RIVAL_IS_SUPERSEDED: Verdict.NEW_IS_SUPERSEDED,
    }
    assert compare(b, a, rival_exists=True) is mirrored[compare(a, b, rival_exists=True)]
