from __future__ import annotations

import pytest
from msgspec.structs import replace

from grader_daemon.domain.estimate import Estimate, proportion
from grader_daemon.domain.work_fate import FateWorth, WorkCounts, WorkFate, WorkOutcomes
from grader_daemon.reports.document_parts import Prose, Topic, lay_out
from grader_daemon.reports.safe_text import plain
from grader_daemon.reports.work_words import models_words, outcomes_words, worth_words
from tests.reports_examples import example_report

WHOLE = WorkCounts(sessions=41, reverted=2, kept=38, kept_week=36)
ONE = WorkCounts(name="m", sessions=30, reverted=2, kept=28)
OTHER = WorkCounts(name="n", sessions=11, gone=1, rewritten=2, kept=8)


def test_work_of_many_sessions_is_told_in_a_line() -> None:
    told = "of 41 sessions with commits: 2 reverted, 1 not counted yet, 38 still there, 36 of them after 7 days"
    assert outcomes_words(WorkOutcomes(WHOLE, (ONE, OTHER))) == told


def test_what_a_fate_is_worth_is_told_with_its_interval() -> None:
    found = [FateWorth(WorkFate.REWRITTEN, Estimate(sample=3)), FateWorth(WorkFate.KEPT, proportion(20, 23))]
    assert worth_words(found) == "rewritten too few sessions (3); still there 87 % (68–95 %) of 23 done"


def test_nothing_is_told_of_no_commits() -> None:
    assert outcomes_words(WorkOutcomes(WorkCounts(), ())) is None


@pytest.mark.parametrize(
    ("models", "words"),
    [
        pytest.param((), None, id="none"),
        pytest.param((ONE,), None, id="one"),
        pytest.param(
            (ONE, OTHER),
            "m: 2 reverted, 28 still there of 30; n: 1 gone, 2 rewritten, 8 still there of 11",
            id="two",
        ),
    ],
)
def test_models_are_told_where_there_are_several(models: tuple[WorkCounts, ...], words: str | None) -> None:
    assert models_words(WorkOutcomes(WHOLE, models)) == words


def test_models_that_are_not_told_are_counted() -> None:
    told = models_words(WorkOutcomes(WHOLE, (ONE,) * 8))
    assert told is not None
    assert told.endswith("; 3 more models")


@pytest.mark.parametrize(("models", "lines"), [((ONE,), 1), ((ONE, OTHER), 2)])
def test_a_report_tells_what_became_of_work(models: tuple[WorkCounts, ...], lines: int) -> None:
    report = replace(example_report(), work=WorkOutcomes(WHOLE, models))
    [summary] = [each for each in lay_out(report).sections if each.topic is Topic.SUMMARY]
    said = [plain(block.words) for block in summary.blocks if isinstance(block, Prose)]
    assert sum(line.startswith(("Work in git over four weeks: of 41", "By model: m: ")) for line in said) == lines


def test_a_report_without_commits_says_nothing_of_them() -> None:
    report = replace(example_report(), work=WorkOutcomes(WorkCounts(), ()))
    assert "in git" not in str(lay_out(report))
