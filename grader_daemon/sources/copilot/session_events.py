"""Copilot CLI as a source: ``<session>/events.jsonl`` below the folder with the state of its sessions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import xxhash

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import VanishedFileError
from grader_daemon.sources.copilot.event_lines import KINDS, Line
from grader_daemon.sources.copilot.event_log import NAME, UNKNOWN, EventLog
from grader_daemon.sources.jsonl import Lines, read_lines
from grader_daemon.sources.session_files import Parsed, SessionFiles, parsed_session

_EVENTS: Final = "/events.jsonl"
_FLAT: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl")
"""Name of a file of early versions, which had no folder for each session."""

_BEGIN = re.compile(rb'"type":\s?"session\.(?:start|resume)"')
_PRODUCER: Final = b'"copilotVersion":'


class _Events(NamedTuple):
    """Events of a file; `digest` is that of its content."""

    digest: str
    log: EventLog
    lines: Lines[Line]


class CopilotSessions(SessionFiles):
    """The events of each session below the roots."""

    name = NAME
    title = "Copilot CLI"
    unknown = UNKNOWN
    writes = True
    append_only = True

    def __init__(self, roots: Sequence[str] = (), *, limits: Limits) -> None:
        """See `SessionFiles`."""
        super().__init__(roots, limits=limits)
        self._newest: _Events | None = None
        """Events of the file that was read last, while sub-agents in it are still to be read."""

        self._left: set[str] = set()

    def claims(self, path: str) -> bool:
        return path.endswith(_EVENTS) or _FLAT.fullmatch(path.rpartition("/")[2]) is not None

    def recognizes(self, path: str, beginning: bytes) -> bool:
        return _BEGIN.search(beginning) is not None and _PRODUCER in beginning

    def parse(self, content: bytes, unit: Unit) -> Parsed:
        _, log, lines = self._events(content, unit)
        if unit.key not in log.conversations:
            raise VanishedFileError("the sub-agent is gone")
        session = self._session(log, unit)
        inside = () if unit.key else tuple(Unit(unit.source, unit.locator, key) for key in log.conversations if key)
        return parsed_session(session, lines, self.limits, version=log.version, inside=inside)

    def _events(self, content: bytes, unit: Unit) -> _Events:
        """Return what a file holds; the sub-agents in one are read right after it, each as a unit of its own."""
        digest = xxhash.xxh3_128_hexdigest(content)
        events = self._newest
        if events is None or events.digest != digest:
            lines = read_lines(content, KINDS, limits=self.limits)
            events = _Events(digest, EventLog(lines.read), lines._replace(read=[]))
            self._left = set(events.log.conversations)
        self._left.discard(unit.key)
        self._newest = events if self._left else None
        return events

    def _session(self, log: EventLog, unit: Unit) -> Session:
        """Return the session of a unit, named after its folder, or its file; a copy elsewhere by what it says."""
        folder, _, name = unit.locator.rpartition("/")
        above, _, stem = folder.rpartition("/") if name == _EVENTS[1:] else (folder, "", name.removesuffix(".jsonl"))
        told = log.session_id or stem
        is_at_home = any(above == root.rstrip("/") for root in self.roots) or above.endswith("/session-state")
        named = stem if is_at_home else told
        return log.session(unit, session_id=named, named_after_id=named == stem)
