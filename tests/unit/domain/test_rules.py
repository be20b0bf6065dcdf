from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from grader_daemon.domain.rollup import Dimension, Metric
from grader_daemon.domain.rules import AlertRules, Rules, ThresholdRule
from tests.alert_examples import SHIPPED, threshold

HALF_FAILS: dict[str, Any] = {
    "name": "half fails",
    "metric": "completion_rate",
    "below": 0.5,
    "clear": 0.6,
    "days": 7,
    "sessions": 20,
}


# -- thresholds ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        pytest.param({"below": 0.5, "clear": 0.6}, 0.5, id="below"),
        pytest.param({"below": None, "above": 0.3, "clear": 0.2}, 0.3, id="above"),
        pytest.param({"below": 0.5, "clear": 0.5}, 0.5, id="it-clears-at-the-limit-from-below"),
        pytest.param({"below": None, "above": 0.5, "clear": 0.5}, 0.5, id="it-clears-at-the-limit-from-above"),
        pytest.param({"below": 0.0, "clear": 1.0}, 0.0, id="the-whole-scale-of-a-rate"),
        pytest.param({"metric": "quality", "below": 1.0, "clear": 5.0}, 1.0, id="the-whole-scale-of-a-score"),
        pytest.param({"metric": "efficiency", "below": 2, "clear": 3}, 2.0, id="whole-numbers"),
        pytest.param({"dimension": "tool"}, 0.5, id="each-group-of-a-dimension"),
        pytest.param({"dimension": "tool", "group": "terminal"}, 0.5, id="one-group-of-a-dimension"),
        pytest.param({"days": 1, "sessions": 1}, 0.5, id="the-shortest-span"),
    ],
)
def test_a_threshold_that_makes_sense_is_taken(changes: dict[str, Any], limit: float) -> None:
    assert msgspec.convert({**HALF_FAILS, **changes}, ThresholdRule).limit == limit


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"below": None}, "either `below` or `above`", id="no-limit"),
        pytest.param({"above": 0.7}, "either `below` or `above`", id="two-limits"),
        pytest.param({"group": "terminal"}, "`group` needs a `dimension`", id="a-group-of-nothing"),
        pytest.param({"metric": Metric.ENDED_BADLY}, "limits of ended_badly are not known", id="of-jobs-alone"),
        pytest.param({"below": -0.1}, "from 0 to 1", id="a-rate-below-zero"),
        pytest.param({"clear": math.nan}, "from 0 to 1", id="it-clears-at-no-number"),
        pytest.param({"clear": 1.1}, "from 0 to 1", id="a-rate-above-one"),
        pytest.param({"below": 50, "clear": 60}, "limits of completion_rate", id="a-rate-in-percent"),
        pytest.param({"metric": Metric.QUALITY, "below": 0.5, "clear": 2}, "from 1 to 5", id="a-score-below-one"),
        pytest.param({"metric": Metric.EFFICIENCY, "below": 4, "clear": 6}, "from 1 to 5", id="a-score-above-five"),
        pytest.param({"below": None, "above": 1.5, "clear": 0.2}, "from 0 to 1", id="a-limit-that-is-never-reached"),
        pytest.param({"below": math.nan}, "from 0 to 1", id="a-limit-that-is-no-number"),
        pytest.param({"clear": math.inf}, "from 0 to 1", id="it-never-clears"),
        pytest.param({"clear": 0.4}, "must not be less than `below`", id="it-clears-before-it-opens-from-below"),
        pytest.param(
            {"below": None, "above": 0.5, "clear": 0.6},
            "must not be more than `above`",
            id="it-clears-before-it-opens-from-above",
        ),
    ],
)
def test_a_threshold_that_contradicts_itself_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as direct:
        threshold(**changes)
    with pytest.raises(msgspec.ValidationError, match=message) as read:
        msgspec.convert({**HALF_FAILS, **changes}, ThresholdRule)
    assert "\n" not in str(direct.value)
    assert "\n" not in str(read.value)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param({"days": 0}, "days", id="no-days"),
        pytest.param({"sessions": 0}, "sessions", id="no-sessions"),
        pytest.param({"metric": "beauty"}, "metric", id="an-unknown-metric"),
        pytest.param({"dimension": "planet"}, "dimension", id="an-unknown-dimension"),
        pytest.param({"colour": "red"}, "colour", id="an-unknown-field"),
        pytest.param({"clear": "often"}, "clear", id="words-for-a-number"),
    ],
)
def test_a_threshold_with_a_wrong_value_is_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=field) as error:
        msgspec.convert({**HALF_FAILS, **changes}, ThresholdRule)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "field", [pytest.param(name, id=f"without-{name}") for name in ("name", "metric", "clear", "days", "sessions")]
)
def test_a_threshold_needs_its_fields(field: str) -> None:
    fields = {name: value for name, value in HALF_FAILS.items() if name != field}
    with pytest.raises(msgspec.ValidationError, match=f"missing required field `{field}`"):
        msgspec.convert(fields, ThresholdRule)


def test_a_threshold_is_about_all_sessions_unless_it_says_otherwise() -> None:
    rule = msgspec.convert(HALF_FAILS, ThresholdRule)
    assert rule.dimension is Dimension.OVERALL
    assert rule.group is None


def test_a_change_of_a_threshold_is_checked_too() -> None:
    with pytest.raises(ValueError, match="must not be less"):
        msgspec.structs.replace(threshold(), clear=0.1)


# -- alerts --------------------------------------------------------------------------------------------------------


def test_thresholds_of_different_names_go_together() -> None:
    rules = msgspec.structs.replace(SHIPPED, thresholds=(threshold(name="a"), threshold(name="b")))
    assert [rule.name for rule in rules.thresholds] == ["a", "b"]


def test_two_thresholds_of_one_name_are_refused() -> None:
    twice = (threshold(name="a"), threshold(name="b"), threshold(name="a", days=3))
    with pytest.raises(ValueError, match="two `thresholds` are named 'a'") as error:
        msgspec.structs.replace(SHIPPED, thresholds=twice)
    assert "\n" not in str(error.value)


def test_the_text_about_a_name_is_one_line_whatever_the_name_holds() -> None:
    twice = (threshold(name="a\nb"), threshold(name="a\nb"))
    with pytest.raises(ValueError, match="two `thresholds`") as error:
        msgspec.structs.replace(SHIPPED, thresholds=twice)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"drops": []}, id="no-drops"),
        pytest.param({"drops": [0.1] * 9}, id="too-many-drops"),
        pytest.param({"drops": [0.0]}, id="a-drop-of-nothing"),
        pytest.param({"drops": [1.1]}, id="a-drop-of-more-than-all"),
        pytest.param({"drops": [math.nan]}, id="a-drop-that-is-no-number"),
        pytest.param({"arming_sessions": 0}, id="armed-by-nothing"),
        pytest.param({"baseline_days": 0}, id="a-baseline-of-no-days"),
        pytest.param({"streams": 0}, id="no-streams"),
        pytest.param({"overall_part": 1.0}, id="nothing-left-for-groups"),
        pytest.param({"completion_part": 0.0}, id="nothing-for-the-completion-rate"),
        pytest.param({"critical_score_drop": 4.5}, id="a-drop-that-no-score-can-have"),
        pytest.param({"colour": "red"}, id="an-unknown-field"),
    ],
)
def test_alert_rules_out_of_range_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**msgspec.to_builtins(SHIPPED), **changes}, AlertRules)


def test_rules_round_trip(rules: Rules) -> None:
    assert msgspec.json.decode(msgspec.json.encode(rules), type=Rules) == rules
