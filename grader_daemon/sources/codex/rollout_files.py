"""Codex CLI as a source: a rollout for each thread, in a folder for each day on which threads began.

A thread that is resumed grows where it began, so every folder stays watched. A file is held open for as long as Codex
runs: each write is told, not only its closing.
"""

from __future__ import annotations

import re

from grader_daemon.domain.session import Skipped, SkipReason
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.codex.rollout import NAME, to_session
from grader_daemon.sources.codex.rollout_lines import KINDS, kind_of
from grader_daemon.sources.jsonl import read_lines
from grader_daemon.sources.protocol import UnknownKinds
from grader_daemon.sources.session_files import Parsed, SessionFiles

_SUFFIX = ".jsonl"
_PACKED = ".jsonl.zst"
"""Suffix of old rollouts that Codex packs; no Python before 3.14 can unpack it. They were graded when they were
written.
"""

_THREAD = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.{1,96})\.jsonl")
_FIRST_LINE = re.compile(rb'\{"timestamp":"[^"\\]{1,99}",(?:"ordinal":\d{1,20},)?"type":"session_meta","payload":\{')


class CodexRollouts(SessionFiles):
    """``rollout-<time>-<id>.jsonl`` below the roots."""

    name = NAME
    title = "Codex"
    unknown = frozenset({"cost_usd", "finish_reason", "tools_digest"})
    writes = True
    append_only = True

    def claims(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return name.startswith("rollout-") and name.endswith((_SUFFIX, _PACKED))

    def recognizes(self, path: str, beginning: bytes) -> bool:
        return self.claims(path) or _FIRST_LINE.match(beginning) is not None

    def skipped_by_name(self, path: str) -> SkipReason | None:
        return SkipReason.COMPRESSED if path.endswith(_PACKED) else None

    def parse(self, content: bytes, unit: Unit) -> Parsed:
        lines = read_lines(content, KINDS, kind_of=kind_of, limits=self.limits)
        name = unit.locator.rpartition("/")[2]
        thread = _THREAD.fullmatch(name)
        session = to_session(
            lines.read,
            session_id=thread[1] if thread is not None else name.removesuffix(_SUFFIX),
            path=unit.locator,
            limits=self.limits,
        )
        unknown = None
        if lines.unknown or lines.broken:
            unknown = UnknownKinds(session.agent_version, lines.unknown, lines.broken)
        if session.messages:
            return Parsed(session, unknown=unknown)
        reason = SkipReason.UNREADABLE_VERSION if lines.unknown else SkipReason.NOT_A_SESSION
        return Parsed(Skipped(reason, session.session_id), unknown=unknown)
