"""Questions about grades, on a store and a clock of the test."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from grader_daemon.api.context import GraderContext
from grader_daemon.api.grades import GradeFilter, Grades, StoredGrade
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.errors import InputError
from grader_daemon.settings import load_settings
from tests.conftest import Clock
from tests.unit.api.conftest import Save

MIDNIGHT = datetime(2026, 11, 21, 11, tzinfo=UTC)
"""When the 22nd begins in Auckland, 13 hours ahead."""


@pytest.fixture
def grades(context: GraderContext) -> Grades:
    return Grades(context)


def ids(found: Iterable[StoredGrade]) -> list[str]:
    return [each.grade.session_id for each in found]


@pytest.fixture
def three(save: Save, clock: Clock) -> None:
    """One of today, one that ended a minute before midnight where the person lives, one of a week ago."""
    clock.now = MIDNIGHT + timedelta(hours=5)
    save("today", ended_at=MIDNIGHT)
    save("evening", ended_at=MIDNIGHT - timedelta(minutes=1))
    save("before", ended_at=MIDNIGHT - timedelta(days=7))


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("asked", "found"),
    [
        pytest.param({}, ["today", "evening", "before"], id="all-the-newest-first"),
        pytest.param({"days": 1}, ["today"], id="one-day-is-today-where-the-person-lives"),
        pytest.param({"days": 2}, ["today", "evening"], id="two-days-are-yesterday-too"),
        pytest.param({"days": 0.5}, ["today"], id="a-part-of-a-day-is-a-day"),
        pytest.param({"since": MIDNIGHT - timedelta(hours=1)}, ["today", "evening"], id="from-a-moment-on"),
        pytest.param({"limit": 2}, ["today", "evening"], id="at-most-so-many"),
        pytest.param({"completed": False}, [], id="none-that-failed"),
    ],
)
def test_a_selection_is_of_days_that_the_clock_tells(grades: Grades, asked: dict[str, Any], found: list[str]) -> None:
    assert ids(grades.select(**asked)) == found


@pytest.mark.parametrize(
    ("span", "begin"),
    [
        pytest.param(1, MIDNIGHT, id="days-begin-at-midnight"),
        pytest.param(timedelta(hours=2), MIDNIGHT + timedelta(hours=3), id="time-is-counted-back-from-now"),
        pytest.param(datetime(2026, 11, 22), MIDNIGHT, id="without-a-zone-it-is-meant-there"),  # noqa: DTZ001
    ],
)
def test_a_span_begins_where_the_person_lives(
    grades: Grades, clock: Clock, span: float | timedelta | datetime, begin: datetime
) -> None:
    clock.now = MIDNIGHT + timedelta(hours=5)

    assert grades.begin_of(span) == begin


@pytest.mark.parametrize("days", [0, -1, float("nan"), float("inf")])
def test_what_is_no_number_of_days_is_refused(grades: Grades, days: float) -> None:
    with pytest.raises(InputError, match="is not valid"):
        grades.begin_of(days)


@pytest.mark.usefixtures("three")
def test_every_grade_is_read_in_pages(grades: Grades, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader_daemon.api.grades._PAGE", 2)

    assert ids(grades.every(GradeFilter())) == ["today", "evening", "before"]


@pytest.mark.usefixtures("three")
def test_a_name_that_no_session_has_is_told_with_those_that_there_are(grades: Grades) -> None:
    with pytest.raises(InputError, match="no session has the model 'n'; known: m"):
        grades.select(model="n")


def test_names_are_those_that_a_filter_finds(grades: Grades, save: Save) -> None:
    for name, project in (("a", "/repo"), ("b", None), ("c", f"/{'deep/' * 30}repo")):
        save(name, project=project)
    assert grades.names(Dimension.PROJECT) == ["/repo"]


def test_an_id_may_be_shortened_as_long_as_one_is_meant(grades: Grades, save: Save) -> None:
    save("ab1")
    save("ab2")

    assert grades.find("ab1").grade.session_id == "ab1"
    with pytest.raises(InputError):
        grades.find("ab")


def test_trust_is_that_of_the_prior_where_there_is_no_database() -> None:
    settings = load_settings(db_path="/nowhere/grades.db", verdict="rules")

    assert Grades(GraderContext(settings)).trust().by is VerdictBy.RULES


def test_without_its_file_a_grade_is_explained_by_what_is_stored(grades: Grades, save: Save) -> None:
    save("gone")
    explained = grades.explain("gone")

    assert explained.sentences.keys() == {"quality.base"}
    assert explained.excerpts == {}
    assert explained.note == "the messages cannot be shown: the file is gone"
