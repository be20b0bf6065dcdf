import math
import random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.routing import Count
from grader_daemon.routing.model import ModelScores


def test_with_many_votes_a_score_is_the_plain_rate() -> None:
    scores = ModelScores(
        {
            ("debugging", "a"): Count(4000, 1000),
            ("debugging", "b"): Count(4000, 2800),
            ("research", "a"): Count(4000, 3200),
            ("research", "b"): Count(4000, 400),
        }
    )

    assert scores.score("debugging", "a").value == pytest.approx(0.25, abs=0.005)
    assert scores.score("research", "a").value == pytest.approx(0.8, abs=0.005)
    assert scores.score("research", "b").value == pytest.approx(0.1, abs=0.005)


def test_few_votes_are_drawn_towards_what_the_model_does_elsewhere() -> None:
    counts = {(kind, "good"): Count(50, 45) for kind in ("debugging", "research", "testing")}
    counts |= {(kind, "poor"): Count(50, 15) for kind in ("debugging", "research", "testing")}
    scores = ModelScores(counts | {("deployment", "good"): Count(2, 0), ("deployment", "poor"): Count(2, 2)})

    assert scores.score("deployment", "good").value > scores.score("deployment", "poor").value


def test_a_model_that_is_better_at_one_type_only_is_found_there() -> None:
    scores = ModelScores(
        {
            ("debugging", "a"): Count(100, 80),
            ("debugging", "b"): Count(100, 30),
            ("research", "a"): Count(100, 30),
            ("research", "b"): Count(100, 80),
        }
    )

    assert scores.gap("debugging", "a", "b").low > 0.2
    assert scores.gap("research", "a", "b").high < -0.2


def test_what_was_never_seen_is_told_by_type_and_model_and_is_less_sure() -> None:
    counts = {("debugging", "a"): Count(60, 54), ("debugging", "b"): Count(60, 30), ("research", "b"): Count(60, 20)}
    scores = ModelScores(counts)
    seen, unseen, other = scores.score("research", "b"), scores.score("research", "a"), scores.score("writing", "a")

    assert unseen.value > seen.value
    assert unseen.high - unseen.low > seen.high - seen.low
    assert scores.score("writing", "b").value < other.value
    assert other.deviation > scores.score("debugging", "a").deviation


def test_of_a_model_without_sessions_is_expected_what_others_do_at_the_type() -> None:
    both = {(task_type, model): completed for task_type, completed in (("easy", 90), ("hard", 20)) for model in "abcd"}
    scores = ModelScores({cell: Count(100, completed) for cell, completed in both.items()})

    easy, hard = scores.score("easy", None), scores.score("hard", None)
    assert easy.value == pytest.approx(0.9, abs=0.03)
    assert hard.value == pytest.approx(0.2, abs=0.03)
    assert easy.deviation > 3 * scores.score("easy", "a").deviation / 2


def test_the_overall_score_is_over_the_types_of_all_models_together() -> None:
    easy, hard = Count(200, 180), Count(200, 40)
    counts = {("easy", "lucky"): easy, ("hard", "brave"): hard, ("easy", "both"): easy, ("hard", "both"): hard}
    scores = ModelScores(counts)

    raw_apart = 180 / 200 - 40 / 200
    assert abs(scores.overall("lucky").value - scores.overall("brave").value) < raw_apart / 4
    assert scores.overall("both").value == pytest.approx((180 + 40) / 400, abs=0.05)


@pytest.mark.parametrize("completed", [pytest.param(0.0, id="none"), pytest.param(3.0, id="all")])
def test_one_model_and_one_type_alone_have_a_score(completed: float) -> None:
    scored = ModelScores({("general", "a"): Count(3.0, completed)}).score("general", "a")

    assert 0 < scored.low < scored.value < scored.high < 1


def test_a_model_is_neither_better_nor_worse_than_itself() -> None:
    scores = ModelScores({("general", "a"): Count(3.0, 1.0)})

    assert scores.gap("general", "a", "a") == (0.0, 0.0, 0.0, 0.0)


@st.composite
def _counts(draw: st.DrawFn) -> dict[tuple[str, str], Count]:
    cells = draw(st.sets(st.tuples(st.sampled_from("xyz"), st.sampled_from("abcde")), min_size=1))
    found = {}
    for cell in sorted(cells):
        votes = draw(st.floats(1e-6, 1e5))
        found[cell] = Count(votes, votes * draw(st.floats(0, 1)))
    return found


@given(_counts())
def test_whatever_was_counted_intervals_hold_their_scores(counts: dict[tuple[str, str], Count]) -> None:
    scores = ModelScores(counts)
    for model in scores.models:
        overall = scores.overall(model)
        assert 0 < overall.low <= overall.value <= overall.high < 1
        for kind in (*scores.types, "never seen"):
            scored = scores.score(kind, model)
            assert 0 < scored.low <= scored.value <= scored.high < 1
            for other in scores.models:
                gap, back = scores.gap(kind, model, other), scores.gap(kind, other, model)
                assert -1 <= gap.low <= gap.value <= gap.high <= 1
                assert gap.value == pytest.approx(-back.value, abs=1e-9)


@pytest.mark.no_cover
def test_intervals_hold_the_truth_as_often_as_they_promise() -> None:
    """Of 1,200 cells of homes drawn from such a model, with few votes; 95 % are promised."""
    chance = random.Random(5)
    held = []
    for _ in range(50):
        types = {kind: chance.gauss(0, 0.8) for kind in "xyzw"}
        models = {name: chance.gauss(0, 0.6) for name in "abcdef"}
        truth, counts = {}, {}
        for kind, of_type in types.items():
            for name, of_model in models.items():
                rate = 1 / (1 + math.exp(-(of_type + of_model + chance.gauss(0, 0.4))))
                votes = chance.choice([2, 5, 10, 40])
                truth[kind, name] = rate
                counts[kind, name] = Count(votes, sum(chance.random() < rate for _ in range(votes)))
        scores = ModelScores(counts)
        for cell, rate in truth.items():
            scored = scores.score(*cell)
            held.append(scored.low <= rate <= scored.high)

    assert 0.92 <= fmean(held) <= 0.98


def test_a_fit_that_does_not_settle_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader_daemon.routing.model._STEPS", 1)
    counts = {("debugging", "a"): Count(40, 30), ("debugging", "b"): Count(40, 10)}

    assert ModelScores(counts).gap("debugging", "a", "b").low > 0
