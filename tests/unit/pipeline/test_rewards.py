"""The reward of a run as a label, from the file beside it to the verdict."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from grader_daemon.domain.feedback import FeedbackSource, Label, Said
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.unit import Unit
from grader_daemon.domain.verdict import CompletionPolicy, VerdictBy
from grader_daemon.pipeline.commit import Commit
from grader_daemon.pipeline.examine import Examiner
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.pipeline.save_labels import add_feedback, labels
from grader_daemon.sources.atif.trial_files import AtifTrials
from grader_daemon.sources.protocol import Sources
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import PAUSES, Clock
from tests.strategies import NOW

STEPS = [
    {"step_id": 1, "source": "user", "message": "Write hello.py"},
    {"step_id": 2, "source": "agent", "message": "Done: it works.", "timestamp": "2026-11-20T10:00:00Z"},
]


class Trial:
    """A run that is graded again and again."""

    def __init__(self, folder: Path, store: SqliteStore, ingest: Ingest) -> None:
        self._folder = folder
        self.store = store
        self.ingest = ingest
        (folder / "agent").mkdir(parents=True)
        self.write(STEPS)

    def write(self, steps: list[dict[str, object]]) -> None:
        whole = {"schema_version": "ATIF-v1.7", "session_id": "run", "steps": steps}
        (self._folder / "agent" / "trajectory.json").write_text(json.dumps(whole))

    def reward(self, reward: str) -> None:
        (self._folder / "verifier").mkdir(exist_ok=True)
        (self._folder / "verifier" / "reward.txt").write_text(reward)

    def graded(self) -> Grade:
        self.ingest.ingest([Unit("atif", str(self._folder / "agent" / "trajectory.json"))], within_seconds=60)
        return self.store.grades.find("run").grade

    def say(self, *, completed: bool | None = None, withdraws: int | None = None) -> None:
        said = Said(session_id="run", by="timmy", source=FeedbackSource.LABEL, completed=completed, withdraws=withdraws)
        with self.store.transaction():
            add_feedback(self.store, [said], now=NOW)

    @property
    def label(self) -> Label | None:
        return next(iter(labels(self.store)), None)


@pytest.fixture
def trial(tmp_path: Path, store: SqliteStore, rules: Rules, clock: Clock) -> Trial:
    sources = Sources([AtifTrials([str(tmp_path)], limits=Limits())])
    examiner = Examiner(rules, CompletionPolicy(), sources, zone=None, idle=timedelta(hours=1), limits=Limits())
    recorder = Commit(store, retry_pauses=PAUSES, asked_again_within=timedelta(2))
    return Trial(
        tmp_path / "task__a",
        store,
        Ingest(examiner=examiner, recorder=recorder, store=store, clock=clock),
    )


@pytest.mark.parametrize(("reward", "completed"), [("1", True), ("1.0", True), ("0", False), ("-1", False)])
def test_a_reward_is_a_label_of_its_own_origin_above_the_automatic_verdict(
    trial: Trial, reward: str, completed: bool
) -> None:
    trial.reward(reward)

    grade = trial.graded()

    assert (grade.task_completed, grade.verdict_by) == (completed, VerdictBy.REWARD)
    assert grade.automatic_completed is not None
    assert trial.label is not None
    assert (trial.label.completed, trial.label.source, trial.label.given_by) == (
        completed,
        FeedbackSource.REWARD,
        "reward",
    )
    assert not trial.label.went_on  # so that calibration learns from it


def test_a_reward_that_comes_later_is_a_label_then(trial: Trial) -> None:
    assert trial.graded().verdict_by.is_automatic

    trial.reward("0")

    assert trial.graded().verdict_by is VerdictBy.REWARD


def test_grading_again_says_a_reward_once(trial: Trial) -> None:
    trial.reward("1")
    trial.graded()

    trial.graded()

    assert len(trial.store.feedback.said()) == 1


def test_a_run_that_goes_on_has_its_reward_said_of_what_it_is_now(trial: Trial) -> None:
    trial.reward("1")
    trial.graded()

    trial.write([*STEPS, {"step_id": 3, "source": "agent", "message": "And tested."}])
    trial.graded()

    assert trial.label is not None
    assert not trial.label.went_on


def test_a_reward_that_changes_stands_as_it_is_now(trial: Trial) -> None:
    trial.reward("1")
    trial.graded()

    trial.reward("0")

    assert not trial.graded().task_completed


def test_a_reward_for_a_part_of_the_task_says_neither(trial: Trial) -> None:
    trial.reward("0.5")
    assert trial.graded().verdict_by.is_automatic
    trial.reward("1")
    trial.graded()

    trial.reward("0.7")

    assert trial.graded().verdict_by.is_automatic
    assert trial.label is None
    trial.reward("1")
    assert trial.graded().verdict_by is VerdictBy.REWARD


def test_a_reward_beside_a_copy_is_of_the_session(trial: Trial, tmp_path: Path) -> None:
    newer = {"step_id": 3, "source": "agent", "message": "And tested.", "timestamp": "2026-11-20T11:00:00Z"}
    trial.write([*STEPS, newer])
    trial.graded()
    copy = Trial(tmp_path / "copy", trial.store, trial.ingest)

    copy.reward("0")

    assert "task__a" in copy.graded().session_file
    assert trial.store.grades.find("run").grade.verdict_by is VerdictBy.REWARD


def test_a_reward_never_stands_above_a_persons_word(trial: Trial) -> None:
    trial.graded()
    trial.say(completed=False)

    trial.reward("1")

    grade = trial.graded()
    assert (grade.task_completed, grade.verdict_by) == (False, VerdictBy.PERSON)
    assert trial.label is not None
    assert trial.label.source is FeedbackSource.LABEL


def test_a_reward_that_a_person_took_back_stays_taken_back(trial: Trial) -> None:
    trial.reward("1")
    trial.graded()
    (given,) = trial.store.feedback.said()

    trial.say(withdraws=given.id)
    trial.write([*STEPS, {"step_id": 3, "source": "agent", "message": "And tested."}])

    assert trial.graded().verdict_by.is_automatic
