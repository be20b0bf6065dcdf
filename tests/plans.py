"""How SQLite goes about each statement of the package: none may look at, or sort, all of a table that grows."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

import grader_daemon

GROWING = frozenset(
    {"session_grades", "session_details", "session_failures", "session_files", "session_list", "session_facets"}
)
"""Tables that get a row, or several, with every session."""

ALLOWED = {
    "SessionList._newest": "stops at its limit",
    "SessionList._within": "the list is made to be looked through: a million rows in some 70 ms",
    "cost_order.find_by_cost": "goes on behind the sessions whose cost is known, which an index has in order",
    "SessionList.rebuild": "makes everything anew",
    "Store.recount": "makes everything anew",
    "Ledger.recount_files": "makes everything anew",
    "Grades.verdicts_since": "`run --once` counts what it graded, once at its end",
    "ChangeFeed.months": "`export` by month, asked by hand, compares all months",
    "Ledger.graded_paths": "`grade --again` asks for every file",
    "Calibrations.finished": "stops at its limit",
    "Calibrations.history": "stops at its limit",
    "QualityChecks.sample": "draws from the sessions of four weeks, once a day",
    "Reports.examples": "sorts the sessions of one week",
    "Reports.coverage": "sorts what was not graded in one week",
    "Inspection": "`doctor` compares everything with everything",
    "salvage": "reads a damaged database",
    "damaged": "reads a damaged database",
    "repair": "`doctor --repair` goes through all files",
    "backup": "counts what it has copied",
    "schema": "migrates",
    "unreleased": "carries a whole database over, once",
}
"""Functions, classes or modules whose statements may, and why."""

SMALL_INDEXES = frozenset({"session_files_trouble"})
"""Indexes of few rows, all of which may be looked at."""

_PACKAGE = str(Path(grader_daemon.__file__).parent)
_ASKED_THROUGH = str(Path(_PACKAGE) / "storage" / "sqlite" / "database.py")
_STATEMENT = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)
_ALIAS = re.compile(r"\b(\w+) AS (\w+)\b")
_SCAN = re.compile(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?")
_SORT = re.compile(r"USE TEMP B-TREE FOR (?!LAST TERM)")
_known: dict[str, str | None] = {}
"""The trouble of each statement that was looked at; None of one that has none."""


@contextmanager
def watched_statements() -> Iterator[list[str]]:
    """Give the statements that the package makes meanwhile, and that cost more the longer it is used."""
    found: list[str] = []

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = _tracer(connection, found)

    apsw.connection_hooks.append(watch)
    try:
        yield found
    finally:
        apsw.connection_hooks.remove(watch)


def _tracer(connection: apsw.Connection, found: list[str]) -> Callable[[Any, str, Any], bool]:
    def trace(_: Any, sql: str, values: Any) -> bool:
        if _known.get(sql, sql) is None:  # without trouble, whoever asks: to find out who is dearer than the statement
            return True
        asker = _asker()
        if asker is not None and _STATEMENT.match(sql):
            if sql not in _known:
                connection.exec_trace = None
                _known[sql] = _trouble(connection, sql, values)
                connection.exec_trace = trace
            trouble = _known[sql]
            if trouble is not None and not any(name in asker for name in ALLOWED):
                found.append(f"{asker}: {trouble}: {sql}")
        return True

    return trace


def _asker() -> str | None:
    """Name module and function of the package that a statement comes from; None for a test's own statements."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename in (__file__, _ASKED_THROUGH) or "contextlib" in frame.f_code.co_filename:
        if frame.f_back is None:
            return None
        frame = frame.f_back
    code = frame.f_code
    return f"{Path(code.co_filename).stem}.{code.co_qualname}" if code.co_filename.startswith(_PACKAGE) else None


def _trouble(connection: apsw.Connection, sql: str, values: Any) -> str | None:
    names = {alias: table for table, alias in _ALIAS.findall(sql)}
    steps = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    touched = {names.get(word, word) for step in steps for word in step.split()} & GROWING
    for step in steps:
        scanned = _SCAN.match(step)
        if scanned and _grows(scanned, names) and not _stops_early(sql, steps):
            return step
        if _SORT.match(step) and touched:
            return step
    return None


def _grows(scanned: re.Match[str], names: dict[str, str]) -> bool:
    table, index = scanned.groups()
    return names.get(table, table) in GROWING and index not in SMALL_INDEXES


def _stops_early(sql: str, steps: list[str]) -> bool:
    """Does it walk through a table in the order that is asked for, and take the first rows whatever they are?"""
    return " LIMIT " in sql and " WHERE " not in sql and not any("TEMP B-TREE" in step for step in steps)
