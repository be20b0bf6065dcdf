from __future__ import annotations

from datetime import timedelta

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.calibration import Agreement, Calibration, LabelCounts, ReliabilityBin, WeightChange
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.session_features import Features
from grader_daemon.domain.verdict import CompletionPolicy, VerdictBy, VerdictSetting
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, calibration, evidence, grade, model, new_grade

SURE = Estimate(value=0.5, low=0.25, high=0.75, sample=60)
AGREEMENT = Agreement(brier=SURE, ece=SURE, mcc=SURE, kappa=SURE, auc=Estimate(sample=60))
FULL = calibration(
    verdict_by=VerdictBy.MODEL,
    policy=VerdictSetting.MODEL,
    labels=60,
    model=model(version="m2", names=("a",), means=(0.5,), weights=(-0.25,)),
    evidence=evidence(
        seen=61,
        counts=LabelCounts(random=20, uncertain=30, given=10),
        rules=AGREEMENT,
        model=AGREEMENT,
        reliability=(ReliabilityBin(0.25, SURE),),
        weights=(WeightChange("a", 0.0, -0.25),),
        before="m1.rules",
        gain=SURE,
        shift=0.1,
        turned=3,
    ),
)


def add(store: SqliteStore, *made: Calibration) -> list[Calibration]:
    with store.transaction():
        return [store.calibrations.add(each) for each in made]


def test_a_calibration_is_kept_with_everything(store: SqliteStore) -> None:
    [kept] = add(store, FULL)
    assert kept.number == 1
    assert store.calibrations.latest(9) == [kept]
    assert kept.completion_policy == CompletionPolicy(by=VerdictBy.MODEL, model=FULL.model)
    assert kept.evidence.counts.total == 60


def test_before_the_first_nothing_is_adopted(store: SqliteStore) -> None:
    assert (store.calibrations.adopted(), store.calibrations.newest_number()) == (None, 0)


def test_one_that_was_not_adopted_changes_nothing(store: SqliteStore) -> None:
    first, _ = add(store, calibration(), calibration(adopted=False))
    assert (store.calibrations.adopted(), store.calibrations.newest_number()) == (first, 1)


def test_a_look_at_sessions_is_a_look(store: SqliteStore) -> None:
    looked, _ = add(store, calibration(evidence=evidence(sessions=20)), calibration())
    assert store.calibrations.last_look() == looked


def test_the_last_look_at_labels_is_told_from_changes_of_policy(store: SqliteStore) -> None:
    assert store.calibrations.last_look() is None
    looked, _ = add(store, calibration(evidence=evidence(seen=3), adopted=False), calibration())
    assert store.calibrations.last_look() == looked


def test_the_newest_stand_first(store: SqliteStore) -> None:
    add(store, *(calibration(labels=labels) for labels in range(5)))
    assert [each.labels for each in store.calibrations.latest(3)] == [4, 3, 2]


def test_a_model_is_found_by_its_version(store: SqliteStore) -> None:
    add(store, calibration(), FULL)
    assert store.calibrations.model("m2") == FULL.model
    assert store.calibrations.model("m9") is None


def test_features_of_the_newest_finished_sessions_are_kept(store: SqliteStore) -> None:
    with store.transaction():
        save_grades(
            store,
            [
                new_grade(
                    grade(
                        session_id=str(days),
                        session_file=f"/s/{days}",
                        state=state,
                        ended_at=NOW - timedelta(days=days),
                        features=Features((float(days),)),
                    )
                )
                for days, state in enumerate((SessionState.OPEN, *(SessionState.COMPLETE for _ in range(3))))
            ],
        )
    assert store.calibrations.history(2) == [(1.0,), (2.0,)]
    assert (store.calibrations.finished(2), store.calibrations.finished(9)) == (2, 3)


def test_the_newest_that_can_be_read_is_in_force(store: SqliteStore) -> None:
    first, second, _ = add(store, FULL, calibration(labels=7), calibration(labels=8))
    with store.transaction():
        store.connection.execute("UPDATE calibrations SET model = '{}' WHERE id = 3")
    assert store.calibrations.adopted() == second
    assert store.calibrations.last_look() == first
    assert store.calibrations.newest_number() == 3


def test_where_none_can_be_read_none_is_in_force(store: SqliteStore) -> None:
    add(store, calibration())
    with store.transaction():
        store.connection.execute("UPDATE calibrations SET model = '{}'")
    assert store.calibrations.adopted() is None


def test_a_row_of_another_version_is_passed_over(store: SqliteStore) -> None:
    [kept] = add(store, calibration())
    with store.transaction():
        store.connection.execute(
            "INSERT INTO calibrations (made_at, adopted, verdict_by, policy, labels, model, evidence)"
            " VALUES (?, 0, 'oracle', 'auto', 1, '{}', '{}'), (?, 0, 'rules', 'auto', 1, '{}', '{}')",
            (NOW.isoformat(), NOW.isoformat()),
        )
    assert store.calibrations.latest(9) == [kept]
