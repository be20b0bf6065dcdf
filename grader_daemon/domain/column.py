"""Columns of tables for other programs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, TypeAlias, Union


class Scalar(StrEnum):
    """Type of a single value; `time` is in UTC, `day` as in 2026-11-22."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "time"
    DAY = "day"


class Record(NamedTuple):
    """Type of an object, by the names of its fields."""

    fields: Mapping[str, Shape]

    def __str__(self) -> str:
        return ", ".join(f"{name} {shape}" for name, shape in self.fields.items())


class ListOf(NamedTuple):
    """Type of a list."""

    each: Shape

    def __str__(self) -> str:
        return f"list of ({self.each})" if isinstance(self.each, Record) else f"list of {self.each}"


Shape: TypeAlias = Union[Scalar, Record, ListOf]  # noqa: UP007  each is defined by the others
"""Type of what a column holds; `str` names it."""
