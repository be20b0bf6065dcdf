"""mini-SWE-agent as a source: the ``<task>.traj.json`` of each run below the roots, and what an evaluation said of it.

A verdict comes after the run, in files beside it or beside all runs of the evaluation. So these are part of the stamp
of a run, and the verdict is part of its digest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import msgspec
import xxhash

from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Stamp, Unit
from grader_daemon.sources.decoding import decode
from grader_daemon.sources.mini_swe_agent.agent_run import NAME, read_run
from grader_daemon.sources.mini_swe_agent.stored_run import FIRST_FORMAT, StoredRun
from grader_daemon.sources.protocol import UnknownKinds
from grader_daemon.sources.session_files import AccompaniedFiles, Beside, Parsed
from grader_daemon.sources.swebench_reports import reports_beside, reward_of, stamps_of

_ENDS = ".traj.json"
_BEGINNING = re.compile(rb'\s{0,99}\{\s{0,99}"info"\s{0,99}:\s{0,99}\{')
_NAMES = (b'"model_stats"', b'"mini_version"', b'"exit_status"')
_DECODE = msgspec.json.Decoder(StoredRun).decode
_FAMILY = "mini-swe-agent-"


class MiniSweAgentRuns(AccompaniedFiles):
    """Runs below the roots; there are none unless a person names some, for anybody evaluates anywhere."""

    name = NAME
    title = "mini-SWE-agent"
    unknown = frozenset({"parent", "platform", "taken_back", "tools_digest"})
    rewarded = True

    def claims(self, path: str) -> bool:
        return path.endswith(_ENDS)

    def recognizes(self, path: str, beginning: bytes) -> bool:
        is_named = _BEGINNING.match(beginning) is not None and any(name in beginning for name in _NAMES)
        return is_named or path.endswith(_ENDS)

    def beside(self, path: str) -> Stamp:
        """See `AccompaniedFiles.beside`; it is the reports on a run."""
        return xxhash.xxh3_64_digest(b"\0".join(stamps_of(_reports(path))))

    def read_beside(self, unit: Unit, content: bytes) -> Beside:
        return Beside(reward=reward_of(_reports(unit.locator), task_of(unit.locator), self.roots))

    def parse(self, content: bytes, unit: Unit) -> Parsed:
        """See `SessionFiles.parse`; without the verdict."""
        unknown: list[UnknownKinds] = []

        def read(whole: bytes) -> Session | Skipped:
            stored = _DECODE(whole)
            told = stored.trajectory_format or ""
            if told != FIRST_FORMAT and not told.startswith(f"{FIRST_FORMAT}."):
                if not told.startswith(_FAMILY):
                    return Skipped(SkipReason.NOT_A_SESSION)
                unknown.append(UnknownKinds(stored.info.mini_version or told, ()))
                return Skipped(SkipReason.UNREADABLE_VERSION)
            session = read_run(stored, unit, named=task_of(unit.locator))
            return session if session.messages else Skipped(SkipReason.NOT_A_SESSION, session.session_id)

        session = decode(content, read, limits=self.limits)
        return Parsed(session, (), unknown[0] if unknown else None)


def task_of(path: str) -> str:
    """Return the name of the task that a run is of, as its file says it."""
    return os.path.basename(path).removesuffix(_ENDS)


def _reports(path: str) -> Sequence[str]:
    folder, task = os.path.dirname(path), task_of(path)
    run = os.path.dirname(folder) if os.path.basename(folder) == task else folder
    return reports_beside(folder, task, run=run)
