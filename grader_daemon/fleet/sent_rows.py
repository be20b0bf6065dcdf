"""Rows of grades as a machine sends them: the columns of tables, within the bounds of the fleet's database.

Most of what is stored is handed on as it is: to read it and to write it again took most of the time of a batch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Final

import msgspec

from grader_daemon.api.documents import judged_columns
from grader_daemon.api.tables import columns
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.claims import Claim
from grader_daemon.domain.column import Scalar, Shape
from grader_daemon.storage.records import OutlinedGrade
from grader_daemon.storage.sqlite.rows import OUTLINED, to_moment, to_tools

_OF_THE_TABLE: Final = {name: shape for name, shape in columns().items() if name != "host"} | {
    "edited_paths": Scalar.TEXT
}
"""Columns of tables; the host is who sends. Edited files are lines there, as they are stored."""
SENT_COLUMNS: Final = (*_OF_THE_TABLE, "request", "wording")
_AT: Final = {name: place for place, name in enumerate(SENT_COLUMNS)}
_TEXTS: Final = [
    _AT[name]
    for name in (
        *("session_file", "project", "task_summary", "job_name"),
        *("request_words", "answer_beginning", "last_check", "edited_paths"),
    )
]
"""Places of the words of a session, and of paths, which name people."""
_MADE_HERE: Final = frozenset({"id", "failures", "outcome", "verdict", "score"})
_STORED: Final = [0 if name in _MADE_HERE else OUTLINED.index(name) for name in SENT_COLUMNS]
"""Places of columns among those that are stored."""
_NUL: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""NUL in JSON, whose backslash is no escaped one."""
_ESCAPED_NUL: Final = "\\u0000"
_MOST: Final = 10**12
_MOST_CHARACTERS: Final = 2_000
_MOST_BYTES: Final = 1024 * 1024
_BYTES_OF_A_CHARACTER: Final = 4
_YEARS: Final = range(1970, 2200)
_SCALE: Final = range(1, 6)
"""Bounds of the fleet's database, see its migrations."""
_EMPTY: Final = "[]"
_decode_claims = msgspec.json.Decoder(tuple[Claim, ...]).decode
_encode = msgspec.json.Encoder().encode


def sent_rows(graded: Sequence[OutlinedGrade], trust: Trust, *, texts: bool) -> list[tuple[Any, ...]]:
    """Return what `SENT_COLUMNS` hold of each grade: cut, or unknown, where it is out of bounds.

    Without `texts`, nothing that a session says, and no path. Of failures it has all, by which a copy counts them as
    this database does. All that a column holds is bounded at once, which takes half of the time that each row takes.
    """
    if not graded:
        return []
    columns = _columns(graded, trust)
    if not texts:
        for place in _TEXTS:
            columns[place] = (None,) * len(graded)
        columns[_AT["claims"]] = tuple(map(_without_words, columns[_AT["claims"]]))
    bounded = (held if cells is None else cells(held) for held, cells in zip(columns, _CELLS, strict=True))
    return list(zip(*bounded, strict=True))


def bounded_text(value: str) -> str:
    """Return a text as the fleet's database holds it: its beginning, without NUL, which PostgreSQL has not."""
    cut = value[:_MOST_CHARACTERS]
    return cut.replace("\0", "") if "\0" in cut else cut


def has_room(session_id: str) -> bool:
    """Return whether the fleet's database can hold the row of a session of this name."""
    return len(session_id.encode("utf-8", "surrogatepass")) <= _MOST_CHARACTERS and "\0" not in session_id


def cells_of(shape: Shape) -> Callable[[Sequence[Any]], list[Any]]:
    """Return the function that makes the cells of a column of a shape of its values, of which some may be unknown."""
    return _SCALAR_CELLS[shape] if isinstance(shape, Scalar) else _lists


def _columns(graded: Sequence[OutlinedGrade], trust: Trust) -> list[Sequence[Any]]:
    """Return the columns of what is stored of grades, and of what is made of them here."""
    stored = list(zip(*(each.columns for each in graded), strict=True))
    columns: list[Sequence[Any]] = [stored[place] for place in _STORED]
    judged = [judged_columns(each.outline, trust=trust) for each in graded]
    for name in {name for each in judged for name in each}:
        place = _AT[name]
        columns[place] = [each.get(name, held) for each, held in zip(judged, columns[place], strict=True)]
    columns[_AT["id"]] = [each.id for each in graded]
    columns[_AT["tools"]] = list(map(to_tools, columns[_AT["tools"]]))
    columns[_AT["failures"]] = [each.outline.failures for each in graded]
    return columns


def _without_words(claims: str) -> str | list[Claim]:
    if claims == _EMPTY:
        return claims
    return [msgspec.structs.replace(claim, subject=None, words=None) for claim in _decode_claims(claims)]


def _texts(values: Sequence[str | None]) -> list[str | None]:
    return [
        value if value is None or (len(value) <= _MOST_CHARACTERS and "\0" not in value) else bounded_text(value)
        for value in values
    ]


def _numbers(values: Sequence[int | None]) -> list[int | None]:
    return [value if value is None or 0 <= value <= _MOST else max(0, min(value, _MOST)) for value in values]


def _scores(values: Sequence[int | None]) -> list[int | None]:
    return [value if value in _SCALE else None for value in values]


def _measures(values: Sequence[float | None]) -> list[float | None]:
    return [value if value is not None and 0 <= value <= _MOST else None for value in values]


def _flags(values: Sequence[Any]) -> list[bool | None]:
    return [value if value is None else bool(value) for value in values]


def _moments(values: Sequence[str | None]) -> list[str | None]:
    moments = map(to_moment, values)
    return [moment.isoformat() if moment is not None and moment.year in _YEARS else None for moment in moments]


def _days(values: Sequence[str | None]) -> list[str | None]:
    return [None if value is None else _day(value) for value in values]


def _lists(values: Sequence[str | Sequence[Any] | None]) -> list[str | None]:
    return [value if value is None or value == _EMPTY else _list(value) for value in values]


def _day(text: str) -> str | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day.isoformat() if day.year in _YEARS else None


def _list(value: str | Sequence[Any]) -> str:
    """Return the JSON of a list, or of so much of its beginning as there is room for, without NUL."""
    text = value if isinstance(value, str) else _encode(value).decode()
    if len(text) > _MOST_BYTES // _BYTES_OF_A_CHARACTER:
        text = _cut(msgspec.json.decode(text))
    return _NUL.sub(r"\1", text) if _ESCAPED_NUL in text else text


def _cut(value: Sequence[Any]) -> str:
    told = _encode(value)
    while len(told) > _MOST_BYTES:
        value = value[: len(value) // 2]
        told = _encode(value)
    return told.decode()


_SCALAR_CELLS: Final[Mapping[Scalar, Callable[[Sequence[Any]], list[Any]]]] = {
    Scalar.TEXT: _texts,
    Scalar.INTEGER: _numbers,
    Scalar.NUMBER: _measures,
    Scalar.BOOLEAN: _flags,
    Scalar.TIME: _moments,
    Scalar.DAY: _days,
}
_OF_A_COLUMN: Final = dict.fromkeys(("tool_calls_efficient", "response_quality", "automatic_quality"), _scores)
_CELLS: Final = (
    *(_OF_A_COLUMN.get(name, cells_of(shape)) for name, shape in _OF_THE_TABLE.items()),
    *(None, None),  # a hash is a number of any size
)
