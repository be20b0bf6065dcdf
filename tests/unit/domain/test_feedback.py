from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.feedback import (
    NOTHING_SAID,
    Feedback,
    FeedbackSource,
    Sampling,
    Standing,
    apply_override,
    automatic,
    standing,
)
from grader_daemon.domain.verdict import VerdictBy
from tests.feedback_examples import feedback, withdrawal
from tests.strategies import grade, scores

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
