from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.push.exposition import (
    Exemplar,
    Family,
    Kind,
    Sample,
    openmetrics_text,
    prometheus_text,
    wants_openmetrics,
)
from tests.metric_texts import complaints, read_classic, read_openmetrics, value
from tests.needs import require_prometheus
from tests.strategies import NOW

# Without carriage returns: the parsers of the client library end lines at them.
texts = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=20)


def gauge(*samples: Sample) -> list[Family]:
    return [Family(name="g", help="Words.", samples=samples)]


def histogram(exemplar: Exemplar | None) -> list[Family]:
    samples = (
        Sample(1, {"le": "1.0"}, "_bucket", exemplar),
        Sample(1, {"le": "+Inf"}, "_bucket"),
        Sample(0.5, suffix="_sum"),
        Sample(1, suffix="_count"),
    )
    return [Family(name="h", kind=Kind.HISTOGRAM, help="Words.", samples=samples)]


@given(label=texts, number=st.integers(-(2**53), 2**53) | st.floats(allow_nan=False))
def test_any_label_and_number_comes_out_as_it_went_in(label: str, number: float) -> None:
    made = gauge(Sample(number, {"label": label}))
    for families in (read_classic(prometheus_text(made)), read_openmetrics(openmetrics_text(made))):
        assert value(families, "g", label=label) == number


def test_a_counter_has_its_ending_where_each_format_wants_it() -> None:
    made = [Family(name="c", kind=Kind.COUNTER, help="Words.", samples=(Sample(2, suffix="_total"),))]
    assert prometheus_text(made) == "# HELP c_total Words.\n# TYPE c_total counter\nc_total 2\n"
    assert openmetrics_text(made) == "# TYPE c counter\n# HELP c Words.\nc_total 2\n# EOF\n"


def test_an_info_is_a_gauge_in_the_classic_format() -> None:
    made = [Family(name="b", kind=Kind.INFO, help="Words.", samples=(Sample(1, {"v": "2"}, "_info"),))]
    assert "# TYPE b_info gauge\n" in prometheus_text(made)
    assert read_openmetrics(openmetrics_text(made))[0].type == "info"


def test_exemplars_are_in_openmetrics_alone() -> None:
    made = histogram(Exemplar({"session_id": "s"}, 0.5, NOW))
    text = openmetrics_text(made)
    assert f'h_bucket{{le="1.0"}} 1 # {{session_id="s"}} 0.5 {NOW.timestamp():.3f}\n' in text
    exemplar = read_openmetrics(text)[0].samples[0].exemplar
    assert exemplar is not None
    assert (exemplar.labels, exemplar.value) == ({"session_id": "s"}, 0.5)
    assert "session_id" not in prometheus_text(made)


@pytest.mark.parametrize(
    ("characters", "is_there"), [(128 - len("session_id"), True), (129 - len("session_id"), False)]
)
def test_an_exemplar_that_is_too_long_is_left_out(characters: int, is_there: bool) -> None:
    text = openmetrics_text(histogram(Exemplar({"session_id": "s" * characters}, 0.5, NOW)))
    assert (read_openmetrics(text)[0].samples[0].exemplar is not None) is is_there


def test_promtool_finds_nothing_wrong_with_any_kind() -> None:
    promtool = require_prometheus("promtool")
    made = [
        *histogram(None),
        *gauge(Sample(1.5, {"a": 'x"\\\n', "b": "größer"})),
        Family(name="c", kind=Kind.COUNTER, help="Words.", samples=(Sample(2, suffix="_total"),)),
        Family(name="b", kind=Kind.INFO, help="Words.", samples=(Sample(1, {"v": "2"}, "_info"),)),
    ]
    assert complaints(promtool, prometheus_text(made)) == ""


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        pytest.param("", False, id="none"),
        pytest.param("*/*", False, id="anything"),
        pytest.param("text/html, application/xhtml+xml, */*;q=0.8", False, id="a-browser"),
        pytest.param(
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
            "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            True,
            id="prometheus-2",
        ),
        pytest.param("text/plain;version=0.0.4, application/openmetrics-text;q=0.5", False, id="rather-the-classic"),
        pytest.param("application/openmetrics-text;q=0", False, id="by-no-means"),
        pytest.param("application/openmetrics-text;q=much", False, id="a-weight-that-is-none"),
        pytest.param("Application/OpenMetrics-Text", True, id="in-capitals"),
    ],
)
def test_openmetrics_is_for_those_who_prefer_it(accept: str, wanted: bool) -> None:
    assert wants_openmetrics(accept) is wanted
