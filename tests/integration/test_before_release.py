"""Databases of builds before the first release are carried over and lose nothing.

`tests/data/unreleased` has what two such builds left of a month of sessions, with labels and a drop of quality, and
what their own commands said of it.
"""

from __future__ import annotations

import json
import lzma
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from tests.e2e.daemon_process import DATABASE, run_command
from tests.earlier import UNRELEASED, make_unreleased

BUILDS = sorted(path.name.partition(".")[0] for path in UNRELEASED.glob("*.db.xz"))
EXPORTS: dict[str, Sequence[str]] = {
    "grades": ("list", "-n", "1000", "--json"),
    "labels": ("label", "--list", "--json"),
    "issues": ("report", "errors", "list", "--all", "-n", "1000", "--json"),
    "ignored issues": ("report", "errors", "list", "--all", "--state", "ignored", "--json"),
    "alerts": ("alerts", "list", "--json"),
    "silences": ("alerts", "silences", "--json"),
    "calibration": ("calibration", "show", "--json"),
}
"""What is kept, as the commands of the build itself print it."""

DERIVED = ("schema_migrations", "sqlite_sequence", "session_words", "daemon_status", "file_counts")
"""Tables that are made from others, of SQLite's own, or of a daemon that ran; the first words of their names."""

MOVED = {"alert_outbox": "outbox"}
"""Tables of an earlier version whose rows are in another one today."""

WRITTEN_OTHERWISE = {
    "session_files": {"mtime_ns": "written_ns"},
    "alert_outbox": {"CAST(alert AS TEXT)": "subject", "'alert'": "kind"},
}
"""What columns that are gone said, and by which columns today's table says it.

The rest of a file's stamp is not carried over: the file is looked at again.
"""

_OF_SCORES = ("efficiency", "efficiency_squares", "quality", "quality_squares", "score_squares")
COUNTED_ANEW = {
    "rollup_days": ("revision",),
    "daily_rollups": _OF_SCORES,
    "monthly_rollups": _OF_SCORES,
    "session_list": _OF_SCORES,
    **dict.fromkeys(("issue_steps", "daily_steps", "monthly_steps"), ("completed",)),
}
"""Columns that say how often a row was counted, not what was counted; sums that interrupted sessions left since; and
best guesses of what got done after a step, which are counted no more.
"""

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
    if of.endswith("issues"):
        return {
            **said,
            "issues": [{**issue, "steps": list(map(_without_guesses, issue["steps"]))} for issue in said["issues"]],
        }
    if of == "grades":
        return {**said, "grades": [{**grade, "verdict": None} for grade in said["grades"]]}
    return said


def _without_guesses(step: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in step.items() if key not in ("completed", "completion")}


class CarriedOver(NamedTuple):
    """A database as a build left it, and a home in which today's program carried it over."""

    build: str
    before: Path
    home: Path
    said: dict[str, Any]


@pytest.fixture(scope="module", params=BUILDS)
def carried(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CarriedOver:
    """Each of them."""
    home = tmp_path_factory.mktemp(request.param)
    before = home / "before.db"
    make_unreleased(before, request.param)
    (home / DATABASE).parent.mkdir(parents=True)
    shutil.copy(before, home / DATABASE)
    ended = run_command(home, "doctor", "--repair")
    assert "the new database has all its rows" in ended.stdout, ended.stdout
    said = json.loads(lzma.decompress((UNRELEASED / f"{request.param}.json.xz").read_bytes()))
    return CarriedOver(request.param, before, home, said)


def test_an_old_and_a_newer_build_are_there() -> None:
    assert len(BUILDS) == 2


def test_every_row_is_there_as_it_was(carried: CarriedOver) -> None:
    with closing(_opened(carried.before)) as before, closing(_opened(carried.home / DATABASE)) as after:
        lost = {table: list(_lost(before, after, table)) for table in _tables(before)}

    assert {table: rows for table, rows in lost.items() if rows} == {}


def test_sums_of_scores_lack_the_interrupted_session_alone(carried: CarriedOver) -> None:
    sums = ", ".join(_OF_SCORES)
    asked = f"SELECT {sums} FROM monthly_rollups WHERE dimension = 'overall' AND month = '2026-11'"
    with closing(_opened(carried.before)) as before, closing(_opened(carried.home / DATABASE)) as after:
        pairs: list[tuple[Any, Any]] = list(
            zip(before.execute(asked).fetchall()[0], after.execute(asked).fetchall()[0], strict=True)
        )

    assert dict(zip(_OF_SCORES, (then - now for then, now in pairs), strict=True)) == INTERRUPTED


def _opened(path: Path) -> apsw.Connection:
    return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)


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
def test_commands_say_what_they_said(carried: CarriedOver, of: str) -> None:
    """What the version itself printed, without what is counted from today on."""
    if of not in carried.said:
        return
    ended = run_command(carried.home, *EXPORTS[of], timezone="UTC")

    assert ended.returncode in {0, 1}, ended.stderr
    then, now = _kept(of, carried.said[of]), _kept(of, json.loads(ended.stdout))
    assert _missing(then, now) == CHANGED.get((carried.build, of), [])


def _missing(then: Any, now: Any, place: str = "") -> list[str]:
    """Places of a document whose value is another one now; new keys are welcome."""
    if isinstance(then, dict) and isinstance(now, dict):
        return [gone for key in then for gone in _missing(then[key], now.get(key, "gone"), f"{place}.{key}")]
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = enumerate(zip(then, now, strict=True))
        return [gone for number, (one, other) in pairs for gone in _missing(one, other, f"{place}[{number}]")]
    return [] if then == now else [f"{place}: {then!r:.60} is {now!r:.60}"]
