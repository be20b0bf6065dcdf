"""Many grades as a file: lines of CSV or JSON, or Apache Parquet; whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from grader_daemon.api.documents import grade_document
from grader_daemon.api.tables import TableForm, columns, table_lines
from grader_daemon.domain.calibration import Trust
from grader_daemon.errors import InputError
from grader_daemon.integrations.files import replaced
from grader_daemon.push.parquet import write_parquet
from grader_daemon.storage.records import StoredGrade
from grader_daemon.system.open_files import sync

COLUMNS_VERSION: Final = 3
"""Of the columns of a table, as files of Parquet name it; new columns do not change it."""


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
                sync(written.fileno())
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
    rows = (list(grade_document(stored.grade, stored.id, trust=trust).values()) for stored in grades)
    return write_parquet(path, rows, columns(), metadata={"grader_daemon.columns_version": str(COLUMNS_VERSION)})
