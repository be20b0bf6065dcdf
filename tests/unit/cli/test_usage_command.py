"""``usage``: money and tokens at the prompt, and never a 0 for what nobody knows."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from grader_daemon import bootstrap
from grader_daemon.domain.session import SessionKind
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, new_grade
from tests.unit.cli.conftest import Run

DATABASE = Path(".timmy/uniwizard/session_grades.db")
SPENT = {"input_tokens": 1000, "cache_read_tokens": 3000, "output_tokens": 500, "cost_usd": 0.25}


def _fill(home: Path, *made: dict[str, Any]) -> None:
    """Save sessions, of which each says how many days ago it ended."""
    (home / DATABASE).parent.mkdir(parents=True)
    with closing(SqliteStore(home / DATABASE)) as store, store.transaction():
        save_grades(store, [new_grade(_made(number, **each)) for number, each in enumerate(made)])


def _made(number: int, *, ago: int, **changes: Any) -> Any:
    ended = bootstrap.utc_now() - timedelta(days=ago)
    timing = {"session_start": ended, "ended_at": ended, "graded_at": ended, "ended_on": f"{ended:%Y-%m-%d}"}
    return grade(session_id=f"session{number}", session_file=f"/s/{number}.json", **timing, **changes)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Days of these sessions are those of UTC."""
    monkeypatch.setenv("TZ", "UTC")


def _row(text: str, beginning: str) -> list[str]:
    [line] = [line for line in text.splitlines() if line.startswith(beginning)]
    return line.split()


def test_money_is_told_by_model_beside_the_days_before(home: Path, run: Run) -> None:
    _fill(
        home,
        {"ago": 0, "model": "large", **SPENT},
        {"ago": 1, "model": "small", **SPENT, "cost_usd": 0.75, "task_completed": False},
        {"ago": 1, "model": "mute", "agent": "hermes", "kind": SessionKind.CRON},
        {"ago": 13, "model": "large", **SPENT, "cost_usd": 0.5},
        {"ago": 13, "model": "mute"},
    )

    text = run(home, "report", "usage").stdout

    assert "3 finished sessions of every kind" in text
    assert "beside the 7 days before" in text
    assert "$1.00; known for 2 of 3 sessions (67 %); $0.50 the 7 days before (known for 1 of 2 sessions (50 %))" in text
    assert "2.0 k read, 6.0 k from caches, 1.0 k written; 75 % of the input came from caches" in text
    assert "3; 2 yours, 1 scheduled; 2 the 7 days before (+50 %)" in text
    assert "$0.75 went to 1 session that was not done or ended badly, 75 % of the cost" in text
    assert _row(text, "small ")[:4] == ["small", "$0.75", "75", "%"]
    assert _row(text, "large ")[:5] == ["large", "$0.25", "25", "%", "\N{MINUS SIGN}50"]
    assert _row(text, "session1 ")[:4] == ["session1", "$0.75", "not", "done"]
    assert "$0.00" not in text


def test_other_splits_have_words_of_their_own(home: Path, run: Run) -> None:
    _fill(home, {"ago": 0, "task_type": "writing_code", **SPENT}, {"ago": 0, "kind": SessionKind.CRON, **SPENT})

    assert _row(run(home, "report", "usage", "--by", "task-type").stdout, "writing code ")
    assert _row(run(home, "report", "usage", "--by", "kind").stdout, "scheduled ")


def test_what_is_not_known_says_why(home: Path, run: Run) -> None:
    _fill(home, {"ago": 0, "agent": "hermes"})

    text = run(home, "report", "usage").stdout

    assert "No cost known: hermes does not record tokens" in text
    assert "No tokens known: hermes does not record tokens" in text
    assert "$" not in text
    assert "failed" not in text
    assert "most expensive" not in text


def test_home_without_sessions_in_these_days_has_one_line(home: Path, run: Run) -> None:
    _fill(home, {"ago": 40})

    assert run(home, "report", "usage").stdout.count("\n") == 1


def test_rows_behind_the_first_are_counted_and_shown_when_asked_for(home: Path, run: Run) -> None:
    _fill(home, *({"ago": 0, "model": f"model{number}", **SPENT} for number in range(7)))

    short, whole = (
        run(home, "report", "usage", "-d", "1").stdout,
        run(home, "report", "usage", "-d", "1", "--all").stdout,
    )

    assert short.count("2 others: --all") == 2  # of models, and of sessions
    assert "others" not in whole
    assert all(f"model{number}" in whole for number in range(7))


def test_document_has_days_groups_and_the_sessions_that_cost_most(home: Path, run: Run) -> None:
    _fill(home, {"ago": 0, "project": "/p", **SPENT}, {"ago": 3, **SPENT, "cost_usd": 2.0}, {"ago": 3})

    told = json.loads(run(home, "report", "usage", "--by", "project", "--json").stdout)

    assert [day["spending"]["cost_usd"] for day in told["daily"]] == [None, None, None, 2.0, None, None, 0.25]
    assert [(group["name"], group["spending"]["priced"]) for group in told["groups"]] == [("unknown", 1), ("/p", 1)]
    assert [each["session_id"] for each in told["most_expensive"]] == ["session1", "session0"]
