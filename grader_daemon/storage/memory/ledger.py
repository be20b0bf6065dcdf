"""The ledger of files in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from grader_daemon.domain.ledger import FileStamp, FileState, LedgerEntry, ledger_path
from grader_daemon.domain.session import SkipReason
from grader_daemon.storage.memory.tables import File, Part
from grader_daemon.storage.records import LastGrade, OutdatedFile, UngradedFile

_PASSED_OVER = (SkipReason.COPY, SkipReason.SUPERSEDED)


class Ledger(Part):
    """What became of every file, by its path."""

    live_since: datetime | None = None

    def ledger_entry(self, path: str) -> LedgerEntry | None:
        return self.ledger_entries([path]).get(path)

    def ledger_entries(self, paths: Sequence[str]) -> dict[str, LedgerEntry]:
        known = self._tables.files
        return {path: known[path].entry for path in paths if path in known}

    def file_stamp(self, path: str) -> FileStamp | None:
        file = self._tables.files.get(ledger_path(path))
        return None if file is None else file.entry.stamp

    def due_paths(self, now: datetime, *, longest_pause: timedelta, limit: int) -> list[str]:
        due = [
            (entry.look_again_at, entry.path)
            for entry in self._entries()
            if entry.look_again_at is not None
            and (entry.look_again_at <= now or entry.look_again_at > now + longest_pause)
        ]
        return [path for _, path in sorted(due)[:limit]]

    def outdated_files(self, rules_version: str, *, after: OutdatedFile | None, limit: int) -> list[OutdatedFile]:
        files = [
            OutdatedFile(file.entry.rules_version or "", file.number, file.entry.path)
            for file in self._tables.files.values()
            if file.entry.state is FileState.GRADED and (file.entry.rules_version or "") != rules_version
        ]
        return sorted(file for file in files if after is None or file[:2] > after[:2])[:limit]

    def ungraded_files(self, state: FileState, *, after: UngradedFile | None, limit: int) -> list[UngradedFile]:
        files = [
            UngradedFile(
                file.entry.stamp.mtime_ns,
                file.number,
                file.entry.path,
                file.entry.reason if state is FileState.SKIPPED else None,
                self.files_of_sessions([file.entry.session_id or ""]).get(file.entry.session_id or ""),
            )
            for file in self._tables.files.values()
            if file.entry.state is state is not FileState.GRADED
        ]
        behind = [file for file in files if after is None or file[:2] > after[:2]]
        return sorted(behind, key=lambda file: file[:2])[:limit]

    def files_of_sessions(self, session_ids: Sequence[str]) -> dict[str, str]:
        known = self._tables.grades
        return {one: known[one].stored.grade.session_file for one in session_ids if one in known}

    def graded_paths(self, *, but_of: str | None = None, since: datetime | None = None) -> list[str]:
        rows = ((entry, self._tables.grades.get(entry.session_id or "")) for entry in self._entries())
        return sorted(
            entry.path
            for entry, row in rows
            if entry.state is FileState.GRADED
            and row is not None
            and (but_of is None or entry.rules_version != but_of)
            and (since is None or (row.stored.grade.ended_at is not None and row.stored.grade.ended_at >= since))
        )

    def save_entries(self, entries: Sequence[LedgerEntry], *, now: datetime) -> None:
        graded = [entry for entry in entries if entry.state is FileState.GRADED]
        lasts = [LastGrade(one.session_id, now, now.timestamp() - one.stamp.mtime_ns / 1e9) for one in graded]
        for last in lasts[-1:]:
            self._tables.last_grades.put("any", last)
        for entry, last in zip(graded, lasts, strict=True):
            if self._is_live(entry, last, now):
                self._tables.last_grades.put("live", last)
        for entry in entries:
            known = self._tables.files.get(entry.path)
            number = self._tables.number("files") if known is None else known.number
            self._tables.files.put(entry.path, File(number, entry, now))

    def restamp(self, path: str, stamp: FileStamp) -> None:
        self._change([path], stamp=stamp)

    def forget_retry(self, path: str) -> None:
        self._change([path], look_again_at=None)

    def forget_files(self, paths: Sequence[str]) -> None:
        for path in self.ledger_entries(paths).values():
            if path.state is not FileState.GRADED:
                self._tables.files.drop(path.path)

    def note_rules(self, graded: Sequence[tuple[str, str]]) -> None:
        for path, rules_version in graded:
            self._change(self._graded(path=path), rules_version=rules_version)

    def pass_over(self, path: str, reason: SkipReason) -> None:
        self._pass_over(self._graded(path=path), reason)

    def pass_over_session(self, session_id: str, reason: SkipReason) -> None:
        self._pass_over(self._graded(session_id=session_id), reason)

    def compare_again(self, session_id: str, *, but: str, now: datetime) -> None:
        passed = [
            entry.path
            for entry in self._entries()
            if entry.session_id == session_id and entry.state is FileState.SKIPPED and entry.reason in _PASSED_OVER
        ]
        self._change([path for path in passed if path != but], look_again_at=now)

    def file_counts(self) -> dict[str, int]:
        return _counted(entry.state.value for entry in self._entries())

    def skip_counts(self) -> dict[str, int]:
        return _counted(entry.reason or "" for entry in self._entries() if entry.state is FileState.SKIPPED)

    def last_grade(self, *, live: bool) -> LastGrade | None:
        return self._tables.last_grades.get("live" if live else "any")

    def troubled_entries(self, *, limit: int | None = None) -> list[LedgerEntry]:
        files = [file for file in self._tables.files.values() if file.entry.state in (FileState.DEAD, FileState.RETRY)]
        return [file.entry for file in sorted(files, key=lambda file: file.seen_at, reverse=True)[:limit]]

    def _entries(self) -> list[LedgerEntry]:
        return [file.entry for file in self._tables.files.values()]

    def _graded(self, **said: str) -> list[str]:
        """Return the graded files of which this is so."""
        return [
            entry.path
            for entry in self._entries()
            if entry.state is FileState.GRADED and all(getattr(entry, name) == value for name, value in said.items())
        ]

    def _change(self, paths: Sequence[str], **changes: object) -> None:
        for path in paths:
            file = self._tables.files.get(path)
            if file is not None:
                self._tables.files.put(path, file._replace(entry=replace(file.entry, **changes)))

    def _pass_over(self, paths: Sequence[str], reason: SkipReason) -> None:
        self._change(paths, state=FileState.SKIPPED, reason=reason, look_again_at=None, rules_version=None)

    def _is_live(self, entry: LedgerEntry, last: LastGrade, now: datetime) -> bool:
        known = self._tables.files.get(entry.path)
        is_new = known is None or known.entry.state is not FileState.GRADED or known.entry.digest != entry.digest
        since = self.live_since
        return since is not None and is_new and 0 <= last.lag_seconds <= (now - since).total_seconds()


def _counted(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))
