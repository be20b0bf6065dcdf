from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.estimate import Estimate, proportion
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.domain.work_fate import WorkCounts, WorkFate, WorkOutcomes
from grader_daemon.outcomes.model import MadeCommit, Reverted, RevertKind, SeenFate, Survival, Work, WrittenFile
from grader_daemon.outcomes.store import Followed, OutcomesTable, work_outcomes
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade

DAY = timedelta(days=1)
WORK = Work(began=NOW, ended=NOW, commits=("1a2b3c4",), files=(WrittenFile("/src/a.py", (1, 2)),), wrote=2)
FATE = SeenFate(looked_at=NOW, commits=(MadeCommit(commit="a" * 40, at=NOW, named=True, lines=2),))


def graded(store: SqliteStore, name: str, **changes: object) -> str | None:
    made = new_grade(grade(session_id=name, session_file=f"/{name}", ended_at=NOW, **changes))
    with store.transaction():
        save_grades(store, [made])
    return store.grades.stored([name])[name].digest


def save(store: SqliteStore, name: str, digest: str | None, due: timedelta | None, **changes: object) -> Followed:
    followed = Followed(name, digest, "/src", WORK, replace(FATE, **changes))
    with store.transaction():
        OutcomesTable(store).save(followed, due_at=None if due is None else NOW + due)
    return followed


def test_what_is_kept_comes_back(store: SqliteStore) -> None:
    kept = save(store, "a", "digest", DAY)

    assert OutcomesTable(store).of_session("a") == kept
    assert OutcomesTable(store).of_session("b") is None


@pytest.mark.parametrize(
    ("due", "digest", "is_due"),
    [
        pytest.param(DAY, None, False, id="its-time-has-not-come"),
        pytest.param(timedelta(0), None, True, id="its-time-has-come"),
        pytest.param(None, None, False, id="it-is-over"),
        pytest.param(None, "another", True, id="it-went-on"),
    ],
)
def test_sessions_are_looked_at_when_their_time_comes(
    store: SqliteStore, due: timedelta | None, digest: str | None, is_due: bool
) -> None:
    save(store, "a", digest or graded(store, "a"), due)
    graded(store, "a")

    assert OutcomesTable(store).due(NOW, since=NOW - DAY, limit=9) == (["a"] if is_due else [])


def test_never_looked_at_are_those_that_are_finished_here_and_not_too_old(store: SqliteStore) -> None:
    graded(store, "new")
    graded(store, "open", state=SessionState.OPEN)

    assert OutcomesTable(store).due(NOW, since=NOW - DAY, limit=9) == ["new"]
    assert OutcomesTable(store).due(NOW, since=NOW + DAY, limit=9) == []


def test_commits_of_other_sessions_of_a_repository_are_known(store: SqliteStore) -> None:
    save(store, "a", None, None)
    save(store, "b", None, None, commits=(MadeCommit(commit="b" * 40, at=NOW, named=False, lines=2),))

    table = OutcomesTable(store)

    assert table.commits_beside("/src", "b") == {"a" * 40}
    assert table.commits_beside("/src", "a") == table.commits_beside("/other", "b") == frozenset()


def test_all_that_left_anything_are_listed(store: SqliteStore) -> None:
    graded(store, "a")
    kept = save(store, "a", None, None)
    graded(store, "nothing")

    assert OutcomesTable(store).every(9) == [kept]


def test_without_a_grade_nothing_is_kept(store: SqliteStore) -> None:
    save(store, "a", None, None)

    with store.transaction():
        OutcomesTable(store).forget_gone()

    assert OutcomesTable(store).of_session("a") is None


def counted(days: int, kept: int) -> tuple[Survival, ...]:
    return (Survival(days=days, age_days=days, kept=kept, lines=10),)


BACK = (Reverted(commit="a" * 40, by="f" * 40, at=NOW, kind=RevertKind.MESSAGE),)


def test_tasks_with_commits_are_counted_by_what_became_of_them(store: SqliteStore) -> None:
    for name in ("a", "b", "c", "d", "e", "f"):
        graded(store, name, model="n" if name == "f" else "m")
    graded(store, "run", kind=SessionKind.CRON)
    save(store, "a", None, None, survival=counted(7, 9))
    save(store, "b", None, None, survival=counted(1, 10))
    save(store, "c", None, None, survival=counted(7, 1))
    save(store, "d", None, None, reverted=BACK)
    save(store, "e", None, None, survival=counted(1, 0))
    save(store, "f", None, None)
    save(store, "run", None, None, reverted=BACK)
    save(store, "no commits", None, None, commits=())

    found = work_outcomes(store, NOW - DAY, NOW + DAY)

    of_m = WorkCounts(name="m", sessions=5, reverted=1, gone=1, rewritten=1, kept=2, kept_week=1)
    assert found == WorkOutcomes(replace(of_m, name="", sessions=6), (of_m, WorkCounts(name="n", sessions=1)))
    assert work_outcomes(store, NOW + DAY, NOW + 2 * DAY) == WorkOutcomes(WorkCounts(), ())


def test_what_a_fate_is_worth_is_told_by_people_and_rewards_alone(store: SqliteStore) -> None:
    said = [VerdictBy.PERSON] * 4 + [VerdictBy.REWARD, VerdictBy.MODEL, VerdictBy.REVERT]
    for number, by in enumerate(said):
        for fate, done in (("kept", number > 0), ("gone", False)):
            graded(store, f"{fate}{number}", task_completed=done, verdict_by=by)
    graded(store, "run", kind=SessionKind.CRON, verdict_by=VerdictBy.PERSON)
    for number in range(len(said)):
        save(store, f"kept{number}", None, None, survival=counted(7, 9))
    save(store, "gone0", None, None, survival=counted(1, 0))
    save(store, "gone5", None, None, survival=counted(1, 0))
    save(store, "run", None, None, survival=counted(1, 0))

    gone, kept = OutcomesTable(store).worth()

    assert (gone.fate, gone.done) == (WorkFate.GONE, Estimate(sample=1))
    assert (kept.fate, kept.done) == (WorkFate.KEPT, proportion(4, 5))


def test_sessions_are_listed_by_what_became_of_their_work(store: SqliteStore) -> None:
    for name in ("a", "b", "c"):
        graded(store, name)
    save(store, "a", None, None, survival=counted(7, 9))
    save(store, "b", None, None, reverted=BACK)

    found = {fate: [row.session_id for row in _listed(store, fate)] for fate in WorkFate}

    assert found == {WorkFate.REVERTED: ["b"], WorkFate.GONE: [], WorkFate.REWRITTEN: [], WorkFate.KEPT: ["a"]}


def _listed(store: SqliteStore, fate: WorkFate) -> list[Grade]:
    return [stored.grade for stored in store.grades.page(GradeFilter(outcome=fate)).grades]
