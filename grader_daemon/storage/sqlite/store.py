"""The store: one connection to the database, and the tables that it holds.

Every read sees what was written before it. Writes happen inside `SqliteStore.transaction`: all of them, or none.
"""

from __future__ import annotations

from pathlib import Path

from grader_daemon.domain.counting import Changes
from grader_daemon.storage.sqlite.alerts import Alerts
from grader_daemon.storage.sqlite.calibrations import Calibrations, LevelGuesses
from grader_daemon.storage.sqlite.feed import ChangeFeed
from grader_daemon.storage.sqlite.feedback import Feedbacks
from grader_daemon.storage.sqlite.grades import Grades
from grader_daemon.storage.sqlite.hosts import Hosts
from grader_daemon.storage.sqlite.issues import Issues
from grader_daemon.storage.sqlite.ledger import Ledger
from grader_daemon.storage.sqlite.quality_checks import QualityChecks
from grader_daemon.storage.sqlite.reports import Reports
from grader_daemon.storage.sqlite.rollups import Rollups
from grader_daemon.storage.sqlite.runs import DaemonState, JobRuns, Outbox
from grader_daemon.storage.sqlite.saved_views import SavedViews
from grader_daemon.storage.sqlite.session_list import SessionList
from grader_daemon.storage.sqlite.sessions import Repeats, Rivals


class SqliteStore(Ledger):
    """All that the program remembers, in one SQLite file or in memory."""

    def __init__(self, path: Path, *, host: str = "", read_only: bool = False) -> None:
        """See `Database`. `host` is kept with every grade."""
        super().__init__(path, read_only=read_only)
        self.list = SessionList(self)
        self.grades = Grades(self, self.list, host=host)
        self.rollups = Rollups(self)
        self.feedback = Feedbacks(self)
        self.issues = Issues(self)
        self.reports = Reports(self)
        self.alerts = Alerts(self)
        self.outbox = Outbox(self)
        self.job_runs = JobRuns(self)
        self.calibrations = Calibrations(self)
        self.repeats = Repeats(self)
        self.level_guesses = LevelGuesses(self)
        self.saved_views = SavedViews(self)
        self.quality = QualityChecks(self)
        self.rivals = Rivals(self)
        self.daemon = DaemonState(self)
        self.changes = ChangeFeed(self)
        self.fleet = Hosts(self)
        if not read_only and self._lacks_rollups():
            with self.transaction():
                if self._lacks_rollups():
                    self.recount()

    def recount(self) -> None:
        """Make the list of sessions and the roll-ups anew from the grades; call it inside a transaction."""
        self.list.rebuild()
        self.rollups.clear()
        for grades in self.grades.batches():
            changes = Changes()
            for grade in grades:
                changes.add(grade)
            self.rollups.apply(changes)

    def _lacks_rollups(self) -> bool:
        """Return whether an older version, or the original program, saved grades without counting them."""
        return not self.rows("SELECT 1 FROM daily_rollups LIMIT 1") and bool(
            self.rows("SELECT 1 FROM session_grades LIMIT 1")
        )
