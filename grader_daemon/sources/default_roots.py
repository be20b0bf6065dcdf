"""Default folders of agents' sessions.

Apart from the sources: whoever asks whether an agent is here need not load how its sessions are read.
"""

from __future__ import annotations

import os


def default_roots(source: str) -> tuple[str, ...]:
    """Return the folders below which the sessions of the source of this name lie; none where anybody may choose."""
    match source:
        case "hermes":
            return (_told("HERMES_HOME", "~/.hermes"),)
        case "claude-code":
            return (os.path.join(_told("CLAUDE_CONFIG_DIR", "~/.claude"), "projects"),)
        case "codex":
            home = _told("CODEX_HOME", "~/.codex")
            return (os.path.join(home, "sessions"), os.path.join(home, "archived_sessions"))
        case "opencode":
            data = _told("XDG_DATA_HOME", "~/.local/share")
            return tuple(os.path.join(data, name) for name in ("opencode", "kilo", "mimocode"))
        case "gemini-cli":
            return (os.path.join(_told("GEMINI_CLI_HOME", "~"), ".gemini", "tmp"),)
        case "pi":
            return (_of_pi(), *(os.path.expanduser(f"~/{kin}/agent/sessions") for kin in (".omp", ".prime")))
        case "openclaw":
            return (os.path.join(_told("OPENCLAW_STATE_DIR", "~/.openclaw"), "agents"),)
        case _:
            return ()


def _of_pi() -> str:
    home = os.path.join(_told("PI_CODING_AGENT_DIR", "~/.pi/agent"), "sessions")
    return _told("PI_CODING_AGENT_SESSION_DIR", home)


def _told(variable: str, otherwise: str) -> str:
    return os.environ.get(variable) or os.path.expanduser(otherwise)
