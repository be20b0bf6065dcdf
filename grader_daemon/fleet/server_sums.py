"""Sums by day that each machine counts of its own sessions, on the fleet's server: they come and go by whole days.

A machine sends a day in the state that it has, not what was added, so what is sent twice is counted once.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

import psycopg

from grader_daemon.domain.rollup import SUM_NAMES, Dimension

_COLUMNS: Final = ("day", "dimension", "name", *SUM_NAMES)
_INSERT: Final = (
    f"INSERT INTO grader.daily_sums (host, {', '.join(_COLUMNS)})"
    f" SELECT %s, * FROM unnest(%s::date[], %s::text[], %s::text[]{', %s::bigint[]' * len(SUM_NAMES)})"
).encode()
_SOME_LACK: Final = (
    b"SELECT EXISTS (SELECT 1 FROM grader.hosts AS h WHERE h.last_seq > 0"
    b" AND NOT EXISTS (SELECT 1 FROM grader.summed_days AS d WHERE d.host = h.host))"
)
_TOTALS: Final = ", ".join(f"sum(s.{name})::bigint" for name in SUM_NAMES)
_BY_HASHING: Final = b"SET LOCAL work_mem = '128MB'; SET LOCAL cursor_tuple_fraction = 1"
"""With less memory, or where it expects that the first rows are enough, the server sorts: three times as long."""
_AT_ONCE: Final = 5_000
"""Rows that the server hands over at once, of a kilobyte each in memory."""
_READ: Final = (
    f"SELECT dimension, s.day::text, name, {_TOTALS} FROM grader.daily_sums AS s"
    " WHERE s.day BETWEEN coalesce(%(since)s::date, '-infinity') AND now()::date + 1 GROUP BY dimension, s.day, name"
    f" UNION ALL SELECT '{Dimension.HOST}', s.day::text, s.host, {', '.join(f's.{name}' for name in SUM_NAMES)}"
    " FROM grader.daily_sums AS s WHERE s.day BETWEEN coalesce(%(since)s::date, '-infinity') AND now()::date + 1"
    f" AND dimension = '{Dimension.OVERALL}'"
).encode()


class SummedDays(NamedTuple):
    """Days, each with the number of its state, and the rows of all of them: day, dimension, name and `SUM_NAMES`."""

    revisions: Mapping[date, int]
    rows: Sequence[Sequence[Any]]


NO_DAYS: Final = SummedDays({}, ())


def write_days(connection: psycopg.Connection, host: str, days: SummedDays) -> None:
    """Write days of a host in the place of what is there of them; call it inside a transaction."""
    if days.revisions:
        connection.execute(
            "SELECT grader.begin_days(%s::date[], %s::bigint[])",
            (list(days.revisions), list(days.revisions.values())),
        )
    if days.rows:
        connection.execute(_INSERT, (host, *map(list, zip(*days.rows, strict=True))))


def read_revisions(connection: psycopg.Connection, host: str) -> dict[date, int]:
    """Return the state of each day of a host that is there."""
    return dict(connection.execute("SELECT day, revision FROM grader.summed_days WHERE host = %s", (host,)).fetchall())


def read_sums(connection: psycopg.Connection, *, since: date | None) -> Generator[tuple[Any, ...]]:
    """Yield the sums of all hosts by dimension, day and name, and those of each host: these three and `SUM_NAMES`.

    Nothing where a host that sent rows sent no sums yet: those of the others would be taken for all. A fleet of 300
    hosts has more than 100,000 rows a year, so they are never in memory all at once.
    """
    [do_some_lack] = connection.execute(_SOME_LACK).fetchone() or (True,)
    if do_some_lack:
        return
    with connection.transaction():
        connection.execute(_BY_HASHING)
        with connection.cursor("sums") as cursor:
            cursor.execute(_READ, {"since": since})
            while rows := cursor.fetchmany(_AT_ONCE):
                yield from rows
