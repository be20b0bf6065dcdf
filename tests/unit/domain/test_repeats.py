from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.repeats import (
    NEIGHBOURS,
    REACH,
    Asked,
    Place,
    Stretch,
    asked_again,
    changed_around,
    places_of,
)
from tests.strategies import NOW, grade

WITHIN = timedelta(hours=48)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


def asked(name: str, start: timedelta | None, *, lasts: timedelta = HOUR) -> Asked:
    """A session that began `start` after now, None: nobody knows when."""
    return Asked(name, None if start is None else NOW + start, NOW + (start or timedelta()) + lasts, None)


def again(*sessions: Asked) -> list[str | None]:
    return [asked_again(sessions, position, within=WITHIN) for position in range(len(sessions))]


@pytest.mark.parametrize(
    ("start", "name"),
    [
        pytest.param(HOUR, "b", id="at-its-end"),
        pytest.param(HOUR + WITHIN, "b", id="as-late-as-can-be"),
        pytest.param(HOUR + WITHIN + SECOND, None, id="too-late"),
        pytest.param(HOUR - SECOND, None, id="before-its-end"),
    ],
)
def test_the_same_is_asked_again_when_it_begins_soon_after_the_end(start: timedelta, name: str | None) -> None:
    assert again(asked("a", timedelta()), asked("b", start)) == [name, None]


def test_the_newest_of_several_is_named() -> None:
    sessions = [asked("a", timedelta()), asked("c", 2 * HOUR, lasts=DAY), asked("b", 3 * HOUR, lasts=DAY)]
    assert again(*sessions) == ["b", None, None]


def test_a_session_without_a_start_asks_nothing_again() -> None:
    assert again(asked("a", timedelta()), asked("b", None, lasts=2 * HOUR)) == [None, None]


@pytest.mark.parametrize(
    ("every", "count", "expected"),
    [
        pytest.param(2 * HOUR, 3, True, id="three-times"),
        pytest.param(2 * HOUR, 4, False, id="four-times"),
        pytest.param(2 * HOUR, 30, False, id="all-day"),
        pytest.param(DAY, 30, False, id="every-day"),
        pytest.param(2 * DAY + HOUR, 30, False, id="every-other-day"),
        pytest.param(40 * DAY, 30, False, id="now-and-then"),
    ],
)
def test_a_routine_is_no_asking_again(every: timedelta, count: int, expected: bool) -> None:
    sessions = [asked(f"s{number:02}", number * every) for number in range(count)]
    assert any(again(*sessions)) is expected


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 60)), max_size=12), st.data())
def test_only_the_neighbours_decide(hours: list[tuple[int, int]], data: st.DataObject) -> None:
    made = [asked(f"s{number}", start * HOUR, lasts=lasts * HOUR) for number, (start, lasts) in enumerate(hours)]
    sessions = sorted(made, key=lambda session: (session.ended_at, session.session_id))
    for position in range(len(sessions)):
        first = data.draw(st.integers(0, max(0, position - NEIGHBOURS)))
        last = data.draw(st.integers(position + 1 + NEIGHBOURS, len(sessions) + NEIGHBOURS + 1))
        alone = asked_again(sessions[first:last], position - first, within=WITHIN)
        assert alone == asked_again(sessions, position, within=WITHIN)


@given(
    count=st.integers(0, 3 * REACH),
    first=st.integers(-1, 3 * REACH),
    other=st.integers(-1, 3 * REACH),
    reach=st.sampled_from([REACH, 2 * REACH]),
)
def test_a_stretch_that_was_read_for_one_place_serves_others_exactly_or_not_at_all(
    count: int, first: int, other: int, reach: int
) -> None:
    sessions = [asked(f"{number:02}", number * HOUR) for number in range(count)]
    places = [Place(1, NOW + number * HOUR + HOUR, f"{number:02}") for number in (first, other)]

    def around(place: Place, reach: int) -> tuple[list[Asked], list[Asked]]:
        at = sum((one.ended_at, one.session_id) < place[1:] for one in sessions)
        return sessions[max(0, at - reach) : at], sessions[at : at + reach + 1]

    stretch = Stretch.of(*around(places[0], reach), reach=reach)

    assert stretch.around(places[0]) == around(places[0], REACH)
    assert stretch.around(places[1]) in (None, around(places[1], REACH))
    if count < REACH:
        assert stretch.around(places[1]) is not None


def test_only_what_has_a_request_and_an_end_has_a_place() -> None:
    asked_at = grade(request=7, ended_at=NOW)
    assert places_of([asked_at, grade(request=None, ended_at=NOW), grade(request=7, ended_at=None)]) == [
        Place(7, NOW, asked_at.session_id)
    ]


def test_a_session_that_comes_between_changes_who_asks_again() -> None:
    before, after = [asked("a", timedelta())], [asked("b", 2 * HOUR)]
    assert changed_around(before, after, within=WITHIN) == [("a", "b")]
    assert changed_around([before[0]._replace(asked_again="b")], after, within=WITHIN) == []


@pytest.mark.parametrize(("from_first", "to_last"), [(False, True), (True, False)], ids=["before", "after"])
def test_of_a_stretch_that_does_not_reach_far_enough_nothing_is_known(from_first: bool, to_last: bool) -> None:
    only = asked("a", HOUR)
    stretch = Stretch([only], from_first=from_first, to_last=to_last)
    assert stretch.around(Place(1, only.ended_at, only.session_id)) is None
