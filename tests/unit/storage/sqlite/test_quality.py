from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.feedback import FeedbackSource, Said
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.quality import CheckOutcome, QualityCheck
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.errors import GraderError
from grader_daemon.pipeline.save_labels import add_feedback
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.records import NewGrade
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, identity

HOUR = timedelta(hours=1)
ALWAYS = {"since": NOW - timedelta(days=9), "until": NOW + timedelta(days=9)}


def save(store: SqliteStore, session_id: str = "s1", *, digest: str = "d1", **changes: object) -> Grade:
    """A graded session; its details say the same."""
    made = grade(session_id=session_id, **changes)
    session = identity(session_id=session_id, unit=made.unit, state=made.state)
    with store.transaction():
        save_grades(store, [NewGrade(grade=made, identity=session, digest=digest)])
    return made


def begin(
    store: SqliteStore,
    session_id: str = "s1",
    *,
    scorer: str = "me",
    digest: str | None = "d1",
    now: datetime = NOW,
    budgeted: bool = True,
) -> int:
    with store.transaction():
        return store.quality.begin(session_id, scorer=scorer, digest=digest, ours=3, now=now, budgeted=budgeted)


def answer(store: SqliteStore, quality: float, session_id: str = "s1", **call: object) -> int:
    number = begin(store, session_id, **call)  # type: ignore[arg-type]
    with store.transaction():
        store.quality.answered(number, quality)
    return number


def fail(store: SqliteStore, outcome: CheckOutcome, session_id: str = "s1", *, error: str = "no") -> int:
    number = begin(store, session_id)
    with store.transaction():
        store.quality.failed(number, error, outcome)
    return number


def test_an_answer_is_kept_with_its_discrepancy(store: SqliteStore) -> None:
    number = answer(store, 4.5)

    assert store.quality.check(number) == QualityCheck(
        id=number,
        session_id="s1",
        scorer="me",
        checked_at=NOW,
        digest="d1",
        outcome=CheckOutcome.ANSWERED,
        quality=4.5,
        ours=3,
        discrepancy=1.5,
        error=None,
    )


def test_a_discrepancy_has_no_sign(store: SqliteStore) -> None:
    assert store.quality.check(answer(store, 1)).discrepancy == 2


def test_a_call_without_an_answer_is_kept_with_its_reason_made_fit_for_a_terminal(store: SqliteStore) -> None:
    check = store.quality.check(fail(store, CheckOutcome.UNAVAILABLE, error="me: \x1b[31m"))

    assert (check.outcome, check.quality, check.discrepancy) == (CheckOutcome.UNAVAILABLE, None, None)
    assert check.error == "me: \N{REPLACEMENT CHARACTER}[31m"


def test_a_call_goes_with_its_transaction(store: SqliteStore) -> None:
    with suppress(GraderError), store.transaction():
        store.quality.begin("s1", scorer="me", digest=None, ours=3, now=NOW, budgeted=True)
        raise GraderError("in the middle")

    assert store.rows("SELECT count(*) FROM quality_checks") == [(0,)]


def test_every_call_that_has_a_budget_counts_however_it_ended(store: SqliteStore) -> None:
    begin(store)
    answer(store, 3)
    fail(store, CheckOutcome.NO_ANSWER)
    fail(store, CheckOutcome.UNAVAILABLE)
    begin(store, budgeted=False)

    assert store.quality.calls(NOW, NOW + HOUR) == 4


def test_a_call_counts_from_its_first_moment_on_and_not_at_the_last(store: SqliteStore) -> None:
    begin(store, now=NOW)

    assert store.quality.calls(NOW, NOW + HOUR) == 1
    assert store.quality.calls(NOW - HOUR, NOW) == 0


# -- which sessions ------------------------------------------------------------------------------------------------


def test_finished_sessions_of_the_span_are_drawn_with_the_digests_of_their_files(store: SqliteStore) -> None:
    save(store, "early", ended_at=NOW - HOUR)
    save(store, "first", ended_at=NOW)
    save(store, "last", ended_at=NOW + HOUR - timedelta(microseconds=1), digest="d2")
    save(store, "late", ended_at=NOW + HOUR)
    save(store, "open", ended_at=NOW, state=SessionState.OPEN)

    assert store.quality.sample("me", since=NOW, until=NOW + HOUR, limit=9) == {"first": "d1", "last": "d2"}


def test_each_session_is_as_likely_as_any_other(store: SqliteStore) -> None:
    for number in range(4):
        save(store, f"s{number}", ended_at=NOW + number * HOUR)

    drawn = [next(iter(store.quality.sample("me", **ALWAYS, limit=1))) for _ in range(400)]

    assert {session_id: drawn.count(session_id) > 50 for session_id in set(drawn)} == dict.fromkeys(
        ("s0", "s1", "s2", "s3"), True
    )


@pytest.mark.parametrize(
    ("outcome", "drawn_again"),
    [
        pytest.param(CheckOutcome.ANSWERED, False, id="answered"),
        pytest.param(CheckOutcome.NO_ANSWER, False, id="without-an-answer"),
        pytest.param(CheckOutcome.UNAVAILABLE, True, id="nobody-there"),
        pytest.param(CheckOutcome.ASKED, True, id="cut-off"),
    ],
)
def test_what_was_said_is_not_asked_again(store: SqliteStore, outcome: CheckOutcome, *, drawn_again: bool) -> None:
    save(store)
    if outcome is CheckOutcome.ANSWERED:
        answer(store, 3)
    elif outcome is CheckOutcome.ASKED:
        begin(store)
    else:
        fail(store, outcome)

    assert bool(store.quality.sample("me", **ALWAYS, limit=9)) == drawn_again
    assert store.quality.sample("somebody else", **ALWAYS, limit=9) == {"s1": "d1"}


def test_a_session_that_went_on_is_asked_about_again(store: SqliteStore) -> None:
    save(store, digest="d2")
    answer(store, 3, digest="d1")

    assert store.quality.sample("me", **ALWAYS, limit=9) == {"s1": "d2"}


@pytest.mark.parametrize(
    ("quality", "disagrees"),
    [(1.5, True), (1.6, False), (3, False), (4.4, False), (4.5, True), (5, True)],
)
def test_an_answer_disagrees_from_the_threshold_on(store: SqliteStore, quality: float, *, disagrees: bool) -> None:
    save(store, response_quality=3)
    answer(store, quality)

    assert store.quality.disagreeing() == (["s1"] if disagrees else [])


def test_the_last_answer_counts_whoever_gave_it(store: SqliteStore) -> None:
    save(store)
    answer(store, 5)
    answer(store, 3, scorer="somebody else")
    fail(store, CheckOutcome.UNAVAILABLE)

    assert store.quality.disagreeing() == []


def test_it_is_the_grade_of_now_that_is_disagreed_with(store: SqliteStore) -> None:
    save(store, response_quality=5)
    answer(store, 5)

    assert (store.quality.disagreeing(), store.quality.disagreeing(by=0.0)) == ([], ["s1"])
    assert store.quality.check(1).discrepancy == 2


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"verdict_by": VerdictBy.PERSON}, id="of-completion"),
        pytest.param({"automatic_quality": 1}, id="of-quality"),
    ],
)
def test_nobody_is_asked_about_what_a_person_has_judged(store: SqliteStore, changes: dict[str, Any]) -> None:
    save(store, response_quality=1, **changes)
    answer(store, 5)

    assert store.quality.disagreeing() == []


def test_nobody_is_asked_about_what_is_there_no_more(store: SqliteStore) -> None:
    save(store, digest="d2")
    answer(store, 5, digest="d1")
    answer(store, 5, "gone")

    assert store.quality.disagreeing() == []


def test_the_newest_answer_comes_first(store: SqliteStore) -> None:
    for session_id in ("a", "b", "c"):
        save(store, session_id)
        answer(store, 5, session_id)

    assert store.quality.disagreeing() == ["c", "b", "a"]
    assert store.quality.disagreeing(limit=2) == ["c", "b"]


# -- what was said -------------------------------------------------------------------------------------------------


def test_of_a_session_the_last_answer_is_told_or_else_why_there_is_none(store: SqliteStore) -> None:
    assert store.quality.of_session("s1") is None
    begin(store)
    assert store.quality.of_session("s1") is None
    first = fail(store, CheckOutcome.NO_ANSWER)
    assert _id(store.quality.of_session("s1")) == first
    answered = answer(store, 3)
    fail(store, CheckOutcome.UNAVAILABLE)
    assert _id(store.quality.of_session("s1")) == answered


def test_the_last_calls_of_a_scorer_come_first(store: SqliteStore) -> None:
    numbers = [answer(store, 3), fail(store, CheckOutcome.NO_ANSWER), answer(store, 4)]
    begin(store)
    answer(store, 3, scorer="somebody else")

    assert [check.id for check in store.quality.latest("me", 2)] == numbers[:0:-1]
    assert msgspec.json.decode(msgspec.json.encode(store.quality.latest("me", 1)[0]), type=QualityCheck).quality == 4


def _id(check: QualityCheck | None) -> int | None:
    return None if check is None else check.id


@pytest.mark.parametrize(
    ("quality", "digest", "word", "is_settled"),
    [
        pytest.param(4.5, "d1", {"completed": False}, True, id="a-word-on-completion"),
        pytest.param(4.4, "d1", {"completed": False}, False, id="about-the-same-quality"),
        pytest.param(4.5, "d0", {"completed": False}, False, id="it-went-on-since"),
        pytest.param(4.5, "d1", {"quality": 4}, False, id="a-word-on-quality-alone"),
    ],
)
def test_a_disagreement_is_settled_by_a_word_on_completion(
    store: SqliteStore, quality: float, digest: str, word: dict[str, Any], is_settled: bool
) -> None:
    save(store)
    answer(store, quality, digest=digest)
    answer(store, quality, digest=digest)
    with store.transaction():
        add_feedback(store, [Said(session_id="s1", by="me", source=FeedbackSource.LABEL, **word)], now=NOW)

    assert store.quality.settled(since=0, by=1.5) == int(is_settled)
    assert store.quality.settled(since=1, by=1.5) == 0


def test_a_word_that_is_taken_back_settles_nothing(store: SqliteStore) -> None:
    save(store)
    answer(store, 4.5)
    with store.transaction():
        said = Said(session_id="s1", by="me", source=FeedbackSource.LABEL, completed=True)
        [given] = add_feedback(store, [said], now=NOW)
        add_feedback(store, [Said(session_id="s1", by="me", source=FeedbackSource.LABEL, withdraws=given.id)], now=NOW)

    assert store.quality.settled(since=0, by=1.5) == 0
