"""The ledger: what became of every unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from grader_daemon.domain.ledger import FileState, LagSpan, LedgerEntry, lag_span
from grader_daemon.domain.session import SkipReason
from grader_daemon.domain.unit import FIRST_SOURCE, Found, Stamp, Unit
from grader_daemon.storage.records import LastGrade, OutdatedUnit, UngradedUnit
from grader_daemon.storage.sqlite.database import LISTED, Database, listed
from grader_daemon.storage.sqlite.rows import known_moment, to_moment, to_text

_UNIT = "source, path, key"
_IS_UNIT = "source = ? AND path = ? AND key = ?"
_LEDGER = (
    "source, path, key, stamp, written_ns, digest, session_id, state, reason, attempts, retry_at, last_error,"
    " rules_version"
)
_CHANGING = _LEDGER.split(", ")[3:]
_KNOWN = f"SELECT {_UNIT}, state = 'graded', digest FROM session_files WHERE {_IS_UNIT}"
_INSERT_ENTRY = (
    f"INSERT INTO session_files ({_LEDGER}, grades, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_UPDATE_ENTRY = (
    f"UPDATE session_files SET {', '.join(f'{name} = ?{place}' for place, name in enumerate(_CHANGING, 4))},"
    " grades = grades + ?14, seen_at = ?15 WHERE source = ?1 AND path = ?2 AND key = ?3"
)
_COUNT_ADDED = (
    "INSERT INTO file_counts VALUES (?, ?, ?) ON CONFLICT (state, reason) DO UPDATE SET files = files + excluded.files"
)
_RECOUNT = "INSERT INTO file_counts SELECT state, coalesce(reason, ''), count(*) FROM session_files GROUP BY 1, 2"
_WANTED = (
    "json_each(?) AS wanted CROSS JOIN session_files AS f"
    " ON f.source = wanted.value ->> 0 AND f.path = wanted.value ->> 1 AND f.key = wanted.value ->> 2"
)
_ENTRIES = f"SELECT {', '.join(f'f.{name}' for name in _LEDGER.split(', '))} FROM {_WANTED}"
_NOTE_LAST = "INSERT OR REPLACE INTO last_grades (live, session_id, graded_at, lag_seconds) VALUES (?, ?, ?, ?)"
_COUNT_LAG = (
    "INSERT INTO live_lags (longer_than, grades, seconds, session_id, graded_at, lag_seconds)"
    " VALUES (?1, 1, ?4, ?2, ?3, ?4)"
    " ON CONFLICT (longer_than) DO UPDATE SET grades = grades + 1, seconds = seconds + excluded.seconds,"
    " session_id = excluded.session_id, lag_seconds = excluded.lag_seconds, graded_at = excluded.graded_at"
)
_OTHERS = f"SELECT coalesce(rules_version, ''), rowid, {_UNIT} FROM session_files WHERE state = 'graded'"
_FROM_THERE = "(coalesce(rules_version, ''), rowid) > (?1, ?2)"
_OUTDATED = (
    f"{_OTHERS} AND {_FROM_THERE} AND coalesce(rules_version, '') < ?3"
    f" UNION ALL {_OTHERS} AND {_FROM_THERE} AND coalesce(rules_version, '') > ?3 ORDER BY 1, 2 LIMIT ?4"
)
_STAMPS = f"SELECT wanted.key, f.stamp FROM {_WANTED}"
_BEFORE_ALL = -(1 << 63)
_GRADED_FROM = "d.format, g.session_file, d.unit_key"
_UNGRADED = (
    f"SELECT f.written_ns, f.rowid, f.source, f.path, f.key, f.reason, {_GRADED_FROM}"
    " FROM session_files AS f INDEXED BY session_files_state"
    " LEFT JOIN session_grades AS g ON g.session_id = f.session_id"
    " LEFT JOIN session_details AS d ON d.session_id = f.session_id"
    " WHERE f.state <> 'graded' AND f.state = ? AND (f.written_ns, f.rowid) > (?, ?)"
    " ORDER BY f.written_ns, f.rowid LIMIT ?"
)


class Ledger(Database):
    """Ledger of units: what became of each of them."""

    live_since: datetime | None = None
    """Set by a daemon when it begins: files that are written from then on are graded live."""

    def ledger_entry(self, unit: Unit) -> LedgerEntry | None:
        """Return what became of a unit; None when it was never seen."""
        return self.ledger_entries([unit]).get(unit)

    def ledger_entries(self, units: Sequence[Unit]) -> dict[Unit, LedgerEntry]:
        """Return what became of those of `units` that were ever seen."""
        rows = self.rows(_ENTRIES, (listed([(unit.source, unit.locator, unit.key) for unit in units]),))
        entries = map(_to_entry, rows)
        return {entry.unit: entry for entry in entries}

    def unit_stamps(self, units: Sequence[Unit]) -> list[Stamp | None]:
        """Return what each unit was like when it was last looked at; the cheap half of `ledger_entries`."""
        kept = [unit.storable() for unit in units]
        stamps: list[Stamp | None] = [None] * len(kept)
        for place, stamp in self.rows(_STAMPS, (listed([(unit.source, unit.locator, unit.key) for unit in kept]),)):
            stamps[place] = stamp
        return stamps

    def due_units(self, now: datetime, *, longest_pause: timedelta, limit: int) -> list[Unit]:
        """Units that are to be looked at again though nothing changed, the longest due first.

        What is due later than after `longest_pause` was noted by a clock that was set back since: it is due too.
        """
        rows = self.rows(
            f"SELECT retry_at, {_UNIT} FROM session_files WHERE retry_at <= ?"
            f" UNION ALL SELECT retry_at, {_UNIT} FROM session_files WHERE retry_at > ? ORDER BY 1 LIMIT ?",
            (to_text(now), to_text(now + longest_pause), limit),
        )
        return [Unit(*row[1:]) for row in rows]

    def outdated_units(self, rules_version: str, *, after: OutdatedUnit | None, limit: int) -> list[OutdatedUnit]:
        """Graded units whose grade was made under other rules, from the one behind `after` on."""
        place = ("", -1) if after is None else after[:2]
        return [
            OutdatedUnit(version, row, Unit(*unit))
            for version, row, *unit in self.rows(_OUTDATED, (*place, rules_version, limit))
        ]

    def ungraded_units(self, state: FileState, *, after: UngradedUnit | None, limit: int) -> list[UngradedUnit]:
        """Units of a state that is not `graded`, from the one behind `after` on."""
        place = (_BEFORE_ALL, 0) if after is None else after[:2]
        rows = self.rows(_UNGRADED, (state, *place, limit))
        return [UngradedUnit(row[0], row[1], Unit(*row[2:5]), row[5], _graded_from(row[6:])) for row in rows]

    def units_of_sessions(self, session_ids: Sequence[str]) -> dict[str, Unit]:
        """Return the unit that each of the sessions is graded from; those without one are left out."""
        rows = self.rows(
            f"SELECT g.session_id, {_GRADED_FROM} FROM session_grades AS g"
            f" LEFT JOIN session_details AS d ON d.session_id = g.session_id WHERE g.session_id IN {LISTED}",
            (listed(session_ids),),
        )
        return {row[0]: unit for row in rows if (unit := _graded_from(row[1:])) is not None}

    def graded_paths(self, *, but_of: str | None = None, since: datetime | None = None) -> list[str]:
        """Graded files in order of path, but those of one version; `since`: of sessions that ended from then on."""
        rows = self.rows(
            "SELECT DISTINCT f.path FROM session_files AS f JOIN session_details AS d ON d.session_id = f.session_id"
            " WHERE f.state = 'graded' AND (?1 IS NULL OR f.rules_version IS NOT ?1)"
            " AND (?2 IS NULL OR d.ended_at >= ?2) ORDER BY f.path",
            (but_of, to_text(since)),
        )
        return [row[0] for row in rows]

    def save_entries(self, entries: Sequence[LedgerEntry], *, now: datetime) -> None:
        """Write ledger rows; counts a grade for those whose state is `graded`."""
        many, seen_at = self.connection.executemany, to_text(now)
        rows = {_key(entry.unit): _entry_row(entry, seen_at) for entry in entries}
        known = {row[:3]: row[3:] for row in many(_KNOWN, rows)}
        self._note_last([entry for entry in entries if entry.state is FileState.GRADED], known, now)
        many(_UPDATE_ENTRY, [row for key, row in rows.items() if key in known])
        added = [row for key, row in rows.items() if key not in known]
        many(_INSERT_ENTRY, added)
        many(_COUNT_ADDED, [(*kind, files) for kind, files in Counter(map(_counted_as, added)).items()])

    def recount_files(self) -> None:
        """Count all rows anew; call it inside a transaction."""
        self.connection.execute("DELETE FROM file_counts")
        self.connection.execute(_RECOUNT)

    def restamp(self, found: Found) -> None:
        """Note that a unit was touched or moved about without a change of content."""
        unit = found.unit
        self.connection.execute(
            f"UPDATE session_files SET stamp = ?, written_ns = ? WHERE {_IS_UNIT}",
            (found.stamp, found.written_ns, unit.source, unit.locator, unit.key),
        )

    def forget_retry(self, unit: Unit) -> None:
        """Stop looking for a unit that is gone; its grade, if it has one, stays."""
        self.connection.execute(
            f"UPDATE session_files SET retry_at = NULL WHERE {_IS_UNIT}", (unit.source, unit.locator, unit.key)
        )

    def forget_units(self, units: Sequence[Unit]) -> None:
        """Remove rows as if the units had never been seen, but not those of graded ones."""
        self.connection.executemany(
            f"DELETE FROM session_files WHERE {_IS_UNIT} AND state <> 'graded'",
            [(unit.source, unit.locator, unit.key) for unit in units],
        )

    def note_rules(self, graded: Sequence[tuple[Unit, str]]) -> None:
        """Note for graded units by which version of the rules their grades are now."""
        self.connection.executemany(
            f"UPDATE session_files SET rules_version = ? WHERE {_IS_UNIT} AND state = 'graded'",
            [(version, unit.source, unit.locator, unit.key) for unit, version in graded],
        )

    def pass_over(self, unit: Unit, reason: SkipReason) -> None:
        """Note that a unit has no grade any more: that of its session comes from another one."""
        self._pass_over(_IS_UNIT, (unit.source, unit.locator, unit.key), reason)

    def pass_over_session(self, session_id: str, reason: SkipReason) -> None:
        """Note the same of the unit that a session was graded from."""
        self._pass_over("session_id = ?", (session_id,), reason)

    def compare_again(self, session_id: str, *, but: Unit, now: datetime) -> None:
        """Have the units looked at again in which a session was passed over, but for one."""
        self.connection.execute(
            "UPDATE session_files SET retry_at = ? WHERE session_id = ? AND (source, path, key) <> (?, ?, ?)"
            " AND state = 'skipped' AND reason IN ('copy', 'superseded')",
            (to_text(now), session_id, but.source, but.locator, but.key),
        )

    def file_counts(self) -> dict[str, int]:
        """Files by state."""
        return dict(self.rows("SELECT state, sum(files) FROM file_counts GROUP BY state HAVING sum(files) > 0"))

    def skip_counts(self) -> dict[str, int]:
        """Skipped files by reason."""
        return dict(
            self.rows("SELECT reason, files FROM file_counts WHERE state = 'skipped' AND files > 0 ORDER BY reason")
        )

    def last_grade(self, *, live: bool) -> LastGrade | None:
        """Return the grade made last; `live`: that of a file written, and then graded for the first time, as it ran."""
        rows = self.rows("SELECT session_id, graded_at, lag_seconds FROM last_grades WHERE live = ?", (live,))
        return LastGrade(rows[0][0], known_moment(rows[0][1]), rows[0][2]) if rows else None

    def live_lags(self) -> list[LagSpan]:
        """Return how long after their last write files were graded that were written while it ran, shortest first."""
        rows = self.rows(
            "SELECT longer_than, grades, seconds, session_id, lag_seconds, graded_at FROM live_lags"
            " ORDER BY longer_than"
        )
        return [
            LagSpan(
                longer_than=row[0],
                grades=row[1],
                seconds=row[2],
                session_id=row[3],
                lag_seconds=row[4],
                graded_at=known_moment(row[5]),
            )
            for row in rows
        ]

    def troubled_entries(self, *, limit: int | None = None) -> list[LedgerEntry]:
        """Files that could not be graded, newest first."""
        rows = self.rows(
            f"SELECT {_LEDGER} FROM session_files WHERE state IN ('dead', 'retry') ORDER BY seen_at DESC LIMIT ?",
            (-1 if limit is None else limit,),
        )
        return [_to_entry(row) for row in rows]

    def _pass_over(self, which: str, values: tuple[str, ...], reason: SkipReason) -> None:
        self.connection.execute(
            "UPDATE session_files SET state = 'skipped', reason = ?, retry_at = NULL, rules_version = NULL"
            f" WHERE {which} AND state = 'graded'",
            (reason, *values),
        )

    def _note_last(
        self, graded: Sequence[LedgerEntry], known: Mapping[tuple[str, ...], tuple[int, str | None]], now: datetime
    ) -> None:
        """Note what was graded last, and what of it was so for the first time while the daemon ran, with its lag."""
        for entry in graded[-1:]:
            self.connection.execute(_NOTE_LAST, (0, *_last_grade(entry, now)))
        live = list(self._live(graded, known, now))
        for last in live[-1:]:
            self.connection.execute(_NOTE_LAST, (1, *last))
        self.connection.executemany(_COUNT_LAG, [(lag_span(last[-1]), *last) for last in live])

    def _live(
        self, graded: Sequence[LedgerEntry], known: Mapping[tuple[str, ...], tuple[int, str | None]], now: datetime
    ) -> Iterator[tuple[str | None, str | None, float]]:
        if self.live_since is None:
            return
        longest = (now - self.live_since).total_seconds()
        for entry in graded:
            last = _last_grade(entry, now)
            if 0 <= last[-1] <= longest and known.get(_key(entry.unit)) != (True, entry.digest):
                yield last


def _key(unit: Unit) -> tuple[str, str, str]:
    return unit.source, unit.locator, unit.key


def _last_grade(entry: LedgerEntry, now: datetime) -> tuple[str | None, str | None, float]:
    return entry.session_id, to_text(now), now.timestamp() - entry.written_ns / 1e9


def _counted_as(row: Sequence[Any]) -> tuple[str, str]:
    """Return state and reason of a row of `_entry_row`."""
    return row[7], row[8] or ""


def _entry_row(entry: LedgerEntry, seen_at: str | None) -> tuple[Any, ...]:
    skipped = entry.state is FileState.SKIPPED
    return (
        entry.unit.source,
        entry.unit.locator,
        entry.unit.key,
        entry.stamp,
        entry.written_ns,
        entry.digest,
        entry.session_id,
        entry.state,
        entry.reason if skipped else None,
        entry.attempts,
        to_text(entry.look_again_at),
        None if skipped else entry.reason,
        entry.rules_version,
        int(entry.state is FileState.GRADED),
        seen_at,
    )


def _to_entry(row: tuple[Any, ...]) -> LedgerEntry:
    return LedgerEntry(
        unit=Unit(*row[:3]),
        stamp=row[3],
        written_ns=row[4],
        digest=row[5],
        session_id=row[6],
        state=FileState(row[7]),
        reason=row[8] or row[11],
        attempts=row[9],
        look_again_at=to_moment(row[10]),
        rules_version=row[12],
    )


def _graded_from(row: tuple[Any, ...]) -> Unit | None:
    """Read the unit that a session is graded from; a grade of another program has no details, so no source and key."""
    source, path, key = row
    return None if path is None else Unit(source or FIRST_SOURCE, path, key or "")
