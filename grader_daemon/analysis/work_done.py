"""Request and work of a session, in the few redacted words that another session is told of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from grader_daemon.analysis.claims import CallRecord, Note, last_passed
from grader_daemon.analysis.claims.evidence import written_paths
from grader_daemon.analysis.user_messages import one_line
from grader_daemon.domain.analysis import WorkDone
from grader_daemon.domain.phrases import words_of
from grader_daemon.redaction import Redactor

_MOST_BYTES: Final = 4_000
_LONGEST: Final = 200
_MOST_PATHS: Final = 8
_LONGEST_PATH: Final = 120


def work_done(record: CallRecord, *, shown: str | None, answer: str, redactor: Redactor) -> WorkDone:
    """Gather the words of the first request, and how the work ended: answer, last passing check, edited files.

    `shown` is that request without secrets.
    """
    check = last_passed(record.runs)
    return WorkDone(
        request_words=None if shown is None else _words(shown),
        answer_beginning=one_line(answer, _LONGEST, redactor) if answer else None,
        last_check=None if check is None else one_line(check, _LONGEST, redactor),
        edited_paths="\n".join(islice(_edited(record.notes, redactor), _MOST_PATHS)) or None,
    )


def _words(text: str) -> str:
    """Return the different words of a text in its order, as many as there is room for."""
    words = " ".join((*dict.fromkeys(words_of(text.lower())), ""))
    return words.encode("utf-8", "replace")[:_MOST_BYTES].rpartition(b" ")[0].decode("utf-8")


def _edited(notes: Sequence[Note], redactor: Redactor) -> Iterator[str]:
    """Yield the files that were written, each once, the last one first."""
    seen = set()
    for path in written_paths(notes):
        if path not in seen:
            seen.add(path)
            yield one_line(path, _LONGEST_PATH, redactor)
