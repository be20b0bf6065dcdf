from __future__ import annotations

import tempfile
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.analysis import Category, Failure, SessionState, Step
from grader_daemon.domain.calendar import Span
from grader_daemon.domain.feedback import NOTHING_SAID, FeedbackSource, Said, Sampling, apply_override, standing
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.session import SkipReason
from grader_daemon.domain.session_features import Features
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.errors import InputError
from grader_daemon.pipeline.save_labels import add_feedback, candidates, labels, reviews_since, standing_of
from grader_daemon.pipeline.saving import retract, save_grades
from grader_daemon.storage.maintenance.backup import back_up, restore
from grader_daemon.storage.maintenance.inspection import Inspection
from grader_daemon.storage.maintenance.salvage import salvage
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.rollups import DERIVED
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.damage import leaves_of, overwrite
from tests.feedback_examples import said
from tests.strategies import NOW, SESSION_ID, grade, new_grade, scores

HOUR = timedelta(hours=1)
TODAY = Span(NOW.date(), NOW.date())
STEP = Step("read_file", None, worked=True)
FAILED = {
    "failures": (Failure(2, "terminal", Category.TIMEOUT, None, "1-aaa", STEP),),
    "total_errors": 1,
    "error_rate": 0.5,
}


def save(store: SqliteStore, *made: Grade, digest: str = "d") -> None:
    with store.transaction():
        save_grades(store, [msgspec.structs.replace(new_grade(one), digest=digest) for one in made])


def give(store: SqliteStore, *words: Said) -> None:
    with store.transaction():
        add_feedback(store, words, now=NOW)


def undo(store: SqliteStore, session_id: str = SESSION_ID) -> None:
    last = standing_of(store, [session_id])[session_id].last
    assert last is not None
    give(store, said(session_id, completed=None, withdraws=last.id))


def stored(store: SqliteStore, session_id: str = SESSION_ID) -> Grade:
    return store.grades.stored([session_id])[session_id].grade


def completed(store: SqliteStore) -> int:
    return store.rollups.group(Dimension.OVERALL, "", TODAY).completed


def sums(store: SqliteStore) -> dict[str, list[Any]]:
    return {table: store.rows(f"SELECT * FROM {table}") for table in DERIVED}


def counted_anew(store: SqliteStore) -> dict[str, list[Any]]:
    with store.transaction():
        store.recount()
    return sums(store)


# -- a word, and taking it back ----------------------------------------------------------------------------------------


def test_a_word_stands_above_the_verdict_in_rows_and_sums(store: SqliteStore) -> None:
    save(store, grade(**FAILED), grade(session_id="other"))

    give(store, said(quality=1))

    expected: dict[str, object] = {
        "task_completed": False,
        "response_quality": 1,
        "verdict_by": VerdictBy.PERSON,
        "automatic_completed": True,
        "automatic_by": VerdictBy.RULES,
        "automatic_quality": 3,
    }
    assert stored(store) == grade(**FAILED, **expected)
    assert completed(store) == 1
    assert sums(store) == counted_anew(store)


def test_the_word_and_what_stood_before_are_kept(store: SqliteStore) -> None:
    save(store, grade(p_completed=0.8, verdict_by=VerdictBy.MODEL))

    give(store, said(note="not what I asked for", source=FeedbackSource.REVIEW, sampled=Sampling.RANDOM))
    give(store, said(completed=None, quality=5))

    first, second = store.feedback.said([SESSION_ID])
    assert (first.completed, first.quality, first.note) == (False, None, "not what I asked for")
    assert (first.source, first.sampled, first.given_at, first.given_by) == ("review", "random", NOW, "timmy")
    assert (first.completed_before, first.quality_before, first.verdict_before) == (True, 3, VerdictBy.MODEL)
    assert (first.p_completed, first.digest, first.withdraws) == (0.8, "d", None)
    assert (second.completed_before, second.quality_before, second.verdict_before) == (False, 3, VerdictBy.PERSON)


def test_an_undo_restores_what_was(store: SqliteStore) -> None:
    save(store, grade(**FAILED, verdict_by=VerdictBy.MODEL))
    before = (stored(store), sums(store))
    give(store, said(quality=1))

    undo(store)

    assert (stored(store), sums(store)) == before
    assert standing_of(store, [SESSION_ID])[SESSION_ID] == NOTHING_SAID
    assert len(store.feedback.said([SESSION_ID])) == 2


def test_an_undo_can_be_undone(store: SqliteStore) -> None:
    save(store, grade())
    give(store, said())
    undo(store)

    give(store, said(completed=None, withdraws=store.feedback.said([SESSION_ID])[-1].id))

    assert stored(store).verdict_by is VerdictBy.PERSON
    assert completed(store) == 0


def test_of_two_people_the_last_word_stands_and_both_are_kept(store: SqliteStore) -> None:
    save(store, grade())
    give(store, said())

    give(store, said(by="anna", completed=True))

    word = standing_of(store, [SESSION_ID])[SESSION_ID].completed
    assert word is not None
    assert word.given_by == "anna"
    assert stored(store).task_completed
    assert stored(store).automatic_completed is True
    assert [each.given_by for each in store.feedback.said([SESSION_ID])] == ["timmy", "anna"]


def test_lists_go_by_the_word(store: SqliteStore) -> None:
    save(store, grade(), grade(session_id="other"))

    give(store, said())

    assert [each.grade.session_id for each in store.grades.page(GradeFilter(completed=False)).grades] == [SESSION_ID]
    assert [each.grade.session_id for each in store.grades.page(GradeFilter(completed=True)).grades] == ["other"]


def test_a_word_makes_reports_of_its_day_anew(store: SqliteStore) -> None:
    save(store, grade())
    before = store.rollups.revisions()[NOW.date()]

    give(store, said(completed=True))

    assert store.rollups.revisions()[NOW.date()] > before


def test_a_word_leaves_what_else_is_known_of_the_session(store: SqliteStore) -> None:
    with store.transaction():
        save_grades(store, [msgspec.structs.replace(new_grade(grade()), loop_told=True)])
    store.connection.execute("UPDATE session_details SET watched = 1")

    give(store, said())

    found = store.grades.stored([SESSION_ID])[SESSION_ID]
    assert (found.loop_told, found.watched, found.digest) == (True, True, "d")


def test_nothing_can_be_said_of_a_session_without_a_grade(store: SqliteStore) -> None:
    save(store, grade())

    with pytest.raises(InputError, match="has no grade from this program"):
        give(store, said(), said("nobody"))

    assert store.feedback.said([SESSION_ID]) == []


def test_nothing_can_be_said_of_a_grade_of_another_program(store: SqliteStore) -> None:
    save(store, grade())
    store.connection.execute("DELETE FROM session_details")

    with pytest.raises(InputError, match="has no grade from this program"):
        give(store, said())


@pytest.mark.parametrize("sql", ["UPDATE feedback SET completed = 1", "DELETE FROM feedback"])
def test_rows_are_never_changed(store: SqliteStore, sql: str) -> None:
    save(store, grade())
    give(store, said())

    with pytest.raises(apsw.ConstraintError, match="feedback is added, never"):
        store.connection.execute(sql)


# -- sessions that are graded again ------------------------------------------------------------------------------------


def test_a_new_grade_goes_below_the_word(store: SqliteStore) -> None:
    save(store, grade())
    give(store, said())

    save(store, grade(verdict_by=VerdictBy.MODEL, p_completed=0.9, response_quality=4))

    found = stored(store)
    assert (found.task_completed, found.verdict_by) == (False, VerdictBy.PERSON)
    assert (found.automatic_completed, found.automatic_by) == (True, VerdictBy.MODEL)
    assert (found.response_quality, found.p_completed) == (4, 0.9)
    assert sums(store) == counted_anew(store)


def test_an_undo_after_a_new_grade_gives_the_new_grade(store: SqliteStore) -> None:
    save(store, grade())
    give(store, said(quality=5))
    again = grade(task_completed=False, verdict_by=VerdictBy.MODEL, response_quality=2)
    save(store, again)

    undo(store)

    assert stored(store) == again
    assert sums(store) == counted_anew(store)


@pytest.mark.parametrize("reason", [SkipReason.COPY, SkipReason.SUPERSEDED])
def test_the_word_outlives_a_grade_that_is_taken_back(store: SqliteStore, reason: SkipReason) -> None:
    save(store, grade())
    give(store, said())
    with store.transaction():
        retract(store, SESSION_ID, reason)

    assert len(store.feedback.said([SESSION_ID])) == 1
    assert labels(store) == []
    assert sums(store) == counted_anew(store)

    save(store, grade())

    assert stored(store).verdict_by is VerdictBy.PERSON
    assert completed(store) == 0


def test_labels_are_asked_for_some_sessions_or_for_all(store: SqliteStore) -> None:
    names = ("a", "b", "c")
    save(store, *(grade(session_id=name, session_file=f"/{name}") for name in names))
    give(store, said("b"), said("c"), said("a"))
    assert [label.session_id for label in labels(store)] == ["b", "c", "a"]
    assert labels(store, ["a", "b", "other"]) == [label for label in labels(store) if label.session_id != "c"]
    assert labels(store, []) == []


def test_a_word_on_a_session_that_went_on_stands_and_teaches_nothing(store: SqliteStore) -> None:
    save(store, grade())
    give(store, said())
    assert not labels(store)[0].went_on

    save(store, grade(), digest="another")

    [label] = labels(store)
    assert label.went_on
    assert stored(store).verdict_by is VerdictBy.PERSON


def test_a_new_word_on_it_teaches_again(store: SqliteStore) -> None:
    save(store, grade())
    give(store, said())
    save(store, grade(), digest="another")

    give(store, said())

    assert not labels(store)[0].went_on


# -- what is learned from ----------------------------------------------------------------------------------------------


def test_labels_hold_what_there_is_to_learn(store: SqliteStore) -> None:
    save(
        store,
        grade(
            rules_completed=True,
            p_completed=0.7,
            verdict_by=VerdictBy.MODEL,
            features=Features((1.0, 0.5)),
            request=42,
            state=SessionState.INTERRUPTED,
        ),
    )
    give(store, said(source=FeedbackSource.REVIEW, sampled=Sampling.RANDOM, note="no"))

    [label] = labels(store)

    assert (label.session_id, label.completed, label.quality, label.note) == (SESSION_ID, False, None, "no")
    assert (label.automatic_completed, label.rules_completed, label.p_completed) == (True, True, 0.7)
    assert (label.automatic_quality, label.features, label.request) == (3, (1.0, 0.5), 42)
    assert (label.sampled, label.drawn_at_random, label.is_finished) == (Sampling.RANDOM, True, True)
    assert (label.source, label.given_by, label.given_at) == ("review", "timmy", NOW)
    assert label.ended_on == NOW.date().isoformat()


def test_labels_come_as_they_were_given_and_not_when_they_were_taken_back(store: SqliteStore) -> None:
    save(store, *(grade(session_id=name) for name in "abc"))
    for name in "cab":
        give(store, said(name))
    undo(store, "a")

    assert [label.session_id for label in labels(store)] == ["c", "b"]


def test_an_open_session_is_told_apart(store: SqliteStore) -> None:
    save(store, grade(state=SessionState.OPEN))
    give(store, said())

    assert not labels(store)[0].is_finished


# -- reviews -----------------------------------------------------------------------------------------------------------


def test_candidates_are_finished_sessions_that_nobody_judged(store: SqliteStore) -> None:
    save(
        store,
        grade(session_id="fresh", p_completed=0.4, rules_completed=False, request=7),
        grade(session_id="open", state=SessionState.OPEN),
        grade(session_id="old", ended_at=NOW - 100 * HOUR),
        grade(session_id="judged"),
        grade(session_id="taken back", ended_at=NOW - HOUR),
        grade(session_id="quality only", ended_at=NOW - 2 * HOUR),
    )
    give(store, said("judged"), said("taken back"), said("quality only", completed=None, quality=2))
    undo(store, "taken back")

    found = candidates(store, since=NOW - 48 * HOUR)

    assert [each.session_id for each in found] == ["fresh", "taken back", "quality only"]
    assert (found[0].p_completed, found[0].rules_completed, found[0].completed, found[0].request) == (
        0.4,
        False,
        True,
        7,
    )
    assert len(candidates(store, since=None)) == 4


def test_of_many_candidates_the_newest_are_told(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader_daemon.pipeline.save_labels._MOST_CANDIDATES", 2)
    save(store, *(grade(session_id=f"s{hours}", ended_at=NOW - hours * HOUR) for hours in range(5)))
    give(store, said("s1"))

    assert [each.session_id for each in candidates(store, since=None)] == ["s0", "s2"]


def test_requests_of_judged_sessions_are_known(store: SqliteStore) -> None:
    save(store, grade(session_id="a", request=1), grade(session_id="b", request=2), grade(session_id="c"))
    give(store, said("a"), said("c"))

    assert store.feedback.judged_requests() == {1}


def test_reviews_of_a_week_are_counted_by_session(store: SqliteStore) -> None:
    save(store, *(grade(session_id=name) for name in "abcd"))
    review = {"source": FeedbackSource.REVIEW}
    with store.transaction():
        add_feedback(store, [said("a", **review)], now=NOW - HOUR)
    give(store, said("b", **review), said("c", **review), said("d"))
    give(store, said("b", completed=True, **review))
    undo(store, "c")

    assert [each.session_id for each in reviews_since(store, NOW)] == ["b"]
    assert {each.session_id for each in reviews_since(store, NOW - HOUR)} == {"a", "b"}


# -- damage and copies -------------------------------------------------------------------------------------------------


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A database in which people judged many sessions."""
    path = tmp_path / "judged.db"
    with closing(SqliteStore(path)) as store:
        names = [f"s{number:03}" for number in range(200)]
        save(store, *(grade(session_id=name, features=Features((1.0,) * 20)) for name in names))
        give(store, *(said(name, note="n" * 50) for name in names))
        undo(store, "s007")
    return path


def words(path: Path) -> list[Any]:
    with closing(SqliteStore(path)) as store:
        return store.rows("SELECT * FROM feedback ORDER BY id")


def test_feedback_is_in_a_backup_and_comes_back(judged: Path, tmp_path: Path) -> None:
    before = words(judged)
    back_up(judged, tmp_path / "bak")
    with closing(SqliteStore(judged)) as store:
        give(store, said("s001", completed=True))

    restore(tmp_path / "bak", judged, now=NOW)

    assert words(judged) == before
    with closing(SqliteStore(judged)) as store:
        assert stored(store, "s001").verdict_by is VerdictBy.PERSON
        assert not stored(store, "s001").task_completed


def test_feedback_is_saved_out_of_a_damaged_database(judged: Path, tmp_path: Path) -> None:
    before = words(judged)
    overwrite(judged, leaves_of(judged, "session_details")[1:2])

    salvage(judged, tmp_path / "fresh.db")

    assert words(tmp_path / "fresh.db") == before
    with Inspection(tmp_path / "fresh.db") as inspection:
        assert inspection.miscounted() == {}
    with closing(SqliteStore(tmp_path / "fresh.db")) as store:
        save(store, *(grade(session_id=f"s{number:03}") for number in range(200)))  # the daemon grades what is missing
        assert [stored(store, name).verdict_by for name in ("s006", "s007", "s008")] == ["person", "rules", "person"]
        give(store, said("s007"))
        assert store.feedback.said(["s007"])[-1].id == len(before) + 1


@pytest.mark.parametrize(
    ("given_at", "source"),
    [pytest.param("'then'", "label", id="a-time-that-is-none"), pytest.param("given_at", "hearsay", id="no-source")],
)
def test_feedback_that_nobody_gave_is_left_behind(judged: Path, tmp_path: Path, given_at: str, source: str) -> None:
    before = words(judged)
    with closing(apsw.Connection(str(judged))) as connection:
        connection.execute(
            f"INSERT INTO feedback SELECT 999, session_id, {given_at}, given_by, 1, 1, NULL, '{source}', NULL, 'd',"
            " 1, 3, 'rules', NULL, NULL FROM feedback LIMIT 1"
        )

    salvage(judged, tmp_path / "fresh.db")

    assert words(tmp_path / "fresh.db") == before


# -- whatever happens --------------------------------------------------------------------------------------------------

SESSIONS = st.sampled_from(["a", "b"])
Step_ = tuple[str, str, bool | None, int | None]


@st.composite
def histories(draw: st.DrawFn) -> list[Step_]:
    """Grades, words, withdrawals, and grades that are taken back, of two sessions."""
    steps = st.tuples(
        st.sampled_from(["grade", "label", "label", "undo", "retract"]),
        SESSIONS,
        st.none() | st.booleans(),
        st.none() | scores,
    )
    return draw(st.lists(steps, min_size=1, max_size=14))


@given(history=histories())
def test_rows_are_what_stands_over_what_is_automatic_and_sums_are_what_rows_give(history: list[Step_]) -> None:
    automatic: dict[str, Grade] = {}
    with tempfile.TemporaryDirectory() as folder, closing(SqliteStore(Path(folder) / "a.db")) as store:
        for what, name, verdict, quality in history:
            if what == "grade":
                made = _graded(name, verdict=bool(verdict), quality=quality or 3)
                automatic[name] = made
                save(store, made)
            elif name not in automatic:
                continue
            elif what == "label":
                give(store, said(name, completed=verdict, quality=quality))
            elif what == "retract":
                del automatic[name]
                with store.transaction():
                    retract(store, name, SkipReason.COPY)
            elif standing_of(store, [name]).get(name, NOTHING_SAID).last is not None:
                undo(store, name)
            for known, bare in automatic.items():
                assert stored(store, known) == apply_override(bare, standing(store.feedback.said([known])))
            assert sums(store) == counted_anew(store)


def _graded(name: str, *, verdict: bool, quality: int) -> Grade:
    by = VerdictBy.MODEL if verdict else VerdictBy.RULES
    return grade(
        session_id=name,
        task_completed=verdict,
        response_quality=quality,
        verdict_by=by,
        **FAILED,
        ended_on=date(2026, 11, 20 + quality % 2).isoformat(),
    )
