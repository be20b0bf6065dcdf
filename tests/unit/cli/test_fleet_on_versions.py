"""The fleet on each PostgreSQL that it promises to work with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.fleet_attacks import ATTACKS
from tests.needs import require_other_postgres
from tests.postgres import Server, serving
from tests.unit.cli.conftest import Run

SETTINGS = Path(".config/grader-daemon/config.toml")


_UNWATCHED = (
    "grader-daemon: warning: no machine watches this fleet: it raises no alerts. Next: grader-daemon fleet watch\n"
)


@pytest.fixture(
    params=[
        pytest.param(None, id="of-this-machine"),
        *(pytest.param(version, id=str(version), marks=pytest.mark.releases) for version in (16, 17, 18)),
    ]
)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    programs = None if request.param is None else require_other_postgres(request.param)
    with serving(programs=programs) as served:
        with served.admin() as connection:
            assert request.param in (None, connection.info.server_version // 10_000)
        yield served


def test_a_fleet_is_made_filled_guarded_told_and_left(server: Server, made: Path, tmp_path: Path, run: Run) -> None:
    home = shutil.copytree(made, tmp_path / "home")

    def fleet(*arguments: str) -> str:
        done = run(home, "fleet", *arguments, "--url", server.url())
        assert (done.returncode, done.stderr) == (0, _UNWATCHED if arguments == ("status",) else "")
        return done.stdout

    fleet("init")
    for host in ("victim", "evil"):
        line = fleet("add-host", host)
        (home / SETTINGS).parent.mkdir(parents=True, exist_ok=True)
        (home / SETTINGS).write_text(line)
        assert run(home, "fleet", "push").stdout == "Sent 13 sessions.\n"

    refused = {name for name, attack in ATTACKS.items() if _is_refused(line.split('"')[1], attack)}
    assert refused == set(ATTACKS)
    assert run(home, "fleet", "push").stdout == "Sent 0 sessions.\n"

    with server.admin() as admin:
        counted = admin.execute("SELECT host, count(*) FROM grader.grades GROUP BY host ORDER BY host").fetchall()
    assert counted == [("evil", 13), ("victim", 13)]
    assert "never pushed" not in fleet("status")
    assert fleet("remove-host", "evil", "--yes") == "Removed evil and 13 of its grades.\n"
    assert "password authentication failed" in run(home, "fleet", "push").stderr


def _is_refused(url: str, attack: str) -> bool:
    with psycopg.connect(url, autocommit=True) as evil:
        assert evil.execute("SELECT DISTINCT host FROM grader.grades").fetchall() == [("evil",)]
        try:
            evil.execute(attack.encode())
        except psycopg.errors.InsufficientPrivilege:
            return True
    return False
