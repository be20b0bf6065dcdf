"""Checks of grades by a scorer outside: a few sessions a day, drawn at random, one call at a time.

A random sample says how far the grades are off on the whole; sessions chosen for a reason would not. Each call is noted
before it is made, so no restart makes the day's budget larger, and no transaction is open during one. An answer changes
no grade: it asks people to look.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

import tenacity

from grader_daemon.domain.calendar import day_of, end_of, start_of
from grader_daemon.domain.quality import LEAST, MOST, CheckOutcome, QualityCheck, QualityScorer, name_of
from grader_daemon.domain.session import Session
from grader_daemon.errors import ParseError, ReadError, ScorerBusyError, ScorerError, ScorerUnavailableError
from grader_daemon.log import logger
from grader_daemon.pipeline.rereading import read_again
from grader_daemon.sources.protocol import Sources
from grader_daemon.storage.records import StoredGrade
from grader_daemon.storage.sqlite.store import SqliteStore

_TRIES: Final = 3
_LOOKED_AT: Final = 20
_RECENT: Final = timedelta(days=28)
LARGEST_BYTES: Final = 16_777_216
"""Larger sessions are not judged: a second one in memory beside the one that is graded must not be the last straw."""


class ReadableGrade(NamedTuple):
    """A grade whose session file is as it was when it was graded."""

    stored: StoredGrade
    session: Session
    digest: str


class QualityJob:
    """Asks the scorer that is set, as often a day as is set."""

    name = "quality_check"

    def __init__(self, store: SqliteStore, checker: Checker, *, calls_per_day: int, zone: tzinfo | None) -> None:
        self._store = store
        self._checker = checker
        self._calls_per_day = calls_per_day
        self._zone = zone

    def run(self, now: datetime) -> bool:
        """Check one session, if calls are left today; gives whether there was one.

        Raises:
            ScorerUnavailableError: the scorer cannot be asked now.
        """
        left = self._left(now)
        drawn = self._checker.draw(now, count=1) if left > 0 else []
        for one in drawn:
            self._checker.check(one, tries=min(_TRIES, left), budgeted=True)
        return bool(drawn)

    def _left(self, now: datetime) -> int:
        """Return the number of calls left on the day of `now`, where the person lives."""
        day = day_of(now, self._zone)
        return self._calls_per_day - self._store.quality.calls(start_of(day, self._zone), end_of(day, self._zone))


class Checker:
    """Draws sessions, has a scorer judge them, and keeps what it says."""

    def __init__(
        self,
        store: SqliteStore,
        scorer: QualityScorer,
        *,
        discrepancy: float,
        sources: Sources,
        settled_after: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        """Draw sessions that ended `settled_after` ago or earlier; from `discrepancy` on, people are asked to look.

        `sources` give no session that is larger than `LARGEST_BYTES`.
        """
        self._store = store
        self._scorer = scorer
        self._name = name_of(scorer)
        self._discrepancy = discrepancy
        self._sources = sources
        self._settled_after = settled_after
        self._clock = clock
        self._log = logger()

    def draw(self, now: datetime, *, count: int) -> list[ReadableGrade]:
        """Draw up to `count` finished sessions of the last four weeks of which this scorer has said nothing yet.

        Those whose files are gone, are too large or went on since are passed over.
        """
        drawn = self._store.quality.sample(
            self._name, since=now - _RECENT, until=now - self._settled_after, limit=count + _LOOKED_AT
        )
        grades = self._store.grades.stored(list(drawn))
        readable = (
            self._read(grades[session_id], digest) for session_id, digest in drawn.items() if session_id in grades
        )
        return list(islice((one for one in readable if one is not None), count))

    def judge(self, now: datetime, *, count: int, budgeted: bool) -> list[QualityCheck]:
        """Check so many sessions, as they are drawn; see `draw` and `check`."""
        return [self.check(one, budgeted=budgeted) for one in self.draw(now, count=count)]

    def check(self, judged: ReadableGrade, *, tries: int = _TRIES, budgeted: bool = False) -> QualityCheck:
        """Ask the scorer about one session; one that has too much to do is asked up to `tries` times, each call noted.

        Raises:
            ScorerUnavailableError: it cannot be asked now.
        """
        patiently = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(ScorerBusyError),
            stop=tenacity.stop_after_attempt(tries),
            wait=tenacity.wait_random_exponential(0.5, max=4),
            reraise=True,
        )
        return patiently(partial(self._check_once, judged, budgeted=budgeted))

    def _read(self, stored: StoredGrade, digest: str | None) -> ReadableGrade | None:
        try:
            reread = read_again(stored.grade, self._sources)
        except (ReadError, ParseError):
            return None
        return ReadableGrade(stored, reread.session, reread.digest) if reread.digest == digest else None

    def _check_once(self, judged: ReadableGrade, *, budgeted: bool) -> QualityCheck:
        grade = judged.stored.grade
        ours = grade.response_quality if grade.automatic_quality is None else grade.automatic_quality
        quality = self._store.quality
        with self._store.transaction():
            number = quality.begin(
                grade.session_id,
                scorer=self._name,
                digest=judged.digest,
                ours=ours,
                now=self._clock(),
                budgeted=budgeted,
            )
        try:
            answer = _sensible(self._scorer.validate(judged.session, grade), self._name)
        except ScorerError as error:
            return self._note_failure(number, error)
        with self._store.transaction():
            quality.answered(number, answer)
        return self._tell(quality.check(number))

    def _note_failure(self, number: int, error: ScorerError) -> QualityCheck:
        """Keep why there is no answer; what is about the scorer and not about the session goes on up."""
        is_down = isinstance(error, ScorerUnavailableError)
        with self._store.transaction():
            outcome = CheckOutcome.UNAVAILABLE if is_down else CheckOutcome.NO_ANSWER
            self._store.quality.failed(number, str(error), outcome)
        if is_down:
            raise error
        check = self._store.quality.check(number)
        self._log.warning("quality.unanswered", session_id=check.session_id, scorer=check.scorer, error=check.error)
        return check

    def _tell(self, check: QualityCheck) -> QualityCheck:
        facts = {
            "session_id": check.session_id,
            "scorer": check.scorer,
            "quality": check.quality,
            "ours": check.ours,
            "discrepancy": check.discrepancy,
        }
        if (check.discrepancy or 0.0) >= self._discrepancy:
            self._log.info("quality.disagreed", level="notice", **facts)
        else:
            self._log.info("quality.checked", **facts)
        return check


def _sensible(answer: object, scorer: str) -> float:
    """Return an answer as it is.

    Raises:
        ScorerError: it is no number from 1 to 5.
    """
    if isinstance(answer, bool) or not isinstance(answer, (int, float)) or not LEAST <= answer <= MOST:
        raise ScorerError(f"{scorer}: its answer is not a number from 1 to 5")
    return float(answer)
