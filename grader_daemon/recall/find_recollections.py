"""Answers of earlier sessions to an agent: by words of its task, of a failure, of a type of task.

Settings, rules and `SelfGrader` are not loaded: an agent starts this anew with each of its sessions. The database is
opened for each question: a server that waits for hours holds nothing of it, and finds what has been put in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from grader_daemon.domain.recollection import CauseWords, Likeness, PastSession
from grader_daemon.errors import NoDatabaseError
from grader_daemon.recall.store import Recall
from grader_daemon.storage.sqlite.database import Database, is_made

if TYPE_CHECKING:
    from grader_daemon.domain.past_cause import PastCause

_LEAST_SHARE = 0.5
"""Of the words of a cause: an error that has fewer of them is another one."""
_PLACEHOLDER = re.compile(r"<\w+>")
_VERSION = "0123456789."
_MOST_TOOLS = 10
_FOR_EVER = datetime.max.replace(tzinfo=UTC)


class Recollections:
    """Answers of one database, each as the database is then.

    Raises, whatever it is asked:
        NoDatabaseError: there is none.
        StoreError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def like(self, task: str, *, limit: int) -> list[Likeness]:
        """Return the finished sessions that were asked for something alike, the most alike first."""
        with self._open() as database:
            return Recall(database).like(task, limit)

    def session(self, session_id: str) -> PastSession | None:
        """Return one session by its whole id; None where it is not known."""
        with self._open() as database:
            return Recall(database).find(session_id)

    def latest(self, *, limit: int) -> list[PastSession]:
        """Return the finished sessions that ended last, the newest first."""
        with self._open() as database:
            return Recall(database).latest(limit)

    def causes(self, tool: str, *, command: str | None, error: str | None, limit: int) -> list[PastCause]:
        """Return why a tool failed, the most frequent cause first, and what surely helps.

        A `command` of a shell and an `error`, the name of a category or what the tool said, leave out what has others.
        A tool that is not known by this name is looked past if one of them is given: agents call the same by several.
        """
        with self._open() as database:
            recall = Recall(database)
            known = [cause for cause in recall.causes() if command is None or _is_of_command(cause, command)]
            named = [cause for cause in known if (cause.tool or "").casefold() == tool.casefold()]
            if not named and (command or error):
                named = known
            if error is not None:
                named = _with_error(named, error, recall)
            return list(_counted(named[:limit], database))

    def failing_tools(self) -> list[str]:
        """Name the tools that fail most, the first one most often."""
        with self._open() as database:
            names = dict.fromkeys(cause.tool for cause in Recall(database).causes() if cause.tool is not None)
            return list(names)[:_MOST_TOOLS]

    def task_score(self, task_type: str) -> tuple[float | None, int]:
        """Return the mean session score (1-5) of a task type, and of how many sessions; see `Insight.task_score`."""
        from grader_daemon.domain.calendar import ALWAYS  # here and below: who asks something else need not wait for it
        from grader_daemon.domain.rollup import Dimension
        from grader_daemon.storage.sqlite.rollups import Rollups

        with self._open() as database:
            sums = Rollups(database).group(Dimension.TASK_TYPE, task_type, ALWAYS)
            return sums.plain_score, sums.sessions

    def task_types(self) -> list[str]:
        """Name the task types that have finished sessions, those with most first."""
        from grader_daemon.domain.rollup import Dimension
        from grader_daemon.storage.sqlite.rollups import Rollups

        with self._open() as database:
            return Rollups(database).names(Dimension.TASK_TYPE)

    @contextmanager
    def _open(self) -> Iterator[Database]:
        if not is_made(self._path):
            raise NoDatabaseError(f"no database at {self._path}: nothing was graded yet")
        database = Database(self._path, read_only=True)
        try:
            yield database
        finally:
            database.close()


def _counted(causes: Iterable[CauseWords], database: Database) -> Iterator[PastCause]:
    from grader_daemon.domain.calendar import ALWAYS
    from grader_daemon.domain.past_cause import PastCause
    from grader_daemon.patterns.issues import steps_of
    from grader_daemon.reports.phrasing import sure_step
    from grader_daemon.storage.sqlite.issues import Issues

    for words in causes:
        row = Issues(database).issue(words.fingerprint, ALWAYS, until=_FOR_EVER)
        if row is not None:
            yield PastCause(
                words=words,
                failures=row.failures,
                sessions=row.sessions,
                last_seen=row.last_seen,
                tries=sum(step.tries for step in row.steps),
                recovered=sum(step.recovered for step in row.steps),
                sure_step=sure_step(steps_of(row)),
            )


def _is_of_command(cause: CauseWords, command: str) -> bool:
    """Return whether a cause is of the program and subcommand of a command: "python" for "python3.11 a.py"."""
    family = (cause.command or "").split()
    given = command.split()[: len(family)]
    if not family or not given:
        return False
    program = given[0].rpartition("/")[2]
    return [program.rstrip(_VERSION) or program, *given[1:]] == family


def _with_error(causes: Iterable[CauseWords], error: str, recall: Recall) -> list[CauseWords]:
    """Return the causes of a category, or those that an error may be of, the likeliest first."""
    from grader_daemon.domain.analysis import NO_MESSAGE  # who asks for no error need not wait for it

    known = list(causes)
    category = "_".join(error.split()).casefold()
    of_category = [cause for cause in known if category in (cause.category, cause.subcategory)]
    if of_category:
        return of_category
    said = recall.words(error)
    telling = [cause for cause in known if cause.signal != NO_MESSAGE]
    shares = [(_share(recall.words(_PLACEHOLDER.sub(" ", cause.signal)), said), cause) for cause in telling]
    return [cause for share, cause in sorted(shares, key=lambda each: -each[0]) if share >= _LEAST_SHARE]


def _share(words: frozenset[str], said: frozenset[str]) -> float:
    return len(words & said) / len(words) if words else 0.0
