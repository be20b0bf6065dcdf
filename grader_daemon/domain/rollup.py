"""Counts and sums over sessions, by day and group: what statistics are made of.

Everything is an integer, so that adding a session and taking it away again leaves exactly what was there.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self

import msgspec


class Dimension(StrEnum):
    """By what sessions are grouped. A session is in several groups of `TOOL` and `CATEGORY`."""

    OVERALL = "overall"
    TASK_TYPE = "task_type"
    TOOL = "tool"
    MODEL = "model"
    PLATFORM = "platform"
    CATEGORY = "category"


class Sums(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Sums over the finished sessions of a group; `open_sessions` counts those that are not finished.

    `calls` and `failures` are the tool calls of the sessions and those that failed: in a group of `Dimension.TOOL`
    those of the tool, in one of `Dimension.CATEGORY` the failures of the category. Names that end in ``_squares`` are
    sums of squares per session, `calls_failures` of products. `score_squares` is of three times the session score.
    """

    sessions: int = 0
    open_sessions: int = 0
    completed: int = 0
    with_errors: int = 0
    recovered: int = 0
    efficiency: int = 0
    efficiency_squares: int = 0
    quality: int = 0
    quality_squares: int = 0
    score_squares: int = 0
    calls: int = 0
    calls_squares: int = 0
    failures: int = 0
    failures_squares: int = 0
    calls_failures: int = 0

    def __add__(self, other: Self) -> Self:
        """Field by field."""
        return type(self)(**{name: getattr(self, name) + getattr(other, name) for name in SUM_NAMES})


SUM_NAMES = Sums.__struct_fields__
"""The fields of `Sums`, in order."""
