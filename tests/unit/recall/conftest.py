"""A server of a database with three sessions, asked in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.recall.mcp_server import Server
from grader_daemon.recall.revisions import AGREED
from grader_daemon.recall.toolbox import Toolbox
from tests.past_sessions import known_database

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}


class Talk:
    """One conversation."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def line(self, message: object) -> Any:
        """Return what answers a line, decoded; None where nothing does."""
        answer = self.server.answer(json.dumps(message).encode() if not isinstance(message, bytes) else message)
        if answer is None:
            return None
        assert answer.endswith(b"\n")
        assert b"\n" not in answer[:-1]
        return json.loads(answer)

    def ask(self, method: str, /, **params: object) -> Any:
        """Return the answer to a request."""
        answer = self.line({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", 7)
        return answer

    def agree(self, version: str = AGREED[0]) -> Talk:
        """Open as clients do that agree on a revision."""
        self.ask("initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "test", "version": "1"})
        assert self.line({"jsonrpc": "2.0", "method": "notifications/initialized"}) is None
        return self

    def call(self, tool: str, /, **arguments: object) -> Any:
        """Return the result of a tool."""
        return self.ask("tools/call", name=tool, arguments=arguments)["result"]

    def said(self, tool: str, /, **arguments: object) -> str:
        """Return the text that a tool answers with."""
        result = self.call(tool, **arguments)
        assert result["isError"] is False
        ((content),) = result["content"]
        assert content["type"] == "text"
        return str(content["text"])


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return known_database(tmp_path / "grades.db")


@pytest.fixture
def talk(database: Path) -> Talk:
    """A conversation that nobody has opened yet."""
    return Talk(Server(Toolbox(database, with_grades=False)))
