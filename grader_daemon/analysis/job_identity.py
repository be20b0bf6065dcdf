"""Scheduled jobs: what tells the runs of one schedule from those of others, and its name for people."""

from __future__ import annotations

import re
from typing import Final

import xxhash

from grader_daemon.analysis.user_messages import one_line
from grader_daemon.domain.analysis import Job
from grader_daemon.domain.rules import PeopleRules
from grader_daemon.domain.session import USER, Session, SessionKind
from grader_daemon.redaction import Redactor, public_id

_LONGEST_KEY: Final = 60
_NAME_CHARACTERS: Final = 80
_MOST_PREAMBLES: Final = 5
_TOLD_CHARACTERS: Final = 400
"""So much of what a job is told says which job it is: what stands behind may be results, other ones each time."""

_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W\d_]+")
_OF_DATES: Final = frozenset(
    {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "today", "yesterday"}
    | {"mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept"}
    | {"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november"}
    | {"december", "oct", "nov", "dec"}
)
"""Words of dates, which other runs have others of."""


def job_of(session: Session, rules: PeopleRules, redactor: Redactor) -> Job | None:
    """Return the job that a session is a run of; None where no schedule began it, or nothing says which one.

    The agent's own id of the schedule says so; without one the words of the request do, but for numbers and dates.
    """
    if session.kind is not SessionKind.CRON:
        return None
    told = next((message.text for message in session.messages if message.role == USER), "")
    task = _without_preamble(told.strip(), rules)
    key = _words_key(task) if session.schedule is None else _schedule_key(session.schedule)
    return None if key is None else Job(key, one_line(task, _NAME_CHARACTERS, redactor) or key)


def _without_preamble(told: str, rules: PeopleRules) -> str:
    """Leave out paragraphs of the agent's own in front: each stands in brackets and begins as its messages do."""
    for _ in range(_MOST_PREAMBLES):
        if not told.startswith(("[IMPORTANT:", *rules.injected_prefixes)):
            break
        first, _, rest = told.partition("\n\n")
        if not first.rstrip().endswith("]") or not rest.strip():
            return told
        told = rest.lstrip()
    return told


def _schedule_key(schedule: str) -> str:
    shown = public_id(schedule)
    return shown if len(shown) <= _LONGEST_KEY else _digest(schedule)


def _words_key(task: str) -> str | None:
    told = [word for word in task[:_TOLD_CHARACTERS].lower().split() if not _DIGIT.search(word)]
    words = _WORD.findall(" ".join(told))
    kept = [word for word in words if word not in _OF_DATES]
    return _digest(" ".join(kept)) if kept else None


def _digest(text: str) -> str:
    return xxhash.xxh3_64_hexdigest(text.encode("utf-8", "replace"))[:12]
