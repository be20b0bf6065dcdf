"""What a person should judge next, on a store and a clock of the test."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from grader_daemon.api.context import GraderContext
from grader_daemon.api.labels import Labels
from grader_daemon.api.review import Reviews, review_item
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.feedback import FeedbackSource, Sampling
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.domain.verdict import Outcome
from tests.conftest import Clock
from tests.strategies import NOW, result, session, user
from tests.unit.api.conftest import Save


@pytest.fixture
def reviews(context: GraderContext) -> Reviews:
    return Reviews(context)


def next_id(reviews: Reviews, **asked: Any) -> str | None:
    item = reviews.next_item(**asked)
    return None if item is None else item.stored.grade.session_id


def test_without_sessions_there_is_nothing_to_judge(reviews: Reviews) -> None:
    assert reviews.next_item() is None


def test_a_session_of_this_week_comes_before_older_ones(reviews: Reviews, save: Save) -> None:
    save("old", ended_at=NOW - timedelta(days=20))
    save("new", ended_at=NOW - timedelta(days=1))

    assert {next_id(reviews, seed=seed) for seed in range(20)} == {"new"}
    assert next_id(reviews, passed={"new"}) == "old"
    assert next_id(reviews, passed={"new", "old"}) is None


def test_the_same_seed_asks_for_the_same_session(reviews: Reviews, save: Save) -> None:
    for number in range(8):
        save(f"s{number}", ended_at=NOW - timedelta(hours=number + 1))

    assert len({next_id(reviews, seed=7) for _ in range(5)}) == 1
    assert len({next_id(reviews, seed=seed) for seed in range(40)}) > 1


@pytest.mark.parametrize(
    ("sessions", "answered", "left"),
    [
        pytest.param(9, 0, 5, id="a-new-week"),
        pytest.param(9, 3, 2, id="some-answered"),
        pytest.param(9, 6, 0, id="more-than-asked-for"),
        pytest.param(4, 0, 0, id="too-few-sessions"),
    ],
)
def test_a_week_has_five_questions(
    reviews: Reviews, context: GraderContext, save: Save, *, sessions: int, answered: int, left: int
) -> None:
    for number in range(sessions):
        save(f"s{number}", ended_at=NOW - timedelta(hours=number + 1))
    for number in range(answered):
        Labels(context).add(f"s{number}", completed=True, source=FeedbackSource.REVIEW)

    assert reviews.left_this_week() == left


def test_half_of_the_questions_are_drawn_by_chance(reviews: Reviews, context: GraderContext, save: Save) -> None:
    for number in range(20):
        save(f"s{number}", ended_at=NOW - timedelta(hours=number + 1), p_completed=0.5)
    asked: list[Sampling] = []
    for seed in range(20):
        item = reviews.next_item(seed=seed)
        assert item is not None
        asked.append(item.sampled)
        session_id = item.stored.grade.session_id
        Labels(context).add(session_id, completed=True, source=FeedbackSource.REVIEW, sampled=item.sampled)

    assert asked == [Sampling.RANDOM, Sampling.UNCERTAIN] * 10


def test_a_label_that_is_taken_back_gives_its_turn_back(reviews: Reviews, context: GraderContext, save: Save) -> None:
    for number in range(3):
        save(f"s{number}", ended_at=NOW - timedelta(hours=number + 1), p_completed=0.5)
    labels = Labels(context)
    labels.add("s0", completed=True, source=FeedbackSource.REVIEW, sampled=Sampling.RANDOM)
    labels.undo("s0", source=FeedbackSource.REVIEW)

    item = reviews.next_item()

    assert item is not None
    assert item.sampled is Sampling.RANDOM


def test_what_was_judged_is_not_asked_for_again(reviews: Reviews, context: GraderContext, save: Save) -> None:
    save("only", ended_at=NOW - timedelta(hours=1))
    item = reviews.next_item()
    assert item is not None
    Labels(context).add("only", completed=True, source=FeedbackSource.REVIEW, sampled=item.sampled)

    assert reviews.next_item() is None


def test_reviews_of_a_week_are_counted_from_monday_on(
    reviews: Reviews, context: GraderContext, save: Save, clock: Clock
) -> None:
    save("a", ended_at=NOW)
    save("b", ended_at=NOW)
    monday = datetime(2026, 11, 22, 11, tzinfo=UTC)  # midnight of the 23rd in Auckland
    for session_id, at in (("a", monday - timedelta(minutes=1)), ("b", monday)):
        clock.now = at
        Labels(context).add(session_id, completed=True, source=FeedbackSource.REVIEW)

    assert reviews.done_this_week() == 1


def test_the_evidence_is_shown_without_the_file_too(reviews: Reviews, save: Save) -> None:
    save("gone", ended_at=NOW, task_summary="Deploy the release")
    item = reviews.next_item()

    assert item is not None
    assert item.request == ("Deploy the release",)
    assert item.note == "the messages cannot be shown: the file is gone"


def test_an_answer_moves_its_verdict_and_the_rate_of_the_last_days(
    reviews: Reviews, context: GraderContext, save: Save
) -> None:
    for number in range(30):
        save(f"s{number}", ended_at=NOW - timedelta(hours=number), p_completed=0.6, unsure=True, request=number)
    for number in range(21):
        Labels(context).add(f"s{number}", completed=number > 0, source=FeedbackSource.REVIEW, sampled=Sampling.RANDOM)
    effect = reviews.effect("s0")

    assert (effect.verdict_before, effect.verdict) == (Outcome.UNSURE, Outcome.NOT_DONE)
    assert (effect.rate_before.sample, effect.rate.sample) == (20, 21)
    assert effect.rate_before.value is not None
    assert effect.rate.value is not None
    assert effect.rate.value < effect.rate_before.value
    assert effect.rate.low is not None


def test_without_random_labels_enough_an_answer_counts_towards_them(
    reviews: Reviews, context: GraderContext, save: Save
) -> None:
    save("s", ended_at=NOW - timedelta(hours=1))
    Labels(context).add("s", completed=True, source=FeedbackSource.REVIEW, sampled=Sampling.RANDOM)
    effect = reviews.effect("s")

    assert (effect.rate_before, effect.rate) == (Estimate(sample=0), Estimate(sample=1))
    assert (effect.verdict_before, effect.verdict) == (Outcome.DONE, Outcome.DONE)


def test_calls_that_were_not_allowed_are_shown(context: GraderContext, save: Save) -> None:
    save("refused", failures=(), total_errors=0)
    stored = context.store.grades.find("refused")
    reported = {1: ReportedOutcome(CallStatus.REFUSED)}

    item = review_item(
        stored,
        Sampling.RANDOM,
        session=session(user("Delete it"), result("requires approval"), reported=reported),
        note=None,
        rules=context.rules,
        redactor=context.redactor,
        sentences={},
    )

    assert item.failures == ("the call was not allowed (message 1): requires approval",)
