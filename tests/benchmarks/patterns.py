"""How long it takes to answer what patterns there are, with 1,000, 100,000 and 1,000,000 sessions of a year.

Run it as ``python -m tests.benchmarks.patterns`` in the repository. Sessions are spread over 365 days, eight task
types, thirty tools and four models, and saved as the daemon saves them: grade, details, failures and roll-ups. Then the
last 7 and the last 365 days are asked for, beside the days before them, in a program that stays; a figure is the median
of its answers. The last column is the same question asked of the rows, in one query a table.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter

import msgspec

from grader_daemon import SelfGrader
from grader_daemon.domain.analysis import Category, ErrorSign, Failure, Step, ToolUse
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.records import NewGrade
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.benchmarks import machine
from tests.benchmarks.targets import PATTERNS_MILLISECONDS
from tests.strategies import grade, new_grade

_SIZES = (1_000, 100_000, 1_000_000)
_BATCH = 500
_ANSWERS = 15
_DAYS = 365
_TASKS = ("code_review", "debugging", "feature_impl", "refactoring", "documentation", "testing", "research", "general")
_TOOLS = tuple(f"tool_{number}" for number in range(30))
_MODELS = tuple(f"model-{number}" for number in range(4))
_CATEGORIES = tuple(Category)
_ISSUES = 300
_DETOURS = (0, 1, 2, 7)


def main() -> int:
    """Grow one database, and ask at each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(_SIZES), help="sessions (default: %(default)s)")
    machine.add_folder_option(parser)
    arguments = parser.parse_args()
    machine.print_machine()
    missed = False
    rows = []
    with machine.work_folder(arguments.folder) as folder:
        machine.forget_settings(folder)
        path = folder / "grades.db"
        saved = 0
        for size in sorted(arguments.sizes):
            per_session = _save(path, saved, size)
            saved = size
            week, year, score, raw = _ask(path)
            missed = missed or max(week, year, score) > PATTERNS_MILLISECONDS
            met = machine.verdict(max(week, year, score) <= PATTERNS_MILLISECONDS)
            rows.append(
                (f"{size:,}", f"{per_session:.0f}", f"{week:.1f}", f"{year:.1f}", f"{score:.2f}", f"{raw:.0f}", met)
            )
    machine.progress_done()
    head = ("sessions", "us a save", "7 days ms", "365 days ms", "task score ms", "365 days by rows ms", "")
    machine.print_table(head, rows)
    print(f"target: <= {PATTERNS_MILLISECONDS:g} ms for each answer")
    return int(missed)


def _save(path: Path, first: int, last: int) -> float:
    """Save the sessions from `first` to `last`; gives microseconds of one."""
    chance = random.Random(first)
    store = SqliteStore(path, host="here")
    spent = 0.0
    for start in range(first, last, _BATCH):
        batch = [_session(number, chance) for number in range(start, min(start + _BATCH, last))]
        machine.progress(f"saved {start:,} of {last:,}")
        began = perf_counter()
        with store.transaction():
            save_grades(store, batch)
        spent += perf_counter() - began
    store.close()
    return spent / max(1, last - first) * 1e6


def _session(number: int, chance: random.Random) -> NewGrade:
    ended_at = datetime.now(UTC) - timedelta(days=chance.random() * _DAYS)  # noqa: TID251  a benchmark reads the clock
    tools = tuple(ToolUse(tool, chance.randint(1, 6), 0) for tool in chance.sample(_TOOLS, 3))
    failures = tuple(_failure(index, chance) for index in range(chance.choice((0, 0, 1, 2))))
    made = grade(
        session_id=f"session-{number}",
        session_file=f"/sessions/session_{number}.json",
        graded_at=ended_at,
        task_completed=chance.random() < 0.7,
        tool_calls_efficient=chance.randint(1, 5),
        response_quality=chance.randint(1, 5),
        total_api_calls=5,
        model=chance.choice(_MODELS),
        session_start=ended_at,
        total_errors=len(failures),
        task_type=chance.choice(_TASKS),
        tool_calls=10,
        ended_at=ended_at,
        ended_on=ended_at.date().isoformat(),
        tools=tools,
        failures=failures,
    )
    return msgspec.structs.replace(new_grade(made), digest=str(number), signs=tuple(_signs(failures)))


def _failure(index: int, chance: random.Random) -> Failure:
    issue = chance.randrange(_ISSUES)
    step = Step(_TOOLS[(issue + chance.choice(_DETOURS)) % len(_TOOLS)], None, chance.random() < 0.5)
    tool, category = _TOOLS[issue % len(_TOOLS)], _CATEGORIES[issue % len(_CATEGORIES)]
    return Failure(index, tool, category, None, f"1-{issue:012x}", step)


def _signs(failures: tuple[Failure, ...]) -> Iterator[ErrorSign]:
    for failure in failures:
        yield ErrorSign(
            fingerprint=failure.fingerprint or "",
            tool=failure.tool,
            command=None,
            category=failure.category,
            signal="it broke",
            example="it broke",
        )


def _ask(path: Path) -> tuple[float, float, float, float]:
    """Milliseconds for 7 days, 365 days, one task score, and 365 days from the rows."""
    with SelfGrader(db_path=path) as grader:
        return (
            _milliseconds(lambda: grader.identify_patterns(7)),
            _milliseconds(lambda: grader.identify_patterns(365)),
            _milliseconds(lambda: grader.get_task_score("debugging")),
            _milliseconds(lambda: _by_rows(path), answers=1),
        )


def _by_rows(path: Path) -> None:
    store = SqliteStore(path, read_only=True)
    store.rows(
        "SELECT d.task_type, count(*), avg(g.tool_calls_efficient), avg(g.response_quality), avg(g.task_completed)"
        " FROM session_grades AS g JOIN session_details AS d ON d.session_id = g.session_id GROUP BY d.task_type"
    )
    store.rows("SELECT tool, category, count(*) FROM session_failures GROUP BY tool, category")
    store.close()


def _milliseconds(ask: Callable[[], object], *, answers: int = _ANSWERS) -> float:
    spent = []
    for _ in range(answers):
        began = perf_counter()
        ask()
        spent.append(perf_counter() - began)
    return statistics.median(spent) * 1000


if __name__ == "__main__":
    sys.exit(main())
