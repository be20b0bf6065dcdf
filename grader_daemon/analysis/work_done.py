"""Request and work of a session, in the few redacted words that another session is told of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from grader_daemon.analysis.claims import Note, TestsResult, ToolRun, is_test_run, passed
from grader_daemon.analysis.tool_calls import Purpose
from grader_daemon.analysis.user_messages import one_line
from grader_daemon.domain.analysis import CallStatus, WorkDone
from grader_daemon.domain.session import Session
from grader_daemon.redaction import Redactor

LONGEST_REQUEST: Final = 8_000
"""Characters of a request that words are taken from: it is redacted, and a prompt may hold a whole file."""
_MOST_BYTES: Final = 4_000
_LONGEST: Final = 200
_MOST_PATHS: Final = 8
_LONGEST_PATH: Final = 120
_MOST_RUNS: Final = 200
"""Number of last calls that are looked through for a check that passed."""
_WORD: Final = re.compile(r"\w+")


def work_done(
    session: Session, notes: Sequence[Note], *, request: str | None, answer: str, redactor: Redactor
) -> WorkDone:
    """Gather the words of the first request, and how the work ended: answer, last passing check, edited files."""
    return WorkDone(
        request_words=None if request is None else _words(redactor.redact_beginning(request, LONGEST_REQUEST)),
        answer_beginning=one_line(answer, _LONGEST, redactor) if answer else None,
        last_check=_last_check(session, notes, redactor),
        edited_paths="\n".join(islice(_edited(notes, redactor), _MOST_PATHS)) or None,
    )


def _words(text: str) -> str:
    """Return the different words of a text in its order, as many as there is room for."""
    kept, room = [], _MOST_BYTES
    for word in dict.fromkeys(_WORD.findall(text.lower())):
        room -= len(word.encode("utf-8", "replace")) + 1
        if room < 0:
            break
        kept.append(word)
    return " ".join(kept)


def _last_check(session: Session, notes: Sequence[Note], redactor: Redactor) -> str | None:
    """Return the command of the last test run that passed; None without any."""
    for note in islice(reversed(notes), _MOST_RUNS):
        run = ToolRun(note, session.messages[note[0]], is_reported=False)
        if run.command and is_test_run(run) and passed(run) is TestsResult.PASSED:
            return one_line(run.command, _LONGEST, redactor)
    return None


def _edited(notes: Sequence[Note], redactor: Redactor) -> Iterator[str]:
    """Yield the files that were written, each once, the last one first."""
    seen = set()
    for _, call, status in reversed(notes):
        if status is CallStatus.SUCCESS and call.effect is Purpose.WRITE:
            for path in call.paths:
                if path not in seen:
                    seen.add(path)
                    yield one_line(path, _LONGEST_PATH, redactor)
