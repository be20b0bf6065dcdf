from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from structlog.testing import capture_logs

from grader_daemon.domain.grade import Grade
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.quality import CheckOutcome
from grader_daemon.domain.session import Session
from grader_daemon.errors import ScorerBusyError, ScorerError, ScorerUnavailableError, StoreError
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.scorers.job import Checker, QualityJob
from grader_daemon.scorers.judge import JudgeScorer
from grader_daemon.storage.sqlite.quality_checks import QualityChecks
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import Clock, SessionWriter
from tests.e2e.session_files import turns
from tests.scripted_model import quality, scripted, status
from tests.strategies import NOW
from tests.units import hermes, units

SETTLED = timedelta(minutes=32)
Logs = list[MutableMapping[str, Any]]
Finish = Callable[..., list[str]]


class Scorer:
    """Answers what it is told to, one after the other; the last one stays."""

    name = "a friend"

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers or [3.0])
        self.asked: list[tuple[Session, Grade]] = []

    def validate(self, session: Session, grade: Grade) -> float:
        self.asked.append((session, grade))
        said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(said, Exception):
            raise said
        return said  # type: ignore[return-value]


BUSY = ScorerBusyError("a friend: 429")
DOWN = ScorerUnavailableError("a friend: 401")
MUTE = ScorerError("a friend: no number")


@pytest.fixture(autouse=True)
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between tries, which nobody waits for here."""
    taken: list[float] = []
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=taken.append))
    return taken


@pytest.fixture
def logs() -> Iterator[Logs]:
    with capture_logs() as captured:
        yield captured


@pytest.fixture
def finish(write_session: SessionWriter, ingest: Ingest, clock: Clock) -> Finish:
    """Grade some finished sessions, then let them settle."""

    def finished(count: int = 1, **fields: Any) -> list[str]:
        paths = []
        for number in range(count):
            start = f"2026-11-21T21:{number:02}:00"
            task = f"Fix parser {number}"
            fields = {"session_id": f"s{number}", "session_start": start, "last_updated": None, **fields}
            paths.append(write_session(turns(1, task=task), **fields))
            del fields["session_id"], fields["session_start"]
        ingest.ingest(units(paths), within_seconds=60)
        clock.now = NOW + SETTLED + timedelta(minutes=1)
        return paths

    return finished


def checker(store: SqliteStore, scorer: Scorer | JudgeScorer, clock: Clock, **limits: int) -> Checker:
    return Checker(
        store,
        scorer,
        discrepancy=1.5,
        sources=hermes(limits=Limits(**limits)),
        settled_after=SETTLED,
        clock=clock,
    )


def job(
    store: SqliteStore, scorer: Scorer | JudgeScorer, clock: Clock, *, calls: int = 10, zone: str = "UTC"
) -> QualityJob:
    return QualityJob(store, checker(store, scorer, clock), calls_per_day=calls, zone=ZoneInfo(zone))


def rounds(of: QualityJob, clock: Clock, count: int, *, every: timedelta = timedelta(minutes=1)) -> list[bool]:
    """Rounds as the scheduler makes them: what goes wrong stops none."""
    done = []
    for _ in range(count):
        try:
            done.append(of.run(clock.now))
        except ScorerUnavailableError:
            done.append(True)
        clock.now += every
    return done


def outcomes(store: SqliteStore) -> list[str]:
    return [row[0] for row in store.rows("SELECT outcome FROM quality_checks ORDER BY id")]


# -- what it asks --------------------------------------------------------------------------------------------------


def test_each_round_checks_one_session_until_all_are(
    store: SqliteStore, clock: Clock, finish: Finish, logs: Logs
) -> None:
    finish(3)
    scorer = Scorer(3.5)

    assert rounds(job(store, scorer, clock), clock, 5) == [True, True, True, False, False]

    assert {session.session_id for session, _ in scorer.asked} == {"s0", "s1", "s2"}
    assert all(grade.session_id == session.session_id for session, grade in scorer.asked)
    checked = [line for line in logs if line["event"] == "quality.checked"]
    assert [(line["scorer"], line["quality"], line["log_level"]) for line in checked] == [("a friend", 3.5, "info")] * 3


def test_the_answer_is_kept_beside_the_grade_and_changes_nothing_of_it(
    store: SqliteStore, clock: Clock, finish: Finish
) -> None:
    finish()
    before = store.grades.stored(["s0"])

    job(store, Scorer(1.0), clock).run(clock.now)

    assert store.grades.stored(["s0"]) == before
    check = store.quality.of_session("s0")
    assert check is not None
    assert (check.quality, check.ours, check.checked_at) == (1.0, before["s0"].grade.response_quality, clock.now)
    assert check.discrepancy == check.ours - 1.0
    assert check.digest == store.rows("SELECT digest FROM session_details")[0][0]


def test_a_disagreement_is_told_and_marks_the_session(
    store: SqliteStore, clock: Clock, finish: Finish, logs: Logs
) -> None:
    finish()
    ours = store.grades.stored(["s0"])["s0"].grade.response_quality

    job(store, Scorer(5.0 if ours < 4 else 1.0), clock).run(clock.now)

    (told,) = [line for line in logs if line["event"] == "quality.disagreed"]
    assert (told["level"], told["session_id"], told["ours"]) == ("notice", "s0", ours)
    assert told["discrepancy"] >= 1.5
    assert store.quality.disagreeing() == ["s0"]


def test_what_is_judged_is_what_was_graded_automatically(store: SqliteStore, clock: Clock, finish: Finish) -> None:
    finish()
    with store.transaction():
        store.connection.execute("UPDATE session_details SET automatic_quality = 2")

    job(store, Scorer(4.0), clock).run(clock.now)

    assert store.rows("SELECT ours, discrepancy FROM quality_checks") == [(2, 2.0)]


def test_sessions_that_may_go_on_are_left_alone(store: SqliteStore, clock: Clock, finish: Finish) -> None:
    finish()
    scorer = Scorer()

    assert not job(store, scorer, clock).run(NOW + SETTLED)
    assert not job(store, scorer, clock).run(NOW + timedelta(days=29))
    assert job(store, scorer, clock).run(NOW + SETTLED + timedelta(microseconds=1))


def test_files_that_are_gone_or_went_on_are_passed_over(store: SqliteStore, clock: Clock, finish: Finish) -> None:
    paths = finish(4)
    Path(paths[0]).unlink()
    Path(paths[1]).write_bytes(Path(paths[1]).read_bytes() + b"\n")
    Path(paths[2]).write_bytes(b"")
    scorer = Scorer()

    rounds(job(store, scorer, clock), clock, 4)

    assert [session.session_id for session, _ in scorer.asked] == ["s3"]


def test_sessions_that_are_too_large_are_passed_over(store: SqliteStore, clock: Clock, finish: Finish) -> None:
    finish()

    assert checker(store, Scorer(), clock, bytes=1024 * 1024).draw(clock.now, count=1) != []
    assert checker(store, Scorer(), clock, bytes=100).draw(clock.now, count=1) == []


def test_as_many_are_drawn_as_are_asked_for(store: SqliteStore, clock: Clock, finish: Finish) -> None:
    finish(5)

    assert [len(checker(store, Scorer(), clock).draw(clock.now, count=count)) for count in (0, 2, 9)] == [0, 2, 5]


# -- what goes wrong -----------------------------------------------------------------------------------------------


def test_no_answer_is_told_and_not_asked_for_again(
    store: SqliteStore, clock: Clock, finish: Finish, logs: Logs
) -> None:
    finish()
    scorer = Scorer(MUTE)

    assert rounds(job(store, scorer, clock), clock, 3) == [True, False, False]

    assert outcomes(store) == [CheckOutcome.NO_ANSWER]
    (told,) = [line for line in logs if line["event"] == "quality.unanswered"]
    assert (told["log_level"], told["session_id"], told["error"]) == ("warning", "s0", "a friend: no number")
    assert store.quality.disagreeing() == []


@pytest.mark.parametrize("nonsense", [0.99, 5.01, float("nan"), float("inf"), "4", None, True])
def test_an_answer_of_a_scorer_must_make_sense(
    store: SqliteStore, clock: Clock, finish: Finish, nonsense: object
) -> None:
    finish()

    job(store, Scorer(nonsense), clock).run(clock.now)

    check = store.quality.of_session("s0")
    assert check is not None
    assert (check.outcome, check.quality) == (CheckOutcome.NO_ANSWER, None)


def test_a_hiccup_is_bridged_within_the_round(
    store: SqliteStore, clock: Clock, finish: Finish, naps: list[float]
) -> None:
    finish()

    assert job(store, Scorer(BUSY, BUSY, 3.0), clock).run(clock.now)

    assert outcomes(store) == [CheckOutcome.UNAVAILABLE, CheckOutcome.UNAVAILABLE, CheckOutcome.ANSWERED]
    assert len(naps) == 2
    assert max(naps) <= 4


@pytest.mark.parametrize(
    ("trouble", "calls"),
    [pytest.param(BUSY, 3, id="busy"), pytest.param(DOWN, 1, id="not-to-be-used-at-all")],
)
def test_a_scorer_that_is_down_fails_the_job(
    store: SqliteStore, clock: Clock, finish: Finish, trouble: ScorerError, calls: int
) -> None:
    finish()

    with pytest.raises(ScorerUnavailableError, match=str(trouble)):
        job(store, Scorer(trouble), clock).run(clock.now)

    assert outcomes(store) == [CheckOutcome.UNAVAILABLE] * calls


def test_when_it_is_back_the_session_is_asked_about_after_all(store: SqliteStore, clock: Clock, finish: Finish) -> None:
    finish()

    rounds(job(store, Scorer(DOWN, DOWN, 4.0), clock), clock, 4)

    assert outcomes(store) == [CheckOutcome.UNAVAILABLE] * 2 + [CheckOutcome.ANSWERED]


def test_no_transaction_is_open_during_a_call(store: SqliteStore, clock: Clock, finish: Finish) -> None:
    finish()

    class Looking(Scorer):
        def validate(self, session: Session, grade: Grade) -> float:
            assert not store.connection.in_transaction
            other = SqliteStore(store.path)
            with other.transaction():
                other.connection.execute("DELETE FROM job_runs")
            other.close()
            return super().validate(session, grade)

    assert job(store, Looking(), clock).run(clock.now)
    assert outcomes(store) == [CheckOutcome.ANSWERED]


# -- the budget ----------------------------------------------------------------------------------------------------


def test_no_day_has_more_calls_than_are_allowed(store: SqliteStore, clock: Clock, finish: Finish) -> None:
    finish(9)
    scorer = Scorer()

    assert rounds(job(store, scorer, clock, calls=4), clock, 8).count(True) == 4


def test_tries_count(store: SqliteStore, clock: Clock, finish: Finish) -> None:
    finish(9)
    scorer = Scorer(BUSY)

    rounds(job(store, scorer, clock, calls=5), clock, 8)

    assert len(scorer.asked) == 5


def test_a_restart_begins_no_new_budget(store: SqliteStore, clock: Clock, finish: Finish) -> None:
    finish(9)
    scorer = Scorer()

    for _ in range(8):
        again = SqliteStore(store.path)
        job(again, scorer, clock, calls=3).run(clock.now)
        again.close()

    assert len(scorer.asked) == 3


@pytest.mark.parametrize("crash", [KeyboardInterrupt, StoreError])
def test_a_call_counts_though_nobody_saw_its_end(
    store: SqliteStore, clock: Clock, finish: Finish, monkeypatch: pytest.MonkeyPatch, crash: type[BaseException]
) -> None:
    finish(9)
    scorer = Scorer()

    def die(*_: object) -> None:
        raise crash("in the middle")

    with monkeypatch.context() as broken:
        broken.setattr(QualityChecks, "answered", die)
        for _ in range(2):
            with pytest.raises(crash):
                job(store, scorer, clock, calls=3).run(clock.now)
    rounds(job(store, scorer, clock, calls=3), clock, 5)

    assert outcomes(store) == [CheckOutcome.ASKED, CheckOutcome.ASKED, CheckOutcome.ANSWERED]


@pytest.mark.parametrize(
    ("zone", "midnight"),
    [
        pytest.param("UTC", datetime(2026, 11, 22, tzinfo=UTC), id="utc"),
        pytest.param("America/New_York", datetime(2026, 11, 22, 5, tzinfo=UTC), id="west"),
        pytest.param("Asia/Kolkata", datetime(2026, 11, 22, 18, 30, tzinfo=UTC), id="east"),
    ],
)
def test_the_day_is_that_of_the_person(
    store: SqliteStore, clock: Clock, finish: Finish, zone: str, midnight: datetime
) -> None:
    finish(9)
    scorer = Scorer()
    daily = job(store, scorer, clock, calls=2, zone=zone)
    clock.now = midnight - timedelta(minutes=4)

    done = rounds(daily, clock, 8)

    assert done == [True, True, False, False, True, True, False, False]


def test_a_clock_that_was_ahead_holds_nothing_up(store: SqliteStore, clock: Clock, finish: Finish) -> None:
    finish(9)
    scorer = Scorer()
    daily = job(store, scorer, clock, calls=2)
    right = clock.now
    clock.now = right + timedelta(days=20)
    rounds(daily, clock, 4)
    clock.now = right

    assert rounds(daily, clock, 4) == [True, True, False, False]


def test_what_a_program_asks_for_itself_is_not_of_the_budget(store: SqliteStore, clock: Clock, finish: Finish) -> None:
    finish(9)
    own = checker(store, Scorer(), clock)
    for drawn in own.draw(clock.now, count=3):
        own.check(drawn)

    assert rounds(job(store, Scorer(), clock, calls=2), clock, 4) == [True, True, False, False]


# -- over the wire -------------------------------------------------------------------------------------------------


def test_a_server_that_is_busy_for_a_moment_is_asked_again(store: SqliteStore, clock: Clock, finish: Finish) -> None:
    finish()
    with scripted(status(429), status(500), quality(2.0)) as model:
        scorer = JudgeScorer(model.url, model="m", key=None, timeout_seconds=60, most_characters=10_000)
        job(store, scorer, clock).run(clock.now)

        assert len(model.asked) == 3
    check = store.quality.of_session("s0")
    assert check is not None
    assert (check.quality, check.scorer) == (2.0, scorer.name)


def test_a_server_that_is_broken_for_ever_costs_no_more_than_the_budget(
    store: SqliteStore, clock: Clock, finish: Finish
) -> None:
    finish(3)
    with scripted(status(500)) as model:
        scorer = JudgeScorer(model.url, model="m", key=None, timeout_seconds=60, most_characters=10_000)
        rounds(job(store, scorer, clock, calls=7), clock, 6)

        assert len(model.asked) == 7
    assert set(outcomes(store)) == {CheckOutcome.UNAVAILABLE}


def test_a_scorer_without_a_name_is_known_by_its_kind(store: SqliteStore, clock: Clock, finish: Finish) -> None:
    class Half:
        def validate(self, session: Session, grade: Grade) -> float:  # noqa: ARG002
            return max(1.0, grade.response_quality / 2)

    finish()
    own = Checker(store, Half(), discrepancy=4, sources=hermes(), settled_after=SETTLED, clock=clock)

    (drawn,) = own.draw(clock.now, count=1)

    assert own.check(drawn).scorer == "Half"
    assert msgspec.structs.asdict(own.check(drawn))["outcome"] == "answered"
