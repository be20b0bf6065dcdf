"""Changes of models, versions, prompts and tools of agents, by what their sessions show.

A value takes over where most of the next sessions have it. One that is only tried changes nothing, and one that comes
back after a few sessions is no change either: an agent that has two models by turns does not change all day.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final, NamedTuple

from grader_daemon.domain.installed import MOST_VERSIONS, ObservedVersion
from grader_daemon.domain.routing import FinishedSession
from grader_daemon.domain.setup_changes import APART_SESSIONS, SetupChange, SetupKind, Unsteady

_MOST: Final = 0.8
"""Such a share of the next sessions must have a value: two that are used by turns seldom reach it."""
_FEWEST_SHOWN: Final = 5
_FEWEST_KNOWN: Final = 20

_FIRST_LOOK: Final = timedelta(hours=1)
"""Time from the first of all within which a first sight was there before.

The same holds from the first of an agent, or of a folder that is no agent's, for what was written before: somebody only
had it looked at.
"""

_Stream = tuple[str | None, ...]


class _Source(NamedTuple):
    """Source of a kind: its value in a session, and the sessions compared: an agent's, and what else it varies with."""

    value: Callable[[FinishedSession], str | None]
    stream: Callable[[FinishedSession], _Stream]


SHOWN: Final = {
    SetupKind.MODEL: _Source(attrgetter("model"), lambda session: (session.agent,)),
    SetupKind.AGENT_VERSION: _Source(attrgetter("agent_version"), lambda session: (session.agent,)),
    SetupKind.SYSTEM_PROMPT: _Source(attrgetter("system_prompt_digest"), attrgetter("agent", "platform", "project")),
    SetupKind.TOOLS: _Source(attrgetter("tools_digest"), attrgetter("agent", "platform")),
}
"""Kinds that sessions show by themselves."""


def shown_changes(sessions: Sequence[FinishedSession]) -> list[SetupChange]:
    """Return what changed, in order, by sessions in the order in which they ended."""
    found = [change for kind, source in SHOWN.items() for change in _of_kind(kind, source, sessions)]
    return sorted(found, key=lambda change: change.at)


def file_changes(versions: Sequence[ObservedVersion]) -> list[SetupChange]:
    """Return which skills and configuration files changed, in order, by versions in the order of `first_seen`.

    What lay there at the first look is no change, nor is the oldest version of a path of which so many are kept that
    those before it are forgotten: nobody knows what it came after. What was removed and comes back is added.
    """
    cut = {path for path, kept in Counter(each.path for each in versions).items() if kept >= MOST_VERSIONS}
    found: list[SetupChange] = []
    last: dict[str, ObservedVersion] = {}
    first_looks: dict[str, datetime] = {}
    for version in versions:
        before = last.get(version.path)
        last[version.path] = version
        looked_at = first_looks.setdefault(version.agent or version.path.rpartition("/")[0], version.first_seen)
        lay_there = version.written_at < looked_at - _FIRST_LOOK
        began = looked_at if lay_there else versions[0].first_seen
        is_new = version.path not in cut and version.first_seen - began >= _FIRST_LOOK
        if before is not None or is_new:
            found.append(_placed(version, before))
        if version.gone_at is not None:
            found.append(_file_change(version, at=version.gone_at, before=version.digest, after=None))
    return sorted(found, key=lambda change: change.at)


def unsteady(sessions: Sequence[FinishedSession]) -> list[Unsteady]:
    """Return what differs in most sessions of an agent."""
    found = []
    for kind, source in SHOWN.items():
        values: dict[str | None, list[str]] = {}
        for session in sessions:
            value = source.value(session)
            if value is not None:
                values.setdefault(session.agent, []).append(value)
        found += [
            Unsteady(agent=agent, kind=kind, values=len(set(each)), sessions=len(each))
            for agent, each in values.items()
            if len(each) >= _FEWEST_KNOWN and 2 * len(set(each)) > len(each)
        ]
    return found


def takeovers(values: Sequence[str]) -> list[tuple[int, str]]:
    """Return the places at which a value takes over, each with the value before.

    Where the value before comes back after a few sessions, neither it nor the one between took over.
    """
    found: list[tuple[int, str]] = []
    standing: str | None = None
    for place, value in enumerate(values):
        if value == standing:
            continue
        following = values[place : place + APART_SESSIONS]
        if following.count(value) < max(_FEWEST_SHOWN, _MOST * len(following)):
            continue
        if found and found[-1][1] == value and place - found[-1][0] < APART_SESSIONS:
            found.pop()
        elif standing is not None:
            found.append((place, standing))
        standing = value
    return found


def _placed(version: ObservedVersion, before: ObservedVersion | None) -> SetupChange:
    """Return the change that put a version in its place.

    One that was noticed later, as after a stop of the daemon, was when the file system says, if that is after the
    version before it was last seen, or noticed to be gone.
    """
    if before is None:
        return _file_change(version, at=version.first_seen, before=None, after=version.digest)
    is_told = (before.gone_at or before.last_seen) <= version.written_at <= version.first_seen
    return _file_change(
        version,
        at=version.written_at if is_told else version.first_seen,
        before=before.digest if before.gone_at is None else None,
        after=version.digest,
    )


def _file_change(version: ObservedVersion, *, at: datetime, before: str | None, after: str | None) -> SetupChange:
    return SetupChange(
        at=at, kind=SetupKind(version.kind), agent=version.agent, name=version.name, before=before, after=after
    )


def _of_kind(kind: SetupKind, source: _Source, sessions: Iterable[FinishedSession]) -> Iterator[SetupChange]:
    """Yield the changes of a kind; one that shows in several streams of an agent is one, where it showed first."""
    streams: dict[_Stream, tuple[list[FinishedSession], list[str]]] = {}
    for session in sessions:
        value = source.value(session)
        if value is not None:
            known, values = streams.setdefault(source.stream(session), ([], []))
            known.append(session)
            values.append(value)
    found = [
        SetupChange(at=known[place].ended_at, kind=kind, agent=stream[0], before=before, after=values[place])
        for stream, (known, values) in streams.items()
        for place, before in takeovers(values)
        if kind is not SetupKind.AGENT_VERSION or _is_update(values, place, before)
    ]
    last: dict[str | None, str | None] = {}
    for change in sorted(found, key=lambda change: change.at):
        if last.get(change.agent) != change.after:
            yield change
        last[change.agent] = change.after


def _is_update(values: Sequence[str], place: int, before: str) -> bool:
    """Return whether a version that takes over replaced the one before, and does not lie beside it.

    Of two that are used side by side, in two containers say, now one does most and now the other. So what takes over
    was not in use long before, and a lower version has no session of the higher one after it.
    """
    after = values[place]
    if _numbers(after) > _numbers(before):
        return values[: max(0, place - APART_SESSIONS)].count(after) < _FEWEST_SHOWN
    return before not in values[place:]


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version, which order it: 2.1.9 comes before 2.1.30."""
    return [int(number) for number in re.findall(r"[0-9]{1,9}", version)]
