"""The story of a session: which steps it has, in which order, and which are folded."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from grader_daemon.domain.analysis import Category, Failure, FailureKind, SessionState, Subcategory
from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.domain.people import PersonSignal, SignalKind
from grader_daemon.domain.session_result import ResultStanding
from grader_daemon.reports.safe_text import plain
from grader_daemon.reports.story import MOST_STEPS, StepKind, repeated_now, repeated_words, story_of
from tests.strategies import grade

_OPEN, _FIXED, _PROBE = FailureKind.HARMFUL, FailureKind.RECOVERED, FailureKind.PROBE


def _failure(index: int, cause: str, kind: FailureKind = _OPEN) -> Failure:
    return Failure(index, "terminal", Category.UNKNOWN, fingerprint=cause, kind=kind)


def _claim(index: int, support: Support) -> Claim:
    return Claim(ClaimKind.TESTS_PASSED, support, None, index)


def _told(failures: Sequence[Failure] = (), *, done: bool = False, **more: object) -> list[tuple[str, int, int, int]]:
    story = story_of(grade(failures=tuple(failures), task_completed=done, **more))
    return [(each.kind.value, each.first, each.last, each.times) for each in story.steps]


def test_the_turning_point_is_where_what_failed_last_began() -> None:
    failures = [_failure(3, "a"), _failure(5, "b"), _failure(9, "b"), _failure(8, "a")]

    assert _told(failures) == [("never fixed", 3, 8, 2), ("turning point", 5, 9, 2)]
    assert story_of(grade(failures=tuple(failures), task_completed=False)).turning_point == 5


@pytest.mark.parametrize(
    ("contradicting", "turn"),
    [
        pytest.param((), 5, id="a-failed-check-before-an-error"),
        pytest.param((3,), 3, id="what-contradicts-a-claim-before-a-failed-check"),
    ],
)
def test_the_turning_point_is_what_tells_most_of_the_end(contradicting: tuple[int, ...], turn: int) -> None:
    check = msgspec.structs.replace(_failure(5, "b"), subcategory=Subcategory.CHECK_FAILED)
    failures = (_failure(3, "a"), check, _failure(9, "c"))
    claim = msgspec.structs.replace(_claim(12, Support.CONTRADICTED), evidence=contradicting)

    assert story_of(grade(failures=failures, claims=(claim,), task_completed=False)).turning_point == turn


def test_a_session_that_is_done_has_none() -> None:
    assert _told([_failure(3, "a")], done=True) == [("never fixed", 3, 3, 1)]


@pytest.mark.parametrize(
    ("failures", "told"),
    [
        pytest.param(
            [_failure(1, "a", _FIXED), _failure(3, "a", _FIXED)], [("detour", 1, 3, 2)], id="several-recovered"
        ),
        pytest.param([_failure(1, "a", _FIXED)], [], id="one-recovered"),
        pytest.param([_failure(1, "a", _PROBE), _failure(3, "a", _PROBE)], [], id="probes"),
        pytest.param([_failure(1, "a", _FIXED), _failure(3, "b", _FIXED)], [], id="two-causes"),
        pytest.param([_failure(1, "a", _FIXED), _failure(4, "a")], [("turning point", 1, 4, 2)], id="it-came-back"),
    ],
)
def test_failures_of_one_cause_are_one_step(failures: Sequence[Failure], told: list[tuple[str, int, int, int]]) -> None:
    assert _told(failures) == told


@pytest.mark.parametrize(
    ("standing", "evidence", "told"),
    [
        pytest.param(ResultStanding.CHECK_FAILED, (), [("turning point", 2, 6, 2)], id="the-last-check-failed"),
        pytest.param(ResultStanding.CONTRADICTED, (6,), [("turning point", 2, 6, 2)], id="a-claim-is-held-against-it"),
        pytest.param(ResultStanding.CONTRADICTED, (4,), [], id="a-claim-is-held-against-something-else"),
        pytest.param(ResultStanding.CHECKED, (), [("detour", 2, 6, 2)], id="a-check-passed-in-the-end"),
        pytest.param(ResultStanding.ADMITTED, (), [], id="not-known"),
    ],
)
def test_red_checks_are_steps_where_it_is_known_how_they_went_on(
    standing: ResultStanding, evidence: tuple[int, ...], told: list[tuple[str, int, int, int]]
) -> None:
    red = [
        Failure(n, "terminal", Category.COMMAND_FAILED, kind=_PROBE, subcategory=Subcategory.CHECK_FAILED)
        for n in (2, 6)
    ]
    claims = (msgspec.structs.replace(_claim(9, Support.CONTRADICTED), evidence=evidence),) if evidence else ()

    assert [each for each in _told(red, standing=standing, claims=claims) if each[0] != "false claim"] == told


def test_claims_alone_are_no_story_since_they_stand_above_it() -> None:
    false, true = _claim(9, Support.CONTRADICTED), _claim(9, Support.VERIFIED)

    assert _told(claims=(false, true)) == []
    assert _told([_failure(3, "a")], claims=(false, true)) == [("turning point", 3, 3, 1), ("false claim", 9, 9, 1)]


def test_words_of_people_are_steps() -> None:
    assert _told(signals_from_people=(PersonSignal(SignalKind.CORRECTION, 4),)) == [("a person said", 4, 4, 1)]


def test_what_tells_least_is_folded() -> None:
    detours = [_failure(2 * n + at, f"d{n}", _FIXED) for n in range(MOST_STEPS) for at in (0, 1)]
    story = story_of(
        grade(failures=(*detours, _failure(90, "a")), claims=(_claim(99, Support.STALE),), task_completed=False)
    )

    assert [each.kind for each in story.steps] == [
        *[StepKind.DETOUR] * (MOST_STEPS - 2),
        StepKind.TURNING_POINT,
        StepKind.FALSE_CLAIM,
    ]
    assert [(each.kind, each.first) for each in story.rest] == [(StepKind.DETOUR, 8), (StepKind.DETOUR, 10)]


@pytest.mark.parametrize(
    ("failures", "state", "repeated"),
    [
        pytest.param(("b", "a", "a", "a"), SessionState.OPEN, [2, 3, 4], id="the-last-three"),
        pytest.param(("a", "a", "b"), SessionState.OPEN, [], id="two-causes"),
        pytest.param(("a", "a"), SessionState.OPEN, [], id="only-two"),
        pytest.param((), SessionState.OPEN, [], id="none"),
        pytest.param(("a", "a", "a"), SessionState.COMPLETE, [], id="it-is-over"),
    ],
)
def test_an_open_session_repeats_what_failed_last(
    failures: Sequence[str], state: SessionState, repeated: list[int]
) -> None:
    failed = tuple(_failure(index, cause) for index, cause in enumerate(failures, 1))

    assert [each.index for each in repeated_now(grade(failures=failed, state=state))] == repeated


def test_what_worked_in_the_end_is_repeated_no_more() -> None:
    failed = tuple(_failure(index, "a", _FIXED) for index in range(3))

    assert repeated_now(grade(failures=failed, state=SessionState.OPEN)) == ()


def test_what_is_repeated_is_named_with_how_often() -> None:
    failed = [Failure(index, "terminal", Category.PERMISSION_DENIED, "git push") for index in range(7)]

    assert plain(repeated_words(failed)) == "terminal git push failed 7 times with the same error, permission denied"
