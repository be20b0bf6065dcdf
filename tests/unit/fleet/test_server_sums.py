"""Sums of all machines, as a new member of a fleet reads them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import pytest

from grader_daemon.fleet.server_admin import FleetDatabase
from grader_daemon.fleet.server_sums import read_sums
from tests.postgres import Server, serving

DAYS = 30


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.empty()
    with FleetDatabase(running.url()) as fleet:
        fleet.make()
    return running


def _count(server: Server, *, hosts: int, models: int) -> None:
    """Have hosts count one session on each of the last days, of each model."""
    with server.admin() as connection:
        connection.execute(
            "INSERT INTO grader.hosts (host, last_seq) SELECT 'h' || n, 1 FROM generate_series(1, %s) n", (hosts,)
        )
        of_each = (
            "FROM grader.hosts AS h, generate_series(0, %s - 1) AS ago, LATERAL (SELECT now()::date - ago AS day) AS d"
        )
        connection.execute(f"INSERT INTO grader.summed_days SELECT host, day, 1 {of_each}".encode(), (DAYS,))
        connection.execute(
            "INSERT INTO grader.daily_sums (host, day, dimension, name, sessions)"
            f" SELECT host, day, 'model', 'm' || n, 1 {of_each}, generate_series(1, %s) AS n".encode(),
            (DAYS, models),
        )


def test_sums_of_a_large_fleet_are_read_to_the_last(server: Server) -> None:
    _count(server, hosts=1, models=3_400)
    with server.admin() as connection:
        sessions = [row[3] for row in read_sums(connection, since=None)]
    assert (len(sessions), set(sessions)) == (3_400 * DAYS, {1})


def test_sums_are_read_since_a_day(server: Server) -> None:
    _count(server, hosts=2, models=1)
    with server.admin() as connection:
        [today] = connection.execute("SELECT now()::date").fetchone() or (date.min,)
        assert [row[:4] for row in read_sums(connection, since=today)] == [("model", today.isoformat(), "m1", 2)]


def test_a_host_without_sums_leaves_none_of_the_others(server: Server) -> None:
    _count(server, hosts=2, models=1)
    with server.admin() as connection:
        connection.execute("INSERT INTO grader.hosts (host, last_seq) VALUES ('older', 1)")
        assert list(read_sums(connection, since=None)) == []
