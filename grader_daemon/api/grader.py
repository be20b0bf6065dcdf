"""What other programs call: `SelfGrader`."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

import msgspec

from grader_daemon import bootstrap
from grader_daemon.api.calibration import CalibrationKeeper
from grader_daemon.api.explanation import Explanation, explanation, sentences_of
from grader_daemon.api.forget import Forgotten, forget, leave_no_trace
from grader_daemon.api.grades import paths_of
from grader_daemon.api.grading import GradingResult
from grader_daemon.api.overview import Overview, overview
from grader_daemon.api.review import SPANS_DAYS, THRESHOLD, ReviewItem, review_item
from grader_daemon.api.transcript import Transcript, transcript
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.difference import RegradeDiff
from grader_daemon.domain.feedback import Sampling
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.ledger import ledger_path
from grader_daemon.domain.quality import QualityCheck
from grader_daemon.domain.session import Session
from grader_daemon.domain.verdict import CompletionPolicy, GradeVersion
from grader_daemon.errors import GraderError, InputError, StoreError, UngradableError
from grader_daemon.integrations.scorers import QualityScorer, as_scorer
from grader_daemon.patterns.review import choose
from grader_daemon.pipeline.absence import stamps
from grader_daemon.pipeline.backfill import backfill, backfill_in_processes, regrade
from grader_daemon.pipeline.commit import IngestOutcome, IngestResult
from grader_daemon.pipeline.examine import Examiner, GradedFile, SkippedFile, TroubledFile
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.pipeline.rereading import read_again
from grader_daemon.rules import load_rules
from grader_daemon.sources.discovery import FoundFile, Walk, named_files
from grader_daemon.storage.records import StoredGrade

_CHANGED = "the file changed since it was graded; numbers of messages may mean others now"


class SelfGrader(CalibrationKeeper):
    """Grades sessions and answers questions about grades; safe beside a running daemon and among threads.

    Use it as a context manager, or call `close`.
    """

    _made: Ingest | None = None
    _calibrated = 0

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._made = None
            super().close()

    def grade_session_file(self, path: str | os.PathLike[str]) -> Grade:
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
        entry = self._store.ledger_entry(ledger_path(file))
        of = "" if entry is None or entry.session_id is None else f" of session {entry.session_id}"
        raise UngradableError(f"{file}: has no grade of its own: {why.replace('_', ' ')}{of}")

    def grade_latest_sessions(self, n: int = 10) -> list[Grade]:
        """Grade up to `n` sessions that are not graded yet, the one that was written last first."""
        store = self._open_to_write()  # before anything is read: another program may be making it at this moment
        grades: list[Grade] = []
        for file in self.ungraded_files():
            if len(grades) >= n:
                break
            graded = [recorded.grade.session_id for recorded in self._ingest_all([file.path]) if recorded.grade]
            grades += [stored.grade for stored in store.stored(graded).values()]
        return grades

    def grade_paths(
        self, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, dry_run: bool = False
    ) -> GradingResult:
        """Grade files, and all session files in folders; a single text is one path.

        Of a named file that is no session, and not watched, nothing is kept. `dry_run` stores nothing, and needs no
        database. A folder without session files is among the errors.

        Raises:
            InputError: a path does not exist.
        """
        named = paths_of(paths)
        files, empty = named_files(named)
        if dry_run:
            outcomes = self._try_out(files)
        else:
            store = self._open_to_write()
            outcomes = self._grade_files(files)
            leave_no_trace(store, [os.path.abspath(path) for path in named], self.settings.watch_roots)
        return msgspec.structs.replace(outcomes, errors=outcomes.errors + empty)

    def forget(self, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Forgotten]:
        """Remove what is remembered of files without a grade of their own; a single text is one path."""
        return forget(self._writable, paths_of(paths), self.settings.watch_roots)

    def ungraded_files(self, *, since: datetime | None = None) -> list[FoundFile]:
        """Files below the roots that are not graded as they are now, the one that was written last first.

        `since`: that were written from then on. Roots that are no folders are passed over; see `missing_roots`. A
        database of an older version says nothing until `migrate`.

        Raises:
            InputError: none of the roots is a folder.
        """
        missing = self.missing_roots()
        if len(missing) == len(self.settings.watch_roots):
            raise InputError(f"{', '.join(map(str, missing))}: no such folder; nothing was looked for")
        earliest = since.timestamp() * 1e9 if since is not None else float("-inf")
        seen = stamps(self._store, self.settings.watch_roots) if self.settings.db_path.exists() else lambda _: None
        found = [
            file
            for root in self.settings.watch_roots
            for file in Walk(str(root))
            if file.stamp.mtime_ns >= earliest and seen(file.path) != file.stamp
        ]
        return sorted(found, key=lambda file: file.stamp.mtime_ns, reverse=True)

    def missing_roots(self) -> list[Path]:
        """Give the watched folders that are none."""
        return [root for root in self.settings.watch_roots if not root.is_dir()]

    def graded_files(self, *, since: datetime | None = None) -> list[str]:
        """Files with a grade; `since`: of sessions that ended from then on. Of an older database: see `migrate`."""
        return self._store.graded_paths(since=since)

    def outdated_files(self, *, since: datetime | None = None) -> list[str]:
        """Those of `graded_files` whose grade was made by other rules, another model, or under another verdict."""
        return self._writable.graded_paths(but_of=self._ingest.examiner.rules_version, since=since)

    def regrade_diff(
        self,
        *,
        since: datetime | None = None,
        rules_file: str | os.PathLike[str] | None = None,
        advance: Callable[[int], None] = lambda _: None,
    ) -> RegradeDiff:
        """Say what grading everything again would change, without writing anything.

        `since`: of sessions that ended from then on. `rules_file`: under these rules of your own instead of those that
        are set. `advance` is told how many files are done.

        Raises:
            ConfigurationError: the rules are wrong.
        """
        from grader_daemon.api.regrading import compare_all

        settings = self.settings
        if rules_file is not None:
            settings = settings.model_copy(update={"rules_file": Path(rules_file)})
        return compare_all(
            self._store.graded_paths(since=since),
            store=self._store,
            examiner=bootstrap.make_examiner(settings, bootstrap.make_policy(settings, self._store)),
            clock=bootstrap.utc_now,
            advance=advance,
        )

    def regrade(self, paths: str | Iterable[str], *, jobs: int = 1) -> Iterator[list[IngestResult]]:
        """Grade files again, whatever made their grades; yields what came of each batch when it is saved.

        For `jobs` above 1 see `backfill`. Nothing is done that is not asked for: go through what it yields.
        """
        again = paths_of(paths)
        if jobs <= 1:
            return regrade(again, self._ingest, batch=self.settings.batch_sessions, clock=bootstrap.utc_now)
        return backfill_in_processes(
            again,
            self._ingest,
            jobs=jobs,
            make_examiner=self._examiner_maker(),
            clock=bootstrap.utc_now,
        )

    def backfill(self, files: Sequence[FoundFile], *, jobs: int = 1) -> Iterator[list[IngestResult]]:
        """Grade many files in `jobs` processes; yields what came of each batch when it is saved.

        Further processes import the program that starts them: for `jobs` above 1 it must be guarded, as for
        `multiprocessing`, by ``if __name__ == "__main__":``. Nothing is done that is not asked for: go through what it
        yields.

        Raises:
            UngradableError: a process died.
        """
        paths = [file.path for file in files]
        if jobs <= 1:
            return backfill(paths, self._ingest, batch=self.settings.batch_sessions)
        return backfill_in_processes(
            paths,
            self._ingest,
            jobs=jobs,
            make_examiner=self._examiner_maker(),
            clock=bootstrap.utc_now,
        )

    def explain(self, prefix: str) -> Explanation:
        """Give the reasons of a grade with the messages that prove them, read from the session file.

        Raises:
            InputError: no session id, or several, begin with `prefix`.
        """
        stored = self._store.find_grade(prefix)
        session, note = self._read_again(stored)
        model = self.model_of(GradeVersion.read(stored.grade.rules_version).model)
        return explanation(stored, session, note=note, redactor=self._redactor, model=model)

    def overview(self, *, days: int = 7) -> Overview:
        """Give the first look: does it run, is anything wrong, are the last days better or worse than those before?"""
        return overview(self, days=days)

    def transcript(self, prefix: str, *, around: int | None = None, reach: int = 3) -> Transcript:
        """Give a session as text that people may read, with what its grade found beside each message.

        Args:
            prefix: the beginning of its id.
            around: only this message and at most `reach` before and after it.
            reach: how many.

        Raises:
            InputError: no session id, or several, begin with `prefix`; or there is no message `around`.
        """
        stored = self._store.find_grade(prefix)
        session, note = self._read_again(stored)
        return transcript(stored, session, note=note, redactor=self._redactor, around=around, reach=reach)

    def check_quality(
        self, scorer: QualityScorer | Callable[[Session, Grade], float] | None = None, *, n: int = 10
    ) -> list[QualityCheck]:
        """Have up to `n` finished sessions of the last four weeks judged, drawn at random among those not judged yet.

        Without a `scorer`, the one that is set is asked; a function is one that gives 1 to 5 for session and grade. Its
        answers are kept beside the grades, under its name, and change none.

        Raises:
            InputError: no scorer is given or set, or what is given is none.
            ScorerUnavailableError: the scorer cannot be asked now; what it said before is kept.
        """
        asked = as_scorer(scorer) if scorer is not None else bootstrap.make_scorer(self.settings)
        if asked is None:
            raise InputError("no scorer is given, and neither quality_command nor quality_judge_url is set")
        checker = bootstrap.make_checker(self.settings, self._writable, asked)
        drawn = checker.draw(bootstrap.utc_now(), count=n)
        return [checker.check(one, budgeted=scorer is None) for one in drawn]

    def next_for_review(self, *, seed: int | None = None, passed: Collection[str] = ()) -> ReviewItem | None:
        """Give the session that a person should judge next, with its evidence; None when there is none.

        Seven of ten are those that teach most, the others are drawn by chance from the finished sessions of the last
        days that nobody judged: hand `sampled` back to `label`. `passed` are sessions to leave out. The same `seed`
        gives the same session while nothing changes.
        """
        chance, now = Random(seed), bootstrap.utc_now()  # noqa: S311  a draw, no secret
        feedback = self._store.feedback
        disputed = frozenset(self._store.quality.disagreeing(by=self.settings.quality_discrepancy))
        threshold, known_requests = self._threshold(), feedback.judged_requests()
        for days in SPANS_DAYS:
            found = feedback.candidates(since=None if days is None else now - timedelta(days=days))
            chosen = choose(
                [candidate for candidate in found if candidate.session_id not in passed],
                threshold=threshold,
                disputed=disputed,
                known_requests=known_requests,
                chance=chance,
            )
            if chosen is not None:
                candidate, sampled = chosen
                return self._review_item(candidate.session_id, sampled)
        return None

    def _threshold(self) -> float:
        """Give the probability from which on the model in force says completed."""
        model = bootstrap.make_policy(self.settings, self._store).model
        return THRESHOLD if model is None else model.threshold

    def _review_item(self, session_id: str, sampled: Sampling) -> ReviewItem:
        stored = self._store.find_grade(session_id)
        session, note = self._read_again(stored)
        return review_item(
            stored,
            sampled,
            session=session,
            note=note,
            rules=load_rules(self.settings.rules_file),
            sentences=sentences_of(stored.grade.reasons),
        )

    @property
    def _ingest(self) -> Ingest:
        """From path to row, by the policy that is in force now."""
        with self._lock:
            store = self._open_to_write()
            newest = store.calibrations.newest_number()
            if self._made is None or self._calibrated != newest:
                self._made, self._calibrated = bootstrap.make_ingest(self.settings, store), newest
            return self._made

    def _examiner_maker(self) -> Callable[[], Examiner]:
        """For helper processes: they get the policy as a value."""
        return partial(bootstrap.make_examiner, self.settings, bootstrap.make_policy(self.settings, self._store))

    def _ingest_all(self, paths: list[str]) -> list[IngestResult]:
        recorded: list[IngestResult] = []
        with self._lock:
            while paths:
                some, done = self._ingest.ingest(paths, within_seconds=float("inf"))
                recorded += some
                paths = paths[done:]
        return recorded

    def _grade_files(self, files: list[str]) -> GradingResult:
        grades: list[tuple[int | None, Grade]] = []
        skipped: list[tuple[str, str]] = []
        errors: list[tuple[str, str]] = []
        for recorded in self._ingest_all(files):
            match recorded.outcome:
                case IngestOutcome.GRADED | IngestOutcome.UNCHANGED:
                    self._collect_stored(recorded, grades, skipped)
                case IngestOutcome.SKIPPED:
                    skipped.append((recorded.path, recorded.reason or "skipped"))
                case IngestOutcome.BUSY:
                    errors.append((recorded.path, "the file is being written to; try again when it is quiet"))
                case _:
                    errors.append((recorded.path, recorded.reason or "the file is gone"))
        return GradingResult(grades=grades, skipped=skipped, errors=errors, trust=self.trust())

    def _collect_stored(
        self, recorded: IngestResult, grades: list[tuple[int | None, Grade]], skipped: list[tuple[str, str]]
    ) -> None:
        """Give what the database has now: an unchanged file keeps the grade, or the skip, that it had."""
        entry = self._store.ledger_entry(ledger_path(recorded.path))
        if entry is None or entry.session_id is None or entry.state != "graded":
            skipped.append((recorded.path, (entry.reason if entry is not None else None) or "skipped"))
            return
        stored = self._store.find_grade(entry.session_id)
        grades.append((stored.id, stored.grade))

    def _try_out(self, files: list[str]) -> GradingResult:
        policy, trust = self._policy_to_try()
        examiner = bootstrap.make_examiner(self.settings, policy)
        grades: list[tuple[int | None, Grade]] = []
        skipped: list[tuple[str, str]] = []
        errors: list[tuple[str, str]] = []
        for file in files:
            match examiner.examine(file, now=bootstrap.utc_now()):
                case GradedFile(grade=grade):
                    grades.append((None, grade))
                case SkippedFile(skipped=why):
                    skipped.append((file, why.reason))
                case TroubledFile(error=error):
                    errors.append((file, error))
                case _:
                    errors.append((file, "the file is gone or being written to"))
        return GradingResult(grades=grades, skipped=skipped, errors=errors, trust=trust)

    def _policy_to_try(self) -> tuple[CompletionPolicy, Trust]:
        """The policy in force if there is a database to tell; none is made, nor changed, for a try."""
        try:
            with closing(bootstrap.open_store(self.settings, read_only=True)) as store:
                return bootstrap.make_policy(self.settings, store), bootstrap.read_trust(self.settings, store)
        except StoreError:
            return bootstrap.make_policy(self.settings, None), bootstrap.read_trust(self.settings, None)

    def _read_again(self, stored: StoredGrade) -> tuple[Session | None, str | None]:
        """Give the session as it is now, and why it is not there or not what was graded."""
        try:
            read = read_again(
                stored.grade,
                zone=self.settings.zone,
                limits=self.settings.limits,
                roots=[str(root) for root in self.settings.watch_roots],
            )
        except GraderError as error:
            return None, f"the messages cannot be shown: {error}"
        return read.session, None if read.digest == stored.digest else _CHANGED
