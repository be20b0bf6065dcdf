"""The fate of commits, from what was seen of a history: pure.

A revert counts where the branch that is checked out has it; of a commit that is on other branches only, where any ref
has it. A revert that was itself reverted counts for nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from grader_daemon.outcomes.commits import Commit
from grader_daemon.outcomes.model import MadeCommit, Reverted, RevertKind

_MOST_MERGES: Final = 50
"""Merges that were taken back of which it is looked what they had brought."""


class SeenHistory(NamedTuple):
    """A history as far as it was walked: its commits by name, and those of them that the work tree stands on."""

    commits: Mapping[str, Commit]
    checked_out: Collection[str]


def ancestors(commits: Mapping[str, Commit], tips: Collection[str], *, but: Collection[str] = ()) -> set[str]:
    """Return the commits that are reached from some, as far as they are known; what `but` holds is not passed."""
    found: set[str] = set()
    waiting = list(tips)
    while waiting:
        name = waiting.pop()
        if name in commits and name not in found and name not in but:
            found.add(name)
            waiting += commits[name].parents
    return found


def reverts_of(
    seen: SeenHistory, made: Collection[MadeCommit], inverses: Mapping[str, str], *, after: datetime
) -> tuple[Reverted, ...]:
    """Return the reverts that stand, one for each commit that has any.

    Args:
        seen: the history.
        made: commits of a session.
        inverses: commits that are others' change backwards, each with that other one.
        after: when the session ended; what it took back itself is no news of the world.
    """
    names = {each.commit for each in made}
    by_target = _reverting(seen.commits, names, inverses)
    undone = _undone(by_target, seen)
    found = []
    for each in made:
        standing = [
            name
            for name in by_target.get(each.commit, ())
            if name not in undone and _counts(name, each.commit, seen)
            if seen.commits[name].committed > after.timestamp()
        ]
        if standing:
            by = min((seen.commits[name] for name in standing), key=lambda commit: (commit.committed, commit.name))
            kind = RevertKind.MESSAGE if by.reverts else RevertKind.INVERSE
            found.append(Reverted(commit=each.commit, by=by.name, at=moment(by.committed), kind=kind))
    return tuple(found)


def moment(seconds: int) -> datetime:
    """Return a time of a commit."""
    return datetime.fromtimestamp(seconds, UTC)


def _reverting(
    commits: Mapping[str, Commit], made: Collection[str], inverses: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return by which commits each one was taken back; of those that were `made`, by that of their merge, too."""
    by_target: dict[str, list[str]] = {}
    names = sorted(commits)
    brought: dict[str, set[str]] = {}
    for name, commit in commits.items():
        for target in filter(None, (_named(prefix, names) for prefix in commit.reverts)):
            if len(commits[target].parents) > 1 and target not in brought and len(brought) < _MOST_MERGES:
                brought[target] = _brought(commits[target], commits).intersection(made)
            for each in (target, *brought.get(target, ())):
                by_target.setdefault(each, []).append(name)
        if not commit.reverts and name in inverses:
            by_target.setdefault(inverses[name], []).append(name)
    return by_target


def _named(prefix: str, names: Sequence[str]) -> str | None:
    """Return the one name that begins like this; None without, or with several."""
    place = bisect_left(names, prefix)
    found = [name for name in names[place : place + 2] if name.startswith(prefix)]
    return found[0] if len(found) == 1 else None


def _brought(merge: Commit, commits: Mapping[str, Commit]) -> set[str]:
    """Return the commits that a merge brought to its first parent."""
    first, *others = merge.parents
    return ancestors(commits, others, but=ancestors(commits, [first]))


def _undone(by_target: Mapping[str, Sequence[str]], seen: SeenHistory) -> set[str]:
    """Return the reverts that were taken back by one that stands; later ones are looked at first."""
    undone: set[str] = set()
    for name in _latest_first(seen.commits):
        if any(each not in undone and _counts(each, name, seen) for each in by_target.get(name, ())):
            undone.add(name)
    return undone


def _counts(name: str, target: str, seen: SeenHistory) -> bool:
    """Return whether a revert is where its target is: on the branch that is checked out, or the target is not."""
    return name in seen.checked_out or target not in seen.checked_out


def _latest_first(commits: Mapping[str, Commit]) -> list[str]:
    """Return commits in an order in which each stands before its parents, whatever their times say."""
    children = Counter(parent for commit in commits.values() for parent in commit.parents)
    ready = [name for name in commits if not children[name]]
    order = []
    while ready:
        name = ready.pop()
        order.append(name)
        for parent in commits[name].parents:
            children[parent] -= 1
            if not children[parent] and parent in commits:
                ready.append(parent)
    return order
