"""The table of what became of sessions: one row each, with the digests of its lines and what was seen of them."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from grader_daemon.domain.estimate import proportion
from grader_daemon.domain.group_names import UNKNOWN
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.domain.work_fate import FateWorth, WorkCounts, WorkFate, WorkOutcomes
from grader_daemon.outcomes.model import SeenFate, Work, became
from grader_daemon.storage.sqlite.database import Table
from grader_daemon.storage.sqlite.rows import PERSONS_TASK, to_text
from grader_daemon.storage.sqlite.store import SqliteStore

_MOST_NEIGHBOURS: Final = 500
_WEEK: Final = 7
_FEWEST_JUDGED: Final = 5
_read_work: Final = msgspec.json.Decoder(Work).decode
_read_fate: Final = msgspec.json.Decoder(SeenFate).decode
_write: Final = msgspec.json.Encoder().encode


class Followed(NamedTuple):
    """A session that is followed: the digest of its file then, its work tree, its work and what became of it."""

    session_id: str
    digest: str | None
    repository: str | None
    work: Work
    fate: SeenFate


class OutcomesTable(Table):
    """The sessions whose work is followed."""

    def due(self, now: datetime, *, since: datetime, limit: int) -> list[str]:
        """Name finished sessions of this machine that ended since then and are to be looked at: the newest first.

        Those are the ones that were never looked at, went on since, or whose time has come.
        """
        rows = self._database.rows(
            "SELECT d.session_id FROM session_details AS d"
            " LEFT JOIN session_outcomes AS o ON o.session_id = d.session_id"
            " WHERE d.ended_at >= ?1 AND d.state <> 'open' AND d.fleet_host IS NULL"
            " AND (o.session_id IS NULL OR o.digest IS NOT d.digest OR o.due_at <= ?2)"
            " ORDER BY d.ended_at DESC LIMIT ?3",
            (to_text(since), to_text(now), limit),
        )
        return [row[0] for row in rows]

    def of_session(self, session_id: str) -> Followed | None:
        """Return what is known of a session; None where it was never looked at."""
        rows = self._database.rows(
            "SELECT session_id, digest, repository, work, fate FROM session_outcomes WHERE session_id = ?",
            (session_id,),
        )
        return None if not rows else _followed(rows[0])

    def every(self, limit: int) -> list[Followed]:
        """Return what is known of all sessions that left anything, the one that ended last first."""
        rows = self._database.rows(
            "SELECT session_id, digest, repository, work, fate FROM session_outcomes WHERE left_anything"
            " ORDER BY ended_at DESC LIMIT ?",
            (limit,),
        )
        return [_followed(row) for row in rows]

    def commits_beside(self, repository: str, session_id: str) -> frozenset[str]:
        """Return the commits that other sessions made in a repository."""
        rows = self._database.rows(
            "SELECT fate FROM session_outcomes WHERE repository = ? AND session_id <> ? LIMIT ?",
            (repository, session_id, _MOST_NEIGHBOURS),
        )
        return frozenset(each.commit for (fate,) in rows for each in _read_fate(fate).commits if each.named)

    def counts(self, since: datetime, until: datetime) -> WorkOutcomes:
        """Count tasks of people with commits that ended from `since` to before `until`, by the fate of their work."""
        rows = self._database.rows(
            f"SELECT coalesce(g.model, '{UNKNOWN}'), o.became, coalesce(o.counted_days, 0)"
            " FROM session_outcomes AS o JOIN session_details AS d ON d.session_id = o.session_id"
            " JOIN session_grades AS g ON g.session_id = o.session_id"
            f" WHERE o.left_anything AND o.ended_at >= ? AND o.ended_at < ? AND o.commits > 0 AND {PERSONS_TASK}",
            (to_text(since), to_text(until)),
        )
        found: dict[str, Counter[str]] = {"": Counter()}
        for model, became_of_it, days in rows:
            told = ["sessions", *([] if became_of_it is None else [became_of_it])]
            told += ["kept_week"] if became_of_it == WorkFate.KEPT and days >= _WEEK else []
            found[""].update(told)
            found.setdefault(model, Counter()).update(told)
        whole, *models = (WorkCounts(name=name, **counted) for name, counted in found.items())
        return WorkOutcomes(whole, tuple(sorted(models, key=lambda each: (-each.sessions, each.name))))

    def worth(self) -> tuple[FateWorth, ...]:
        """Return how often tasks of people were done after each fate, as far as people and rewards judged them."""
        rows = self._database.rows(
            "SELECT o.became, sum(g.task_completed), count(*) FROM session_outcomes AS o"
            " JOIN session_details AS d ON d.session_id = o.session_id"
            " JOIN session_grades AS g ON g.session_id = o.session_id"
            f" WHERE o.became IS NOT NULL AND o.commits > 0 AND d.verdict_by IN (?, ?) AND {PERSONS_TASK}"
            " GROUP BY o.became",
            (VerdictBy.PERSON, VerdictBy.REWARD),
        )
        judged = {fate: proportion(done, tasks, fewest=_FEWEST_JUDGED) for fate, done, tasks in rows}
        return tuple(FateWorth(fate, judged[fate]) for fate in WorkFate if fate in judged)

    def save(self, followed: Followed, *, due_at: datetime | None) -> None:
        """Keep what is known of a session; call it inside a transaction."""
        fate = followed.fate
        self._database.connection.execute(
            "INSERT OR REPLACE INTO session_outcomes"
            " (session_id, digest, repository, ended_at, left_anything, due_at, work, fate,"
            " became, commits, counted_days)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                followed.session_id,
                followed.digest,
                followed.repository,
                to_text(followed.work.ended),
                followed.repository is not None or any((fate.trouble, fate.outside, fate.own_check)),
                to_text(due_at),
                _write(followed.work).decode(),
                _write(fate).decode(),
                became(fate),
                len(fate.commits),
                fate.survival[-1].age_days if fate.survival else None,
            ),
        )

    def forget_gone(self) -> None:
        """Drop what is known of sessions that have no grade any more; call it inside a transaction."""
        self._database.connection.execute(
            "DELETE FROM session_outcomes WHERE session_id NOT IN (SELECT session_id FROM session_details)"
        )


def _followed(row: tuple[str, str | None, str | None, str, str]) -> Followed:
    session_id, digest, repository, work, fate = row
    return Followed(session_id, digest, repository, _read_work(work), _read_fate(fate))


def work_outcomes(store: SqliteStore, since: datetime, until: datetime) -> WorkOutcomes:
    """Count tasks of people with commits that ended from `since` to before `until`, by what became of their work."""
    return OutcomesTable(store).counts(since, until)
