"""How each agent of ours keeps a session, as far as the contract of all sources needs it.

A new source adds a `Keeper` to `KEEPERS`. All tests of `test_contract` then hold for it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

import apsw

from grader_daemon.domain.limits import Limits
from grader_daemon.sources.atif.trial_files import AtifTrials
from grader_daemon.sources.claude_code.project_files import ClaudeCode
from grader_daemon.sources.cline.cline_sessions import ClineSessions
from grader_daemon.sources.codex.rollout_files import CodexRollouts
from grader_daemon.sources.copilot.session_events import CopilotSessions
from grader_daemon.sources.gemini_cli.chat_files import GeminiChats
from grader_daemon.sources.hermes.hermes_source import Hermes
from grader_daemon.sources.mini_swe_agent.run_files import MiniSweAgentRuns
from grader_daemon.sources.openclaw.openclaw_source import OpenClaw
from grader_daemon.sources.opencode.opencode_source import OpenCode
from grader_daemon.sources.openhands.evaluation_files import OpenHandsRuns
from grader_daemon.sources.pi.pi_files import PiSessions
from grader_daemon.sources.protocol import Source
from grader_daemon.sources.qwen_code.chat_transcripts import QwenChats
from grader_daemon.testing.source_contract import Keeper, answered, asked
from tests.openclaw_home import database_in, made, rows, run, window
from tests.pi_lines import FILE, PiLines
from tests.state_db import StateHome
from tests.strategies import document, json_answer, json_user
from tests.transcripts import SESSION, Transcript

_LIMITS = Limits()
_THREAD = "01a203da-679e-78d3-95e1-a31d99fc3840"
_AT = "2026-11-22T15:26:00Z"
_OF_COPILOT = "7c0e8f35-2a1d-4b64-9f0b-5a8b7e1f2d90"
_OF_QWEN = "b2d9c6a1-84f7-4a35-8c1e-3f60d2e9a713"
SESSION_OF_OPENCLAW = "5bb7a74f-0325-4906-beff-eb09731f76b5"


class HermesFile(Keeper):
    """A snapshot."""

    name = "hermes-snapshot"

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / "sessions" / "session_one.json"

    def source(self) -> Source:
        """See `Keeper`."""
        return Hermes([str(self.root)], zone=UTC, limits=_LIMITS)

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        said = [message for turn in range(turns) for message in (json_user(asked(turn)), json_answer(answered(turn)))]
        self.put(document(said, session_id="one"))


class HermesRows(HermesFile):
    """Rows of ``state.db``."""

    name = "hermes-database"
    is_database = True
    written = 0

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.home = StateHome(root)

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.home.path

    @property
    def told(self) -> str:
        """See `Keeper`."""
        return f"{self.file}-wal"

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        if not self.written:
            self.home.session("one")
        for turn in range(self.written, turns):
            self.home.turn("one", asked(turn), answered(turn))
        self.written = turns

    def delete(self) -> None:
        """See `Keeper`."""
        self.home.run(("DELETE FROM messages", ()), ("DELETE FROM sessions", ()))


_TABLES = """
PRAGMA journal_mode = WAL;
CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, version text, cost real, revert text,
    time_created integer, time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_updated integer, data text);
INSERT INTO session (id, directory, version, time_created, time_updated) VALUES ('ses_a', '/p', '1.18', 1, 1);
"""

_WAITS_MILLISECONDS = 60_000


class OpenCodeRows(Keeper):
    """Rows of ``opencode.db``."""

    name = "opencode-database"
    is_database = True
    written = 0

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        with closing(apsw.Connection(str(self.file))) as connection:
            connection.execute(_TABLES).fetchall()

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / "opencode.db"

    @property
    def told(self) -> str:
        """See `Keeper`."""
        return f"{self.file}-wal"

    def source(self) -> Source:
        """See `Keeper`."""
        return OpenCode([str(self.root)], limits=_LIMITS)

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        for turn in range(self.written, turns):
            head = {"role": "assistant", "modelID": "m", "finish": "stop", "time": {"created": 2, "completed": 3}}
            for end, data, text in (
                ("a", {"role": "user", "time": {"created": 1}}, asked(turn)),
                ("b", head, answered(turn)),
            ):
                name = f"{turn:04}{end}"
                part = json.dumps({"type": "text", "text": text})
                self._run(
                    ("INSERT INTO message VALUES (?, 'ses_a', ?, ?, ?)", (f"msg_{name}", turn, turn, json.dumps(data))),
                    ("INSERT INTO part VALUES (?, ?, 'ses_a', ?, ?)", (f"prt_{name}", f"msg_{name}", turn, part)),
                    ("UPDATE session SET time_updated = ?", (turn + 2,)),
                )
        self.written = turns

    def delete(self) -> None:
        """See `Keeper`."""
        self._run(("DELETE FROM part", ()), ("DELETE FROM message", ()), ("DELETE FROM session", ()))

    def _run(self, *statements: tuple[str, Sequence[Any]]) -> None:
        with closing(apsw.Connection(str(self.file))) as connection:
            connection.set_busy_timeout(_WAITS_MILLISECONDS)  # readers hold it for a moment as they open and close it
            with connection:
                for statement, values in statements:
                    connection.execute(statement, values)


class ClaudeCodeFile(Keeper):
    """A transcript."""

    name = "claude-code"
    is_lines = True

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / "-work" / f"{SESSION}.jsonl"

    def source(self) -> Source:
        """See `Keeper`."""
        return ClaudeCode([str(self.root)], limits=_LIMITS)

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        transcript = Transcript()
        for turn in range(turns):
            transcript.prompt(asked(turn))
            transcript.answer(answered(turn), answer=f"msg_{turn}")
        self.grow(transcript.content)


class CodexFile(Keeper):
    """A rollout."""

    name = "codex"
    is_lines = True

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / "2026" / "11" / "22" / f"rollout-2026-11-22T15-22-54-{_THREAD}.jsonl"

    def source(self) -> Source:
        """See `Keeper`."""
        return CodexRollouts([str(self.root)], limits=_LIMITS)

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        rows: list[dict[str, Any]] = [{"type": "session_meta", "payload": {"id": _THREAD, "cli_version": "0.200.0"}}]
        for turn in range(turns):
            rows += [_spoken("user", "input_text", asked(turn)), _spoken("assistant", "output_text", answered(turn))]
        self.grow(_lines(rows))


class GeminiFile(Keeper):
    """A chat."""

    name = "gemini-cli"
    is_lines = True

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / "proj" / "chats" / "session-2026-11-22T15-25-f0262141.jsonl"

    def source(self) -> Source:
        """See `Keeper`."""
        return GeminiChats([str(self.root)], limits=_LIMITS)

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        rows: list[dict[str, Any]] = [
            {"sessionId": "f0262141-cb75-43dc-9357-9cbcd5d85ef5", "projectHash": "f", "startTime": _AT, "kind": "main"}
        ]
        for turn in range(turns):
            rows += [
                {"id": f"u{turn}", "timestamp": _AT, "type": "user", "content": [{"text": asked(turn)}]},
                {"id": f"a{turn}", "timestamp": _AT, "type": "gemini", "content": answered(turn), "model": "m"},
            ]
        self.grow(_lines(rows))


class CopilotFile(Keeper):
    """The events of a session."""

    name = "copilot"
    is_lines = True

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / _OF_COPILOT / "events.jsonl"

    def source(self) -> Source:
        """See `Keeper`."""
        return CopilotSessions([str(self.root)], limits=_LIMITS)

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        begin = {"sessionId": _OF_COPILOT, "copilotVersion": "1.0.102", "context": {"cwd": "/work"}}
        rows: list[dict[str, Any]] = [{"type": "session.start", "data": begin, "id": "0", "timestamp": _AT}]
        for turn in range(turns):
            answer = {"content": answered(turn), "model": "m", "toolRequests": []}
            rows += [
                {"type": "user.message", "data": {"content": asked(turn)}, "id": f"u{turn}", "timestamp": _AT},
                {"type": "assistant.message", "data": answer, "id": f"a{turn}", "timestamp": _AT},
            ]
        self.grow(_lines(rows))


class QwenFile(Keeper):
    """A chat."""

    name = "qwen-code"
    is_lines = True

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / "-work" / "chats" / f"{_OF_QWEN}.jsonl"

    def source(self) -> Source:
        """See `Keeper`."""
        return QwenChats([str(self.root)], limits=_LIMITS)

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        said = [line for turn in range(turns) for line in (("user", asked(turn)), ("assistant", answered(turn)))]
        rows = [
            {
                "uuid": f"{number}",
                "parentUuid": f"{number - 1}" if number else None,
                "sessionId": _OF_QWEN,
                "timestamp": _AT,
                "type": kind,
                "cwd": "/work",
                "version": "0.24.4",
                "message": {"role": "user" if kind == "user" else "model", "parts": [{"text": text}]},
            }
            for number, (kind, text) in enumerate(said)
        ]
        self.grow(_lines(rows))


class ClineFile(Keeper):
    """The messages of a session, and its manifest."""

    name = "cline"

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / "1795_a" / "1795_a.messages.json"

    def source(self) -> Source:
        """See `Keeper`."""
        return ClineSessions([str(self.root)], limits=_LIMITS)

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        said = [
            {"role": role, "content": [{"type": "text", "text": text}], "ts": 1}
            for turn in range(turns)
            for role, text in (
                ("user", f"<user_input>{asked(turn)}</user_input>"),
                ("assistant", answered(turn)),
            )
        ]
        whole = {"version": 1, "agent": "lead", "sessionId": "1795_a", "messages": said}
        manifest = {"version": 1, "session_id": "1795_a", "status": "completed", "exit_code": 0, "cwd": "/work"}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        (self.file.parent / "1795_a.json").write_text(json.dumps(manifest))
        self.put(json.dumps(whole, ensure_ascii=False).encode())


class ClineTask(Keeper):
    """What the API was sent in a task of an extension, and what the screen showed."""

    name = "cline"

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / "1795" / "api_conversation_history.json"

    def source(self) -> Source:
        """See `Keeper`."""
        return ClineSessions([str(self.root)], limits=_LIMITS)

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        said = [
            {"role": role, "content": [{"type": "text", "text": text}]}
            for turn in range(turns)
            for role, text in (("user", f"<task>\n{asked(turn)}\n</task>"), ("assistant", answered(turn)))
        ]
        self.file.parent.mkdir(parents=True, exist_ok=True)
        (self.file.parent / "ui_messages.json").write_text(json.dumps([{"ts": turns, "type": "say", "say": "text"}]))
        self.put(json.dumps(said, ensure_ascii=False).encode())


class OpenClawFile(Keeper):
    """A session of OpenClaw before it had a database."""

    name = "openclaw"
    is_lines = True

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / "agents" / "main" / "sessions" / f"{SESSION_OF_OPENCLAW}.jsonl"

    def source(self) -> Source:
        """See `Keeper`."""
        return OpenClaw([str(self.root)], limits=_LIMITS)

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        self.grow(_said_to_pi(turns, id=SESSION_OF_OPENCLAW).content)


class OpenClawRows(OpenClawFile):
    """Rows of the database of one of its agents."""

    name = "openclaw-database"
    is_database = True
    is_lines = False
    written = 0

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        made(self.file)

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return database_in(self.root)

    @property
    def told(self) -> str:
        """See `Keeper`."""
        return f"{self.file}-wal"

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        name = SESSION_OF_OPENCLAW
        if not self.written:
            run(self.file, window(name), *rows(name, _said_to_pi(0, id=name).lines))
        for turn in range(self.written, turns):
            begin = len(_said_to_pi(turn).lines)
            run(self.file, *rows(name, _said_to_pi(turn + 1, id=name).lines, begin=begin))
        self.written = turns

    def delete(self) -> None:
        """See `Keeper`."""
        run(self.file, ("DELETE FROM transcript_events", ()), ("DELETE FROM session_windows", ()))


class PiFile(Keeper):
    """A session of pi."""

    name = "pi"
    is_lines = True

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / "--work--" / FILE

    def source(self) -> Source:
        """See `Keeper`."""
        return PiSessions([str(self.root)], limits=_LIMITS)

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        self.grow(_said_to_pi(turns).content)


class AtifFile(Keeper):
    """A trajectory."""

    name = "atif"

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / "task__abc" / "agent" / "trajectory.json"

    def source(self) -> Source:
        """See `Keeper`."""
        return AtifTrials([str(self.root)], limits=_LIMITS)

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        self.put(run_of(turns))


class AtifLines(AtifFile):
    """Runs as lines, each time the whole one."""

    name = "atif-lines"
    is_lines = True

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / "runs" / "acme.atif.jsonl"

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        self.grow(b"".join(run_of(each) + b"\n" for each in range(1, turns + 1)))


class MiniSweAgentFile(Keeper):
    """A run of mini-SWE-agent."""

    name = "mini-swe-agent"

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / "run" / "django__django-1" / "django__django-1.traj.json"

    def source(self) -> Source:
        """See `Keeper`."""
        return MiniSweAgentRuns([str(self.root)], limits=_LIMITS)

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        said = [
            {"role": role, "content": text}
            for turn in range(turns)
            for role, text in (("user", asked(turn)), ("assistant", answered(turn)))
        ]
        whole = {"info": {"mini_version": "2.4.6"}, "messages": said, "trajectory_format": "mini-swe-agent-1.1"}
        self.put(json.dumps(whole, ensure_ascii=False, indent=2).encode())


class OpenHandsLine(Keeper):
    """A line of an evaluation with OpenHands."""

    name = "openhands"

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / "gpt-5_maxiter_100" / "output.jsonl"

    def source(self) -> Source:
        """See `Keeper`."""
        return OpenHandsRuns([str(self.root)], zone=UTC, limits=_LIMITS)

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        history = [
            {
                "id": f"{turn}-{source}",
                "timestamp": f"2026-11-22T15:{turn:02}:00",
                "kind": "MessageEvent",
                "source": source,
                "llm_message": {"content": text},
            }
            for turn in range(turns)
            for source, text in (("user", asked(turn)), ("agent", answered(turn)))
        ]
        line = {"instance_id": "django__django-1", "test_result": {}, "history": history}
        self.put(json.dumps(line, ensure_ascii=False).encode() + b"\n")


class OpenHandsFolder(Keeper):
    """A conversation of OpenHands."""

    name = "openhands-folder"

    @property
    def told(self) -> str:
        """See `Keeper`."""
        return str(self.file.parent / "events" / "event-00001-b0000000-0000.json")

    @property
    def file(self) -> Path:
        """See `Keeper`."""
        return self.root / "0f9c2b1a" / "base_state.json"

    def source(self) -> Source:
        """See `Keeper`."""
        return OpenHandsRuns([str(self.root)], zone=UTC, limits=_LIMITS)

    def write(self, turns: int) -> None:
        """See `Keeper`."""
        events = self.file.parent / "events"
        events.mkdir(parents=True, exist_ok=True)
        for number in range(2 * turns):
            turn, source = number // 2, ("user", "agent")[number % 2]
            text = answered(turn) if number % 2 else asked(turn)
            event = {"kind": "MessageEvent", "id": str(number), "source": source, "llm_message": {"content": text}}
            file = events / f"event-{number:05}-b0000000-{number:04}.json"
            if not file.exists():
                file.write_text(json.dumps(event), "utf-8")
        state = {"id": "0f9c2b1a", "agent": {"llm": {"model": "m"}}, "leaf_event_id": str(2 * turns - 1)}
        self.put(json.dumps(state).encode())

    def delete(self) -> None:
        """See `Keeper`."""
        shutil.rmtree(self.file.parent)


KEEPERS: tuple[type[Keeper], ...] = (
    HermesFile,
    HermesRows,
    ClaudeCodeFile,
    CodexFile,
    OpenCodeRows,
    GeminiFile,
    CopilotFile,
    QwenFile,
    ClineFile,
    ClineTask,
    OpenClawFile,
    OpenClawRows,
    PiFile,
    AtifFile,
    AtifLines,
    MiniSweAgentFile,
    OpenHandsLine,
    OpenHandsFolder,
)


def run_of(turns: int) -> bytes:
    """Return a run in ATIF."""
    steps = [
        {"source": source, "message": text}
        for turn in range(turns)
        for source, text in (("user", asked(turn)), ("agent", answered(turn)))
    ]
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    whole = {"schema_version": "ATIF-v1.7", "session_id": "run", "steps": numbered}
    return json.dumps(whole, ensure_ascii=False).encode()


def _said_to_pi(turns: int, **head: object) -> PiLines:
    lines = PiLines(**head)
    for turn in range(turns):
        lines.prompt(asked(turn))
        lines.answer(answered(turn))
    return lines


def _spoken(role: str, kind: str, text: str) -> dict[str, Any]:
    content = [{"type": kind, "text": text}]
    return {"timestamp": _AT, "type": "response_item", "payload": {"type": "message", "role": role, "content": content}}


def _lines(rows: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for row in rows)
