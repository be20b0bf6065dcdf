from __future__ import annotations

from pathlib import Path

import pytest

from grader_daemon import bootstrap
from grader_daemon.sources.default_roots import default_roots, moved_by

_OTHERS = ("COPILOT_HOME", "QWEN_RUNTIME_DIR", "QWEN_HOME", "CLINE_DIR", "CLINE_DATA_DIR", "CLINE_SESSION_DATA_DIR")
_OF_PI = ("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "OPENCLAW_STATE_DIR", "OPENCLAW_HOME")
_OF_OPENHANDS = ("OPENHANDS_CONVERSATIONS_DIR", "OPENHANDS_PERSISTENCE_DIR")
_TOLD = (
    "HERMES_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "XDG_DATA_HOME",
    "GEMINI_CLI_HOME",
    *_OTHERS,
    *_OF_PI,
    *_OF_OPENHANDS,
)


def test_each_agent_has_folders_in_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in _TOLD:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", "/home/a")

    assert {name: default_roots(name) for name in bootstrap.SOURCES} == {
        "hermes": ("/home/a/.hermes",),
        "claude-code": ("/home/a/.claude/projects",),
        "codex": ("/home/a/.codex/sessions", "/home/a/.codex/archived_sessions"),
        "opencode": tuple(f"/home/a/.local/share/{name}" for name in ("opencode", "kilo", "mimocode")),
        "gemini-cli": ("/home/a/.gemini/tmp",),
        "copilot": ("/home/a/.copilot/session-state",),
        "qwen-code": ("/home/a/.qwen/projects",),
        "cline": ("/home/a/.cline/data/sessions",),
        "pi": ("/home/a/.pi/agent/sessions", "/home/a/.omp/agent/sessions", "/home/a/.prime/agent/sessions"),
        "openclaw": ("/home/a/.openclaw/agents",),
        "atif": (),
        "mini-swe-agent": (),
        "openhands": ("/home/a/.openhands/conversations",),
    }


def test_they_follow_the_agents_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in _TOLD:
        monkeypatch.setenv(variable, f"/srv/{variable}")

    assert default_roots("hermes") == ("/srv/HERMES_HOME",)
    assert default_roots("claude-code") == ("/srv/CLAUDE_CONFIG_DIR/projects",)
    assert default_roots("codex") == ("/srv/CODEX_HOME/sessions", "/srv/CODEX_HOME/archived_sessions")
    assert default_roots("opencode") == tuple(f"/srv/XDG_DATA_HOME/{name}" for name in ("opencode", "kilo", "mimocode"))
    assert default_roots("gemini-cli") == ("/srv/GEMINI_CLI_HOME/.gemini/tmp",)
    assert default_roots("copilot") == ("/srv/COPILOT_HOME/session-state",)
    assert default_roots("qwen-code") == ("/srv/QWEN_RUNTIME_DIR/projects",)
    monkeypatch.delenv("QWEN_RUNTIME_DIR")
    assert default_roots("qwen-code") == ("/srv/QWEN_HOME/projects",)
    assert default_roots("openclaw") == ("/srv/OPENCLAW_STATE_DIR/agents",)
    monkeypatch.delenv("OPENCLAW_STATE_DIR")
    assert default_roots("openclaw") == ("/srv/OPENCLAW_HOME/.openclaw/agents",)
    assert default_roots("openhands") == ("/srv/OPENHANDS_CONVERSATIONS_DIR",)
    monkeypatch.delenv("OPENHANDS_CONVERSATIONS_DIR")
    assert default_roots("openhands") == ("/srv/OPENHANDS_PERSISTENCE_DIR/conversations",)
    assert default_roots("pi")[0] == "/srv/PI_CODING_AGENT_SESSION_DIR"
    monkeypatch.delenv("PI_CODING_AGENT_SESSION_DIR")
    assert default_roots("pi")[0] == "/srv/PI_CODING_AGENT_DIR/sessions"


def test_cline_has_tasks_where_its_extensions_keep_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in _OTHERS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    roo = tmp_path / ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks"
    roo.mkdir(parents=True)
    sessions = tmp_path / ".cline/data/sessions"

    assert default_roots("cline") == (str(sessions), str(roo))
    monkeypatch.setenv("CLINE_DIR", "/srv/cline")
    assert default_roots("cline")[0] == "/srv/cline/data/sessions"
    monkeypatch.setenv("CLINE_DATA_DIR", "/srv/data")
    assert default_roots("cline")[0] == "/srv/data/sessions"
    monkeypatch.setenv("CLINE_SESSION_DATA_DIR", "/srv/sessions")
    assert default_roots("cline")[0] == "/srv/sessions"


def test_each_variable_that_moves_an_agent_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    moving = set(_TOLD) - {"HERMES_HOME"}  # whose folders are always set
    for variable in _TOLD:
        monkeypatch.delenv(variable, raising=False)
    assert [moved_by(name) for name in bootstrap.SOURCES if moved_by(name)] == []

    for variable in moving:
        with monkeypatch.context() as patched:
            patched.setenv(variable, "/srv/x")
            assert [name for name in bootstrap.SOURCES if moved_by(name) == variable], variable
