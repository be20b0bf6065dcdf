"""Default folders of agents' sessions.

Apart from the sources: whoever asks whether an agent is here need not load how its sessions are read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final

_EDITORS: Final = (
    *(".config/Code", ".config/Code - Insiders", ".config/VSCodium", ".config/Cursor", ".config/Windsurf"),
    *(".vscode-server/data", ".cursor-server/data", "Library/Application Support/Code"),
)
"""Folders of Visual Studio Code, and of editors made from it, below a home."""

_EXTENSIONS: Final = ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline", "kilocode.kilo-code")
"""Cline, Roo Code and Kilo Code."""


def default_roots(source: str) -> tuple[str, ...]:
    """Return the folders below which the sessions of the source of this name lie; none where anybody may choose."""
    roots = _ROOTS.get(source)
    return () if roots is None else roots()


def moved_by(source: str) -> str | None:
    """Return the variable of the environment by which an agent keeps its sessions elsewhere; None if none is set."""
    return next((variable for variable in _VARIABLES.get(source, ()) if os.environ.get(variable)), None)


def _codex_roots() -> tuple[str, ...]:
    home = _told("CODEX_HOME", "~/.codex")
    return os.path.join(home, "sessions"), os.path.join(home, "archived_sessions")


def _qwen_roots() -> tuple[str, ...]:
    return (os.path.join(os.environ.get("QWEN_RUNTIME_DIR") or _told("QWEN_HOME", "~/.qwen"), "projects"),)


def _cline_roots() -> tuple[str, ...]:
    """Return the folder of Cline's program, and those with tasks of its older one and of extensions that are there."""
    data = os.environ.get("CLINE_DATA_DIR") or os.path.join(_told("CLINE_DIR", "~/.cline"), "data")
    editors = [os.path.expanduser(f"~/{editor}/User/globalStorage") for editor in _EDITORS]
    tasks = [os.path.join(storage, extension, "tasks") for storage in editors for extension in _EXTENSIONS]
    there = [folder for folder in (os.path.join(data, "tasks"), *tasks) if os.path.isdir(folder)]
    return (_told("CLINE_SESSION_DATA_DIR", os.path.join(data, "sessions")), *there)


def _openclaw_roots() -> tuple[str, ...]:
    home = _told("OPENCLAW_STATE_DIR", os.path.join(_told("OPENCLAW_HOME", "~"), ".openclaw"))
    return (os.path.join(home, "agents"),)


def _opencode_roots() -> tuple[str, ...]:
    data = _told("XDG_DATA_HOME", "~/.local/share")
    return tuple(os.path.join(data, name) for name in ("opencode", "kilo", "mimocode"))


def _openhands_roots() -> tuple[str, ...]:
    home = _told("OPENHANDS_PERSISTENCE_DIR", "~/.openhands")
    return (_told("OPENHANDS_CONVERSATIONS_DIR", os.path.join(home, "conversations")),)


def _pi_roots() -> tuple[str, ...]:
    return (_of_pi(), *(os.path.expanduser(f"~/{kin}/agent/sessions") for kin in (".omp", ".prime")))


def _of_pi() -> str:
    home = os.path.join(_told("PI_CODING_AGENT_DIR", "~/.pi/agent"), "sessions")
    return _told("PI_CODING_AGENT_SESSION_DIR", home)


def _told(variable: str, otherwise: str) -> str:
    return os.environ.get(variable) or os.path.expanduser(otherwise)


def _below(variable: str, otherwise: str, *folders: str) -> Callable[[], tuple[str, ...]]:
    return lambda: (os.path.join(_told(variable, otherwise), *folders),)


_ROOTS: Final[Mapping[str, Callable[[], tuple[str, ...]]]] = {
    "hermes": _below("HERMES_HOME", "~/.hermes"),
    "claude-code": _below("CLAUDE_CONFIG_DIR", "~/.claude", "projects"),
    "codex": _codex_roots,
    "opencode": _opencode_roots,
    "gemini-cli": _below("GEMINI_CLI_HOME", "~", ".gemini", "tmp"),
    "copilot": _below("COPILOT_HOME", "~/.copilot", "session-state"),
    "qwen-code": _qwen_roots,
    "cline": _cline_roots,
    "openclaw": _openclaw_roots,
    "pi": _pi_roots,
    "openhands": _openhands_roots,
}
_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "claude-code": ("CLAUDE_CONFIG_DIR",),
    "codex": ("CODEX_HOME",),
    "opencode": ("XDG_DATA_HOME",),
    "gemini-cli": ("GEMINI_CLI_HOME",),
    "copilot": ("COPILOT_HOME",),
    "qwen-code": ("QWEN_RUNTIME_DIR", "QWEN_HOME"),
    "cline": ("CLINE_SESSION_DATA_DIR", "CLINE_DATA_DIR", "CLINE_DIR"),
    "openclaw": ("OPENCLAW_STATE_DIR", "OPENCLAW_HOME"),
    "pi": ("PI_CODING_AGENT_SESSION_DIR", "PI_CODING_AGENT_DIR"),
    "openhands": ("OPENHANDS_CONVERSATIONS_DIR", "OPENHANDS_PERSISTENCE_DIR"),
}
"""Variables that agents know themselves. A service has an environment of its own, in which they are not set."""
