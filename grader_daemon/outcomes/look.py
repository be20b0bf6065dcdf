"""A look at one repository: what became of the work of the sessions that worked in it."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple, Self

from msgspec.structs import replace

from grader_daemon.outcomes.budget import Budget
from grader_daemon.outcomes.commits import Commit, History, Walk
from grader_daemon.outcomes.fate import SeenHistory, ancestors, moment, reverts_of
from grader_daemon.outcomes.git_objects import Objects
from grader_daemon.outcomes.model import (
    MadeCommit,
    Rewritten,
    SeenFate,
    Survival,
    Work,
    WrittenFile,
    due_ages,
    line_digests,
)
from grader_daemon.outcomes.packs import MOST_INFLATED
from grader_daemon.outcomes.work_tree import Refs, WorkTree, read_refs
from grader_daemon.sources.file_reading import open_file

_SLACK_SECONDS: Final = 3_600
"""Clocks of machines differ, and a session may name no exact times."""
_FEW_LINES: Final = 10
_SHARE: Final = 5
"""A commit holds a session's work if it brings a fifth of its lines, or 10 of them."""
_INVERSE_SECONDS: Final = 7 * 86_400
"""So long is a change that takes another one away to the letter a revert; later it is one of the many that follow."""
_MOST_INVERSE_PATHS: Final = 200
_WITHIN: Final = timedelta(hours=1)
_FRESH: Final = timedelta(hours=1)
_MOST_STEPS: Final = 5_000
_MOST_KEPT_LINES: Final = 150_000
"""Digests that are kept of files, for those that are compared with them: 15 MB."""
_MOST_MOVES: Final = 3


class Change(NamedTuple):
    """Lines of a session that a commit brought, and that it took away."""

    brought: int
    taken: int


class RepositoryLook:
    """One look at a repository; what it reads once serves all sessions. A context manager."""

    def __init__(self, tree: WorkTree, budget: Budget) -> None:
        self._tree = tree
        self.budget = budget
        self._objects = Objects(tree.objects, budget)
        self._history = History(self._objects)
        self.refs: Refs = read_refs(tree)
        self._walks: dict[int, tuple[Walk, set[str]]] = {}
        self._changed_paths: dict[str, set[str] | None] = {}
        self._lines: dict[str, frozenset[int]] = {}
        self._kept_lines = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._objects.close()

    def settled(self, work: Work, now: datetime) -> Work:
        """Return work without the lines that stood in its files before, and those that it took back itself.

        Raises:
            ReadError: the repository cannot be read, or not within the budget.
        """
        files = self._inside(work)
        base = self._commit_before(work)
        landed = self._landed(work, files) if now - work.ended < _FRESH else None
        kept = []
        for file, path in files:
            before = self._lines_at(base, path)
            there = None if landed is None else landed[path]
            lines = [line for line in file.lines if line not in before and (there is None or line in there)]
            kept.append(WrittenFile(file.path, tuple(lines)))
        inside = {file.path for file, _ in files}
        others = [file for file in work.files if file.path not in inside]
        return replace(work, files=(*kept, *others), is_settled=True)

    def fate(self, work: Work, before: SeenFate | None, now: datetime, *, others: Collection[str] = ()) -> SeenFate:
        """Return what became of settled work; `before` is what was known, `others` are commits of other sessions.

        Raises:
            ReadError: the repository cannot be read, or not within the budget.
        """
        if before is not None and before.refs == self.refs.state and due_ages(work.ended, now, before.survival) is None:
            return replace(before, looked_at=now, trouble=None)
        files = self._inside(work)
        walk, checked_out = self._walk(int(work.began.timestamp()) - _SLACK_SECONDS)
        changes = {commit.name: self._change(commit, files) for commit in self._since(walk, work)}
        made = self._made(work, before, changes, files)
        kept, lines = self._survivors(files, walk)
        lost = [each.commit for each in made if walk.is_whole and _is_lost(each, walk, work)]
        is_there = bool(lines) and 2 * kept >= lines
        days = due_ages(work.ended, now, () if before is None else before.survival)
        survival = () if before is None else before.survival
        if days is not None and lines:
            survival = (*survival, Survival(days=days, age_days=(now - work.ended).days, kept=kept, lines=lines))
        seen = SeenHistory(walk.commits, checked_out)
        inverses = dict(self._inverses(made, walk))
        return SeenFate(
            looked_at=now,
            commits=made,
            reverted=reverts_of(seen, made, inverses, after=work.ended),
            dropped=() if is_there else tuple(lost),
            replaced=tuple(lost) if is_there else (),
            survival=survival,
            rewritten=_rewritten(work, made, changes, walk, others),
            refs=self.refs.state if walk.is_whole else None,
            trouble=None if walk.is_whole else "it has too many commits since then to look at all",
        )

    # -- which commits ---------------------------------------------------------------------------------------------

    def _walk(self, since: int) -> tuple[Walk, set[str]]:
        """Return the commits since then, and those of them that the work tree stands on."""
        if since not in self._walks:
            walk = self._history.walk(sorted(self.refs.tips), since)
            head = [] if self.refs.head is None else [self.refs.head]
            self._walks[since] = walk, ancestors(walk.commits, head)
        return self._walks[since]

    def _since(self, walk: Walk, work: Work) -> list[Commit]:
        """Return the commits that may hold work of a session, or change it; merges bring what others did."""
        since = work.began.timestamp() - 60
        return [each for each in walk.commits.values() if each.committed >= since and not each.is_merge]

    def _made(
        self, work: Work, before: SeenFate | None, changes: dict[str, Change], files: Sequence[tuple[WrittenFile, str]]
    ) -> tuple[MadeCommit, ...]:
        """Return the commits with work of a session: those that are named or were known, and those that hold lines."""
        named = set(filter(None, map(self._history.named, work.commits)))
        known = {} if before is None else {each.commit: each for each in before.commits}
        total = sum(len(file.lines) for file in work.files)
        holding = {
            name
            for name, change in changes.items()
            if change.brought and (change.brought >= _FEW_LINES or change.brought * _SHARE >= total)
        }
        made = []
        for name in named | holding | known.keys():
            commit = self._history.commit(name)
            if commit is None:
                made.append(known[name])
                continue
            change = changes.get(name) or self._change(commit, files)
            is_named = name in named or (name in known and known[name].named)
            made.append(MadeCommit(commit=name, at=moment(commit.committed), named=is_named, lines=change.brought))
        return tuple(sorted(made, key=lambda each: (each.at, each.commit)))

    def _change(self, commit: Commit, files: Sequence[tuple[WrittenFile, str]]) -> Change:
        """Return how many lines of a session a commit brought and took away."""
        parent = self._parent(commit)
        brought = taken = 0
        for file, path in files:
            new, old = self._blob(commit, path), self._blob(parent, path)
            if new != old:
                after, earlier = self._lines_of(new), self._lines_of(old)
                brought += sum(line in after and line not in earlier for line in file.lines)
                taken += sum(line in earlier and line not in after for line in file.lines)
        return Change(brought, taken)

    def _inverses(self, made: Sequence[MadeCommit], walk: Walk) -> Iterator[tuple[str, str]]:
        """Yield commits whose whole change is that of a commit of the session, backwards, with that one."""
        for each in made:
            commit = walk.commits.get(each.commit)
            paths = None if commit is None else self._changed(commit)
            if commit is None or not paths:
                continue
            for later in walk.commits.values():
                is_near = 0 <= later.committed - commit.committed <= _INVERSE_SECONDS
                if (
                    later is not commit
                    and is_near
                    and len(later.parents) == 1
                    and self._is_inverse(later, commit, paths)
                ):
                    yield later.name, commit.name

    def _is_inverse(self, later: Commit, commit: Commit, paths: Collection[str]) -> bool:
        first = min(paths)
        if self._blob(later, first) == self._blob(self._parent(later), first):
            return False  # which is known without a comparison of all files
        if self._changed(later) != paths:
            return False
        return all(self._step(later, path) == self._step(commit, path)[::-1] for path in paths)

    def _step(self, commit: Commit, path: str) -> tuple[frozenset[int], frozenset[int]]:
        """Return the lines that a commit took from a file, and those that it brought."""
        parent = self._parent(commit)
        new, old = self._lines_of(self._blob(commit, path)), self._lines_of(self._blob(parent, path))
        return old - new, new - old

    def _changed(self, commit: Commit) -> set[str] | None:
        """Return the files that a commit changes; None where they are many, or it is a merge."""
        if commit.is_merge:
            return None
        parent = self._parent(commit)
        tree = None if parent is None else parent.tree
        if commit.name not in self._changed_paths:
            found = self._history.changed_paths(tree, commit.tree, most=_MOST_INVERSE_PATHS)
            self._changed_paths[commit.name] = found
        return self._changed_paths[commit.name]

    def _commit_before(self, work: Work) -> Commit | None:
        """Return the commit that stood there when the session began."""
        commit = None if self.refs.head is None else self._history.commit(self.refs.head)
        since = work.began.timestamp()
        for _ in range(_MOST_STEPS):
            if commit is None or commit.committed < since:
                return commit
            commit = self._parent(commit)
        return None

    # -- what stands in files --------------------------------------------------------------------------------------

    def _inside(self, work: Work) -> list[tuple[WrittenFile, str]]:
        """Return the files in the work tree, with their paths there."""
        return [(file, path) for file in work.files if (path := path_in(self._tree, file.path)) is not None]

    def _survivors(self, files: Sequence[tuple[WrittenFile, str]], walk: Walk) -> tuple[int, int]:
        """Return how many lines stand in the work tree or in what it was checked out from, and how many there are."""
        head = None if self.refs.head is None else self._history.commit(self.refs.head)
        kept = 0
        for file, path in files:
            now = self._path_now(path, file, head, walk)
            there = self._on_disk(now) | self._lines_at(head, now)
            kept += sum(line in there for line in file.lines)
        return kept, sum(len(file.lines) for file, _ in files)

    def _path_now(self, path: str, file: WrittenFile, head: Commit | None, walk: Walk) -> str:
        """Return where a file is now that was moved with most of the lines, some times at most; else where it was."""
        for _ in range(_MOST_MOVES):
            if self._blob(head, path) is not None or os.path.lexists(os.path.join(self._tree.root, path)):
                return path
            moved = next(filter(None, (self._moved_by(commit, path, file) for commit in walk.commits.values())), None)
            if moved is None:
                return path
            path = moved
        return path

    def _moved_by(self, commit: Commit, path: str, file: WrittenFile) -> str | None:
        """Return where a commit moved a file; None where it did not."""
        parent = None if commit.is_merge else self._parent(commit)
        if parent is None or self._blob(commit, path) is not None or self._blob(parent, path) is None:
            return None
        new = [each for each in self._changed(commit) or () if self._blob(parent, each) is None]
        shared = {each: sum(line in self._lines_at(commit, each) for line in file.lines) for each in new}
        best = max(shared, key=lambda each: (shared[each], each), default=None)
        return best if best is not None and 2 * shared[best] > len(file.lines) else None

    def _landed(self, work: Work, files: Sequence[tuple[WrittenFile, str]]) -> dict[str, frozenset[int]]:
        """Return the lines of files as they stand just after a session: on disk, and in its commits."""
        walk, _ = self._walk(int(work.began.timestamp()) - _SLACK_SECONDS)
        named = filter(None, map(self._history.named, work.commits))
        commits = [*self._since(walk, work), *filter(None, map(self._history.commit, named))]
        landed = {path: self._on_disk(path) for _, path in files}
        for commit in commits:
            for path in landed:
                landed[path] |= self._lines_at(commit, path)
        return landed

    def _on_disk(self, path: str) -> frozenset[int]:
        return line_digests(file_content(os.path.join(self._tree.root, path), self._tree.root, self.budget) or b"")

    def _lines_at(self, commit: Commit | None, path: str) -> frozenset[int]:
        return self._lines_of(self._blob(commit, path))

    def _lines_of(self, blob: str | None) -> frozenset[int]:
        if blob is None:
            return frozenset()
        found = self._lines.get(blob)
        if found is None:
            if self._kept_lines > _MOST_KEPT_LINES:
                self._lines.clear()
                self._kept_lines = 0
            found = self._lines[blob] = line_digests(self._history.text(blob))
            self._kept_lines += len(found)
        return found

    def _parent(self, commit: Commit) -> Commit | None:
        """Return the first parent of a commit; None without, or where it cannot be read any more."""
        return self._history.commit(commit.parents[0]) if commit.parents else None

    def _blob(self, commit: Commit | None, path: str) -> str | None:
        return None if commit is None else self._history.blob_at(commit.tree, path)


def path_in(tree: WorkTree, path: str) -> str | None:
    """Return the path of a file within a work tree; None where it lies elsewhere, or in the folder of git."""
    folder, name = os.path.split(path)
    whole = os.path.join(os.path.realpath(folder), name)
    head = os.path.join(tree.root, "")
    inner = whole.removeprefix(head)
    return inner if whole.startswith(head) and ".git" not in inner.split("/") else None


def file_content(path: str, root: str, budget: Budget) -> bytes | None:
    """Return the content of a file below `root`, to which no link is followed; None without, or of a large one."""
    try:
        descriptor = open_file(path, [root])
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_INFLATED:
            return None
        budget.charge(status.st_size)
        return os.read(descriptor, status.st_size)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _is_lost(made: MadeCommit, walk: Walk, work: Work) -> bool:
    """Return whether a commit of a session is reached from nowhere; of one from before its time nobody knows."""
    return made.commit not in walk.commits and made.at.timestamp() >= work.began.timestamp() - _SLACK_SECONDS


def _rewritten(
    work: Work, made: Sequence[MadeCommit], changes: dict[str, Change], walk: Walk, others: Collection[str]
) -> Rewritten | None:
    """Return the first commit within the hour that took lines away, and is of no session."""
    own = {*others, *(each.commit for each in made)}
    first, last = work.ended.timestamp(), (work.ended + _WITHIN).timestamp()
    found = [
        walk.commits[name]
        for name, change in changes.items()
        if change.taken and name not in own and first < walk.commits[name].committed <= last
    ]
    if not found:
        return None
    by = min(found, key=lambda commit: (commit.committed, commit.name))
    return Rewritten(commit=by.name, at=moment(by.committed), lines=changes[by.name].taken)
