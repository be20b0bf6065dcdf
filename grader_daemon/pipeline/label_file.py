"""Labels out of a CSV file, each line checked before any of them counts: those of a person, and those to train on."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import msgspec

from grader_daemon.domain.text import clean
from grader_daemon.errors import InputError

LOWEST_QUALITY, HIGHEST_QUALITY = 1, 5
LONGEST_NOTE = 1000
"""Characters."""
_TRUTHS = {
    **dict.fromkeys(("1", "1.0", "yes", "y", "true", "t"), True),
    **dict.fromkeys(("0", "0.0", "no", "n", "false", "f"), False),
}
_VERDICTS = ("completed", "success")
_DELIMITERS = ",;\t"
"""Spreadsheets write a semicolon where a comma belongs into numbers."""

_SHOWN_CHARACTERS = 40


class LabelLine(msgspec.Struct, frozen=True):
    """A line with a label of a session; `source`, `task` and `family` say where it comes from, to those who train."""

    session_id: str
    completed: bool | None = None
    quality: int | None = None
    note: str | None = None
    source: str = ""
    task: str = ""
    family: str = ""


class LabelFile(msgspec.Struct, frozen=True):
    """The labels of a file, and what is wrong with it, each as "FILE, line N: what"."""

    lines: tuple[LabelLine, ...]
    wrong: tuple[str, ...]


def read_label_file(path: Path) -> LabelFile:
    """Read a CSV file with the columns session_id and completed (or success).

    There may be quality, note, source, task_id and family; columns of other names are passed over.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            found = list(_found(file))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text") from error
    lines = {number: each for number, each in found if isinstance(each, LabelLine)}
    wrong = {number: each for number, each in found if isinstance(each, str)}
    first: dict[str, int] = {}
    for number, line in lines.items():
        if first.setdefault(line.session_id, number) != number:
            wrong[number] = f"session {line.session_id!r} is already in line {first[line.session_id]}"
    return LabelFile(
        tuple(lines.values()), tuple(clean(f"{path}, line {number}: {wrong[number]}") for number in sorted(wrong))
    )


def check_label(*, completed: object, quality: object, note: str | None) -> str | None:
    """Return what is wrong with a label of a caller who may have passed anything; None if nothing is."""
    if completed is None and quality is None:
        return "neither completed nor quality is given"
    if completed is not None and not isinstance(completed, bool):
        return f"completed is {completed!r}, neither true nor false"
    if quality is not None and (isinstance(quality, bool) or quality not in range(LOWEST_QUALITY, HIGHEST_QUALITY + 1)):
        return f"quality {quality!r} is not a whole number from {LOWEST_QUALITY} to {HIGHEST_QUALITY}"
    if note is not None and len(note) > LONGEST_NOTE:
        return f"the note is longer than {LONGEST_NOTE} characters"
    return None


def _found(file: Iterable[str]) -> Iterator[tuple[int, LabelLine | str]]:
    """Return each label with its line, or what is wrong there."""
    lines = iter(file)
    heading = next(lines, "")
    rows = csv.reader(chain([heading], lines), delimiter=max(_DELIMITERS, key=heading.count), strict=True)
    try:
        columns = [name.strip().lower() for name in next(rows, [])]
        missing = _missing(columns)
        if missing is not None:
            yield 1, missing
            return
        for row in rows:
            if any(value.strip() for value in row):
                yield rows.line_num, _read(columns, row)
    except csv.Error as error:
        yield rows.line_num, str(error)


def _missing(columns: Sequence[str]) -> str | None:
    if "session_id" not in columns:
        return "there is no column session_id"
    verdicts = [name for name in columns if name in _VERDICTS]
    if len(verdicts) != 1:
        return f"expected one column completed or success, found {len(verdicts)}"
    return None


def _read(columns: Sequence[str], row: Sequence[str]) -> LabelLine | str:
    if len(row) != len(columns):
        return f"{len(row)} values for {len(columns)} columns"
    values = {name: value.strip() for name, value in zip(columns, row, strict=True)}
    verdict = values.get("completed", values.get("success", ""))
    if verdict and verdict.lower() not in _TRUTHS:
        return f"completed is {_shown(verdict)}; yes or no, true or false, 1 or 0 is expected"
    graded = values.get("quality", "").removesuffix(".0")
    if graded and not (graded.isascii() and graded.isdecimal()):
        return f"quality is {_shown(graded)}; a whole number from {LOWEST_QUALITY} to {HIGHEST_QUALITY} is expected"
    if not values["session_id"]:
        return "no session_id"
    label = LabelLine(
        values["session_id"],
        _TRUTHS[verdict.lower()] if verdict else None,
        int(graded[:9]) if graded else None,
        values.get("note") or None,
        values.get("source", ""),
        values.get("task_id", ""),
        values.get("family", ""),
    )
    return check_label(completed=label.completed, quality=label.quality, note=label.note) or label


def _shown(value: str) -> str:
    """Quote a value, or its beginning."""
    return repr(value if len(value) <= _SHOWN_CHARACTERS else value[: _SHOWN_CHARACTERS - 1] + "…")
