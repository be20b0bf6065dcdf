"""Index of the words of messages, a file beside the database: it holds no text, and can be deleted at any time.

FTS5 without content (https://sqlite.org/fts5.html#contentless_delete_tables): the words of a message and their places,
under a row number that says when its session ended, so that the newest are found first. Texts are redacted before.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw

from grader_daemon.errors import StoreError
from grader_daemon.storage.sqlite.indexed_words import TOKENIZER, index_words
from grader_daemon.storage.sqlite.rows import to_text
from grader_daemon.storage.sqlite.store import SqliteStore

_SCHEMA: Final = f"""
CREATE VIRTUAL TABLE IF NOT EXISTS message_words
    USING fts5 (text, content = '', contentless_delete = 1, tokenize = '{TOKENIZER}');
CREATE TABLE IF NOT EXISTS indexed_sessions (
    session_id TEXT PRIMARY KEY, digest TEXT NOT NULL, first_row INTEGER NOT NULL UNIQUE, messages INTEGER NOT NULL
) WITHOUT ROWID;
"""
_IS_MADE: Final = "SELECT 1 FROM sqlite_schema WHERE name = 'indexed_sessions'"
_ROWS_OF_A_SECOND: Final = 1 << 20
"""Of the end of sessions; more messages than that in one second are not kept."""
_BUSY_MS: Final = 5_000
_MOST_WORDS: Final = 32
_SHORTEST_BEGINNING: Final = 3


class Place(NamedTuple):
    """A message: its session and its number in it, from 0."""

    session_id: str
    message: int


def index_file(database: Path) -> Path:
    """Return where the index of a database is: `session_grades.messages.db` for `session_grades.db`."""
    return database.with_suffix(".messages.db")


def remove(database: Path) -> None:
    """Delete the index of a database, if there is one.

    Raises:
        StoreError: it cannot be.
    """
    file = index_file(database)
    try:
        for each in (file, Path(f"{file}-wal"), Path(f"{file}-shm")):
            each.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{file}: cannot be deleted: {error.strerror}") from error


def sessions_since(store: SqliteStore, since: datetime) -> list[tuple[str, str, str]]:
    """Return the finished sessions of this machine since then, the newest first: id, digest and file."""
    return store.rows(
        "SELECT d.session_id, coalesce(d.digest, ''), g.session_file FROM session_details AS d"
        " JOIN session_grades AS g ON g.session_id = d.session_id"
        " WHERE d.ended_at >= ? AND d.state <> 'open' AND d.fleet_host IS NULL ORDER BY d.ended_at DESC",
        (to_text(since),),
    )


def count_since(store: SqliteStore, since: datetime) -> int:
    """Return how many sessions `sessions_since` has."""
    found: int = store.rows(
        "SELECT count(*) FROM session_details WHERE ended_at >= ? AND state <> 'open' AND fleet_host IS NULL",
        (to_text(since),),
    )[0][0]
    return found


class MessageIndex:
    """One connection to the index; used by one thread at a time."""

    def __init__(self, database: Path) -> None:
        """Open the index of a database, and make it where there is none, for its owner alone.

        Raises:
            StoreError: it cannot be opened.
        """
        self.path = index_file(database)
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._connection = apsw.Connection(str(self.path))
            self._connection.set_busy_timeout(_BUSY_MS)
            self._connection.execute("PRAGMA journal_mode = WAL").fetchall()
            self._connection.execute("PRAGMA synchronous = NORMAL").fetchall()
            self._connection.execute("PRAGMA secure_delete = ON").fetchall()
            if not self._rows(_IS_MADE):
                with self._connection:
                    self._connection.execute(_SCHEMA).fetchall()
        except (OSError, apsw.Error) as error:
            raise StoreError(f"{self.path}: cannot be opened; delete it to start again: {error}") from error

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def sessions(self) -> int:
        """Return how many sessions are in it."""
        found: int = self._rows("SELECT count(*) FROM indexed_sessions")[0][0]
        return found

    def words(self, text: str) -> list[str]:
        """Return the words of a text as it finds them: in small letters, without accents."""
        return index_words(self._connection, text)

    def digests(self) -> dict[str, str]:
        """Return the digest of each session that is in it, by its id."""
        return dict(self._rows("SELECT session_id, digest FROM indexed_sessions"))

    def add(self, session_id: str, digest: str, ended_at: datetime, texts: Sequence[str]) -> None:
        """Replace the messages of a session, or add them where it has none.

        Raises:
            StoreError: it cannot be kept.
        """
        try:
            with self._connection:
                self._forget(session_id)
                first = self._free_row(int(ended_at.timestamp()) * _ROWS_OF_A_SECOND)
                self._connection.execute(
                    "INSERT INTO indexed_sessions VALUES (?, ?, ?, ?)", (session_id, digest, first, len(texts))
                )
                rows = ((first + number, text) for number, text in enumerate(texts) if text)
                self._connection.executemany("INSERT INTO message_words (rowid, text) VALUES (?, ?)", rows)
        except apsw.Error as error:
            raise StoreError(f"{self.path}: {error}") from error

    def forget(self, session_ids: Iterable[str]) -> None:
        """Remove sessions, and every word of them: what is left is written anew, 10 s for 100,000 sessions.

        Raises:
            StoreError: they cannot be removed.
        """
        try:
            with self._connection:
                for session_id in session_ids:
                    self._forget(session_id)
                self._connection.execute("INSERT INTO message_words (message_words) VALUES ('optimize')")
        except apsw.Error as error:
            raise StoreError(f"{self.path}: {error}") from error

    def find(self, words: str) -> Iterator[Place]:
        """Yield the messages that have all of some words, or beginnings of them, those of the newest sessions first.

        Words in double quotes stand there one behind the other.

        Raises:
            StoreError: it cannot be read.
        """
        query = _query(self._connection, words)
        if not query:
            return
        try:
            rows: Iterable[Any] = self._connection.execute(
                "SELECT rowid FROM message_words WHERE message_words MATCH ? ORDER BY rowid DESC", (query,)
            )
            for each in rows:
                found = self._place(each[0])
                if found is not None:
                    yield found
        except apsw.Error as error:
            raise StoreError(f"{self.path}: {error}") from error

    def _place(self, row: int) -> Place | None:
        rows = self._rows(
            "SELECT session_id, first_row, messages FROM indexed_sessions"
            " WHERE first_row <= ? ORDER BY first_row DESC LIMIT 1",
            row,
        )
        return next((Place(name, row - first) for name, first, messages in rows if row < first + messages), None)

    def _free_row(self, begin: int) -> int:
        last: int | None = self._rows(
            "SELECT max(first_row + messages) FROM indexed_sessions WHERE first_row >= ? AND first_row < ?",
            begin,
            begin + _ROWS_OF_A_SECOND,
        )[0][0]
        return begin if last is None else last + 1

    def _forget(self, session_id: str) -> None:
        rows = self._rows("DELETE FROM indexed_sessions WHERE session_id = ? RETURNING first_row, messages", session_id)
        for first, messages in rows:
            self._connection.execute(
                "DELETE FROM message_words WHERE rowid >= ? AND rowid < ?", (first, first + messages)
            )

    def _rows(self, sql: str, *values: str | int) -> list[Any]:
        return self._connection.execute(sql, values).fetchall()


def _query(connection: apsw.Connection, words: str) -> str:
    """Return a query of FTS5: words outside quotes may go on, those inside stand one behind the other."""
    parts: list[str] = []
    for number, part in enumerate(words.split('"')):
        found = index_words(connection, part)[:_MOST_WORDS]
        parts += [f'"{" ".join(found)}"'] if number % 2 and found else [_beginning(word) for word in found]
    return " ".join(parts[:_MOST_WORDS])


def _beginning(word: str) -> str:
    """Return a query for words that begin so; what is very short is a word itself, as half of all begin so."""
    return f'"{word}" *' if len(word) >= _SHORTEST_BEGINNING else f'"{word}"'
