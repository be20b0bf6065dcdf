"""A PostgreSQL of the tests' own, in a folder of its own: the real one, as Debian packages it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.needs import require_postgres, require_programs

_NOBODY = "nobody"
_FASTER = "-c fsync=off -c full_page_writes=off -c max_connections=60 -c shared_buffers=32MB"
"""What a power cut needs; killed processes lose nothing without it."""


class Server:
    """A server on a port of this machine and on a socket in its folder; passwords are asked for as everywhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = _free_port()
        self._programs = require_postgres()
        secret = folder / "password"
        secret.write_text("admin-secret")
        self._own(folder, secret)
        self._run(
            *("initdb", "-D", str(folder / "data"), "-U", "admin", "--auth=scram-sha-256", f"--pwfile={secret}"),
            *("-E", "UTF8", "--no-locale", "--no-sync"),
        )
        self.start()
        with self.admin("postgres") as connection:
            connection.execute("CREATE DATABASE fleet")

    def start(self) -> None:
        options = f"{_FASTER} -p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        self._pg_ctl("start", "-w", "-l", str(self.folder / "log"), "-o", options)

    def kill(self) -> None:
        """End it as a crash does."""
        self._pg_ctl("stop", "-m", "immediate")

    def empty(self) -> None:
        """Remove the fleet, its hosts and its people."""
        with self.admin() as connection:
            connection.execute("DROP SCHEMA IF EXISTS grader CASCADE")
            roles = connection.execute(
                r"SELECT quote_ident(rolname) FROM pg_roles WHERE rolname ~ '^grader_(host|member)_'"
            )
            for (role,) in roles:
                connection.execute(f"DROP OWNED BY {role}".encode())
                connection.execute(f"DROP ROLE {role}".encode())

    def url(self, *, database: str = "fleet", port: int | None = None) -> str:
        return f"postgresql://admin:admin-secret@127.0.0.1:{port or self.port}/{database}"

    def admin(self, database: str = "fleet") -> psycopg.Connection:
        return psycopg.connect(self.url(database=database), autocommit=True)

    def _pg_ctl(self, *arguments: str) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        as_other = ["setpriv", f"--reuid={_NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
        command = [*as_other, str(self._programs / program), *arguments]
        # What it leaves running must not hold our pipes, so a file has what it says.
        with (self.folder / "said").open("w") as said:
            ended = subprocess.run(command, cwd="/", stdout=said, stderr=said, timeout=120, check=False)
        assert ended.returncode == 0, (self.folder / "said").read_text() + self._log()

    def _log(self) -> str:
        log = self.folder / "log"
        return log.read_text(errors="replace") if log.exists() else ""

    @staticmethod
    def _own(*paths: Path) -> None:
        if os.geteuid() == 0:
            require_programs("setpriv")
            for path in paths:
                os.chown(path, pwd.getpwnam(_NOBODY).pw_uid, -1)


@contextmanager
def serving() -> Iterator[Server]:
    """Serve an empty database `fleet`; its folder has a short name, because it holds a socket."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    try:
        server = Server(folder)
        try:
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
