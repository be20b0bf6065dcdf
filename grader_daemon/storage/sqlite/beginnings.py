"""Values that begin like a word, for completion: a few rows at once, from a database that is only read.

A connection of its own: `Store` takes as long to import as a person is willing to wait for a Tab.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import apsw

from grader_daemon.domain.group_names import UNKNOWN
from grader_daemon.errors import StoreError

_AT_MOST = 50
_LAST = "\U0010ffff"
_PATIENCE_MILLISECONDS = 200


class Beginnings:
    """The words of one database. A context manager."""

    def __init__(self, path: Path) -> None:
        """Open it.

        Raises:
            StoreError: it cannot be opened.
        """
        try:
            self._connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        except apsw.Error as error:
            raise StoreError(f"database {path}: {error}") from error
        self._connection.set_busy_timeout(_PATIENCE_MILLISECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def sessions(self, begun: str) -> list[str]:
        """Ids of sessions, the last ones first."""
        return self._ask(
            "SELECT session_id FROM session_grades WHERE session_id BETWEEN ? AND ? ORDER BY session_id DESC LIMIT ?",
            (begun, begun + _LAST, _AT_MOST),
        )

    def issues(self, begun: str) -> list[str]:
        """Ids of error issues."""
        return self._ask(
            "SELECT fingerprint FROM error_issues WHERE fingerprint BETWEEN ? AND ? ORDER BY fingerprint LIMIT ?",
            (begun, begun + _LAST, _AT_MOST),
        )

    def alerts(self) -> list[int]:
        """Numbers of alerts, the newest first."""
        return self._ask("SELECT id FROM alerts ORDER BY id DESC LIMIT ?", (_AT_MOST,))

    def weeks(self) -> list[str]:
        """Mondays of the weeks that have a report, the newest first."""
        return self._ask("SELECT week_start FROM weekly_reports ORDER BY week_start DESC LIMIT ?", (_AT_MOST,))

    def names(self, dimension: str) -> list[str]:
        """Names of a dimension that finished sessions have: models, tools, task types; not what stands for no name."""
        return self._ask(
            "SELECT DISTINCT name FROM monthly_rollups WHERE dimension = ? AND sessions > 0 AND name != ?"
            " ORDER BY name LIMIT ?",
            (dimension, UNKNOWN, _AT_MOST),
        )

    def _ask(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        try:
            return [row[0] for row in self._connection.execute(statement, values)]
        except apsw.Error as error:
            raise StoreError(str(error)) from error
