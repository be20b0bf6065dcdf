from __future__ import annotations

import random

import pytest

from grader_daemon.patterns.votes import Vote
from grader_daemon.routing.change_points import since_change_points

Votes = dict[tuple[str, str], list[Vote]]
_HISTORIES = 300


def history(*rates: float, seed: int, model: str = "m") -> Votes:
    """Votes of two types, the later ones heavier; a rate holds for sixty of them."""
    chance = random.Random(seed)
    votes: Votes = {("coding", model): [], ("research", model): []}
    for place, rate in enumerate(rate for rate in rates for _ in range(60)):
        completed = float(chance.random() < rate)
        votes[chance.choice(["coding", "research"]), model].append(Vote(completed, 0.99 ** (1000 - place)))
    return votes


def kept(votes: Votes) -> int:
    return sum(map(len, since_change_points(votes).values()))


@pytest.mark.parametrize("rates", [(0.9, 0.3), (0.2, 0.8), (0.1, 0.9, 0.3)])
def test_votes_of_before_a_turn_are_left_out(rates: tuple[float, ...]) -> None:
    found = [kept(history(*rates, seed=seed)) for seed in range(20)]

    assert all(45 <= each <= 75 for each in found)


@pytest.mark.no_cover
def test_a_model_that_stays_as_it_is_keeps_its_votes_in_99_of_100_histories() -> None:
    turned = sum(kept(history(0.6, 0.6, 0.6, seed=seed)) < 180 for seed in range(_HISTORIES))

    assert turned <= 0.03 * _HISTORIES, "one of a hundred, and three standard deviations"


def test_a_turn_is_that_of_one_model_alone() -> None:
    steady = history(0.6, 0.6, seed=1, model="steady")

    found = since_change_points({**history(0.9, 0.2, seed=1), **steady})

    assert {cell: found[cell] for cell in steady} == steady
    assert sum(map(len, found.values())) < 240


def test_work_that_moves_to_a_harder_type_is_no_turn() -> None:
    chance = random.Random(1)
    easy = [Vote(float(chance.random() < 0.9), 0.99 ** (1000 - place)) for place in range(60)]
    hard = [Vote(float(chance.random() < 0.2), 0.99 ** (1000 - place)) for place in range(60, 120)]

    assert kept({("easy", "m"): easy, ("hard", "m"): hard}) == 120


@pytest.mark.parametrize(
    "votes",
    [
        pytest.param([], id="none"),
        pytest.param([Vote(float(place < 9), 0.5 + place / 100) for place in range(18)], id="few"),
        pytest.param([Vote(1.0, 0.5 + place / 1000) for place in range(100)], id="alike"),
        pytest.param([Vote(float(place < 50), 1.0) for place in range(100)], id="all-at-once"),
    ],
)
def test_what_tells_no_turn_is_kept(votes: list[Vote]) -> None:
    assert since_change_points({("coding", "m"): votes}) == {("coding", "m"): votes}
