from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace

import pytest

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.exported import Exported, PassedOver
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.errors import CallError, DeliveryError
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.push.evaluations import Evaluated
from grader_daemon.push.score_export import Recognized, ScoreExport
from grader_daemon.storage.records import ChangeKind
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, new_grade


class Sink:
    """Takes everything, after it has raised what its script says."""

    def __init__(self, *script: Exception) -> None:
        self.script = list(script)
        self.took: list[tuple[str, int]] = []
        self.says = PassedOver()
        self.known: dict[str, bool | None] = {}

    def send(self, batch: Iterable[Evaluated]) -> PassedOver:
        if self.script:
            raise self.script.pop(0)
        self.took += [(one.grade.session_id, one.change) for one in batch]
        return self.says

    def knows(self, session_id: str) -> bool | None:
        if self.script:
            raise self.script.pop(0)
        return self.known.get(session_id)


@pytest.fixture(autouse=True)
def naps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pauses between tries, which nobody waits for here."""
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=lambda _: None))


def save(store: SqliteStore, *names: str, **changes: object) -> None:
    with store.transaction():
        made = [new_grade(grade(session_id=name, session_file=f"/{name}", **changes)) for name in names]
        save_grades(store, made)


def export(store: SqliteStore, sink: Sink) -> ScoreExport:
    return ScoreExport(store, sink, follower="test", trust=trust, at_once=200)


def trust() -> Trust:
    return Trust(version="r", by=VerdictBy.RULES)


def drain(made: ScoreExport) -> int:
    total = 0
    while (done := made.run()).more:
        total += done.sessions
    return total


def test_all_is_sent_once_in_the_order_in_which_it_changed(store: SqliteStore) -> None:
    save(store, "a", "b")
    sink = Sink()
    assert drain(export(store, sink)) == 2
    assert drain(export(store, sink)) == 0
    save(store, "c")
    assert drain(export(store, sink)) == 1
    assert [name for name, _ in sink.took] == ["a", "b", "c"]


def test_what_changes_again_is_sent_again_under_another_number(store: SqliteStore) -> None:
    save(store, "a")
    sink = Sink()
    drain(export(store, sink))
    with store.transaction():
        store.changes.note(ChangeKind.LABEL, ["a"])
    drain(export(store, sink))
    numbers = [number for _, number in sink.took]
    assert len(numbers) == 2
    assert numbers[0] < numbers[1]


def test_a_label_and_a_grade_of_one_session_are_told_once(store: SqliteStore) -> None:
    save(store, "a")
    with store.transaction():
        store.changes.note(ChangeKind.LABEL, ["a"])
    sink = Sink()
    assert drain(export(store, sink)) == 1


def test_alerts_retractions_open_sessions_and_those_without_an_answer_are_passed_over(store: SqliteStore) -> None:
    save(store, "open", state=SessionState.OPEN)
    save(store, "silent", scored=False)
    with store.transaction():
        store.changes.note(ChangeKind.ALERT, ["1"])
        store.changes.note(ChangeKind.RETRACTION, ["gone"])
        store.changes.note(ChangeKind.GRADE, ["gone"])
    sink = Sink(CallError("nobody should ask"))
    made = export(store, sink)
    assert made.run() == Exported(more=True)
    assert made.run() == Exported()
    assert sink.script


def test_many_go_in_batches(store: SqliteStore) -> None:
    save(store, *(f"s{number}" for number in range(450)))
    sink, made = Sink(), None
    made = export(store, sink)
    assert [made.run().sessions for _ in range(4)] == [200, 200, 50, 0]
    assert len({name for name, _ in sink.took}) == 450


def test_a_receiver_that_stumbles_is_asked_again_at_once(store: SqliteStore) -> None:
    save(store, "a")
    sink = Sink(DeliveryError("busy"), DeliveryError("busy"))
    assert drain(export(store, sink)) == 1


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([DeliveryError("down")] * 4, id="down"),
        pytest.param([CallError("no")], id="refused"),
    ],
)
def test_what_was_not_taken_is_sent_next_time(store: SqliteStore, script: list[Exception]) -> None:
    save(store, "a")
    sink = Sink(*script)
    with pytest.raises(type(script[0])):
        export(store, sink).run()
    assert not sink.script
    assert drain(export(store, sink)) == 1


def test_who_begins_now_is_told_nothing_of_before(store: SqliteStore) -> None:
    save(store, "before")
    sink = Sink()
    made = export(store, sink)
    made.begin_now()
    save(store, "after")
    drain(made)
    assert [name for name, _ in sink.took] == ["after"]


def test_each_follower_has_a_place_of_its_own(store: SqliteStore) -> None:
    save(store, "a")
    one, other = Sink(), Sink()
    drain(export(store, one))
    drain(ScoreExport(store, other, follower="other", trust=trust, at_once=200))
    assert one.took == other.took


def test_what_the_receiver_says_comes_back(store: SqliteStore) -> None:
    save(store, "a", "b", "c")
    sink = Sink()
    sink.says = PassedOver(sessions=1, lines=("one was too old",))
    assert export(store, sink).run() == Exported(sessions=2, passed_over=sink.says, more=True)


def test_a_receiver_is_asked_for_the_newest_sessions_that_are_finished(store: SqliteStore) -> None:
    save(store, *(f"s{number}" for number in range(12)))
    sink = Sink(DeliveryError("busy"))
    sink.known = dict.fromkeys((f"s{number}" for number in range(12)), False)
    assert export(store, sink).recognized() == Recognized(asked=10, known=0)
    sink.known = dict.fromkeys(sink.known, True)
    assert export(store, sink).recognized() == Recognized(asked=10, known=10)


def test_one_that_cannot_be_asked_knows_nothing_and_lacks_nothing(store: SqliteStore) -> None:
    save(store, "a")
    assert export(store, Sink()).recognized() == Recognized()


def test_a_batch_is_no_larger_than_it_may_be(store: SqliteStore) -> None:
    save(store, "a", "b", "c")
    sink = Sink()
    few = ScoreExport(store, sink, follower="test", trust=trust, at_once=2)
    assert (few.run().sessions, few.run().sessions, few.run().more) == (2, 1, False)
