"""Agents that are known by name, and whose sessions this version does not read: where these lie, to say whose they are.

The places are those that the agents' own documents or sources name, or readers of others that are public.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

PAGE: Final = "docs/other-agents.md"
"""The page that says how sessions of any agent are graded."""

_DATA: Final = "XDG_DATA_HOME"
_STATE: Final = "XDG_STATE_HOME"
_HOMES: Final = {_DATA: ".local/share", _STATE: ".local/state", "": ""}
"""Folders below the home, by the variable that moves each."""


class OtherAgent(NamedTuple):
    """An agent: what people call it, and the folders or files below a home that hold its sessions.

    `home` is the variable that moves that home; "" is the person's.
    """

    title: str
    places: tuple[str, ...]
    home: str = ""


class FoundElsewhere(msgspec.Struct, frozen=True, order=True):
    """An agent found on this machine whose sessions this version does not read; `path` is its folder."""

    title: str
    path: str


_AGENTS: Final = (
    OtherAgent("Amp", ("amp/threads",), _DATA),
    OtherAgent(
        "Antigravity",
        tuple(f".gemini/{name}/conversations" for name in ("antigravity", "antigravity-cli", "antigravity-ide")),
    ),
    OtherAgent("Augment", (".augment/sessions",)),
    OtherAgent("Continue", (".continue/sessions",)),
    OtherAgent("Cursor", (".cursor/chats", ".cursor/projects", ".config/Cursor/User/globalStorage/state.vscdb")),
    OtherAgent("Factory Droid", (".factory/sessions",)),
    OtherAgent("Goose", ("goose/sessions",), _DATA),
    OtherAgent("gptme", ("gptme/logs",), _DATA),
    OtherAgent("Grok CLI", (".grok/sessions",)),
    OtherAgent("Junie", (".junie/sessions",)),
    OtherAgent("Kimi CLI", (".kimi/sessions", ".kimi-code/sessions")),
    OtherAgent("Kiro", (".kiro/sessions",)),
    OtherAgent("Kiro CLI", ("kiro-cli/data.sqlite3",), _DATA),
    OtherAgent("Mistral Vibe", (".vibe/logs/session",)),
    OtherAgent("OpenHands before version 1", (".openhands/sessions",)),
    OtherAgent("Trae", (".config/Trae/User/globalStorage/state.vscdb",)),
    OtherAgent("Warp", ("warp-terminal/warp.sqlite",), _STATE),
    OtherAgent("Windsurf", (".codeium/windsurf/cascade",)),
    OtherAgent("Zed", ("zed/threads",), _DATA),
)
_BY_NAME: Final[Mapping[str, str]] = {
    "/.aider.chat.history.md": "Aider",
    "/.crush/crush.db": "Crush",
    ".traj": "SWE-agent",
}
"""Agents that keep a file in each folder that they work in, or in evaluations, by the end of its path."""

_BY_CONTENT: Final = (
    (re.compile(rb"\s{0,9}# aider chat started at \d{4}-"), "Aider"),
    (re.compile(rb'\{\s{0,9}"v":\s{0,9}\d{1,9},\s{0,9}"id":\s{0,9}"T-[0-9a-f]{8}-'), "Amp"),
)


def found_elsewhere() -> list[FoundElsewhere]:
    """Return the agents of which something lies here, each once, by name."""
    there = {agent.title: place for agent, place, _ in reversed([*_places()]) if os.path.exists(place)}
    return sorted(FoundElsewhere(title, place) for title, place in there.items())


def writer_of(path: str, beginning: bytes = b"") -> str | None:
    """Return the agent in whose place a file or folder lies, or whose content is beyond doubt; None for all others.

    Args:
        path: the absolute path. A copy below another home counts, where the folders above it are called the same.
        beginning: of the content, if it is a file.
    """
    for end, title in _BY_NAME.items():
        if path.endswith(end):
            return title
    inside = f"{path}/"
    for agent, place, usual in _places():
        if inside.startswith(f"{place}/") or f"/{usual}/" in inside:
            return agent.title
    return next((title for sign, title in _BY_CONTENT if sign.match(beginning) is not None), None)


def not_read(title: str) -> str:
    """Return that an agent wrote something, and what to do about it."""
    return f"{title} wrote this, which this version does not read; how to have it graded: {PAGE}"


def _places() -> Iterator[tuple[OtherAgent, str, str]]:
    """Yield each agent with a place of its own, and what that is called below a home where nothing moves it."""
    for agent in _AGENTS:
        for place in agent.places:
            usual = os.path.join(_HOMES[agent.home], place)
            moved = os.environ.get(agent.home)
            yield agent, os.path.join(moved, place) if moved else os.path.expanduser(f"~/{usual}"), usual
