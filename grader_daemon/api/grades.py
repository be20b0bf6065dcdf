"""Questions about grades; loads nothing that only grading needs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from grader_daemon import bootstrap
from grader_daemon.api.arguments import check_count, check_days
from grader_daemon.api.change_watch import mark_of
from grader_daemon.api.context import GraderContext
from grader_daemon.api.session_filter import NAMED
from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.calendar import beginning, last_days, start_of
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.quality import QualityCheck
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.routing import MOST_SESSIONS, WINDOW_DAYS
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.text import alike
from grader_daemon.domain.verdict import GradeVersion, Outcome
from grader_daemon.errors import GraderError, InputError, NotFoundError, VanishedFileError
from grader_daemon.storage.records import Change, GradeFilter, Page, SortKey, StoredGrade

if TYPE_CHECKING:
    from grader_daemon.api.explanation import Explanation, FeatureEffect
    from grader_daemon.api.outline import Outline
    from grader_daemon.api.said_and_happened import SaidAndHappened
    from grader_daemon.api.transcript import Transcript
    from grader_daemon.domain.early import EarlyErrors
    from grader_daemon.domain.grade import Grade
    from grader_daemon.domain.session import Session
    from grader_daemon.domain.similar import Similar

_PAGE = 500
_COMPARED = 200
"""So many of the newest sessions tell how far a value stands out."""

_TOLD_NAMES = 10
_MOST_CHILDREN = 1000
_SHORT = 8
_MOST_ALIKE = 500
"""So many of the newest sessions of a request are looked at: 10 ms."""

__all__ = ["Child", "GradeFilter", "Grades", "Page", "SortKey", "StoredGrade"]


class Child(msgspec.Struct, frozen=True, kw_only=True):
    """A session that another one started, or that continues it. `cost_usd` is None if unknown."""

    session_id: str
    kind: SessionKind
    state: SessionState
    outcome: Outcome
    cost_usd: float | None


class Grades:
    """The grades that are stored: lists of them, one of them, and what explains it."""

    def __init__(self, context: GraderContext) -> None:
        self._context = context
        self._outlined: tuple[Session | None, StoredGrade, Outline] | None = None
        """What was outlined last: every page of a session asks for the same. Threads replace it as a whole."""

    def changes(self, *, after: int = 0, limit: int = 1000) -> list[Change]:
        """Return changes after the change number `after`: grades, labels, withdrawn grades, alerts.

        Whoever follows keeps the `seq` of the last one read, and asks again from there; from 0 after `backup restore`
        or a repair, because the numbers of a restored database go on from those of the backup.

        Raises:
            InputError: `after` is below 0, or `limit` below 1.
        """
        return self._context.store.changes.after(check_count("after", after, least=0), check_count("limit", limit))

    def change_mark(self) -> str:
        """Return the current mark of `ChangeWatch` for the grades."""
        return mark_of(self._context.store)

    def select(
        self,
        *,
        days: float | None = None,
        since: datetime | None = None,
        state: str | None = None,
        task_type: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        project: str | None = None,
        kind: SessionKind | None = None,
        completed: bool | None = None,
        limit: int | None = None,
    ) -> list[StoredGrade]:
        """Return grades, the latest ending first; of the last `days` days, or of sessions that ended since `since`.

        `state` is complete, interrupted or open. At most `limit`, without one all.

        Raises:
            InputError: `days` or `limit` is no number above 0, or no session has this state, task type, agent or
                model; the text names those that there are.
        """
        if state is not None and state not in list(SessionState):
            raise InputError(f"unknown state {state!r}; known: {', '.join(SessionState)}")
        which = GradeFilter(
            since=self.begin_of(days) if days is not None else since,
            state=state,
            task_type=task_type,
            agent=agent,
            model=model,
            project=project,
            kind=kind,
            completed=completed,
            limit=None if limit is None else check_count("limit", limit),
        )
        return self.page(which).grades

    def page(self, which: GradeFilter) -> Page:
        """Return the grades that match a filter, up to its limit, and the position of the next page.

        Raises:
            InputError: its text has no word to search for.
            NotFoundError: a name in it is one that no session has.
        """
        page = self._context.store.grades.page(which)
        if not page.grades and which.before is None:
            self._check_names(which)
        return page

    def most_expensive(self, *, days: float, which: GradeFilter | None = None, limit: int = 20) -> list[StoredGrade]:
        """Return the most expensive sessions that ended in the last `days` days, including open ones.

        Of all, or of those that a filter asks for.
        """
        most = check_count("limit", limit)
        which = replace(which or GradeFilter(), since=self.begin_of(days), sort=SortKey.COST, limit=most)
        return [stored for stored in self.page(which).grades if stored.grade.cost_usd is not None]

    def every(self, which: GradeFilter) -> Iterator[StoredGrade]:
        """Yield every grade that matches a filter, read in pages.

        Raises:
            InputError: see `page`.
        """
        place = which.before
        while True:
            page = self.page(msgspec.structs.replace(which, before=place, limit=_PAGE))
            yield from page.grades
            place = page.next
            if place is None:
                return

    def find(self, prefix: str) -> StoredGrade:
        """Return the grade of the one session whose id begins with `prefix`.

        Raises:
            InputError: none or several do.
        """
        try:
            return self._context.store.grades.find(prefix)
        except NotFoundError as error:
            if self._context.fleet_view() is None:
                raise
            raise NotFoundError(
                f"{error}; this copy of the fleet has only sessions of the last days (fleet_copy_days), and"
                " grader-daemon fleet pull reads those that it still lacks"
            ) from error

    def short_id(self, session_id: str) -> str:
        """Return the shortest unique beginning of an id, of 8 or more characters."""
        beside = self._context.store.grades.beside(session_id)
        return session_id[: max(_SHORT, *(alike(session_id, other) + 1 for other in beside))]

    def children(self, session_id: str) -> list[Child]:
        """Return the sessions that a session started, such as sub-agents, or that continue it: at most 1,000."""
        found = (stored.grade for stored in self._context.store.grades.children(session_id, _MOST_CHILDREN))
        return [
            Child(
                session_id=grade.session_id,
                kind=grade.kind or SessionKind.MAIN,
                state=grade.state,
                outcome=grade.outcome,
                cost_usd=grade.cost_usd,
            )
            for grade in found
        ]

    def similar(self, asked: str, *, limit: int = 10) -> Similar:
        """Return the results of the same request in other sessions.

        Args:
            asked: the beginning of the id of a session, or a request of several words.
            limit: so many of these sessions are named, the newest.

        Raises:
            InputError: no session id, or several, begin with it; or the request says too little to be known again.
        """
        check_count("limit", limit)
        if len(asked.split()) == 1:
            grade = self.find(asked).grade
            if grade.request is None and grade.wording is None:
                fewest = self._context.rules.people.shortest_request_characters
                is_short = grade.task_summary is not None and len(grade.task_summary) < fewest
                why = (
                    f"its request is too short to find similar tasks: it needs {fewest} characters"
                    if is_short
                    else "its request is unknown; if an earlier version graded it, run grader-daemon grade --again"
                )
                raise InputError(f"session {grade.session_id}: {why}")
            return self._similar(grade.session_id, grade.request, grade.wording, limit)
        from grader_daemon.analysis.user_messages import digest_of, wording_of_request  # for a text alone

        rules = self._context.rules.people
        request, wording = digest_of(asked, rules), wording_of_request(asked, rules)
        if wording is None:
            fewest = rules.shortest_request_characters
            raise InputError(f"{asked!r} is too short to find similar tasks; give {fewest} characters or more")
        return self._similar(None, request, wording, limit)

    def similar_to(self, grade: Grade, *, limit: int = 10) -> Similar:
        """Return `similar` for the request of this grade; empty if its request is unknown."""
        return self._similar(grade.session_id, grade.request, grade.wording, limit)

    def early(self, grade: Grade) -> EarlyErrors | None:
        """Return the errors in a session's first ten tool calls, and the results of tasks with a similar start.

        None where it made fewer; of one that goes on also where errors are not known to tell, see `CalibrationState`.
        """
        from grader_daemon.calibration.early_errors import early_errors, early_worth

        if grade.early_errors is None:
            return None
        since = self._context.now() - timedelta(days=WINDOW_DAYS)
        counts = self._context.store.grades.early_counts(since=since, limit=MOST_SESSIONS)
        if grade.state is SessionState.OPEN and early_worth(counts).reason is not None:
            return None
        return early_errors(grade.early_errors, counts)

    def _similar(self, session_id: str | None, request: int | None, wording: bytes | None, limit: int) -> Similar:
        from grader_daemon.patterns.recurrence import similar  # who asks something else need not wait for it

        found = self._context.store.grades.asked_alike(request, wording, limit=_MOST_ALIKE)
        return similar(found, session_id=session_id, request=request, wording=wording, most=_MOST_ALIKE, listed=limit)

    def names(self, dimension: Dimension) -> list[str]:
        """Return the models (or tools, task types, …) of finished sessions, the most frequent first; users by name."""
        if dimension is Dimension.USER:
            return sorted({host.user for host in self._context.store.fleet.hosts() if host.user is not None})
        return self._context.store.rollups.names(dimension)

    def begin_of(self, span: float | timedelta | datetime) -> datetime:
        """Return the start of a span (days including today, or time up to now) or a moment, in UTC.

        Days begin at midnight where the person lives (setting `timezone`), and a moment without a zone is meant there.

        Raises:
            InputError: it is no number of days.
        """
        zone = self._context.settings.zone
        if isinstance(span, timedelta | datetime):
            return beginning(span, self._context.now(), zone)
        return start_of(last_days(math.ceil(check_days(span)), self._context.today).first, zone)

    def trust(self) -> Trust:
        """Return how far the automatic verdicts of today can be trusted."""
        return bootstrap.read_trust(self._context.settings, self._context.store if self._context.has_database else None)

    def quality_check(self, session_id: str) -> QualityCheck | None:
        """Return an external scorer's last answer on a session; None if none was called."""
        return self._context.store.quality.of_session(session_id)

    def is_gone(self, grade: Grade) -> bool:
        """Return whether a session no longer exists where it was graded; False if that is unknown."""
        if grade.host is not None:
            return False
        try:
            self._context.source_of(grade.unit).look(grade.unit)
        except GraderError as error:
            return isinstance(error, VanishedFileError)
        return False

    def explain(self, prefix: str) -> Explanation:
        """Return the reasons of a grade with the messages that prove them, read from the session file.

        Raises:
            InputError: no session id, or several, begin with `prefix`.
        """
        from grader_daemon.api.explanation import explanation

        stored = self.find(prefix)
        session, note = self._context.session_of(stored)
        return explanation(
            stored, session, note=note, redactor=self._context.redactor, effects=self.effects(stored.grade)
        )

    def effects(self, grade: Grade) -> tuple[FeatureEffect, ...]:
        """Return the features that changed a grade's probability most; empty if its model is no longer known."""
        from grader_daemon.api.calibration import Calibrations
        from grader_daemon.api.explanation import effects_of

        model = Calibrations(self._context).model(GradeVersion.read(grade.rules_version).model)
        return () if model is None else effects_of(grade, model, self._context.store.calibrations.history(_COMPARED))

    def transcript(
        self,
        prefix: str,
        *,
        around: int | None = None,
        reach: int = 3,
        first: int = 0,
        count: int | None = None,
        only: Sequence[int] | None = None,
        longest: int | None = None,
    ) -> Transcript:
        """Return a session as redacted text, with its grade's findings beside each message.

        Args:
            prefix: the beginning of its id.
            around: only this message and at most `reach` before and after it.
            reach: how many.
            first: without `around`, the messages from this one on.
            count: how many of them at most; without it all.
            only: these messages instead, in order; those that are not there any more are left out.
            longest: texts with more characters than this are cut.

        Raises:
            InputError: no session id, or several, begin with `prefix`; or there is no message `around` or `first`.
        """
        from grader_daemon.api.transcript import messages_among, messages_around, messages_from, transcript

        stored = self.find(prefix)
        session, note = self._context.session_of(stored)
        shown = messages_from(session, first, count) if around is None else messages_around(session, around, reach)
        shown = shown if only is None else messages_among(session, only)
        return transcript(stored, session, note=note, redactor=self._context.redactor, shown=shown, longest=longest)

    def messages_with(self, prefix: str, words: str, *, limit: int) -> list[int]:
        """Return the first messages of a session in which words stand, in any case, as they are shown: redacted.

        Raises:
            InputError: no session id, or several, begin with `prefix`.
        """
        from grader_daemon.api.transcript import messages_with

        session = self._context.session_of(self.find(prefix))[0]
        return messages_with(session, words, self._context.redactor, limit=limit)

    def outline(self, prefix: str) -> Outline:
        """Return a session's course, message by message, and the agent's last answer.

        Raises:
            InputError: no session id, or several, begin with `prefix`.
        """
        from grader_daemon.api.outline import outline

        stored = self.find(prefix)
        session, _ = self._context.session_of(stored)
        kept = self._outlined
        if kept is None or kept[0] is not session or kept[1] != stored:
            kept = self._outlined = (session, stored, outline(stored, session, redactor=self._context.redactor))
        return kept[2]

    def said_and_happened(self, prefix: str) -> tuple[SaidAndHappened, ...]:
        """Return a session's claims with the evidence in its record, contradicted claims first.

        Raises:
            InputError: no session id, or several, begin with `prefix`.
        """
        from grader_daemon.api.said_and_happened import said_and_happened

        stored = self.find(prefix)
        return said_and_happened(stored.grade, self._context.session_of(stored)[0], self._context.redactor)

    def _check_names(self, which: GradeFilter) -> None:
        """Refuse a filter that nothing can meet: it names what no finished session has, probably by mistake."""
        for dimension in NAMED:
            given = getattr(which, dimension)
            known = [] if given is None else self.names(dimension)
            if known and isinstance(given, str) and given not in known:
                more = f" and {len(known) - _TOLD_NAMES} more" if len(known) > _TOLD_NAMES else ""
                words, some = dimension.replace("_", " "), ", ".join(known[:_TOLD_NAMES])
                raise NotFoundError(f"no session has the {words} {given!r}; known: {some}{more}")
