"""What is told of a change: only what other work does not explain, and enough sessions carry."""

from __future__ import annotations

import random
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from grader_daemon.domain.estimate import Estimate, Figure
from grader_daemon.domain.routing import FinishedSession
from grader_daemon.domain.setup_changes import SetupChange, SetupEffect, SetupKind
from grader_daemon.skills.setup_effects import by_labels, compared, effects, settled
from tests.reports_examples import example_effect
from tests.routed import finished, several
from tests.strategies import NOW

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def value(session: FinishedSession) -> float:
    return float(session.completed)


def change(hours: float, **facts: object) -> SetupChange:
    known: dict[str, object] = {"kind": SetupKind.MODEL, "agent": "hermes", "before": "a", "after": "b"}
    return SetupChange(**known | facts | {"at": NOW + hours * HOUR})  # type: ignore[arg-type]


def stream(*rates: float, each: int = 60) -> list[FinishedSession]:
    """An hourly stream of sessions: so many at each rate, as evenly as may be."""
    sessions = []
    for part, rate in enumerate(rates):
        for number in range(each):
            completed = int((number + 1) * rate) > int(number * rate)
            sessions.append(finished(completed=completed, agent="hermes", ended_at=NOW + (part * each + number) * HOUR))
    return sessions


def told(changes: list[SetupChange], sessions: list[FinishedSession]) -> list[SetupEffect]:
    return settled(effects(changes, sessions, value, since=NOW), sessions, set())


def told_by_labels(
    changes: list[SetupChange], sessions: list[FinishedSession], fair: Collection[str]
) -> list[SetupEffect]:
    return settled(by_labels(effects(changes, sessions, value, since=NOW), sessions, fair), sessions, fair)


def test_a_fall_is_told_with_its_interval_and_both_rates() -> None:
    [effect] = told([change(60)], stream(0.8, 0.4))

    figure = effect.completion
    assert (effect.sessions_before, effect.sessions_after, effect.is_sure) == (60, 60, True)
    assert figure.before.value == pytest.approx(0.8)
    assert figure.now.value == pytest.approx(0.4)
    assert figure.change.low is not None
    assert figure.change.high is not None
    assert figure.change.low < -0.4 < figure.change.high < 0


def with_endings(*rates: float) -> list[FinishedSession]:
    """The same, with endings as facts: what is not completed ended badly."""
    return [session._replace(ended_badly=not session.completed) for session in stream(*rates)]


def test_facts_are_compared_beside_labels_and_told_where_they_surely_differ() -> None:
    sessions = with_endings(0.9, 0.5)
    [effect] = told_by_labels([change(60)], sessions, set())

    assert effect.completion.change.value is None  # for there are no labels
    assert effect.ended_badly.before.value == pytest.approx(0.1)
    assert effect.ended_badly.now.value == pytest.approx(0.5)
    assert (effect.facts_differ, effect.is_sure) == (True, False)


def test_bad_endings_by_chance_and_endings_that_nobody_knows_are_no_difference() -> None:
    [alike] = told([change(60)], with_endings(0.9, 0.85))
    [unknown] = told([change(60)], stream(0.9, 0.3))

    assert alike.ended_badly.change.value is not None
    assert (alike.facts_differ, unknown.facts_differ) == (False, False)
    assert unknown.ended_badly.change.value is None


def example(done: float, badly: float, *, margin: float = 0.1) -> SetupEffect:
    """Changes of completion and of bad endings, each with the same interval on both sides."""
    completion, ended_badly = (
        Figure(now=Estimate(), before=Estimate(), change=Estimate(value=value, low=value - margin, high=value + margin))
        for value in (done, badly)
    )
    return example_effect(completion=completion, ended_badly=ended_badly, is_sure=False)


@pytest.mark.parametrize(
    ("done", "badly", "together", "alone"),
    [
        pytest.param(-0.09, 0.09, True, (False, False), id="both point the same way"),
        pytest.param(0.09, -0.09, True, (False, False), id="both the better way"),
        pytest.param(-0.05, 0.05, False, (False, False), id="both too little"),
        pytest.param(-0.2, 0.2, True, (True, True), id="either alone would do"),
        pytest.param(-0.2, 0.01, True, (True, False), id="one of them alone"),
        pytest.param(-0.2, -0.2, False, (False, False), id="they contradict each other"),
    ],
)
def test_facts_and_labels_tell_together_what_neither_tells_alone(
    done: float, badly: float, together: bool, alone: tuple[bool, bool]
) -> None:
    [effect] = settled([example(done, badly)], [], set())

    assert effect.together_differ is together
    assert (effect.is_sure, effect.facts_differ) == alone


def test_labels_of_the_sessions_that_ended_badly_are_no_second_witness() -> None:
    """What ended badly is what a person calls failed: both say p = .1, and together no more."""
    sessions = [session._replace(judged=True, session_id=str(at)) for at, session in enumerate(with_endings(0.8, 0.67))]
    everything = {session.session_id for session in sessions}

    [effect] = settled(effects([change(60)], sessions, value, since=NOW), sessions, everything)
    [apart] = settled([effect], sessions, set())

    assert (effect.together_differ, apart.together_differ) == (False, True)


def test_a_change_that_leaves_no_doubt_is_told() -> None:
    [effect] = settled([example(-0.5, 0.5, margin=0.0)], [], set())

    assert (effect.is_sure, effect.facts_differ) == (True, True)


def test_work_that_got_worse_before_a_change_already_is_seen() -> None:
    [falling] = told([change(120)], with_endings(0.95, 0.6, 0.5))
    [level] = told([change(120)], with_endings(0.8, 0.8, 0.5))
    [brief] = told([change(59)], with_endings(0.9, 0.5))

    assert (falling.slope_before.before.value, falling.slope_before.now.value) == pytest.approx((0.05, 0.4))
    assert falling.slope_before.change.low is not None
    assert falling.slope_before.change.low > 0
    assert level.slope_before.change.low is not None
    assert level.slope_before.change.low < 0
    assert brief.slope_before.change.value is None  # of 29 and 30


def labelled(sessions: list[FinishedSession], step: int) -> tuple[list[FinishedSession], set[str]]:
    """Judge one session in so many."""
    named = [session._replace(session_id=f"s{number}") for number, session in enumerate(sessions)]
    fair = {session.session_id for session in named[::step]}
    return [session._replace(judged=session.session_id in fair) for session in named], fair


def test_labels_drawn_by_chance_on_both_sides_tell_a_difference() -> None:
    sessions, fair = labelled(stream(0.9, 0.3), step=2)

    [effect] = told_by_labels([change(60)], sessions, fair)

    assert (effect.completion.before.sample, effect.completion.now.sample) == (30, 30)
    assert (effect.is_sure, effect.by_words) == (True, True)
    assert effect.completion.change.value == pytest.approx(-0.6, abs=0.1)


def test_a_difference_that_chance_makes_of_few_sessions_is_not_sure_though_most_are_judged() -> None:
    sessions, rest = labelled(stream(0.6, 0.8, each=36), step=6)
    fair = {session.session_id for session in sessions} - rest
    judged = [session._replace(judged=session.session_id in fair) for session in sessions]

    [effect] = told_by_labels([change(36)], judged, fair)

    assert effect.completion.change.value == pytest.approx(0.2, abs=0.05)
    assert not effect.is_sure


def test_a_style_that_is_new_is_no_difference() -> None:
    sessions, fair = labelled(stream(0.5, 0.5), step=2)
    surer = [session._replace(p_completed=0.3 if session.ended_at < NOW + 60 * HOUR else 0.9) for session in sessions]

    [effect] = told_by_labels([change(60)], surer, fair)

    assert not effect.is_sure
    assert effect.completion.change.value == pytest.approx(0.0, abs=0.1)


def two_kinds(*shares: float) -> list[FinishedSession]:
    """Two hundred sessions at each share of hard tasks, of which 2 of 10 are done, and 9 of 10 easy ones."""
    sessions = []
    for part, share in enumerate(shares):
        hard, easy = round(200 * share), round(200 * (1 - share))
        kinds = [*several(hard, hard // 5, task_type="hard"), *several(easy, easy * 9 // 10, task_type="easy")]
        random.Random(part).shuffle(kinds)
        sessions += [
            each._replace(agent="hermes", ended_at=NOW + (200 * part + place) * HOUR)
            for place, each in enumerate(kinds)
        ]
    return sessions


def test_labels_of_other_work_are_no_difference() -> None:
    sessions, fair = labelled(two_kinds(0.2, 0.8), step=2)

    [effect] = told_by_labels([change(200)], sessions, fair)

    figure = effect.completion
    assert figure.now.value == pytest.approx(0.34, abs=0.05)
    assert figure.before.value == pytest.approx(0.34, abs=0.08), "not 0.76"
    assert (effect.is_sure, effect.by_words) == (False, True)
    assert (figure.before.sample, figure.now.sample) == (100, 100)


def test_labels_on_no_common_kind_of_work_are_missing() -> None:
    sessions, _ = labelled(two_kinds(0.5, 0.5), step=1)
    fair = {each.session_id for place, each in enumerate(sessions) if (each.task_type == "hard") == (place < 200)}

    [effect] = told_by_labels([change(200)], sessions, fair)

    assert effect.completion.change.value is None
    assert (effect.labels_missing_before, effect.labels_missing_after) == (20, 20)


def test_labels_on_a_repeated_request_are_one_a_week() -> None:
    sessions, fair = labelled(stream(0.9, 0.3), step=2)
    repeated = [each._replace(request=7) if place >= 100 else each for place, each in enumerate(sessions)]

    [effect] = told_by_labels([change(60)], repeated, fair)

    assert (effect.completion.before.sample, effect.completion.now.sample) == (30, 21)
    assert effect.labels_missing_after == 0


def test_a_few_labels_say_how_many_are_missing() -> None:
    sessions, fair = labelled(stream(0.9, 0.3), step=10)

    [effect] = told_by_labels([change(60)], sessions, fair)

    assert (effect.labels_missing_before, effect.labels_missing_after) == (14, 14)
    assert (effect.is_sure, effect.by_words, effect.completion.change.value) == (False, False, None)
    assert (effect.missing_before, effect.missing_after) == (0, 0)


def test_where_sessions_are_too_few_no_label_is_missing() -> None:
    sessions, fair = labelled(stream(0.9, 0.3, each=20), step=10)

    [effect] = told_by_labels([change(20)], sessions, fair)

    assert (effect.missing_before, effect.labels_missing_before) == (10, 0)


def test_other_work_alone_makes_no_difference() -> None:
    easy, hard = {"task_type": "easy"}, {"task_type": "hard"}
    before = [*several(80, 72, **easy), *several(20, 4, **hard)]
    after = [*several(20, 18, **easy), *several(80, 16, **hard)]

    figure = compared(before, after, value)

    assert figure.change.value == pytest.approx(0.0)
    assert figure.now.value == pytest.approx(0.34)
    assert figure.before.value == pytest.approx(0.34), "0.2 x 0.9 + 0.8 x 0.2, not 0.76"


def test_each_scheduled_job_is_compared_with_itself() -> None:
    easy, hard = {"job": "easy"}, {"job": "hard"}
    before = [*several(80, 72, **easy), *several(20, 4, **hard)]
    after = [*several(20, 18, **easy), *several(80, 16, **hard)]

    assert compared(before, after, value).change.value == pytest.approx(0.0)


def test_work_of_one_side_alone_is_not_compared() -> None:
    both = {"platform": "cli"}
    before = [*several(40, 20, **both), *several(40, 40, platform="cron")]
    after = [*several(35, 20, **both), *several(90, 0, platform="telegram")]

    figure = compared(before, after, value)

    assert (figure.before.sample, figure.now.sample) == (40, 35)


def test_before_the_first_session_since_a_change_none_is_missing_before_it() -> None:
    [effect] = told([change(60)], stream(0.5))

    assert (effect.sessions_before, effect.sessions_after) == (60, 0)
    assert (effect.missing_before, effect.missing_after) == (0, 30)


def test_too_few_say_how_many_are_missing() -> None:
    [effect] = told([change(25)], stream(0.5)[:37])

    assert (effect.missing_before, effect.missing_after) == (5, 18)
    assert effect.completion.change.value is None
    assert not effect.is_sure


def test_sessions_of_one_request_in_a_week_are_one() -> None:
    figure = compared(several(90, 45), [*several(40, 20), *several(90, 90, request=7)], value)

    assert figure.now.sample == 41


def test_changes_within_twenty_sessions_are_one_that_is_compared_around_both() -> None:
    near = [change(60), change(79, kind=SetupKind.SKILL, name="deploy")]

    [effect] = told(near, stream(0.5, 0.5, 0.5))

    assert effect.changes == tuple(near)
    assert (effect.sessions_before, effect.sessions_after) == (60, 101), "not the nineteen between them"


def test_changes_farther_apart_are_two_that_name_each_other() -> None:
    far = [change(60), change(80, kind=SetupKind.SKILL, name="deploy")]

    first, second = told(far, stream(0.5, 0.5, 0.5))

    assert (first.changes, first.meanwhile) == ((far[0],), (far[1],))
    assert second.meanwhile == (far[0],)


def test_what_is_compared_ends_at_the_next_change_of_the_same_and_after_four_weeks() -> None:
    first, second = told([change(60), change(120)], stream(0.5, 0.5, 0.5))
    assert (first.sessions_after, second.sessions_before) == (60, 60)
    assert (first.until, second.since) == (second.changes[0].at, first.changes[0].at)

    [long] = told([change(720)], stream(0.5, each=1440))
    assert (long.sessions_before, long.sessions_after) == (28 * 24, 28 * 24)
    assert (long.since, long.until) == (NOW + 48 * HOUR, NOW + (720 + 28 * 24) * HOUR)


def test_a_change_in_the_first_days_that_there_are_is_compared_with_all_before() -> None:
    first = datetime.min.replace(tzinfo=UTC)
    sessions = [finished(agent="hermes", ended_at=first + number * HOUR) for number in range(80)]

    [effect] = effects([replace(change(0), at=first + 40 * HOUR)], sessions, value, since=first)

    assert (effect.sessions_before, effect.sessions_after) == (40, 40)


def test_an_edit_of_another_skill_does_not_end_it() -> None:
    skill = {"kind": SetupKind.SKILL}
    first, _ = told([change(60, name="x", **skill), change(120, name="y", **skill)], stream(0.5, 0.5, 0.5))

    assert first.sessions_after == 120


def test_a_change_of_one_agent_is_of_its_sessions() -> None:
    others = [session._replace(agent="codex", completed=False) for session in stream(0.5, 0.5)]
    mixed = sorted([*stream(0.5, 0.5), *others], key=lambda session: session.ended_at)

    [mine] = told([change(60)], mixed)
    [all_of_them] = told([change(60, agent=None)], mixed)

    assert (mine.sessions_after, all_of_them.sessions_after) == (60, 120)


def test_one_of_many_changes_must_be_surer() -> None:
    """p = .02 alone is told, as one of forty it is not."""
    few = stream(0.5, 0.72, each=50)
    [alone] = told([change(50)], few)
    assert alone.is_sure
    names = [f"agent{number}" for number in range(39)]
    noise = [session._replace(agent=agent) for agent in names for session in stream(0.5, 0.5, each=50)]
    both = sorted([*few, *noise], key=lambda session: session.ended_at)

    many = told(sorted([change(50), *(change(50, agent=agent) for agent in names)], key=lambda one: one.at), both)

    assert not any(effect.is_sure for effect in many)


@given(
    before=st.lists(st.tuples(st.sampled_from("xyz"), st.floats(0, 1)), min_size=30, max_size=60),
    after=st.lists(st.tuples(st.sampled_from("xyz"), st.floats(0, 1)), min_size=30, max_size=60),
)
def test_a_difference_lies_in_its_interval_whatever_sessions_say(
    before: list[tuple[str, float]], after: list[tuple[str, float]]
) -> None:
    earlier, later = (
        [finished(task_type=task_type, p_completed=likely) for task_type, likely in side] for side in (before, after)
    )

    figure = compared(earlier, later, lambda session: session.p_completed or 0.0)

    if figure.change.value is not None:
        assert figure.change.low is not None
        assert figure.change.high is not None
        assert -1 <= figure.change.low <= figure.change.value <= figure.change.high <= 1


@pytest.mark.thorough
@pytest.mark.no_cover
def test_the_interval_holds_the_truth_under_a_shift_of_the_mix_as_often_as_it_says() -> None:
    """1,000 draws of three kinds of work without a change: 95 % within 1.5 points (2.2 standard errors)."""
    chance = random.Random(5)
    rates = {"a": 0.8, "b": 0.5, "c": 0.2}

    def drawn(number: int, weights: tuple[int, int, int]) -> list[FinishedSession]:
        types = chance.choices("abc", weights, k=number)
        return [finished(task_type=each, completed=chance.random() < rates[each]) for each in types]

    held = 0
    for _ in range(1000):
        difference = compared(drawn(100, (6, 3, 1)), drawn(60, (2, 3, 5)), value).change
        assert difference.low is not None
        assert difference.high is not None
        held += difference.low <= 0 <= difference.high
    assert held == pytest.approx(950, abs=15)
