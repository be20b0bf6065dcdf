from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.wording import BANDS, BYTES, NEAR, bands_of, likeness, wording_of

WORDS = st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8), min_size=1, max_size=40)


def worded(*words: str) -> bytes:
    wording = wording_of(" ".join(words))
    assert wording is not None
    return wording


@given(words=WORDS, chance=st.randoms())
def test_neither_order_nor_repetition_matters(words: list[str], chance: random.Random) -> None:
    again = [*words, words[0]]
    chance.shuffle(again)
    assert worded(*again) == worded(*words)


@given(one=WORDS, other=WORDS)
def test_likeness_is_a_share_and_the_same_both_ways(one: list[str], other: list[str]) -> None:
    mine, its = worded(*one), worded(*other)
    assert 0 <= likeness(mine, its) == likeness(its, mine) <= 1
    assert likeness(mine, mine) == 1
    assert len(mine) == BYTES
    assert b"".join(bands_of(mine)) == mine[: 4 * BANDS]


@pytest.mark.parametrize("shared", [40, 70, 90])
def test_likeness_estimates_the_share_of_words_of_both(shared: int) -> None:
    """The mean over 200 pairs of requests lies within 0.02 of the share; one byte of 256 is equal by chance."""
    chance = random.Random(7)
    found = []
    for _ in range(200):
        both, mine, its = (["".join(chance.choices("abcdefghij", k=9)) for _ in range(n)] for n in (shared, 10, 10))
        found.append(likeness(worded(*both, *mine), worded(*both, *its)))
    assert sum(found) / len(found) == pytest.approx(shared / (shared + 20), abs=0.02)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("cancel order {} and refund it to the card please", ("4711", "4712"), id="numbers"),
        pytest.param("record the blood pressure of patient {} in the chart", ("s1986380", "s2380121"), id="ids"),
    ],
)
def test_requests_with_other_numbers_are_other_requests(one: str, other: tuple[str, str]) -> None:
    first, second = (worded(*one.format(number).split()) for number in other)
    assert likeness(first, second) < NEAR


def test_a_request_without_words_has_no_wording() -> None:
    assert wording_of(" \n") is None
    assert worded("\ud800")  # what no text can hold is a word, too
