"""Readers of agents' sessions: one room per agent, from its files to a `Session`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grader_daemon.wings import imported

if TYPE_CHECKING:
    from grader_daemon.sources.protocol import Source


def make_built_in(where: str, roots: Sequence[str], **more: Any) -> Source:
    """Make a source of this program, of the class at `where` below this package, which is imported now."""
    source: Source = imported(f"grader_daemon.sources.{where}")(roots, **more)
    return source
