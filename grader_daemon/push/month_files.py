"""A folder with a table of grades for each month, of which each export writes those anew in which something changed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from grader_daemon.api.context import GraderContext
from grader_daemon.api.grades import GradeFilter, Grades
from grader_daemon.api.json_text import json_text
from grader_daemon.api.tables import TableForm, columns
from grader_daemon.domain.calibration import Trust
from grader_daemon.errors import InputError
from grader_daemon.integrations.files import replace_file
from grader_daemon.push.table_file import write_table
from grader_daemon.storage.records import MonthMark

_INDEX: Final = "_grades.json"
"""What the folder holds; readers of partitioned tables pass over files that begin so."""


_OUTDATED: Final = MonthMark(0, 0)
"""The mark of a month whose table is to be written anew, whatever is in it."""


class ExportedMonths(msgspec.Struct, frozen=True, kw_only=True):
    """Months (UTC) `written` or `removed`, the number of grades written, and of months in which nothing changed."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: int
    grades: int


class _Index(msgspec.Struct, kw_only=True):
    """Index of a folder: what stands in it, and what the database was like.

    `seq`: of the changes up to this one nothing is missing in the folder.
    """

    seq: int = 0
    columns: dict[str, str]
    form: TableForm
    database: str
    months: dict[str, MonthMark]


def export_months(
    context: GraderContext, folder: Path, form: TableForm, *, since: datetime | None = None
) -> ExportedMonths:
    """Bring a folder up to date: `month=2026-11/grades.parquet` and so on; it is made if there is none.

    A session stands in the month in which it ended; one that went on moves. Each file is replaced in one step, and an
    export that is interrupted is finished by the next one. `since`: months that ended before are left as they are.

    Raises:
        ConfigurationError: it is to be Parquet, and pyarrow is not installed.
        InputError: it cannot be written there, or holds something else.
        NoDatabaseError: nothing was graded yet.
    """
    store = context.store
    index = _index(folder, form, store.identity)
    first = "" if since is None else f"{since.astimezone(UTC):%Y-%m}"
    newest = store.changes.newest()  # of what changes from here on, some may be missing
    if index.seq > newest:
        index = _outdated(index)  # the database went back, as it was in a backup
    found = store.changes.months(index.seq)
    marks = {month: _later(index.months.get(month), mark) for month, mark in found.items() if month >= first}
    removed = [month for month in index.months if month >= first and month not in marks]
    grades, trust, written = Grades(context), Grades(context).trust(), 0
    changed = [month for month, mark in marks.items() if not _is_there(folder, form, index.months, month, mark)]
    for month in changed:
        written += _write_month(folder, form, month, grades, trust)
        index.months[month] = marks[month]
        _keep(folder, index)
    for month in removed:
        _remove(_file(folder, form, month))
        del index.months[month]
        _keep(folder, index)
    if not first and index.seq != newest:
        index.seq = newest
        _keep(folder, index)
    return ExportedMonths(
        written=tuple(changed), removed=tuple(removed), unchanged=len(marks) - len(changed), grades=written
    )


def _later(known: MonthMark | None, found: MonthMark) -> MonthMark:
    """Return the mark of a month now, by what changed since the folder was up to date."""
    return found if known is None else replace(found, seq=max(known.seq, found.seq))


def _write_month(folder: Path, form: TableForm, month: str, grades: Grades, trust: Trust) -> int:
    begin = datetime.fromisoformat(f"{month}-01").replace(tzinfo=UTC)
    end = (begin + timedelta(days=31)).replace(day=1)
    file = _file(folder, form, month)
    _make(file.parent)
    return write_table(file, grades.every(GradeFilter(since=begin, until=end)), form, trust)


def _file(folder: Path, form: TableForm, month: str) -> Path:
    return folder / f"month={month}" / f"grades.{form}"


def _is_there(folder: Path, form: TableForm, known: Mapping[str, MonthMark], month: str, mark: MonthMark) -> bool:
    return known.get(month) == mark and _file(folder, form, month).is_file()


def _index(folder: Path, form: TableForm, database: str) -> _Index:
    """Read what a folder holds, or make it; months with other columns are there, but as none is now.

    Raises:
        InputError: it holds something else.
    """
    held = {name: str(shape) for name, shape in columns().items()}
    made = _Index(columns=held, form=form, database=database, months={})
    try:
        found = msgspec.json.decode((folder / _INDEX).read_bytes(), type=_Index)
    except FileNotFoundError:
        if folder.is_dir() and any(folder.iterdir()):
            raise InputError(f"{folder}: contains other files than an export; choose another folder") from None
        _make(folder)
        _keep(folder, made)  # whoever interrupts what follows leaves a folder that is known again
        return made
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror}") from error
    except msgspec.DecodeError:
        raise InputError(f"{folder / _INDEX}: is damaged; remove {folder} and export again") from None
    if found.database != database:
        raise InputError(f"{folder}: contains grades of another database; choose another folder")
    if found.form != form:
        raise InputError(f"{folder}: holds {found.form}, not {form}; choose another folder")
    return found if found.columns == made.columns else _outdated(replace(found, columns=made.columns))


def _outdated(index: _Index) -> _Index:
    """Return an index that says of each month that it is there, but as none is now."""
    return replace(index, seq=0, months=dict.fromkeys(index.months, _OUTDATED))


def _keep(folder: Path, index: _Index) -> None:
    try:
        replace_file(folder / _INDEX, json_text(index) + "\n")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from error


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{file}: cannot be removed: {error.strerror}") from error


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}") from error
