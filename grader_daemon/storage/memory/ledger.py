"""The ledger of units in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from grader_daemon.domain.ledger import FileState, LagSpan, LedgerEntry, lag_span
from grader_daemon.domain.session import SkipReason
from grader_daemon.domain.unit import Found, Stamp, Unit
from grader_daemon.storage.memory.tables import File, Part
from grader_daemon.storage.records import LastGrade, OutdatedUnit, UngradedUnit

_PASSED_OVER = (SkipReason.COPY, SkipReason.SUPERSEDED)


class Ledger(Part):
    """What became of every unit."""

    live_since: datetime | None = None

    def ledger_entry(self, unit: Unit) -> LedgerEntry | None:
        return self.ledger_entries([unit]).get(unit)

    def ledger_entries(self, units: Sequence[Unit]) -> dict[Unit, LedgerEntry]:
        known = self._tables.files
        return {unit: known[unit].entry for unit in units if unit in known}

    def unit_stamps(self, units: Sequence[Unit]) -> list[Stamp | None]:
        files = [self._tables.files.get(unit.storable()) for unit in units]
        return [None if file is None else file.entry.stamp for file in files]

    def due_units(self, now: datetime, *, longest_pause: timedelta, limit: int) -> list[Unit]:
        due = [
            (entry.look_again_at, entry.unit)
            for entry in self._entries()
            if entry.look_again_at is not None
            and (entry.look_again_at <= now or entry.look_again_at > now + longest_pause)
        ]
        return [unit for _, unit in sorted(due)[:limit]]

    def outdated_units(self, rules_version: str, *, after: OutdatedUnit | None, limit: int) -> list[OutdatedUnit]:
        units = [
            OutdatedUnit(file.entry.rules_version or "", file.number, file.entry.unit)
            for file in self._tables.files.values()
            if file.entry.state is FileState.GRADED and (file.entry.rules_version or "") != rules_version
        ]
        return sorted(unit for unit in units if after is None or unit[:2] > after[:2])[:limit]

    def ungraded_units(self, state: FileState, *, after: UngradedUnit | None, limit: int) -> list[UngradedUnit]:
        units = [
            UngradedUnit(
                file.entry.written_ns,
                file.number,
                file.entry.unit,
                file.entry.reason if state is FileState.SKIPPED else None,
                self.units_of_sessions([file.entry.session_id or ""]).get(file.entry.session_id or ""),
            )
            for file in self._tables.files.values()
            if file.entry.state is state is not FileState.GRADED
        ]
        behind = [unit for unit in units if after is None or unit[:2] > after[:2]]
        return sorted(behind, key=lambda unit: unit[:2])[:limit]

    def units_of_sessions(self, session_ids: Sequence[str]) -> dict[str, Unit]:
        known = self._tables.grades
        return {one: known[one].stored.grade.unit for one in session_ids if one in known}

    def graded_paths(self, *, but_of: str | None = None, since: datetime | None = None) -> list[str]:
        rows = ((entry, self._tables.grades.get(entry.session_id or "")) for entry in self._entries())
        return sorted(
            {
                entry.unit.locator
                for entry, row in rows
                if entry.state is FileState.GRADED
                and row is not None
                and (but_of is None or entry.rules_version != but_of)
                and (since is None or (row.stored.grade.ended_at is not None and row.stored.grade.ended_at >= since))
            }
        )

    def save_entries(self, entries: Sequence[LedgerEntry], *, now: datetime) -> None:
        graded = [entry for entry in entries if entry.state is FileState.GRADED]
        lasts = [LastGrade(one.session_id, now, now.timestamp() - one.written_ns / 1e9) for one in graded]
        for last in lasts[-1:]:
            self._tables.last_grades.put("any", last)
        for entry, last in zip(graded, lasts, strict=True):
            if self._is_live(entry, last, now):
                self._tables.last_grades.put("live", last)
                self._count_lag(last)
        for entry in entries:
            known = self._tables.files.get(entry.unit)
            number = self._tables.number("files") if known is None else known.number
            self._tables.files.put(entry.unit, File(number, entry, now))

    def restamp(self, found: Found) -> None:
        self._change([found.unit], stamp=found.stamp, written_ns=found.written_ns)

    def forget_retry(self, unit: Unit) -> None:
        self._change([unit], look_again_at=None)

    def forget_units(self, units: Sequence[Unit]) -> None:
        for entry in self.ledger_entries(units).values():
            if entry.state is not FileState.GRADED:
                self._tables.files.drop(entry.unit)

    def note_rules(self, graded: Sequence[tuple[Unit, str]]) -> None:
        for unit, rules_version in graded:
            self._change(self._graded(unit=unit), rules_version=rules_version)

    def pass_over(self, unit: Unit, reason: SkipReason) -> None:
        self._pass_over(self._graded(unit=unit), reason)

    def pass_over_session(self, session_id: str, reason: SkipReason) -> None:
        self._pass_over(self._graded(session_id=session_id), reason)

    def compare_again(self, session_id: str, *, but: Unit, now: datetime) -> None:
        passed = [
            entry.unit
            for entry in self._entries()
            if entry.session_id == session_id and entry.state is FileState.SKIPPED and entry.reason in _PASSED_OVER
        ]
        self._change([unit for unit in passed if unit != but], look_again_at=now)

    def file_counts(self) -> dict[str, int]:
        return _counted(entry.state.value for entry in self._entries())

    def skip_counts(self) -> dict[str, int]:
        return _counted(entry.reason or "" for entry in self._entries() if entry.state is FileState.SKIPPED)

    def last_grade(self, *, live: bool) -> LastGrade | None:
        return self._tables.last_grades.get("live" if live else "any")

    def live_lags(self) -> list[LagSpan]:
        return [self._tables.live_lags[longer_than] for longer_than in sorted(self._tables.live_lags)]

    def troubled_entries(self, *, limit: int | None = None) -> list[LedgerEntry]:
        files = [file for file in self._tables.files.values() if file.entry.state in (FileState.DEAD, FileState.RETRY)]
        return [file.entry for file in sorted(files, key=lambda file: file.seen_at, reverse=True)[:limit]]

    def _entries(self) -> list[LedgerEntry]:
        return [file.entry for file in self._tables.files.values()]

    def _graded(self, **said: object) -> list[Unit]:
        """Return the graded units of which this is so."""
        return [
            entry.unit
            for entry in self._entries()
            if entry.state is FileState.GRADED and all(getattr(entry, name) == value for name, value in said.items())
        ]

    def _change(self, units: Sequence[Unit], **changes: object) -> None:
        for unit in units:
            file = self._tables.files.get(unit)
            if file is not None:
                self._tables.files.put(unit, file._replace(entry=replace(file.entry, **changes)))

    def _pass_over(self, units: Sequence[Unit], reason: SkipReason) -> None:
        self._change(units, state=FileState.SKIPPED, reason=reason, look_again_at=None, rules_version=None)

    def _is_live(self, entry: LedgerEntry, last: LastGrade, now: datetime) -> bool:
        known = self._tables.files.get(entry.unit)
        is_new = known is None or known.entry.state is not FileState.GRADED or known.entry.digest != entry.digest
        since = self.live_since
        return since is not None and is_new and 0 <= last.lag_seconds <= (now - since).total_seconds()

    def _count_lag(self, last: LastGrade) -> None:
        longer_than = lag_span(last.lag_seconds)
        known = self._tables.live_lags.get(longer_than)
        counted = LagSpan(
            longer_than=longer_than,
            grades=1 + (known.grades if known else 0),
            seconds=last.lag_seconds + (known.seconds if known else 0.0),
            session_id=last.session_id,
            lag_seconds=last.lag_seconds,
            graded_at=last.graded_at,
        )
        self._tables.live_lags.put(longer_than, counted)


def _counted(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))
