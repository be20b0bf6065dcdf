"""Origin of a Codex thread, read from its first line in each version's format."""

from __future__ import annotations

from typing import NamedTuple

from grader_daemon.domain.limits import LONGEST_NAME
from grader_daemon.domain.session import SessionKind
from grader_daemon.sources.codex.rollout_lines import Meta

_SUB_AGENT = "subagent"
_REVIEWS = ("review", "guardian")


class Origin(NamedTuple):
    """See `Session`."""

    kind: SessionKind
    parent: str | None
    platform: str | None


def read_origin(meta: Meta) -> Origin:
    """Return where a thread comes from."""
    source = meta.source
    if isinstance(source, dict) and _SUB_AGENT in source:
        made_by = source[_SUB_AGENT]
        kind = SessionKind.REVIEW if _is_review(made_by) else SessionKind.SUB_AGENT
        return Origin(kind, meta.parent_thread_id or _spawned_by(made_by) or meta.forked_from_id, meta.originator)
    platform = source if isinstance(source, str) else meta.originator
    if meta.thread_source == _SUB_AGENT or meta.parent_thread_id is not None:
        return Origin(SessionKind.SUB_AGENT, meta.parent_thread_id, platform)
    return Origin(SessionKind.MAIN, meta.forked_from_id, platform)


def _is_review(made_by: object) -> bool:
    """Return whether it judges the work of another thread: {"other": "guardian"}, "review"."""
    name = made_by.get("other") if isinstance(made_by, dict) else made_by
    return isinstance(name, str) and name.startswith(_REVIEWS)


def _spawned_by(made_by: object) -> str | None:
    spawn = made_by.get("thread_spawn") if isinstance(made_by, dict) else None
    parent = spawn.get("parent_thread_id") if isinstance(spawn, dict) else None
    return parent[:LONGEST_NAME] if isinstance(parent, str) and parent else None
