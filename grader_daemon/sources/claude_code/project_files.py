"""Claude Code's transcripts as a source: below the folder of each project a file for each session and each sub-agent.

Sub-agents had their lines inside the file of their session (1.0.128), then files beside it (2.0.50), since 2.1 files in
a folder of the session. Only ``<session>.jsonl`` and ``agent-<id>.jsonl`` are transcripts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from grader_daemon.domain.session import ASSISTANT, Session, SessionKind, Skipped, SkipReason
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import VanishedFileError
from grader_daemon.sources.claude_code.entries import KINDS, Entry, Line, kind_of
from grader_daemon.sources.claude_code.turns import Turns
from grader_daemon.sources.decoding import check_messages
from grader_daemon.sources.jsonl import read_lines
from grader_daemon.sources.protocol import UnknownKinds
from grader_daemon.sources.session_files import Parsed, SessionFiles

NAME: Final = "claude-code"
_SUFFIX = ".jsonl"
_AGENT = "agent-"
_SIDE_CALLS = ("agent-acompact-", "agent-aprompt_suggestion-", "agent-aside_question-")
_SESSION_FILE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RECOGNIZED = re.compile(rb'"(?:parentUuid|leafUuid)":|^\s*\{"type":"(?:queue-operation|mode|file-history-snapshot)"')
_OF_OTHERS = re.compile(rb'"message":\s?\{"role":\s?"\w{1,9}",\s?"parts":|"projectHash":|"copilotVersion":')
"""Lines of Qwen Code (Gemini's parts in such lines), Gemini CLI and Copilot CLI, whose files bear such names, too."""

_SESSION = b'"sessionId":'
_VERSION = re.compile(rb'"version":"([\w.-]{1,40})"')


class ClaudeCode(SessionFiles):
    """The transcripts below the roots."""

    name = NAME
    title = "Claude Code"
    unknown = frozenset({"system_prompt_digest", "tools_digest"})
    append_only = True

    def claims(self, path: str) -> bool:
        stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
        return dot + suffix == _SUFFIX and (stem.startswith(_AGENT) or _SESSION_FILE.fullmatch(stem) is not None)

    def recognizes(self, path: str, beginning: bytes) -> bool:
        if not path.endswith(_SUFFIX) or _OF_OTHERS.search(beginning) is not None:
            return False
        return _RECOGNIZED.search(beginning) is not None or (self.claims(path) and _SESSION in beginning)

    def skipped_by_name(self, path: str) -> SkipReason | None:
        return SkipReason.SIDE_CALL if path.rpartition("/")[2].startswith(_SIDE_CALLS) else None

    def parse(self, content: bytes, unit: Unit) -> Parsed:
        lines = read_lines(content, KINDS, kind_of=kind_of, limits=self.limits)
        unknown = None
        if lines.unknown or lines.broken:
            versions = _VERSION.findall(content)
            unknown = UnknownKinds(versions[-1].decode() if versions else None, lines.unknown, lines.broken)
        if not any(isinstance(line, Entry) for line in lines.read):
            unreadable = lines.unknown and b'"role"' in content
            reason = SkipReason.UNREADABLE_VERSION if unreadable else SkipReason.NOT_A_SESSION
            return Parsed(Skipped(reason), unknown=unknown)
        parsed = _session_in(lines.read, unit, unknown)
        if isinstance(parsed.session, Session):
            check_messages(parsed.session, self.limits)
        return parsed


def _session_in(lines: Sequence[Line], unit: Unit, unknown: UnknownKinds | None) -> Parsed:
    stem = unit.locator.rpartition("/")[2].removesuffix(_SUFFIX)
    if stem.startswith(_AGENT):
        session = _make(lines, unit, stem, kind=SessionKind.SUB_AGENT)
        return Parsed(session, unknown=unknown)
    chains = _chains(lines)
    main = chains.pop("")
    named = stem if _SESSION_FILE.fullmatch(stem) else _last(main, "session_id") or stem
    inside = tuple(Unit(unit.source, unit.locator, key) for key in chains)
    if not unit.key:
        return Parsed(_make(main, unit, named, kind=SessionKind.MAIN), inside, unknown)
    if unit.key not in chains:
        raise VanishedFileError("the side chain is gone")
    chain = chains[unit.key]
    return Parsed(_make(chain, unit, unit.key, kind=SessionKind.SUB_AGENT, parent=named), inside, unknown)


def _chains(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """Return the lines of the session under "", and those of each side chain in it under the id of its first line.

    A line of a side chain whose parent is not there belongs to the chain that was written to last.
    """
    chains: dict[str, list[Line]] = {"": []}
    chain_of: dict[str, str] = {}
    newest = ""
    for line in lines:
        if not line.is_sidechain or not isinstance(line, Entry):
            chains[""].append(line)
            continue
        begins = line.parent_uuid is None and line.uuid is not None
        newest = line.uuid or "" if begins else chain_of.get(line.parent_uuid or "", newest)
        if line.uuid is not None:
            chain_of[line.uuid] = newest
        chains.setdefault(newest, []).append(line)
    return chains


def _make(
    lines: Sequence[Line], unit: Unit, session_id: str, *, kind: SessionKind, parent: str | None = None
) -> Session | Skipped:
    turns = Turns(lines)
    if not turns.messages:
        return Skipped(SkipReason.NOT_A_SESSION, session_id)
    is_file = not unit.key
    if kind is SessionKind.SUB_AGENT and is_file:
        parent = _last(lines, "session_id")
        if all(message.role == ASSISTANT and not message.tool_calls for message in turns.messages):
            return Skipped(SkipReason.SIDE_CALL, session_id)
    stem = unit.locator.rpartition("/")[2].removesuffix(_SUFFIX)
    return Session(
        session_id=session_id,
        file=unit.locator,
        format=NAME,
        unit_key=unit.key,
        messages=turns.messages,
        message_times=tuple(turns.times) if any(turns.times) else (),
        reported=turns.reported,
        ending=turns.ending,
        taken_back=tuple(turns.taken_back),
        model=turns.model,
        platform=_last(lines, "entrypoint"),
        project=_first(lines, "cwd"),
        parent=parent,
        kind=kind,
        agent=NAME,
        agent_version=_last(lines, "version"),
        usage=turns.usage,
        cost_usd=turns.cost_usd,
        started_at=turns.started_at,
        updated_at=turns.updated_at,
        named_after_id=not is_file or stem == session_id,
    )


def _first(lines: Sequence[Line], name: str) -> str | None:
    """Return what the first line says that says anything of it."""
    return next((value for line in lines if (value := getattr(line, name, None))), None)


def _last(lines: Sequence[Line], name: str) -> str | None:
    return _first(lines[::-1], name)
