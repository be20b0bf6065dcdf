"""Qwen Code as a source: in the folder of each project ``chats/<session>.jsonl``, and files of sub-agents."""

from __future__ import annotations

import re
from typing import Final

from grader_daemon.domain.session import Session, SessionKind
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.jsonl import read_lines
from grader_daemon.sources.qwen_code.chat_lines import KINDS, Origin, Record, kind_of
from grader_daemon.sources.qwen_code.chat_turns import ChatTurns
from grader_daemon.sources.session_files import Parsed, SessionFiles, parsed_session

NAME: Final = "qwen-code"
_SUFFIX: Final = ".jsonl"
_AGENT: Final = "agent-"
_FILE = re.compile(r"(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|agent-[\w-]{1,200})\.jsonl")
_MESSAGE = re.compile(rb'"message":\s?\{"role":\s?"\w{1,9}",\s?"parts":')
_FRAME: Final = b'"parentUuid":'
_TELEMETRY: Final = b'"event.name":"qwen-code.'


class QwenChats(SessionFiles):
    """The chats below the roots, and what sub-agents did."""

    name = NAME
    title = "Qwen Code"
    unknown = frozenset({"platform", "cost_usd", "finish_reason", "system_prompt_digest", "tools_digest"})
    writes = True
    append_only = True

    def claims(self, path: str) -> bool:
        return _FILE.fullmatch(path.rpartition("/")[2]) is not None

    def recognizes(self, path: str, beginning: bytes) -> bool:
        told = _MESSAGE.search(beginning) is not None or _TELEMETRY in beginning
        return told and _FRAME in beginning

    def parse(self, content: bytes, unit: Unit) -> Parsed:
        lines = read_lines(content, KINDS, kind_of=kind_of, limits=self.limits)
        records = [line for line in lines.read if isinstance(line, Record)]
        stem = unit.locator.rpartition("/")[2].removesuffix(_SUFFIX)
        turns = ChatTurns(lines.read, is_sub_agent=stem.startswith(_AGENT))
        session = self._session(turns, records, unit)
        return parsed_session(session, lines, self.limits, version=session.agent_version)

    def _session(self, turns: ChatTurns, records: list[Record], unit: Unit) -> Session:
        stem = unit.locator.rpartition("/")[2].removesuffix(_SUFFIX)
        told = _first(records, "session_id")
        session_id = stem if self.claims(unit.locator) else told or stem
        is_sub_agent = stem.startswith(_AGENT)
        forked = next((record.forked_from for record in records if record.forked_from is not None), Origin())
        return Session(
            session_id=session_id,
            file=unit.locator,
            format=NAME,
            messages=tuple(turns.messages),
            message_times=tuple(turns.times) if any(turns.times) else (),
            reported=turns.reported,
            ending=turns.ending,
            taken_back=tuple(turns.taken_back),
            model=turns.model,
            project=_first(records, "cwd"),
            parent=told if is_sub_agent else turns.parent or forked.session_id,
            kind=SessionKind.SUB_AGENT if is_sub_agent or turns.parent else SessionKind.MAIN,
            agent=NAME,
            agent_version=_first(records[::-1], "version"),
            usage=turns.usage,
            started_at=turns.started_at,
            updated_at=turns.updated_at,
            compacted=turns.compacted,
            named_after_id=session_id == stem,
        )


def _first(records: list[Record], name: str) -> str | None:
    """Return what the first record says that says anything of it."""
    return next((value for record in records if (value := getattr(record, name))), None)
