"""The job that looks what became of sessions: after an hour, six hours, and each day for a month."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from grader_daemon.analysis.tool_calls.outcomes import OutcomeReader
from grader_daemon.analysis.walk import MessageWalk
from grader_daemon.bootstrap import make_sources
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.text import clean
from grader_daemon.domain.unit import shown_path
from grader_daemon.errors import GraderError, ReadError
from grader_daemon.outcomes.budget import Budget
from grader_daemon.outcomes.look import RepositoryLook, path_in
from grader_daemon.outcomes.model import HIDDEN, OwnCheck, SeenFate, Work, next_look
from grader_daemon.outcomes.outside import look_outside
from grader_daemon.outcomes.revert_labels import keep_revert
from grader_daemon.outcomes.store import Followed, OutcomesTable
from grader_daemon.outcomes.work_tree import WorkTree, find_work_tree
from grader_daemon.outcomes.written import work_of
from grader_daemon.pipeline.rereading import read_again
from grader_daemon.redaction import Redactor, redactor_of
from grader_daemon.rules import load_rules
from grader_daemon.sources.hermes.verification_ledger import noted_check
from grader_daemon.sources.protocol import Sources
from grader_daemon.storage.records import StoredGrade
from grader_daemon.storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_AT_MOST_EVERY: Final = timedelta(minutes=1)
_CPU_SHARE: Final = 0.01
"""A round waits so long for the next that no more of one processor is used."""
_AT_ONCE: Final = 20
_LEDGER_OF: Final = "hermes"
_LONGEST_ROUND_SECONDS: Final = 20.0
"""Other jobs wait meanwhile; what is left is due in the next round."""
_FORGETS_EVERY: Final = timedelta(days=1)
_SLACK: Final = timedelta(days=2)
"""Lines are counted after 30 days even where the daemon was down on that day."""


class OutcomesJob:
    """Looks at the work of sessions whose time has come, some in a round."""

    name = "outcomes"

    def __init__(
        self,
        store: SqliteStore,
        sources: Sources,
        rules: Rules,
        *,
        days: int,
        cpu_seconds: float,
        roots: Sequence[str],
        is_settled: Callable[[], bool],
    ) -> None:
        """`days`: so long are sessions followed; `cpu_seconds` of one look; `roots`: nothing is read elsewhere."""
        self._store = store
        self._table = OutcomesTable(store)
        self._reader = WorkReader(sources, rules)
        self._days = days
        self._cpu_seconds = cpu_seconds
        self._roots = [os.path.realpath(root) for root in roots]
        self._is_settled = is_settled
        self._open = ExitStack()
        self._looks: dict[str, RepositoryLook] = {}
        """Looks at repositories of this round, by work tree: sessions share what is read."""
        self._looked_at: datetime | None = None
        self._forgot_at: datetime | None = None
        self._pause = _AT_MOST_EVERY

    def run(self, now: datetime) -> bool:
        """Look at what is due, once a minute at most; return whether anything was.

        Raises:
            StoreError: it cannot be kept.
        """
        waits = self._looked_at is not None and timedelta(0) <= now - self._looked_at < self._pause
        if waits or not self._is_settled():
            return False
        began, until = time.thread_time(), time.monotonic() + _LONGEST_ROUND_SECONDS
        since = now - timedelta(days=self._days) - _SLACK
        due = self._table.due(now, since=since, limit=_AT_ONCE)
        stored = self._store.grades.stored(due)
        with ExitStack() as self._open:
            self._open.callback(self._looks.clear)
            for session_id in due:
                if time.monotonic() < until:
                    self._follow(stored[session_id], now)
        if self._forgot_at is None or now - self._forgot_at >= _FORGETS_EVERY:
            with self._store.transaction():
                self._table.forget_gone()
            self._forgot_at = now
        self._looked_at = now
        self._pause = max(_AT_MOST_EVERY, timedelta(seconds=(time.thread_time() - began) / _CPU_SHARE))
        return bool(due)

    def _follow(self, stored: StoredGrade, now: datetime) -> None:
        """Look at the work of one session, and keep what is seen."""
        grade, known = stored.grade, self._table.of_session(stored.grade.session_id)
        went_on = known is not None and known.digest != stored.digest
        work = self._reader.read(stored) if known is None or went_on else known.work
        before = None if known is None else known.fate
        if before is not None and went_on:
            before = replace(before, survival=(), refs=None)
        repository, work, fate = self._look(grade.project, work, before, session_id=grade.session_id, now=now)
        fate = replace(fate, own_check=_own_check(grade) or fate.own_check)
        due_at = None if work.is_nothing else next_look(work.ended, now, last_days=self._days)
        if repository is None and known is not None:
            repository = known.repository
        with self._store.transaction():
            self._table.save(Followed(grade.session_id, stored.digest, repository, work, fate), due_at=due_at)
            keep_revert(self._store, grade.session_id, fate, now=now)

    def _look(
        self, project: str | None, work: Work, before: SeenFate | None, *, session_id: str, now: datetime
    ) -> tuple[str | None, Work, SeenFate]:
        """Return the work tree, the work as it was settled, and what became of it."""
        nothing = SeenFate(looked_at=now) if before is None else replace(before, looked_at=now, trouble=None)
        tree = None
        try:
            if work.is_nothing:
                return None, work, nothing
            tree = self._tree_of(project, work)
            fate = nothing
            if tree is not None:
                look = self._look_at(tree)
                work = work if work.is_settled else look.settled(work, now)
                others = self._table.commits_beside(shown_path(tree.root), session_id)
                fate = look.fate(work, before, now, others=others)
            paths = [each.path for each in work.files if tree is None or path_in(tree, each.path) is None]
            shown = [path for path in paths if self._may_read(path)]
            fate = replace(fate, outside=look_outside(shown, nothing.outside, Budget(self._cpu_seconds)))
        except (ReadError, OSError, ValueError) as error:  # a name that no path can have, a folder that goes meanwhile
            fate = replace(nothing, trouble=clean(str(error)))
        return None if tree is None else shown_path(tree.root), work, fate

    def _look_at(self, tree: WorkTree) -> RepositoryLook:
        """Return the look of this round at a repository, with all of its budget."""
        look = self._looks.get(tree.root)
        if look is None:
            look = self._looks[tree.root] = self._open.enter_context(RepositoryLook(tree, Budget(self._cpu_seconds)))
        look.budget.renew()
        return look

    def _tree_of(self, project: str | None, work: Work) -> WorkTree | None:
        """Return the work tree that a session worked in: that of its project, else of the file that it wrote last."""
        folder = project or (os.path.dirname(work.files[-1].path) if work.files else None)
        if folder is None or not os.path.isabs(folder):
            return None
        if not self._may_read(folder):
            raise ReadError(f"{folder}: it is outside the folders in outcomes_roots")
        tree = find_work_tree(folder)
        if tree is None and not os.path.isdir(folder):
            raise ReadError(f"{folder}{HIDDEN}")
        return tree

    def _may_read(self, path: str) -> bool:
        real = Path(os.path.realpath(path))
        return not self._roots or any(map(real.is_relative_to, self._roots))


class WorkReader:
    """Reads from the file of a session what it wrote."""

    def __init__(self, sources: Sources, rules: Rules) -> None:
        self._sources = sources
        self._rules = rules
        self._outcomes = OutcomeReader(rules.failures)
        self._redactor: Redactor = redactor_of(rules.redaction)

    def read(self, stored: StoredGrade) -> Work:
        """Return what a session wrote; nothing where its file is gone, or is another one now."""
        grade = stored.grade
        ended = grade.ended_at or grade.graded_at
        nothing = Work(began=ended, ended=ended)
        try:
            read = read_again(grade, self._sources)
        except GraderError:
            return nothing
        if read.digest != stored.digest:
            return nothing
        walk = MessageWalk(read.session, self._rules, redactor=self._redactor, outcomes=self._outcomes).to_the_end()
        return work_of(read.session, walk.notes, ended=ended, redactor=self._redactor)


def _own_check(grade: Grade) -> OwnCheck | None:
    noted = noted_check(grade.session_file, grade.session_id) if grade.format == _LEDGER_OF else None
    return None if noted is None else OwnCheck(**noted._asdict())


def outcome_jobs(settings: Settings, store: SqliteStore, *, is_settled: Callable[[], bool]) -> list[OutcomesJob]:
    """Return the job that follows sessions; none where the setting `outcomes_git` is off.

    Raises:
        ConfigurationError: the rules file is wrong.
    """
    if not settings.outcomes_git:
        return []
    job = OutcomesJob(
        store,
        make_sources(settings),
        load_rules(settings.rules_file),
        days=settings.outcomes_days,
        cpu_seconds=settings.outcomes_seconds,
        roots=[str(root) for root in settings.outcomes_roots],
        is_settled=is_settled,
    )
    return [job]
