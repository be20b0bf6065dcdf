from datetime import timedelta
from typing import Any

import msgspec
import pytest

from grader_daemon.domain.feedback import FeedbackSource, Label
from grader_daemon.domain.routing import FinishedSession
from grader_daemon.patterns.votes import (
    Correction,
    Vote,
    comparable_value,
    counts_of,
    fairly_judged,
    votes_of,
    without_chosen_labels,
)
from tests.routed import finished
from tests.strategies import NOW, label

NO_LABELS = Correction([], [])


def votes(*sessions: FinishedSession, labels: list[Label] | None = None) -> list[Vote]:
    found = votes_of(sessions, Correction(sessions, labels or []), now=NOW)
    return [vote for each in found.values() for vote in each]


def drawn(session: FinishedSession, *, completed: bool, **changes: object) -> Label:
    return label(
        session_id=session.session_id,
        completed=completed,
        drawn_at_random=True,
        p_completed=session.p_completed,
        automatic_completed=session.completed,
        **changes,
    )


@pytest.mark.parametrize(
    ("known", "vote"),
    [
        pytest.param({"unsure": True}, 1.0, id="nothing-is-known"),
        pytest.param({"unsure": True, "completed": False, "p_completed": 0.1}, 1.0, id="a-guess-is-not-known"),
        pytest.param({"unsure": True, "ended_badly": True}, 0.0, id="it-ended-badly"),
        pytest.param({"unsure": False, "completed": False}, 0.0, id="a-proof-or-measured-labels"),
        pytest.param({"ended_badly": True, "judged": True}, 1.0, id="a-persons-word-stands-above"),
        pytest.param({"completed": False, "judged": True}, 0.0, id="a-person-says-not-done"),
    ],
)
def test_a_vote_is_what_is_known(known: dict[str, object], vote: float) -> None:
    assert votes(finished(**{"p_completed": 0.7, **known}))[0].value == vote


def test_a_vote_counts_half_after_thirty_days() -> None:
    assert votes(finished(ended_at=NOW - timedelta(days=30)))[0].weight == pytest.approx(0.5)


def test_an_end_in_the_future_counts_as_one_of_now() -> None:
    assert votes(finished(ended_at=NOW + timedelta(days=30)))[0].weight == 1.0


def test_one_request_is_one_vote_a_week() -> None:
    same = [finished(request=7, ended_badly=bad) for bad in (True, False)]

    assert [vote.value for vote in votes(*same)] == [0.5]
    assert len(votes(*same, finished(request=7, ended_at=NOW - timedelta(days=8)))) == 2


def test_requests_that_are_not_known_are_not_the_same() -> None:
    assert len(votes(finished(), finished())) == 2


def test_labels_put_right_the_model_that_they_are_of() -> None:
    talkative = [finished(model="talkative", unsure=True) for _ in range(30)]
    modest = [finished(model="modest", unsure=True) for _ in range(30)]
    labels = [drawn(each, completed=False) for each in talkative[:20]]
    labels += [drawn(each, completed=True) for each in modest[:20]]
    correction = Correction([*talkative, *modest], labels)

    # 20 labels against ten doubts: a model's own part is two thirds of what is left by the part of all and of the type,
    # s, which have two doubts each. So -20 (1 + s) / 3 - 20 s / 3 = s.
    shared = -20 / 43
    assert correction.value(talkative[-1]) == pytest.approx(1 + shared - (1 + shared) * 2 / 3, abs=1e-9)
    assert correction.value(modest[-1]) > correction.value(talkative[-1]) + 0.4


def test_a_model_is_not_blamed_for_the_types_that_it_is_given() -> None:
    kinds = {"hard": 2, "easy": 1}  # of two hard tasks one fails unseen, of easy ones none
    mixes = {"strong": {"hard": 40, "easy": 10}, "cheap": {"hard": 10, "easy": 40}}
    sessions = [
        finished(model=model, task_type=task_type, unsure=True, completed=bool(place % kinds[task_type] == 0))
        for model, mix in mixes.items()
        for task_type, number in mix.items()
        for place in range(number)
    ]
    correction = Correction(sessions, [drawn(each, completed=each.completed) for each in sessions])

    def value(model: str, task_type: str) -> float:
        return correction.value(finished(model=model, task_type=task_type, unsure=True))

    assert value("strong", "hard") == pytest.approx(value("cheap", "hard"), abs=0.03), "0.4 less for all its tasks"
    assert value("strong", "hard") == pytest.approx(0.5, abs=0.05)
    assert value("strong", "easy") == pytest.approx(1.0, abs=0.05)


def test_a_model_whose_labels_are_all_of_one_type_is_in_doubt() -> None:
    sessions = [finished(model=model, task_type=each) for model in ("all", "easy") for each in ("hard", "easy") * 40]
    judged = [*sessions[:40], *(each for each in sessions[80:] if each.task_type == "easy")]
    labels = [drawn(each, completed=place % 4 > 1) for place, each in enumerate(judged)]

    correction = Correction(sessions, labels)

    assert len(labels) == 80, "40 of each"
    assert correction.variance("easy") > 1.1 * correction.variance("all")


def test_a_model_without_labels_is_put_right_like_one_with_average_ones() -> None:
    labelled = [finished(model="often", unsure=True) for _ in range(30)]
    other = finished(model="seldom", unsure=True)
    labels = [drawn(each, completed=place % 2 == 0) for place, each in enumerate(labelled[:20])]

    correction = Correction([*labelled, other], labels)

    # As above: -20 (0.5 + s) / 3 = s, and the own part of the other two thirds of what is left.
    shared = -10 / 23
    assert correction.value(other) == pytest.approx(1 + shared)
    assert correction.value(labelled[-1]) == pytest.approx(1 + shared - (0.5 + shared) * 2 / 3)
    assert correction.variance("seldom") > 2 * correction.variance("often")


def test_a_label_that_a_person_chose_to_give_tells_nothing_of_models() -> None:
    sessions = [finished(unsure=True) for _ in range(20)]
    sessions[0] = sessions[0]._replace(completed=False, judged=True)
    chosen = label(session_id=sessions[0].session_id, completed=False, automatic_completed=True)
    nothing_else = msgspec.structs.replace(chosen, has_scores=False)
    kept: list[dict[str, Any]] = [
        {"drawn_at_random": True},
        {"source": FeedbackSource.REVERT},
        {"completed": None, "quality": 3},
    ]

    assert without_chosen_labels(sessions, [chosen])[0] == sessions[0]._replace(completed=True, judged=False)
    assert without_chosen_labels(sessions, [nothing_else]) == sessions[1:]
    assert all(without_chosen_labels(sessions, [msgspec.structs.replace(chosen, **each)]) == sessions for each in kept)


@pytest.mark.parametrize(("drawn_labels", "counts"), [(9, False), (10, True)])
def test_a_chosen_label_counts_beside_ten_of_the_model_that_nobody_chose(drawn_labels: int, *, counts: bool) -> None:
    sessions = [finished(unsure=True, judged=place <= drawn_labels) for place in range(30)]
    chosen = label(session_id=sessions[0].session_id, completed=False, automatic_completed=True)
    labels = [chosen, *(drawn(each, completed=True) for each in sessions[1 : drawn_labels + 1])]

    assert without_chosen_labels(sessions, labels)[0].judged is counts


def test_labels_of_nearly_all_sessions_count_whoever_chose_them() -> None:
    sessions = [finished(judged=place < 18, completed=False) for place in range(20)]
    labels = [label(session_id=each.session_id, completed=False) for each in sessions[:18]]

    assert without_chosen_labels(sessions, labels) == sessions


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"drawn_at_random": False}, id="chosen-by-a-person"),
        pytest.param({"went_on": True}, id="of-a-session-that-went-on"),
        pytest.param({"is_persons": False}, id="of-a-side-session"),
        pytest.param({"completed": None}, id="without-a-word-on-completion"),
    ],
)
def test_labels_that_may_mislead_put_nothing_right(changes: dict[str, object]) -> None:
    sessions = [finished(unsure=True) for _ in range(30)]
    labels = [label(**{"session_id": one.session_id, "completed": False, "drawn_at_random": True} | changes)
              for one in sessions]  # fmt: skip

    assert Correction(sessions, labels).value(sessions[0]) == 1.0


def test_rewards_put_right_without_a_draw_and_fewer_than_ten_labels_do_not() -> None:
    sessions = [finished(unsure=True) for _ in range(30)]
    rewards = [drawn(one, completed=False, source=FeedbackSource.REWARD) for one in sessions]

    assert Correction(sessions, rewards[:10]).value(sessions[-1]) == pytest.approx(1 / 12), "as above: -5 (1 + s) = s"
    assert Correction(sessions, rewards[:9]).value(sessions[-1]) == 1.0


def test_what_labels_put_right_is_no_surer_for_more_sessions() -> None:
    def votes_worth(number: int, labels: int) -> float:
        sessions = [finished(unsure=True) for _ in range(number)]
        given = [drawn(each, completed=place % 2 == 0) for place, each in enumerate(sessions[:labels])]
        correction = Correction(sessions, given)
        return counts_of(votes_of(sessions, correction, now=NOW), correction)["debugging", "cheap"].votes

    # The errors of 20 labels spread like coin flips; the doubts of the three parts together are worth one more.
    assert votes_worth(1000, 20) == pytest.approx(21, rel=0.1)
    assert votes_worth(3000, 20) == pytest.approx(votes_worth(1000, 20), rel=0.1)
    assert votes_worth(1000, 9) > 900


def test_votes_that_spread_less_than_coin_flips_count_more() -> None:
    flips = {("general", "a"): [Vote(float(number % 2), 1.0) for number in range(100)]}
    sure = {("general", "a"): [Vote(0.4 + 0.2 * (number % 2), 1.0) for number in range(100)]}

    assert counts_of(flips, NO_LABELS)["general", "a"].votes == pytest.approx(100, rel=0.02)
    assert counts_of(sure, NO_LABELS)["general", "a"].votes > 300


def test_words_on_some_are_no_evidence_where_sessions_are_compared() -> None:
    sessions = [finished(session_id=str(number), p_completed=0.7, completed=True) for number in range(20)]
    sessions[3] = sessions[3]._replace(completed=False, judged=True)
    chosen = label(session_id="3", completed=False)

    value = comparable_value(sessions, fairly_judged([chosen, drawn(sessions[4], completed=False)]))

    assert {value(session) for session in sessions} == {1.0}


def test_words_count_where_nearly_all_sessions_have_one() -> None:
    sessions = [
        finished(session_id=str(number), p_completed=0.7, completed=number < 5, ended_badly=number == 19)
        for number in range(20)
    ]
    labels = [drawn(session, completed=session.completed) for session in sessions[:18]]

    value = comparable_value(sessions, fairly_judged(labels))

    assert [value(session) for session in sessions] == [1.0] * 5 + [0.0] * 13 + [1.0, 0.0]


def test_a_session_counts_by_its_record() -> None:
    sessions = [finished(completed=False, ended_badly=bad) for bad in (None, False, True)]
    assert [comparable_value(sessions, ())(session) for session in sessions] == [1.0, 1.0, 0.0]
