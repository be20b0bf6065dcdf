"""Repositories of git with a history that is known, made by git itself at times that are given."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

_IDENTITY = {
    "GIT_AUTHOR_NAME": "Timmy",
    "GIT_AUTHOR_EMAIL": "timmy@example.org",
    "GIT_COMMITTER_NAME": "Timmy",
    "GIT_COMMITTER_EMAIL": "timmy@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_EDITOR": "true",
    "GIT_MERGE_AUTOEDIT": "no",
}


class Repository:
    """A work tree and its repository."""

    def __init__(self, folder: Path, *, at: datetime) -> None:
        """Make one with a commit of that time."""
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main", at=at)
        self.commit({"README.md": "A program that counts words.\n"}, "Begin", at=at)

    def git(self, *arguments: str, at: datetime) -> str:
        """Run git as at a time, and return what it says."""
        when = f"{int(at.timestamp())} +0000"
        times = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "HOME": str(self.folder)}
        ended = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env={**os.environ, **_IDENTITY, **times},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, (arguments, ended.stderr, ended.stdout)
        return ended.stdout

    def write(self, files: Mapping[str, str | None]) -> None:
        """Write files, or delete those without a text."""
        for name, text in files.items():
            path = self.folder / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)

    def commit(self, files: Mapping[str, str | None], message: str, *, at: datetime, more: Sequence[str] = ()) -> str:
        """Write files, commit all, and return the name of the commit."""
        self.write(files)
        self.git("add", "--all", at=at)
        self.git("commit", "--quiet", "-m", message, *more, at=at)
        return self.head

    def revert(self, commit: str, *, at: datetime, more: Sequence[str] = ()) -> str:
        """Take a commit back, and return the name of the commit that does."""
        self.git("revert", "--no-edit", *more, commit, at=at)
        return self.head

    @property
    def head(self) -> str:
        """The name of the commit that is checked out."""
        return self.git("rev-parse", "HEAD", at=datetime.fromtimestamp(0, UTC)).strip()
