"""Grades as a file of Apache Parquet, by the optional package pyarrow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Final

from grader_daemon.domain.column import ColumnKind
from grader_daemon.errors import ConfigurationError
from grader_daemon.integrations.packages import EXTRAS, how_to_add

_ROWS_AT_ONCE: Final = 5_000
_TYPES: Final[Mapping[ColumnKind, tuple[str, ...]]] = {
    ColumnKind.TEXT: ("string",),
    ColumnKind.INTEGER: ("int64",),
    ColumnKind.NUMBER: ("float64",),
    ColumnKind.BOOLEAN: ("bool_",),
    ColumnKind.TIME: ("timestamp", "us", "UTC"),
    ColumnKind.DAY: ("date32",),
    ColumnKind.JSON: ("string",),
}
"""Makers of pyarrow's types, with their arguments."""


def write_parquet(
    path: Path, rows: Iterable[Sequence[Any]], columns: Mapping[str, ColumnKind], *, metadata: Mapping[str, str]
) -> int:
    """Write rows, their values in the order of `columns`, with `metadata` in the schema; returns how many there were.

    Raises:
        ConfigurationError: pyarrow is not installed.
        OSError: it cannot be written there.
    """
    arrow, parquet = _pyarrow()
    fields = [(name, getattr(arrow, _TYPES[kind][0])(*_TYPES[kind][1:])) for name, kind in columns.items()]
    schema = arrow.schema(fields, metadata=dict(metadata))
    count = 0
    with parquet.ParquetWriter(str(path), schema, compression="zstd") as writer:
        for batch in _batches(rows):
            count += len(batch)
            arrays = [
                arrow.array([_READ[kind](value) for value in values], type=field.type)
                for values, kind, field in zip(zip(*batch, strict=True), columns.values(), schema, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
    return count


def _same(value: Any) -> Any:
    return value


def _moment(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)


def _day(value: str | None) -> date | None:
    """Read a day; a row that another program left may hold anything."""
    try:
        return date.fromisoformat(value or "")
    except ValueError:
        return None


_READ: Final[Mapping[ColumnKind, Callable[[Any], Any]]] = defaultdict(
    lambda: _same, {ColumnKind.TIME: _moment, ColumnKind.DAY: _day}
)


def _batches(rows: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    reading = iter(rows)
    while batch := list(islice(reading, _ROWS_AT_ONCE)):
        yield batch


def _pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise ConfigurationError(
            f"Parquet needs the package pyarrow. Add it: {how_to_add(*EXTRAS['parquet'])}"
        ) from error
