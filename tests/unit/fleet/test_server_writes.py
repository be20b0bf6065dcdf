from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from grader_daemon.bootstrap import utc_now
from grader_daemon.domain.analysis import Category, ErrorSign
from grader_daemon.errors import DeliveryError
from grader_daemon.fleet.server_admin import FleetDatabase, FleetLogin
from grader_daemon.fleet.server_writes import CHANNEL, HostRows
from tests.fleet_attacks import ATTACKS
from tests.postgres import Server, serving

HOSTS = [f"host{number}" for number in range(8)]


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    """The server with a fleet that has no hosts."""
    running.empty()
    with FleetDatabase(running.url()) as fleet:
        fleet.make()
    return running


def _let_in(server: Server, name: str) -> str:
    with FleetDatabase(server.url()) as fleet:
        login = fleet.add(name)
    return _url(login)


def _url(login: FleetLogin) -> str:
    return f"postgresql://{login.role}:{login.password}@{login.server}:{login.port}/{login.database}"


def _rows(url: str, machine: str = "one") -> HostRows:
    return HostRows(url, columns=("session_id",), machine=machine, version="1", clock=utc_now)


def _batch(first: int, size: int) -> list[tuple[str, int]]:
    return [(f"s{number}", number) for number in range(first, first + size)]


def _counted(server: Server) -> dict[str, int]:
    with server.admin() as connection:
        return dict(connection.execute("SELECT host, count(*) FROM grader.grades GROUP BY host").fetchall())


def test_eight_hosts_push_at_once_and_each_row_is_there_once(server: Server) -> None:
    urls = {host: _let_in(server, host) for host in HOSTS}

    def push(host: str) -> None:
        with closing(_rows(urls[host])) as rows:
            after = rows.taken()
            for first in range(1, 2001, 500):
                rows.save(_batch(first, 500), [], after=after, seq=first + 499, newest=2000)
                after = first + 499

    with ThreadPoolExecutor(len(HOSTS)) as pool:
        list(pool.map(push, HOSTS))
    assert _counted(server) == dict.fromkeys(HOSTS, 2000)


def test_what_is_done_meanwhile_begins_when_the_server_has_all_rows_and_before_they_are_there(server: Server) -> None:
    handed: list[tuple[str, int]] = []
    seen: list[tuple[int, int]] = []

    class Told(list[tuple[str, int]]):
        def __iter__(self) -> Iterator[tuple[str, int]]:
            for row in super().__iter__():
                handed.append(row)
                yield row

    with closing(_rows(_let_in(server, "laptop"))) as rows:
        rows.save(
            *(Told(_batch(1, 9)), []),
            after=0,
            seq=9,
            newest=9,
            meanwhile=lambda: seen.append((len(handed), sum(_counted(server).values()))),
        )
    assert (seen, _counted(server)) == ([(9, 0)], {"laptop": 9})


def test_a_batch_in_which_the_server_dies_is_not_there_and_is_sent_once_more(server: Server) -> None:
    class Deadly(list[tuple[str, int]]):
        def __iter__(self) -> Iterator[tuple[str, int]]:
            for place, row in enumerate(super().__iter__()):
                if place == 250:
                    server.kill()
                yield row

    with closing(_rows(_let_in(server, "laptop"))) as rows:
        assert rows.taken() == 0
        rows.save(_batch(1, 500), [], after=0, seq=500, newest=1000)
        with pytest.raises(DeliveryError):
            rows.save(Deadly(_batch(501, 500)), [], after=500, seq=1000, newest=1000)
        with pytest.raises(DeliveryError):
            rows.taken()
        server.start()
        assert (rows.taken(), _counted(server)) == (500, {"laptop": 500})
        rows.save(_batch(501, 500), [], after=500, seq=1000, newest=1000)
    assert _counted(server) == {"laptop": 1000}


def test_a_batch_is_told_once_and_what_is_gone_is_removed(server: Server) -> None:
    url = _let_in(server, "laptop")
    with server.admin() as listening, closing(_rows(url)) as rows:
        listening.execute(f"LISTEN {CHANNEL}".encode())
        rows.taken()
        rows.save(_batch(1, 3), [], after=0, seq=3, newest=3)
        rows.save([], ["s2"], after=3, seq=4, newest=4)
        told = [note.payload for note in listening.notifies(timeout=5, stop_after=2)]
    assert (told, _counted(server)) == (["laptop", "laptop"], {"laptop": 2})


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_what_a_host_tries_on_another_is_refused(server: Server, attack: str) -> None:
    url = _two_hosts(server)
    with psycopg.connect(url, autocommit=True) as evil, pytest.raises(psycopg.errors.InsufficientPrivilege):
        evil.execute(ATTACKS[attack].encode())
    assert _counted(server) == {"evil": 3, "victim": 3}


def test_what_was_removed_and_came_back_is_no_removal(server: Server) -> None:
    with closing(_rows(_let_in(server, "laptop"))) as rows:
        rows.taken()
        rows.save(_batch(1, 3), [], after=0, seq=3, newest=3)
        rows.save([], ["s1", "s2"], after=3, seq=5, newest=5)
        rows.save([("s2", 6)], [], after=5, seq=6, newest=6)
    with server.admin() as connection:
        removed = connection.execute("SELECT session_id, changed_seq FROM grader.removals").fetchall()
        epoch = connection.execute("SELECT epoch FROM grader.hosts").fetchone()
    assert (removed, epoch, _counted(server)) == ([("s1", 5)], (1,), {"laptop": 2})


def test_of_errors_that_are_known_only_those_that_look_otherwise_are_written(server: Server) -> None:
    def save(*, seq: int, second: str) -> dict[str, tuple[str, str]]:
        signs = [_sign("f1", example="first"), _sign("f2", example=second)]
        rows.save(_batch(1, 1), [], after=seq - 1, seq=seq, newest=seq, signs=signs)
        with server.admin() as connection:
            found = connection.execute("SELECT fingerprint, example, ctid::text FROM grader.error_issues").fetchall()
        return {fingerprint: (example, place) for fingerprint, example, place in found}

    with closing(_rows(_let_in(server, "laptop"))) as rows:
        rows.taken()
        before = save(seq=1, second="second")
        after = save(seq=2, second="otherwise")
    assert (before["f1"][0], before["f2"][0], after["f2"][0]) == ("first", "second", "otherwise")
    assert after["f1"] == before["f1"]


def _sign(fingerprint: str, *, example: str) -> ErrorSign:
    return ErrorSign(
        fingerprint=fingerprint, tool=None, command=None, category=Category.UNKNOWN, signal="", example=example
    )


def test_the_server_says_when_a_row_arrived_and_when_it_came_again(server: Server) -> None:
    url = _let_in(server, "laptop")
    with closing(_rows(url)) as rows, server.admin() as connection:
        rows.taken()
        rows.save(_batch(1, 1), [], after=0, seq=1, newest=1)
        arrived = connection.execute("SELECT received_at > now() - interval '1 minute' FROM grader.grades").fetchone()
        connection.execute("ALTER TABLE grader.grades DISABLE TRIGGER stamp")
        connection.execute("UPDATE grader.grades SET received_at = '2020-01-01'")
        connection.execute("ALTER TABLE grader.grades ENABLE TRIGGER stamp")
        rows.save(_batch(1, 1), [], after=1, seq=2, newest=2)
        again = connection.execute("SELECT received_at > now() - interval '1 minute' FROM grader.grades").fetchone()
    assert (arrived, again) == ((True,), (True,))
    with psycopg.connect(url, autocommit=True) as host:
        for statement in (
            "INSERT INTO grader.grades (host, session_id, changed_seq, received_at) VALUES ('laptop', 'x', 1, now())",
            "UPDATE grader.grades SET received_at = now()",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                host.execute(statement.encode())


def test_a_feed_that_is_set_back_begins_another_epoch_and_tells_again_what_was_said(server: Server) -> None:
    with closing(_rows(_let_in(server, "laptop"))) as rows:
        rows.taken()
        rows.save(_batch(1, 3), [], after=0, seq=3, newest=3)
        rows.send_labels([], up_to=7)
        told = [rows.labels_sent()]
        rows.save([("s1", 2)], [], after=1, seq=2, newest=2)
        told.append(rows.labels_sent())
    with server.admin() as connection:
        kept = connection.execute("SELECT epoch, last_seq, labels_sent FROM grader.hosts").fetchone()
    assert (told, kept) == ([7, 0], (2, 2, 0))


def test_a_machine_with_less_than_the_server_has_nothing_to_send(server: Server) -> None:
    with closing(_rows(_let_in(server, "laptop"))) as rows:
        rows.taken()
        rows.save(_batch(1, 3), [], after=0, seq=3, newest=3)
        rows.greet(newest=1)
    with FleetDatabase(server.url()) as fleet:
        [host] = fleet.hosts()
    assert host.behind == 0


@pytest.mark.parametrize("role", ["grader_host_evil", "grader_host"])
def test_a_host_neither_sees_nor_changes_rows_of_another(server: Server, role: str) -> None:
    url = _two_hosts(server)
    own = 3 if role == "grader_host_evil" else 0
    with psycopg.connect(url, autocommit=True) as evil:
        evil.execute(f"SET ROLE {role}".encode())
        evil.execute("CREATE FUNCTION pg_temp.substr(text, int) RETURNS text LANGUAGE sql RETURN 'victim'")
        evil.execute("SET search_path = pg_temp, pg_catalog")
        seen = evil.execute("SELECT host FROM grader.grades").fetchall()
        hosts = evil.execute("SELECT host FROM grader.hosts").fetchall()
        changed = evil.execute("UPDATE grader.grades SET model = 'evil' WHERE host = 'victim'").rowcount
        evil.execute("SELECT grader.remove_sessions(ARRAY['s1', 's2', 's3'], true, 1)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            evil.execute("DELETE FROM grader.grades WHERE host = 'victim'")
    assert (seen, hosts) == ([("evil",)] * own, [("evil",)] if own else [])
    assert (changed, _counted(server)) == (0, {"victim": 3})  # of its own it may remove all


def _two_hosts(server: Server) -> str:
    urls = [_let_in(server, name) for name in ("victim", "evil")]
    for url in urls:
        with closing(_rows(url)) as rows:
            rows.taken()
            rows.save(_batch(1, 3), [], after=0, seq=3, newest=3)
    return urls[-1]


def test_a_host_that_is_connected_is_removed_and_its_login_ends(server: Server) -> None:
    url = _let_in(server, "laptop")
    with closing(_rows(url)) as rows, FleetDatabase(server.url()) as fleet:
        rows.taken()
        rows.save(_batch(1, 3), [], after=0, seq=3, newest=3)
        assert (fleet.remove("laptop"), fleet.hosts()) == (3, [])
        with pytest.raises(DeliveryError):
            rows.greet(newest=3)
        with pytest.raises(DeliveryError, match="authentication failed"):
            rows.taken()


def test_a_host_is_removed_after_a_crash_left_its_temporary_table(server: Server) -> None:
    with closing(_rows(_let_in(server, "laptop"))) as rows:
        rows.taken()
        server.kill()
        server.start()
        with FleetDatabase(server.url()) as fleet:
            assert fleet.remove("laptop") == 0
