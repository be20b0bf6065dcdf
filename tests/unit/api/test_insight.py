from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from datetime import timedelta
from pathlib import Path

import pytest

from grader_daemon import SelfGrader, bootstrap
from grader_daemon.cli import patterns
from grader_daemon.domain.analysis import Category, Failure, SessionState, Step
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, new_grade


@pytest.fixture
def grader(tmp_path: Path) -> Iterator[SelfGrader]:
    """Four sessions of today: three with a failure of a shell each, and one without an answer."""
    now = bootstrap.utc_now()
    timing = {"ended_at": now, "ended_on": now.date().isoformat(), "session_start": now - timedelta(minutes=5)}
    with SelfGrader(db_path=tmp_path / "grades.db", watch_roots=[tmp_path]) as opened:
        made = [
            grade(
                session_id=f"s{number}",
                task_completed=number > 0,
                total_errors=4,
                failures=tuple(
                    Failure(2 * place, "terminal", Category.TIMEOUT, command, None, Step("terminal", command, True))
                    for place, command in enumerate(("exit", "exit", "python", "python"))
                ),
                **timing,
            )
            for number in range(3)
        ]
        made.append(grade(session_id="dead", scored=False, tools=(), state=SessionState.INTERRUPTED, **timing))
        with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
            save_grades(store, [new_grade(one) for one in made])
        yield opened


def test_the_summary_has_intervals_and_says_how_far_verdicts_can_be_trusted(grader: SelfGrader) -> None:
    lines = grader.get_grades_summary(days=1).splitlines()

    assert lines == [
        "Sessions of the last day: 3 finished, 0 open, 1 without an answer",
        "  completed         2 of 3: 67 % (21–94 %)",  # Wilson's interval of 2 of 3
        "  tool efficiency   5.0 (3.6–5.0)",  # three equal values and a quarter of the range: 4.30 * sqrt(1 / 9)
        "  response quality  3.0 (1.6–4.4)",
        "  errors recovered  3 of 3: 100 % (44–100 %)",
        (
            "  verdicts          by the rules: not calibrated for you;"
            " elsewhere such verdicts agreed little with the truth (correlation 0.21 of 1)"
        ),
        "  failing errors    timeout 12",
        "  general           3.89 of 5 (3 sessions)",  # (5 + 3 + 1 + 4 * 2 / 3) / 3
    ]


def test_what_was_tried_again_is_told_by_its_command(grader: SelfGrader, capsys: pytest.CaptureFixture[str]) -> None:
    patterns._print(grader.identify_patterns(1))
    shown = capsys.readouterr().out

    assert "3 finished sessions, " in shown
    assert "; not counted: 0 open, 1 without an answer." in shown
    assert [line.split()[:4] for line in shown.splitlines() if " again " in line] == [
        ["terminal", "terminal", "exit", "again"],
        ["terminal", "terminal", "python", "again"],
    ]


def test_a_report_of_a_week_that_is_over_needs_no_right_to_write(
    without_rights: Callable[[], AbstractContextManager[None]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "grades.db"
        SqliteStore(path).close()
        path.chmod(0o444)
        path.parent.chmod(0o555)

        with SelfGrader(db_path=path) as reader, without_rights():
            report = reader.generate_weekly_report()

        path.parent.chmod(0o700)
    assert (report.complete, report.revision, report.total_sessions) == (True, 1, 0)
