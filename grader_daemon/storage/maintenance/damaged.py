"""Reading a table of a damaged database: in the order of its key, from both ends of each damaged place."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

import apsw

DAMAGE = (apsw.Error, UnicodeDecodeError)
"""What reading a damaged file raises."""

Key = tuple[Any, ...]
Keep = Callable[[Sequence[Sequence[Any]]], int]
"""Takes rows; gives how many of them were worth it."""

_BATCH: Final = 256
_FRUITLESS: Final = 500
"""So many pieces of a table may give no row in succession before the rest of it is given up."""
_UNKNOWN_END: Final = 1_000_000
"""So far behind the last known number rows are looked for when a table's end cannot be read."""


class DamagedTable:
    """A table that may be damaged anywhere. `key` names the columns in whose order its rows are stored."""

    def __init__(
        self, source: apsw.Connection, name: str, *, key: Sequence[str], columns: Sequence[str], keep: Keep
    ) -> None:
        self.is_damaged = False
        self._kept = 0
        self._source = source
        self._name = name
        self._key = key
        self._columns = ", ".join(columns)
        self._keep = keep
        self._forwards = _Way(source, name, key=key, columns=columns, backwards=False)
        self._backwards = _Way(source, name, key=key, columns=columns, backwards=True)

    def count(self) -> int | None:
        """Count the rows as they were, in the table or in an index of it, whichever knows more; None if neither."""
        counts = []
        for how in ("", " NOT INDEXED"):
            with suppress(*DAMAGE):
                counts.append(int(self._source.execute(f"SELECT count(*) FROM {self._name}{how}").get))
        return max(counts, default=None)

    def read(self) -> None:
        """Read all that can be read: forwards, backwards, and between two damaged places in ever smaller pieces."""
        last, ended = self._run(self._forwards, None, None)
        if ended:
            return
        first, met = self._run(self._backwards, None, last)
        if not met and self._key == ("rowid",):
            low = -1 if last is None else last[0]
            self._read_between(low, low + _UNKNOWN_END if first is None else first[0])

    def read_each(self, column: str, values: Iterable[str]) -> None:
        """Read the rows that have one of these values in a column that an intact part of the tree may lead to."""
        for value in values:
            with suppress(*DAMAGE):
                self._keep(
                    self._source.execute(
                        f"SELECT {self._columns} FROM {self._name} WHERE {column} = ?", (value,)
                    ).fetchall()
                )

    def _read_between(self, low: int, high: int) -> None:
        """Read what lies between two damaged places, in halves; keys are numbers here."""
        gaps = deque([(low, high)])
        fruitless = 0
        while gaps and fruitless < _FRUITLESS:
            gap = gaps.popleft()
            middle = sum(gap) // 2
            self._kept = 0
            for start, end in ((gap[0], middle + 1), (middle, gap[1])):
                left = self._read_gap(start, end)
                if left is not None and left != gap:
                    gaps.append(left)
            fruitless = 0 if self._kept else fruitless + 1

    def _read_gap(self, start: int, end: int) -> tuple[int, int] | None:
        """Read the rows between two numbers; gives what is left in the middle, if there can be a row in it."""
        last, met = self._run(self._forwards, (start,), (end,))
        if met or last is None:
            return None
        first, met = self._run(self._backwards, (end,), last)
        return None if met or first is None or first[0] - last[0] <= 1 else (last[0], first[0])

    def _run(self, way: _Way, start: Key | None, end: Key | None) -> tuple[Key | None, bool]:
        """Read from `start` to `end`, both left out; give the last key that was reached, and whether all was read.

        A batch that fails is read row by row, and a row that fails is passed by if its key can be read.
        """
        place, singly = start, 0
        while True:
            try:
                rows = way.rows(place, 1 if singly else _BATCH)
            except DAMAGE:
                self.is_damaged = True
                beyond = way.next_key(place) if singly else place
                if singly and not (beyond is not None and way.leads(place, beyond) and way.leads(beyond, end)):
                    return place, False
                place, singly = beyond, _BATCH
                continue
            good = way.in_order(rows, place, end)
            self._kept += self._keep([row[len(self._key) :] for row in good])
            if len(good) < len(rows):
                return place, not way.leads(way.key(rows[len(good)]), end)
            if not rows:
                return place, True
            place, singly = way.key(good[-1]), max(0, singly - 1)


class _Way:
    """A direction in which a table is read."""

    def __init__(
        self, source: apsw.Connection, name: str, *, key: Sequence[str], columns: Sequence[str], backwards: bool
    ) -> None:
        order, beyond = ("DESC", "<") if backwards else ("ASC", ">")
        keys, marks = ", ".join(key), ", ".join("?" * len(key))
        in_order = f"ORDER BY {', '.join(f'{column} {order}' for column in key)} LIMIT ?"
        self._rows = f"SELECT {keys}, {', '.join(columns)} FROM {name}"
        self._keys = f"SELECT {keys} FROM {name}"
        self._from_start = in_order
        self._from_key = f"WHERE ({keys}) {beyond} ({marks}) {in_order}"
        self._source = source
        self._backwards = backwards
        self._width = len(key)

    def rows(self, after: Key | None, limit: int) -> list[Any]:
        """Give the next rows, each with its key before it."""
        return self._read(self._rows, after, limit)

    def next_key(self, after: Key | None) -> Key | None:
        """Give the key of the next row, though the row itself may be unreadable; None if that is too."""
        try:
            rows = self._read(self._keys, after, 1)
        except DAMAGE:
            return None
        return self.key(rows[0]) if rows else None

    def key(self, row: Sequence[Any]) -> Key:
        """Give the key of a row."""
        return tuple(row[: self._width])

    def leads(self, one: Key | None, other: Key | None) -> bool:
        """Does the way lead from one key to the other? None is its start as `one`, its end as `other`."""
        if one is None or other is None:
            return True
        try:
            return other < one if self._backwards else one < other
        except TypeError:
            return False

    def in_order(self, rows: Sequence[Any], place: Key | None, end: Key | None) -> list[Any]:
        """Give the rows up to the first that does not lead on, or is not before `end`: a damaged page may lead back."""
        good = []
        for row in rows:
            key = self.key(row)
            if not (self.leads(place, key) and self.leads(key, end)):
                break
            good.append(row)
            place = key
        return good

    def _read(self, chosen: str, after: Key | None, limit: int) -> list[Any]:
        if after is None:
            return self._source.execute(f"{chosen} {self._from_start}", (limit,)).fetchall()
        return self._source.execute(f"{chosen} {self._from_key}", (*after, limit)).fetchall()
