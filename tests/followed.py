"""A session that worked in a repository, graded, and looked at as the daemon looks at it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from grader_daemon import SelfGrader
from grader_daemon.api.context import told_beside
from grader_daemon.domain.feedback import Feedback
from grader_daemon.domain.grade import Grade
from grader_daemon.outcomes.job import OutcomesJob, outcome_jobs
from grader_daemon.outcomes.model import SeenFate
from grader_daemon.outcomes.store import OutcomesTable
from grader_daemon.settings import Settings, load_settings
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.repositories import Repository
from tests.transcripts import SESSION, Transcript, call

BEGAN = datetime(2026, 11, 22, 15, 0, tzinfo=UTC)
"""When the first line of a transcript is written; each line is a second."""
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

PROGRAM = """import sys
from pathlib import Path


def count_words(path):
    text = Path(path).read_text()
    words = text.split()
    return len(words)


def main():
    total = sum(count_words(name) for name in sys.argv[1:])
    print(f"{total} words in all")


main()
"""
"""What a session writes: ten lines that say something."""


class Worker:
    """A session: what it does to the repository is done, and stands in its transcript."""

    def __init__(self, repository: Repository, session_id: str = SESSION) -> None:
        self.repository = repository
        self.session_id = session_id
        self.transcript = Transcript(cwd=str(repository.folder), sessionId=session_id)
        self.transcript.prompt("Write a program that counts words.")
        self._calls = 0

    @property
    def now(self) -> datetime:
        """The time of the last line."""
        return BEGAN + timedelta(seconds=len(self.transcript.lines))

    def write(self, name: str, text: str) -> None:
        """Write a file by the tool for it."""
        self.repository.write({name: text})
        self._call("Write", "File created successfully.", file_path=str(self.repository.folder / name), content=text)

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a part of a file."""
        path = self.repository.folder / name
        path.write_text(path.read_text().replace(old, new))
        self._call("Edit", "The file has been updated.", file_path=str(path), old_string=old, new_string=new)

    def commit(self, message: str = "Count words") -> str:
        """Commit all, as the result of `git commit` tells; returns the name of the commit."""
        self.repository.git("add", "--all", at=self.now)
        said = self.repository.git("commit", "-m", message, at=self.now)
        self._call("Bash", said, command=f"git add -A && git commit -m {message!r}")
        return self.repository.head

    def end(self, folder: Path) -> Path:
        """Say the last word, and leave the file."""
        self.transcript.answer("Done: it counts words.")
        path = folder / "project" / f"{self.session_id}.jsonl"
        self.transcript.write(path)
        return path

    def _call(self, tool: str, result: str, **arguments: object) -> None:
        self._calls += 1
        self.transcript.answer(call(f"c{self._calls}", tool, **arguments), stop="tool_use")
        self.transcript.result(f"c{self._calls}", result)


class Follower:
    """A database, and the job that looks what became of its sessions."""

    def __init__(self, folder: Path, **given: Any) -> None:
        self.sessions = folder / "sessions"
        self.sessions.mkdir(parents=True)
        self.settings: Settings = load_settings(
            db_path=str(folder / "grades.db"),
            claude_code_roots=[str(self.sessions)],
            watch_roots=[str(self.sessions)],
            **given,
        )
        self.store = SqliteStore(folder / "grades.db")
        self.now = BEGAN
        self.grader = SelfGrader(settings=self.settings, clock=lambda: self.now, store=self.store)
        self._job: OutcomesJob | None = None

    def grade(self, paths: Sequence[Path]) -> None:
        """Grade sessions."""
        self.now = BEGAN + timedelta(minutes=40)
        self.grader.grading.grade_paths(paths)

    def look(self, after: timedelta) -> None:
        """Look as long after the sessions."""
        self.now = BEGAN + after
        if self._job is None:
            (self._job,) = outcome_jobs(self.settings, self.store, is_settled=lambda: True)
        self._job._looked_at = None
        self._job.run(self.now)

    def fate(self, session_id: str = SESSION) -> SeenFate:
        """What is known of a session."""
        found = OutcomesTable(self.store).of_session(session_id)
        assert found is not None
        return found.fate

    def result(self, session_id: str = SESSION) -> Grade:
        """The grade of a session."""
        return self.store.grades.find(session_id).grade

    def said(self, session_id: str = SESSION) -> list[Feedback]:
        """All that was said of a session."""
        return self.store.feedback.said([session_id])

    def told(self, session_id: str = SESSION) -> dict[str, str]:
        """What is shown of a session."""
        return dict(told_beside(self.grader.context, self.result(session_id)))

    def close(self) -> None:
        """Close the database."""
        self.grader.close()
