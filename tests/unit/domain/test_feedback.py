from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.feedback import (
    NOTHING_SAID,
    Feedback,
    FeedbackSource,
    JudgedSession,
    Said,
    Sampling,
    Standing,
    add_override,
    apply_override,
    automatic,
    feedback_on,
    standing,
    standing_by_session,
    to_label,
)
from grader_daemon.domain.verdict import VerdictBy
from tests.feedback_examples import feedback, withdrawal
from tests.strategies import NOW, SESSION_ID, grade, scores

YES = feedback(1)
NO = feedback(2, completed=False, given_by="anna")
GOOD = feedback(3, completed=None, quality=5)


@pytest.mark.parametrize(
    ("said", "completed", "quality", "last"),
    [
        pytest.param([], None, None, None, id="nothing"),
        pytest.param([YES], YES, None, YES, id="one-word"),
        pytest.param([YES, NO], NO, None, NO, id="of-two-people-the-last-one"),
        pytest.param([YES, GOOD], YES, GOOD, GOOD, id="each-part-by-its-own-last-word"),
        pytest.param([YES, NO, withdrawal(4, 2)], YES, None, YES, id="what-was-taken-back-counts-for-nothing"),
        pytest.param([YES, withdrawal(4, 1)], None, None, None, id="all-taken-back"),
        pytest.param([YES, withdrawal(4, 1), withdrawal(5, 4)], YES, None, YES, id="undo-of-an-undo"),
        pytest.param([YES, withdrawal(4, 1), withdrawal(5, 4), withdrawal(6, 5)], None, None, None, id="and-of-that"),
        pytest.param([YES, NO, withdrawal(4, 2), withdrawal(5, 1)], None, None, None, id="two-undone-one-by-one"),
        pytest.param([NO, withdrawal(4, 99)], NO, None, NO, id="undo-of-what-never-was"),
    ],
)
def test_the_last_word_that_was_not_taken_back_stands(
    said: list[Feedback], completed: Feedback | None, quality: Feedback | None, last: Feedback | None
) -> None:
    assert standing(said) == Standing(completed=completed, quality=quality, last=last)


@pytest.mark.parametrize(
    ("source", "by"), [(FeedbackSource.REWARD, VerdictBy.REWARD), (FeedbackSource.REVERT, VerdictBy.REVERT)]
)
def test_what_nobody_said_stands_below_any_persons_word(source: FeedbackSource, by: VerdictBy) -> None:
    ours = feedback(9, completed=False, source=source)

    assert standing([YES, ours]).completed == YES
    assert apply_override(grade(), standing([ours])).verdict_by is by


def test_a_session_once_drawn_at_random_stays_one() -> None:
    drawn = feedback(1, sampled=Sampling.RANDOM)

    assert standing([drawn, withdrawal(2, 1), feedback(3)]).drawn_at_random
    assert not standing([feedback(1, sampled=Sampling.UNCERTAIN)]).drawn_at_random


@st.composite
def histories(draw: st.DrawFn) -> list[Feedback]:
    """Words and withdrawals of any earlier row, withdrawals among them."""
    said: list[Feedback] = []
    for number in range(1, draw(st.integers(1, 8))):
        takes_back = draw(st.booleans())
        if said and takes_back:
            said.append(withdrawal(number, draw(st.integers(1, number - 1))))
        else:
            told = draw(st.tuples(st.none() | st.booleans(), st.none() | scores))
            said.append(feedback(number, completed=told[0], quality=told[1]))
    return said


@given(said=histories(), data=st.data())
def test_what_stands_does_not_depend_on_the_order_of_rows(said: list[Feedback], data: st.DataObject) -> None:
    assert standing(data.draw(st.permutations(said))) == standing(said)


@given(said=histories())
def test_an_undo_brings_back_what_stood_before_the_last_word(said: list[Feedback]) -> None:
    before = standing(said)
    word = feedback(100, quality=2)

    assert standing([*said, word, withdrawal(101, 100)]) == before
    assert standing([*said, word]).last == word


@given(first=histories(), second=histories(), completed=st.booleans(), quality=scores)
def test_only_what_stands_now_lies_over_a_grade(
    first: list[Feedback], second: list[Feedback], completed: bool, quality: int
) -> None:
    bare = grade(task_completed=completed, response_quality=quality, verdict_by=VerdictBy.MODEL)

    once = apply_override(bare, standing(first))

    assert apply_override(once, standing(second)) == apply_override(bare, standing(second))
    assert automatic(once) == apply_override(once, NOTHING_SAID) == bare


def test_a_word_on_completion_is_above_the_verdict_that_stays_known() -> None:
    bare = grade(task_completed=True, verdict_by=VerdictBy.MODEL)

    laid = apply_override(bare, Standing(completed=NO))

    assert laid == msgspec.structs.replace(
        bare,
        task_completed=False,
        verdict_by=VerdictBy.PERSON,
        automatic_completed=True,
        automatic_by=VerdictBy.MODEL,
    )


def test_a_word_on_quality_leaves_the_verdict_automatic() -> None:
    laid = apply_override(grade(response_quality=2), Standing(quality=GOOD))

    assert laid == grade(response_quality=5, automatic_quality=2)


def test_of_words_from_a_fleet_the_latest_by_its_own_time_stands() -> None:
    late = msgspec.structs.replace(NO, source=FeedbackSource.FLEET, given_at=NOW + timedelta(hours=1))
    early = msgspec.structs.replace(GOOD, completed=True, source=FeedbackSource.FLEET)
    assert standing([late, early]).completed == late


def test_what_stands_above_a_grade_already_stays() -> None:
    said = standing([YES, GOOD])
    above = apply_override(grade(), standing([NO]))
    added = add_override(above, said)
    assert (added.task_completed, added.response_quality) == (False, 5)
    assert add_override(grade(), said) == apply_override(grade(), said)


def test_what_a_person_says_is_kept_with_what_stood_before() -> None:
    said = Said(session_id=SESSION_ID, by="anna", source=FeedbackSource.LABEL, completed=True, note="saw it")
    kept = feedback_on(grade(task_completed=False, response_quality=2), said, digest="d", now=NOW)
    assert (kept.id, kept.given_by, kept.completed, kept.note, kept.given_at) == (0, "anna", True, "saw it", NOW)
    assert (kept.completed_before, kept.quality_before, kept.digest) == (False, 2, "d")


def test_each_session_has_what_stands_of_its_own_feedback() -> None:
    other = msgspec.structs.replace(NO, session_id="other")
    found = standing_by_session([YES, other])
    assert found == {SESSION_ID: standing([YES]), "other": standing([other])}


def test_a_label_keeps_the_verdict_though_a_note_came_later() -> None:
    noted = feedback(4, completed=None, note="see there", given_by="anna")
    judged = JudgedSession(
        session_id=SESSION_ID,
        digest="d",
        is_persons=True,
        is_finished=True,
        ended_on="2026-11-21",
        automatic_completed=True,
        automatic_quality=3,
        rules_completed=True,
        p_completed=None,
        request=None,
        features=(),
    )
    made = to_label(standing([YES, noted]), noted, judged)
    assert (made.completed, made.given_by, made.went_on) == (True, "anna", False)
