"""Grades as a file of Apache Parquet, by the optional package pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Final

from grader_daemon.domain.column import ListOf, Record, Scalar, Shape
from grader_daemon.errors import ConfigurationError
from grader_daemon.integrations.packages import EXTRAS, how_to_add

_ROWS_AT_ONCE: Final = 5_000
_TYPES: Final[Mapping[Scalar, tuple[str, ...]]] = {
    Scalar.TEXT: ("string",),
    Scalar.INTEGER: ("int64",),
    Scalar.NUMBER: ("float64",),
    Scalar.BOOLEAN: ("bool_",),
    Scalar.TIME: ("timestamp", "us", "UTC"),
    Scalar.DAY: ("date32",),
}
"""Makers of pyarrow's types, with their arguments."""


def write_parquet(
    path: Path, rows: Iterable[Sequence[Any]], columns: Mapping[str, Shape], *, metadata: Mapping[str, str]
) -> int:
    """Write rows, their values in the order of `columns`, with `metadata` in the schema; returns how many there were.

    Raises:
        ConfigurationError: pyarrow is not installed.
        OSError: it cannot be written there.
    """
    arrow, parquet = _pyarrow()
    fields = [(name, _arrow_type(arrow, shape)) for name, shape in columns.items()]
    schema = arrow.schema(fields, metadata=dict(metadata))
    readers = [_reader(shape) for shape in columns.values()]
    count = 0
    with parquet.ParquetWriter(str(path), schema, compression="zstd") as writer:
        for batch in _batches(rows):
            count += len(batch)
            arrays = [
                arrow.array([read(value) for value in values], type=field.type)
                for values, read, field in zip(zip(*batch, strict=True), readers, schema, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
    return count


def _arrow_type(arrow: Any, shape: Shape) -> Any:
    match shape:
        case ListOf(each):
            return arrow.list_(_arrow_type(arrow, each))
        case Record(fields):
            return arrow.struct([(name, _arrow_type(arrow, field)) for name, field in fields.items()])
    maker, *arguments = _TYPES[shape]
    return getattr(arrow, maker)(*arguments)


def _reader(shape: Shape) -> Callable[[Any], Any]:
    """Return what makes of a value in a document the one that pyarrow takes."""
    match shape:
        case ListOf(each):
            read = _reader(each)
            return lambda values: None if values is None else [read(value) for value in values]
        case Record(fields):
            return lambda value: value if isinstance(value, dict) else dict(zip(fields, value, strict=True))
    return {Scalar.TIME: _moment, Scalar.DAY: _day}.get(shape, _same)


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
