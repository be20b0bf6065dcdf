from __future__ import annotations

import msgspec
import pytest

from grader_daemon.calibration import update as calibrating
from grader_daemon.calibration.agreement import ranking
from grader_daemon.calibration.home import at_home
from grader_daemon.calibration.prior import Prior
from grader_daemon.calibration.samples import FEWEST_SESSIONS, Sample
from grader_daemon.calibration.update import base_rate, levelled, reweighted
from grader_daemon.domain.completion_model import CompletionModel
from tests.calibration_examples import prior, sample, samples

PRIOR = prior()
OTHER = (0.0, 0.0, 3.0, 0.0)
"""Here only the length says something, of which reason expects nothing."""


def _learned(
    labelled: list[Sample], made: Prior = PRIOR, history: list[tuple[float, ...]] | None = None
) -> CompletionModel:
    """What labels and sessions come to; with neither, or without labels, the prior among the sessions."""
    if not labelled:
        return levelled(made, history or [], version="mine")
    seen = history or [each.features for each in labelled[-calibrating.MOST_LABELS :]]
    return reweighted(at_home(made, seen), labelled, seen)


def _ranking(model: CompletionModel, tested: list[Sample]) -> float:
    likely = [model.predict(each.features) or 0.0 for each in tested]
    return ranking([each.completed for each in tested], likely) or 0.0


ROUGH = [(each.features[0] + 2, *each.features[1:]) for each in samples(FEWEST_SESSIONS)]
"""Sessions of a place where more errors are ordinary."""


def test_without_labels_and_with_few_sessions_the_model_is_that_of_the_prior() -> None:
    assert _learned([], history=ROUGH[1:]) == PRIOR.model


def test_without_labels_an_ordinary_session_is_as_likely_completed_as_elsewhere() -> None:
    model = _learned([], history=ROUGH)
    ordinary = tuple(sum(column) / len(ROUGH) for column in zip(*ROUGH, strict=True))
    assert model.predict(ordinary) == pytest.approx(PRIOR.model.predict(PRIOR.scaling.means))
    assert (model.version, model.threshold) == ("mine", PRIOR.threshold)
    assert model.means == pytest.approx(ordinary)


def test_a_word_that_few_sessions_have_moves_less() -> None:
    def weight(every: int) -> float:
        labelled = [
            sample(0.0, 0.0, 0.0, float(number % every == 0), completed=number % every == 0) for number in range(60)
        ]
        model = _learned(labelled, history=[each.features for each in labelled])
        return model.weights[-1]

    assert 0 < weight(20) < weight(2)


@pytest.mark.thorough
def test_the_more_labels_the_more_a_model_fits_the_place() -> None:
    tested = samples(400, weights=OTHER, seed=8)
    ranked = [_ranking(_learned(samples(count, weights=OTHER)), tested) for count in (1, 30, 200)]
    assert ranked == sorted(ranked)
    assert ranked[0] < 0.6
    assert ranked[-1] > 0.65


def test_one_label_more_for_completed_raises_the_probability_of_such_a_session() -> None:
    labelled = samples(30)
    once = labelled[0].features
    more = _learned([*labelled, sample(*once)]).predict(once)
    less = _learned([*labelled, sample(*once, completed=False)]).predict(once)
    assert more is not None
    assert less is not None
    assert less < more


def test_first_the_base_rate_is_learned() -> None:
    failed = [msgspec.structs.replace(each, completed=False) for each in samples(20)]
    likely = [_learned(failed).predict(each.features) or 0.0 for each in samples(50, seed=8)]
    assert sum(likely) / len(likely) < 0.25


def test_few_labels_move_the_base_rate_little() -> None:
    made = msgspec.structs.replace(PRIOR, base_rate=0.5)
    assert base_rate(made, [sample(1.0)]) == pytest.approx(0.6)
    assert base_rate(made, [sample(1.0)] * 196) == pytest.approx(0.99)


@pytest.mark.no_cover
@pytest.mark.parametrize("intercept", [-3.0, 0.0, 3.0])
def test_verdicts_are_never_all_the_same(intercept: float) -> None:
    history = [each.features for each in samples(300, seed=9)]
    model = _learned(samples(200, intercept=intercept), history=history)
    share = sum((model.predict(features) or 0) >= model.threshold for features in history) / len(history)
    assert 0.1 <= share <= 0.9


def test_uncertain_weights_draw_the_probability_towards_even() -> None:
    sure = msgspec.structs.replace(PRIOR, variances=(1e-6,) * 4)
    unsure = msgspec.structs.replace(PRIOR, variances=(1e3,) * 4)
    labelled = samples(6)
    odds = [sum(abs(weight) for weight in _learned(labelled, made).weights) for made in (sure, unsure)]
    assert odds[1] < 20


def test_only_the_newest_labels_are_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrating, "MOST_LABELS", 30)
    newest = samples(30)
    assert _learned([*samples(20, weights=OTHER), *newest]) == _learned(newest)
