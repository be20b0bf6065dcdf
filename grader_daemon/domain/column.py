"""Columns of tables for other programs."""

from __future__ import annotations

from enum import StrEnum


class ColumnKind(StrEnum):
    """Type of a column; `time` is in UTC, `day` as in 2026-11-22, `json` the text of a list or an object."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "time"
    DAY = "day"
    JSON = "json"
