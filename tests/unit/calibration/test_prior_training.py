from __future__ import annotations

import math

import msgspec
import pytest

from grader_daemon.calibration.agreement import ranking
from grader_daemon.calibration.prior import Prior
from grader_daemon.calibration.prior_training import train_prior
from grader_daemon.calibration.samples import Sample
from tests.calibration_examples import DIRECTIONS, prior, sample, samples


def _trained(labelled: list[Sample], **directions: float) -> Prior:
    return train_prior(labelled, DIRECTIONS | directions, version="v", features_version=1)


def test_a_prior_ranks_sessions_of_a_place_it_never_saw() -> None:
    model, elsewhere = prior("there").model, samples(300, source="elsewhere")
    likely = [model.predict(each.features) or 0.0 for each in elsewhere]
    assert (ranking([each.completed for each in elsewhere], likely) or 0) > 0.75


def test_the_same_sessions_in_another_order_give_the_same_weights() -> None:
    labelled = samples(100)
    assert _trained(labelled[::-1]).weights == pytest.approx(_trained(labelled).weights)


def test_words_have_no_weight_before_a_user_labels() -> None:
    assert prior().weights[-1] == 0


def test_what_is_ordinary_in_a_place_does_not_blur_what_tells_its_sessions_apart() -> None:
    """Here more errors are ordinary where more is completed, and within each place they speak against it."""
    calm, rough = samples(200, source="calm", intercept=-1.0), samples(200, source="rough", intercept=1.0)
    moved = [msgspec.structs.replace(each, features=(each.features[0] + 2, *each.features[1:])) for each in rough]
    assert _trained([*calm, *moved]).weights == pytest.approx(_trained([*calm, *rough]).weights, rel=0.15)


def test_places_that_contradict_each_other_leave_little_weight() -> None:
    one, other = samples(200, source="one"), samples(200, source="other", weights=(1.5, 1.5, 0.0, 0.0))
    alike = samples(200, source="other")
    blurred, clear = (_trained([*one, *others], errors_late=0.0).weights[0] for others in (other, alike))
    assert abs(blurred) < abs(clear) / 3


def test_a_prior_that_ranks_worse_than_chance_elsewhere_weighs_nothing() -> None:
    labelled = [
        each
        for place in range(3)
        for each in samples(200, source=f"{place}", weights=(1.5 - 1.5 * place, 0.0, 0.0, 0.0))
    ]
    made = _trained(labelled, errors_late=-1.0, grounded=0.0)
    assert made.weights[0] <= 0


def test_what_reason_expects_counts_where_the_data_say_nothing() -> None:
    labelled = samples(200, weights=(0.0, 0.0, 1.5, 0.0))
    made = _trained(labelled)
    assert made.weights[0] < 0 < made.weights[1]


@pytest.mark.thorough
def test_many_places_overrule_what_reason_expects() -> None:
    labelled = [each for place in range(30) for each in samples(60, source=f"place {place}")]
    made = _trained(labelled, length=0.0, errors_late=1.0)
    assert made.weights[0] < 0


def test_a_source_with_one_outcome_teaches_nothing() -> None:
    labelled = samples(100)
    failures = [sample(2.0, 0.0, 0.0, 0.0, completed=False, source="failures")] * 50
    assert _trained([*labelled, *failures]) == _trained(labelled)


def test_the_base_rate_is_the_mean_of_the_sources_and_so_is_the_mean_probability() -> None:
    labelled = [*samples(400, source="hard", intercept=-1.5), *samples(40, source="easy", intercept=1.5)]
    rates = [
        sum(each.completed for each in labelled if each.source == name) / size
        for name, size in (("hard", 400), ("easy", 40))
    ]
    made = _trained(labelled)
    assert made.base_rate == pytest.approx(sum(rates) / 2)
    likely = {
        name: [made.model.predict(each.features) or 0.0 for each in labelled if each.source == name]
        for name in ("hard", "easy")
    }
    means = [sum(each) / len(each) for each in likely.values()]
    assert sum(means) / 2 == pytest.approx(made.base_rate, abs=0.01)


def test_scores_that_separate_leave_the_slope_finite() -> None:
    labelled = [sample(float(number % 2), 0.0, 0.0, 0.0, completed=number % 2 == 0) for number in range(40)]
    made = _trained(labelled)
    assert -100 < made.weights[0] < -1
    assert all(map(math.isfinite, made.weights))


def test_verdicts_of_the_prior_agree_with_the_outcomes_it_saw() -> None:
    labelled = samples(300)
    model = _trained(labelled).model
    right = sum(((model.predict(each.features) or 0) >= model.threshold) == each.completed for each in labelled)
    assert right > 200
