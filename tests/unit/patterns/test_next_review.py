from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from random import Random

import pytest

from grader_daemon.domain.feedback import Candidate, Sampling
from grader_daemon.patterns.next_review import choose

SURE = Candidate(session_id="sure", p_completed=0.97, rules_completed=True, completed=True, request=1)
UNSURE = Candidate(session_id="unsure", p_completed=0.48, rules_completed=False, completed=False, request=2)
SPLIT = Candidate(session_id="split", p_completed=0.9, rules_completed=False, completed=True, request=3)
UNKNOWN = Candidate(session_id="unknown", p_completed=None, rules_completed=True, completed=True, request=None)


def chosen(
    *candidates: Candidate,
    seed: int,
    threshold: float = 0.5,
    disputed: Collection[str] = (),
    known: Collection[int] = (),
    by_chance: bool = False,
) -> tuple[Candidate, Sampling] | None:
    chance = Random(seed)
    return choose(
        candidates, by_chance=by_chance, threshold=threshold, disputed=disputed, known_requests=known, chance=chance
    )


def uncertain(*candidates: Candidate, **how: object) -> set[str]:
    """The sessions that are ever chosen because they teach something."""
    drawn = [chosen(*candidates, seed=seed, **how) for seed in range(100)]  # type: ignore[arg-type]
    return {each[0].session_id for each in drawn if each is not None and each[1] is Sampling.UNCERTAIN}


def test_without_candidates_there_is_nothing_to_ask() -> None:
    assert chosen(seed=1) is None


def test_whose_turn_it_is_decides_how_a_session_is_chosen() -> None:
    for by_chance, arm in ((True, Sampling.RANDOM), (False, Sampling.UNCERTAIN)):
        drawn = [chosen(SURE, UNSURE, seed=seed, by_chance=by_chance) for seed in range(20)]

        assert {each[1] for each in drawn if each is not None} == {arm}


def test_what_is_drawn_by_chance_is_drawn_alike_whatever_it_would_teach() -> None:
    drawn = [chosen(SURE, UNSURE, SPLIT, UNKNOWN, seed=seed, known={2}, by_chance=True) for seed in range(2000)]
    random = Counter(each[0].session_id for each in drawn if each is not None and each[1] is Sampling.RANDOM)

    assert set(random) == {"sure", "unsure", "split", "unknown"}
    for times in random.values():
        assert times / random.total() == pytest.approx(0.25, abs=0.05)


def test_the_order_of_candidates_does_not_matter_to_chance() -> None:
    for seed in range(50):
        assert chosen(SURE, UNSURE, seed=seed, by_chance=True) == chosen(UNSURE, SURE, seed=seed, by_chance=True)


@pytest.mark.parametrize(
    ("candidates", "how", "expected"),
    [
        pytest.param([SURE, UNSURE], {}, {"unsure"}, id="nearest-the-threshold"),
        pytest.param([SURE, UNSURE], {"threshold": 0.95}, {"sure"}, id="wherever-that-is"),
        pytest.param([SURE, SPLIT], {}, {"split"}, id="model-and-rules-disagree"),
        pytest.param([SURE, UNKNOWN], {"disputed": {"unknown"}}, {"unknown"}, id="a-scorer-disagrees"),
        pytest.param([SURE, UNSURE], {"known": {2}}, {"sure"}, id="not-the-same-request-again"),
        pytest.param([UNKNOWN], {}, set(), id="nothing-to-be-unsure-of"),
        pytest.param([UNSURE], {"known": {2}}, set(), id="nothing-new-to-ask"),
    ],
)
def test_what_teaches_most_is_asked(candidates: list[Candidate], how: dict[str, object], expected: set[str]) -> None:
    assert uncertain(*candidates, **how) == expected


def test_where_nothing_teaches_chance_decides_and_says_so() -> None:
    drawn = [chosen(UNKNOWN, seed=seed) for seed in range(50)]

    assert drawn == [(UNKNOWN, Sampling.RANDOM)] * 50
