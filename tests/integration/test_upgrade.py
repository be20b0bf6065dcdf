"""Databases that earlier versions left are brought up to date and lose nothing; see `tests.upgrade`."""

from __future__ import annotations

import json
import lzma
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from tests.e2e.daemon_process import DATABASE, run_command
from tests.upgrade import EXPORTS, FOLDER

VERSIONS = sorted(path.name.partition(".")[0] for path in FOLDER.glob("*.db.xz"))
DERIVED = ("schema_migrations", "sqlite_sequence", "session_words")
"""Tables that are made from others, or of SQLite's own; the first words of their names."""

MOVED = {"alert_outbox": "outbox"}
"""Tables of an earlier version whose rows are in another one today."""

_STAMP = ("device", "inode", "size", "mtime_ns", "ctime_ns")
WRITTEN_OTHERWISE = {
    "session_files": {f"packed({', '.join(_STAMP)})": "stamp", "mtime_ns": "written_ns"},
    "alert_outbox": {"CAST(alert AS TEXT)": "subject", "'alert'": "kind"},
}
"""What columns that are gone said, and by which columns today's table says it."""

_OF_SCORES = ("efficiency", "efficiency_squares", "quality", "quality_squares", "score_squares")
COUNTED_ANEW = {
    "rollup_days": ("revision",),
    "daily_rollups": _OF_SCORES,
    "monthly_rollups": _OF_SCORES,
    "session_list": _OF_SCORES,
}
"""Columns that say how often a row was counted, not what was counted; and sums that interrupted sessions left since."""

INTERRUPTED = {"efficiency": 5, "efficiency_squares": 25, "quality": 3, "quality_squares": 9, "score_squares": 81}
"""What the one interrupted session of each of these databases had in such sums; it has no scores since."""

_UNSCORED = [
    f".grades[8].{field}: {was} is None"
    for field, was in (
        ("tool_calls_efficient", 5),
        ("response_quality", 3),
        ("errors_recovered", True),
        ("score", 3.0),
    )
]
CHANGED = {
    ("356d021", "grades"): _UNSCORED,
    ("f9d717b", "grades"): [
        f".grades[7].{field}: {was} is None"
        for field, was in (
            ("task_completed", False),
            ("tool_calls_efficient", 5),
            ("response_quality", 3),
            ("errors_recovered", True),
            ("score", 3.0),
        )
    ]
    + _UNSCORED,
}
"""What is said otherwise on purpose: a session with neither an answer nor a call, or cut short, has no scores since."""


def _kept(of: str, said: dict[str, Any]) -> dict[str, Any]:
    """Return what does not depend on the prior that ships today: it reads other features than the one of then."""
    if of == "calibration":
        return {key: said[key] for key in ("policy", "history")}
    if of == "grades":
        return {**said, "grades": [{**grade, "verdict": None} for grade in said["grades"]]}
    return said


class Upgraded(NamedTuple):
    """A database as a version left it, and a home in which today's program opened it."""

    version: str
    before: Path
    home: Path
    said: dict[str, Any]


@pytest.fixture(scope="module", params=VERSIONS)
def upgraded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Upgraded:
    """Each of them; a command that writes brings it up to date, even if it finds nothing to write."""
    home = tmp_path_factory.mktemp(request.param)
    before = home / "before.db"
    before.write_bytes(lzma.decompress((FOLDER / f"{request.param}.db.xz").read_bytes()))
    (home / DATABASE).parent.mkdir(parents=True)
    (home / DATABASE).write_bytes(before.read_bytes())
    (home / "labels.csv").write_text("session_id,completed\n")
    ended = run_command(home, "label", "--csv", home / "labels.csv")
    assert ended.returncode == 0, ended.stderr
    return Upgraded(
        request.param, before, home, json.loads(lzma.decompress((FOLDER / f"{request.param}.json.xz").read_bytes()))
    )


def test_an_old_and_a_new_version_are_there() -> None:
    assert len(VERSIONS) == 2


def test_every_row_is_there_as_it_was(upgraded: Upgraded) -> None:
    with closing(_opened(upgraded.before)) as before, closing(_opened(upgraded.home / DATABASE)) as after:
        lost = {table: list(_lost(before, after, table)) for table in _tables(before)}

    assert {table: rows for table, rows in lost.items() if rows} == {}


def test_sums_of_scores_lack_the_interrupted_session_alone(upgraded: Upgraded) -> None:
    sums = ", ".join(_OF_SCORES)
    asked = f"SELECT {sums} FROM monthly_rollups WHERE dimension = 'overall' AND month = '2026-11'"
    with closing(_opened(upgraded.before)) as before, closing(_opened(upgraded.home / DATABASE)) as after:
        pairs: list[tuple[Any, Any]] = list(
            zip(before.execute(asked).fetchall()[0], after.execute(asked).fetchall()[0], strict=True)
        )

    assert dict(zip(_OF_SCORES, (then - now for then, now in pairs), strict=True)) == INTERRUPTED


def _opened(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    connection.create_scalar_function("packed", lambda *parts: struct.pack(">5q", *parts))
    return connection


def _tables(connection: apsw.Connection) -> list[str]:
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    return [name for (name,) in rows if not name.startswith(DERIVED)]


def _lost(before: apsw.Connection, after: apsw.Connection, table: str) -> Iterator[tuple[Any, ...]]:
    """Rows of an earlier table that are not in today's."""
    otherwise, moved = WRITTEN_OTHERWISE.get(table, {}), MOVED.get(table, table)
    today = _columns(after, moved)
    kept = [column for column in _columns(before, table) if column not in COUNTED_ANEW.get(table, ())]
    gone = [column for column in kept if column not in today]
    assert not gone or otherwise, f"{table} has no {gone}"
    same = [column for column in kept if column in today]
    now = set(after.execute(f"SELECT {', '.join([*same, *otherwise.values()])} FROM {moved}"))
    return (row for row in before.execute(f"SELECT {', '.join([*same, *otherwise])} FROM {table}") if row not in now)


def _columns(connection: apsw.Connection, table: str) -> list[str]:
    return [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]


@pytest.mark.parametrize("of", EXPORTS)
def test_commands_say_what_they_said(upgraded: Upgraded, of: str) -> None:
    """What the version itself printed, without what is counted from today on."""
    if of not in upgraded.said:
        return
    ended = run_command(upgraded.home, *EXPORTS[of], timezone="UTC")

    assert ended.returncode in {0, 1}, ended.stderr
    then, now = _kept(of, upgraded.said[of]), _kept(of, json.loads(ended.stdout))
    assert _missing(then, now) == CHANGED.get((upgraded.version, of), [])


def _missing(then: Any, now: Any, place: str = "") -> list[str]:
    """Places of a document whose value is another one now; new keys are welcome."""
    if isinstance(then, dict) and isinstance(now, dict):
        return [gone for key in then for gone in _missing(then[key], now.get(key, "gone"), f"{place}.{key}")]
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = enumerate(zip(then, now, strict=True))
        return [gone for number, (one, other) in pairs for gone in _missing(one, other, f"{place}[{number}]")]
    return [] if then == now else [f"{place}: {then!r:.60} is {now!r:.60}"]
