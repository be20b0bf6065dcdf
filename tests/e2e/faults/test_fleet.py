"""Machines that send to a fleet while the network, the server or they themselves fail: nothing is lost or doubled."""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from time import monotonic

import psycopg
import pytest

from grader_daemon import SelfGrader
from grader_daemon.fleet.admin import fleet_push
from grader_daemon.settings import load_settings
from tests import demo_home
from tests.benchmarks.multiplied import make_database
from tests.e2e.daemon_process import DATABASE, query, run_command
from tests.e2e.faults.boxes import SmallDisk
from tests.e2e.faults.following import Following
from tests.e2e.faults.forked import ForkedDaemons
from tests.e2e.faults.network import Between, Cut, OwnNetwork, require_right_to_networks
from tests.e2e.session_files import turns, write
from tests.examples import repeats
from tests.fleet_hosts import assert_has_exactly, counted, let_in, make_fleet, password
from tests.postgres import Server, serving
from tests.waiting import wait_until

HOSTS = [f"host{number}" for number in range(repeats(12, thorough=40))]
SESSIONS, BATCH = 1200, 500
KILLS, MOST_KILLS = 30, 90
LONGEST_LIFE = 0.3
IN_BATCH = ("active", "idle in transaction")
"""What the server says of a connection that it is asked something, or is in a transaction."""

IMPATIENT = {
    "keepalives_idle": "1",
    "keepalives_interval": "1",
    "keepalives_count": "2",
    "tcp_user_timeout": "2000",
    "connect_timeout": "2",
}
"""What is noticed within half a minute by default."""


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving() as served:
        yield served


@pytest.fixture
def server(running: Server) -> Server:
    """A server with a fleet that has no hosts."""
    running.empty()
    make_fleet(running)
    return running


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with grades for three batches."""
    home = tmp_path_factory.mktemp("many")
    settings = load_settings(db_path=str(home / DATABASE), watch_roots=[str(home / "sessions")])
    assert make_database(settings, home / "sessions", sessions=SESSIONS, graded=40) == SESSIONS
    return home


@pytest.fixture
def home(many: Path, tmp_path: Path) -> Path:
    return shutil.copytree(many, tmp_path / "home", ignore=shutil.ignore_patterns("sessions"))


def _wait_for_all(server: Server, host: str, home: Path) -> None:
    """Wait until a host is told to be where its feed is, and compare what is there."""
    [newest] = query(home / DATABASE, "SELECT max(seq) AS seq FROM grade_changes")

    def is_through() -> bool:
        with server.admin() as connection:
            told = connection.execute("SELECT last_seq FROM grader.hosts WHERE host = %s", (host,)).fetchone()
        return told == (newest["seq"],)

    wait_until(is_through, f"{host} to be through")
    assert_has_exactly(server, host, home / DATABASE)


# -- many at once ------------------------------------------------------------------------------------------------------


def test_hosts_that_push_at_once_are_there_once_each(server: Server, tmp_path: Path) -> None:
    database = demo_home.make(tmp_path / "made")
    urls = {host: let_in(server, host) for host in HOSTS}

    def push(host: str) -> int:
        own = tmp_path / host / "grades.db"
        own.parent.mkdir()
        shutil.copy(database, own)
        settings = load_settings(db_path=str(own), fleet_url=urls[host], fleet_texts=True)
        with SelfGrader(settings=settings) as grader, closing(fleet_push(grader.context)) as export:
            return export.run().sessions + export.run().sessions

    with ThreadPoolExecutor(len(HOSTS)) as pool:
        sent = list(pool.map(push, HOSTS))

    assert sent == [13] * len(HOSTS)
    for host in HOSTS:
        assert_has_exactly(server, host, database)


# -- the network -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [Cut.RESET, pytest.param(Cut.STALL, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "sent", [pytest.param(200_000, id="early"), pytest.param(1_000_000, id="late", marks=pytest.mark.thorough)]
)
def test_a_connection_that_breaks_in_a_batch_is_made_again(server: Server, home: Path, how: Cut, sent: int) -> None:
    with Between(server.port) as between:
        url = let_in(server, "laptop", port=between.port)
        between.cut_after(sent, how)
        with Following(home, url) as following:
            wait_until(between.is_cut.is_set, "the cut")
            if how is Cut.STALL:
                assert counted(server).get("laptop", 0) in (0, BATCH, 2 * BATCH)
                between.heal()
                between.reset()
            _wait_for_all(server, "laptop", home)
            assert len(following.lines()) == 1
            _assert_warned(following, url)


@pytest.mark.thorough
def test_bytes_that_stop_and_go_on_are_waited_for(server: Server, home: Path) -> None:
    with Between(server.port) as between:
        between.cut_after(300_000, Cut.STALL)
        with Following(home, let_in(server, "laptop", port=between.port)) as following:
            wait_until(between.is_cut.is_set, "the cut")
            between.heal()
            _wait_for_all(server, "laptop", home)
            assert following.lines() == []


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Server]:
    """A server in a network of its own, which lets machines of other addresses in too."""
    require_right_to_networks()
    with serving(under=OwnNetwork.under) as served:
        with (served.folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.write("host all all 192.0.2.0/24 scram-sha-256\n")
        with served.admin() as connection:
            connection.execute("SELECT pg_reload_conf()")
        yield served


@pytest.mark.thorough
def test_a_server_of_which_nothing_is_heard_any_more_is_given_up_and_asked_again(elsewhere: Server, home: Path) -> None:
    """It is held within a batch, whose end nobody is told."""
    elsewhere.empty()
    make_fleet(elsewhere)
    network = OwnNetwork(elsewhere)
    url = let_in(elsewhere, "laptop", options=IMPATIENT)
    with elsewhere.admin() as holding, Following(home, url, under=network.inside) as following:
        with holding.transaction():
            holding.execute("LOCK TABLE grader.grades IN SHARE MODE")
            wait_until(lambda: _waits_for_lock(elsewhere), "the batch to wait")
            network.cut()
        wait_until(following.lines, "the client to give up")
        network.heal()
        _wait_for_all(elsewhere, "laptop", home)
        assert len(following.lines()) == 1
        _assert_warned(following, url)


def _waits_for_lock(server: Server) -> bool:
    with server.admin() as connection:
        waiting = connection.execute(
            "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename LIKE 'grader_host_%'"
        )
        return bool(waiting.fetchall())


@pytest.mark.thorough
def test_a_machine_that_comes_back_from_another_network_goes_on(elsewhere: Server, home: Path) -> None:
    """The server hears nothing of its old connection any more, not even that it ended."""
    elsewhere.empty()
    make_fleet(elsewhere)
    network = OwnNetwork(elsewhere)
    network.ip("address", "add", "192.0.2.1/32", "dev", "lo")
    network.come_from("192.0.2.1")
    url = let_in(elsewhere, "laptop", options=IMPATIENT)
    with Following(home, url, under=network.inside) as following:
        _wait_for_all(elsewhere, "laptop", home)
        network.ip("address", "add", "192.0.2.2/32", "dev", "lo")
        network.come_from("192.0.2.2")
        network.ip("address", "delete", "192.0.2.1/32", "dev", "lo")
        _label_one(home)
        _wait_for_all(elsewhere, "laptop", home)
        assert len(following.lines()) == 1
        _assert_warned(following, url)


def _label_one(home: Path) -> None:
    """Have something change."""
    [row] = query(home / DATABASE, "SELECT session_id FROM session_grades LIMIT 1")
    with SelfGrader(db_path=home / DATABASE) as grader:
        grader.labels.add(row["session_id"], completed=False)


# -- the disk of the server --------------------------------------------------------------------------------------------


@pytest.fixture
def small() -> Iterator[tuple[Server, SmallDisk]]:
    """A server whose disk is small."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    try:
        with SmallDisk(folder, megabytes=96) as disk, serving(folder=folder) as served:
            make_fleet(served)
            yield served, disk
    finally:
        folder.rmdir()


@pytest.mark.thorough
def test_a_server_whose_disk_is_full_is_told_and_goes_on_when_there_is_room(
    small: tuple[Server, SmallDisk], home: Path
) -> None:
    server, disk = small
    url = let_in(server, "laptop")
    with ExitStack() as ends:
        with disk.full():
            following = ends.enter_context(Following(home, url))
            wait_until(lambda: len(following.lines()) > 1, "a second try")
            assert counted(server) == {}
        _wait_for_all(server, "laptop", home)
        assert all("No space left on device; tried again in " in line for line in following.lines())
        _assert_warned(following, url)


@pytest.mark.thorough
def test_a_server_that_goes_down_because_its_journal_has_no_room_is_waited_for(
    small: tuple[Server, SmallDisk], home: Path
) -> None:
    server, disk = small
    url = let_in(server, "laptop")
    with ExitStack() as ends:
        with disk.full():
            with server.admin() as connection:
                connection.execute("SELECT pg_switch_wal()")
            following = ends.enter_context(Following(home, url))
            wait_until(lambda: server.log.endswith("database system is shut down\n"), "the server to give up")
            tried = len(following.lines())
            wait_until(lambda: len(following.lines()) > tried + 1, "two more tries")
        server.start()
        _wait_for_all(server, "laptop", home)
        _assert_warned(following, url)


# -- the machine itself ------------------------------------------------------------------------------------------------


class _Work(threading.Thread):
    """An agent and a person at work: sessions are graded, and judged, until it is told to stop."""

    def __init__(self, home: Path) -> None:
        super().__init__(name="work")
        self.done = 0
        self._home = home
        self._stopping = threading.Event()

    def __enter__(self) -> _Work:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self.join()

    def run(self) -> None:
        sessions = self._home / "sessions"
        with SelfGrader(db_path=self._home / DATABASE, watch_roots=[sessions]) as grader:
            while not self._stopping.is_set():
                name = f"work_{self.done % 50:02d}"
                grader.grading.grade_paths([write(sessions, name, turns(1 + self.done % 7))])
                grader.labels.add(name, completed=self.done % 2 == 0)
                self.done += 1


def test_a_machine_that_is_killed_at_any_moment_has_all_there_once(server: Server, home: Path) -> None:
    url = let_in(server, "laptop")
    random = Random(4)
    killed: Counter[str] = Counter()
    with (
        ForkedDaemons(home, {"fleet_url": url, "fleet_texts": True}, ["fleet", "push", "--follow"]) as pushing,
        _Work(home),
        server.admin() as admin,
    ):
        while killed["in all"] < KILLS or (_in_batches(killed) < KILLS / 4 and killed["in all"] < MOST_KILLS):
            if killed["in all"] < KILLS / 3:  # the server is a restored backup: nothing waits to be sent again
                admin.execute("UPDATE grader.hosts SET last_seq = 0")
            pushing.start()
            threading.Event().wait(random.uniform(0, LONGEST_LIFE))
            if killed["in all"] % 2:
                _wait_for_batch(admin)
            pushing.freeze()
            killed[_state(admin)] += 1
            killed["in all"] += 1
            assert pushing.kill() == -9, "it had ended before"
    assert _in_batches(killed) >= KILLS / 4, killed
    assert "Traceback" not in pushing.log.read_text()

    done = run_command(home, "fleet", "push", fleet_url=url, fleet_texts=True)

    assert done.returncode == 0, done.stderr
    assert_has_exactly(server, "laptop", home / DATABASE)


def _in_batches(killed: Counter[str]) -> int:
    return sum(killed[state] for state in IN_BATCH)


def _wait_for_batch(admin: psycopg.Connection) -> None:
    """Look all the time, though not for ever: a kill at another moment counts too."""
    deadline = monotonic() + 1
    while _state(admin) not in IN_BATCH and monotonic() < deadline:
        pass


def _state(admin: psycopg.Connection) -> str:
    """Return what the server sees of who pushes."""
    found = admin.execute("SELECT state FROM pg_stat_activity WHERE usename LIKE 'grader_host_%'").fetchone()
    return "away" if found is None else str(found[0])


def _assert_warned(following: Following, url: str) -> None:
    """See that each of its lines tells of one failure, and that none has anything of the password."""
    assert password(url) not in "".join(following.lines())
    for line in following.lines():
        assert re.fullmatch(r"grader-daemon: warning: PostgreSQL: .+; tried again in 0\.[25] s", line), line
