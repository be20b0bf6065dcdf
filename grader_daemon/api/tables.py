"""Many grades, or their usage, as a table for other programs: its columns, and its lines of CSV or JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from enum import StrEnum
from typing import Any, Final, get_type_hints

import msgspec
import msgspec.inspect

from grader_daemon.api.documents import GRADE_NAMES, FailureDocument, grade_document
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.column import ListOf, Record, Scalar, Shape
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.insight import Spending
from grader_daemon.domain.text import clean, escaped
from grader_daemon.domain.usage_by_day import UsageByDay
from grader_daemon.storage.records import StoredGrade

_BEGINS_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""Spreadsheets take a cell that begins so for a formula, and what stands in a session is not ours."""

_SCALARS: Final[Mapping[type, Scalar]] = {
    msgspec.inspect.BoolType: Scalar.BOOLEAN,
    msgspec.inspect.IntType: Scalar.INTEGER,
    msgspec.inspect.FloatType: Scalar.NUMBER,
    msgspec.inspect.DateTimeType: Scalar.TIME,
    msgspec.inspect.DateType: Scalar.DAY,
    msgspec.inspect.StrType: Scalar.TEXT,
    msgspec.inspect.EnumType: Scalar.TEXT,
}

_USAGE: Final = (
    *("sessions", "cost_usd", "priced", "input_tokens", "cache_read_tokens", "cache_write_tokens"),
    *("output_tokens", "metered"),
)
"""Columns of usage behind day and group; see `Spending`."""


class TableForm(StrEnum):
    """Form in which a table is written; `ndjson` is a JSON document on each line."""

    CSV = "csv"
    NDJSON = "ndjson"
    PARQUET = "parquet"


def columns() -> dict[str, Shape]:
    """Return the columns of a table of grades, in their order, each with what it holds."""
    hints = {**get_type_hints(Grade), "id": int, "ended_on": date, "outcome": str, "verdict": str, "score": float}
    hints |= {"failures": list[FailureDocument], "edited_paths": list[str]}
    return {name: _shape(msgspec.inspect.type_info(hints[name])) for name in ("id", *GRADE_NAMES)}


def _shape(held: msgspec.inspect.Type) -> Shape:
    match held:
        case msgspec.inspect.UnionType(types=types):
            return next(_shape(each) for each in types if not isinstance(each, msgspec.inspect.NoneType))
        case msgspec.inspect.CollectionType(item_type=item):
            return ListOf(_shape(item))
        case msgspec.inspect.StructType() | msgspec.inspect.TypedDictType() | msgspec.inspect.NamedTupleType():
            return Record({field.encode_name: _shape(field.type) for field in held.fields})
    return _SCALARS[type(held)]


def table_lines(grades: Iterable[StoredGrade], form: TableForm, trust: Trust) -> Iterator[str]:
    """Yield the lines of a table as CSV, its headings first, or as JSON; a terminal can be given them."""
    documents = (grade_document(stored.grade, stored.id, trust=trust) for stored in grades)
    if form is TableForm.CSV:
        return _csv_lines(("id", *GRADE_NAMES), (document.values() for document in documents))
    return map(encoded, documents)


def usage_lines(used: UsageByDay) -> Iterator[str]:
    """Yield what the groups of each day cost and used as the lines of a table, its headings first."""
    rows = ((day.day.isoformat(), name, *_amounts(spent)) for day in used.daily for name, spent in day.groups.items())
    return _csv_lines(("day", used.split.value, *_USAGE), rows)


def _amounts(spent: Spending) -> Iterator[Any]:
    return (getattr(spent, name) for name in _USAGE)


def _csv_lines(headings: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Yield the lines of a table, its headings first; lists are JSON in their cells, what is unknown is empty."""
    yield ",".join(headings)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="")
    for row in rows:
        buffer.seek(0)
        buffer.truncate()
        writer.writerow([_csv_cell(value) for value in row])
        yield buffer.getvalue()


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return encoded(value)
    shown = clean(value)
    return f"'{shown}" if shown.startswith(_BEGINS_FORMULA) else shown


def encoded(value: Any) -> str:
    """Return a value as JSON that a terminal can be given."""
    return escaped(msgspec.json.encode(value).decode("utf-8", "backslashreplace"))
