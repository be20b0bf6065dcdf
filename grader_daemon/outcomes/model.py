"""Work of a session and what became of it, as values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec
import xxhash

from grader_daemon.domain.work_fate import WorkFate

AGES: Final = (1, 7, 30)
"""Days after which it is looked whether lines are still there."""
MOST_LINES: Final = 400
"""Lines of a session that are followed, drawn by their digests where it wrote more: a share of them is known to 5 %."""
MOST_FILES: Final = 40
HIDDEN: Final = ": it is not there, or hidden from the service"
"""Trouble with a folder that cannot be seen: the sandbox of the service may hide it."""
_SHORTEST_LINE: Final = 6
"""Characters of a line that says something: a bracket, an `else:` or a bare `try:` stand in any file."""
_MOST_LINES_OF_A_TEXT: Final = 20_000
_WORD: Final = re.compile(r"\w\w")
_BLANKS: Final = re.compile(rb"[ \t\r\f\v]+")


class WrittenFile(msgspec.Struct, frozen=True, gc=False):
    """A file that a session wrote, and the digests of lines that were its own; `path` is absolute."""

    path: str
    lines: tuple[int, ...]


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """The work of a session: files with lines of its own, and the commits that it made, as its results name them.

    `wrote` is the number of lines of which `files` hold a draw. `is_settled`: lines that stood there before are left
    out of them, which only a look at the repository tells.
    """

    began: datetime
    ended: datetime
    commits: tuple[str, ...] = ()
    files: tuple[WrittenFile, ...] = ()
    wrote: int = 0
    is_settled: bool = False

    @property
    def is_nothing(self) -> bool:
        """True if there is nothing whose fate could be looked at."""
        return not self.commits and not self.files


class MadeCommit(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A commit with work of a session: the session's tool results name it, or it has `lines` of the session."""

    commit: str
    at: datetime
    named: bool
    lines: int


class RevertKind(StrEnum):
    """Sign of a revert: its message names the commit, or its change is the exact inverse of the commit's."""

    MESSAGE = "message"
    INVERSE = "inverse"


class Reverted(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A commit of a session, reverted by the commit `by` at the time `at`."""

    commit: str
    by: str
    at: datetime
    kind: RevertKind


class Survival(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Lines that survived a number of days: `kept` of `lines`, counted when the work was `age_days` old."""

    days: int
    age_days: int
    kept: int
    lines: int


class Rewritten(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A commit by somebody else within an hour that removed `lines` of a session."""

    commit: str
    at: datetime
    lines: int


class OutsideState(StrEnum):
    """State of a file outside git, compared with its first observation."""

    THERE = "there"
    CHANGED = "changed"
    GONE = "gone"


class OutsideFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file outside git as first seen: a digest of its content, and the inode of its folder."""

    path: str
    digest: str
    folder: int
    state: OutsideState = OutsideState.THERE


class OwnCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The last test, build or linter run in an agent's own record: its `kind`, such as "test", and its `scope`.

    `scope` is "full" for a complete run. `is_stale` says that files were edited after it.
    """

    kind: str
    scope: str
    passed: bool
    is_stale: bool


class SeenFate(msgspec.Struct, frozen=True, kw_only=True):
    """Fate of a session's work, at the last check.

    Attributes:
        commits: commits with its work, oldest first.
        reverted: commits that were reverted and not restored since.
        dropped: commits that no branch, tag or work tree reaches, and whose lines are gone (reset or discarded).
        replaced: commits that no ref reaches, but whose lines still exist (rebased, amended or squashed).
        survival: number of surviving lines after 1, 7 and 30 days, if a check was made in time.
        rewritten: the first commit by somebody else, within an hour, that removed lines of the work.
        outside: files outside git.
        refs: digest of the repository's refs and work trees, to notice when one moves; None if not read completely.
        own_check: the agent's last own record of a test, build or linter.
        trouble: why the last check was incomplete; None if it was complete.
    """

    looked_at: datetime
    commits: tuple[MadeCommit, ...] = ()
    reverted: tuple[Reverted, ...] = ()
    dropped: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    survival: tuple[Survival, ...] = ()
    rewritten: Rewritten | None = None
    outside: tuple[OutsideFile, ...] = ()
    refs: str | None = None
    own_check: OwnCheck | None = None
    trouble: str | None = None

    @property
    def is_reverted(self) -> bool:
        """True if the work was taken back: most of the lines in its commits, or all commits without any.

        Work that was taken back and done again stands in a later commit, which holds as many lines.
        """
        taken_back = {each.commit for each in self.reverted}
        standing = [each for each in self.commits if each.commit not in {*self.dropped, *self.replaced}]
        lines = sum(each.lines for each in standing)
        back = [each for each in standing if each.commit in taken_back]
        if not back:
            return False
        if not lines:
            return len(back) == len(standing)
        return 2 * sum(each.lines for each in back) > lines


def became(fate: SeenFate) -> WorkFate | None:
    """Return what became of the work of a session in git, in a word; None where that was not counted yet."""
    last = fate.survival[-1] if fate.survival else None
    kept, lines = (last.kept, last.lines) if last is not None else (0, 0)
    standing = {each.commit for each in fate.commits} - {*fate.dropped, *fate.replaced}
    if fate.is_reverted:
        return WorkFate.REVERTED
    if (fate.dropped and not standing and not fate.replaced) or (lines and not kept):
        return WorkFate.GONE
    if not lines:
        return None
    return WorkFate.KEPT if 2 * kept >= lines else WorkFate.REWRITTEN


def due_ages(ended: datetime, now: datetime, taken: tuple[Survival, ...]) -> int | None:
    """Return the days after which lines are to be counted now: the most that have passed, unless that was done."""
    passed = [days for days in AGES if now - ended >= timedelta(days=days)]
    if not passed or any(each.days >= passed[-1] for each in taken):
        return None
    return passed[-1]


_SOON: Final = (timedelta(hours=1), timedelta(hours=6))


def next_look(ended: datetime, now: datetime, *, last_days: int) -> datetime | None:
    """Return when a session is to be looked at again: after an hour and six, then each day; None when it is over."""
    for pause in (*_SOON, *(timedelta(days=day) for day in range(1, last_days + 1))):
        if ended + pause > now:
            return ended + pause
    return None


def line_digests(text: bytes) -> frozenset[int]:
    """Return the digests of the lines of a text that say something: enough to find them again.

    Blanks do not count: a formatter moves those.
    """
    return frozenset(_digests(text.split(b"\n", _MOST_LINES_OF_A_TEXT)[:_MOST_LINES_OF_A_TEXT]))


def _digests(lines: Iterable[bytes]) -> Iterable[int]:
    for line in lines:
        bare = _BLANKS.sub(b" ", line.strip())
        if len(bare) >= _SHORTEST_LINE and _WORD.search(bare.decode("utf-8", "replace")):
            yield xxhash.xxh3_64_intdigest(bare) >> 1  # which SQLite and JSON keep with a sign
