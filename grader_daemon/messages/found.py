"""Search over messages for people: where words stand, with a line around them and how the session ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from itertools import islice
from typing import Final

from grader_daemon.api.context import GraderPart
from grader_daemon.api.excerpts import one_line
from grader_daemon.domain.claims import AGAINST
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.message_search import FoundMessages, MessageHit
from grader_daemon.domain.session import Session
from grader_daemon.errors import InputError
from grader_daemon.messages.store import MessageIndex, Place, count_since, index_file
from grader_daemon.messages.texts import text_of
from grader_daemon.redaction import MARGIN, Redactor
from grader_daemon.storage.records import StoredGrade

_OF_A_SESSION: Final = 3
_AT_ONCE: Final = 200
_MOST_READ: Final = 20_000
"""So many messages are looked at for those that are meant: who asks for what is rare gets what was found by then."""
_BEFORE, _AROUND = 60, 200
_OFF: Final = "message search is off; to turn it on: grader-daemon search"


def _every(_: Grade) -> bool:
    return True


class Messages(GraderPart):
    """Words of messages of one database; see `api.parts.MessageSearch`."""

    @property
    def is_on(self) -> bool:
        """True if messages can be searched."""
        return self._context.settings.message_search_days > 0

    @property
    def has_index(self) -> bool:
        """True if there is an index, whatever the settings say."""
        return index_file(self._context.settings.db_path).exists()

    def find(self, words: str, *, limit: int = 20, keep: Callable[[Grade], bool] = _every) -> FoundMessages:
        """Return messages with all of some words, those of the newest sessions first; see `api.parts.MessageSearch`."""
        if not self.is_on:
            raise InputError(_OFF)
        with closing(MessageIndex(self._context.settings.db_path)) as index:
            wanted = index.words(words)
            if not wanted:
                raise InputError(f"{words[:40]!r} has no word to search for")
            meant = list(islice(self._meant(index.find(words), keep), limit + 1))
            hits = tuple(self._hit(stored, place, wanted) for stored, place in meant[:limit])
            searched = index.sessions()
            waiting = max(0, self._wanted() - searched)
            return FoundMessages(hits=hits, sessions=searched, waiting=waiting, is_more=len(meant) > limit)

    def _wanted(self) -> int:
        """Return how many sessions the index has once all are in it."""
        days = timedelta(days=self._context.settings.message_search_days)
        return count_since(self._context.store, self._context.now() - days)

    def _meant(self, places: Iterator[Place], keep: Callable[[Grade], bool]) -> Iterator[tuple[StoredGrade, Place]]:
        """Yield the places in sessions that are meant and still graded, at most three of each."""
        told: dict[str, int] = {}
        places = islice(places, _MOST_READ)
        while part := list(islice(places, _AT_ONCE)):
            known = self._context.store.grades.stored(list({place.session_id for place in part}))
            for place in part:
                stored, number = known.get(place.session_id), told.get(place.session_id, 0)
                if stored is not None and number < _OF_A_SESSION and keep(stored.grade):
                    told[place.session_id] = number + 1
                    yield stored, place

    def _hit(self, stored: StoredGrade, place: Place, words: Sequence[str]) -> MessageHit:
        grade = stored.grade
        session = self._context.session_of(stored)[0]
        is_there = session is not None and place.message < len(session.messages)
        return MessageHit(
            session_id=grade.session_id,
            index=place.message,
            role=session.messages[place.message].role if session is not None and is_there else None,
            excerpt=_around(session, place.message, words, self._context.redactor) if session and is_there else None,
            ended_at=grade.ended_at or grade.graded_at,
            outcome=grade.outcome,
            errors=grade.total_errors,
            contradicted=sum(claim.support in AGAINST for claim in grade.claims),
            cost_usd=grade.cost_usd,
            task_summary=grade.task_summary,
            model=grade.model,
            agent=grade.agent,
            project=grade.project,
        )


def _around(session: Session, index: int, words: Sequence[str], redactor: Redactor) -> str:
    """Return a line around the first of some words, without secrets."""
    one_of_them = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
    text = text_of(session.messages[index])
    at = _place_of(one_of_them, text)
    begin = max(0, at - _BEFORE - MARGIN)
    line = one_line(text[begin : at + _AROUND + MARGIN], redactor)
    hidden = MARGIN if begin else 0  # a secret that was cut may begin so
    start = max(hidden, _place_of(one_of_them, line, hidden) - _BEFORE)
    return f"{'…' if start else ''}{line[start : start + _AROUND]}{'…' if start + _AROUND < len(line) else ''}"


def _place_of(pattern: re.Pattern[str], text: str, begin: int = 0) -> int:
    """Return where a pattern first stands in a text from a place on; that place where it does not."""
    found = pattern.search(text, begin)
    return begin if found is None else found.start()
