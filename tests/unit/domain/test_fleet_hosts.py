from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.fleet_hosts import (
    FleetHostState,
    FleetView,
    FleetWatch,
    copied_id,
    host_and_session,
    is_behind,
    is_unwatched,
    left_of,
    silent_hosts,
    unheard_hosts,
)

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)


@given(host=st.from_regex(r"[a-z0-9][a-z0-9_-]{0,39}", fullmatch=True), session=st.text())
def test_the_id_of_a_copy_tells_host_and_session_whatever_is_in_it(host: str, session: str) -> None:
    assert host_and_session(copied_id(host, session)) == (host, session)


def test_a_machine_is_silent_for_a_day_or_never_spoke() -> None:
    seen = {"never": None, "long": NOW - timedelta(hours=25), "today": NOW - timedelta(hours=23)}
    hosts = tuple(
        FleetHostState(host=name, user=None, epoch=1, seq=1, version=None, last_seen=at) for name, at in seen.items()
    )
    fleet = FleetView(hosts=hosts, read_at=NOW)
    assert [host.host for host in silent_hosts(fleet, NOW)] == ["long"]
    assert [host.host for host in unheard_hosts(fleet)] == ["never"]


def test_a_fleet_is_unwatched_when_nobody_came_to_an_end_for_an_hour() -> None:
    def is_told(worked_at: datetime | None) -> bool:
        return is_unwatched(FleetWatch(member="lead", seen_at=NOW, worked_at=worked_at), NOW)

    worked = (None, NOW - timedelta(minutes=61), NOW - timedelta(minutes=59))
    assert [is_told(each) for each in worked] == [True, True, False]


def test_a_copy_is_behind_that_was_not_read_to_the_end_for_a_minute() -> None:
    read = (None, NOW - timedelta(seconds=61), NOW - timedelta(seconds=59))
    assert [is_behind(FleetView(hosts=(), read_at=each), NOW) for each in read] == [True, True, False]


def test_what_is_left_to_read_is_that_of_all_machines() -> None:
    hosts = tuple(
        FleetHostState(host=name, user=None, epoch=1, seq=9, version=None, last_seen=NOW, older=older)
        for name, older in {"desk": 0, "laptop": 7, "server": 3}.items()
    )
    assert left_of(FleetView(hosts=hosts, read_at=NOW)) == 10
