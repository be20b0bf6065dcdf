from __future__ import annotations

import pytest

from grader_daemon.calibration.samples import Scaling, by_source, scaling_of
from tests.calibration_examples import sample

SCALING = Scaling(means=(1.0,), scales=(2.0,))


def test_every_source_counts_as_much_as_any_other() -> None:
    scaling = scaling_of([[sample(0.0)] * 30, [sample(4.0)]])
    assert scaling == Scaling(means=(2.0,), scales=(2.0,))


def test_what_is_rare_is_at_most_four_scales_away() -> None:
    scaling = scaling_of([[*[sample(0.0)] * 999, sample(1.0)]])
    assert max(scaling.apply((1.0,))) == pytest.approx(4.0)


def test_a_feature_that_never_varies_has_a_scale_of_one() -> None:
    assert scaling_of([[sample(3.0), sample(3.0)]]) == Scaling(means=(3.0,), scales=(1.0,))


def test_without_sessions_of_ones_own_all_stays() -> None:
    assert SCALING.adapted([]) is SCALING


def test_a_hundred_sessions_of_ones_own_count_half() -> None:
    assert SCALING.adapted([(5.0,)] * 100) == Scaling(means=(3.0,), scales=(2**0.5,))


def test_sources_come_by_name() -> None:
    there, here = sample(1.0, source="there"), sample(1.0, source="here")
    assert list(by_source([there, here, there]).items()) == [("here", [here]), ("there", [there, there])]
