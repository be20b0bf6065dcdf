from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given

from grader_daemon.storage.sqlite.rows import to_moment, to_text
from tests.strategies import NOW, moments


@given(moment=moments)
def test_a_moment_survives_its_text(moment: datetime) -> None:
    assert to_moment(to_text(moment)) == moment


@given(first=moments, second=moments)
def test_texts_sort_as_their_moments_do(first: datetime, second: datetime) -> None:
    assert (str(to_text(first)) < str(to_text(second))) == (first < second)


def test_a_text_is_in_utc_whatever_the_zone() -> None:
    assert to_text(NOW.astimezone(timezone(timedelta(hours=2)))) == to_text(NOW)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        pytest.param("2026-11-21T22:00:00", NOW, id="without-a-zone-is-utc"),
        pytest.param("2026-11-21T23:00:00+01:00", NOW, id="another-zone"),
        pytest.param("2026-11-21 22:00:00", NOW, id="with-a-space"),
        pytest.param("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC), id="date"),
        pytest.param("soon", None, id="no-time"),
        pytest.param("0001-01-01T00:00:00+01:00", None, id="before-all-years"),
        pytest.param("9999-12-31T23:59:59-01:00", None, id="after-all-years"),
        pytest.param("", None, id="empty"),
        pytest.param(None, None, id="null"),
    ],
)
def test_texts_of_other_programs_are_understood_or_unknown(text: str | None, moment: datetime | None) -> None:
    assert to_moment(text) == moment
