"""Suggestions of a report: what each is about, and the sessions that show why."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Concern(StrEnum):
    """Subject of a suggestion."""

    ENDED_BADLY = "ended_badly"
    EFFICIENCY = "efficiency"
    RECOVERY = "recovery"
    TASK_TYPE = "task_type"
    TOOL = "tool"
    ERROR = "error"


class Example(msgspec.Struct, frozen=True):
    """Key of the sessions that show a concern; `name` is of the task type, tool or error."""

    of: Concern
    name: str | None = None


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """A suggestion: what to do, the numbers that say so, and up to three sessions that show why."""

    concern: Concern
    text: str
    because: str
    sessions: tuple[str, ...]
