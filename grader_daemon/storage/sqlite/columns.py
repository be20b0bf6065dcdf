"""Columns of tables, each made of one field of a value: the way there and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple


class Column(NamedTuple):
    """A column: its name, how what is in `field` is written, and how it is read back; None leaves it as it is.

    Rows of the original program, and those of versions before the column was added, hold nothing: that is read as
    `known`.
    """

    name: str
    write: Callable[[Any], Any] | None = None
    read: Callable[[Any], Any] | None = None
    field: str = ""
    known: str | int | None = None


class Columns:
    """Columns in order, made of the fields of one value."""

    def __init__(self, *columns: Column) -> None:
        self.names = tuple(column.name for column in columns)
        self.field_names = tuple(column.field or column.name for column in columns)
        self._take = attrgetter(*self.field_names)
        self._writers = [(place, column.write) for place, column in enumerate(columns) if column.write is not None]
        self._readers = [(place, column.read) for place, column in enumerate(columns) if column.read is not None]
        self._known = [(place, column.known) for place, column in enumerate(columns) if column.known is not None]
        self._columns = columns

    @property
    def readers(self) -> dict[str, Callable[[Any], Any]]:
        """Return what reads columns, by the names of the fields; those of others are as they are."""
        return {self.field_names[place]: read for place, read in self._readers}

    def nothing(self) -> dict[str, Any]:
        """Return the fields of columns that hold nothing."""
        return self.fields([None] * len(self._columns))

    def row(self, value: object) -> list[Any]:
        """Return what the columns hold of a value."""
        row = list(self._take(value))
        for place, write in self._writers:
            row[place] = write(row[place])
        return row

    def fields(self, row: Sequence[Any]) -> dict[str, Any]:
        """Return the fields of a value by its columns."""
        values = list(row)
        for place, known in self._known:
            if not values[place]:
                values[place] = known
        for place, read in self._readers:
            if values[place] is not None:
                values[place] = read(values[place])
        return dict(zip(self.field_names, values, strict=True))

    def held(self, columns: Sequence[Sequence[Any]]) -> dict[str, Sequence[Any]]:
        """Return what the columns hold in many rows, which is not read, by the fields."""
        values = list(columns)
        for place, known in self._known:
            values[place] = [value or known for value in values[place]]
        return dict(zip(self.field_names, values, strict=True))

    def __add__(self, others: Columns) -> Columns:
        """Return these columns, and others behind them."""
        return Columns(*self._columns, *others._columns)

    def only(self, *names: str) -> Columns:
        """Return some of the columns, in this order."""
        by_name = {column.name: column for column in self._columns}
        return Columns(*(by_name[name] for name in names))
