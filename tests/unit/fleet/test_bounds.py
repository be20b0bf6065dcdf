"""Bounds of what hosts and members write: values, locks, leadership, names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from uuid import uuid4

import psycopg
import pytest

from grader_daemon.errors import DeliveryError
from grader_daemon.fleet import server_schema as schema
from grader_daemon.fleet.server_admin import FleetDatabase, FleetLogin
from grader_daemon.fleet.server_connection import translated
from grader_daemon.fleet.server_reads import FleetRows
from grader_daemon.fleet.server_rows import read_grade, read_label, read_sign
from tests.postgres import Server, serving

TABLES = (
    *("hosts", "grades", "removals", "error_issues", "labels", "fleet", "watch", "schema_versions"),
    *("summed_days", "daily_sums"),
)


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


def _url(login: FleetLogin) -> str:
    return f"postgresql://{login.role}:{login.password}@{login.server}:{login.port}/{login.database}"


@pytest.fixture
def evil(server: Server) -> Iterator[psycopg.Connection]:
    """A host's connection."""
    with FleetDatabase(server.url()) as fleet:
        url = _url(fleet.add("evil"))
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def lead(server: Server) -> Iterator[psycopg.Connection]:
    """A member's connection."""
    with FleetDatabase(server.url()) as fleet:
        url = _url(fleet.add_member("lead"))
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("who", ["evil", "lead"])
def test_neither_a_host_nor_a_member_can_lock_a_table(who: str, request: pytest.FixtureRequest) -> None:
    connection: psycopg.Connection = request.getfixturevalue(who)
    for table in TABLES:
        for mode in ("SHARE", "SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"BEGIN; LOCK TABLE grader.{table} IN {mode} MODE".encode())
            connection.execute("ROLLBACK")


@pytest.mark.parametrize("column", ["failures", "reasons", "claims", "signals_from_people", "tools"])
@pytest.mark.parametrize(
    ("value", "error"),
    [
        pytest.param("{}", psycopg.errors.CheckViolation, id="no-list"),
        pytest.param(f'["{"x" * 2**21}"]', psycopg.errors.CheckViolation, id="too-long"),
        pytest.param(r'["\u0000"]', psycopg.errors.UntranslatableCharacter, id="nul"),
        pytest.param('["x"', psycopg.errors.InvalidTextRepresentation, id="no-json"),
        pytest.param(r'["\\u0000"]', None, id="what-looks-like-nul"),
    ],
)
def test_lists_are_bounded(
    evil: psycopg.Connection, column: str, value: str, error: type[psycopg.Error] | None
) -> None:
    insert = f"INSERT INTO grader.grades (host, session_id, changed_seq, {column}) VALUES ('evil', 's', 1, %s)".encode()
    with nullcontext() if error is None else pytest.raises(error):
        evil.execute(insert, (value,))


def test_moments_of_arrival_are_those_of_the_server(server: Server, evil: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        evil.execute("UPDATE grader.hosts SET last_seen = 'infinity'")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        evil.execute("INSERT INTO grader.labels (host, session_id, given_by, kept_at) VALUES ('evil', 's', 'x', now())")
    evil.execute("INSERT INTO grader.labels (host, session_id, given_by, given_at) VALUES ('evil', 's', 'x', now())")
    evil.execute("UPDATE grader.labels SET taken_at = 'infinity'")
    evil.execute("UPDATE grader.hosts SET other_machine_at = 'infinity'")
    evil.execute("UPDATE grader.hosts SET version = '1'")
    with server.admin() as connection:
        found = connection.execute(
            "SELECT abs(extract(epoch FROM now() - last_seen)) < 60, abs(extract(epoch FROM now() - taken_at)) < 60,"
            " abs(extract(epoch FROM now() - other_machine_at)) < 60 FROM grader.hosts, grader.labels"
        )
        assert found.fetchone() == (True, True, True)


def test_what_a_host_says_in_the_name_of_a_member_is_said_there(server: Server, evil: psycopg.Connection) -> None:
    evil.execute("INSERT INTO grader.labels (host, session_id, given_by, completed) VALUES ('evil', 's', 'lead', true)")
    evil.execute(
        "INSERT INTO grader.labels (host, session_id, given_by, withdraws, withdraws_by)"
        " SELECT host, session_id, 'lead', given_at, 'lead' FROM grader.labels"
    )
    with FleetDatabase(server.url()) as fleet:
        rows = FleetRows(_url(fleet.add_member("lead")))
    said, _ = rows.labels(since=None)
    rows.close()
    assert [(label.given_by, label.withdraws_by) for label in said] == [("lead@evil", None), ("lead@evil", "lead@evil")]


def test_only_members_lead_and_the_next_one_when_the_first_is_silent(
    server: Server, evil: psycopg.Connection, lead: psycopg.Connection
) -> None:
    first, second = uuid4(), uuid4()
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        evil.execute("SELECT grader.lead(%s)", (first,))
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        lead.execute("UPDATE grader.watch SET leader = NULL")
    evil.execute("SELECT pg_advisory_lock(2002875491)")
    asked = [lead.execute("SELECT grader.lead(%s)", (who,)).fetchone() for who in (first, second, first)]
    assert asked == [(True,), (False,), (True,)]
    with server.admin() as connection:
        connection.execute("UPDATE grader.watch SET seen_at = now() - interval '31 seconds'")
    assert lead.execute("SELECT grader.lead(%s)", (second,)).fetchone() == (True,)


def test_a_lock_that_any_login_may_take_does_not_stop_init(server: Server, evil: psycopg.Connection) -> None:
    evil.execute("SELECT pg_advisory_lock(1735549284)")
    with FleetDatabase(server.url()) as fleet:
        assert fleet.make().before == schema.newest_version()


def test_waiting_for_a_lock_ends_with_a_line(server: Server) -> None:
    with server.admin() as holds, server.admin() as waits:
        holds.execute("BEGIN")
        holds.execute("LOCK TABLE grader.grades")
        waits.execute("SET lock_timeout = '10ms'")
        with pytest.raises(DeliveryError, match="another login has held a lock"), translated():
            waits.execute("SELECT 1 FROM grader.grades")


def test_a_fleet_that_lives_is_brought_to_bounds(running: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    running.empty()
    with monkeypatch.context() as older, FleetDatabase(running.url()) as fleet:
        before = schema.migrations()[:2]
        older.setattr(schema, "migrations", lambda: before)
        fleet.make()
    with running.admin() as connection:
        connection.execute(
            "INSERT INTO grader.hosts (host, last_seen, version, newest_seq)"
            " VALUES ('old', 'infinity', repeat('9', 1000000), 9223372036854775807), ('good', now(), '1', 1)"
        )
        connection.execute(
            "INSERT INTO grader.grades (host, session_id, changed_seq, response_quality, task_summary, ended_at,"
            " cost_usd, failures) VALUES ('old', 'a', 1, 99, repeat('x', 99999), 'infinity', 'NaN', '{}'),"
            " ('good', 'b', 1, 3, 'all is well', now(), 1, '[]'), ('old', 'c', -1, 3, 'x', now(), 1, '[]')"
        )
        connection.execute(
            "INSERT INTO grader.labels (host, session_id, given_by, given_at, quality, note) VALUES"
            " ('old', 'a', 'x', 'infinity', 1, 'x'), ('old', 'a', 'x', now(), 99, repeat('x', 99999))"
        )
        connection.execute("UPDATE grader.fleet SET decisions = '\"x\"', decisions_version = 9223372036854775807")
    with FleetDatabase(running.url()) as fleet:
        assert fleet.make().before == 2
        assert [(host.host, host.last_seen is None, len(host.version or "")) for host in fleet.hosts()] == [
            ("good", False, 1),
            ("old", True, 200),
        ]
    with running.admin() as connection:
        kept = connection.execute(
            "SELECT session_id, response_quality, length(task_summary), ended_at IS NULL, cost_usd, failures"
            " FROM grader.grades ORDER BY session_id"
        ).fetchall()
        said = connection.execute("SELECT quality, length(note) FROM grader.labels").fetchall()
        decided = connection.execute("SELECT decisions FROM grader.fleet").fetchone()
    assert kept == [("a", None, 2_000, True, None, None), ("b", 3, 11, False, 1.0, [])]
    assert (said, decided) == ([(None, 2_000)], (None,))


def test_what_only_another_version_knows_is_unknown_and_nonsense_is_nothing() -> None:
    sign = read_sign('{"fingerprint":"f","tool":null,"command":null,"category":"new","signal":"","example":""}')
    assert sign is not None
    assert sign.category == "unknown"
    assert [read_grade("[1]"), read_sign("null"), read_label('{"given_at":"infinity"}')] == [None, None, None]
