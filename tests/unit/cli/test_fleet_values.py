"""Whatever a host or a member writes into a column that they may write, every command of a member goes on."""

from __future__ import annotations

import json
import random
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg
import pytest
from psycopg import sql

from grader_daemon.fleet import follow as fleet_watch
from grader_daemon.fleet import server_schema as schema
from grader_daemon.fleet.copy_settings import settings_of_copy
from grader_daemon.settings import load_settings
from tests.examples import repeats
from tests.postgres import Server
from tests.unit.cli.conftest import Run

SETTINGS = Path(".config/grader-daemon/config.toml")
TEXTS: Final = (
    *("", "x", "no-such-kind", "\x1b[31m\n\t\u202e", "😀" * 900, "a" * 8_192, "word " * 1_000_000, "../..", "%s{x}"),
    "<script>alert(1)</script>",
)
NUMBERS: Final = (-(2**63), -1, 0, 1, 3, 99, 10**12, 2**53, 2**53 + 1, 2**63 - 1)
FLOATS: Final = ("NaN", "Infinity", "-Infinity", -1.0, 0.0, 0.5, 1.0, 1e12, 1.7e308)
MOMENTS: Final = ("infinity", "-infinity", "0001-01-01", "1970-01-01", "2026-11-01", "2199-12-31", "294276-01-01")
DAYS: Final = (*MOMENTS, "4713-01-01 BC")
JSON: Final = (
    *("null", '"x"', "1", "{}", "[]", "[null]", "[1, 2]", '["x"]', "[[]]", '[{"category": "no-such-category"}]'),
    '[{"index": 1e300, "tool": 1, "category": "unknown"}]',
    '[{"index": 99999999999999999999999, "tool": "x", "category": "unknown"}]',
    '[{"index": -1, "tool": "x", "category": "brand_new", "subcategory": "brand_new", "fingerprint": "f"}]',
    "[" * 900 + "]" * 900,
    *(r'["\u0000"]', r'[{"tool": "\\u0000", "calls": 1}]', r'["\ud800"]', "[1e999999]", '[{"a": 1, "a": 2}]'),
    json.dumps(["x" * 100] * 50_000),
    '[{"tool": "x", "calls": 9007199254740993, "failures": -5}]',
    '{"alerts": "x"}',
    '{"alerts": [], "alert_streams": [], "alert_position": [], "alert_silences": [], "outbox": []}',
    '{"alerts": [[1]], "alert_streams": [], "alert_position": [], "alert_silences": [], "outbox": [], "marks": []}',
    (
        '{"alerts": [], "alert_streams": [], "alert_position": [[1, "x", "y", "z"]], "alert_silences": [],'
        ' "outbox": [], "marks": [["f", "infinity", null]]}'
    ),
    (
        '{"alerts": [], "alert_streams": [["completion", "all", "", "x"]], "alert_position": [], "alert_silences":'
        ' [["completion", "all", "", "2026-01-01"]], "outbox": [], "marks": [], "weekly_reports": [["2026-11-16", "x",'
        ' "2026-11-23T00:00:00+00:00", "x"]], "report_bases": [["2026-11-16", 0]]}'
    ),
)
OF_TYPE: Final[dict[str, Sequence[Any]]] = {
    "text": TEXTS,
    "bigint": NUMBERS,
    "integer": NUMBERS,
    "double precision": FLOATS,
    "boolean": (None, True, False),
    "timestamp with time zone": MOMENTS,
    "date": DAYS,
    "json": JSON,
    "jsonb": JSON,
    "bytea": (b"", b"x", b"\0" * 8_192, b"\0" * 1_000_000),
}
COMMANDS: Final[tuple[list[str], ...]] = (
    *(
        [],
        ["list"],
        ["report", "errors"],
        ["report", "patterns"],
        ["route"],
        ["report"],
        ["alerts"],
        ["fleet", "status"],
    ),
    *(["show", "victim/demo_05"], ["why", "victim/demo_05"], ["label", "victim/demo_05", "--completed", "yes"]),
    *(["show", "evil/s1"], ["list", "-n", "200", "-o", "csv"], ["export"], ["search", "--similar", "victim/demo_05"]),
)


class Column(NamedTuple):
    """A column that one of the two may write."""

    table: str
    name: str
    type: str
    right: str


@pytest.fixture
def homes(running: Server, made: Path, tmp_path: Path, run: Run) -> dict[str, Path]:
    """Homes of two hosts and a member; `evil` has sent nothing."""
    running.empty()
    homes = {name: tmp_path / name for name in ("victim", "evil", "lead")}
    for name, home in homes.items():
        shutil.copytree(made, home) if name == "victim" else home.mkdir()
    assert run(homes["lead"], "fleet", "init", "--url", running.url()).returncode == 0
    for name, home in homes.items():
        kind = "add-member" if name == "lead" else "add-host"
        line = run(home, "fleet", kind, name, "--url", running.url()).stdout
        (home / SETTINGS).parent.mkdir(parents=True, exist_ok=True)
        (home / SETTINGS).write_text(line)
    assert run(homes["victim"], "fleet", "push").returncode == 0
    return homes


def _url(home: Path) -> str:
    return (home / SETTINGS).read_text().split('"')[1]


def _writable(server: Server, group: str) -> list[Column]:
    with server.admin() as connection:
        rows = connection.execute(
            "SELECT p.table_name, p.column_name, c.data_type, p.privilege_type"
            " FROM information_schema.column_privileges AS p JOIN information_schema.columns AS c"
            " USING (table_schema, table_name, column_name)"
            " WHERE p.table_schema = 'grader' AND p.grantee = %s AND p.privilege_type IN ('INSERT', 'UPDATE')"
            " ORDER BY 1, 2, 4",
            (group,),
        )
        return [Column(*row) for row in rows.fetchall()]


def _begin(evil: psycopg.Connection) -> None:
    """Have rows in each table that a host may write, which look as they should."""
    evil.execute("SELECT grader.remove_sessions('{}', true, 0)")
    evil.execute(
        "INSERT INTO grader.grades (host, session_id, changed_seq, graded_at, task_completed, total_api_calls,"
        " total_errors, error_types, tools_with_errors, had_repeated_errors, had_infinite_loop_risk,"
        " had_user_clarification, state, state_reason, task_type, format, tool_calls, error_rate, had_user_refusal,"
        " had_user_interruption, ended_at, ended_on, tools, failures, reasons, rules_version, verdict_by, scored,"
        " unsure, claims, signals_from_people, undone)"
        " SELECT 'evil', 's' || n, n, now(), true, 1, 1, '[]', '[]', false, false, false, 'complete', '', 'general',"
        " 'hermes', 1, 0, false, false, now() - n * interval '1 hour', current_date, '[]',"
        """ '[{"index": 1, "tool": "x", "category": "unknown", "fingerprint": "f"}]', '[]', '1', 'rules', true,"""
        " false, '[]', '[]', 0 FROM generate_series(1, 60) AS n"
    )
    evil.execute(
        "INSERT INTO grader.error_issues (host, fingerprint, category) VALUES ('evil', 'f', 'no-such-category')"
        " ON CONFLICT DO NOTHING"
    )
    evil.execute("UPDATE grader.hosts SET last_seq = 60, newest_seq = 60, epoch = epoch + 1, version = '1'")


def _write(connection: psycopg.Connection, statement: sql.Composed, values: Sequence[Any]) -> bool:
    try:
        connection.execute(statement, values)
    except psycopg.Error:  # the server may refuse whatever it likes
        return False
    return True


def _attack(connection: psycopg.Connection, columns: Sequence[Column], chance: random.Random) -> int:
    """Write something hostile into each column; returns how much of it was taken."""
    return sum(_write(connection, *each) for column in columns for each in _statements(column, chance))


def _statements(column: Column, chance: random.Random) -> Iterator[tuple[sql.Composed, list[Any]]]:
    table, name = sql.Identifier("grader", column.table), sql.Identifier(column.name)
    values = [*OF_TYPE[column.type], None, _random(column.type, chance)]
    if column.right == "UPDATE":
        few = column.table in ("hosts", "fleet")
        for number, value in enumerate(chance.sample(values, 1 if few else len(values))):
            where = sql.SQL(" WHERE session_id = {}").format(sql.Literal(f"s{number + 1 + chance.randrange(40)}"))
            update = sql.SQL("UPDATE {} SET {} = %s").format(table, name)
            yield (update + where if column.table == "grades" else update + sql.SQL("")), [value]
    elif column.table in ("labels", "error_issues"):
        usual = {
            "labels": {"host": "evil", "session_id": "s1", "given_by": "lead"},
            "error_issues": {"host": "evil", "fingerprint": str(chance.random()), "category": "unknown"},
        }[column.table]
        for value in values:
            given = {**usual, column.name: value}
            yield (
                sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
                    table,
                    sql.SQL(", ").join(map(sql.Identifier, given)),
                    sql.SQL(", ").join([sql.Placeholder()] * len(given)),
                ),
                list(given.values()),
            )


def _random(kind: str, chance: random.Random) -> Any:
    match kind:
        case "text":
            return "".join(chr(chance.randrange(1, 0xD800)) for _ in range(chance.randrange(3_000)))
        case "bigint" | "integer":
            return chance.randrange(-(2**63), 2**63)
        case "double precision":
            return chance.uniform(-1e13, 1e13)
        case "json" | "jsonb":
            return json.dumps([{str(chance.random()): chance.choice([None, [], {}, -1, "x", 1e300])}])
        case "bytea":
            return chance.randbytes(100)
        case "boolean":
            return chance.choice([True, False])
        case _:
            return f"{chance.randrange(1, 9_999):04}-0{chance.randrange(1, 10)}-01"


@pytest.mark.parametrize("seed", range(repeats(1, thorough=20)))
def test_no_value_of_a_host_or_a_member_stops_a_command_of_a_member(
    homes: dict[str, Path], running: Server, run: Run, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, lead = random.Random(seed), homes["lead"]
    with psycopg.connect(_url(homes["evil"]), autocommit=True) as evil:
        _begin(evil)
        assert _attack(evil, _writable(running, schema.HOST_GROUP), chance) > 50
        _write(evil, sql.SQL("SELECT grader.remove_sessions(%s, false, %s)").format(), [["", "x" * 5_000], -1])
        evil.execute("UPDATE grader.hosts SET last_seq = 60, newest_seq = 60, epoch = epoch + 1")
    with psycopg.connect(_url(lead), autocommit=True) as member:
        _attack(member, _writable(running, schema.MEMBER_GROUP), chance)
    for command in COMMANDS:
        ended = run(lead, *command)
        assert ended.returncode in ((0, 1) if command == ["alerts"] else (0,)) or "evil/s1" in command, (
            command,
            ended.stderr[-2_000:],
        )
        assert "bug in grader-daemon" not in ended.stderr, (command, ended.stderr[-2_000:])
        assert len(ended.stdout) < 3_000_000, command
    shown = json.loads(run(lead, "list", "-n", "500", "--json").stdout)["grades"]
    assert sum(grade["session_id"].startswith("victim/") for grade in shown) == 13
    monkeypatch.setenv("HOME", str(lead))
    _watch_one_round(lead)
    assert run(homes["victim"], "fleet", "push").returncode == 0
    with running.admin() as connection:
        assert connection.execute("SELECT worked_at IS NOT NULL FROM grader.watch").fetchone() == (True,)


def _watch_one_round(home: Path) -> None:
    from grader_daemon import bootstrap
    from grader_daemon.fleet.copy_settings import make_fleet_copy

    settings = settings_of_copy(load_settings(fleet_read_url=_url(home)))
    with closing(bootstrap.open_store(settings)) as store, closing(make_fleet_copy(settings, store)) as copy:
        jobs = fleet_watch._jobs(settings, store)
        fleet_watch._Follower(copy, jobs, job_seconds=60)._follow(threading.Event())
