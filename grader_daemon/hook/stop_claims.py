"""The claims of an agent's last answer, at the moment at which it wants to stop, held against the record so far."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from msgspec.structs import replace

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.claims import AGAINST, Claim
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.session import ASSISTANT, TOOL, Message, Session, Skipped
from grader_daemon.domain.text import clean
from grader_daemon.domain.unit import Unit
from grader_daemon.hook.hooked_agents import Stop
from grader_daemon.redaction import redactor_of
from grader_daemon.sources.protocol import Sources
from grader_daemon.sources.session_files import SessionFiles

_MOST_BYTES: Final = 1_000_000
"""What is read of a file that only grows, in some 30 ms: an agent waits."""

_DATABASE: Final = "state.db"
_QUOTED: Final = 120
_READ: Final = 4_000
"""So much of a message's end is looked through for secrets: a part of one would not be known as such."""


class Finding(NamedTuple):
    """A claim that the record speaks against, and the last words of the message that does; None where none was sent.

    `place` is that of this message in the session; None without one, and where only the end of a long file was read.
    """

    claim: Claim
    quoted: str | None
    place: int | None


class StopReader:
    """Reads the session of a stop where it lies, below the folders that are watched and nowhere else."""

    def __init__(self, sources: Sources, rules: Rules) -> None:
        self._sources = sources
        self._analyzer = Analyzer(rules)
        self._redactor = redactor_of(rules.redaction)

    def findings(self, agent: str, stop: Stop) -> tuple[str, list[Finding]] | None:
        """Return the id of the session and what speaks against its last answer; None where no session is found.

        Raises:
            GraderError: it cannot be read.
        """
        unit = self._unit(agent, stop)
        if unit is None:
            return None
        is_cut = self._is_cut(unit)
        session = self._read(unit)
        if not isinstance(session, Session):
            return None
        session = with_answer(session, stop.answer)
        against = [claim for claim in self._analyzer.claims(session) if claim.support in AGAINST]
        return session.session_id, [
            Finding(each, self._quoted(session, each), None if is_cut else next(iter(each.evidence[-1:]), None))
            for each in against
        ]

    def _unit(self, agent: str, stop: Stop) -> Unit | None:
        if stop.path is not None:
            path = os.path.abspath(stop.path)
            touched = self._sources.touched(path) if self._sources.claims(path) else ()
            return next((unit for unit in touched if unit.source == agent), None)
        paths = (os.path.join(root, _DATABASE) for root in self._sources.roots(agent))
        return next((Unit(agent, path, stop.session_id) for path in paths if os.path.isfile(path)), None)

    def _is_cut(self, unit: Unit) -> bool:
        """Return whether only the end of a file is read, in which messages cannot be counted."""
        source = self._growing(unit)
        return source is not None and source.size_of(unit) > _MOST_BYTES

    def _read(self, unit: Unit) -> Session | Skipped | None:
        source = self._growing(unit)
        if source is not None:
            return source.read_end(unit, most_bytes=_MOST_BYTES)
        return self._sources.read(unit).session

    def _growing(self, unit: Unit) -> SessionFiles | None:
        """Return the source of a unit if its files only grow."""
        source = self._sources.of(unit)
        return source if isinstance(source, SessionFiles) and source.append_only else None

    def _quoted(self, session: Session, claim: Claim) -> str | None:
        """Return the end of what a tool said against a claim, redacted: data, which nobody is to follow."""
        if not claim.evidence or session.messages[claim.evidence[-1]].role != TOOL:
            return None
        lines = self._redactor.redact(session.messages[claim.evidence[-1]].text[-_READ:]).split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return clean(said)[-_QUOTED:] or None


def with_answer(session: Session, answer: str | None) -> Session:
    """Return the session with the last answer, which is told before it is written."""
    if answer is None or not answer.strip():
        return session
    last = session.messages[-1] if session.messages else None
    if last is not None and last.role == ASSISTANT and not last.tool_calls:
        return session
    times = (*session.message_times, None) if session.message_times else ()
    return replace(session, messages=(*session.messages, Message(ASSISTANT, answer)), message_times=times)
