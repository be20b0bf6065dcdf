"""What other programs call: `SelfGrader`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from random import Random

import msgspec

from grader_daemon import bootstrap
from grader_daemon.analysis.redaction import redactor_of
from grader_daemon.api.excerpts import excerpt
from grader_daemon.api.labels import LabelKeeper
from grader_daemon.api.review import SPANS_DAYS, THRESHOLD, ReviewItem, review_item
from grader_daemon.domain.feedback import Sampling
from grader_daemon.domain.grade import Grade, Reason
from grader_daemon.domain.ledger import ledger_path
from grader_daemon.domain.quality import QualityCheck
from grader_daemon.domain.session import Session
from grader_daemon.errors import GraderError, InputError, UngradableError
from grader_daemon.grading import CATALOG
from grader_daemon.integrations.scorers import QualityScorer
from grader_daemon.patterns.review import choose
from grader_daemon.pipeline.backfill import backfill, backfill_in_processes
from grader_daemon.pipeline.discovery import FoundFile, Walk
from grader_daemon.pipeline.examine import GradedFile, SkippedFile, TroubledFile
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.pipeline.record import Happened, Recorded
from grader_daemon.pipeline.rereading import read_again
from grader_daemon.rules import load_rules
from grader_daemon.storage.rows import StoredGrade


class Outcomes(msgspec.Struct, frozen=True, kw_only=True):
    """What came of grading some files: grades (`id` is None when nothing was stored), skipped and ungradable ones."""

    grades: list[tuple[int | None, Grade]]
    skipped: list[tuple[str, str]]
    errors: list[tuple[str, str]]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """A grade with the sentences of its rules and the messages that prove them.

    `excerpts` maps a message index to "role: text", redacted and cut. `note` says why they are missing, if they are.
    """

    stored: StoredGrade
    sentences: dict[str, str]
    excerpts: dict[int, str]
    note: str | None


class SelfGrader(LabelKeeper):
    """Grades sessions and answers questions about grades; safe beside a running daemon and among threads.

    Use it as a context manager, or call `close`.
    """

    _made: Ingest | None = None

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._made = None
            super().close()

    def grade_session_file(self, path: str | os.PathLike[str]) -> Grade:
        """Grade one file and store the grade.

        Raises:
            InputError: there is no such file.
            UngradableError: it is no session, or not one to grade on its own; the text says why.
        """
        outcomes = self.grade_paths([path])
        if outcomes.grades:
            return outcomes.grades[0][1]
        file, why = (outcomes.errors or outcomes.skipped)[0]
        raise UngradableError(f"{file}: {why}")

    def grade_latest_sessions(self, n: int = 10) -> list[Grade]:
        """Grade up to `n` sessions that are not graded yet, the one that was written last first."""
        grades: list[Grade] = []
        for path in [file.path for file in self.ungraded_files()]:
            if len(grades) >= n:
                break
            graded = [recorded.session_id for recorded in self._ingest_all([path]) if recorded.grade is not None]
            grades += [stored.grade for stored in self._store.stored([each for each in graded if each]).values()]
        return grades

    def grade_paths(self, paths: Sequence[str | os.PathLike[str]], *, dry_run: bool = False) -> Outcomes:
        """Grade files, and all session files in folders. `dry_run` stores nothing, and needs no database.

        Raises:
            InputError: a path does not exist.
        """
        files = list(_files_of(paths))
        return self._try_out(files) if dry_run else self._grade_files(files)

    def ungraded_files(self, *, since: datetime | None = None) -> list[FoundFile]:
        """Files below the roots that are not graded as they are now, the one that was written last first."""
        earliest = since.timestamp() * 1e9 if since is not None else float("-inf")
        seen = self._store.file_stamp
        found = [
            file
            for root in self.settings.watch_roots
            for file in Walk(str(root))
            if file.stamp.mtime_ns >= earliest and seen(file.path) != file.stamp
        ]
        return sorted(found, key=lambda file: file.stamp.mtime_ns, reverse=True)

    def backfill(self, files: Sequence[FoundFile], *, jobs: int = 1) -> Iterator[list[Recorded]]:
        """Grade many files in `jobs` processes; yields what came of each batch when it is saved."""
        paths = [file.path for file in files]
        if jobs <= 1:
            return backfill(paths, self._ingest, batch=self.settings.batch_sessions)
        return backfill_in_processes(
            paths,
            self._ingest,
            jobs=jobs,
            make_examiner=partial(bootstrap.make_examiner, self.settings),
            clock=bootstrap.utc_now,
        )

    def explain(self, prefix: str) -> Explanation:
        """Give the reasons of a grade with the messages that prove them, read from the session file.

        Raises:
            InputError: no session id, or several, begin with `prefix`.
        """
        stored = self._store.find_grade(prefix)
        session, note = self._read_again(stored.grade)
        redactor = redactor_of(load_rules(self.settings.rules_file).redaction)
        grade = stored.grade
        wanted = {index for reason in grade.reasons for index in reason.messages}
        wanted |= {signal.index for signal in grade.signals_from_people}
        wanted |= {index for claim in grade.claims for index in (claim.index, *claim.evidence)}
        excerpts = {}
        if session is not None:
            excerpts = {
                index: f"{session.messages[index].role}: {excerpt(session.messages[index].text, redactor)}"
                for index in sorted(wanted)
                if index < len(session.messages)
            }
        return Explanation(stored=stored, sentences=_sentences(grade.reasons), excerpts=excerpts, note=note)

    def check_quality(self, scorer: QualityScorer | None = None, *, n: int = 10) -> list[QualityCheck]:
        """Have up to `n` finished sessions of the last four weeks judged, drawn at random among those not judged yet.

        Without a `scorer`, the one that is set is asked. Its answers are kept beside the grades and change none.

        Raises:
            InputError: no scorer is given or set.
            ScorerUnavailableError: the scorer cannot be asked now; what it said before is kept.
        """
        asked = scorer if scorer is not None else bootstrap.make_scorer(self.settings)
        if asked is None:
            raise InputError("no scorer is given, and neither quality_command nor quality_judge_url is set")
        checker = bootstrap.make_checker(self.settings, self._store, asked)
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
        for days in SPANS_DAYS:
            found = feedback.candidates(since=None if days is None else now - timedelta(days=days))
            chosen = choose(
                [candidate for candidate in found if candidate.session_id not in passed],
                threshold=THRESHOLD,
                disputed=disputed,
                known_requests=feedback.judged_requests(),
                chance=chance,
            )
            if chosen is not None:
                candidate, sampled = chosen
                return self._review_item(candidate.session_id, sampled)
        return None

    def _review_item(self, session_id: str, sampled: Sampling) -> ReviewItem:
        stored = self._store.find_grade(session_id)
        session, note = self._read_again(stored.grade)
        return review_item(
            stored,
            sampled,
            session=session,
            note=note,
            rules=load_rules(self.settings.rules_file),
            sentences=_sentences(stored.grade.reasons),
        )

    @property
    def _ingest(self) -> Ingest:
        with self._lock:
            if self._made is None:
                self._made = bootstrap.make_ingest(self.settings, self._store)
            return self._made

    def _ingest_all(self, paths: list[str]) -> list[Recorded]:
        recorded: list[Recorded] = []
        with self._lock:
            while paths:
                some, done = self._ingest.ingest(paths, within_seconds=float("inf"))
                recorded += some
                paths = paths[done:]
        return recorded

    def _grade_files(self, files: list[str]) -> Outcomes:
        grades: list[tuple[int | None, Grade]] = []
        skipped: list[tuple[str, str]] = []
        errors: list[tuple[str, str]] = []
        for recorded in self._ingest_all(files):
            match recorded.happened:
                case Happened.GRADED | Happened.UNCHANGED:
                    self._collect_stored(recorded, grades, skipped)
                case Happened.SKIPPED:
                    skipped.append((recorded.path, recorded.reason or "skipped"))
                case Happened.BUSY:
                    errors.append((recorded.path, "the file is being written to; try again when it is quiet"))
                case _:
                    errors.append((recorded.path, recorded.reason or "the file is gone"))
        return Outcomes(grades=grades, skipped=skipped, errors=errors)

    def _collect_stored(
        self, recorded: Recorded, grades: list[tuple[int | None, Grade]], skipped: list[tuple[str, str]]
    ) -> None:
        """Give what the database has now: an unchanged file keeps the grade, or the skip, that it had."""
        entry = self._store.ledger_entry(ledger_path(recorded.path))
        if entry is None or entry.session_id is None or entry.state != "graded":
            skipped.append((recorded.path, (entry.reason if entry is not None else None) or "skipped"))
            return
        stored = self._store.find_grade(entry.session_id)
        grades.append((stored.id, stored.grade))

    def _try_out(self, files: list[str]) -> Outcomes:
        examiner = bootstrap.make_examiner(self.settings)
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
        return Outcomes(grades=grades, skipped=skipped, errors=errors)

    def _read_again(self, grade: Grade) -> tuple[Session | None, str | None]:
        try:
            return read_again(grade, zone=self.settings.zone, limits=self.settings.limits).session, None
        except GraderError as error:
            return None, f"the messages cannot be shown: {error}"


def _files_of(paths: Sequence[str | os.PathLike[str]]) -> Iterator[str]:
    for given in paths:
        path = os.path.abspath(os.fspath(given))
        if not os.path.lexists(path):
            raise InputError(f"{path}: no such file or folder")
        if os.path.isdir(path) and not os.path.islink(path):
            yield from sorted(file.path for file in Walk(path))
        else:
            yield path


def _sentences(reasons: Sequence[Reason]) -> dict[str, str]:
    return {reason.rule: CATALOG.get(reason.rule, "a rule of another version") for reason in reasons}
