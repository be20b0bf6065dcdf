from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.calendar import week_of
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.rollup import ESTIMATORS, Dimension, Sums
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.jobs.weekly import WeeklyReports
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.reports.numbers import REPORTED
from grader_daemon.routing.choice import Router
from grader_daemon.skills.read_changes import setup_changes
from grader_daemon.storage.sqlite.database import IN_MEMORY
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, new_grade

END = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOW = END + timedelta(days=9)
WEEK = week_of(END.date())
TRUST = Trust(version="m1.model", by=VerdictBy.MODEL)
MORE_IS_BETTER = [measure for measure in REPORTED if measure.more_is_better]


def finished(number: int, **changes: Any) -> Grade:
    return grade(
        session_id=f"s{number:03}",
        ended_at=END - timedelta(minutes=number),
        ended_on=END.date().isoformat(),
        task_type="debugging",
        model="m",
        **changes,
    )


complete = st.fixed_dictionaries(
    {
        "task_completed": st.booleans(),
        "tool_calls_efficient": st.integers(1, 5),
        "response_quality": st.integers(1, 5),
        "unsure": st.booleans(),
        "p_completed": st.floats(0.02, 0.98),
        "verdict_by": st.just(VerdictBy.MODEL),
    }
)
cut_short = st.fixed_dictionaries(
    {
        "state": st.just(SessionState.INTERRUPTED),
        "task_completed": st.just(value=False),
        "tool_calls_efficient": st.integers(1, 5),
        "response_quality": st.integers(1, 5),
        "errors_recovered": st.booleans(),
        "scored": st.booleans(),
    }
)


def kept_in(store: SqliteStore, sessions: list[dict[str, Any]]) -> None:
    with store.transaction():
        save_grades(store, [new_grade(finished(number, **facts)) for number, facts in enumerate(sessions)])


def figures(store: SqliteStore) -> dict[str, float | None]:
    """Every rate, mean and score in which more is better."""
    found: dict[str, float | None] = {}
    for dimension, name in ((Dimension.OVERALL, ""), (Dimension.TASK_TYPE, "debugging"), (Dimension.MODEL, "m")):
        sums = store.rollups.group(dimension, name, WEEK)
        rates = {each: ESTIMATORS[each](sums).value for each in ESTIMATORS if each != "failure_rate"}
        found |= {f"{dimension} {each}": value for each, value in rates.items()}
        found[f"{dimension} plain"] = sums.plain_score
    tasks = store.grades.finished_tasks(since=END - timedelta(days=1), limit=99)
    routed = Router(tasks, [], now=NOW).route("debugging").models
    return found | {"routed": routed[0].score if routed else None, "raw": routed[0].raw if routed else None}


@given(before=st.lists(complete, min_size=1, max_size=8), others=st.lists(cut_short, min_size=1, max_size=8))
def test_sessions_that_were_cut_short_never_raise_a_rate_a_mean_or_a_routers_score(
    before: list[dict[str, Any]], others: list[dict[str, Any]]
) -> None:
    with closing(SqliteStore(IN_MEMORY)) as without, closing(SqliteStore(IN_MEMORY)) as with_others:
        kept_in(without, before)
        kept_in(with_others, before + others)
        then, now = figures(without), figures(with_others)
    assert then.keys() == now.keys()
    raised = {
        name: (was, now[name]) for name, was in then.items() if was is not None and (now[name] or 0.0) > was + 1e-9
    }
    assert not raised


@pytest.mark.parametrize("facts", [{"unsure": True}, {}], ids=["stopped-by-a-person", "cut-short"])
def test_an_outage_raises_no_figure_of_the_weekly_report(facts: dict[str, Any], tmp_path: Path) -> None:
    stopped = {"state": SessionState.INTERRUPTED, "task_completed": False, "tool_calls_efficient": 5, **facts}
    reports = []
    for outage in ([], [stopped] * 30):
        with closing(SqliteStore(tmp_path / f"{len(outage)}.db")) as store:
            kept_in(store, [{"task_completed": number % 2 == 0} for number in range(20)] + outage)
            made = WeeklyReports(store, zone=UTC, trust=lambda: TRUST, changes=partial(setup_changes, store))
            reports.append(made.report(WEEK, NOW))
    then, now = (
        {measure.report: getattr(report, measure.report).now.value for measure in MORE_IS_BETTER} for report in reports
    )
    raised = {name: (was, now[name]) for name, was in then.items() if was is not None and now[name] > was}
    assert not raised
    assert reports[1].verdicts is not None
    assert reports[1].verdicts.done == reports[0].verdicts.done  # type: ignore[union-attr]


def test_what_was_cut_short_counts_as_not_done_and_what_was_stopped_not_at_all() -> None:
    sums = Sums(sessions=10, interrupted=6, interrupted_judged=4, completed=2)
    assert (sums.judged, sums.scored) == (8, 4)
    assert msgspec.structs.replace(sums, interrupted=10, interrupted_judged=0, completed=0).plain_score is None
