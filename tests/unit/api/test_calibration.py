from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from grader_daemon import IngestOutcome, SelfGrader
from grader_daemon.analysis.features import FEATURES
from grader_daemon.domain.verdict import GradeVersion, VerdictBy, VerdictSetting
from grader_daemon.settings import Settings, load_settings
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import SessionWriter
from tests.feature_values import FAILED
from tests.priors import write_prior
from tests.strategies import json_answer, json_round, json_user

TURN = [json_user(), *json_round(), json_answer()]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    prior = write_prior(tmp_path / "prior.json", intercept=-1.0)
    return load_settings(
        watch_roots=(tmp_path / "sessions",), db_path=tmp_path / "grades.db", calibration_prior=prior, verdict="model"
    )


@pytest.fixture
def grader(settings: Settings) -> Iterator[SelfGrader]:
    with SelfGrader(settings=settings) as opened:
        yield opened


def test_grades_are_given_by_the_policy_in_force(grader: SelfGrader, write_session: SessionWriter) -> None:
    graded = grader.grade_session_file(write_session(TURN))
    version = GradeVersion.read(graded.rules_version)
    assert (version.model, version.by) == ("p1", VerdictBy.MODEL)
    assert not graded.task_completed


def test_a_try_is_judged_like_grades_though_there_is_no_database(
    grader: SelfGrader, settings: Settings, write_session: SessionWriter
) -> None:
    [(_, tried)] = grader.grading.grade_paths([write_session(TURN)], dry_run=True).grades
    assert tried.verdict_by is VerdictBy.MODEL
    assert not settings.db_path.exists()


def test_a_try_is_judged_by_what_was_learned(grader: SelfGrader, write_session: SessionWriter) -> None:
    paths = [
        write_session([json_user(f"Task {n}"), *TURN[1:]], session_id=f"s{n}", session_start=f"2026-11-21T21:{n:02}:00")
        for n in range(55)
    ]
    grader.grading.grade_paths(paths)
    for number in range(55):
        grader.labels.add(f"s{number}", completed=True)
    made = grader.calibrate()
    [(_, tried)] = grader.grading.grade_paths(paths[:1], dry_run=True).grades
    assert made.adopted
    assert GradeVersion.read(tried.rules_version).model == made.model.version
    assert (tried.p_completed or 0) > 0.9


def test_the_state_says_who_decides_and_why(grader: SelfGrader) -> None:
    SqliteStore(grader.settings.db_path).close()
    state = grader.calibration.state()
    assert (state.policy, state.verdict_by, state.why) == (
        VerdictSetting.MODEL,
        VerdictBy.MODEL,
        "the setting verdict says model",
    )
    assert (state.model, state.prior, state.look, state.new_labels, state.history) == ("p1", "p1", None, False, ())


def test_the_largest_weights_come_first_with_their_meaning(tmp_path: Path, settings: Settings) -> None:
    weights = (0.5, -2.0, *(0.0 for _ in list(FEATURES)[2:]))
    prior = write_prior(tmp_path / "p.json", weights=weights)
    SqliteStore(settings.db_path).close()
    with SelfGrader(settings=settings.model_copy(update={"calibration_prior": prior})) as grader:
        first, second, *_ = grader.calibration.state().weights
    names = list(FEATURES)
    assert (first.name, first.weight, first.meaning) == (names[1], -2.0, FEATURES[names[1]])
    assert second.name == names[0]


def test_why_tells_what_moved_the_probability(tmp_path: Path, settings: Settings, write_session: SessionWriter) -> None:
    prior = write_prior(tmp_path / "p.json", weights=tuple(2.0 * (name == "answered") for name in FEATURES))
    with SelfGrader(settings=settings.model_copy(update={"calibration_prior": prior})) as grader:
        graded = grader.grade_session_file(write_session(TURN))
        [effect] = grader.grades.explain(graded.session_id).effects
    assert (effect.name, effect.value, effect.log_odds) == ("answered", 1.0, 2.0)
    assert effect.meaning == FEATURES["answered"]


def test_why_tells_how_a_value_stands_among_ones_own_sessions(
    tmp_path: Path, settings: Settings, write_session: SessionWriter
) -> None:
    prior = write_prior(tmp_path / "p.json", weights=tuple(2.0 * (name == "final_words") for name in FEATURES))
    with SelfGrader(settings=settings.model_copy(update={"calibration_prior": prior})) as grader:
        graded = [
            grader.grade_session_file(
                write_session([*TURN[:-1], json_answer("word " * (10 + number))], session_id=f"s{number}")
            )
            for number in range(10)
        ]
        [effect] = grader.grades.explain(graded[-1].session_id).effects
    assert effect.above == pytest.approx(0.95)


def test_a_failed_call_is_not_compared_with_sessions_without_any(
    tmp_path: Path, settings: Settings, write_session: SessionWriter
) -> None:
    prior = write_prior(tmp_path / "p.json", weights=tuple(2.0 * (name == "left") for name in FEATURES))
    failed = [TURN[0], *json_round(FAILED), TURN[-1]]
    with SelfGrader(settings=settings.model_copy(update={"calibration_prior": prior})) as grader:
        for number in range(12):
            grader.grade_session_file(write_session(TURN, session_id=f"s{number}"))
        graded = grader.grade_session_file(write_session(failed, session_id="failed"))
        [effect] = grader.grades.explain(graded.session_id).effects
    assert (effect.value, effect.above) == (1.0, None)


def test_words_are_told_together(tmp_path: Path, settings: Settings, write_session: SessionWriter) -> None:
    prior = write_prior(tmp_path / "p.json", weights=tuple(0.5 * name.startswith("hash:answer:") for name in FEATURES))
    with SelfGrader(settings=settings.model_copy(update={"calibration_prior": prior})) as grader:
        graded = grader.grade_session_file(write_session([*TURN[:-1], json_answer("alpha beta gamma")]))
        [effect] = grader.grades.explain(graded.session_id).effects
        weights = grader.calibration.state().weights
    assert (effect.name, effect.value, effect.log_odds) == ("hash:answer", 3.0, 1.5)
    assert effect.meaning == "Words of the answer."
    assert not [each.name for each in weights if each.name.startswith("hash:")]


@pytest.mark.parametrize(("version", "known"), [("p1", True), ("p0", False), (None, False)])
def test_a_model_is_found_by_its_version(grader: SelfGrader, version: str | None, known: bool) -> None:
    SqliteStore(grader.settings.db_path).close()
    assert (grader.calibration.model(version) is not None) == known


def test_why_tells_the_probability(grader: SelfGrader, write_session: SessionWriter) -> None:
    graded = grader.grade_session_file(write_session(TURN))
    explained = grader.grades.explain(graded.session_id)
    assert explained.sentences["completion.model"].startswith("the trained model gives the verdict")
    assert explained.stored.grade.p_completed == pytest.approx(0.269, abs=0.001)
    assert explained.effects == ()


# -- grading again -----------------------------------------------------------------------------------------------------


def test_only_files_of_another_version_are_outdated(
    grader: SelfGrader, settings: Settings, write_session: SessionWriter
) -> None:
    path = write_session(TURN)
    grader.grading.grade_paths([path])
    assert (grader.grading.outdated_files(), grader.grading.graded_files()) == ([], [path])
    with SelfGrader(settings=settings.model_copy(update={"verdict": "rules"})) as other:
        assert other.grading.outdated_files() == [path]


def test_outdated_files_are_read_again_only_where_what_is_stored_is_not_enough(
    grader: SelfGrader, settings: Settings, write_session: SessionWriter
) -> None:
    paths = [write_session(TURN, session_id=each) for each in ("kept", "repaired", "gone")]
    grader.grading.grade_paths(paths)
    with closing(SqliteStore(settings.db_path)) as store, store.transaction():
        store.connection.execute("UPDATE session_files SET rules_version = NULL WHERE session_id = 'repaired'")
    for path in (paths[0], paths[2]):
        os.unlink(path)  # nothing of them is read

    with SelfGrader(settings=settings.model_copy(update={"verdict": "rules"})) as other:
        graded = [each for batch in other.grading.regrade_outdated(other.grading.outdated_files()) for each in batch]
        assert other.grading.outdated_files() == []

    assert [each.outcome for each in graded] == [IngestOutcome.GRADED] * 3
    assert [each.grade.session_id for each in graded if each.grade] == ["gone", "kept", "repaired"]


def test_a_difference_is_shown_and_nothing_is_written(
    grader: SelfGrader, settings: Settings, write_session: SessionWriter
) -> None:
    grader.grading.grade_paths([write_session(TURN)])
    before = grader.grades.select()
    done: list[int] = []
    with SelfGrader(settings=settings.model_copy(update={"verdict": "rules"})) as other:
        diff = other.grading.regrade_diff(advance=done.append)
    assert (diff.sessions, diff.changed, done) == (1, 1, [1])
    assert [reason.rule for reason in diff.largest[0].silent] == ["completion.model"]
    assert grader.grades.select() == before


def test_a_persons_word_is_no_difference(grader: SelfGrader, settings: Settings, write_session: SessionWriter) -> None:
    grader.grading.grade_paths([write_session(TURN)])
    grader.labels.add(grader.grades.select()[0].grade.session_id, completed=False)
    with SelfGrader(settings=settings.model_copy(update={"verdict": "rules"})) as other:
        assert other.grading.regrade_diff().changed == 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param([json_user("Something else"), *TURN], "changed since it was graded", id="it-went-on"),
        pytest.param(TURN[:-1], "still open", id="it-is-open"),
        pytest.param(None, "can no longer be graded", id="it-is-broken"),
    ],
)
def test_what_cannot_be_compared_is_counted(
    grader: SelfGrader, write_session: SessionWriter, content: list[dict[str, object]] | None, reason: str
) -> None:
    grader.grading.grade_paths([write_session(TURN)])
    path = write_session(content) if content is not None else write_session(content=b"{")
    if reason == "still open":
        Path(path).touch()
    diff = grader.grading.regrade_diff()
    assert (diff.sessions, diff.unread) == (0, {reason: 1})


def test_a_session_whose_file_is_gone_is_compared_by_what_is_kept_of_it(
    grader: SelfGrader, settings: Settings, write_session: SessionWriter
) -> None:
    path = write_session(TURN)
    grader.grading.grade_paths([path])
    Path(path).unlink()
    with SelfGrader(settings=settings.model_copy(update={"verdict": "rules"})) as other:
        assert other.grading.regrade_diff().changed == 1
