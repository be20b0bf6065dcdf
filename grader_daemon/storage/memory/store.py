"""The store in memory, put together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime

import msgspec

from grader_daemon.domain.analysis import ErrorSign
from grader_daemon.domain.calendar import Span
from grader_daemon.domain.counting import Changes
from grader_daemon.domain.insight import ToolStep
from grader_daemon.domain.installed import ObservedVersion
from grader_daemon.domain.rollup import SUM_NAMES, Dimension, Sums
from grader_daemon.storage.memory.grades import FeedbackLog, Grades, Repeats, Rivals
from grader_daemon.storage.memory.ledger import Ledger
from grader_daemon.storage.memory.tables import Part, Tables
from grader_daemon.storage.records import Change, ChangeKind, MonthMark


class MemoryStore(Ledger):
    """What the pipeline needs of a store, gone when the program ends; see `storage.protocol.SessionStore`."""

    def __init__(self, *, host: str = "") -> None:
        """`host` is that of every grade."""
        tables = Tables(host=host)
        super().__init__(tables)
        self.grades = Grades(tables)
        self.rivals = Rivals(tables)
        self.repeats = Repeats(tables)
        self.feedback = FeedbackLog(tables)
        self.rollups = Rollups(tables)
        self.issues = Signs(tables)
        self.changes = ChangeFeed(tables)
        self.observed = ObservedVersions(tables)

    def transaction(self) -> AbstractContextManager[None]:
        return self._tables.transaction()


class Rollups(Part):
    """Sums by day and group."""

    def apply(self, changes: Changes) -> None:
        for group, numbers in changes.groups().items():
            self._tables.groups.put(group, _sum([self._tables.groups.get(group, ()), numbers]))
        for step, numbers in changes.tool_steps.items():
            self._tables.tool_steps.put(step, _sum([self._tables.tool_steps.get(step, ()), numbers]))
        for day in map(date.fromisoformat, sorted(changes.days)):
            self._tables.revisions.put(day, self._tables.revisions.get(day, 0) + 1)

    def groups(self, span: Span, dimensions: Collection[Dimension]) -> dict[tuple[Dimension, str], Sums]:
        found: dict[tuple[Dimension, str], list[tuple[int, ...]]] = {}
        for group, numbers in self._tables.groups.items():
            if group.dimension in dimensions and _lies_in(group.day, span) and any(numbers):
                found.setdefault((Dimension(group.dimension), group.name), []).append(numbers)
        return {group: _to_sums(_sum(numbers)) for group, numbers in found.items()}

    def group(self, dimension: Dimension, name: str, span: Span) -> Sums:
        return self.groups(span, {dimension}).get((dimension, name), Sums())

    def days(self, span: Span, dimension: Dimension = Dimension.OVERALL, name: str = "") -> dict[date, Sums]:
        groups = sorted(self._tables.groups.items(), key=lambda each: each[0].day)
        of_one = {key.day: _to_sums(sums) for key, sums in groups if (key.dimension, key.name) == (dimension, name)}
        return {date.fromisoformat(day): sums for day, sums in of_one.items() if _lies_in(day, span) and sums.finished}

    def names(self, dimension: Dimension) -> list[str]:
        sums = self.groups(Span(date.min, date.max), {dimension})
        named = [(-one.sessions, name) for (_, name), one in sums.items() if one.sessions]
        return [name for _, name in sorted(named)]

    def tool_steps(self, span: Span) -> list[ToolStep]:
        found: dict[tuple[str, str, str, bool], list[tuple[int, ...]]] = {}
        for key, numbers in self._tables.tool_steps.items():
            if _lies_in(key.day, span) and any(numbers):
                found.setdefault((key.tool, key.next_tool, key.next_command, key.is_retry), []).append(numbers)
        return [
            ToolStep(tool, next_tool, command or None, is_retry, *_sum(numbers))
            for (tool, next_tool, command, is_retry), numbers in sorted(found.items())
        ]

    def days_with_sessions(self) -> list[date]:
        groups = self._tables.groups.items()
        overall = [(group.day, _to_sums(numbers)) for group, numbers in groups if group.dimension == Dimension.OVERALL]
        return sorted(date.fromisoformat(day) for day, sums in overall if sums.sessions + sums.unanswered > 0)

    def revisions(self) -> dict[date, int]:
        return dict(self._tables.revisions)


class ChangeFeed(Part):
    """What changed, by what it was."""

    def note(self, kind: ChangeKind, subjects: Iterable[str]) -> None:
        for subject in subjects:
            self._tables.changes.put((kind, subject), self._tables.number("changes"))

    def newest(self) -> int:
        return max((at for _, at in self._tables.changes.items()), default=0)

    def after(self, seq: int, limit: int) -> list[Change]:
        changes = [Change(seq=at, kind=kind, subject=subject) for (kind, subject), at in self._tables.changes.items()]
        return sorted((each for each in changes if each.seq > seq), key=lambda each: each.seq)[:limit]

    def months(self, after: int = 0) -> dict[str, MonthMark]:
        found: dict[str, list[str]] = {}
        for session_id, row in self._tables.grades.items():
            found.setdefault(f"{row.ended_at.astimezone(UTC):%Y-%m}", []).append(session_id)
        return {month: MonthMark(len(found[month]), self._last_change(found[month], after)) for month in sorted(found)}

    def _last_change(self, session_ids: Sequence[str], after: int) -> int:
        kinds = (ChangeKind.GRADE, ChangeKind.LABEL)
        numbers = (self._tables.changes.get((kind, each)) for kind in kinds for each in session_ids)
        return max((number for number in numbers if number is not None and number > after), default=0)

    def position(self, follower: str) -> int:
        return self._tables.positions.get(follower, 0)

    def advance(self, follower: str, seq: int) -> None:
        self._tables.positions.put(follower, max(seq, self.position(follower)))


class ObservedVersions(Part):
    """Versions of skills and configuration files, by their path and when they were first seen."""

    def save(self, versions: Iterable[ObservedVersion]) -> None:
        for version in versions:
            key = (version.path, version.first_seen)
            known = self._tables.observed.get(key)
            seen = {"last_seen": version.last_seen, "gone_at": version.gone_at}
            kept = version if known is None else msgspec.structs.replace(known, **seen)
            self._tables.observed.put(key, kept)

    def versions(self, since: datetime | None = None) -> list[ObservedVersion]:
        kept = [each for each in self._tables.observed.values() if since is None or each.last_seen >= since]
        return sorted(kept, key=lambda each: (each.first_seen, each.path))

    def forget(self, path: str, *, keep: int) -> None:
        for key in sorted(key for key in self._tables.observed if key[0] == path)[:-keep]:
            self._tables.observed.drop(key)


class Signs(Part):
    """What error issues look like."""

    def save_signs(self, signs: Sequence[ErrorSign]) -> None:
        for sign in signs:
            known = self._tables.signs.get(sign.fingerprint)
            if known is None or known.subcategory is not sign.subcategory:
                kept = sign if known is None else msgspec.structs.replace(known, subcategory=sign.subcategory)
                self._tables.signs.put(sign.fingerprint, kept)


def _sum(rows: Iterable[Sequence[int]]) -> tuple[int, ...]:
    return tuple(sum(column) for column in zip(*(row for row in rows if row), strict=True))


def _lies_in(day: str, span: Span) -> bool:
    return span.first.isoformat() <= day <= span.last.isoformat()


def _to_sums(numbers: Sequence[int]) -> Sums:
    return Sums(**dict(zip(SUM_NAMES, numbers, strict=True)))
