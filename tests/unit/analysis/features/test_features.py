"""The table, and what all features have in common."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.analysis.features import DIRECTIONS, FEATURES, HIGHEST_VALUES
from grader_daemon.domain.session import Message, Session
from grader_daemon.rules import load_rules
from tests.feature_values import calling, values_of
from tests.strategies import answer, result, session, sessions, user

ANALYZER = Analyzer(load_rules())
HUGE = "word 7 " * 200_000


@given(sessions())
def test_any_session_has_every_feature_within_its_range(some: Session) -> None:
    values = ANALYZER.analyze(some, idle=True).features
    assert len(values) == len(FEATURES)
    for value, highest in zip(values, HIGHEST_VALUES.values(), strict=True):
        assert math.isfinite(value)
        assert 0 <= value <= highest


@given(sessions())
def test_the_same_session_has_the_same_features(some: Session) -> None:
    assert ANALYZER.analyze(some, idle=True).features == ANALYZER.analyze(some, idle=True).features


@pytest.mark.parametrize("place", ["request", "answer", "arguments", "result"])
def test_only_the_ends_of_a_text_count(place: str) -> None:
    def values(middle: str) -> dict[str, float]:
        texts = dict.fromkeys(("request", "answer", "arguments", "result"), "short")
        texts[place] = HUGE + middle + HUGE
        return values_of(
            user(texts["request"]), calling("t", texts["arguments"]), result(texts["result"]), answer(texts["answer"])
        )

    assert values("x1") == values("y2")


def test_the_last_features_are_marks() -> None:
    found = ANALYZER.analyze(session(user("Who?"), answer("Me.")), idle=True).features
    assert set(found.marks) == {0, 1}
    assert len(found) == len(FEATURES)
    assert [name.startswith("hash:") for name in FEATURES] == [False] * len(found.measures) + [True] * len(found.marks)


def test_a_feature_knows_nothing_of_model_and_platform() -> None:
    said: tuple[Message, ...] = (user("Who?"), answer("Me."))
    known = session(*said, model="some-model", platform="telegram")
    assert ANALYZER.analyze(known).features == ANALYZER.analyze(session(*said)).features


def test_the_table_says_of_each_feature_what_it_means_and_expects() -> None:
    assert list(FEATURES) == list(DIRECTIONS) == list(HIGHEST_VALUES)
    assert all(meaning.endswith(".") for meaning in FEATURES.values())
    assert {direction for name, direction in DIRECTIONS.items() if name.startswith("hash:")} == {0}
