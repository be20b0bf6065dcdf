"""Gemini CLI as a source: the files in the ``chats`` of each project, opened anew for each line that is added."""

from __future__ import annotations

import re

import msgspec

from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.decoding import decode
from grader_daemon.sources.gemini_cli.chat_log import NAME, Log, read_log
from grader_daemon.sources.gemini_cli.chat_records import KINDS, Head, kind_of
from grader_daemon.sources.jsonl import read_lines
from grader_daemon.sources.session_files import Parsed, SessionFiles, parsed_session

_CHATS = "/chats/"
_FILE = re.compile(r"session-[\w.:-]{1,200}\.jsonl?|[\w-]{1,200}/[\w-]{1,200}\.jsonl")
"""Below ``chats``: a session, or what a sub-agent did, in a folder that bears the id of the session."""

_SIGNS = (b'"sessionId"', b'"projectHash"')
_HEAD = msgspec.json.Decoder(Head)


class GeminiChats(SessionFiles):
    """``<project>/chats/session-<time>-<id>.jsonl`` below the roots, or ``.json``, and those of sub-agents."""

    name = NAME
    title = "Gemini CLI"
    unknown = frozenset(
        {"agent_version", "platform", "cost_usd", "finish_reason", "system_prompt_digest", "tools_digest"}
    )

    def claims(self, path: str) -> bool:
        return _FILE.fullmatch(path.rpartition(_CHATS)[2]) is not None if _CHATS in path else False

    def recognizes(self, path: str, beginning: bytes) -> bool:
        return self.claims(path) or all(sign in beginning for sign in _SIGNS)

    def parse(self, content: bytes, unit: Unit) -> Parsed:
        path = unit.locator
        if path.endswith(".jsonl"):
            lines = read_lines(content, KINDS, kind_of=kind_of, limits=self.limits)
            return parsed_session(self._session(read_log(lines.read), path), lines, self.limits)
        return Parsed(decode(content, lambda whole: self._of_document(whole, path), limits=self.limits))

    def _of_document(self, content: bytes, path: str) -> Session | Skipped:
        """Read a file of old. Rounds of tools stand there as one answer, with the tokens of the last alone."""
        head = _HEAD.decode(content)
        session = self._session(read_log([head]), path)
        if any(len(record.calls or ()) > 1 for record in head.messages or ()):
            session = msgspec.structs.replace(session, usage=())
        return session if session.messages else Skipped(SkipReason.NOT_A_SESSION, session.session_id)

    def _session(self, log: Log, path: str) -> Session:
        folder, _, name = path.rpartition("/")
        stem = name.rpartition(".")[0]
        above, _, parent = folder.rpartition("/")
        is_of_sub_agent = above.endswith(_CHATS[:-1])
        return log.session(
            session_id=stem if is_of_sub_agent or not stem.startswith("session-") else stem.rpartition("-")[2] or stem,
            path=path,
            parent=parent if is_of_sub_agent else None,
        )
