"""The end of a finished session by kind: in an answer, in a question, given up, cut short, or in the middle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grader_daemon.analysis.claims import Note
from grader_daemon.analysis.features.ending import hands_in, is_handed_over
from grader_daemon.analysis.features.session_window import SessionWindow
from grader_daemon.analysis.features.turns_of_people import is_content
from grader_daemon.analysis.session_state import LastWord, SessionEnd
from grader_daemon.analysis.tool_calls import CHANGING
from grader_daemon.analysis.walk import ends_in_question
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.phrases import Phrases, uncontracted
from grader_daemon.domain.rules import EvidenceRules, PeopleRules
from grader_daemon.domain.session_result import EndingKind

_BEGINNING: Final = 400
"""Characters at the beginning of an answer in which it says that it gives up; further on that may be about a part."""

_END: Final = 400

_SUMMARY: Final = 1_500
"""Characters at the end of an answer in which it says what is not done."""


class EndingReader:
    """Reads how sessions ended, under one set of rules; safe to share among threads."""

    def __init__(self, rules: EvidenceRules, people: PeopleRules) -> None:
        self._gives_up = Phrases((phrase, None) for phrase in rules.gave_up_phrases)
        self._admits = Phrases((phrase, None) for phrase in rules.admitted_phrases)
        self._farewells = rules.farewell_questions
        self._people = people

    def read(self, end: SessionEnd, window: SessionWindow, notes: Sequence[Note], answer: str) -> EndingKind:
        """Return the kind of an end.

        Args:
            end: of the session, which is finished.
            window: what is read of its last messages.
            notes: its calls.
            answer: the last text of the agent, whole.
        """
        if end.cut_short or end.kind is EndingKind.PERSON:
            return end.kind
        if is_handed_over(window):
            return EndingKind.HANDED_OVER
        if end.kind is not EndingKind.ANSWERED:
            if window.end is LastWord.PERSON and is_content(window):
                return EndingKind.ANSWERED
            if not hands_in(window):
                return end.kind if window.turns else EndingKind.NO_ANSWER
        elif self._asks(answer) and not _changed_since(notes, window.said_at):
            return EndingKind.ASKED
        low = uncontracted(answer[:_BEGINNING].lower())
        return EndingKind.GAVE_UP if _says(self._gives_up, low) else EndingKind.ANSWERED

    def is_admitted(self, answer: str) -> bool:
        """Return whether an answer says that the task is not done, or only in part."""
        return bool(answer) and _says(self._admits, uncontracted(answer[-_SUMMARY:].lower()))

    def _asks(self, answer: str) -> bool:
        return ends_in_question(answer, self._people) and not any(
            said in answer[-_END:].lower() for said in self._farewells
        )


def _says(phrases: Phrases[None], low: str) -> bool:
    return next(phrases.occurrences(low), None) is not None


def _changed_since(notes: Sequence[Note], index: int) -> bool:
    """Return whether anything was changed behind a message."""
    for place, call, status in reversed(notes):
        if place < index:
            return False
        if status is CallStatus.SUCCESS and call.effect in CHANGING:
            return True
    return False
