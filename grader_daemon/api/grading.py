"""Grading: files and folders now, what waits, and again what other rules graded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from datetime import datetime
from itertools import islice
from pathlib import Path

import msgspec

from grader_daemon import bootstrap
from grader_daemon.adapters import NOT_PROVIDED, installed
from grader_daemon.api.arguments import check_count
from grader_daemon.api.context import GraderContext, paths_of
from grader_daemon.api.forget import Forgotten, forget, leave_no_trace
from grader_daemon.api.grades import Grades
from grader_daemon.api.standard_input import files_of
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.difference import RegradeDiff
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.unit import Found, Stamp, Unit
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.errors import InputError, NoDatabaseError, StoreError, UngradableError
from grader_daemon.pipeline.absence import stamps
from grader_daemon.pipeline.commit import IngestOutcome, IngestResult
from grader_daemon.pipeline.comparing import UNITS_AT_ONCE, compare_all
from grader_daemon.pipeline.helpers import processes_for
from grader_daemon.pipeline.ingest import Ingest, backfill
from grader_daemon.setting_sources import meant
from grader_daemon.sources.discovery import could_not_read, is_missing
from grader_daemon.sources.named_paths import named_units, units_in
from grader_daemon.sources.protocol import Source
from grader_daemon.storage.records import OutdatedUnit, StoredGrade
from grader_daemon.storage.sqlite.store import SqliteStore


class GradingResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of grading some files: grades (`id` is None when nothing was stored), skipped and ungradable ones.

    `trust` says how far the verdicts can be trusted.
    """

    grades: list[tuple[int | None, Grade]]
    skipped: list[tuple[str, str]]
    errors: list[tuple[str, str]]
    trust: Trust


class Grading:
    """Grading of session files, with their grades stored; safe beside a running daemon."""

    def __init__(self, context: GraderContext) -> None:
        self._context = context
        self._settings = context.settings
        self._sources = context.sources
        self._made: Ingest | None = None  # by the calibration of this number; both under the lock of the context
        self._calibrated = 0
        self._failed: dict[str, str] = {}
        self._unread: dict[str, str] = {}

    def grade_file(self, path: str | os.PathLike[str]) -> Grade:
        """Grade one file and store the grade.

        Raises:
            InputError: there is no such file, or it is a folder.
            UngradableError: it is no session, or not one to grade on its own; the text says why.
        """
        if os.path.isdir(path):
            raise InputError(f"{os.fspath(path)}: a folder; grade_paths grades all files in it")
        outcomes = self.grade_paths([path])
        if outcomes.grades:
            return outcomes.grades[0][1]
        if outcomes.errors:
            raise UngradableError(": ".join(outcomes.errors[0]))
        file, why = outcomes.skipped[0]
        entry = self._context.store.ledger_entry(self._sources.named(file)[0].storable())
        of = "" if entry is None or entry.session_id is None else f" of session {entry.session_id}"
        raise UngradableError(f"{file}: has no grade of its own: {why.replace('_', ' ')}{of}")

    def grade_latest(self, n: int = 10) -> list[Grade]:
        """Grade up to `n` ungraded sessions, the last written first.

        Raises:
            InputError: `n` is no whole number, or below 0; or see `ungraded_files`.
        """
        check_count("n", n, least=0)
        store = self._context.make_store()  # before anything is read: another program may be making it at this moment
        grades: list[Grade] = []
        for found in self.ungraded_files():
            if len(grades) >= n:
                break
            recorded = self._ingest_all([found.unit], self._ingest)
            graded = [each.grade.session_id for each in recorded if each.grade]
            grades += [stored.grade for stored in store.grades.stored(graded).values()]
        return grades

    def grade_paths(
        self,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        dry_run: bool = False,
        source: str | None = None,
    ) -> GradingResult:
        """Grade files, and all session files in folders; a single text is one path.

        Of a named file that is no session, and not watched, nothing is kept. `dry_run` grades as into an empty database
        that is forgotten, and needs none. A folder without session files is among the errors. `source`: all are of
        this one, whatever they look like; by themselves they are known by name and content.

        Raises:
            InputError: a path does not exist, or there is no such source.
        """
        named = paths_of(paths)
        units, empty = named_units(named, self._sources, read_as=None if source is None else self._called(source))
        if dry_run:
            outcomes = self._try_out(units)
        else:
            store = self._context.make_store()
            outcomes = self._result_of(
                self._ingest_all(units, self._ingest), store, trust=Grades(self._context).trust()
            )
            leave_no_trace(store, [os.path.abspath(path) for path in named], self._sources)
        return msgspec.structs.replace(outcomes, errors=outcomes.errors + empty)

    def grade_content(self, content: bytes, source: str) -> GradingResult:
        """Grade sessions from content, as this source would read it from a file; nothing is stored.

        ATIF may hold several documents. Each is told as "-", of several each with its number, as "-#2".

        Raises:
            InputError: there is no such source, or what it reads is no single file; or there is too much.
        """
        known = self._called(source)
        with files_of(content, known, self._settings.limits) as told:
            units = [unit for path in told for unit in units_in(path, known)]
            return _told_as(self._try_out(units), told)

    def forget(self, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Forgotten]:
        """Remove ledger entries of files without their own grade; a single text is one path."""
        return forget(self._context.writable, paths_of(paths), self._sources)

    def ungraded_files(self, *, since: datetime | None = None, source: str | None = None) -> list[Found]:
        """Files below the roots without a current grade, the last written first.

        `since`: that were written from then on. `source`: of this one alone, which need not be enabled. Roots that are
        no folders are passed over; see `missing_roots`; what a source fails on, too: see `failed_sources`; and what
        cannot be read: see `unread`. A database of an older version says nothing until `migrate`.

        Raises:
            InputError: none of the roots is there, or there is no such source.
        """
        if source is not None:
            self._called(source)
        sources = copy(self._sources)
        self._failed = {}
        sources.guard(self._note)
        roots = sources.roots(source)
        if all(map(is_missing, roots)):
            raise InputError(f"{self._why_not_searched(roots, source)}, so nothing was searched")
        earliest = since.timestamp() * 1e9 if since is not None else float("-inf")
        seen = stamps(self._context.store, self._sources) if self._context.has_database else _none_is_seen
        failures = self._failures()
        walks = list(sources.walks(source))
        late = (each for walk in walks for each in walk if each.written_ns >= earliest)
        self._unread = {}
        found: list[Found] = []
        while some := list(islice(late, UNITS_AT_ONCE)):
            known = seen([each.unit for each in some])
            new = [each for each, stamp in zip(some, known, strict=True) if stamp != each.stamp]
            found += new
            if failures:
                same = {each.unit.storable() for each in some} - {each.unit.storable() for each in new}
                self._unread.update((str(unit), failures[unit]) for unit in sorted(same & failures.keys()))
        self._unread.update(dict.fromkeys(could_not_read(walks), "cannot be read"))
        return sorted(found, key=lambda each: each.written_ns, reverse=True)

    def unread(self) -> dict[str, str]:
        """Return what the last search left out, and why: places that cannot be read, files that failed before."""
        return dict(self._unread)

    def failed_sources(self) -> dict[str, str]:
        """Return for each source the first internal error that kept the last search from its files."""
        return dict(self._failed)

    def adapter_faults(self) -> dict[str, str]:
        """Return the first failure of each adapter so far, by the name of its source."""
        return self._sources.faults

    def missing_roots(self) -> list[Path]:
        """Return configured folders to watch that do not exist."""
        return [root for root in self._settings.named_roots if is_missing(root)]

    def graded_files(self, *, since: datetime | None = None) -> list[str]:
        """Files with a grade, in a database of any version; with `since`, of sessions that ended since then."""
        return self._context.preview.graded_paths(since=since)

    def outdated_files(self, *, since: datetime | None = None) -> list[str]:
        """Return the `graded_files` graded with other rules, another model or another verdict policy."""
        return self._context.writable.graded_paths(but_of=self._ingest.examiner.rules_version, since=since)

    def regrade_diff(
        self,
        *,
        since: datetime | None = None,
        rules_file: str | os.PathLike[str] | None = None,
        advance: Callable[[int], None] = lambda _: None,
    ) -> RegradeDiff:
        """Return what grading everything again would change, without writing anything.

        A database of an earlier version stays as it is: a copy of it is upgraded, and compared.

        `since`: of sessions that ended from then on. `rules_file`: under these rules of your own instead of those that
        are set. `advance` is told how many files are done.

        Raises:
            ConfigurationError: the rules are wrong.
        """
        settings, store = self._settings, self._context.preview
        if rules_file is not None:
            settings = settings.model_copy(update={"rules_file": Path(rules_file)})
        return compare_all(
            self._units_of(store.graded_paths(since=since)),
            store=store,
            examiner=bootstrap.make_examiner(settings, bootstrap.make_policy(settings, store)),
            clock=self._context.now,
            advance=advance,
        )

    def regrade(self, paths: str | Iterable[str], *, jobs: int | None = 1) -> Iterator[list[IngestResult]]:
        """Grade files again, even if up to date; yields the results of each batch after it is saved.

        For `jobs` see `backfill`. Nothing is done that is not asked for: go through what it yields.
        """
        again = self._units_of(paths_of(paths))
        ingest = self._make_ingest(processes=processes_for(len(again)) if jobs is None else jobs, again=True)
        return backfill(again, ingest, batch=self._settings.batch_sessions)

    def regrade_outdated(self, paths: str | Iterable[str], *, jobs: int | None = 1) -> Iterator[list[IngestResult]]:
        """Grade `outdated_files` again; yields the results of each batch after it is saved.

        Sessions are read again only where what is stored of them is not enough. For `jobs` see `backfill`. Nothing is
        done that is not asked for: go through what it yields.
        """
        outdated = self._units_of(paths_of(paths))
        ingest = self._make_ingest(processes=processes_for(len(outdated)) if jobs is None else jobs, again=True)
        to_read: list[Unit] = []
        for start in range(0, len(outdated), UNITS_AT_ONCE):
            redecided, others = ingest.redecide(self._made_by(outdated[start : start + UNITS_AT_ONCE]))
            to_read += others
            yield [IngestResult(unit=new.unit, outcome=IngestOutcome.GRADED, grade=new) for _, new in redecided]
        yield from backfill(to_read, ingest, batch=self._settings.batch_sessions)

    def _made_by(self, units: Sequence[Unit]) -> list[OutdatedUnit]:
        """Return units with the versions of their grades; what has none is of no version."""
        entries = self._context.writable.ledger_entries(units)
        versions = {unit: entry.rules_version or "" for unit, entry in entries.items()}
        return [OutdatedUnit(versions.get(unit, ""), 0, unit) for unit in units]

    def backfill(self, files: Sequence[Found], *, jobs: int | None = 1) -> Iterator[list[IngestResult]]:
        """Grade many files; yields the results of each batch after it is saved.

        `jobs` processes examine them if they are many; with 1, this one; with None, of a thousand files and more one a
        processor, of fewer this one. Nothing is done that is not asked for: go through what it yields.
        """
        units = [found.unit for found in files]
        processes = processes_for(len(units)) if jobs is None else jobs
        ingest = self._ingest if processes == 1 else self._make_ingest(processes=processes)
        return backfill(units, ingest, batch=self._settings.batch_sessions)

    def _failures(self) -> dict[Unit, str]:
        """Return the files that could not be graded as they are, each with the reason."""
        if not self._context.has_database:
            return {}
        return {entry.unit: entry.reason or "failed" for entry in self._context.store.troubled_entries()}

    @property
    def _ingest(self) -> Ingest:
        """Ingest from path to row, by the policy that is in force now."""
        with self._context.lock:
            store = self._context.make_store()
            newest = store.calibrations.newest_number()
            if self._made is None or self._calibrated != newest:
                policy = bootstrap.make_policy(self._settings, store)
                self._made = bootstrap.make_ingest(self._settings, store, policy=policy, clock=self._context.now)
                self._calibrated = newest
            return self._made

    def _make_ingest(self, *, processes: int, again: bool = False) -> Ingest:
        """Return an ingest from path to row, where `processes` examine; a single one is this one."""
        store = self._context.make_store()
        return bootstrap.make_ingest(
            self._settings,
            store,
            policy=bootstrap.make_policy(self._settings, store),
            clock=self._context.now,
            processes=0 if processes == 1 else processes,
            again=again,
        )

    def _note(self, source: str, error: Exception) -> None:
        self._failed.setdefault(source, f"{type(error).__name__}: {error}")

    def _why_not_searched(self, roots: Sequence[str], source: str | None) -> str:
        """Return why there is no folder to search, of some that are missing or of sources that name none."""
        if roots:
            return f"{', '.join(roots)}: no such folder"
        absent = [name for name in self._settings.sources_not_installed if source in (None, name)]
        if absent:
            return f"{', '.join(absent)}: {NOT_PROVIDED}"
        return f"{source or ', '.join(self._settings.sources)}: no folder is known"

    def _called(self, name: str) -> Source:
        source = self._sources.called(name)
        if source is not None:
            return source
        if name in installed():
            raise InputError(f"{name}: an adapter that is not enabled; grader-daemon sources enable {name}")
        raise InputError(f"there is no source {name!r}{meant(name, bootstrap.SOURCES)}")

    def _units_of(self, paths: Sequence[str]) -> list[Unit]:
        """Return all units of these files."""
        return [unit for path in paths for unit in self._sources.named(path)]

    def _ingest_all(self, units: Sequence[Unit], ingest: Ingest) -> list[IngestResult]:
        recorded: list[IngestResult] = []
        with self._context.lock:
            while len(recorded) < len(units):
                recorded += ingest.ingest(units[len(recorded) :], within_seconds=float("inf"))[0]
        return recorded

    def _try_out(self, units: Sequence[Unit]) -> GradingResult:
        """Grade as into an empty database, which is forgotten."""
        policy, trust = self._policy_to_try()
        with closing(bootstrap.passing_store()) as store:
            ingest = bootstrap.make_ingest(self._settings, store, policy=policy, clock=self._context.now)
            tried = self._result_of(self._ingest_all(units, ingest), store, trust=trust)
        return msgspec.structs.replace(tried, grades=[(None, grade) for _, grade in tried.grades])

    def _result_of(self, recorded: Sequence[IngestResult], store: SqliteStore, *, trust: Trust) -> GradingResult:
        grades: list[tuple[int | None, Grade]] = []
        skipped: list[tuple[str, str]] = []
        errors: list[tuple[str, str]] = []
        stored = _stored(store, [each.unit for each in recorded])
        for each in recorded:
            match each.outcome:
                case IngestOutcome.GRADED | IngestOutcome.UNCHANGED:
                    known = stored.get(each.unit, "skipped")
                    if isinstance(known, StoredGrade):
                        grades.append((known.id, known.grade))
                    else:
                        skipped.append((each.path, known))
                case IngestOutcome.SKIPPED:
                    skipped.append((each.path, each.reason or "skipped"))
                case IngestOutcome.BUSY:
                    errors.append((each.path, "the file is being written to; try again when it is quiet"))
                case _:
                    errors.append((each.path, each.reason or "the file is gone"))
        return GradingResult(grades=grades, skipped=skipped, errors=errors, trust=trust)

    def _policy_to_try(self) -> tuple[CompletionPolicy, Trust]:
        """The policy in force if there is a database to tell; none is made, nor changed, for a try."""
        try:
            store = self._context.store
            return bootstrap.make_policy(self._settings, store), bootstrap.read_trust(self._settings, store)
        except (NoDatabaseError, StoreError):
            return bootstrap.make_policy(self._settings, None), bootstrap.read_trust(self._settings, None)


def _told_as(result: GradingResult, told: Mapping[str, str]) -> GradingResult:
    """Return a result in which files are called as they are told."""

    def name(path: str) -> str:
        file, mark, key = path.partition("#")
        return f"{told.get(file, file)}{mark}{key}"

    return msgspec.structs.replace(
        result,
        grades=[
            (row, msgspec.structs.replace(each, session_file=name(each.session_file))) for row, each in result.grades
        ],
        skipped=[(name(path), reason) for path, reason in result.skipped],
        errors=[(name(path), error) for path, error in result.errors],
    )


def _stored(store: SqliteStore, units: Sequence[Unit]) -> dict[Unit, StoredGrade | str]:
    """Return the grade that each unit has now, or why it was skipped; an unchanged one keeps what it had."""
    entries = store.ledger_entries(units)
    graded = {unit: each.session_id for unit, each in entries.items() if each.session_id and each.state == "graded"}
    grades = store.grades.stored(list(graded.values()))
    reasons = {unit: each.reason or "skipped" for unit, each in entries.items()}
    return {unit: grades.get(graded.get(unit, ""), reason) for unit, reason in reasons.items()}


def _none_is_seen(units: Sequence[Unit]) -> list[Stamp | None]:
    return [None] * len(units)
