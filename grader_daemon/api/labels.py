"""Labels of sessions by people: they stand above every automatic verdict, and can be taken back."""

from __future__ import annotations

import getpass
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import msgspec
from msgspec.structs import replace

from grader_daemon.api.context import GraderPart
from grader_daemon.api.excerpts import one_line
from grader_daemon.domain.feedback import Feedback, FeedbackSource, Label, Said, Sampling, Standing
from grader_daemon.domain.text import storable
from grader_daemon.errors import InputError
from grader_daemon.pipeline.label_file import LabelLine, check_label, read_label_file
from grader_daemon.pipeline.save_labels import add_feedback, labels, standing_of

_AT_ONCE = 1000
_LONGEST_NAME = 100


class LabelledFile(msgspec.Struct, frozen=True, kw_only=True):
    """Result of reading a file of labels: how many were added, and how many existed already.

    `unknown` are the ids of sessions without a grade. If anything is `wrong`, nothing was added; each says "FILE, line
    N: what".
    """

    added: int
    same: int
    unknown: tuple[str, ...]
    wrong: tuple[str, ...]


class Labels(GraderPart):
    """Keeps what people say of grades, and takes it back."""

    def add(
        self,
        session_id: str,
        *,
        completed: bool | None = None,
        quality: int | None = None,
        note: str | None = None,
        source: FeedbackSource = FeedbackSource.API,
        sampled: Sampling | None = None,
    ) -> Feedback:
        """Add whether a session completed its task, and how good its answer was (1 to 5); its id may be shortened.

        `sampled` says how `Reviews.next_item` came to ask for it.

        Raises:
            InputError: no session id, or several, begin with it; or neither is said, or one is out of bounds.
        """
        wrong = check_label(completed=completed, quality=quality, note=note)
        if wrong is not None:
            raise InputError(wrong)
        with self._context.writable.transaction():
            said = Said(
                session_id=self._context.store.grades.find(session_id).grade.session_id,
                by=_user(),
                source=source,
                completed=completed,
                quality=quality,
                note=None if note is None else one_line(storable(note), self._context.redactor),
                sampled=sampled,
            )
            return self._keep([said])[0]

    def undo(self, session_id: str, *, source: FeedbackSource = FeedbackSource.API) -> Feedback:
        """Withdraw a session's latest valid label, and return it.

        Raises:
            InputError: no session id, or several, begin with it; or nothing is said of the session.
        """
        with self._context.writable.transaction():
            known = self._context.store.grades.find(session_id).grade.session_id
            fleet = self._context.fleet
            last = self.of(known).last if fleet is None else fleet.last_said(known)
            if last is None:
                raise InputError(f"session {known!r} has no label to undo")
            undone = Said(session_id=known, by=_user(), source=source, withdraws=last.id)
            self._keep([undone])
        return last

    def add_file(self, path: str | os.PathLike[str]) -> LabelledFile:
        """Add the labels of a CSV file: all of them, or none if a line is wrong; existing labels are not added again.

        Its columns are session_id (whole ids), completed or success (yes or no, true or false, 1 or 0), and perhaps
        quality (1 to 5) and note; others are passed over.

        Raises:
            InputError: it cannot be read.
        """
        read = read_label_file(Path(path))
        if read.wrong:
            return LabelledFile(added=0, same=0, unknown=(), wrong=read.wrong)
        added = same = 0
        unknown: list[str] = []
        lines = iter(read.lines)
        with self._context.writable.transaction():
            while some := list(islice(lines, _AT_ONCE)):
                new, missing = self._give_lines(some)
                added, same = added + new, same + len(some) - new - len(missing)
                unknown += missing
        return LabelledFile(added=added, same=same, unknown=tuple(unknown), wrong=())

    def standing(self) -> list[Label]:
        """Return the current labels, in the order in which they were added."""
        return labels(self._context.store)

    def of(self, session_id: str) -> Standing:
        """Return people's labels for the session with this full id."""
        return standing_of(self._context.store, [session_id]).get(session_id, Standing())

    def _keep(self, said: Sequence[Said]) -> list[Feedback]:
        """Keep what is said; of the sessions of a fleet it goes to their machines, too."""
        fleet = self._context.fleet
        if fleet is not None:
            return fleet.say(said)
        return add_feedback(self._context.store, said, now=self._context.now())

    def _give_lines(self, lines: Sequence[LabelLine]) -> tuple[int, list[str]]:
        """Keep what is new in some lines; returns how many those are, and the sessions that have no grade of ours."""
        stored = self._context.store.grades.stored([line.session_id for line in lines])
        known = {session_id: each for session_id, each in stored.items() if each.detailed}
        told = [
            line if line.note is None else replace(line, note=one_line(storable(line.note), self._context.redactor))
            for line in lines
            if line.session_id in known
        ]
        standing = standing_of(self._context.store, list(known))
        by = _user()
        new = [
            Said(
                session_id=line.session_id,
                by=by,
                source=FeedbackSource.CSV,
                completed=line.completed,
                quality=line.quality,
                note=line.note,
            )
            for line in told
            if not _stands(line, standing.get(line.session_id, Standing()), known[line.session_id].digest)
        ]
        self._keep(new)
        return len(new), [line.session_id for line in lines if line.session_id not in known]


def _stands(line: LabelLine, said: Standing, digest: str | None) -> bool:
    """Return whether all that a line says stands already, of the session as it is now."""
    completed, quality = said.completed, said.quality
    parts = [
        (line.completed, None if completed is None else (completed.completed, completed.digest)),
        (line.quality, None if quality is None else (quality.quality, quality.digest)),
        (line.note, None if said.last is None else (said.last.note, said.last.digest)),
    ]
    return all(told is None or known == (told, digest) for told, known in parts)


def _user() -> str:
    """Return the name of the person at this terminal, as the system knows them."""
    try:
        return storable(getpass.getuser())[:_LONGEST_NAME]
    except (KeyError, OSError):
        return f"user {os.getuid()}"
