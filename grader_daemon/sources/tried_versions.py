"""Newest versions of agents that the readers were tried with; the pages of the sources say how."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_TRIED: Final[Mapping[str, str]] = {
    "hermes": "0.19.0",
    "claude-code": "2.1.330",
    "codex": "0.169.0",
    "opencode": "1.18.33",
    "gemini-cli": "0.61.0",
    "copilot": "1.0.102",
    "qwen-code": "0.24.4",
    "cline": "3.0.65",
    "openclaw": "2026.9.6",
    "pi": "1.5.2",
    "mini-swe-agent": "2.4.6",
}
_NUMBERS: Final = re.compile(r"v?(\d{1,9}(?:\.\d{1,9}){0,5})")


def newer_than(source: str, agent: str | None, version: str | None) -> str | None:
    """Return the newest version that was tried where an agent's is newer; None where it is not, or cannot be told.

    Args:
        source: the name of the source.
        agent: whose version it is; of those that were made from the agent of the source none is known.
        version: as its sessions say it.
    """
    tried = _TRIED.get(source)
    if tried is None or version is None or agent not in (None, source):
        return None
    found = _NUMBERS.match(version)
    return tried if found is not None and _numbers(found[1]) > _numbers(tried) else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
