from collections import Counter
from datetime import timedelta

import pytest

from grader_daemon.domain.feedback import Label
from grader_daemon.domain.routing import FinishedSession, KnownBy, ModelScore, RouteReason, TaskRoute
from grader_daemon.routing.choice import FEWEST_SESSIONS, LEAST_GAIN, MOST_NAMES, Router
from tests.routed import finished, several
from tests.strategies import NOW, label

CHEAP, STRONG = {"model": "cheap"}, {"model": "strong"}


def route(sessions: list[FinishedSession], labels: list[Label] | None = None, **options: object) -> TaskRoute:
    return Router(sessions, labels or [], now=NOW).route("debugging", **options)  # type: ignore[arg-type]


def of(found: TaskRoute, model: str) -> ModelScore:
    return next(score for score in found.models if score.model == model)


def test_a_better_model_is_preferred_to_the_default() -> None:
    found = route([*several(60, 20, **CHEAP), *several(30, 25, **STRONG)], default="cheap")

    assert (found.known, found.known_by, found.recommended) == (True, KnownBy.TYPE, "strong")
    assert [score.model for score in found.models] == ["strong", "cheap"]
    strong = of(found, "strong")
    assert strong.known
    assert strong.reason is None
    assert (strong.n, strong.raw, strong.n_effective) == (30, 25 / 30, 30.0)
    assert strong.low < strong.score < strong.high
    assert strong.score < 25 / 30
    assert strong.versus_default is not None
    assert strong.versus_default.low > 0


def test_the_default_can_be_named_and_is_never_recommended() -> None:
    found = route([*several(60, 20, **CHEAP), *several(30, 25, **STRONG)], default="strong")

    assert (found.known, found.reason, found.recommended) == (False, RouteReason.NOT_BETTER, None)
    assert of(found, "strong").versus_default.difference == 0  # type: ignore[union-attr]


def test_a_default_without_sessions_is_compared_with_nothing() -> None:
    found = route([*several(60, 20, **CHEAP), *several(30, 25, **STRONG)], default="brand-new")

    assert (found.reason, of(found, "strong").versus_default) == (RouteReason.TOO_FEW, None)


def test_only_models_that_are_asked_for_are_told_of() -> None:
    sessions = [*several(60, 20, **CHEAP), *several(30, 25, **STRONG), *several(30, 30, model="other")]

    found = route(sessions, models=["cheap", "strong"])

    assert found.recommended == "strong"
    assert {score.model for score in found.models} == {"cheap", "strong"}


def test_a_model_that_is_better_at_this_type_only_is_preferred_there_and_differs() -> None:
    sessions = [*several(60, 15, **CHEAP), *several(60, 50, **STRONG)]
    sessions += [
        one._replace(task_type="research") for one in (*several(300, 270, **CHEAP), *several(300, 60, **STRONG))
    ]
    router = Router(sessions, [], now=NOW)

    assert router.route("debugging", default="cheap").recommended == "strong"
    assert of(router.route("debugging"), "strong").differs
    assert router.route("research", default="strong").recommended == "cheap"


@pytest.mark.parametrize(
    ("sessions", "reason"),
    [
        pytest.param([], RouteReason.TOO_FEW, id="no-sessions"),
        pytest.param([*several(9, 1), *several(9, 9, **STRONG)], RouteReason.TOO_FEW, id="too-few-sessions-in-all"),
        pytest.param([*several(60, 40), *several(3, 2, **STRONG)], RouteReason.TOO_FEW, id="too-few-of-the-other"),
        pytest.param([*several(60, 40), *several(200, 40, **STRONG)], RouteReason.NOT_BETTER, id="a-poorer-one"),
        pytest.param(several(60, 40), RouteReason.ONE_MODEL, id="nothing-to-choose-from"),
        pytest.param(
            [*several(60, 20), *several(60, 60, **STRONG, ended_at=NOW - timedelta(days=31))],
            RouteReason.STALE,
            id="not-used-for-a-month",
        ),
        pytest.param(
            [*several(60, 20, unsure=True), *several(30, 30, unsure=True, **STRONG)],
            RouteReason.UNCALIBRATED,
            id="unsure-verdicts",
        ),
    ],
)
def test_nothing_is_recommended_without_reason(sessions: list[FinishedSession], reason: RouteReason) -> None:
    found = route(sessions, default="cheap")

    assert (found.known, found.recommended, found.reason) == (False, None, reason)


def test_labels_of_unsure_sessions_make_them_known() -> None:
    sessions = [*several(60, 20, unsure=True, judged=True), *several(30, 30, unsure=True, **STRONG)]

    assert route(sessions).recommended == "strong"
    assert of(route(sessions), "cheap").labels == 60


def test_a_difference_between_few_labels_is_not_sure_however_many_sessions_there_are() -> None:
    sessions = [finished(model=model, unsure=True) for model in ("cheap", "strong") for _ in range(300)]
    labels = [
        label(session_id=each.session_id, completed=place % 300 < done, drawn_at_random=True, automatic_completed=True)
        for done, part in ((11, sessions[:20]), (14, sessions[300:320]))
        for place, each in enumerate(part)
    ]

    compared = of(route(sessions, labels, default="cheap"), "strong").versus_default

    assert compared is not None
    assert compared.low < 0 < compared.difference


def test_old_sessions_count_less() -> None:
    old = several(60, 60, **STRONG, ended_at=NOW - timedelta(days=85))
    new = several(30, 8, **STRONG)

    found = route([*several(60, 30, **CHEAP), *old, *new], default="cheap")

    assert of(found, "strong").score < 0.5
    assert of(found, "strong").raw == 68 / 90
    assert of(found, "strong").age_days == 0


def test_one_request_asked_for_again_and_again_is_one_vote() -> None:
    routine = [one._replace(request=1) for one in several(500, 500, **STRONG)]

    found = route([*several(60, 30, **CHEAP), *routine], default="cheap")

    apart = route([*several(60, 30, **CHEAP), *several(500, 500, **STRONG)], default="cheap")
    assert of(found, "strong").n_effective == 1
    assert of(found, "strong").low < 0.5 < of(apart, "strong").low


@pytest.mark.thorough
@pytest.mark.no_cover
def test_of_equal_models_none_is_preferred_for_its_name() -> None:
    names = [f"m{number}" for number in range(8)]
    sessions = [one for name in names for one in several(40, 30, model=name)]
    sessions += several(60, 10, model="default")

    weeks = [Router(sessions, [], now=NOW - timedelta(weeks=week)).route("debugging") for week in range(60)]

    assert len({found.recommended for found in weeks}) > 5
    assert Counter(found.recommended for found in weeks).most_common(1)[0][1] < 25


def test_what_a_completed_task_costs_stands_beside_its_probability() -> None:
    sessions = [*several(60, 30, **CHEAP, cost_usd=0.01), *several(60, 54, **STRONG, cost_usd=0.10)]
    sessions += several(60, 30, model="dear", cost_usd=0.50)
    found = route(sessions, default="cheap")

    strong = of(found, "strong")
    assert strong.cost_usd == pytest.approx(0.10)
    assert strong.usd_per_completed == pytest.approx(0.10 / strong.score)
    assert {score.model for score in found.models if score.efficient} == {"cheap", "strong"}


def test_with_a_limit_the_best_is_chosen_of_those_that_keep_it() -> None:
    sessions = [*several(60, 10, **CHEAP, cost_usd=0.01), *several(60, 30, model="middle", cost_usd=0.10)]
    sessions += several(60, 54, **STRONG, cost_usd=1.0)
    sessions += several(60, 58, model="unpriced")

    assert route(sessions, default="cheap").recommended == "unpriced"
    assert route(sessions, default="cheap", most_usd=2.0).recommended == "strong"
    assert route(sessions, default="cheap", most_usd=0.5).recommended == "middle"
    assert route(sessions, default="cheap", most_usd=0.001).recommended is None


def test_a_default_that_is_too_dear_gives_way_to_a_poorer_model() -> None:
    sessions = [*several(200, 40, **CHEAP, cost_usd=0.01), *several(200, 160, **STRONG, cost_usd=1.0)]

    assert route(sessions, default="strong").reason is RouteReason.NOT_BETTER
    assert route(sessions, default="strong", most_usd=0.5).recommended == "cheap"


def test_a_clock_that_went_back_makes_no_age_negative() -> None:
    assert route([finished(ended_at=NOW + timedelta(days=3))]).models[0].age_days == 0


def test_a_default_that_is_the_best_overall_stays() -> None:
    sessions = [*several(60, 40, **CHEAP), *several(60, 41, **STRONG)]
    sessions += [
        one._replace(task_type="research") for one in (*several(300, 290, **CHEAP), *several(300, 100, **STRONG))
    ]

    found = Router(sessions, [], now=NOW).route("debugging", default="cheap")

    assert (found.models[0].model, found.known, found.recommended) == ("cheap", False, None)


def test_a_default_that_is_best_overall_stays_where_another_may_only_be_luckier() -> None:
    sessions = [*several(60, 30, **CHEAP), *several(20, 14, **STRONG)]
    sessions += several(300, 180, **CHEAP, task_type="research")
    sessions += several(300, 150, **STRONG, task_type="research")

    found = route(sessions, default="cheap")

    assert (found.models[0].model, of(found, "strong").known, of(found, "strong").differs) == ("cheap", True, False)
    assert (found.recommended, found.reason) == (None, RouteReason.NOT_BETTER)


def test_where_none_is_better_tasks_go_to_the_default() -> None:
    found = route([*several(60, 20, **CHEAP), *several(90, 81, **STRONG)], default="strong")

    assert (found.recommended, found.reason, found.prefer) == (None, RouteReason.NOT_BETTER, "strong")


@pytest.mark.parametrize("used", [40, 900])
def test_without_a_default_the_best_is_preferred_however_much_it_is_used(used: int) -> None:
    """The route's own choice makes a model the one that is used most: that is no reason to give it up."""
    found = route([*several(60, 20, **CHEAP), *several(used, used * 9 // 10, **STRONG)])

    assert (found.default, found.recommended, found.reason, found.prefer) == (None, "strong", None, "strong")
    assert {score.versus_default for score in found.models} == {None}


@pytest.mark.parametrize("default", ["cheap", None])
def test_what_is_recommended_is_what_tasks_go_to(default: str | None) -> None:
    found = route([*several(90, 20, **CHEAP), *several(60, 54, **STRONG)], default=default)

    assert (found.default, found.recommended, found.prefer) == (default, "strong", "strong")


@pytest.mark.parametrize(
    ("at_type", "known_by"),
    [(FEWEST_SESSIONS - 1, KnownBy.OVERALL), (FEWEST_SESSIONS, KnownBy.TYPE)],
)
def test_with_few_sessions_of_the_type_a_model_is_known_by_its_other_work(at_type: int, known_by: KnownBy) -> None:
    sessions = [*several(60, 20, **CHEAP), *several(at_type, at_type, **STRONG)]
    sessions += [*several(60, 20, **CHEAP, task_type="research"), *several(60, 54, **STRONG, task_type="research")]

    found = route(sessions)

    assert (found.known, found.recommended, found.known_by) == (True, "strong", known_by)


def test_while_too_little_is_known_tasks_go_to_none() -> None:
    assert route([*several(60, 54, **CHEAP), *several(3, 3, **STRONG)], default="cheap").prefer is None
    assert route([*several(10, 9, **CHEAP), *several(9, 3, **STRONG)]).prefer is None
    assert route([*several(60, 30, **CHEAP), *several(9, 9, **STRONG)]).prefer is None


def test_without_a_default_a_model_may_be_the_best_though_it_was_not_used_for_a_month() -> None:
    """Where all tasks go to one model, the others are not used: they take its place when it does worse."""
    sessions = [*several(300, 60, **CHEAP), *several(60, 54, **STRONG, ended_at=NOW - timedelta(days=40))]

    assert route(sessions).recommended == "strong"
    assert route(sessions, default="cheap").reason is RouteReason.STALE


def test_where_facts_tell_no_model_from_the_default_tasks_go_to_it() -> None:
    found = route([*several(900, 880, unsure=True), *several(900, 880, unsure=True, **STRONG)], default="cheap")

    assert (found.reason, found.prefer) == (RouteReason.UNCALIBRATED, "cheap")


def test_a_default_that_is_too_dear_is_not_what_tasks_go_to() -> None:
    sessions = [*several(60, 54, **CHEAP, cost_usd=9.0), *several(60, 20, **STRONG, cost_usd=9.0)]

    found = route(sessions, default="cheap", most_usd=1.0)

    assert (found.reason, found.prefer) == (RouteReason.TOO_DEAR, None)


@pytest.mark.parametrize("default", ["strong", None])
def test_models_that_are_surely_ten_points_worse_are_not_explored(default: str | None) -> None:
    sessions = [*several(200, 180, **STRONG), *several(200, 176, model="near"), *several(200, 60, **CHEAP)]
    sessions += several(2, 1, model="new")

    found = route(sessions, default=default)

    assert found.prefer == "strong"
    assert {score.model for score in found.models if score.may_explore} == {"strong", "near", "new"}


def test_what_is_expected_of_a_model_without_sessions_is_hardly_known() -> None:
    found = route([*several(200, 150, **CHEAP), *several(200, 150, **STRONG)])

    assert found.unseen is not None
    assert found.unseen.low < 0.5 < found.unseen.score < found.unseen.high
    assert found.unseen.high - found.unseen.low > 0.3


def test_with_a_limit_none_is_explored_that_is_dearer_or_without_a_price() -> None:
    sessions = [*several(100, 90, **STRONG, cost_usd=0.1), *several(100, 90, **CHEAP, cost_usd=0.1)]
    sessions += [*several(100, 90, model="dear", cost_usd=2.0), *several(100, 90, model="unpriced")]

    found = route(sessions, most_usd=0.5)

    assert {score.model for score in found.models if score.may_explore} == {"strong", "cheap"}
    assert {score.model for score in found.models if score.reason is RouteReason.TOO_DEAR} == {"dear", "unpriced"}
    assert found.unseen is None


def test_a_model_without_sessions_of_the_type_costs_what_it_does_elsewhere() -> None:
    sessions = [*several(60, 20, **CHEAP, cost_usd=0.1)]
    sessions += several(60, 54, **STRONG, cost_usd=2.0, task_type="research")

    assert of(route(sessions, most_usd=0.5), "strong").reason is RouteReason.TOO_DEAR
    assert of(route(sessions, most_usd=5.0), "strong").reason is None
    at_type = several(10, 9, **STRONG, cost_usd=0.1)
    assert of(route([*sessions, *at_type], most_usd=0.5), "strong").reason is None


@pytest.mark.parametrize("before", ["debugging", "research"])
def test_a_model_that_fell_is_judged_by_what_it_did_since(before: str) -> None:
    fell = [
        finished(
            model="strong",
            task_type=before if place < 100 else "debugging",
            completed=place % 10 < (9 if place < 200 else 2),
            ended_at=NOW - timedelta(hours=260 - place),
        )
        for place in range(260)
    ]

    found = route([*several(100, 60, **CHEAP), *fell])

    assert found.recommended == "cheap"
    assert of(found, "strong").score < 0.4


def test_the_only_candidate_beside_the_default_is_compared_with_it() -> None:
    sessions = [*several(60, 20, **CHEAP), *several(60, 54, **STRONG)]

    assert route(sessions, models=["strong"], default="cheap").recommended == "strong"


@pytest.mark.parametrize("unsure", [False, True])
def test_a_type_without_sessions_is_not_known(unsure: bool) -> None:
    sessions = [*several(60, 20, unsure=unsure), *several(60, 54, unsure=unsure, **STRONG)]

    found = Router(sessions, [], now=NOW).route("never seen", default="cheap")

    assert (found.known, found.recommended, found.reason) == (False, None, RouteReason.TOO_FEW)
    assert {(score.known, score.reason) for score in found.models} == {(False, RouteReason.TOO_FEW)}


@pytest.mark.parametrize(("tried", "recommended"), [(0, None), (1, "strong"), (FEWEST_SESSIONS, "strong")])
def test_a_model_takes_the_place_of_the_default_where_it_was_tried(tried: int, recommended: str | None) -> None:
    sessions = [*several(83, 20, **CHEAP, cost_usd=0.5), *several(tried, tried, **STRONG, cost_usd=0.01)]
    sessions += several(300, 290, **STRONG, task_type="summaries", cost_usd=0.01)
    sessions += several(300, 60, **CHEAP, task_type="summaries", cost_usd=0.01)

    found = route(sessions, default="cheap")

    assert found.recommended == recommended
    assert route(sessions, default="cheap", most_usd=0.1).recommended == "strong"
    assert of(found, "strong").known is (recommended is not None)
    assert found.reason is (None if recommended else RouteReason.TOO_FEW)


@pytest.mark.parametrize(
    ("sessions", "done", "reason"),
    [
        pytest.param(60, (40, 42), RouteReason.TOO_FEW, id="more-could-show-it"),  # by 2.7 points, 64 % probable
        pytest.param(1000, (700, 715), RouteReason.NOT_BETTER, id="surely-but-by-little"),  # by 1.5 points
        pytest.param(60, (40, 45), None, id="probably"),  # by 6.7 points, 81 % probable
    ],
)
def test_a_default_is_left_for_what_is_probably_better_by_enough(
    sessions: int, done: tuple[int, int], reason: RouteReason | None
) -> None:
    made = [*several(sessions, done[0], judged=True, **CHEAP), *several(sessions, done[1], judged=True, **STRONG)]

    found = route(made, default="cheap")

    assert found.reason is reason
    assert found.recommended == (None if reason else "strong")


@pytest.mark.parametrize("default", ["cheap", None])
@pytest.mark.parametrize(
    ("sessions", "done", "shown"),
    [
        pytest.param(60, (40, 45), False, id="chance"),  # by 6.7 points, 81 % probable
        pytest.param(60, (40, 50), True, id="more"),  # by 16.7 points, 97 % probable
    ],
)
def test_a_difference_is_shown_where_chance_hardly_explains_it(
    sessions: int, done: tuple[int, int], shown: bool, default: str | None
) -> None:
    made = [*several(sessions, done[0], judged=True, **CHEAP), *several(sessions, done[1], judged=True, **STRONG)]

    found = route(made, default=default)

    assert (found.recommended, found.difference_shown) == ("strong", shown)


def test_a_model_beside_which_no_other_is_known_shows_no_difference() -> None:
    found = route([*several(60, 50, **STRONG), *several(3, 0, **CHEAP)])

    assert (found.recommended, found.difference_shown) == ("strong", False)


@pytest.mark.parametrize(("tried", "recommended"), [(FEWEST_SESSIONS - 1, None), (FEWEST_SESSIONS, "strong")])
def test_a_model_that_is_not_surely_better_needs_ten_sessions_of_the_type(tried: int, recommended: str | None) -> None:
    sessions = [*several(83, 60, **CHEAP), *several(tried, tried - 1, **STRONG)]

    found = route(sessions, default="cheap")
    compared = of(found, "strong").versus_default

    assert compared is not None
    assert compared.low < 0 < LEAST_GAIN < compared.difference
    assert found.recommended == recommended


def test_a_model_that_was_not_tried_stands_in_no_other_ones_way() -> None:
    sessions = [*several(100, 20, **CHEAP), *several(100, 60, **STRONG)]
    sessions += [one._replace(task_type="research") for one in sessions]
    sessions += several(300, 299, task_type="research", model="new")

    found = route(sessions, default="cheap")

    assert (found.models[0].model, found.models[0].reason) == ("new", RouteReason.TOO_FEW)
    assert found.recommended == "strong"
    assert (route(sessions, default="strong").recommended, route(sessions, default="strong").known) == (None, False)


@pytest.mark.no_cover
def test_of_very_many_models_those_with_most_sessions_are_compared() -> None:
    rare = [
        finished(session_id=f"rare-{number}", model=f"checkpoint-{number}", completed=False)
        for number in range(2 * MOST_NAMES)
    ]

    found = route([*several(60, 20, **CHEAP), *several(60, 54, **STRONG), *rare])

    assert len(found.models) == MOST_NAMES
    assert found.recommended == "strong"
