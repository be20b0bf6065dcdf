"""Many grades as a table for other programs: lines of CSV or JSON, or a file of Parquet."""

from __future__ import annotations

import csv
import io
import os
import types
from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

import msgspec

from grader_daemon.api.documents import GRADE_NAMES, grade_document
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.text import clean, escaped
from grader_daemon.errors import InputError
from grader_daemon.integrations.files import replaced
from grader_daemon.integrations.parquet import Kind, write_parquet
from grader_daemon.storage.records import StoredGrade

COLUMNS_VERSION: Final = 1
"""Of the columns of a table, as files of Parquet name it; new columns do not change it."""

_BEGINS_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""Spreadsheets take a cell that begins so for a formula, and what stands in a session is not ours."""


class TableForm(StrEnum):
    """Form in which a table is written; `ndjson` is a JSON document on each line."""

    CSV = "csv"
    NDJSON = "ndjson"
    PARQUET = "parquet"


def columns() -> dict[str, Kind]:
    """Return the columns of a table of grades, in their order, each with what it holds."""
    hints = {**get_type_hints(Grade), "id": int, "ended_on": None, "outcome": str, "verdict": str, "score": float}
    return {name: Kind.DAY if name == "ended_on" else _kind(hints[name]) for name in ("id", *GRADE_NAMES)}


def _kind(hint: Any) -> Kind:
    [held] = [each for each in get_args(hint) if each is not types.NoneType] if _is_union(hint) else [hint]
    by_type = {bool: Kind.BOOLEAN, int: Kind.INTEGER, float: Kind.NUMBER, datetime: Kind.TIME}
    if held in by_type:
        return by_type[held]
    return Kind.TEXT if isinstance(held, type) and issubclass(held, str) else Kind.JSON


def _is_union(hint: Any) -> bool:
    return isinstance(hint, types.UnionType)


def table_lines(grades: Iterable[StoredGrade], form: TableForm, trust: Trust) -> Iterator[str]:
    """Yield the lines of a table as CSV, its headings first, or as JSON; a terminal can be given them."""
    documents = (grade_document(stored.grade, stored.id, trust=trust) for stored in grades)
    return _csv_lines(documents) if form is TableForm.CSV else map(_encoded, documents)


def write_table(path: Path, grades: Iterable[StoredGrade], form: TableForm, trust: Trust) -> int:
    """Write a table into a file, whole or not at all; returns how many grades are in it.

    Raises:
        ConfigurationError: it is to be Parquet, and pyarrow is not installed.
        InputError: it cannot be written there.
    """
    try:
        with replaced(path) as beside:
            write = _write_parquet if form is TableForm.PARQUET else _write_lines
            count = write(beside, grades, form, trust)
            with beside.open("rb") as written:
                os.fsync(written.fileno())
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
    return count


def _write_lines(path: Path, grades: Iterable[StoredGrade], form: TableForm, trust: Trust) -> int:
    count = -1 if form is TableForm.CSV else 0
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        for line in table_lines(grades, form, trust):
            file.write(f"{line}\n")
            count += 1
    return count


def _write_parquet(path: Path, grades: Iterable[StoredGrade], _: TableForm, trust: Trust) -> int:
    kinds = columns()
    texts = [kind in (Kind.TEXT, Kind.JSON) for kind in kinds.values()]
    rows = (
        [
            _text(value) if is_text else value
            for value, is_text in zip(grade_document(stored.grade, stored.id, trust=trust).values(), texts, strict=True)
        ]
        for stored in grades
    )
    return write_parquet(path, rows, kinds, metadata={"grader_daemon.columns_version": str(COLUMNS_VERSION)})


def _text(value: Any) -> str | None:
    """Return a text as it is, a list or an object as JSON."""
    return value if value is None or isinstance(value, str) else _encoded(value)


def _csv_lines(documents: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table, its headings first; lists are JSON in their cells, what is unknown is empty."""
    yield ",".join(("id", *GRADE_NAMES))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="")
    for document in documents:
        buffer.seek(0)
        buffer.truncate()
        writer.writerow([_csv_cell(value) for value in document.values()])
        yield buffer.getvalue()


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return _encoded(value)
    shown = clean(value)
    return f"'{shown}" if shown.startswith(_BEGINS_FORMULA) else shown


def _encoded(value: Any) -> str:
    return escaped(msgspec.json.encode(value).decode("utf-8", "backslashreplace"))
