"""A PostgreSQL of the tests' own, in a folder of its own: the real one, as Debian packages it or npm."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg

from tests.needs import require_postgres, require_programs

_NOBODY = "nobody"
LOOPBACK: Final = "127.0.0.1"
_ALWAYS: Final = {"max_connections": "60", "listen_addresses": LOOPBACK}
FASTER: Final = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "32MB"}
"""Without what a power cut needs; killed processes lose nothing by it."""


class Server:
    """A server on a port of this machine and on a socket in its folder; passwords are asked for as everywhere."""

    def __init__(
        self, folder: Path, *, programs: Path, settings: Mapping[str, str] = FASTER, under: Sequence[str] = ()
    ) -> None:
        """Make and start one in an empty folder; it runs `under` a program and its arguments, if any are given."""
        self.folder = folder
        self.port = free_port()
        self.settings = {**_ALWAYS, **settings}
        self._programs = programs
        self._under = under
        secret = folder / "password"
        secret.write_text("admin-secret")
        self.own(folder, secret)
        self._run(
            *("initdb", "-D", str(folder / "data"), "-U", "admin", "--auth=scram-sha-256", f"--pwfile={secret}"),
            *("-E", "UTF8", "--no-locale", "--no-sync"),
        )
        self.start()
        with self.admin("postgres") as connection:
            connection.execute("CREATE DATABASE fleet")

    @property
    def pid(self) -> int:
        """Of the process that lets clients in."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    @property
    def log(self) -> str:
        """What it said so far."""
        log = self.folder / "log"
        return log.read_text(errors="replace") if log.exists() else ""

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} " + " ".join(f"-c {k}={v}" for k, v in self.settings.items())
        self._pg_ctl("start", "-w", "-l", str(self.folder / "log"), "-o", options, under=self._under)

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
        return f"postgresql://admin:admin-secret@{LOOPBACK}:{port or self.port}/{database}"

    def socket_url(self, *, database: str = "fleet") -> str:
        """Return how it is reached whatever becomes of the network."""
        return f"postgresql://admin:admin-secret@/{database}?host={self.folder}&port={self.port}"

    def admin(self, database: str = "fleet") -> psycopg.Connection:
        return psycopg.connect(self.socket_url(database=database), autocommit=True)

    def own(self, *paths: Path) -> None:
        """Give files to the user that it runs as, which root may not be."""
        if os.geteuid() == 0:
            require_programs("setpriv")
            for path in paths:
                os.chown(path, pwd.getpwnam(_NOBODY).pw_uid, -1)

    def _pg_ctl(self, *arguments: str, under: Sequence[str] = ()) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), *arguments, under=under)

    def _run(self, program: str, *arguments: str, under: Sequence[str] = ()) -> None:
        as_other = ["setpriv", f"--reuid={_NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
        command = [*under, *as_other, str(self._programs / program), *arguments]
        # What it leaves running must not hold our pipes, so a file has what it says.
        with (self.folder / "said").open("w") as said:
            ended = subprocess.run(command, cwd="/", stdout=said, stderr=said, timeout=120, check=False)
        assert ended.returncode == 0, (self.folder / "said").read_text() + self.log


@contextmanager
def serving(
    *,
    programs: Path | None = None,
    folder: Path | None = None,
    settings: Mapping[str, str] = FASTER,
    under: Sequence[str] = (),
) -> Iterator[Server]:
    """Serve an empty database `fleet`, by the PostgreSQL of this machine unless `programs` has another.

    A `folder` that is given must be empty and have a short name, because it holds a socket.
    """
    made = Path(tempfile.mkdtemp(prefix="pg"))
    try:
        found = require_postgres() if programs is None else _reachable(programs, made / "programs")
        place = made / "server" if folder is None else folder
        place.mkdir(mode=0o700, exist_ok=True)
        made.chmod(0o755)
        server = Server(place, programs=found, settings=settings, under=under)
        try:
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(made)


def _reachable(programs: Path, copy: Path) -> Path:
    """Return a copy of programs, with what lies beside their folder, for a user who may not enter our checkout."""
    shutil.copytree(programs.parent, copy, symlinks=True)
    return copy / programs.name


def free_port() -> int:
    """Return a port of this machine on which nobody listens now."""
    with socket.create_server((LOOPBACK, 0)) as taken:
        return int(taken.getsockname()[1])
