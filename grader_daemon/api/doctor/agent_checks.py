"""Checks of each agent whose sessions are graded: can they be read, is any passed over, do they stay long enough?"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from operator import attrgetter

from grader_daemon import bootstrap
from grader_daemon.api.doctor.check_words import some, span
from grader_daemon.api.doctor.doctor_context import DoctorContext
from grader_daemon.api.looks import MANY, Seen, read_newest
from grader_daemon.api.sources import OTHERS_PAGE, other_agents
from grader_daemon.api.ungraded import SourceState, state_of, ungraded_agents
from grader_daemon.domain.check import Finding, ok, problem, warning
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.text import count
from grader_daemon.domain.unit import Found
from grader_daemon.errors import GraderError
from grader_daemon.sources.protocol import Guarding, Source
from grader_daemon.sources.tried_versions import newer_than

_LATE = timedelta(minutes=10)
"""Beyond `max_wait_seconds`: scans may be some minutes apart."""

_CLAUDE = "claude-code"
_OF_OPENCLAW = "OpenClaw deletes scheduled runs and sub-agents after 30 days (pruneAfter); their grades stay"
_DELETED_AFTER_DAYS = 30
"""What Claude Code does unless its `cleanupPeriodDays` says otherwise."""

_FEW_DAYS = 3
_LARGEST_SETTINGS = 1_000_000
_UPGRADE = "update grader-daemon; it then grades the unreadable sessions automatically"


def agents(context: DoctorContext) -> Finding:
    """Check that all agents that leave sessions here are graded, or declined, and that no adapter fails."""
    failing = [source for source, _ in context.seen if isinstance(source, Guarding) and source.fault is not None]
    if failing:
        said = [f"the adapter for {source.name} fails: {source.fault}" for source in failing]
        fix = f"update it, or report it to its authors; to turn it off: grader-daemon sources disable {failing[0].name}"
        return problem(some(said), fix)
    ungraded, here = ungraded_agents(context.settings), _not_read()
    if ungraded:
        told = [f"{each.title}, {count(each.sessions, 'session')} in {each.path}" for each in ungraded]
        decline = f"; or grader-daemon sources disable {ungraded[0].agent}" if "--path" not in ungraded[0].fix else ""
        return warning(f"not graded: {some(told)}{here}", f"{ungraded[0].fix}{decline}")
    states = [(state_of(each.name, context.settings), each.title) for each in bootstrap.known_sources(context.settings)]
    graded, declined = (
        [title for state, title in states if state is wanted] for wanted in (SourceState.ENABLED, SourceState.DECLINED)
    )
    return ok(f"{some(graded)} graded{f'; {some(declined)} declined' if declined else ''}{here}")


def _not_read() -> str:
    """Return the agents that are here and that this version does not read, as the end of a sentence."""
    titles = [each.title for each in other_agents()]
    return f"; found, but not supported by this version: {some(titles)} ({OTHERS_PAGE})" if titles else ""


def readable(context: DoctorContext) -> Finding:
    """Check that the databases in which agents keep their sessions can be read."""
    databases = [path for survey in context.surveys.values() for path in survey.databases]
    for path in databases:
        finding = _of_database(path)
        if finding is not None:
            return finding
    for source, seen in context.seen:
        for unit in seen.unreadable:
            try:
                source.read(source.look(unit))
            except GraderError as error:
                return problem(f"{unit}: {error}", "run it as the file's owner, or open it with that agent")
    return ok(f"{count(len(databases), 'database')} of agents" if databases else "no graded agent has a database here")


def _of_database(path: str) -> Finding | None:
    """Return what is wrong with what lies there: its owner, or a log without its index."""
    try:
        owner = os.lstat(path).st_uid
        if owner != os.geteuid():
            return problem(f"{path} belongs to another user, id {owner}", "run the daemon as that user")
        if os.path.getsize(f"{path}-wal") and not os.path.lexists(f"{path}-shm"):
            found = f"{path} has a -wal and no -shm: it was copied, or its agent is starting"
            return warning(found, "nothing, if it was copied; otherwise start the agent once")
    except OSError:
        return None
    return None


def versions(context: DoctorContext) -> Finding:
    """Check that agents write what this version can read."""
    skipped = context.store.skip_counts() if context.has_database else {}
    unreadable = skipped.get(SkipReason.UNREADABLE_VERSION, 0)
    if unreadable:
        return warning(f"{count(unreadable, 'session')} from an agent version that is too new to read", _UPGRADE)
    known, strange = [], []
    for source, seen in context.seen:
        read = read_newest(source, seen.newest)
        if read is None:
            continue
        writer = _writer_of(read.session, source)
        if writer is not None:
            known.append(writer)
        if read.unknown is not None and read.unknown.kinds:
            kinds = count(len(read.unknown.kinds), "unknown kind")
            writer = writer or " ".join(filter(None, (source.title, read.unknown.version)))
            strange.append(f"{writer}: {kinds} of lines, skipped")
    if strange:
        return ok(f"{'; '.join(strange)}; known lines are graded")
    return ok(f"newest sessions: {some(known)}" if known else "no session of a graded agent names its version")


def _writer_of(session: Session | Skipped | None, source: Source) -> str | None:
    """Return the agent and its version as the session says it, and that this is newer than any that was tried."""
    if not isinstance(session, Session) or session.agent_version is None:
        return None
    name = source.title if session.agent in (None, source.name) else session.agent
    tried = newer_than(source.name, session.agent, session.agent_version)
    return f"{name} {session.agent_version}{'' if tried is None else f', newer than the tested {tried}'}"


def retention(context: DoctorContext) -> Finding:
    """Check that agents keep their sessions until these are graded."""
    of_openclaw = _OF_OPENCLAW if "openclaw" in context.settings.sources else ""
    if _CLAUDE not in context.settings.sources:
        return ok(of_openclaw or "no graded agent deletes its sessions automatically")
    days = min(_kept_days(context), default=_DELETED_AFTER_DAYS)
    said = f"Claude Code deletes sessions after {days:g} days (cleanupPeriodDays); their grades stay"
    said = f"{said}. {of_openclaw}" if of_openclaw else said
    if days < _FEW_DAYS:
        return warning(said, "set cleanupPeriodDays to 30 in ~/.claude/settings.json, or keep the daemon running")
    return ok(said)


def growth(context: DoctorContext) -> Finding:
    """Check that the newest sessions of each agent are graded soon, or at least looked at."""
    if not any(seen.newest for _, seen in context.seen):
        return ok("no graded agent has a session here")
    waiting = "sessions wait until the daemon runs, or for grader-daemon grade"
    if not context.is_running and not context.has_database:
        return ok(waiting)
    unseen = [(source, seen, context.unseen(source)) for source, seen in context.seen]
    if not context.is_running and any(
        _newest_unseen(context, seen, each, before=context.now) for _, seen, each in unseen
    ):
        return ok(waiting)
    limit = _LATE + timedelta(seconds=context.settings.max_wait_seconds)
    late = []
    for source, seen, each in unseen:
        newest = _newest_unseen(context, seen, each, before=context.now - limit)
        if newest is not None:
            late.append(f"{source.title}, {span(context.now - newest.written_at)} ago: {newest.unit}")
    if late:
        fix = "systemctl --user restart grader-daemon, or restart it yourself; then grader-daemon grade"
        return problem(f"not graded yet, though written: {some(late)}", fix)
    looked_at = f", of the last {MANY:,} files by name" if any(seen.is_more for _, seen in context.seen) else ""
    return ok(f"the newest session of each agent is graded{looked_at}")


def _newest_unseen(context: DoctorContext, seen: Seen, unseen: Sequence[Found], *, before: datetime) -> Found | None:
    """Return the newest session of an agent that the ledger does not know as it is, of those written before.

    `unseen` are those that it never met; it is asked for the newest one, which may have been written to since.
    """
    if seen.newest is not None and seen.newest.written_at <= before:
        entry = context.store.ledger_entry(seen.newest.unit.storable())
        if entry is None or entry.written_ns < seen.newest.written_ns:
            return seen.newest
    written = (found for found in unseen if found.written_at <= before)
    return max(written, key=attrgetter("written_ns"), default=None)


def _kept_days(context: DoctorContext) -> Iterator[float]:
    """Yield what the settings beside each folder of Claude Code say."""
    for source, _ in context.seen:
        for root in source.roots if source.name == _CLAUDE else ():
            with suppress(OSError, ValueError, RecursionError):
                with open(os.path.join(os.path.dirname(root), "settings.json"), encoding="utf-8") as file:
                    said = json.loads(file.read(_LARGEST_SETTINGS))
                days = said.get("cleanupPeriodDays") if isinstance(said, dict) else None
                if isinstance(days, int) and not isinstance(days, bool) and days >= 0:
                    yield days
