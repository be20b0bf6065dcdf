"""Names of what changed in how agents are set up, in sentences and on charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grader_daemon.domain.setup_changes import SetupChange, SetupKind
from grader_daemon.reports.safe_text import Words, cut, name

_LONGEST_MARK: Final = 12
"""Columns of what stands at a mark on a chart."""
SUBJECTS: Final = {
    SetupKind.MODEL: "the model",
    SetupKind.AGENT_VERSION: "the version",
    SetupKind.SYSTEM_PROMPT: "the system prompt",
    SetupKind.TOOLS: "the list of tools",
    SetupKind.SKILL: "skill ",
    SetupKind.CONFIGURATION: "",
}
_NAMED_VALUES: Final = frozenset({SetupKind.MODEL, SetupKind.AGENT_VERSION})
"""Kinds whose values say something to people; those of others are digests."""


def change_words(change: SetupChange) -> Words:
    """Return what changed: "the model of hermes changed from a to b", "skill x of hermes was edited", or removed."""
    subject: Words = (SUBJECTS[change.kind],) if change.name is None else (SUBJECTS[change.kind], name(change.name))
    whose: Words = () if change.agent is None else (" of ", name(change.agent))
    whose += (" in scheduled runs",) if change.scheduled else ()
    if change.kind in _NAMED_VALUES and change.before is not None and change.after is not None:
        return (*subject, *whose, " changed from ", name(change.before), " to ", name(change.after))
    if change.name is None:
        return (*subject, *whose, " changed")
    if change.after is None:
        return (*subject, *whose, " was removed")
    return (*subject, *whose, " was edited" if change.before is not None else " was added")


def mark_words(changes: Sequence[SetupChange]) -> str:
    """Name changes of one day or week as short as it goes, for a mark on a chart."""
    if len(changes) > 1:
        return f"{len(changes)} changes"
    change = changes[0]
    return cut(name(change.name or change.kind.replace("_", " ")).text, _LONGEST_MARK)
