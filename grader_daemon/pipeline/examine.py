"""One file, from its path to what should be recorded of it, without touching the database.

That makes it safe to do in several processes at once (`backfill`) and easy to try out (`grade --dry-run`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, tzinfo
from functools import partial

import msgspec
import xxhash

from grader_daemon.analysis import Analyzer
from grader_daemon.domain.analysis import ErrorSign, SessionState
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.identity import Identity
from grader_daemon.domain.ledger import NOWHERE, FileStamp, FileState, LedgerEntry, ledger_path
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.errors import ChangingFileError, ParseError, ReadError, UnfinishedFileError, VanishedFileError
from grader_daemon.grading import Grader
from grader_daemon.sources.decoding import companion
from grader_daemon.sources.reading import look_at, read_file, read_session, stamp_of, written_at

_OPEN = SessionState.OPEN
_CLOCKS_DIFFER = timedelta(minutes=1)
"""A file that was written to later than that from now has a time that says nothing."""

_NO_MEMORY = "grading it takes more memory than there is; raise the memory limit or lower max_file_bytes"


class GradedFile(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag=True):
    """A session and its grade.

    `signs` are what its failures have in common with those of others. `look_again_at`: when its open end will have been
    idle for too long.
    """

    path: str
    stamp: FileStamp
    digest: str
    grade: Grade
    signs: tuple[ErrorSign, ...]
    identity: Identity
    look_again_at: datetime | None


class SkippedFile(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag=True):
    """A file that has no grade of its own."""

    path: str
    stamp: FileStamp
    digest: str | None
    skipped: Skipped


class TroubledFile(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag=True):
    """A file that cannot be graded now. `hope` says whether trying again can help, without end if `always`."""

    path: str
    stamp: FileStamp
    error: str
    hope: bool
    always: bool = False


class UnchangedFile(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag=True):
    """The same bytes as before under the same rules."""

    path: str
    stamp: FileStamp


class VanishedFile(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag=True):
    """The file is gone."""

    path: str


class BusyFile(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag=True):
    """The file is being written to."""

    path: str


Examined = GradedFile | SkippedFile | TroubledFile | UnchangedFile | VanishedFile | BusyFile


class Examiner:
    """Reads, parses, analyses and grades single files under one set of rules and one policy."""

    def __init__(
        self,
        rules: Rules,
        policy: CompletionPolicy,
        *,
        zone: tzinfo | None,
        idle: timedelta,
        limits: Limits,
        roots: Sequence[str] = (),
    ) -> None:
        """Set up. Below one of `roots`, no link is followed on the way to a file."""
        self.rules = rules
        self.limits = limits
        self._policy = policy
        self._zone = zone
        self._idle = idle
        self._roots = roots
        self._analyzer = Analyzer(rules)
        self._grader = Grader(rules, policy, zone=zone)
        self.rules_version = self._grader.version

    def with_policy(self, policy: CompletionPolicy) -> Examiner:
        """Give an examiner with the same rules and another policy."""
        return self._made_of(policy)()

    def __reduce__(self) -> tuple[Callable[[], Examiner], tuple[()]]:
        """It goes to another process as what it is made of."""
        return self._made_of(self._policy), ()

    def _made_of(self, policy: CompletionPolicy) -> Callable[[], Examiner]:
        return partial(
            Examiner,
            self.rules,
            policy,
            zone=self._zone,
            idle=self._idle,
            limits=self.limits,
            roots=self._roots,
        )

    def redecide(self, grade: Grade) -> Grade:
        """Give the grade of a session whose file is gone, judged anew from what is kept of it."""
        return self._grader.redecide(grade)

    def examine(self, path: str, *, now: datetime, known: LedgerEntry | None = None) -> Examined:
        """Look at one file. `known` is its ledger row; the same content is not graded twice."""
        stamp = NOWHERE
        try:
            found = look_at(path)
            stamp = stamp_of(found)
            return self._examine(path, found, stamp, now, known)
        except VanishedFileError:
            return VanishedFile(path=ledger_path(path))
        except ChangingFileError:
            return BusyFile(path=path)
        except (ReadError, ParseError, MemoryError) as error:
            return _trouble(path, stamp, error)

    def _examine(
        self, path: str, found: os.stat_result, stamp: FileStamp, now: datetime, known: LedgerEntry | None
    ) -> Examined:
        if ledger_path(path) != path:
            raise ParseError("the file name is not UTF-8; rename it")
        if stat.S_ISLNK(found.st_mode):
            return SkippedFile(path=path, stamp=stamp, digest=None, skipped=Skipped(SkipReason.SYMBOLIC_LINK))
        reason = companion(path)
        if reason is not None:
            return SkippedFile(path=path, stamp=stamp, digest=None, skipped=Skipped(reason))
        content = read_file(path, found, limits=self.limits, roots=self._roots)
        digest = xxhash.xxh3_128_hexdigest(content)
        if known is not None and self._is_settled(known, stamp, digest, now):
            return UnchangedFile(path=path, stamp=stamp)
        session = read_session(content, path, zone=self._zone, limits=self.limits)
        if isinstance(session, Skipped):
            return SkippedFile(path=path, stamp=stamp, digest=digest, skipped=session)
        graded = known if known is not None and known.state is FileState.GRADED else None
        waited = graded is not None and graded.digest == digest and _is_past(graded.look_again_at, now)
        return self._grade(session, stamp, digest, now, waited=waited)

    def _is_settled(self, known: LedgerEntry, stamp: FileStamp, digest: str, now: datetime) -> bool:
        """Would grading it again give what is recorded already?"""
        if known.digest != digest or _is_past(known.look_again_at, now):
            return False
        if known.state is FileState.GRADED:
            latest = now + self._idle + _CLOCKS_DIFFER
            noted_in_future = known.look_again_at is not None and known.look_again_at > latest
            return known.rules_version == self.rules_version and not noted_in_future
        is_newer_copy = known.reason == SkipReason.COPY and known.stamp.mtime_ns != stamp.mtime_ns
        return known.state is FileState.SKIPPED and not is_newer_copy

    def _grade(self, session: Session, stamp: FileStamp, digest: str, now: datetime, *, waited: bool) -> GradedFile:
        """Analyse and grade. `waited`: the same content was seen before, and its time to go on is over."""
        session = self._analyzer.without_secrets(session)
        written = written_at(stamp)
        idle_at = (now if written > now + _CLOCKS_DIFFER else written) + self._idle
        analysis = self._analyzer.analyze(session, idle=waited or now >= idle_at)
        grade = self._grader.grade(session, analysis, now=now, written_at=written)
        identity = Identity(
            session_id=session.session_id,
            file=session.file,
            written_ns=stamp.mtime_ns,
            state=analysis.state,
            messages=len(session.messages),
            started_at=session.started_at,
            updated_at=max(filter(None, (session.started_at, grade.ended_at)), default=None),
            lineage=session.lineage,
            opening=session.opening,
            conversation=session.conversation,
            compacted=session.compacted,
            named_after_id=session.named_after_id,
        )
        return GradedFile(
            path=session.file,
            stamp=stamp,
            digest=digest,
            grade=grade,
            signs=analysis.signs,
            identity=identity,
            look_again_at=idle_at if analysis.state is _OPEN else None,
        )


def _trouble(path: str, stamp: FileStamp, error: ReadError | ParseError | MemoryError) -> TroubledFile:
    """Can trying again help? What cannot be read may be readable some day, what is half written soon."""
    may_not_be_read = isinstance(error, ReadError)
    return TroubledFile(
        path=ledger_path(path),
        stamp=stamp,
        error=_NO_MEMORY if isinstance(error, MemoryError) else str(error),
        hope=may_not_be_read or isinstance(error, UnfinishedFileError),
        always=may_not_be_read,
    )


def _is_past(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and moment <= now
