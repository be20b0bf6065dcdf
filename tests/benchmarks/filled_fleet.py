"""A fleet whose server is filled by SQL: rows that the product sent of real sessions, many times, as 50 machines."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import psycopg

from grader_daemon import SelfGrader
from grader_daemon.domain.rollup import SUM_NAMES
from grader_daemon.fleet.admin import configuration_line, fleet_database, fleet_push
from grader_daemon.fleet.server_admin import FleetLogin
from grader_daemon.settings import load_settings
from tests.benchmarks import machine
from tests.benchmarks.corpora import has_archives, real_corpus
from tests.benchmarks.sessions import write_sessions
from tests.postgres import Server

HOSTS: Final = 50
_SENT: Final = 400
_KIND: Final = "small"
"""Of `corpora.REAL`: its sessions are graded in a second."""
_COLUMNS: Final = (
    "SELECT column_name FROM information_schema.columns WHERE table_schema = 'grader' AND table_name = 'grades'"
    " AND column_name NOT IN ('host', 'received_at') ORDER BY ordinal_position"
)
_ENDED: Final = "now() - (%(day)s + (n - 1) / %(a_day)s::float8) * interval '1 day'"
_COPIED: Final = ", ".join(f"t.{name} * %(a_day)s::bigint / %(sent)s" for name in SUM_NAMES)
_SUMMED: Final = ", ".join(f"sum({name})::bigint AS {name}" for name in SUM_NAMES)
_MADE: Final = {
    "session_id": "g.session_id || '-' || h || '-' || %(day)s || '-' || n",
    "ended_at": _ENDED,
    "session_start": f"{_ENDED} - interval '5 minutes'",
    "ended_on": f"(({_ENDED}) AT TIME ZONE 'UTC')::date",
    "request": "g.request + n",
    "asked_again": "NULL",
    "parent": "NULL",
    "changed_seq": "(%(days)s - %(day)s)::bigint * %(a_day)s + 1 - n",
    "task_completed": "CASE WHEN g.scored THEN abs(hashtext(h || '.' || n || '.' || %(day)s) %% 100) < 70 END",
}
"""What a copy of a row has of its own: the later a session ended, the later it was sent."""


class FilledFleet(NamedTuple):
    """The URL of a member of a filled fleet, its rows, and the bytes that its server has them in."""

    url: str
    rows: int
    bytes: int


def fill_fleet(server: Server, folder: Path, *, days: int, a_day: int) -> FilledFleet:
    """Fill the server with the rows of `HOSTS` machines, `a_day` sessions of each on each of the last days."""
    machine.progress("making the fleet")
    with fleet_database(server.url()) as fleet:
        fleet.make()
        sends = _url(fleet.add("h0", user="user0"))
        for number in range(1, HOSTS):
            fleet.add(f"h{number}", user=f"user{number % 20}")
        reads = _url(fleet.add_member("lead"))
    _send(folder, sends)
    with server.admin() as connection:
        connection.execute("CREATE TABLE first AS SELECT *, row_number() OVER () AS number FROM grader.grades")
        connection.execute("DELETE FROM grader.grades")
        _multiply(connection, days=days, a_day=a_day)
        _multiply_sums(connection, days=days, a_day=a_day)
        connection.execute(
            "UPDATE grader.hosts AS h SET machine = h.host, epoch = 1, version = '0', last_seen = now(),"
            " last_seq = %s, newest_seq = %s",
            (days * a_day, days * a_day),
        )
        connection.execute(
            "INSERT INTO grader.error_issues SELECT 'h' || h, fingerprint, tool, command, category, subcategory,"
            f" signal, example FROM grader.error_issues, generate_series(1, {HOSTS - 1}) AS h WHERE host = 'h0'"
        )
        machine.progress("making the fleet, vacuum")
        connection.execute("VACUUM ANALYZE grader.grades")
        [rows, size] = connection.execute(
            "SELECT count(*), pg_total_relation_size('grader.grades') FROM grader.grades"
        ).fetchone() or (0, 0)
    return FilledFleet(reads, rows, size)


def _multiply(connection: psycopg.Connection, *, days: int, a_day: int) -> None:
    """Make the rows of the machines, the oldest first; indexes are made of all at once."""
    columns = [name for (name,) in connection.execute(_COLUMNS).fetchall()]
    made = ", ".join(_MADE.get(name, f"g.{name}") for name in columns)
    insert = (
        f"INSERT INTO grader.grades (host, {', '.join(columns)}) SELECT 'h' || h, {made}"
        f" FROM generate_series(0, {HOSTS - 1}) AS h, generate_series(1, %(a_day)s) AS n"
        " JOIN first AS g ON g.number = (n + %(day)s::bigint * 31) %% (SELECT count(*) FROM first) + 1"
    ).encode()
    indexes = connection.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'grader' AND tablename = 'grades'"
        " AND indexname <> 'grades_pkey'"
    ).fetchall()
    connection.execute("SET session_replication_role = replica")  # the machines are there: no row asks for its own
    connection.execute("SET synchronous_commit = off; SET maintenance_work_mem = '512MB'")
    connection.execute("ALTER TABLE grader.grades DROP CONSTRAINT grades_pkey")
    for name, _ in indexes:
        connection.execute(f"DROP INDEX grader.{name}".encode())
    for day in reversed(range(days)):
        machine.progress(f"making the fleet, day {days - day} of {days}")
        connection.execute(insert, {"day": day, "days": days, "a_day": a_day})
    machine.progress("making the fleet, indexes")
    connection.execute("ALTER TABLE grader.grades ADD CONSTRAINT grades_pkey PRIMARY KEY (host, session_id)")
    for _, definition in indexes:
        connection.execute(definition.encode())


def _multiply_sums(connection: psycopg.Connection, *, days: int, a_day: int) -> None:
    """Give each machine on each day the sums of all that was sent, in proportion."""
    [sent] = connection.execute("SELECT count(*) FROM first").fetchone() or (1,)
    connection.execute(
        f"CREATE TABLE first_sums AS SELECT dimension, name, {_SUMMED} FROM grader.daily_sums"
        " GROUP BY dimension, name".encode()
    )
    connection.execute("DELETE FROM grader.daily_sums")
    connection.execute(
        f"INSERT INTO grader.daily_sums (host, day, dimension, name, {', '.join(SUM_NAMES)})"
        f" SELECT 'h' || h, (now() AT TIME ZONE 'UTC')::date - d, dimension, name, {_COPIED}"
        f" FROM generate_series(0, {HOSTS - 1}) AS h, generate_series(0, %(days)s - 1) AS d, first_sums AS t".encode(),
        {"days": days, "a_day": a_day, "sent": sent},
    )
    connection.execute(
        "INSERT INTO grader.summed_days (host, day, revision) SELECT DISTINCT host, day, 1 FROM grader.daily_sums"
        " ON CONFLICT DO NOTHING"
    )
    connection.execute("VACUUM ANALYZE grader.daily_sums")


def _send(folder: Path, url: str) -> None:
    """Grade labelled sessions, or made ones where these are not at hand, and send them as the product does."""
    root = folder / "sent"
    root.mkdir()
    if has_archives():
        real_corpus(root, _KIND, slices=None)
    else:
        for _ in write_sessions([root] * _SENT, size=4_000):
            pass
    settings = load_settings(db_path=str(folder / "h0.db"), watch_roots=[str(root)], fleet_url=url)
    with SelfGrader(settings=settings) as grader:
        for _ in grader.grading.backfill(grader.grading.ungraded_files()):
            pass
        with closing(fleet_push(grader.context)) as push:
            while push.run().more:
                pass


def _url(login: FleetLogin) -> str:
    return configuration_line(login, setting="x").split('"')[1]
