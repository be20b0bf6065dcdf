"""Rows of grades as a machine sends them: the columns of tables, within the bounds of the fleet's database.

Most of what is stored is handed on as it is: to read it and to write it again took most of the time of a batch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import date
from typing import Any, Final, TypeVar

import msgspec

from grader_daemon.api.documents import judged_columns
from grader_daemon.api.tables import columns
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.claims import Claim
from grader_daemon.domain.column import Scalar, Shape
from grader_daemon.domain.grade import Grade
from grader_daemon.reports.verdicts import told_of, verdict_words
from grader_daemon.storage.records import GradeColumns
from grader_daemon.storage.sqlite.rows import partial_grade, to_moment, to_tools

_OF_THE_TABLE: Final = {name: shape for name, shape in columns().items() if name != "host"} | {
    "edited_paths": Scalar.TEXT
}
"""Columns of tables; the host is who sends. Edited files are lines there, as they are stored."""
SENT_COLUMNS: Final = (*_OF_THE_TABLE, "request", "wording")
_TEXTS: Final = (
    *("session_file", "project", "task_summary", "job_name"),
    *("request_words", "answer_beginning", "last_check", "edited_paths"),
)
"""Columns with the words of a session, and paths, which name people."""
_JUDGED: Final = (
    *("state", "scored", "unsure", "task_completed", "verdict_by"),
    *("automatic_completed", "automatic_by", "automatic_quality", "rules_completed"),
)
_SCORES: Final = (*_JUDGED, "tool_calls_efficient", "response_quality", "errors_recovered")
_VERDICT: Final = (*_JUDGED, "rules_version", "p_completed", "reasons")
"""Columns of which scores are made, and those of the verdict's sentence."""
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
_Made = TypeVar("_Made")


class _Rule(msgspec.Struct, gc=False):
    """A reason without what is not told of it."""

    rule: str


_decode_rules = msgspec.json.Decoder(tuple[_Rule, ...]).decode
_decode_claims = msgspec.json.Decoder(tuple[Claim, ...]).decode
_encode = msgspec.json.Encoder().encode


def sent_rows(graded: GradeColumns, trust: Trust, *, texts: bool) -> list[tuple[Any, ...]]:
    """Return what `SENT_COLUMNS` hold of each grade: cut, or unknown, where it is out of bounds.

    Without `texts`, nothing that a session says, and no path. Of failures it has all, by which a copy counts them as
    this database does. All that a column holds is bounded at once, which takes half of the time that each row takes.
    """
    columns = {**graded.columns, **_made_here(graded.columns, trust)}
    if not texts:
        columns |= dict.fromkeys(_TEXTS, [None] * len(columns["id"]))
        columns["claims"] = list(map(_without_words, columns["claims"]))
    bounded = (
        columns[name] if cells is None else cells(columns[name])
        for name, cells in zip(SENT_COLUMNS, _CELLS, strict=True)
    )
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


def _made_here(stored: Mapping[str, Sequence[Any]], trust: Trust) -> dict[str, Sequence[Any]]:
    """Return the columns that are not sent as they are stored."""
    judged = _of_likes(
        list(zip(*(stored[name] for name in _SCORES), strict=True)),
        lambda place: judged_columns(_grade_at(stored, place, _SCORES), trust=trust),
    )
    made = {
        name: [each.get(name, held) for each, held in zip(judged, stored.get(name, judged), strict=True)]
        for name in {name for each in judged for name in each}
    }
    return {
        **made,
        "verdict": _of_likes(
            list(zip(*(stored[name] for name in (*_JUDGED, "rules_version")), _told(stored), strict=True)),
            lambda place: verdict_words(_grade_at(stored, place, _VERDICT), trust),
        ),
        "tools": _of_likes(stored["tools"], lambda place: to_tools(stored["tools"][place])),
    }


def _of_likes(keys: Sequence[Hashable], make: Callable[[int], _Made]) -> list[_Made]:
    """Return what is made of each place; once for all places with the same key."""
    made = {key: make(place) for key, place in {key: place for place, key in enumerate(keys)}.items()}
    return [made[key] for key in keys]


def _grade_at(stored: Mapping[str, Sequence[Any]], place: int, names: Sequence[str]) -> Grade:
    return partial_grade({name: stored[name][place] for name in names})


def _told(stored: Mapping[str, Sequence[Any]]) -> list[tuple[str | None, str | None]]:
    return [
        told_of(likely, [each.rule for each in _decode_rules(reasons)])
        for likely, reasons in zip(stored["p_completed"], stored["reasons"], strict=True)
    ]


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
