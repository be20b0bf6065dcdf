from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from grader_daemon.calibration.training import TrainingContext
from grader_daemon.domain.alert import Stream
from grader_daemon.domain.feedback import FeedbackSource, Said
from grader_daemon.domain.rollup import Dimension, Metric
from grader_daemon.domain.session_features import Features
from grader_daemon.domain.verdict import VerdictBy, VerdictSetting
from grader_daemon.jobs.calibration_job import CalibrationJob, Calibrator
from grader_daemon.pipeline.save_labels import add_feedback
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.priors import prior
from tests.strategies import NOW, calibration, grade, new_grade

PRIOR = prior(version="prior-1")
DAY, WEEK = timedelta(days=1), timedelta(days=7)
STREAMS = {Stream(metric, Dimension.OVERALL, "") for metric in (Metric.ENDED_BADLY, Metric.QUALITY)}


class World:
    """A database with sessions, and what learns from it."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.settled = True
        self.calibrator = self.under(VerdictSetting.AUTO)

    def under(self, setting: VerdictSetting, *, rules: str = "") -> Calibrator:
        agreed = TrainingContext(setting=setting, prior=PRIOR, prior_better=VerdictBy.RULES, rules_version=rules)
        return Calibrator(self.store, agreed, discrepancy=1.5)

    def job(self, setting: VerdictSetting = VerdictSetting.AUTO, *, rules: str = "") -> CalibrationJob:
        return CalibrationJob(self.under(setting, rules=rules), is_settled=lambda: self.settled)

    def finish(self, count: int, *, first: int = 0) -> None:
        """Let so many new sessions end, whose only feature tells the truth."""
        with self.store.transaction():
            save_grades(
                self.store,
                [
                    new_grade(
                        grade(
                            session_id=str(n),
                            session_file=f"/s/{n}.json",
                            features=Features(((1.0 if n % 3 == 0 else -1.0) + n / 1000,)),
                            rules_completed=True,
                        )
                    )
                    for n in range(first, first + count)
                ],
            )

    def label(self, count: int, *, first: int = 0, now: datetime = NOW) -> None:
        """Let a person judge so many new sessions."""
        self.finish(count, first=first)
        numbers = range(first, first + count)
        with self.store.transaction():
            add_feedback(
                self.store,
                [Said(session_id=str(n), by="me", source=FeedbackSource.CSV, completed=n % 3 == 0) for n in numbers],
                now=now,
            )

    def watch_streams(self) -> None:
        with self.store.transaction():
            self.store.alerts.save_streams(dict.fromkeys(STREAMS, b"{}"), gone=())

    def rows(self) -> int:
        return len(self.store.calibrations.latest(99))


@pytest.fixture
def world(store: SqliteStore) -> World:
    return World(store)


def test_what_was_learned_is_kept(world: World) -> None:
    world.label(60)
    made = world.calibrator.calibrate(NOW)
    assert (made.adopted, made.number, made.verdict_by) == (True, 1, VerdictBy.MODEL)
    assert world.store.calibrations.adopted() == made


def test_a_judge_that_is_adopted_is_told_of(world: World) -> None:
    told: list[bool] = []
    job = CalibrationJob(world.calibrator, is_settled=lambda: True, on_adopted=lambda: told.append(True))
    world.label(60)
    assert (job.run(NOW), told) == (True, [True])
    assert (job.run(NOW), told) == (False, [True])


def test_a_try_writes_nothing(world: World) -> None:
    world.label(60)
    tried = world.calibrator.try_out(NOW)
    assert tried.adopted
    assert world.rows() == 0


def test_two_calibrations_at_the_same_time_adopt_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.label(60)
    labels, other = world.store.feedback.judged, world.under(VerdictSetting.AUTO)

    def meanwhile(session_ids: Sequence[str] | None = None) -> object:
        monkeypatch.setattr(world.store.feedback, "judged", labels)
        other.calibrate(NOW)
        return labels(session_ids)

    monkeypatch.setattr(world.store.feedback, "judged", meanwhile)
    slower = world.calibrator.calibrate(NOW)

    assert (slower.adopted, slower.number) == (False, None)
    assert world.rows() == 1


def test_a_newer_one_that_cannot_be_read_does_not_keep_one_from_learning(world: World) -> None:
    world.label(60)
    with world.store.transaction():
        world.store.calibrations.add(calibration())
        world.store.connection.execute("UPDATE calibrations SET model = '{}'")
    assert world.calibrator.calibrate(NOW).number == 2


def test_a_second_calibration_finds_nothing_to_change(world: World) -> None:
    world.label(60)
    world.calibrator.calibrate(NOW)
    again = world.calibrator.calibrate(NOW)
    assert (again.adopted, again.number) == (False, 2)


def test_the_job_records_the_first_policy_and_then_rests(world: World) -> None:
    assert world.job().run(NOW)
    assert not world.job().run(NOW)
    assert world.rows() == 1


def test_the_job_learns_once_a_week_if_there_is_something_new(world: World) -> None:
    world.label(60)
    assert world.job().run(NOW)
    assert world.rows() == 2
    world.label(3, first=60, now=NOW + WEEK / 2)
    assert not world.job().run(NOW + WEEK / 2)
    assert world.job().run(NOW + WEEK)
    assert not world.job().run(NOW + 2 * WEEK)
    assert world.rows() == 3


def test_labels_that_settle_disagreements_with_a_scorer_are_looked_at_on_the_next_day(world: World) -> None:
    world.label(5)
    world.job().run(NOW)
    digest = world.store.grades.stored(["0"])["0"].digest
    with world.store.transaction():
        for n in range(5):
            number = world.store.quality.begin(str(n), scorer="s", digest=digest, ours=2, now=NOW, budgeted=True)
            world.store.quality.answered(number, 4.0)
    world.label(5, now=NOW + DAY / 2)
    assert not world.job().run(NOW + DAY / 2)
    assert world.job().run(NOW + DAY)
    assert not world.job().run(NOW + 3 * DAY)


def test_the_job_waits_while_sessions_wait_to_be_graded(world: World) -> None:
    world.label(60)
    world.settled = False
    assert world.job().run(NOW)
    assert world.store.calibrations.last_look() is None


def test_another_setting_is_recorded_when_the_daemon_starts(world: World) -> None:
    world.label(60)
    world.job().run(NOW)
    learned = world.store.calibrations.adopted()
    assert learned is not None
    world.job(VerdictSetting.RULES).run(NOW + timedelta(hours=1))
    record = world.store.calibrations.adopted()
    assert record is not None
    assert (record.policy, record.verdict_by, record.model) == (VerdictSetting.RULES, VerdictBy.RULES, learned.model)
    assert world.job(VerdictSetting.AUTO).run(NOW + timedelta(hours=2))
    back = world.store.calibrations.adopted()
    assert back is not None
    assert back.completion_policy == learned.completion_policy


@pytest.mark.parametrize(
    ("setting", "rules", "left"),
    [
        pytest.param(VerdictSetting.AUTO, "", STREAMS, id="rules-decide-as-before"),
        pytest.param(VerdictSetting.MODEL, "", STREAMS, id="the-model-decides-and-endings-are-what-they-were"),
        pytest.param(
            VerdictSetting.MODEL, "r2", {Stream(Metric.QUALITY, Dimension.OVERALL, "")}, id="other-rules-read-endings"
        ),
    ],
)
def test_what_is_normal_is_learned_anew_where_endings_are_read_by_other_rules(
    world: World, setting: VerdictSetting, rules: str, left: set[Stream]
) -> None:
    world.job(VerdictSetting.AUTO).run(NOW)
    world.watch_streams()
    world.job(setting, rules=rules).run(NOW)
    assert set(world.store.alerts.streams()) == left


def test_without_labels_the_job_looks_at_sessions_when_there_are_enough_and_at_twice_as_many(world: World) -> None:
    world.job().run(NOW)
    world.finish(9)
    assert not world.job().run(NOW)
    world.finish(1, first=9)
    assert world.job().run(NOW)
    look = world.store.calibrations.last_look()
    assert look is not None
    assert (look.labels, look.evidence.sessions) == (0, 10)
    world.finish(9, first=10)
    assert not world.job().run(NOW + WEEK)
    world.finish(1, first=19)
    assert world.job().run(NOW + WEEK)
    assert not world.job().run(NOW + 2 * WEEK)
