"""Sessions and files in memory, and what people said of them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.counting import NAME_CHARACTERS
from grader_daemon.domain.early import EarlyCount
from grader_daemon.domain.feedback import Candidate, Feedback, FeedbackSource, JudgedSession, automatic
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.identity import Identity
from grader_daemon.domain.ledger import FileState
from grader_daemon.domain.repeats import Asked, Place, Stretch
from grader_daemon.domain.routing import FinishedSession
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.similar import AskedAlike
from grader_daemon.domain.text import storable
from grader_daemon.domain.verdict import Outcome
from grader_daemon.domain.wording import bands_of
from grader_daemon.errors import InputError, NotFoundError
from grader_daemon.storage.memory.tables import Part, Row
from grader_daemon.storage.records import (
    GradeFilter,
    NewGrade,
    Page,
    PageKey,
    SortKey,
    StoredGrade,
)

_WORD = re.compile(r"[^\W_]+")
_EQUAL = ("state", "task_type", "agent", "model", "platform", "project", "verdict_by")


class Grades(Part):
    """The grades, by the id of their session."""

    def put(self, grades: Sequence[NewGrade], *, replacing: Mapping[str, StoredGrade]) -> None:
        for new in grades:
            old = replacing.get(new.grade.session_id)
            stored = StoredGrade(
                id=self._tables.number("grades") if old is None else old.id,
                grade=new.grade,
                detailed=True,
                digest=new.digest,
                loop_told=new.loop_told or (old is not None and old.loop_told),
                watched=old is not None and old.watched,
            )
            self._tables.grades.put(new.grade.session_id, Row(stored, new.identity))

    def put_verdicts(self, grades: Sequence[Grade]) -> None:
        for grade in grades:
            row = self._tables.grades[grade.session_id]
            self._tables.grades.put(grade.session_id, row._replace(stored=replace(row.stored, grade=grade)))

    def remove(self, session_id: str) -> None:
        self._tables.grades.drop(session_id)

    def page(self, which: GradeFilter) -> Page:
        words = None if which.text is None else _words(which.text)
        if words == []:
            raise InputError(f"{which.text!r} has no word to search for")
        found = [row for row in self._tables.grades.values() if self._meets(row, which, words or [])]
        placed = sorted(((_place(row, which), row.stored) for row in found), reverse=not which.lowest_first)
        if which.before is not None:
            placed = [each for each in placed if _is_behind(each[0], which.before, upwards=which.lowest_first)]
        some = placed[: which.limit]
        return Page(
            grades=[stored for _, stored in some], next=some[-1][0] if some and len(placed) > len(some) else None
        )

    def stored(self, session_ids: Sequence[str]) -> dict[str, StoredGrade]:
        known = self._tables.grades
        return {session_id: known[session_id].stored for session_id in session_ids if session_id in known}

    def find(self, prefix: str) -> StoredGrade:
        wanted, known = storable(prefix), self._tables.grades
        found = [wanted] if wanted in known else sorted(one for one in known if one.startswith(wanted))
        if not found:
            raise NotFoundError(f"no graded session has an id that begins with {prefix!r}")
        if len(found) > 1:
            raise InputError(f"several session ids begin with {prefix!r} ({', '.join(found[:3])}, …); give more of it")
        return known[found[0]].stored

    def beside(self, session_id: str) -> tuple[str, str]:
        known = list(self._tables.grades)
        before = max((each for each in known if each < session_id), default="")
        return before, min((each for each in known if each > session_id), default="")

    def children(self, session_id: str, limit: int) -> list[StoredGrade]:
        found = [row.stored for row in self._tables.grades.values() if row.stored.grade.parent == session_id]
        return sorted(found, key=lambda stored: stored.grade.session_id)[:limit]

    def was_loop_told(self, session_id: str) -> bool:
        row = self._tables.grades.get(session_id)
        return row is not None and row.stored.loop_told

    def last_ended_at(self) -> datetime | None:
        ends = (row.stored.grade.ended_at for row in self._tables.grades.values())
        return max((end for end in ends if end is not None), default=None)

    def finished_tasks(
        self, *, since: datetime, until: datetime | None = None, limit: int, kind: SessionKind = SessionKind.MAIN
    ) -> list[FinishedSession]:
        every = self._tables.grades.values()
        rows = [row for row in every if row.ended_at >= since and (until is None or row.ended_at < until)]
        rows.sort(key=lambda row: (row.ended_at, row.stored.grade.session_id), reverse=True)
        return [task for row in rows if (task := _task(row, kind)) is not None][:limit]

    def early_counts(self, *, since: datetime, limit: int) -> list[EarlyCount]:
        rows = [row for row in self._tables.grades.values() if row.ended_at >= since]
        rows.sort(key=lambda row: (row.ended_at, row.stored.grade.session_id), reverse=True)
        counted = Counter([began for row in rows if (began := _began(row.stored.grade)) is not None][:limit])
        return [EarlyCount(*began, tasks) for began, tasks in counted.items()]

    def asked_alike(self, request: int | None, wording: bytes | None, *, limit: int) -> list[AskedAlike]:
        newest = sorted(self._tables.grades.values(), key=lambda row: (row.ended_at, row.stored.id), reverse=True)
        same = [row for row in newest if request is not None and row.stored.grade.request == request][:limit]
        bands = () if wording is None else bands_of(wording)
        newest.sort(key=lambda row: row.stored.id, reverse=True)
        near = [
            row
            for number, band in enumerate(bands)
            for row in [row for row in newest if _has_band(row.stored.grade.wording, number, band)][:limit]
        ]
        found = {row.stored.id: row for row in (*same, *near) if row.stored.grade.state is not SessionState.OPEN}
        return [_asked(row) for row in found.values()]

    def _meets(self, row: Row, which: GradeFilter, words: Sequence[str]) -> bool:
        grade = row.stored.grade
        summary = _words(grade.task_summary or "")
        return all(
            (
                which.since is None or row.listed_at >= which.since,
                which.until is None or row.listed_at < which.until,
                *(getattr(which, name) in (None, getattr(grade, name)) for name in _EQUAL),
                which.kind in (None, grade.kind or SessionKind.MAIN),
                which.host in (None, grade.host or self._tables.host),
                which.user is None,  # nobody has said whose machine it is
                which.completed in (None, grade.completed),
                which.unsure in (None, grade.outcome is Outcome.UNSURE),
                which.verdict in (None, grade.outcome),
                which.claim is None or any(claim.support is which.claim for claim in grade.claims),
                which.tool is None
                or any(use.tool[:NAME_CHARACTERS] == which.tool[:NAME_CHARACTERS] for use in grade.tools),
                which.error is None or any(error.category is which.error for error in grade.errors),
                which.issue is None or which.issue in issues_of(grade),
                all(any(told.startswith(word) for told in summary) for word in words),
            )
        )


class Rivals(Part):
    """Identities of graded sessions."""

    def standing(self, session_id: str) -> Identity | None:
        row = self._tables.grades.get(session_id)
        return None if row is None else self._identity(row)

    def related(self, new: Sequence[Identity]) -> frozenset[str]:
        files = [file.entry for file in self._tables.files.values()]
        known = {entry.session_id for entry in files if entry.state is FileState.SKIPPED} | self._tables.grades.keys()
        return frozenset(one.session_id for one in new if one.session_id in known or self.of(one))

    def of(self, new: Identity) -> list[Identity]:
        return [self._identity(row) for row in self._tables.grades.rivals(new)]

    def _identity(self, row: Row) -> Identity:
        file = self._tables.files.get(row.stored.grade.unit)
        return msgspec.structs.replace(
            row.identity,
            unit=row.stored.grade.unit,
            written_ns=0 if file is None else file.entry.written_ns,
        )


class Repeats(Part):
    """Sessions of one request."""

    def shared(self, places: Sequence[Place]) -> list[Place]:
        return [place for place in places if {asked.session_id for asked in self._of(place)} - {place.session_id}]

    def around(self, place: Place, *, reach: int) -> Stretch:
        asked = sorted(self._of(place), key=lambda one: (one.ended_at, one.session_id))
        before = [one for one in asked if (one.ended_at, one.session_id) < place[1:]]
        return Stretch.of(before[-reach:], asked[len(before) :][: reach + 1], reach=reach)

    def note(self, changes: Sequence[tuple[str, str | None]]) -> None:
        for session_id, again in changes:
            row = self._tables.grades[session_id]
            stored = replace(row.stored, grade=replace(row.stored.grade, asked_again=again))
            self._tables.grades.put(session_id, row._replace(stored=stored))

    def _of(self, place: Place) -> list[Asked]:
        return [
            Asked(grade.session_id, grade.session_start, grade.ended_at, grade.asked_again)
            for grade in (row.stored.grade for row in self._tables.grades.of_request(place.request))
            if grade.ended_at is not None
        ]


class FeedbackLog(Part):
    """What people said, by its number."""

    def add(self, given: Feedback) -> Feedback:
        given = replace(given, id=self._tables.number("feedback"))
        self._tables.feedback.put(given.id, given)
        return given

    def newest_number(self) -> int:
        return max(self._tables.feedback, default=0)

    def said(self, session_ids: Sequence[str] | None = None) -> list[Feedback]:
        said = self._tables.feedback.values()
        return [one for one in said if session_ids is None or one.session_id in session_ids]

    def said_after(self, number: int, limit: int) -> list[Feedback]:
        return [one for one in self.said() if one.id > number][:limit]

    def said_of_reviewed(self, since: datetime) -> list[Feedback]:
        said = self._tables.feedback.values()
        reviewed = {one.session_id for one in said if one.source is FeedbackSource.REVIEW and one.given_at >= since}
        return self.said(list(reviewed))

    def judged(self, session_ids: Sequence[str] | None = None) -> list[JudgedSession]:
        return [
            JudgedSession(
                session_id=bare.session_id,
                digest=row.stored.digest,
                is_persons=bare.is_persons,
                is_finished=bare.state is not SessionState.OPEN,
                ended_on=bare.ended_on,
                automatic_completed=bare.task_completed,
                automatic_quality=bare.response_quality,
                rules_completed=bare.rules_completed,
                p_completed=bare.p_completed,
                request=bare.request,
                features=tuple(bare.features),
                has_scores=bare.has_scores,
            )
            for row in self._judged()
            for bare in (automatic(row.stored.grade),)
            if session_ids is None or bare.session_id in session_ids
        ]

    def finished(self, *, since: datetime | None, limit: int) -> list[Candidate]:
        grades = [row.stored.grade for row in self._tables.grades.values()]
        ended = [
            (grade.ended_at, grade)
            for grade in grades
            if grade.state is not SessionState.OPEN
            and grade.has_scores
            and grade.is_persons
            and grade.ended_at is not None
        ]
        newest = sorted((each for each in ended if since is None or each[0] >= since), key=lambda each: each[0])[::-1]
        return [
            Candidate(
                session_id=grade.session_id,
                p_completed=grade.p_completed,
                rules_completed=grade.rules_completed,
                completed=grade.task_completed,
                request=grade.request,
            )
            for _, grade in newest[:limit]
        ]

    def judged_requests(self) -> frozenset[int]:
        requests = (row.stored.grade.request for row in self._judged())
        return frozenset(request for request in requests if request is not None)

    def _judged(self) -> Iterator[Row]:
        judged = {one.session_id for one in self._tables.feedback.values()}
        return (row for session_id, row in self._tables.grades.items() if session_id in judged)


def issues_of(grade: Grade) -> set[str]:
    """Return the fingerprints of the failures of a session that is finished and says when."""
    if grade.state is SessionState.OPEN or grade.ended_at is None:
        return set()
    return {failure.fingerprint for failure in grade.failures if failure.fingerprint}


def _has_band(wording: bytes | None, number: int, band: bytes) -> bool:
    return wording is not None and bands_of(wording)[number] == band


def _asked(row: Row) -> AskedAlike:
    grade = row.stored.grade
    return AskedAlike(
        session_id=grade.session_id,
        ended_at=row.ended_at,
        model=grade.model,
        completed=grade.completed,
        request=grade.request,
        wording=grade.wording,
        skills=grade.skills,
        outcome=grade.outcome,
    )


def _task(row: Row, kind: SessionKind) -> FinishedSession | None:
    grade = row.stored.grade
    is_kind = (grade.kind or SessionKind.MAIN) is kind
    if grade.state is SessionState.OPEN or not is_kind or grade.completed is None or grade.model is None:
        return None
    return FinishedSession(
        session_id=grade.session_id,
        ended_at=row.ended_at,
        task_type=grade.task_type,
        model=grade.model,
        completed=grade.completed,
        p_completed=grade.p_completed,
        judged=not grade.verdict_by.is_automatic,
        unsure=grade.outcome is Outcome.UNSURE,
        request=grade.request,
        cost_usd=grade.cost_usd,
        agent=grade.agent,
        platform=grade.platform,
        project=grade.project,
        agent_version=grade.agent_version,
        system_prompt_digest=grade.system_prompt_digest,
        tools_digest=grade.tools_digest,
        skills=grade.skills,
    )


def _began(grade: Grade) -> tuple[int, bool, bool] | None:
    """Return early errors, outcome, and whether it was judged; None of what is no finished task with ten calls."""
    if (
        grade.state is SessionState.OPEN
        or not grade.is_persons
        or grade.completed is None
        or grade.early_errors is None
    ):
        return None
    return grade.early_errors, grade.completed, not grade.verdict_by.is_automatic


def _place(row: Row, which: GradeFilter) -> PageKey:
    """Return what a session is sorted by: what is not known comes last."""
    grade = row.stored.grade
    last = (row.listed_at.astimezone(UTC).isoformat(), grade.session_id)
    if which.sort is SortKey.ENDED:
        return last
    value = {
        SortKey.PROBABILITY: grade.p_completed,
        SortKey.EFFICIENCY: grade.efficiency,
        SortKey.QUALITY: grade.quality,
        SortKey.ERRORS: grade.total_errors,
        SortKey.CALLS: grade.tool_calls,
        SortKey.COST: grade.cost_usd,
    }[which.sort]
    return (float("inf" if which.lowest_first else "-inf") if value is None else value, *last)


def _is_behind(place: PageKey, other: PageKey, *, upwards: bool) -> bool:
    return place > other if upwards else place < other


def _words(text: str) -> list[str]:
    """Return the words of a text, in lower case and without accents."""
    plain = (one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))
    return _WORD.findall("".join(plain).lower())
