"""One unit, from where it lies to what should be recorded of it, without touching the database.

That makes it safe to do in several processes at once (`grade`) and easy to try out (`grade --dry-run`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from functools import partial

import msgspec

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.analysis import ErrorSign, SessionState
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.identity import Identity, calls_of
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.session import MOST_USD, Session, Skipped, SkipReason
from grader_daemon.domain.unit import NOWHERE, Found, Unit
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.errors import ChangingFileError, ParseError, ReadError, UnfinishedFileError, VanishedFileError
from grader_daemon.grading import Grader
from grader_daemon.prices import price
from grader_daemon.sources.protocol import Source, Sources, UnknownKinds

_OPEN = SessionState.OPEN
_CLOCKS_DIFFER = timedelta(minutes=1)
"""A file that was written to later than that from now has a time that says nothing."""

_MOST_INSIDE = 1_000
"""Most sessions in one file: to read one of them takes reading all of it."""

_NO_MEMORY = "grading it needs too much memory; raise the memory limit or lower max_file_bytes"


class _Seen(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Result for a unit that could be looked at, or was tried to."""

    found: Found

    @property
    def unit(self) -> Unit:
        """The unit."""
        return self.found.unit


class _Decoded(_Seen, frozen=True, gc=False, kw_only=True):
    """Result for a unit that could be read and was decoded; see `Read`."""

    inside: tuple[Unit, ...] = ()
    unknown: UnknownKinds | None = None


class GradedUnit(_Decoded, frozen=True, gc=False, kw_only=True, tag=True):
    """A session and its grade.

    `signs` are what its failures have in common with those of others. `look_again_at`: when its open end will have been
    idle for too long. `reward`: see `Session`.
    """

    digest: str
    grade: Grade
    signs: tuple[ErrorSign, ...]
    identity: Identity
    look_again_at: datetime | None
    reward: float | None = None


class SkippedUnit(_Decoded, frozen=True, gc=False, kw_only=True, tag=True):
    """A unit that has no grade of its own."""

    digest: str | None
    skipped: Skipped


class TroubledUnit(_Seen, frozen=True, gc=False, kw_only=True, tag=True):
    """A unit that cannot be graded now. `hope` says whether trying again can help, without end if `always`."""

    error: str
    hope: bool
    always: bool = False


class UnchangedUnit(_Seen, frozen=True, gc=False, kw_only=True, tag=True):
    """The same content as before under the same rules."""


class VanishedUnit(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag=True):
    """The unit is gone."""

    unit: Unit


class BusyUnit(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag=True):
    """The unit is being written to."""

    unit: Unit


Examined = GradedUnit | SkippedUnit | TroubledUnit | UnchangedUnit | VanishedUnit | BusyUnit


def inside_of(examined: Examined) -> tuple[Unit, ...]:
    """Return the other units in the same file, as far as only reading this one could show them."""
    return examined.inside if isinstance(examined, GradedUnit | SkippedUnit) else ()


class Examiner:
    """Reads, analyses and grades single units under one set of rules and one policy."""

    def __init__(
        self,
        rules: Rules,
        policy: CompletionPolicy,
        sources: Sources,
        *,
        zone: tzinfo | None,
        idle: timedelta,
        limits: Limits,
    ) -> None:
        """Set up. `zone` is where the person lives; a session without an end that is `idle` for so long is cut short.

        Of `limits`, the sources look to those of the content; the others are for whoever waits for the examiner.
        """
        self.rules = rules
        self.sources = sources
        self.limits = limits
        self._policy = policy
        self._zone = zone
        self._idle = idle
        self._analyzer = Analyzer(rules)
        self._grader = Grader(rules, policy, zone=zone)
        self.rules_version = self._grader.version

    def with_policy(self, policy: CompletionPolicy) -> Examiner:
        """Return an examiner with the same rules and another policy."""
        return self._made_of(policy)()

    def __reduce__(self) -> tuple[Callable[[], Examiner], tuple[()]]:
        """It goes to another process as what it is made of."""
        return self._made_of(self._policy), ()

    def _made_of(self, policy: CompletionPolicy) -> Callable[[], Examiner]:
        return partial(Examiner, self.rules, policy, self.sources, zone=self._zone, idle=self._idle, limits=self.limits)

    def redecide(self, grade: Grade) -> Grade:
        """Return the grade of a session whose file is gone, judged anew from what is kept of it."""
        return self._grader.redecide(grade)

    def examine(self, unit: Unit, *, now: datetime, known: LedgerEntry | None = None) -> Examined:
        """Look at one unit. `known` is its ledger row; the same content is not graded twice."""
        found = Found(unit.storable(), NOWHERE, 0)
        try:
            source = self.sources.of(unit)
            seen = source.look(unit)
            found = Found(found.unit, seen.stamp, seen.written_ns)
            return self._examine(source, seen, now, known)
        except VanishedFileError:
            return VanishedUnit(unit=found.unit)
        except ChangingFileError:
            return BusyUnit(unit=unit)
        except (ReadError, ParseError, MemoryError) as error:
            return _trouble(found, error)

    def _examine(self, source: Source, found: Found, now: datetime, known: LedgerEntry | None) -> Examined:
        if found.unit.storable() != found.unit:
            raise ParseError("the file name is not UTF-8; rename it")
        settled = known.digest if known is not None and self._is_settled(known, found, now) else None
        read = source.read(found, unless=settled)
        session, digest = read.session, read.digest
        if session is None:
            return UnchangedUnit(found=found)
        if len(read.inside) > _MOST_INSIDE:
            raise ParseError(f"{len(read.inside):,} sessions in one file are more than {_MOST_INSIDE:,}")
        if isinstance(session, Skipped):
            return SkippedUnit(found=found, digest=digest, skipped=session, inside=read.inside, unknown=read.unknown)
        assert digest is not None  # a session has content
        graded = known if known is not None and known.state is FileState.GRADED else None
        waited = graded is not None and graded.digest == digest and _is_past(graded.look_again_at, now)
        examined = self._grade(session, found, digest, now, waited=waited)
        return msgspec.structs.replace(examined, inside=read.inside, unknown=read.unknown)

    def _is_settled(self, known: LedgerEntry, found: Found, now: datetime) -> bool:
        """Return whether grading it again would give the recorded result, if its content has not changed."""
        if _is_past(known.look_again_at, now):
            return False
        if known.state is FileState.GRADED:
            latest = now + self._idle + _CLOCKS_DIFFER
            noted_in_future = known.look_again_at is not None and known.look_again_at > latest
            return known.rules_version == self.rules_version and not noted_in_future
        is_newer_copy = known.reason == SkipReason.COPY and known.written_ns != found.written_ns
        return known.state is FileState.SKIPPED and not is_newer_copy

    def _grade(self, session: Session, found: Found, digest: str, now: datetime, *, waited: bool) -> GradedUnit:
        """Analyse and grade. `waited`: the same content was seen before, and its time to go on is over."""
        session = self._analyzer.without_secrets(session)
        written = found.written_at
        idle_at = (now if written > now + _CLOCKS_DIFFER else written) + self._idle
        analysis = self._analyzer.analyze(session, idle=waited or now >= idle_at)
        grade = _priced(self._grader.grade(session, analysis, now=now, written_at=written), session)
        first_call, calls = calls_of(session)
        identity = Identity(
            session_id=session.session_id,
            unit=found.unit,
            written_ns=found.written_ns,
            state=analysis.state,
            messages=len(session.messages),
            started_at=session.started_at,
            updated_at=max(filter(None, (session.started_at, grade.ended_at)), default=None),
            lineage=session.lineage,
            opening=session.opening,
            conversation=session.conversation,
            compacted=session.compacted,
            named_after_id=session.named_after_id,
            kind=session.kind,
            first_call=first_call,
            calls=calls,
        )
        return GradedUnit(
            found=found,
            digest=digest,
            grade=grade,
            signs=analysis.signs,
            identity=identity,
            look_again_at=idle_at if analysis.state is _OPEN else None,
            reward=session.reward,
        )


def _priced(grade: Grade, session: Session) -> Grade:
    """Return a grade with what the session cost: as the agent wrote down itself, else by the lists of prices."""
    if grade.cost_usd is not None:
        known = 0 <= grade.cost_usd <= MOST_USD  # which a NaN is not
        return grade if known else msgspec.structs.replace(grade, cost_usd=None, cost_by=None)
    found = price(session.usage, at=grade.session_start or grade.ended_at or grade.graded_at) if session.usage else None
    return grade if found is None else msgspec.structs.replace(grade, cost_usd=found.usd, cost_by=found.by)


def _trouble(found: Found, error: ReadError | ParseError | MemoryError) -> TroubledUnit:
    """Return the trouble, and whether to try again: the unreadable may be readable some day, the half-written soon."""
    may_not_be_read = isinstance(error, ReadError)
    return TroubledUnit(
        found=found,
        error=_NO_MEMORY if isinstance(error, MemoryError) else str(error),
        hope=may_not_be_read or isinstance(error, UnfinishedFileError),
        always=may_not_be_read,
    )


def _is_past(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and moment <= now
