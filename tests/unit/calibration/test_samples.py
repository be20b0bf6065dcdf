from __future__ import annotations

import msgspec
import pytest

from grader_daemon.calibration.samples import Scaling, by_source, families, places, scaling_of
from tests.calibration_examples import sample, samples

SCALING = Scaling(means=(1.0,), scales=(2.0,))


def test_every_source_counts_as_much_as_any_other() -> None:
    large = [sample(0.0, source="large"), *[sample(0.0, source="large", completed=False)] * 29]
    small = [sample(4.0, source="small"), sample(4.0, source="small", completed=False)]
    assert scaling_of(places([*large, *small])) == Scaling(means=(2.0,), scales=(2.0,))


def test_what_is_rare_is_at_most_four_scales_away() -> None:
    rare = [*[sample(0.0)] * 999, sample(1.0, completed=False)]
    assert max(scaling_of(places(rare)).apply((1.0,))) == pytest.approx(4.0)
    own = SCALING.adapted([each.features for each in rare])
    assert max(own.apply((1.0,))) <= 4.0


def test_a_feature_that_never_varies_has_a_scale_of_one() -> None:
    assert scaling_of(places([sample(3.0), sample(3.0, completed=False)])) == Scaling(means=(3.0,), scales=(1.0,))


@pytest.mark.parametrize("count", [0, 9])
def test_too_few_sessions_of_ones_own_say_nothing(count: int) -> None:
    assert SCALING.adapted([(5.0,)] * count) is SCALING


def test_what_is_ordinary_is_that_of_ones_own_sessions_and_fifty_count_half_for_how_far_it_goes() -> None:
    assert SCALING.adapted([(5.0,)] * 50) == Scaling(means=(5.0,), scales=(2**0.5,))


def test_marks_go_as_far_as_two_other_numbers_that_lie_as_far_apart() -> None:
    """A third of fifty-one: the variance of the first column is told by its mean."""
    both = Scaling(means=(0.0, 0.0), scales=(0.7, 0.7))
    own = both.adapted([(0, 2.5), (0, 2.5), (1, 3.5)] * 17)
    assert own.means == pytest.approx((1 / 3, 2.5 + 1 / 3))
    assert own.scales[0] == pytest.approx(own.scales[1])


def test_families_have_equal_says_and_sources_without_both_outcomes_none() -> None:
    labelled = [
        *samples(20, source="a"),
        *[msgspec.structs.replace(each, family="f") for source in ("b", "c") for each in samples(20, source=source)],
        *[msgspec.structs.replace(each, completed=False) for each in samples(20, source="d")],
    ]
    assert [(place.family, place.say) for place in places(labelled)] == [("a", 0.5), ("f", 0.25), ("f", 0.25)]


def test_sources_that_share_tasks_are_one_family() -> None:
    labelled = [sample(1.0, source=source, task=task) for source, task in (("a", "1"), ("b", "2"), ("c", "1"))]
    assert {name: list(sources) for name, sources in families(labelled).items()} == {"a": ["a", "c"], "b": ["b"]}


def test_sources_come_by_name() -> None:
    there, here = sample(1.0, source="there"), sample(1.0, source="here")
    assert list(by_source([there, here, there]).items()) == [("here", [here]), ("there", [there, there])]
