"""Whom a machine takes for the server of its fleet: elsewhere only who has a certificate of the name it asked for."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests import demo_home
from tests.certificates import Authority
from tests.e2e.daemon_process import run_command
from tests.fleet_hosts import counted, let_in, make_fleet, password
from tests.needs import require, require_programs
from tests.postgres import LOOPBACK, Server, serving
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving() as served:
        yield served


@pytest.fixture
def server(running: Server) -> Server:
    """A server without a certificate, with a fleet that has no hosts."""
    running.empty()
    make_fleet(running)
    return running


@pytest.fixture
def home(home: Path) -> Path:
    demo_home.make(home)
    return home


@pytest.fixture
def certified(server: Server) -> Iterator[Authority]:
    """Who signed that the server is db.example.org."""
    authority = Authority("of this fleet")
    certificate, key = server.folder / "server.crt", server.folder / "server.key"
    authority.sign("db.example.org", certificate=certificate, key=key)
    server.own(certificate, key)
    with server.admin() as connection:
        for setting, value in (("ssl_cert_file", certificate), ("ssl_key_file", key), ("ssl", "on")):
            connection.execute(f"ALTER SYSTEM SET {setting} = '{value}'".encode())
        _wait_for_certificate(connection, "on")
        yield authority
        connection.execute("ALTER SYSTEM RESET ALL")
        _wait_for_certificate(connection, "off")


def _wait_for_certificate(connection: psycopg.Connection, value: str) -> None:
    connection.execute("SELECT pg_reload_conf()")
    wait_until(lambda: connection.execute("SHOW ssl").fetchone() == (value,), f"ssl to be {value}")


def _pushed(home: Path, url: str, *, trusted: Authority | None) -> subprocess.CompletedProcess[str]:
    """Push from a machine that has the server under two names."""
    require_programs("unshare", "mount")
    require(os.geteuid() == 0, "the right to mount")
    if trusted is not None:
        trusted.write(home / ".postgresql" / "root.crt")
    hosts = home / "hosts"
    hosts.write_text(f"{LOOPBACK} localhost db.example.org db.example.net\n")
    named = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts)
    return run_command(home, "fleet", "push", under=named, fleet_url=url, fleet_texts=True)


def test_a_server_on_another_machine_that_is_who_it_should_be_is_told(
    server: Server, certified: Authority, home: Path
) -> None:
    done = _pushed(home, let_in(server, "laptop", at="db.example.org"), trusted=certified)
    assert (done.stdout, done.stderr) == ("Sent 13 sessions.\n", "")
    assert counted(server) == {"laptop": 13}


@pytest.mark.parametrize(
    ("at", "trusts", "said"),
    [
        pytest.param("db.example.org", "another", "certificate verify failed", id="another-authority"),
        pytest.param("db.example.org", "nobody", "root certificate file", id="no-authority"),
        pytest.param("db.example.net", "it", 'does not match host name "db.example.net"', id="another-name"),
    ],
)
def test_a_server_that_somebody_else_could_be_is_told_nothing(
    *, server: Server, certified: Authority, home: Path, at: str, trusts: str, said: str
) -> None:
    trusted = {"it": certified, "another": Authority("of somebody else"), "nobody": None}[trusts]
    url = let_in(server, "laptop", at=at)
    refused = _pushed(home, url, trusted=trusted)
    assert (refused.returncode, refused.stdout) == (2, "")
    [line] = refused.stderr.splitlines()
    assert line.startswith("grader-daemon: PostgreSQL: connection failed: ")
    assert said in line
    assert password(url) not in line
    assert counted(server) == {}


@pytest.mark.thorough
def test_a_server_on_another_machine_without_a_certificate_is_told_nothing(server: Server, home: Path) -> None:
    refused = _pushed(home, let_in(server, "laptop", at="db.example.org"), trusted=Authority("any"))
    [line] = refused.stderr.splitlines()
    assert "server does not support SSL, but SSL was required" in line
