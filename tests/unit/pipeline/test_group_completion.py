from __future__ import annotations

from datetime import date, timedelta

import pytest

from grader_daemon.domain.calendar import ALWAYS, Span
from grader_daemon.domain.feedback import Sampling
from grader_daemon.domain.rollup import Dimension
from grader_daemon.patterns.groups import PATTERN_DIMENSIONS, Completions
from grader_daemon.pipeline.group_completion import completion_of, completions
from grader_daemon.pipeline.save_labels import add_feedback
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.feedback_examples import said
from tests.strategies import NOW, grade, new_grade

OVERALL = (Dimension.OVERALL, "")
WEEK = Span(date(2026, 11, 16), date(2026, 11, 22))


def fill(store: SqliteStore, model: str, *, sessions: int, judged: int, done: int) -> None:
    """Save sessions of a model; a person judged the first of them, drawn by chance, and found so many done."""
    made = [
        grade(session_id=f"{model}{number}", model=model, ended_at=NOW, ended_on="2026-11-21", p_completed=0.9)
        for number in range(sessions)
    ]
    words = [
        said(each.session_id, completed=number < done, sampled=Sampling.RANDOM)
        for number, each in enumerate(made[:judged])
    ]
    with store.transaction():
        save_grades(store, [new_grade(each) for each in made])
        add_feedback(store, words, now=NOW)


def told(store: SqliteStore, span: Span = WEEK) -> Completions:
    return completions(store, store.rollups.groups(span, PATTERN_DIMENSIONS), span)


def test_a_group_has_the_completion_of_its_own_labels(store: SqliteStore) -> None:
    fill(store, "good", sessions=100, judged=30, done=27)
    fill(store, "bad", sessions=100, judged=30, done=3)
    fill(store, "new", sessions=100, judged=5, done=5)
    found = told(store)
    rates = {name: found[Dimension.MODEL, name].value for name in ("good", "bad", "new")}
    assert rates["new"] is None
    assert rates["good"] == pytest.approx(0.9, abs=0.05)
    assert rates["bad"] == pytest.approx(0.1, abs=0.05)
    assert [found[Dimension.MODEL, name].sample for name in ("good", "bad", "new")] == [30, 30, 5]
    assert found[OVERALL].sample == 65


def test_where_all_labels_are_too_few_no_group_is_looked_at(store: SqliteStore) -> None:
    fill(store, "m", sessions=50, judged=19, done=10)
    found = told(store)
    assert set(found) == {OVERALL}
    assert (found[OVERALL].value, found[OVERALL].sample) == (None, 19)


def test_labels_of_another_time_tell_nothing_of_a_group(store: SqliteStore) -> None:
    fill(store, "m", sessions=50, judged=30, done=10)
    later = Span(WEEK.first + timedelta(days=90), WEEK.last + timedelta(days=90))
    assert told(store, later)[OVERALL].sample == 0


def test_labels_are_of_the_user_of_their_machine(store: SqliteStore) -> None:
    fill(store, "m", sessions=40, judged=30, done=15)
    store.connection.execute("UPDATE session_details SET fleet_host = 'desk'")
    store.connection.execute("INSERT INTO fleet_hosts (host, user, epoch, seq, unread) VALUES ('desk', 'eva', 0, 0, 0)")
    sums = store.rollups.groups(WEEK, PATTERN_DIMENSIONS)
    whole = sums[OVERALL]
    found = completions(store, {**sums, (Dimension.HOST, "desk"): whole, (Dimension.USER, "eva"): whole}, WEEK)
    assert found[Dimension.USER, "eva"] == found[Dimension.HOST, "desk"]
    assert found[Dimension.USER, "eva"].sample == 30


def test_a_guess_stands_until_labels_tell(store: SqliteStore) -> None:
    fill(store, "m", sessions=40, judged=0, done=0)
    sums = store.rollups.group(*OVERALL, ALWAYS)
    assert completion_of(store, sums, ALWAYS).value is None
    by_guess = completion_of(store, sums, ALWAYS, guess=0.7)
    assert by_guess.value == pytest.approx(0.7, abs=0.05)
    assert completions(store, {OVERALL: sums}, ALWAYS, guess=0.7)[OVERALL] == by_guess
    fill(store, "n", sessions=40, judged=19, done=10)
    sums = store.rollups.group(*OVERALL, ALWAYS)
    assert completions(store, {OVERALL: sums}, ALWAYS, guess=0.7)[OVERALL] == completion_of(
        store, sums, ALWAYS, guess=0.7
    )
