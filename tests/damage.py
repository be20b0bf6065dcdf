"""Databases, whole and damaged, as tests make them."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import apsw

from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, new_grade

PAGE = 4096


def make_database(path: Path, *, sessions: int) -> None:
    """A closed database with so many grades."""
    with closing(SqliteStore(path)) as store, store.transaction():
        made = [
            grade(session_id=f"s{number:05}", session_file=f"/s/session_{number}.json") for number in range(sessions)
        ]
        save_grades(store, [new_grade(one) for one in made])


def leaves_of(path: Path, table: str) -> list[int]:
    """Numbers of the pages that hold the rows of a table (or the entries of an index), in their order."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        rows = connection.execute(
            "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path", (table,)
        ).fetchall()
    return [int(str(row[0])) for row in rows]


def overwrite(path: Path, pages: Sequence[int], *, seed: int = 0) -> None:
    """Put noise in the place of whole pages, as a failing disk does."""
    noise = random.Random(seed)
    with open(path, "r+b") as file:
        for page in pages:
            file.seek((page - 1) * PAGE)
            file.write(noise.randbytes(PAGE))


def middle_of(path: Path) -> None:
    """Noise over a tenth of the file, in its middle, and over every table's share of it."""
    pages = path.stat().st_size // PAGE
    overwrite(path, range(pages // 2, pages // 2 + max(3, pages // 10)))


def header_of(path: Path) -> None:
    """Noise over the first 100 bytes."""
    with open(path, "r+b") as file:
        file.write(random.Random(1).randbytes(100))


def first_page_of(path: Path) -> None:
    """A first page of zeros, as a crash of the file system leaves it."""
    with open(path, "r+b") as file:
        file.write(bytes(PAGE))


def end_of(path: Path) -> None:
    """The second half is missing, and a part of a page."""
    os.truncate(path, path.stat().st_size // 2 + 100)


def all_of(path: Path) -> None:
    """Nothing is left of it."""
    os.truncate(path, 0)


def replaced_by_text(path: Path) -> None:
    """It was overwritten with something else."""
    path.write_text("These are my notes, and no database at all.\n" * 100)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "noise-in-the-middle": middle_of,
    "noise-in-the-header": header_of,
    "first-page-of-zeros": first_page_of,
    "cut-in-half": end_of,
    "zero-length": all_of,
    "text": replaced_by_text,
}
